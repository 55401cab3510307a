//! A complete description of a run, from which the network is built.
//!
//! The plan consists of plain values in base units (ns, bit/s, bytes). The scenario crate creates
//! it. No code in this module reads files. The fields are declared together with the keys of a
//! scenario file (see [`mod@crate::keys`]).

mod event;
mod group;
mod link;
mod program;
mod record;
mod short_forms;
mod tcp;
mod traffic;

use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::sync::Arc;

use tailback_record::{ClassFlow, ClassPlan, meter};

pub use event::{Change, EventPlan};
pub use group::{Group, Member};
pub use link::{Concerns, ImpairmentPlan, LinkMode, LinkPlan, Schedule, SlotsPlan, Windows};
pub use program::{
    DATE, FilePlan, InteropPlan, ProgramPlan, Ready, ResultPlan, RootPlan, SidePlan,
};
pub use record::{RecordPlan, SeriesMode};
pub use short_forms::{BurstLossForm, DelayForm, GilbertForm, PolicerForm, ReorderForm};
pub use tcp::{
    AccEcnOption, AccEcnReceiver, Conduct, Delack, EcnFeedback, Growth, Pacing, ReceiveBuffer,
    SceReceiver, TcpPlan,
};
pub use traffic::{ChunksPlan, ConnectionsPlan, FlowPlan, TrafficPlan};

use crate::hosts::{self, HostKind};
use crate::keys;
pub use crate::keys::Refusal;
use crate::keys::{ANY_TIME, BOOL, KeyKind, POSITIVE_TIME, TEXT, int, key, plain};
use crate::packet::FlowInfo;
use crate::profiles::NAMES;
pub use crate::rate::RatePlan;
pub use crate::registry::Algorithm;
use crate::registry::Kind;
use crate::rng::Stream;
use crate::traffic::{Transport, transport};
use crate::units::{Rate, Time};

keys! {
    /// A scenario of tailback, version 1.
    pub struct Plan as "the scenario" {
        /// A description of the scenario. The description does not change the id of a run.
        key title = TEXT.default("");
        /// Length of the run.
        duration: Time = POSITIVE_TIME.required();
        /// Measurements begin at this time.
        warmup: Time = ANY_TIME.default("0s");
        /// Seed of every random stream. A sweep with several seeds uses this seed, this seed + 1,
        /// and so on.
        key seed = int(0, i64::MAX).default("1");
        /// The Linux kernel that runs the scenario; kernel engine only. A guest kernel is a Linux
        /// kernel that you have built for the kernel engine (`tailback kernel list`). Name the
        /// guest kernel by its release ("6.1", "6.1.176") or by the beginning of its hash. If
        /// several guest kernels match, tailback prefers the guest kernel in use
        /// (`tailback kernel info`), and otherwise the guest kernel that was built last. The
        /// default is the guest kernel in use.
        kernel: Option<String> => TEXT;
        /// The start of each flow is delayed by a random time. The random times are uniformly
        /// distributed from 0 to this value. The default is `path.rtt`.
        start_jitter: Time = ANY_TIME;
        /// Largest random delay that each host adds to a packet. The delays are uniformly
        /// distributed from 0 to this value. Packets keep their order. The value must be less than
        /// the time that the slowest link needs to transmit a packet. If the bottleneck has a FIFO,
        /// set this key to nine tenths of a packet's transmission time. Without jitter, the exact
        /// times at which packets arrive at a FIFO may determine how fast each flow is.
        host_jitter: Time = ANY_TIME.default("0s");
        /// The kind of all hosts, which determines how hosts delay packets. A host that is not
        /// "ideal" holds packets before they leave, and then sends all of them together, in order
        /// within each flow. Packets of all flows and sources of a host wait together. With "vm",
        /// `host_jitter` cannot be set. Only the simulator supports "vm-shared".
        hosts: &'static HostKind = plain(Kind::Word(hosts::NAMES)).default("ideal").since("0.2");
        /// The time for which every host has already been running when the run begins. This time
        /// determines when the host's timer ticks, which are 1 ms apart, occur. By default, each
        /// host has a random running time, which depends on the seed. If all hosts had the same
        /// running time, timeouts of equal flows would occur at the same instant. Only the
        /// simulator supports this key. On the kernel engine, all hosts share the ticks of one
        /// kernel.
        timer_phase: Option<Time> = ANY_TIME;
        /// The link, if the scenario has only one link. The name of this link is "bottleneck".
        key bottleneck = key(KeyKind::Table(&LinkPlan::TABLE));
        /// With several links, each link has a table [links.NAME] instead of [bottleneck].
        // In the plan, the links of the forward direction come first, then their copies in the
        // return direction.
        links: Vec<LinkPlan> => key(KeyKind::Map(&LinkPlan::TABLE));
        /// Properties of the path that do not belong to a link.
        key path = key(KeyKind::Table(&PathKeys::TABLE));
        /// The TCP stack of all flows.
        key tcp = key(KeyKind::Table(&TcpPlan::TABLE));
        /// Which data tailback records.
        record: RecordPlan => key(KeyKind::Table(&RecordPlan::TABLE));
        /// TCP flows.
        flows: Vec<FlowPlan> => key(KeyKind::List(&FlowPlan::TABLE));
        /// Traffic besides flows: unresponsive UDP, or short TCP connections.
        traffic: Vec<TrafficPlan> => key(KeyKind::List(&TrafficPlan::TABLE));
        /// Unmodified programs on the kernel engine, or transport stacks in the simulator. Each
        /// entry of [[programs]] has its own two hosts, a sender and a receiver. Packets from the
        /// sender's host follow the entry's `route`. Packets from the receiver's host travel in the
        /// reverse direction. `kind` selects a ready-made program; write the program's options in
        /// the same table.
        programs: Vec<ProgramPlan> => key(KeyKind::List(&ProgramPlan::TABLE));
        /// Changes during the run. Events can change links and their queues, and the times at which
        /// flows and sources start and stop.
        events: Vec<EventPlan> => key(KeyKind::List(&EventPlan::TABLE)).since("0.2");
        /// Whether hosts leave segmentation to their network interfaces (see [`PathKeys`]).
        offloads: bool;
        /// Folders of plugins, relative to this file. A plugin is a crate with your own algorithms,
        /// which is compiled into the engine. The id of a run depends on the content of the
        /// plugins, not on the paths in this key.
        // The plan has no field for plugins, because plugins are already compiled into the calling
        // program.
        key with = key(KeyKind::Folders);
        /// tailback runs the scenario with every combination of the listed values. Each key in this
        /// table is the path of a scenario key, such as "bottleneck.rate". The value of each key in
        /// this table is a list of values for the scenario key. Each combination is called a sweep
        /// point. Every sweep point runs with every seed. Sweep points are ordered so that the last
        /// key varies fastest. Keys in [[sweep.zip]] do not vary independently. All lists of a
        /// table [[sweep.zip]] must have equal length, and the n-th values of the lists are used
        /// together.
        key sweep = key(KeyKind::Sweep);
        /// A condition on a metric. If the condition does not hold, the run fails.
        key assert = key(KeyKind::Asserts);
    }
}

keys! {
    /// Properties of the path that do not belong to a link.
    pub struct PathKeys as "[path]" {
        /// Base round-trip time, in addition to the `delay` of links. Half of the base round-trip
        /// time passes before the first link, and the other half after packets have left the
        /// receiver.
        rtt: Time = POSITIVE_TIME.default("20ms");
        /// A named path (`tailback list paths`). The named path sets those keys of [path] and
        /// [bottleneck] that the scenario does not set.
        key profile = key(KeyKind::Plain(Kind::Word(NAMES)));
        /// Whether hosts leave segmentation to their network interfaces (TSO, GSO, GRO). With
        /// offloads, a TCP packet has up to 64 kB. Links and queues count a packet of several
        /// segments as one packet, whose length is the sum of its segments' frames. If a queue
        /// drops or marks this packet, all of its segments are dropped or marked. A queue with
        /// split_gso splits the packet into its segments.
        offloads: bool = BOOL.default("false");
    }
}

impl Plan {
    /// Returns each flow, with groups expanded.
    pub fn each_flow(&self) -> impl Iterator<Item = Member<'_, FlowPlan>> {
        group::members(&self.flows)
    }

    /// Returns each traffic source, with groups expanded.
    pub fn each_source(&self) -> impl Iterator<Item = Member<'_, TrafficPlan>> {
        group::members(&self.traffic)
    }

    /// Returns whether any host stores values about destinations for later connections.
    pub fn remembers(&self) -> bool {
        let sources = self.traffic.iter().filter_map(|s| s.connections.as_ref());
        let stacks = self.flows.iter().map(|flow| &flow.tcp);
        stacks
            .chain(sources.map(|connections| &connections.tcp))
            .any(|tcp| tcp.metrics_save)
    }

    /// Returns the number of flows.
    pub fn flow_count(&self) -> usize {
        group::count(&self.flows)
    }

    /// Returns the number of traffic sources.
    pub fn source_count(&self) -> usize {
        group::count(&self.traffic)
    }

    /// Returns each entry of `[[programs]]`, with groups expanded.
    pub fn each_program(&self) -> impl Iterator<Item = Member<'_, ProgramPlan>> {
        group::members(&self.programs)
    }

    /// Returns the number of entries of `[[programs]]`, with groups expanded.
    pub fn program_count(&self) -> usize {
        group::count(&self.programs)
    }

    /// Returns the classes of flows, traffic and programs whose routes begin with this link.
    pub fn classes_at(&self, link: u32) -> Vec<ClassPlan> {
        let flows = self.flows.iter();
        let flows = flows.map(|f| (&f.class, &f.route, f.count, Some((f.rtt, &f.back))));
        let sources = self.traffic.iter();
        let sources = sources.map(|s| (&s.class, &s.route, s.count, None));
        let programs = self.programs.iter();
        let programs = programs.map(|p| (&p.class, &p.route, p.count, Some((p.rtt, &p.back))));
        let mut all: Vec<&str> = Vec::new();
        let mut here: Vec<ClassPlan> = Vec::new();
        let mut next = 0;
        for (class, route, count, rtt) in flows.chain(sources).chain(programs) {
            let members = next..next + count as u32;
            next = members.end;
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
            match rtt {
                Some((rtt, back)) => {
                    let base_rtt_ns = self.rtt_over(rtt, route, back).ns();
                    let flows = members.map(|flow| ClassFlow { flow, base_rtt_ns });
                    here[place].flows.extend(flows);
                }
                None => here[place].sources.extend(members),
            }
        }
        here
    }

    /// Returns `rtt` plus the delays of all links on the two routes. The sum does not include
    /// queueing or serialisation.
    pub fn rtt_over(&self, rtt: Time, route: &[u32], back: &[u32]) -> Time {
        let links = route.iter().chain(back);
        let links = links.filter_map(|link| self.links.get(*link as usize));
        links.fold(rtt, |sum, link| sum + link.base_delay())
    }

    /// Returns when a component starts: at `start` plus a random offset that depends on the seed.
    pub fn start_of(&self, seed: u64, start: Time, name: &str) -> Time {
        let mut stream = Stream::new(seed, name, "start");
        start + Time(stream.below(self.start_jitter.ns() + 1))
    }
}

/// A pair of hosts, with the properties that all flows and sources on these hosts share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hosts {
    /// Base round-trip time.
    pub rtt: Time,
    /// Links on the route of the data, in order.
    pub route: Vec<u32>,
    /// Links on the route of the ACKs, in order.
    pub back: Vec<u32>,
    /// Settings of the TCP stack that apply to the whole host. `None` if only traffic sources
    /// without TCP use the hosts.
    pub stack: Option<HostStack>,
    /// The name of the flow, if no other flow uses this pair of hosts.
    pub alone: Option<String>,
    /// Size of the longest IP packet, in bytes.
    pub mtu: u32,
    /// Names of the two hosts, if the scenario sets them.
    pub names: Option<[String; 2]>,
}

/// Settings of the TCP stack that apply to a whole host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostStack {
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// When the receiver sends the AccECN option, if the scenario sets Accurate ECN.
    pub accecn: Option<AccEcnOption>,
    /// Whether TCP's timestamp option is in use.
    pub timestamps: bool,
    /// Initial window, in segments.
    pub initial_cwnd: u32,
    /// Lower limit of the retransmission timeout.
    pub min_rto: Time,
    /// Number of segments after which the receiver sends a delayed ACK.
    pub delack: Delack,
    /// Whether the host stores values about destinations for later connections, and whether these
    /// values include ssthresh.
    pub metrics_save: [bool; 2],
    /// Whether TCP combines segments into large packets (TSO), which the network interface splits
    /// again.
    pub joins: bool,
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
            metrics_save: [tcp.metrics_save, tcp.ssthresh_metrics_save],
            joins: tcp.pacing == Pacing::Gso,
        }
    }
}

/// Returns the host jitter that desynchronises flows at a FIFO. This jitter is 0.9 times the
/// transmission time of a packet at the slowest link, rounded down to two digits.
///
/// If the jitter is much smaller, flows stay synchronised (`benches/phases.py`). If the jitter is
/// larger, packets that were spaced by the link's transmission time may leave the host back to
/// back.
pub fn spreading_jitter(packet: Time) -> Time {
    let most = (packet.0 / 10 * 9).max(1);
    let unit = 10u64.pow(most.ilog10().saturating_sub(1));
    Time(most / unit * unit)
}

fn frame_of(tcp: &TcpPlan) -> u32 {
    u32::from(tcp.mss) + u32::from(tcp.header)
}

impl Plan {
    /// Returns all pairs of hosts. Also returns which pair each flow uses, followed by which pair
    /// each source uses.
    ///
    /// Flows and sources use the same pair of hosts if the scenario gives the same names to their
    /// hosts. If the hosts have no names, flows and sources with the same round-trip time, route
    /// and host settings use the same pair. The kernel engine assigns hosts in the same way.
    pub fn hosts(&self) -> (Vec<Hosts>, Vec<usize>) {
        self.pairs(self.host_jitter > Time::ZERO)
    }

    /// Returns the same as [`Plan::hosts`] without `host_jitter`. With `host_jitter`, each flow of
    /// an entry has hosts of its own.
    pub fn hosts_without_jitter(&self) -> (Vec<Hosts>, Vec<usize>) {
        self.pairs(false)
    }

    fn pairs(&self, jittered: bool) -> (Vec<Hosts>, Vec<usize>) {
        let of_flow = |flow: &FlowPlan, alone| Hosts {
            rtt: flow.rtt,
            route: flow.route.clone(),
            back: flow.back.clone(),
            stack: Some(HostStack::of(flow.ecn, &flow.tcp)),
            alone,
            mtu: frame_of(&flow.tcp).saturating_sub(ETHERNET),
            names: flow.hosts.clone(),
        };
        let of_source = |source: &TrafficPlan| Hosts {
            rtt: source.rtt,
            route: source.route.clone(),
            back: source.back().unwrap_or_default().to_vec(),
            stack: source
                .connections
                .as_ref()
                .map(|c| HostStack::of(c.ecn, &c.tcp)),
            alone: None,
            mtu: match (&source.connections, transport(source.kind)) {
                (Some(connections), _) => frame_of(&connections.tcp),
                (None, Some(Transport::Datagrams(of))) => u32::from(of(&source.options).len),
                (None, _) => 1514,
            }
            .saturating_sub(ETHERNET),
            names: source.hosts.clone(),
        };
        let mut numbers = BTreeMap::new();
        let mut pairs = Vec::new();
        let mut number = |hosts: Hosts| {
            *numbers.entry(hosts).or_insert_with_key(|hosts| {
                pairs.push(hosts.clone());
                pairs.len() - 1
            })
        };
        let mut of = Vec::new();
        if jittered {
            of.extend(
                self.each_flow()
                    .map(|flow| number(of_flow(flow.of, Some(flow.name())))),
            );
        } else {
            for flow in &self.flows {
                of.extend(repeat_n(number(of_flow(flow, None)), flow.count as usize));
            }
        }
        for source in &self.traffic {
            of.extend(repeat_n(number(of_source(source)), source.count as usize));
        }
        (pairs, of)
    }

    /// Returns the owner of each packet number ([`crate::packet::Packet::flow`]). The owner is a
    /// flow, a source or a program.
    pub fn owners(&self) -> Arc<[u32]> {
        let connections = self.each_source().map(|source| &source.of.connections);
        let limits = connections.map(|c| c.as_ref().map_or(0, |c| c.limit));
        meter::owners(self.flow_count(), limits, self.program_count())
    }

    /// Returns the rate and round-trip time that a source's connection would have if it were alone
    /// on the path. The rate is the nominal rate of the slowest link. The round-trip time is the
    /// base round-trip time plus link delays.
    pub fn alone(&self, source: &TrafficPlan) -> (Rate, Time) {
        self.alone_over(source.rtt, &source.route, source.back().unwrap_or_default())
    }

    /// Returns the same values as [`Plan::alone`], but for the given routes.
    pub fn alone_over(&self, rtt: Time, route: &[u32], back: &[u32]) -> (Rate, Time) {
        let there = route
            .iter()
            .filter_map(|link| self.links.get(*link as usize));
        let rate = there.map(|link| link.rate.nominal()).min();
        (rate.unwrap_or_default(), self.rtt_over(rtt, route, back))
    }

    /// Returns the host numbers and the DSCP that belong to each packet number ([`Plan::owners`]).
    /// Hosts with the same name have the same number. Each pair of hosts without names has numbers
    /// of its own.
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
        let dscp = self.each_flow().map(|flow| flow.of.dscp);
        let dscp = dscp.chain(self.each_source().map(|source| source.of.dscp));
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
        // Each entry of `[[programs]]` has its own pair of hosts.
        let mut hosts = ends.iter().flatten().max().map_or(0, |last| last + 1);
        let programs = self.each_program().map(|program| {
            hosts += 2;
            FlowInfo {
                source: hosts - 2,
                destination: hosts - 1,
                dscp: program.of.dscp,
            }
        });
        let info: Vec<FlowInfo> = info.into_iter().chain(programs).collect();
        owners.iter().map(|owner| info[*owner as usize]).collect()
    }
}

const ETHERNET: u32 = 14;
