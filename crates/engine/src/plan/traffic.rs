//! `[[flows]]` and `[[traffic]]`: the flows and traffic sources of a scenario.

use super::{Algorithm, TcpPlan};
use crate::keys;
use crate::keys::{
    ANY_TIME, BOOL, BYTES, COUNT, KeyKind, POSITIVE_TIME, Registry, entry, int, key, plain, time,
};
use crate::registry::{Kind, Options};
use crate::units::{Bytes, Rate, Time};

keys! {
    /// A TCP flow, or several equal TCP flows.
    pub struct FlowPlan as "[[flows]]" {
        /// Name of the flow in results. Default: the name of the congestion control, with a number
        /// if several flows use this congestion control (cubic, cubic-2).
        name: String => key(KeyKind::Name);
        /// The congestion control: its name, or { name = ..., options }. On the kernel engine, a
        /// key module = name in this table runs the congestion control of your own kernel module.
        /// To run a congestion control of Linux that the simulator does not have, write { name =
        /// ..., kernel = true }.
        cc: Algorithm => entry(Registry::Cc).required();
        /// A module of the guest kernel that replaces the congestion control.
        module: Option<String>;
        /// Whether ECN is negotiated. Default: true if the congestion control requires ECN.
        ecn: bool => BOOL;
        /// Number of copies of this entry. Two or more copies have the names NAME/1, NAME/2, ...
        count: u64 = COUNT.default("1");
        /// Time at which the flow connects. start_jitter adds a random delay.
        start: Time = ANY_TIME.default("0s");
        /// From this time on, the flow sends no new data.
        stop: Option<Time> = ANY_TIME;
        /// Payload to send; default: no limit.
        bytes: Option<Bytes> = BYTES;
        /// Rate at which the application writes payload, one segment at a time. Written data waits
        /// until TCP can send it. Default: the application writes as much as TCP accepts.
        rate: Option<Rate> = plain(Kind::Rate);
        /// The application writes chunks of data: at equal intervals ("every"), or one for each
        /// request of the receiver ("think"). The flow's results then include how long each chunk
        /// takes to arrive.
        chunks: Option<Box<ChunksPlan>> => key(KeyKind::Table(&ChunksPlan::TABLE));
        /// Pauses, each given by its start and end. In a pause, the application writes nothing.
        /// Times count from the start of the run, as in [["10s", "12s"]].
        pause: Vec<[Time; 2]> => key(KeyKind::Pauses);
        /// Base round-trip time; default: path.rtt.
        rtt: Time = POSITIVE_TIME;
        /// Links over which the data travels; default: the only link.
        route: Vec<u32> => key(KeyKind::Route);
        /// Links over which the ACKs travel. Default: the links of the route in reverse order, in
        /// the reverse direction (NAME.back for each link NAME).
        back: Vec<u32> => key(KeyKind::Route);
        /// With true, data travels in the reverse direction of the route, and ACKs travel in the
        /// forward direction.
        key reverse = BOOL.default("false");
        /// Names of the sending host and the receiving host. Flows that name the same host share
        /// this host. Shared hosts affect queues that distinguish hosts. Default: flows with the
        /// same round-trip time, route and stack are on the same two hosts.
        hosts: Option<[String; 2]> => key(KeyKind::Hosts);
        /// Differentiated services codepoint of all packets of the flow, including ACKs.
        dscp: u8 = int(0, 63).default("0");
        /// A name of your choice for a class of flows. The results also contain metrics of the
        /// whole class, which tailback measures at the first link of the flows' routes. All flows
        /// of a class must have the same first link. Default: no class.
        class: Option<String> => key(KeyKind::Class);
        /// Keys of [tcp] with values for this flow only.
        tcp: TcpPlan => key(KeyKind::Table(&TcpPlan::TABLE));
    }
}

keys! {
    /// Chunks that the application of a flow writes.
    pub struct ChunksPlan as "[flows.chunks]" {
        /// Payload of a chunk. Each chunk begins in a new segment.
        bytes: Bytes = BYTES.required();
        /// Number of chunks; default: no limit.
        count: Option<u64> = COUNT;
        /// Time from the start of one chunk to the start of the next, even if earlier chunks have
        /// not arrived. Set either this key or "think".
        every: Option<Time> = time(Time(100_000));
        /// Think time. When a chunk has arrived, the receiver waits this long before it requests
        /// the next chunk on the same connection. The first chunk is sent at once.
        think: Option<Time> = ANY_TIME;
        /// Payload of a request, in bytes; only with "think".
        request: u16 = int(1, 1_400).default("100");
    }
}

keys! {
    /// Traffic besides flows: unresponsive UDP, or short TCP connections. This table also contains
    /// the options of the source's kind as keys.
    pub struct TrafficPlan as "[[traffic]]" {
        /// The kind of traffic.
        kind: &'static str => key(KeyKind::Word(Registry::Traffic)).required();
        /// All options of the source's kind.
        options: Options;
        /// Name of the source in results. Default: the kind, with a number if several sources have
        /// this kind.
        name: String => key(KeyKind::Name);
        /// Number of copies of this entry. Two or more copies have the names NAME/1, NAME/2, ...
        count: u64 = COUNT.default("1");
        /// The source sends no packet or request before this time.
        start: Time = ANY_TIME.default("0s");
        /// From this time on, the source sends no packet or request.
        stop: Option<Time> = ANY_TIME;
        /// Base round-trip time, half of which passes before the first link; default: path.rtt.
        rtt: Time = POSITIVE_TIME;
        /// Links over which packets of the source travel; default: the only link.
        route: Vec<u32> => key(KeyKind::Route);
        /// With true, packets of the source travel in the reverse direction of the route.
        key reverse = BOOL.default("false");
        /// Names of the sending host and the receiving host. Flows and sources that name the same
        /// host share this host. Shared hosts affect queues that distinguish hosts. Default:
        /// sources with the same round-trip time, route and packet size are on the same two hosts.
        hosts: Option<[String; 2]> => key(KeyKind::Hosts);
        /// Differentiated services codepoint of the source's packets.
        dscp: u8 = int(0, 63).default("0");
        /// The class of the source, as for [[flows]]. A class may contain flows, traffic and
        /// programs. Default: no class.
        class: Option<String> => key(KeyKind::Class);
        /// The connections that the source opens. `None` if the source sends datagrams.
        connections: Option<Box<ConnectionsPlan>>;
        /// Links over which echoes and reports from the receiver travel. `None` if the receiver
        /// sends nothing back.
        answers: Option<Vec<u32>>;
        /// For sources that open connections: the congestion control of the servers, as for a flow.
        key cc = entry(Registry::Cc).default("cubic").of_connections();
        /// For sources that open connections: keys of [tcp] with values for these connections only.
        key tcp = key(KeyKind::Table(&TcpPlan::TABLE)).of_connections();
        /// For sources that open connections: links over which requests and ACKs travel. For ping
        /// and video: links over which echoes and reports travel. Default: the links of the route
        /// in reverse order, in the reverse direction (NAME.back for each link NAME).
        key back = key(KeyKind::Route).of_connections();
    }
}

keys! {
    /// The TCP connections of a source.
    pub struct ConnectionsPlan as "connections" {
        /// Congestion control of the servers, which send the data.
        cc: Algorithm;
        /// A module of the guest kernel that replaces the congestion control.
        module: Option<String>;
        /// Whether ECN is negotiated.
        ecn: bool;
        /// Links over which requests and ACKs travel.
        back: Vec<u32>;
        /// Settings of the TCP stack at both ends.
        tcp: TcpPlan;
        /// Largest number of connections that may be open at the same time.
        limit: u32;
    }
}

impl TrafficPlan {
    /// Returns the links over which packets of the receiver travel, or `None` if the receiver sends
    /// no packets.
    pub fn back(&self) -> Option<&[u32]> {
        match &self.connections {
            Some(connections) => Some(&connections.back),
            None => self.answers.as_deref(),
        }
    }
}
