//! Pauses of a host. A host that pauses sends nothing. The packets of a pausing host leave at the
//! end of the pause.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::hosts::Pausing;
use crate::plan::Plan;
use crate::rng::Stream;
use crate::units::Time;

/// The pauses of a host, one after the other. All pipes of a host have the same pauses, because the
/// random stream depends only on the host.
pub(super) struct Pauses {
    pausing: &'static Pausing,
    stream: Stream,
    /// When the current or next pause begins, and when it ends.
    begin: Time,
    end: Time,
}

impl Pauses {
    pub fn new(pausing: &'static Pausing, stream: Stream) -> Pauses {
        let mut pauses = Pauses {
            pausing,
            stream,
            begin: Time::ZERO,
            end: Time::ZERO,
        };
        pauses.draw();
        pauses
    }

    /// Returns when a packet that is ready at `at` leaves the host. `at` must not be earlier than
    /// in the previous call.
    pub fn leaves(&mut self, at: Time) -> Time {
        while self.end <= at {
            self.draw();
        }
        if self.begin <= at { self.end } else { at }
    }

    fn draw(&mut self) {
        let [least, most] = self.pausing.length;
        let gap = self.stream.exponential() * self.pausing.gap.ns() as f64;
        let span = most.since(least).ns();
        self.begin = self.end + Time(gap as u64);
        // A pause lasts at least `least`, so the loop in `leaves` ends.
        self.end = self.begin + least + Time(self.stream.below(span + 1));
    }
}

/// Hosts that pause. All flows and sources of a host pause at the same times. Each flow and source
/// has its own pipe, but all pipes of a host use copies of the same random stream.
pub(super) struct PausingHosts {
    pausing: &'static Pausing,
    seed: u64,
    /// The sender's and the receiver's host of each flow, followed by the two hosts of each source.
    /// A host is represented by the name and the purpose of its random stream. Programs are not in
    /// this list, because each program has hosts of its own.
    hosts: Vec<[(Arc<str>, &'static str); 2]>,
}

/// The random streams of the sender's and the receiver's host.
const OF_SIDES: [&str; 2] = ["sender pauses", "receiver pauses"];

impl PausingHosts {
    /// Returns `None` if hosts do not pause.
    pub fn of(plan: &Plan, seed: u64) -> Option<PausingHosts> {
        let pausing = plan.hosts.pauses.as_ref()?;
        let (pairs, of) = plan.hosts_without_jitter();
        let members = plan.each_flow().map(|flow| flow.name());
        let members = members.chain(plan.each_source().map(|source| source.name()));
        // Hosts without names get the name of the first flow or source that uses them.
        let mut firsts: BTreeMap<usize, Arc<str>> = BTreeMap::new();
        let hosts = of.iter().zip(members).map(|(&pair, member)| {
            let first = firsts.entry(pair).or_insert(member.into());
            match &pairs[pair].names {
                Some(names) => names
                    .each_ref()
                    .map(|name| (name.as_str().into(), "pauses")),
                None => OF_SIDES.map(|side| (first.clone(), side)),
            }
        });
        Some(PausingHosts {
            pausing,
            seed,
            hosts: hosts.collect(),
        })
    }

    /// Returns the pauses of a host. `number` is an index over all flows, then all sources, then all
    /// programs, and `name` is the name of the program. `side` is 0 for the sender's host, and 1 for
    /// the receiver's host.
    pub fn pauses(&self, number: usize, side: usize, name: &dyn Fn() -> String) -> Pauses {
        let stream = match self.hosts.get(number) {
            Some(hosts) => {
                let (name, purpose) = &hosts[side];
                Stream::new(self.seed, name, purpose)
            }
            None => Stream::new(self.seed, &name(), OF_SIDES[side]),
        };
        Pauses::new(self.pausing, stream)
    }
}
