//! Reads TCP settings of a flow or of a source's connections, including whether to negotiate ECN.

use tailback_engine::cc;
use tailback_engine::plan::TcpPlan;
use tailback_engine::registry::rules::At;

use crate::declare::{Bdp, Choice, Fields, Reader};
use crate::read::{Node, Problem, Span};

/// Reads the TCP settings of a flow. The flow's own key `tcp` overrides `[tcp]`.
pub(super) fn stack_of(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    base: &TcpPlan,
    bdp: Bdp,
) -> TcpPlan {
    let Some(item) = fields.item("tcp") else {
        return base.clone();
    };
    read(reader, &item.node, "tcp", base, bdp)
}

/// Reads TCP settings from a table, with the values of `base` for missing keys.
pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    label: &str,
    base: &TcpPlan,
    bdp: Bdp,
) -> TcpPlan {
    let fields = reader.fields(node, &TcpPlan::TABLE, label, bdp);
    let mut tcp = base.clone();
    tcp.set(|key| fields.given(key).cloned());
    check_window(reader, &fields, &tcp);
    if tcp.ssthresh_metrics_save && !tcp.metrics_save {
        reader.problem(
            Problem::new(
                fields.span_of("ssthresh_metrics_save"),
                "ssthresh_metrics_save has no effect without metrics_save",
            )
            .expected("metrics_save = true too"),
        );
    }
    tcp
}

/// Rejects a receive window of less than a segment, because the flow could not send any segment.
fn check_window(reader: &mut Reader<'_>, fields: &Fields<'_>, tcp: &TcpPlan) {
    if tcp.rwnd.0 >= u64::from(tcp.mss) {
        return;
    }
    let key = ["rwnd", "mss"]
        .into_iter()
        .find(|key| fields.item(key).is_some());
    reader.problem(
        Problem::new(
            fields.span_of(key.unwrap_or("rwnd")),
            format!(
                "the receive window of {} bytes holds no segment",
                tcp.rwnd.0
            ),
        )
        .expected(format!("rwnd of at least mss, {} bytes", tcp.mss)),
    );
}

/// Returns whether a flow negotiates ECN. If the file does not set `ecn`, the congestion control
/// decides.
pub(super) fn ecn_of(
    reader: &mut Reader<'_>,
    choice: &Choice,
    tcp: &TcpPlan,
    given: Option<(Option<bool>, Span)>,
    fields: &Fields<'_>,
) -> bool {
    let (given, at) = given.unwrap_or((None, fields.span));
    let control = choice.algorithm.known().filter(|_| choice.valid);
    let (ecn, findings) = cc::ecn::negotiated(control, tcp, given);
    for finding in findings {
        let span = match finding.at {
            At::Ecn => at,
            At::Control => fields.span_of("cc"),
            At::Option(name) => {
                let cc = fields.item("cc").and_then(|item| item.node.table());
                let option = cc.and_then(|cc| cc.item(name));
                option.map_or(fields.span_of("cc"), |item| item.node.span)
            }
        };
        let problem = Problem::new(span, finding.message).expected(finding.expected);
        if finding.warning {
            reader.warnings.push(problem);
        } else {
            reader.problem(problem);
        }
    }
    ecn
}
