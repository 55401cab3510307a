//! The interface between the TCP stack and a congestion control. The interface defines what a
//! congestion control needs and when the stack calls it. The stack reads [`Needs`] once, and calls
//! the hooks of [`CongestionControl`]. In each call the congestion control reads a [`View`] of its
//! connection. In most calls, the congestion control may also write the [`Window`].
//!
//! The hooks have the names and the meaning of Linux's `tcp_congestion_ops`. Congestion states, PRR
//! and loss recovery are not part of a congestion control. The stack ([`crate::tcp`]) implements
//! these mechanisms.

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
    /// The congestion control works with and without ECN. The connection uses ECN as in RFC 3168 if
    /// both ends support ECN.
    #[default]
    Optional,
    /// Every packet must be ECN-capable. The receiver must echo the CE mark of each packet as in
    /// DCTCP (RFC 8257 section 3.2), or in a variant of this echo.
    Dctcp(CeEcho),
    /// Every packet must have ECT(1), and the connection must use Accurate ECN (RFC 9768). If the
    /// other end does not support Accurate ECN, the connection does not use ECN. In this case, the
    /// stack calls [`CongestionControl::ecn_refused`].
    Accurate,
    /// The connection must use ECN as in RFC 3168, and the receiver must echo SCE.
    Sce,
}

/// How the receiver of a DCTCP flow echoes CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeEcho {
    /// Each ACK reports whether the packet that it acknowledges arrived with CE.
    Precise,
    /// As with `Precise`, but an SCE-marked packet does not change the echo.
    SceHoldsCe,
    /// After a CE mark, every ACK carries the echo until a packet with CWR arrives (RFC 3168).
    Sticky,
}

/// Which changes of the window the congestion control makes, instead of the stack. Each variant
/// includes the changes of the variants before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// The congestion control makes the window grow (`cong_avoid`), and sets ssthresh after a
    /// congestion signal. The stack uses PRR to reduce the window to ssthresh.
    #[default]
    Growth,
    /// The congestion control also reduces the window after ECN-Echo. The stack sets ssthresh,
    /// enters CWR, and calls `cwr_begin`. For every ACK in CWR, the stack calls `cwr_ack` instead
    /// of using PRR.
    Cwr,
    /// The congestion control makes all changes of the window. For every ACK, the stack calls
    /// `cong_control` instead of using PRR and `cong_avoid`. The stack does not change the window
    /// in these cases: at the end of Recovery, when RACK's timer finds losses, and after an idle
    /// time.
    Window,
}

/// What a congestion control needs for the whole connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The kind of ECN that the congestion control needs.
    pub ecn: EcnNeed,
    /// Which changes of the window the congestion control makes, instead of the stack.
    pub control: Control,
    /// Whether packets are paced at the rate that the congestion control sets.
    pub pacing: bool,
    /// Whether the stack measures [`super::view::Conn::rate`] and calls `on_lost` for every segment
    /// found lost. Congestion controls with a model of the path need these measurements.
    pub rate_samples: bool,
}

/// A congestion control: the hooks that the stack calls.
pub trait CongestionControl: Send {
    /// Returns what the congestion control needs.
    fn needs(&self) -> Needs {
        default_of(Hook::Needs);
        Needs::default()
    }

    /// Sets the random stream that the congestion control uses for all random decisions. Called
    /// before `init`.
    fn randomise(&mut self, _stream: Stream) {
        default_of(Hook::Randomise);
    }

    /// Called if the other end does not support Accurate ECN, which this congestion control needs.
    /// Returns which changes of the window the congestion control makes if it runs without Accurate
    /// ECN. Called before `init`.
    fn ecn_refused(&mut self) -> Control {
        default_of(Hook::EcnRefused);
        self.needs().control
    }

    /// Called before the first data packet.
    fn init(&mut self, _view: View<'_>, _window: &mut Window) {
        default_of(Hook::Init);
    }

    /// Returns the slow-start threshold. The stack reduces the window to this threshold. Called
    /// when CWR, Recovery or Loss begins, and again at a timeout in a later window. When Recovery
    /// follows CWR, the stack calls [`CongestionControl::loss_in_cwr`] instead. After a loss that a
    /// tail loss probe has repaired, the stack enters CWR with [`Signal::Loss`].
    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32;

    /// Increases the window. In Open, Disorder and Loss, the stack calls this hook for each ACK
    /// that acknowledges data. `acked` is the number of segments from which the growth is computed
    /// (see [`crate::plan::Growth`]).
    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32);

    /// Called for each ACK after the stack has processed it (only with [`Control::Window`]).
    fn cong_control(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::CongControl);
    }

    /// Called for each segment that loss detection finds lost (only with `rate_samples`).
    fn on_lost(&mut self, _view: View<'_>, _window: &Window, _segment: &LostSegment) {
        default_of(Hook::OnLost);
    }

    /// The stack calls this hook for each ACK. Before the call, the stack updates `flight`,
    /// `delivered` and `delivered_ce` (as Linux does since 6.16). After the call, the stack detects
    /// losses.
    fn in_ack_event(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::InAckEvent);
    }

    /// The stack calls this hook for each ACK that delivers segments. Before the call, the stack
    /// measures the RTT. After the call, the stack changes the window.
    fn pkts_acked(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        default_of(Hook::PktsAcked);
    }

    /// Called for events other than ACKs.
    fn cwnd_event(&mut self, _view: View<'_>, _window: &mut Window, _event: CwndEvent) {
        default_of(Hook::CwndEvent);
    }

    /// Called before the congestion state changes to `new`. `view.ca_state` is still the old state.
    fn set_state(&mut self, _view: View<'_>, _window: &mut Window, _new: CaState) {
        default_of(Hook::SetState);
    }

    /// Returns the window that is restored if a reduction was spurious. `prior_cwnd` is the window
    /// at the beginning of the reduction.
    fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, prior_cwnd: u32) -> u32 {
        default_of(Hook::UndoCwnd);
        window.cwnd.max(prior_cwnd)
    }

    /// Called when CWR has begun and the stack has set `window.ssthresh` (only with
    /// [`Control::Cwr`]).
    fn cwr_begin(&mut self, _window: &mut Window) {
        default_of(Hook::CwrBegin);
    }

    /// Called for an ACK in CWR (only with [`Control::Cwr`]). `grow` has the same meaning as
    /// `acked` in [`CongestionControl::cong_avoid`].
    fn cwr_ack(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack, _grow: u32) {
        default_of(Hook::CwrAck);
    }

    /// Called when fast recovery begins because a loss was found in CWR. The window is reduced
    /// further only if this hook lowers `window.ssthresh`.
    fn loss_in_cwr(&mut self, _window: &mut Window) {
        default_of(Hook::LossInCwr);
    }

    /// Appends internal values for the time series, such as alpha, in the order of
    /// [`CongestionControl::gauge_names`].
    fn gauges(&self, _view: View<'_>, _window: &Window, _out: &mut Vec<f64>) {
        default_of(Hook::Gauges);
    }

    /// Returns the names of the gauges (sampled internal values). Each name ends with the unit.
    fn gauge_names(&self) -> &'static [&'static str] {
        default_of(Hook::GaugeNames);
        &[]
    }
}

/// The constructor of a congestion control. The options that it receives are complete and
/// validated.
pub type Build = fn(&Options) -> Box<dyn CongestionControl>;
