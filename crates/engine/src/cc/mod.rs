//! Congestion controls: the trait, and one file for each.
//!
//! The hooks have the names and the meaning of Linux's
//! `tcp_congestion_ops`; the core ([`crate::tcp`]) owns the congestion
//! states, PRR and loss recovery.

use crate::registry::kernel::{Control, Kernel};
use crate::registry::{Entry, Options};
use crate::rng::Stream;
use crate::tcp::conn::Conn;
use crate::tcp::rate::LostSegment;
use crate::units::Time;

/// `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The congestion state of a sender (RFC 5681 and Linux `tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing unusual.
    Open,
    /// Duplicate ACKs or SACKs, no loss decided yet.
    Disorder,
    /// The window is being reduced after ECN-Echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// Events besides ACKs (Linux `tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndEvent {
    /// First data after everything was acknowledged.
    TxStart,
    /// A reduction (CWR or Recovery) is complete.
    CompleteCwr,
    /// A retransmission timeout.
    Loss,
    /// A tail loss probe has repaired a loss (Google's `CA_EVENT_TLP_RECOVERY`).
    ProbeRepaired,
}

/// What an ACK brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Segments newly delivered by it (acknowledged or selectively acknowledged).
    pub delivered: u32,
    /// Segments newly acknowledged cumulatively.
    pub acked: u32,
    /// ECN-Echo was set.
    pub ece: bool,
    /// The echo of SCE was set.
    pub esce: bool,
    /// RTT of the newest segment it acknowledged, if that was sent once
    /// (Linux `ack_sample.rtt_us`).
    pub rtt: Option<Time>,
    /// Segments in flight before it.
    pub prior_in_flight: u32,
    /// Segments that it tells to have been marked: exact with Accurate ECN,
    /// else all it delivered if it carries ECN-Echo.
    pub ce: u32,
    /// Segments found lost on it.
    pub losses: u32,
}

/// What an ACK says of congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// ECN-Echo: CE has come.
    pub ece: bool,
    /// The echo of SCE.
    pub esce: bool,
}

/// Which ECN a congestion control asks of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnNeed {
    /// Works with and without: RFC 3168 if negotiated.
    Optional,
    /// Needs ECN on every packet, and an echo of each packet as DCTCP's
    /// receiver has it (RFC 8257 section 3.2), or a variant.
    Dctcp(CeEcho),
    /// Needs ECT(1) on every packet and Accurate ECN (RFC 9768); where the
    /// other end does not speak it, there is no ECN and
    /// [`Conn::ecn_refused`] is set.
    Accurate,
    /// Needs RFC 3168 and a receiver that echoes SCE.
    Sce,
}

/// How the receiver of a DCTCP flow echoes CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeEcho {
    /// Packet by packet.
    Precise,
    /// Packet by packet, but an SCE-marked packet neither sets nor ends it.
    SceHoldsCe,
    /// On every ACK until CWR comes (RFC 3168).
    Sticky,
}

/// A congestion control. `conn` is the sender's state: the congestion control
/// writes `cwnd`, `ssthresh`, `cwnd_cnt` and `pacing_rate`, the rest it reads.
pub trait CongestionControl: Send {
    /// Before the first data packet.
    fn init(&mut self, _conn: &mut Conn) {}

    /// The slow-start threshold to reduce to, called once on entering CWR,
    /// Recovery or Loss.
    fn ssthresh(&mut self, conn: &mut Conn) -> u32;

    /// Growth: called for each ACK in Open, Disorder and Loss that
    /// acknowledged data; `acked` is what growth counts (see
    /// [`crate::plan::Growth`]).
    fn cong_avoid(&mut self, conn: &mut Conn, acked: u32);

    /// Takes over all control of the window: return true for every ACK, and
    /// neither PRR nor `cong_avoid` runs (and see `owns_window`).
    /// With [`CongestionControl::needs_rate_samples`], `conn.rate` is the ACK's sample.
    fn cong_control(&mut self, _conn: &mut Conn, _ack: &Ack) -> bool {
        false
    }

    /// Whether it is a model of the path that is to be fed with samples of the
    /// delivery rate (`conn.rate`) and losses one by one.
    fn needs_rate_samples(&self) -> bool {
        false
    }

    /// A segment was found lost (only with `needs_rate_samples`).
    fn on_lost(&mut self, _conn: &mut Conn, _segment: &LostSegment) {}

    /// Whatever it does at random is drawn from here. Before `init`.
    fn randomise(&mut self, _stream: Stream) {}

    /// For each ACK, once it is counted in `conn.snd_una`, `delivered` and
    /// `delivered_ce` (Linux since 6.16), while `conn.in_flight` is still that
    /// before it; `acked` segments were newly acknowledged cumulatively.
    fn in_ack_event(&mut self, _conn: &mut Conn, _acked: u32, _echo: Echo) {}

    /// After the scoreboard was updated with an ACK that delivered something,
    /// before the window changes.
    fn pkts_acked(&mut self, _conn: &mut Conn, _ack: &Ack) {}

    /// Other events.
    fn cwnd_event(&mut self, _conn: &mut Conn, _event: CwndEvent) {}

    /// The congestion state is about to change to `new` (`conn.ca_state` is the old one).
    fn set_state(&mut self, _conn: &mut Conn, _new: CaState) {}

    /// The window to go back to when a reduction proves spurious.
    fn undo_cwnd(&mut self, conn: &mut Conn) -> u32 {
        conn.cwnd.max(conn.prior_cwnd)
    }

    /// Whether this congestion control changes the window in CWR itself:
    /// then the core neither applies PRR on ECN-Echo nor resets the window
    /// when CWR ends; it sets `ssthresh`, enters CWR, and calls
    /// [`CongestionControl::cwr_begin`] and, for every ACK in CWR,
    /// [`CongestionControl::cwr_ack`].
    fn owns_cwr(&self) -> bool {
        false
    }

    /// Whether it has `cong_control`: then the core leaves the window alone at
    /// the end of Recovery, too, when RACK's timer finds losses, and after an
    /// idle time.
    fn owns_window(&self) -> bool {
        false
    }

    /// CWR has begun (only with `owns_cwr`); `conn.ssthresh` is set.
    fn cwr_begin(&mut self, _conn: &mut Conn) {}

    /// A loss was found in CWR and fast recovery begins: nothing more is
    /// reduced, unless this lowers `conn.ssthresh`.
    fn loss_in_cwr(&mut self, _conn: &mut Conn) {}

    /// An ACK in CWR (only with `owns_cwr`); `grow` is what growth counts.
    fn cwr_ack(&mut self, _conn: &mut Conn, _ack: &Ack, _grow: u32) {}

    /// Which ECN it asks for.
    fn ecn_need(&self) -> EcnNeed {
        EcnNeed::Optional
    }

    /// Whether it needs packets paced.
    fn needs_pacing(&self) -> bool {
        false
    }

    /// Internal state worth a time series, e.g. alpha; names and order as in
    /// [`CongestionControl::gauge_names`].
    fn gauges(&self, _conn: &Conn, _out: &mut Vec<f64>) {}

    /// Names of the gauges, unit as suffix.
    fn gauge_names(&self) -> &'static [&'static str] {
        &[]
    }
}

/// The constructor of a congestion control; options are complete and validated.
pub type Build = fn(&Options) -> Box<dyn CongestionControl>;

/// Every congestion control: one line each.
#[rustfmt::skip]
pub const ENTRIES: &[&Entry<Build>] = &[
    &bbr::ENTRY,
    &bbr3::ENTRY,
    &cubic::ENTRY,
    &cubic_sce::ENTRY,
    &dctcp::ENTRY,
    &dctcp_sce::ENTRY,
    &prague::ENTRY,
    &reno::ENTRY,
    &reno_sce::ENTRY,
];

/// The face of a congestion control that Linux calls by this name.
pub fn face(name: &str) -> Option<&'static Control> {
    let mut faces = ENTRIES.iter().filter_map(|entry| match entry.kernel {
        Kernel::Control(face) => Some(face),
        _ => None,
    });
    faces.find(|face| face.name == name)
}

mod abe;
pub mod bbr;
pub mod bbr3;
mod bbr_model;
pub mod cubic;
pub mod cubic_sce;
pub mod dctcp;
pub mod dctcp_sce;
pub mod ecn;
pub mod prague;
pub mod reno;
pub mod reno_sce;
mod sce;

#[cfg(test)]
mod testing;
