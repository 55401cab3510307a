//! Writes `account.json`, which states what each sender of a run waited for, and which flows filled
//! each queue.
//!
//! Counters are stored as objects without values of 0. The reductions of a flow are stored as
//! columns, which need half as much space as objects.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::Cause;
use crate::account::{Account, Limit, QueueAccount, Reason, Reduction, SlowStart, Told, WINDOW_NS};

const FORMAT: u32 = 1;

fn happened<'a>(named: impl Iterator<Item = (&'a str, u64)>) -> Value {
    let some = named.filter(|(_, count)| *count > 0);
    Value::Object(
        some.map(|(name, count)| (name.to_owned(), count.into()))
            .collect(),
    )
}

fn times(all: &[u64]) -> Value {
    let named = Limit::ALL.iter().map(|limit| limit.name());
    happened(named.zip(all.iter().copied()).skip(1))
}

fn counts(all: &[u64]) -> Value {
    let named = Reason::ALL.iter().map(|reason| reason.name());
    happened(named.zip(all.iter().copied()))
}

fn told(told: &Told) -> Value {
    json!({
        "elapsed_ns": told.elapsed_ns,
        "busy_ns": told.busy_ns,
        "rwnd_limited_ns": told.rwnd_limited_ns,
        "sndbuf_limited_ns": told.sndbuf_limited_ns,
        "states": told.states,
        "interval_ns": told.interval_ns,
    })
}

fn slow_start(end: &SlowStart) -> Value {
    json!({
        "at_ns": end.at_ns,
        "why": end.why,
        "cwnd": end.cwnd,
        "srtt_ns": end.srtt_ns,
        "min_rtt_ns": end.min_rtt_ns,
        "lost": end.lost,
        "settled": end.settled,
    })
}

fn sender(account: &Account) -> Map<String, Value> {
    let listed = &account.listed;
    let column =
        |of: &dyn Fn(&Reduction) -> Value| -> Vec<Value> { listed.iter().map(of).collect() };
    let mut all = Map::new();
    all.insert("limited_ns".to_owned(), times(&account.limited_ns));
    all.insert("before_ns".to_owned(), times(&account.before_ns()));
    let reductions = json!({
        "counts": counts(&account.counts),
        "before": counts(&account.before()),
        "time_ns": column(&|r| r.at_ns().into()),
        "reason": column(&|r| r.reason().name().into()),
        "from": column(&|r| r.from.into()),
        "to": column(&|r| r.to.into()),
    });
    all.insert("reductions".to_owned(), reductions);
    all.insert(
        "slow_start".to_owned(),
        account
            .slow_start
            .as_deref()
            .map_or(Value::Null, slow_start),
    );
    all.insert(
        "tcp_info".to_owned(),
        account.told.as_deref().map_or(Value::Null, told),
    );
    all
}

fn queue(account: &QueueAccount) -> Map<String, Value> {
    let held: Map<String, Value> = (account.held.iter())
        .map(|(name, held)| (name.clone(), (*held).into()))
        .collect();
    let minima = &account.minima;
    let bins = &account.events.bins;
    let causes: Map<String, Value> = (Cause::ALL.iter().enumerate())
        .filter(|(at, _)| bins.iter().any(|bin| bin[*at] > 0))
        .map(|(at, cause)| {
            let column: Vec<u64> = bins.iter().map(|bin| bin[at]).collect();
            (cause.name().to_owned(), column.into())
        })
        .collect();
    let mut all = Map::new();
    all.insert("held_byte_s".to_owned(), Value::Object(held));
    let minima = json!({
        "window_ns": WINDOW_NS,
        "windows": minima.windows,
        "empty": minima.empty,
        "sum_ns": minima.sum_ns,
        "of_a_packet_ns": minima.of_a_packet_ns(),
    });
    all.insert("minima".to_owned(), minima);
    let events = json!({ "width_ns": account.events.width_ns, "causes": causes });
    all.insert("events".to_owned(), events);
    all
}

fn named(name: &str, mut all: Map<String, Value>) -> Value {
    all.insert("name".to_owned(), name.into());
    Value::Object(all)
}

/// A list whose elements are created one by one while they are written. To create a hundred
/// thousand elements at once would need much memory.
struct Each<F>(F);

impl<I: Iterator<Item = Value>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Writes `account.json`.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write(outcome: &Outcome, to: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Whole<F, L, T> {
        flows: F,
        format: u32,
        links: L,
        traffic: T,
        watched: bool,
    }
    let flows = || {
        let flows = outcome.flows.iter();
        flows.map(|flow| named(&flow.name, sender(&flow.account)))
    };
    let sources = || {
        let sources = outcome.traffic.iter();
        sources.filter_map(|s| Some(named(&s.name, sender(s.account.as_ref()?))))
    };
    let links = || {
        let links = outcome.links.iter();
        links.map(|link| named(&link.name, queue(&link.account)))
    };
    let whole = Whole {
        flows: Each(flows),
        format: FORMAT,
        links: Each(links),
        traffic: Each(sources),
        watched: !outcome.unwatched,
    };
    serde_json::to_writer(&mut *to, &whole)?;
    to.write_all(b"\n")
}
