//! CoDel: controlled delay (RFC 8289).
//!
//! Follows Linux 7.3 sch_codel and codel_impl.h. Where they differ from RFC
//! 8289 they are followed: time is counted in ticks of 1024 ns (so 5 ms is
//! 4.999 ms); 1/sqrt(count) is a 16-bit fraction improved by one Newton step
//! per drop or mark; with ECN one packet at most is marked in a dequeue, and
//! marking ends the loop. As in the RFC it acts only while more than one MTU
//! stays queued, and on re-entry within 16 intervals the count goes on from
//! what the last dropping phase added, if that was more than 1.
//!
//! Known deviations: times do not wrap (Linux compares 32-bit ticks, which
//! wrap after 73 minutes); a packet that CoDel has just marked is not counted
//! a second time by `ce_threshold`.

use tailback_record::Cause;

use super::fifo::{Limit, Packets};
use super::{Backlog, Build, Dequeue, Queue, Sink};
use crate::packet::Packet;
use crate::registry::{Entry, Kernel, Kind, Opt, Options, Value, no_finish};
use crate::units::Time;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "codel",
    doc: "CoDel: keeps the sojourn time of packets near a target.",
    follows: "Linux 7.3 sch_codel (RFC 8289)",
    options: &[
        Opt {
            name: "limit",
            doc: "Most that may be queued, in packets; more is dropped at the tail.",
            kind: Kind::Size {
                packets: true,
                bytes: false,
            },
            default: Some("1000p"),
            tc: Some("limit PACKETS"),
        },
        TARGET,
        INTERVAL,
        ECN,
        CE_THRESHOLD,
    ],
    kernel: Kernel::Tc("codel"),
    finish: no_finish,
    build: |options, context| {
        Box::new(Codel {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            params: Params::of(options, context.mtu),
            vars: Vars::default(),
        })
    },
};

/// Sojourn time CoDel aims at.
pub const TARGET: Opt = Opt {
    name: "target",
    doc: "Acceptable sojourn time of a packet.",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: Some("5ms"),
    tc: None,
};

/// Window for the minimum.
pub const INTERVAL: Opt = Opt {
    name: "interval",
    doc: "How long the sojourn time must stay above the target before CoDel acts; of the order of the largest round-trip time.",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: Some("100ms"),
    tc: None,
};

/// Marking instead of dropping.
pub const ECN: Opt = Opt {
    name: "ecn",
    doc: "Whether ECN-capable packets are marked instead of dropped.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: Some("ecn or noecn"),
};

/// Step marking beside CoDel.
pub const CE_THRESHOLD: Opt = Opt {
    name: "ce_threshold",
    doc: "Sojourn time above which every ECN-capable packet is marked, whatever CoDel decides; off if absent.",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: None,
    tc: None,
};

/// CoDel's clock: ticks of 1024 ns.
#[inline]
const fn ticks(time: Time) -> u64 {
    time.0 >> 10
}

/// Parameters, shared by every queue of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Acceptable sojourn time, ticks.
    target: u64,
    /// Window of the minimum, ticks.
    interval: u64,
    /// Sojourn time above which ECN-capable packets are marked, ticks.
    ce_threshold: Option<u64>,
    /// Whether ECN-capable packets are marked instead of dropped.
    ecn: bool,
    /// With no more than this still queued CoDel does not act, bytes.
    mtu: u64,
}

impl Params {
    /// From the options [`TARGET`], [`INTERVAL`], [`ECN`] and [`CE_THRESHOLD`]
    /// and the largest frame in bytes.
    pub fn of(options: &Options, mtu: u32) -> Params {
        Params {
            target: ticks(options.time("target")),
            interval: ticks(options.time("interval")),
            ce_threshold: match options.get("ce_threshold") {
                Some(Value::Time(time)) => Some(ticks(*time)),
                _ => None,
            },
            ecn: options.bool("ecn"),
            mtu: u64::from(mtu),
        }
    }
}

/// State of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars {
    /// Drops and marks in this dropping phase, or what it started from.
    count: u32,
    /// `count` when this dropping phase was entered.
    lastcount: u32,
    /// In the dropping phase.
    dropping: bool,
    /// 1/sqrt(count) in units of 2^-16.
    rec_inv_sqrt: u16,
    /// When the sojourn time will have been above the target for an interval,
    /// ticks; `None` while it is below.
    first_above: Option<u64>,
    /// Next drop, ticks.
    drop_next: u64,
    /// Sojourn time of the last packet looked at, ticks.
    ldelay: u64,
}

impl Vars {
    /// One Newton step of x <- x/2 (3 - count x^2) towards 1/sqrt(count), in
    /// the 32-bit fractions Linux computes it with.
    fn newton_step(&mut self) {
        let x = u64::from(self.rec_inv_sqrt) << 16;
        let square = (x * x) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        // Two bits are given up before the product so that it fits in 64 bits.
        let next = (rest >> 2).wrapping_mul(x) >> 31;
        self.rec_inv_sqrt = (next >> 16) as u16;
    }

    /// RFC 8289 section 5.6 (`control_law`): the next drop is interval / sqrt(count) after `t`.
    #[inline]
    fn control_law(&self, t: u64, interval: u64) -> u64 {
        let share = (u128::from(interval) * u128::from(self.rec_inv_sqrt)) >> 16;
        t.saturating_add(share as u64)
    }

    /// RFC 8289 section 5.6 (`dodequeue`): whether the sojourn time has been
    /// above the target for a whole interval. `left` is what stays queued, bytes.
    #[inline]
    fn should_drop(&mut self, packet: Option<&Packet>, left: u64, p: &Params, now: u64) -> bool {
        let Some(packet) = packet else {
            self.first_above = None;
            return false;
        };
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

    /// Gives the next packet of `packets`, dropping and marking as CoDel does.
    #[inline]
    pub fn dequeue(
        &mut self,
        packets: &mut Packets,
        p: &Params,
        time: Time,
        sink: &mut Sink,
    ) -> Option<Packet> {
        let Some(packet) = packets.pop() else {
            self.dropping = false;
            return None;
        };
        let now = ticks(time);
        let act = self.should_drop(Some(&packet), packets.bytes(), p, now);
        let mut head = Some(packet);
        let mut marked = false;
        if !self.dropping {
            if act {
                marked = act_on(&mut head, packets, p.ecn, time, sink);
                if !marked {
                    self.should_drop(head.as_ref(), packets.bytes(), p, now);
                }
                self.enter(p, now);
            }
        } else if !act {
            self.dropping = false;
        } else {
            // A large backlog may call for several drops at once: it is the
            // times of drops that follow the control law, not the packets.
            while self.dropping && now >= self.drop_next {
                self.count = self.count.wrapping_add(1);
                self.newton_step();
                marked = act_on(&mut head, packets, p.ecn, time, sink);
                if marked || self.should_drop(head.as_ref(), packets.bytes(), p, now) {
                    self.drop_next = self.control_law(self.drop_next, p.interval);
                } else {
                    self.dropping = false;
                }
                if marked {
                    break;
                }
            }
        }
        let mut packet = head?;
        if let Some(threshold) = p.ce_threshold
            && self.ldelay > threshold
            && packet.ecn.is_capable()
            && !marked
        {
            sink.mark(&mut packet, Cause::StepMark, time);
        }
        Some(packet)
    }

    /// Enters the dropping phase after its first drop or mark.
    fn enter(&mut self, p: &Params, now: u64) {
        self.dropping = true;
        // RFC 8289 section 5.5 (`deque`), re-entry: if the last phase ended less than
        // 16 intervals ago, go on from what it added to the count.
        let added = self.count.wrapping_sub(self.lastcount);
        let recent = now < self.drop_next.saturating_add(p.interval.saturating_mul(16));
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

    /// `count` and whether in the dropping phase, for a time series.
    pub fn gauges(&self) -> [f64; 2] {
        [f64::from(self.count), f64::from(u8::from(self.dropping))]
    }
}

/// Marks the head if `ecn` and the packet allow it, and says so; else drops it
/// and takes the next.
#[inline]
fn act_on(
    head: &mut Option<Packet>,
    packets: &mut Packets,
    ecn: bool,
    now: Time,
    sink: &mut Sink,
) -> bool {
    match head {
        Some(packet) if ecn && packet.ecn.is_capable() => {
            sink.mark(packet, Cause::Mark, now);
            return true;
        }
        Some(packet) => sink.drop(packet, Cause::Aqm, now),
        None => {}
    }
    *head = packets.pop();
    false
}

/// The discipline.
#[derive(Debug)]
pub struct Codel {
    packets: Packets,
    limit: Limit,
    params: Params,
    vars: Vars,
}

impl Queue for Codel {
    #[inline]
    fn enqueue(&mut self, packet: Packet, now: Time, sink: &mut Sink) {
        if self.packets.has_room(self.limit, packet.len) {
            self.packets.push(packet);
        } else {
            sink.drop(&packet, Cause::Overflow, now);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, sink: &mut Sink) -> Dequeue {
        self.vars
            .dequeue(&mut self.packets, &self.params, now, sink)
            .map_or(Dequeue::Empty, Dequeue::Packet)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.extend(self.vars.gauges());
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["codel_count", "codel_dropping"]
    }
}

#[cfg(test)]
mod tests;
