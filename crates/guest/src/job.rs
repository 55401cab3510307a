//! The input of the guest: namespaces and devices, the lines for `ip` and `tc`, flows and sources
//! with their times, and where to capture.
//!
//! The host decides everything, because it can reject, show and test it; the agent only carries it
//! out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tailback_record::{ClassPlan, meter};

/// Version of this format; host and agent come from the same build.
pub const FORMAT: u32 = 1;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// [`FORMAT`].
    pub format: u32,
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Start of the measured time, ns.
    pub warmup_ns: u64,
    /// Seed of the run, for the sources' random streams.
    pub seed: u64,
    /// What is recorded.
    pub record: Record,
    /// Modules to load, in order.
    pub modules: Vec<Module>,
    /// Values to write first, in the first namespace, by path below `/proc/sys`.
    pub sysctls: Vec<(String, String)>,
    /// Network namespaces.
    pub namespaces: Vec<Namespace>,
    /// Pairs of devices between them.
    pub veths: Vec<Veth>,
    /// Whether the devices segment and merge (TSO, GSO, GRO).
    pub offloads: bool,
    /// Lines for `ip -batch` and `tc -batch`, run in this order.
    pub setup: Vec<Batch>,
    /// Changes during the run, in ascending order of time.
    pub changes: Vec<Change>,
    /// TCP flows, in the order of the plan.
    pub flows: Vec<Flow>,
    /// Traffic sources, in the order of the plan.
    pub sources: Vec<Source>,
    /// Links, in the order of the plan.
    pub links: Vec<Link>,
    /// Programs, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// Every device that receives from a host of programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
}

/// The hardware address of every device.
pub const HARDWARE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A device that receives from a host of programs, with the frames that the kernel lets in there.
/// The filter is needed because a program can send anything, by any device of its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The device.
    pub device: Device,
    /// Index of the entry whose host it receives from, and which host of the entry that is.
    pub host: (usize, usize),
    /// Sources and destinations of the packets that pass; all others are dropped.
    pub pairs: Vec<(IpAddr, IpAddr)>,
}

impl Gate {
    /// Preference of the filter that drops all other packets.
    pub const DROP: u32 = 3;
}

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Interval of samples, ns.
    pub interval_ns: u64,
    /// Whether samples become rows of the series (they always count in the means).
    pub series: bool,
    /// Whether the sender is sampled after every ACK, to find changes of its window.
    pub changes: bool,
    /// Whether the sender's state is recorded after every ACK and every timer of its own.
    pub acks: bool,
    /// Whether every drop and mark becomes an event.
    pub events: bool,
    /// Interval of the samples for statistics, ns; 0: none.
    pub statistics_ns: u64,
    /// Whether packets are captured before and behind the queues.
    pub captures: bool,
    /// Whether the captured packets are written to `packets.pcapng`.
    pub packets: bool,
}

/// A module to load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Path in the guest, e.g. `/modules/sch_codel.ko`.
    pub path: String,
    /// Parameters, as on insmod's command line.
    pub parameters: String,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Name, for messages.
    pub name: String,
    /// Values to write in it, by path below `/proc/sys`.
    pub sysctls: Vec<(String, String)>,
}

/// A pair of devices. Both ends have the same hardware address and no ARP, so
/// that nothing but the scenario's packets is on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Veth {
    /// One end.
    pub a: Device,
    /// The other.
    pub b: Device,
    /// IP bytes of the longest packet.
    pub mtu: u32,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Namespace, by its place in [`Job::namespaces`].
    pub namespace: usize,
    /// Name in it.
    pub name: String,
}

/// The program a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// iproute2's `ip`.
    Ip,
    /// iproute2's `tc`.
    Tc,
    /// No tool: the agent starts the timer of adaptive RED below a device.
    Adapt,
    /// None: the agent makes or changes a queue discipline that tc does not know.
    Qdisc,
}

/// Lines for one program in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Where.
    pub namespace: usize,
    /// The program.
    pub tool: Tool,
    /// Its arguments, one call a line.
    pub lines: Vec<String>,
}

/// A line that is run during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// When, ns.
    pub at_ns: u64,
    /// What.
    pub batch: Batch,
}

/// A TCP flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Name in results.
    pub name: String,
    /// Name of the congestion control in results.
    pub cc: String,
    /// Name by which the kernel knows it.
    pub kernel_cc: String,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Namespace of the sender.
    pub sender: usize,
    /// Namespace of the receiver.
    pub receiver: usize,
    /// The sender's address.
    pub sender_address: Ipv4Addr,
    /// The receiver's address.
    pub receiver_address: Ipv4Addr,
    /// The receiver's port; the sender's is the same.
    pub port: u16,
    /// When it connects, including the seed's random offset, ns.
    pub start_ns: u64,
    /// No new data from this time on, ns.
    pub stop_ns: Option<u64>,
    /// Payload to send; `None`: unlimited.
    pub bytes: Option<u64>,
    /// Payload of a full segment, bytes.
    pub mss: u16,
    /// Bytes of a frame in addition to its payload.
    pub header: u16,
    /// The send buffer, bytes as `SO_SNDBUF` counts.
    pub send_buffer: u32,
    /// The largest receive window that it offers, bytes.
    pub window: u32,
    /// Whether TCP paces at its pacing rate.
    pub pacing: bool,
    /// Whether the receiver uses up its quick ACKs at the start.
    pub quickack: bool,
    /// Constant delay between the sender and the first capture on its way, ns: send time is capture
    /// time minus this delay.
    pub access_delay_ns: u64,
    /// The links its data passes.
    pub route: Vec<usize>,
    /// The links its ACKs pass.
    pub back: Vec<usize>,
    /// Differentiated services codepoint of its packets.
    #[serde(default)]
    pub dscp: u8,
    /// Its application, where that limits the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
}

/// The application of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// Payload rate at which it writes, bit/s.
    pub rate_bit: Option<u64>,
    /// The chunks that it writes.
    pub chunks: Option<Chunks>,
    /// Begin and end of each pause, ns.
    pub pauses: Vec<[u64; 2]>,
}

/// The chunks that the application of a flow writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunks {
    /// Payload of each, bytes.
    pub bytes: u64,
    /// How many; `None`: without end.
    pub count: Option<u64>,
    /// From one to the next, ns.
    pub every_ns: Option<u64>,
    /// If the receiver requests them: how long it waits before each request, ns.
    pub think_ns: Option<u64>,
    /// Payload of a request, bytes.
    pub request: u16,
    /// Rate of the slowest link of the route, bit/s.
    pub rate_bit: u64,
    /// Round-trip time without queues, ns.
    pub rtt_ns: u64,
}

/// A traffic source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Name in results.
    pub name: String,
    /// Kind in the registry.
    pub kind: String,
    /// Its options as text that the registry's grammar reads, complete.
    pub options: Vec<(String, String)>,
    /// Namespace of the sender.
    pub sender: usize,
    /// Namespace of the receiver.
    pub receiver: usize,
    /// The sender's address.
    pub sender_address: Ipv4Addr,
    /// The receiver's address.
    pub receiver_address: Ipv4Addr,
    /// The receiver's port; the sender's is the same.
    pub port: u16,
    /// Time before which it sends nothing, including the seed's random offset, ns.
    pub start_ns: u64,
    /// It sends nothing from this time on, ns.
    pub stop_ns: Option<u64>,
    /// The links its packets pass.
    pub route: Vec<usize>,
    /// Differentiated services codepoint of its packets.
    #[serde(default)]
    pub dscp: u8,
    /// For TCP instead of UDP: its connections.
    #[serde(default)]
    pub connections: Option<Connections>,
}

/// The TCP connections of a source. The server, at the end that sends, listens at
/// the source's port; each client has a port of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// The settings that a connection shares with a flow; a connection has its own port and size.
    pub flow: Flow,
    /// The first port of clients.
    pub first_port: u16,
    /// Most clients at a time, each with a port.
    pub limit: u16,
    /// Rate of the slowest link of the route, bit/s.
    pub rate_bit: u64,
    /// Round-trip time without queues, ns.
    pub rtt_ns: u64,
    /// The largest size, bytes.
    pub most_bytes: u64,
}

/// An entry of `[[programs]]`: two hosts and the programs on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Name in results.
    pub name: String,
    /// Kind as the scenario states it; may be empty.
    pub kind: String,
    /// Namespace of the sender's host.
    pub sender: usize,
    /// Namespace of the receiver's host.
    pub receiver: usize,
    /// The addresses of the sender's host.
    pub sender_addresses: (Ipv4Addr, Ipv6Addr),
    /// The addresses of the receiver's host.
    pub receiver_addresses: (Ipv4Addr, Ipv6Addr),
    /// The program on the sender's host, and the one on the receiver's.
    pub sides: [Option<Side>; 2],
    /// Environment in addition to that of every program.
    pub env: Vec<(String, String)>,
    /// Where its packages are unpacked: a folder of the guest's root.
    pub root: String,
    /// Its files: name below `/files`, and where they are in the guest's root.
    pub files: Vec<(String, String)>,
    /// Names of both hosts, if the scenario sets them.
    #[serde(default)]
    pub host_names: Option<[String; 2]>,
    /// When the sides that are not servers start, including the seed's random offset, ns.
    pub start_ns: u64,
    /// When it is asked to end, ns.
    pub stop_ns: Option<u64>,
    /// Expected exit status of a side that ends of its own accord.
    pub expect: i32,
    /// Constant delay between the sender's host and the first capture on its way, ns.
    pub access_delay_ns: u64,
    /// Round-trip time without queues, including the delays of links, ns.
    pub base_rtt_ns: u64,
    /// The links that packets of the sender's host pass.
    pub route: Vec<usize>,
    /// The links that packets of the receiver's host pass.
    pub back: Vec<usize>,
    /// Differentiated services codepoint of the packets of both hosts.
    pub dscp: u8,
    /// For endpoints of the QUIC interop runner: the files that both sides find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interop: Option<Interop>,
}

/// The files that the client of an entry fetches from its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interop {
    /// Files by name, with their sizes, bytes.
    pub files: Vec<(String, u64)>,
}

/// A program on a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// For a server: it is started before the run, which waits until this holds.
    pub ready: Option<Ready>,
    /// Its root, if that is not made of packages: a folder of the guest's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Its working folder, if the scenario sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment in addition to that of the entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
}

/// The sign that a server is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// Something listens at this TCP port of its host.
    Tcp(u16),
    /// A socket is bound to this UDP port of its host.
    Udp(u16),
    /// Its standard output contains this text.
    Stdout(String),
    /// This much time has passed, ns.
    After(u64),
}

impl Job {
    /// The flow, source or program of each number in a packet. Flows and sources with their
    /// connections have one port each, in the order of these numbers. Programs have no such port:
    /// the addresses of their hosts identify their packets.
    pub fn owners(&self) -> Arc<[u32]> {
        let connections = self.sources.iter().map(|source| &source.connections);
        let limits = connections.map(|c| c.as_ref().map_or(0, |c| c.limit));
        let limits = limits.map(u32::from);
        meter::owners(self.flows.len(), limits, self.programs.len())
    }
}

/// A link and its queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Name in results.
    pub name: String,
    /// Name of the queue discipline in results.
    pub aqm: String,
    /// Its kind in tc's terms, to find its statistics.
    pub kind: String,
    /// The namespace of the queue, which is in front of the device [`Link::device`]. Packets are
    /// captured as they come in through any other device of this namespace.
    pub namespace: usize,
    /// The device behind the queue; packets are captured as they go out there.
    pub device: String,
    /// Rates (bit/s), each from its time (ns) on; times ascend from 0.
    pub rates: Vec<(u64, u64)>,
    /// How much the queue may hold, to distinguish a full buffer from the algorithm's drops.
    pub limit: Limit,
    /// Where the algorithm drops.
    pub drops_at: DropsAt,
    /// Whether packets leave in the order in which they came, across flows.
    pub in_order: bool,
    /// Whether packets of a flow leave in the order in which they came.
    pub keeps_order: bool,
    /// The namespace behind the queue whose `in` and `out` are the ends of a lossy wire.
    pub loss_namespace: Option<usize>,
    /// Numbers of data packets, from 1, that are marked whatever the queue does.
    pub scheduled_marks: Vec<u64>,
    /// Numbers of data packets, from 1, that are dropped whatever the queue does.
    pub scheduled_drops: Vec<u64>,
    /// Where packets are captured as they arrive at the schedule: a namespace of its own before
    /// that of the queue.
    pub schedule_namespace: Option<usize>,
    /// Classes of flows whose members pass this link first.
    pub classes: Vec<ClassPlan>,
}

/// How much a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Packets.
    Packets(u64),
    /// Frame bytes.
    Bytes(u64),
    /// Not known.
    Unknown,
}

/// Where a queue's algorithm drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DropsAt {
    /// As packets arrive.
    Enqueue,
    /// When packets leave the queue.
    Dequeue,
}
