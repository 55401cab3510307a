//! Creates the manifest of a run folder, which states how the results were computed.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;
use tailback_engine::plan::Plan;
use tailback_engine::registry::{Entry, find};
use tailback_engine::{aqm, cc, traffic};
use tailback_record::folder::Manifest;
use tailback_scenario::{EngineKind, Point};

/// Makes the manifest of a sweep point. `environment` describes the kernel, if the engine runs on a
/// kernel.
pub(crate) fn of(
    point: &Point,
    engine: EngineKind,
    environment: Option<Value>,
) -> io::Result<Manifest<'_>> {
    Ok(Manifest {
        run_id: &point.run_id,
        engine: engine.name(),
        engine_version: &point.engine_version,
        seed: point.seed,
        canonical: serde_json::from_str(&point.canonical)?,
        follows: follows(&point.plan),
        environment,
    })
}

/// Returns the specifications that the algorithms of a plan follow, such as an RFC or a kernel
/// version. The list has no duplicates.
fn follows(plan: &Plan) -> Vec<(String, String)> {
    fn one<B>(kind: &str, entries: &[&'static Entry<B>], name: &str) -> Option<(String, String)> {
        let entry = find(entries, name)?;
        Some((format!("{kind}.{name}"), entry.follows.to_owned()))
    }
    let queues = plan.links.iter().map(|link| link.queue.name());
    let queues = queues.map(|name| one("aqm", aqm::TABLE.entries(), name));
    let connections = plan.traffic.iter().filter_map(|t| t.connections.as_ref());
    let controls = plan.flows.iter().map(|flow| &flow.cc);
    let controls = controls
        .chain(connections.map(|c| &c.cc))
        .map(|cc| one("cc", cc::TABLE.entries(), cc.name()));
    let traffic = plan.traffic.iter().map(|t| t.kind);
    let traffic = traffic.map(|kind| one("traffic", traffic::TABLE.entries(), kind));
    let all: BTreeMap<_, _> = queues.chain(controls).chain(traffic).flatten().collect();
    all.into_iter().collect()
}
