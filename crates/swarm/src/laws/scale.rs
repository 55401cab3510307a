//! Invariant: with all rates doubled and all times halved, the same packets arrive at half the
//! times.
//!
//! The invariant holds exactly if all times come from the scenario and no time is rounded. The time
//! to send a byte must therefore be an even number of nanoseconds, and every other time must be a
//! multiple of four nanoseconds. The invariant covers:
//!
//! - queues that count packets, bytes or times from the scenario (`fifo`, `step`);
//! - links with outages, delays, slots at a constant gap, and loss;
//! - traffic at a constant rate;
//! - Reno or DCTCP without delayed ACKs, as long as no timer fires, because the stack's constants
//!   (200 ms, 40 ms, jiffies) do not scale.
//!
//! The invariant does not apply if a segment is retransmitted, or if an ACK is so late that a tail
//! loss probe may be sent. The check does not compare accounts, because their time windows are
//! constant. The check also does not compare smoothed round-trip times, which are rounded to
//! microseconds as in Linux.

use std::collections::BTreeMap;

use tailback_engine::plan::Plan;
use tailback_engine::units::{Rate, Time};
use tailback_record::{FlowOutcome, Histogram, Outcome};
use toml::{Table, Value};

use super::digest::Digest;
use super::{Check, Law, broken, outside, played};
use crate::draw::Draw;
use crate::trial::Limits;

pub(super) const LAW: Law = Law {
    name: "scale",
    doc: "all rates doubled and all times halved: the same packets at half the times",
    draw,
    check,
};

fn text(value: impl Into<String>) -> Value {
    Value::String(value.into())
}

/// Returns a rate in bit/s, close to `near`. At this rate, the time to send a byte is an even
/// number of nanoseconds.
fn rate(near: f64) -> Value {
    const BYTE: f64 = 8e9;
    let mut least = 2_u64;
    // The time to send a byte is 2^a 5^b ns. The number 2^a 5^b divides 8e9, so the rate is a whole
    // number of bit/s.
    for twos in 1..=10 {
        for fives in 0..=9 {
            let ns = 2_u64.pow(twos) * 5_u64.pow(fives);
            let off = |ns: u64| (ns as f64 * near / BYTE).ln().abs();
            if off(ns) < off(least) && ns < 800_000_000 {
                least = ns;
            }
        }
    }
    text(format!("{}bit", 8_000_000_000 / least))
}

/// Returns a time, rounded to a multiple of four nanoseconds.
fn time(ns: f64) -> Value {
    text(format!("{}ns", (ns as u64).max(4) / 4 * 4))
}

fn draw(seed: u64) -> Table {
    let mut draw = Draw::new(seed ^ 0x5ca1e);
    let tcp = draw.chance(0.4);
    let link_rate = if tcp {
        draw.log(1e8, 2e9)
    } else {
        draw.log(1e4, 4e9)
    };
    let packet = 1514.0 * 8e9 / link_rate;
    let duration = packet * draw.log(50.0, 3_000.0);
    // With TCP, the link must be fast enough to send an initial window in much less time than the
    // RTT. The link must also send a queue that is as long as its threshold in much less time than
    // the RTT.
    let rtt = if tcp {
        packet * draw.log(200.0, 1_000.0)
    } else {
        draw.log(1e3, 1e9)
    };
    let duration = if tcp {
        duration.max(rtt * 20.0)
    } else {
        duration
    };
    let mut root = Table::from_iter([
        ("duration".to_owned(), time(duration)),
        ("start_jitter".to_owned(), text("0ns")),
        ("seed".to_owned(), Value::Integer(draw.between(0, 1000))),
    ]);
    if draw.chance(0.5) {
        root.insert("warmup".to_owned(), time(duration * draw.share() * 0.8));
    }
    let path = Table::from_iter([("rtt".to_owned(), time(rtt))]);
    root.insert("path".to_owned(), Value::Table(path));
    let mut record =
        Table::from_iter([("interval".to_owned(), time(duration / draw.log(2.0, 50.0)))]);
    record.insert("events".to_owned(), Value::Boolean(draw.chance(0.5)));
    root.insert("record".to_owned(), Value::Table(record));
    let number = 1 + draw.below(3) as usize;
    let names: Vec<String> = (0..number).map(|i| format!("l{i}")).collect();
    let all = names.iter().enumerate().map(|(i, name)| {
        let near = if i == 0 {
            link_rate
        } else {
            link_rate * draw.log(0.5, 4.0)
        };
        (
            name.clone(),
            Value::Table(link(&mut draw, near, packet, duration, rtt, tcp)),
        )
    });
    let all: Table = all.collect();
    root.insert("links".to_owned(), Value::Table(all));
    let sources = if tcp {
        draw.below(3)
    } else {
        1 + draw.below(6)
    };
    let most_share = if tcp { 0.3 } else { 2.0 };
    let sources: Vec<Value> = (0..sources)
        .map(|i| {
            let end = end(&mut draw, format!("t{i}"), &names, duration);
            Value::Table(source(&mut draw, end, link_rate, most_share, duration))
        })
        .collect();
    if !sources.is_empty() {
        root.insert("traffic".to_owned(), Value::Array(sources));
    }
    if tcp {
        let stack = Table::from_iter([
            ("delack".to_owned(), Value::Boolean(false)),
            ("mss".to_owned(), Value::Integer(draw.between(400, 1448))),
        ]);
        root.insert("tcp".to_owned(), Value::Table(stack));
        let flows = (0..1 + draw.below(3)).map(|i| {
            let end = end(&mut draw, format!("f{i}"), &names, duration);
            Value::Table(flow(&mut draw, end))
        });
        let flows = flows.collect();
        root.insert("flows".to_owned(), Value::Array(flows));
    }
    root
}

/// Draws the keys of a flow or source: a name, a route over some links, and times.
fn end(draw: &mut Draw, name: String, links: &[String], duration: f64) -> Table {
    let mut route = links.to_vec();
    draw.shuffle(&mut route);
    route.truncate(1 + draw.below(route.len() as u64) as usize);
    let route = route.into_iter().map(Value::String).collect();
    let start = draw.share() * duration * 0.3;
    let mut end = Table::from_iter([
        ("name".to_owned(), text(name)),
        ("route".to_owned(), Value::Array(route)),
        ("start".to_owned(), time(start)),
    ]);
    if draw.chance(0.2) {
        end.insert(
            "stop".to_owned(),
            time(start + 8.0 + draw.share() * duration),
        );
    }
    end
}

/// Adds the keys of a source to the keys that flows and sources have in common. The source's rate
/// is at most the fraction `most_share` of the link's rate.
fn source(
    draw: &mut Draw,
    mut source: Table,
    link_rate: f64,
    most_share: f64,
    duration: f64,
) -> Table {
    source.insert(
        "rate".to_owned(),
        rate(link_rate * draw.log(0.01, most_share)),
    );
    source.insert(
        "ecn".to_owned(),
        text(*draw.pick(&["not-ect", "ect0", "ect1"])),
    );
    source.insert(
        "packet_size".to_owned(),
        Value::Integer(draw.between(100, 1_500)),
    );
    if draw.chance(0.3) {
        source.insert("kind".to_owned(), text("on-off"));
        for key in ["on", "off"] {
            source.insert(
                key.to_owned(),
                time((duration * draw.log(0.01, 0.5)).max(4e3)),
            );
            source.insert(format!("{key}_distribution"), text("constant"));
        }
    } else {
        source.insert("kind".to_owned(), text("cbr"));
    }
    source
}

/// Adds the keys of a flow to the keys that flows and sources have in common.
fn flow(draw: &mut Draw, mut flow: Table) -> Table {
    flow.insert("cc".to_owned(), text(*draw.pick(&["reno", "dctcp"])));
    flow.insert("ecn".to_owned(), Value::Boolean(true));
    if draw.chance(0.5) {
        flow.insert(
            "bytes".to_owned(),
            Value::Integer(draw.log(1e3, 1e6) as i64),
        );
    }
    flow
}

fn link(draw: &mut Draw, near: f64, packet: f64, duration: f64, rtt: f64, tcp: bool) -> Table {
    let mut link = Table::from_iter([("rate".to_owned(), rate(near))]);
    if !tcp && draw.chance(0.2) {
        // The rate of the link alternates with 0. If the rate changed to a value other than 0
        // during a packet's transmission, the transmission might not end at a whole nanosecond.
        let mut at = 0.0;
        let steps = (0..2 + draw.below(4)).map(|i| {
            let bits = if i % 2 == 0 { rate(near) } else { text("0bit") };
            let begin = if i == 0 { text("0ns") } else { time(at) };
            at += 8.0 + duration * draw.share() * 0.4;
            Value::Array(vec![begin, bits])
        });
        let steps = Value::Array(steps.collect());
        let steps = Table::from_iter([("steps".to_owned(), steps)]);
        link.insert("rate".to_owned(), Value::Table(steps));
    }
    let limit = match draw.chance(0.5) {
        _ if tcp => "100000p".to_owned(),
        true => format!("{}p", draw.log(1.0, 300.0) as u64),
        false => format!("{}b", draw.log(1_600.0, 400_000.0) as u64),
    };
    let mut queue = Table::from_iter([("limit".to_owned(), text(limit))]);
    if tcp || draw.chance(0.5) {
        queue.insert("aqm".to_owned(), text("step"));
        let packets = draw.log(1.0, if tcp { 40.0 } else { 100.0 });
        let threshold = match draw.below(3) {
            0 => format!("{}p", packets as u64),
            1 => format!("{}b", (packets * 1514.0) as u64),
            _ => format!("{}ns", (packet * packets) as u64 / 4 * 4 + 4),
        };
        queue.insert("threshold".to_owned(), text(threshold));
    } else {
        queue.insert("aqm".to_owned(), text("fifo"));
    }
    link.insert("queue".to_owned(), Value::Table(queue));
    link.insert("link".to_owned(), text(*draw.pick(&["shaper", "wire"])));
    link.insert(
        "both_directions".to_owned(),
        Value::Boolean(draw.chance(0.5)),
    );
    if draw.chance(0.4) {
        link.insert("delay".to_owned(), time(rtt * draw.share()));
    }
    if !tcp && draw.chance(0.2) {
        link.insert("loss".to_owned(), Value::Float(draw.log(1e-3, 0.5)));
    }
    if !tcp && draw.chance(0.2) {
        let gap = time(packet * draw.log(1.0, 30.0));
        let slots = Table::from_iter([("min".to_owned(), gap)]);
        link.insert("slots".to_owned(), Value::Table(slots));
    }
    link
}

fn check(scenario: &Table, _seed: u64, limits: &Limits) -> Check {
    let whole = |rate: Rate| 8_000_000_000 % (2 * rate.0.max(1)) == 0;
    let (plan, slow) = played(scenario, limits)?;
    let constants = has_defaults(scenario)
        || plan.start_jitter > Time::ZERO
        || plan.flows.iter().any(|flow| flow.tcp.delack.delays());
    let rates = plan.links.iter().map(|link| link.rate.nominal());
    if constants || !rates.into_iter().all(whole) {
        return Err(outside("times that do not scale"));
    }
    let (_, fast) = played(&doubled(scenario), limits)?;
    if [&slow, &fast]
        .into_iter()
        .any(|outcome| outcome.flows.iter().any(timed))
    {
        return Err(outside("a timer may have fired"));
    }
    let (slow, fast) = (Scaled::of(&plan, slow, 2), Scaled::of(&plan, fast, 1));
    let delays = slow
        .delays
        .iter()
        .find(|(key, of)| fast.delays.get(*key) != Some(of));
    if let Some((key, of)) = delays {
        let what = format!("{key}: {of:?}, halved, and {:?}", fast.delays.get(key));
        return Err(broken("other delays at twice the rates", what));
    }
    match slow.digest.difference(&fast.digest) {
        None => Ok(()),
        Some(what) => Err(broken("another run at twice the rates", what)),
    }
}

/// Returns whether a timer of a flow may have fired. A timer may have fired if the flow
/// retransmitted a segment, or if an ACK was so late that the flow may have sent a probe. A flow
/// sends a tail loss probe after two smoothed round-trip times and two jiffies.
fn timed(flow: &FlowOutcome) -> bool {
    let shortest = flow.rtt.buckets().next().map_or(0, |(lower, _, _)| lower);
    flow.retransmits + flow.timeouts > 0 || flow.rtt.max().is_some_and(|max| max > 2 * shortest)
}

/// Returns whether a time or a rate has its default value. The invariant does not apply to a
/// scenario with defaults, because the check cannot scale them.
fn has_defaults(scenario: &Table) -> bool {
    let lacks = |table: &Table, key: &str| !table.contains_key(key);
    let inner = |name: &str, key: &str| {
        let table = scenario.get(name).and_then(Value::as_table);
        table.is_none_or(|table| lacks(table, key))
    };
    let links = super::links(&mut scenario.clone()).into_iter().any(|link| {
        let queue = link.get("queue").and_then(Value::as_table);
        let step = queue.filter(|queue| queue.get("aqm").and_then(Value::as_str) == Some("step"));
        step.is_some_and(|step| lacks(step, "threshold"))
    });
    let mut sources = scenario.clone();
    let mut sources = super::tables(&mut sources, "traffic");
    links
        || inner("path", "rtt")
        || inner("record", "interval")
        || sources.any(|source| {
            let on_off = source.get("kind").and_then(Value::as_str) == Some("on-off");
            lacks(source, "rate") || on_off && (lacks(source, "on") || lacks(source, "off"))
        })
}

/// Returns the scenario after doubling all rates and halving all times.
fn doubled(table: &Table) -> Table {
    fn change(value: &Value) -> Value {
        match value {
            Value::Table(table) => Value::Table(doubled(table)),
            Value::Array(items) => Value::Array(items.iter().map(change).collect()),
            Value::String(text) => {
                let number = |unit| -> Option<u64> { text.strip_suffix(unit)?.parse().ok() };
                match (number("ns"), number("bit")) {
                    (Some(ns), _) => Value::String(format!("{}ns", ns / 2)),
                    (_, Some(rate)) => Value::String(format!("{}bit", rate * 2)),
                    _ => value.clone(),
                }
            }
            other => other.clone(),
        }
    }
    table
        .iter()
        .map(|(key, value)| (key.clone(), change(value)))
        .collect()
}

/// The sum, largest value and buckets of a histogram.
type Delays = (u128, Option<u64>, Vec<(u64, u64)>);

/// An outcome whose times have been divided by a scale factor. Histograms of delays are in a
/// separate field.
struct Scaled {
    digest: Digest,
    delays: BTreeMap<String, Delays>,
}

/// Quantities of senders that are rounded to microseconds, or smoothed with bit shifts, as in
/// Linux.
const ROUNDED: [&str; 4] = ["srtt", "rto", "min_rtt", "pacing"];

impl Scaled {
    fn of(plan: &Plan, mut outcome: Outcome, by: u64) -> Scaled {
        let mut delays = BTreeMap::new();
        let mut take = |key: String, of: &mut Histogram| {
            let buckets = of.buckets().map(|(lower, _, count)| (lower / by, count));
            let all = (
                of.sum() / u128::from(by),
                of.max().map(|max| max / by),
                buckets.collect(),
            );
            delays.insert(key, all);
            *of = Histogram::default();
        };
        outcome.duration_ns /= by;
        outcome.warmup_ns /= by;
        for flow in &mut outcome.flows {
            take(format!("RTT of {}", flow.name), &mut flow.rtt);
            flow.from_ns /= by;
            flow.to_ns /= by;
            flow.completion_ns = flow.completion_ns.map(|ns| ns / by);
            *flow.account = Default::default();
            flow.samples.srtt_ns = 0;
        }
        for source in &mut outcome.traffic {
            take(
                format!("one-way delay of {}", source.name),
                &mut source.one_way,
            );
            source.from_ns /= by;
            source.to_ns /= by;
            source.account = None;
        }
        for link in &mut outcome.links {
            take(format!("delay of {}", link.name), &mut link.delay);
            link.backlog_byte_ns /= u128::from(by);
            link.account = Default::default();
        }
        let series = &mut outcome.series;
        let quantity = |key: u32| series.keys[key as usize].quantity.clone();
        let rounded: Vec<bool> = (0..series.keys.len() as u32)
            .map(|key| ROUNDED.iter().any(|part| quantity(key).contains(part)))
            .collect();
        let times: Vec<bool> = (0..series.keys.len() as u32)
            .map(|key| quantity(key).ends_with("_ns"))
            .collect();
        series.change_rows(|mut row| {
            let key = row.key as usize;
            row.time_ns /= by;
            if rounded[key] {
                row.value = 0.0;
            } else if times[key] {
                row.value /= by as f64;
            }
            row
        });
        Scaled {
            digest: Digest::of(plan, outcome),
            delays,
        }
    }
}
