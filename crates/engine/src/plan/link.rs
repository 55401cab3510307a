//! `[bottleneck]` and `[links.NAME]`: the rate of a link, its queue, and the delays and losses
//! after the queue.

use super::short_forms::{BurstLossForm, DelayForm, PolicerForm, ReorderForm};
use crate::keys::Takes::{AtLeast, AtMost, Only};
use crate::keys::{
    ANY_TIME, AsPart, BOOL, BYTES, KeyKind, POSITIVE_TIME, Part, Plain, Registry, entry, float,
    int, key, plain,
};
use crate::rate::RatePlan;
use crate::registry::{Algorithm, Entry, Kind, Options, Value, find};
use crate::units::{Bytes, Time};
use crate::{impairments, keys, words};

words! {
    /// When a packet leaves a link, relative to its transmission.
    pub enum LinkMode {
        /// A packet leaves when its transmission begins. The next packet leaves at least
        /// length/rate later (htb, Cake).
        #[default]
        Shaper = "shaper",
        /// A packet leaves when its transmission ends.
        Wire = "wire",
    }
}

keys! {
    /// Marks and drops of certain packets, independent of the queue.
    ///
    /// Packets are numbered from 1 in the order in which they arrive at the link. Only TCP segments
    /// with payload are counted, including retransmissions. All flows share one count. Both lists
    /// are in ascending order, and no number is in both lists.
    pub struct Schedule as "a schedule" {
        /// Numbers of the packets to mark with CE. If such a packet is not ECN-capable, it is
        /// dropped.
        marks: Vec<u64>;
        /// Numbers of the packets to drop.
        drops: Vec<u64>;
    }
}

keys! {
    /// Time slots after a link. The fields say when slots begin, and how many packets and bytes
    /// leave in each slot.
    pub struct SlotsPlan as "[slots]" {
        /// Shortest gap before a slot; it must be at least `delay`.
        min: Time = POSITIVE_TIME.required();
        /// Longest gap before a slot; default: `min`. Gaps are uniformly distributed from `min` to
        /// `max`.
        max: Time = ANY_TIME;
        /// Largest number of packets in a slot; 0 means no limit.
        packets: u32 = int(0, i32::MAX as i64).default("0");
        /// Largest number of bytes in a slot, including the packet that reaches this number;
        /// default: no limit.
        bytes: Bytes = BYTES.kernel(AtMost("2147483647b"), "netem stores it in 31 bits");
        /// Delay of each packet before it may leave in a slot. (In netem, this is the `delay` of a
        /// qdisc with `slot`.)
        delay: Time = ANY_TIME.default("0s");
    }
}

impl SlotsPlan {
    /// Returns slots with gaps from the first to the second of these times, and without a limit.
    pub fn of_gaps([min, max]: [Time; 2]) -> Self {
        Self {
            min,
            max,
            ..Self::default()
        }
    }
}

words! {
    /// Which packets an impairment affects.
    pub enum Concerns {
        /// All packets.
        #[default]
        All = "all",
        /// All packets that are not ACKs of TCP.
        Data = "data",
        /// ACKs of TCP.
        Acks = "acks",
    }
}

/// Intervals of a run, each with its start and end. An empty list means the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Windows(pub Vec<(Time, Time)>);

impl Plain for Windows {
    fn of(value: Value) -> Option<Windows> {
        let Value::Pairs(pairs) = value else {
            return None;
        };
        let windows = pairs.into_iter().map(|(from, to)| match to {
            Value::Time(to) => Some((from, to)),
            _ => None,
        });
        windows.collect::<Option<_>>().map(Windows)
    }

    fn value(&self) -> Option<Value> {
        let pairs = self.0.iter().map(|(from, to)| (*from, Value::Time(*to)));
        (!self.0.is_empty()).then(|| Value::Pairs(pairs.collect()))
    }
}

impl AsPart for Windows {
    fn part(&self) -> Part<'_> {
        self.value().map_or(Part::Null, Part::Value)
    }
}

keys! {
    /// An impairment of a link. This table also contains the options of the impairment's kind as
    /// keys.
    pub struct ImpairmentPlan as "[[impairments]]" {
        /// The kind: the name of an impairment.
        kind: &'static str => key(KeyKind::Word(Registry::Impairments)).required();
        /// All options of the impairment's kind.
        options: Options;
        /// Which packets the impairment affects. "acks": pure ACKs of TCP. "data": all other
        /// packets.
        only: Concerns = Concerns::KEY.default("all");
        /// Start and end of each period in which the impairment acts, in order: [["2s", "4s"],
        /// ["10s", "11s"]]. Default: the impairment always acts.
        during: Windows = plain(Kind::Pairs(&Kind::Time { min: Time::ZERO }));
    }
}

impl ImpairmentPlan {
    /// Returns the registered entry of the impairment's kind.
    ///
    /// # Panics
    /// Panics if the kind is not registered. Validation has already rejected such scenarios.
    pub fn entry(&self) -> &'static Entry<impairments::Build> {
        let entry = find(impairments::ENTRIES, self.kind);
        entry.expect("a validated plan names registered impairments")
    }
}

keys! {
    /// A link and the queue before it.
    pub struct LinkPlan as "a link" {
        /// Name in results.
        name: String;
        /// Rate, counted in bytes of Ethernet frames (IP packet + 14 B): a constant, { steps =
        /// [[time, rate], ...] } or { trace = "file" }. The file is either a Mahimahi trace or a
        /// CSV file. The CSV file has the header time_s,rate_mbit,delay_ms,loss and a row for each
        /// change. If the CSV file has columns for delay and loss, the link applies these values
        /// before its impairments.
        rate: RatePlan => key(KeyKind::Rate).required();
        /// The queue discipline: its name, or { aqm = name, options }. On the kernel engine, a key
        /// module = name in this table runs the queue discipline of your own kernel module. To run
        /// a queue discipline of Linux that the simulator does not have, write { aqm = name, kernel
        /// = true, args = "tc words" }.
        queue: Algorithm => entry(Registry::Aqm).default("fifo");
        /// A module of the guest kernel that replaces the queue discipline.
        module: Option<String>;
        /// "shaper": a packet leaves when its transmission begins, and the next packet leaves at
        /// least length/rate later (htb, Cake). "wire": a packet leaves when its transmission ends.
        mode: LinkMode = LinkMode::KEY.named("link").default("shaper");
        /// Depth of the shaper's token bucket. After an idle time, burst / (packet length) + 1
        /// packets leave back to back. The bucket gains tokens at the link's rate, up to this depth.
        /// A packet may leave if the number of tokens is not negative, and consumes as many tokens
        /// as it has bytes. With a burst of 0, the gap between two packets is at least the first
        /// packet's length divided by the rate. "tc" means tc's default: 1600 B, plus the bytes that
        /// the link sends in 1 ns. The largest burst is 4 GB, or the bytes that the link sends in
        /// 60 s at its lowest rate, if that is less. A burst is not allowed with link = "wire", with
        /// a rate from a trace, or with Cake, which shapes to the rate itself. On the kernel engine,
        /// this value becomes the `burst` and the `cburst` of the htb class.
        burst: Bytes => key(KeyKind::Burst).default("0b");
        /// Whether the link has an independent copy in the reverse direction. Results call this
        /// copy of the link NAME.back.
        key both_directions = BOOL.default("false");
        /// One-way delay of packets after they have left the link. { steps = [[time, delay], ...] }
        /// changes the delay during the run, as the impairment `delay` does.
        delay: Time = ANY_TIME.default("0s").or_table(&DelayForm::TABLE);
        /// Largest random time that the link adds to a packet's delay. The random times are
        /// uniformly distributed from 0 to this value. Packets keep their order.
        jitter: Time = ANY_TIME.default("0s").kernel(AtMost("4s"), "netem stores it in 32 bits");
        /// Packets leave in bursts, as on some radio links (netem's `slot`). After a packet has
        /// left the link and its delay has passed, the packet waits for the next slot. When a slot
        /// begins, several packets leave at once. The gap before the next slot is random. The gap
        /// begins when the current slot is full. If no slot is scheduled when a packet arrives, the
        /// gap begins with the arrival of this packet.
        slots: Option<SlotsPlan> => key(KeyKind::Table(&SlotsPlan::TABLE));
        /// Probability that a packet is lost after it has left the queue. { gilbert = { p, r, good,
        /// bad } } loses packets in bursts, as the impairment `burst_loss` does.
        loss: f64 = float(0.0, 1.0).default("0").or_table(&BurstLossForm::TABLE);
        /// Delays some packets, so that they arrive after later packets: { probability, delay }.
        /// The impairment `reorder` delays packets in the same way.
        key reorder = key(KeyKind::Table(&ReorderForm::TABLE)).since("0.2");
        /// Probability that a packet is duplicated, as with the impairment `duplicate`.
        key duplicate = float(0.0, 1.0).default("0").since("0.2");
        /// A policer, which drops packets that exceed a rate: { rate, burst }. The impairment
        /// `police` is the same policer.
        key policer = key(KeyKind::Table(&PolicerForm::TABLE)).since("0.2");
        /// Bytes that are added to the length of each frame when its transmission time is computed.
        overhead: i32 = int(-256, 256).default("0")
            .kernel(AtLeast("0"), "the kernel's shaper adds from 0 to 65535 bytes");
        /// Whether the backlog of the queue includes the packet that the link is sending.
        count_in_service: bool = BOOL.default("false").kernel(
            Only(&["false"]),
            "a packet that the kernel has handed to the link is not in its backlog",
        );
        /// { marks = [100, 200], drops = [300] }: the packets with these numbers are CE-marked or
        /// dropped before they enter the queue. A packet in `marks` that is not ECN-capable is
        /// dropped. TCP packets with payload are numbered from 1, in the order in which they arrive
        /// at the link. Packets of all flows and all retransmissions are numbered together.
        schedule: Option<Schedule> => key(KeyKind::Schedule);
        /// Further effects of the path on packets that have left the queue, such as bursts of loss,
        /// changing delays and reordering. The impairments act in the order in which the scenario
        /// lists them, after the link's own loss, delay, jitter and slots.
        impairments: Vec<ImpairmentPlan> => key(KeyKind::List(&ImpairmentPlan::TABLE)).since("0.2");
    }
}

impl LinkPlan {
    /// Returns the delay that every packet has after it has left the link.
    pub fn base_delay(&self) -> Time {
        let slots = self.slots.as_ref().map(|slots| slots.delay);
        self.delay + slots.unwrap_or_default()
    }

    /// Returns the longest time by which the link's impairments can delay a packet.
    pub fn longest_impairment(&self) -> Time {
        let impairments = self.impairments.iter();
        let times =
            impairments.map(|impairment| (impairment.entry().build.longest)(&impairment.options));
        times.fold(Time::ZERO, |sum, time| sum + time)
    }

    /// Returns the largest number of packets into which the link's impairments may duplicate one
    /// packet.
    pub fn most_copies(&self) -> u64 {
        let impairments = self.impairments.iter();
        let copying = impairments.filter(|impairment| impairment.entry().build.copies);
        1 << copying.count()
    }
}
