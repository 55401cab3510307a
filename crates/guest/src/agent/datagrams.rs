//! A running source of datagrams, and its sink.

use tailback_engine::packet::Ecn;
use tailback_engine::traffic::{self, Step};
use tailback_engine::units::Time;
use tailback_guest::job::{Job, Source};
use tailback_record::TrafficOutcome;

use super::io;
use super::setup::Namespaces;
use super::sys::Socket;

/// UDP, IPv4 and Ethernet headers, bytes.
const DATAGRAM_HEADERS: u16 = 8 + 20 + 14;

/// Both ends of a source.
pub struct Datagrams<'a> {
    source: &'a Source,
    machine: Box<dyn traffic::Source>,
    socket: Socket,
    sink: Socket,
    ecn: Option<Ecn>,
    number: u64,
    payload: Vec<u8>,
    sent_packets: u64,
    received_packets: u64,
    received_bytes: u64,
}

impl<'a> Datagrams<'a> {
    /// Opens both ends.
    pub fn open(
        source: &'a Source,
        machine: Box<dyn traffic::Source>,
        namespaces: &Namespaces,
    ) -> Result<Datagrams<'a>, String> {
        namespaces.enter(source.receiver)?;
        let open = || Socket::new(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let sink = open().map_err(io(&source.name))?;
        // Room for the data that arrives between two reads.
        let room: i32 = 64 << 20;
        sink.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room)
            .map_err(io(&source.name))?;
        sink.bind(source.receiver_address, source.port)
            .map_err(io(&source.name))?;
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
            sent_packets: 0,
            received_packets: 0,
            received_bytes: 0,
        })
    }

    /// Returns how many datagrams the source has sent.
    pub fn sent(&self) -> u64 {
        self.number
    }

    /// Sends the datagrams that are due; returns the time of the next call.
    pub fn play(&mut self, now: u64, warmup_ns: u64) -> Result<Option<u64>, String> {
        let what = &self.source.name;
        loop {
            if self.source.stop_ns.is_some_and(|stop| now >= stop) {
                return Ok(None);
            }
            match self.machine.next(Time(now)) {
                Step::Wait(until) => return Ok(Some(until.ns())),
                Step::Send { len, ecn } => {
                    if self.ecn != Some(ecn) {
                        let dscp = i32::from(self.source.dscp) << 2;
                        let field = match ecn {
                            Ecn::NotEct => 0_i32,
                            Ecn::Ect1 => 1,
                            Ecn::Ect0 => 2,
                            Ecn::Ce => 3,
                        };
                        self.socket
                            .set(libc::IPPROTO_IP, libc::IP_TOS, &(dscp | field))
                            .map_err(io(what))?;
                        self.ecn = Some(ecn);
                    }
                    let payload = usize::from(len.saturating_sub(DATAGRAM_HEADERS)).max(8);
                    self.payload.resize(payload.max(self.payload.len()), 0);
                    self.number += 1;
                    self.payload[..8].copy_from_slice(&self.number.to_be_bytes());
                    self.socket
                        .send(&self.payload[..payload])
                        .map_err(io(what))?;
                    self.sent_packets += u64::from(now >= warmup_ns);
                }
                _ => return Ok(None),
            }
        }
    }

    /// Reads the datagrams that have arrived.
    pub fn receive(&mut self, measured: bool) {
        while let Ok(Some(n)) = self.sink.discard_datagram() {
            if measured {
                self.received_packets += 1;
                self.received_bytes += n as u64 + u64::from(DATAGRAM_HEADERS);
            }
        }
    }

    /// Returns the measurements of the source.
    pub fn outcome(&self, job: &Job) -> TrafficOutcome {
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
            ..TrafficOutcome::default()
        }
    }
}
