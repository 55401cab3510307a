//! The options that RED and WRED share.

use crate::registry::{Kind, Opt};

const SIZE: Kind = Kind::Size {
    packets: true,
    bytes: true,
};

/// The option for the limit of the queue.
pub const LIMIT: Opt = Opt {
    name: "limit",
    doc: "Largest length of the queue, in bytes or packets; packets that arrive at a full queue \
        are dropped. tc has no default: this value is from the example of tc-red(8).",
    kind: SIZE,
    default: Some("400000b"),
    tc: Some("limit BYTES"),
};

/// The option for the lower threshold of the average.
pub const MIN: Opt = Opt {
    name: "min",
    doc: "Average queue length above which packets are marked or dropped, in bytes or packets. Default: max/3. The average is computed in the unit of min and max.",
    kind: SIZE,
    default: None,
    tc: Some("min BYTES"),
};

/// The option for the upper threshold of the average.
pub const MAX: Opt = Opt {
    name: "max",
    doc: "Average queue length at which the probability reaches `probability`, in the unit of min. If the average is at least max, every packet is marked or dropped (unless `gentle` is set). Default: 3 x min, or limit/4 if min is not set. If max equals min, the curve is a step.",
    kind: SIZE,
    default: None,
    tc: Some("max BYTES"),
};

/// The option for the probability at the upper threshold.
pub const PROBABILITY: Opt = Opt {
    name: "probability",
    doc: "Probability of a mark or drop when the average reaches max. The option `uniformise` sets how the marks or drops are spaced.",
    kind: Kind::Float { min: 0.0, max: 1.0 },
    default: Some("0.02"),
    tc: None,
};

/// The option for the weight of the current queue length in the average.
pub const WEIGHT: Opt = Opt {
    name: "weight",
    doc: "Weight of a sample in the average. With a weight of 1, the average is the instantaneous queue length. In tc, the weight is a power of two that follows from min, burst and avpkt.",
    kind: Kind::Float {
        min: 1e-9,
        max: 1.0,
    },
    default: Some("0.002"),
    tc: Some("burst PACKETS, from which tc derives Wlog"),
};

/// The option with which the probability rises gradually above the upper threshold.
pub const GENTLE: Opt = Opt {
    name: "gentle",
    doc: "Whether the probability rises linearly to 1 while the average rises from max to 2 max. If false, the probability jumps to 1 when the average reaches max.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};

/// The option that determines how marks and drops are spread over packets.
pub const UNIFORMISE: Opt = Opt {
    name: "uniformise",
    doc: "Distribution of the gaps between marks or drops, in packets, while the average is constant and the probability is pb. \"linux\": uniform from 1 to 1/pb. \"wait\": uniform from 1/pb to 2/pb, as with ns-2's option wait. With \"wait\", the probability depends on count, the number of packets since the last mark or drop. It is 0 while count x pb < 1, and later pb/(2 - count x pb). \"none\": geometric with mean 1/pb.",
    kind: Kind::Word(&["linux", "wait", "none"]),
    default: Some("linux"),
    tc: None,
};

/// The option that determines whether the average decays while the queue is empty.
pub const IDLE: Opt = Opt {
    name: "idle",
    doc: "What happens to the average while the queue is empty. \"decay\": after the queue was empty for a time t, the average is multiplied by (1 - weight)^m, where m = t bandwidth/avpkt. \"hold\": the average does not change.",
    kind: Kind::Word(&["decay", "hold"]),
    default: Some("decay"),
    tc: None,
};

/// The option for the packet size that converts idle time to a number of packets.
pub const AVPKT: Opt = Opt {
    name: "avpkt",
    doc: "Packet size avpkt, in bytes, in the formula of `idle`. tc has no default: this is the \
     value that tc-red(8) recommends.",
    kind: Kind::Size {
        packets: false,
        bytes: true,
    },
    default: Some("1000b"),
    tc: Some("avpkt BYTES"),
};

/// The option for the rate that converts idle time to a number of packets.
pub const BANDWIDTH: Opt = Opt {
    name: "bandwidth",
    doc: "Link rate in the formula of `idle`. Default: the link's nominal rate (in tc: 10Mbit).",
    kind: Kind::Rate,
    default: None,
    tc: Some("bandwidth RATE"),
};

/// The option that determines whether the queue length that updates the average includes the
/// arriving packet.
pub const INCLUDE_ARRIVING: Opt = Opt {
    name: "include_arriving",
    doc: "Whether the queue length that updates the average includes the arriving packet. In \
     Linux, the length does not include the arriving packet.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};
