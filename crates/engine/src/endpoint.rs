//! Endpoints: the trait through which the network runs a transport stack that is not part of
//! tailback, such as QUIC. The stack runs in virtual time.
//!
//! The caller attaches an endpoint to each side of an entry of `[[programs]]`
//! ([`crate::network::Network::attach`]). An endpoint exchanges datagrams with its peer and asks
//! the network to call it at given times. An endpoint must not do I/O, read a clock or draw random
//! numbers of its own. As a result, the same calls always give the same results.

use std::any::Any;

use crate::packet::Ecn;
use crate::units::Time;

/// Bytes that a frame adds to the payload of a UDP datagram over IPv4: Ethernet 14, IP 20, UDP 8.
pub const UDP_IPV4: u16 = 42;

/// An endpoint handles one end of one or more connections.
///
/// The network calls [`Endpoint::wake`] once when the entry starts, and then at each time that
/// [`Endpoint::next`] returns. After each call of `wake` or `receive`, the network calls `transmit`
/// until `transmit` returns `None`. Then it calls `next`.
pub trait Endpoint: Any + Send {
    /// Starts the endpoint on the first call. Later calls handle timers that are due.
    fn wake(&mut self, now: Time);

    /// Handles an arriving datagram with the given ECN field.
    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn);

    /// Writes the next datagram to `datagram`, which is empty. Returns `None` if the endpoint has
    /// nothing to send now.
    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit>;

    /// Returns when to call [`Endpoint::wake`] next. If this time is in the past, the network calls
    /// `wake` at once. `None` means that the endpoint waits for a datagram.
    fn next(&mut self) -> Option<Time>;

    /// Returns whether the endpoint's work is done. The program on this side of the entry ends when
    /// `is_done` first returns true. After the end of the program, the network still wakes the
    /// endpoint and delivers datagrams to it.
    fn is_done(&self) -> bool {
        false
    }

    /// Returns the state of the endpoint's sender, which tailback records as a time series. Called
    /// at every record interval.
    fn state(&self) -> EndpointState {
        EndpointState::default()
    }

    /// Returns values that the endpoint itself has measured, such as its goodput. These values
    /// appear in the `results` of the endpoint's entry. Called once, after the run.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Removes and returns the endpoint's output files with their names. On the kernel engine, a
    /// program would write these files to `/out`. Called once, after the run.
    fn take_files(&mut self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    /// Returns how many header bytes a frame adds to the datagram. Links and queues count these
    /// header bytes, too. If the stack's datagrams are complete IP packets, return 14, the length
    /// of the Ethernet header.
    fn header_bytes(&self) -> u16 {
        UDP_IPV4
    }
}

/// How a datagram is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The ECN field of each datagram.
    pub ecn: Ecn,
    /// The size of each datagram in bytes, if the buffer holds several datagrams, as with GSO
    /// (generic segmentation offload). The last datagram may be shorter. `None` if the buffer holds
    /// one datagram.
    pub segment_size: Option<usize>,
}

impl Transmit {
    /// Describes one datagram with this ECN field.
    pub const fn one(ecn: Ecn) -> Transmit {
        Transmit {
            ecn,
            segment_size: None,
        }
    }
}

/// The state of an endpoint's sender. `None` means that a value is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndpointState {
    /// Congestion window, in full datagrams.
    pub cwnd: Option<f64>,
    /// Slow-start threshold, in full datagrams.
    pub ssthresh: Option<f64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Time>,
    /// Full datagrams in flight.
    pub in_flight: Option<f64>,
}

/// One side of an entry of `[[programs]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that sends over the entry's route.
    Sender,
    /// The side that sends over the return path.
    Receiver,
}

impl Side {
    /// Returns the name of the side in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        }
    }
}

/// A fault of an endpoint that the network has detected. After a fault, the network neither wakes
/// the endpoint nor delivers datagrams to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointFault {
    /// Index of the entry in `[[programs]]`.
    pub entry: usize,
    /// The side whose endpoint is at fault.
    pub side: Side,
    /// When the fault was detected.
    pub at: Time,
    /// The kind of fault.
    pub kind: FaultKind,
}

/// A kind of fault that an endpoint can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Within one millisecond, the endpoint asked to be woken this many times.
    Spins(u32),
    /// Within one millisecond, the endpoint sent this many datagrams.
    Floods(u32),
    /// The payloads of the entry's datagrams in the network have this many bytes in total.
    Fills(u64),
}

impl FaultKind {
    /// Returns a message that says what happened and how to fix the endpoint.
    pub fn describe(self) -> String {
        match self {
            FaultKind::Spins(wakes) => format!(
                "asked to be woken {wakes} times within a millisecond; return a later time from \
                 `next` once `wake` has handled what was due"
            ),
            FaultKind::Floods(datagrams) => format!(
                "sent {datagrams} datagrams within a millisecond; return `None` from `transmit` when \
                 its window or pacing allows no more"
            ),
            FaultKind::Fills(bytes) => format!(
                "has {} MiB of datagrams in the network; send less, or set a limit on the queue",
                bytes >> 20
            ),
        }
    }
}
