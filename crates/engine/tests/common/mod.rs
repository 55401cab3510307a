//! Builds plans for tests, with defaults for everything that a test does not set.
#![allow(dead_code)]

use std::sync::Arc;

use tailback_engine::aqm::{self, Backlog, Dequeue, Queue, Sink, fifo::Packets};
use tailback_engine::cc;
use tailback_engine::impairments;
use tailback_engine::network::Network;
use tailback_engine::packet::{Packet, flags};
use tailback_engine::plan::*;
use tailback_engine::registry::{
    OptionError, Options, Value, complete_defaults, defaults, find, read_texts,
};
use tailback_engine::traffic;
use tailback_engine::units::{Rate, Time};
use tailback_record::{Cause, Outcome};

/// Returns the default options of a queue, overridden by the values in `set`.
pub fn queue_options(name: &str, set: &[(&'static str, Value)]) -> (&'static str, Options) {
    let entry = find(aqm::ENTRIES, name).expect("registered");
    let mut options = defaults(entry.options);
    set.iter().for_each(|(n, v)| options.set(n, v.clone()));
    (entry.finish)(&mut options).expect("sensible");
    (entry.name, options)
}

/// Returns a link. The values in `set` override the default options of its queue.
pub fn link(rate: u64, queue: &str, set: &[(&'static str, Value)]) -> LinkPlan {
    let (name, options) = queue_options(queue, set);
    LinkPlan {
        name: "bottleneck".into(),
        rate: RatePlan::Constant(Rate(rate)),
        queue: Algorithm::Known { name, options },
        ..LinkPlan::default()
    }
}

/// Returns a flow over link 0. The values in `set` override the default options of its congestion
/// control.
pub fn flow(name: &str, cc_name: &str, rtt: Time, set: &[(&'static str, Value)]) -> FlowPlan {
    let entry = find(cc::ENTRIES, cc_name).expect("registered");
    let mut options = defaults(entry.options);
    set.iter().for_each(|(n, v)| options.set(n, v.clone()));
    (entry.finish)(&mut options).expect("sensible");
    let ecn = (entry.build)(&complete_defaults(entry)).needs().ecn != cc::EcnNeed::Optional;
    FlowPlan {
        name: name.into(),
        cc: Algorithm::Known {
            name: entry.name,
            options,
        },
        module: None,
        ecn,
        count: 1,
        start: Time::ZERO,
        stop: None,
        bytes: None,
        rtt,
        route: vec![0],
        back: vec![],
        tcp: TcpPlan::default(),
        hosts: None,
        dscp: 0,
        class: None,
        ..FlowPlan::default()
    }
}

pub fn impairment(kind: &str, set: &[(&str, &str)]) -> ImpairmentPlan {
    let entry = find(impairments::ENTRIES, kind).expect("registered");
    ImpairmentPlan {
        kind: entry.name,
        options: impairment_options(kind, set).expect("sensible"),
        ..ImpairmentPlan::default()
    }
}

pub fn impairment_options(kind: &str, set: &[(&str, &str)]) -> Result<Options, Vec<OptionError>> {
    let entry = find(impairments::ENTRIES, kind).expect("registered");
    let texts = set.iter().map(|(n, t)| ((*n).into(), (*t).into()));
    let texts: Vec<(String, String)> = texts.collect();
    let mut options = defaults(entry.options);
    let values = read_texts(entry.options, &texts).expect("readable");
    (values.iter()).for_each(|(name, value)| options.set(name, value.clone()));
    (entry.finish)(&mut options)?;
    Ok(options)
}

/// Returns a source of constant bit rate over link 0. The source starts at time 0, and its packets
/// reach the link without delay.
pub fn cbr(name: &str, rate: u64, set: &[(&'static str, Value)]) -> TrafficPlan {
    let entry = traffic::cbr::ENTRY;
    let mut options = defaults(entry.options);
    options.set("rate", Value::Rate(Rate(rate)));
    set.iter().for_each(|(n, v)| options.set(n, v.clone()));
    TrafficPlan {
        name: name.into(),
        count: 1,
        kind: entry.name,
        options,
        start: Time::ZERO,
        stop: None,
        rtt: Time::ZERO,
        route: vec![0],
        connections: None,
        answers: None,
        hosts: None,
        dscp: 0,
        class: None,
    }
}

/// Returns a plan without warm-up and jitter. The timers of all hosts have phase 0.
pub fn plan(duration: Time, links: Vec<LinkPlan>, flows: Vec<FlowPlan>) -> Plan {
    Plan {
        duration,
        kernel: None,
        warmup: Time::ZERO,
        start_jitter: Time::ZERO,
        host_jitter: Time::ZERO,
        hosts: Plan::default().hosts,
        timer_phase: Some(Time::ZERO),
        links,
        flows,
        traffic: vec![],
        programs: vec![],
        events: vec![],
        offloads: false,
        record: RecordPlan {
            interval: Time::from_ms(100),
            series: SeriesMode::Off,
            events: false,
            packets: false,
            captures: true,
            statistics: Time::ZERO,
        },
    }
}

pub fn network(plan: &Plan) -> Network {
    Network::new(&Arc::new(plan.clone()), 1)
}

pub fn run(mut network: Network) -> Outcome {
    while network.advance(1 << 20) {}
    network.finish()
}

/// Returns the mean window over the measured time, in segments. The mean window is computed as
/// throughput x RTT.
pub fn mean_window(outcome: &Outcome, flow: usize) -> f64 {
    let f = &outcome.flows[flow];
    let seconds = (f.to_ns - f.from_ns) as f64 / 1e9;
    f.packets as f64 / seconds * f.rtt.mean().expect("samples") / 1e9
}

/// An unlimited FIFO that drops or marks every n-th data packet.
pub struct EveryNth {
    packets: Packets,
    n: u64,
    seen: u64,
    mark: bool,
}

impl EveryNth {
    pub fn new(n: u64, mark: bool) -> Box<EveryNth> {
        Box::new(EveryNth {
            packets: Packets::default(),
            n,
            seen: 0,
            mark,
        })
    }
}

impl Queue for EveryNth {
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        if !packet.has(flags::SYN | flags::ACK) {
            self.seen += 1;
            if self.seen.is_multiple_of(self.n) {
                if !self.mark {
                    return sink.drop(packet, Cause::Aqm, now);
                }
                sink.mark(packet, Cause::Mark, now);
            }
        }
        self.packets.push(*packet);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        self.packets.give(next)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}
