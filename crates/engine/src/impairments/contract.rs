//! The trait of impairments, and what the simulator and the kernel engine need to know about them.

use tailback_record::Cause;

use crate::packet::Packet;
use crate::registry::Options;
use crate::registry::kernel::Refused;
use crate::rng::Stream;
use crate::units::{Bytes, Rate, Time};

/// Times of a packet on its way over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The current time: when the packet left the queue, or when the impairment before released it.
    pub now: Time,
    /// When the packet reaches the far end. Never before `now`.
    pub due: Time,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet goes on.
    Goes,
    /// The packet goes on, together with a copy.
    Twice,
    /// The packet is marked CE if it is ECN-capable, and lost otherwise.
    Marked,
    /// The packet is lost.
    Lost(Cause),
    /// The impairment holds the packet.
    Held,
}

/// An impairment of one link in one run.
pub trait Impairment: Send {
    /// Decides about a packet that arrives.
    fn meet(&mut self, packet: &mut Packet, way: &mut Way) -> Fate;

    /// Returns a held packet that goes on now, with its `Way` from the time at which it was held.
    fn release(&mut self, _now: Time) -> Option<(Packet, Way)> {
        None
    }

    /// The time at which a packet is released even if no other packet arrives. [`Time::NEVER`]
    /// while no packet is held.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// Number of packets held.
    fn held(&self) -> u64 {
        0
    }
}

/// The arguments of netem over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netem {
    /// Times, each with the arguments that hold from then on. The first time is 0. Empty if netem
    /// does nothing.
    pub words: Vec<(Time, String)>,
    /// Whether netem draws random numbers, and so needs a seed.
    pub random: bool,
    /// Whether netem loses packets.
    pub loses: bool,
}

impl Netem {
    /// A netem that draws random numbers and has the same arguments throughout.
    pub fn constant(words: String) -> Netem {
        Netem {
            words: vec![(Time::ZERO, words)],
            random: true,
            ..Netem::default()
        }
    }
}

/// What an impairment does to data in the long run. Only estimates of cost need this.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LongRun {
    /// Share of packets that are lost.
    pub lost: f64,
    /// Share of packets at which a loss, or a burst of losses, begins.
    pub bursts: f64,
    /// Share of packets that arrive twice.
    pub copied: f64,
    /// Rate and burst beyond which packets are lost.
    pub drops_beyond: Option<(Rate, Bytes)>,
    /// Rate and burst beyond which packets are marked CE.
    pub marks_beyond: Option<(Rate, Bytes)>,
}

impl LongRun {
    /// The effect of independent losses with this probability.
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
    /// Builds the impairment from its options and a random stream.
    pub make: fn(&Options, Stream) -> Box<dyn Impairment>,
    /// Returns the arguments of netem, or why Linux does not support the options.
    pub netem: fn(&Options) -> Result<Netem, Refused>,
    /// The longest time by which the impairment delays a packet. The estimate of memory needs it.
    pub longest: fn(&Options) -> Time,
    /// The effect on data in the long run. The second argument tells whether the data is
    /// ECN-capable.
    pub long_run: fn(&Options, bool) -> LongRun,
    /// Whether the impairment duplicates packets.
    pub copies: bool,
}
