//! A kind of traffic: datagrams at a constant rate. Each datagram is delayed by a random time that
//! is shorter than the gap between two datagrams.
//!
//! A source returns its next step: send a datagram, open a TCP connection, or wait.

use tailback_engine::crates::Registry;
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Kind, Opt, no_finish};
use tailback_engine::rng::Stream;
use tailback_engine::traffic::{Build, Datagrams, Source, Step, Transport, datagram};
use tailback_engine::units::Time;

/// Registers everything in this crate with tailback.
pub fn register(registry: &mut Registry) {
    registry.traffic(&ENTRY);
}

/// The name, description and options of the kind of traffic.
static ENTRY: Entry<Build> = Entry {
    name: "NAME",
    doc: "Unresponsive UDP at a constant bit rate, with jitter.",
    follows: "nothing that is published",
    options: &[
        datagram::RATE,
        datagram::ECN,
        datagram::PACKET_SIZE,
        Opt {
            name: "jitter",
            doc: "The most that a datagram is late, in gaps between two.",
            kind: Kind::Float { min: 0.0, max: 0.5 },
            default: Some("0.25"),
            tc: None,
        },
    ],
    // The kernel engine only runs the kinds that ship with tailback.
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        source: |options, stream| {
            Box::new(TYPE {
                datagrams: Datagrams::of(options),
                jitter: options.float("jitter"),
                stream,
                begin: None,
                sent: 0,
                due: None,
            })
        },
        transport: Transport::Datagrams(Datagrams::of),
    },
};

struct TYPE {
    datagrams: Datagrams,
    jitter: f64,
    /// All random numbers come from this stream. The same seed gives the same traffic.
    stream: Stream,
    begin: Option<Time>,
    sent: u64,
    /// When the next datagram leaves. `None` until this time is drawn.
    due: Option<Time>,
}

impl Source for TYPE {
    fn next(&mut self, now: Time) -> Step {
        let begin = *self.begin.get_or_insert(now);
        let len = u64::from(self.datagrams.len);
        let (rate, sent) = (self.datagrams.rate, self.sent);
        let late = self.jitter * rate.time_for(len).ns() as f64;
        let stream = &mut self.stream;
        let due = *self.due.get_or_insert_with(|| {
            // Compute each time from the start, so that rounding errors do not accumulate.
            begin + rate.time_for(sent * len) + Time((late * stream.uniform()) as u64)
        });
        if due > now {
            return Step::Wait(due);
        }
        self.sent += 1;
        self.due = None;
        self.datagrams.send()
    }
}
