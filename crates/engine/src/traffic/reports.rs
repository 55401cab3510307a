//! The reports of a receiving end. A report says what has arrived since the previous report.

use super::Report;
use crate::units::{Rate, Time};

/// Counts the datagrams that reach a receiving end.
#[derive(Clone, Debug)]
pub struct Reporter {
    every: Time,
    /// When the current interval began. `None` before the first datagram.
    begun: Option<Time>,
    /// The sequence number with which the current interval begins.
    expected_from: u32,
    /// The highest sequence number that has arrived, plus one.
    highest: u32,
    received: u64,
    bytes: u64,
    /// The smallest one-way delay of the run. `least_now` is the smallest one-way delay of the
    /// current interval.
    least: Time,
    least_now: Time,
}

impl Reporter {
    /// Creates a reporter, which makes a report at the end of each interval of length `every`.
    pub fn new(every: Time) -> Reporter {
        Reporter {
            every,
            begun: None,
            expected_from: 0,
            highest: 0,
            received: 0,
            bytes: 0,
            least: Time::NEVER,
            least_now: Time::NEVER,
        }
    }

    /// Counts a datagram with this sequence number, frame length and one-way delay. Returns a
    /// report if the interval has ended.
    pub fn arrive(&mut self, number: u32, len: u64, delay: Time, now: Time) -> Option<Report> {
        let begun = *self.begun.get_or_insert(now);
        self.highest = self.highest.max(number.wrapping_add(1));
        self.received += 1;
        self.bytes += len;
        self.least = self.least.min(delay);
        self.least_now = self.least_now.min(delay);
        let elapsed = now.since(begun);
        if elapsed < self.every {
            return None;
        }
        let bits = u128::from(self.bytes) * 8 * 1_000_000_000;
        let report = Report {
            expected: u64::from(self.highest - self.expected_from),
            received: self.received,
            rate: Rate((bits / u128::from(elapsed.ns().max(1))) as u64),
            queue_delay: self.least_now.since(self.least),
        };
        (self.received, self.bytes, self.least_now) = (0, 0, Time::NEVER);
        self.expected_from = self.highest;
        self.begun = Some(now);
        Some(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_what_arrived_since_the_last_one() {
        let ms = Time::from_ms;
        let mut reporter = Reporter::new(ms(200));
        // The source sends 1000 bytes every 50 ms. Datagram 2 is lost. Datagrams 4 and 5 wait in a
        // queue.
        assert_eq!(reporter.arrive(0, 1_000, ms(20), ms(0)), None);
        assert_eq!(reporter.arrive(1, 1_000, ms(20), ms(50)), None);
        assert_eq!(reporter.arrive(3, 1_000, ms(25), ms(150)), None);
        let report = reporter.arrive(4, 1_000, ms(50), ms(200));
        let first = Report {
            expected: 5,
            received: 4,
            rate: Rate(160_000),
            queue_delay: Time::ZERO,
        };
        assert_eq!(report, Some(first));
        let report = reporter.arrive(5, 1_000, ms(53), ms(450));
        let second = Report {
            expected: 1,
            received: 1,
            rate: Rate(32_000),
            queue_delay: ms(33),
        };
        assert_eq!(report, Some(second));
    }
}
