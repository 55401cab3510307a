//! Kinds of hosts. The kind of a host determines how long packets wait in the host before the host
//! sends them.
//!
//! An ideal host sends a packet at once. A host of another kind is not always ready to send: a
//! timer or an interrupt first has to wake the host. All packets that become ready before the host
//! wakes up leave together, in their order. The wait is drawn from a random stream of the host,
//! separately for each direction. The wait begins when the first packet is ready.
//!
//! | engine | how packets wait |
//! |---|---|
//! | simulator | the pipe of the host has slots (`network::slots`) |
//! | kernel | the device of the host has a netem with `slot` |
//!
//! Hosts of some kinds pause instead. During a pause, a host sends nothing. Pauses begin at random
//! times, which do not depend on packets. Packets that become ready during a pause leave together
//! at the end of the pause, in order within each flow (`network::pauses`). Only the simulator
//! supports pauses.
//!
//! Only packets that leave a host wait. A packet that arrives does not wait, because every packet
//! that the host sends in response waits. Routers and links do not wait either.

mod ideal;
mod vm;
mod vm_shared;

use crate::keys::{AsPart, Part, Plain};
use crate::registry::Value;
use crate::units::Time;

/// A kind of hosts.
#[derive(Debug, PartialEq)]
pub struct HostKind {
    /// The name in scenarios.
    pub name: &'static str,
    /// One sentence that describes the hosts.
    pub doc: &'static str,
    /// The source of the waits and pauses, and the conclusions from this source.
    pub source: &'static str,
    /// The shortest and the longest time from the first packet that waits until all waiting packets
    /// leave. The waits are uniformly distributed between these two times. `None` if packets do not
    /// wait.
    pub wait: Option<[Time; 2]>,
    /// When the hosts pause. `None` if the hosts do not pause.
    pub pauses: Option<Pausing>,
}

/// How long and how often a host pauses.
#[derive(Debug, PartialEq)]
pub struct Pausing {
    /// The shortest and the longest pause. Lengths are uniformly distributed.
    pub length: [Time; 2],
    /// The mean time from the end of a pause to the beginning of the next pause. The times between
    /// pauses are exponentially distributed.
    pub gap: Time,
}

impl HostKind {
    /// Returns whether packets leave these hosts at once.
    pub fn is_ideal(&self) -> bool {
        self.wait.is_none() && self.pauses.is_none()
    }
}

/// All kinds, in the order of the reference. The first kind is the default.
pub const ENTRIES: &[&HostKind] = &[
    &ideal::KIND, // how packets leave without this key
    &vm::KIND,
    &vm_shared::KIND,
];

/// The names of the kinds.
pub const NAMES: &[&str] = &{
    let mut names = [""; ENTRIES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = ENTRIES[i].name;
        i += 1;
    }
    names
};

impl Default for &HostKind {
    fn default() -> Self {
        ENTRIES[0]
    }
}

impl Plain for &'static HostKind {
    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Word(word) => ENTRIES.iter().copied().find(|kind| kind.name == word),
            _ => None,
        }
    }

    fn value(&self) -> Option<Value> {
        Some(Value::Word(self.name))
    }
}

impl AsPart for &HostKind {
    fn part(&self) -> Part<'_> {
        Part::Text(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_says_what_it_is_and_where_it_comes_from() {
        for kind in ENTRIES {
            assert!(kind.doc.ends_with('.'), "{}", kind.name);
            assert_eq!(kind.source.is_empty(), kind.is_ideal(), "{}", kind.name);
            assert_eq!(
                <&HostKind as Plain>::of(Value::Word(kind.name)),
                Some(*kind)
            );
            if let Some([min, max]) = kind.wait {
                assert!(Time::ZERO < min && min <= max, "{}", kind.name);
            }
            if let Some(pauses) = &kind.pauses {
                let [min, max] = pauses.length;
                assert!(Time::ZERO < min && min <= max, "{}", kind.name);
                assert!(pauses.gap > Time::ZERO, "{}", kind.name);
            }
        }
        assert_eq!(<&HostKind>::default().name, NAMES[0]);
        assert_eq!(NAMES.len(), ENTRIES.len());
    }
}
