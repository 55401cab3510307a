//! The sending end: handshake, transmission and timers (Linux `tcp_output.c`, `tcp_timer.c`).

use tailback_record::Histogram;

use super::accecn::{self, Answer, Sending};
use super::rate::Rates;
use super::recovery::REORDERING;
use super::rtt::{INITIAL_RTO, MAX_RTO, Rtt};
use super::scoreboard::Scoreboard;
use super::{Port, SYN_EXTRA};
use crate::cc::{
    CaState, CongestionControl, Conn, Control, CwndEvent, EcnNeed, Flight, INFINITE_SSTHRESH,
    Needs, View, Window,
};
use crate::packet::{Ecn, Packet, flags};
use crate::plan::{EcnFeedback, Pacing, TcpPlan};
use crate::units::{Rate, Time};
use crate::wheel;

/// Linux `TCP_TIMEOUT_MIN`, two jiffies at HZ 1000.
pub(super) const TIMEOUT_MIN: Time = Time::from_ms(2);

/// Linux `tcp_syn_linear_timeouts`.
const SYN_LINEAR_TIMEOUTS: u32 = 4;
/// Data segments of a connection that are not paced (`fq`'s initial quantum, in segments).
const UNPACED: u64 = 10;

/// How long a SYN that was sent again so often waits for its answer. The first
/// timeouts do not double (Linux `tcp_syn_linear_timeouts`, since 6.5).
pub fn syn_timeout(retransmits: u32) -> Time {
    let doublings = retransmits.saturating_sub(SYN_LINEAR_TIMEOUTS);
    Time(INITIAL_RTO.ns() << doublings.min(7)).min(MAX_RTO)
}

/// Which timer the one deadline of a sender stands for (Linux `icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    /// Nothing.
    None,
    /// Retransmission timeout.
    Retransmit,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// RACK's reordering window (RFC 8985 section 6.3).
    Reorder,
}

/// Where the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    SynSent,
    Established,
    Done,
}

/// The sender of a flow.
pub struct Sender {
    /// What its congestion control reads.
    pub conn: Conn,
    /// What its congestion control writes.
    pub window: Window,
    pub(super) cc: Box<dyn CongestionControl>,
    pub(super) needs: Needs,
    pub(super) board: Scoreboard,
    /// For a congestion control that measures the rate of delivery.
    pub(super) rates: Option<Box<Rates>>,
    pub(super) rtt: Rtt,
    pub(super) undo: Undo,
    pub(super) prr: Prr,
    pub(super) rack: Rack,
    /// Recovery point: the state ends when everything below is acknowledged (`high_seq`).
    pub(super) high_seq: u64,
    /// F-RTO is probing whether a timeout was spurious (RFC 5682).
    pub(super) frto: bool,
    /// Recovery point of the tail loss probe that is out (Linux `tlp_high_seq`).
    pub(super) tlp_high_seq: Option<u64>,
    /// The probe was a retransmission.
    pub(super) tlp_retrans: bool,
    /// Timeouts in a row (`icsk_retransmits`).
    pub(super) retransmits: u32,
    /// Doublings of the timeout.
    pub(super) backoff: u32,
    /// The deadline and what it stands for.
    pub(super) timer: Time,
    /// When the timer was set; `NEVER` once the deadline is that of the timer wheel.
    timer_set: Time,
    pub(super) timer_kind: TimerKind,
    /// Set CWR on the next new data segment.
    pub(super) queue_cwr: bool,
    /// ECN was negotiated.
    pub(super) ecn: bool,
    /// Retransmissions and pure ACKs are ECN-capable too (congestion controls that need ECN,
    /// and Accurate ECN).
    pub(super) ecn_always: bool,
    /// The ECN field of what is ECN-capable.
    ect: Ecn,
    /// The SYN asks for Accurate ECN.
    ask_accecn: bool,
    /// What is known by Accurate ECN, once that is negotiated.
    pub(super) accecn: Option<Sending>,
    /// Statistics since the warm-up.
    pub stats: SenderStats,
    /// Largest `snd_nxt` at which the usage of the window was noted.
    pub(super) cwnd_usage_seq: u64,
    /// Payload bytes not yet sent; `None`: without end.
    unsent: Option<u64>,
    /// The application may still write: an empty queue is not the end.
    open: bool,
    /// Whether the window of an idle connection decays (Linux `tcp_slow_start_after_idle`).
    pub idle_restart: bool,
    /// Segments the receive window allows to be outstanding.
    rwnd: u64,
    phase: Phase,
    syn_retransmits: u32,
    /// When the first SYN was sent.
    syn_sent: Time,
    /// No packet before this (pacing).
    pub(super) pace_until: Time,
    /// Segments that may still leave with the last one, and when that was (Linux: in one
    /// TSO segment).
    burst: (u32, Time),
    /// Number of the first data segment.
    first: u64,
    flow: u32,
    /// Options of the stack.
    pub(super) plan: TcpPlan,
}

/// What is needed to take a reduction back (Linux `tcp_init_undo`).
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// Where the reduction began; `None`: cannot be taken back.
    pub marker: Option<u64>,
    /// Retransmissions not yet proven spurious by a D-SACK; `None`: none was sent.
    pub retrans: Option<u32>,
    /// ssthresh before the reduction; 0: do not restore.
    pub prior_ssthresh: u32,
    /// Time of the first retransmission of this recovery.
    pub retrans_stamp: Option<Time>,
}

/// Proportional rate reduction (RFC 6937).
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// Window when the last reduction began.
    pub prior_cwnd: u32,
    /// Delivered since the reduction began.
    pub delivered: u32,
    /// Sent since the reduction began.
    pub out: u32,
}

impl Prr {
    /// A reduction of this window begins.
    pub fn of(prior_cwnd: u32) -> Prr {
        Prr {
            prior_cwnd,
            ..Prr::default()
        }
    }
}

/// RACK (RFC 8985 section 6).
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Transmission time of the most recently sent segment that was delivered.
    pub sent: Time,
    /// One past that segment, to break ties.
    pub end: u64,
    /// Its RTT.
    pub rtt: Time,
    /// A delivery has advanced it since the last check.
    pub advanced: bool,
    /// Reordering was seen.
    pub reordering_seen: bool,
    /// By how many segments at most (Linux `reordering`); 3 before any was seen.
    pub reordering: u32,
    /// Quarters of the minimum RTT in the reordering window.
    pub steps: u32,
    /// Recoveries until `steps` falls back to 1.
    pub persist: u32,
    /// `snd_nxt` when a D-SACK was last answered with a wider window.
    pub dsack_round: u64,
}

/// State of a sender that its congestion control does not see; names of
/// Linux's `tcp_info`, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Sent and not acknowledged.
    pub unacked: u32,
    /// Selectively acknowledged.
    pub sacked: u32,
    /// Decided lost, retransmitted or not.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retrans: u32,
    /// Retransmissions since the warm-up.
    pub total_retrans: u64,
    /// Timeouts in a row.
    pub retransmits: u32,
    /// Doublings of the timeout.
    pub backoff: u32,
    /// The timeout, with backoff.
    pub rto: Time,
    /// Largest distance by which a segment was seen overtaken, at least 3.
    pub reordering: u32,
}

/// What is counted of a sender since the warm-up.
#[derive(Clone, Debug, Default)]
pub struct SenderStats {
    /// Data packets sent, retransmissions included.
    pub packets: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// RTT samples, ns.
    pub rtt: Histogram,
}

impl Sender {
    /// A sender that has not connected yet.
    pub fn new(
        flow: u32,
        plan: &TcpPlan,
        cc: Box<dyn CongestionControl>,
        ecn: bool,
        bytes: Option<u64>,
    ) -> Sender {
        let needs = cc.needs();
        let need = needs.ecn;
        let feedback = plan.ecn_feedback;
        let ask_accecn = ecn && (need == EcnNeed::Accurate || feedback == EcnFeedback::AccEcn);
        Sender {
            conn: Conn {
                mss: plan.mss,
                ..Conn::default()
            },
            window: Window::new(
                plan.initial_cwnd,
                match plan.initial_ssthresh {
                    0 => INFINITE_SSTHRESH,
                    known => known,
                },
                plan.growth,
            ),
            needs,
            board: Scoreboard::default(),
            rates: needs.rate_samples.then(Box::default),
            rtt: Rtt::new(plan.min_rto),
            undo: Undo::default(),
            prr: Prr::default(),
            rack: Rack {
                sent: Time::ZERO,
                end: 0,
                rtt: Time::ZERO,
                advanced: false,
                reordering_seen: false,
                reordering: REORDERING,
                steps: 1,
                persist: 0,
                dsack_round: 0,
            },
            high_seq: 0,
            frto: false,
            tlp_high_seq: None,
            tlp_retrans: false,
            retransmits: 0,
            backoff: 0,
            timer: Time::NEVER,
            timer_set: Time::NEVER,
            timer_kind: TimerKind::None,
            queue_cwr: false,
            ecn: ecn && (ask_accecn || feedback != EcnFeedback::None),
            ecn_always: ecn && matches!(need, EcnNeed::Dctcp(_) | EcnNeed::Accurate),
            ect: match need {
                EcnNeed::Accurate => Ecn::Ect1,
                _ => Ecn::Ect0,
            },
            ask_accecn,
            accecn: None,
            stats: SenderStats::default(),
            cwnd_usage_seq: 0,
            unsent: bytes,
            open: false,
            idle_restart: true,
            rwnd: (plan.rwnd.0 / u64::from(plan.mss)).max(1),
            phase: Phase::Waiting,
            syn_retransmits: 0,
            syn_sent: Time::ZERO,
            pace_until: Time::ZERO,
            burst: (0, Time::NEVER),
            first: 0,
            flow,
            plan: plan.clone(),
            cc,
        }
    }

    /// The same sender with another number for its first segment: whatever it is, the sender
    /// does the same. To be called before it connects.
    pub fn numbered_from(mut self, first: u64) -> Sender {
        self.board = Scoreboard::numbered_from(first);
        self.high_seq = first;
        self.cwnd_usage_seq = first;
        self.rack.end = first;
        self.rack.dsack_round = first;
        self.first = first;
        self
    }

    /// The congestion control, what it reads and what it writes.
    #[inline]
    pub(super) fn hooks(&mut self) -> (&mut dyn CongestionControl, View<'_>, &mut Window) {
        let view = self.conn.view(&self.board.flight);
        (&mut *self.cc, view, &mut self.window)
    }

    pub(super) fn tell(&mut self, event: CwndEvent) {
        let (cc, view, window) = self.hooks();
        cc.cwnd_event(view, window, event);
    }

    /// Names of the congestion control's gauges.
    pub fn gauge_names(&self) -> &'static [&'static str] {
        self.cc.gauge_names()
    }

    /// Internal state of the congestion control, in the order of [`Sender::gauge_names`].
    pub fn gauges(&self, out: &mut Vec<f64>) {
        let view = self.conn.view(&self.board.flight);
        self.cc.gauges(view, &self.window, out);
    }

    /// What its congestion control needs of it, as granted.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Segments sent and what became of them.
    pub fn flight(&self) -> &Flight {
        &self.board.flight
    }

    /// When this sender next wants [`Sender::on_timer`].
    #[inline]
    pub fn deadline(&self) -> Time {
        if self.pace_until > self.conn.now
            && self.phase == Phase::Established
            && self.wants_to_send()
        {
            self.timer.min(self.pace_until)
        } else {
            self.timer
        }
    }

    /// Whether data may still be sent, window or not.
    fn wants_to_send(&self) -> bool {
        self.unsent != Some(0) || self.board.lost_pending > 0
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.unsent != Some(0)
    }

    pub(super) fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }

    /// Whether every byte was sent and acknowledged.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Whether the receive window, not the congestion window, is the limit.
    pub fn rwnd_limited(&self) -> bool {
        u64::from(self.board.flight.packets_out()) >= self.rwnd
    }

    /// Smoothed RTT, if there was a sample.
    pub fn srtt(&self) -> Option<Time> {
        (self.conn.srtt > Time::ZERO).then_some(self.conn.srtt)
    }

    /// Segments acknowledged cumulatively.
    pub fn acked(&self) -> u64 {
        self.board.flight.una - self.first
    }

    /// No new data from now on.
    pub fn stop(&mut self) {
        self.unsent = Some(0);
        if self.board.flight.packets_out() == 0 {
            self.phase = Phase::Done;
            self.clear_timer();
        }
    }

    /// Whether [`Sender::start`] was called.
    pub fn has_started(&self) -> bool {
        self.phase != Phase::Waiting
    }

    /// Connects.
    pub fn start(&mut self, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        self.syn_sent = now;
        self.phase = Phase::SynSent;
        self.send_syn(port);
    }

    fn send_syn(&mut self, port: &mut impl Port) {
        let now = self.conn.now;
        // RFC 3168 section 6.1.1 has SYN not ECN-capable; Linux makes an
        // exception for congestion controls that need ECN.
        let ecn = if self.ecn_always {
            self.ect
        } else {
            Ecn::NotEct
        };
        let mut syn = Packet::new(self.flow, self.plan.header + SYN_EXTRA, ecn);
        syn.flags = flags::SYN;
        if self.ask_accecn {
            syn.flags |= accecn::REQUEST;
        }
        syn.sent = now;
        port.send(syn);
        self.set_timer(TimerKind::Retransmit, syn_timeout(self.syn_retransmits));
    }

    /// The SYN-ACK has arrived.
    pub fn on_syn_ack(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        if self.phase != Phase::SynSent {
            return;
        }
        self.phase = Phase::Established;
        self.clear_timer();
        if self.ask_accecn {
            self.negotiated(accecn::answer(packet.flags));
        }
        if self.syn_retransmits == 0 || self.plan.timestamps {
            self.take_rtt_sample(now - packet.sent, now - packet.sent);
        } else {
            // RFC 6298 section 5.7: nothing was learned of the path but that it is slow.
            self.rtt.sample(
                Time::from_secs(1),
                self.board.flight.una,
                self.board.flight.nxt,
            );
            self.conn.srtt = self.rtt.srtt();
        }
        // RFC 5681 section 3.1, relaxed to more than one (Linux `tcp_init_transfer`):
        // unless the answer is to the first SYN, which then was not lost.
        if self.syn_retransmits > 1 && !(self.plan.timestamps && packet.sent == self.syn_sent) {
            self.window.cwnd = 1;
        }
        self.init_transfer();
        self.transmit(port);
    }

    /// The other end has answered the request for Accurate ECN (Linux
    /// `tcp_ecn_rcv_synack`); who needs it does not make do with RFC 3168.
    fn negotiated(&mut self, answer: Answer) {
        let needed = self.needs.ecn == EcnNeed::Accurate;
        match answer {
            Answer::AccEcn { syn_ce } => {
                self.accecn = Some(Sending::default());
                self.ecn_always = true;
                self.conn.delivered_ce = u64::from(syn_ce);
            }
            Answer::Rfc3168 if !needed => {}
            Answer::Rfc3168 | Answer::None => {
                self.ecn = false;
                self.ecn_always = false;
                if needed {
                    self.needs.control = self.cc.ecn_refused();
                }
            }
        }
    }

    /// Linux `tcp_init_transfer`.
    fn init_transfer(&mut self) {
        self.conn.last_sent = self.conn.now;
        let (cc, view, window) = self.hooks();
        cc.init(view, window);
        self.update_pacing_rate();
        self.note_if_done();
    }

    /// The other end has connected: the ACK of this end's SYN-ACK has come, `rtt` after it.
    /// Scenarios have senders connect; this is for hosts that accept.
    pub fn establish(&mut self, now: Time, rtt: Time) {
        self.conn.now = now;
        self.phase = Phase::Established;
        // A sample of nothing would count as none.
        let rtt = rtt.max(Time::from_us(1));
        self.take_rtt_sample(rtt, rtt);
        self.init_transfer();
    }

    /// The application writes piece by piece ([`Sender::write`]): a queue that
    /// has run empty is not the end.
    pub fn expect_writes(&mut self) {
        self.open = true;
    }

    /// The application hands over `bytes`.
    pub fn write(&mut self, bytes: u64, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        self.note_if_app_limited();
        if let Some(left) = &mut self.unsent {
            *left += bytes;
        }
        self.transmit(port);
    }

    /// A gap between what the application has written and what it will: what
    /// is delivered until it has passed says nothing of the path (Linux
    /// `tcp_rate_check_app_limited`).
    fn note_if_app_limited(&mut self) {
        if self.rates.is_none() {
            return;
        }
        let in_flight = self.board.flight.in_flight();
        if self
            .unsent
            .is_some_and(|left| left < u64::from(self.plan.mss))
            && in_flight < self.window.cwnd
            && self.board.lost_pending == 0
        {
            self.window.app_limited = (self.conn.delivered + u64::from(in_flight)).max(1);
        }
    }

    /// The receive window is now `segments` long.
    pub fn set_rwnd(&mut self, segments: u64) {
        self.rwnd = segments;
    }

    /// Payload bytes written and not yet sent; `None`: without end.
    pub fn unsent(&self) -> Option<u64> {
        self.unsent
    }

    /// What `ss -ti` would show.
    pub fn info(&self) -> TcpInfo {
        TcpInfo {
            unacked: self.board.flight.packets_out(),
            sacked: self.board.flight.sacked_out,
            lost: self.board.flight.lost_out,
            retrans: self.board.flight.retrans_out,
            total_retrans: self.stats.retransmits,
            retransmits: self.retransmits,
            backoff: self.backoff,
            rto: self.rto(),
            reordering: self.rack.reordering,
        }
    }

    /// Takes an RTT sample: `first` is that of the oldest segment an ACK newly
    /// covers (it drives srtt), `newest` that of the newest (it drives the minimum).
    pub(super) fn take_rtt_sample(&mut self, first: Time, newest: Time) {
        self.conn.min_rtt = self.conn.min_rtt.min(newest);
        self.rtt
            .sample(first, self.board.flight.una, self.board.flight.nxt);
        self.conn.srtt = self.rtt.srtt();
        self.backoff = 0;
    }

    /// The timeout with backoff.
    pub(super) fn rto(&self) -> Time {
        Time(
            self.rtt
                .rto()
                .ns()
                .saturating_mul(1 << self.backoff.min(16)),
        )
        .min(MAX_RTO)
    }

    pub(super) fn set_timer(&mut self, kind: TimerKind, after: Time) {
        self.timer_kind = kind;
        self.timer = self.conn.now + after;
        self.timer_set = self.conn.now;
    }

    pub(super) fn clear_timer(&mut self) {
        self.timer_kind = TimerKind::None;
        self.timer = Time::NEVER;
    }

    /// Time until the first unacknowledged segment times out; zero if that is past.
    fn until_rto(&self) -> Time {
        let sent = self.board.get(self.board.flight.una).sent;
        (sent + self.rto()).since(self.conn.now)
    }

    /// Linux `tcp_rearm_rto`.
    pub(super) fn rearm_rto(&mut self) {
        if self.board.flight.packets_out() == 0 {
            self.clear_timer();
            return;
        }
        let after = match self.timer_kind {
            // What has passed since the regular timeout was due to start counts.
            TimerKind::Probe | TimerKind::Reorder => self.until_rto().max(Time(1)),
            _ => self.rto(),
        };
        self.set_timer(TimerKind::Retransmit, after);
    }

    /// Linux `tcp_set_xmit_timer`.
    pub(super) fn set_xmit_timer(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm_rto();
        }
    }

    /// Schedules a tail loss probe (RFC 8985 section 7.2; Linux `tcp_schedule_loss_probe`).
    /// `progress`: an ACK has just let the timeout start anew.
    pub(super) fn schedule_probe(&mut self, progress: bool) -> bool {
        let open = matches!(self.conn.ca_state, CaState::Open | CaState::Cwr);
        let out = self.board.flight.packets_out();
        if out == 0 || !open {
            return false;
        }
        let mut after = if self.conn.srtt > Time::ZERO {
            let slack = if out == 1 {
                self.plan.min_rto
            } else {
                TIMEOUT_MIN
            };
            Time(2 * self.conn.srtt.ns()) + slack
        } else {
            INITIAL_RTO
        };
        let until_rto = if progress {
            self.rto()
        } else {
            self.until_rto()
        };
        if until_rto > Time::ZERO {
            after = after.min(until_rto);
        }
        self.set_timer(TimerKind::Probe, after);
        true
    }

    /// A deadline has come.
    pub fn on_timer(&mut self, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        if self.timer <= now && self.timer_set < Time::NEVER && wheel::coarse(&self.plan) {
            // Only now: most timers are set anew before they are due.
            self.timer = wheel::fires(self.timer_set, self.timer);
            self.timer_set = Time::NEVER;
        }
        if self.timer <= now {
            match (
                self.phase,
                std::mem::replace(&mut self.timer_kind, TimerKind::None),
            ) {
                (Phase::SynSent, _) => {
                    self.syn_retransmits += 1;
                    self.send_syn(port);
                }
                (_, TimerKind::Retransmit) => self.on_rto(port),
                (_, TimerKind::Probe) => self.send_probe(port),
                (_, TimerKind::Reorder) => self.on_reorder_timeout(port),
                (_, TimerKind::None) => self.timer = Time::NEVER,
            }
        }
        // A deadline of pacing: go on where it stopped. Without pacing nothing waits here.
        if self.phase == Phase::Established && self.is_paced() && self.pace_until <= now {
            self.retransmit_lost(port);
            self.transmit(port);
        }
    }

    /// Linux `tcp_send_loss_probe`: new data if there is any, else the last segment again.
    fn send_probe(&mut self, port: &mut impl Port) {
        self.timer_kind = TimerKind::Probe;
        if self.tlp_high_seq.is_none() && self.board.flight.packets_out() > 0 {
            if self.unsent != Some(0) && !self.rwnd_limited() {
                self.tlp_retrans = false;
                self.send_new(port);
                self.note_window_use(self.board.flight.in_flight() >= self.window.cwnd);
            } else {
                self.tlp_retrans = true;
                let last = self.board.flight.nxt - 1;
                self.board.probed(last, self.conn.now);
                self.note_sent(last, false);
                self.emit_again(last, port);
            }
            self.tlp_high_seq = Some(self.board.flight.nxt);
            // The timeout counts from the probe.
            self.timer_kind = TimerKind::None;
        }
        self.rearm_rto();
    }

    /// Sends new data as far as window and pacing allow (Linux `tcp_write_xmit`).
    pub(super) fn transmit(&mut self, port: &mut impl Port) {
        if self.unsent == Some(0) || self.phase != Phase::Established {
            return;
        }
        if self.board.flight.packets_out() == 0 {
            self.restart_after_idle();
        }
        let before = self.board.flight.nxt;
        let mut in_flight = self.board.flight.in_flight();
        while in_flight < self.window.cwnd
            && !self.rwnd_limited()
            && self.unsent != Some(0)
            && self.may_leave()
        {
            self.send_new(port);
            in_flight += 1;
        }
        // A burst that does not fit into the window waits for it to open (Linux
        // `tcp_tso_should_defer`): the window is the limit.
        let limited = in_flight >= self.window.cwnd
            || (self.may_leave() && in_flight + self.window.pacing_burst > self.window.cwnd);
        if self.board.flight.nxt > before || limited {
            self.note_window_use(limited);
        }
        if self.board.flight.nxt > before {
            self.schedule_probe(false);
        }
    }

    /// RFC 5681 section 4.1, Linux `tcp_slow_start_after_idle_check` and `tcp_cwnd_restart`.
    fn restart_after_idle(&mut self) {
        let rto = self.rto();
        let idle = self.conn.now.since(self.conn.last_sent);
        // Not one that owns the window (Linux `tcp_slow_start_after_idle_check`).
        if self.idle_restart
            && self.needs.control != Control::Window
            && self.conn.last_sent > Time::ZERO
            && idle > rto
        {
            self.window.ssthresh = self.current_ssthresh();
            let restart = self.plan.initial_cwnd.min(self.window.cwnd);
            let halvings = (idle.ns() / rto.ns().max(1)).min(31) as u32;
            self.window.cwnd = (self.window.cwnd >> halvings).max(restart);
        }
        self.tell(CwndEvent::TxStart);
    }

    /// Linux `tcp_cwnd_validate`: was the window the limit?
    fn note_window_use(&mut self, limited: bool) {
        let out = self.board.flight.packets_out();
        let conn = &mut self.conn;
        if self.board.flight.una >= self.cwnd_usage_seq
            || limited
            || (!conn.cwnd_limited && out > conn.max_packets_out)
        {
            conn.cwnd_limited = limited;
            conn.max_packets_out = out;
            self.cwnd_usage_seq = self.board.flight.nxt;
        }
    }

    fn send_new(&mut self, port: &mut impl Port) {
        let now = self.conn.now;
        let mss = u64::from(self.plan.mss);
        let payload = match &mut self.unsent {
            None => mss,
            Some(left) => {
                let payload = mss.min(*left);
                *left -= payload;
                payload
            }
        } as u16;
        let first = self.board.flight.packets_out() == 0;
        let seq = self.board.flight.nxt;
        self.board.push(payload, now);
        self.note_sent(seq, first);
        let mut packet = self.data_packet(seq, payload);
        if self.ecn {
            packet.ecn = self.ect;
            if std::mem::take(&mut self.queue_cwr) {
                packet.flags |= flags::CWR;
            }
        }
        self.emit(packet, port);
        if self.in_reduction() {
            self.prr.out += 1;
        }
        if first || self.timer_kind == TimerKind::Probe {
            self.rearm_rto();
        }
    }

    /// Sends a segment again.
    pub(super) fn retransmit(&mut self, seq: u64, port: &mut impl Port) {
        let now = self.conn.now;
        self.board.retransmitted(seq, now);
        self.note_sent(seq, false);
        self.undo.retrans_stamp.get_or_insert(now);
        self.undo.retrans = Some(self.undo.retrans.unwrap_or(0) + 1);
        self.emit_again(seq, port);
    }

    /// Notes what a sample of the delivery rate will need of a segment sent now.
    #[inline]
    fn note_sent(&mut self, seq: u64, alone: bool) {
        if let Some(rates) = &mut self.rates {
            let view = self.conn.view(&self.board.flight);
            let app_limited = self.window.app_limited != 0;
            rates.sent(seq, alone, self.board.lost_marks, app_limited, view);
        }
    }

    fn emit_again(&mut self, seq: u64, port: &mut impl Port) {
        let mut packet = self.data_packet(seq, self.board.get(seq).len);
        packet.flags |= flags::RETRANSMIT;
        // RFC 3168 section 6.1.5: retransmissions are not ECN-capable.
        if self.ecn_always {
            packet.ecn = self.ect;
        }
        self.stats.retransmits += 1;
        self.emit(packet, port);
    }

    fn data_packet(&self, seq: u64, payload: u16) -> Packet {
        let mut packet = Packet::new(self.flow, self.plan.header + payload, Ecn::NotEct);
        packet.seq = seq;
        packet.payload = payload;
        packet.sent = self.conn.now;
        packet
    }

    fn emit(&mut self, packet: Packet, port: &mut impl Port) {
        self.conn.last_sent = self.conn.now;
        self.stats.packets += 1;
        // As fq, the first window goes out at once.
        if self.needs.pacing {
            self.pace(packet.payload);
        } else if self.is_paced()
            && self.window.pacing_rate > 0
            && self.board.flight.nxt > self.first + UNPACED
        {
            let gap =
                Rate(self.window.pacing_rate.saturating_mul(8)).time_for(u64::from(packet.len));
            self.pace_until = self.conn.now.max(self.pace_until) + gap;
        }
        port.send(packet);
    }

    /// Whether pacing lets a packet go.
    #[inline]
    fn may_leave(&self) -> bool {
        self.pace_until <= self.conn.now || self.burst.0 > 0 && self.burst.1 == self.conn.now
    }

    /// Linux `tcp_update_skb_after_send`: what counts is the payload, and who is
    /// late makes up for it by at most half of the gap. Segments of a burst
    /// leave together.
    #[inline(never)]
    fn pace(&mut self, payload: u16) {
        let now = self.conn.now;
        if !self.is_paced() || self.window.pacing_rate == 0 {
            return;
        }
        if self.board.flight.nxt <= self.first + UNPACED && !self.window.pace_first {
            return;
        }
        let rate = Rate(self.window.pacing_rate.saturating_mul(8));
        let gap = rate.time_for(u64::from(payload));
        if self.burst.0 > 0 && self.burst.1 == now {
            self.burst.0 -= 1;
            self.pace_until += gap;
            return;
        }
        let late = now.since(self.pace_until).min(Time(gap.ns() / 2));
        self.pace_until = now.max(self.pace_until) + (gap - late);
        self.burst = (self.window.pacing_burst.saturating_sub(1), now);
    }

    fn is_paced(&self) -> bool {
        match self.plan.pacing {
            Pacing::Fq => true,
            Pacing::Off => false,
            Pacing::Auto => self.needs.pacing,
        }
    }

    /// Linux `tcp_update_pacing_rate`: by default twice cwnd/srtt in early slow
    /// start, 1.2 times after that. A congestion control that needs pacing sets its own.
    pub(super) fn update_pacing_rate(&mut self) {
        if !self.is_paced() || self.needs.pacing || self.conn.srtt == Time::ZERO {
            return;
        }
        let window = &mut self.window;
        let percent = if window.cwnd < window.ssthresh / 2 {
            self.plan.pacing_ss_ratio
        } else {
            self.plan.pacing_ca_ratio
        };
        let segments = window.cwnd.max(self.board.flight.packets_out());
        let bytes = u128::from(segments) * u128::from(self.plan.mss);
        window.pacing_rate =
            (bytes * u128::from(percent) * 10_000_000 / u128::from(self.conn.srtt.ns())) as u64;
    }

    /// Retransmits what is decided lost, as far as the window allows (Linux
    /// `tcp_xmit_retransmit_queue`).
    pub(super) fn retransmit_lost(&mut self, port: &mut impl Port) {
        let mut rearm = false;
        while self.board.flight.in_flight() < self.window.cwnd && self.may_leave() {
            let Some(seq) = self.board.next_to_retransmit() else {
                break;
            };
            self.retransmit(seq, port);
            if self.in_reduction() {
                self.prr.out += 1;
            }
            rearm |= seq == self.board.flight.una && self.timer_kind != TimerKind::Reorder;
        }
        if rearm {
            let rto = self.rto();
            self.set_timer(TimerKind::Retransmit, rto);
        }
    }

    /// Every byte was acknowledged.
    pub(super) fn note_if_done(&mut self) {
        if self.unsent == Some(0) && self.board.flight.packets_out() == 0 && !self.open {
            self.phase = Phase::Done;
        }
    }
}
