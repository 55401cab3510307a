//! A scenario with everything resolved: what the network is built from.
//!
//! Plain data in base units; the scenario crate makes it, nothing here reads files.

use std::collections::BTreeMap;
use std::sync::Arc;

use tailback_record::{ClassFlow, ClassPlan};

use crate::aqm::FlowInfo;
use crate::registry::{Options, Value};
use crate::rng::Stream;
use crate::units::{Bytes, Rate, Time};

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Length of the run.
    pub duration: Time,
    /// Nothing before this is counted.
    pub warmup: Time,
    /// Seed of every random stream.
    pub seed: u64,
    /// Each flow's start is delayed by a uniform draw from 0 to this.
    pub start_jitter: Time,
    /// Order-preserving delay each host adds to a packet, uniform from 0 to this.
    pub host_jitter: Time,
    /// Links, the way there and the way back.
    pub links: Vec<LinkPlan>,
    /// TCP flows, `count` expanded.
    pub flows: Vec<FlowPlan>,
    /// Other traffic, `count` expanded.
    pub traffic: Vec<TrafficPlan>,
    /// Whether hosts leave segmentation to their interfaces (TSO, GSO, GRO).
    /// Of the kernel engine: the simulator sends every segment as a packet.
    pub offloads: bool,
    /// What to record.
    pub record: RecordPlan,
}

impl Plan {
    /// The classes whose members have a link first on their way.
    pub fn classes_at(&self, link: u32) -> Vec<ClassPlan> {
        let flows = self.flows.iter().map(|f| (&f.class, &f.route));
        let sources = self.traffic.iter().map(|s| (&s.class, &s.route));
        let mut all: Vec<&str> = Vec::new();
        let mut here: Vec<ClassPlan> = Vec::new();
        for (index, (class, route)) in (0_u32..).zip(flows.chain(sources)) {
            let Some(name) = class.as_deref() else {
                continue;
            };
            let number = all.iter().position(|known| *known == name);
            let number = number.unwrap_or_else(|| {
                all.push(name);
                all.len() - 1
            }) as u32;
            if route.first() != Some(&link) {
                continue;
            }
            let place = here.iter().position(|class| class.number == number);
            let place = place.unwrap_or_else(|| {
                here.push(ClassPlan {
                    name: name.to_owned(),
                    number,
                    ..ClassPlan::default()
                });
                here.len() - 1
            });
            match self.flows.get(index as usize) {
                Some(flow) => here[place].flows.push(ClassFlow {
                    flow: index,
                    base_rtt_ns: self.base_rtt(flow).ns(),
                }),
                None => here[place].sources.push(index),
            }
        }
        here
    }

    /// The round-trip time of a flow without queues and serialisation, the
    /// delays of links included.
    fn base_rtt(&self, flow: &FlowPlan) -> Time {
        let links = flow.route.iter().chain(&flow.back);
        let links = links.filter_map(|link| self.links.get(*link as usize));
        links.fold(flow.rtt, |sum, link| sum + link.delay)
    }

    /// When a component starts: as planned, plus the draw of its seed.
    pub fn start_of(&self, start: Time, name: &str) -> Time {
        let mut stream = Stream::new(self.seed, name, "start");
        start + Time(stream.below(self.start_jitter.ns() + 1))
    }
}

/// What flows and sources have in common that are on the same two hosts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hosts {
    /// Base round-trip time.
    pub rtt: Time,
    /// Links the data passes.
    pub route: Vec<u32>,
    /// Links the ACKs pass.
    pub back: Vec<u32>,
    /// What of the stack a host has; `None`: it has a source that is not TCP.
    pub stack: Option<HostStack>,
    /// A pair of its own: the number of the flow.
    pub alone: Option<usize>,
    /// IP bytes of the longest packet.
    pub mtu: u32,
    /// Their names, where the scenario gives some.
    pub names: Option<[String; 2]>,
}

/// What a host has of a flow's stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostStack {
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Whether that is Accurate ECN on demand of the scenario, and when its option is sent.
    pub accecn: Option<AccEcnOption>,
    /// Whether the timestamp option is in use.
    pub timestamps: bool,
    /// Initial window, segments.
    pub initial_cwnd: u32,
    /// Floor of the retransmission timeout.
    pub min_rto: Time,
    /// Whether ACKs are delayed.
    pub delack: bool,
}

impl HostStack {
    fn of(ecn: bool, tcp: &TcpPlan) -> HostStack {
        HostStack {
            ecn,
            accecn: (ecn && tcp.ecn_feedback == EcnFeedback::AccEcn).then_some(tcp.accecn_option),
            timestamps: tcp.timestamps,
            initial_cwnd: tcp.initial_cwnd,
            min_rto: tcp.min_rto,
            delack: tcp.delack,
        }
    }
}

/// Frame bytes of a full segment.
fn frame_of(tcp: &TcpPlan) -> u32 {
    u32::from(tcp.mss) + u32::from(tcp.header)
}

impl Plan {
    /// The pairs of hosts, and the pair of each flow and then of each source.
    ///
    /// Flows and sources share a sender and a receiver if the scenario gives
    /// their hosts the same names; where it gives none, if they have the same
    /// round-trip time, way and settings of a host's stack, as the kernel
    /// engine places them.
    pub fn hosts(&self) -> (Vec<Hosts>, Vec<usize>) {
        let jittered = self.host_jitter > Time::ZERO;
        let flows = self.flows.iter().enumerate().map(|(i, flow)| Hosts {
            rtt: flow.rtt,
            route: flow.route.clone(),
            back: flow.back.clone(),
            stack: Some(HostStack::of(flow.ecn, &flow.tcp)),
            alone: jittered.then_some(i),
            mtu: frame_of(&flow.tcp).saturating_sub(ETHERNET),
            names: flow.hosts.clone(),
        });
        let sources = self.traffic.iter().map(|source| Hosts {
            rtt: source.rtt,
            route: source.route.clone(),
            back: source
                .connections
                .as_ref()
                .map_or_else(Vec::new, |c| c.back.clone()),
            stack: source
                .connections
                .as_ref()
                .map(|c| HostStack::of(c.ecn, &c.tcp)),
            alone: None,
            mtu: match (&source.connections, source.options.get("packet_size")) {
                (Some(connections), _) => frame_of(&connections.tcp).saturating_sub(ETHERNET),
                (None, Some(Value::Int(n))) => {
                    u32::try_from(*n).unwrap_or(1514).saturating_sub(ETHERNET)
                }
                (None, _) => 1500,
            },
            names: source.hosts.clone(),
        });
        let mut numbers = BTreeMap::new();
        let mut pairs = Vec::new();
        let mut of = Vec::new();
        for hosts in flows.chain(sources) {
            let number = *numbers.entry(hosts).or_insert_with_key(|hosts| {
                pairs.push(hosts.clone());
                pairs.len() - 1
            });
            of.push(number);
        }
        (pairs, of)
    }

    /// The flow or source that each number in a packet stands for: first flows
    /// and sources, each its own, then every place for a connection of a source.
    pub fn owners(&self) -> Vec<u32> {
        let own = 0..(self.flows.len() + self.traffic.len()) as u32;
        let places = self.traffic.iter().zip(self.flows.len() as u32..);
        let places = places.flat_map(|(source, number)| {
            let connections = source.connections.as_ref();
            let limit = connections.map_or(0, |connections| connections.limit);
            (0..limit).map(move |_| number)
        });
        own.chain(places).collect()
    }

    /// What a connection of a source would have alone: the nominal rate of the
    /// slowest link of its route, and the round-trip time with the delays of links.
    pub fn alone(&self, source: &TrafficPlan) -> (Rate, Time) {
        let links = |route: &[u32]| -> Vec<&LinkPlan> {
            let known = route
                .iter()
                .filter_map(|link| self.links.get(*link as usize));
            known.collect()
        };
        let (there, connections) = (links(&source.route), source.connections.as_ref());
        let back = connections.map_or_else(Vec::new, |c| links(&c.back));
        let rates = there.iter().map(|link| link.rate.nominal());
        let delays = there.iter().chain(&back).map(|link| link.delay);
        let rate = rates.min().unwrap_or_default();
        (rate, delays.fold(source.rtt, |sum, delay| sum + delay))
    }

    /// Hosts by number and DSCP, for each number in a packet ([`Plan::owners`]): hosts of
    /// the same name have one number, those without a name one for each pair.
    pub fn flow_info(&self) -> Vec<FlowInfo> {
        let (pairs, of) = self.hosts();
        let mut named = BTreeMap::new();
        let mut hosts = 0;
        let mut next = || {
            hosts += 1;
            hosts - 1
        };
        let ends: Vec<[u32; 2]> = pairs
            .iter()
            .map(|pair| match &pair.names {
                Some(names) => [0, 1].map(|i| *named.entry(&names[i]).or_insert_with(&mut next)),
                None => [next(), next()],
            })
            .collect();
        let dscp = self.flows.iter().map(|flow| flow.dscp);
        let dscp = dscp.chain(self.traffic.iter().map(|source| source.dscp));
        let info: Vec<FlowInfo> = of
            .iter()
            .zip(dscp)
            .map(|(pair, dscp)| FlowInfo {
                source: ends[*pair][0],
                destination: ends[*pair][1],
                dscp,
            })
            .collect();
        let owners = self.owners();
        owners.iter().map(|owner| info[*owner as usize]).collect()
    }
}

/// Bytes of an Ethernet header.
const ETHERNET: u32 = 14;

/// What an engine cannot play of a plan that is valid otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// A path of keys as in `[sweep]`, with the indices of the plan for what it
    /// holds lists of: `links[0].queue.gentle`, `flows[2].tcp.growth`,
    /// `traffic[0].rate`, `record.packets`. Where the file does not have the
    /// whole path, the longest part that it has is pointed at.
    pub path: String,
    /// What cannot be played.
    pub message: String,
    /// What was expected.
    pub expected: Option<String>,
}

/// A queue discipline or congestion control that a scenario has chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Algorithm {
    /// One of the registry, which both engines may have.
    Known {
        /// Its name in the registry.
        name: &'static str,
        /// Its options, complete.
        options: Options,
    },
    /// One that only the kernel knows: the simulator cannot play it.
    Kernel {
        /// What the kernel calls it.
        name: String,
        /// Words handed to tc as they are (queue disciplines); may be empty.
        args: String,
    },
}

impl Algorithm {
    /// The name in scenario files and results.
    pub fn name(&self) -> &str {
        match self {
            Algorithm::Known { name, .. } => name,
            Algorithm::Kernel { name, .. } => name,
        }
    }

    /// Name and options of one of the registry.
    pub fn known(&self) -> Option<(&'static str, &Options)> {
        match self {
            Algorithm::Known { name, options } => Some((name, options)),
            Algorithm::Kernel { .. } => None,
        }
    }
}

/// What to record, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordPlan {
    /// Distance of samples.
    pub interval: Time,
    /// Which series.
    pub series: SeriesMode,
    /// Whether every drop and mark becomes a row of the series file.
    pub events: bool,
    /// Whether every packet is recorded, for a capture file.
    pub packets: bool,
    /// Whether the kernel engine captures packets at all: delays of single
    /// packets, drops and marks by flow are taken from captures. Without
    /// meaning for the simulator.
    pub captures: bool,
    /// Distance of the samples that statistics of classes and of links are
    /// taken of, from the warm-up on; 0: none.
    pub statistics: Time,
}

/// How series are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesMode {
    /// None at all.
    Off,
    /// Every record interval.
    Interval,
    /// The congestion window at every change too.
    Changes,
    /// The state of a sender after every ACK and every timer of its own; only
    /// the rest every record interval.
    Acks,
}

/// A rate over time.
#[derive(Clone, Debug, PartialEq)]
pub enum RatePlan {
    /// The same all the time.
    Constant(Rate),
    /// From each time on, ascending, the first at 0. A rate of 0 stops the link.
    Steps(Vec<(Time, Rate)>),
    /// Delivery opportunities of 1504 bytes each (Mahimahi), ascending, repeated
    /// from the last one on. Millions of them: shared, not copied with the plan.
    Trace(Arc<[Time]>),
}

impl RatePlan {
    /// The rate an algorithm is told at the start: that of the first step, or
    /// the mean of the trace.
    pub fn nominal(&self) -> Rate {
        match self {
            RatePlan::Constant(rate) => *rate,
            RatePlan::Steps(steps) => steps.first().map_or(Rate(0), |s| s.1),
            RatePlan::Trace(times) => {
                let span = times.last().map_or(1, |t| t.0.max(1));
                let bits = times.len() as u128 * 1504 * 8 * 1_000_000_000;
                Rate((bits / u128::from(span)) as u64)
            }
        }
    }
}

/// When a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMode {
    /// At the start of its slot, the next after len/rate (htb, Cake).
    Shaper,
    /// At the end of its slot.
    Wire,
}

/// Signals given to certain packets, whatever the queue does.
///
/// TCP segments with payload are numbered from 1 as they arrive at the link,
/// over all flows, retransmissions included; ACKs and unresponsive traffic are
/// not counted. Both lists ascend and have no number in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// These are CE-marked, or dropped if they are not ECN-capable.
    pub marks: Vec<u64>,
    /// These are dropped.
    pub drops: Vec<u64>,
}

/// A link and the queue before it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPlan {
    /// Name in results.
    pub name: String,
    /// Rate over time.
    pub rate: RatePlan,
    /// Queue discipline.
    pub queue: Algorithm,
    /// A module of the kernel engine's kit that stands in for the queue
    /// discipline.
    pub module: Option<String>,
    /// When a packet leaves.
    pub mode: LinkMode,
    /// One-way delay behind the link.
    pub delay: Time,
    /// Random order-preserving addition to the delay, uniform from 0 to this.
    pub jitter: Time,
    /// Probability that a packet behind the queue is lost.
    pub loss: f64,
    /// Bytes added to (or, negative, taken from) each frame when the rate is applied.
    pub overhead: i32,
    /// Whether the packet in transmission counts as backlog.
    pub count_in_service: bool,
    /// Marks and drops by packet number, applied before the queue.
    pub schedule: Option<Schedule>,
}

/// A TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Name in results.
    pub name: String,
    /// Congestion control.
    pub cc: Algorithm,
    /// A module of the kernel engine's kit that stands in for the congestion
    /// control.
    pub module: Option<String>,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Connect time, before the start offset.
    pub start: Time,
    /// No new data from then on.
    pub stop: Option<Time>,
    /// Payload to send; `None`: without end.
    pub bytes: Option<Bytes>,
    /// Base round-trip time without the delays of links.
    pub rtt: Time,
    /// Links the data passes (indices).
    pub route: Vec<u32>,
    /// Links the ACKs pass.
    pub back: Vec<u32>,
    /// The stack.
    pub tcp: TcpPlan,
    /// Names of its hosts, the sender's and the receiver's of data; `None`: see
    /// [`Plan::hosts`].
    pub hosts: Option<[String; 2]>,
    /// Differentiated services codepoint of its packets, 0 to 63.
    pub dscp: u8,
    /// The class of flows that it is counted with at the first link of its route.
    pub class: Option<String>,
}

/// How the stack counts growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Acknowledged segments (Linux since about 3.15).
    Segments,
    /// ACKs, and slow start up to and including ssthresh (Linux 3.2).
    Acks,
}

/// Whether packets are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Only if the congestion control asks for it.
    Auto,
    /// Never.
    Off,
    /// As `fq` does: at Linux's pacing rate.
    Fq,
}

/// How a receiver tells of SCE marks, with the ESCE bit of its ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceReceiver {
    /// As `Split` if the sender's congestion control is one of SCE, else not at all.
    Auto,
    /// Not at all: ECT(1) is ECT(0).
    Off,
    /// When marks begin or end, what was delayed is acknowledged first, and
    /// what brought the change at once.
    Split,
    /// The same, but what brought the change is delayed as ever.
    SplitDelayed,
    /// ACKs come as ever, and as many segments are acknowledged with ESCE as
    /// were marked.
    Dither,
}

/// How the two ends of a flow with ECN tell one another of CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnFeedback {
    /// As the congestion control asks: Accurate ECN for those that need it,
    /// an echo of each packet for DCTCP, else RFC 3168.
    Auto,
    /// Accurate ECN (RFC 9768), whatever the congestion control.
    AccEcn,
    /// The receiver knows RFC 3168 only.
    Rfc3168,
    /// The receiver knows nothing of ECN.
    None,
}

/// When a receiver with Accurate ECN sends its option (Linux `tcp_ecn_option`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccEcnOption {
    /// Never.
    Off,
    /// After CE and changes of the ECN field, and three times in a round trip.
    Minimum,
    /// On every ACK, as there is room.
    Full,
}

/// The receiver's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveBuffer {
    /// As large as the receive window asks for from the start.
    Fixed,
    /// Tuned by Linux, from 128 KiB on, to what the application reads in a
    /// round-trip time.
    Auto,
}

/// Options of the TCP stack.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpPlan {
    /// Payload of a full segment, bytes.
    pub mss: u16,
    /// Bytes of a frame besides payload: Ethernet 14, IP 20, TCP 32 with timestamps.
    pub header: u16,
    /// Initial window, segments.
    pub initial_cwnd: u32,
    /// Floor of the retransmission timeout.
    pub min_rto: Time,
    /// Whether ACKs are delayed (2 segments or the timer).
    pub delack: bool,
    /// Whether the timestamp option is in use: by it RTT samples are taken of
    /// retransmitted data, and spurious retransmissions are told apart. What
    /// it costs on the wire stands in `header`.
    pub timestamps: bool,
    /// Receive window, bytes.
    pub rwnd: Bytes,
    /// Pacing.
    pub pacing: Pacing,
    /// What growth counts.
    pub growth: Growth,
    /// Whether the receiver spends its quick ACKs at the start.
    pub quickack: bool,
    /// Where the first slow start ends, segments; 0: at the first congestion.
    pub initial_ssthresh: u32,
    /// What the receiver's buffer is, which decides for how long it
    /// acknowledges every segment.
    pub rcvbuf: ReceiveBuffer,
    /// How the receiver tells of SCE marks.
    pub sce_receiver: SceReceiver,
    /// How the ends tell one another of CE.
    pub ecn_feedback: EcnFeedback,
    /// When the AccECN option is sent, where Accurate ECN is spoken.
    pub accecn_option: AccEcnOption,
    /// Pacing rate in slow start, percent of cwnd/srtt (Linux `tcp_pacing_ss_ratio`).
    pub pacing_ss_ratio: u32,
    /// The same in congestion avoidance (Linux `tcp_pacing_ca_ratio`).
    pub pacing_ca_ratio: u32,
}

impl Default for TcpPlan {
    fn default() -> Self {
        TcpPlan {
            mss: 1448,
            header: 66,
            initial_cwnd: 10,
            min_rto: Time::from_ms(200),
            delack: true,
            timestamps: true,
            rwnd: Bytes(32 << 20),
            pacing: Pacing::Auto,
            growth: Growth::Segments,
            quickack: true,
            initial_ssthresh: 0,
            rcvbuf: ReceiveBuffer::Fixed,
            sce_receiver: SceReceiver::Auto,
            ecn_feedback: EcnFeedback::Auto,
            accecn_option: AccEcnOption::Full,
            pacing_ss_ratio: 200,
            pacing_ca_ratio: 120,
        }
    }
}

/// A source of traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficPlan {
    /// Name in results.
    pub name: String,
    /// Kind (name in the registry).
    pub kind: &'static str,
    /// Its options, complete.
    pub options: Options,
    /// First packet not before.
    pub start: Time,
    /// No packet from then on.
    pub stop: Option<Time>,
    /// Base round-trip time: half of it lies before the first link.
    pub rtt: Time,
    /// Links its packets pass, or its data if it is TCP.
    pub route: Vec<u32>,
    /// What its connections are like, if it is TCP; `None`: datagrams.
    pub connections: Option<Box<ConnectionsPlan>>,
    /// Names of its hosts, the sender's and the receiver's of data; `None`: see
    /// [`Plan::hosts`].
    pub hosts: Option<[String; 2]>,
    /// Differentiated services codepoint of its packets, 0 to 63.
    pub dscp: u8,
    /// The class of flows that it is counted with at the first link of its route.
    pub class: Option<String>,
}

/// The TCP connections of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionsPlan {
    /// Congestion control of the servers.
    pub cc: Algorithm,
    /// A module of the kernel engine's kit that stands in for it.
    pub module: Option<String>,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Links that requests and ACKs pass.
    pub back: Vec<u32>,
    /// The stack.
    pub tcp: TcpPlan,
    /// Connections at a time.
    pub limit: u32,
}
