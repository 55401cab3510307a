//! Response functions of the congestion controls: how many segments a flow sends if losses and
//! marks limit it.

use tailback_engine::impairments::LongRun;
use tailback_engine::plan::{Concerns, FlowPlan, ImpairmentPlan, LinkPlan, Plan};
use tailback_engine::registry::{Algorithm, Value};
use tailback_engine::units::Time;

/// CUBIC's constant C, in segments/s^3. The difference between the window and its maximum is C
/// times the cube of the time until the maximum (RFC 9438).
const CUBIC_C: f64 = 0.4;
/// Loss rate up to which BBR keeps its sending rate. In theory, BBR's gain of 1.25 compensates for
/// losses of up to 20 %. In simulations at 10 Mbit/s to 1 Gbit/s, BBR kept its sending rate at loss
/// rates of up to 15 %. At loss rates from 15 % to 30 %, the sending rate was inversely
/// proportional to the square of the loss rate.
const BBR_KEEPS: f64 = 0.15;
/// If the loss rate is at least this multiple of BBRv3's loss threshold, losses alone determine
/// BBRv3's window.
const BBR3_FOLLOWS: f64 = 2.5;
/// Product of BBRv3's window and the loss rate. In simulations, this product was 2.1 to 2.2 at loss
/// rates of 5 to 10 %.
const BBR3_WINDOW: f64 = 2.2;

/// How a congestion control responds to losses and marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// Multiplies its window by a factor at every loss. A control that is not scalable also reduces
    /// its window at every mark.
    Reno {
        scalable: bool,
    },
    /// Reduces its window like Reno, and grows it along CUBIC's curve.
    Cubic,
    Bbr,
    Bbr3,
}

impl Family {
    fn of(control: &Algorithm) -> Option<Family> {
        match control.known()?.0 {
            "reno" | "reno-sce" | "dctcp-sce" | "ledbat" => Some(Family::Reno { scalable: false }),
            "dctcp" | "prague" => Some(Family::Reno { scalable: true }),
            "cubic" | "cubic-sce" => Some(Family::Cubic),
            "bbr" => Some(Family::Bbr),
            "bbr3" => Some(Family::Bbr3),
            _ => None,
        }
    }
}

/// Returns whether a flow reduces its rate when its packets are marked.
pub fn responds_to_marks(flow: &FlowPlan) -> bool {
    let family = Family::of(&flow.cc);
    flow.ecn && matches!(family, Some(Family::Reno { .. } | Family::Cubic))
}

/// Losses and marks that do not come from a queue, as fractions of the segments.
#[derive(Clone, Copy, Debug, Default)]
struct Signals {
    /// Fraction of segments that are lost.
    lost: f64,
    /// Fraction of segments at which a single loss or a burst of losses begins.
    bursts: f64,
    /// Fraction of segments that are marked.
    marked: f64,
}

impl Signals {
    /// Adds the losses and marks of a link: its random losses and its impairments. Includes
    /// impairments that act only in certain time windows if `windows` is set. Includes the link's
    /// schedule if it lasts for at least `most` segments.
    fn add(&mut self, link: &LinkPlan, ecn: bool, most: f64, windows: bool) {
        self.lost += link.loss;
        self.bursts += link.loss;
        for impairment in on_data(link) {
            if windows || impairment.during.0.is_empty() {
                let of = long_run(impairment, ecn);
                self.lost += of.lost;
                self.bursts += of.bursts;
            }
        }
        let Some(schedule) = &link.schedule else {
            return;
        };
        let lists = [&schedule.marks, &schedule.drops];
        let last = lists.iter().filter_map(|list| list.last()).max();
        let Some(last) = last.map(|last| *last as f64).filter(|last| *last >= most) else {
            return;
        };
        let [marks, drops] = lists.map(|list| list.len() as f64 / last);
        let lost = if ecn { drops } else { marks + drops };
        self.marked += if ecn { marks } else { 0.0 };
        self.lost += lost;
        self.bursts += lost;
    }

    /// Returns the fraction of segments that cause a reduction of the window, because they are lost
    /// or marked.
    fn all(self) -> f64 {
        self.bursts + self.marked
    }
}

/// Returns the impairments of a link that affect data packets.
pub fn on_data(link: &LinkPlan) -> impl Iterator<Item = &ImpairmentPlan> {
    let impairments = link.impairments.iter();
    impairments.filter(|impairment| impairment.only != Concerns::Acks)
}

/// Returns the long-term rates at which an impairment loses and marks data packets.
pub fn long_run(impairment: &ImpairmentPlan, ecn: bool) -> LongRun {
    (impairment.entry().build.long_run)(&impairment.options, ecn)
}

/// Returns how many segments a flow sends in `rounds` round-trip times if losses and marks limit
/// its window. Without losses and marks, the flow would send `most` segments. Returns `None` if the
/// response of the flow's congestion control is unknown.
///
/// This function ignores the losses and marks of queues, because the rate of the link limits a flow
/// that fills a queue.
pub fn segments(plan: &Plan, flow: &FlowPlan, rtt: Time, rounds: f64, most: f64) -> Option<f64> {
    let with = |windows: bool| {
        let signals = |segments: f64| {
            let mut signals = Signals::default();
            for at in &flow.route {
                if let Some(link) = plan.links.get(*at as usize) {
                    signals.add(link, flow.ecn, segments * flows_at(plan, *at), windows);
                }
            }
            signals
        };
        // First estimate the number of segments with all schedules. Then repeat the estimate
        // without the schedules that end before the flow has sent the estimated number of segments.
        let hoped = sent(&flow.cc, signals(0.0), rtt, rounds, most)?;
        sent(&flow.cc, signals(hoped), rtt, rounds, most)
    };
    let share = share_of_windows(plan, flow);
    let always = with(false)?;
    if share == 0.0 {
        return Some(always);
    }
    Some((1.0 - share) * always + share * with(true)?)
}

/// Returns the fraction of a flow's time during which an impairment with time windows acts.
fn share_of_windows(plan: &Plan, flow: &FlowPlan) -> f64 {
    let end = flow.stop.unwrap_or(plan.duration).min(plan.duration);
    let active = end.since(flow.start).ns();
    let links = flow.route.iter();
    let links = links.filter_map(|at| plan.links.get(*at as usize));
    let shares = links.flat_map(on_data).map(|impairment| {
        let windows = impairment.during.0.iter();
        let within = windows.map(|(from, to)| (*to).min(end).since((*from).max(flow.start)).ns());
        within.sum::<u64>() as f64 / active.max(1) as f64
    });
    shares.fold(0.0, f64::max).min(1.0)
}

/// Returns how many flows pass a link. The link's schedule numbers the segments of all these flows
/// together.
fn flows_at(plan: &Plan, link: u32) -> f64 {
    let flows = plan.flows.iter().filter(|flow| flow.route.contains(&link));
    flows.map(|flow| flow.count).sum::<u64>() as f64
}

/// Returns how many segments, at most `most`, a flow sends with the given losses and marks.
fn sent(control: &Algorithm, signals: Signals, rtt: Time, rounds: f64, most: f64) -> Option<f64> {
    let family = Family::of(control)?;
    let sent = match family {
        _ if signals.all() <= 0.0 => most,
        Family::Bbr => {
            let kept = (BBR_KEEPS / signals.lost).min(1.0);
            most * kept * kept
        }
        Family::Bbr3 => bbr3(control, signals.lost, rounds, most),
        Family::Reno { .. } | Family::Cubic => {
            let (window, beta) = mean_window(control, family, signals, rtt);
            // The flow is in slow start until the first loss or mark. After the first loss or mark,
            // the window falls to the mean window.
            (1.0 + 0.5 / (1.0 - beta)) / signals.all() + rounds * window
        }
    };
    Some(sent.min(most))
}

/// Returns how many segments BBRv3 sends. Up to its loss threshold, BBRv3 sends `most` segments.
/// From 2.5 times the threshold on, the window limits the number of segments. Between the threshold
/// and 2.5 times the threshold, the number of segments falls as a power of the loss rate.
fn bbr3(control: &Algorithm, lost: f64, rounds: f64, most: f64) -> f64 {
    let options = control.known().map(|(_, options)| options);
    let threshold = options.map_or(0.02, |options| options.float("loss_threshold"));
    if lost <= threshold {
        return most;
    }
    let follows = threshold * BBR3_FOLLOWS;
    let left = |lost: f64| ((rounds + 1.0) * BBR3_WINDOW / lost).min(most);
    if lost >= follows || most <= 0.0 {
        return left(lost);
    }
    let way = libm::log(lost / threshold) / libm::log(BBR3_FOLLOWS);
    libm::pow(most, 1.0 - way) * libm::pow(left(follows), way)
}

/// Returns the mean window, in segments, and the factor by which a reduction multiplies the window.
///
/// Scalable controls: W = 2 / p, that is, two marks per round trip (RFC 9332 appendix A). Reno
/// (AIMD): W = sqrt((1 + beta) / (2 (1 - beta) p)). CUBIC: W = (C (3 + beta) / (4 (1 -
/// beta)))^(1/4) (RTT / p)^(3/4) (RFC 9438 section 5.1), or Reno's window with beta = 0.5 if that
/// is larger (section 4.3).
fn mean_window(control: &Algorithm, family: Family, signals: Signals, rtt: Time) -> (f64, f64) {
    let factor = |name: &str| match control.known()?.1.get(name) {
        Some(Value::Float(factor)) => Some(*factor),
        _ => None,
    };
    let loss = factor("beta").unwrap_or(0.5);
    let beta = if signals.marked > 0.0 {
        loss.max(factor("beta_ecn").unwrap_or(loss))
    } else {
        loss
    };
    if family == (Family::Reno { scalable: true }) && signals.marked > 0.0 {
        let marks = 2.0 / signals.marked;
        if signals.bursts <= 0.0 {
            return (marks, beta);
        }
        let losses = libm::sqrt((1.0 + beta) / (2.0 * (1.0 - beta) * signals.bursts));
        return (marks.min(losses), beta);
    }
    let p = signals.all();
    // LEDBAT grows its window by its gain in each round trip, and Reno grows its window by one
    // segment.
    let gain = factor("gain").unwrap_or(1.0);
    let aimd = libm::sqrt(gain * (1.0 + beta) / (2.0 * (1.0 - beta) * p));
    if family != Family::Cubic {
        return (aimd, beta);
    }
    let curve = CUBIC_C * (3.0 + beta) / (4.0 * (1.0 - beta));
    let cubic = libm::pow(curve, 0.25) * libm::pow(rtt.as_secs_f64() / p, 0.75);
    let as_fast = control
        .known()
        .and_then(|(_, of)| of.get("friendly_alpha_one"));
    let friendly = match as_fast {
        Some(Value::Bool(true)) => aimd,
        _ => libm::sqrt(1.5 / p),
    };
    (friendly.max(cubic), beta)
}
