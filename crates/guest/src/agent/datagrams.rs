//! Runs a source of datagrams and its receiving end.

mod media;

use tailback_engine::packet::Ecn;
use tailback_engine::traffic::{self, Report, Role, Step};
use tailback_engine::units::Time;
use tailback_guest::job::{Job, Source};
use tailback_record::{EchoOutcome, FrameRules, Frames, Histogram, TrafficOutcome};

use super::io;
use super::setup::Namespaces;
use super::sys::{EDGE, Poll, READABLE, Socket};
use media::Media;

/// Length of the UDP, IPv4 and Ethernet headers, in bytes.
const DATAGRAM_HEADERS: u16 = 8 + 20 + 14;

/// Number of payload bytes that contain the datagram's number and a time in ns. A datagram contains
/// the time at which it was sent. An echo contains the time at which the request arrived. Every
/// datagram has at least this payload. Media datagrams are an exception, because they contain other
/// numbers.
const STAMPED: usize = 16;

/// A source and its receiving end.
///
/// The kernel records the arrival time of each datagram, so delays do not depend on when the agent
/// reads it.
pub struct Datagrams<'a> {
    source: &'a Source,
    machine: Box<dyn traffic::Source>,
    socket: Socket,
    sink: Socket,
    ecn: Option<Ecn>,
    number: u64,
    payload: Vec<u8>,
    warmup_ns: u64,
    /// Start of the run on the clock of the captures, in ns.
    origin_ns: u64,
    sent_packets: u64,
    received_packets: u64,
    received_bytes: u64,
    one_way: Histogram,
    echoes: Option<Echoes>,
    media: Option<Media>,
    reports: u64,
}

/// The state of a ping source: its requests and their echoes.
struct Echoes {
    requests: Frames,
    back: Histogram,
}

impl<'a> Datagrams<'a> {
    pub fn open(
        source: &'a Source,
        machine: Box<dyn traffic::Source>,
        datagrams: &traffic::Datagrams,
        (job, namespaces): (&Job, &Namespaces),
    ) -> Result<Datagrams<'a>, String> {
        namespaces.enter(source.receiver)?;
        let open = || Socket::new(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let sink = open().map_err(io(&source.name))?;
        // The socket's buffer must hold all data that arrives between two reads.
        let room: i32 = 64 << 20;
        sink.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room)
            .map_err(io(&source.name))?;
        sink.bind(source.receiver_address, source.port)
            .map_err(io(&source.name))?;
        stamp_arrivals(&sink, &source.name)?;
        namespaces.enter(source.sender)?;
        let socket = open().map_err(io(&source.name))?;
        socket
            .set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room)
            .map_err(io(&source.name))?;
        socket
            .bind(source.sender_address, source.port)
            .map_err(io(&source.name))?;
        socket
            .connect(source.receiver_address, source.port)
            .map_err(io(&source.name))?;
        Ok(Datagrams {
            source,
            machine,
            socket,
            sink,
            ecn: None,
            number: 0,
            payload: Vec::new(),
            warmup_ns: job.warmup_ns,
            origin_ns: 0,
            sent_packets: 0,
            received_packets: 0,
            received_bytes: 0,
            one_way: Histogram::new(),
            echoes: None,
            media: Media::of(datagrams, job.warmup_ns),
            reports: 0,
        })
    }

    /// If the receiving end sends echoes or reports, registers both ends in the main loop's poll
    /// with `token`. The agent then reads each end as soon as a datagram arrives.
    pub fn acting(self, role: Role, (poll, token): (&Poll, u64)) -> Result<Datagrams<'a>, String> {
        let reports = self.media.as_ref().is_some_and(Media::reports);
        if role != Role::Echo && !reports {
            return Ok(self);
        }
        let mut acting = self.watched(poll, token)?;
        if reports {
            // Reports have the DSCP of the source and are not ECN-capable.
            let dscp = i32::from(acting.source.dscp) << 2;
            (acting.sink)
                .set(libc::IPPROTO_IP, libc::IP_TOS, &dscp)
                .map_err(io(&acting.source.name))?;
        } else {
            acting.echoes = Some(Echoes {
                requests: Frames::new(FrameRules::REQUESTS, acting.warmup_ns),
                back: Histogram::new(),
            });
        }
        Ok(acting)
    }

    fn watched(self, poll: &Poll, token: u64) -> Result<Datagrams<'a>, String> {
        let (source, what) = (self.source, &self.source.name);
        stamp_arrivals(&self.socket, what)?;
        self.sink
            .connect(source.sender_address, source.port)
            .map_err(io(what))?;
        for socket in [&self.sink, &self.socket] {
            poll.add(socket.fd(), READABLE | EDGE, token)
                .map_err(io(what))?;
        }
        Ok(self)
    }

    pub fn begin(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
    }

    pub fn sent(&self) -> u64 {
        self.number
    }

    /// Sends the datagrams that are due. Returns the time at which this function must be called
    /// again.
    pub fn play(&mut self, now: u64) -> Result<Option<u64>, String> {
        loop {
            if self.source.stop_ns.is_some_and(|stop| now >= stop) {
                return Ok(None);
            }
            match self.machine.next(Time(now)) {
                Step::Wait(until) => return Ok(Some(until.ns())),
                Step::Send { len, ecn } => {
                    self.send_with(ecn)?;
                    let payload = usize::from(len.saturating_sub(DATAGRAM_HEADERS)).max(STAMPED);
                    self.make_room(payload);
                    self.number += 1;
                    if let Some(echoes) = &mut self.echoes {
                        echoes.requests.capture(1, 0, now);
                    }
                    stamp(&mut self.payload, self.number, now);
                    self.send(payload, now)?;
                }
                Step::Frame { bytes, ecn } => self.send_frame(bytes, ecn, now)?,
                _ => return Ok(None),
            }
        }
    }

    fn send_frame(&mut self, bytes: u32, ecn: Ecn, now: u64) -> Result<(), String> {
        self.send_with(ecn)?;
        let Some(media) = &mut self.media else {
            return Ok(());
        };
        for part in media.capture(bytes, now) {
            self.make_room(part.payload);
            let numbers = [self.number as u32, part.frame, part.place];
            media::write(&mut self.payload, numbers);
            self.number += 1;
            self.send(part.payload, now)?;
        }
        Ok(())
    }

    fn make_room(&mut self, payload: usize) {
        self.payload.resize(payload.max(self.payload.len()), 0);
    }

    fn send(&mut self, payload: usize, now: u64) -> Result<(), String> {
        self.socket
            .send(&self.payload[..payload])
            .map_err(io(&self.source.name))?;
        self.sent_packets += u64::from(now >= self.warmup_ns);
        Ok(())
    }

    /// Sets the ECN field and the DSCP that both ends send.
    fn send_with(&mut self, ecn: Ecn) -> Result<(), String> {
        if self.ecn == Some(ecn) {
            return Ok(());
        }
        let dscp = i32::from(self.source.dscp) << 2;
        let field = match ecn {
            Ecn::NotEct => 0_i32,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        let answers = self.echoes.is_some().then_some(&self.sink);
        for socket in [Some(&self.socket), answers].into_iter().flatten() {
            socket
                .set(libc::IPPROTO_IP, libc::IP_TOS, &(dscp | field))
                .map_err(io(&self.source.name))?;
        }
        self.ecn = Some(ecn);
        Ok(())
    }

    /// Reads the datagrams that have arrived. Does nothing if the receiving end sends echoes or
    /// reports, because the agent then reads each datagram when it arrives.
    pub fn receive(&mut self) {
        let mut stamped = [0; STAMPED];
        while let Ok(Some((n, at))) = self.sink.receive_datagram(&mut stamped) {
            if self.media.is_some() {
                // This receiving end does not report, so ignore the result.
                _ = self.count_media(n, at, &stamped);
            } else {
                self.count(n, at, numbers(&stamped).1);
            }
        }
    }

    /// Reads the datagrams, echoes and reports that have arrived, and sends echoes and reports.
    pub fn answer(&mut self) -> Result<(), String> {
        if self.media.is_some() {
            return self.report();
        }
        let mut request = [0; u16::MAX as usize];
        while let Some((n, at)) = self.read(&self.sink, &mut request)? {
            let (number, sent) = numbers(&request);
            self.count(n, at, sent);
            stamp(&mut request, number, at.saturating_sub(self.origin_ns));
            self.sink
                .send(&request[..n])
                .map_err(io(&self.source.name))?;
        }
        let mut echo = [0; STAMPED];
        while let Some((_, at)) = self.read(&self.socket, &mut echo)? {
            let (number, turned) = numbers(&echo);
            let now = at.saturating_sub(self.origin_ns);
            if let Some(Echoes { requests, back }) = &mut self.echoes {
                // Datagrams are numbered from 1, but the requests of a ping source are numbered
                // from 0.
                let Some(number) = number.checked_sub(1) else {
                    continue;
                };
                let sent = requests.captured_ns(number);
                if requests.arrive(number, 0, now) && sent.is_some_and(|at| at >= self.warmup_ns) {
                    back.record(now.saturating_sub(turned));
                }
            }
        }
        Ok(())
    }

    /// Reads media datagrams at the receiving end, and sends the reports that are due. Passes the
    /// reports that have arrived to the source.
    fn report(&mut self) -> Result<(), String> {
        let mut stamped = [0; STAMPED];
        let mut payload = [0; media::REPORT];
        while let Some((n, at)) = self.read(&self.sink, &mut stamped)? {
            if let Some(report) = self.count_media(n, at, &stamped) {
                media::write_report(&mut payload, self.reports, &report);
                self.reports += 1;
                self.sink.send(&payload).map_err(io(&self.source.name))?;
            }
        }
        while let Some((_, at)) = self.read(&self.socket, &mut payload)? {
            let now = Time(at.saturating_sub(self.origin_ns));
            self.machine.hear(now, &media::read_report(&payload));
        }
        Ok(())
    }

    /// Counts a media datagram. Returns a report if one is due.
    fn count_media(&mut self, n: usize, at: u64, payload: &[u8]) -> Option<Report> {
        let now = at.saturating_sub(self.origin_ns);
        let len = n as u64 + u64::from(DATAGRAM_HEADERS);
        let arrived = self.media.as_mut()?.arrive(payload, len, now)?;
        self.count(n, at, arrived.sent_ns);
        arrived.report
    }

    fn read(&self, from: &Socket, buffer: &mut [u8]) -> Result<Option<(usize, u64)>, String> {
        from.receive_datagram(buffer).map_err(io(&self.source.name))
    }

    /// Counts a datagram of `n` bytes at the receiving end. `at` is the time of its arrival on the
    /// clock of the captures. `sent` is when it was sent, counted from the start of the run.
    fn count(&mut self, n: usize, at: u64, sent: u64) {
        let now = at.saturating_sub(self.origin_ns);
        if now >= self.warmup_ns {
            self.received_packets += 1;
            self.received_bytes += n as u64 + u64::from(DATAGRAM_HEADERS);
            self.one_way.record(now.saturating_sub(sent));
        }
    }

    pub fn outcome(&self, job: &Job) -> TrafficOutcome {
        let stop = self.source.stop_ns.unwrap_or(u64::MAX);
        let echoes = self.echoes.as_ref().map(|echoes| {
            let of = echoes.requests.clone().finish(job.duration_ns, stop);
            Box::new(EchoOutcome {
                sent: of.sent,
                answered: of.complete,
                lost: of.lost,
                rtt: of.delay,
                back: echoes.back.clone(),
            })
        });
        TrafficOutcome {
            name: self.source.name.clone(),
            kind: self.source.kind.clone(),
            from_ns: self.source.start_ns.max(job.warmup_ns),
            to_ns: self
                .source
                .stop_ns
                .map_or(job.duration_ns, |s| s.min(job.duration_ns)),
            sent_packets: self.sent_packets,
            received_packets: self.received_packets,
            received_bytes: self.received_bytes,
            one_way: self.one_way.clone(),
            echoes,
            frames: (self.media.as_ref())
                .map(|media| Box::new(media.outcome(job.duration_ns, stop))),
            ..TrafficOutcome::default()
        }
    }
}

fn stamp_arrivals(socket: &Socket, what: &str) -> Result<(), String> {
    let on: i32 = 1;
    socket
        .set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)
        .map_err(io(what))
}

fn stamp(payload: &mut [u8], number: u64, at_ns: u64) {
    payload[..8].copy_from_slice(&number.to_be_bytes());
    payload[8..STAMPED].copy_from_slice(&at_ns.to_be_bytes());
}

fn numbers(payload: &[u8]) -> (u64, u64) {
    let read = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&payload[at..at + 8]);
        u64::from_be_bytes(bytes)
    };
    (read(0), read(8))
}
