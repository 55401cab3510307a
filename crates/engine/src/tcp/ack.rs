//! How a sender processes an acknowledgement (Linux `tcp_ack`).

use super::accecn::Delivered;
use super::ecn::Echo;
use super::port::Port;
use super::rack::REORDERING;
use super::scoreboard::{Segment, state};
use super::sender::Sender;
use super::states::{Event, Resend};
use super::timestamps;
use crate::cc::{Ack, CaState, Control, Flight};
use crate::packet::{Packet, Sack, flags};
use crate::units::Time;

/// The segments that an ACK newly acknowledges or SACKs.
#[derive(Default)]
struct Covered {
    delivered: u32,
    /// Number of segments that the ACK acknowledges cumulatively, including segments that were
    /// SACKed before.
    acked: u32,
    /// The send times of the first and the last newly acknowledged segment. Segments that were sent
    /// more than once do not count.
    acked_once: Option<(Time, Time)>,
    /// The send times of the first and the last newly SACKed segment. Segments that were sent more
    /// than once do not count.
    sacked_once: Option<(Time, Time)>,
    /// Whether the ACK acknowledges a retransmitted segment, so that the RTT is ambiguous (Karn).
    retransmitted: bool,
    /// The lowest segment that the ACK delivers and that was sent only once.
    lowest_original: Option<u64>,
    original_delivered: bool,
}

fn widen(span: &mut Option<(Time, Time)>, sent: Time) {
    *span = Some(span.map_or((sent, sent), |(first, _)| (first, sent)));
}

impl Sender {
    /// Processes an ACK, and sends the segments that the window then allows.
    #[inline]
    pub fn on_ack(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        if !self.is_plain(packet) {
            self.on_other_ack(packet, port);
        } else if packet.flags == flags::ACK && self.conn.ca_state == CaState::Open {
            self.on_plain_ack::<false>(packet, port);
        } else {
            self.on_plain_ack::<true>(packet, port);
        }
    }

    /// Processes an ACK with payload. This function is separate so that the code for plain ACKs has
    /// only one caller and is inlined.
    #[cold]
    pub fn on_request(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        self.conn.now = now;
        self.on_other_ack(packet, port);
    }

    /// Returns whether an ACK is plain. A plain ACK advances the window and may echo marks. While a
    /// segment is lost or out of order, no ACK is plain.
    #[inline]
    fn is_plain(&self, packet: &Packet) -> bool {
        let Flight { una, nxt, .. } = self.board.flight;
        packet.flags & !(flags::ECE | flags::ESCE) == flags::ACK
            && packet.sack[0].len == 0
            && una < packet.seq
            && packet.seq <= nxt
            && self.board.is_plain()
            && matches!(self.conn.ca_state, CaState::Open | CaState::Cwr)
            && self.recovery.probe.high_seq.is_none()
            && self.rates.is_none()
            && !self.ecn.is_accurate()
    }

    /// Processes a plain ACK. Executes only those parts of [`Sender::on_other_ack`] that a plain
    /// ACK needs (like Linux's header prediction). `REDUCES` means that the ACK echoes marks, or
    /// that the window is being reduced.
    fn on_plain_ack<const REDUCES: bool>(&mut self, packet: &Packet, port: &mut impl Port) {
        let (ack, now) = (packet.seq, self.conn.now);
        let Echo { ece, esce } = match REDUCES {
            true => self.ecn.echo(packet),
            false => Echo::default(),
        };
        let prior_in_flight = self.board.flight.packets_out();
        self.recovery.timeouts = 0;
        let (first, last) = self.board.pop_plain(ack);
        let acked = prior_in_flight - self.board.flight.packets_out();
        self.recovery.rack.advance_plain(ack, last, now);
        let ce = if ece { acked } else { 0 };
        self.conn.delivered += u64::from(acked);
        self.conn.delivered_ce += u64::from(ce);

        let before = self.window.cwnd;
        let mut news = Ack {
            delivered: acked,
            acked,
            ece,
            esce,
            ce,
            prior_in_flight,
            ..Ack::default()
        };
        let (cc, view, window) = self.hooks();
        cc.in_ack_event(view, window, &news);
        self.take_rtt_sample(now - first, now - last);
        self.stats.rtt.record((now - last).ns());
        news.rtt = Some(now - last);
        let (cc, view, window) = self.hooks();
        cc.pkts_acked(view, window, &news);
        self.recovery.rack.adapt_window(false, &self.board);

        let event = || Event {
            advanced: true,
            ece,
            esce,
            ..Event::default()
        };
        if REDUCES {
            let mut event = event();
            if ece || self.conn.ca_state != CaState::Open {
                self.fast_retransmit_alert(&mut event);
            }
            self.control(&news, &event);
        } else if self.needs.control == Control::Window {
            let (cc, view, window) = self.hooks();
            cc.cong_control(view, window, &news);
        } else {
            let (cc, view, window) = self.hooks();
            let grow = window.growth_of(acked);
            cc.cong_avoid(view, window, grow);
        }
        if self.window.cwnd < before {
            self.account_own(before, &event());
        }
        self.note_slow_start();
        self.update_pacing_rate();
        if !self.transmit(port) {
            self.set_xmit_timer();
        }
        self.note_if_done();
    }

    #[inline(never)]
    fn on_other_ack(&mut self, packet: &Packet, port: &mut impl Port) {
        let ack = packet.seq;
        if ack > self.board.flight.nxt || !self.is_established() {
            return;
        }
        if packet.has(flags::PARTIAL) {
            return self.on_partial_ack(ack, port);
        }
        let prior_una = self.board.flight.una;
        if ack < prior_una && packet.sack[0].len == 0 {
            return; // the ACK is old and reports no new delivery
        }
        let prior_in_flight = self.board.flight.in_flight();
        let prior_out = self.board.flight.packets_out();
        let prior_lost = self.board.lost_marks;
        let Echo { ece, esce } = self.ecn.echo(packet);
        let mut event = Event {
            advanced: ack > prior_una,
            ece,
            esce,
            echo: self.plan.timestamps.then_some(packet.sent),
            prior_una,
            ..Event::default()
        };
        if ack < prior_una {
            return self.on_old_ack(packet, &mut event, port);
        }
        if event.advanced {
            self.recovery.timeouts = 0;
        }
        let prior_highest = self.board.highest_sacked();
        let mut covered = Covered::default();
        if packet.sack[0].len > 0 {
            self.take_sacks(packet, &mut covered, &mut event);
        }
        if prior_out == 0 {
            return self.on_ack_of_nothing(packet, &mut event, port);
        }
        self.pop_acked(ack, &mut covered, &event);
        event.original_delivered = covered.original_delivered;
        event.duplicate = !event.advanced && event.sacked == 0 && !event.dsack;
        let ce = self.count_delivered(packet, &covered, &mut event);
        let ece = event.ece;
        // A segment that was sent only once has arrived after a later segment. So the path reorders
        // packets (RFC 8985 section 6.2 step 3).
        if let Some(seq) = covered.lowest_original
            && seq + 1 < prior_highest
        {
            self.recovery.rack.note_reordering(seq, &self.board);
        }

        let before = self.window.cwnd;
        let mut news = Ack {
            delivered: covered.delivered,
            acked: covered.acked,
            ece,
            esce,
            ce,
            prior_in_flight,
            ..Ack::default()
        };
        let (cc, view, window) = self.hooks();
        cc.in_ack_event(view, window, &news);

        news.rtt = self.measure_rtt(&covered, &event);
        event.rearm = self.rearms(&covered);
        if covered.delivered > 0 {
            let (cc, view, window) = self.hooks();
            cc.pkts_acked(view, window, &news);
        }
        if event.advanced || event.dsack {
            let needless = event.dsack && !event.dsack_of_probe;
            self.recovery.rack.adapt_window(needless, &self.board);
        }
        let probe_acked = self.take_probe_ack(ack, &event);

        let dubious = !event.advanced
            || event.sacked > 0
            || ece
            || event.dsack
            || self.conn.ca_state != CaState::Open;
        let resend = if dubious {
            self.fast_retransmit_alert(&mut event)
        } else {
            Resend::None
        };
        // Set the timer only after the congestion state has been updated, because probes are sent
        // only in Open and CWR.
        if event.rearm {
            self.set_xmit_timer();
        }

        news.losses = (self.board.lost_marks - prior_lost) as u32;
        self.take_rate_sample(covered.delivered, probe_acked);
        self.control(&news, &event);
        if self.window.cwnd < before {
            self.account_own(before, &event);
        }
        self.note_slow_start();
        self.update_pacing_rate();
        self.resend(resend, port);
        self.transmit(port);
        self.note_if_done();
    }

    /// Processes an ACK that acknowledges a part of a segment. The window grows only if growth
    /// counts ACKs, as in RFC 5681 without byte counting. (In Linux 3.2, only ACKs of whole
    /// segments let the window grow.)
    #[cold]
    fn on_partial_ack(&mut self, ack: u64, port: &mut impl Port) {
        let flight = self.board.flight;
        let news = (flight.una..flight.nxt).contains(&ack);
        if !news || self.conn.ca_state != CaState::Open || self.needs.control == Control::Window {
            return;
        }
        let (cc, view, window) = self.hooks();
        if window.counts_acks() {
            cc.cong_avoid(view, window, 1);
        }
        self.note_slow_start();
        self.update_pacing_rate();
        self.transmit(port);
    }

    /// Removes from the scoreboard the segments that a cumulative ACK covers.
    #[inline(always)] // inline, because it has one caller
    fn pop_acked(&mut self, ack: u64, covered: &mut Covered, event: &Event) {
        while self.board.flight.una < ack {
            let seq = self.board.flight.una;
            let segment = self.board.pop();
            covered.acked += 1;
            self.cover(seq, &segment, event.echo, covered);
        }
        if event.advanced {
            self.board.popped();
        }
    }

    /// Counts the segments that an ACK delivers. Returns how many of these segments were marked.
    /// With Accurate ECN, the ACK's counters give the number of marks.
    #[inline(always)] // inline, because it has one caller
    fn count_delivered(&mut self, packet: &Packet, covered: &Covered, event: &mut Event) -> u32 {
        self.conn.delivered += u64::from(covered.delivered);
        let mut ce = if event.ece { covered.delivered } else { 0 };
        let progress = event.advanced || covered.delivered > 0 || packet.has(flags::NEWER);
        if progress && let Some(marked) = self.accurate_ce(packet, covered.delivered, event.dsack) {
            ce = marked;
            event.ece = ce > 0;
        }
        self.conn.delivered_ce += u64::from(ce);
        ce
    }

    /// Processes an ACK that may cover a tail loss probe. Returns whether it covers a probe that
    /// was a retransmission.
    #[inline(always)] // inline, because it has one caller
    fn take_probe_ack(&mut self, ack: u64, event: &Event) -> bool {
        let probe_acked = self.recovery.probe.retrans
            && self.recovery.probe.high_seq.is_some_and(|high| ack >= high);
        if let Some(high) = self.recovery.probe.high_seq {
            self.process_tlp_ack(ack, high, event);
        }
        probe_acked
    }

    /// Returns whether an ACK restarts the retransmission timeout. The head is the first
    /// unacknowledged segment. A SACK restarts the timeout only if the SACKed segment was sent
    /// before the last transmission of the head. Otherwise, the SACK does not show whether the head
    /// was delivered.
    #[inline(always)] // inline, because it has one caller
    fn rearms(&self, covered: &Covered) -> bool {
        covered.acked > 0
            || (self.board.flight.packets_out() > 0
                && covered
                    .sacked_once
                    .is_some_and(|(first, _)| first < self.board.get(self.board.flight.una).sent))
    }

    #[inline(always)] // inline, because it has one caller
    fn take_rate_sample(&mut self, delivered: u32, probe_acked: bool) {
        if let Some(rates) = &mut self.rates {
            let lost = self.board.lost_marks;
            let (conn, limited) = (&mut self.conn, &mut self.window.app_limited);
            rates.generate(delivered, lost, self.pacer.until, conn, limited);
            self.conn.rate.probe_acked = probe_acked;
        }
    }

    /// With Accurate ECN, returns how many segments an ACK newly reports as marked. The ACK
    /// delivers `segments` segments in total. If `dsack` is true, one of these segments is a
    /// duplicate.
    #[inline]
    fn accurate_ce(&mut self, packet: &Packet, segments: u32, dsack: bool) -> Option<u32> {
        let delivered = Delivered {
            segments,
            duplicates: u32::from(dsack),
        };
        self.ecn
            .marked(packet, delivered, self.conn.delivered_ce, self.plan.mss)
    }

    /// Processes an ACK that a later ACK has overtaken. The SACK blocks of such an ACK may still
    /// report new deliveries, but the window does not change (Linux `tcp_ack`, `old_ack`).
    #[cold]
    fn on_old_ack(&mut self, packet: &Packet, event: &mut Event, port: &mut impl Port) {
        let prior_highest = self.board.highest_sacked();
        let mut covered = Covered::default();
        self.take_sacks(packet, &mut covered, event);
        if let Some(rates) = &mut self.rates {
            rates.discard();
        }
        self.conn.delivered += u64::from(covered.delivered);
        if event.ece {
            self.conn.delivered_ce += u64::from(covered.delivered);
        }
        if let Some(seq) = covered.lowest_original
            && seq + 1 < prior_highest
        {
            self.recovery.rack.note_reordering(seq, &self.board);
        }
        event.original_delivered = covered.original_delivered;
        let resend = self.fast_retransmit_alert(event);
        self.resend(resend, port);
        self.transmit(port);
    }

    /// Processes an ACK that arrives while no segment is outstanding. A D-SACK in such an ACK may
    /// undo a reduction, or answer a probe.
    #[cold]
    fn on_ack_of_nothing(&mut self, packet: &Packet, event: &mut Event, port: &mut impl Port) {
        if event.dsack || packet.has(flags::NEWER) {
            let duplicates = u32::from(event.dsack);
            let ce = self
                .accurate_ce(packet, duplicates, event.dsack)
                .unwrap_or(0);
            self.conn.delivered_ce += u64::from(ce);
            event.ece |= ce > 0;
        }
        let news = Ack {
            ece: event.ece,
            esce: event.esce,
            ..Ack::default()
        };
        let (cc, view, window) = self.hooks();
        cc.in_ack_event(view, window, &news);
        if event.dsack {
            self.conn.delivered += 1;
            self.recovery
                .rack
                .adapt_window(!event.dsack_of_probe, &self.board);
            self.fast_retransmit_alert(event);
        }
        if let Some(high) = self.recovery.probe.high_seq {
            self.process_tlp_ack(self.board.flight.una, high, event);
        }
        self.transmit(port);
    }

    /// Lets the congestion control or PRR set the window (Linux `tcp_cong_control`).
    fn control(&mut self, news: &Ack, event: &Event) {
        let control = self.needs.control;
        let sacks_count = self.recovery.rack.reordering > REORDERING;
        let (cc, view, window) = self.hooks();
        if control == Control::Window {
            return cc.cong_control(view, window, news);
        }
        let grow = window.growth_of(news.delivered);
        match view.ca_state {
            CaState::Cwr if control == Control::Cwr => cc.cwr_ack(view, window, news, grow),
            CaState::Cwr | CaState::Recovery => {
                self.reduce_window(news.delivered, event.advanced && news.losses == 0);
            }
            // If the degree of reordering is high, SACKed segments also let the window grow (Linux
            // `tcp_may_raise_cwnd`).
            _ if news.acked > 0 || (event.sacked > 0 && sacks_count) => {
                cc.cong_avoid(view, window, grow);
            }
            _ => {}
        }
    }

    fn take_sacks(&mut self, packet: &Packet, covered: &mut Covered, event: &mut Event) {
        let mut blocks = packet.sack;
        if packet.has(flags::ACCECN) {
            blocks[2] = Sack::default();
        }
        if packet.has(flags::DSACK) {
            // RFC 2883: the first block reports a duplicate segment.
            let seq = packet
                .seq
                .wrapping_add_signed(i64::from(blocks[0].offset as i32));
            let duplicates = blocks[0].len.max(1);
            self.recovery.dsacks += u64::from(duplicates);
            // If D-SACKs have reported more duplicates than there were retransmissions, the path
            // duplicates packets (Linux `tcp_dsack_seen`).
            event.dsack = self.recovery.dsacks <= self.stats.retransmits;
            if event.dsack {
                self.take_duplicates(seq, u64::from(duplicates));
                event.dsack_of_probe =
                    duplicates == 1 && self.recovery.probe.high_seq == Some(seq + 1);
                // A needless retransmission also counts as delivered, because it has left the
                // network.
                covered.delivered += duplicates;
            }
            blocks[0] = Sack::default();
        }
        for block in &blocks {
            if block.len == 0 {
                continue;
            }
            let start = packet.seq + u64::from(block.offset);
            let Sender {
                board,
                recovery,
                conn,
                rates,
                ..
            } = self;
            board.sack(start, start + u64::from(block.len), |seq, before| {
                covered.delivered += 1;
                event.sacked += 1;
                if before.flags & state::EVER_RETRANS == 0 {
                    widen(&mut covered.sacked_once, before.sent);
                    covered.lowest_original = Some(
                        covered
                            .lowest_original
                            .map_or(seq, |lowest| lowest.min(seq)),
                    );
                    covered.original_delivered |= seq < recovery.high_seq;
                }
                recovery.rack.advance(seq, &before, conn);
                if let Some(rates) = rates.as_mut() {
                    rates.delivered(seq, before.sent);
                }
            });
        }
    }

    /// Counts the retransmissions that a D-SACK shows to be needless. The D-SACK reports
    /// `duplicates` segments, the first of which is `seq` (Linux `tcp_check_dsack`,
    /// `tcp_sacktag_one`). If a segment was sent only once and is still outstanding, the path
    /// duplicated it.
    fn take_duplicates(&mut self, seq: u64, duplicates: u64) {
        let (end, flight) = (seq + duplicates, &self.board.flight);
        if end <= flight.una || seq >= flight.nxt {
            // The sender no longer knows whether it retransmitted these segments.
            for _ in 0..duplicates {
                self.recovery.undo.duplicate(end - 1);
            }
            return;
        }
        for seq in seq.max(flight.una)..end.min(flight.nxt) {
            if self.board.get(seq).flags & state::EVER_RETRANS != 0 {
                self.recovery.undo.duplicate(seq);
            }
        }
    }

    /// Adds a cumulatively acknowledged segment to `covered`.
    #[inline]
    fn cover(&mut self, seq: u64, segment: &Segment, echo: Option<Time>, covered: &mut Covered) {
        let sacked = segment.flags & state::SACKED != 0;
        let again = segment.flags & state::EVER_RETRANS != 0;
        if let Some(rates) = &mut self.rates {
            rates.delivered(seq, segment.sent);
        }
        if again {
            covered.retransmitted = true;
        } else if !sacked {
            widen(&mut covered.acked_once, segment.sent);
            if covered.lowest_original.is_none_or(|lowest| seq < lowest) {
                covered.lowest_original = Some(seq);
            }
            covered.original_delivered |= seq < self.recovery.high_seq;
        }
        if !sacked {
            covered.delivered += 1;
            // If the echoed timestamp is older than the retransmission, the original was delivered
            // (Linux `tcp_skb_spurious_retrans`).
            if !(again && echo.is_some_and(|echo| timestamps::before(echo, segment.sent))) {
                self.recovery.rack.advance(seq, segment, &self.conn);
            }
        }
    }

    /// Measures the RTT (Linux `tcp_ack_update_rtt`). Returns the RTT of the newest segment
    /// covered.
    fn measure_rtt(&mut self, covered: &Covered, event: &Event) -> Option<Time> {
        let now = self.conn.now;
        let acked = covered.acked_once.filter(|_| !covered.retransmitted);
        let sacked = covered.sacked_once;
        if let (Some((first, _)), Some((_, last))) = (acked.or(sacked), sacked.or(acked)) {
            self.take_rtt_sample(now - first, now - last);
            self.stats.rtt.record((now - last).ns());
            return Some(now - last);
        }
        // RFC 7323: an echoed timestamp gives an unambiguous RTT, even for retransmitted data.
        if covered.acked > 0
            && event.advanced
            && let Some(echo) = event.echo.filter(|echo| *echo > Time::ZERO)
        {
            let rtt = timestamps::rtt(now, echo);
            self.take_rtt_sample(rtt, rtt);
            return Some(rtt);
        }
        None
    }
}
