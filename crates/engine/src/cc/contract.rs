//! The interface between the TCP stack and a congestion control. It defines what a congestion
//! control needs ([`Needs`], read once), and when the stack calls it ([`CongestionControl`]). In
//! each call the congestion control reads a [`View`] of its connection. In most calls it may also
//! write the [`Window`].
//!
//! The hooks have the names and the meaning of Linux's `tcp_congestion_ops`. Congestion states, PRR
//! and loss recovery are part of the stack ([`crate::tcp`]).

use super::hook::{Hook, default_of};
use super::view::{Ack, CaState, LostSegment, View};
use super::window::Window;
use crate::registry::Options;
use crate::rng::Stream;

/// Events other than ACKs (Linux `tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CwndEvent {
    /// The sender sends data while no data is in flight.
    TxStart,
    /// A reduction (CWR or Recovery) is complete.
    CompleteCwr,
    /// A retransmission timer has expired.
    Loss,
    /// A tail loss probe has repaired a loss (Google's `CA_EVENT_TLP_RECOVERY`).
    ProbeRepaired,
}

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The receiver echoed a mark (ECN-Echo).
    Ecn,
    /// Loss detection found a segment lost, or a retransmission timer expired.
    Loss,
}

/// The kind of ECN that a congestion control needs from the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnNeed {
    /// Works with and without ECN. Uses ECN as in RFC 3168 if both ends support it.
    #[default]
    Optional,
    /// Needs ECN on every packet, and a receiver that echoes each packet as in DCTCP (RFC 8257
    /// section 3.2), or in a variant of this echo.
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
    /// Each ACK reports whether the packet that it acknowledges was CE-marked.
    Precise,
    /// As `Precise`, but an SCE-marked packet leaves the echo unchanged.
    SceHoldsCe,
    /// After a CE mark, every ACK carries the echo until a packet with CWR arrives (RFC 3168).
    Sticky,
}

/// Which changes of the window the congestion control makes itself. Each variant includes the
/// variants before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// The growth of the window (`cong_avoid`), and ssthresh after a congestion signal. The stack
    /// uses PRR to reduce the window to ssthresh.
    #[default]
    Growth,
    /// Also the reduction on ECN-Echo. The stack sets ssthresh, enters CWR, and calls `cwr_begin`.
    /// For every ACK in CWR it calls `cwr_ack` instead of PRR.
    Cwr,
    /// All changes of the window. The stack calls `cong_control` for every ACK instead of PRR and
    /// `cong_avoid`. It does not change the window at the end of Recovery, when RACK's timer finds
    /// losses, or after an idle time.
    Window,
}

/// What a congestion control needs for the whole connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The kind of ECN.
    pub ecn: EcnNeed,
    /// Which changes of the window the congestion control makes itself.
    pub control: Control,
    /// Whether packets are paced at the rate that the congestion control sets.
    pub pacing: bool,
    /// Whether the stack measures [`super::view::Conn::rate`] and calls `on_lost` for every segment
    /// found lost. Congestion controls with a model of the path need this.
    pub rate_samples: bool,
}

/// A congestion control: the hooks that the stack calls.
pub trait CongestionControl: Send {
    /// Returns what the congestion control needs.
    fn needs(&self) -> Needs {
        default_of(Hook::Needs);
        Needs::default()
    }

    /// Sets the random stream for all random decisions. Called before `init`.
    fn randomise(&mut self, _stream: Stream) {
        default_of(Hook::Randomise);
    }

    /// Called if the other end does not support Accurate ECN, which this congestion control needs.
    /// Returns which changes of the window the congestion control makes without Accurate ECN.
    /// Called before `init`.
    fn ecn_refused(&mut self) -> Control {
        default_of(Hook::EcnRefused);
        self.needs().control
    }

    /// Called before the first data packet.
    fn init(&mut self, _view: View<'_>, _window: &mut Window) {
        default_of(Hook::Init);
    }

    /// Returns the slow-start threshold to reduce to. Called when CWR, Recovery or Loss begins, and
    /// again at a timeout in a later window. When Recovery follows CWR, the stack calls
    /// [`CongestionControl::loss_in_cwr`] instead. After a loss that a tail loss probe has
    /// repaired, the stack enters CWR with [`Signal::Loss`].
    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32;

    /// Grows the window. Called in Open, Disorder and Loss for each ACK that acknowledged data.
    /// `acked` is the number of segments that count as acknowledged when growth is computed (see
    /// [`crate::plan::Growth`]).
    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32);

    /// Called for each ACK after the stack has processed it (only with [`Control::Window`]).
    fn cong_control(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::CongControl);
    }

    /// Called for each segment that loss detection finds lost (only with `rate_samples`).
    fn on_lost(&mut self, _view: View<'_>, _window: &Window, _segment: &LostSegment) {
        default_of(Hook::OnLost);
    }

    /// Called for each ACK after the stack has updated `flight`, `delivered` and `delivered_ce` (as
    /// Linux does since 6.16), and before it detects losses.
    fn in_ack_event(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::InAckEvent);
    }

    /// Called for each ACK that delivered segments, after the stack measured the RTT and before the
    /// window changes.
    fn pkts_acked(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::PktsAcked);
    }

    /// Called for events other than ACKs.
    fn cwnd_event(&mut self, _view: View<'_>, _window: &mut Window, _event: CwndEvent) {
        default_of(Hook::CwndEvent);
    }

    /// Called before the congestion state changes to `new` (`view.ca_state` is still the old
    /// state).
    fn set_state(&mut self, _view: View<'_>, _window: &mut Window, _new: CaState) {
        default_of(Hook::SetState);
    }

    /// Returns the window to restore if a reduction was spurious. `prior_cwnd` is the window when
    /// the reduction began.
    fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, prior_cwnd: u32) -> u32 {
        default_of(Hook::UndoCwnd);
        window.cwnd.max(prior_cwnd)
    }

    /// Called when CWR has begun and `window.ssthresh` is set (only with [`Control::Cwr`]).
    fn cwr_begin(&mut self, _window: &mut Window) {
        default_of(Hook::CwrBegin);
    }

    /// Called for an ACK in CWR (only with [`Control::Cwr`]). `grow` has the meaning of `acked` in
    /// [`CongestionControl::cong_avoid`].
    fn cwr_ack(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack, _grow: u32) {
        default_of(Hook::CwrAck);
    }

    /// Called when a loss is found in CWR and fast recovery begins. The window is reduced further
    /// only if this hook lowers `window.ssthresh`.
    fn loss_in_cwr(&mut self, _window: &mut Window) {
        default_of(Hook::LossInCwr);
    }

    /// Appends internal state for time series, e.g. alpha, in the order of
    /// [`CongestionControl::gauge_names`].
    fn gauges(&self, _view: View<'_>, _window: &Window, _out: &mut Vec<f64>) {
        default_of(Hook::Gauges);
    }

    /// Returns the names of the gauges (sampled internal values), with the unit as suffix.
    fn gauge_names(&self) -> &'static [&'static str] {
        default_of(Hook::GaugeNames);
        &[]
    }
}

/// The constructor of a congestion control. Its options are complete and validated.
pub type Build = fn(&Options) -> Box<dyn CongestionControl>;
