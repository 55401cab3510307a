//! Rejects settings that the simulator does not support together with `path.offloads`.

use tailback_engine::plan::{Conduct, FlowPlan, ProgramPlan, TrafficPlan};
use tailback_engine::registry::Value;

use super::links::Links;
use crate::declare::Reader;
use crate::read::{Problem, Span};

/// Name of the option with which queues split packets that consist of joined segments.
const SPLITS: &str = "split_gso";

pub(super) fn check(
    reader: &mut Reader<'_>,
    offloads: Span,
    links: &Links,
    flows: &[FlowPlan],
    traffic: &[TrafficPlan],
    programs: &[ProgramPlan],
) {
    for (link, (queue, places)) in links.plans.iter().zip(&links.queues) {
        let Some((name, options)) = link.queue.known() else {
            continue;
        };
        let place = places.iter().find(|place| place.0 == SPLITS);
        let span = place.map_or(*queue, |place| place.1);
        if name == "cake" {
            // Without splitting, Cake adds its overhead to each segment of a packet.
            let message = "the simulator's cake does not support offloads";
            let problem = Problem::new(*queue, message);
            reader.problem(problem.expected("offloads = false, or --engine kernel"));
        } else if options.get(SPLITS) == Some(&Value::Bool(true)) {
            let message = format!("the simulator's {name} does not split packets of offloads");
            let problem = Problem::new(span, message);
            reader.problem(
                problem.expected("split_gso = false, offloads = false, or --engine kernel"),
            );
        }
    }
    if !programs.is_empty() {
        let message = "the simulator does not support offloads of programs";
        let problem = Problem::new(offloads, message);
        reader.problem(problem.expected("offloads = false, or --engine kernel"));
    }
    let sources = traffic.iter().filter_map(|t| t.connections.as_ref());
    let stacks = flows.iter().map(|flow| &flow.tcp);
    if stacks
        .chain(sources.map(|connections| &connections.tcp))
        .any(|tcp| tcp.receiver != Conduct::Honest)
    {
        let message = "only honest receivers support offloads";
        let problem = Problem::new(offloads, message);
        reader.problem(problem.expected("offloads = false, or tcp.receiver = \"honest\""));
    }
}
