//! Runs one simulation on several cores. The results are identical, byte by byte, to the results on
//! one core.
//!
//! The network is divided at links that have a delay. An event in one part affects another part
//! only after the delay of the link between them. So every part may run ahead of the others by up
//! to the smallest delay of a link between two parts. This smallest delay is called the window.
//! Each part has the whole network in memory, but simulates only its own links and connections. A
//! connection belongs to the part that owns the first link on the route of its data. Only the
//! owning part counts the packets on a link or connection. Each part has a copy of every pipe. The
//! copy holds the packets that go on to a link or connection of this part. At the end of each
//! window, each part sends the other parts the packets for their copies. The receiving part sorts
//! these packets. After sorting, the packets have the order that they would have on one core
//! (`calendar::order`).
//!
//! | file | what |
//! |---|---|
//! | `meeting` | synchronises the parts at the end of each window |
//! | `play` | runs one part, and assembles the whole network |
//!
//! The network is not divided at a link whose delay varies. The network is also not divided on the
//! routes of connections that traffic sources open. The reason is that a source may use a slot
//! again only after the slot's last packet has left the network. But this packet may be in another
//! part. A run uses only one core in any of these cases: it records packets; links or flows change
//! during the run; hosts remember destinations or hold packets; it records more rows than the limit
//! (`MAX_ROWS`).

mod meeting;
mod play;

use std::sync::Arc;

use crate::plan::{LinkPlan, Plan};
use crate::units::Time;

pub use meeting::{Ended, Meeting};
pub(super) use play::Part;

/// The largest work that a part may have, as a multiple of an equal share.
const UNEVEN: f64 = 1.4;

/// The part that each link and each connection belongs to.
pub struct Split {
    /// The part of each link.
    links: Arc<[u16]>,
    /// The part to which each flow or connection belongs. The index is the number that its packets
    /// carry.
    ends: Arc<[u16]>,
    parts: usize,
    /// How far each part may run ahead of the others. This time is called the window.
    window: Time,
}

impl Split {
    /// Divides the network of a plan into this many parts with about equal work. Returns `None` if
    /// this is not possible.
    pub fn of(plan: &Plan, parts: usize) -> Option<Split> {
        let rtts = plan.flows.iter().map(|flow| flow.rtt);
        let mut rtts = rtts.chain(plan.traffic.iter().map(|source| source.rtt));
        // A pipe without delay would leave no time to pass packets to another part.
        let zero = rtts.any(|rtt| rtt.ns() < 2);
        let most = plan.links.len().min(usize::from(u16::MAX));
        if parts < 2
            || parts > most
            || plan.record.packets
            || !plan.events.is_empty()
            || zero
            || plan.remembers()
            || !plan.hosts.is_ideal()
            || !plan.programs.is_empty()
        {
            return None;
        }
        let mut delays: Vec<Time> = (plan.links.iter()).filter_map(constant_delay).collect();
        delays.sort_unstable();
        delays.dedup();
        // Each delay of a link is a candidate for the window. Use the longest delay for which the
        // parts have about equal work.
        delays.into_iter().rev().find_map(|window| {
            let mut sets = joined(plan, window);
            let links = even(plan, &mut sets, parts)?;
            let flows = plan.each_flow().map(|flow| flow.group);
            let sources = plan.each_source();
            let sources = sources.map(|source| plan.flows.len() + source.group);
            let groups: Vec<usize> = flows.chain(sources).collect();
            let ends = plan
                .owners()
                .iter()
                .map(|owner| {
                    let root = sets.find(plan.links.len() + groups[*owner as usize]);
                    // A connection without links on its route may be in any part.
                    links.get(sets.least[root]).copied().unwrap_or_default()
                })
                .collect();
            Some(Split {
                links: links.into(),
                ends,
                parts,
                window,
            })
        })
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns how far each part may run ahead of the others.
    pub fn window(&self) -> Time {
        self.window
    }
}

/// Returns the delay after a link, or `None` if this delay is 0 or varies.
fn constant_delay(link: &LinkPlan) -> Option<Time> {
    let constant = link.jitter == Time::ZERO && link.slots.is_none() && link.impairments.is_empty();
    (constant && link.delay > Time::ZERO).then_some(link.delay)
}

/// A union-find structure. The elements of the structure are the links and the groups of flows and
/// sources. All elements of a set must be in the same part. The numbers of groups follow the
/// numbers of links.
struct Sets {
    above: Vec<usize>,
    /// For each set, the lowest number of its links. The index is the root of the set.
    least: Vec<usize>,
}

impl Sets {
    fn find(&mut self, mut of: usize) -> usize {
        while self.above[of] != of {
            self.above[of] = self.above[self.above[of]];
            of = self.above[of];
        }
        of
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.above[a] = b;
        self.least[b] = self.least[a].min(self.least[b]);
    }
}

/// Returns which links and groups must be in the same part if the network is divided at every link
/// whose delay is at least `window`.
fn joined(plan: &Plan, window: Time) -> Sets {
    let links = plan.links.len();
    let nodes = links + plan.flows.len() + plan.traffic.len();
    let mut sets = Sets {
        above: (0..nodes).collect(),
        least: (0..nodes).collect(),
    };
    let cut: Vec<bool> = (plan.links.iter())
        .map(|link| constant_delay(link).is_some_and(|delay| delay >= window))
        .collect();
    let mut way = |ends: usize, hops: &[u32], whole: bool| {
        let mut last = ends;
        for (place, link) in hops.iter().enumerate() {
            let link = *link as usize;
            if place == 0 || whole || !cut[last] {
                sets.join(last, link);
            }
            last = link;
        }
        if last != ends && (whole || !cut[last]) {
            sets.join(last, ends);
        }
    };
    for (ends, flow) in (links..).zip(&plan.flows) {
        way(ends, &flow.route, false);
        way(ends, &flow.back, false);
    }
    for (ends, source) in (links + plan.flows.len()..).zip(&plan.traffic) {
        let back = source.back();
        way(ends, &source.route, back.is_some());
        way(ends, back.unwrap_or_default(), true);
    }
    sets
}

/// Assigns a part to each link. All parts get about equal work. The sets are sorted by the position
/// of their first links in the file. The order in the file mostly matches the order in the network,
/// so neighbouring links usually end up in the same part. A link's work is proportional to its
/// rate.
fn even(plan: &Plan, sets: &mut Sets, parts: usize) -> Option<Vec<u16>> {
    let links = plan.links.len();
    let mut work = vec![0.0; links];
    let mut of = Vec::with_capacity(links);
    for (place, link) in plan.links.iter().enumerate() {
        let root = sets.find(place);
        let first = sets.least[root];
        work[first] += link.rate.nominal().0 as f64;
        of.push(first);
    }
    let share = work.iter().sum::<f64>() / parts as f64;
    let mut loads = vec![0.0; parts];
    let (mut part_of, mut before) = (vec![0; links], 0.0);
    for (first, work) in work.iter().enumerate().filter(|(_, work)| **work > 0.0) {
        let part = (((before + work / 2.0) / share) as usize).min(parts - 1);
        part_of[first] = part as u16;
        loads[part] += work;
        before += work;
    }
    let even = loads
        .iter()
        .all(|load| *load > 0.0 && *load <= UNEVEN * share);
    even.then(|| of.into_iter().map(|first| part_of[first]).collect())
}
