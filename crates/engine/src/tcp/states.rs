//! Congestion states. The congestion state decides how a sender responds to ACKs that report
//! losses, and how reductions begin, end and are undone (Linux `tcp_fastretrans_alert`).

use tailback_record::account::Reason;

use super::port::Port;
use super::prr::Prr;
use super::rack::REORDERING;
use super::scoreboard::state;
use super::sender::Sender;
use super::timer::{Kind, TIMEOUT_MIN};
use crate::cc::{CaState, Control, CwndEvent, INFINITE_SSTHRESH, Signal};
use crate::units::Time;

/// New information in an ACK (Linux `FLAG_*`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event {
    /// Whether the cumulative acknowledgement advanced.
    pub advanced: bool,
    /// Number of segments that the ACK newly SACKs.
    pub sacked: u32,
    /// Whether the ACK carries ECN-Echo.
    pub ece: bool,
    /// Whether the ACK carries the echo of SCE.
    pub esce: bool,
    /// Whether the ACK carries a D-SACK.
    pub dsack: bool,
    /// Whether the D-SACK answers a tail loss probe (`FLAG_DSACK_TLP`).
    pub dsack_of_probe: bool,
    /// Whether the ACK restarts the probe timer or the retransmission timer
    /// (`FLAG_SET_XMIT_TIMER`). If RACK's reordering timer is needed, it is set instead.
    pub rearm: bool,
    /// Whether the ACK is a duplicate without new information.
    pub duplicate: bool,
    /// Whether the ACK newly acknowledges a segment that was sent only once and is below the
    /// recovery point.
    pub original_delivered: bool,
    /// The echoed timestamp, if timestamps are in use.
    pub echo: Option<Time>,
    /// The first unacknowledged segment before this ACK.
    pub prior_una: u64,
}

/// What the sender sends first after it has processed an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    None,
    /// Lost segments are sent again.
    Lost,
    /// New data is sent first (F-RTO step 2b).
    New,
}

impl Sender {
    pub(super) fn set_ca_state(&mut self, new: CaState) {
        let (cc, view, window) = self.hooks();
        cc.set_state(view, window, new);
        if new != self.conn.ca_state {
            self.account.end_steps();
        }
        self.conn.ca_state = new;
    }

    pub(super) fn ask_ssthresh(&mut self, signal: Signal) {
        let (cc, view, window) = self.hooks();
        window.ssthresh = cc.ssthresh(view, window, signal);
    }

    /// Begins a reduction (Linux `tcp_init_cwnd_reduction`).
    fn begin_reduction(&mut self, signal: Signal) {
        self.recovery.high_seq = self.board.flight.nxt;
        self.recovery.probe.high_seq = None;
        if !(signal == Signal::Ecn && self.needs.control >= Control::Cwr) {
            self.window.cwnd_cnt = 0;
        }
        self.recovery.prr = Prr::of(self.window.cwnd);
        self.ask_ssthresh(signal);
        self.ecn.begin_cwr();
    }

    /// Ends a reduction (Linux `tcp_end_cwnd_reduction`).
    fn end_reduction(&mut self) {
        if self.needs.control == Control::Window {
            return;
        }
        let cwr = self.conn.ca_state == CaState::Cwr;
        let owned = cwr && self.needs.control == Control::Cwr;
        let known = self.window.ssthresh < INFINITE_SSTHRESH;
        if known && (cwr || self.recovery.undo.marker.is_some()) && !owned {
            self.window.cwnd = self.window.ssthresh;
        }
        self.tell(CwndEvent::CompleteCwr);
    }

    /// Enters CWR (Linux `tcp_enter_cwr`).
    fn enter_cwr(&mut self) {
        self.recovery.undo.prior_ssthresh = 0;
        if self.conn.ca_state < CaState::Cwr {
            self.recovery.undo.marker = None;
            self.begin_reduction(Signal::Ecn);
            self.set_ca_state(CaState::Cwr);
            if self.needs.control >= Control::Cwr {
                self.cc.cwr_begin(&mut self.window);
            }
            self.account_reduction(Reason::Ece, self.recovery.prr.prior_cwnd);
        }
    }

    pub(super) fn init_undo(&mut self) {
        let probe = u32::from(self.recovery.probe.is_retransmission_out());
        let out = self.board.flight.retrans_out + probe;
        self.recovery.undo.begin(self.board.flight.una, out);
    }

    /// Enters the state Loss at a retransmission timeout (Linux `tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self) {
        let new_recovery = self.conn.ca_state < CaState::Recovery;
        let rates = self.rates.as_deref_mut();
        self.recovery
            .rack
            .mark_on_timeout(&self.conn, &mut self.board, rates);
        self.tell_losses();
        // The timeout suggests that the degree of reordering was overestimated, so reset it to its
        // initial value.
        if self.conn.ca_state <= CaState::Disorder && self.board.flight.sacked_out >= REORDERING {
            self.recovery.rack.reordering = REORDERING;
        }
        // Reduce ssthresh only once per window.
        if self.conn.ca_state <= CaState::Disorder
            || self.recovery.high_seq <= self.board.flight.una
            || (self.conn.ca_state == CaState::Loss && self.recovery.timeouts == 0)
        {
            self.recovery.undo.prior_ssthresh = self.current_ssthresh();
            self.recovery.prr.prior_cwnd = self.window.cwnd;
            self.ask_ssthresh(Signal::Loss);
            self.tell(CwndEvent::Loss);
            self.init_undo();
        }
        let before = self.window.cwnd;
        self.window.cwnd = self.board.flight.in_flight() + 1;
        self.account_step(Reason::Timeout, before);
        self.window.cwnd_cnt = 0;
        self.set_ca_state(CaState::Loss);
        self.recovery.high_seq = self.board.flight.nxt;
        self.recovery.probe.high_seq = None;
        self.ecn.begin_cwr();
        // The condition for F-RTO is that of RFC 5682 section 3.1, step 1.
        self.recovery.frto = new_recovery || self.recovery.timeouts > 0;
    }

    /// Returns how a loss that an ACK reports was found. The answer is `Dupthresh` if three
    /// segments are SACKed and no reordering has been seen. Otherwise RACK has found the loss.
    pub(super) fn loss(&self) -> Reason {
        let rack = &self.recovery.rack;
        if !rack.reordering_seen && self.board.flight.sacked_out >= REORDERING {
            Reason::Dupthresh
        } else {
            Reason::Rack
        }
    }

    /// Enters fast recovery (Linux `tcp_enter_recovery`).
    pub(super) fn enter_recovery(&mut self, ece: bool, found: Reason) {
        if !self.any_retransmission_out() {
            self.recovery.undo.retrans_stamp = None;
        }
        self.recovery.undo.prior_ssthresh = 0;
        self.init_undo();
        if !self.conn.ca_state.is_reduction() {
            if !ece {
                self.recovery.undo.prior_ssthresh = self.current_ssthresh();
            }
            self.begin_reduction(Signal::Loss);
            self.set_ca_state(CaState::Recovery);
            return self.account_reduction(found, self.recovery.prr.prior_cwnd);
        }
        if self.conn.ca_state == CaState::Cwr {
            let before = self.window.ssthresh;
            self.cc.loss_in_cwr(&mut self.window);
            if self.window.ssthresh < before {
                self.account_reduction(found, before);
            }
        }
        self.set_ca_state(CaState::Recovery);
    }

    /// During a reduction, sets the window by PRR (Linux `tcp_cwnd_reduction`).
    pub(super) fn reduce_window(&mut self, delivered: u32, safe: bool) {
        let (in_flight, ssthresh) = (self.board.flight.in_flight(), self.window.ssthresh);
        let prr = &mut self.recovery.prr;
        if let Some(cwnd) = prr.window(delivered, safe, in_flight, ssthresh) {
            self.window.cwnd = cwnd;
        }
    }

    /// Informs the congestion control of each segment that has been marked as lost, if it needs
    /// this information (in Linux the v3 branch of BBR: `tcp_notify_skb_loss_event`).
    pub(super) fn tell_losses(&mut self) {
        let Some(rates) = &mut self.rates else {
            return;
        };
        let before = self.board.lost_marks - rates.marked.len() as u64;
        for (n, &seq) in (1..).zip(&rates.marked) {
            if let Some(segment) = rates.lost(seq, before + n) {
                let view = self.conn.view(&self.board.flight);
                self.cc.on_lost(view, &self.window, &segment);
            }
        }
        rates.marked.clear();
    }

    /// Finds losses with RACK. If RACK cannot decide about some segments yet, returns how long to
    /// wait before the next check.
    #[inline]
    pub(super) fn detect_loss(&mut self) -> Option<Time> {
        if self.recovery.rack.finds_no_loss(&self.board) {
            return None;
        }
        self.search_losses()
    }

    fn search_losses(&mut self) -> Option<Time> {
        let rates = self.rates.as_deref_mut();
        let rack = &self.recovery.rack;
        let wait = rack.detect_loss(&self.conn, &mut self.board, rates);
        self.tell_losses();
        wait
    }

    /// Finds losses (Linux `tcp_identify_packet_loss`). Returns whether a retransmission was lost.
    fn identify_losses(&mut self, event: &mut Event) -> bool {
        if !std::mem::take(&mut self.recovery.rack.advanced) {
            return false;
        }
        let retransmissions = self.board.flight.retrans_out;
        if let Some(wait) = self.detect_loss() {
            self.timer
                .set(Kind::Reorder, self.conn.now, wait + TIMEOUT_MIN);
            event.rearm = false;
        }
        self.board.flight.retrans_out < retransmissions
    }

    /// Undoes a reduction (Linux `tcp_undo_cwnd_reduction`).
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_all_lost();
        }
        let prior_ssthresh = self.recovery.undo.prior_ssthresh;
        if prior_ssthresh != 0 {
            let prior = self.recovery.prr.prior_cwnd;
            let before = self.window.cwnd;
            let reason = match self.recovery.undo.all_duplicates() {
                true => Reason::UndoDsack,
                false => Reason::UndoOriginal,
            };
            let (cc, view, window) = self.hooks();
            window.cwnd = cc.undo_cwnd(view, window, prior);
            self.account_step(reason, before);
            if prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = prior_ssthresh;
                self.ecn.withdraw_cwr();
                self.reopen_slow_start();
            }
        }
        self.recovery.undo.marker = None;
        self.recovery.rack.advanced = true;
    }

    fn try_undo_recovery(&mut self, echo: Option<Time>) {
        if self.recovery.undo.is_allowed(echo) {
            self.undo_reduction(false);
        } else {
            self.recovery.rack.recovered();
        }
        self.settle_slow_start();
        self.set_ca_state(CaState::Open);
    }

    /// If D-SACKs have reported every retransmission as a duplicate, undoes the reduction (Linux
    /// `tcp_try_undo_dsack`).
    fn try_undo_dsack(&mut self) -> bool {
        let all = self.recovery.undo.all_duplicates();
        if all {
            self.recovery.rack.was_needless();
            self.undo_reduction(false);
        }
        all
    }

    fn try_undo_loss(&mut self, frto: bool, echo: Option<Time>) -> bool {
        if !(frto || self.recovery.undo.is_allowed(echo)) {
            return false;
        }
        self.undo_reduction(true);
        self.recovery.timeouts = 0;
        self.set_ca_state(CaState::Open);
        true
    }

    fn any_retransmission_out(&self) -> bool {
        self.board.flight.retrans_out > 0
            || (self.board.flight.packets_out() > 0
                && self.board.get(self.board.flight.una).flags & state::EVER_RETRANS != 0)
    }

    /// Enters the state Open or Disorder (Linux `tcp_try_keep_open`).
    fn keep_open(&mut self) {
        let trouble = self.board.flight.sacked_out + self.board.flight.lost_out > 0
            || self.any_retransmission_out();
        let new = if trouble {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if self.conn.ca_state != new {
            self.set_ca_state(new);
            self.recovery.high_seq = self.board.flight.nxt;
        }
    }

    /// Enters the state CWR if the ACK echoes a congestion mark, and otherwise Open or Disorder
    /// (Linux `tcp_try_to_open`).
    fn try_to_open(&mut self, event: &Event) {
        if !self.any_retransmission_out() {
            self.recovery.undo.retrans_stamp = None;
        }
        if event.ece {
            self.enter_cwr();
        }
        if self.conn.ca_state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// Checks whether an ACK acknowledges a tail loss probe whose recovery point is `high` (RFC
    /// 8985 section 7.4; Linux `tcp_process_tlp_ack`).
    pub(super) fn process_tlp_ack(&mut self, ack: u64, high: u64, event: &Event) {
        if ack < high {
            return;
        }
        if !self.recovery.probe.retrans || event.dsack_of_probe {
            // Either the probe was new data, or a D-SACK reports that both the original and the
            // probe have arrived. So no segment was lost.
            self.recovery.probe.high_seq = None;
        } else if ack > high {
            // The probe has repaired a loss. The sender responds to this loss with one reduction.
            self.begin_reduction(Signal::Loss);
            self.set_ca_state(CaState::Cwr);
            self.account_reduction(Reason::Probe, self.recovery.prr.prior_cwnd);
            if self.needs.control != Control::Window {
                self.window.cwnd = self.window.ssthresh;
            }
            self.tell(CwndEvent::ProbeRepaired);
            self.tell(CwndEvent::CompleteCwr);
            self.keep_open();
        } else if !event.advanced && event.sacked == 0 {
            self.recovery.probe.high_seq = None;
        }
    }

    /// Runs the state machine of congestion states (Linux `tcp_fastretrans_alert`).
    pub(super) fn fast_retransmit_alert(&mut self, event: &mut Event) -> Resend {
        if event.ece {
            self.recovery.undo.prior_ssthresh = 0;
        }
        // Every state except Open ends when all segments that were in flight at its beginning have
        // been acknowledged.
        if self.conn.ca_state == CaState::Open {
            self.recovery.undo.retrans_stamp = None;
        } else if self.board.flight.una >= self.recovery.high_seq {
            match self.conn.ca_state {
                // CWR lasts until one more segment has been acknowledged. This segment carries the
                // CWR flag to the receiver.
                CaState::Cwr if self.board.flight.una != self.recovery.high_seq => {
                    self.end_reduction();
                    self.set_ca_state(CaState::Open);
                }
                CaState::Recovery => {
                    self.try_undo_recovery(event.echo);
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.conn.ca_state {
            CaState::Recovery => {
                if event.advanced
                    && self.recovery.undo.marker.is_some()
                    && self.recovery.undo.was_delayed(event.echo)
                {
                    // The original of a missing segment has arrived late, so the path reorders
                    // packets. While retransmissions are in flight, the sender neither searches for
                    // losses nor retransmits.
                    self.recovery
                        .rack
                        .note_reordering(event.prior_una, &self.board);
                    if self.board.flight.retrans_out > 0 {
                        return Resend::None;
                    }
                    if !self.any_retransmission_out() {
                        self.recovery.undo.retrans_stamp = None;
                    }
                    self.undo_reduction(true);
                    self.keep_open();
                }
                if self.try_undo_dsack() {
                    self.try_to_open(event);
                }
                self.identify_losses(event);
                if self.conn.ca_state != CaState::Recovery {
                    if self.board.flight.lost_out == 0 {
                        return Resend::None;
                    }
                    self.enter_recovery(event.ece, self.loss());
                }
            }
            CaState::Loss => {
                let resend = self.process_loss(event);
                let lost_again = self.identify_losses(event);
                if let Some(resend) = resend
                    && !lost_again
                {
                    return resend;
                }
                if self.board.flight.lost_out == 0 {
                    self.try_to_open(event);
                    return Resend::None;
                }
                self.enter_recovery(event.ece, self.loss());
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                if self.conn.ca_state <= CaState::Disorder {
                    self.try_undo_dsack();
                }
                self.identify_losses(event);
                if self.board.flight.lost_out == 0 {
                    self.try_to_open(event);
                    return Resend::None;
                }
                self.enter_recovery(event.ece, self.loss());
            }
        }
        Resend::Lost
    }

    /// Processes an ACK in the state Loss (Linux `tcp_process_loss`, F-RTO of RFC 5682). Returns
    /// `None` if the ACK ends the state Loss.
    fn process_loss(&mut self, event: &Event) -> Option<Resend> {
        let recovered = self.board.flight.una >= self.recovery.high_seq;
        if event.advanced && self.try_undo_loss(false, event.echo) {
            return None;
        }
        if self.recovery.frto {
            // RFC 5682 step 3.b: a segment that was sent only once has arrived, so the timeout was
            // spurious.
            if event.original_delivered && self.try_undo_loss(true, event.echo) {
                return None;
            }
            if self.board.flight.nxt > self.recovery.high_seq {
                if event.sacked > 0 || event.duplicate {
                    // RFC 5682 step 3.a: the timeout was not spurious.
                    self.recovery.frto = false;
                }
            } else if event.advanced && !recovered {
                self.recovery.high_seq = self.board.flight.nxt;
                if self.may_send_new() {
                    return Some(Resend::New);
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(event.echo);
            return None;
        }
        Some(Resend::Lost)
    }

    /// Sends lost segments again, or sends new data (Linux `tcp_xmit_recovery`).
    pub(super) fn resend(&mut self, what: Resend, port: &mut impl Port) {
        if what == Resend::New {
            self.transmit(port);
            if self.board.flight.nxt > self.recovery.high_seq {
                return;
            }
            self.recovery.frto = false;
        }
        if what != Resend::None {
            self.retransmit_lost(port);
        }
    }
}
