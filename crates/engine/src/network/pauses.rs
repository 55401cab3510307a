//! Pauses of a host. A host that pauses sends nothing. Its packets leave at the end of the pause.

use crate::hosts::Pausing;
use crate::rng::Stream;
use crate::units::Time;

/// The pauses of a host, one after the other. Pipes of the same host draw the same pauses, because
/// the random stream depends on the host only.
pub(super) struct Pauses {
    pausing: &'static Pausing,
    stream: Stream,
    /// When the current or next pause begins, and when it ends.
    begin: Time,
    end: Time,
}

impl Pauses {
    pub fn new(pausing: &'static Pausing, stream: Stream) -> Pauses {
        let mut pauses = Pauses {
            pausing,
            stream,
            begin: Time::ZERO,
            end: Time::ZERO,
        };
        pauses.draw();
        pauses
    }

    /// Returns when a packet leaves that is ready at `at`. Later calls must not have earlier times.
    pub fn leaves(&mut self, at: Time) -> Time {
        while self.end <= at {
            self.draw();
        }
        if self.begin <= at { self.end } else { at }
    }

    fn draw(&mut self) {
        let [least, most] = self.pausing.length;
        let gap = self.stream.exponential() * self.pausing.gap.ns() as f64;
        let span = most.since(least).ns();
        self.begin = self.end + Time(gap as u64);
        // A pause is at least as long as the shortest one, so the loop of `leaves` ends.
        self.end = self.begin + least + Time(self.stream.below(span + 1));
    }
}
