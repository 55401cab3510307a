//! Invariants: metamorphic tests. An invariant states how a certain change of a scenario changes
//! its results.
//!
//! The check of an invariant generates a scenario from a seed, changes the scenario, runs both
//! versions and compares the results. A scenario to which an invariant does not apply counts
//! separately, not as a success. No invariant applies to a scenario with `[[events]]`.
//!
//! | module | the invariant | where it holds exactly |
//! |---|---|---|
//! | [`permute`] | flows and sources in another order have the same results | without simultaneous events, and where the queue does not distinguish flows by their number |
//! | [`rename`] | other names of flows, links and classes change names only | where the seed has no effect |
//! | [`split`] | the parts of a sweep have the same runs as the whole sweep | everywhere |
//! | [`scale`] | with all rates doubled and all times halved, the same packets arrive at half the times | where no constant of the stack has an effect and no time is rounded |
//! | [`idle`] | a link that no flow uses does not change the results of other links | everywhere |
//! | [`write`] | values in other units and keys in another layout give the same runs | everywhere |
//! | [`alike`] | identical flows are interchangeable | only on average over seeds |

mod alike;
mod digest;
mod idle;
mod permute;
mod rename;
mod scale;
mod split;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use tailback_engine::plan::Plan;
use tailback_record::Outcome;
use tailback_scenario::{EngineKind, Scenario, estimate_memory};
use toml::{Table, Value};

use crate::finding::Finding;
use crate::swarm;
use crate::trial::{Limits, caught, load, patiently, run_whole};

/// The result of checking an invariant on a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The invariant holds.
    Held,
    /// The invariant does not apply to the scenario, for the given reason.
    Outside(String),
    /// The invariant does not hold.
    Broken(Finding),
}

/// The result of a check. The error is a verdict other than `Held`.
type Check = Result<(), Verdict>;

/// An invariant.
pub struct Law {
    /// Name of the invariant.
    pub name: &'static str,
    /// The invariant in one sentence.
    pub doc: &'static str,
    /// Generates the scenario of a seed.
    pub draw: fn(u64) -> Table,
    /// Runs a scenario and a changed copy, and compares their results. The seed determines random
    /// changes.
    check: fn(&Table, u64, &Limits) -> Check,
}

/// All invariants.
pub const LAWS: &[Law] = &[
    permute::LAW,
    rename::LAW,
    split::LAW,
    scale::LAW,
    idle::LAW,
    write::LAW,
    alike::LAW,
];

impl Law {
    /// Returns the invariant with the given name.
    pub fn named(name: &str) -> Option<&'static Law> {
        LAWS.iter().find(|law| law.name == name)
    }

    /// Checks whether the invariant holds for a scenario. A panic counts as a violation. A check
    /// that does not end within the time limit also counts as a violation.
    pub fn check(&'static self, scenario: &Table, seed: u64, limits: &Limits) -> Verdict {
        // The invariants transform the times, rates and names of a scenario, but not the values in
        // `[[events]]`.
        if scenario.contains_key("events") {
            return outside("it changes during the run");
        }
        let (scenario, limits) = (scenario.clone(), *limits);
        let verdict = patiently(limits.patience, move || {
            let mut panics = Vec::new();
            let check = || (self.check)(&scenario, seed, &limits);
            let verdict = caught(self.name, &mut panics, check);
            match (verdict, panics.pop()) {
                (Some(Ok(())), _) => Verdict::Held,
                (Some(Err(verdict)), _) => verdict,
                (None, Some(panic)) => Verdict::Broken(panic),
                (None, None) => broken("a panic without a message", self.name),
            }
        });
        verdict.unwrap_or_else(Verdict::Broken)
    }
}

/// The results of an invariant's checks.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of generated scenarios.
    pub tried: u64,
    /// Number of scenarios for which the invariant holds.
    pub held: u64,
    /// Number of scenarios to which the invariant does not apply, for each reason.
    pub outside: BTreeMap<String, u64>,
    /// Number of scenarios for which the invariant does not hold.
    pub broken: u64,
}

/// Limits of a check. The limits apply to each of the runs of a check.
pub const LIMITS: Limits = Limits {
    events: 40_000,
    memory: 256 << 20,
    twice: false,
    patience: std::time::Duration::from_secs(300),
};

/// Checks an invariant on the scenarios of the plan's seeds. After each check, calls `told` with
/// the tally so far, the seed and the verdict.
pub fn survey(
    law: &'static Law,
    plan: &swarm::Plan,
    mut told: impl FnMut(&Tally, u64, &Verdict),
) -> Tally {
    let mut tally = Tally::default();
    let check = |seed| law.check(&(law.draw)(seed), seed, &LIMITS);
    swarm::for_each_seed(plan, check, |seed, verdict| {
        tally.tried += 1;
        match &verdict {
            Verdict::Held => tally.held += 1,
            Verdict::Outside(reason) => {
                let reason = reason.replace(|c: char| c.is_ascii_digit(), "");
                *tally.outside.entry(reason).or_default() += 1;
            }
            Verdict::Broken(_) => tally.broken += 1,
        }
        told(&tally, seed, &verdict);
    });
    tally
}

fn outside(why: impl Into<String>) -> Verdict {
    Verdict::Outside(why.into())
}

fn broken(kind: &str, detail: impl std::fmt::Display) -> Verdict {
    Verdict::Broken(Finding::new(kind, detail))
}

fn loaded(table: &Table) -> Result<Scenario, Verdict> {
    let scenario = load(&table.to_string(), EngineKind::Sim);
    scenario.map_err(|message| outside(format!("refused: {message}")))
}

/// Runs the first sweep point of a scenario to its end.
fn played(table: &Table, limits: &Limits) -> Result<(Arc<Plan>, Outcome), Verdict> {
    let scenario = loaded(table)?;
    let point = &scenario.points[0];
    played_as(&point.plan, point.seed, limits)
}

/// Runs a plan with a seed to its end.
fn played_as(
    plan: &Arc<Plan>,
    seed: u64,
    limits: &Limits,
) -> Result<(Arc<Plan>, Outcome), Verdict> {
    if estimate_memory(plan) > limits.memory {
        return Err(outside("it takes more memory than a check may"));
    }
    match run_whole(plan, seed, limits) {
        Some(outcome) => Ok((Arc::clone(plan), outcome)),
        None => Err(outside("it has more events than a check may")),
    }
}

fn tables<'t>(root: &'t mut Table, key: &str) -> impl Iterator<Item = &'t mut Table> {
    let all = root.get_mut(key).and_then(Value::as_array_mut);
    all.into_iter().flatten().filter_map(Value::as_table_mut)
}

/// Returns the links of a scenario: the tables in `links`, or the bottleneck.
fn links(root: &mut Table) -> Vec<&mut Table> {
    let mut all = Vec::new();
    for (key, value) in root.iter_mut() {
        match (key.as_str(), value) {
            ("bottleneck", Value::Table(link)) => all.push(link),
            ("links", Value::Table(links)) => {
                all.extend(links.iter_mut().filter_map(|(_, link)| link.as_table_mut()));
            }
            _ => {}
        }
    }
    all
}

/// Reads a time in the notation of generated scenarios. Returns ns.
fn ns_of(value: Option<&Value>) -> Option<u64> {
    value?.as_str()?.strip_suffix("ns")?.parse().ok()
}
