//! CoDel's control law, which `codel` and `fq_codel` share. The code corresponds to Linux's
//! codel_impl.h. The comment at the top of codel.rs lists the sources and deviations.

use tailback_record::Cause;

use crate::aqm::Sink;
use crate::aqm::fifo::Packets;
use crate::packet::Packet;
use crate::registry::{Options, Value};
use crate::units::Time;

/// The option of fq_codel that selects the packets that `ce_threshold` marks.
pub const SELECTOR: &str = "ce_threshold_selector";
/// Each spelling of the selector, with the value and the mask for the ECN field.
pub const SELECTORS: &[(&str, [u8; 2])] = &[
    ("0x00/0x01", [0, 1]),
    ("0x01/0x01", [1, 1]),
    ("0x00/0x02", [0, 2]),
    ("0x02/0x02", [2, 2]),
    ("0x00/0x03", [0, 3]),
    ("0x01/0x03", [1, 3]),
    ("0x02/0x03", [2, 3]),
    ("0x03/0x03", [3, 3]),
];

/// Returns the selector's value and mask. `None` means that `ce_threshold` marks all packets.
pub fn selector(options: &Options) -> Option<[u8; 2]> {
    let Some(Value::Word(word)) = options.get(SELECTOR) else {
        return None;
    };
    let found = SELECTORS.iter().find(|(spelling, _)| spelling == word);
    found.map(|(_, bits)| *bits)
}

/// Largest number of drops in a dequeue. CoDel skips any further drops that are due.
const MAX_DROPS: u32 = 256;

/// The packets to which CoDel applies. These packets are in a whole queue or in the queue of one
/// flow.
pub trait Source {
    /// Moves the oldest packet to `next`. Returns whether there was a packet to move.
    fn pop_to(&mut self, next: &mut Packet) -> bool;

    /// Returns how many bytes stay queued. In a fair queue, the result is the sum over the queues
    /// of all flows, as in Linux.
    fn left(&self) -> u64;
}

impl Source for Packets {
    #[inline]
    fn pop_to(&mut self, next: &mut Packet) -> bool {
        Packets::pop_to(self, next)
    }

    #[inline]
    fn left(&self) -> u64 {
        self.bytes()
    }
}

/// Converts a time to ticks of CoDel's clock, which are 1024 ns long.
#[inline]
pub(super) const fn ticks(time: Time) -> u64 {
    time.0 >> 10
}

/// Parameters that all queues of a discipline share.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Acceptable sojourn time, in ticks.
    target: u64,
    /// The time over which CoDel takes the minimum of the sojourn time, in ticks.
    interval: u64,
    /// The sojourn time above which ECN-capable packets are marked, in ticks.
    ce_threshold: Option<u64>,
    /// Which packets `ce_threshold` marks. The first number is a value and the second is a mask for
    /// the ECN field. A packet is selected if its masked ECN field equals the value. If both
    /// numbers are 0, all packets are selected.
    select: [u8; 2],
    ecn: bool,
    /// CoDel does not act while at most this many bytes stay queued.
    mtu: u64,
}

impl Params {
    /// Reads the options `target`, `interval`, `ecn` and `ce_threshold`. `mtu` is the size of the
    /// largest frame, in bytes.
    pub fn of(options: &Options, mtu: u32) -> Params {
        Params {
            target: ticks(options.time("target")),
            interval: ticks(options.time("interval")),
            ce_threshold: match options.get("ce_threshold") {
                Some(Value::Time(time)) => Some(ticks(*time)),
                _ => None,
            },
            select: selector(options).unwrap_or_default(),
            ecn: options.bool("ecn"),
            mtu: u64::from(mtu),
        }
    }
}

/// State of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars {
    /// Number of drops and marks in this dropping phase, plus the value with which the phase has
    /// started.
    pub(super) count: u32,
    /// The value of `count` with which this dropping phase has started.
    pub(super) lastcount: u32,
    pub(super) dropping: bool,
    /// 1/sqrt(count) in units of 2^-16.
    pub(super) rec_inv_sqrt: u16,
    /// The time (in ticks) at which the sojourn time will have been above the target for one
    /// interval. `None` while the sojourn time is below the target.
    pub(super) first_above: Option<u64>,
    /// When the next drop is due, in ticks. The value is 0 until the first dropping phase.
    pub(super) drop_next: u64,
    /// Sojourn time of the packet that was examined last, in ticks.
    pub(super) ldelay: u64,
}

impl Vars {
    /// Makes one Newton step, x <- x/2 (3 - count x^2), towards 1/sqrt(count). Uses 32-bit
    /// fractions, as Linux does.
    pub(super) fn newton_step(&mut self) {
        let x = u64::from(self.rec_inv_sqrt) << 16;
        let square = (x * x) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        // Shift out two bits before the multiplication, so that the product fits into 64 bits.
        let next = (rest >> 2).wrapping_mul(x) >> 31;
        self.rec_inv_sqrt = (next >> 16) as u16;
    }

    /// RFC 8289 section 5.6 (`control_law`): returns when the next drop is due. This time is
    /// interval / sqrt(count) after `t`.
    #[inline]
    fn control_law(&self, t: u64, interval: u64) -> u64 {
        let share = (u128::from(interval) * u128::from(self.rec_inv_sqrt)) >> 16;
        // Wait at least one tick. If the interval were rounded down to 0, the loop in `act` would
        // never end.
        t.saturating_add((share as u64).max(1))
    }

    /// RFC 8289 section 5.6 (`dodequeue`): returns whether the sojourn time has been above the
    /// target for a whole interval. `left` is the number of bytes that stay queued.
    #[inline]
    fn should_drop(&mut self, packet: &Packet, left: u64, p: &Params, now: u64) -> bool {
        self.ldelay = now.saturating_sub(ticks(packet.stamp));
        if self.ldelay < p.target || left <= p.mtu {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.saturating_add(p.interval));
                false
            }
            Some(time) => now > time,
        }
    }

    /// Drops and marks packets as CoDel requires. Then moves the next packet of `packets` to
    /// `next`. Returns whether there is a packet.
    #[inline]
    pub fn dequeue(
        &mut self,
        packets: &mut impl Source,
        p: &Params,
        time: Time,
        sink: &mut Sink,
        next: &mut Packet,
    ) -> bool {
        if !packets.pop_to(next) {
            self.first_above = None;
            self.dropping = false;
            return false;
        }
        let act = self.should_drop(next, packets.left(), p, ticks(time));
        if act || p.ce_threshold.is_some() {
            return self.treat(act, packets, p, time, sink, next);
        }
        self.dropping = false;
        true
    }

    /// Handles a packet in [`Vars::dequeue`] that may have to be dropped or marked. `dequeue` calls
    /// this separate function at its end, so that `dequeue` need not save registers for packets
    /// that CoDel neither drops nor marks.
    #[inline(never)]
    fn treat(
        &mut self,
        act: bool,
        packets: &mut impl Source,
        p: &Params,
        time: Time,
        sink: &mut Sink,
        next: &mut Packet,
    ) -> bool {
        let mut did = Did::Nothing;
        if act {
            did = self.act(packets, p, time, sink, next);
        } else {
            self.dropping = false;
        }
        if let Some(threshold) = p.ce_threshold
            && self.ldelay > threshold
            && did == Did::Nothing
            && next.ecn.is_capable()
            && next.ecn as u8 & p.select[1] == p.select[0]
        {
            sink.mark(next, Cause::StepMark, time);
        }
        did != Did::Empty
    }

    #[inline]
    fn act(
        &mut self,
        packets: &mut impl Source,
        p: &Params,
        time: Time,
        sink: &mut Sink,
        next: &mut Packet,
    ) -> Did {
        let now = ticks(time);
        if !self.dropping {
            let did = act_on(next, packets, p.ecn, time, sink);
            self.look_again(did, next, packets.left(), p, now);
            self.enter(p, now);
            return did;
        }
        // The control law makes drops due at certain times, even while no packet is dequeued. So
        // several drops may be due now.
        let (mut drops, mut did) = (0, Did::Nothing);
        while self.dropping && now >= self.drop_next {
            drops += 1;
            if drops > MAX_DROPS {
                self.drop_next = self.control_law(now, p.interval);
                break;
            }
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            did = act_on(next, packets, p.ecn, time, sink);
            if did == Did::Mark || self.look_again(did, next, packets.left(), p, now) {
                self.drop_next = self.control_law(self.drop_next, p.interval);
            } else {
                self.dropping = false;
            }
            if did == Did::Mark {
                break;
            }
        }
        did
    }

    /// After a drop, returns whether the packet that is now at the head must also be dropped.
    fn look_again(&mut self, did: Did, next: &Packet, left: u64, p: &Params, now: u64) -> bool {
        match did {
            Did::Nothing => self.should_drop(next, left, p, now),
            Did::Mark => false,
            Did::Empty => {
                self.first_above = None;
                false
            }
        }
    }

    pub(super) fn enter(&mut self, p: &Params, now: u64) {
        self.dropping = true;
        // RFC 8289 section 5.5 (`deque`) describes re-entry. If the last phase ended less than 16
        // intervals ago, the count starts from the number of drops and marks in that phase.
        let added = self.count.wrapping_sub(self.lastcount);
        //
        // The first dropping phase of a queue starts with a count of 1. In Linux, the count at the
        // start of the first phase depends on the machine's uptime. A queue of FQ-CoDel reaches
        // this point with a count above 1 if its flow has overflowed before. If the phase started
        // from this count, 1/sqrt(count) would stay 0, and CoDel would mark every packet above the
        // target.
        let earlier = self.drop_next > 0;
        let recent = earlier && now < self.drop_next.saturating_add(p.interval.saturating_mul(16));
        if added > 1 && recent {
            self.count = added;
            self.newton_step();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.lastcount = self.count;
        self.drop_next = self.control_law(now, p.interval);
    }

    /// Returns whether two conditions held for the packet that was examined last. The packet's
    /// sojourn time was above the target, and more than one MTU was queued behind the packet.
    #[inline]
    pub fn over_target(&self) -> bool {
        self.first_above.is_some()
    }

    /// Adds the drops of an overflow to the count of the longest flow. Linux adds these drops, too.
    #[inline]
    pub fn punish(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// Returns two values for the time series: `count`, and whether the queue is in the dropping
    /// phase.
    pub fn gauges(&self) -> [f64; 2] {
        [f64::from(self.count), f64::from(u8::from(self.dropping))]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Did {
    Nothing,
    Mark,
    /// No packet is left, because CoDel has dropped all of them.
    Empty,
}

/// Marks the packet at the head if `ecn` is set and the packet can be marked. Otherwise, drops the
/// packet and takes the next packet from the queue.
fn act_on(
    head: &mut Packet,
    packets: &mut impl Source,
    ecn: bool,
    now: Time,
    sink: &mut Sink,
) -> Did {
    if ecn && head.ecn.is_capable() {
        sink.mark(head, Cause::Mark, now);
        return Did::Mark;
    }
    sink.drop(head, Cause::Aqm, now);
    match packets.pop_to(head) {
        true => Did::Nothing,
        false => Did::Empty,
    }
}
