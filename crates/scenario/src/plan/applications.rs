//! Reads the times at which a flow's application writes, and the amounts of data.

use tailback_engine::plan::{ChunksPlan, FlowPlan};

use crate::declare::{Bdp, Fields, Reader};
use crate::read::{Item, Problem};

/// Reads the chunks and pauses of a flow from the file, and reports contradictory keys.
pub(super) fn application(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    flow: &mut FlowPlan,
    bdp: Bdp,
) {
    if let Some(item) = fields.item("pause") {
        flow.pause = reader.pauses(item);
    }
    let Some(item) = fields.item("chunks") else {
        return;
    };
    flow.chunks = chunks(reader, item, bdp).map(Box::new);
    for (key, instead) in [
        ("bytes", "\"count\" in chunks"),
        ("rate", "\"every\" in chunks"),
    ] {
        if let Some(other) = fields.item(key) {
            let message = format!("the flow has \"chunks\" and \"{key}\"");
            let problem = Problem::new(other.node.span, message);
            reader.problem(problem.expected(format!("{instead} in place of \"{key}\"")));
        }
    }
}

fn chunks(reader: &mut Reader<'_>, item: &Item, bdp: Bdp) -> Option<ChunksPlan> {
    let before = reader.problems.len();
    let fields = reader.fields(&item.node, &ChunksPlan::TABLE, "\"chunks\"", bdp);
    let mut chunks = ChunksPlan::default();
    chunks.set(|key| fields.value(key));
    if reader.problems.len() > before {
        return None;
    }
    match (fields.item("every"), fields.item("think")) {
        (Some(_), Some(think)) => {
            let message = "\"every\" and \"think\" exclude each other";
            let problem = Problem::new(think.node.span, message);
            reader.problem(problem.expected("\"every\" or \"think\""));
        }
        (None, None) => reader.problem(
            Problem::new(
                item.node.span,
                "neither \"every\" nor \"think\" says when the next chunk comes",
            )
            .expected("\"every\" or \"think\" in chunks, such as think = \"100ms\""),
        ),
        (Some(_), None) => {
            if let Some(request) = fields.item("request") {
                let message = "with \"every\" the receiver sends no requests";
                let problem = Problem::new(request.node.span, message);
                reader.problem(
                    problem.expected("\"think\" in place of \"every\", or no \"request\""),
                );
            }
        }
        (None, Some(_)) => {}
    }
    Some(chunks)
}
