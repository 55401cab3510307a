//! Rejects settings that the simulator does not support together with `path.offloads`.

use tailback_engine::plan::{Conduct, FlowPlan, ProgramPlan, TrafficPlan};

use crate::declare::Reader;
use crate::read::{Problem, Span};

pub(super) fn check(
    reader: &mut Reader<'_>,
    offloads: Span,
    flows: &[FlowPlan],
    traffic: &[TrafficPlan],
    programs: &[ProgramPlan],
) {
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
