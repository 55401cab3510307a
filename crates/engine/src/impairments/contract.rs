//! What an impairment implements, and what the simulator and the kernel engine need to know about
//! it.

use tailback_record::Cause;

use crate::packet::Packet;
use crate::registry::Options;
use crate::registry::kernel::Refused;
use crate::rng::Stream;
use crate::units::{Bytes, Rate, Time};

/// Where a packet is on its way over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Now: when the packet left the queue, or when the impairment before released it.
    pub now: Time,
    /// When the packet reaches the far end; not before `now`.
    pub due: Time,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Goes,
    /// It goes on, together with a copy of it.
    Twice,
    /// It is marked CE if it is ECN-capable, and lost otherwise.
    Marked,
    /// It is lost.
    Lost(Cause),
    /// The impairment holds it.
    Held,
}

/// An impairment of one link in one run.
pub trait Impairment: Send {
    /// A packet arrives.
    fn meet(&mut self, packet: &mut Packet, way: &mut Way) -> Fate;

    /// Returns a held packet that goes on now, with its `Way` from the time at which it was held.
    fn release(&mut self, _now: Time) -> Option<(Packet, Way)> {
        None
    }

    /// The time at which a packet is released even if no other arrives; [`Time::NEVER`] while no
    /// packet is held.
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
    /// Each time with the arguments from then on, the first at 0; empty while netem does nothing.
    pub words: Vec<(Time, String)>,
    /// Whether it draws random numbers, and so needs a seed.
    pub random: bool,
    /// Whether it loses packets.
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

/// What an impairment does to data in the long run. Estimates of cost need it; runs do not.
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
    /// Of independent losses.
    pub fn losing(share: f64) -> LongRun {
        LongRun {
            lost: share,
            bursts: share,
            ..LongRun::default()
        }
    }
}

/// How an impairment is built, and what it is on Linux.
pub struct Build {
    /// The constructor, from the options and a random stream.
    pub make: fn(&Options, Stream) -> Box<dyn Impairment>,
    /// netem's arguments, or why Linux cannot do it.
    pub netem: fn(&Options) -> Result<Netem, Refused>,
    /// The longest time that it adds to a packet's way. The estimate of memory needs it.
    pub longest: fn(&Options) -> Time,
    /// Its effect on data that is ECN-capable, or on data that is not.
    pub long_run: fn(&Options, bool) -> LongRun,
    /// Whether it duplicates packets.
    pub copies: bool,
}
