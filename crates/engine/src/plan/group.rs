//! Groups of flows and sources: the members that one table of a file with `count` gives.
//!
//! A plan has each group once. Its members are numbered through all groups, flows, sources and
//! programs each from 0; only this module computes these numbers, and the names of members.

use super::{FlowPlan, ProgramPlan, TrafficPlan};

/// A kind of thing that a plan has several of.
pub trait Group {
    /// The name of all, and how many they are.
    fn named(&self) -> (&str, u64);
}

impl Group for FlowPlan {
    fn named(&self) -> (&str, u64) {
        (&self.name, self.count)
    }
}

impl Group for TrafficPlan {
    fn named(&self) -> (&str, u64) {
        (&self.name, self.count)
    }
}

impl Group for ProgramPlan {
    fn named(&self) -> (&str, u64) {
        (&self.name, self.count)
    }
}

/// One flow, source or entry of programs.
pub struct Member<'a, T> {
    /// Its group.
    pub of: &'a T,
    /// Index of the group.
    pub group: usize,
    /// Its number among all flows, or all sources.
    pub number: usize,
    /// Its place in the group, from 0.
    pub place: u64,
}

impl<T: Group> Member<'_, T> {
    /// Its name in results: NAME, or NAME/1, NAME/2, ... where there are several.
    pub fn name(&self) -> String {
        match self.of.named() {
            (name, 1) => name.to_owned(),
            (name, _) => format!("{name}/{}", self.place + 1),
        }
    }
}

/// How many members groups have together.
pub(super) fn count<T: Group>(groups: &[T]) -> usize {
    let counts = groups.iter().map(|group| group.named().1);
    counts.sum::<u64>() as usize
}

/// The members of groups, one after the other.
pub(super) fn members<T: Group>(groups: &[T]) -> impl Iterator<Item = Member<'_, T>> {
    let places = |(group, of): (usize, _)| {
        let of: &T = of;
        (0..of.named().1).map(move |place| (group, of, place))
    };
    let all = groups.iter().enumerate().flat_map(places);
    all.enumerate().map(|(number, (group, of, place))| Member {
        of,
        group,
        number,
        place,
    })
}
