//! The state of BBR: its model of the path, and the bounds on bandwidth and volume.

use super::bounds::{Bounds, NO_BOUND, Signals};
use super::counts::Counts;
use super::extra_acked::ExtraAcked;
use super::marks::Marks;
use super::params::Params;
use super::phase::{AckPhase, FullPipe, Phase, Probe};
use super::saved::Undo;
use crate::cc::bbr_model::{
    Aggregation, Bandwidth, Gain, NO_RTT, Pace, burst, in_network_at_departure,
};
use crate::cc::view::{CaState, View};
use crate::cc::window::Window;
use crate::rng::Stream;
use crate::units::Time;

/// The smallest RTT within a period, and when it was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    pub us: u64,
    pub at: Time,
}

const UNSEEN: MinRtt = MinRtt {
    us: NO_RTT,
    at: Time::ZERO,
};

/// A round trip. The round ends when a segment is acknowledged that was sent after `next` segments
/// had been delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// Whether this ACK starts a new round.
    pub start: bool,
    pub next: u64,
}

#[derive(Debug)]
pub(super) struct Bbr3 {
    pub params: Params,
    pub random: Stream,
    pub phase: Phase,
    pub ack_phase: AckPhase,
    pub probe: Probe,
    pub initial_cwnd: u32,
    /// The smallest RTT in the last `min_rtt_window`. `probe_rtt_min` is the smallest RTT in the
    /// last `probe_rtt_interval`.
    pub min_rtt: MinRtt,
    pub probe_rtt_min: MinRtt,
    pub round: Round,
    pub loss_round: Round,
    pub pacing_gain: Gain,
    pub cwnd_gain: Gain,
    pub prev_ca_state: CaState,
    pub prior_cwnd: u32,
    pub idle_restart: bool,
    pub pace: Pace,
    pub full: FullPipe,
    /// The bandwidth that the current ACK has measured, or zero.
    pub sample: Bandwidth,
    /// The largest bandwidths of the previous and of the current cycle of probes.
    pub bw_hi: [Bandwidth; 2],
    pub bounds: Bounds,
    pub undo: Undo,
    pub signals: Signals,
    /// Number of loss events in this round of STARTUP. In Google's branch, each ACK that reports
    /// losses is an event. In the draft, each separate range of lost segments is an event.
    pub loss_events: u32,
    /// The last segment that was found lost in STARTUP. BBR uses this field only if it follows the
    /// draft.
    pub last_lost: u64,
    pub round_count: u32,
    pub drain_began: u32,
    pub marks: Marks,
    /// ACK aggregation, estimated as in Google's branch. If BBR follows the draft, `extra` is used
    /// instead.
    pub aggregation: Aggregation,
    pub extra: ExtraAcked,
    pub counts: Counts,
}

impl Bbr3 {
    pub(super) fn new(params: Params) -> Bbr3 {
        Bbr3 {
            random: Stream::new(0, if params.v2 { "bbr2" } else { "bbr3" }, "cc"),
            phase: Phase::Startup,
            ack_phase: AckPhase::Init,
            probe: Probe::default(),
            initial_cwnd: 10,
            min_rtt: UNSEEN,
            probe_rtt_min: UNSEEN,
            round: Round::default(),
            loss_round: Round {
                start: false,
                next: 1,
            },
            pacing_gain: params.startup_gain,
            cwnd_gain: params.startup_cwnd_gain,
            prev_ca_state: CaState::Open,
            prior_cwnd: 0,
            idle_restart: false,
            pace: Pace::new(params.startup_gain, params.margin),
            full: FullPipe::default(),
            sample: Bandwidth::ZERO,
            bw_hi: [Bandwidth::ZERO; 2],
            bounds: Bounds::NONE,
            undo: Undo::NOTHING,
            signals: Signals::default(),
            loss_events: 0,
            last_lost: 0,
            round_count: 0,
            drain_began: 0,
            marks: Marks::new(),
            aggregation: Aggregation::default(),
            extra: ExtraAcked::default(),
            counts: Counts::default(),
            params,
        }
    }

    pub(super) fn max_bw(&self) -> Bandwidth {
        self.bw_hi[0].max(self.bw_hi[1])
    }

    pub(super) fn bandwidth(&self) -> Bandwidth {
        self.max_bw().min(self.bounds.bw_lo).min(self.bounds.bw_hi)
    }

    /// Returns the number of segments in a burst. In Google's branch, bursts are longer if the RTT
    /// is below 3 ms.
    fn burst(&self, view: View<'_>, window: &Window) -> u32 {
        self.params.tso_segs.unwrap_or_else(|| {
            let extra = match self.params.draft {
                true => None,
                false => 65_536_u64.checked_shr((self.min_rtt.us >> 9).min(63) as u32),
            };
            burst(view, window, extra.unwrap_or(0), 2)
        })
    }

    pub(super) fn bdp(&self, bw: Bandwidth, gain: Gain) -> u32 {
        bw.bdp(self.min_rtt.us, gain, self.initial_cwnd)
    }

    pub(super) fn with_quanta(&self, view: View<'_>, window: &Window, target: u32) -> u32 {
        let room = target
            .max(3 * self.burst(view, window))
            .max(self.params.min_window);
        if self.phase.is_up() { room + 2 } else { room }
    }

    pub(super) fn inflight(&self, view: View<'_>, window: &Window, bw: Bandwidth) -> u32 {
        self.with_quanta(view, window, self.bdp(bw, Gain::ONE))
    }

    /// Returns how many packets will be in flight when the next packet may leave. If BBR follows
    /// the draft, returns how many packets are in flight now.
    pub(super) fn in_network(&self, view: View<'_>, window: &Window, in_flight: u32) -> u32 {
        if self.params.draft {
            return view.flight.in_flight();
        }
        let burst = if self.pacing_gain > Gain::ONE {
            self.burst(view, window)
        } else {
            0
        };
        in_network_at_departure(view, in_flight, self.bandwidth(), burst)
    }

    /// Returns how many segments should be in flight if there is no congestion.
    pub(super) fn target_inflight(&self, view: View<'_>, window: &Window) -> u32 {
        self.inflight(view, window, self.bandwidth())
            .min(window.cwnd)
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bandwidth(), self.params.probe_rtt_gain)
            .max(self.params.min_window)
    }

    pub(super) fn with_headroom(&self) -> u32 {
        let hi = self.bounds.inflight_hi;
        if hi == NO_BOUND {
            return NO_BOUND;
        }
        let headroom = self.params.headroom.of(hi).max(1);
        hi.saturating_sub(headroom).max(self.params.min_window)
    }

    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let probing = matches!(self.phase, Phase::ProbeRtt(..));
        self.prior_cwnd = if self.prev_ca_state < CaState::Recovery && !probing {
            window.cwnd
        } else {
            self.prior_cwnd.max(window.cwnd)
        };
    }
}
