//! The keys of a scenario file: one table for each TOML table. Validation,
//! defaults, the JSON Schema and the suggestions for unknown keys all come
//! from here; queue disciplines, congestion controls and traffic sources add
//! their options through the engine's registries.

use tailback_engine::registry::{Entry, Kind, Opt, OptionError, Options};
use tailback_engine::units::Time;
use tailback_engine::{aqm, cc, traffic};

/// One key.
pub(crate) struct Key {
    pub name: &'static str,
    pub kind: KeyKind,
    /// Meaning and unit.
    pub doc: &'static str,
    /// Default, written as in a file; `None`: see `doc`.
    pub default: Option<&'static str>,
    pub required: bool,
    /// Release that brought it.
    pub since: &'static str,
}

/// The type of a key.
#[derive(Clone, Copy)]
pub(crate) enum KeyKind {
    /// A value like an option's.
    Plain(Kind),
    /// Any text.
    Text,
    /// The name of a link, flow or source.
    Name,
    /// The name of a class of flows.
    Class,
    /// A constant rate, steps or a trace.
    Rate,
    /// An entry of a registry: its name, or a table with its name and options.
    Entry(Registry),
    /// The name of an entry, whose options stand beside it.
    Word(Registry),
    /// Names of links in order.
    Route,
    /// Packet numbers to mark and to drop.
    Schedule,
    /// Names of two hosts.
    Hosts,
    /// How series are taken.
    Series,
    /// A table.
    Table(&'static TableDef),
    /// A table of tables with names of one's own.
    Map(&'static TableDef),
    /// An array of tables.
    List(&'static TableDef),
    /// The sweep: its keys are paths.
    Sweep,
}

/// A table and its keys.
pub(crate) struct TableDef {
    /// As it is written: `[bottleneck]`.
    pub label: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
    /// Options of an entry of this registry stand among the keys.
    pub flat: Option<Registry>,
}

impl TableDef {
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A registry of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registry {
    Aqm,
    Cc,
    Traffic,
}

/// An entry of a registry without its constructor.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub name: &'static str,
    pub doc: &'static str,
    pub options: &'static [Opt],
    /// Whether Linux has it or can play it.
    pub in_kernel: bool,
    pub finish: fn(&mut Options) -> Result<(), Vec<OptionError>>,
}

fn views<B>(entries: &[&'static Entry<B>]) -> Vec<View> {
    entries
        .iter()
        .map(|entry| View {
            name: entry.name,
            doc: entry.doc,
            options: entry.options,
            in_kernel: entry.kernel.has(),
            finish: entry.finish,
        })
        .collect()
}

impl Registry {
    pub fn entries(self) -> Vec<View> {
        match self {
            Registry::Aqm => views(aqm::ENTRIES),
            Registry::Cc => views(cc::ENTRIES),
            Registry::Traffic => views(traffic::ENTRIES),
        }
    }

    /// What an entry is.
    pub fn noun(self) -> &'static str {
        match self {
            Registry::Aqm => "queue discipline",
            Registry::Cc => "congestion control",
            Registry::Traffic => "kind of traffic",
        }
    }

    /// The key that names the entry in its table.
    pub fn name_key(self) -> &'static str {
        match self {
            Registry::Aqm => "aqm",
            Registry::Cc => "name",
            Registry::Traffic => "kind",
        }
    }
}

const fn key(name: &'static str, kind: KeyKind, default: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        doc,
        default: Some(default),
        required: false,
        since: "0.1",
    }
}

/// A key of release 0.2.
const fn new_key(
    name: &'static str,
    kind: KeyKind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key {
        since: "0.2",
        ..key(name, kind, default, doc)
    }
}

/// A key whose absence means something of its own.
const fn optional(name: &'static str, kind: KeyKind, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        doc,
        default: None,
        required: false,
        since: "0.1",
    }
}

const fn required(name: &'static str, kind: KeyKind, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        doc,
        default: None,
        required: true,
        since: "0.1",
    }
}

const BOOL: KeyKind = KeyKind::Plain(Kind::Bool);
const ANY_TIME: KeyKind = KeyKind::Plain(Kind::Time { min: Time::ZERO });
/// 1 us: the finest time that a real host's timers resolve.
const POSITIVE_TIME: KeyKind = KeyKind::Plain(Kind::Time { min: Time(1_000) });
const BYTES: KeyKind = KeyKind::Plain(Kind::Size {
    packets: false,
    bytes: true,
});
const COUNT: KeyKind = KeyKind::Plain(Kind::Int {
    min: 1,
    max: i64::MAX,
});
const NUMBER: KeyKind = KeyKind::Plain(Kind::Float {
    min: f64::MIN,
    max: f64::MAX,
});

const fn int(min: i64, max: i64) -> KeyKind {
    KeyKind::Plain(Kind::Int { min, max })
}

const fn word(words: &'static [&'static str]) -> KeyKind {
    KeyKind::Plain(Kind::Word(words))
}

pub(crate) static ROOT: TableDef = TableDef {
    label: "the scenario",
    doc: "A scenario of tailback, version 1.",
    flat: None,
    keys: &[
        key(
            "title",
            KeyKind::Text,
            "",
            "What the scenario is about; not part of a run's identity.",
        ),
        required("duration", POSITIVE_TIME, "Length of the run."),
        key(
            "warmup",
            ANY_TIME,
            "0s",
            "Nothing before this time is counted.",
        ),
        key(
            "seed",
            int(0, i64::MAX),
            "1",
            "Seed of every random stream; a sweep's seeds count up from it.",
        ),
        optional(
            "start_jitter",
            ANY_TIME,
            "Each flow's start is delayed by a uniform draw from 0 to this; default: path.rtt.",
        ),
        key(
            "host_jitter",
            ANY_TIME,
            "0s",
            "Order-preserving delay that each host adds to a packet, uniform from 0 to this; below one packet time at the slowest link.",
        ),
        optional(
            "bottleneck",
            KeyKind::Table(&LINK),
            "The only link, named \"bottleneck\": short for one [links.NAME].",
        ),
        optional(
            "links",
            KeyKind::Map(&LINK),
            "Links by name, in place of [bottleneck].",
        ),
        optional("path", KeyKind::Table(&PATH), "The path outside the links."),
        optional("tcp", KeyKind::Table(&TCP), "The TCP stack of all flows."),
        optional("record", KeyKind::Table(&RECORD), "What is recorded."),
        optional("flows", KeyKind::List(&FLOW), "TCP flows."),
        optional(
            "traffic",
            KeyKind::List(&TRAFFIC),
            "Traffic besides flows: unresponsive UDP, or short TCP connections.",
        ),
        optional(
            "sweep",
            KeyKind::Sweep,
            "A grid: lists of values by path, the last key fastest, then seeds; [[sweep.zip]] has lists of equal length that advance together.",
        ),
        optional(
            "assert",
            KeyKind::List(&ASSERT),
            "What must hold, or the run fails.",
        ),
    ],
};

pub(crate) static LINK: TableDef = TableDef {
    label: "a link",
    doc: "A link and the queue before it.",
    flat: None,
    keys: &[
        required(
            "rate",
            KeyKind::Rate,
            "Rate in frame bytes (IP + 14 B Ethernet): a constant, { steps = [[time, rate], ...] } or { trace = \"file\" } (Mahimahi).",
        ),
        key(
            "queue",
            KeyKind::Entry(Registry::Aqm),
            "fifo",
            "The queue discipline: its name, or { aqm = name, options }. With the kernel engine also module = name, a module of the kit in its place, and { aqm = name, kernel = true, args = \"tc words\" } for one that only the kernel has.",
        ),
        key(
            "link",
            word(&["shaper", "wire"]),
            "shaper",
            "\"shaper\": a packet leaves at the start of its slot, the next after len/rate (htb, Cake); \"wire\": at the end.",
        ),
        key(
            "both_directions",
            BOOL,
            "false",
            "Puts an independent instance of the link on the way back, reported as NAME.back.",
        ),
        key("delay", ANY_TIME, "0s", "One-way delay behind the link."),
        key(
            "jitter",
            ANY_TIME,
            "0s",
            "Order-preserving addition to the delay, uniform from 0 to this.",
        ),
        key(
            "loss",
            KeyKind::Plain(Kind::Float { min: 0.0, max: 1.0 }),
            "0",
            "Probability that a packet is lost behind the queue.",
        ),
        key(
            "overhead",
            int(-256, 256),
            "0",
            "Bytes added to each frame when the rate is applied.",
        ),
        key(
            "count_in_service",
            BOOL,
            "false",
            "Whether the packet in transmission counts as backlog.",
        ),
        Key {
            since: "0.2",
            ..optional(
                "schedule",
                KeyKind::Schedule,
                "{ marks = [100, 200], drops = [300] }: the packets with these numbers are CE-marked (dropped if they are not ECN-capable) or dropped before the queue sees them; TCP segments with payload count, from 1, as they arrive at the link, over all flows, retransmissions included.",
            )
        },
    ],
};

pub(crate) static PATH: TableDef = TableDef {
    label: "[path]",
    doc: "The path outside the links.",
    flat: None,
    keys: &[
        key(
            "rtt",
            POSITIVE_TIME,
            "20ms",
            "Total base round-trip time: half before the first link, half after the receiver.",
        ),
        new_key(
            "offloads",
            BOOL,
            "false",
            "Whether hosts leave segmentation to their interfaces (TSO, GSO, GRO), kernel engine only: the simulator sends every segment as a packet.",
        ),
    ],
};

pub(crate) static TCP: TableDef = TableDef {
    label: "[tcp]",
    doc: "The TCP stack.",
    flat: None,
    keys: &[
        key(
            "mss",
            int(64, 65_000),
            "1448",
            "Payload of a full segment, bytes.",
        ),
        key(
            "header",
            int(0, 512),
            "66",
            "Bytes of a frame besides payload: Ethernet 14, IP 20, TCP 32 with timestamps.",
        ),
        key(
            "initial_cwnd",
            int(1, 100_000),
            "10",
            "Initial window, segments (RFC 6928).",
        ),
        key(
            "min_rto",
            KeyKind::Plain(Kind::Time {
                min: Time::from_ms(1),
            }),
            "200ms",
            "Floor of the retransmission timeout.",
        ),
        key(
            "delack",
            BOOL,
            "true",
            "Whether ACKs are delayed (two segments or a timer).",
        ),
        key(
            "timestamps",
            BOOL,
            "true",
            "Whether the timestamp option is in use.",
        ),
        key("rwnd", BYTES, "32mb", "Receive window."),
        key(
            "pacing",
            word(&["auto", "off", "fq"]),
            "auto",
            "\"auto\": if the congestion control asks for it; \"fq\": as the fq qdisc paces.",
        ),
        key(
            "growth",
            word(&["segments", "acks"]),
            "segments",
            "What window growth counts: acknowledged segments, or ACKs as Linux 3.2 did.",
        ),
        key(
            "quickack",
            BOOL,
            "true",
            "Whether the receiver acknowledges every segment at the start.",
        ),
        new_key(
            "initial_ssthresh",
            int(0, 1_000_000),
            "0",
            "Segments at which the first slow start ends, as Linux before 5.6 remembered it of the last connection to the same host; 0: at the first congestion.",
        ),
        new_key(
            "rcvbuf",
            word(&["fixed", "auto"]),
            "fixed",
            "The receiver's buffer: as large as rwnd asks for from the start (\"fixed\"), or tuned by Linux to what is read in a round-trip time (\"auto\"). While its window grows the receiver acknowledges every segment; the window itself stays rwnd.",
        ),
        new_key(
            "sce_receiver",
            word(&["auto", "off", "split", "split-delayed", "dither"]),
            "auto",
            "How the receiver tells the sender of SCE marks (ECT(1) where ECT(0) was sent): by an ACK of its own for what came before a change and one at once for what brought it (\"split\"; \"split-delayed\": the latter is delayed, as in some versions of the SCE kernels), by setting ESCE on as many segments' ACKs as were marked (\"dither\"), or not at all; \"auto\": \"split\" if the congestion control is one of SCE, else \"off\".",
        ),
        new_key(
            "ecn_feedback",
            word(&["auto", "accecn", "rfc3168", "none"]),
            "auto",
            "How the receiver tells the sender of CE: by Accurate ECN (\"accecn\", RFC 9768), as RFC 3168 has it, or not at all, being without ECN (\"none\"); \"auto\": what the congestion control asks for, Accurate ECN for prague, an echo of each packet for DCTCP, else RFC 3168. What needs Accurate ECN and does not find it does without ECN.",
        ),
        new_key(
            "accecn_option",
            word(&["off", "minimum", "full"]),
            "full",
            "When the receiver sends the option of Accurate ECN, 4 to 12 bytes: never, after CE and three times in a round trip, or on every ACK: Linux tcp_ecn_option 0, 1 and 2.",
        ),
        new_key(
            "pacing_ss_ratio",
            int(1, 1_000),
            "200",
            "Pacing rate in slow start (below half of ssthresh), percent of cwnd/srtt: Linux tcp_pacing_ss_ratio.",
        ),
        new_key(
            "pacing_ca_ratio",
            int(1, 1_000),
            "120",
            "The same afterwards: Linux tcp_pacing_ca_ratio.",
        ),
    ],
};

pub(crate) static RECORD: TableDef = TableDef {
    label: "[record]",
    doc: "What is recorded.",
    flat: None,
    keys: &[
        key("interval", POSITIVE_TIME, "100ms", "Distance of samples."),
        key(
            "series",
            KeyKind::Series,
            "interval",
            "\"interval\" (or true): a sample every interval; \"changes\": the congestion window at every change too; \"acks\": window, ssthresh, packets in flight, congestion state and acknowledged bytes after every ACK; \"off\" (or false).",
        ),
        key(
            "events",
            BOOL,
            "false",
            "Whether every drop and mark becomes a row.",
        ),
        key(
            "packets",
            BOOL,
            "false",
            "Whether every packet is recorded, for a capture file.",
        ),
        new_key(
            "captures",
            BOOL,
            "true",
            "Whether the kernel engine captures packets at all, from which it takes the delay of each packet, and drops and marks by flow; without effect in the simulator.",
        ),
        new_key(
            "statistics",
            ANY_TIME,
            "0s",
            "Distance of the samples, from the warm-up on, that statistics of classes are taken of (rate, window, utilisation, marks and drops), and of the utilisation of each link; from 1ms to the measured time, \"0s\": none.",
        ),
    ],
};

pub(crate) static FLOW: TableDef = TableDef {
    label: "[[flows]]",
    doc: "A TCP flow, or several of a kind.",
    flat: None,
    keys: &[
        optional(
            "name",
            KeyKind::Name,
            "Name in results; default: the congestion control's name, made unique (cubic, cubic-2).",
        ),
        required(
            "cc",
            KeyKind::Entry(Registry::Cc),
            "The congestion control: its name, or { name = ..., options }. With the kernel engine also module = name, a module of the kit in its place, and { name = ..., kernel = true } for one that only the kernel has.",
        ),
        optional(
            "ecn",
            BOOL,
            "Whether ECN is negotiated; default: true where the congestion control requires it.",
        ),
        key(
            "count",
            COUNT,
            "1",
            "How many; several are named NAME/1, NAME/2, ...",
        ),
        key(
            "start",
            ANY_TIME,
            "0s",
            "Connect time, before the start offset.",
        ),
        optional("stop", ANY_TIME, "No new data from then on."),
        optional("bytes", BYTES, "Payload to send; default: without end."),
        optional(
            "rtt",
            POSITIVE_TIME,
            "Base round-trip time; default: path.rtt.",
        ),
        optional(
            "route",
            KeyKind::Route,
            "Links the data passes; default: the only link.",
        ),
        optional(
            "back",
            KeyKind::Route,
            "Links the ACKs pass; default: the NAME.back of the route's links, in reverse order.",
        ),
        key(
            "reverse",
            BOOL,
            "false",
            "Data takes the way back, ACKs the way there.",
        ),
        Key {
            since: "0.2",
            ..optional(
                "hosts",
                KeyKind::Hosts,
                "Names of the sender's and the receiver's host of the data: flows with a name in common share that host, for queues that keep hosts apart; default: flows with the same round-trip time, way and stack are on the same two hosts.",
            )
        },
        new_key(
            "dscp",
            int(0, 63),
            "0",
            "Differentiated services codepoint of all its packets, ACKs included.",
        ),
        Key {
            since: "0.2",
            ..optional(
                "class",
                KeyKind::Class,
                "A class of flows, by a name of one's own: its members are also counted together, at the first link of their route, which is the same for all; default: none.",
            )
        },
        optional(
            "tcp",
            KeyKind::Table(&TCP),
            "Single keys of [tcp] for this flow.",
        ),
    ],
};

pub(crate) static TRAFFIC: TableDef = TableDef {
    label: "[[traffic]]",
    doc: "Traffic besides flows: unresponsive UDP, or short TCP connections; the options of its kind stand beside these keys.",
    flat: Some(Registry::Traffic),
    keys: &[
        required(
            "kind",
            KeyKind::Word(Registry::Traffic),
            "What kind of traffic.",
        ),
        optional(
            "name",
            KeyKind::Name,
            "Name in results; default: the kind, made unique.",
        ),
        key(
            "count",
            COUNT,
            "1",
            "How many; several are named NAME/1, NAME/2, ...",
        ),
        key(
            "start",
            ANY_TIME,
            "0s",
            "First packet (of web: request) not before.",
        ),
        optional(
            "stop",
            ANY_TIME,
            "No packet (of web: no request) from then on.",
        ),
        optional(
            "rtt",
            POSITIVE_TIME,
            "Base round-trip time, half of it before the first link; default: path.rtt.",
        ),
        optional(
            "route",
            KeyKind::Route,
            "Links its packets pass; default: the only link.",
        ),
        key(
            "reverse",
            BOOL,
            "false",
            "Its packets take the way back of the route.",
        ),
        Key {
            since: "0.2",
            ..optional(
                "hosts",
                KeyKind::Hosts,
                "Names of the sender's and the receiver's host of its packets: flows and sources with a name in common share that host, for queues that keep hosts apart; default: sources with the same round-trip time, way and packet size are on the same two hosts.",
            )
        },
        new_key(
            "dscp",
            int(0, 63),
            "0",
            "Differentiated services codepoint of its packets.",
        ),
        Key {
            since: "0.2",
            ..optional(
                "class",
                KeyKind::Class,
                "A class of flows and sources, as of [[flows]]; default: none.",
            )
        },
        Key {
            since: "0.2",
            ..optional(
                "cc",
                KeyKind::Entry(Registry::Cc),
                "Of web: the congestion control of its servers, as of a flow; default: cubic.",
            )
        },
        Key {
            since: "0.2",
            ..optional(
                "tcp",
                KeyKind::Table(&TCP),
                "Of web: single keys of [tcp] for its connections.",
            )
        },
        Key {
            since: "0.2",
            ..optional(
                "back",
                KeyKind::Route,
                "Of web: links that its requests and ACKs pass; default: the NAME.back of the route's links, in reverse order.",
            )
        },
    ],
};

/// Keys of [`TRAFFIC`] that only sources of TCP connections have.
pub(crate) const OF_CONNECTIONS: [&str; 3] = ["cc", "tcp", "back"];

pub(crate) static ASSERT: TableDef = TableDef {
    label: "[[assert]]",
    doc: "What must hold at every point and seed.",
    flat: None,
    keys: &[
        required("metric", KeyKind::Text, "What is measured."),
        optional(
            "flow",
            KeyKind::Text,
            "The flow, or the name of several (\"cubic\" for cubic/1, cubic/2); default: every flow.",
        ),
        optional("link", KeyKind::Text, "The link; default: the first."),
        optional("min", NUMBER, "Smallest value that holds."),
        optional("max", NUMBER, "Largest value that holds."),
    ],
};

/// What a metric is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A flow.
    Flow,
    /// A link and its queue.
    Link,
    /// Either.
    FlowOrLink,
    /// The whole run.
    Run,
}

/// Throughput over that with the standard backoff: a metric of several points.
pub(crate) const GAIN: &str = "throughput_gain";

/// The metrics an assertion may name, with what they are measured on: the
/// fields of the summary, inner ones with a dot.
pub const METRICS: &[(&str, Scope)] = &[
    ("throughput_mbit", Scope::Flow),
    (GAIN, Scope::Flow),
    ("rtt_ms.mean", Scope::Flow),
    ("rtt_ms.p50", Scope::Flow),
    ("rtt_ms.p99", Scope::Flow),
    ("srtt_ms_mean", Scope::Flow),
    ("retransmits", Scope::Flow),
    ("timeouts", Scope::Flow),
    ("completion_s", Scope::Flow),
    ("drops", Scope::FlowOrLink),
    ("marks", Scope::FlowOrLink),
    ("sce_marks", Scope::FlowOrLink),
    ("delay_ms.mean", Scope::Link),
    ("delay_ms.p1", Scope::Link),
    ("delay_ms.p25", Scope::Link),
    ("delay_ms.p50", Scope::Link),
    ("delay_ms.p75", Scope::Link),
    ("delay_ms.p99", Scope::Link),
    ("delay_ms.max", Scope::Link),
    ("packets", Scope::Link),
    ("utilisation", Scope::Link),
    ("occupancy_bytes_mean", Scope::Link),
    ("jain", Scope::Run),
    ("throughput_ratio", Scope::Run),
];
