//! How many segments losses and marks let a flow send: the response functions of Reno and CUBIC.

use tailback_engine::plan::{FlowPlan, LinkPlan, Plan};
use tailback_engine::registry::Algorithm;
use tailback_engine::units::Time;

/// Segments of CUBIC's curve: its window grows by this times the cube of the seconds (RFC 9438).
const CUBIC_C: f64 = 0.4;

/// What the links on the way do to segments, whatever their queues do.
#[derive(Clone, Copy, Debug, Default)]
struct Signals {
    /// Share of segments that are lost.
    lost: f64,
    /// Share of segments that are marked.
    marked: f64,
}

impl Signals {
    /// Adds what a link loses at random, and what its schedule loses or marks if that goes on for
    /// as many segments as `most`.
    fn add(&mut self, link: &LinkPlan, ecn: bool, most: f64) {
        self.lost += link.loss;
        let Some(schedule) = &link.schedule else {
            return;
        };
        let lists = [&schedule.marks, &schedule.drops];
        let last = lists.iter().filter_map(|list| list.last()).max();
        let Some(last) = last.map(|last| *last as f64).filter(|last| *last >= most) else {
            return;
        };
        let [marks, drops] = lists.map(|list| list.len() as f64 / last);
        if ecn {
            self.marked += marks;
            self.lost += drops;
        } else {
            self.lost += marks + drops;
        }
    }

    fn all(self) -> f64 {
        self.lost + self.marked
    }
}

/// Segments that a flow sends in so many round-trip times with the window that losses and marks
/// leave it; `None` if nothing limits it, or if how its congestion control responds is unknown.
///
/// Queues are not looked at: a flow that fills its link is limited by the link.
pub fn segments(plan: &Plan, flow: &FlowPlan, rtt: Time, rounds: f64) -> Option<f64> {
    let links = || {
        flow.route
            .iter()
            .filter_map(|at| plan.links.get(*at as usize).map(|link| (*at, link)))
    };
    let signals = |segments: f64| {
        let mut signals = Signals::default();
        for (at, link) in links() {
            signals.add(link, flow.ecn, segments * flows_at(plan, at));
        }
        signals
    };
    // With the whole schedules first, then without those that end before the flow does.
    let hoped = sent(&flow.cc, signals(0.0), rtt, rounds)?;
    sent(&flow.cc, signals(hoped), rtt, rounds)
}

/// How many flows count segments at a link.
fn flows_at(plan: &Plan, link: u32) -> f64 {
    let flows = plan.flows.iter().filter(|flow| flow.route.contains(&link));
    flows.map(|flow| flow.count).sum::<u64>() as f64
}

/// Slow start until the first signal, its window cut down from there, and the mean window behind.
fn sent(control: &Algorithm, signals: Signals, rtt: Time, rounds: f64) -> Option<f64> {
    let p = signals.all();
    if p <= 0.0 {
        return None;
    }
    let (window, beta) = mean_window(control, signals, rtt)?;
    Some((1.0 + 0.5 / (1.0 - beta)) / p + rounds * window)
}

/// The mean window, in segments, and the factor of a reduction.
///
/// Reno (AIMD): W = sqrt((1 + beta) / (2 (1 - beta) p)). CUBIC: the larger of its curve's
/// W = (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4) (RFC 9438 section 5.1) and the window
/// of a Reno with a factor of a half, as its growth is chosen to give (section 4.3).
fn mean_window(control: &Algorithm, signals: Signals, rtt: Time) -> Option<(f64, f64)> {
    let (name, options) = control.known()?;
    if name != "reno" && name != "cubic" {
        return None;
    }
    let loss = options.float("beta");
    let marks = match options.get("beta_ecn") {
        Some(_) => options.float("beta_ecn"),
        None => loss,
    };
    let beta = if signals.marked > 0.0 {
        loss.max(marks)
    } else {
        loss
    };
    let p = signals.all();
    let aimd = libm::sqrt((1.0 + beta) / (2.0 * (1.0 - beta) * p));
    if name == "reno" {
        return Some((aimd, beta));
    }
    let curve = CUBIC_C * (3.0 + beta) / (4.0 * (1.0 - beta));
    let cubic = libm::pow(curve, 0.25) * libm::pow(rtt.as_secs_f64() / p, 0.75);
    let friendly = if options.bool("friendly_alpha_one") {
        aimd
    } else {
        libm::sqrt(1.5 / p)
    };
    Some((friendly.max(cubic), beta))
}
