//! Version 0.7 of TCP Prague. The comment at the top of `prague.rs` lists the sources of this
//! version and its deviations.

use super::alpha::Alpha;
use super::{HEADERS, MIN_CWND, Scaling};
use crate::cc::contract::{CongestionControl, Control, CwndEvent, EcnNeed, Needs, Signal};
use crate::cc::view::{Ack, CaState, View};
use crate::cc::window::{MAX_CWND, Window};
use crate::registry::Options;
use crate::units::Time;

/// Number of binary digits in the fractional part of the window.
const FRACTION: u32 = 20;
/// One segment, in units of 2^-20 segments.
const ONE: u64 = 1 << FRACTION;
/// The smallest pacing rate, in bytes/s. This rate is 100 kbit/s.
const MIN_RATE: u64 = 12_500;
/// The additive increase is one packet per virtual RTT. The packet counts as this many bytes, even
/// if packets are smaller.
const FULL_PACKET: u64 = 1500;
/// The rate replaces the window if the window has this many full packets or fewer.
const SMALL_WINDOW: u64 = 4;
/// Binary logarithm of the number of rounds over which the slow RTT is averaged.
const SLOW_RTT: u32 = 7;
/// The swing of the pacing rate is stored in units of 2^-7 of the rate.
const SWING: u32 = 7;
/// To get bytes, multiply a rate in bytes/s by an RTT in us/8 and shift the product right by this
/// number of bits. The shift divides by 2^23, which the L4S team's module uses instead of
/// 8,000,000. So the results are 4.6 % too small.
const RTT_TO_BYTES: u32 = 23;
/// Number of eighths of a microsecond in a second.
const SECOND: u128 = 8_000_000;
/// The largest RTT at which the increase is scaled, in us/8.
const MAX_SCALED_RTT: u64 = 100_000 << 3;
/// Parameters of the scaling "scalable", in us/8. At the RTT `SCALABLE_R0`, the increase is one
/// segment per RTT. Above `SCALABLE_R1`, the increase rises faster with the RTT.
const SCALABLE_R0: u64 = (1 << 14) << 3;
const SCALABLE_R1: u64 = ((1 << 10) + (1 << 9)) << 3;

/// Whether additive increase and reductions apply to the window or to the rate (option `mode`,
/// parameter `prague_cwnd_mode` of the L4S team's module).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Window,
    Rate,
    Switch,
}

/// Version 0.7 of the congestion control `prague`.
#[derive(Debug)]
pub(super) struct Prague {
    scaling: Scaling,
    /// The target RTT of the scaling, in us.
    target_us: u64,
    /// How many rounds pass before the scaling begins.
    transition: u64,
    mode: Mode,
    /// The pacing rate swings up and down by this many 128ths of the rate.
    swing: u64,
    /// Whether the first segments of the connection are paced.
    pace_iw: bool,
    /// The longest burst lasts 2^-burst_shift s.
    burst_shift: u32,
    /// The smallest number of segments in a burst.
    min_burst: u32,
    /// Whether Prague behaves as Reno. Prague behaves as Reno if the receiver does not support
    /// Accurate ECN.
    reno: bool,
    alpha: Alpha,
    /// When marks last reduced the window and the rate.
    cwr_stamp: Time,
    /// Growth of the window after a whole window of unmarked segments, in 2^-20 segments.
    increase: u64,
    /// The window including its fractional part, in 2^-20 segments.
    fraction: u64,
    /// Rate, bytes/s.
    rate: u64,
    /// The slow RTT in us/8, multiplied by 2^`SLOW_RTT`.
    slow_rtt: u64,
    /// Whether the window is so small that the rate replaces the window with `Mode::Switch`.
    small: bool,
    /// The rate before the last loss.
    loss_rate: u64,
    /// The window before the last loss, in segments.
    loss_cwnd: u32,
    /// Payload of a full segment, in bytes. The value is 0 before the connection begins.
    payload: u64,
    /// Number of rounds since slow start.
    round: u64,
    /// Whether a loss has been found since the congestion state was last Open. After such a loss,
    /// neither the window nor the rate grows.
    in_loss: bool,
}

/// Returns the smoothed RTT, in us/8.
fn srtt(view: View<'_>) -> u64 {
    view.srtt.ns() / 125
}

impl Prague {
    pub fn new(options: &Options, scaling: Scaling, alpha: Alpha) -> Prague {
        Prague {
            scaling,
            target_us: options.time("rtt_target").ns() / 1000,
            transition: options.int("rtt_transition") as u64,
            mode: match options.word("mode") {
                "window" => Mode::Window,
                "rate" => Mode::Rate,
                _ => Mode::Switch,
            },
            swing: options.int("swing") as u64,
            pace_iw: options.bool("pace_iw"),
            burst_shift: options.int("burst_shift") as u32,
            min_burst: options.int("min_burst") as u32,
            reno: false,
            alpha,
            cwr_stamp: Time::ZERO,
            increase: ONE,
            fraction: 0,
            rate: MIN_RATE,
            slow_rtt: 0,
            small: false,
            loss_rate: 0,
            loss_cwnd: 0,
            payload: 0,
            round: 0,
            in_loss: false,
        }
    }

    /// Returns whether RTT scaling is on and has begun.
    fn is_scaled(&self, window: &Window) -> bool {
        self.scaling != Scaling::Off && !window.in_slow_start() && self.round >= self.transition
    }

    /// Returns whether increase and reductions apply to the rate and not to the window. The window
    /// is then computed from the rate.
    fn is_by_rate(&self, window: &Window) -> bool {
        let chosen = match self.mode {
            Mode::Window => false,
            Mode::Rate => true,
            Mode::Switch => self.small,
        };
        chosen && self.alpha.saw_ce && self.is_scaled(window)
    }

    /// Returns the target RTT, in us/8.
    fn target(&self, view: View<'_>) -> u64 {
        let target = self.target_us << 3;
        match self.scaling {
            Scaling::Additive => target + srtt(view),
            _ => target,
        }
    }

    /// Returns the larger of the target RTT and the smoothed RTT, in us/8.
    fn virtual_rtt(&self, view: View<'_>) -> u64 {
        self.target(view).max(srtt(view)).max(1)
    }

    /// Returns whether the target RTT has passed since `stamp`.
    fn target_elapsed(&self, view: View<'_>, stamp: Time) -> bool {
        view.now.since(stamp).ns() / 1000 >= self.target(view) >> 3
    }

    /// Returns the length of a packet including headers, in bytes.
    fn packet(&self) -> u64 {
        self.payload + HEADERS
    }

    /// Returns the rate multiplied by the slow RTT, as a window in 2^-20 segments. In the L4S
    /// team's module, `prague_pacing_rate_to_frac_cwnd` computes this window.
    fn window_of_rate(&self, view: View<'_>) -> u64 {
        let rtt = match self.slow_rtt >> SLOW_RTT {
            0 => srtt(view),
            slow => slow,
        };
        let bytes = (u128::from(self.rate) * u128::from(rtt)) >> (RTT_TO_BYTES - FRACTION);
        bytes
            .div_ceil(u128::from(self.packet()))
            .min(u64::MAX.into()) as u64
    }

    /// Returns the window rounded up to whole segments.
    fn whole(&self) -> u32 {
        let whole = self.fraction.div_ceil(ONE).min(u64::from(MAX_CWND)) as u32;
        whole.max(MIN_CWND)
    }

    /// Sets the increase per window to the product of two factors, which are both RTT/target. With
    /// only the first factor, the window would grow by one segment per target RTT. The second
    /// factor gives flows with different RTTs equal rates.
    fn rescale(&mut self, view: View<'_>) {
        let rtt = srtt(view);
        self.increase = ONE;
        if self.round < self.transition || rtt == 0 || rtt > MAX_SCALED_RTT {
            return;
        }
        let one = u128::from(ONE);
        let increase = match self.scaling {
            Scaling::Off => one,
            Scaling::Rate | Scaling::Additive => {
                let target = self.target(view);
                if rtt >= target {
                    return;
                }
                let square = u128::from(target) * u128::from(target);
                (one * u128::from(rtt) * u128::from(rtt) + (square >> 1)) / square
            }
            Scaling::Scalable => {
                let faster = rtt.saturating_sub(SCALABLE_R1).min(SCALABLE_R0);
                let growth = (one >> 3) * u128::from(SCALABLE_R0) + one * u128::from(faster);
                let square = u128::from(SCALABLE_R0 * SCALABLE_R0);
                (growth * u128::from(rtt) + (square >> 1)) / square
            }
        };
        self.increase = increase as u64;
    }

    fn begin_round(&mut self, view: View<'_>, window: &Window) {
        self.alpha.begin_round(view);
        if !window.in_slow_start() {
            self.round += 1;
        }
        self.rescale(view);
    }

    fn update_window(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        if ack.ce > 0 && !self.alpha.saw_ce {
            self.alpha.saw_ce = true;
            if self.alpha.init == 0 {
                self.fraction = self.fraction.div_ceil(2);
            }
        }
        let mut acked = ack.delivered.saturating_sub(ack.ce);
        if acked > 0 && !self.in_loss && window.app_limited == 0 {
            if window.in_slow_start() {
                acked = window.slow_start(acked);
                self.fraction = u64::from(window.cwnd) << FRACTION;
                if acked == 0 {
                    return self.rescale(view);
                }
            }
            self.grow(view, window, u64::from(acked));
        }
        let whole = self.whole();
        if window.cwnd > whole {
            window.cwnd -= 1;
            window.ssthresh = window.cwnd;
            self.rescale(view);
        } else if window.cwnd < whole {
            window.cwnd += 1;
            self.rescale(view);
        }
    }

    /// Applies the additive increase for `acked` unmarked segments.
    fn grow(&mut self, view: View<'_>, window: &Window, acked: u64) {
        if self.is_by_rate(window) {
            let rtt = u128::from(self.virtual_rtt(view));
            let bytes = u128::from(acked * FULL_PACKET) << RTT_TO_BYTES;
            let increase = bytes / rtt;
            let packet = u128::from(self.packet()) << RTT_TO_BYTES;
            let cwnd = (u128::from(self.rate) * rtt).div_ceil(packet).max(1);
            self.rate = self
                .rate
                .saturating_add(((increase + (cwnd >> 1)) / cwnd) as u64);
            self.fraction = (self.fraction + acked).max(self.window_of_rate(view));
        } else {
            let cwnd = u64::from(window.cwnd.max(1));
            let increase = (acked * self.increase + (cwnd >> 1)) / cwnd;
            self.fraction += increase.max(acked);
        }
        self.fraction = self.fraction.min(u64::from(MAX_CWND) << FRACTION);
    }

    /// Updates alpha once a round has passed. With scaling, the target RTT must have passed as
    /// well.
    fn update_alpha(&mut self, view: View<'_>, window: &Window) {
        if !self.alpha.is_round_over(view)
            || (self.is_scaled(window) && !self.target_elapsed(view, self.alpha.stamp))
        {
            return;
        }
        self.alpha.update(view);
        self.slow_rtt = self.slow_rtt + srtt(view) - (self.slow_rtt >> SLOW_RTT);
        self.begin_round(view, window);
    }

    /// Sets the pacing rate. If increase and reductions apply to the window, the pacing rate is
    /// cwnd/srtt, where cwnd is in whole packets. If increase and reductions apply to the rate, the
    /// pacing rate swings around that rate. The pacing rate is higher in the first half of a
    /// virtual RTT, and lower in the second half. In early slow start the pacing rate is twice as
    /// high.
    fn update_pacing(&mut self, view: View<'_>, window: &mut Window) {
        let twice = u32::from(window.cwnd < window.ssthresh / 2);
        let rate = if self.is_by_rate(window) {
            let swing = ((u128::from(self.rate) * u128::from(self.swing)) >> SWING) as u64;
            let late = view.now.since(self.alpha.stamp).ns() / 1000;
            let rate = if self.virtual_rtt(view) >> 4 <= late {
                self.rate - swing
            } else {
                self.rate + swing
            };
            rate << twice
        } else {
            let srtt = srtt(view);
            if srtt == 0 {
                return;
            }
            let packets = u64::from(window.cwnd.max(view.flight.in_flight()));
            let bytes = u128::from((self.packet() * packets) << twice);
            self.rate = ((bytes * SECOND / u128::from(srtt)) as u64).max(MIN_RATE);
            self.rate
        };
        window.pacing_rate = rate;
        let burst = (rate / self.packet()) >> self.burst_shift;
        window.pacing_burst = (burst.min(1 << 16) as u32).max(self.min_burst);
    }

    fn enter_loss(&mut self, view: View<'_>, window: &Window) {
        self.loss_cwnd = window.cwnd;
        self.loss_rate = self.rate;
        if self.is_by_rate(window) {
            self.rate -= self.rate >> 1;
            self.fraction = self.window_of_rate(view);
        } else {
            self.fraction -= self.fraction >> 1;
        }
        self.in_loss = true;
    }

    fn enter_cwr(&mut self, view: View<'_>, window: &Window) {
        if self.is_scaled(window) && !self.target_elapsed(view, self.cwr_stamp) {
            return;
        }
        self.cwr_stamp = view.now;
        let alpha = u128::from(self.alpha.limited());
        if self.is_by_rate(window) {
            let reduction = (u128::from(self.rate) * alpha) >> (self.alpha.bits + 1);
            self.rate = (self.rate - reduction as u64).max(MIN_RATE);
            self.fraction = self.window_of_rate(view);
        } else {
            // Round to the nearest integer.
            let reduction = alpha * u128::from(self.fraction) + (1 << self.alpha.bits);
            self.fraction -= (reduction >> (self.alpha.bits + 1)) as u64;
        }
    }
}

impl CongestionControl for Prague {
    fn needs(&self) -> Needs {
        Needs {
            ecn: EcnNeed::Accurate,
            control: Control::Window,
            pacing: true,
            // The module reads `app_limited`. Only a sender with rate samples updates this value.
            rate_samples: true,
        }
    }

    fn ecn_refused(&mut self) -> Control {
        self.reno = true;
        Control::Growth
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        self.payload = u64::from(view.mss);
        // If Prague behaves as Reno, the stack determines the length of bursts.
        if !self.reno {
            window.least_burst = 0;
        }
        self.alpha.begin(view);
        self.fraction = u64::from(window.cwnd) << FRACTION;
        // If no RTT is known, the L4S team's module assumes 1 us.
        self.slow_rtt = srtt(view).max(1 << 3) << SLOW_RTT;
        self.begin_round(view, window);
        if self.reno {
            return;
        }
        // The first ten segments are paced only if the option for them is set.
        window.pace_first = self.pace_iw;
        self.update_pacing(view, window);
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        if self.reno {
            return (window.cwnd / 2).max(2);
        }
        self.alpha.reduced(window.ssthresh);
        window.ssthresh
    }

    /// Increases the window as Reno does. The stack calls this hook only if Prague behaves as Reno.
    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        crate::cc::reno::cong_avoid(view, window, acked);
    }

    fn cong_control(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.update_window(view, window, ack);
        self.update_alpha(view, window);
        self.update_pacing(view, window);
        let bytes = u64::from(window.cwnd) * self.packet();
        self.small = bytes <= SMALL_WINDOW * FULL_PACKET;
    }

    fn pkts_acked(&mut self, _view: View<'_>, _window: &mut Window, ack: &Ack) {
        self.alpha.sample(ack.rtt);
    }

    fn cwnd_event(&mut self, view: View<'_>, window: &mut Window, event: CwndEvent) {
        if event == CwndEvent::Loss {
            self.enter_loss(view, window);
        }
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        if new == view.ca_state {
            return;
        }
        match new {
            CaState::Recovery => self.enter_loss(view, window),
            CaState::Cwr => self.enter_cwr(view, window),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }

    fn undo_cwnd(&mut self, view: View<'_>, window: &Window, prior_cwnd: u32) -> u32 {
        if self.reno {
            return window.cwnd.max(prior_cwnd);
        }
        self.in_loss = false;
        self.rate = self.rate.max(self.loss_rate);
        self.fraction = self.window_of_rate(view);
        window.cwnd.max(self.loss_cwnd)
    }

    fn gauges(&self, _view: View<'_>, window: &Window, out: &mut Vec<f64>) {
        out.push(self.alpha.share());
        out.push(if self.reno {
            f64::from(window.cwnd)
        } else {
            (self.fraction as f64 / ONE as f64).max(1.0)
        });
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["alpha", "window_segments"]
    }
}

#[cfg(test)]
mod tests;
