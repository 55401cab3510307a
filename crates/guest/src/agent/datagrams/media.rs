//! Handles the frames of a media source, and the reports of its receiving end.
//!
//! A media datagram begins with three numbers in place of the 12 bytes of an RTP header. The first
//! is the number of the datagram, the second the number of its frame, and the third its position in
//! the frame. A datagram does not contain the time at which it was sent. The agent runs both ends,
//! so it looks up the sending time by the datagram's number.

use tailback_engine::traffic::datagram::MEDIA_HEADERS;
use tailback_engine::traffic::reports::Reporter;
use tailback_engine::traffic::{Datagrams, Report, Role};
use tailback_engine::units::{Rate, Time};
use tailback_record::{FrameOutcome, Frames};

/// Length of the three numbers, in bytes.
pub const NUMBERS: usize = 12;

/// Payload of a report, in bytes. With its headers, a report has 98 bytes, as in the simulator.
pub const REPORT: usize = 98 - super::DATAGRAM_HEADERS as usize;

/// The state of a media source and its receiving end.
pub struct Media {
    frames: Frames,
    /// When each frame was captured, in ns.
    captured_ns: Vec<u64>,
    /// Largest number of media bytes in a datagram.
    room: u32,
    reporter: Option<Reporter>,
}

/// A datagram of a frame, before it is sent.
pub struct Part {
    pub frame: u32,
    /// Position of the datagram in its frame.
    pub place: u32,
    /// Payload, including the three numbers, in bytes.
    pub payload: usize,
}

pub struct Arrived {
    /// When the datagram was sent, in ns.
    pub sent_ns: u64,
    /// The report to send, if one is due.
    pub report: Option<Report>,
}

impl Media {
    pub fn of(datagrams: &Datagrams, warmup_ns: u64) -> Option<Media> {
        let Role::Frames { rules, report, .. } = datagrams.role else {
            return None;
        };
        Some(Media {
            frames: Frames::new(rules, warmup_ns),
            captured_ns: Vec::new(),
            room: u32::from(datagrams.len - MEDIA_HEADERS),
            reporter: report.map(Reporter::new),
        })
    }

    pub fn reports(&self) -> bool {
        self.reporter.is_some()
    }

    /// Records that the source captures and sends a frame now. Returns its datagrams.
    pub fn capture(&mut self, bytes: u32, now_ns: u64) -> impl Iterator<Item = Part> + use<> {
        let room = self.room;
        let datagrams = bytes.div_ceil(room).max(1);
        self.captured_ns.push(now_ns);
        let frame = self.frames.capture(datagrams, u64::from(bytes), now_ns) as u32;
        (0..datagrams).map(move |place| Part {
            frame,
            place,
            payload: NUMBERS + (bytes - place * room).min(room) as usize,
        })
    }

    /// Records that a datagram with this payload has arrived. `len` is its length with all headers,
    /// in bytes. Returns `None` if the datagram does not belong to this source.
    pub fn arrive(&mut self, payload: &[u8], len: u64, now_ns: u64) -> Option<Arrived> {
        let [number, frame, place] = read(payload)?;
        let sent_ns = *self.captured_ns.get(frame as usize)?;
        self.frames.arrive(u64::from(frame), place, now_ns);
        let delay = Time(now_ns.saturating_sub(sent_ns));
        let reporter = self.reporter.as_mut();
        let report = reporter.and_then(|r| r.arrive(number, len, delay, Time(now_ns)));
        Some(Arrived { sent_ns, report })
    }

    /// Returns the measurements up to the end of the run. The source captures no frames after
    /// `stop_ns`.
    pub fn outcome(&self, end_ns: u64, stop_ns: u64) -> FrameOutcome {
        self.frames.clone().finish(end_ns, stop_ns)
    }
}

pub fn write(payload: &mut [u8], numbers: [u32; 3]) {
    for (place, number) in payload.chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

fn read(payload: &[u8]) -> Option<[u32; 3]> {
    let [a, b, c, ..] = payload.as_chunks::<4>().0 else {
        return None;
    };
    Some([a, b, c].map(|number| u32::from_be_bytes(*number)))
}

/// Writes a report. In the captures, a report is distinguished from other reports by its number.
pub fn write_report(payload: &mut [u8; REPORT], number: u64, report: &Report) {
    let queue_delay = report.queue_delay.ns();
    let numbers = [
        number,
        report.expected,
        report.received,
        report.rate.0,
        queue_delay,
    ];
    for (place, number) in payload.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

pub fn read_report(payload: &[u8; REPORT]) -> Report {
    let number = |at: usize| u64::from_be_bytes(payload.as_chunks::<8>().0[at]);
    Report {
        expected: number(1),
        received: number(2),
        rate: Rate(number(3)),
        queue_delay: Time(number(4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_engine::packet::Ecn;
    use tailback_record::FrameRules;

    const MS: u64 = 1_000_000;

    fn media(report: Option<Time>) -> Media {
        let datagrams = Datagrams {
            rate: Rate(1_000_000),
            len: 1254,
            ecn: Ecn::NotEct,
            role: Role::Frames {
                rules: FrameRules {
                    interval_ns: 40 * MS,
                    deadline_ns: 100 * MS,
                    group: 0,
                },
                report,
                may_report: true,
            },
        };
        Media::of(&datagrams, 0).unwrap()
    }

    #[test]
    fn a_frame_takes_as_many_datagrams_as_it_needs() {
        let mut media = media(None);
        let parts = |media: &mut Media, bytes, now| -> Vec<(u32, u32, usize)> {
            let parts = media.capture(bytes, now);
            parts.map(|p| (p.frame, p.place, p.payload)).collect()
        };
        assert_eq!(parts(&mut media, 1, 0), [(0, 0, 13)]);
        let whole = parts(&mut media, 2_401, 40 * MS);
        assert_eq!(whole, [(1, 0, 1_212), (1, 1, 1_212), (1, 2, 13)]);
        let mut arrive = |numbers, now| {
            let mut payload = [0; NUMBERS];
            write(&mut payload, numbers);
            media
                .arrive(&payload, 1_254, now)
                .map(|arrived| arrived.sent_ns)
        };
        assert_eq!(arrive([1, 1, 0], 50 * MS), Some(40 * MS));
        assert_eq!(arrive([2, 1, 1], 51 * MS), Some(40 * MS));
        assert_eq!(arrive([3, 1, 2], 63 * MS), Some(40 * MS));
        assert_eq!(arrive([4, 2, 0], 64 * MS), None, "no such frame");
        let out = media.outcome(200 * MS, 200 * MS);
        assert_eq!((out.sent, out.complete, out.lost), (2, 1, 1));
        assert_eq!(out.delay.max(), Some(23 * MS));
        assert_eq!(out.media_bytes, 2_402);
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let mut media = media(Some(Time(200 * MS)));
        assert!(media.reports());
        let mut reported = None;
        for number in 0..6 {
            let now = u64::from(number) * 40 * MS;
            assert_eq!(media.capture(1_000, now).count(), 1);
            let mut payload = [0; NUMBERS];
            write(&mut payload, [number, number, 0]);
            reported = media.arrive(&payload, 1_054, now + 20 * MS).unwrap().report;
        }
        let report = reported.expect("200 ms have passed");
        assert_eq!((report.expected, report.received), (6, 6));
        assert_eq!(report.rate, Rate(6 * 1_054 * 8 * 5));
        let report = Report {
            queue_delay: Time(7),
            ..report
        };
        let mut payload = [0; REPORT];
        write_report(&mut payload, 3, &report);
        assert_eq!(read_report(&payload), report);
        assert!(super::read(&payload[..11]).is_none());
    }
}
