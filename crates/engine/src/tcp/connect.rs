//! How a sender connects (Linux `tcp_connect`, `tcp_finish_connect`).

use super::handshake::Phase;
use super::port::{Port, SYN_EXTRA};
use super::sender::Sender;
use super::timer::Kind;
use crate::packet::{Ecn, Packet, flags};
use crate::units::Time;

impl Sender {
    /// Sends the SYN.
    pub fn start(&mut self, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        self.handshake.begin(now);
        self.send_syn(port);
    }

    pub(super) fn send_syn(&mut self, port: &mut impl Port) {
        let now = self.conn.now;
        let mut syn = Packet::new(self.flow, self.plan.header + SYN_EXTRA, Ecn::NotEct);
        syn.flags = flags::SYN;
        if !(self.ecn_fallback && self.handshake.retransmits > 1) {
            self.ecn.on_syn(&mut syn);
        }
        syn.sent = now;
        port.send(syn);
        self.timer
            .set(Kind::Retransmit, now, self.handshake.timeout());
    }

    /// Processes the SYN-ACK.
    pub fn on_syn_ack(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        if self.handshake.phase != Phase::SynSent {
            return;
        }
        self.handshake.phase = Phase::Established;
        self.timer.clear();
        match self.ecn.negotiate(packet) {
            Some(marked) => self.conn.delivered_ce = marked,
            None => self.needs.control = self.cc.ecn_refused(),
        }
        let timestamps = self.plan.timestamps;
        if self.handshake.tells_rtt(timestamps) {
            let rtt = self.handshake.rtt(packet, now);
            self.take_rtt_sample(rtt, rtt);
        } else {
            // If the SYN was retransmitted and there are no timestamps, the handshake gives no RTT
            // sample. Use an RTT of 1 s.
            let flight = &self.board.flight;
            self.rtt.sample(Time::from_secs(1), flight.una, flight.nxt);
            self.conn.srtt = self.rtt.srtt();
        }
        if self.handshake.lost_syns(packet, timestamps) {
            self.window.cwnd = 1;
        }
        self.init_transfer();
        self.transmit(port);
    }

    /// Establishes the connection on the host that accepts the connection. `rtt` is the time from
    /// this host's SYN-ACK to the ACK. (In simulated scenarios, senders never accept a connection,
    /// but always connect.)
    pub fn establish(&mut self, now: Time, rtt: Time) {
        self.conn.now = now;
        self.handshake.phase = Phase::Established;
        // Use at least 1 us, because an RTT of 0 means that there is no sample.
        let rtt = rtt.max(Time::from_us(1));
        self.take_rtt_sample(rtt, rtt);
        self.init_transfer();
    }

    /// Records that this end has accepted Accurate ECN, and that `third` is the last packet of the
    /// handshake. Hosts that accept a connection call this function before [`Sender::establish`].
    pub fn grant_accurate(&mut self, third: &Packet) {
        self.conn.delivered_ce = self.ecn.grant(third, self.ecn_fallback);
    }

    /// With Accurate ECN, returns how many bytes arrived at the other end with ECT(1), CE and
    /// ECT(0), as that end has reported.
    pub fn told_bytes(&self) -> Option<[u32; 3]> {
        self.ecn.arrived()
    }

    /// Starts the transfer (Linux `tcp_init_transfer`).
    fn init_transfer(&mut self) {
        self.rtt.recall();
        self.conn.last_sent = self.conn.now;
        let (cc, view, window) = self.hooks();
        cc.init(view, window);
        self.update_pacing_rate();
        self.note_if_done();
    }
}
