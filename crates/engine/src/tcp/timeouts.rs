//! How a sender responds when its timer expires (Linux `tcp_timer.c`, `tcp_send_loss_probe`).

use tailback_record::account::Reason;

use super::handshake::Phase;
use super::port::Port;
use super::sender::Sender;
use super::timer::Kind;
use crate::cc::{CaState, Control};
use crate::units::Time;

impl Sender {
    /// Handles all deadlines that have passed at `now`.
    pub fn on_timer(&mut self, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        match self.timer.take_due(now) {
            Some(_) if self.handshake.phase == Phase::SynSent => {
                self.handshake.repeat();
                self.send_syn(port);
            }
            Some(Kind::Retransmit) => self.on_rto(port),
            Some(Kind::Probe) => self.send_probe(port),
            Some(Kind::Reorder) => self.on_reorder_timeout(port),
            Some(Kind::None) => self.timer.clear(),
            None => {}
        }
        // If pacing has set the deadline, send the next segments.
        if self.is_established() && self.pacer.is_due(now) {
            self.retransmit_lost(port);
            self.transmit(port);
        }
    }

    /// Sends a tail loss probe (Linux `tcp_send_loss_probe`). The probe is new data if the sender
    /// has new data that it may send. Otherwise the probe is the last segment.
    fn send_probe(&mut self, port: &mut impl Port) {
        self.timer.kind = Kind::Probe;
        if self.recovery.probe.high_seq.is_none() && self.board.flight.packets_out() > 0 {
            self.note_wait();
            self.recovery.probe.retrans = !self.may_send_new();
            if self.recovery.probe.retrans {
                self.probe_with_last(port);
            } else {
                match self.plan.joined {
                    0 => self.send_new(port),
                    _ => self.probe_joined(port),
                }
                self.note_window_use(self.board.flight.in_flight() >= self.window.cwnd);
            }
            self.recovery.probe.high_seq = Some(self.board.flight.nxt);
            // From now on, the retransmission timeout counts from the transmission of the probe.
            self.timer.kind = Kind::None;
        }
        self.rearm_rto();
    }

    /// Handles an expired retransmission timeout (RFC 6298 from section 5.4 on; Linux
    /// `tcp_retransmit_timer`).
    fn on_rto(&mut self, port: &mut impl Port) {
        if self.board.flight.packets_out() == 0 {
            return self.timer.clear();
        }
        self.stats.timeouts += 1;
        self.note_wait();
        self.enter_loss();
        self.recovery.timeouts += 1;
        self.board.part(self.board.flight.una + 1);
        self.retransmit(self.board.flight.una, port);
        self.rtt.back_off();
        self.restart_rto();
    }

    /// Handles RACK's reordering timer (RFC 8985 section 6.3; Linux `tcp_rack_reo_timeout`).
    fn on_reorder_timeout(&mut self, port: &mut impl Port) {
        let prior = self.board.flight.in_flight();
        // With this kind of timer, `rearm_rto` measures the timeout from the transmission of the
        // first segment.
        self.timer.kind = Kind::Reorder;
        self.detect_loss();
        if prior != self.board.flight.in_flight() {
            if self.conn.ca_state != CaState::Recovery {
                self.enter_recovery(false, Reason::RackTimer);
                if self.needs.control != Control::Window {
                    self.reduce_window(1, false);
                }
            }
            self.retransmit_lost(port);
        }
        // Set the retransmission timer, not another reordering timer. The next ACK or timeout
        // checks again the segments about which RACK could not decide.
        if self.timer.kind != Kind::Retransmit {
            self.rearm_rto();
        }
    }
}
