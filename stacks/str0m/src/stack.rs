//! Implements [`Endpoint`] with str0m's `Rtc`.

use std::collections::VecDeque;
use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::{MediaKind, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::rtp::{RtpWrite, SeqNo, Ssrc};
use str0m::{Candidate, Event, IceCreds, Input, Output, Rtc};
use tailback_sim::{Ecn, Endpoint, Time, Transmit};

use crate::video::{Piece, Source, Viewer, ticks};
use crate::{Options, clock, crypto};

/// Addresses of both endpoints, which str0m needs. Simulated packets do not contain them.
const SENDER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 5000);
const RECEIVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 2), 5000);

/// Name of the file with the bandwidth estimates.
const LOG: &str = "estimates.csv";

/// Shortest time until str0m is called again. If str0m has more work to do, it returns a timeout in
/// the past.
const SOON: Time = Time::from_us(1);

/// An endpoint of a call: str0m's `Rtc` and the video.
pub struct Str0m {
    options: Options,
    /// The WebRTC session, which starts at the first call of `Endpoint`.
    rtc: Option<Box<Rtc>>,
    role: Role,
    /// The instant of the start of the run. `None` means `clock::origin`.
    origin: Option<Instant>,
    /// The state that fastrand's generator must have at the next call of str0m.
    random: u64,
    leaving: VecDeque<Vec<u8>>,
    /// When str0m must be called next.
    due: Option<Time>,
    now: Time,
    /// The events of the session, including raw packets. They are collected if `Str0m::observed`
    /// created this endpoint.
    events: Option<Vec<Event>>,
}

enum Role {
    Sender(Box<Sender>),
    Receiver(Viewer),
}

struct Sender {
    source: Source,
    payload_type: Pt,
    sequence: u64,
    /// The bandwidth estimates, each with its time.
    estimates: Vec<(Time, f64)>,
}

impl Str0m {
    pub(crate) fn sender(options: &Options) -> Str0m {
        let sender = Sender {
            source: Source::new(options),
            payload_type: Pt::from(0),
            sequence: 1,
            estimates: Vec::new(),
        };
        Str0m::new(options, 1, Role::Sender(Box::new(sender)))
    }

    pub(crate) fn receiver(options: &Options) -> Str0m {
        Str0m::new(options, 2, Role::Receiver(Viewer::default()))
    }

    fn new(options: &Options, end: u64, role: Role) -> Str0m {
        Str0m {
            options: *options,
            rtc: None,
            role,
            origin: None,
            random: options.seed.wrapping_mul(2).wrapping_add(end),
            leaving: VecDeque::new(),
            due: None,
            now: Time::ZERO,
            events: None,
        }
    }

    /// Returns the endpoint with this instant as the start of the run. The endpoint collects
    /// events, including raw packets.
    pub(crate) fn observed(self, origin: Instant) -> Str0m {
        Str0m {
            origin: Some(origin),
            events: Some(Vec::new()),
            ..self
        }
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        self.events.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// For a sender, returns how many frames it has sent. For a receiver, returns how many complete
    /// frames have arrived.
    pub fn frames(&self) -> usize {
        match &self.role {
            Role::Sender(sender) => sender.source.frames as usize,
            Role::Receiver(viewer) => viewer.frames(),
        }
    }

    /// Returns the bandwidth estimates, bit/s, each with its time.
    pub fn estimates(&self) -> &[(Time, f64)] {
        match &self.role {
            Role::Sender(sender) => &sender.estimates,
            Role::Receiver(_) => &[],
        }
    }

    /// Returns the mean and the 95th percentile of the delays of complete frames, ms.
    pub fn frame_delay_ms(&self) -> Option<(f64, f64)> {
        match &self.role {
            Role::Sender(_) => None,
            Role::Receiver(viewer) => viewer.delay_ms(),
        }
    }

    fn origin(&self) -> Instant {
        self.origin.unwrap_or_else(clock::origin)
    }

    fn instant(&self, now: Time) -> Instant {
        self.origin() + Duration::from_nanos(now.ns())
    }

    fn addresses(&self) -> (SocketAddr, SocketAddr) {
        match self.role {
            Role::Sender(_) => (SENDER.into(), RECEIVER.into()),
            Role::Receiver(_) => (RECEIVER.into(), SENDER.into()),
        }
    }

    /// Runs `part` with this endpoint's own state of fastrand's generator.
    fn seeded<T>(&mut self, part: impl FnOnce(&mut Str0m) -> T) -> T {
        fastrand::seed(self.random);
        let result = part(self);
        self.random = fastrand::get_seed();
        result
    }

    /// Makes the call. Both ends know each other's address and credentials.
    fn call(&mut self) {
        let start = self.instant(self.now);
        let sends = matches!(self.role, Role::Sender(_));
        let mut config = Rtc::builder()
            .set_crypto_provider(crypto::provider())
            .set_dtls_cert(crypto::certificate())
            .set_fingerprint_verification(false)
            .set_local_ice_credentials(credentials(sends))
            .set_rtp_mode(true)
            .enable_raw_packets(self.events.is_some());
        if sends {
            config = config.enable_bwe(Some(bitrate(self.options.start_rate)));
        }
        let mut rtc = Box::new(config.build(start));
        let (own, peer) = self.addresses();
        let host = |address| Candidate::host(address, "udp").expect("an address of a host");
        rtc.add_local_candidate(host(own));
        rtc.add_remote_candidate(host(peer));
        let (mid, ssrc) = (mid(), Ssrc::from(1));
        let resent = self.options.retransmit.then(|| Ssrc::from(2));
        let mut api = rtc.direct_api();
        api.set_remote_ice_credentials(credentials(!sends));
        api.set_ice_controlling(sends);
        api.start_dtls(sends).expect("a first handshake");
        api.declare_media(mid, MediaKind::Video);
        match &mut self.role {
            Role::Sender(sender) => {
                api.declare_stream_tx(ssrc, resent, mid, None);
                rtc.bwe()
                    .set_bitrate(Bitrate::ZERO, bitrate(self.options.max_rate));
                let vp8 = rtc.codec_config().find(|p| p.spec().codec == Codec::Vp8);
                sender.payload_type = vp8.expect("a codec of str0m's defaults").pt();
            }
            Role::Receiver(_) => {
                api.expect_stream_rx(ssrc, resent, mid, None);
                api.enable_twcc_feedback();
            }
        }
        self.rtc = Some(rtc);
    }

    /// Passes an input to str0m, and handles str0m's outputs.
    fn input(&mut self, input: Input<'_>) {
        let Some(rtc) = &mut self.rtc else { return };
        rtc.handle_input(input)
            .unwrap_or_else(|error| panic!("str0m fails: {error}"));
        self.poll();
    }

    /// Handles outputs of str0m until it returns a timeout.
    fn poll(&mut self) {
        let origin = self.origin();
        let Some(rtc) = &mut self.rtc else { return };
        loop {
            let output = rtc.poll_output();
            match output.unwrap_or_else(|error| panic!("str0m fails: {error}")) {
                Output::Timeout(due) => {
                    let due = due.saturating_duration_since(origin).as_nanos();
                    self.due = u64::try_from(due).ok().map(Time);
                    return;
                }
                Output::Transmit(transmit) => self.leaving.push_back(transmit.contents.to_vec()),
                Output::Event(event) => {
                    self.role.handle(self.now, &event);
                    if let Some(events) = &mut self.events {
                        events.push(event);
                    }
                }
            }
        }
    }

    fn send_frames(&mut self) {
        while let Role::Sender(sender) = &mut self.role
            && sender.source.next().is_some_and(|next| next <= self.now)
        {
            let packets = sender.source.frame();
            let (payload_type, first) = (sender.payload_type, sender.sequence);
            sender.sequence += packets.len() as u64;
            for (sequence, (piece, bytes)) in (first..).zip(packets) {
                let wallclock = self.instant(self.now);
                let packet = RtpWrite::new(
                    payload_type,
                    SeqNo::from(sequence),
                    ticks(self.now),
                    wallclock,
                    piece.payload(bytes),
                )
                .marker(piece.index + 1 == piece.of)
                .nackable(self.options.retransmit);
                if let Some(rtc) = &mut self.rtc
                    && let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid(), None)
                {
                    stream.write_rtp(packet);
                }
                self.poll();
            }
        }
    }
}

impl Role {
    fn handle(&mut self, now: Time, event: &Event) {
        match (self, event) {
            (Role::Sender(sender), Event::Connected) => sender.source.start(now),
            (
                Role::Sender(sender),
                Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }),
            ) => {
                sender.estimates.push((now, estimate.as_f64()));
                sender.source.follow(estimate.as_f64());
            }
            (Role::Receiver(viewer), Event::RtpPacket(packet)) => {
                if let Some(piece) = Piece::read(&packet.payload) {
                    viewer.receive(now, packet.header.timestamp, piece);
                }
            }
            _ => {}
        }
    }
}

impl Endpoint for Str0m {
    fn wake(&mut self, now: Time) {
        self.now = now;
        let instant = self.instant(now);
        self.seeded(|end| {
            if end.rtc.is_none() {
                end.call();
            }
            end.input(Input::Timeout(instant));
            end.send_frames();
        });
    }

    fn receive(&mut self, now: Time, datagram: &[u8], _: Ecn) {
        self.now = now;
        let instant = self.instant(now);
        let (destination, source) = self.addresses();
        let received = Receive::new(Protocol::Udp, source, destination, datagram)
            .unwrap_or_else(|error| panic!("a datagram is not of str0m: {error}"));
        self.seeded(|end| end.input(Input::Receive(instant, received)));
    }

    fn transmit(&mut self, _: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        datagram.extend_from_slice(&self.leaving.pop_front()?);
        Some(Transmit::one(Ecn::NotEct))
    }

    fn next(&mut self) -> Option<Time> {
        let frame = match &self.role {
            Role::Sender(sender) => sender.source.next(),
            Role::Receiver(_) => None,
        };
        let next = [self.due, frame].into_iter().flatten().min()?;
        Some(next.max(self.now + SOON))
    }

    /// Returns counts of frames, the delays of complete frames, and the last estimate.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        match &self.role {
            Role::Sender(sender) => {
                let mut numbers = vec![("frames_sent", f64::from(sender.source.frames))];
                let last = sender.estimates.last();
                numbers.extend(last.map(|(_, estimate)| ("last_estimate_mbit", estimate / 1e6)));
                numbers
            }
            Role::Receiver(viewer) => {
                let mut numbers = vec![("frames_complete", viewer.frames() as f64)];
                if let Some((mean, p95)) = viewer.delay_ms() {
                    numbers.push(("frame_delay_ms_mean", mean));
                    numbers.push(("frame_delay_ms_p95", p95));
                }
                numbers
            }
        }
    }

    /// Returns the estimates as a file with the columns `time_s` and `estimate_mbit`.
    fn take_files(&mut self) -> Vec<(String, Vec<u8>)> {
        let Role::Sender(sender) = &self.role else {
            return Vec::new();
        };
        let mut text = String::from("time_s,estimate_mbit\n");
        for (time, estimate) in &sender.estimates {
            writeln!(text, "{},{}", time.as_secs_f64(), estimate / 1e6).expect("memory");
        }
        vec![(LOG.to_owned(), text.into_bytes())]
    }
}

/// The id of the video.
fn mid() -> Mid {
    Mid::from("video")
}

fn bitrate(rate: f64) -> Bitrate {
    Bitrate::bps(rate as u64)
}

/// Returns the ICE credentials of the sender or the receiver.
fn credentials(sends: bool) -> IceCreds {
    let name = if sends { "sender" } else { "receiver" };
    IceCreds {
        ufrag: name.to_owned(),
        pass: format!("{name}-{name}-{name}-{name}"),
    }
}
