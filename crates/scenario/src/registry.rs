//! Converts the registries to JSON, for `tailback list`, the laboratory in the browser and the
//! reference.

use serde_json::{Value, json};
use tailback_engine::hosts::{self, HostKind};
use tailback_engine::profiles::{self, Profile};
use tailback_engine::programs::stacks;
use tailback_engine::registry::kernel::{Kernel, Order, show};
use tailback_engine::registry::{Entry, Kind, Opt, Options, Value as OptionValue, find};
use tailback_engine::units::{Bytes, Rate, Time};
use tailback_engine::{aqm, cc, impairments, programs, traffic};
use tailback_record::summary::field::{Better, Field, Kind as FieldKind, Record};
use tailback_record::summary::metric::metrics;
use tailback_record::summary::{BINS, Summary};
use tailback_record::{FlowState, LinkState, ProgramState};

/// Returns every entry of every registry.
pub fn json() -> Value {
    json!({
        "cc": entries(cc::TABLE.entries()),
        "aqm": entries(aqm::TABLE.entries()),
        "traffic": entries(traffic::TABLE.entries()),
        "impairments": entries(impairments::ENTRIES),
        "programs": entries(programs::TABLE.entries()),
        "stacks": entries(stacks::TABLE.entries()),
        "adapters": adapters(),
        "paths": paths(),
        "hosts": hosts(),
        "series": quantities(),
    })
}

fn paths() -> Vec<Value> {
    let paths = profiles::ENTRIES.iter();
    let path = |path: &Profile| json!({ "name": path.name, "doc": path.doc(), "source": path.source(), "toml": path.toml });
    paths.map(path).collect()
}

/// Returns the kinds of hosts. The waiting times of the hosts are in microseconds.
fn hosts() -> Vec<Value> {
    let kinds = hosts::ENTRIES.iter();
    let kind = |kind: &&HostKind| {
        let wait = kind.wait.map(|wait| wait.map(|time| time.ns() / 1_000));
        let pauses = kind.pauses.as_ref().map(|pauses| {
            let [least, most] = pauses.length.map(|time| time.ns() / 1_000);
            json!({ "least_us": least, "most_us": most, "gap_us": pauses.gap.ns() / 1_000 })
        });
        json!({ "name": kind.name, "doc": kind.doc, "source": kind.source, "wait_us": wait, "pauses": pauses })
    };
    kinds.map(kind).collect()
}

/// Returns the transport stacks in tailback's repository.
fn adapters() -> Vec<Value> {
    let adapters = stacks::ADAPTERS.iter();
    adapters
        .map(|one| json!({ "name": one.kind, "doc": one.doc, "folder": one.folder }))
        .collect()
}

/// Returns the quantities of flows, links and programs that are sampled over time.
fn quantities() -> Vec<Value> {
    let flow = FlowState::QUANTITIES.iter().map(|q| ("flow", q));
    let link = LinkState::QUANTITIES.iter().map(|q| ("link", q));
    let program = ProgramState::QUANTITIES.iter().map(|q| ("program", q));
    flow.chain(link)
        .chain(program)
        .map(|(on, q)| {
            json!({ "name": q.name, "on": on, "unit": q.unit, "doc": q.doc, "when": q.when.doc() })
        })
        .collect()
}

/// Returns the declaration of a run's summary: the tree of its fields, the list of fields that are
/// metrics, and the size bins of requests.
pub fn summary() -> Value {
    let metrics = metrics().iter().map(|metric| {
        json!({
            "on": metric.on.name(),
            "parts": metric.parts,
            "path": metric.path,
            "name": metric.name(),
            "field": metric.field,
            "doc": metric.doc,
            "unit": metric.reading.unit,
            "weight": metric.reading.weight.name(),
            "most": metric.reading.most,
            "better": metric.reading.better.map(Better::name),
        })
    });
    json!({
        "fields": fields(Summary::FIELDS),
        "metrics": metrics.collect::<Vec<_>>(),
        "bins": BINS,
    })
}

/// Returns each field of a summary with its type. For a table, the type includes the table's
/// fields.
fn fields(declared: &[Field]) -> Vec<Value> {
    let field = |field: &Field| {
        let (kind, inner) = match field.kind {
            FieldKind::Text => ("text", None),
            FieldKind::OptionalText => ("optional text", None),
            FieldKind::Identity => ("identity", None),
            FieldKind::Count => ("count", None),
            FieldKind::OptionalCount => ("optional count", None),
            FieldKind::Number => ("number", None),
            FieldKind::OptionalNumber => ("optional number", None),
            FieldKind::Statistics => ("statistics", None),
            FieldKind::Causes => ("causes", None),
            FieldKind::Numbers => ("numbers", None),
            FieldKind::Table(inner) => ("table", Some(inner)),
            FieldKind::OptionalTable(inner) => ("optional table", Some(inner)),
            FieldKind::List(inner) => ("list", Some(inner)),
            FieldKind::ByName(inner) => ("by name", Some(inner)),
            FieldKind::Inline(inner) => return fields(inner),
        };
        vec![json!({
            "name": field.name,
            "kind": kind,
            "fields": inner.map(fields),
            "statistics": (kind == "statistics").then_some(field.statistics),
            "may_lack": field.left_out || field.added,
            "measured": field.reading.is_some(),
        })]
    };
    declared.iter().flat_map(field).collect()
}

fn entries<B>(entries: &[&Entry<B>]) -> Vec<Value> {
    entries
        .iter()
        .map(|entry| {
            let mut value = json!({
                "name": entry.name,
                "doc": entry.doc,
                "follows": entry.follows,
                "options": options(entry.options),
            });
            add(&mut value, kernel(entry));
            value
        })
        .collect()
}

fn inner_type(kind: Kind) -> Value {
    let opt = Opt {
        name: "",
        doc: "",
        kind,
        default: None,
        tc: None,
    };
    option(&opt)["type"].clone()
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
        Kind::BoolOrInt { min, max } => ("bool or int", json!({"min": min, "max": max})),
        Kind::List(inner) => ("list", json!({"of": inner_type(*inner)})),
        Kind::Pairs(inner) => ("pairs", json!({"of": inner_type(*inner)})),
        Kind::Table(inner) => ("table", json!({"options": options(inner)})),
    };
    value["type"] = kind.into();
    add(&mut value, more);
    value
}

/// Adds the members of an object to another object.
fn add(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        value.extend(more);
    }
}

/// Returns how the kernel implements an entry. The result contains the entry's name in Linux, the
/// first Linux release with the entry, and whether a qdisc or a module implements the entry.
fn kernel<B>(entry: &Entry<B>) -> Value {
    match entry.kernel {
        Kernel::Qdisc(face) => json!({
            "kernel": entry.kernel.name(),
            "kernel_kind": if face.kinds.is_empty() { "none" } else { "tc" },
            "since": face.since,
            "kinds": face.kinds,
            "needs": face.needs,
            "built_in": face.built_in,
            "stand_ins": face.stand_ins.iter().map(|own| json!({
                "name": entry.kernel.name(),
                "module": own.module,
            })).collect::<Vec<_>>(),
            "in_order": match face.order {
                Order::Arrival => json!(true),
                Order::ArrivalIf(option, word) => json!({ option: word }),
                Order::Flows | Order::Classes | Order::ClassesUnless(_) | Order::None => json!(false),
            },
            "dual": matches!(face.order, Order::Classes | Order::ClassesUnless(_)),
        }),
        Kernel::Module(face) => json!({
            "kernel": face.name,
            "kernel_kind": "module",
            "since": face.since,
            "built_in": face.built_in,
            "stand_ins": face.stand_ins().map(|module| json!({
                "option": module.option,
                "name": module.name,
                "module": module.module,
                "since": module.since,
            })).collect::<Vec<_>>(),
        }),
        Kernel::Agent => json!({ "kernel": entry.name, "kernel_kind": "agent" }),
        Kernel::None => json!({ "kernel": null, "kernel_kind": "none" }),
    }
}

/// Formats a queue from a stored canonical form in the same way as `tc qdisc show`.
pub fn tc_line(queue: &Value) -> String {
    let name = queue["name"].as_str().unwrap_or("?");
    let entry = find(aqm::TABLE.entries(), name).filter(|_| queue["kernel"] != true);
    let Some((entry, Kernel::Qdisc(face))) = entry.map(|entry| (entry, entry.kernel)) else {
        let words = queue["args"].as_str().unwrap_or("");
        return format!("qdisc {name} {words}").trim_end().to_owned();
    };
    let options = read_options(entry.options, &queue["options"]);
    show(name, face, entry.options, &options)
}

/// Reads the options of a stored queue. Skips an option whose form this version of tailback does
/// not support.
fn read_options(known: &'static [Opt], written: &Value) -> Options {
    let mut options = Options::default();
    for opt in known {
        if let Some(value) = read(opt.kind, &written[opt.name]) {
            options.set(opt.name, value);
        }
    }
    options
}

fn read(kind: Kind, written: &Value) -> Option<OptionValue> {
    let size = |of: &str| written.get(of).and_then(Value::as_u64);
    let word = |words: &'static [&'static str]| {
        let word = words.iter().find(|word| written == **word)?;
        Some(OptionValue::Word(word))
    };
    match kind {
        Kind::Bool => written.as_bool().map(OptionValue::Bool),
        Kind::Int { .. } => written.as_i64().map(OptionValue::Int),
        Kind::Float { .. } => written.as_f64().map(OptionValue::Float),
        Kind::Time { .. } => Some(OptionValue::Time(Time(written.as_u64()?))),
        Kind::Rate => Some(OptionValue::Rate(Rate(written.as_u64()?))),
        Kind::Size { .. } | Kind::TimeOrSize => match (size("packets"), size("ns")) {
            (Some(packets), _) => Some(OptionValue::Packets(packets)),
            (_, Some(ns)) => Some(OptionValue::Time(Time(ns))),
            _ => {
                let bytes = size("bytes").or_else(|| written.as_u64())?;
                Some(OptionValue::Bytes(Bytes(bytes)))
            }
        },
        Kind::Word(words) => word(words),
        Kind::WordOrInt { words, .. } => {
            word(words).or_else(|| written.as_i64().map(OptionValue::Int))
        }
        Kind::BoolOrInt { .. } => {
            let whole = || written.as_i64().map(OptionValue::Int);
            written.as_bool().map(OptionValue::Bool).or_else(whole)
        }
        Kind::List(inner) => {
            let values = written.as_array()?.iter().map(|value| read(*inner, value));
            values.collect::<Option<_>>().map(OptionValue::List)
        }
        Kind::Pairs(inner) => {
            let pairs = written.as_array()?.iter();
            let pairs = pairs.map(|pair| Some((Time(pair[0].as_u64()?), read(*inner, &pair[1])?)));
            pairs.collect::<Option<_>>().map(OptionValue::Pairs)
        }
        Kind::Table(inner) => {
            let table = written.is_object();
            table.then(|| OptionValue::Table(read_options(inner, written)))
        }
    }
}
