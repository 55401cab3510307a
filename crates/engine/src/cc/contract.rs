//! The contract between the stack and a congestion control: what the control
//! needs ([`Needs`], asked once), and when it is called
//! ([`CongestionControl`]). In every call it reads a [`View`] of its
//! connection and writes the [`Window`], where it may.
//!
//! The hooks have the names and the meaning of Linux's
//! `tcp_congestion_ops`; the stack ([`crate::tcp`]) owns the congestion
//! states, PRR and loss recovery.

use super::hook::{Hook, default_of};
use super::view::{Ack, CaState, LostSegment, View};
use super::window::Window;
use crate::registry::Options;
use crate::rng::Stream;

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

/// Why the window is to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// ECN-Echo.
    Ecn,
    /// A loss, found or presumed.
    Loss,
}

/// The kind of ECN that a congestion control needs from the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnNeed {
    /// Works with and without ECN: uses RFC 3168 if negotiated.
    #[default]
    Optional,
    /// Needs ECN on every packet, and an echo of each packet as from DCTCP's receiver (RFC 8257
    /// section 3.2), or a variant.
    Dctcp(CeEcho),
    /// Needs ECT(1) on every packet and Accurate ECN (RFC 9768); if the other end does not support
    /// it, there is no ECN, and [`CongestionControl::ecn_refused`] is called.
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

/// How much of the window the congestion control handles itself; each value includes the one
/// before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// The growth (`cong_avoid`) and the ssthresh of a reduction. The stack brings
    /// the window there by PRR.
    #[default]
    Growth,
    /// The reduction on ECN-Echo: the stack sets ssthresh, enters CWR, and
    /// calls `cwr_begin` and, for every ACK in CWR, `cwr_ack` instead of PRR.
    Cwr,
    /// Everything: the stack calls `cong_control` for every ACK instead of
    /// PRR and `cong_avoid`, and leaves the window alone at the end of
    /// Recovery, when RACK's timer finds losses, and after an idle time.
    Window,
}

/// The needs of a congestion control for the whole connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// ECN.
    pub ecn: EcnNeed,
    /// How much of the window it controls.
    pub control: Control,
    /// Packets are paced, at the rate it sets.
    pub pacing: bool,
    /// It is a model of the path: [`super::view::Conn::rate`] is to be measured, and
    /// `on_lost` called for every segment found lost.
    pub rate_samples: bool,
}

/// A congestion control.
pub trait CongestionControl: Send {
    /// What it needs.
    fn needs(&self) -> Needs {
        default_of(Hook::Needs);
        Needs::default()
    }

    /// The stream for everything it does at random. Called before `init`.
    fn randomise(&mut self, _stream: Stream) {
        default_of(Hook::Randomise);
    }

    /// The other end does not speak Accurate ECN, which this congestion control needs. Returns how
    /// much of the window it controls without it. Called before `init`.
    fn ecn_refused(&mut self) -> Control {
        default_of(Hook::EcnRefused);
        self.needs().control
    }

    /// Before the first data packet.
    fn init(&mut self, _view: View<'_>, _window: &mut Window) {
        default_of(Hook::Init);
    }

    /// The slow-start threshold to reduce to. Asked once on entering CWR, Recovery or Loss, and
    /// again at a timeout that finds a new window lost. Not asked on the way from CWR to Recovery:
    /// see [`CongestionControl::loss_in_cwr`]. A loss that a tail loss probe has repaired enters
    /// CWR with [`Signal::Loss`].
    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32;

    /// Growth: called for each ACK in Open, Disorder and Loss that
    /// acknowledged data; `acked` is what growth counts (see
    /// [`crate::plan::Growth`]).
    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32);

    /// An ACK, once it is processed (only with [`Control::Window`]).
    fn cong_control(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::CongControl);
    }

    /// A segment was found lost (only with `rate_samples`).
    fn on_lost(&mut self, _view: View<'_>, _window: &Window, _segment: &LostSegment) {
        default_of(Hook::OnLost);
    }

    /// For each ACK, once it is counted in `flight`, `delivered` and
    /// `delivered_ce` (Linux since 6.16), before losses are looked for.
    fn in_ack_event(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::InAckEvent);
    }

    /// After the RTT was measured with an ACK that delivered something,
    /// before the window changes.
    fn pkts_acked(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::PktsAcked);
    }

    /// Other events.
    fn cwnd_event(&mut self, _view: View<'_>, _window: &mut Window, _event: CwndEvent) {
        default_of(Hook::CwndEvent);
    }

    /// The congestion state is about to change to `new` (`view.ca_state` is the old one).
    fn set_state(&mut self, _view: View<'_>, _window: &mut Window, _new: CaState) {
        default_of(Hook::SetState);
    }

    /// The window to restore when a reduction proves spurious; `prior_cwnd` is the window when it
    /// began.
    fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, prior_cwnd: u32) -> u32 {
        default_of(Hook::UndoCwnd);
        window.cwnd.max(prior_cwnd)
    }

    /// CWR has begun (only with [`Control::Cwr`]); `window.ssthresh` is set.
    fn cwr_begin(&mut self, _window: &mut Window) {
        default_of(Hook::CwrBegin);
    }

    /// An ACK in CWR (only with [`Control::Cwr`]); `grow` is the number of segments that growth
    /// counts.
    fn cwr_ack(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack, _grow: u32) {
        default_of(Hook::CwrAck);
    }

    /// A loss was found in CWR and fast recovery begins. Nothing more is reduced, unless this hook
    /// lowers `window.ssthresh`.
    fn loss_in_cwr(&mut self, _window: &mut Window) {
        default_of(Hook::LossInCwr);
    }

    /// Internal state worth a time series, e.g. alpha; names and order as in
    /// [`CongestionControl::gauge_names`].
    fn gauges(&self, _view: View<'_>, _window: &Window, _out: &mut Vec<f64>) {
        default_of(Hook::Gauges);
    }

    /// Names of the gauges, unit as suffix.
    fn gauge_names(&self) -> &'static [&'static str] {
        default_of(Hook::GaugeNames);
        &[]
    }
}

/// The constructor of a congestion control; options are complete and validated.
pub type Build = fn(&Options) -> Box<dyn CongestionControl>;
