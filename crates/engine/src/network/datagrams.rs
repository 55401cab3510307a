//! The receiving ends of datagram sources. A receiving end echoes datagrams, assembles frames, and
//! reports to the source which datagrams have arrived.
//!
//! The two ends of a source are stored together, so a datagram needs to carry only numbers. A
//! datagram carries the number of its frame or request, its index in the frame, and its own number.
//! The content of a report is not in its datagram. This module stores the content under the number
//! of the datagram.

use std::collections::VecDeque;

use tailback_record::{EchoOutcome, FrameOutcome, FrameRules, Frames, Histogram};

use super::Network;
use super::connections::End;
use crate::packet::{Ecn, Packet, Sack, flags};
use crate::plan::TrafficPlan;
use crate::registry::find;
use crate::traffic::datagram::MEDIA_HEADERS;
use crate::traffic::reports::Reporter;
use crate::traffic::{self, Report, Role, Transport};
use crate::units::Time;

const REPORT_LEN: u16 = 98;

/// What the receiving end of a source does with datagrams.
#[derive(Default)]
pub(super) enum Far {
    /// The receiver only counts datagrams.
    #[default]
    Sink,
    Echo(Box<Echoes>),
    Media(Box<Media>),
}

pub(super) struct Echoes {
    requests: Frames,
    /// ECN field of the datagrams that answer requests.
    ecn: Ecn,
    warmup: Time,
    /// For each request whose echo has not come back: when the receiving end answered it, or
    /// [`Time::NEVER`]. The first item belongs to the request with the number `first`.
    turned: VecDeque<Time>,
    first: u64,
    back: Histogram,
}

/// The frames of a media source, and the reports about them.
pub(super) struct Media {
    frames: Frames,
    /// Largest number of bytes of audio or video in a datagram.
    room: u32,
    sent: u32,
    reports: Option<Reports>,
}

struct Reports {
    reporter: Reporter,
    /// Reports that have been sent but have not reached the source. The first of these reports has
    /// the number `first`.
    under_way: VecDeque<Report>,
    first: u64,
}

impl Reports {
    fn new(every: Time) -> Reports {
        Reports {
            reporter: Reporter::new(every),
            under_way: VecDeque::new(),
            first: 0,
        }
    }

    /// Counts a datagram that has arrived. Returns the report's number if a report is due.
    fn arrive(&mut self, packet: &Packet, now: Time) -> Option<u64> {
        let (number, len) = (packet.sack[0].len, u64::from(packet.len));
        let delay = now.since(packet.sent);
        let report = self.reporter.arrive(number, len, delay, now)?;
        self.under_way.push_back(report);
        Some(self.first + self.under_way.len() as u64 - 1)
    }

    /// Returns the content of a report that has reached the source. Deletes this report and all
    /// older reports.
    fn take(&mut self, number: u64) -> Option<Report> {
        let before = number.checked_sub(self.first)?;
        self.under_way
            .drain(..(before as usize).min(self.under_way.len()));
        self.first = number;
        let report = self.under_way.pop_front()?;
        self.first += 1;
        Some(report)
    }
}

impl Far {
    pub fn of(source: &TrafficPlan, warmup: Time) -> Far {
        let entry = find(traffic::TABLE.entries(), source.kind);
        let Some(Transport::Datagrams(of)) = entry.map(|entry| entry.build.transport) else {
            return Far::Sink;
        };
        let datagrams = of(&source.options);
        match datagrams.role {
            Role::Sink => Far::Sink,
            Role::Echo => Far::Echo(Box::new(Echoes {
                requests: Frames::new(FrameRules::REQUESTS, warmup.ns()),
                ecn: datagrams.ecn,
                warmup,
                turned: VecDeque::new(),
                first: 0,
                back: Histogram::new(),
            })),
            Role::Frames { rules, report, .. } => Far::Media(Box::new(Media {
                frames: Frames::new(rules, warmup.ns()),
                room: u32::from(datagrams.len - MEDIA_HEADERS),
                sent: 0,
                reports: report.map(Reports::new),
            })),
        }
    }

    /// Returns whether the receiving end does more than count datagrams. A receiving end may also
    /// echo datagrams, assemble frames or send reports.
    #[inline]
    pub fn acts(&self) -> bool {
        !matches!(self, Far::Sink)
    }

    /// Records that a frame or request is sent in this many datagrams, and returns the number of
    /// the frame or request.
    pub fn capture(&mut self, datagrams: u32, bytes: u64, now: Time) -> u64 {
        match self {
            Far::Sink => 0,
            Far::Echo(echoes) => {
                echoes.turned.push_back(Time::NEVER);
                echoes.requests.capture(datagrams, bytes, now.ns())
            }
            Far::Media(media) => media.frames.capture(datagrams, bytes, now.ns()),
        }
    }

    pub fn finish(
        self,
        end: Time,
        stop: Time,
    ) -> (Option<Box<EchoOutcome>>, Option<Box<FrameOutcome>>) {
        match self {
            Far::Sink => (None, None),
            Far::Echo(echoes) => {
                let of = echoes.requests.finish(end.ns(), stop.ns());
                let outcome = EchoOutcome {
                    sent: of.sent,
                    answered: of.complete,
                    lost: of.lost,
                    rtt: of.delay,
                    back: echoes.back,
                };
                (Some(Box::new(outcome)), None)
            }
            Far::Media(media) => {
                let outcome = media.frames.finish(end.ns(), stop.ns());
                (None, Some(Box::new(outcome)))
            }
        }
    }
}

impl Echoes {
    /// Records that a request has reached the receiving end.
    fn turn(&mut self, number: u64, now: Time) {
        if let Some(place) = number.checked_sub(self.first)
            && let Some(turned) = self.turned.get_mut(place as usize)
            && *turned == Time::NEVER
        {
            *turned = now;
        }
    }

    /// Records that an echo has come back.
    fn arrive(&mut self, number: u64, now: Time) {
        let sent = self.requests.captured_ns(number);
        if self.requests.arrive(number, 0, now.ns())
            && sent.is_some_and(|sent| sent >= self.warmup.ns())
            && let Some(place) = number.checked_sub(self.first)
            && let Some(turned) = self.turned.get(place as usize)
        {
            self.back.record(now.since(*turned).ns());
        }
        // Times of requests that are answered or lost are not needed any more.
        while self.first < self.requests.first_open() {
            self.turned.pop_front();
            self.first += 1;
        }
    }
}

impl Network {
    /// Sends one datagram of a source. The datagram is a request or belongs to a frame.
    pub(super) fn send_datagram(
        &mut self,
        index: usize,
        len: u16,
        ecn: Ecn,
        (frame, place): (u64, u32),
    ) {
        let (now, measured) = (self.now, self.now >= self.plan.warmup);
        let traffic = &mut self.traffic[index];
        let mut packet = Packet::new(traffic.number, len, ecn);
        packet.flags = flags::DATAGRAM;
        packet.sent = now;
        packet.seq = frame;
        if let Far::Media(media) = &mut traffic.far {
            packet.sack[0] = Sack {
                offset: place,
                len: media.sent,
            };
            media.sent = media.sent.wrapping_add(1);
        }
        traffic.sent_packets += u64::from(measured);
        self.enter_from(End::Sender, packet);
    }

    /// Sends a frame of a source, in as many datagrams as it needs.
    pub(super) fn send_frame(&mut self, index: usize, bytes: u32, ecn: Ecn) {
        let now = self.now;
        let far = &mut self.traffic[index].far;
        let Far::Media(media) = far else {
            return;
        };
        let room = media.room;
        let datagrams = bytes.div_ceil(room).max(1);
        let number = far.capture(datagrams, u64::from(bytes), now);
        let mut left = bytes;
        for place in 0..datagrams {
            let part = left.min(room);
            left -= part;
            let len = MEDIA_HEADERS + part as u16;
            self.send_datagram(index, len, ecn, (number, place));
        }
    }

    #[inline]
    fn enter_from(&mut self, end: End, packet: Packet) {
        let ends = &mut self.ends[packet.flow as usize];
        ends.entered += 1;
        let access = ends.path.pipes[end as usize];
        let pipe = &mut self.pipes[access as usize];
        pipe.push(packet, self.now, access, &mut self.calendar);
    }

    /// Handles a datagram at a receiving end that does more than count datagrams.
    #[inline(never)]
    pub(super) fn act_at_far_end(&mut self, index: usize, packet: &Packet) {
        let now = self.now;
        let back = match &mut self.traffic[index].far {
            Far::Sink => None,
            Far::Echo(echoes) => {
                echoes.turn(packet.seq, now);
                Some(Packet {
                    ecn: echoes.ecn,
                    ..*packet
                })
            }
            Far::Media(media) => {
                let place = packet.sack[0].offset;
                media.frames.arrive(packet.seq, place, now.ns());
                let reports = media.reports.as_mut();
                let report = reports.and_then(|reports| reports.arrive(packet, now));
                report.map(|seq| Packet {
                    seq,
                    ..Packet::new(packet.flow, REPORT_LEN, Ecn::NotEct)
                })
            }
        };
        if let Some(mut back) = back {
            back.flags = flags::DATAGRAM | flags::ACK;
            (back.hop, back.stamp) = (0, Time::ZERO);
            self.enter_from(End::Receiver, back);
        }
    }

    /// Handles an echo or a report that has come back to a source.
    pub(super) fn answered(&mut self, index: usize, packet: &Packet) {
        let now = self.now;
        let traffic = &mut self.traffic[index];
        match &mut traffic.far {
            Far::Sink => {}
            Far::Echo(echoes) => echoes.arrive(packet.seq, now),
            Far::Media(media) => {
                let reports = media.reports.as_mut();
                if let Some(report) = reports.and_then(|reports| reports.take(packet.seq)) {
                    traffic.source.hear(now, &report);
                }
            }
        }
    }
}
