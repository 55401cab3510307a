//! Phases of BBR version 3, and the state of each.

use super::bounds::NO_BOUND;
use crate::cc::bbr_model::{Bandwidth, ProbeRtt};
use crate::units::Time;

/// Most doublings of a probe's slope.
pub(super) const MAX_SLOPE: u32 = 30;
/// Largest count of rounds.
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

    /// Whether the time has passed, or this many rounds.
    pub(super) fn is_over(&self, now: Time, rounds: u32) -> bool {
        now > self.since + self.time || self.rounds >= rounds
    }
}

/// A probe. The volume that it adds doubles each round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Up {
    /// Doublings of the slope so far.
    slope: u32,
    /// Number of acknowledged segments that allow one more in flight.
    count: u32,
    /// Segments acknowledged since the last one that was allowed.
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

    /// Counts acknowledged segments. Returns how many more may be in flight.
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
    /// It puts more and more in flight.
    Up(Up),
    /// It drains the queue that the phase before has built.
    Down(Wait),
    /// It sends at the bandwidth, below the bounds.
    Cruise(Wait),
    /// It fills the pipe for a round at the estimated bandwidth. The number is the slope of the
    /// next probe.
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

    /// The value of the gauge `phase`.
    fn number(self) -> u8 {
        match self {
            ProbeBw::Up(_) => 0,
            ProbeBw::Down(_) => 1,
            ProbeBw::Cruise(_) => 2,
            ProbeBw::Refill(_) => 3,
        }
    }
}

/// The phase that BBR is in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// It looks for the bandwidth.
    Startup,
    /// It drains the queue that the phase before has built.
    Drain,
    /// It sends at the bandwidth, with probes.
    ProbeBw(ProbeBw),
    /// It drains the queue to measure the RTT. The number is the gauge `phase` of the phase before.
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

    /// The values of the gauges `mode` and `phase`. Outside PROBE_BW `phase` keeps its last value.
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

/// The course of the last probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// Whether the probe goes on and has shown no excess so far.
    pub samples: bool,
    pub was_too_high: bool,
    /// Whether the probe stopped at the level that was too much for an earlier one.
    pub stopped_risky: bool,
}

/// Detects that the pipe is full, because the bandwidth has ceased to grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth that growth is measured from.
    pub bw: Bandwidth,
    /// Rounds without growth of the bandwidth by a quarter.
    pub rounds: u32,
    /// Whether the pipe is full now.
    pub now: bool,
    /// Whether the pipe has ever been full.
    pub reached: bool,
}

impl FullPipe {
    /// Starts to look for growth from `bw`.
    pub(super) fn restart(&mut self, bw: Bandwidth) {
        *self = FullPipe {
            bw,
            reached: self.reached,
            ..FullPipe::default()
        };
    }
}
