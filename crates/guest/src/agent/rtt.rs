//! Measures round-trip times from captures. An ACK provides a sample if it newly acknowledges data
//! that was sent only once. The sample is the RTT of the newest segment that contains such data, as
//! in the simulator and in Linux (`tcp_clean_rtx_queue`).

use std::collections::VecDeque;

use super::frame::Sack;

#[derive(Clone, Copy, Debug)]
struct Segment {
    seq: u32,
    end: u32,
    sent_ns: u64,
    /// When the segment was first retransmitted, in ns.
    again_ns: u64,
    sacked: bool,
}

#[derive(Debug, Default)]
pub struct RttTracker {
    segments: VecDeque<Segment>,
    started: bool,
    /// Sequence number after the newest segment.
    next: u32,
}

fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl RttTracker {
    pub fn sent(&mut self, seq: u32, payload: u32, at_ns: u64) {
        let end = seq.wrapping_add(payload);
        if self.started && before(seq, self.next) {
            // This segment is a retransmission, so mark every segment that it covers as sent twice.
            let from = self.segments.partition_point(|s| !before(seq, s.end));
            for segment in self.segments.range_mut(from..) {
                if !before(segment.seq, end) {
                    break;
                }
                segment.again_ns = segment.again_ns.min(at_ns);
            }
            return;
        }
        self.started = true;
        self.next = end;
        self.segments.push_back(Segment {
            seq,
            end,
            sent_ns: at_ns,
            again_ns: u64::MAX,
            sacked: false,
        });
    }

    /// Records that an ACK has reached the sender. Returns the RTT if the ACK newly acknowledges
    /// data that was sent only once.
    pub fn acknowledged(&mut self, ack: u32, sack: &Sack, at_ns: u64) -> Option<u64> {
        let (mut acked, mut sacked, mut again) = (None, None, false);
        while let Some(segment) = self.segments.front().copied() {
            if before(ack, segment.end) {
                break;
            }
            self.segments.pop_front();
            if segment.again_ns <= at_ns {
                again = true;
            } else if !segment.sacked {
                acked = Some(segment.sent_ns);
            }
        }
        for &(from, to) in sack.iter().filter(|b| b.0 != b.1) {
            let first = self.segments.partition_point(|s| before(s.seq, from));
            for segment in self.segments.range_mut(first..) {
                if before(to, segment.end) {
                    break;
                }
                if !segment.sacked {
                    segment.sacked = true;
                    if segment.again_ns > at_ns {
                        sacked = sacked.max(Some(segment.sent_ns));
                    }
                }
            }
        }
        let sent = sacked.or(acked.filter(|_| !again))?;
        at_ns.checked_sub(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Sack = [(0, 0); 4];

    #[test]
    fn the_newest_segment_an_ack_covers() {
        let mut rtt = RttTracker::default();
        (0..4).for_each(|i| rtt.sent(i * 100, 100, u64::from(i)));
        assert_eq!(rtt.acknowledged(200, &NONE, 51), Some(50));
        assert_eq!(rtt.acknowledged(200, &NONE, 52), None, "nothing new");
        assert_eq!(rtt.acknowledged(400, &NONE, 60), Some(57));
    }

    #[test]
    fn what_was_sent_twice_gives_no_sample() {
        let mut rtt = RttTracker::default();
        (0..4).for_each(|i| rtt.sent(i * 100, 100, u64::from(i)));
        rtt.sent(0, 100, 40);
        assert_eq!(
            rtt.acknowledged(0, &[(100, 300), (0, 0), (0, 0), (0, 0)], 50),
            Some(48)
        );
        assert_eq!(rtt.acknowledged(300, &NONE, 90), None);
        assert_eq!(rtt.acknowledged(400, &NONE, 91), Some(88));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut rtt = RttTracker::default();
        rtt.sent(u32::MAX - 99, 100, 5);
        rtt.sent(0, 100, 6);
        assert_eq!(rtt.acknowledged(100, &NONE, 30), Some(24));
    }
}
