//! Tests the sender by passing it single ACKs.

use super::port::Port;
use super::sender::Sender;
use super::timer::Kind;
use crate::cc::{self, Ack, CaState, CongestionControl, Control, Needs, Signal, View, Window};
use crate::packet::{Ecn, Packet, Sack, flags};
use crate::plan::{Pacing, TcpPlan};
use crate::registry::{complete_defaults, find};
use crate::units::{Bytes, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tailback_record::account::Reason;

#[derive(Default)]
struct Wire(Vec<Packet>);

impl Port for Wire {
    fn send(&mut self, packet: Packet) {
        self.0.push(packet);
    }
}

impl Wire {
    /// Returns which segments were sent since the last call, and whether each is a retransmission.
    fn take(&mut self) -> Vec<(u64, bool)> {
        let sent = std::mem::take(&mut self.0);
        sent.iter()
            .map(|p| (p.seq, p.has(flags::RETRANSMIT)))
            .collect()
    }
}

fn ms(n: u64) -> Time {
    Time::from_ms(n)
}

fn sender(plan: &TcpPlan) -> Sender {
    let entry = find(cc::ENTRIES, "reno").expect("registered");
    let cc = (entry.build)(&complete_defaults(entry));
    Sender::new(0, plan, cc, false, None)
}

/// Returns a sender that has accepted a connection, measures delivery rates, and sends the data
/// that the test writes. The RTT is 100 ms.
fn written_to() -> Sender {
    let entry = find(cc::ENTRIES, "bbr").expect("registered");
    let cc = (entry.build)(&complete_defaults(entry));
    let mut s = Sender::new(0, &TcpPlan::default(), cc, false, Some(0));
    s.expect_writes();
    s.establish(ms(100), ms(100));
    s
}

/// Returns a connected sender whose RTT is `rtt`. The time is `rtt`, and the sender has just sent
/// its first window.
fn established(plan: &TcpPlan, rtt: Time, wire: &mut Wire) -> Sender {
    let mut s = sender(plan);
    s.start(Time::ZERO, wire);
    let mut answer = wire.0.pop().expect("a SYN");
    answer.flags |= flags::ACK;
    s.on_syn_ack(&answer, rtt, wire);
    s
}

/// Returns an ACK that echoes the timestamp `echo`. A SACK block is given as (first segment, one
/// past the last).
fn ack(seq: u64, blocks: &[(u64, u64)], echo: Time) -> Packet {
    let mut packet = Packet::new(0, 66, Ecn::NotEct);
    packet.flags = flags::ACK;
    packet.seq = seq;
    packet.sent = echo;
    for (slot, (from, to)) in packet.sack.iter_mut().zip(blocks) {
        *slot = Sack {
            offset: from.wrapping_sub(seq) as u32,
            len: (to - from) as u32,
        };
    }
    packet
}

fn rwnd(segments: u64) -> TcpPlan {
    TcpPlan {
        rwnd: Bytes(segments * 1448),
        ..TcpPlan::default()
    }
}

/// Linux `tcp_clean_rtx_queue`: a SACK restarts the retransmission timer if it covers data that was
/// sent before the last transmission of the first unacknowledged segment.
#[test]
fn the_timeout_moves_with_sacks_of_what_was_sent_before_the_retransmission() {
    let mut wire = Wire::default();
    let mut s = established(&TcpPlan::default(), ms(100), &mut wire);
    wire.take();
    s.on_ack(&ack(0, &[(1, 5)], ms(100)), ms(200), &mut wire);
    assert_eq!(wire.take()[0], (0, true));
    assert_eq!(
        (s.timer.kind, s.timer.deadline),
        (Kind::Retransmit, ms(200) + s.rtt.timeout())
    );
    s.on_ack(&ack(0, &[(1, 6)], ms(100)), ms(210), &mut wire);
    assert_eq!(
        (s.timer.kind, s.timer.deadline),
        (Kind::Retransmit, ms(210) + s.rtt.timeout())
    );
}

/// Linux `tcp_schedule_loss_probe`: an ACK restarts the retransmission timeout. So the tail loss
/// probe comes before the timeout.
#[test]
fn a_probe_comes_two_round_trips_after_an_ack() {
    let mut wire = Wire::default();
    let mut s = established(&rwnd(10), ms(250), &mut wire);
    s.on_ack(&ack(2, &[], ms(250)), ms(500), &mut wire);
    // The last segments were sent just now. The first unacknowledged segment was sent at 250 ms, so
    // its timeout would be at 1000 ms.
    s.timer.kind = Kind::None;
    s.set_xmit_timer();
    assert_eq!(
        (s.timer.kind, s.timer.deadline),
        (Kind::Probe, ms(500) + ms(2 * 250 + 2))
    );
}

fn fire(s: &mut Sender, wire: &mut Wire) -> Time {
    // The first call only postpones the deadline to the next tick of the timer wheel. The second
    // call fires the timer.
    s.on_timer(s.deadline(), wire);
    let at = s.deadline();
    s.on_timer(at, wire);
    at
}

/// Tests when and how the sender sends a tail loss probe (Linux `tcp_send_loss_probe` with
/// `__tcp_retransmit_skb`).
#[test]
fn a_probe_is_no_repair_and_restarts_the_timeout() {
    let mut wire = Wire::default();
    let mut s = established(&rwnd(5), ms(100), &mut wire);
    assert_eq!(wire.take().len(), 5);
    assert_eq!(s.deadline(), ms(100 + 202));
    // The deadline is so far ahead that the timer wheel fires only at multiples of 8 ms.
    assert_eq!(fire(&mut s, &mut wire), ms(304));
    assert_eq!(wire.take(), [(4, true)]);
    assert_eq!(
        (s.board.flight.in_flight(), s.board.flight.retrans_out),
        (5, 0)
    );
    assert_eq!(s.recovery.undo.retrans, None);
    assert_eq!(
        (s.timer.kind, s.timer.deadline),
        (Kind::Retransmit, ms(304) + s.rtt.timeout())
    );

    // The original segments were only late, and their ACK arrives before the probe does.
    let window = s.window.cwnd;
    s.on_ack(&ack(5, &[], ms(100)), ms(310), &mut wire);
    assert_eq!(s.recovery.probe.high_seq, Some(5));
    let mut duplicate = ack(5, &[(4, 5)], ms(304));
    duplicate.flags |= flags::DSACK;
    s.recovery.rack.reordering_seen = true;
    s.on_ack(&duplicate, ms(402), &mut wire);
    assert_eq!(s.recovery.probe.high_seq, None);
    assert_eq!((s.conn.ca_state, s.recovery.rack.steps), (CaState::Open, 1));
    assert!(s.window.cwnd >= window);
}

/// A probe that repaired a loss causes one reduction (RFC 8985 section 7.4).
#[test]
fn a_probe_that_was_needed_halves_the_window() {
    let mut wire = Wire::default();
    let mut s = established(&rwnd(5), ms(100), &mut wire);
    assert_eq!(fire(&mut s, &mut wire), ms(304));
    s.on_ack(&ack(5, &[], ms(304)), ms(402), &mut wire);
    s.on_ack(&ack(7, &[], ms(402)), ms(502), &mut wire);
    assert_eq!(
        (s.conn.ca_state, s.recovery.probe.high_seq),
        (CaState::Open, None)
    );
    assert_eq!((s.window.ssthresh, s.window.cwnd), (5, 5));
}

/// A D-SACK for a needless retransmission widens RACK's reordering window, but only if the sender
/// has seen reordering before.
#[test]
fn duplicates_widen_the_window_where_reordering_was_seen() {
    for (seen, steps) in [(false, 1), (true, 2)] {
        let mut wire = Wire::default();
        let mut s = established(&rwnd(10), ms(100), &mut wire);
        s.on_ack(&ack(1, &[], ms(100)), ms(200), &mut wire);
        s.recovery.rack.reordering_seen = seen;
        s.stats.retransmits = 1;
        let mut duplicate = ack(1, &[(0, 1)], ms(100));
        duplicate.flags |= flags::DSACK;
        s.on_ack(&duplicate, ms(201), &mut wire);
        assert_eq!(s.recovery.rack.steps, steps);
    }
}

/// If a D-SACK covers several segments, each covered segment that was retransmitted proves one
/// retransmission spurious (Linux `tcp_sacktag_one`). If these segments are no longer outstanding,
/// the sender counts every one of them (`tcp_check_dsack`).
#[test]
fn each_duplicate_that_was_retransmitted_counts() {
    let mut wire = Wire::default();
    let mut s = established(&TcpPlan::default(), ms(100), &mut wire);
    s.on_ack(&ack(0, &[(7, 10)], ms(100)), ms(200), &mut wire);
    s.stats.retransmits = 10;
    assert_eq!(s.recovery.undo.retrans, Some(3), "segments 0, 1 and 2");
    let mut duplicates = ack(0, &[(2, 5), (2, 5), (7, 10)], ms(100));
    duplicates.flags |= flags::DSACK;
    wire.take();
    s.on_ack(&duplicates, ms(205), &mut wire);
    let again = wire.take().iter().filter(|(_, again)| *again).count() as u32;
    assert_eq!(s.recovery.undo.retrans, Some(3 - 1 + again), "segment 2");

    let mut wire = Wire::default();
    let mut s = established(&TcpPlan::default(), ms(100), &mut wire);
    s.on_ack(&ack(2, &[], ms(100)), ms(200), &mut wire);
    s.stats.retransmits = 10;
    (s.recovery.undo.marker, s.recovery.undo.retrans) = (Some(0), Some(5));
    let mut duplicates = ack(2, &[(0, 2)], ms(100));
    duplicates.flags |= flags::DSACK;
    s.on_ack(&duplicates, ms(201), &mut wire);
    assert_eq!(s.recovery.undo.retrans, Some(3), "segments 0 and 1");
}

/// Linux `tcp_try_undo_partial`: if the original of a lost segment arrives while retransmissions
/// are in flight, the sender retransmits no more segments.
#[test]
fn a_late_original_stops_retransmission() {
    let mut wire = Wire::default();
    let mut s = established(&TcpPlan::default(), ms(100), &mut wire);
    wire.take();
    // Seven segments are missing, and three were delivered. PRR allows three retransmissions.
    s.on_ack(&ack(0, &[(7, 10)], ms(100)), ms(200), &mut wire);
    assert_eq!(wire.take(), [(0, true), (1, true), (2, true)]);
    s.on_ack(&ack(1, &[(7, 10)], ms(100)), ms(205), &mut wire);
    assert!(s.recovery.rack.reordering_seen);
    assert!(wire.take().iter().all(|(_, again)| !again));
    // Once no retransmission is in flight, the sender undoes the reduction.
    s.on_ack(&ack(3, &[(7, 10)], ms(100)), ms(206), &mut wire);
    s.on_ack(&ack(4, &[(7, 10)], ms(100)), ms(207), &mut wire);
    assert_eq!(s.recovery.undo.marker, None);
    assert!(s.window.cwnd >= 10 && s.conn.ca_state == CaState::Disorder);
}

/// Tests the timeouts of a SYN (Linux `tcp_syn_linear_timeouts`), and the initial window after lost
/// SYNs (`tcp_init_transfer`).
#[test]
fn a_syn_is_repeated_every_second_at_first() {
    let mut wire = Wire::default();
    let mut s = sender(&TcpPlan::default());
    s.start(Time::ZERO, &mut wire);
    let times: Vec<Time> = (0..8).map(|_| fire(&mut s, &mut wire)).collect();
    // The timeouts are 1, 1, 1, 1, 1, 2, 4 and 8 s. Each timeout is rounded up to a tick of the
    // timer wheel.
    let wheel = [1024, 2048, 3072, 4096, 5120, 7168, 11_200, 19_456];
    assert_eq!(times, wheel.map(ms));
    let mut answer = *wire.0.last().expect("a SYN");
    answer.flags |= flags::ACK;
    wire.take();
    s.on_syn_ack(&answer, ms(19_456 + 30), &mut wire);
    // The RTT is computed from the echoed timestamp. More than one SYN was lost, so the window is
    // one segment.
    assert_eq!(s.conn.srtt, ms(30));
    assert_eq!(wire.take(), [(0, false)]);
}

/// As with Linux's qdisc fq, the first ten segments leave without pacing.
#[test]
fn pacing_begins_after_the_first_window() {
    let mut wire = Wire::default();
    let plan = TcpPlan {
        pacing: Pacing::Fq,
        initial_cwnd: 12,
        ..TcpPlan::default()
    };
    let s = established(&plan, ms(100), &mut wire);
    // The eleventh segment leaves at once, and the pacing gap begins.
    assert_eq!(wire.take().len(), 11);
    // The gap is the time in which 1448 bytes leave at the pacing rate. This rate is twice 12 x
    // 1448 bytes per 100 ms.
    assert_eq!((s.deadline() - ms(100)).ns(), 4_166_667);
}

/// Linux `tcp_tso_autosize`: TCP sends several segments as one burst. The pacing gap after a burst
/// is the time that all segments of the burst take at the pacing rate.
#[test]
fn joined_segments_are_paced_together() {
    let gaps_at = |percent: u32, rtt: Time| {
        let mut wire = Wire::default();
        let plan = TcpPlan {
            pacing: Pacing::FqGso,
            initial_cwnd: 60,
            pacing_ss_ratio: percent,
            ..TcpPlan::default()
        };
        let s = established(&plan, rtt, &mut wire);
        (wire.take().len(), (s.deadline() - rtt).ns())
    };
    let gaps = |rtt: Time| gaps_at(200, rtt);
    // The pacing rate is twice 60 segments per 100 ms. At this rate, only 1.17 segments leave in
    // 1/1024 s, so a burst has the minimum of two segments. The first ten segments are not paced.
    assert_eq!(gaps(ms(100)), (12, 2 * 833_334));
    // With an RTT of 20 ms, 5.86 segments leave in 1/1024 s, so a burst has 5 segments.
    assert_eq!(gaps(ms(20)), (15, 5 * 166_667));
    // With an RTT of 4 ms, 29.3 segments leave in 1/1024 s. A burst has 65536 >> 7 additional
    // bytes, which are 0.35 segments.
    assert_eq!(gaps(ms(4)), (39, 29 * 33_334));
    // With an RTT of 2 ms, 14.6 segments leave in 1/1024 s. A burst has 65536 >> 3 additional
    // bytes, which are 5.7 segments.
    assert_eq!(gaps_at(50, ms(2)), (30, 20 * 66_667));
}

/// Linux `tcp_check_sack_reordering` measures the degree of reordering. This degree is the largest
/// number of later segments that have arrived before a segment. Linux `tcp_may_raise_cwnd`: if this
/// degree exceeds three, SACKs also increase the window.
#[test]
fn the_degree_of_reordering_is_the_largest_distance() {
    let mut wire = Wire::default();
    let mut s = established(&TcpPlan::default(), ms(100), &mut wire);
    assert_eq!(s.info().reordering, 3);
    s.on_ack(&ack(0, &[(5, 6)], ms(100)), ms(200), &mut wire);
    s.on_ack(&ack(0, &[(3, 4), (5, 6)], ms(100)), ms(201), &mut wire);
    // Segment 5 arrived before segment 3. The degree of reordering is then three, which is also its
    // initial value.
    assert_eq!((s.info().reordering, s.window.cwnd), (3, 10));
    s.on_ack(
        &ack(0, &[(1, 2), (3, 4), (5, 6)], ms(100)),
        ms(202),
        &mut wire,
    );
    assert!(s.recovery.rack.reordering_seen);
    assert_eq!((s.info().reordering, s.window.cwnd), (5, 11));
    assert_eq!(s.conn.ca_state, CaState::Disorder);
    // All missing segments have arrived. The ACK has no SACK blocks. For such an ACK, Linux
    // measures the degree of reordering up to the acknowledged segment.
    s.on_ack(&ack(7, &[], ms(100)), ms(203), &mut wire);
    assert_eq!((s.info().reordering, s.conn.ca_state), (7, CaState::Open));
}

/// Linux `tcp_ack`, `old_ack`: if a later ACK has overtaken an ACK, the SACK blocks of the old ACK
/// are used. But the window does not change.
#[test]
fn an_overtaken_ack_tells_of_its_blocks_only() {
    let mut wire = Wire::default();
    let mut s = established(&TcpPlan::default(), ms(100), &mut wire);
    s.on_ack(&ack(4, &[], ms(100)), ms(200), &mut wire);
    let (window, delivered) = (s.window.cwnd, s.conn.delivered);
    wire.take();
    s.on_ack(&ack(2, &[(6, 8)], ms(100)), ms(201), &mut wire);
    assert_eq!((s.info().sacked, s.board.flight.una), (2, 4));
    assert_eq!((s.window.cwnd, s.conn.delivered), (window, delivered + 2));
    // Two segments have left the network, so two may be sent.
    assert_eq!(wire.take().len(), 2);
    s.on_ack(&ack(3, &[], ms(100)), ms(202), &mut wire);
    assert!(wire.take().is_empty());
}

/// If the application writes repeatedly, an empty queue does not end the connection. The window
/// shrinks after an idle time, unless `idle_restart` is off.
#[test]
fn a_sender_can_be_written_to() {
    for (restart, window) in [(true, 10), (false, 20)] {
        let mut wire = Wire::default();
        let entry = find(cc::ENTRIES, "reno").expect("registered");
        let cc = (entry.build)(&complete_defaults(entry));
        let mut s = Sender::new(0, &TcpPlan::default(), cc, false, Some(0));
        s.expect_writes();
        s.idle_restart = restart;
        s.establish(ms(100), ms(100));
        assert_eq!(s.conn.srtt, ms(100));
        s.write(10 * 1448, ms(100), &mut wire);
        assert_eq!(wire.take().len(), 10);
        s.on_ack(&ack(10, &[], ms(100)), ms(200), &mut wire);
        assert!(!s.is_done());
        assert_eq!((s.window.cwnd, s.unsent()), (20, Some(0)));
        s.write(1500, ms(2000), &mut wire);
        assert_eq!(wire.take(), [(10, false), (11, false)]);
        assert_eq!(s.window.cwnd, window);
        s.set_rwnd(3);
        s.write(3000, ms(2001), &mut wire);
        assert_eq!(wire.take(), [(12, false)]);
    }
}

/// Linux `tcp_rate_check_app_limited`: if the application pauses, rate samples are marked as
/// application-limited. The marking ends when the data that was in flight at the pause has been
/// delivered. Linux `tcp_slow_start_after_idle_check`: BBR keeps its window after an idle time.
#[test]
fn an_application_that_has_nothing_to_send_is_noticed() {
    let mut wire = Wire::default();
    let mut s = written_to();
    s.write(4 * 1448, ms(100), &mut wire);
    // Nothing was in flight. So rate samples are application-limited until one segment is
    // delivered.
    assert_eq!(s.window.app_limited, 1);
    s.on_ack(&ack(2, &[], ms(100)), ms(200), &mut wire);
    assert!(s.conn.rate.app_limited && s.window.app_limited == 0);
    assert_eq!(
        (s.conn.rate.delivered, s.conn.rate.interval_us),
        (2, 100_000)
    );
    s.write(1448, ms(210), &mut wire);
    // Two segments are delivered and two are in flight. So rate samples are application-limited
    // until four segments are delivered.
    assert_eq!(s.window.app_limited, 4);
    s.on_ack(&ack(4, &[], ms(100)), ms(220), &mut wire);
    assert_eq!(s.window.app_limited, 4);
    s.on_ack(&ack(5, &[], ms(210)), ms(310), &mut wire);
    assert!(s.conn.rate.app_limited && s.window.app_limited == 0);
    let window = s.window.cwnd;
    s.write(1448, ms(9000), &mut wire);
    assert_eq!(s.window.cwnd, window);
}

/// Linux `tcp_update_skb_after_send`: the pacing gap is computed from the payload. If a segment is
/// sent late, the next gap is shortened, but by at most half.
#[test]
fn pacing_by_payload_makes_up_for_delay() {
    let mut wire = Wire::default();
    let mut s = written_to();
    // From the eleventh segment on, the pacing rate is 1448 bytes per ms.
    s.write(11 * 1448, ms(100), &mut wire);
    s.window.cwnd = 100;
    s.window.pacing_rate = 1_448_000;
    s.write(100 * 1448, ms(150), &mut wire);
    let mut gaps = Vec::new();
    wire.take();
    for wait in [0, 0, 300, 5_000] {
        let due = s.deadline();
        let late = due + Time::from_us(wait);
        s.on_timer(late, &mut wire);
        assert_eq!(wire.take().len(), 1);
        gaps.push((s.deadline() - late).ns() / 1000);
    }
    assert_eq!(gaps, [1000, 1000, 700, 500]);
}

/// If a congestion control has a model of the path, the stack informs it of each segment that a
/// timeout or RACK finds lost. The congestion control sets the window itself, so the stack does not
/// reduce the window.
#[test]
fn a_model_of_the_path_keeps_its_window() {
    let mut wire = Wire::default();
    let mut s = written_to();
    s.write(100 * 1448, ms(100), &mut wire);
    let sent = wire.take().len() as u64;
    assert_eq!(sent, 10);
    s.on_ack(&ack(0, &[(5, 10)], ms(100)), ms(200), &mut wire);
    // Five segments are lost. In Recovery, BBR sends only one packet for each delivered packet.
    assert_eq!(s.conn.ca_state, CaState::Recovery);
    assert_eq!((s.info().lost, s.conn.rate.lost_total), (5, 5));
    assert_eq!(s.conn.rate.delivered, 5);
    assert!(s.window.cwnd >= 5);
    s.on_ack(&ack(10, &[], ms(200)), ms(300), &mut wire);
    assert_eq!(s.conn.ca_state, CaState::Open);
    // BBR restores the earlier window, which is larger than the data in flight.
    assert!(s.window.cwnd >= 10, "{}", s.window.cwnd);
}

/// Linux `tcp_ack`: a D-SACK counts as a delivered segment even if no segment was outstanding.
#[test]
fn a_duplicate_of_what_is_acknowledged_counts_as_delivered() {
    let mut wire = Wire::default();
    let mut s = written_to();
    s.write(4 * 1448, ms(100), &mut wire);
    s.on_ack(&ack(4, &[], ms(100)), ms(200), &mut wire);
    assert_eq!(s.conn.delivered, 4);
    let mut duplicate = ack(4, &[(3, 4)], ms(100));
    s.on_ack(&duplicate, ms(201), &mut wire);
    assert_eq!(s.conn.delivered, 4, "no news");
    duplicate.flags |= flags::DSACK;
    s.stats.retransmits = 1;
    s.on_ack(&duplicate, ms(202), &mut wire);
    assert_eq!(s.conn.delivered, 5);
    // Linux `tcp_dsack_seen`: only one segment was retransmitted, so a second D-SACK is not
    // counted.
    s.on_ack(&duplicate, ms(203), &mut wire);
    assert_eq!(s.conn.delivered, 5);
}

/// RFC 8985 section 6.2 step 4: a D-SACK widens RACK's reordering window, at most once per round. A
/// D-SACK for the tail loss probe does not widen it.
#[test]
fn a_needless_retransmission_widens_the_reordering_window_but_a_needless_probe_does_not() {
    for (of_probe, steps) in [(false, 2), (true, 1)] {
        let mut wire = Wire::default();
        let mut s = written_to();
        s.write(4 * 1448, ms(100), &mut wire);
        s.on_ack(&ack(4, &[], ms(100)), ms(200), &mut wire);
        s.recovery.rack.reordering_seen = true;
        s.stats.retransmits = 1;
        if of_probe {
            (s.recovery.probe.high_seq, s.recovery.probe.retrans) = (Some(4), true);
        }
        let mut duplicate = ack(4, &[(3, 4)], ms(100));
        duplicate.flags |= flags::DSACK;
        s.on_ack(&duplicate, ms(202), &mut wire);
        assert_eq!(s.recovery.rack.steps, steps, "of the probe: {of_probe}");
        assert_eq!(s.recovery.probe.high_seq, None, "it is answered");
    }
}

/// A later ACK has overtaken an ACK that echoes a mark. The segments that the old ACK newly
/// delivers count as marked.
#[test]
fn an_overtaken_ack_tells_of_marks() {
    let mut wire = Wire::default();
    let entry = find(cc::ENTRIES, "reno").expect("registered");
    let cc = (entry.build)(&complete_defaults(entry));
    let mut s = Sender::new(0, &TcpPlan::default(), cc, true, None);
    s.start(Time::ZERO, &mut wire);
    let mut answer = wire.0.pop().expect("a SYN");
    answer.flags |= flags::ACK;
    s.on_syn_ack(&answer, ms(100), &mut wire);
    s.on_ack(&ack(4, &[], ms(100)), ms(200), &mut wire);
    assert_eq!(s.conn.delivered_ce, 0);
    s.on_ack(&ack(2, &[(6, 8)], ms(100)), ms(201), &mut wire);
    assert_eq!(s.conn.delivered_ce, 0);
    let mut marked = ack(2, &[(6, 9)], ms(100));
    marked.flags |= flags::ECE;
    s.on_ack(&marked, ms(202), &mut wire);
    assert_eq!((s.conn.delivered, s.conn.delivered_ce), (4 + 3, 1));
}

/// RFC 5682 section 3.1 step 3.b: after a timeout, a SACK covers a segment that was sent only once.
/// So the timeout was spurious.
#[test]
fn a_sack_of_an_original_undoes_a_timeout() {
    for (sacked, state) in [((3, 5), CaState::Disorder), ((0, 0), CaState::Loss)] {
        let mut wire = Wire::default();
        let mut s = established(&rwnd(10), ms(100), &mut wire);
        let window = s.window.cwnd;
        fire(&mut s, &mut wire); // This is the tail loss probe.
        let timeout = fire(&mut s, &mut wire);
        assert_eq!((s.conn.ca_state, s.window.cwnd), (CaState::Loss, 1));
        let news = ack(0, &[sacked], ms(100));
        s.on_ack(&news, timeout + ms(10), &mut wire);
        assert_eq!(s.conn.ca_state, state, "SACK of {sacked:?}");
        assert_eq!(s.window.cwnd == window, sacked.1 > 0);
    }
}

/// A congestion control that sets a fixed window at each ACK. This congestion control counts how
/// often `pkts_acked` is called.
struct Fixed {
    cwnd: u32,
    acked: Arc<AtomicU32>,
}

impl CongestionControl for Fixed {
    fn needs(&self) -> Needs {
        Needs {
            control: Control::Window,
            ..Needs::default()
        }
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        window.cwnd
    }

    fn cong_avoid(&mut self, _view: View<'_>, _window: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, _view: View<'_>, window: &mut Window, _ack: &Ack) {
        window.cwnd = self.cwnd;
    }

    fn pkts_acked(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {
        self.acked.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns a sender that uses [`Fixed`] and has an RTT of 100 ms. Also returns the counter of
/// `pkts_acked` calls.
fn fixed(cwnd: u32, wire: &mut Wire) -> (Sender, Arc<AtomicU32>) {
    let acked = Arc::default();
    let control = Box::new(Fixed {
        cwnd,
        acked: Arc::clone(&acked),
    });
    let mut s = Sender::new(0, &TcpPlan::default(), control, false, None);
    s.start(Time::ZERO, wire);
    let mut answer = wire.0.pop().expect("a SYN");
    answer.flags |= flags::ACK;
    s.on_syn_ack(&answer, ms(100), wire);
    (s, acked)
}

/// If a congestion control lowers the window by at least a quarter (rounded down), the sender
/// records this as a reduction.
#[test]
fn a_window_that_a_control_sets_counts_as_reduced_from_a_quarter_less() {
    for (cwnd, reductions) in [(8, 1), (9, 0), (10, 0), (40, 0)] {
        let mut wire = Wire::default();
        let (mut s, _) = fixed(cwnd, &mut wire);
        assert_eq!(s.window.cwnd, 10);
        s.on_ack(&ack(2, &[], ms(100)), ms(200), &mut wire);
        assert_eq!(s.window.cwnd, cwnd);
        let listed = s.account.listed.len();
        let counted = s.account.counts[Reason::Model as usize];
        assert_eq!((listed as u64, counted), (reductions, reductions), "{cwnd}");
    }
}

/// Linux `tcp_clean_rtx_queue` calls `pkts_acked` only if an ACK delivers segments.
#[test]
fn an_ack_that_delivers_nothing_is_no_pkts_acked() {
    let mut wire = Wire::default();
    let (mut s, acked) = fixed(10, &mut wire);
    let calls = || acked.load(Ordering::Relaxed);
    s.on_ack(&ack(2, &[], ms(100)), ms(200), &mut wire);
    assert_eq!(calls(), 1);
    s.on_ack(&ack(2, &[], ms(100)), ms(201), &mut wire);
    assert_eq!(calls(), 1, "a duplicate");
    s.on_ack(&ack(2, &[(4, 5)], ms(100)), ms(202), &mut wire);
    assert_eq!(calls(), 2, "a SACK delivers");
    s.on_ack(&ack(2, &[(4, 5)], ms(100)), ms(203), &mut wire);
    assert_eq!(calls(), 2, "the same SACK");
}

/// A congestion control that reduces the window by one segment with each ACK of a recovery.
struct OneByOne;

impl CongestionControl for OneByOne {
    fn needs(&self) -> Needs {
        Needs {
            control: Control::Window,
            ..Needs::default()
        }
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        window.cwnd / 2
    }

    fn cong_avoid(&mut self, _view: View<'_>, _window: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, view: View<'_>, window: &mut Window, _ack: &Ack) {
        window.cwnd -= u32::from(view.ca_state == CaState::Recovery);
    }
}

/// A congestion control such as Prague reduces the window by one segment with each ACK. The sender
/// records all these steps as one reduction, from the first window to the last.
#[test]
fn the_steps_of_a_reduction_count_once() {
    let mut wire = Wire::default();
    let mut s = Sender::new(0, &TcpPlan::default(), Box::new(OneByOne), false, None);
    s.start(Time::ZERO, &mut wire);
    let mut answer = wire.0.pop().expect("a SYN");
    answer.flags |= flags::ACK;
    s.on_syn_ack(&answer, ms(100), &mut wire);
    let listed = |s: &Sender| -> Vec<(Reason, u32, u32)> {
        let all = s.account.listed.iter();
        all.map(|r| (r.reason(), r.from, r.to)).collect()
    };
    // Segment 0 is lost. Each ACK reports one more segment as delivered. The third ACK starts the
    // recovery.
    for n in 1..8 {
        s.on_ack(&ack(0, &[(1, 1 + n)], ms(100)), ms(200 + n), &mut wire);
    }
    assert_eq!((s.conn.ca_state, s.window.cwnd), (CaState::Recovery, 5));
    assert_eq!(listed(&s), [(Reason::Dupthresh, 10, 5)]);
    assert_eq!(s.account.counts[Reason::Dupthresh as usize], 1);
    let next = s.board.flight.nxt;
    s.on_ack(&ack(next, &[], ms(207)), ms(307), &mut wire);
    assert_eq!(s.conn.ca_state, CaState::Open);
    for n in 1..5 {
        let block = (next + 1, next + 1 + n);
        s.on_ack(&ack(next, &[block], ms(307)), ms(407 + n), &mut wire);
    }
    assert_eq!(listed(&s)[1..], [(Reason::Dupthresh, 5, 3)]);
}
