//! Link rates that may change over time, and how long a link needs to send a number of bytes.

use std::sync::Arc;

use crate::units::{Rate, Time};

/// Number of bytes that one delivery opportunity of a trace can carry (Mahimahi).
pub(crate) const OPPORTUNITY: u32 = 1504;

/// A rate over time.
#[derive(Clone, Debug, PartialEq)]
pub enum RatePlan {
    /// The rate never changes.
    Constant(Rate),
    /// Rate steps: each entry is a time and the rate that applies from this time on. Times ascend
    /// from 0. A rate of 0 stops the link.
    Steps(Vec<(Time, Rate)>),
    /// The times of delivery opportunities of 1504 bytes each (Mahimahi), in ascending order. The
    /// list repeats after the last opportunity. The list may have millions of entries, so copies of
    /// the plan share it.
    Trace(Arc<[Time]>),
}

impl Default for RatePlan {
    fn default() -> RatePlan {
        RatePlan::Constant(Rate(1_000_000))
    }
}

impl RatePlan {
    /// Returns the rate that is passed to congestion controls and queues. The result is the rate of
    /// the first step, or the mean rate of the trace.
    pub fn nominal(&self) -> Rate {
        match self {
            RatePlan::Constant(rate) => *rate,
            RatePlan::Steps(steps) => steps.first().map_or(Rate(0), |s| s.1),
            RatePlan::Trace(times) => {
                let span = times.last().map_or(1, |t| t.0.max(1));
                let bits = times.len() as u128 * 1504 * 8 * 1_000_000_000;
                Rate((bits / u128::from(span)) as u64)
            }
        }
    }

    /// Returns the lowest rate above 0 of all steps, or 0 if no step is above 0. Without steps,
    /// returns [`RatePlan::nominal`].
    pub fn lowest(&self) -> Rate {
        match self {
            RatePlan::Steps(steps) => {
                let rates = steps.iter().map(|step| step.1).filter(|rate| rate.0 > 0);
                rates.min().unwrap_or_default()
            }
            other => other.nominal(),
        }
    }

    /// Returns how many bytes a link of this rate can carry between two times.
    pub fn capacity_bytes(&self, from: Time, to: Time) -> f64 {
        let bits = |rate: Rate, time: Time| rate.0 as f64 * time.as_secs_f64() / 8.0;
        match self {
            RatePlan::Constant(rate) => bits(*rate, to.since(from)),
            RatePlan::Steps(steps) => steps
                .iter()
                .enumerate()
                .map(|(i, (start, rate))| {
                    let end = steps.get(i + 1).map_or(to, |next| next.0.min(to));
                    bits(*rate, end.since((*start).max(from)))
                })
                .sum(),
            RatePlan::Trace(times) => {
                let n = opportunities_until(times, to);
                n.saturating_sub(opportunities_until(times, from)) as f64 * f64::from(OPPORTUNITY)
            }
        }
    }
}

/// Returns the time after which a trace repeats, in ns.
fn period(times: &[Time]) -> u64 {
    times.last().map_or(1, |t| t.0.max(1))
}

/// Returns how many delivery opportunities of a repeating trace occur up to and including a time.
pub(crate) fn opportunities_until(times: &[Time], until: Time) -> u64 {
    let period = period(times);
    let whole = until.0 / period * times.len() as u64;
    whole + times.partition_point(|t| t.0 <= until.0 % period) as u64
}

/// Returns the time of the n-th opportunity of a repeating trace.
pub(crate) fn opportunity_time(times: &[Time], n: u64) -> Time {
    let period = period(times);
    let len = times.len().max(1) as u64;
    Time(n / len * period) + times.get((n % len) as usize).copied().unwrap_or(Time(1))
}

/// Index of the step that a link's rate has reached. There may be millions of steps. But time never
/// goes back, so the cursor only moves forward.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor(usize);

impl Cursor {
    /// Returns the step at a time, which must not be earlier than in the last call.
    #[inline]
    pub fn at(&mut self, steps: &[(Time, Rate)], now: Time) -> usize {
        while let Some(next) = steps.get(self.0 + 1)
            && next.0 <= now
        {
            self.0 += 1;
        }
        self.0
    }
}

/// The transmission of a frame begins now, in the step `index`. Returns when it ends.
pub(crate) fn steps_end(steps: &[(Time, Rate)], index: usize, now: Time, len: u32) -> Time {
    steps_end_bits(steps, index, now, u128::from(len) * 8 * 1_000_000_000)
}

/// Returns when the remaining bits of a frame have been sent. `left` is the number of these bits,
/// multiplied by 10^9. The result is exact.
pub(crate) fn steps_end_bits(
    steps: &[(Time, Rate)],
    mut index: usize,
    now: Time,
    mut left: u128,
) -> Time {
    let mut at = now;
    loop {
        let rate = u128::from(steps[index].1.0);
        let end = steps.get(index + 1).map(|s| s.0);
        match end {
            Some(end) if rate * u128::from((end - at).0) < left => {
                left -= rate * u128::from((end - at).0);
                at = end;
                index += 1;
            }
            _ if rate == 0 => return Time::NEVER,
            _ => return at + Time(left.div_ceil(rate) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_spans_steps_of_the_rate() {
        let steps = [
            (Time(0), Rate(8_000)),
            (Time::from_secs(1), Rate(0)),
            (Time::from_secs(2), Rate(4_000)),
        ];
        // At 8 kbit/s, 1000 bytes take the whole first second.
        let steps_end = |steps: &[(Time, Rate)], now, len| {
            let index = Cursor::default().at(steps, now);
            super::steps_end(steps, index, now, len)
        };
        assert_eq!(steps_end(&steps, Time(0), 1000), Time::from_secs(1));
        // The link sends half of the frame in the first second, nothing in the next second, and the
        // other half at 4 kbit/s.
        assert_eq!(
            steps_end(&steps, Time::from_ms(500), 1000),
            Time::from_secs(3)
        );
        assert_eq!(
            steps_end(&steps[..2], Time::from_ms(500), 1000),
            Time::NEVER
        );
    }

    #[test]
    fn a_link_carries_what_its_steps_allow() {
        let steps = vec![
            (Time(0), Rate(8_000_000)),
            (Time(500), Rate(16_000_000)),
            (Time(2_000), Rate(0)),
        ];
        let rate = RatePlan::Steps(steps);
        // The link sends for 400 ns at 1 B/us, and for 500 ns at 2 B/us.
        let carried = |from, to| rate.capacity_bytes(Time(from), Time(to));
        assert!((carried(100, 1_000) - 1.4).abs() < 1e-9);
        assert!((carried(600, 700) - 0.2).abs() < 1e-9);
        assert!((carried(1_900, 9_000) - 0.2).abs() < 1e-9);
        assert_eq!(carried(2_000, 9_000), 0.0);
    }

    #[test]
    fn a_trace_repeats_after_its_last_opportunity() {
        let times = [Time::from_ms(1), Time::from_ms(1), Time::from_ms(5)];
        let at: Vec<u64> = (0..7)
            .map(|n| opportunity_time(&times, n).0 / 1_000_000)
            .collect();
        assert_eq!(at, [1, 1, 5, 6, 6, 10, 11]);
    }

    #[test]
    fn opportunities_are_counted_without_walking_them() {
        let traces: [&[u64]; 5] = [&[1, 1, 5], &[0, 0, 3], &[4], &[0], &[0, 1, 1, 2, 7, 7]];
        for trace in traces {
            let times: Vec<Time> = trace.iter().map(|ns| Time(*ns)).collect();
            for until in (0..40).map(Time) {
                let walked = (0..).take_while(|n| opportunity_time(&times, *n) <= until);
                let counted = opportunities_until(&times, until);
                assert_eq!(walked.count() as u64, counted, "{trace:?} until {until}");
            }
        }
    }
}
