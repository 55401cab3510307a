//! `[tcp]`: options of the TCP stack.

use crate::keys::Takes::{AtMost, Only};
use crate::keys::{AsPart, BOOL, BYTES, Part, Plain, int, plain, time};
use crate::registry::{Kind, Value};
use crate::units::{Bytes, Time};
use crate::{keys, words};

words! {
    /// Whether the window grows by acknowledged segments or by ACKs.
    pub enum Growth {
        /// By acknowledged segments (Linux since about 3.15).
        #[default]
        Segments = "segments",
        /// By ACKs. A window equal to ssthresh is still in slow start (Linux 3.2).
        Acks = "acks",
    }
}

words! {
    /// Whether and how packets are paced.
    pub enum Pacing {
        /// Packets are paced only if the congestion control needs it.
        #[default]
        Auto = "auto",
        /// Never.
        Off = "off",
        /// Each segment is paced at Linux's pacing rate, as by the fq qdisc.
        Fq = "fq",
        /// Bursts are paced, as by the fq qdisc if TCP joins segments (GSO). A burst has the
        /// segments that the pacing rate sends in a millisecond, at least two.
        FqGso = "fq-gso",
        /// Bursts are paced if the congestion control needs it: TCP joins segments and paces them
        /// itself, and the interface separates them (GSO).
        Gso = "gso",
    }
}

words! {
    /// How a receiver reports SCE marks with the ESCE bit of its ACKs.
    pub enum SceReceiver {
        /// `Split` if the sender's congestion control supports SCE, otherwise `Off`.
        #[default]
        Auto = "auto",
        /// The receiver does not report marks. It treats ECT(1) as ECT(0).
        Off = "off",
        /// When marks begin or end, one ACK acknowledges the delayed segments. Another ACK follows
        /// at once. It acknowledges the segment whose mark differs from the mark of the previous
        /// segment.
        Split = "split",
        /// As `Split`, but the second ACK is delayed as usual.
        SplitDelayed = "split-delayed",
        /// ACKs are sent as usual. The receiver sets ESCE so that ACKs with ESCE cover as many
        /// segments as were marked.
        Dither = "dither",
    }
}

words! {
    /// How the receiver of a flow with ECN reports CE to the sender.
    pub enum EcnFeedback {
        /// As the congestion control requires: by Accurate ECN, by an echo of each packet (DCTCP),
        /// or as in RFC 3168.
        #[default]
        Auto = "auto",
        /// By Accurate ECN (RFC 9768), for every congestion control.
        AccEcn = "accecn",
        /// As in RFC 3168, because the receiver supports nothing else.
        Rfc3168 = "rfc3168",
        /// The receiver does not report CE, because it does not support ECN.
        None = "none",
    }
}

words! {
    /// When a receiver with Accurate ECN sends its option (Linux `tcp_ecn_option`).
    pub enum AccEcnOption {
        /// The receiver never sends the option.
        Off = "off",
        /// After CE and changes of the ECN field, and three times per round trip.
        Minimum = "minimum",
        /// On every ACK with enough space, until ACKs with the option seem to get lost.
        #[default]
        Full = "full",
        /// On every ACK with enough space, even if ACKs with the option seem to get lost.
        Persist = "persist",
    }
}

words! {
    /// How a receiver reports what has arrived: honestly, or with one of several faults.
    pub enum Conduct {
        /// The receiver reports what has arrived.
        #[default]
        Honest = "honest",
        /// The receiver negotiates ECN but never reports CE.
        HidesCe = "hides-ce",
        /// The receiver acknowledges each segment in eight parts, with one ACK for each part.
        DividesAcks = "divides-acks",
        /// The receiver acknowledges segments that have not arrived, up to the highest segment that
        /// has arrived.
        Optimistic = "optimistic",
    }
}

words! {
    /// How large the receiver's buffer is.
    pub enum ReceiveBuffer {
        /// The buffer is large enough for the receive window from the start.
        #[default]
        Fixed = "fixed",
        /// Linux tunes the buffer, which begins with 128 KiB, to the bytes that the application
        /// reads in a round-trip time.
        Auto = "auto",
    }
}

/// Number of segments that one delayed ACK covers, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delack(u8);

impl Delack {
    /// The receiver sends one ACK for each segment.
    pub const OFF: Delack = Delack(1);
    /// The receiver sends one ACK for two segments (RFC 9293 section 3.8.6.3), as Linux does.
    pub const ON: Delack = Delack(2);

    /// Returns the number of segments that one ACK covers.
    pub const fn segments(self) -> u8 {
        self.0
    }

    /// Returns whether an ACK may wait for another segment.
    pub const fn delays(self) -> bool {
        self.0 > 1
    }
}

impl Default for Delack {
    fn default() -> Delack {
        Delack::ON
    }
}

impl Plain for Delack {
    fn of(value: Value) -> Option<Delack> {
        match value {
            Value::Bool(true) => Some(Delack::ON),
            Value::Bool(false) => Some(Delack::OFF),
            Value::Int(segments) => u8::try_from(segments).ok().map(Delack),
            _ => None,
        }
    }

    fn value(&self) -> Option<Value> {
        Some(match *self {
            Delack::ON => Value::Bool(true),
            Delack::OFF => Value::Bool(false),
            Delack(segments) => Value::Int(segments.into()),
        })
    }
}

impl AsPart for Delack {
    fn part(&self) -> Part<'_> {
        self.value().map_or(Part::Null, Part::Value)
    }
}

keys! {
    /// The TCP stack.
    pub struct TcpPlan as "[tcp]" {
        /// Payload of a full segment, bytes.
        mss: u16 = int(64, 65_000).default("1448");
        /// Bytes of headers in a frame: Ethernet 14, IP 20, TCP 32 with timestamps.
        header: u16 = int(0, 512).default("66");
        /// Initial window, segments (RFC 6928).
        initial_cwnd: u32 = int(1, 100_000).default("10");
        /// Lower limit of the retransmission timeout.
        min_rto: Time = time(Time::from_ms(1)).default("200ms");
        /// Number of segments that one delayed ACK covers, unless the timer for delayed ACKs fires
        /// first. With true, it covers two segments, as in Linux. With false, it covers one
        /// segment. With a larger number, the receiver sends stretch ACKs.
        delack: Delack = plain(Kind::BoolOrInt { min: 1, max: 64 }).default("true")
            .kernel(Only(&["true", "false"]), "Linux acknowledges every second segment at least");
        /// Whether TCP's timestamp option is in use.
        // Without timestamps, retransmitted data gives no RTT samples, and spurious retransmissions
        // are not detected. The option's bytes on the wire are part of `header`.
        timestamps: bool = BOOL.default("true");
        /// The largest window that the receiver offers, on either engine.
        rwnd: Bytes = BYTES.default("32mb").kernel(AtMost("1gb"), "longer than a TCP window");
        /// Whether and how packets are paced. "auto": only if the congestion control requests it.
        /// "off": never. "fq": each segment, as the fq qdisc does. "fq-gso": groups of at least two
        /// segments, as the fq qdisc does if TCP joins segments (GSO). "gso": such groups, but only
        /// if the congestion control requests pacing. Each segment is a packet in every case.
        pacing: Pacing = Pacing::KEY.default("auto")
            .kernel(Only(&["auto", "off", "fq", "gso"]), "the guest joins segments with path.offloads");
        /// Whether the window grows by the number of acknowledged segments, or by the number of
        /// ACKs as in Linux 3.2. The kernel engine supports "acks" for reno, and for dctcp with an
        /// option `version` other than "linux-7.3".
        growth: Growth = Growth::KEY.default("segments");
        /// Whether the receiver acknowledges every segment at the start of a connection.
        quickack: bool = BOOL.default("true");
        /// Initial ssthresh, segments: the window at which the first slow start ends. Linux before
        /// 5.6 took this value from the last connection to the same host. With 0, slow start ends
        /// only at a loss or mark.
        initial_ssthresh: u32 = int(0, 1_000_000).default("0")
            .kernel(Only(&["0"]), "Linux no longer begins with an ssthresh that it remembers");
        /// Whether a host remembers the RTT and the degree of reordering of a destination for later
        /// connections, as Linux does (tcp_no_metrics_save = 0).
        metrics_save: bool = BOOL.default("false");
        /// With metrics_save: whether the host also remembers ssthresh, as Linux did before 5.6
        /// (tcp_no_ssthresh_metrics_save = 0).
        ssthresh_metrics_save: bool = BOOL.default("false");
        /// Size of the receiver's buffer. "fixed": large enough for rwnd from the start. "auto": as
        /// in Linux, the buffer grows with the bytes that the application reads in a round-trip
        /// time. While the buffer grows, the receiver acknowledges every segment. With either
        /// value, the receiver always offers a window of rwnd.
        rcvbuf: ReceiveBuffer = ReceiveBuffer::KEY.default("fixed")
            .kernel(Only(&["fixed"]), "the guest's receive buffers have a size that is set");
        /// How the receiver reports SCE marks to the sender (ECT(1) where ECT(0) was sent).
        /// "split": when marks begin or end, the receiver sends two ACKs at once: one for the
        /// earlier segments, and one for the segment with the change. "split-delayed": like
        /// "split", but the second ACK is delayed, as in some versions of the SCE kernels.
        /// "dither": the receiver sets ESCE on so many ACKs that they cover as many segments as
        /// were marked. "off": the receiver does not report marks. "auto": "split" if the
        /// congestion control supports SCE, else "off".
        sce_receiver: SceReceiver = SceReceiver::KEY.default("auto")
            .kernel(Only(&["auto", "off"]), "Linux does not know of SCE");
        /// How the receiver reports CE to the sender. "accecn": by Accurate ECN (RFC 9768).
        /// "rfc3168": as in RFC 3168. "none": the receiver does not report CE, like a receiver
        /// without ECN. "auto": as the congestion control requires, which is Accurate ECN for
        /// prague, an echo of each packet for DCTCP, and RFC 3168 for all others. If a congestion
        /// control needs Accurate ECN and the receiver does not support it, the flow runs without
        /// ECN.
        ecn_feedback: EcnFeedback = EcnFeedback::KEY.default("auto");
        /// When the receiver sends the TCP option of Accurate ECN (4 to 12 bytes). "off": never.
        /// "minimum": after CE and three times per round trip. "full": on every ACK, until ACKs
        /// with the option seem to get lost. "persist": on every ACK. These are the values 0 to 3
        /// of Linux's tcp_ecn_option.
        accecn_option: AccEcnOption = AccEcnOption::KEY.default("full");
        /// Whether the receiver reports correctly what arrives. A false report may be a bug, or an
        /// attempt to get a higher rate. "honest": it reports correctly. "hides-ce": it negotiates
        /// ECN and never reports CE. "divides-acks": it acknowledges a segment in eight parts.
        /// "optimistic": it acknowledges missing segments as soon as a later one arrives, so that
        /// the sender sees no loss; the lost data never arrives.
        receiver: Conduct = Conduct::KEY.default("honest").since("0.2")
            .kernel(Only(&["honest"]), "receivers of Linux are honest");
        /// Pacing rate in slow start (while cwnd is below half of ssthresh), percent of cwnd/srtt:
        /// Linux tcp_pacing_ss_ratio.
        pacing_ss_ratio: u32 = int(1, 1_000).default("200")
            .kernel(Only(&["200"]), "the guest's hosts keep Linux's pacing ratios");
        /// Pacing rate while cwnd is at least half of ssthresh, percent of cwnd/srtt: Linux
        /// tcp_pacing_ca_ratio.
        pacing_ca_ratio: u32 = int(1, 1_000).default("120")
            .kernel(Only(&["120"]), "the guest's hosts keep Linux's pacing ratios");
    }
}
