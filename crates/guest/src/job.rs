//! The job that the host passes to the guest. A job contains namespaces and devices, `ip` and `tc`
//! commands, flows and sources with their times, and the points at which packets are captured.
//!
//! The host, not the agent in the guest, makes all decisions about a run. Only the host can reject
//! a scenario or show a decision to the user. Only the host's decisions can be tested without a
//! guest. The agent carries out the decisions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tailback_record::{ClassPlan, meter};

/// Version of the job format. Host and agent must use the same version of the format, which ensures
/// that both come from the same build.
pub const FORMAT: u32 = 1;

/// A job: everything that the agent needs for one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Version of the job format, [`FORMAT`].
    pub format: u32,
    /// Duration of the run, in ns.
    pub duration_ns: u64,
    /// Start of the measured time, in ns.
    pub warmup_ns: u64,
    /// Seed of the run. The random numbers of the traffic sources depend on this seed.
    pub seed: u64,
    /// What the run records.
    pub record: Record,
    /// Modules to load, in order.
    pub modules: Vec<Module>,
    /// Sysctls to set in the first namespace before everything else: paths below `/proc/sys`, and
    /// values.
    pub sysctls: Vec<(String, String)>,
    /// Network namespaces.
    pub namespaces: Vec<Namespace>,
    /// Pairs of devices between the namespaces.
    pub veths: Vec<Veth>,
    /// Whether the devices use segmentation and receive offloads (TSO, GSO, GRO).
    pub offloads: bool,
    /// Commands for `ip -batch`, `tc -batch` and the agent, in the order in which they run.
    pub setup: Vec<Batch>,
    /// Commands that the agent executes during the run, in ascending order of time.
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
    /// The devices that receive packets from hosts of programs, with their filters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
}

/// The hardware address that all devices have.
pub const HARDWARE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A device that receives packets from a host of programs, and a filter for these packets. Without
/// the filter, a program could send any packet through any device of its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The device.
    pub device: Device,
    /// The host from which the device receives. The first number is the index of the entry in
    /// `[[programs]]`. The second number is 0 for the sender's host, or 1 for the receiver's host.
    pub host: (usize, usize),
    /// Pairs of source and destination address. Packets with these addresses are accepted, and all
    /// other packets are dropped.
    pub pairs: Vec<(IpAddr, IpAddr)>,
}

impl Gate {
    /// Preference of the tc filter that drops all other packets.
    pub const DROP: u32 = 3;
}

/// What a run records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Time between two samples, in ns.
    pub interval_ns: u64,
    /// Whether samples are written to the series. The means include all samples, even if the
    /// samples are not written.
    pub series: bool,
    /// Whether the sender is sampled after every ACK, to find reductions of its window.
    pub changes: bool,
    /// Whether the sender's state is recorded after every ACK and every TCP timer.
    pub acks: bool,
    /// Whether the agent records every drop and mark as an event.
    pub events: bool,
    /// Time between two samples for statistics, in ns, or 0 without statistics.
    pub statistics_ns: u64,
    /// Whether packets are captured before and after the queues.
    pub captures: bool,
    /// Whether the captured packets are written to `packets.pcapng`.
    pub packets: bool,
}

/// A module to load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Path in the guest, such as `/modules/sch_codel.ko`.
    pub path: String,
    /// Module parameters, in the syntax of insmod.
    pub parameters: String,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Name, for messages.
    pub name: String,
    /// Sysctls to set in the namespace: paths below `/proc/sys`, and values.
    pub sysctls: Vec<(String, String)>,
}

/// A pair of veth devices. Both devices have the same hardware address and no ARP. The devices
/// therefore carry only packets of the scenario, and no ARP packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Veth {
    /// One end.
    pub a: Device,
    /// The other end.
    pub b: Device,
    /// MTU: largest length of an IP packet, in bytes.
    pub mtu: u32,
}

/// A device in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Index of the namespace in [`Job::namespaces`].
    pub namespace: usize,
    /// Name in the namespace.
    pub name: String,
}

/// The tool that runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// iproute2's `ip`.
    Ip,
    /// iproute2's `tc`.
    Tc,
    /// The agent itself. The command names a device whose RED queue needs the timer of its adaptive
    /// mode.
    Adapt,
    /// The agent itself. The command creates or changes a queue discipline that tc does not
    /// support.
    Qdisc,
}

/// Commands for one tool in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Index of the namespace.
    pub namespace: usize,
    /// The tool that runs the commands.
    pub tool: Tool,
    /// The commands: the tool's arguments, one command per line.
    pub lines: Vec<String>,
}

/// Commands that the agent executes at a certain time during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Time since the start of the run, in ns.
    pub at_ns: u64,
    /// The commands to run.
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
    /// Whether the flow negotiates ECN.
    pub ecn: bool,
    /// Namespace of the sender.
    pub sender: usize,
    /// Namespace of the receiver.
    pub receiver: usize,
    /// The sender's address.
    pub sender_address: Ipv4Addr,
    /// The receiver's address.
    pub receiver_address: Ipv4Addr,
    /// Port of the receiver and of the sender.
    pub port: u16,
    /// Time at which the sender connects, including the random offset, in ns.
    pub start_ns: u64,
    /// Time after which the flow sends no new data, in ns.
    pub stop_ns: Option<u64>,
    /// Payload to send, in bytes. `None` if the flow sends until it is stopped.
    pub bytes: Option<u64>,
    /// Payload of a full segment, in bytes.
    pub mss: u16,
    /// Number of bytes that the AccECN option takes from the payload of every segment.
    #[serde(default, skip_serializing_if = "no_option")]
    pub option: u16,
    /// Frame length minus payload, in bytes.
    pub header: u16,
    /// Send buffer, in bytes as `SO_SNDBUF` counts them.
    pub send_buffer: u32,
    /// Largest receive window, in bytes.
    pub window: u32,
    /// Whether TCP paces its packets, at a rate that it chooses itself.
    pub pacing: bool,
    /// Whether the receiver acknowledges each segment at once (quick ACKs) at first, before it
    /// begins to delay ACKs.
    pub quickack: bool,
    /// Constant delay between the sender and the first capture on the path, in ns. A packet is
    /// first captured when this delay has passed after the packet was sent.
    pub access_delay_ns: u64,
    /// Route of the flow's data: indices of links, in order.
    pub route: Vec<usize>,
    /// Route of the flow's ACKs: indices of links, in order.
    pub back: Vec<usize>,
    /// DSCP of the flow's packets.
    #[serde(default)]
    pub dscp: u8,
    /// The application that limits the flow, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
}

fn no_option(option: &u16) -> bool {
    *option == 0
}

/// An application that limits its flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// Payload rate at which the application writes, in bit/s. `None` if the application writes
    /// chunks, or as much data as TCP accepts.
    pub rate_bit: Option<u64>,
    /// The chunks that the application writes. `None` if the application does not write chunks.
    pub chunks: Option<Chunks>,
    /// Start and end of each pause, in ns.
    pub pauses: Vec<[u64; 2]>,
}

/// The chunks that an application writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunks {
    /// Payload of a chunk, in bytes.
    pub bytes: u64,
    /// Number of chunks. `None` means no limit.
    pub count: Option<u64>,
    /// Time from one chunk to the next chunk, in ns, or `None` if the receiver requests each chunk.
    pub every_ns: Option<u64>,
    /// Think time: how long the receiver waits before each request, in ns. `None` if the receiver
    /// does not request chunks.
    pub think_ns: Option<u64>,
    /// Payload of a request, in bytes.
    pub request: u16,
    /// Rate of the slowest link on the route, in bit/s.
    pub rate_bit: u64,
    /// Round-trip time without queues, in ns.
    pub rtt_ns: u64,
}

/// A traffic source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Name in results.
    pub name: String,
    /// Kind of the source: its name in the registry.
    pub kind: String,
    /// All options with their values, as text in the registry's syntax.
    pub options: Vec<(String, String)>,
    /// Namespace of the sender.
    pub sender: usize,
    /// Namespace of the receiver.
    pub receiver: usize,
    /// The sender's address.
    pub sender_address: Ipv4Addr,
    /// The receiver's address.
    pub receiver_address: Ipv4Addr,
    /// Port of the receiver and of the sender.
    pub port: u16,
    /// Time at which the source starts to send, including the random offset, in ns.
    pub start_ns: u64,
    /// Time after which the source sends nothing, in ns.
    pub stop_ns: Option<u64>,
    /// Route of the source's packets: indices of links, in order.
    pub route: Vec<usize>,
    /// DSCP of the source's packets.
    #[serde(default)]
    pub dscp: u8,
    /// The TCP connections of the source. `None` if the source sends UDP datagrams.
    #[serde(default)]
    pub connections: Option<Connections>,
}

/// The TCP connections of a source. The server listens at the source's port and sends the data.
/// Each client has its own port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// The settings of all connections, stored as the settings of a flow. Only the port and the
    /// size differ between the connections.
    pub flow: Flow,
    /// Port of the first client. The other clients use the port numbers that follow this port.
    pub first_port: u16,
    /// Largest number of simultaneous clients.
    pub limit: u16,
    /// Rate of the slowest link on the route, in bit/s.
    pub rate_bit: u64,
    /// Round-trip time without queues, in ns.
    pub rtt_ns: u64,
    /// The largest size of a response, in bytes.
    pub most_bytes: u64,
}

/// An entry of `[[programs]]`: two hosts and the programs on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Name in results.
    pub name: String,
    /// The kind of program that the scenario sets. Empty if the scenario does not set the kind of
    /// the program.
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
    /// Environment variables for both programs, in addition to the variables that every program
    /// gets.
    pub env: Vec<(String, String)>,
    /// Folder in the guest in which the entry's packages are unpacked.
    pub root: String,
    /// The entry's files: their names below `/files`, and their paths in the guest.
    pub files: Vec<(String, String)>,
    /// Names of the sender's and the receiver's host, if the scenario sets these names.
    #[serde(default)]
    pub host_names: Option<[String; 2]>,
    /// Time at which the clients start, including the random offset, in ns.
    pub start_ns: u64,
    /// Time at which tailback asks the programs to end, in ns.
    pub stop_ns: Option<u64>,
    /// The exit status that is expected of a program that ends by itself.
    pub expect: i32,
    /// Constant delay between the sender's host and the first capture on the path, in ns.
    pub access_delay_ns: u64,
    /// Round-trip time without queues, including the links' delays, in ns.
    pub base_rtt_ns: u64,
    /// Route of packets from the sender's host: indices of links, in order.
    pub route: Vec<usize>,
    /// Route of packets from the receiver's host: indices of links, in order.
    pub back: Vec<usize>,
    /// DSCP of the packets of both hosts.
    pub dscp: u8,
    /// The files to download, if the programs are endpoints of the QUIC interop runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interop: Option<Interop>,
}

/// The files that a client of the QUIC interop runner downloads from the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interop {
    /// Name of each file, and its size in bytes.
    pub files: Vec<(String, u64)>,
}

/// A program that runs on one of an entry's two hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// The condition under which the program is ready, if the program is a server. Servers start
    /// before the run, and the run begins when all servers are ready. `None` for a client.
    pub ready: Option<Ready>,
    /// Folder in the guest that becomes the program's root. `None` if the root folder consists of
    /// packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The working folder, if the scenario sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment variables for this program, in addition to the variables of the entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
}

/// The condition under which a server counts as ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// A socket listens at the given TCP port of the host.
    Tcp(u16),
    /// A socket is bound to the given UDP port of the host.
    Udp(u16),
    /// The server's standard output contains the given text.
    Stdout(String),
    /// The given time (in ns) has passed since the server was started.
    After(u64),
}

impl Job {
    /// Returns the flow, source or program to which each number of a captured packet belongs. In
    /// captures, such a number identifies the flow, source or program of a packet. Flows, sources
    /// and connections of sources are numbered in the order of their ports. Programs are not
    /// numbered by port, because the addresses of their hosts identify their packets.
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
    /// Kind of the queue discipline in tc. The agent needs the kind to parse the queue discipline's
    /// statistics.
    pub kind: String,
    /// The namespace of the queue. Packets that enter the queue are captured when they arrive at
    /// any device of this namespace except [`Link::device`].
    pub namespace: usize,
    /// The device whose qdisc is the queue. Packets that leave the queue are captured as they leave
    /// this device.
    pub device: String,
    /// The link's rates in bit/s, each with the time in ns from which it applies. The first time is
    /// 0, and the times ascend.
    pub rates: Vec<(u64, u64)>,
    /// Capacity of the queue. The agent uses the capacity to distinguish drops by a full buffer
    /// from drops by the algorithm.
    pub limit: Limit,
    /// Changes of the queue's capacity: the time of each change, in ns, and the new capacity, in
    /// order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<(u64, Limit)>,
    /// Whether the algorithm drops packets as they arrive or as they leave.
    pub drops_at: DropsAt,
    /// Whether packets leave in the order of their arrival, over all flows.
    pub in_order: bool,
    /// Whether the packets of each flow leave in the order of their arrival.
    pub keeps_order: bool,
    /// Whether the queue splits packets that consist of joined segments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub splits: bool,
    /// Namespace of the wire that loses packets after the queue. The packets are lost between the
    /// devices `in` and `out` of this namespace.
    pub loss_namespace: Option<usize>,
    /// The queue discipline that loses the packets, or `None` for netem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_kind: Option<String>,
    /// Numbers of the data packets that the schedule marks, counted from 1.
    pub scheduled_marks: Vec<u64>,
    /// Numbers of the data packets that the schedule drops, counted from 1.
    pub scheduled_drops: Vec<u64>,
    /// Namespace of the schedule of marks and drops. Packets pass this namespace before they reach
    /// the namespace of the queue. The agent captures packets as they enter this namespace.
    pub schedule_namespace: Option<usize>,
    /// The classes of flows whose first link is this link.
    pub classes: Vec<ClassPlan>,
}

/// Capacity of a queue.
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
