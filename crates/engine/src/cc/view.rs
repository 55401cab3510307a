//! The values that a congestion control reads: its connection ([`View`]) and the content of an ACK
//! ([`Ack`]).

use std::ops::Deref;

use super::window::Window;
use crate::units::Time;

/// The congestion state of a sender (RFC 5681 and Linux `tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing unusual has happened.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs have come, but no segment counts as lost yet.
    Disorder,
    /// The window is being reduced after ECN-Echo, or a loss that a probe repaired.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// A retransmission timeout has happened.
    Loss,
}

impl CaState {
    /// Whether the window is being reduced (Linux `tcp_in_cwnd_reduction`).
    #[inline]
    pub fn is_reduction(self) -> bool {
        matches!(self, CaState::Cwr | CaState::Recovery)
    }
}

/// Segments of a sender by their state (names as in Linux's `tcp_sock`). Only the scoreboard writes
/// it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flight {
    /// First unacknowledged segment.
    pub una: u64,
    /// Next segment to be sent for the first time.
    pub nxt: u64,
    /// Selectively acknowledged segments.
    pub sacked_out: u32,
    /// Segments that count as lost (retransmitted or not).
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
}

impl Flight {
    /// Segments sent and not cumulatively acknowledged.
    #[inline]
    pub fn packets_out(&self) -> u32 {
        (self.nxt - self.una) as u32
    }

    /// Segments believed to be in the network (Linux `tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.packets_out() - self.sacked_out - self.lost_out + self.retrans_out
    }
}

/// Clocks, counters and state of a connection. Only the stack writes it.
#[derive(Clone, Debug)]
pub struct Conn {
    /// The time of the event being processed.
    pub now: Time,
    /// Congestion state.
    pub ca_state: CaState,
    /// Segments delivered so far, retransmissions included.
    pub delivered: u64,
    /// Segments delivered by ACKs that carried ECN-Echo. With Accurate ECN, marked segments that
    /// are known to have arrived.
    pub delivered_ce: u64,
    /// Largest number of segments that were unacknowledged in the last window.
    pub max_packets_out: u32,
    /// Whether the congestion window limited sending in the last window of data.
    pub cwnd_limited: bool,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Time,
    /// Smallest RTT seen; `NEVER` before the first sample.
    pub min_rtt: Time,
    /// Payload of a full segment, bytes.
    pub mss: u16,
    /// Time of the last data transmission (Linux `lsndtime`).
    pub last_sent: Time,
    /// What the last ACK shows about the delivery rate. Only set for a congestion control that
    /// needs rate samples.
    pub rate: RateSample,
}

impl Default for Conn {
    fn default() -> Self {
        Conn {
            now: Time::ZERO,
            ca_state: CaState::Open,
            delivered: 0,
            delivered_ce: 0,
            max_packets_out: 0,
            cwnd_limited: false,
            srtt: Time::ZERO,
            min_rtt: Time::NEVER,
            mss: 1448,
            last_sent: Time::ZERO,
            rate: RateSample::default(),
        }
    }
}

impl Conn {
    /// Returns the connection and its segments for reading.
    #[inline]
    pub fn view<'a>(&'a self, flight: &'a Flight) -> View<'a> {
        View { conn: self, flight }
    }
}

/// A connection as its congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    conn: &'a Conn,
    /// Segments of the connection, by their state.
    pub flight: &'a Flight,
}

impl Deref for View<'_> {
    type Target = Conn;

    #[inline]
    fn deref(&self) -> &Conn {
        self.conn
    }
}

impl View<'_> {
    /// Linux `tcp_is_cwnd_limited`: growth is allowed only if the window was the limit.
    #[inline]
    pub fn is_cwnd_limited(self, window: &Window) -> bool {
        self.cwnd_limited || (window.in_slow_start() && window.cwnd < 2 * self.max_packets_out)
    }
}

/// The content of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Segments newly delivered by this ACK (acknowledged or selectively acknowledged).
    pub delivered: u32,
    /// Segments newly acknowledged cumulatively.
    pub acked: u32,
    /// Whether ECN-Echo was set.
    pub ece: bool,
    /// Whether the echo of SCE was set.
    pub esce: bool,
    /// Segments that this ACK reports as marked. The number is exact with Accurate ECN. Otherwise
    /// it is all that the ACK delivered, if it carries ECN-Echo.
    pub ce: u32,
    /// Segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// RTT of the newest segment that this ACK acknowledged, if that was sent only once (Linux
    /// `ack_sample.rtt_us`). Not yet known in `in_ack_event`.
    pub rtt: Option<Time>,
    /// Segments found lost because of this ACK. Known in `cong_control` and `cwr_ack`.
    pub losses: u32,
}

/// What an ACK shows about the delivery rate (Linux `rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Time over which the rate was measured, us: the longer of the times for sending and for
    /// acknowledging. 0 if the ACK does not show the rate.
    pub interval_us: u64,
    /// Segments delivered in that time.
    pub delivered: u32,
    /// Those of `delivered` that ACKs with ECN-Echo delivered.
    pub delivered_ce: u32,
    /// [`Conn::delivered`] when the newest acknowledged segment was sent.
    pub prior_delivered: u64,
    /// Segments found lost since that segment was sent.
    pub lost: u32,
    /// Segments in flight once that segment was sent, including itself.
    pub tx_in_flight: u32,
    /// Whether the application had nothing to send at some time in between.
    pub app_limited: bool,
    /// Whether this ACK acknowledges the segment that the last tail loss probe sent again.
    pub probe_acked: bool,
    /// Time of the last ACK that delivered something.
    pub delivered_at: Time,
    /// Segments found lost since the connection began.
    pub lost_total: u64,
    /// Earliest time at which pacing lets the next packet leave.
    pub next_send: Time,
}

/// A segment that was found lost, as it was when it was last sent.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// Segments in flight once the segment was sent, including itself.
    pub tx_in_flight: u32,
    /// Segments found lost since the segment was sent, including itself.
    pub lost: u32,
    /// Whether the application had nothing to send at some time before.
    pub app_limited: bool,
    /// Number of the segment in the connection, from 0.
    pub seq: u64,
}
