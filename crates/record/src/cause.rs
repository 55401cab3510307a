//! Names the causes of drops and marks, and counts them.

use serde::{Deserialize, Serialize};

/// What a link does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The packet is dropped.
    Drop,
    /// The packet is marked CE.
    Ce,
    /// The packet is marked ECT(1), which signals SCE.
    Sce,
}

macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $effect:ident;)*) => {
        /// Why a packet was dropped or marked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Cause {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Cause {
            /// All causes, in the order of [`Counts`].
            pub const ALL: [Cause; Self::COUNT] = [$(Cause::$variant),*];
            /// Number of causes.
            pub const COUNT: usize = [$($name),*].len();

            /// Returns the name of the cause in summaries and events.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Cause::$variant => $name,)*
                }
            }

            /// Returns what the cause does to the packet.
            pub const fn effect(self) -> Effect {
                match self {
                    $(Cause::$variant => Effect::$effect,)*
                }
            }
        }
    };
}

// Stored runs contain the names of the causes. The order of the causes in this list decides the
// order of simultaneous events.
causes! {
    /// Dropped because the buffer was full.
    Overflow = "overflow", Drop;
    /// Dropped by the queue's algorithm.
    Aqm = "aqm", Drop;
    /// Dropped at random by BLUE, a part of Cobalt.
    Blue = "blue", Drop;
    /// Dropped by the overload protection of DualPI2 or PI2.
    Overload = "overload", Drop;
    /// Lost at random after the queue.
    Loss = "loss", Drop;
    /// Dropped by a schedule of the scenario.
    Scheduled = "scheduled", Drop;
    /// An ACK dropped because a newer ACK makes it redundant (Cake's ACK filter, and the impairment
    /// `ack_batch`).
    AckFilter = "ack_filter", Drop;
    /// Marked CE by the queue's algorithm.
    Mark = "mark", Ce;
    /// Marked CE by a step threshold.
    StepMark = "step_mark", Ce;
    /// Marked SCE (ECT(1)).
    SceMark = "sce_mark", Sce;
    /// Marked CE by a schedule of the scenario.
    ScheduledMark = "scheduled_mark", Ce;
    /// Dropped by a policer after the queue.
    Policed = "policed", Drop;
    /// Dropped after the queue, by a middlebox that does not support ECN.
    Middlebox = "middlebox", Drop;
    /// Marked CE by a policer after the queue.
    PolicedMark = "policed_mark", Ce;
}

impl Cause {
    /// Returns the name of the time series that contains the events with this cause: `drop.<name>`
    /// or `mark.<name>`.
    pub fn event(self) -> String {
        let kind = if self.is_drop() { "drop" } else { "mark" };
        format!("{kind}.{}", self.name())
    }

    /// Returns whether events with this cause drop a packet.
    #[inline]
    pub const fn is_drop(self) -> bool {
        matches!(self.effect(), Effect::Drop)
    }
}

/// The event at a link at which a packet is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The packet arrived. Neither a schedule nor the queue has handled it yet.
    Arrived,
    /// The packet left the queue with its final ECN field.
    Left,
    /// The queue or a schedule dropped the packet, or the link lost the packet after the queue.
    Dropped(Cause),
}

/// Counters, one for each [`Cause`]. Sums do not overflow, but stop at the largest number, because
/// an untrusted guest may send any numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts(pub [u64; Cause::COUNT]);

impl Counts {
    /// Counts one event.
    #[inline]
    pub fn add(&mut self, cause: Cause) {
        self.0[cause as usize] += 1;
    }

    /// Returns the number of events of one cause.
    pub fn get(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }

    /// Returns the number of drops of all causes.
    pub fn drops(&self) -> u64 {
        self.of(Effect::Drop)
    }

    /// Returns the number of CE marks of all causes. SCE marks are counted separately.
    pub fn marks(&self) -> u64 {
        self.of(Effect::Ce)
    }

    /// Returns the number of SCE marks.
    pub fn sce_marks(&self) -> u64 {
        self.of(Effect::Sce)
    }

    fn of(&self, effect: Effect) -> u64 {
        let causes = Cause::ALL.iter().filter(|cause| cause.effect() == effect);
        causes
            .map(|cause| self.get(*cause))
            .fold(0, u64::saturating_add)
    }

    /// Adds another set of counters to this one.
    pub fn merge(&mut self, other: &Counts) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a = a.saturating_add(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the names and effects of the causes. The names must not change, because stored runs
    /// contain these names.
    #[test]
    fn each_cause_has_its_name_and_effect() {
        let expected = [
            "drop.overflow",
            "drop.aqm",
            "drop.blue",
            "drop.overload",
            "drop.loss",
            "drop.scheduled",
            "drop.ack_filter",
            "mark.mark",
            "mark.step_mark",
            "mark.sce_mark",
            "mark.scheduled_mark",
            "drop.policed",
            "drop.middlebox",
            "mark.policed_mark",
        ];
        assert_eq!(Cause::ALL.map(Cause::event), expected);
        for cause in Cause::ALL {
            assert_eq!(cause.is_drop(), cause.event().starts_with("drop."));
        }
        assert_eq!(Cause::SceMark.effect(), Effect::Sce);
        assert_eq!(Cause::ScheduledMark.effect(), Effect::Ce);
    }

    #[test]
    fn counters_sum_by_effect_and_saturate() {
        // Count the first cause once, the second cause twice, and so on up to 14 times.
        let mut counts = Counts::default();
        for (times, cause) in (1..).zip(Cause::ALL) {
            (0..times).for_each(|_| counts.add(cause));
        }
        assert_eq!(counts.get(Cause::Loss), 5);
        assert_eq!(counts.drops(), 1 + 2 + 3 + 4 + 5 + 6 + 7 + 12 + 13);
        assert_eq!(counts.marks(), 8 + 9 + 11 + 14);
        assert_eq!(counts.sce_marks(), 10);
        let mut twice = counts;
        twice.merge(&counts);
        assert_eq!((twice.get(Cause::Loss), twice.sce_marks()), (10, 20));

        let full = Counts([u64::MAX; Cause::COUNT]);
        twice.merge(&full);
        assert_eq!(twice, full);
        assert_eq!((full.drops(), full.marks()), (u64::MAX, u64::MAX));
    }
}
