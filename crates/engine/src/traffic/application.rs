//! An application that limits the rate of its flow. The application determines when data is
//! written, and how much.
//!
//! Like a traffic source, an application is a state machine without side effects. The guest of the
//! kernel engine uses the same code. An application never blocks. If TCP cannot send data yet, the
//! data waits in the socket and is sent later.
//!
//! Data that would be due in a pause is never written. An application that writes at a rate
//! restarts its schedule at the end of the pause. Chunks keep their planned times.

use crate::units::{Rate, Time};

/// What the caller must do after a call of [`Application::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Pass this many bytes to TCP now.
    Write(u64),
    /// Send nothing until [`Act::Resume`]. Data that was written before must wait, too. Only
    /// applications with [`Writes::Greedy`] return this act.
    Hold,
    /// Send data again after [`Act::Hold`].
    Resume,
    /// Write no more data. TCP still sends data that was written before.
    Close,
    /// Call [`Application::next`] again at this time. If the receiver requests a chunk before this
    /// time, call the function at the request.
    Wait(Time),
}

/// When an application writes, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// The application writes as much as TCP accepts.
    Greedy,
    /// The application writes one segment at a time, at this rate.
    Rate {
        /// Rate of payload.
        rate: Rate,
        /// Payload of a segment, in bytes.
        segment: u64,
        /// Total payload, in bytes. `None` means no limit.
        bytes: Option<u64>,
    },
    /// The application writes chunks at equal intervals.
    Every {
        /// Payload of a chunk, in bytes.
        bytes: u64,
        /// Time from the start of one chunk to the start of the next.
        every: Time,
        /// Number of chunks. `None` means no limit.
        count: Option<u64>,
    },
    /// The application writes one chunk at the start, and then one for each request of the
    /// receiver.
    Asked {
        /// Payload of a chunk, in bytes.
        bytes: u64,
        /// Number of chunks. `None` means no limit.
        count: Option<u64>,
    },
}

/// The shortest time between two writes. At higher rates, a single write has several segments.
const FINEST: Time = Time::from_us(1);

impl Writes {
    /// Returns writes at this rate, with `mss` payload bytes each.
    pub fn rate(rate: Rate, mss: u64, bytes: Option<u64>) -> Writes {
        Writes::Rate {
            rate,
            segment: mss * rate.bytes_in(FINEST).div_ceil(mss).max(1),
            bytes,
        }
    }
}

/// The state of an application.
#[derive(Clone, Debug)]
pub struct Application {
    writes: Writes,
    /// Start and end of each pause that is not over yet, in ascending order.
    pauses: std::vec::IntoIter<[Time; 2]>,
    paused: bool,
    /// Time from which the writes are scheduled: the start or, with [`Writes::Rate`], the end of
    /// the last pause. `None` means that the next call sets this time.
    begin: Option<Time>,
    /// How many bytes (with [`Writes::Rate`]) or chunks have been written since `begin`.
    written: u64,
    /// How many bytes or chunks have been written in total.
    total: u64,
    asked: u64,
    closed: bool,
}

impl Application {
    /// Creates an application that does not write during `pauses`. The application starts at the
    /// first call of [`Application::next`].
    pub fn new(writes: Writes, pauses: Vec<[Time; 2]>) -> Application {
        Application {
            writes,
            pauses: pauses.into_iter(),
            paused: false,
            begin: None,
            written: 0,
            total: 0,
            asked: 1,
            closed: false,
        }
    }

    /// Returns whether the application writes as much as TCP accepts.
    pub fn is_greedy(&self) -> bool {
        self.writes == Writes::Greedy
    }

    /// Records that the receiver has requested the chunk with this number. Chunks are counted from
    /// 1. Returns whether the chunk is requested for the first time.
    pub fn ask(&mut self, number: u64) -> bool {
        let new = number > self.asked;
        self.asked = self.asked.max(number);
        new
    }

    /// Returns what the caller must do at `now`. After every act except a wait, the caller must
    /// call this function again at once.
    pub fn next(&mut self, now: Time) -> Act {
        let from = loop {
            let Some(&[from, to]) = self.pauses.as_slice().first() else {
                break Time::NEVER;
            };
            if now < from {
                break from;
            }
            if now < to {
                if !self.paused {
                    self.paused = true;
                    if self.is_greedy() {
                        return Act::Hold;
                    }
                }
                return Act::Wait(to);
            }
            self.pauses.next();
            if std::mem::take(&mut self.paused) {
                self.skip_to(to);
                if self.is_greedy() {
                    return Act::Resume;
                }
            }
        };
        match self.due(now) {
            Some((due, bytes)) if due <= now => {
                self.count(bytes);
                Act::Write(bytes)
            }
            Some((due, _)) => Act::Wait(due.min(from)),
            None if self.is_greedy() || self.closed => Act::Wait(from),
            None => {
                self.closed = true;
                Act::Close
            }
        }
    }

    /// Returns when the application writes next and how many bytes it writes. Returns `None` if it
    /// writes no more data.
    fn due(&mut self, now: Time) -> Option<(Time, u64)> {
        let begin = *self.begin.get_or_insert(now);
        match self.writes {
            Writes::Greedy => None,
            Writes::Rate {
                rate,
                segment,
                bytes,
            } => {
                let left = bytes.map_or(segment, |bytes| bytes - self.total);
                let next = begin + rate.time_for(self.written);
                (left > 0).then(|| (next, segment.min(left)))
            }
            Writes::Every {
                bytes,
                every,
                count,
            } => {
                let next = Time(
                    begin
                        .ns()
                        .saturating_add(every.ns().saturating_mul(self.written)),
                );
                (count != Some(self.total)).then_some((next, bytes))
            }
            Writes::Asked { bytes, count } => {
                let due = if self.total < self.asked {
                    now
                } else {
                    Time::NEVER
                };
                (count != Some(self.total)).then_some((due, bytes))
            }
        }
    }

    fn count(&mut self, bytes: u64) {
        let units = match self.writes {
            Writes::Rate { .. } => bytes,
            _ => 1,
        };
        self.written += units;
        self.total += units;
    }

    /// Skips the data that would have been due in the pause that ends at `now`.
    fn skip_to(&mut self, now: Time) {
        match (self.writes, self.begin) {
            (Writes::Rate { .. }, Some(_)) => {
                self.begin = Some(now);
                self.written = 0;
            }
            (Writes::Every { every, .. }, Some(begin)) => {
                let passed = now.since(begin).ns().div_ceil(every.ns());
                self.written = self.written.max(passed);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns every act of an application until `end_ms`, with its time in ms.
    fn acts(application: &mut Application, end_ms: u64) -> Vec<(u64, Act)> {
        let (mut now, mut all) = (Time::ZERO, Vec::new());
        while now < Time::from_ms(end_ms) {
            match application.next(now) {
                Act::Wait(until) => {
                    assert!(until > now, "{until:?} at {now:?}");
                    now = until;
                }
                act => all.push((now.ns() / MS, act)),
            }
        }
        all
    }

    /// The rate is 1000 bytes per ms. The last segment may be shorter than the others.
    #[test]
    fn a_rate_is_kept_segment_by_segment() {
        let writes = Writes::Rate {
            rate: Rate(8_000_000),
            segment: 1000,
            bytes: Some(3500),
        };
        let mut application = Application::new(writes, Vec::new());
        let expected = [
            (0, Act::Write(1000)),
            (1, Act::Write(1000)),
            (2, Act::Write(1000)),
            (3, Act::Write(500)),
            (3, Act::Close),
        ];
        assert_eq!(acts(&mut application, 100), expected);
    }

    #[test]
    fn what_is_due_in_a_pause_is_not_made_up_for() {
        let ms = Time::from_ms;
        let pauses = || vec![[ms(3), ms(6)], [ms(6), ms(7)]];
        let writes = Writes::Rate {
            rate: Rate(8_000_000),
            segment: 1000,
            bytes: None,
        };
        let times = |writes, pauses| -> Vec<u64> {
            let all = acts(&mut Application::new(writes, pauses), 10);
            all.into_iter().map(|(at, _)| at).collect()
        };
        assert_eq!(times(writes, pauses()), [0, 1, 2, 7, 8, 9]);
        // Chunks are due at 0, 2, 4, 6 and 8 ms. The pause covers the chunks at 4 and 6 ms.
        let every = Writes::Every {
            bytes: 10,
            every: ms(2),
            count: None,
        };
        assert_eq!(times(every, pauses()), [0, 2, 8]);
    }

    #[test]
    fn a_greedy_application_is_held_and_resumed() {
        let ms = Time::from_ms;
        let pauses = vec![[ms(0), ms(4)], [ms(10), ms(12)], [ms(12), ms(13)]];
        let mut application = Application::new(Writes::Greedy, pauses);
        let expected = [
            (0, Act::Hold),
            (4, Act::Resume),
            (10, Act::Hold),
            (12, Act::Resume),
            (12, Act::Hold),
            (13, Act::Resume),
        ];
        let mut now = Time::ZERO;
        let mut all = Vec::new();
        loop {
            match application.next(now) {
                Act::Wait(Time::NEVER) => break,
                Act::Wait(until) => now = until,
                act => all.push((now.ns() / MS, act)),
            }
        }
        assert_eq!(all, expected);
    }

    #[test]
    fn chunks_are_answers() {
        let ms = Time::from_ms;
        let writes = Writes::Asked {
            bytes: 7,
            count: Some(3),
        };
        let mut application = Application::new(writes, vec![[ms(5), ms(8)]]);
        assert_eq!(application.next(ms(1)), Act::Write(7), "the first at once");
        assert_eq!(application.next(ms(1)), Act::Wait(ms(5)));
        assert!(application.ask(2));
        assert!(!application.ask(2), "a request that was sent again");
        assert_eq!(application.next(ms(6)), Act::Wait(ms(8)), "paused");
        assert_eq!(application.next(ms(8)), Act::Write(7));
        assert_eq!(application.next(ms(8)), Act::Wait(Time::NEVER));
        application.ask(3);
        assert_eq!(application.next(ms(9)), Act::Write(7));
        assert_eq!(application.next(ms(9)), Act::Close);
        assert_eq!(application.next(ms(9)), Act::Wait(Time::NEVER));
    }
}
