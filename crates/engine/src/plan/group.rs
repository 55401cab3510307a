//! Groups of flows and sources. A table with the key `count` describes several members with equal
//! properties.
//!
//! A plan stores each group once. Members are numbered continuously across groups. Flows, sources
//! and programs are numbered separately, each from 0. Only this module computes these numbers, and
//! the names of members.

use super::{FlowPlan, ProgramPlan, TrafficPlan};

/// A table of the plan that describes one or more equal members.
pub trait Group {
    /// Returns the common name of the members, and the number of members.
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

/// One flow, one source or one entry of `[[programs]]`.
pub struct Member<'a, T> {
    /// The group that the member belongs to.
    pub of: &'a T,
    /// Index of the group.
    pub group: usize,
    /// Number of the member among all flows, all sources or all programs.
    pub number: usize,
    /// Index of the member within its group, from 0.
    pub place: u64,
}

impl<T: Group> Member<'_, T> {
    /// Returns the name of the member in results: NAME, or NAME/1, NAME/2, ... if the group has
    /// several members.
    pub fn name(&self) -> String {
        match self.of.named() {
            (name, 1) => name.to_owned(),
            (name, _) => format!("{name}/{}", self.place + 1),
        }
    }
}

pub(super) fn count<T: Group>(groups: &[T]) -> usize {
    let counts = groups.iter().map(|group| group.named().1);
    counts.sum::<u64>() as usize
}

/// Returns the members of all groups, one group after the other.
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
