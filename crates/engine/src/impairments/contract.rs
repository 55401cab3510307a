//! The trait of impairments, and how the simulator and the kernel engine build them.

use tailback_record::Cause;

use crate::packet::Packet;
use crate::registry::Options;
use crate::registry::kernel::Refused;
use crate::rng::Stream;
use crate::units::{Bytes, Rate, Time};

/// When a packet left the queue, and when it reaches the far end of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The current time. At this time, the packet has left the queue, or the previous impairment
    /// has released it.
    pub now: Time,
    /// When the packet will reach the far end of the link, if no later impairment changes this
    /// time. This time is never before `now`.
    pub due: Time,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet passes the impairment.
    Goes,
    /// The packet and a copy of the packet pass the impairment.
    Twice,
    /// If the packet is ECN-capable, it is marked with CE. Otherwise, it is lost.
    Marked,
    /// The packet is lost.
    Lost(Cause),
    /// The impairment holds the packet.
    Held,
}

/// An impairment of one link in one run.
pub trait Impairment: Send {
    /// Decides what happens to a packet that has arrived.
    fn meet(&mut self, packet: &mut Packet, way: &mut Way) -> Fate;

    /// If a held packet is released now, returns this packet and the [`Way`] that it had when the
    /// impairment began to hold it. Returns `None` if no packet is released.
    fn release(&mut self, _now: Time) -> Option<(Packet, Way)> {
        None
    }

    /// Returns the time at which the impairment releases a held packet, even if no other packet
    /// arrives. Returns [`Time::NEVER`] while no packet is held.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// Returns the names of the options that may change during a run.
    fn changeable(&self) -> &'static [&'static str] {
        &[]
    }

    /// Changes options during a run. `options` holds every option. Only options that
    /// [`Impairment::changeable`] returns may differ. The impairment continues to hold its held
    /// packets, and the random stream continues.
    fn change(&mut self, _options: &Options) {}

    /// Returns the number of packets held.
    fn held(&self) -> u64 {
        0
    }
}

/// A queue discipline of Linux that implements an impairment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// Linux's own queue discipline netem.
    #[default]
    Netem,
    /// tailback's policer.
    Police,
    /// tailback's queue discipline that delivers ACKs in batches.
    AckBatch,
}

impl Discipline {
    /// The kernel module that contains tailback's queue disciplines.
    pub const MODULE: &str = "sch_impair";

    const ALL: [Discipline; 3] = [Discipline::Netem, Discipline::Police, Discipline::AckBatch];

    /// Finds a queue discipline by its kind in tc.
    pub fn named(kind: &str) -> Option<Discipline> {
        Self::ALL.into_iter().find(|one| one.kind() == kind)
    }

    /// Returns the discipline's kind in tc.
    pub const fn kind(self) -> &'static str {
        match self {
            Discipline::Netem => "netem",
            Discipline::Police => "police",
            Discipline::AckBatch => "ack_batch",
        }
    }

    /// Returns whether the discipline is in tailback's module. tc does not know the arguments of
    /// such a discipline.
    pub const fn is_own(self) -> bool {
        !matches!(self, Discipline::Netem)
    }

    /// Returns the cause that is recorded if the discipline drops a packet.
    pub const fn loss(self) -> Cause {
        match self {
            Discipline::Netem => Cause::Loss,
            Discipline::Police => Cause::Policed,
            Discipline::AckBatch => Cause::AckFilter,
        }
    }

    /// Returns whether a packet may overtake packets of another flow or direction.
    pub const fn overtakes(self) -> bool {
        matches!(self, Discipline::AckBatch)
    }
}

/// The queue discipline that implements an impairment, with its arguments at each time of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netem {
    /// The queue discipline.
    pub discipline: Discipline,
    /// The queue discipline's arguments, each with the time from which they apply. The first time
    /// is 0. The list is empty if netem is not needed.
    pub words: Vec<(Time, String)>,
    /// Whether netem draws random numbers and therefore needs a seed.
    pub random: bool,
    /// Whether netem may lose packets.
    pub loses: bool,
}

impl Netem {
    /// Creates a netem that draws random numbers. The arguments of this netem stay the same for the
    /// whole run.
    pub fn constant(words: String) -> Netem {
        Netem {
            words: vec![(Time::ZERO, words)],
            random: true,
            ..Netem::default()
        }
    }

    /// Creates one of tailback's queue disciplines. The arguments of this discipline stay the same
    /// for the whole run.
    pub fn own(discipline: Discipline, words: String) -> Netem {
        Netem {
            discipline,
            words: vec![(Time::ZERO, words)],
            ..Netem::default()
        }
    }
}

/// The average effect of an impairment on data packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LongRun {
    /// Share of the packets that are lost.
    pub lost: f64,
    /// Share of the packets at which a single loss or a burst of losses begins.
    pub bursts: f64,
    /// Share of the packets that arrive twice.
    pub copied: f64,
    /// Rate and burst of a policer that drops packets that exceed this rate and burst.
    pub drops_beyond: Option<(Rate, Bytes)>,
    /// Rate and burst of a policer that marks packets that exceed this rate and burst.
    pub marks_beyond: Option<(Rate, Bytes)>,
}

impl LongRun {
    /// Returns the average effect if each packet is lost independently with this probability.
    pub fn losing(share: f64) -> LongRun {
        LongRun {
            lost: share,
            bursts: share,
            ..LongRun::default()
        }
    }
}

/// How an impairment is built for the simulator and for Linux.
pub struct Build {
    /// Builds the impairment for the simulator, from its options and a random stream.
    pub make: fn(&Options, Stream) -> Box<dyn Impairment>,
    /// Returns the arguments for netem or for one of tailback's queue disciplines. Returns an error
    /// if Linux does not support these options.
    pub netem: fn(&Options) -> Result<Netem, Refused>,
    /// Returns the longest time by which the impairment delays a packet. tailback needs this time
    /// to estimate the memory of a run.
    pub longest: fn(&Options) -> Time,
    /// Returns the average effect on data packets. The second argument is true if the data is
    /// ECN-capable.
    pub long_run: fn(&Options, bool) -> LongRun,
    /// Whether the impairment may duplicate packets.
    pub copies: bool,
}
