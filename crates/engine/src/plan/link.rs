//! `[bottleneck]` and `[links.NAME]`: the rate of a link, its queue, and what happens to packets
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
    /// When a packet leaves a link.
    pub enum LinkMode {
        /// At the start of its slot. The next slot begins len/rate later (htb, Cake).
        #[default]
        Shaper = "shaper",
        /// At the end of its slot.
        Wire = "wire",
    }
}

keys! {
    /// Marks and drops of certain packets, independent of the queue.
    ///
    /// TCP segments with payload are numbered from 1 as they arrive at the link, across all flows
    /// and including retransmissions. ACKs and unresponsive traffic are not counted. Both lists
    /// ascend, and no number is in both lists.
    pub struct Schedule as "a schedule" {
        /// Numbers of the packets to mark with CE. A packet that is not ECN-capable is dropped.
        marks: Vec<u64>;
        /// Numbers of the packets to drop.
        drops: Vec<u64>;
    }
}

keys! {
    /// Slots after a link: when they begin, and how many packets and bytes leave in each.
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
        bytes: Bytes = BYTES.kernel(AtMost("2147483647b"), "netem has 31 bits for it");
        /// Delay of each packet before it may leave in a slot (the `delay` of a netem that has a
        /// `slot`).
        delay: Time = ANY_TIME.default("0s");
    }
}

words! {
    /// The packets that an impairment affects.
    pub enum Concerns {
        /// All packets.
        #[default]
        All = "all",
        /// Data: every packet that is not an ACK.
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
    /// An impairment of a link, with the options of its kind as further keys.
    pub struct ImpairmentPlan as "[[impairments]]" {
        /// The kind: the name of an impairment.
        kind: &'static str => key(KeyKind::Word(Registry::Impairments)).required();
        /// All options of the impairment's kind.
        options: Options;
        /// Which packets the impairment affects. "acks": pure ACKs of TCP. "data": all other
        /// packets.
        only: Concerns = Concerns::KEY.default("all");
        /// Start and end of each period in which the impairment acts, in order: [["2s", "4s"],
        /// ["10s", "11s"]]. Default: it always acts.
        during: Windows = plain(Kind::Pairs(&Kind::Time { min: Time::ZERO }));
    }
}

impl ImpairmentPlan {
    /// Returns the registered entry of the impairment's kind.
    ///
    /// # Panics
    /// Panics if the kind is not registered, which validation excludes.
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
        /// [[time, rate], ...] } or { trace = "file" }. The file is a Mahimahi trace, or a CSV file
        /// with the header time_s,rate_mbit,delay_ms,loss and a row for each change. The delay and
        /// loss of the file apply before the link's impairments.
        rate: RatePlan => key(KeyKind::Rate).required();
        /// The queue discipline: its name, or { aqm = name, options }. On the kernel engine, module
        /// = name runs the queue discipline of your own kernel module. Also on the kernel engine, {
        /// aqm = name, kernel = true, args = "tc words" } selects a queue discipline of Linux that
        /// the simulator does not have.
        queue: Algorithm => entry(Registry::Aqm).default("fifo");
        /// A module of the guest kernel that replaces the queue discipline.
        module: Option<String>;
        /// "shaper": a packet leaves when its transmission begins, and the next packet leaves at
        /// least length/rate later (htb, Cake). "wire": a packet leaves when its transmission ends.
        mode: LinkMode = LinkMode::KEY.named("link").default("shaper");
        /// How many bytes a shaper may send at once after an idle time: the depth of its token
        /// bucket. On the kernel engine, this key sets both the `burst` and the `cburst` of htb's
        /// class (`quantum` and `mpu` do not matter for a single class). Tokens arrive at the
        /// link's rate, up to this depth. A packet may leave if the number of tokens is not
        /// negative, and uses as many tokens as it has bytes. So after an idle time, burst/length +
        /// 1 packets of this length leave back to back. "tc": the default burst of tc. It is 1600 B
        /// (an MTU), plus the bytes that the link sends in 1 ns (one tick of the kernel's timer).
        /// Below 8 Gbit/s, the sum is 1600 B. With a burst of 0, a packet always leaves at least
        /// length/rate after the packet before it. The largest allowed burst is 4 GB, or the bytes
        /// that the link sends in 60 s at its lowest rate, if they are fewer. A burst is not
        /// allowed with link = "wire", with a rate from a trace, or with Cake, which shapes to the
        /// rate itself.
        burst: Bytes => key(KeyKind::Burst).default("0b");
        /// Adds an independent copy of the link in the reverse direction. Results call the copy
        /// NAME.back.
        key both_directions = BOOL.default("false");
        /// One-way delay after a packet has left the link. { steps = [[time, delay], ...] } changes
        /// the delay during the run, as the impairment `delay` does.
        delay: Time = ANY_TIME.default("0s").or_table(&DelayForm::TABLE);
        /// Random addition to the delay, uniform from 0 to this value; packets keep their order.
        jitter: Time = ANY_TIME.default("0s").kernel(AtMost("4s"), "netem has 32 bits for it");
        /// Makes packets arrive in bursts, as some radio links do (netem's `slot`). After the link
        /// and its delay, a packet waits for the next slot. When a slot begins, several packets
        /// leave at once. The gap before the next slot is random. The gap begins when a slot is
        /// full. If a packet arrives and no slot is scheduled, the gap begins at this time.
        slots: Option<SlotsPlan> => key(KeyKind::Table(&SlotsPlan::TABLE));
        /// Probability that a packet is lost after it has left the queue. { gilbert = { p, r, good,
        /// bad } } loses packets in bursts, as the impairment `burst_loss` does.
        loss: f64 = float(0.0, 1.0).default("0").or_table(&BurstLossForm::TABLE);
        /// Makes some packets arrive late: { probability, delay }, as the impairment `reorder`
        /// does.
        key reorder = key(KeyKind::Table(&ReorderForm::TABLE)).since("0.2");
        /// Probability that a packet is duplicated, as by the impairment `duplicate`.
        key duplicate = float(0.0, 1.0).default("0").since("0.2");
        /// Drops packets above a rate: { rate, burst }, as the impairment `police` does.
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
        /// dropped. The numbers count TCP segments with payload, from 1, in the order in which they
        /// arrive at the link, over all flows and including retransmissions.
        schedule: Option<Schedule> => key(KeyKind::Schedule);
        /// Other effects of the path on packets that have left the queue: bursts of loss, changing
        /// delays, reordering and more. They act in the order in which the scenario lists them,
        /// after the link's own loss, delay, jitter and slots.
        impairments: Vec<ImpairmentPlan> => key(KeyKind::List(&ImpairmentPlan::TABLE)).since("0.2");
    }
}

impl LinkPlan {
    /// Returns the delay that every packet has after it has left the link.
    pub fn base_delay(&self) -> Time {
        let slots = self.slots.as_ref().map(|slots| slots.delay);
        self.delay + slots.unwrap_or_default()
    }

    /// Returns the longest time for which the link's impairments delay a packet.
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
