//! The contract between the stack and a congestion control. It states what the control needs
//! ([`Needs`], read once), and when the stack calls it ([`CongestionControl`]). In every call the
//! control reads a [`View`] of its connection and, where it may, writes the [`Window`].
//!
//! The hooks have the names and the meaning of Linux's
//! `tcp_congestion_ops`; the stack ([`crate::tcp`]) owns the congestion
//! states, PRR and loss recovery.

use super::hook::{Hook, default_of};
use super::view::{Ack, CaState, LostSegment, View};
use super::window::Window;
use crate::registry::Options;
use crate::rng::Stream;

/// Events other than ACKs (Linux `tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndEvent {
    /// The first data is sent after everything was acknowledged.
    TxStart,
    /// A reduction (CWR or Recovery) is complete.
    CompleteCwr,
    /// A retransmission timer has expired.
    Loss,
    /// A tail loss probe has repaired a loss (Google's `CA_EVENT_TLP_RECOVERY`).
    ProbeRepaired,
}

/// The reason to reduce the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The receiver echoed a mark (ECN-Echo).
    Ecn,
    /// A segment was found lost, or a timeout presumes a loss.
    Loss,
}

/// The kind of ECN that a congestion control needs from the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnNeed {
    /// Works with and without ECN: uses RFC 3168 if negotiated.
    #[default]
    Optional,
    /// Needs ECN on every packet, and a receiver that echoes each packet as in DCTCP (RFC 8257
    /// section 3.2), or in a variant of it.
    Dctcp(CeEcho),
    /// Needs ECT(1) on every packet and Accurate ECN (RFC 9768). If the other end does not support
    /// Accurate ECN, ECN is off, and the stack calls [`CongestionControl::ecn_refused`].
    Accurate,
    /// Needs RFC 3168 and a receiver that echoes SCE.
    Sce,
}

/// How the receiver of a DCTCP flow echoes CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeEcho {
    /// The echo follows every packet.
    Precise,
    /// The echo follows every packet, but an SCE-marked packet leaves it as it is.
    SceHoldsCe,
    /// The echo is on every ACK until CWR comes (RFC 3168).
    Sticky,
}

/// How much of the window the congestion control handles itself. Each value includes the one before
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// The growth (`cong_avoid`) and the ssthresh of a reduction. The stack reduces the window to
    /// ssthresh by PRR.
    #[default]
    Growth,
    /// Also the reduction on ECN-Echo. The stack sets ssthresh, enters CWR, and calls `cwr_begin`.
    /// For every ACK in CWR it calls `cwr_ack` instead of PRR.
    Cwr,
    /// Everything. The stack calls `cong_control` for every ACK instead of PRR and `cong_avoid`. It
    /// does not change the window at the end of Recovery, when RACK's timer finds losses, or after
    /// an idle time.
    Window,
}

/// What a congestion control needs for the whole connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The kind of ECN.
    pub ecn: EcnNeed,
    /// How much of the window the congestion control handles itself.
    pub control: Control,
    /// Whether packets are paced, at the rate that the congestion control sets.
    pub pacing: bool,
    /// Whether the stack measures [`super::view::Conn::rate`] and calls `on_lost` for every segment
    /// found lost. Congestion controls with a model of the path need this.
    pub rate_samples: bool,
}

/// A congestion control.
pub trait CongestionControl: Send {
    /// Returns what the congestion control needs.
    fn needs(&self) -> Needs {
        default_of(Hook::Needs);
        Needs::default()
    }

    /// Sets the stream for all random decisions. Called before `init`.
    fn randomise(&mut self, _stream: Stream) {
        default_of(Hook::Randomise);
    }

    /// Notes that the other end does not support Accurate ECN, which this congestion control needs.
    /// Returns how much of the window it handles without Accurate ECN. Called before `init`.
    fn ecn_refused(&mut self) -> Control {
        default_of(Hook::EcnRefused);
        self.needs().control
    }

    /// Called before the first data packet.
    fn init(&mut self, _view: View<'_>, _window: &mut Window) {
        default_of(Hook::Init);
    }

    /// Returns the slow-start threshold to reduce to. Called once on entering CWR, Recovery or
    /// Loss, and again at a timeout that finds a new window lost. Not called on the way from CWR to
    /// Recovery: see [`CongestionControl::loss_in_cwr`]. A loss that a tail loss probe has repaired
    /// enters CWR with [`Signal::Loss`].
    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32;

    /// Grows the window. Called for each ACK in Open, Disorder and Loss that acknowledged data.
    /// `acked` is the amount that growth counts (see [`crate::plan::Growth`]).
    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32);

    /// Called for each ACK after the stack has processed it (only with [`Control::Window`]).
    fn cong_control(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::CongControl);
    }

    /// Called for each segment that is found lost (only with `rate_samples`).
    fn on_lost(&mut self, _view: View<'_>, _window: &Window, _segment: &LostSegment) {
        default_of(Hook::OnLost);
    }

    /// Called for each ACK once it is counted in `flight`, `delivered` and `delivered_ce` (Linux
    /// since
    /// 6.16), before the stack looks for losses.
    fn in_ack_event(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::InAckEvent);
    }

    /// Called after the stack measured the RTT with an ACK that delivered something, before the
    /// window changes.
    fn pkts_acked(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::PktsAcked);
    }

    /// Called for other events.
    fn cwnd_event(&mut self, _view: View<'_>, _window: &mut Window, _event: CwndEvent) {
        default_of(Hook::CwndEvent);
    }

    /// Called before the congestion state changes to `new` (`view.ca_state` is the old one).
    fn set_state(&mut self, _view: View<'_>, _window: &mut Window, _new: CaState) {
        default_of(Hook::SetState);
    }

    /// Returns the window to restore when a reduction proves spurious. `prior_cwnd` is the window
    /// when the reduction began.
    fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, prior_cwnd: u32) -> u32 {
        default_of(Hook::UndoCwnd);
        window.cwnd.max(prior_cwnd)
    }

    /// Called when CWR has begun and `window.ssthresh` is set (only with [`Control::Cwr`]).
    fn cwr_begin(&mut self, _window: &mut Window) {
        default_of(Hook::CwrBegin);
    }

    /// Called for an ACK in CWR (only with [`Control::Cwr`]). `grow` is the number of segments that
    /// growth counts.
    fn cwr_ack(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack, _grow: u32) {
        default_of(Hook::CwrAck);
    }

    /// Called when a loss is found in CWR and fast recovery begins. The window is not reduced
    /// further, unless this hook lowers `window.ssthresh`.
    fn loss_in_cwr(&mut self, _window: &mut Window) {
        default_of(Hook::LossInCwr);
    }

    /// Appends internal state worth a time series, e.g. alpha, in the order of
    /// [`CongestionControl::gauge_names`].
    fn gauges(&self, _view: View<'_>, _window: &Window, _out: &mut Vec<f64>) {
        default_of(Hook::Gauges);
    }

    /// Names of the gauges, with the unit as suffix.
    fn gauge_names(&self) -> &'static [&'static str] {
        default_of(Hook::GaugeNames);
        &[]
    }
}

/// The constructor of a congestion control; options are complete and validated.
pub type Build = fn(&Options) -> Box<dyn CongestionControl>;
