//! CUBIC-SCE: CUBIC that responds to marks of SCE (Some Congestion Experienced), as in the kernel
//! tree github.com/chromi/sce (`tcp_cubic_sce.c`). The SCE draft of 2019 does not describe CUBIC.
//! ESCE is the TCP flag with which the receiver echoes a mark.
//!
//! Before the first epoch of the cubic curve, an ACK with ESCE ends slow start, and ssthresh
//! becomes half of the window. During an epoch, an ACK with ESCE has two effects. First, the ACK
//! moves the inflection point of the cubic curve closer to the present. An ACK of n segments
//! multiplies the time between now and the inflection point by 1 - n / sqrt(cwnd). Second, an ACK
//! of n segments adds n sqrt(cwnd) to a counter. Each time the counter reaches cwnd, both cwnd and
//! W_max shrink by one segment.
//!
//! Deviations: when the inflection point moves, the curve continues from its current value. The SCE
//! kernel tree computes a wrong value of the curve, because it uses a wrong sign and a time that it
//! has already reset. To move the inflection point, tailback counts acknowledged segments, whereas
//! the SCE kernel tree counts bytes. With the option `unit_quirk`, tailback counts bytes, like the
//! SCE kernel tree. While PRR reduces the window, ESCE has no effect. In all other respects,
//! `cubic-sce` is CUBIC as in Linux 7.3.

use super::abe::Backoff;
use super::contract::{Build, CongestionControl, CwndEvent, EcnNeed, Needs, Signal};
use super::cubic::Cubic;
use super::cubic::curve::{jiffies, jiffies_of, rise, ticks};
use super::sce::UNIT_QUIRK;
use super::view::{Ack, CaState, View};
use super::window::Window;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, no_finish};

/// The integer that represents a factor of 1.
const SCALE: f64 = 1024.0;

/// The registry entry of `cubic-sce`.
pub const ENTRY: Entry<Build> = Entry {
    name: "cubic-sce",
    doc: "CUBIC that responds to SCE marks. Each mark flattens the cubic curve. If all segments of \
        a window are marked, cwnd shrinks by sqrt(cwnd) segments.",
    follows: "github.com/chromi/sce, tcp_cubic_sce.c",
    options: &[
        Opt {
            name: "beta",
            doc: "Factor by which the window is multiplied after a loss or ECN-Echo, rounded to a multiple of 1/1024 as in Linux.",
            kind: Kind::Float {
                min: 0.01,
                max: 0.99,
            },
            default: Some("0.7"),
            tc: None,
        },
        Opt {
            name: "beta_sce",
            doc: "Factor by which the window is multiplied after a loss or ECN-Echo if one of the last cwnd ACKs carried ESCE.",
            kind: Kind::Float {
                min: 0.01,
                max: 0.99,
            },
            default: Some("0.875"),
            tc: None,
        },
        UNIT_QUIRK,
    ],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| {
        super::hook::made("cubic-sce");
        let fixed = |name| libm::round(options.float(name) * SCALE) as u32;
        let beta = fixed("beta");
        Box::new(CubicSce {
            cubic: Cubic::new(Backoff::same(beta, 1024)),
            beta,
            beta_sce: fixed("beta_sce"),
            unit_quirk: options.int("unit_quirk"),
            root: 1,
            recent_sce: 0,
            prior_una: 0,
        })
    },
};

/// The congestion control `cubic-sce`.
#[derive(Debug)]
pub struct CubicSce {
    cubic: Cubic,
    /// Factor after a loss or ECN-Echo, in units of 1/1024.
    beta: u32,
    /// Factor after a loss or ECN-Echo if an ACK with ESCE has arrived recently, in units of
    /// 1/1024.
    beta_sce: u32,
    /// The value of the option `unit_quirk`, in bytes. 0 means the MSS.
    unit_quirk: i64,
    /// The largest number whose square is below the window.
    root: u32,
    /// For how many more ACKs SCE counts as recent.
    recent_sce: u32,
    /// The first unacknowledged segment after the previous ACK.
    prior_una: u64,
}

impl CubicSce {
    /// Moves the inflection point of the curve towards the present. The time between the inflection
    /// point and the present shrinks by the fraction `share`/`root`.
    fn level_off(&mut self, start: u64, now: u64, share: u64) {
        let root = u64::from(self.root);
        let left = root.saturating_sub(share);
        let epoch = &mut self.cubic.epoch;
        let t = ticks(now.saturating_sub(start));
        if t < epoch.k {
            // The inflection point is in the future, so shorten the time until this point.
            let rest = epoch.k - t;
            let shorter = (rest * left).checked_div(root).unwrap_or(0);
            epoch.start = Some(now);
            epoch.k = shorter;
            let lower = rise(rest) - rise(shorter);
            epoch.origin = epoch.origin.saturating_sub(lower);
        } else {
            // The inflection point is in the past, so shorten the time since this point.
            let since = t - epoch.k;
            let later = if left > 0 {
                since * share / root
            } else {
                since
            };
            epoch.start = Some((start + jiffies_of(epoch.k)).min(now));
            epoch.k = later;
            let higher = rise(since) - rise(since - later);
            epoch.origin = epoch.origin.saturating_add(higher);
        }
    }

    fn on_esce(&mut self, view: View<'_>, window: &mut Window, bytes: i64, unit: i64) {
        if let Some(start) = self.cubic.epoch.start {
            let share = match self.unit_quirk {
                0 => bytes / unit,
                _ => bytes,
            };
            self.level_off(start, jiffies(view.now), share as u64);
            let over = unit * i64::from(window.cwnd);
            let epoch = &mut self.cubic.epoch;
            epoch.ack_cnt -= bytes * i64::from(self.root);
            while epoch.ack_cnt <= -over {
                if window.cwnd <= 2 {
                    epoch.ack_cnt %= over;
                    break;
                }
                epoch.ack_cnt += over;
                window.cwnd -= 1;
                if u64::from(self.root).pow(2) >= u64::from(window.cwnd) {
                    self.root -= 1;
                }
                epoch.origin = epoch.origin.saturating_sub(1);
            }
            self.recent_sce = window.cwnd + 1;
        }
        window.ssthresh = (window.cwnd / 2).max(2);
    }
}

impl CongestionControl for CubicSce {
    fn needs(&self) -> Needs {
        Needs {
            ecn: EcnNeed::Sce,
            ..Needs::default()
        }
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        self.cubic.init(view, window);
        self.cubic.unit = match self.unit_quirk {
            0 => i64::from(view.mss),
            unit => unit,
        };
        self.root = 1;
        self.recent_sce = 0;
        self.prior_una = view.flight.una;
    }

    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
        // As in the kernel tree, the factor after a loss also changes if SCE is recent.
        let beta = if self.recent_sce > 0 {
            self.beta_sce
        } else {
            self.beta
        };
        let ssthresh = self.cubic.ssthresh(view, window, signal);
        let reduced = u64::from(window.cwnd) * u64::from(beta) / SCALE as u64;
        if beta == self.beta {
            ssthresh
        } else {
            (reduced as u32).max(2)
        }
    }

    fn in_ack_event(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let unit = self.cubic.unit;
        let bytes = match view.flight.una - self.prior_una {
            0 => unit,
            segments => segments as i64 * i64::from(view.mss),
        };
        self.prior_una = view.flight.una;
        let reducing = matches!(view.ca_state, CaState::Cwr | CaState::Recovery);
        if ack.esce && !reducing {
            self.on_esce(view, window, bytes, unit);
        }
        self.recent_sce = self.recent_sce.saturating_sub(1);
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        let limited = view.is_cwnd_limited(window);
        self.cubic.cong_avoid(view, window, acked);
        if limited && !window.in_slow_start() {
            let cwnd = u64::from(window.cwnd);
            while u64::from(self.root).pow(2) < cwnd {
                self.root += 1;
            }
            while self.root > 0 && u64::from(self.root).pow(2) >= cwnd {
                self.root -= 1;
            }
        }
    }

    fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.cubic.pkts_acked(view, window, ack);
    }

    fn cwnd_event(&mut self, view: View<'_>, window: &mut Window, event: CwndEvent) {
        self.cubic.cwnd_event(view, window, event);
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        self.cubic.set_state(view, window, new);
        if new == CaState::Loss {
            self.root = 1;
            self.recent_sce = 0;
        }
    }
}

#[cfg(test)]
mod tests;
