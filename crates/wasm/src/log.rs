//! Describes the events of a run in words. Events are reductions of windows (with their reasons),
//! ends of slow start, and drops and marks (with their causes).

use serde_json::{Value, json};
use tailback_record::account::{Reduction, SlowStart};
use tailback_record::{FlowOutcome, Outcome};

/// Largest number of rows. Further rows are counted, but not returned.
const MOST: usize = 4_000;

/// Drops (or marks) with the same flow, link and cause share a row if each drop or mark follows the
/// previous one within this time, ns.
const TOGETHER_NS: u64 = 50_000_000;

/// Returns the first rows in the order of time, and the number of further rows.
pub fn of(outcome: &Outcome) -> Value {
    let mut rows: Vec<(u64, Value)> = Vec::new();
    for flow in &outcome.flows {
        rows.extend(
            flow.account
                .listed
                .iter()
                .map(|row| (row.at_ns(), reduction(flow, row))),
        );
        let end = flow.account.slow_start.as_deref();
        rows.extend(end.map(|end| (end.at_ns, slow_start(flow, end))));
    }
    rows.extend(signals(outcome));
    rows.sort_by_key(|(at_ns, _)| *at_ns);
    let more = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let rows: Vec<Value> = rows.into_iter().map(|(_, row)| row).collect();
    json!({ "rows": rows, "more": more })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn reduction(flow: &FlowOutcome, row: &Reduction) -> Value {
    let reason = row.reason();
    let undo = reason.name().starts_with("undo");
    json!({
        "t": seconds(row.at_ns()),
        "kind": if undo { "undo" } else { "reduction" },
        "flow": flow.name,
        "cause": reason.name(),
        "doc": reason.doc(),
        "from": row.from,
        "to": row.to,
    })
}

fn slow_start(flow: &FlowOutcome, end: &SlowStart) -> Value {
    json!({
        "t": seconds(end.at_ns),
        "kind": "slow start",
        "flow": flow.name,
        "cause": end.why,
        "from": end.cwnd,
        "lost": end.lost,
    })
}

/// Returns the rows of drops and marks. Each row comes with its time in ns.
fn signals(outcome: &Outcome) -> Vec<(u64, Value)> {
    struct Row {
        from_ns: u64,
        to_ns: u64,
        count: u64,
    }
    let series = &outcome.series;
    let is_signal: Vec<bool> = (series.keys.iter())
        .map(|key| key.quantity.starts_with("drop.") || key.quantity.starts_with("mark."))
        .collect();
    let mut open: Vec<Option<Row>> = series.keys.iter().map(|_| None).collect();
    let mut done = Vec::new();
    let mut close = |key: usize, row: Row| {
        let key = &series.keys[key];
        let (kind, cause) = key.quantity.split_once('.').unwrap_or_default();
        let value = json!({
            "t": seconds(row.from_ns),
            "until": seconds(row.to_ns),
            "kind": kind,
            "flow": key.flow,
            "link": key.link,
            "cause": cause,
            "count": row.count,
        });
        done.push((row.from_ns, value));
    };
    for row in series.rows() {
        let (key, at_ns) = (row.key as usize, row.time_ns);
        if !is_signal[key] {
            continue;
        }
        match &mut open[key] {
            Some(row) if at_ns.saturating_sub(row.to_ns) <= TOGETHER_NS => {
                row.to_ns = at_ns;
                row.count += 1;
            }
            place => {
                let row = Row {
                    from_ns: at_ns,
                    to_ns: at_ns,
                    count: 1,
                };
                if let Some(before) = place.replace(row) {
                    close(key, before);
                }
            }
        }
    }
    for (key, row) in open.into_iter().enumerate() {
        if let Some(row) = row {
            close(key, row);
        }
    }
    done
}
