//! Finds the baseline of each run, which is needed to compute the run's gain. In the baseline, all
//! congestion controls respond to marks in the standard way, and all other settings are the same as
//! in the run. ABE (RFC 8511) is an example of a response that is not standard.

use std::collections::HashMap;

use tailback_engine::cc;
use tailback_engine::plan::{Algorithm, Plan};
use tailback_engine::registry::rules::Standard;
use tailback_engine::registry::{Options, find};

use super::grid::Run;
use crate::canonical::canonical;
use crate::declare::Traces;

/// The expected value in the error message about an assertion that needs a gain in a sweep without
/// a baseline.
pub(crate) const BASELINE: &str =
    "a sweep over beta_ecn whose values include beta, which is the standard backoff";

/// Returns the standard response to marks of a congestion control, if its options can change that
/// response.
fn standard_of(control: &Algorithm) -> Option<(Standard, &Options)> {
    let (name, options) = control.known()?;
    Some((find(cc::TABLE.entries(), name)?.rules.standard?, options))
}

/// Returns whether any congestion control of the plan has a response other than the standard
/// response.
fn departs(plan: &Plan) -> bool {
    let sources = plan.traffic.iter();
    let sources = sources.filter_map(|source| Some(&source.connections.as_ref()?.cc));
    let controls = plan.flows.iter().map(|flow| &flow.cc).chain(sources);
    controls
        .filter_map(standard_of)
        .any(|(standard, options)| (standard.departs)(options))
}

/// Returns the plan in which all congestion controls have the standard response.
fn standard(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let sources = plan.traffic.iter_mut();
    let sources = sources.filter_map(|source| Some(&mut source.connections.as_mut()?.cc));
    let flows = plan.flows.iter_mut().map(|flow| &mut flow.cc);
    for control in flows.chain(sources) {
        let standard = standard_of(control).map(|found| found.0);
        if let (Algorithm::Known { options, .. }, Some(standard)) = (control, standard) {
            (standard.restore)(options);
        }
    }
    plan
}

/// Returns the index of each run's baseline. An item is `None` if the run needs no baseline, or if
/// the sweep does not contain the run's baseline.
pub(crate) fn baselines(runs: &[Run], traces: &Traces) -> Vec<Option<usize>> {
    let departs: Vec<bool> = runs.iter().map(|run| departs(&run.plan)).collect();
    if !departs.contains(&true) {
        return vec![None; runs.len()];
    }
    let keys: Vec<String> = runs
        .iter()
        .map(|run| canonical(&standard(&run.plan), traces))
        .collect();
    let mut found = HashMap::new();
    for (i, (departs, key)) in departs.iter().zip(&keys).enumerate() {
        if !departs {
            found.entry(key.as_str()).or_insert(i);
        }
    }
    keys.iter()
        .map(|key| found.get(key.as_str()).copied())
        .collect()
}
