//! Ping: the source sends requests of one size at equal intervals, and the receiver echoes each
//! request at once.
//!
//! An echo has the size of its request. Echoes return over the links in the key `back`. The default
//! of `back` is the links of the route in reverse order (`NAME.back` for each link NAME). The
//! source records the one-way delays of each request and of its echo. The sum of these two delays
//! is the round-trip time.

use super::datagram::{self, Datagrams, Role};
use super::{Build, Source, Step, Transport};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::units::{Rate, Time};

/// The registry entry of `ping`.
pub const ENTRY: Entry<Build> = Entry {
    name: "ping",
    doc: "Sends requests at equal intervals. The receiver echoes each request at once. The source \
     measures round-trip and one-way delays, and losses.",
    follows: "ping and irtt; Flent's interval of 200 ms",
    options: &[
        Opt {
            name: "interval",
            doc: "Time from one request to the next.",
            kind: Kind::Time { min: Time(10_000) },
            default: Some("200ms"),
            tc: None,
        },
        Opt {
            name: "packet_size",
            doc: "Frame length of requests and echoes in bytes; the default is the length with ping's 56 bytes of data.",
            default: Some("98"),
            ..datagram::PACKET_SIZE
        },
        Opt {
            name: "requests",
            doc: "Number of requests; default: no limit.",
            kind: Kind::Int {
                min: 1,
                max: 1_000_000_000,
            },
            default: None,
            tc: None,
        },
        datagram::ECN,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        source: |options, _| {
            Box::new(Ping {
                datagrams: datagrams(options),
                interval: options.time("interval"),
                left: options
                    .get("requests")
                    .map(|_| options.int("requests") as u64),
                next: None,
            })
        },
        transport: Transport::Datagrams(datagrams),
    },
};

fn datagrams(options: &Options) -> Datagrams {
    let len = options.int("packet_size") as u16;
    let bits = u128::from(len) * 8 * 1_000_000_000;
    let rate = bits.div_ceil(u128::from(options.time("interval").ns()));
    Datagrams {
        rate: Rate(rate as u64),
        len,
        ecn: datagram::ecn_of(options),
        role: Role::Echo,
    }
}

struct Ping {
    datagrams: Datagrams,
    interval: Time,
    /// How many requests are still to be sent. `None` means no limit.
    left: Option<u64>,
    /// Time of the next request. `None` before the start.
    next: Option<Time>,
}

impl Source for Ping {
    fn next(&mut self, now: Time) -> Step {
        let due = *self.next.get_or_insert(now);
        if self.left == Some(0) {
            return Step::Done;
        }
        if due > now {
            return Step::Wait(due);
        }
        self.next = Some(due + self.interval);
        self.left = self.left.map(|left| left - 1);
        self.datagrams.send()
    }
}
