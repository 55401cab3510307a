//! Internal values that are sampled (gauges): a few values for every flow, and the whole state with
//! the option `trace`.

use super::bounds::NO_BOUND;
use super::saved::Interrupted;
use super::state::Bbr3;
use crate::cc::bbr_model::Bandwidth;
use crate::cc::view::View;
use crate::cc::window::Window;

pub(super) const GAUGES: &[&str] = &[
    "bw_mbit",
    "inflight_hi",
    "inflight_lo",
    "min_rtt_ms",
    "mode",
    "pacing_gain",
    "phase",
];

pub(super) const TRACED: &[&str] = &[
    "bw_mbit",
    "inflight_hi",
    "inflight_lo",
    "min_rtt_ms",
    "mode",
    "pacing_gain",
    "phase",
    "app_limited",
    "bdp",
    "bw_lo_mbit",
    "cwnd_gain",
    "extra_acked",
    "full_bw_now",
    "full_bw_reached",
    "full_bw_rounds",
    "headroom",
    "idle_restarts",
    "max_bw_mbit",
    "pacing_mbit",
    "round",
    "sample_lost",
    "sample_mbit",
    "sample_tx_in_flight",
    "undo_state",
    "undone",
];

pub(super) fn bound(bound: u32) -> f64 {
    if bound == NO_BOUND {
        0.0
    } else {
        f64::from(bound)
    }
}

impl Bbr3 {
    /// Appends those sampled values that are in [`TRACED`] but not in [`GAUGES`].
    pub(super) fn trace(&self, view: View<'_>, window: &Window, out: &mut Vec<f64>) {
        let flag = |set: bool| f64::from(u8::from(set));
        let bw = self.bandwidth();
        out.extend([
            flag(view.rate.app_limited),
            f64::from(self.inflight(view, window, bw)),
            if self.bounds.bw_lo == Bandwidth::UNBOUNDED {
                0.0
            } else {
                self.bounds.bw_lo.as_mbit(view.mss)
            },
            self.cwnd_gain.as_f64(),
            f64::from(self.extra_acked(bw)),
            flag(self.full.now),
            flag(self.full.reached),
            f64::from(self.full.rounds),
            bound(self.with_headroom()),
            f64::from(self.counts.idle_restarts),
            self.max_bw().as_mbit(view.mss),
            window.pacing_rate as f64 * 8e-6,
            f64::from(self.round_count),
            f64::from(view.rate.lost),
            self.sample.as_mbit(view.mss),
            f64::from(view.rate.tx_in_flight),
            f64::from(match self.undo.interrupted {
                Interrupted::Startup if self.params.draft => 1_u8,
                Interrupted::Up if self.params.draft => 2,
                _ => 0,
            }),
            f64::from(self.counts.undone),
        ]);
    }
}
