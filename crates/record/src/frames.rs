//! Measures two kinds of frames: frames of media, and requests with echoes (pings). A frame has a
//! number and consists of one or more datagrams. A frame is complete when all its datagrams have
//! arrived.
//!
//! A ping counts as a frame of one datagram, which is complete when its echo arrives.
//!
//! | word | meaning |
//! |---|---|
//! | delay | from capture to the arrival of the last missing datagram |
//! | late | not complete at the deadline; lost frames are also late |
//! | lost | not complete at the end, and a later frame is complete or 10 s have passed |
//! | playable | complete, and all frames since the last key frame are also complete |
//! | stall | no playable frame for longer than max(3 frame intervals, 1 frame interval + 150 ms), as in `freezeCount` of the W3C's webrtc-stats |
//!
//! Frames are played in order, and each frame is played as soon as it is playable. Only frames
//! captured after the warm-up are counted.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Time after which an incomplete frame counts as lost, in ns.
const GIVEN_UP_NS: u64 = 10_000_000_000;
/// A gap between two playable frames is a stall if it exceeds two limits. The first limit is the
/// frame interval plus this time (in ns). The second limit is three frame intervals.
const STALL_NS: u64 = 150_000_000;

/// Parameters that determine which frames are late or playable, and when a stall occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRules {
    /// Nominal time between two frames, in ns.
    pub interval_ns: u64,
    /// Time from the capture of a frame to its deadline, in ns. A frame is late if it is not
    /// complete at its deadline.
    pub deadline_ns: u64,
    /// Number of frames from one key frame to the next. If this number is 0, no frame depends on
    /// another frame.
    pub group: u64,
}

/// A frame that is not settled. A frame is not settled if it or an earlier frame may still become
/// complete or lost.
#[derive(Clone, Debug)]
struct Frame {
    captured_ns: u64,
    complete_ns: Option<u64>,
    /// Number of datagrams that have not arrived.
    left: u32,
    /// Bit mask of the first 64 datagrams that have arrived.
    seen: u64,
    /// Bit masks of the further datagrams that have arrived.
    more: Vec<u64>,
}

/// Measures the frames of one traffic source.
#[derive(Clone, Debug)]
pub struct Frames {
    rules: FrameRules,
    warmup_ns: u64,
    /// Number of the first frame that is not settled.
    first: u64,
    frames: VecDeque<Frame>,
    /// Whether the next frame can be played, assuming that it depends on the previous frame.
    playable: bool,
    /// When the latest playable frame was played. Before the first playable frame, the time at
    /// which the first frame was captured.
    played_ns: Option<u64>,
    out: FrameOutcome,
}

/// The measurements of the frames of a source.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FrameOutcome {
    /// Number of frames captured.
    pub sent: u64,
    /// Number of frames that are complete.
    pub complete: u64,
    /// Number of frames that are lost.
    pub lost: u64,
    /// Number of frames whose deadline passed before the end of the run.
    pub judged: u64,
    /// Number of the frames in `judged` that were not complete at their deadline.
    pub late: u64,
    /// Delays of complete frames, in ns.
    pub delay: Histogram,
    /// Number of stalls.
    pub stalls: u64,
    /// Total time of all stalls, in ns. A stall lasts from one playable frame to the next.
    pub stalled_ns: u64,
    /// The longest stall, in ns.
    pub longest_stall_ns: u64,
    /// Bytes of audio or video that were captured, without headers.
    pub media_bytes: u64,
}

impl FrameRules {
    /// Parameters for requests with echoes, which are never late.
    pub const REQUESTS: FrameRules = FrameRules {
        interval_ns: 0,
        deadline_ns: u64::MAX >> 1,
        group: 0,
    };

    /// Returns the longest gap between two playable frames that does not count as a stall, in ns.
    fn longest_gap_ns(&self) -> u64 {
        (3 * self.interval_ns).max(self.interval_ns + STALL_NS)
    }
}

impl Frames {
    /// Creates a measurement that counts the frames captured at or after the warm-up.
    pub fn new(rules: FrameRules, warmup_ns: u64) -> Frames {
        Frames {
            rules,
            warmup_ns,
            first: 0,
            frames: VecDeque::new(),
            playable: true,
            played_ns: None,
            out: FrameOutcome::default(),
        }
    }

    /// Records the capture of a frame with the given number of datagrams and bytes of media.
    /// Returns the frame's number.
    pub fn capture(&mut self, datagrams: u32, media_bytes: u64, now_ns: u64) -> u64 {
        while let Some(front) = self.frames.front()
            && (front.complete_ns.is_some() || front.captured_ns + GIVEN_UP_NS <= now_ns)
        {
            self.settle(true, u64::MAX);
        }
        if now_ns >= self.warmup_ns {
            self.out.sent += 1;
            self.out.media_bytes += media_bytes;
        }
        self.played_ns.get_or_insert(now_ns);
        self.frames.push_back(Frame {
            captured_ns: now_ns,
            complete_ns: None,
            left: datagrams,
            seen: 0,
            more: vec![0; (datagrams.saturating_sub(1) / 64) as usize],
        });
        self.first + self.frames.len() as u64 - 1
    }

    /// Records that datagram `place` of frame `number` arrived. Returns whether the frame is now
    /// complete.
    pub fn arrive(&mut self, number: u64, place: u32, now_ns: u64) -> bool {
        let Some(place_of_frame) = number.checked_sub(self.first) else {
            return false;
        };
        let Some(frame) = self.frames.get_mut(place_of_frame as usize) else {
            return false;
        };
        let bits = match (place / 64) as usize {
            0 => &mut frame.seen,
            word if word <= frame.more.len() => &mut frame.more[word - 1],
            _ => return false,
        };
        let bit = 1 << (place % 64);
        if *bits & bit != 0 {
            return false;
        }
        *bits |= bit;
        frame.left = frame.left.saturating_sub(1);
        if frame.left > 0 {
            return false;
        }
        frame.complete_ns = Some(now_ns);
        true
    }

    /// Returns the number of the first frame that is not settled.
    pub fn first_open(&self) -> u64 {
        self.first
    }

    /// Returns when a frame was captured, or `None` if the frame is settled.
    pub fn captured_ns(&self, number: u64) -> Option<u64> {
        let place = number.checked_sub(self.first)?;
        Some(self.frames.get(place as usize)?.captured_ns)
    }

    /// Counts the first unsettled frame, and removes this frame from the list. If `lost` is true,
    /// an incomplete frame counts as lost. If the deadline is after `end_ns`, the frame counts
    /// neither as late nor as on time.
    fn settle(&mut self, lost: bool, end_ns: u64) {
        let Some(frame) = self.frames.pop_front() else {
            return;
        };
        let number = self.first;
        self.first += 1;
        let measured = frame.captured_ns >= self.warmup_ns;
        let delay = frame
            .complete_ns
            .map(|at| at.saturating_sub(frame.captured_ns));
        let out = &mut self.out;
        if measured {
            out.complete += u64::from(delay.is_some());
            out.lost += u64::from(lost && delay.is_none());
            if let Some(delay) = delay {
                out.delay.record(delay);
            }
            if frame.captured_ns.saturating_add(self.rules.deadline_ns) <= end_ns {
                let in_time = delay.is_some_and(|delay| delay <= self.rules.deadline_ns);
                out.judged += 1;
                out.late += u64::from(!in_time);
            }
        }
        let group = self.rules.group;
        if group == 0 || number.is_multiple_of(group) {
            self.playable = true;
        }
        self.playable &= frame.complete_ns.is_some();
        if let Some(at) = frame.complete_ns.filter(|_| self.playable) {
            self.play(at);
        }
    }

    fn play(&mut self, at_ns: u64) {
        let last = self.played_ns.unwrap_or(at_ns);
        let gap = at_ns.saturating_sub(last.max(self.warmup_ns));
        if gap > self.rules.longest_gap_ns() {
            self.out.stalls += 1;
            self.out.stalled_ns += gap;
            self.out.longest_stall_ns = self.out.longest_stall_ns.max(gap);
        }
        self.played_ns = Some(last.max(at_ns));
    }

    /// Returns the measurements at the end of the run. The source captures no frame after
    /// `stop_ns`.
    pub fn finish(mut self, end_ns: u64, stop_ns: u64) -> FrameOutcome {
        let complete = self.frames.iter().rposition(|f| f.complete_ns.is_some());
        let before_last = complete.unwrap_or(0);
        for place in 0..self.frames.len() {
            let old = self.frames[0].captured_ns + GIVEN_UP_NS <= end_ns;
            self.settle(place < before_last || old, end_ns);
        }
        if self.played_ns.is_some() {
            self.play(end_ns.min(stop_ns));
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn rules(group: u64) -> FrameRules {
        FrameRules {
            interval_ns: 40 * MS,
            deadline_ns: 100 * MS,
            group,
        }
    }

    /// Captures a frame of two datagrams every 40 ms. `arrivals` contains the delays of the second
    /// datagrams, in ms.
    fn played(group: u64, arrivals: &[Option<u64>]) -> FrameOutcome {
        let mut frames = Frames::new(rules(group), 0);
        for (i, delay) in (0..).zip(arrivals) {
            let now = i * 40 * MS;
            assert_eq!(frames.capture(2, 1_000, now), i);
            assert!(!frames.arrive(i, 0, now + 5 * MS));
            assert!(!frames.arrive(i, 0, now + 5 * MS), "a copy");
            if let Some(delay) = delay {
                assert!(frames.arrive(i, 1, now + delay * MS));
            }
        }
        let end = arrivals.len() as u64 * 40 * MS + 200 * MS;
        frames.finish(end, arrivals.len() as u64 * 40 * MS)
    }

    #[test]
    fn a_frame_is_complete_with_its_last_datagram() {
        let out = played(0, &[Some(10), Some(100), Some(101), Some(10), Some(10)]);
        assert_eq!((out.sent, out.complete, out.lost), (5, 5, 0));
        assert_eq!((out.judged, out.late, out.stalls), (5, 1, 0));
        assert_eq!(out.delay.max(), Some(101 * MS));
        assert_eq!(out.media_bytes, 5_000);
    }

    #[test]
    fn a_lost_frame_stalls_until_the_next_key_frame() {
        let mut arrivals = [Some(10); 20];
        arrivals[3] = None;
        let alone = played(0, &arrivals);
        assert_eq!((alone.complete, alone.lost, alone.stalls), (19, 1, 0));
        // Frames 4 to 9 depend on frame 3, so they are not played. Frame 2 plays at 90 ms, and key
        // frame 10 at 410 ms.
        let chained = played(10, &arrivals);
        assert_eq!((chained.complete, chained.lost, chained.late), (19, 1, 1));
        assert_eq!((chained.stalls, chained.stalled_ns), (1, 320 * MS));
        assert_eq!(chained.longest_stall_ns, 320 * MS);
    }

    #[test]
    fn what_is_under_way_at_the_end_is_not_lost() {
        let mut frames = Frames::new(rules(0), 40 * MS);
        for i in 0..4 {
            frames.capture(1, 1, i * 40 * MS);
        }
        frames.arrive(2, 0, 90 * MS);
        let out = frames.finish(190 * MS, 190 * MS);
        // The first frame is in the warm-up. The last two frames are incomplete but not lost. The
        // deadline of one of these two frames has passed.
        assert_eq!((out.sent, out.complete, out.lost), (3, 1, 1));
        assert_eq!((out.judged, out.late), (2, 1));
    }

    #[test]
    fn many_datagrams_have_a_bit_each() {
        let mut frames = Frames::new(rules(0), 0);
        frames.capture(130, 1, 0);
        for place in 0..129 {
            assert!(!frames.arrive(0, place, MS));
        }
        assert!(!frames.arrive(0, 7, MS) && !frames.arrive(0, 128, MS));
        assert!(!frames.arrive(0, 192, MS), "no place of this frame");
        assert!(frames.arrive(0, 129, 2 * MS));
        assert_eq!(frames.finish(MS, MS).delay.max(), Some(2 * MS));
    }
}
