//! This impairment delivers ACKs in batches, and may remove some of the ACKs. Wi-Fi, cable and
//! cellular links collect ACKs and send them together. Some of these links thin the ACKs: they keep
//! only the newest ACK of each flow.
//!
//! Thinning removes an older ACK even if it is a duplicate ACK or carries SACK blocks, ECN-Echo or
//! a FIN. ACKs that are removed by thinning count as drops with the cause `ack_filter`.
//!
//! Differences between the engines: on the kernel engine, tailback's kernel module `sch_impair`
//! treats every segment without payload as an ACK, except a SYN. In the simulator, neither a SYN
//! nor the FIN of a data sender counts as an ACK.

use std::collections::VecDeque;

use tailback_record::Cause;

use super::options::passes_all;
use super::{Build, Discipline, Fate, Impairment, Netem, Way};
use crate::packet::{Packet, flags};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::units::Time;

const NEWEST: &str = "newest";

pub const ENTRY: Entry<Build> = Entry {
    name: "ack_batch",
    doc: "Collects ACKs and releases them in batches. A batch contains all collected ACKs, or only \
        the newest ACK of each flow (thinning).",
    follows: "draft-ietf-ccwg-bbr-06 appendix A.12; RFC 3449 section 5.2",
    options: &[
        Opt {
            name: "packets",
            doc: "Number of ACKs in a batch.",
            kind: Kind::Int {
                min: 1,
                max: 100_000,
            },
            default: Some("8"),
            tc: None,
        },
        Opt {
            name: "time",
            doc: "The longest time for which the first ACK of a batch waits.",
            kind: Kind::Time { min: Time(1) },
            default: Some("5ms"),
            tc: None,
        },
        Opt {
            name: "keep",
            doc: "Which ACKs the link forwards: all, or the newest ACK of each flow. With \
                \"newest\" and a single flow, the link forwards one of every `packets` ACKs.",
            kind: Kind::Word(&["all", NEWEST]),
            default: Some("all"),
            tc: None,
        },
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        make: |options, _| {
            Box::new(AckBatch {
                size: options.int("packets").unsigned_abs(),
                wait: options.time("time"),
                thins: options.word("keep") == NEWEST,
                gathered: 0,
                until: Time::NEVER,
                held: VecDeque::new(),
                leaving: 0,
            })
        },
        netem: |options| {
            let (packets, time) = (options.int("packets"), options.time("time").ns());
            let thins = options.word("keep") == NEWEST;
            let newest = u8::from(thins);
            let words = format!("packets {packets} time {time} newest {newest}");
            Ok(Netem {
                loses: thins,
                ..Netem::own(Discipline::AckBatch, words)
            })
        },
        longest: |options| options.time("time"),
        long_run: passes_all,
        copies: false,
    },
};

struct AckBatch {
    size: u64,
    wait: Time,
    thins: bool,
    /// How many ACKs the current batch has, including ACKs that thinning has removed.
    gathered: u64,
    /// The current batch closes at this time at the latest.
    until: Time,
    held: VecDeque<(Packet, Way)>,
    /// How many ACKs at the front of `held` are in closed batches. These ACKs can leave.
    leaving: usize,
}

impl AckBatch {
    fn close(&mut self) {
        self.leaving = self.held.len();
        self.gathered = 0;
        self.until = Time::NEVER;
    }
}

impl Impairment for AckBatch {
    fn changeable(&self) -> &'static [&'static str] {
        &["packets", "time", "keep"]
    }

    fn change(&mut self, options: &Options) {
        self.size = options.int("packets").unsigned_abs();
        self.wait = options.time("time");
        self.thins = options.word("keep") == NEWEST;
    }

    fn meet(&mut self, packet: &mut Packet, way: &mut Way) -> Fate {
        // SYN-ACKs and datagrams on the return path are never put into a batch.
        if !packet.has(flags::ACK) || packet.has(flags::SYN | flags::DATAGRAM) {
            return Fate::Goes;
        }
        if self.gathered == 0 {
            self.until = way.now + self.wait;
        }
        self.gathered += 1;
        let full = self.gathered >= self.size;
        let older = match self.thins {
            true => (self.held.iter_mut()).find(|(held, _)| held.flow == packet.flow),
            false => None,
        };
        let fate = match older {
            // The newer ACK replaces the older ACK, which counts as dropped.
            Some((held, held_way)) => {
                std::mem::swap(held, packet);
                *held_way = *way;
                Fate::Lost(Cause::AckFilter)
            }
            None => {
                self.held.push_back((*packet, *way));
                Fate::Held
            }
        };
        if full {
            self.close();
        }
        fate
    }

    fn release(&mut self, now: Time) -> Option<(Packet, Way)> {
        if self.leaving == 0 && self.until <= now {
            self.close();
        }
        self.leaving = self.leaving.checked_sub(1)?;
        self.held.pop_front()
    }

    fn deadline(&self) -> Time {
        self.until
    }

    fn held(&self) -> u64 {
        self.held.len() as u64
    }
}
