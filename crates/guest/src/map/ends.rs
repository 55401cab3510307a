//! Maps the flows and traffic sources of a plan to flows and traffic sources of a job.

use tailback_engine::cc::{EcnNeed, ecn};
use tailback_engine::plan::{Algorithm, FlowPlan, LinkPlan, Pacing, Plan, RatePlan, TrafficPlan};
use tailback_engine::registry::{Value, texts};
use tailback_engine::tcp::accecn;
use tailback_engine::tcp::ecn_echo::EcnEcho;
use tailback_engine::traffic;
use tailback_engine::units::Time;

use super::as_flow;
use super::layout::{Group, Layout};
use crate::job::{Application, Chunks, Connections, Flow, Source};

/// Port of the first flow. Further flows use the next port numbers, and the sources use the port
/// numbers after the flows.
const FIRST_PORT: u16 = 5001;

/// Upper limit of the total size of all send buffers, in bytes.
const SEND_BUFFERS: u64 = 1 << 30;

/// The data that is needed to map flows and sources: the plan, the hosts of flows and sources, and
/// their congestion controls in the kernel.
pub(super) struct Ends<'a> {
    pub plan: &'a Plan,
    pub seed: u64,
    pub layout: &'a Layout,
    /// The kernel's names of the congestion controls, by group of flows.
    pub controls: &'a [String],
    /// The kernel's name of each source's congestion control. `None` for a source of datagrams.
    pub source_controls: &'a [Option<String>],
}

impl Ends<'_> {
    pub fn flows(&self) -> Vec<Flow> {
        let flows = self.plan.each_flow().map(|flow| {
            let group = &self.layout.groups[self.layout.of_flow[flow.number]];
            let kernel_cc = &self.controls[flow.group];
            self.flow(flow.name(), flow.of, kernel_cc, group, port(flow.number))
        });
        flows.collect()
    }

    /// Returns the sources in the order of the scenario file. The port numbers of clients come
    /// after all other port numbers.
    pub fn sources(&self) -> Vec<Source> {
        let plan = self.plan;
        let mut sources = Vec::new();
        let n_flows = plan.flow_count();
        let mut next_client = n_flows + plan.source_count();
        for member in plan.each_source() {
            let (source, name, i) = (member.of, member.name(), member.number);
            let group = &self.layout.groups[self.layout.of_source[i]];
            let kernel_cc = self.source_controls[member.group].as_deref();
            let connections = source.connections.as_ref().zip(kernel_cc);
            let connections = connections.map(|(connections, kernel_cc)| {
                let flow = as_flow(source, connections);
                let first_port = port(next_client);
                next_client += connections.limit as usize;
                let (rate, rtt) = plan.alone(source);
                Connections {
                    flow: self.flow(name.clone(), &flow, kernel_cc, group, port(n_flows + i)),
                    first_port,
                    limit: connections.limit as u16,
                    rate_bit: rate.0,
                    rtt_ns: rtt.ns(),
                    most_bytes: traffic::largest(source.kind, &source.options),
                }
            });
            sources.push(self.source(source, name, group, port(n_flows + i), connections));
        }
        sources
    }

    fn flow(
        &self,
        name: String,
        flow: &FlowPlan,
        kernel_cc: &str,
        group: &Group,
        port: u16,
    ) -> Flow {
        let tcp = &flow.tcp;
        let need = ecn::need(&flow.cc).unwrap_or(EcnNeed::Optional);
        let echo = EcnEcho::of(flow.ecn, tcp.ecn_feedback, need);
        Flow {
            start_ns: self.plan.start_of(self.seed, flow.start, &name).ns(),
            name,
            cc: flow.cc.name().to_owned(),
            kernel_cc: kernel_cc.to_owned(),
            ecn: flow.ecn,
            sender: group.sender,
            receiver: group.receiver,
            sender_address: group.sender_address,
            receiver_address: group.receiver_address,
            port,
            stop_ns: flow.stop.map(Time::ns),
            bytes: flow.bytes.map(|b| b.0),
            mss: tcp.mss,
            option: tcp.mss - accecn::of_sender(tcp, echo).mss,
            header: tcp.header,
            send_buffer: send_buffer(self.plan, &flow.route, flow.rtt),
            window: tcp.rwnd.0 as u32,
            pacing: tcp.pacing == Pacing::Fq,
            quickack: tcp.quickack,
            access_delay_ns: flow.rtt.ns() / 2,
            route: indices(&flow.route),
            back: indices(&flow.back),
            dscp: flow.dscp,
            application: self.application(flow),
        }
    }

    fn application(&self, flow: &FlowPlan) -> Option<Application> {
        let (rate, rtt) = self.plan.alone_over(flow.rtt, &flow.route, &flow.back);
        let application = Application {
            rate_bit: flow.rate.map(|rate| rate.0),
            chunks: flow.chunks.as_ref().map(|chunks| Chunks {
                bytes: chunks.bytes.0,
                count: chunks.count,
                every_ns: chunks.every.map(Time::ns),
                think_ns: chunks.think.map(Time::ns),
                request: chunks.request,
                rate_bit: rate.0,
                rtt_ns: rtt.ns(),
            }),
            pauses: flow.pause.iter().map(|pause| pause.map(Time::ns)).collect(),
        };
        let limits = application.rate_bit.is_some()
            || application.chunks.is_some()
            || !application.pauses.is_empty();
        limits.then_some(application)
    }

    fn source(
        &self,
        source: &TrafficPlan,
        name: String,
        group: &Group,
        port: u16,
        connections: Option<Connections>,
    ) -> Source {
        Source {
            start_ns: self.plan.start_of(self.seed, source.start, &name).ns(),
            name,
            kind: source.kind.to_owned(),
            options: texts(&source.options),
            sender: group.sender,
            receiver: group.receiver,
            sender_address: group.sender_address,
            receiver_address: group.receiver_address,
            port,
            stop_ns: source.stop.map(Time::ns),
            route: indices(&source.route),
            dscp: source.dscp,
            connections,
        }
    }
}

fn port(number: usize) -> u16 {
    FIRST_PORT + number as u16
}

fn indices(route: &[u32]) -> Vec<usize> {
    route.iter().map(|l| *l as usize).collect()
}

/// Returns the size of a flow's send buffer, in bytes. The size is several times the data that can
/// be in flight, because Linux also counts the memory overhead of each packet.
fn send_buffer(plan: &Plan, route: &[u32], rtt: Time) -> u32 {
    let fastest = |rate: &RatePlan| match rate {
        RatePlan::Steps(steps) => steps.iter().map(|s| s.1.0).max().unwrap_or(0),
        other => other.nominal().0,
    };
    let links = || route.iter().filter_map(|l| plan.links.get(*l as usize));
    let rate = links().map(|l| fastest(&l.rate)).min().unwrap_or(u64::MAX);
    let held = |l: &LinkPlan| match &l.queue {
        Algorithm::Known { options, .. } => match options.get("limit") {
            Some(Value::Packets(n)) => n.saturating_mul(1514),
            Some(Value::Bytes(b)) => b.0,
            _ => 0,
        },
        Algorithm::Kernel { .. } => 0,
    };
    let queues: u128 = links().map(|l| u128::from(held(l))).sum();
    let way = u128::from(rate) * u128::from(rtt.ns()) / 8_000_000_000;
    // Include the bytes that fit into the queues on the route, or the bytes that arrive in 0.25 s
    // if that is more.
    let quarter = u128::from(rate) / 32;
    let wanted = 6 * (way + queues.max(quarter));
    let share = SEND_BUFFERS / plan.flow_count().max(1) as u64;
    // Limit each buffer to 256 MB. Including overhead, a flow of 10 Gbit/s with an RTT of 20 ms
    // needs less than 256 MB.
    let most = share.clamp(1 << 16, 256 << 20);
    wanted.clamp(1 << 20, 256 << 20).min(u128::from(most)) as u32
}
