//! The receiving end: ACKs, SACK and the echo of ECN marks (Linux `tcp_input.c`, `tcp_output.c`,
//! `tcp_dctcp.h`).

#[cfg(test)]
mod tests;

use super::accecn::{self, Receiving};
use super::ecn_echo::EcnEcho;
use super::port::{Port, SYN_EXTRA};
use super::ranges::Ranges;
use super::receive_window::ReceiveWindow;
use super::sack_blocks::SackBlocks;
use super::sce::{Sce, SceEcho};
use crate::packet::{Ecn, Packet, flags};
use crate::plan::{Conduct, TcpPlan};
use crate::units::Time;
use crate::wheel::{TimerClock, WheelPhase};

/// Smallest delay of a delayed ACK (Linux `TCP_ATO_MIN` and `TCP_DELACK_MIN`).
const DELACK_MIN: Time = Time::from_ms(40);
/// Largest delay of a delayed ACK (Linux `TCP_DELACK_MAX`).
const DELACK_MAX: Time = Time::from_ms(200);
/// Largest number of successive ACKs without delay (Linux `TCP_MAX_QUICKACKS`).
const MAX_QUICKACKS: u32 = 16;
/// How many duplicate ACKs are sent at once before the receiver compresses ACKs.
const DUP_ACKS_AT_ONCE: u32 = 3;
/// How many ACKs SACK compression merges at most (Linux `tcp_comp_sack_nr`).
const COMPRESSED_MAX: u32 = 44;
/// Largest delay of a compressed ACK (Linux `tcp_comp_sack_delay_ns`).
const COMPRESS_DELAY: Time = Time::from_ms(1);

/// A receiver that divides ACKs acknowledges each segment in this many parts. Each part gets its
/// own ACK.
const PARTS: usize = 8;

/// A port that adds payload to each ACK, so that the ACK is a request.
struct Asking<'p, P: Port> {
    port: &'p mut P,
    payload: u16,
}

impl<P: Port> Port for Asking<'_, P> {
    fn send(&mut self, mut packet: Packet) {
        packet.payload = self.payload;
        packet.len += self.payload;
        packet.flags |= flags::REQUEST;
        self.port.send(packet);
    }
}

/// The port of a receiver that takes packets of several segments. This port is a type of its own,
/// so that the compiler still inlines the code for single segments.
struct Apart<'p, P: Port>(&'p mut P);

impl<P: Port> Port for Apart<'_, P> {
    fn send(&mut self, packet: Packet) {
        self.0.send(packet);
    }
}

/// The port of a dishonest receiver. If the receiver divides ACKs, the port replaces the ACK of a
/// segment by one ACK for each part of the segment. Honest receivers do not use this port, so it
/// costs them no time.
struct Dividing<'p, P: Port> {
    port: &'p mut P,
    divides: bool,
    /// The segment after the last one that was acknowledged. All segments below this one were
    /// acknowledged.
    acked_to: u64,
    /// The ACK of a part of a segment, without the values that differ between the parts.
    part: Packet,
}

impl<P: Port> Port for Dividing<'_, P> {
    fn send(&mut self, packet: Packet) {
        if self.divides {
            for seq in self.acked_to..packet.seq {
                for _ in 1..PARTS {
                    let mut part = self.part;
                    (part.seq, part.sent) = (seq, packet.sent);
                    part.flags |= flags::PARTIAL;
                    self.port.send(part);
                }
            }
            self.acked_to = packet.seq;
        }
        self.port.send(packet);
    }
}

/// The value of [`Packet::seq`] in the SYN of a client that requests data. This value distinguishes
/// the client's SYN from a server's SYN.
const CONNECTS: u64 = 1;

/// The receiver of a flow.
pub struct Receiver {
    /// All segments below this one have arrived.
    pub rcv_nxt: u64,
    /// Number of the first data segment.
    first: u64,
    /// The value of `rcv_nxt` when the last ACK was sent (Linux `rcv_wup`).
    acked: u64,
    /// The first segment that the last ACK did not acknowledge.
    acked_to: u64,
    /// Segments that have arrived although an earlier segment is missing.
    out_of_order: Ranges,
    sack: SackBlocks,
    /// Timestamp to echo (RFC 7323 section 4.3).
    ts_recent: Time,
    /// How many more ACKs are sent without delay.
    quick: u32,
    window: ReceiveWindow,
    /// The delay of the next delayed ACK. The delay is zero before the first data arrives.
    ato: Time,
    /// When data last arrived.
    last_data: Time,
    /// When the SYN-ACK was sent. `None` once the first data has arrived.
    syn_ack_sent: Option<Time>,
    /// The RTT of the handshake, which is the only RTT that the receiver measures.
    rtt: Time,
    /// Whether an ACK must be sent at once.
    ack_now: bool,
    /// When the delayed ACK is due.
    delack: Time,
    /// Whether `delack` has already been rounded to the time at which the timer wheel fires.
    delack_rounded: bool,
    clock: TimerClock,
    /// The due time of the ACK that SACK compression has delayed.
    compress: Time,
    compressed: u32,
    dup_acks: u32,
    dup_acks_at: u64,
    echo: EcnEcho,
    /// The counters of Accurate ECN, if the receiver uses Accurate ECN.
    accurate: Option<Box<Receiving>>,
    sce: Sce,
    ecn_seen: bool,
    /// Whether ACKs echo CE (Linux `TCP_ECN_DEMAND_CWR`).
    demand_cwr: bool,
    /// Whether the last packet was marked CE (DCTCP).
    ce: bool,
    /// The value of `rcv_nxt` when `ce` was set.
    ce_rcv_nxt: u64,
    flow: u32,
    header: u16,
    /// After how many segments the receiver sends an ACK. 0 means that ACKs are not delayed.
    ack_every: u64,
    /// The ECN field of pure ACKs.
    ack_ecn: Ecn,
    conduct: Conduct,
    /// Whether the receiver is honest and every packet has one segment.
    usual: bool,
    /// For a receiver that hides CE: the ECN field of the last packet that was not marked with CE.
    unmarked: Ecn,
    /// Number of segments that were acknowledged although they have not arrived.
    missing: u64,
}

impl Receiver {
    /// Creates a receiver that waits for a connection.
    pub fn new(flow: u32, plan: &TcpPlan, echo: EcnEcho) -> Receiver {
        Receiver {
            rcv_nxt: 0,
            first: 0,
            acked: 0,
            acked_to: 0,
            out_of_order: Ranges::default(),
            sack: SackBlocks::default(),
            ts_recent: Time::ZERO,
            quick: 0,
            window: ReceiveWindow::new(plan),
            ato: if plan.quickack {
                Time::ZERO
            } else {
                DELACK_MIN
            },
            last_data: Time::ZERO,
            syn_ack_sent: None,
            rtt: Time::ZERO,
            ack_now: false,
            delack: Time::NEVER,
            delack_rounded: false,
            clock: TimerClock::new(plan),
            compress: Time::NEVER,
            compressed: 0,
            dup_acks: 0,
            dup_acks_at: 0,
            echo,
            accurate: matches!(echo, EcnEcho::Accurate { .. })
                .then(|| Box::new(Receiving::new(plan))),
            sce: Sce::default(),
            ecn_seen: false,
            demand_cwr: false,
            ce: false,
            ce_rcv_nxt: 0,
            flow,
            header: plan.header,
            ack_every: match plan.delack.segments() {
                1 => 0,
                segments => u64::from(segments),
            },
            ack_ecn: match echo {
                EcnEcho::Accurate { acks, .. } => acks,
                EcnEcho::PerPacket | EcnEcho::PerPacketButEct1 => Ecn::Ect0,
                EcnEcho::None | EcnEcho::Sticky => Ecn::NotEct,
            },
            conduct: plan.receiver,
            usual: plan.receiver == Conduct::Honest,
            unmarked: Ecn::Ect0,
            missing: 0,
        }
    }

    /// Returns the receiver for a sender that numbers its segments from `first`
    /// ([`super::sender::Sender::numbered_from`]).
    pub fn numbered_from(mut self, first: u64) -> Receiver {
        self.rcv_nxt = first;
        self.first = first;
        self.acked = first;
        self.acked_to = first;
        self.dup_acks_at = first;
        self.ce_rcv_nxt = first;
        self.sce.prior_rcv_nxt = first;
        self
    }

    /// Makes the receiver take packets of several segments. The receiver must be honest.
    pub fn joined(mut self) -> Receiver {
        self.usual = false;
        self
    }

    /// Returns the receiver for a host whose timers have the phase `phase`.
    pub fn at_phase(mut self, phase: WheelPhase) -> Receiver {
        self.clock = self.clock.at_phase(phase);
        self
    }

    /// Returns how many segments have arrived in order.
    #[inline]
    pub fn arrived(&self) -> u64 {
        self.rcv_nxt - self.first - self.missing
    }

    /// Returns the round-trip time of the handshake.
    pub fn rtt(&self) -> Time {
        self.rtt
    }

    /// Returns whether the receiver uses the counters of Accurate ECN. These counters use the
    /// header bit that SCE uses for its echo.
    pub fn is_accurate(&self) -> bool {
        self.accurate.is_some()
    }

    /// Enables the echo of SCE marks.
    pub fn echo_sce(&mut self, echo: SceEcho) {
        self.sce.echo = echo;
    }

    /// Returns when to call [`Receiver::on_timer`] next.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.delack.min(self.compress)
    }

    /// Handles an expired deadline.
    pub fn on_timer(&mut self, now: Time, port: &mut impl Port) {
        if self.conduct == Conduct::DividesAcks {
            return self.act_on_timer(now, &mut self.dividing(port));
        }
        self.act_on_timer(now, port);
    }

    fn act_on_timer(&mut self, now: Time, port: &mut impl Port) {
        if self.compress <= now {
            self.send_ack(self.rcv_nxt, port);
        } else if self.delack <= now && self.clock.is_coarse() && !self.delack_rounded {
            // Linux's timer fires one jiffy later, so that it never fires too early.
            self.delack = self.clock.fires(self.delack, self.delack);
            self.delack_rounded = true;
        } else if self.delack <= now {
            // No second segment arrived before the timer expired. Double the delay of the next
            // delayed ACK.
            self.ato = (self.ato + self.ato).min(self.rto());
            self.send_ack(self.rcv_nxt, port);
        }
    }

    /// Sends the SYN of a client that requests data. The sender's own SYN then answers it.
    pub fn connect(&self, now: Time, port: &mut impl Port) {
        let mut syn = self.ack_packet();
        syn.len = self.header + SYN_EXTRA;
        syn.flags |= flags::SYN;
        syn.sent = now;
        syn.seq = CONNECTS;
        port.send(syn);
    }

    /// Requests more data with an ACK of `payload` bytes.
    pub fn ask(&mut self, payload: u16, port: &mut impl Port) {
        self.send_ack(self.rcv_nxt, &mut Asking { port, payload });
    }

    /// Returns whether a packet is the SYN of [`Receiver::connect`]. In contrast to such a SYN, the
    /// server's SYN acknowledges no segment.
    pub fn is_connect(packet: &Packet) -> bool {
        packet.has(flags::SYN) && packet.has(flags::ACK) && packet.seq == CONNECTS
    }

    /// Handles a SYN or data.
    pub fn on_packet(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        if packet.has(flags::SYN) {
            let mut reply = self.ack_packet();
            reply.len = self.header + SYN_EXTRA;
            reply.flags |= flags::SYN | self.negotiate(packet);
            reply.sent = packet.sent;
            self.syn_ack_sent = Some(now);
            return port.send(reply);
        }
        if !self.usual {
            return self.on_unusual_data(*packet, now, port);
        }
        self.on_data::<false>(packet, now, port);
    }

    #[cold]
    #[inline(never)]
    fn on_unusual_data(&mut self, mut packet: Packet, now: Time, port: &mut impl Port) {
        if self.conduct == Conduct::Honest {
            self.on_data::<true>(&packet, now, &mut Apart(port));
        } else if self.pretends(&mut packet) {
            self.on_data::<false>(&packet, now, &mut self.dividing(port));
        }
    }

    /// Returns the port through which a dishonest receiver sends ACKs.
    fn dividing<'p, P: Port>(&self, port: &'p mut P) -> Dividing<'p, P> {
        Dividing {
            port,
            divides: self.conduct == Conduct::DividesAcks,
            acked_to: self.acked_to,
            part: self.ack_packet(),
        }
    }

    /// If the receiver is dishonest, changes an arriving packet before the receiver processes it.
    /// Returns false if the receiver ignores the packet.
    fn pretends(&mut self, packet: &mut Packet) -> bool {
        match self.conduct {
            Conduct::HidesCe if packet.ecn == Ecn::Ce => packet.ecn = self.unmarked,
            Conduct::HidesCe => self.unmarked = packet.ecn,
            Conduct::Optimistic if packet.seq > self.rcv_nxt => {
                self.missing += packet.seq - self.rcv_nxt;
                self.rcv_nxt = packet.seq;
            }
            // This segment is late, so it was counted as missing.
            Conduct::Optimistic if packet.seq < self.rcv_nxt && self.missing > 0 => {
                self.missing -= 1;
                return false;
            }
            Conduct::Optimistic | Conduct::DividesAcks | Conduct::Honest => {}
        }
        true
    }

    /// Records that the handshake is over and has taken the time `rtt`. Hosts that perform the
    /// handshake themselves call this function.
    pub fn establish(&mut self, rtt: Time) {
        self.syn_ack_sent = None;
        self.rtt = rtt;
    }

    /// For Accurate ECN, records the ECN field of a packet without data. Hosts that also send data
    /// call this function.
    pub fn note_ecn_field(&mut self, ecn: Ecn) {
        if let Some(accurate) = &mut self.accurate {
            self.ack_now |= accurate.on_data(ecn, 0);
        }
    }

    /// Sets whether the other end understands the AccECN option. Hosts that perform the handshake
    /// themselves call this function.
    pub fn hears_option(&mut self, heard: bool) {
        if let Some(accurate) = &mut self.accurate {
            accurate.heard = heard;
        }
    }

    /// Adds the counters of Accurate ECN to a packet that this end sends at `now`. Hosts that also
    /// send data call this function.
    pub fn accompany(&mut self, packet: &mut Packet, now: Time) {
        if let Some(accurate) = &mut self.accurate {
            accurate.on_ack(packet, 0, now, self.rtt);
        }
    }

    /// Returns the ACK by which a host that connects ends the handshake. With Accurate ECN, the ACK
    /// reports the ECN field of the SYN-ACK (RFC 9768 section 3.2.2.1).
    pub fn third_ack(&mut self, syn_ack: Ecn, now: Time) -> Packet {
        let mut ack = self.ack_packet();
        ack.sent = self.ts_recent;
        if let Some(accurate) = &mut self.accurate {
            accurate.on_ack(&mut ack, 0, now, self.rtt);
            accurate.count(syn_ack);
            ack.flags = (ack.flags & !flags::ACE) | accecn::accepted(syn_ack);
        }
        ack
    }

    /// Records the timestamp of a packet, which may be a pure ACK. The receiver's ACKs then echo
    /// this timestamp, unless the packet follows a hole (RFC 7323 section 4.3).
    pub fn note_timestamp(&mut self, seq: u64, sent: Time) {
        if seq <= self.acked {
            self.ts_recent = self.ts_recent.max(sent);
        }
    }

    /// If a SYN requests Accurate ECN, returns the ECN flags of the SYN-ACK. For other SYNs, the
    /// simulator's SYN-ACK carries no ECN flags, because both ends already know from the plan
    /// whether ECN is used.
    fn negotiate(&mut self, syn: &Packet) -> u16 {
        if !accecn::requests(syn.flags) {
            return 0;
        }
        match (&mut self.accurate, self.echo) {
            (Some(accurate), _) => {
                accurate.on_syn(syn.ecn);
                accecn::accepted(syn.ecn)
            }
            (None, EcnEcho::None) => 0,
            (None, _) => flags::ECE,
        }
    }

    /// Handles data. `JOINED` means that the packet may have several segments.
    fn on_data<const JOINED: bool>(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        let seq = packet.seq;
        let segments = if JOINED { packet.segments() } else { 1 };
        // This value is computed by a closure, so that it does not occupy a register between its
        // uses.
        let end = || seq + u64::from(segments);
        if let Some(sent) = self.syn_ack_sent {
            self.syn_ack_sent = None;
            self.rtt = now.since(sent);
        }
        if packet.has(flags::CWR) && self.echo != EcnEcho::None {
            // RFC 3168 section 6.1.3: A packet with CWR ends the echo. The sender's window may now
            // be only one segment, so do not delay the ACK.
            self.demand_cwr = false;
            self.ack_now = true;
        }
        // Linux does not count the ECN field of a segment below the last ACK (`tcp_sequence`).
        if let Some(accurate) = &mut self.accurate
            && end() >= self.acked
        {
            self.ack_now |= accurate.on_data(packet.ecn, packet.payload);
            self.ack_now |= seq <= self.acked && accurate.hurries(packet, self.ts_recent);
            if JOINED {
                accurate.count_more(packet.ecn, segments - 1);
            }
        }
        self.note_timestamp(seq, packet.sent);
        if JOINED && seq < self.rcv_nxt && self.rcv_nxt < end() {
            // The packet begins with duplicates. Report the duplicates, and process the rest of the
            // packet.
            self.sack.dsack = Some(seq);
            self.sack.more_duplicates = (self.rcv_nxt - seq) as u32 - 1;
        } else if seq < self.rcv_nxt {
            // The segment is a duplicate. Report the duplicate, and send the next ACKs at once.
            if let Some(accurate) = &mut self.accurate {
                accurate.on_duplicate(seq);
            }
            self.sack.dsack = Some(seq);
            if JOINED {
                self.sack.more_duplicates = segments - 1;
            }
            self.enter_quickack(MAX_QUICKACKS);
            self.send_ack(self.rcv_nxt, port);
            return;
        }
        if seq == self.rcv_nxt || (JOINED && seq < self.rcv_nxt) {
            if JOINED {
                self.rcv_nxt = end();
            } else {
                self.rcv_nxt += 1;
            }
            self.note_arrival(packet, now, port);
            if JOINED {
                self.grow_window_again(segments - 1);
                self.drop_covered();
            }
            if let Some(end) = self.out_of_order.take_first_from(self.rcv_nxt) {
                self.rcv_nxt = end;
                self.sack.drop_below(self.rcv_nxt);
                // RFC 5681 section 4.2: if a segment fills a hole, send an ACK at once. (Linux
                // sends an ACK at once only for the last hole.)
                self.ack_now |= self.out_of_order.is_empty();
            }
        } else {
            if self.echo != EcnEcho::None {
                self.note_ecn(packet.ecn, port);
            }
            // RFC 2883 section 4: the first block reports the duplicate, and the second block
            // contains this duplicate.
            match self.out_of_order.containing(seq) {
                Some((_, known)) => {
                    self.sack.dsack = Some(seq);
                    if JOINED {
                        self.sack.more_duplicates = (known.min(end()) - seq) as u32 - 1;
                        self.out_of_order.insert(seq, end(), |_, _| {});
                    }
                }
                None => {
                    if JOINED {
                        self.report_covered(seq, end());
                    }
                    self.out_of_order.insert(seq, end(), |_, _| {});
                }
            }
            // Linux `tcp_sack_compress_send_ack`: first send the compressed ACK with all blocks
            // that it must report. Otherwise these blocks would be left out, and the sender would
            // treat segments that have arrived as lost.
            if self.compressed > 0 && self.sack.displaces(seq, end()) {
                self.send_ack(self.rcv_nxt, port);
            }
            self.sack.put(seq, end());
            self.grow_window();
            if JOINED {
                self.grow_window_again(segments - 1);
            }
        }
        self.acknowledge(now, port);
    }

    /// Returns this end's retransmission timeout, which depends only on the RTT of the handshake.
    /// After a pause longer than this timeout, the connection is considered idle.
    fn rto(&self) -> Time {
        self.rtt + Time(2 * self.rtt.ns()).max(DELACK_MAX)
    }

    /// Records that data has arrived in order (Linux `tcp_event_data_recv`).
    fn note_arrival(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        if self.ato == Time::ZERO {
            self.quick = MAX_QUICKACKS;
            self.ato = DELACK_MIN;
        } else {
            let gap = now.since(self.last_data);
            let half = Time(self.ato.ns() / 2);
            if gap <= Time(DELACK_MIN.ns() / 2) {
                self.ato = half + Time(DELACK_MIN.ns() / 2);
            } else if gap < self.ato {
                self.ato = (half + gap).min(self.rto());
            } else if gap > self.rto() {
                // The sender may have restarted with a small window, so send ACKs without delay.
                self.quick = self.quick.max(MAX_QUICKACKS);
            }
        }
        self.last_data = now;
        if self.echo != EcnEcho::None {
            self.note_ecn(packet.ecn, port);
        }
        self.grow_window();
    }

    /// While the window grows, turns off delayed ACKs (Linux `tcp_grow_window`).
    #[inline]
    fn grow_window(&mut self) {
        if self.window.grows(self.last_data, self.rtt) {
            self.quick |= 1;
        }
    }

    /// Reports as duplicates the first of the segments `start..end` that had arrived out of order,
    /// and the segments that follow it without a hole. A packet of several segments has repeated
    /// these segments (Linux `tcp_data_queue_ofo`, `tcp_ofo_queue`). A D-SACK is one block. So if
    /// the packet begins with other duplicates, only the duplicates at the beginning are reported.
    fn report_covered(&mut self, start: u64, end: u64) {
        if self.sack.dsack.is_none()
            && let Some((first, known)) = self.out_of_order.first_from(start)
            && first < end
        {
            self.sack.dsack = Some(first);
            self.sack.more_duplicates = (known.min(end) - first) as u32 - 1;
        }
    }

    /// Forgets the segments below `rcv_nxt` that had arrived out of order. A packet of several
    /// segments may have repeated these segments.
    #[inline(always)]
    fn drop_covered(&mut self) {
        if self.out_of_order.is_empty() {
            return;
        }
        self.report_covered(0, self.rcv_nxt);
        self.out_of_order.trim_below(self.rcv_nxt);
        self.sack.drop_below(self.rcv_nxt);
        self.ack_now |= self.out_of_order.is_empty();
    }

    /// Lets the window grow for the other segments of a packet, too.
    #[inline(always)]
    fn grow_window_again(&mut self, segments: u32) {
        for _ in 0..segments {
            self.grow_window();
        }
    }

    /// Records the ECN field of data (Linux `__tcp_ecn_check_ce` and `dctcp_ece_ack_update`).
    fn note_ecn(&mut self, ecn: Ecn, port: &mut impl Port) {
        match ecn {
            Ecn::NotEct => {
                // The sender sets ECT on new data, so a packet without ECT is probably a
                // retransmission.
                if self.ecn_seen {
                    self.enter_quickack(2);
                }
                self.sce.prior_rcv_nxt = self.rcv_nxt;
                return;
            }
            Ecn::Ce => {
                if self.echo.is_per_packet() {
                    self.ce_changed(true, port);
                }
                if !self.demand_cwr && self.accurate.is_none() {
                    // The sender's window may be small, so do not delay ACKs.
                    self.enter_quickack(2);
                    self.demand_cwr = true;
                }
            }
            Ecn::Ect0 | Ecn::Ect1 => {
                let marked = ecn == Ecn::Ect1;
                if self.sce.echo != SceEcho::Off {
                    self.note_sce(marked, port);
                }
                if self.echo.is_per_packet() && (self.echo != EcnEcho::PerPacketButEct1 || !marked)
                {
                    self.ce_changed(false, port);
                }
            }
        }
        self.ecn_seen = true;
        self.sce.prior_rcv_nxt = self.rcv_nxt;
    }

    /// Records whether a packet has an SCE mark. When marks begin or end, first acknowledges the
    /// delayed packets. This ACK still carries the old state of the echo.
    fn note_sce(&mut self, marked: bool, port: &mut impl Port) {
        if self.sce.splits(marked, self.delack < Time::NEVER) {
            self.send_ack(self.sce.prior_rcv_nxt, port);
            self.enter_quickack(u32::from(self.sce.echo == SceEcho::Split));
        }
        self.sce.note(marked);
    }

    /// Records whether a packet is marked CE. According to RFC 8257 section 3.2, an ACK is sent at
    /// once when CE marks start or end. Before this ACK, another ACK with the old state
    /// acknowledges the delayed packets.
    fn ce_changed(&mut self, ce: bool, port: &mut impl Port) {
        if self.ce != ce {
            if self.delack < Time::NEVER {
                self.demand_cwr = self.ce;
                self.send_ack(self.ce_rcv_nxt, port);
            }
            self.ack_now = true;
        }
        self.ce_rcv_nxt = self.rcv_nxt;
        self.ce = ce;
        self.demand_cwr = ce;
    }

    /// Sends the next `n` ACKs without delay (Linux `tcp_enter_quickack_mode`).
    fn enter_quickack(&mut self, n: u32) {
        self.quick = self.quick.max(n);
        self.ato = DELACK_MIN;
    }

    /// Sends an ACK, or delays it (Linux `__tcp_ack_snd_check`).
    #[inline]
    fn acknowledge(&mut self, now: Time, port: &mut impl Port) {
        let enough = self.rcv_nxt >= self.acked + self.ack_every;
        if enough || self.quick > 0 || self.ack_now {
            self.send_ack(self.rcv_nxt, port);
        } else if self.out_of_order.is_empty() {
            self.delay_ack(now, port);
        } else {
            self.compress_ack(now, port);
        }
    }

    /// Delays an ACK (Linux `tcp_send_delayed_ack`).
    fn delay_ack(&mut self, now: Time, port: &mut impl Port) {
        let mut ato = self.ato;
        if ato > DELACK_MIN {
            let most = if self.rtt > Time::ZERO {
                self.rtt.max(DELACK_MIN)
            } else {
                Time::from_ms(500)
            };
            ato = ato.min(most).min(DELACK_MAX);
        }
        if self.delack < Time::NEVER {
            // The delayed ACK is due soon, so send it now.
            if self.delack <= now + Time(ato.ns() / 4) {
                return self.send_ack(self.rcv_nxt, port);
            }
            self.delack = self.delack.min(now + ato);
        } else {
            self.delack = now + ato;
            self.delack_rounded = false;
        }
    }

    /// Delays a duplicate ACK, unless it is one of the first three (SACK compression).
    fn compress_ack(&mut self, now: Time, port: &mut impl Port) {
        if self.compressed >= COMPRESSED_MAX {
            return self.send_ack(self.rcv_nxt, port);
        }
        if self.dup_acks_at != self.rcv_nxt {
            self.dup_acks_at = self.rcv_nxt;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUP_ACKS_AT_ONCE {
            self.dup_acks += 1;
            return self.send_ack(self.rcv_nxt, port);
        }
        self.compressed += 1;
        if self.compress == Time::NEVER {
            // The delay is a third of 1.25 RTT.
            let share = Time(self.rtt.ns() / 3 / 4 * 5);
            self.compress = now
                + if self.rtt > Time::ZERO {
                    share.min(COMPRESS_DELAY)
                } else {
                    COMPRESS_DELAY
                };
        }
    }

    fn ack_packet(&self) -> Packet {
        let mut packet = Packet::new(self.flow, self.header, self.ack_ecn);
        packet.flags = flags::ACK;
        packet
    }

    /// Adds SACK blocks and the AccECN option to an ACK that must carry blocks or the option. The
    /// ACK is passed by value. So if an ACK does not need this function, the compiler can write it
    /// directly to its destination.
    #[inline(never)]
    fn complete(&mut self, mut ack: Packet) -> Packet {
        if !self.sack.is_empty() {
            self.sack.fill(&mut ack);
        }
        if let Some(accurate) = &mut self.accurate {
            let blocks = ack.sack.iter().filter(|s| s.len > 0).count();
            accurate.on_ack(&mut ack, blocks, self.last_data, self.rtt);
        }
        ack
    }

    fn send_ack(&mut self, up_to: u64, port: &mut impl Port) {
        let mut ack = self.ack_packet();
        ack.seq = up_to;
        ack.sent = self.ts_recent;
        if self.demand_cwr && self.accurate.is_none() {
            ack.flags |= flags::ECE;
        }
        if self.sce.echo != SceEcho::Off && self.sce.on_ack(up_to.saturating_sub(self.acked_to)) {
            ack.flags |= flags::ESCE;
        }
        if !self.sack.is_empty() || self.accurate.is_some() {
            ack = self.complete(ack);
        }
        // An ACK that acknowledges only earlier segments, because marks changed, does not restart
        // the delayed ACK. But all segments that have arrived count as acknowledged (Linux
        // `tcp_event_ack_sent`, `tcp_select_window`).
        if up_to == self.rcv_nxt {
            if self.quick > 0 {
                self.quick -= 1;
                if self.quick == 0 {
                    self.ato = DELACK_MIN;
                }
            }
            self.ack_now = false;
            self.delack = Time::NEVER;
        }
        self.compress = Time::NEVER;
        self.compressed = 0;
        self.acked = self.rcv_nxt;
        self.acked_to = up_to;
        port.send(ack);
    }
}
