//! Phases of BBR version 3, and the state of each phase.

use super::bounds::NO_BOUND;
use crate::cc::bbr_model::{Bandwidth, ProbeRtt};
use crate::units::Time;

/// In each round, a probe adds twice as many segments as in the round before. This constant is the
/// largest number of doublings.
pub(super) const MAX_SLOPE: u32 = 30;
/// The largest value of the round counter.
const MAX_ROUNDS: u32 = 255;

/// The wait for the next probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    since: Time,
    time: Time,
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

    /// Returns whether BBR must probe again. BBR must probe if the waiting time has passed or if
    /// `rounds` rounds have passed.
    pub(super) fn is_over(&self, now: Time, rounds: u32) -> bool {
        now > self.since + self.time || self.rounds >= rounds
    }
}

/// State of a probe. In each round, a probe adds twice as many segments as in the round before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Up {
    pub since: Time,
    /// How many times the number of added segments has doubled so far.
    slope: u32,
    /// After this many acknowledged segments, one more segment may be in flight.
    count: u32,
    /// How many segments have been acknowledged since the probe last allowed one more segment in
    /// flight.
    acks: u32,
}

impl Up {
    pub(super) fn new(since: Time, slope: u32, cwnd: u32) -> Up {
        let mut up = Up {
            since,
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

    /// Resets the count of acknowledged segments.
    pub(super) fn forget(&mut self) {
        self.acks = 0;
    }

    /// Counts acknowledged segments. Returns how many additional segments may be in flight.
    pub(super) fn acked(&mut self, segments: u32) -> u32 {
        self.acks = self.acks.saturating_add(segments);
        let more = self.acks / self.count;
        self.acks -= more * self.count;
        more
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ProbeBw {
    /// BBR increases the number of segments in flight.
    Up(Up),
    /// BBR drains the queue that the phase UP has built.
    Down(Wait),
    /// BBR sends at the estimated bandwidth and stays below the bounds.
    Cruise(Wait),
    /// For one round, BBR fills the pipe at the estimated bandwidth. The number is the initial
    /// slope of the next probe ([`Up`]).
    Refill(u32),
}

impl ProbeBw {
    /// If BBR waits for the next probe in this phase, returns the wait.
    pub(super) fn wait(&mut self) -> Option<&mut Wait> {
        match self {
            ProbeBw::Down(wait) | ProbeBw::Cruise(wait) => Some(wait),
            ProbeBw::Up(_) | ProbeBw::Refill(_) => None,
        }
    }

    /// Returns the number that is recorded in the time series `phase`.
    fn number(self) -> u8 {
        match self {
            ProbeBw::Up(_) => 0,
            ProbeBw::Down(_) => 1,
            ProbeBw::Cruise(_) => 2,
            ProbeBw::Refill(_) => 3,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    Startup,
    Drain,
    ProbeBw(ProbeBw),
    /// BBR drains the queue to measure the RTT. The number is the last value of the time series
    /// `phase`, which does not change in PROBE_RTT.
    ProbeRtt(ProbeRtt, u8),
}

impl Phase {
    pub(super) fn is_up(&self) -> bool {
        matches!(self, Phase::ProbeBw(ProbeBw::Up(_)))
    }

    /// Returns whether BBR may now send more than the known capacity of the path.
    pub(super) fn is_probing(&self) -> bool {
        matches!(
            self,
            Phase::Startup | Phase::ProbeBw(ProbeBw::Refill(_) | ProbeBw::Up(_))
        )
    }

    /// Returns the numbers that are recorded in the time series `mode` and `phase`. Outside
    /// PROBE_BW, the series `phase` keeps its last value.
    pub(super) fn numbers(&self) -> (u8, u8) {
        match self {
            Phase::Startup => (0, 0),
            Phase::Drain => (1, 0),
            Phase::ProbeBw(phase) => (2, phase.number()),
            Phase::ProbeRtt(_, interrupted) => (3, *interrupted),
        }
    }
}

/// The stage of a probe to which the arriving ACKs belong (Linux `bbr_ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// What ACKs have shown about the last probe so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// Whether more ACKs of the probe are expected. The value is false after an ACK has shown too
    /// many losses or marks.
    pub samples: bool,
    pub was_too_high: bool,
    /// Whether the probe stopped because it reached the amount of data in flight at which an
    /// earlier probe had too many losses.
    pub stopped_risky: bool,
    /// Whether any ACK of the probe has reported losses and marks below the thresholds. Only BBR
    /// version 2 uses this field.
    pub ok_sample: bool,
}

/// Detects that the pipe is full, which is the case when the bandwidth stops growing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth when it last grew by a quarter.
    pub bw: Bandwidth,
    /// Number of rounds since the bandwidth last grew by a quarter.
    pub rounds: u32,
    pub now: bool,
    pub reached: bool,
}

impl FullPipe {
    /// Restarts the detection, with this bandwidth as the reference.
    pub(super) fn restart(&mut self, bw: Bandwidth) {
        *self = FullPipe {
            bw,
            reached: self.reached,
            ..FullPipe::default()
        };
    }
}
