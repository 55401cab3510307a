//! ABE (RFC 8511) across a sweep: which flows have a factor of their own for
//! ECN-Echo, and the point of a sweep that has none, over which gains are.

use std::collections::HashMap;

use tailback_engine::plan::{Algorithm, Plan};
use tailback_engine::registry::{Options, Value};

use crate::Run;
use crate::canonical::canonical;
use crate::trace::Traces;

/// What is expected where a gain has no baseline.
pub(crate) const BASELINE: &str = "for every point another that differs in beta_ecn only and has the standard backoff: a sweep over beta_ecn with a value equal to beta";

/// Name and factors (loss, ECN-Echo) of a congestion control that was given both.
pub(crate) fn factors(algorithm: &Algorithm) -> Option<(&'static str, f64, f64)> {
    let Algorithm::Known { name, options } = algorithm else {
        return None;
    };
    options.get("abe")?;
    match (options.get("beta"), options.get("beta_ecn")) {
        (Some(Value::Float(loss)), Some(Value::Float(marks))) => Some((name, *loss, *marks)),
        _ => None,
    }
}

/// The congestion controls of a plan.
fn controls(plan: &Plan) -> impl Iterator<Item = &Algorithm> {
    let sources = plan.traffic.iter();
    let sources = sources.filter_map(|source| Some(&source.connections.as_ref()?.cc));
    plan.flows.iter().map(|flow| &flow.cc).chain(sources)
}

/// Whether one answers ECN-Echo otherwise than a loss.
fn apart(plan: &Plan) -> bool {
    controls(plan)
        .filter_map(factors)
        .any(|(_, loss, marks)| loss != marks)
}

/// The plan with the standard backoff everywhere.
fn standard(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let sources = plan.traffic.iter_mut();
    let sources = sources.filter_map(|source| Some(&mut source.connections.as_mut()?.cc));
    for cc in plan
        .flows
        .iter_mut()
        .map(|flow| &mut flow.cc)
        .chain(sources)
    {
        if let Algorithm::Known { options, .. } = cc
            && options.get("abe").is_some()
        {
            let abe = ["abe", "abe_frlossreduce", "beta_ecn"];
            let mut kept = Options::default();
            for (name, value) in options.iter().filter(|(name, _)| !abe.contains(name)) {
                kept.set(name, value.clone());
            }
            *options = kept;
        }
    }
    plan
}

/// For each run the one with the standard backoff and everything else the same.
pub(crate) fn baselines(runs: &[Run], traces: &Traces) -> Vec<Option<usize>> {
    if !runs.iter().any(|run| apart(&run.plan)) {
        return vec![None; runs.len()];
    }
    let keys: Vec<String> = runs
        .iter()
        .map(|run| canonical(&standard(&run.plan), traces))
        .collect();
    let mut found = HashMap::new();
    for (i, (run, key)) in runs.iter().zip(&keys).enumerate() {
        if !apart(&run.plan) {
            found.entry(key.as_str()).or_insert(i);
        }
    }
    keys.iter()
        .map(|key| found.get(key.as_str()).copied())
        .collect()
}
