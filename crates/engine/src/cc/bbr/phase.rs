//! Phases of BBR, and the cycle of PROBE_BW.

use crate::cc::bbr_model::{Bandwidth, ProbeRtt};
use crate::rng::Stream;
use crate::units::Time;

const CYCLE: u32 = 8;
/// Number of phases in which a cycle may begin. A cycle may begin in every phase except the phase
/// that drains the queue.
const CYCLE_RAND: u64 = 7;

/// Phase of a PROBE_BW cycle. Phase 0 probes for bandwidth, and phase 1 drains the queue that the
/// probe has built. Later phases send at the estimated bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub index: u32,
    pub since: Time,
}

impl Cycle {
    /// Begins a cycle in a random phase, but not in the phase that drains the queue.
    pub(super) fn begin(random: &mut Stream, at: Time) -> Cycle {
        let index = CYCLE - 1 - random.below(CYCLE_RAND) as u32;
        Cycle { index, since: at }.next(at)
    }

    pub(super) fn next(self, at: Time) -> Cycle {
        Cycle {
            index: (self.index + 1) % CYCLE,
            since: at,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    Startup,
    Drain,
    ProbeBw(Cycle),
    ProbeRtt(ProbeRtt),
}

impl Phase {
    /// Returns the number that is recorded in the time series `mode`.
    pub(super) fn number(&self) -> f64 {
        match self {
            Phase::Startup => 0.0,
            Phase::Drain => 1.0,
            Phase::ProbeBw(_) => 2.0,
            Phase::ProbeRtt(_) => 3.0,
        }
    }
}

/// Detects that the pipe is full, which is the case when the bandwidth stops growing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub reached: bool,
    /// The bandwidth when it last grew by a quarter.
    pub bw: Bandwidth,
    /// Number of rounds since the bandwidth last grew by a quarter.
    pub rounds: u32,
}
