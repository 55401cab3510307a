//! On-off: while the source is on, it sends at a constant bit rate. While the source is off, it
//! sends nothing.
//!
//! The on and off periods have constant lengths, or exponentially distributed lengths with the
//! given mean. Each on period begins with a packet. A packet that would be due at the end of the on
//! period or later is not sent. The next on period begins with a new packet instead of the unsent
//! packet.

use super::datagram::{self, Datagrams};
use super::{Build, Source, Step, Transport};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, no_finish};
use crate::rng::Stream;
use crate::units::Time;

const DISTRIBUTIONS: Kind = Kind::Word(&["exponential", "constant"]);

/// The registry entry of `on-off`.
pub const ENTRY: Entry<Build> = Entry {
    name: "on-off",
    doc: "Unresponsive UDP that alternates between sending at a constant bit rate and pausing.",
    follows: "on-off source with exponential or constant periods",
    options: &[
        Opt {
            doc: "Rate of whole Ethernet frames while the source is on, headers included.",
            ..datagram::RATE
        },
        Opt {
            name: "on",
            doc: "Length of a period of sending, or the mean length if lengths are random.",
            kind: Kind::Time { min: Time(1_000) },
            default: Some("1s"),
            tc: None,
        },
        Opt {
            name: "off",
            doc: "Length of a pause, or the mean length if lengths are random.",
            kind: Kind::Time { min: Time(1_000) },
            default: Some("1s"),
            tc: None,
        },
        Opt {
            name: "on_distribution",
            doc: "Whether all periods of sending have the length `on`, or exponentially distributed lengths with this mean.",
            kind: DISTRIBUTIONS,
            default: Some("exponential"),
            tc: None,
        },
        Opt {
            name: "off_distribution",
            doc: "Whether all pauses have the length `off`, or exponentially distributed lengths with this mean.",
            kind: DISTRIBUTIONS,
            default: Some("exponential"),
            tc: None,
        },
        datagram::ECN,
        datagram::PACKET_SIZE,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        source: |options, stream| {
            let period = |length, distribution| Period {
                mean: options.time(length),
                drawn: options.word(distribution) == "exponential",
            };
            Box::new(OnOff {
                datagrams: Datagrams::of(options),
                on: period("on", "on_distribution"),
                off: period("off", "off_distribution"),
                stream,
                now: None,
            })
        },
        transport: Transport::Datagrams(Datagrams::of),
    },
};

/// The length of the on periods or of the off periods.
struct Period {
    mean: Time,
    /// Whether each length is drawn from an exponential distribution. Otherwise all lengths are
    /// equal.
    drawn: bool,
}

impl Period {
    fn next(&self, stream: &mut Stream) -> Time {
        if self.drawn {
            Time((self.mean.ns() as f64 * stream.exponential()) as u64)
        } else {
            self.mean
        }
    }
}

struct OnOff {
    datagrams: Datagrams,
    on: Period,
    off: Period,
    stream: Stream,
    /// The current on period or, during an off period, the next one. `None` before the first on
    /// period.
    now: Option<Sending>,
}

struct Sending {
    begin: Time,
    end: Time,
    sent_bytes: u64,
}

impl OnOff {
    fn sending(&mut self, begin: Time) -> Sending {
        Sending {
            begin,
            end: begin + self.on.next(&mut self.stream),
            sent_bytes: 0,
        }
    }
}

impl Source for OnOff {
    fn next(&mut self, now: Time) -> Step {
        let mut sending = match self.now.take() {
            Some(sending) => sending,
            None => self.sending(now),
        };
        // Compute each sending time from the time of the first packet in the period. So rounding
        // errors do not add up.
        let step = loop {
            let due = sending.begin + self.datagrams.rate.time_for(sending.sent_bytes);
            if due >= sending.end {
                let pause = self.off.next(&mut self.stream);
                sending = self.sending(sending.end + pause);
            } else if due > now {
                break Step::Wait(due);
            } else {
                sending.sent_bytes += u64::from(self.datagrams.len);
                break self.datagrams.send();
            }
        };
        self.now = Some(sending);
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::registry::{Value, complete_defaults};
    use crate::units::Rate;

    fn source(on: &str, off: &str, distribution: &'static str, seed: u64) -> Box<dyn Source> {
        let mut options = complete_defaults(&ENTRY);
        let time = |text| Value::Time(crate::units::parse_time(text).expect("a time"));
        options.set("on", time(on));
        options.set("off", time(off));
        options.set("on_distribution", Value::Word(distribution));
        options.set("off_distribution", Value::Word(distribution));
        options.set("rate", Value::Rate(Rate(12_112_000)));
        (ENTRY.build.source)(&options, Stream::new(seed, "on-off", "traffic"))
    }

    /// Returns when the source sends packets, until `end`.
    fn times(source: &mut dyn Source, end: Time) -> Vec<Time> {
        let (mut now, mut sent) = (Time::ZERO, Vec::new());
        while now < end {
            match source.next(now) {
                Step::Send { len, ecn } => {
                    assert_eq!((len, ecn), (1514, Ecn::NotEct));
                    sent.push(now);
                }
                Step::Wait(until) => {
                    assert!(until > now);
                    now = until;
                }
                other => panic!("{other:?}"),
            }
        }
        sent
    }

    /// At the rate of `source`, sending one packet takes 1 ms. The source sends ten packets in each
    /// on period of 10 ms. In the following 20 ms it sends none.
    #[test]
    fn constant_periods() {
        let mut source = source("10ms", "20ms", "constant", 1);
        let sent = times(&mut *source, Time::from_ms(90));
        let expected: Vec<Time> = (0..3)
            .flat_map(|period| (0..10).map(move |i| Time::from_ms(30 * period + i)))
            .collect();
        assert_eq!(sent, expected);
    }

    /// The source is on for 30 % of the time, so it sends 300 packets/s. Over 4000 cycles, the mean
    /// on period and the mean off period have a standard error of 1.6 %.
    #[test]
    fn exponential_periods_have_their_means() {
        let mut source = source("30ms", "70ms", "exponential", 1);
        let sent = times(&mut *source, Time::from_secs(400));
        // An on period begins with a packet. So a period of length x has ceil(x / 1 ms) packets.
        let per_period = 1.0 / (1.0 - libm::exp(-1.0 / 30.0));
        let pauses = sent.windows(2).filter(|w| w[1] - w[0] > Time::from_ms(1));
        let periods = pauses.count() as f64 + 1.0;
        let mean = sent.len() as f64 / periods;
        // If an off period ends before the next packet would be due, the times of packets do not
        // show this off period.
        assert!((mean / per_period - 1.0).abs() < 0.04, "{mean}");
        assert!((periods / 4000.0 - 1.0).abs() < 0.04, "{periods}");
    }
}
