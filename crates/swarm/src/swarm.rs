//! Tries many generated scenarios in parallel, and reports results in the order of their seeds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::finding::Finding;
use crate::generate;
use crate::trial::{End, Limits, trial};

/// The range of seeds to try, and the limits that apply to all trials together.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first seed.
    pub from: u64,
    /// Largest number of seeds.
    pub seeds: u64,
    /// Time after which no trial begins.
    pub time: Option<Duration>,
    /// Number of simultaneous trials.
    pub jobs: usize,
}

/// The number of trials for each outcome.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of trials.
    pub tried: u64,
    /// Number of runs that ended.
    pub done: u64,
    /// Number of runs that were stopped at the event limit.
    pub cut: u64,
    /// Number of scenarios that were too large.
    pub large: u64,
    /// Number of rejected scenarios for each error message. Messages that differ only in numbers
    /// are counted together.
    pub refused: BTreeMap<String, u64>,
    /// Number of trials with findings.
    pub failed: u64,
}

impl Tally {
    /// Returns the number of rejected scenarios.
    pub fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }
}

/// Returns the limits for a seed. For every fourth seed, the trial runs the scenario twice.
pub fn limits(seed: u64) -> Limits {
    Limits {
        twice: seed.is_multiple_of(4),
        ..Limits::default()
    }
}

/// Tries the scenario of each seed of a plan. After each trial, calls `told` with the tally so far,
/// the seed and its findings.
pub fn swarm(plan: &Plan, mut told: impl FnMut(&Tally, u64, &[Finding])) -> Tally {
    let mut tally = Tally::default();
    let try_seed = |seed| trial(&generate::scenario(seed).to_string(), &limits(seed));
    for_each_seed(plan, try_seed, |seed, report| {
        tally.tried += 1;
        match report.end {
            End::Refused(message) => {
                let message = message.replace(|c: char| c.is_ascii_digit(), "");
                *tally.refused.entry(message).or_default() += 1;
            }
            End::Large => tally.large += 1,
            End::Cut => tally.cut += 1,
            End::Done => tally.done += 1,
            End::Failed => {}
        }
        tally.failed += u64::from(!report.findings.is_empty());
        told(&tally, seed, &report.findings);
    });
    tally
}

/// Calls `task` with each seed of a plan, on several threads. Calls `told` with each result.
pub(crate) fn for_each_seed<T: Send>(
    plan: &Plan,
    task: impl Fn(u64) -> T + Sync,
    mut told: impl FnMut(u64, T),
) {
    let end = plan.from.saturating_add(plan.seeds);
    let deadline = plan.time.map(|time| Instant::now() + time);
    let next = AtomicU64::new(plan.from);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..plan.jobs.max(1) {
            let (sender, next, task) = (sender.clone(), &next, &task);
            scope.spawn(move || {
                while deadline.is_none_or(|deadline| Instant::now() < deadline) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || sender.send((seed, task(seed))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (seed, given) in receiver {
            told(seed, given);
        }
    });
}
