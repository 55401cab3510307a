//! Phases, and the state that each keeps.

use super::bounds::NO_BOUND;
use crate::cc::bbr_model::{Bandwidth, ProbeRtt};
use crate::units::Time;

/// Most doublings of a probe's slope.
pub(super) const MAX_SLOPE: u32 = 30;
/// Rounds are counted up to this.
const MAX_ROUNDS: u32 = 255;

/// The time between two probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    since: Time,
    time: Time,
    /// Rounds since the last probe.
    rounds: u32,
}

impl Wait {
    pub(super) const fn new(since: Time, time: Time, rounds: u32) -> Wait {
        Wait {
            since,
            time,
            rounds,
        }
    }

    pub(super) fn round(&mut self) {
        self.rounds = (self.rounds + 1).min(MAX_ROUNDS);
    }

    /// Whether its time or this many rounds have passed.
    pub(super) fn is_over(&self, now: Time, rounds: u32) -> bool {
        now > self.since + self.time || self.rounds >= rounds
    }
}

/// A probe: the volume it adds doubles each round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Up {
    /// Doublings of the slope so far.
    slope: u32,
    /// Segments to be acknowledged for one more in flight.
    count: u32,
    /// Segments acknowledged towards the next one in flight.
    acks: u32,
}

impl Up {
    pub(super) fn new(slope: u32, cwnd: u32) -> Up {
        let mut up = Up {
            slope,
            count: NO_BOUND,
            acks: 0,
        };
        up.raise_slope(cwnd);
        up
    }

    pub(super) fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1_u32 << self.slope;
        self.slope = (self.slope + 1).min(MAX_SLOPE);
        self.count = (cwnd / growth).max(1);
    }

    /// Counts acknowledged segments; returns how many more may be in flight.
    pub(super) fn acked(&mut self, segments: u32) -> u32 {
        self.acks = self.acks.saturating_add(segments);
        let more = self.acks / self.count;
        self.acks -= more * self.count;
        more
    }
}

/// Phases of PROBE_BW.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProbeBw {
    /// More and more in flight.
    Up(Up),
    /// Draining the queue that the phase before has built.
    Down(Wait),
    /// At the bandwidth, below the bounds.
    Cruise(Wait),
    /// A round at the estimated bandwidth, which fills the pipe before a probe of this slope.
    Refill(u32),
}

impl ProbeBw {
    /// The wait for the next probe.
    pub(super) fn wait(&mut self) -> Option<&mut Wait> {
        match self {
            ProbeBw::Down(wait) | ProbeBw::Cruise(wait) => Some(wait),
            ProbeBw::Up(_) | ProbeBw::Refill(_) => None,
        }
    }

    /// The number of the gauge `phase`.
    fn number(self) -> u8 {
        match self {
            ProbeBw::Up(_) => 0,
            ProbeBw::Down(_) => 1,
            ProbeBw::Cruise(_) => 2,
            ProbeBw::Refill(_) => 3,
        }
    }
}

/// What BBR is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Looking for the bandwidth.
    Startup,
    /// Draining the queue that the phase before has built.
    Drain,
    /// At the bandwidth, with probes.
    ProbeBw(ProbeBw),
    /// Drains the queue to measure the RTT; has the gauges of the phase that it interrupted.
    ProbeRtt(ProbeRtt, u8),
}

impl Phase {
    pub(super) fn is_up(&self) -> bool {
        matches!(self, Phase::ProbeBw(ProbeBw::Up(_)))
    }

    /// Whether more may be sent than the path is known to hold.
    pub(super) fn is_probing(&self) -> bool {
        matches!(
            self,
            Phase::Startup | Phase::ProbeBw(ProbeBw::Refill(_) | ProbeBw::Up(_))
        )
    }

    /// The gauges `mode` and `phase`; outside PROBE_BW `phase` keeps its last value.
    pub(super) fn numbers(&self) -> (u8, u8) {
        match self {
            Phase::Startup => (0, 0),
            Phase::Drain => (1, 0),
            Phase::ProbeBw(phase) => (2, phase.number()),
            Phase::ProbeRtt(_, interrupted) => (3, *interrupted),
        }
    }
}

/// What the current ACKs show about the probe (Linux `bbr_ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// How the last probe went.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// The probe has shown no excess so far.
    pub samples: bool,
    pub was_too_high: bool,
    /// The probe stopped at the level that was too much in an earlier one.
    pub stopped_risky: bool,
}

/// Whether the pipe is full: the bandwidth has ceased to grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth to grow from.
    pub bw: Bandwidth,
    /// Rounds without growth by a quarter.
    pub rounds: u32,
    /// It is full.
    pub now: bool,
    /// It was full once.
    pub reached: bool,
}

impl FullPipe {
    /// Looks for growth from `bw` on.
    pub(super) fn restart(&mut self, bw: Bandwidth) {
        *self = FullPipe {
            bw,
            reached: self.reached,
            ..FullPipe::default()
        };
    }
}
