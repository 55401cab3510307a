//! A toy transport. The receiver acknowledges each datagram. The sender controls its window by
//! additive increase and multiplicative decrease.

use std::collections::BTreeMap;

use tailback_sim::{Ecn, Endpoint, EndpointState, Time, Transmit};

/// Payload of a datagram, bytes.
const SIZE: usize = 1200;

fn fill(number: u64) -> u8 {
    (number % 251) as u8
}

/// The sending endpoint.
pub struct Sender {
    ecn: Ecn,
    window: f64,
    next: u64,
    /// For each datagram in flight, the time at which it was sent.
    flight: BTreeMap<u64, Time>,
    /// After a reduction of the window, the sender waits until the datagram with this number is
    /// acknowledged before it reduces the window again.
    recover: u64,
    srtt: Option<Time>,
    pub marks: u64,
    pub losses: u64,
    /// Number of datagrams to send, or `None` for no limit.
    limit: Option<u64>,
}

impl Sender {
    pub fn new(ecn: Ecn, limit: Option<u64>) -> Sender {
        Sender {
            ecn,
            window: 10.0,
            next: 0,
            flight: BTreeMap::new(),
            recover: 0,
            srtt: None,
            marks: 0,
            losses: 0,
            limit,
        }
    }

    fn reduce(&mut self, number: u64) {
        if number >= self.recover {
            self.window = (self.window * 0.7).max(2.0);
            self.recover = self.next;
        }
    }

    fn is_sent(&self) -> bool {
        self.limit.is_some_and(|limit| self.next >= limit)
    }
}

impl Endpoint for Sender {
    fn wake(&mut self, now: Time) {
        // A datagram without an acknowledgement counts as lost a second after it was sent.
        let old = |sent: &Time| now.since(*sent) >= Time::from_secs(1);
        let lost: Vec<u64> = self
            .flight
            .iter()
            .filter(|(_, sent)| old(sent))
            .map(|(n, _)| *n)
            .collect();
        for number in lost {
            self.flight.remove(&number);
            self.losses += 1;
            self.reduce(number);
        }
    }

    fn receive(&mut self, now: Time, datagram: &[u8], _: Ecn) {
        let number = u64::from_be_bytes(datagram[..8].try_into().expect("an acknowledgement"));
        if let Some(sent) = self.flight.remove(&number) {
            self.srtt = Some(now.since(sent));
            self.window += 1.0 / self.window;
        }
        if datagram[8] == 1 {
            self.marks += 1;
            self.reduce(number);
        }
        let behind: Vec<u64> = self
            .flight
            .range(..number.saturating_sub(3))
            .map(|(n, _)| *n)
            .collect();
        for number in behind {
            self.flight.remove(&number);
            self.losses += 1;
            self.reduce(number);
        }
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if self.is_sent() || self.flight.len() as f64 >= self.window {
            return None;
        }
        datagram.extend_from_slice(&self.next.to_be_bytes());
        datagram.resize(SIZE, fill(self.next));
        self.flight.insert(self.next, now);
        self.next += 1;
        Some(Transmit::one(self.ecn))
    }

    fn next(&mut self) -> Option<Time> {
        let oldest = self.flight.values().min()?;
        Some(*oldest + Time::from_secs(1))
    }

    fn is_done(&self) -> bool {
        self.is_sent() && self.flight.is_empty()
    }

    fn state(&self) -> EndpointState {
        EndpointState {
            cwnd: Some(self.window),
            srtt: self.srtt,
            in_flight: Some(self.flight.len() as f64),
            ..EndpointState::default()
        }
    }
}

/// Acknowledges each datagram.
#[derive(Default)]
pub struct Receiver {
    answers: Vec<[u8; 9]>,
    pub received: u64,
    pub marked: u64,
    /// Number of datagrams to receive, or `None` for no limit.
    wanted: Option<u64>,
}

impl Receiver {
    pub fn wanting(datagrams: u64) -> Receiver {
        Receiver {
            wanted: Some(datagrams),
            ..Receiver::default()
        }
    }
}

impl Endpoint for Receiver {
    fn wake(&mut self, _: Time) {}

    fn receive(&mut self, _: Time, datagram: &[u8], ecn: Ecn) {
        let number: [u8; 8] = datagram[..8].try_into().expect("a number");
        let byte = fill(u64::from_be_bytes(number));
        assert!(datagram.len() == SIZE && datagram[8..].iter().all(|b| *b == byte));
        let marked = ecn == Ecn::Ce;
        self.received += 1;
        self.marked += u64::from(marked);
        let mut answer = [u8::from(marked); 9];
        answer[..8].copy_from_slice(&number);
        self.answers.push(answer);
    }

    fn transmit(&mut self, _: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        datagram.extend_from_slice(&self.answers.pop()?);
        Some(Transmit::one(Ecn::NotEct))
    }

    fn next(&mut self) -> Option<Time> {
        None
    }

    fn is_done(&self) -> bool {
        self.wanted.is_some_and(|wanted| self.received >= wanted)
    }
}
