//! Congestion states, proportional rate reduction, RACK and undo
//! (Linux `tcp_input.c`, `tcp_recovery.c`).

use super::Port;
use super::ack::Event;
use super::scoreboard::{Segment, Walk, state};
use super::sender::{Prr, Rack, Sender, TIMEOUT_MIN, TimerKind};
use crate::cc::{CaState, Conn, Control, CwndEvent, INFINITE_SSTHRESH, Signal, Window};
use crate::units::Time;

/// Duplicate ACKs that mean loss while no reordering was seen.
pub(super) const REORDERING: u32 = 3;
/// Linux `tcp_max_reordering`.
const MAX_REORDERING: u64 = 300;
/// Recoveries a widened reordering window outlives (RFC 8985 section 6.2).
const RACK_PERSIST: u32 = 16;

/// What is to be sent once an ACK is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    None,
    /// Lost segments.
    Lost,
    /// New data first (F-RTO step 2b).
    New,
}

impl Rack {
    /// A segment was delivered (RFC 8985 section 6.2 step 2; Linux `tcp_rack_advance`).
    #[inline]
    pub(super) fn advance(&mut self, seq: u64, segment: &Segment, conn: &Conn) {
        let rtt = conn.now.since(segment.sent);
        if segment.flags & state::EVER_RETRANS != 0 && rtt < conn.min_rtt {
            return; // the original may have been delivered, not the retransmission
        }
        self.advanced = true;
        self.rtt = rtt;
        if (segment.sent, seq + 1) > (self.sent, self.end) {
            self.sent = segment.sent;
            self.end = seq + 1;
        }
    }
}

impl Sender {
    /// Segment `seq` was overtaken by others (Linux `tcp_check_sack_reordering`).
    #[cold]
    pub(super) fn note_reordering(&mut self, seq: u64) {
        let distance = self.board.highest_sacked().saturating_sub(seq);
        if distance > 0 {
            self.rack.reordering_seen = true;
            let degree = distance.min(MAX_REORDERING) as u32;
            self.rack.reordering = self.rack.reordering.max(degree);
        }
    }

    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.conn.ca_state, CaState::Cwr | CaState::Recovery)
    }

    pub(super) fn set_ca_state(&mut self, new: CaState) {
        let (cc, view, window) = self.hooks();
        cc.set_state(view, window, new);
        self.conn.ca_state = new;
    }

    /// Linux `tcp_current_ssthresh`.
    pub(super) fn current_ssthresh(&self) -> u32 {
        let Window { cwnd, ssthresh, .. } = self.window;
        if self.in_reduction() {
            ssthresh
        } else {
            ssthresh.max((cwnd >> 1) + (cwnd >> 2))
        }
    }

    fn ask_ssthresh(&mut self, signal: Signal) {
        let (cc, view, window) = self.hooks();
        window.ssthresh = cc.ssthresh(view, window, signal);
    }

    /// Linux `tcp_init_cwnd_reduction`.
    fn begin_reduction(&mut self, signal: Signal) {
        self.high_seq = self.board.flight.nxt;
        self.tlp_high_seq = None;
        if !(signal == Signal::Ecn && self.needs.control >= Control::Cwr) {
            self.window.cwnd_cnt = 0;
        }
        self.prr = Prr::of(self.window.cwnd);
        self.ask_ssthresh(signal);
        // Accurate ECN has no CWR.
        self.queue_cwr = self.ecn && self.accecn.is_none();
    }

    /// Linux `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self) {
        if self.needs.control == Control::Window {
            return;
        }
        let cwr = self.conn.ca_state == CaState::Cwr;
        let owned = cwr && self.needs.control >= Control::Cwr;
        let known = self.window.ssthresh < INFINITE_SSTHRESH;
        if known && (cwr || self.undo.marker.is_some()) && !owned {
            self.window.cwnd = self.window.ssthresh;
        }
        self.tell(CwndEvent::CompleteCwr);
    }

    /// Linux `tcp_enter_cwr`.
    fn enter_cwr(&mut self) {
        self.undo.prior_ssthresh = 0;
        if self.conn.ca_state < CaState::Cwr {
            self.undo.marker = None;
            self.begin_reduction(Signal::Ecn);
            self.set_ca_state(CaState::Cwr);
            if self.needs.control >= Control::Cwr {
                self.cc.cwr_begin(&mut self.window);
            }
        }
    }

    fn init_undo(&mut self) {
        self.undo.marker = Some(self.board.flight.una);
        let out = self.board.flight.retrans_out
            + u32::from(self.tlp_high_seq.is_some() && self.tlp_retrans);
        self.undo.retrans = (out > 0).then_some(out);
    }

    /// Linux `tcp_enter_recovery`.
    fn enter_recovery(&mut self, ece: bool) {
        if !self.any_retransmission_out() {
            self.undo.retrans_stamp = None;
        }
        self.undo.prior_ssthresh = 0;
        self.init_undo();
        if !self.in_reduction() {
            if !ece {
                self.undo.prior_ssthresh = self.current_ssthresh();
            }
            self.begin_reduction(Signal::Loss);
        } else if self.conn.ca_state == CaState::Cwr {
            self.cc.loss_in_cwr(&mut self.window);
        }
        self.set_ca_state(CaState::Recovery);
    }

    /// The retransmission timeout (RFC 6298 section 5.4 ff.; Linux `tcp_retransmit_timer`, `tcp_enter_loss`).
    pub(super) fn on_rto(&mut self, port: &mut impl Port) {
        if self.board.flight.packets_out() == 0 {
            self.clear_timer();
            return;
        }
        self.stats.timeouts += 1;
        let new_recovery = self.conn.ca_state < CaState::Recovery;
        self.mark_lost_on_timeout();
        // The degree of reordering may have been overestimated.
        if self.conn.ca_state <= CaState::Disorder && self.board.flight.sacked_out >= REORDERING {
            self.rack.reordering = REORDERING;
        }
        // Reduce ssthresh once per window.
        if self.conn.ca_state <= CaState::Disorder
            || self.high_seq <= self.board.flight.una
            || (self.conn.ca_state == CaState::Loss && self.retransmits == 0)
        {
            self.undo.prior_ssthresh = self.current_ssthresh();
            self.prr.prior_cwnd = self.window.cwnd;
            self.ask_ssthresh(Signal::Loss);
            self.tell(CwndEvent::Loss);
            self.init_undo();
        }
        self.window.cwnd = self.board.flight.in_flight() + 1;
        self.window.cwnd_cnt = 0;
        self.set_ca_state(CaState::Loss);
        self.high_seq = self.board.flight.nxt;
        self.tlp_high_seq = None;
        self.queue_cwr = self.ecn && self.accecn.is_none();
        // RFC 5682 section 3.1 step 1.
        self.frto = new_recovery || self.retransmits > 0;
        self.retransmits += 1;
        let una = self.board.flight.una;
        self.retransmit(una, port);
        self.backoff += 1;
        let rto = self.rto();
        self.set_timer(TimerKind::Retransmit, rto);
    }

    /// Everything that is not recent (by RACK) is lost.
    fn mark_lost_on_timeout(&mut self) {
        let (una, now, rtt) = (self.board.flight.una, self.conn.now, self.rack.rtt);
        for seq in una..self.board.flight.nxt {
            let segment = self.board.get(seq);
            let recent = seq != una && segment.sent + rtt > now;
            if !recent && segment.flags & state::SACKED == 0 {
                let marks = self.board.lost_marks;
                self.board.mark_lost(seq);
                if let Some(rates) = &mut self.rates
                    && self.board.lost_marks > marks
                {
                    rates.marked.push(seq);
                }
            }
        }
        self.tell_losses();
    }

    /// Tells a congestion control that measures rates of each segment found
    /// lost (the v3 branch of BBR: `tcp_notify_skb_loss_event`).
    fn tell_losses(&mut self) {
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

    /// RFC 8985 section 6.2 step 4; Linux `tcp_rack_reo_wnd`.
    fn reordering_window(&self) -> Time {
        if !self.rack.reordering_seen
            && (self.conn.ca_state >= CaState::Recovery
                || self.board.flight.sacked_out >= REORDERING)
        {
            return Time::ZERO;
        }
        if self.conn.min_rtt == Time::NEVER {
            return Time::ZERO;
        }
        let quarter = self.conn.min_rtt.ns() / 4;
        Time(quarter.saturating_mul(u64::from(self.rack.steps))).min(self.conn.srtt)
    }

    /// RFC 8985 section 6.2 step 5; Linux `tcp_rack_detect_loss`. Returns
    /// the time after which to look again, if segments are undecided.
    fn detect_loss(&mut self) -> Option<Time> {
        let window = self.reordering_window();
        let (now, rack) = (self.conn.now, self.rack.clone());
        let mut wait = None;
        let rates = &mut self.rates;
        self.board.walk_transmissions(|seq, segment| {
            if segment.flags & (state::LOST | state::RETRANS) == state::LOST {
                return Walk::Next;
            }
            let sent_before =
                segment.sent < rack.sent || (segment.sent == rack.sent && seq + 1 < rack.end);
            if !sent_before {
                return Walk::Stop;
            }
            let due = segment.sent + rack.rtt + window;
            if due <= now {
                if let Some(rates) = rates.as_mut() {
                    rates.marked.push(seq);
                }
                return Walk::Lost;
            }
            wait = wait.max(Some(due - now));
            Walk::Next
        });
        self.tell_losses();
        wait
    }

    /// Linux `tcp_identify_packet_loss`: returns whether a retransmission was found lost.
    fn identify_losses(&mut self, event: &mut Event) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let retransmissions = self.board.flight.retrans_out;
        if let Some(wait) = self.detect_loss() {
            self.set_timer(TimerKind::Reorder, wait + TIMEOUT_MIN);
            event.rearm = false;
        }
        self.board.flight.retrans_out < retransmissions
    }

    /// RACK's reordering timer (RFC 8985 section 6.3; Linux `tcp_rack_reo_timeout`).
    pub(super) fn on_reorder_timeout(&mut self, port: &mut impl Port) {
        let prior = self.board.flight.in_flight();
        // Marks the kind so that the timeout armed below counts from the segment.
        self.timer_kind = TimerKind::Reorder;
        self.detect_loss();
        if prior != self.board.flight.in_flight() {
            if self.conn.ca_state != CaState::Recovery {
                self.enter_recovery(false);
                if self.needs.control != Control::Window {
                    self.reduce_window(1, 0, false);
                }
            }
            self.retransmit_lost(port);
        }
        // What is still undecided waits for the next ACK or the timeout.
        if self.timer_kind != TimerKind::Retransmit {
            self.rearm_rto();
        }
    }

    /// RFC 8985 section 6.2 step 4, the adaptation; Linux `tcp_rack_update_reo_wnd`.
    /// `dsack`: a retransmission was needless, and no probe.
    pub(super) fn adapt_reordering_window(&mut self, dsack: bool) {
        if dsack && self.rack.reordering_seen && self.board.flight.una > self.rack.dsack_round {
            self.rack.steps = (self.rack.steps + 1).min(255);
            self.rack.dsack_round = self.board.flight.nxt;
            self.rack.persist = RACK_PERSIST;
        } else if self.rack.persist == 0 {
            self.rack.steps = 1;
        }
    }

    /// RFC 6937 with Linux's reduction bound; Linux `tcp_cwnd_reduction`.
    pub(super) fn reduce_window(&mut self, delivered: u32, lost: u32, advanced: bool) {
        if delivered == 0 || self.prr.prior_cwnd == 0 {
            return;
        }
        self.prr.delivered += delivered;
        let in_flight = self.board.flight.in_flight();
        let (ssthresh, prior) = (self.window.ssthresh, self.prr.prior_cwnd);
        let delta = i64::from(ssthresh) - i64::from(in_flight);
        let send = if delta < 0 {
            let allowed =
                (u64::from(ssthresh) * u64::from(self.prr.delivered)).div_ceil(u64::from(prior));
            allowed as i64 - i64::from(self.prr.out)
        } else {
            let owed = i64::from(self.prr.delivered) - i64::from(self.prr.out);
            let grown = owed.max(i64::from(delivered)) + i64::from(advanced && lost == 0);
            grown.min(delta)
        };
        // One segment at least goes out on entering fast recovery.
        let send = send.max(i64::from(self.prr.out == 0));
        self.window.cwnd = (i64::from(in_flight) + send).max(1) as u32;
    }

    /// The original of what was thought lost has arrived: its timestamp is older
    /// than the first retransmission, or nothing was retransmitted yet.
    fn packet_was_delayed(&self, echo: Time) -> bool {
        match self.undo.retrans_stamp {
            Some(stamp) => self.plan.timestamps && echo < stamp,
            None => true,
        }
    }

    /// Linux `tcp_may_undo`.
    fn may_undo(&self, echo: Time) -> bool {
        self.undo.marker.is_some()
            && (self.undo.retrans == Some(0) || self.packet_was_delayed(echo))
    }

    /// Linux `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_all_lost();
        }
        if self.undo.prior_ssthresh != 0 {
            let prior = self.prr.prior_cwnd;
            let (cc, view, window) = self.hooks();
            window.cwnd = cc.undo_cwnd(view, window, prior);
            if self.undo.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.undo.prior_ssthresh;
                self.queue_cwr = false;
            }
        }
        self.undo.marker = None;
        self.rack.advanced = true;
    }

    fn try_undo_recovery(&mut self, echo: Time) {
        if self.may_undo(echo) {
            self.undo_reduction(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        self.set_ca_state(CaState::Open);
    }

    /// Every retransmission was reported as a duplicate (Linux `tcp_try_undo_dsack`).
    fn try_undo_dsack(&mut self) -> bool {
        let all = self.undo.marker.is_some() && self.undo.retrans == Some(0);
        if all {
            self.rack.persist = (self.rack.persist + 1).min(RACK_PERSIST);
            self.undo_reduction(false);
        }
        all
    }

    fn try_undo_loss(&mut self, frto: bool, echo: Time) -> bool {
        if !(frto || self.may_undo(echo)) {
            return false;
        }
        self.undo_reduction(true);
        self.retransmits = 0;
        self.set_ca_state(CaState::Open);
        true
    }

    fn any_retransmission_out(&self) -> bool {
        self.board.flight.retrans_out > 0
            || (self.board.flight.packets_out() > 0
                && self.board.get(self.board.flight.una).flags & state::EVER_RETRANS != 0)
    }

    /// Linux `tcp_try_keep_open`.
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
            self.high_seq = self.board.flight.nxt;
        }
    }

    /// Linux `tcp_try_to_open`.
    fn try_to_open(&mut self, event: &Event) {
        if !self.any_retransmission_out() {
            self.undo.retrans_stamp = None;
        }
        if event.ece {
            self.enter_cwr();
        }
        if self.conn.ca_state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// A tail loss probe with recovery point `high` may have been answered (RFC 8985 section 7.4;
    /// Linux `tcp_process_tlp_ack`).
    pub(super) fn process_tlp_ack(&mut self, ack: u64, high: u64, event: &Event) {
        if ack < high {
            return;
        }
        if !self.tlp_retrans || event.dsack_of_probe {
            // New data was acknowledged, or original and probe both arrived: no loss.
            self.tlp_high_seq = None;
        } else if ack > high {
            // The probe repaired a loss: one reduction.
            self.begin_reduction(Signal::Loss);
            self.set_ca_state(CaState::Cwr);
            if self.needs.control != Control::Window {
                self.window.cwnd = self.window.ssthresh;
            }
            self.tell(CwndEvent::ProbeRepaired);
            self.tell(CwndEvent::CompleteCwr);
            self.keep_open();
        } else if !event.advanced && event.sacked == 0 {
            self.tlp_high_seq = None;
        }
    }

    /// The congestion states (Linux `tcp_fastretrans_alert`).
    pub(super) fn fast_retransmit_alert(&mut self, event: &mut Event) -> Resend {
        if event.ece {
            self.undo.prior_ssthresh = 0;
        }
        // Leaving a state: everything sent before it began is acknowledged.
        if self.conn.ca_state == CaState::Open {
            self.undo.retrans_stamp = None;
        } else if self.board.flight.una >= self.high_seq {
            match self.conn.ca_state {
                // One beyond, so that the CWR flag has reached the receiver.
                CaState::Cwr if self.board.flight.una != self.high_seq => {
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
                    && self.undo.marker.is_some()
                    && self.packet_was_delayed(event.echo)
                {
                    // The hole was filled by the original, not by the retransmission:
                    // the path reorders. While retransmissions are out, nothing more
                    // is decided lost or sent again.
                    self.note_reordering(event.prior_una);
                    if self.board.flight.retrans_out > 0 {
                        return Resend::None;
                    }
                    if !self.any_retransmission_out() {
                        self.undo.retrans_stamp = None;
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
                    self.enter_recovery(event.ece);
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
                self.enter_recovery(event.ece);
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
                self.enter_recovery(event.ece);
            }
        }
        Resend::Lost
    }

    /// An ACK in Loss (Linux `tcp_process_loss`, F-RTO of RFC 5682). `None`: the state was left.
    fn process_loss(&mut self, event: &Event) -> Option<Resend> {
        let recovered = self.board.flight.una >= self.high_seq;
        if event.advanced && self.try_undo_loss(false, event.echo) {
            return None;
        }
        if self.frto {
            // Step 3.b: data that was never retransmitted got through.
            if event.original_delivered && self.try_undo_loss(true, event.echo) {
                return None;
            }
            if self.board.flight.nxt > self.high_seq {
                if event.sacked > 0 || event.duplicate {
                    // Step 3.a: the loss was real.
                    self.frto = false;
                }
            } else if event.advanced && !recovered {
                self.high_seq = self.board.flight.nxt;
                // Step 2.b: try new data.
                if self.may_send_new() {
                    return Some(Resend::New);
                }
                self.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(event.echo);
            return None;
        }
        Some(Resend::Lost)
    }

    /// Linux `tcp_xmit_recovery`.
    pub(super) fn resend(&mut self, what: Resend, port: &mut impl Port) {
        if what == Resend::New {
            self.transmit(port);
            if self.board.flight.nxt > self.high_seq {
                return;
            }
            self.frto = false;
        }
        if what != Resend::None {
            self.retransmit_lost(port);
        }
    }
}
