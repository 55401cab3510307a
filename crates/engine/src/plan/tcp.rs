//! `[tcp]`: options of the TCP stack.

use crate::keys::Takes::{AtMost, Only};
use crate::keys::{AsPart, BOOL, BYTES, Part, Plain, int, plain, time};
use crate::registry::{Kind, Value};
use crate::units::{Bytes, Time};
use crate::{keys, words};

words! {
    /// Whether the window grows with the number of acknowledged segments or with the number of
    /// ACKs.
    pub enum Growth {
        /// The window grows with acknowledged segments, as in Linux since about 3.15.
        #[default]
        Segments = "segments",
        /// The window grows with ACKs, and a window equal to ssthresh is still in slow start, as in
        /// Linux 3.2.
        Acks = "acks",
    }
}

words! {
    /// Whether and how packets are paced.
    pub enum Pacing {
        /// TCP paces packets only if the congestion control requires it.
        #[default]
        Auto = "auto",
        /// Never.
        Off = "off",
        /// The fq qdisc paces each segment at TCP's pacing rate.
        Fq = "fq",
        /// The fq qdisc paces bursts, as it does if TCP combines segments into large packets (GSO).
        /// A burst has as many segments as the pacing rate sends in a millisecond, but at least
        /// two.
        FqGso = "fq-gso",
        /// Bursts are paced if the congestion control requires it. TCP combines segments into large
        /// packets and paces these packets itself. The network interface then separates the
        /// segments (GSO).
        Gso = "gso",
    }
}

words! {
    /// How a receiver reports SCE marks with the ESCE bit of its ACKs.
    pub enum SceReceiver {
        /// Means `Split` if the sender's congestion control supports SCE, and `Off` otherwise.
        #[default]
        Auto = "auto",
        /// The receiver does not report marks. The receiver treats ECT(1) as ECT(0).
        Off = "off",
        /// When marks begin or end, the receiver sends two ACKs. The first ACK acknowledges the
        /// earlier segments whose ACK was delayed. The second ACK follows at once. This ACK
        /// acknowledges the first segment after the change.
        Split = "split",
        /// The receiver behaves as with `Split`, but delays the second ACK as usual.
        SplitDelayed = "split-delayed",
        /// The receiver sends ACKs as usual. The receiver sets ESCE on enough ACKs to cover as many
        /// segments as were marked.
        Dither = "dither",
    }
}

words! {
    /// How the receiver of a flow with ECN reports CE marks to the sender.
    pub enum EcnFeedback {
        /// The receiver uses the method that the congestion control requires. The methods are
        /// Accurate ECN, an echo for each packet (DCTCP), and RFC 3168.
        #[default]
        Auto = "auto",
        /// The receiver uses Accurate ECN (RFC 9768) with every congestion control.
        AccEcn = "accecn",
        /// The receiver reports CE as in RFC 3168, because it does not support any other method.
        Rfc3168 = "rfc3168",
        /// The receiver does not report CE, because it does not support ECN.
        None = "none",
    }
}

words! {
    /// When a receiver with Accurate ECN sends the AccECN option (Linux `tcp_ecn_option`).
    pub enum AccEcnOption {
        /// The receiver never sends the option.
        Off = "off",
        /// The receiver sends the option after CE marks, after changes of the ECN field, and three
        /// times per round trip.
        Minimum = "minimum",
        /// The receiver sends the option on every ACK with enough space, until ACKs with the option
        /// seem to get lost.
        #[default]
        Full = "full",
        /// The receiver sends the option on every ACK with enough space, even if ACKs with the
        /// option seem to get lost.
        Persist = "persist",
    }
}

words! {
    /// Which stack a receiver with Accurate ECN has.
    pub enum AccEcnReceiver {
        /// The receiver delays ACKs as in Linux 7.3.
        #[default]
        Linux = "linux",
        /// The receiver acknowledges most segments at once, as in the L4S team's Linux 5.15.
        L4s515 = "l4s-5.15",
    }
}

words! {
    /// Whether a receiver reports honestly what has arrived, or misbehaves in one of several ways.
    pub enum Conduct {
        /// The receiver reports correctly what has arrived.
        #[default]
        Honest = "honest",
        /// The receiver negotiates ECN but never reports CE.
        HidesCe = "hides-ce",
        /// The receiver acknowledges each segment in eight parts, with one ACK for each part.
        DividesAcks = "divides-acks",
        /// The receiver acknowledges everything up to the highest segment that has arrived, even if
        /// earlier segments are missing.
        Optimistic = "optimistic",
    }
}

words! {
    /// How large the receiver's buffer is.
    pub enum ReceiveBuffer {
        /// The buffer is large enough for the receive window from the start.
        #[default]
        Fixed = "fixed",
        /// The buffer begins with 128 KiB. Linux then adapts the size to the number of bytes that
        /// the application reads in a round-trip time.
        Auto = "auto",
    }
}

/// Number of segments after which the receiver sends a delayed ACK. The number is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delack(u8);

impl Delack {
    /// The receiver sends one ACK for each segment.
    pub const OFF: Delack = Delack(1);
    /// The receiver sends one ACK for two segments (RFC 9293 section 3.8.6.3), as Linux does.
    pub const ON: Delack = Delack(2);

    /// Returns after how many segments the receiver sends an ACK.
    pub const fn segments(self) -> u8 {
        self.0
    }

    /// Returns whether an ACK may wait until another segment arrives.
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
        /// Payload of a full segment, in bytes.
        mss: u16 = int(64, 65_000).default("1448");
        /// Bytes of headers in each frame: Ethernet 14, IP 20, TCP with timestamps 32.
        header: u16 = int(0, 512).default("66");
        /// Initial window, in segments (RFC 6928).
        initial_cwnd: u32 = int(1, 100_000).default("10");
        /// Shortest allowed retransmission timeout.
        min_rto: Time = time(Time::from_ms(1)).default("200ms");
        /// Number of segments after which the receiver sends a delayed ACK. If the timer for
        /// delayed ACKs fires first, the receiver sends the ACK when the timer fires. With true, an
        /// ACK covers two segments, as in Linux. With false, an ACK covers one segment. With a
        /// larger number, each ACK covers that many segments (stretch ACKs).
        delack: Delack = plain(Kind::BoolOrInt { min: 1, max: 64 }).default("true")
            .kernel(Only(&["true", "false"]), "Linux acknowledges at least every second segment");
        /// Whether TCP uses the timestamp option.
        // Without timestamps, TCP neither gets RTT samples from retransmitted data nor detects
        // spurious retransmissions. `header` already includes the bytes of this option.
        timestamps: bool = BOOL.default("true");
        /// The largest window that the receiver offers. The key has the same meaning on both
        /// engines.
        rwnd: Bytes = BYTES.default("32mb").kernel(AtMost("1gb"), "longer than a TCP window");
        /// Whether and how packets are paced. "auto": TCP paces packets only if the congestion
        /// control requests pacing. "off": never. "fq": the fq qdisc paces each segment. "fq-gso":
        /// the fq qdisc paces groups of at least two segments. Linux paces such groups if TCP
        /// combines segments into larger packets (GSO). "gso": TCP paces groups of at least two
        /// segments, but only if the congestion control requests pacing. Without path.offloads,
        /// every packet carries one segment, whatever the value of this key.
        pacing: Pacing = Pacing::KEY.default("auto")
            .kernel(Only(&["auto", "off", "fq", "gso"]), "the guest combines segments only with path.offloads");
        /// Whether the window grows with the number of acknowledged segments, or with the number of
        /// ACKs as in Linux 3.2. The kernel engine supports "acks" for reno, and for dctcp if its
        /// option `version` is not "linux-7.3".
        growth: Growth = Growth::KEY.default("segments");
        /// Whether the receiver acknowledges every segment at the start of a connection.
        quickack: bool = BOOL.default("true");
        /// Initial ssthresh, in segments. The first slow start ends when the window reaches this
        /// value. Before version 5.6, Linux stored ssthresh for each destination and used it for
        /// the next connection. With 0, the first slow start has no such limit.
        initial_ssthresh: u32 = int(0, 1_000_000).default("0")
            .kernel(Only(&["0"]), "Linux no longer stores ssthresh for the next connection");
        /// Whether a host stores the RTT and the degree of reordering for each destination. Later
        /// connections then begin with these values, as in Linux (tcp_no_metrics_save = 0).
        metrics_save: bool = BOOL.default("false");
        /// With metrics_save: whether the host also stores ssthresh, as Linux did before 5.6
        /// (tcp_no_ssthresh_metrics_save = 0).
        ssthresh_metrics_save: bool = BOOL.default("false");
        /// Size of the receiver's buffer. "fixed": the buffer is large enough for rwnd from the
        /// start. "auto": as in Linux, the buffer grows with the bytes that the application reads
        /// in a round-trip time. While the buffer grows, the receiver acknowledges every segment.
        /// With either value, the receiver always offers a window of rwnd.
        rcvbuf: ReceiveBuffer = ReceiveBuffer::KEY.default("fixed")
            .kernel(Only(&["fixed"]), "the guest's receive buffers have a fixed size");
        /// How the receiver reports SCE marks to the sender. A packet has an SCE mark if it was
        /// sent with ECT(0) and arrives with ECT(1). "split": when marks begin or end, the receiver
        /// sends two ACKs at once. The first ACK covers the segments before the change. The second
        /// ACK covers the first segment after the change. "split-delayed": like "split", but the
        /// second ACK is delayed, as in some versions of the SCE kernels. "dither": the receiver
        /// sets ESCE on enough ACKs to cover as many segments as were marked. "off": the receiver
        /// does not report SCE marks. "auto": "split" if the congestion control supports SCE, else
        /// "off".
        sce_receiver: SceReceiver = SceReceiver::KEY.default("auto")
            .kernel(Only(&["auto", "off"]), "Linux does not support SCE");
        /// How the receiver reports CE marks to the sender. "accecn": by Accurate ECN (RFC 9768).
        /// "rfc3168": as in RFC 3168. "none": the receiver does not report CE, as if it did not
        /// support ECN. "auto": as the congestion control requires. With "auto", the receiver uses
        /// Accurate ECN for prague, an echo for each packet for DCTCP, and RFC 3168 for all other
        /// congestion controls. If a congestion control needs Accurate ECN and the receiver does
        /// not support Accurate ECN, the flow runs without ECN.
        ecn_feedback: EcnFeedback = EcnFeedback::KEY.default("auto");
        /// When the receiver sends the TCP option of Accurate ECN. This option has 4 to 12 bytes.
        /// "off": never. "minimum": after CE marks and three times per round trip. "full": on every
        /// ACK, until ACKs with the option seem to get lost. "persist": on every ACK, even if ACKs
        /// with the option get lost. The four values of this key correspond to the values 0 to 3 of
        /// Linux's tcp_ecn_option.
        accecn_option: AccEcnOption = AccEcnOption::KEY.default("full");
        /// How a receiver with Accurate ECN acknowledges ECN-capable segments. "linux": the
        /// receiver delays ACKs as Linux does. "l4s-5.15": as in the L4S team's Linux 5.15, which
        /// treats every ECN-capable segment as if marks were waiting to be reported. With
        /// "l4s-5.15", the receiver acknowledges a segment at once if two conditions hold: no other
        /// segment waits for an ACK, and the segment's timestamp, in ms, is newer than that of the
        /// previous segment. The value "l4s-5.15" requires timestamps and accecn_option = "full" or
        /// "persist".
        accecn_receiver: AccEcnReceiver = AccEcnReceiver::KEY.default("linux").since("0.2")
            .kernel(Only(&["linux"]), "the guest's receivers are those of Linux");
        /// Whether the receiver reports correctly which segments and marks have arrived. A receiver
        /// may report incorrectly because of a bug, or in order to get a higher rate. "honest": the
        /// receiver reports correctly. "hides-ce": the receiver negotiates ECN but never reports
        /// CE. "divides-acks": the receiver acknowledges each segment in eight parts. "optimistic":
        /// the receiver acknowledges missing segments as soon as a later segment arrives. So the
        /// sender does not notice the loss, and the lost data never arrives.
        receiver: Conduct = Conduct::KEY.default("honest").since("0.2")
            .kernel(Only(&["honest"]), "receivers of Linux are honest");
        /// Pacing rate in slow start (while cwnd is below half of ssthresh), in percent of
        /// cwnd/srtt (Linux's tcp_pacing_ss_ratio).
        pacing_ss_ratio: u32 = int(1, 1_000).default("200")
            .kernel(Only(&["200"]), "the guest's hosts keep Linux's pacing ratios");
        /// Pacing rate while cwnd is at least half of ssthresh, in percent of cwnd/srtt (Linux's
        /// tcp_pacing_ca_ratio).
        pacing_ca_ratio: u32 = int(1, 1_000).default("120")
            .kernel(Only(&["120"]), "the guest's hosts keep Linux's pacing ratios");
    }
}
