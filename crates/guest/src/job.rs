//! The input of the guest: namespaces and devices, the lines for `ip` and `tc`, flows and sources
//! with their times, and the places at which to capture.
//!
//! The host makes all decisions, because only the host can reject a scenario, show a decision to
//! the user, and test it. The agent carries them out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tailback_record::{ClassPlan, meter};

/// Version of this format. It must be equal in host and agent, which come from the same build.
pub const FORMAT: u32 = 1;

/// The input of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Version of this format, [`FORMAT`].
    pub format: u32,
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Start of the measured time, ns.
    pub warmup_ns: u64,
    /// Seed of the run, for the random numbers of the sources.
    pub seed: u64,
    /// Which data the run records.
    pub record: Record,
    /// Modules to load, in order.
    pub modules: Vec<Module>,
    /// Values to write in the first namespace, before all other set-up. The keys are paths below
    /// `/proc/sys`.
    pub sysctls: Vec<(String, String)>,
    /// Network namespaces.
    pub namespaces: Vec<Namespace>,
    /// Pairs of devices between the namespaces.
    pub veths: Vec<Veth>,
    /// Whether the devices segment and merge packets (TSO, GSO, GRO).
    pub offloads: bool,
    /// Batches of lines for `ip -batch` and `tc -batch`, which are run in this order.
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

/// A device that receives from a host of programs, and the filter for the frames that the kernel
/// accepts there. A filter is needed because a program can send any packet through any device of
/// its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The device.
    pub device: Device,
    /// The host from which the device receives: the index of the entry, and the index of the host
    /// in that entry.
    pub host: (usize, usize),
    /// Pairs of source and destination address of the packets that pass. All other packets are
    /// dropped.
    pub pairs: Vec<(IpAddr, IpAddr)>,
}

impl Gate {
    /// Preference of the filter rule that drops all other packets.
    pub const DROP: u32 = 3;
}

/// Which data a run records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Time between samples, ns.
    pub interval_ns: u64,
    /// Whether samples become rows of the series. They are always included in the means.
    pub series: bool,
    /// Whether the sender is sampled after every ACK, in order to find changes of its window.
    pub changes: bool,
    /// Whether the sender's state is recorded after every ACK and every timer of TCP.
    pub acks: bool,
    /// Whether every drop and mark becomes an event.
    pub events: bool,
    /// Time between the samples for statistics, ns; 0 without statistics.
    pub statistics_ns: u64,
    /// Whether packets are captured before and after the queues.
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
    /// Values to write in the namespace. The keys are paths below `/proc/sys`.
    pub sysctls: Vec<(String, String)>,
}

/// A pair of devices. Both ends have the same hardware address and no ARP, so that only the
/// scenario's packets are on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Veth {
    /// One end.
    pub a: Device,
    /// The other end.
    pub b: Device,
    /// IP bytes of the longest packet.
    pub mtu: u32,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Index of the namespace in [`Job::namespaces`].
    pub namespace: usize,
    /// Name in the namespace.
    pub name: String,
}

/// The program that runs a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// iproute2's `ip`.
    Ip,
    /// iproute2's `tc`.
    Tc,
    /// The agent itself, which starts the timer of adaptive RED below a device.
    Adapt,
    /// The agent itself, which makes or changes a queue discipline that tc does not support.
    Qdisc,
}

/// Lines for one tool in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Index of the namespace.
    pub namespace: usize,
    /// The tool that runs the lines.
    pub tool: Tool,
    /// The arguments of the tool. Each line is one call.
    pub lines: Vec<String>,
}

/// Lines that run at a given time during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Time of the change, ns.
    pub at_ns: u64,
    /// The lines to run.
    pub batch: Batch,
}

/// A TCP flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Name in results.
    pub name: String,
    /// Name of the congestion control in results.
    pub cc: String,
    /// Name of the congestion control in the kernel.
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
    /// The receiver's port. The sender's port is the same.
    pub port: u16,
    /// Time at which the sender connects, including the seed's random offset, ns.
    pub start_ns: u64,
    /// Time after which the flow sends no new data, ns.
    pub stop_ns: Option<u64>,
    /// Payload to send, bytes. `None` if the flow has no end.
    pub bytes: Option<u64>,
    /// Payload of a full segment, bytes.
    pub mss: u16,
    /// Bytes of a frame in addition to its payload.
    pub header: u16,
    /// The send buffer, bytes as `SO_SNDBUF` counts them.
    pub send_buffer: u32,
    /// The largest receive window that the receiver offers, bytes.
    pub window: u32,
    /// Whether TCP paces its packets, at a rate that TCP computes.
    pub pacing: bool,
    /// Whether the receiver at first acknowledges every segment at once, before it delays ACKs.
    pub quickack: bool,
    /// Constant delay between the sender and the first capture on the path, ns. The time at which a
    /// packet was sent is its capture time minus this delay.
    pub access_delay_ns: u64,
    /// The links that the data passes.
    pub route: Vec<usize>,
    /// The links that the ACKs pass.
    pub back: Vec<usize>,
    /// Differentiated services codepoint of the flow's packets.
    #[serde(default)]
    pub dscp: u8,
    /// The application, if it limits the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
}

/// An application that limits its flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// Payload rate at which the application writes, bit/s. `None` if it does not write at a rate.
    pub rate_bit: Option<u64>,
    /// The chunks that the application writes. `None` if it does not write chunks.
    pub chunks: Option<Chunks>,
    /// Start and end of each pause, ns.
    pub pauses: Vec<[u64; 2]>,
}

/// The chunks that an application writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunks {
    /// Payload of a chunk, bytes.
    pub bytes: u64,
    /// Number of chunks. `None` if their number is not limited.
    pub count: Option<u64>,
    /// Time from one chunk to the next, ns. `None` if the receiver requests the chunks.
    pub every_ns: Option<u64>,
    /// Time that the receiver waits before each request, ns. `None` if it does not request the
    /// chunks.
    pub think_ns: Option<u64>,
    /// Payload of a request, bytes.
    pub request: u16,
    /// Rate of the slowest link on the route, bit/s.
    pub rate_bit: u64,
    /// Round-trip time without queues, ns.
    pub rtt_ns: u64,
}

/// A traffic source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Name in results.
    pub name: String,
    /// The source's kind, which is its name in the registry.
    pub kind: String,
    /// The complete options, as text in the registry's grammar.
    pub options: Vec<(String, String)>,
    /// Namespace of the sender.
    pub sender: usize,
    /// Namespace of the receiver.
    pub receiver: usize,
    /// The sender's address.
    pub sender_address: Ipv4Addr,
    /// The receiver's address.
    pub receiver_address: Ipv4Addr,
    /// The receiver's port. The sender's port is the same.
    pub port: u16,
    /// Time at which the source starts to send, including the seed's random offset, ns.
    pub start_ns: u64,
    /// Time after which the source sends nothing, ns.
    pub stop_ns: Option<u64>,
    /// The links that the source's packets pass.
    pub route: Vec<usize>,
    /// Differentiated services codepoint of the source's packets.
    #[serde(default)]
    pub dscp: u8,
    /// The connections of a source that uses TCP. `None` for UDP.
    #[serde(default)]
    pub connections: Option<Connections>,
}

/// The TCP connections of a source. The server sends, and listens at the source's port. Each client
/// has its own port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// The settings that connections share with flows. Port and size differ for each connection.
    pub flow: Flow,
    /// The first port of clients.
    pub first_port: u16,
    /// Largest number of simultaneous clients. Each client has a port.
    pub limit: u16,
    /// Rate of the slowest link on the route, bit/s.
    pub rate_bit: u64,
    /// Round-trip time without queues, ns.
    pub rtt_ns: u64,
    /// The largest possible size of a response, bytes.
    pub most_bytes: u64,
}

/// An entry of `[[programs]]`: two hosts and the programs on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Name in results.
    pub name: String,
    /// Kind as the scenario sets it. It may be empty.
    pub kind: String,
    /// Namespace of the sender's host.
    pub sender: usize,
    /// Namespace of the receiver's host.
    pub receiver: usize,
    /// The addresses of the sender's host.
    pub sender_addresses: (Ipv4Addr, Ipv6Addr),
    /// The addresses of the receiver's host.
    pub receiver_addresses: (Ipv4Addr, Ipv6Addr),
    /// The program on the sender's host, and the program on the receiver's host.
    pub sides: [Option<Side>; 2],
    /// Environment variables in addition to the variables that every program has.
    pub env: Vec<(String, String)>,
    /// The folder of the guest's root in which its packages are unpacked.
    pub root: String,
    /// The entry's files. Each has a name below `/files` and a path in the guest's root.
    pub files: Vec<(String, String)>,
    /// Names of both hosts, if the scenario sets them.
    #[serde(default)]
    pub host_names: Option<[String; 2]>,
    /// Time at which the clients start, including the seed's random offset, ns.
    pub start_ns: u64,
    /// Time at which tailback asks the programs to end, ns.
    pub stop_ns: Option<u64>,
    /// Expected exit status of a side that ends on its own.
    pub expect: i32,
    /// Constant delay between the sender's host and the first capture on the path, ns.
    pub access_delay_ns: u64,
    /// Round-trip time without queues, including the delays of links, ns.
    pub base_rtt_ns: u64,
    /// The links that packets of the sender's host pass.
    pub route: Vec<usize>,
    /// The links that packets of the receiver's host pass.
    pub back: Vec<usize>,
    /// Differentiated services codepoint of the packets of both hosts.
    pub dscp: u8,
    /// The files that both sides share, if they are endpoints of the QUIC interop runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interop: Option<Interop>,
}

/// The files that the client of an entry fetches from its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interop {
    /// The name and size (bytes) of each file.
    pub files: Vec<(String, u64)>,
}

/// A program on a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// The condition under which a server is ready. `None` for a client. A server starts before the
    /// run, and the run waits until the server is ready.
    pub ready: Option<Ready>,
    /// The folder below the guest's root that becomes the side's root. `None` if the root is made
    /// of packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The working folder, if the scenario sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables in addition to the variables of the entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
}

/// The condition under which a server is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// A process listens at this TCP port of the host.
    Tcp(u16),
    /// A socket is bound to this UDP port of the host.
    Udp(u16),
    /// The server's standard output contains this text.
    Stdout(String),
    /// This much time has passed, ns.
    After(u64),
}

impl Job {
    /// Returns the flow, source or program of each number in a packet. Each flow, source and
    /// connection of a source has one port, in the order of these numbers. Programs have no port
    /// here, because the addresses of their hosts identify their packets.
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
    /// The name of the queue discipline's kind in tc. The agent needs it to find the statistics of
    /// that kind.
    pub kind: String,
    /// The namespace of the queue. Packets that enter the queue are captured when they come in
    /// through the devices of this namespace other than [`Link::device`].
    pub namespace: usize,
    /// The device after the queue. Packets that leave the queue are captured when they go out
    /// there.
    pub device: String,
    /// Rates in bit/s, each with the time in ns from which it applies. Times ascend from 0.
    pub rates: Vec<(u64, u64)>,
    /// The largest amount that the queue may hold. It is used to distinguish drops by a full buffer
    /// from drops by the algorithm.
    pub limit: Limit,
    /// Whether the algorithm drops on arrival or on departure.
    pub drops_at: DropsAt,
    /// Whether packets of all flows leave in the order in which they came.
    pub in_order: bool,
    /// Whether packets of each flow leave in the order in which they came.
    pub keeps_order: bool,
    /// The namespace after the queue in which a wire loses packets. The wire is between the
    /// devices `in` and `out` of this namespace.
    pub loss_namespace: Option<usize>,
    /// The kind of queue discipline that loses packets there; `None` for netem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_kind: Option<String>,
    /// Numbers of the data packets, counted from 1, that a schedule marks regardless of the queue.
    pub scheduled_marks: Vec<u64>,
    /// Numbers of the data packets, counted from 1, that a schedule drops regardless of the queue.
    pub scheduled_drops: Vec<u64>,
    /// The namespace of the schedule, in front of the queue's namespace. Packets are captured when
    /// they enter the namespace of the schedule.
    pub schedule_namespace: Option<usize>,
    /// Classes of the flows for which this link is the first.
    pub classes: Vec<ClassPlan>,
}

/// The largest amount that a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// A number of packets.
    Packets(u64),
    /// A number of frame bytes.
    Bytes(u64),
    /// The limit is unknown.
    Unknown,
}

/// When a queue's algorithm drops packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DropsAt {
    /// When packets arrive.
    Enqueue,
    /// When packets leave the queue.
    Dequeue,
}
