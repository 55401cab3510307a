//! Phases, and the cycle of PROBE_BW.

use crate::cc::bbr_model::{Bandwidth, ProbeRtt};
use crate::rng::Stream;
use crate::units::Time;

/// Phases of a cycle.
const CYCLE: u32 = 8;
/// The first phase is any but the one that drains.
const CYCLE_RAND: u64 = 7;

/// Position in a cycle of PROBE_BW: phase 0 probes, phase 1 drains the queue that the probe built,
/// the others cruise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub index: u32,
    /// When the phase began.
    pub since: Time,
}

impl Cycle {
    /// A cycle begins anywhere but in the phase that drains.
    pub(super) fn begin(random: &mut Stream, at: Time) -> Cycle {
        let index = CYCLE - 1 - random.below(CYCLE_RAND) as u32;
        Cycle { index, since: at }.next(at)
    }

    /// The next phase.
    pub(super) fn next(self, at: Time) -> Cycle {
        Cycle {
            index: (self.index + 1) % CYCLE,
            since: at,
        }
    }
}

/// What BBR is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Looking for the bandwidth.
    Startup,
    /// Draining the queue that STARTUP has built.
    Drain,
    /// At the bandwidth, with probes.
    ProbeBw(Cycle),
    /// Emptying the queue to see the RTT.
    ProbeRtt(ProbeRtt),
}

impl Phase {
    /// The number of the gauge `mode`.
    pub(super) fn number(&self) -> f64 {
        match self {
            Phase::Startup => 0.0,
            Phase::Drain => 1.0,
            Phase::ProbeBw(_) => 2.0,
            Phase::ProbeRtt(_) => 3.0,
        }
    }
}

/// Whether the pipe is full: the bandwidth has ceased to grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    pub reached: bool,
    /// The bandwidth to grow from.
    pub bw: Bandwidth,
    /// Rounds without growth by a quarter.
    pub rounds: u32,
}
