//! A transport stack that sends datagrams, with additive increase and multiplicative decrease. The
//! receiver acknowledges each datagram. Replace this code by your own stack.
//!
//! A stack does no I/O and reads no clock. Its random numbers must follow from its seed. The
//! network passes datagrams and the time to the stack, and asks for the datagrams to send.

use std::collections::BTreeMap;

use tailback_engine::crates::Registry;
use tailback_engine::programs::stacks::Build;
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Kind, Opt, no_finish};
use tailback_sim::{Ecn, Endpoint, EndpointState, Time, Transmit};

/// Registers everything in this crate with tailback.
pub fn register(registry: &mut Registry) {
    registry.stack(&ENTRY);
}

/// The name, description and options of the stack. A scenario selects it with `[[programs]]` and
/// the kind `NAME`.
static ENTRY: Entry<Build> = Entry {
    name: "NAME",
    doc: "Additive increase and multiplicative decrease over datagrams.",
    follows: "nothing that is published",
    options: &[Opt {
        name: "beta",
        doc: "The part of the window that remains after a loss or a mark.",
        kind: Kind::Float { min: 0.1, max: 0.9 },
        default: Some("0.5"),
        tc: None,
    }],
    // The kernel engine runs real programs, so it does not have this stack.
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        // A stack that draws random numbers takes the seed from the second argument.
        ends: |options, _| {
            [
                Box::new(Sender::new(options.float("beta"))),
                Box::new(Receiver::default()),
            ]
        },
    },
};

/// Payload of a datagram, in bytes.
const SIZE: usize = 1200;

/// Time after which a datagram counts as lost.
const LIFETIME: Time = Time::from_secs(1);

/// The sender's side, whose datagrams pass the bottleneck.
pub struct Sender {
    beta: f64,
    /// Congestion window, in datagrams.
    window: f64,
    /// Sequence number of the next datagram.
    next: u64,
    /// Sending time of each datagram in flight, by sequence number.
    flight: BTreeMap<u64, Time>,
    /// The window is not reduced again until this sequence number is acknowledged.
    recover: u64,
    srtt: Option<Time>,
}

impl Sender {
    /// Creates a sender that multiplies its window by `beta` after a loss or a mark.
    pub fn new(beta: f64) -> Sender {
        Sender {
            beta,
            window: 10.0,
            next: 0,
            flight: BTreeMap::new(),
            recover: 0,
            srtt: None,
        }
    }

    fn reduce(&mut self, number: u64) {
        if number >= self.recover {
            self.window = (self.window * self.beta).max(2.0);
            self.recover = self.next;
        }
    }

    fn lose(&mut self, lost: Vec<u64>) {
        for number in lost {
            self.flight.remove(&number);
            self.reduce(number);
        }
    }
}

impl Endpoint for Sender {
    fn wake(&mut self, now: Time) {
        let old = |sent: Time| now.since(sent) >= LIFETIME;
        let lost = self.flight.iter().filter(|(_, sent)| old(**sent));
        self.lose(lost.map(|(number, _)| *number).collect());
    }

    fn receive(&mut self, now: Time, datagram: &[u8], _ecn: Ecn) {
        let Some((number, [marked])) = datagram.split_first_chunk() else {
            return;
        };
        let number = u64::from_be_bytes(*number);
        if let Some(sent) = self.flight.remove(&number) {
            self.srtt = Some(now.since(sent));
            self.window += 1.0 / self.window;
        }
        if *marked == 1 {
            self.reduce(number);
        }
        // A datagram is lost once three later datagrams have arrived.
        let passed = self.flight.range(..number.saturating_sub(3));
        self.lose(passed.map(|(number, _)| *number).collect());
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if self.flight.len() as f64 >= self.window {
            return None;
        }
        datagram.extend_from_slice(&self.next.to_be_bytes());
        datagram.resize(SIZE, 0);
        self.flight.insert(self.next, now);
        self.next += 1;
        Some(Transmit::one(Ecn::Ect0))
    }

    fn next(&mut self) -> Option<Time> {
        let oldest = self.flight.values().min()?;
        Some(*oldest + LIFETIME)
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

/// The receiver's side, which acknowledges each datagram.
#[derive(Default)]
pub struct Receiver {
    answers: Vec<[u8; 9]>,
}

impl Endpoint for Receiver {
    fn wake(&mut self, _now: Time) {}

    fn receive(&mut self, _now: Time, datagram: &[u8], ecn: Ecn) {
        let Some(number) = datagram.first_chunk::<8>() else {
            return;
        };
        let mut answer = [u8::from(ecn == Ecn::Ce); 9];
        answer[..8].copy_from_slice(number);
        self.answers.push(answer);
    }

    fn transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        datagram.extend_from_slice(&self.answers.pop()?);
        Some(Transmit::one(Ecn::NotEct))
    }

    fn next(&mut self) -> Option<Time> {
        None
    }
}
