//! The values that a congestion control reads: the state of its connection ([`View`]) and the
//! content of an ACK ([`Ack`]).

use std::ops::Deref;

use super::window::Window;
use crate::units::Time;

/// The congestion state of a sender (RFC 5681 and Linux `tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// The sender is not handling any loss, reordering or mark.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs have arrived, but no segment counts as lost yet.
    Disorder,
    /// The window is being reduced, because of ECN-Echo or because of a loss that a tail loss probe
    /// has repaired.
    Cwr,
    /// Fast recovery is in progress.
    Recovery,
    /// A retransmission timer has expired.
    Loss,
}

impl CaState {
    /// Returns whether the window is being reduced (Linux `tcp_in_cwnd_reduction`).
    #[inline]
    pub fn is_reduction(self) -> bool {
        matches!(self, CaState::Cwr | CaState::Recovery)
    }
}

/// How many of a sender's segments are in each state. The names are those of Linux's `tcp_sock`.
/// Only the scoreboard changes these numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flight {
    /// Number of the first unacknowledged segment.
    pub una: u64,
    /// Number of the next segment to be sent for the first time.
    pub nxt: u64,
    /// Number of selectively acknowledged segments.
    pub sacked_out: u32,
    /// Number of segments that count as lost, including those that have been sent again.
    pub lost_out: u32,
    /// Number of retransmissions in flight.
    pub retrans_out: u32,
}

impl Flight {
    /// Returns how many segments have been sent and have not been cumulatively acknowledged.
    #[inline]
    pub fn packets_out(&self) -> u32 {
        (self.nxt - self.una) as u32
    }

    /// Returns how many segments are in the network, as far as the sender can tell (Linux
    /// `tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.packets_out() - self.sacked_out - self.lost_out + self.retrans_out
    }
}

/// Clocks, counters and the state of a connection. Only the stack changes these values.
#[derive(Clone, Debug)]
pub struct Conn {
    /// The time of the event that is being processed.
    pub now: Time,
    /// Congestion state.
    pub ca_state: CaState,
    /// How many segments have been delivered so far, including retransmissions.
    pub delivered: u64,
    /// How many segments were delivered by ACKs with ECN-Echo. With Accurate ECN, the value is the
    /// number of marked segments that the receiver has reported.
    pub delivered_ce: u64,
    /// Largest number of unacknowledged segments in the last window of data.
    pub max_packets_out: u32,
    /// Whether the congestion window limited sending in the last window of data.
    pub cwnd_limited: bool,
    /// Smoothed RTT, or zero before the first sample.
    pub srtt: Time,
    /// Smallest RTT so far, or `NEVER` before the first sample.
    pub min_rtt: Time,
    /// Payload of a full segment, in bytes.
    pub mss: u16,
    /// When data was last sent (Linux `lsndtime`).
    pub last_sent: Time,
    /// The delivery-rate sample of the last ACK. The sample is set only if the congestion control
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
    /// Returns a read-only view of the connection and its segments.
    #[inline]
    pub fn view<'a>(&'a self, flight: &'a Flight) -> View<'a> {
        View { conn: self, flight }
    }
}

/// A read-only view of a connection, for its congestion control.
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
    /// Linux `tcp_is_cwnd_limited`: the window may grow only if it has limited sending.
    #[inline]
    pub fn is_cwnd_limited(self, window: &Window) -> bool {
        self.cwnd_limited || (window.in_slow_start() && window.cwnd < 2 * self.max_packets_out)
    }
}

/// The content of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Number of segments that this ACK newly delivers, that is, acknowledges or SACKs.
    pub delivered: u32,
    /// Number of segments that this ACK newly acknowledges cumulatively.
    pub acked: u32,
    /// Whether the ACK carries ECN-Echo.
    pub ece: bool,
    /// Whether the ACK carries the echo of SCE.
    pub esce: bool,
    /// Number of segments that this ACK reports as marked. With Accurate ECN, this number is exact.
    /// Without Accurate ECN, all segments that an ACK with ECN-Echo delivers count as marked.
    pub ce: u32,
    /// Number of segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// The RTT of the newest segment that this ACK acknowledges, if this segment was sent only once
    /// (Linux `ack_sample.rtt_us`). In `in_ack_event`, the RTT is not known yet.
    pub rtt: Option<Time>,
    /// Number of segments that have been found lost because of this ACK. Only `cong_control` and
    /// `cwr_ack` receive this number.
    pub losses: u32,
}

/// The delivery-rate sample of an ACK (Linux `rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// The time over which the rate was measured, in us. The segments were sent within some time
    /// and acknowledged within some time; the value is the longer of the two times. The value is 0
    /// if the ACK does not allow a measurement.
    pub interval_us: u64,
    /// Number of segments that were delivered while the rate was measured.
    pub delivered: u32,
    /// How many segments of this sample were delivered by ACKs with ECN-Echo.
    pub delivered_ce: u32,
    /// The value of [`Conn::delivered`] at the time when the newest acknowledged segment was sent.
    pub prior_delivered: u64,
    /// Number of segments that have been found lost since the newest acknowledged segment was sent.
    pub lost: u32,
    /// Number of segments in flight just after the newest acknowledged segment was sent, including
    /// this segment.
    pub tx_in_flight: u32,
    /// Whether the application ran out of data at some time during the measurement.
    pub app_limited: bool,
    /// Whether this ACK acknowledges the retransmission of the last tail loss probe.
    pub probe_acked: bool,
    /// When the last ACK that delivered segments arrived.
    pub delivered_at: Time,
    /// Number of segments that have been found lost since the connection began.
    pub lost_total: u64,
    /// The earliest time at which pacing lets the next packet leave.
    pub next_send: Time,
}

/// A segment that has been found lost, with values that were stored at its last transmission.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// Number of segments in flight just after this segment was sent, including this segment.
    pub tx_in_flight: u32,
    /// Number of segments that have been found lost since this segment was sent, including this
    /// segment.
    pub lost: u32,
    /// Whether the application ran out of data at some time before this segment was sent.
    pub app_limited: bool,
    /// Number of the segment in the connection, from 0.
    pub seq: u64,
}
