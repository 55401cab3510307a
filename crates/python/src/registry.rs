//! The registries as JSON: what `tailback list` and the reference pages show.

use serde_json::{Value, json};
use tailback_engine::registry::{Entry, Kernel, Kind, Opt};
use tailback_engine::{aqm, cc, traffic};
use tailback_record::{FlowState, LinkState};

/// Every entry of every registry.
pub fn json() -> Value {
    json!({
        "cc": entries(cc::ENTRIES),
        "aqm": entries(aqm::ENTRIES),
        "traffic": entries(traffic::ENTRIES),
        "series": quantities(),
    })
}

/// What is sampled over time of flows and links.
fn quantities() -> Vec<Value> {
    let flow = FlowState::QUANTITIES.iter().map(|q| ("flow", q));
    let link = LinkState::QUANTITIES.iter().map(|q| ("link", q));
    flow.chain(link)
        .map(|(on, q)| {
            json!({ "name": q.name, "on": on, "unit": q.unit, "doc": q.doc, "when": q.when.doc() })
        })
        .collect()
}

fn entries<B>(entries: &[&Entry<B>]) -> Vec<Value> {
    entries
        .iter()
        .map(|entry| {
            let (kernel, kernel_kind) = match entry.kernel {
                Kernel::Tc(name) => (Some(name), "tc"),
                Kernel::Module(name) => (Some(name), "module"),
                Kernel::Agent => (Some(entry.name), "agent"),
                Kernel::None => (None, "none"),
            };
            json!({
                "name": entry.name,
                "doc": entry.doc,
                "follows": entry.follows,
                "kernel": kernel,
                "kernel_kind": kernel_kind,
                "options": options(entry.options),
            })
        })
        .collect()
}

fn options(options: &[Opt]) -> Vec<Value> {
    options.iter().map(option).collect()
}

fn option(opt: &Opt) -> Value {
    let mut value = json!({
        "name": opt.name,
        "doc": opt.doc,
        "default": opt.default,
        "tc": opt.tc,
    });
    let (kind, more) = match opt.kind {
        Kind::Bool => ("bool", json!({})),
        Kind::Int { min, max } => ("int", json!({"min": min, "max": max})),
        Kind::Float { min, max } => ("float", json!({"min": min, "max": max})),
        Kind::Time { min } => ("time", json!({"min": min.to_string()})),
        Kind::Rate => ("rate", json!({})),
        Kind::Size { packets, bytes } => ("size", json!({"packets": packets, "bytes": bytes})),
        Kind::TimeOrSize => ("time or size", json!({})),
        Kind::Word(words) => ("word", json!({"words": words})),
        Kind::WordOrInt { words, min, max } => (
            "word or int",
            json!({"words": words, "min": min, "max": max}),
        ),
        Kind::Table(inner) => ("table", json!({"options": options(inner)})),
    };
    value["type"] = kind.into();
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}
