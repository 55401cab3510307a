//! Segmentation offload (TSO, GSO): a sender combines segments into a larger packet, and queues
//! count this as one packet (Linux 7.3 `tcp_write_xmit`, `tcp_tso_autosize`,
//! `tcp_tso_should_defer`). The receiver handles the packet as a whole, as Linux does if segments
//! arrive already combined.
//!
//! Known deviations from Linux:
//! - The frames of a packet's segments have at most 65,535 bytes in total. With frames of 1514
//!   bytes, a packet has at most 43 segments. In Linux, a packet has at most 45 segments, because
//!   Linux limits only the payload.
//! - The application has always written more data than the next packet needs, unless its data ends.
//!   In Linux, the size of the send buffer limits how much the application has written.
//! - TCP small queues are not modelled, because a host's interface never has a queue.

use super::port::Port;
use super::sender::Sender;
use super::timer::Kind;
use crate::cc::CaState;
use crate::packet::{Packet, flags};
use crate::units::Time;

/// Bytes of payload that Linux puts into one packet for IPv4: 65,536 less the space for headers
/// (`sk_dst_gso_max_size`).
const MOST_PAYLOAD: u64 = 65_215;

/// A sender may defer a packet to make it larger only if two conditions hold. The sender has sent a
/// packet within this time, and the next ACK is due within this time.
const PATIENCE: Time = Time::from_ms(1);

/// Inverse of the share of the window that a sender sends without waiting for more (Linux
/// `tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;

/// Returns the largest number of segments with these lengths that fit into one packet.
fn most_joined(mss: u16, header: u16) -> u16 {
    let frame = u64::from(mss) + u64::from(header);
    let by_frames = u64::from(u16::MAX) / frame;
    let by_payload = MOST_PAYLOAD / u64::from(mss);
    by_frames.min(by_payload).max(1) as u16
}

/// How much a sender may send next, in segments.
struct Room {
    /// Space in the congestion window.
    congestion: u64,
    /// Space in the receive window.
    receiver: u64,
    /// Largest number of segments that one packet may have at the current rate.
    most: u64,
    /// Number of segments that Linux holds in the buffer at the head of its send queue.
    held: u64,
    /// Whether this buffer has the last data that the application has written.
    last: bool,
}

impl Room {
    /// Returns the number of segments of the next packet. At most half of the window leaves in one
    /// packet (Linux `tcp_cwnd_test`).
    fn packet(&self, cwnd: u32) -> u32 {
        let quota = self.congestion.min(half(cwnd)).min(self.most);
        quota.min(self.receiver).min(self.held) as u32
    }
}

fn half(cwnd: u32) -> u64 {
    u64::from(cwnd / 2).max(1)
}

impl Sender {
    /// Makes the sender combine up to `most` segments into one packet, or fewer if that many do not
    /// fit. Call this function before the sender connects.
    pub fn joining(mut self, most: u16) -> Sender {
        self.plan.joined = most.min(most_joined(self.plan.mss, self.plan.header));
        self.single_below = 0;
        self
    }

    /// Sends new data in packets of several segments. In all other respects, this function is like
    /// [`Sender::transmit`].
    #[cold]
    #[inline(never)]
    pub(super) fn transmit_joined(&mut self, alone: bool, port: &mut impl Port) -> bool {
        let before = self.board.flight.nxt;
        let most = self.most_at_this_rate();
        let mut limited = false;
        while self.board.flight.in_flight() < self.window.cwnd
            && self.may_send_new()
            && self.pacer.may_leave(self.conn.now)
        {
            let room = self.room(most);
            if room.held > 1 && self.defers(&room, &mut limited) {
                break;
            }
            self.send_joined(room.packet(self.window.cwnd), port);
        }
        limited |= self.board.flight.in_flight() >= self.window.cwnd;
        let sent = self.board.flight.nxt > before;
        if sent || limited {
            self.note_window_use(limited);
        }
        if sent {
            self.arm_after_new(alone);
        }
        sent
    }

    /// Sends new data as a tail loss probe: as much as the window allows, but at least one segment.
    pub(super) fn probe_joined(&mut self, port: &mut impl Port) {
        let mut room = self.room(self.most_at_this_rate());
        room.congestion = room.congestion.max(1);
        self.send_joined(room.packet(self.window.cwnd), port);
    }

    /// Returns the number of segments that one packet may have at the current rate (Linux
    /// `tcp_tso_segs`).
    fn most_at_this_rate(&self) -> u32 {
        let view = self.conn.view(&self.board.flight);
        let most = self.pacer.segments_joined(view, &self.window);
        most.clamp(1, u32::from(self.plan.joined))
    }

    fn room(&self, most: u32) -> Room {
        let flight = &self.board.flight;
        let cwnd = self.window.cwnd;
        let congestion = u64::from(cwnd.saturating_sub(flight.in_flight()));
        let most = u64::from(most);
        // The application's data fills buffers of the largest size. If a packet needs more than the
        // rest of a buffer, it takes further segments from the next buffer (`tcp_grow_skb`).
        let size = u64::from(self.plan.joined);
        let rest = size - (flight.nxt - self.pacer.first) % size;
        let grown = rest.max(congestion.min(half(cwnd)).min(most));
        let (held, last) = match self.queue.run(self.plan.mss) {
            Some((run, last)) => (grown.min(run), last && grown >= run),
            None => (grown, false),
        };
        Room {
            congestion,
            receiver: self.rwnd.saturating_sub(u64::from(flight.packets_out())),
            most,
            held,
            last,
        }
    }

    /// Returns whether the sender waits until it may send a larger packet (Linux
    /// `tcp_tso_should_defer`). Sets `limited` if the congestion window is the reason.
    fn defers(&self, room: &Room, limited: &mut bool) -> bool {
        let now = self.conn.now;
        let last_sent = self.conn.last_sent.max(self.pacer.until);
        if self.conn.ca_state >= CaState::Recovery || now > last_sent + PATIENCE {
            return false;
        }
        let limit = room.receiver.min(room.congestion);
        if limit >= room.most || (!room.last && limit >= room.held) {
            return false;
        }
        let mss = u64::from(self.plan.mss);
        let window = self.rwnd.min(u64::from(self.window.cwnd));
        if limit * mss >= window * mss / WINDOW_DIVISOR {
            return false;
        }
        if self.board.flight.packets_out() == 0 {
            return false;
        }
        // If the next ACK is due too late, do not wait for it.
        let due = self.board.get(self.board.flight.una).sent + self.conn.srtt;
        if due > now + Time(self.conn.srtt.ns() / 2).min(PATIENCE) {
            return false;
        }
        if room.congestion < room.receiver {
            if room.congestion <= room.held {
                *limited = true;
                return true;
            }
        } else if room.receiver <= room.held {
            return true;
        }
        // The last data carries a FIN if the application has written all of it.
        !(room.last && self.queue.is_complete())
    }

    fn send_joined(&mut self, segments: u32, port: &mut impl Port) {
        let first = self.board.flight.nxt;
        let mut payload = 0;
        for _ in 0..segments {
            let part = self.queue.take(self.plan.mss);
            let alone = self.board.flight.packets_out() == 0;
            let seq = self.board.flight.nxt;
            self.board.push(part, self.conn.now);
            if seq > first {
                self.board.join(seq);
            }
            self.note_sent(seq, alone);
            payload += part;
        }
        let mut packet = self.data_packet(first, payload);
        self.ecn.on_new(&mut packet);
        self.emit_joined(packet, segments, port);
    }

    /// Retransmits lost segments in packets of several segments. In all other respects, this
    /// function is like [`Sender::retransmit_lost`].
    #[cold]
    #[inline(never)]
    pub(super) fn retransmit_lost_joined(&mut self, port: &mut impl Port) {
        let mut rearm = false;
        while self.board.flight.in_flight() < self.window.cwnd
            && self.pacer.may_leave(self.conn.now)
        {
            let Some(seq) = self.board.next_to_retransmit() else {
                break;
            };
            self.retransmit_joined(seq, port);
            rearm |= seq == self.board.flight.una && self.timer.kind != Kind::Reorder;
        }
        if rearm {
            self.restart_rto();
        }
    }

    /// Retransmits a lost segment, with the segments that were sent in the same packet and are lost
    /// too, as far as the window allows.
    fn retransmit_joined(&mut self, seq: u64, port: &mut impl Port) {
        let room = self.window.cwnd - self.board.flight.in_flight();
        let most = u64::from(self.most_at_this_rate().min(room));
        let mut end = seq + 1;
        while end < seq + most && self.board.continues(end) {
            end += 1;
        }
        self.board.part(end);
        let now = self.conn.now;
        let mut payload = 0;
        for lost in seq..end {
            payload += self.board.get(lost).len;
            self.board.retransmitted(lost, now);
            self.note_sent(lost, false);
            self.recovery.undo.retransmitted(now);
        }
        let segments = (end - seq) as u32;
        let mut packet = self.data_packet(seq, payload);
        packet.flags |= flags::RETRANSMIT;
        self.ecn.on_repeated(&mut packet);
        self.stats.retransmits += u64::from(segments);
        self.emit_joined(packet, segments, port);
    }

    fn emit_joined(&mut self, mut packet: Packet, segments: u32, port: &mut impl Port) {
        packet.join(segments, self.plan.mss);
        packet.len += (segments - 1) as u16 * self.plan.header;
        self.stats.packets += u64::from(segments - 1);
        self.emit(packet, port);
        self.pacer.end_burst();
        if self.conn.ca_state.is_reduction() {
            for _ in 0..segments {
                self.recovery.prr.sent();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc;
    use crate::packet::{Ecn, Sack};
    use crate::plan::TcpPlan;
    use crate::registry::{complete_defaults, find};
    use crate::units::Bytes;

    #[derive(Default)]
    struct Wire(Vec<Packet>);

    impl Port for Wire {
        fn send(&mut self, packet: Packet) {
            self.0.push(packet);
        }
    }

    impl Wire {
        /// Returns the first segment and the number of segments of each packet since the last call.
        fn take(&mut self) -> Vec<(u64, u32)> {
            let sent = std::mem::take(&mut self.0);
            sent.iter().map(|p| (p.seq, p.segments())).collect()
        }
    }

    /// Returns a connected sender with a window of `cwnd` segments and an RTT of 1 s. The sender
    /// has sent this window at 1 s, in packets of at most 20 segments.
    fn sender(cwnd: u32, bytes: Option<u64>) -> (Sender, Wire) {
        let plan = TcpPlan {
            initial_cwnd: cwnd,
            rwnd: Bytes(1 << 30),
            ..TcpPlan::default()
        };
        let entry = find(cc::ENTRIES, "reno").expect("registered");
        let control = (entry.build)(&complete_defaults(entry));
        let mut wire = Wire::default();
        let mut sender = Sender::new(0, &plan, control, false, bytes).joining(20);
        // With this pacing rate, 29,000 bytes leave in a millisecond. The congestion control does
        // not ask for pacing, so it only determines the size of packets.
        sender.window.pacing_rate = 29_000 << 10;
        sender.start(Time::ZERO, &mut wire);
        let mut answer = wire.0.pop().expect("a SYN");
        answer.flags |= flags::ACK;
        sender.on_syn_ack(&answer, Time::from_secs(1), &mut wire);
        (sender, wire)
    }

    fn ack(seq: u64, sacked: Option<(u64, u64)>) -> Packet {
        let mut packet = Packet::new(0, 66, Ecn::NotEct);
        (packet.flags, packet.seq, packet.sent) = (flags::ACK, seq, Time::from_secs(1));
        if let Some((from, to)) = sacked {
            packet.sack[0] = Sack {
                offset: (from - seq) as u32,
                len: (to - from) as u32,
            };
        }
        packet
    }

    #[test]
    fn most_joined_fills_a_frame_length_of_16_bits() {
        let most = most_joined;
        assert_eq!(most(1448, 66), 43);
        assert_eq!(most(8948, 66), 7);
        assert_eq!(most(40_000, 66), 1);
        assert_eq!(most(65_000, 512), 1);
    }

    /// The sender sends its window in packets whose size follows from the rate. No packet has more
    /// than half of the window, and the last packet has the rest.
    #[test]
    fn a_window_is_divided_into_packets() {
        let (_, mut wire) = sender(50, None);
        assert_eq!(wire.take(), [(0, 20), (20, 20), (40, 10)]);
        let (_, mut wire) = sender(9, None);
        assert_eq!(wire.take(), [(0, 4), (4, 4), (8, 1)]);
        // The end of the data limits the last packet, whose last segment is short.
        let (s, mut wire) = sender(50, Some(22 * 1448 + 1));
        let last = wire.0[1];
        assert_eq!(wire.take(), [(0, 20), (20, 3)]);
        assert_eq!(
            (last.payload, last.len),
            (2 * 1448 + 1, 2 * 1448 + 1 + 3 * 66)
        );
        assert_eq!(s.stats.packets, 23);
    }

    /// If the next ACK is due soon, the sender waits until it may send a full packet or a third of
    /// its window (Linux `tcp_tso_should_defer`). Otherwise the sender sends what the window
    /// allows.
    #[test]
    fn a_small_packet_waits_for_the_next_ack() {
        let (mut s, mut wire) = sender(50, None);
        s.window.ssthresh = 1;
        wire.take();
        let now = Time::from_secs(2);
        s.on_ack(&ack(2, None), now, &mut wire);
        let after_a_pause = wire.take();
        assert_eq!(after_a_pause, [(50, 2)]);
        s.on_ack(&ack(7, None), now, &mut wire);
        assert_eq!(wire.take(), [], "the ACK of segment 7 is due now");
        s.on_ack(&ack(25, None), now, &mut wire);
        assert_eq!(wire.take(), [(52, 20)]);
    }

    /// If all segments of a packet are lost, they are retransmitted in one packet.
    #[test]
    fn a_lost_packet_is_retransmitted_as_a_whole() {
        let (mut s, mut wire) = sender(60, None);
        assert_eq!(wire.take(), [(0, 20), (20, 20), (40, 20)]);
        let now = Time::from_secs(2);
        s.on_ack(&ack(0, Some((20, 60))), now, &mut wire);
        assert_eq!(s.flight().lost_out, 20);
        let sent = wire.0.clone();
        assert_eq!(wire.take()[0], (0, 20));
        assert!(sent[0].has(flags::RETRANSMIT));
        assert_eq!(s.stats.retransmits, 20);

        // If the middle of a packet has arrived, the two parts are sent separately.
        let (mut s, mut wire) = sender(60, None);
        wire.take();
        s.on_ack(&ack(0, Some((8, 60))), now, &mut wire);
        assert_eq!(wire.take()[0], (0, 8));
    }

    /// A timeout sends one segment (Linux `tcp_retransmit_timer`).
    #[test]
    fn a_timeout_sends_one_segment() {
        let (mut s, mut wire) = sender(60, None);
        wire.take();
        let mut next_by_timer = |s: &mut Sender| {
            while wire.0.is_empty() {
                s.on_timer(s.deadline(), &mut wire);
            }
            wire.take()
        };
        // The window is full, so the tail loss probe has one segment, too.
        assert_eq!(next_by_timer(&mut s), [(60, 1)]);
        assert_eq!(next_by_timer(&mut s), [(0, 1)]);
    }
}
