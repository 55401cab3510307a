//! Why a packet was dropped or marked, and how often.

use serde::{Deserialize, Serialize};

/// Why a packet was dropped or marked.
///
/// The first seven are drops, the rest marks; [`Cause::is_drop`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// The buffer was full.
    Overflow,
    /// The queue's algorithm decided to drop.
    Aqm,
    /// BLUE's probability in Cobalt.
    Blue,
    /// The overload protection of DualPI2.
    Overload,
    /// Random loss of the link itself, outside the queue.
    Loss,
    /// A scheduled drop of the scenario.
    Scheduled,
    /// An ACK that a newer one makes redundant (Cake's ACK filter).
    AckFilter,
    /// Marked CE by the queue's algorithm.
    Mark,
    /// Marked CE by a step threshold.
    StepMark,
    /// Marked SCE (ECT(1)).
    SceMark,
    /// Marked CE by a schedule of the scenario.
    ScheduledMark,
}

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = 11;
    /// Every cause, in the order of its number.
    pub const ALL: [Cause; Self::COUNT] = [
        Cause::Overflow,
        Cause::Aqm,
        Cause::Blue,
        Cause::Overload,
        Cause::Loss,
        Cause::Scheduled,
        Cause::AckFilter,
        Cause::Mark,
        Cause::StepMark,
        Cause::SceMark,
        Cause::ScheduledMark,
    ];

    /// The name in summaries and events.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Overflow => "overflow",
            Cause::Aqm => "aqm",
            Cause::Blue => "blue",
            Cause::Overload => "overload",
            Cause::Loss => "loss",
            Cause::Scheduled => "scheduled",
            Cause::AckFilter => "ack_filter",
            Cause::Mark => "mark",
            Cause::StepMark => "step_mark",
            Cause::SceMark => "sce_mark",
            Cause::ScheduledMark => "scheduled_mark",
        }
    }

    /// The quantity of its events in the series: `drop.<name>` or `mark.<name>`.
    pub fn event(self) -> String {
        let kind = if self.is_drop() { "drop" } else { "mark" };
        format!("{kind}.{}", self.name())
    }

    /// Whether the packet is gone.
    pub const fn is_drop(self) -> bool {
        (self as u8) < Cause::Mark as u8
    }
}

/// What happened to a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It arrived; neither a schedule nor the queue has seen it yet.
    Arrived,
    /// It left the queue, with the ECN field it leaves with.
    Left,
    /// The queue or a schedule dropped it, or the link lost it behind the queue.
    Dropped(Cause),
}

/// Counters, one for each [`Cause`].
///
/// Sums saturate: the counters of a guest are what it says they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts(pub [u64; Cause::COUNT]);

impl Counts {
    /// Counts one event.
    #[inline]
    pub fn add(&mut self, cause: Cause) {
        self.0[cause as usize] += 1;
    }

    /// Events of one cause.
    pub fn get(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }

    /// Drops of every cause.
    pub fn drops(&self) -> u64 {
        Cause::ALL
            .iter()
            .filter(|c| c.is_drop())
            .map(|&c| self.get(c))
            .fold(0, u64::saturating_add)
    }

    /// CE marks of every cause (SCE marks are counted apart).
    pub fn marks(&self) -> u64 {
        [Cause::Mark, Cause::StepMark, Cause::ScheduledMark]
            .map(|cause| self.get(cause))
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// SCE marks.
    pub fn sce_marks(&self) -> u64 {
        self.get(Cause::SceMark)
    }

    /// Adds another set of counters to this one.
    pub fn merge(&mut self, other: &Counts) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a = a.saturating_add(b);
        }
    }
}
