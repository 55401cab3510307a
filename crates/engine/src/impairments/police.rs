//! A policer is a token bucket without a buffer for packets, as in Linux `act_police`.
//!
//! The bucket gains tokens at `rate`, up to `burst`. If the bucket has enough tokens for the bytes
//! of a packet's frame, the policer forwards the packet, which consumes these tokens. If the bucket
//! has too few tokens, the packet is dropped or marked with CE (option `action`), and consumes no
//! tokens.
//!
//! Deviations: on both engines, the policer is after the queue. Linux's `act_police` is before the
//! queue. `act_police` cannot mark packets. So the kernel engine uses tailback's kernel module
//! `sch_impair`. Like the simulator, this module calculates in nanoseconds. On the kernel engine, a
//! packet that already carries CE when it arrives does not count as marked.

use tailback_record::Cause;

use super::options::no_time;
use super::{Build, Discipline, Fate, Impairment, LongRun, Netem, Way};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, Value, no_finish};
use crate::units::{Bytes, Rate, Time};

const MARK: &str = "mark";

pub const ENTRY: Entry<Build> = Entry {
    name: "police",
    doc: "A policer: drops or marks packets that exceed a rate and a burst size. It has no buffer.",
    follows: "Linux act_police",
    options: &[
        Opt {
            name: "rate",
            doc: "Rate at which tokens arrive; each byte of a frame uses one token.",
            kind: Kind::Rate,
            default: Some("10Mbit"),
            tc: None,
        },
        Opt {
            name: "burst",
            doc: "Largest number of tokens that the bucket holds, in bytes.",
            kind: Kind::Size {
                packets: false,
                bytes: true,
            },
            default: Some("64kb"),
            tc: None,
        },
        Opt {
            name: "action",
            doc: "What happens to a packet if the bucket has too few tokens for it. \"mark\" sets CE, but drops packets that are not ECN-capable.",
            kind: Kind::Word(&["drop", MARK]),
            default: Some("drop"),
            tc: None,
        },
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        make: |options, _| Box::new(Policer::of(options)),
        netem: |options| {
            let rate = rate_of(options);
            // The kernel module stores the time to fill the bucket as a signed 64-bit number of
            // nanoseconds, so limit the time to the largest such number.
            let depth = rate.time_for(burst_of(options).0).ns().min(i64::MAX as u64);
            let mark = u8::from(options.word("action") == MARK);
            let words = format!("rate {} depth {depth} mark {mark}", rate.0);
            Ok(Netem {
                loses: true,
                ..Netem::own(Discipline::Police, words)
            })
        },
        longest: no_time,
        long_run: |options, ecn| {
            let beyond = Some((rate_of(options), burst_of(options)));
            if ecn && options.word("action") == MARK {
                LongRun {
                    marks_beyond: beyond,
                    ..LongRun::default()
                }
            } else {
                LongRun {
                    drops_beyond: beyond,
                    ..LongRun::default()
                }
            }
        },
        copies: false,
    },
};

fn burst_of(options: &Options) -> Bytes {
    Bytes(options.bytes("burst"))
}

fn rate_of(options: &Options) -> Rate {
    let Some(Value::Rate(rate)) = options.get("rate") else {
        unreachable!("the rate has a default")
    };
    *rate
}

struct Policer {
    rate: Rate,
    marks: bool,
    /// The time that an empty bucket needs to become full.
    depth: Time,
    /// The time at which the bucket becomes full if no packet consumes tokens until then.
    full: Time,
}

impl Policer {
    fn of(options: &Options) -> Policer {
        let marks = options.word("action") == MARK;
        Policer::new(rate_of(options), burst_of(options), marks)
    }

    fn new(rate: Rate, burst: Bytes, marks: bool) -> Policer {
        Policer {
            rate,
            marks,
            depth: rate.time_for(burst.0),
            full: Time::ZERO,
        }
    }
}

impl Impairment for Policer {
    fn changeable(&self) -> &'static [&'static str] {
        &["rate", "burst", "action"]
    }

    fn change(&mut self, options: &Options) {
        // New options do not change the time at which the bucket becomes full.
        let full = self.full;
        *self = Policer::of(options);
        self.full = full;
    }

    fn meet(&mut self, packet: &mut Packet, way: &mut Way) -> Fate {
        let full = self.full.max(way.now) + self.rate.time_for(u64::from(packet.len));
        if full <= way.now + self.depth {
            self.full = full;
            return Fate::Goes;
        }
        if self.marks {
            Fate::Marked
        } else {
            Fate::Lost(Cause::Policed)
        }
    }
}
