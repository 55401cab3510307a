//! The canonical form of a point: defaults filled in, base units, sorted keys.
//! Its hash, with the seed and the engine's version, names the run.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use tailback_engine::plan::{
    AccEcnOption, Algorithm, ConnectionsPlan, EcnFeedback, FlowPlan, Growth, LinkMode, Pacing,
    Plan, RatePlan, ReceiveBuffer, SceReceiver, SeriesMode, TcpPlan, TrafficPlan,
};
use tailback_engine::registry::{Kind, Opt, Options, Value};
use tailback_engine::units::Time;

use crate::keys::Registry;
use crate::trace::Traces;

/// Version of the canonical form.
const VERSION: u32 = 1;

/// The canonical form as JSON; the seed is not part of it.
pub(crate) fn canonical(plan: &Plan, traces: &Traces) -> String {
    let links: Vec<Json> = plan
        .links
        .iter()
        .map(|link| {
            json!({
                "name": link.name,
                "rate": rate(&link.rate, traces),
                "queue": algorithm(Registry::Aqm, &link.queue, link.module.as_deref()),
                "link": match link.mode {
                    LinkMode::Shaper => "shaper",
                    LinkMode::Wire => "wire",
                },
                "delay": link.delay.0,
                "jitter": link.jitter.0,
                "loss": link.loss,
                "overhead": link.overhead,
                "count_in_service": link.count_in_service,
                "schedule": link.schedule.as_ref().map(|schedule| json!({
                    "marks": schedule.marks,
                    "drops": schedule.drops,
                })),
            })
        })
        .collect();
    let flows = grouped(&plan.flows, |flow| &flow.name, same_flow, flow_json);
    let traffic = grouped(
        &plan.traffic,
        |source| &source.name,
        same_source,
        source_json,
    );
    let mut whole = json!({
        "version": VERSION,
        "duration": plan.duration.0,
        "warmup": plan.warmup.0,
        "start_jitter": plan.start_jitter.0,
        "host_jitter": plan.host_jitter.0,
        "links": links,
        "flows": flows,
        "traffic": traffic,
        "offloads": plan.offloads,
        "record": {
            "interval": plan.record.interval.0,
            "series": match plan.record.series {
                SeriesMode::Off => "off",
                SeriesMode::Interval => "interval",
                SeriesMode::Changes => "changes",
                SeriesMode::Acks => "acks",
            },
            "events": plan.record.events,
            "packets": plan.record.packets,
            "captures": plan.record.captures,
        },
    });
    // Left out where it is not asked for: such runs keep their names.
    if plan.record.statistics > Time::ZERO {
        whole["record"]["statistics"] = json!(plan.record.statistics.0);
    }
    let mut text = String::new();
    write_sorted(&whole, &mut text);
    text
}

/// The first 20 digits of a SHA-256 hash.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize(), 10)
}

/// The first bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8], len: usize) -> String {
    bytes
        .iter()
        .take(len)
        .fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        })
}

/// Names a run.
pub(crate) fn run_id(canonical: &str, seed: u64, engine_version: &str) -> String {
    digest(&[canonical, &seed.to_string(), engine_version])
}

/// Names a sweep by the runs it consists of.
pub(crate) fn sweep_id<'a>(runs: impl Iterator<Item = &'a str>) -> String {
    let runs: Vec<&str> = runs.collect();
    digest(&runs)
}

/// Writes JSON without spaces, keys sorted whatever order the map keeps.
fn write_sorted(json: &Json, out: &mut String) {
    match json {
        Json::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                _ = write!(out, "{}:", Json::from(key.as_str()));
                write_sorted(&map[key], out);
            }
            out.push('}');
        }
        Json::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_sorted(item, out);
            }
            out.push(']');
        }
        other => _ = write!(out, "{other}"),
    }
}

fn rate(rate: &RatePlan, traces: &Traces) -> Json {
    match rate {
        RatePlan::Constant(rate) => json!(rate.0),
        RatePlan::Steps(steps) => {
            let steps: Vec<[u64; 2]> = steps.iter().map(|(at, rate)| [at.0, rate.0]).collect();
            json!({ "steps": steps })
        }
        // The content of the file, whatever its name: a changed file is another run.
        RatePlan::Trace(times) => {
            json!({ "trace": { "opportunities": times.len(), "sha256": traces.hash(times) } })
        }
    }
}

fn chosen(registry: Registry, name: &str, options: &Options) -> Json {
    let entries = registry.entries();
    let known = entries
        .iter()
        .find(|entry| entry.name == name)
        .map_or(&[][..], |entry| entry.options);
    json!({ "name": name, "options": options_json(options, known) })
}

/// A queue discipline or congestion control, and the module that stands in for it.
fn algorithm(registry: Registry, which: &Algorithm, module: Option<&str>) -> Json {
    let mut json = match which {
        Algorithm::Known { name, options } => chosen(registry, name, options),
        Algorithm::Kernel { name, args } => json!({ "name": name, "kernel": true, "args": args }),
    };
    if let (Json::Object(map), Some(module)) = (&mut json, module) {
        map.insert("module".to_owned(), json!(module));
    }
    json
}

fn options_json(options: &Options, known: &[Opt]) -> Json {
    let mut map = Map::new();
    for (name, value) in options.iter() {
        let kind = known.iter().find(|opt| opt.name == name).map(|o| o.kind);
        map.insert(name.to_owned(), option_json(value, kind));
    }
    Json::Object(map)
}

fn option_json(value: &Value, kind: Option<Kind>) -> Json {
    match (value, kind) {
        (Value::Bool(b), _) => json!(b),
        (Value::Int(i), _) => json!(i),
        (Value::Float(f), _) => json!(f),
        // A plain number would not say which of the two it is.
        (Value::Time(t), Some(Kind::TimeOrSize)) => json!({ "ns": t.0 }),
        (Value::Bytes(b), Some(Kind::TimeOrSize)) => json!({ "bytes": b.0 }),
        (Value::Time(t), _) => json!(t.0),
        (Value::Rate(r), _) => json!(r.0),
        (Value::Bytes(b), _) => json!(b.0),
        (Value::Packets(n), _) => json!({ "packets": n }),
        (Value::Word(w), _) => json!(w),
        (Value::Table(options), Some(Kind::Table(inner))) => options_json(options, inner),
        (Value::Table(options), _) => options_json(options, &[]),
    }
}

/// One object for each run of `NAME/1`, `NAME/2`, ... that are otherwise
/// equal, as `count` made them: a million flows are one line.
fn grouped<T>(
    all: &[T],
    name: impl Fn(&T) -> &str,
    same: impl Fn(&T, &T) -> bool,
    json: impl Fn(&T) -> Map<String, Json>,
) -> Vec<Json> {
    let mut groups = Vec::new();
    let mut at = 0;
    while let Some(first) = all.get(at) {
        let base = name(first).strip_suffix("/1");
        let mut count = 1;
        if let Some(base) = base {
            while let Some(next) = all.get(at + count)
                && name(next)
                    .strip_prefix(base)
                    .and_then(|rest| rest.strip_prefix('/'))
                    .is_some_and(|number| number == (count + 1).to_string())
                && same(first, next)
            {
                count += 1;
            }
        }
        let mut object = json(first);
        object.insert("name".to_owned(), json!(base.unwrap_or(name(first))));
        object.insert("count".to_owned(), json!(count));
        groups.push(Json::Object(object));
        at += count;
    }
    groups
}

fn same_flow(a: &FlowPlan, b: &FlowPlan) -> bool {
    let FlowPlan {
        name: _,
        cc,
        module,
        ecn,
        start,
        stop,
        bytes,
        rtt,
        route,
        back,
        tcp,
        hosts,
        dscp,
        class,
    } = a;
    (*ecn, *start, *stop, *bytes, *rtt) == (b.ecn, b.start, b.stop, b.bytes, b.rtt)
        && (hosts, *dscp, class) == (&b.hosts, b.dscp, &b.class)
        && *cc == b.cc
        && *module == b.module
        && *route == b.route
        && *back == b.back
        && *tcp == b.tcp
}

fn same_source(a: &TrafficPlan, b: &TrafficPlan) -> bool {
    let TrafficPlan {
        name: _,
        kind,
        options,
        start,
        stop,
        rtt,
        route,
        connections,
        hosts,
        dscp,
        class,
    } = a;
    (*kind, *start, *stop, *rtt) == (b.kind, b.start, b.stop, b.rtt)
        && (hosts, *dscp, class) == (&b.hosts, b.dscp, &b.class)
        && *options == b.options
        && *route == b.route
        && *connections == b.connections
}

fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

fn flow_json(flow: &FlowPlan) -> Map<String, Json> {
    let mut map = object(json!({
        "cc": algorithm(Registry::Cc, &flow.cc, flow.module.as_deref()),
        "ecn": flow.ecn,
        "start": flow.start.0,
        "stop": flow.stop.map(|t| t.0),
        "bytes": flow.bytes.map(|b| b.0),
        "rtt": flow.rtt.0,
        "route": flow.route,
        "back": flow.back,
        "tcp": tcp_json(&flow.tcp),
    }));
    late_json(
        &mut map,
        flow.hosts.as_ref(),
        flow.dscp,
        flow.class.as_deref(),
    );
    map
}

/// Hosts, DSCP and class, where they are not the defaults.
fn late_json(
    map: &mut Map<String, Json>,
    hosts: Option<&[String; 2]>,
    dscp: u8,
    class: Option<&str>,
) {
    if let Some(hosts) = hosts {
        map.insert("hosts".to_owned(), json!(hosts));
    }
    if dscp > 0 {
        map.insert("dscp".to_owned(), json!(dscp));
    }
    if let Some(class) = class {
        map.insert("class".to_owned(), json!(class));
    }
}

fn tcp_json(tcp: &TcpPlan) -> Json {
    let TcpPlan {
        mss,
        header,
        initial_cwnd,
        min_rto,
        delack,
        timestamps,
        rwnd,
        pacing,
        growth,
        quickack,
        initial_ssthresh,
        rcvbuf,
        sce_receiver,
        ecn_feedback,
        accecn_option,
        pacing_ss_ratio,
        pacing_ca_ratio,
    } = tcp;
    json!({
        "mss": mss,
        "header": header,
        "initial_cwnd": initial_cwnd,
        "min_rto": min_rto.0,
        "delack": delack,
        "timestamps": timestamps,
        "rwnd": rwnd.0,
        "pacing": match pacing {
            Pacing::Auto => "auto",
            Pacing::Off => "off",
            Pacing::Fq => "fq",
        },
        "growth": match growth {
            Growth::Segments => "segments",
            Growth::Acks => "acks",
        },
        "quickack": quickack,
        "initial_ssthresh": initial_ssthresh,
        "rcvbuf": match rcvbuf {
            ReceiveBuffer::Fixed => "fixed",
            ReceiveBuffer::Auto => "auto",
        },
        "sce_receiver": match sce_receiver {
            SceReceiver::Auto => "auto",
            SceReceiver::Off => "off",
            SceReceiver::Split => "split",
            SceReceiver::SplitDelayed => "split-delayed",
            SceReceiver::Dither => "dither",
        },
        "ecn_feedback": match ecn_feedback {
            EcnFeedback::Auto => "auto",
            EcnFeedback::AccEcn => "accecn",
            EcnFeedback::Rfc3168 => "rfc3168",
            EcnFeedback::None => "none",
        },
        "accecn_option": match accecn_option {
            AccEcnOption::Off => "off",
            AccEcnOption::Minimum => "minimum",
            AccEcnOption::Full => "full",
        },
        "pacing_ss_ratio": pacing_ss_ratio,
        "pacing_ca_ratio": pacing_ca_ratio,
    })
}

fn source_json(source: &TrafficPlan) -> Map<String, Json> {
    let mut map = object(json!({
        "kind": chosen(Registry::Traffic, source.kind, &source.options),
        "start": source.start.0,
        "stop": source.stop.map(|t| t.0),
        "rtt": source.rtt.0,
        "route": source.route,
    }));
    if let Some(connections) = &source.connections {
        let ConnectionsPlan {
            cc,
            module,
            ecn,
            back,
            tcp,
            // One of its options.
            limit: _,
        } = connections.as_ref();
        let module = module.as_deref();
        map.insert("cc".to_owned(), algorithm(Registry::Cc, cc, module));
        map.insert("ecn".to_owned(), json!(ecn));
        map.insert("back".to_owned(), json!(back));
        map.insert("tcp".to_owned(), tcp_json(tcp));
    }
    late_json(
        &mut map,
        source.hosts.as_ref(),
        source.dscp,
        source.class.as_deref(),
    );
    map
}
