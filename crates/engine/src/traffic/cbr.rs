//! The source sends datagrams of equal size at equal intervals. The source does not respond to
//! congestion.

use super::datagram::{self, Datagrams};
use super::{Build, Source, Step, Transport};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};
use crate::units::Time;

/// The registry entry of `cbr`.
pub const ENTRY: Entry<Build> = Entry {
    name: "cbr",
    doc: "Unresponsive UDP at a constant bit rate, with any ECN codepoint.",
    follows: "iperf -u",
    options: &[datagram::RATE, datagram::ECN, datagram::PACKET_SIZE],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        source: |options, _| {
            Box::new(Cbr {
                datagrams: Datagrams::of(options),
                begin: None,
                sent_bytes: 0,
            })
        },
        transport: Transport::Datagrams(Datagrams::of),
    },
};

struct Cbr {
    datagrams: Datagrams,
    begin: Option<Time>,
    sent_bytes: u64,
}

impl Source for Cbr {
    fn next(&mut self, now: Time) -> Step {
        // Compute each sending time from the time of the first packet. So rounding errors do not
        // add up.
        let due = *self.begin.get_or_insert(now) + self.datagrams.rate.time_for(self.sent_bytes);
        if due > now {
            return Step::Wait(due);
        }
        self.sent_bytes += u64::from(self.datagrams.len);
        self.datagrams.send()
    }
}
