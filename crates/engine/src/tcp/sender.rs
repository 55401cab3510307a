//! The sender of a TCP flow, and how it transmits segments (Linux `tcp_output.c`).

use tailback_record::account::{Account, Reason};
use tailback_record::{Histogram, fetch};

use super::ecn::EcnSender;
use super::handshake::{Handshake, Phase};
use super::pacing::Pacer;
use super::port::Port;
use super::rate::Rates;
use super::recovery::Recovery;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::send_queue::SendQueue;
use super::timer::{Kind, Timer};
use crate::cc::{
    CongestionControl, Conn, Control, CwndEvent, Flight, INFINITE_SSTHRESH, Needs, View, Window,
};
use crate::packet::{Ecn, Packet, flags};
use crate::plan::TcpPlan;
use crate::units::Time;
use crate::wheel::WheelPhase;

/// The sender of a flow.
pub struct Sender {
    /// The part of the state that the congestion control reads.
    pub conn: Conn,
    /// The part of the state that the congestion control writes.
    pub window: Window,
    pub(super) cc: Box<dyn CongestionControl>,
    pub(super) needs: Needs,
    pub(super) board: Scoreboard,
    /// State for delivery-rate samples, if the congestion control needs them.
    pub(super) rates: Option<Box<Rates>>,
    pub(super) rtt: Rtt,
    pub(super) handshake: Handshake,
    pub(super) timer: Timer,
    pub(super) pacer: Pacer,
    pub(super) ecn: EcnSender,
    pub(super) recovery: Recovery,
    pub(super) queue: SendQueue,
    /// Counters since the warm-up.
    pub stats: SenderStats,
    /// What limited the sender and for how long, and the reason for each reduction of the sender's
    /// window.
    // The account is boxed, so that all other data can be freed while the results are collected.
    pub account: Box<Account>,
    /// Whether the window shrinks after an idle time (Linux `tcp_slow_start_after_idle`).
    pub idle_restart: bool,
    /// Whether the second retransmission of a SYN no longer requests ECN. A SYN without ECN arrives
    /// even if the path drops packets with ECN (Linux `tcp_ecn_fallback`).
    pub ecn_fallback: bool,
    /// The value of `nxt` when [`Sender::note_window_use`] last recorded the use of the window.
    usage_noted: u64,
    /// The value of ssthresh when the first slow start began. The value is 0 once the record of the
    /// first slow start is complete.
    pub(super) first_ssthresh: u32,
    /// The value of `nxt` when the first slow start ended.
    pub(super) overshoot_end: u64,
    /// Receive window, in segments.
    pub(super) rwnd: u64,
    /// While fewer segments than this are in flight, [`Sender::transmit`] sends packets of one
    /// segment. The limit is the receive window, or 0 if the sender combines segments into larger
    /// packets (TSO). One comparison thus checks the receive window and TSO.
    pub(super) single_below: u64,
    pub(super) flow: u32,
    /// The TCP options that the sender reads.
    pub(super) plan: Stack,
}

/// A copy of the few TCP options that a sender reads. A copy of the whole plan in every flow would
/// need more memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    pub initial_cwnd: u32,
    pub mss: u16,
    pub header: u16,
    /// Largest number of segments that the sender combines into one packet (TSO). 0 means that each
    /// segment is a packet.
    pub joined: u16,
    pub timestamps: bool,
}

/// State of a sender that `ss -ti` shows. The congestion control does not use this state. All
/// counts are in segments. The names are taken from Linux's `tcp_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments that were sent and have not been cumulatively acknowledged.
    pub unacked: u32,
    /// Segments that have been selectively acknowledged.
    pub sacked: u32,
    /// Segments that are marked as lost, whether or not they have been retransmitted since.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retrans: u32,
    /// Retransmissions since the warm-up.
    pub total_retrans: u64,
    /// Number of successive timeouts.
    pub retransmits: u32,
    /// How many times the timeout has doubled.
    pub backoff: u32,
    /// The timeout, including its doublings.
    pub rto: Time,
    /// Degree of reordering: the largest number of later segments that have arrived before a
    /// segment, at least 3.
    pub reordering: u32,
}

/// Counters of a sender since the warm-up.
#[derive(Clone, Debug, Default)]
pub struct SenderStats {
    /// Data packets sent, including retransmissions.
    pub packets: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// RTT samples, in ns.
    pub rtt: Histogram,
}

impl Sender {
    /// Creates a sender that has not connected yet.
    pub fn new(
        flow: u32,
        plan: &TcpPlan,
        cc: Box<dyn CongestionControl>,
        ecn: bool,
        bytes: Option<u64>,
    ) -> Sender {
        let needs = cc.needs();
        let ssthresh = match plan.initial_ssthresh {
            0 => INFINITE_SSTHRESH,
            known => known,
        };
        let rwnd = (plan.rwnd.0 / u64::from(plan.mss)).max(1);
        Sender {
            conn: Conn {
                mss: plan.mss,
                ..Conn::default()
            },
            window: Window::new(plan.initial_cwnd, ssthresh, plan.growth),
            cc,
            needs,
            board: Scoreboard::default(),
            rates: needs.rate_samples.then(Box::default),
            rtt: Rtt::new(plan.min_rto),
            handshake: Handshake::new(),
            timer: Timer::new(plan),
            pacer: Pacer::new(plan, needs.pacing),
            ecn: EcnSender::new(ecn, needs.ecn, plan.ecn_feedback),
            recovery: Recovery::new(0),
            queue: SendQueue::new(bytes),
            stats: SenderStats::default(),
            account: Box::default(),
            idle_restart: true,
            ecn_fallback: false,
            usage_noted: 0,
            first_ssthresh: ssthresh,
            overshoot_end: 0,
            rwnd,
            single_below: rwnd,
            flow,
            plan: Stack {
                initial_cwnd: plan.initial_cwnd,
                mss: plan.mss,
                header: plan.header,
                joined: 0,
                timestamps: plan.timestamps,
            },
        }
    }

    /// Returns this sender with `first` as the number of its first segment. The number does not
    /// affect the behaviour. Call this function before the sender connects.
    pub fn numbered_from(mut self, first: u64) -> Sender {
        if first == 0 {
            return self;
        }
        self.board = Scoreboard::numbered_from(first);
        self.recovery = Recovery::new(first);
        self.pacer.first = first;
        self.usage_noted = first;
        self
    }

    /// Returns this sender with the timer phase of its host, which determines when timers fire.
    /// Call this function before the sender connects.
    pub fn at_phase(mut self, phase: WheelPhase) -> Sender {
        self.timer.clock = self.timer.clock.at_phase(phase);
        self
    }

    /// Returns the congestion control, the state of the connection that it reads, and the window
    /// that it writes.
    #[inline]
    pub(super) fn hooks(&mut self) -> (&mut dyn CongestionControl, View<'_>, &mut Window) {
        let view = self.conn.view(&self.board.flight);
        (&mut *self.cc, view, &mut self.window)
    }

    pub(super) fn tell(&mut self, event: CwndEvent) {
        let (cc, view, window) = self.hooks();
        cc.cwnd_event(view, window, event);
    }

    /// Prefetches data on the heap that the next ACK needs.
    #[inline]
    pub fn fetch(&self) {
        self.board.fetch();
        fetch::all(&*self.cc);
        fetch::line(&self.account.limit);
    }

    /// Returns the names of the congestion control's sampled values (gauges).
    pub fn gauge_names(&self) -> &'static [&'static str] {
        self.cc.gauge_names()
    }

    /// Writes internal values of the congestion control into `out`, in the order of
    /// [`Sender::gauge_names`].
    pub fn gauges(&self, out: &mut Vec<f64>) {
        let view = self.conn.view(&self.board.flight);
        self.cc.gauges(view, &self.window, out);
    }

    /// Returns the features that the congestion control needs from the connection.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Returns how many segments in flight are in each state.
    pub fn flight(&self) -> &Flight {
        &self.board.flight
    }

    /// Returns when to call [`Sender::on_timer`] next.
    #[inline]
    pub fn deadline(&self) -> Time {
        let timer = self.timer.deadline;
        if self.pacer.until > self.conn.now && self.is_established() && self.wants_to_send() {
            timer.min(self.pacer.until)
        } else {
            timer
        }
    }

    /// Returns whether unsent data or lost segments wait to be sent, even if the window is full.
    fn wants_to_send(&self) -> bool {
        !self.queue.is_empty() || self.board.lost_pending > 0
    }

    /// Returns whether the handshake is over and the connection has not ended.
    pub fn is_established(&self) -> bool {
        self.handshake.phase == Phase::Established
    }

    /// Returns whether every byte was sent and acknowledged.
    pub fn is_done(&self) -> bool {
        self.handshake.phase == Phase::Done
    }

    /// Returns whether [`Sender::start`] was called.
    pub fn has_started(&self) -> bool {
        self.handshake.phase != Phase::Waiting
    }

    /// Returns whether the receive window limits sending.
    pub fn rwnd_limited(&self) -> bool {
        u64::from(self.board.flight.packets_out()) >= self.rwnd
    }

    /// Sets the receive window, in segments.
    pub fn set_rwnd(&mut self, segments: u64) {
        self.rwnd = segments;
        if self.plan.joined == 0 {
            self.single_below = segments;
        }
    }

    /// Returns whether a new segment may be sent in a packet of its own.
    fn may_send_single(&self) -> bool {
        !self.queue.is_empty() && u64::from(self.board.flight.packets_out()) < self.single_below
    }

    pub(super) fn may_send_new(&self) -> bool {
        !self.queue.is_empty() && !self.rwnd_limited()
    }

    /// Returns the smoothed RTT, or `None` before the first sample.
    pub fn srtt(&self) -> Option<Time> {
        (self.conn.srtt > Time::ZERO).then_some(self.conn.srtt)
    }

    /// Returns how many segments were acknowledged cumulatively.
    pub fn acked(&self) -> u64 {
        self.board.flight.una - self.pacer.first
    }

    /// Returns how many payload bytes are not sent yet. `None` means no limit.
    pub fn unsent(&self) -> Option<u64> {
        self.queue.bytes()
    }

    /// Returns the values that `ss -ti` would show.
    pub fn info(&self) -> TcpInfo {
        let flight = &self.board.flight;
        TcpInfo {
            unacked: flight.packets_out(),
            sacked: flight.sacked_out,
            lost: flight.lost_out,
            retrans: flight.retrans_out,
            total_retrans: self.stats.retransmits,
            retransmits: self.recovery.timeouts,
            backoff: self.rtt.backoff(),
            rto: self.rtt.timeout(),
            reordering: self.recovery.rack.reordering,
        }
    }

    /// Keeps the connection open when the send queue is empty, because the application will call
    /// [`Sender::write`] again.
    pub fn expect_writes(&mut self) {
        self.queue.open();
    }

    /// Adds `bytes` of application data to the send queue.
    pub fn write(&mut self, bytes: u64, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        self.note_if_app_limited();
        self.queue.write(bytes);
        self.transmit(port);
    }

    /// Divides the data of the application into chunks of this many bytes. A segment never has data
    /// of two chunks.
    pub fn divide(&mut self, chunk: u64) {
        self.queue.divide(chunk);
    }

    /// Records that the application will not write more data.
    pub fn close(&mut self) {
        self.queue.close();
        if self.has_started() {
            self.note_if_done();
        }
    }

    /// Stops sending new data until [`Sender::resume`].
    pub fn hold(&mut self) {
        self.queue.hold();
    }

    /// Sends new data again after [`Sender::hold`].
    pub fn resume(&mut self, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        self.note_if_app_limited();
        self.queue.resume();
        self.transmit(port);
    }

    /// Discards the data that has not been sent yet.
    pub fn stop(&mut self) {
        self.queue.cut();
        if self.board.flight.packets_out() == 0 {
            self.handshake.phase = Phase::Done;
            self.timer.clear();
        }
    }

    /// Ends the connection if every byte was sent and acknowledged.
    pub(super) fn note_if_done(&mut self) {
        if self.queue.is_finished() && self.board.flight.packets_out() == 0 {
            self.handshake.phase = Phase::Done;
        }
    }

    /// Records that the application has too little data to use the whole window. Until the data
    /// that is now in flight has been acknowledged, rate samples are marked as application-limited
    /// (Linux `tcp_rate_check_app_limited`).
    fn note_if_app_limited(&mut self) {
        let in_flight = self.board.flight.in_flight();
        if self.rates.is_some()
            && self.queue.lacks_a_segment(self.plan.mss)
            && in_flight < self.window.cwnd
            && self.board.lost_pending == 0
        {
            self.window.app_limited = (self.conn.delivered + u64::from(in_flight)).max(1);
        }
    }

    /// Adds the RTTs that an ACK measures. `first` is the RTT of the oldest segment that the ACK
    /// newly acknowledges. `first` updates srtt. `newest` is the RTT of the newest of these
    /// segments, and can lower the minimum RTT.
    pub(super) fn take_rtt_sample(&mut self, first: Time, newest: Time) {
        self.conn.min_rtt = self.conn.min_rtt.min(newest);
        let Flight { una, nxt, .. } = self.board.flight;
        self.rtt.sample(first, una, nxt);
        self.conn.srtt = self.rtt.srtt();
    }

    pub(super) fn rearm_rto(&mut self) {
        self.timer.rearm_rto(self.conn.now, &self.board, &self.rtt);
    }

    /// Schedules a tail loss probe. If no probe is allowed, sets the retransmission timer (Linux
    /// `tcp_set_xmit_timer`).
    pub(super) fn set_xmit_timer(&mut self) {
        let probe = self
            .timer
            .schedule_probe(&self.conn, &self.board, &self.rtt, true);
        if !probe {
            self.rearm_rto();
        }
    }

    #[inline]
    pub(super) fn update_pacing_rate(&mut self) {
        if self.pacer.paces() {
            self.set_pacing_rate();
        }
    }

    fn set_pacing_rate(&mut self) {
        let view = self.conn.view(&self.board.flight);
        self.pacer.update_rate(view, &mut self.window);
    }

    /// During a reduction, returns ssthresh. Otherwise returns ssthresh or three quarters of the
    /// window, whichever is larger (Linux `tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        let Window { cwnd, ssthresh, .. } = self.window;
        if self.conn.ca_state.is_reduction() {
            ssthresh
        } else {
            ssthresh.max((cwnd >> 1) + (cwnd >> 2))
        }
    }

    /// Sends new data as far as the window and pacing allow (Linux `tcp_write_xmit`). If data was
    /// sent, sets the timer and returns true.
    #[inline]
    pub(super) fn transmit(&mut self, port: &mut impl Port) -> bool {
        if self.queue.is_empty() || !self.is_established() {
            return false;
        }
        let alone = self.board.flight.packets_out() == 0;
        if alone {
            self.restart_after_idle();
        }
        let before = self.board.flight.nxt;
        let mut in_flight = self.board.flight.in_flight();
        while in_flight < self.window.cwnd
            && self.may_send_single()
            && self.pacer.may_leave(self.conn.now)
        {
            self.send_new(port);
            in_flight += 1;
        }
        // If the next burst does not fit into the rest of the window, the burst waits (Linux
        // `tcp_tso_should_defer`). In this case too, the sender counts as limited by the window.
        let limited = in_flight >= self.window.cwnd
            || (self.pacer.may_leave(self.conn.now)
                && in_flight + self.window.pacing_burst > self.window.cwnd
                && self.plan.joined == 0);
        let sent = self.board.flight.nxt > before;
        if sent || limited {
            self.note_window_use(limited);
        }
        if sent {
            self.arm_after_new(alone);
        } else if self.plan.joined > 0 {
            return self.transmit_joined(alone, port);
        }
        sent
    }

    /// Returns the idle time after which the sender reduces the window, and the initial window,
    /// which is the lower limit of this reduction. `None` if an idle time does not change the
    /// window.
    pub fn decays_after_idle(&self) -> Option<(Time, u32)> {
        let decays = self.idle_restart && self.needs.control != Control::Window;
        decays.then(|| (self.rtt.timeout(), self.plan.initial_cwnd))
    }

    /// Sets the timer after new data was sent. `alone` means that no other data was in flight.
    #[inline(always)]
    pub(super) fn arm_after_new(&mut self, alone: bool) {
        let probe = self
            .timer
            .schedule_probe(&self.conn, &self.board, &self.rtt, false);
        if !probe && (alone || self.timer.kind == Kind::Probe) {
            self.rearm_rto();
        }
    }

    /// If the connection was idle for longer than the timeout, reduces the window (RFC 5681 section
    /// 4.1, Linux `tcp_slow_start_after_idle_check` and `tcp_cwnd_restart`).
    fn restart_after_idle(&mut self) {
        let rto = self.rtt.timeout();
        let idle = self.conn.now.since(self.conn.last_sent);
        if self.idle_restart
            && self.needs.control != Control::Window
            && self.conn.last_sent > Time::ZERO
            && idle > rto
        {
            self.window.ssthresh = self.current_ssthresh();
            let restart = self.plan.initial_cwnd.min(self.window.cwnd);
            let halvings = (idle.ns() / rto.ns().max(1)).min(31) as u32;
            let before = self.window.cwnd;
            self.window.cwnd = (before >> halvings).max(restart);
            if self.window.cwnd < before {
                self.account_step(Reason::Idle, before);
            }
        }
        self.tell(CwndEvent::TxStart);
    }

    /// Records the number of segments in flight, and whether the window limited sending (Linux
    /// `tcp_cwnd_validate`).
    pub(super) fn note_window_use(&mut self, limited: bool) {
        let out = self.board.flight.packets_out();
        let conn = &mut self.conn;
        if self.board.flight.una >= self.usage_noted
            || limited
            || (!conn.cwnd_limited && out > conn.max_packets_out)
        {
            conn.cwnd_limited = limited;
            conn.max_packets_out = out;
            self.usage_noted = self.board.flight.nxt;
        }
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, port: &mut impl Port) {
        let payload = self.queue.take(self.plan.mss);
        let alone = self.board.flight.packets_out() == 0;
        let seq = self.board.flight.nxt;
        self.board.push(payload, self.conn.now);
        self.note_sent(seq, alone);
        let mut packet = self.data_packet(seq, payload);
        self.ecn.on_new(&mut packet);
        self.emit(packet, port);
        if self.conn.ca_state.is_reduction() {
            self.recovery.prr.sent();
        }
    }

    /// Retransmits lost segments as far as the window allows (Linux `tcp_xmit_retransmit_queue`).
    pub(super) fn retransmit_lost(&mut self, port: &mut impl Port) {
        if self.plan.joined > 0 {
            return self.retransmit_lost_joined(port);
        }
        let mut rearm = false;
        while self.board.flight.in_flight() < self.window.cwnd
            && self.pacer.may_leave(self.conn.now)
        {
            let Some(seq) = self.board.next_to_retransmit() else {
                break;
            };
            self.retransmit(seq, port);
            if self.conn.ca_state.is_reduction() {
                self.recovery.prr.sent();
            }
            rearm |= seq == self.board.flight.una && self.timer.kind != Kind::Reorder;
        }
        if rearm {
            self.restart_rto();
        }
    }

    pub(super) fn restart_rto(&mut self) {
        self.timer
            .set(Kind::Retransmit, self.conn.now, self.rtt.timeout());
    }

    pub(super) fn retransmit(&mut self, seq: u64, port: &mut impl Port) {
        let now = self.conn.now;
        self.board.retransmitted(seq, now);
        self.note_sent(seq, false);
        self.recovery.undo.retransmitted(now);
        self.emit_again(seq, port);
    }

    /// Sends the last segment again as a tail loss probe.
    pub(super) fn probe_with_last(&mut self, port: &mut impl Port) {
        let last = self.board.flight.nxt - 1;
        self.board.part(last);
        self.board.probed(last, self.conn.now);
        self.note_sent(last, false);
        self.emit_again(last, port);
    }

    /// Records the state of the connection when a segment is sent. A later delivery-rate sample
    /// needs this state.
    #[inline]
    pub(super) fn note_sent(&mut self, seq: u64, alone: bool) {
        if let Some(rates) = &mut self.rates {
            let view = self.conn.view(&self.board.flight);
            let app_limited = self.window.app_limited != 0;
            rates.sent(seq, alone, self.board.lost_marks, app_limited, view);
        }
    }

    #[inline(never)]
    fn emit_again(&mut self, seq: u64, port: &mut impl Port) {
        let mut packet = self.data_packet(seq, self.board.get(seq).len);
        packet.flags |= flags::RETRANSMIT;
        self.ecn.on_repeated(&mut packet);
        self.stats.retransmits += 1;
        self.emit(packet, port);
    }

    pub(super) fn data_packet(&self, seq: u64, payload: u16) -> Packet {
        let mut packet = Packet::new(self.flow, self.plan.header + payload, Ecn::NotEct);
        packet.seq = seq;
        packet.payload = payload;
        packet.sent = self.conn.now;
        packet
    }

    #[inline(always)] // inline, because a call would pass the packet through memory
    pub(super) fn emit(&mut self, packet: Packet, port: &mut impl Port) {
        self.conn.last_sent = self.conn.now;
        self.stats.packets += 1;
        self.pacer.sent(
            self.conn.now,
            packet.payload,
            self.board.flight.nxt,
            &self.window,
        );
        port.send(packet);
    }
}
