//! PIE: proportional integral controller enhanced (RFC 8033).
//!
//! tailback's PIE follows sch_pie of Linux 7.3, including its integer arithmetic. Times are in
//! ticks of 64 ns, and gains are in units of 1/16 Hz. The integer 2^56 - 1 represents a probability
//! of 1. In the following points, Linux differs from RFC 8033, and tailback follows Linux:
//! - The queue delay is the sojourn time of the packet that was dequeued last. When the queue is
//!   empty, the queue delay is 0.
//! - In an update, the probability decays by 1/64 if the current delay and the previous delay are
//!   both 0.
//! - While the queue delay is above 250 ms, each update adds 2 % to the probability.
//! - The burst allowance is 150 ms. Each packet that leaves reduces this allowance by the time
//!   since the previous packet left. (With `dq_rate_estimator`, each measurement of the rate
//!   reduces the allowance by the duration of the measurement.) The burst allowance is renewed when
//!   the current and the previous delay are below half the target and the probability is 0.
//! - When the accumulated probability has reached 8.5, the next packet is always marked or dropped.
//!   A mark at this limit does not reset the accumulated probability.
//! - The probability is not limited to 1. While the delay stays high, the probability can rise
//!   above 1 (windup).
//!
//! `version = "linux-3.14"` is PIE as in Linux before 2019. In `linux-3.14`, the target is 20 ms,
//! tupdate is 30 ms and the burst allowance is 100 ms. `linux-3.14` computes the queue delay from
//! the estimated departure rate. `linux-3.14` drops or marks each packet independently of other
//! packets (Bernoulli trials). `linux-3.14` divides its gains by 8 while the probability is below
//! 1 %, and by 2 while the probability is below 10 %. The probability in `linux-3.14` has 32 bits,
//! and decays by 2 % in an update, whereas current Linux uses 1/64. As in Linux before 2019, the
//! arithmetic of `linux-3.14` overflows. As a result, the first decay reduces any probability above
//! 1.02 % to less than 1.02 %. Because of overflow, a change of the probability by more than one
//! half has the wrong sign.
//!
//! As in Linux, the timer counts jiffies, and the time between two updates is one jiffy longer than
//! `tupdate`. By default, PIE updates the probability every 16 ms. Linux makes the first update
//! 0.5 s after the queue has been set up. In tailback, updates begin at the start of the run, as if
//! the queue had been set up more than 0.5 s earlier.
//!
//! Known deviations: for backlogs above 16 MiB, the estimated delay is correct in tailback, whereas
//! it overflows in Linux.

use tailback_record::Cause;

use super::fifo::{Limit, Packets};
use super::{Backlog, Build, Dequeue, Queue, Setting, Sink};
use crate::packet::Packet;
use crate::registry::kernel::{
    Kernel, Qdisc, THIS_LINUX, Words, Xstats, flag, micros, number, version,
};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::Time;

mod law;

pub use law::{Params, Vars};

/// The registry entry of `pie`.
pub const ENTRY: Entry<Build> = Entry {
    name: "pie",
    doc: "PIE: drops or marks packets at random. The probability depends on the queue delay.",
    follows: "Linux 7.3 sch_pie (RFC 8033)",
    options: &[
        Opt {
            name: "limit",
            doc: "Largest length of the queue, in packets; packets that arrive at a full queue are \
                dropped.",
            kind: Kind::Size {
                packets: true,
                bytes: false,
            },
            default: Some("1000p"),
            tc: Some("limit PACKETS"),
        },
        Opt {
            name: "target",
            doc: "Queueing delay that the controller aims for. Default: 15ms, or 20ms in version \
                linux-3.14.",
            kind: Kind::Time {
                min: Time::from_us(1),
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "tupdate",
            doc: "Time between two updates of the probability. Default: 15ms, or 30ms in version linux-3.14. Linux counts the time between two updates in jiffies.",
            kind: Kind::Time {
                min: Time::from_ms(1),
            },
            default: None,
            tc: None,
        },
        ALPHA,
        BETA,
        Opt {
            name: "ecn",
            doc: "Whether ECN-capable packets are marked instead of dropped while the probability is at most 10 %.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("ecn or noecn"),
        },
        BYTEMODE,
        Opt {
            name: "dq_rate_estimator",
            doc: "Whether the queueing delay is computed from the backlog and the estimated departure rate. If false, PIE uses the packets' sojourn time instead. Default: false. In version linux-3.14, this option is always true.",
            kind: Kind::Bool,
            default: None,
            tc: Some("dq_rate_estimator or no_dq_rate_estimator"),
        },
        Opt {
            name: "version",
            doc: "Version of Linux whose PIE tailback follows.",
            kind: Kind::Word(&["linux-7.3", "linux-3.14"]),
            default: Some("linux-7.3"),
            tc: None,
        },
    ],
    kernel: Kernel::Qdisc(&KERNEL),
    rules: Rules::NONE,
    finish: |options| {
        let old = options.word("version") == "linux-3.14";
        let ms = if old { (20, 30) } else { (15, 15) };
        for (name, value) in [
            ("target", Value::Time(Time::from_ms(ms.0))),
            ("tupdate", Value::Time(Time::from_ms(ms.1))),
            ("dq_rate_estimator", Value::Bool(old)),
        ] {
            options.set_default(name, value);
        }
        if old && !options.bool("dq_rate_estimator") {
            return Err(vec![OptionError {
                option: "dq_rate_estimator",
                message: "linux-3.14 has no other measure of delay: expected true".to_owned(),
            }]);
        }
        Ok(())
    },
    build: |options, context| {
        let params = Params::of(options, context.mtu);
        Box::new(Pie {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            vars: Vars::new(&params),
            params,
            next_update: Time::NEVER,
            rng: context.rng,
        })
    },
};

const KERNEL: Qdisc = Qdisc {
    kinds: &["pie"],
    since: Some("3.14"),
    words: &[
        ("version", |w, o| version(w, o, THIS_LINUX)),
        ("limit", number),
        ("target", micros),
        ("tupdate", micros),
        ("alpha", gain),
        ("beta", gain),
        ("ecn", |w, o| flag(w, o, "ecn", "noecn")),
        ("bytemode", |w, o| flag(w, o, "bytemode", "nobytemode")),
        ("dq_rate_estimator", |w, o| {
            flag(w, o, "dq_rate_estimator", "no_dq_rate_estimator");
        }),
    ],
    xstats: Xstats {
        marks: Some(&[36]),
        ..Qdisc::DEFAULT.xstats
    },
    ..Qdisc::DEFAULT
};

pub(super) fn gain(words: &mut Words<'_>, option: &'static str) {
    if words.options.int(option) == 0 {
        words.refuse(option, "tc takes 0 for the default", "at least 1");
    }
    number(words, option);
}

/// The option for the target delay, for disciplines whose default does not depend on the version.
pub const TARGET: Opt = Opt {
    name: "target",
    doc: "Queueing delay that the controller aims for.",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: Some("15ms"),
    tc: None,
};

/// The option for the gain that applies to the difference between the delay and the target.
pub const ALPHA: Opt = Opt {
    name: "alpha",
    doc: "Gain for the difference between the queueing delay and the target, in units of 1/16 Hz.",
    kind: Kind::Int { min: 0, max: 32 },
    default: Some("2"),
    tc: None,
};

/// The option for the gain that applies to the change of the delay.
pub const BETA: Opt = Opt {
    name: "beta",
    doc: "Gain for the change of the queueing delay between two updates, in units of 1/16 Hz.",
    kind: Kind::Int { min: 0, max: 32 },
    default: Some("20"),
    tc: None,
};

/// The option that scales the probability by the packet size.
pub const BYTEMODE: Opt = Opt {
    name: "bytemode",
    doc: "Whether the probability is proportional to the packet size (multiplied by the size and divided by the MTU).",
    kind: Kind::Bool,
    default: Some("false"),
    tc: Some("bytemode or nobytemode"),
};

/// The queue discipline `pie`.
#[derive(Debug)]
pub struct Pie {
    packets: Packets,
    limit: Limit,
    params: Params,
    vars: Vars,
    next_update: Time,
    rng: Stream,
}

impl Queue for Pie {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "limit", "target", "tupdate", "alpha", "beta", "ecn", "bytemode",
        ]
    }

    fn change(&mut self, options: &Options, setting: &Setting, sink: &mut Sink) {
        self.limit = Limit::of(options.get("limit"));
        self.params = Params::of(options, setting.mtu);
        self.packets.shrink(self.limit, setting.now, sink);
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        let backlog = self.packets.bytes();
        if !self.packets.has_room(self.limit, packet.len) {
            self.vars.dropped();
            sink.drop(packet, Cause::Overflow, now);
            return;
        }
        let len = u64::from(packet.len);
        if self
            .vars
            .drop_early(&self.params, backlog, len, &mut self.rng)
        {
            if !self.params.marks(&self.vars, packet) {
                self.vars.dropped();
                sink.drop(packet, Cause::Aqm, now);
                return;
            }
            sink.mark(packet, Cause::Mark, now);
        }
        self.packets.push(*packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        if !self.packets.pop_to(next) {
            return Dequeue::Empty;
        }
        let left = self.packets.bytes();
        self.vars.dequeued(&self.params, next, left, now);
        Dequeue::Packet
    }

    fn timer(&mut self, now: Time, _sink: &mut Sink) -> Option<Time> {
        if self.next_update == Time::NEVER {
            self.next_update = self.params.after(now);
        } else if now >= self.next_update {
            self.vars.update(&self.params, self.packets.bytes());
            self.next_update = self.params.after(now);
        }
        Some(self.next_update)
    }

    fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.packets.ahead(places)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.extend(self.vars.gauges(&self.params));
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["pie_probability", "pie_qdelay_ns"]
    }
}

#[cfg(test)]
mod tests;
