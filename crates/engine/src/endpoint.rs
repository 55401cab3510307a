//! Foreign endpoints: the trait by which the network runs a transport stack that is not part of
//! this repository, such as QUIC, in virtual time.
//!
//! Endpoints are attached to both ends of an entry of `[[programs]]`
//! ([`crate::network::Network::attach`]). An endpoint exchanges datagrams with its peer and asks to
//! be woken. It does no I/O, reads no clock and draws no randomness of its own. So the same calls
//! give the same run.
//! give the same run.

use std::any::Any;

use crate::packet::Ecn;
use crate::units::Time;

/// Bytes of a frame in addition to the payload of a UDP datagram over IPv4: Ethernet 14, IP 20, UDP
/// 8.
pub const UDP_IPV4: u16 = 42;

/// One end of one or more connections.
///
/// The network calls [`Endpoint::wake`] once when the entry starts, and then at every time that
/// [`Endpoint::next`] returned. After each `wake` and each `receive` it calls `transmit` until that
/// returns `None`, and then `next`.
pub trait Endpoint: Any + Send {
    /// Handles timers that are due, and the start.
    fn wake(&mut self, now: Time);

    /// Handles a datagram that has arrived, with the ECN field that it arrived with.
    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn);

    /// Writes the next datagram to `datagram`, which is empty. Returns `None` if there is nothing
    /// to send now.
    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit>;

    /// Returns when to call [`Endpoint::wake`] next. A time in the past means at once. `None` means
    /// not before a datagram arrives.
    fn next(&mut self) -> Option<Time>;

    /// Whether the endpoint's work is done. This side of the entry ends when it first returns true.
    /// The endpoint still receives datagrams and is woken after that.
    fn is_done(&self) -> bool {
        false
    }

    /// Returns the state of the endpoint's sender, for the series at every record interval.
    fn state(&self) -> EndpointState {
        EndpointState::default()
    }

    /// Numbers that it counts itself, such as its goodput: `results` of its entry. Read once, after
    /// the run.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Bytes of a frame in addition to the datagram, which links and queues count. A stack that
    /// makes IP packets by itself returns 14, for Ethernet.
    fn header_bytes(&self) -> u16 {
        UDP_IPV4
    }
}

/// How a datagram is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The ECN field.
    pub ecn: Ecn,
    /// Set if the buffer holds several datagrams of this many bytes, the last of which may be
    /// shorter, as with GSO. `None` if it holds one datagram.
    pub segment_size: Option<usize>,
}

impl Transmit {
    /// One datagram with this ECN field.
    pub const fn one(ecn: Ecn) -> Transmit {
        Transmit {
            ecn,
            segment_size: None,
        }
    }
}

/// The state of an endpoint's sender. `None` means that a value is not known.
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
    /// The side whose datagrams take the route.
    Sender,
    /// The side whose datagrams take the way back.
    Receiver,
}

impl Side {
    /// The name of the side in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        }
    }
}

/// A mistake of an endpoint. After it, the network neither wakes the endpoint nor hands it
/// datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointFault {
    /// Index among the entries of `[[programs]]`.
    pub entry: usize,
    /// The side with the endpoint.
    pub side: Side,
    /// Time of the mistake.
    pub at: Time,
    /// The kind of mistake.
    pub kind: FaultKind,
}

/// A kind of mistake that an endpoint can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The endpoint asked to be woken this many times within a millisecond.
    Spins(u32),
    /// The endpoint sent this many datagrams within a millisecond.
    Floods(u32),
    /// Datagrams of this many bytes of the endpoint's entry are in the network.
    Fills(u64),
}

impl FaultKind {
    /// Describes what happened, and what to do about it.
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
