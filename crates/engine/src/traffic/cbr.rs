//! Constant bit rate: datagrams of one size at equal distances, whatever the network does.

use super::{Build, Source, Step, Transport};
use crate::needs::Needs;
use crate::packet::Ecn;
use crate::registry::{Entry, Kernel, Kind, Opt, Value, no_finish};
use crate::units::{Rate, Time};

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "cbr",
    doc: "Unresponsive UDP at a constant bit rate, with any ECN codepoint.",
    follows: "iperf -u",
    options: &[
        Opt {
            name: "rate",
            doc: "Rate in frame bytes.",
            kind: Kind::Rate,
            default: Some("1Mbit"),
            tc: None,
        },
        Opt {
            name: "ecn",
            doc: "ECN field of every packet.",
            kind: Kind::Word(&["not-ect", "ect0", "ect1"]),
            default: Some("not-ect"),
            tc: None,
        },
        Opt {
            name: "packet_size",
            doc: "Frame length in bytes.",
            kind: Kind::Int {
                min: 64,
                max: 65535,
            },
            default: Some("1514"),
            tc: None,
        },
    ],
    kernel: Kernel::Agent,
    needs: Needs::NONE,
    finish: no_finish,
    build: Build {
        source: |options, _| {
            let Some(Value::Rate(rate)) = options.get("rate") else {
                unreachable!("it has a default")
            };
            Box::new(Cbr {
                rate: *rate,
                len: options.int("packet_size") as u16,
                ecn: match options.word("ecn") {
                    "ect0" => Ecn::Ect0,
                    "ect1" => Ecn::Ect1,
                    _ => Ecn::NotEct,
                },
                begin: None,
                sent_bytes: 0,
            })
        },
        transport: Transport::Datagrams,
    },
};

struct Cbr {
    rate: Rate,
    len: u16,
    ecn: Ecn,
    begin: Option<Time>,
    sent_bytes: u64,
}

impl Source for Cbr {
    fn next(&mut self, now: Time) -> Step {
        // Each packet is due at the time its predecessors take at the rate,
        // counted from the first: no rounding accumulates.
        let due = *self.begin.get_or_insert(now) + self.rate.time_for(self.sent_bytes);
        if due > now {
            return Step::Wait(due);
        }
        self.sent_bytes += u64::from(self.len);
        Step::Send {
            len: self.len,
            ecn: self.ecn,
        }
    }
}
