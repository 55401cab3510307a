//! The receiving end: acknowledgement, SACK and ECN echo
//! (Linux `tcp_input.c`, `tcp_output.c`, `tcp_dctcp.h`).

use super::accecn::{self, Receiving};
use super::port::{Port, SYN_EXTRA};
use super::ranges::Ranges;
use super::sce::{Sce, SceEcho};
use crate::cc::{CeEcho, EcnNeed};
use crate::packet::{Ecn, Packet, Sack, flags};
use crate::plan::{EcnFeedback, Growth, ReceiveBuffer, TcpPlan};
use crate::units::Time;
use crate::wheel;

/// Linux `TCP_ATO_MIN` and `TCP_DELACK_MIN`.
const DELACK_MIN: Time = Time::from_ms(40);
/// Linux `TCP_DELACK_MAX`.
const DELACK_MAX: Time = Time::from_ms(200);
/// Linux `TCP_MAX_QUICKACKS`.
const MAX_QUICKACKS: u32 = 16;
/// Duplicate ACKs that are sent at once before ACKs are compressed.
const DUP_ACKS_AT_ONCE: u32 = 3;
/// Linux `tcp_comp_sack_nr`.
const COMPRESSED_MAX: u32 = 44;
/// Linux `tcp_comp_sack_delay_ns`.
const COMPRESS_DELAY: Time = Time::from_ms(1);

/// Linux takes half of the receive buffer for payload until it has seen a
/// segment, then this share of it, in 256ths: payload over `skb->truesize` of
/// a full segment that was not merged with others.
const PAYLOAD_SHARE: u64 = 162;

/// [`Packet::seq`] of a client's SYN.
const CONNECTS: u64 = 1;

/// How the receiver echoes CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// ECN was not negotiated.
    None,
    /// ECE on every ACK until CWR comes (RFC 3168 section 6.1.3).
    Sticky,
    /// ECE per packet, an ACK at once when CE starts or ends (RFC 8257 section 3.2).
    PerPacket,
    /// The same, but a packet with ECT(1) changes nothing: where SCE marks are
    /// looked at first, DCTCP hears neither of CE nor of its absence.
    PerPacketButEct1,
    /// Counters in every ACK (RFC 9768); with the ECN field of the ACKs.
    Accurate(Ecn),
}

/// How many segments the window grows by at the start: it begins as half of
/// the receive buffer less a segment and rises by two segments for each that
/// arrives until it is [`PAYLOAD_SHARE`] of it (`tcp_init_buffer_space`,
/// `tcp_measure_rcv_mss`, `tcp_grow_window`). That it waits while payload is
/// in the buffer is left out: it moves the last few of them.
///
/// None with `growth = "acks"`: the buffers of Linux 3.2 begin at 87380 bytes
/// and follow what the application reads, so that its window stops growing
/// after some tens of segments.
fn growing_segments(plan: &TcpPlan) -> u64 {
    if !plan.quickack || plan.growth == Growth::Acks || plan.rcvbuf == ReceiveBuffer::Auto {
        return 0;
    }
    let mss = u64::from(plan.mss).max(1);
    let room = u128::from(plan.rwnd.0) * u128::from(PAYLOAD_SHARE - 128) / 128;
    (room as u64 + mss).div_ceil(2 * mss)
}

/// A receive buffer that Linux tunes (`tcp_rcv_space_adjust` with the defaults
/// of `tcp_rmem` and `tcp_adv_win_scale` of 2019): half of it is window, and
/// there is to be room for twice what the application reads in a round-trip
/// time, and for more while that grows. The round-trip time is that of the
/// handshake.
#[derive(Clone, Copy, Debug)]
struct Tuned {
    /// Bytes of a segment.
    mss: u64,
    /// What the window may grow to, bytes.
    clamp: u64,
    /// The window, bytes.
    window: u64,
    /// Most bytes read in a round-trip time so far.
    space: u64,
    /// Bytes read in this one.
    copied: u64,
    /// When this one began.
    since: Time,
}

/// Half of `tcp_rmem`'s default and of its maximum.
const TUNED_WINDOW: (u64, u64) = (64 << 10, 3 << 20);

impl Tuned {
    fn new(mss: u64) -> Tuned {
        Tuned {
            mss,
            clamp: TUNED_WINDOW.0,
            window: TUNED_WINDOW.0,
            space: 10 * mss,
            copied: 0,
            since: Time::ZERO,
        }
    }

    /// A segment was read; whether the window grew.
    fn grows(&mut self, now: Time, rtt: Time) -> bool {
        self.copied += self.mss;
        let grows = self.window < self.clamp;
        if grows {
            self.window = (self.window + 2 * self.mss).min(self.clamp);
        }
        if now.since(self.since) >= rtt.max(Time::from_ms(1)) {
            if self.copied > self.space {
                let room = 2 * self.copied + 16 * self.mss;
                let more = 2 * room * (self.copied - self.space) / self.space;
                self.clamp = self.clamp.max((room + more).min(TUNED_WINDOW.1));
                self.space = self.copied;
            }
            self.copied = 0;
            self.since = now;
        }
        grows
    }
}

impl EcnEcho {
    /// What the receiver of a connection is capable of.
    pub fn of(ecn: bool, feedback: EcnFeedback, need: EcnNeed) -> EcnEcho {
        match (feedback, need) {
            _ if !ecn => EcnEcho::None,
            (EcnFeedback::None, _) => EcnEcho::None,
            (EcnFeedback::AccEcn | EcnFeedback::Auto, EcnNeed::Accurate) => {
                EcnEcho::Accurate(Ecn::Ect1)
            }
            (EcnFeedback::AccEcn, _) => EcnEcho::Accurate(Ecn::Ect0),
            (EcnFeedback::Rfc3168, _)
            | (_, EcnNeed::Optional | EcnNeed::Sce | EcnNeed::Dctcp(CeEcho::Sticky)) => {
                EcnEcho::Sticky
            }
            (_, EcnNeed::Dctcp(CeEcho::Precise)) => EcnEcho::PerPacket,
            (_, EcnNeed::Dctcp(CeEcho::SceHoldsCe)) => EcnEcho::PerPacketButEct1,
        }
    }

    fn is_per_packet(self) -> bool {
        matches!(self, EcnEcho::PerPacket | EcnEcho::PerPacketButEct1)
    }
}

/// The receiver of a flow.
pub struct Receiver {
    /// Everything below has arrived.
    pub rcv_nxt: u64,
    /// Number of the first data segment.
    first: u64,
    /// `rcv_nxt` when the last ACK was sent (Linux `rcv_wup`).
    acked: u64,
    /// What the last ACK acknowledged.
    acked_to: u64,
    /// Segments beyond a hole.
    out_of_order: Ranges,
    /// Most recent blocks, the newest first (RFC 2018 section 4).
    recent: [(u64, u64); 4],
    recent_len: usize,
    /// A duplicate to report (RFC 2883).
    dsack: Option<u64>,
    /// Timestamp to echo (RFC 7323 section 4.3).
    ts_recent: Time,
    /// ACKs to be sent without delay.
    quick: u32,
    /// Segments by which the window still grows, each acknowledged at once.
    growing: u64,
    /// The receive buffer, if it is tuned.
    tuned: Option<Tuned>,
    /// Delay of the next delayed ACK; zero before the first data.
    ato: Time,
    /// Arrival of the last data.
    last_data: Time,
    /// When the SYN-ACK was sent, until the first data has come.
    syn_ack_sent: Option<Time>,
    /// RTT as the receiver knows it: that of the handshake.
    rtt: Time,
    /// Send an ACK at once.
    ack_now: bool,
    /// When the delayed ACK is due.
    delack: Time,
    /// That time is the one at which the timer wheel fires.
    delack_rounded: bool,
    /// Timers fire as the timer wheel has them.
    coarse: bool,
    /// When the compressed ACK is due.
    compress: Time,
    compressed: u32,
    dup_acks: u32,
    dup_acks_at: u64,
    echo: EcnEcho,
    /// The counters of Accurate ECN, if they are what is echoed.
    accurate: Option<Receiving>,
    sce: Sce,
    ecn_seen: bool,
    /// Echo congestion (Linux `TCP_ECN_DEMAND_CWR`).
    demand_cwr: bool,
    /// The last packet was CE (DCTCP).
    ce: bool,
    /// `rcv_nxt` when that was noted.
    ce_rcv_nxt: u64,
    flow: u32,
    header: u16,
    delayed: bool,
    /// The ECN field of pure ACKs.
    ack_ecn: Ecn,
}

impl Receiver {
    /// A receiver that waits for a connection.
    pub fn new(flow: u32, plan: &TcpPlan, echo: EcnEcho) -> Receiver {
        Receiver {
            rcv_nxt: 0,
            first: 0,
            acked: 0,
            acked_to: 0,
            out_of_order: Ranges::default(),
            recent: [(0, 0); 4],
            recent_len: 0,
            dsack: None,
            ts_recent: Time::ZERO,
            quick: 0,
            growing: growing_segments(plan),
            tuned: (plan.quickack && plan.rcvbuf == ReceiveBuffer::Auto)
                .then(|| Tuned::new(u64::from(plan.mss))),
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
            coarse: wheel::coarse(plan),
            compress: Time::NEVER,
            compressed: 0,
            dup_acks: 0,
            dup_acks_at: 0,
            echo,
            accurate: matches!(echo, EcnEcho::Accurate(_))
                .then(|| Receiving::new(plan.accecn_option, plan.timestamps)),
            sce: Sce::default(),
            ecn_seen: false,
            demand_cwr: false,
            ce: false,
            ce_rcv_nxt: 0,
            flow,
            header: plan.header,
            delayed: plan.delack,
            ack_ecn: match echo {
                EcnEcho::Accurate(ect) => ect,
                EcnEcho::PerPacket | EcnEcho::PerPacketButEct1 => Ecn::Ect0,
                EcnEcho::None | EcnEcho::Sticky => Ecn::NotEct,
            },
        }
    }

    /// The same receiver of a sender that is [`super::sender::Sender::numbered_from`] `first`.
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

    /// Segments that have arrived in order.
    #[inline]
    pub fn arrived(&self) -> u64 {
        self.rcv_nxt - self.first
    }

    /// Whether it echoes by the counters of Accurate ECN, which have the bit of SCE's echo.
    pub fn is_accurate(&self) -> bool {
        self.accurate.is_some()
    }

    /// Tells of SCE marks from now on.
    pub fn echo_sce(&mut self, echo: SceEcho) {
        self.sce.echo = echo;
    }

    /// When this receiver next wants [`Receiver::on_timer`].
    #[inline]
    pub fn deadline(&self) -> Time {
        self.delack.min(self.compress)
    }

    /// A deadline has come.
    pub fn on_timer(&mut self, now: Time, port: &mut impl Port) {
        if self.compress <= now {
            self.send_ack(self.rcv_nxt, port);
        } else if self.delack <= now && self.coarse && !self.delack_rounded {
            // Linux's timer fires a jiffy on, so that it is never early.
            self.delack = wheel::fires(self.delack, self.delack);
            self.delack_rounded = true;
        } else if self.delack <= now {
            // The delayed ACK was missed: more patience next time.
            self.ato = (self.ato + self.ato).min(self.rto());
            self.send_ack(self.rcv_nxt, port);
        }
    }

    /// The client's SYN, where it is not the sender that connects: the sender's own
    /// SYN is then the answer to it. For clients that request data.
    pub fn connect(&self, now: Time, port: &mut impl Port) {
        let mut syn = self.ack_packet();
        syn.len = self.header + SYN_EXTRA;
        syn.flags |= flags::SYN;
        syn.sent = now;
        syn.seq = CONNECTS;
        port.send(syn);
    }

    /// Whether a packet is one of [`Receiver::connect`]; the answer to a SYN acknowledges
    /// no segment yet.
    pub fn is_connect(packet: &Packet) -> bool {
        packet.has(flags::SYN) && packet.has(flags::ACK) && packet.seq == CONNECTS
    }

    /// A SYN or data has arrived.
    pub fn on_packet(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        if packet.has(flags::SYN) {
            let mut reply = self.ack_packet();
            reply.len = self.header + SYN_EXTRA;
            reply.flags |= flags::SYN | self.negotiate(packet);
            reply.sent = packet.sent;
            self.syn_ack_sent = Some(now);
            return port.send(reply);
        }
        self.on_data(packet, now, port);
    }

    /// The handshake is over and took `rtt`: for hosts whose handshake somebody else does.
    pub fn establish(&mut self, rtt: Time) {
        self.syn_ack_sent = None;
        self.rtt = rtt;
    }

    /// A packet with a timestamp has come: it is echoed unless it lies beyond
    /// a hole (RFC 7323 section 4.3). Pure ACKs of the other end count, where
    /// there are any.
    pub fn note_timestamp(&mut self, seq: u64, sent: Time) {
        if seq <= self.acked {
            self.ts_recent = self.ts_recent.max(sent);
        }
    }

    /// ECN of the handshake: what the SYN-ACK answers to a SYN that asks for Accurate ECN.
    /// Other SYNs carry no flags here; both ends then know what the plan says.
    fn negotiate(&mut self, syn: &Packet) -> u16 {
        if syn.flags & flags::ACE != accecn::REQUEST {
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

    fn on_data(&mut self, packet: &Packet, now: Time, port: &mut impl Port) {
        let seq = packet.seq;
        if let Some(sent) = self.syn_ack_sent.take() {
            self.rtt = now.since(sent);
        }
        if packet.has(flags::CWR) && self.echo != EcnEcho::None {
            // RFC 3168 section 6.1.3; the window may be a single segment now, so no delay.
            self.demand_cwr = false;
            self.ack_now = true;
        }
        if let Some(accurate) = &mut self.accurate {
            self.ack_now |= accurate.on_data(packet.ecn, packet.payload);
        }
        self.note_timestamp(seq, packet.sent);
        if seq < self.rcv_nxt {
            // A duplicate: report it, and ACK at once for a while.
            self.dsack = Some(seq);
            self.enter_quickack(MAX_QUICKACKS);
            self.send_ack(self.rcv_nxt, port);
            return;
        }
        if seq == self.rcv_nxt {
            self.rcv_nxt += 1;
            self.note_arrival(packet, now, port);
            if let Some(end) = self.out_of_order.take_first_from(self.rcv_nxt) {
                self.rcv_nxt = end;
                self.drop_recent_below();
                // RFC 5681 section 4.2: at once when a hole is filled (Linux: the last one).
                self.ack_now |= self.out_of_order.is_empty();
            }
        } else {
            if self.echo != EcnEcho::None {
                self.note_ecn(packet.ecn, port);
            }
            // RFC 2883 section 4: the block that holds a duplicate comes second.
            if self.out_of_order.containing(seq).is_some() {
                self.dsack = Some(seq);
            }
            let merged = self.out_of_order.insert(seq, seq + 1, |_, _| {});
            self.put_recent(merged);
            self.grow_window();
        }
        self.acknowledge(now, port);
    }

    /// This end's retransmission timeout, known from the handshake only: the
    /// measure of a long silence.
    fn rto(&self) -> Time {
        self.rtt + Time(2 * self.rtt.ns()).max(DELACK_MAX)
    }

    /// Data in order (Linux `tcp_event_data_recv`).
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
                // The sender may have restarted with a small window.
                self.quick = self.quick.max(MAX_QUICKACKS);
            }
        }
        self.last_data = now;
        if self.echo != EcnEcho::None {
            self.note_ecn(packet.ecn, port);
        }
        self.grow_window();
    }

    /// Linux `tcp_grow_window`: while the window grows the sender is to hear of it.
    #[inline]
    fn grow_window(&mut self) {
        if self.growing > 0 {
            self.growing -= 1;
            self.quick |= 1;
        } else if let Some(tuned) = &mut self.tuned
            && tuned.grows(self.last_data, self.rtt)
        {
            self.quick |= 1;
        }
    }

    /// Linux `__tcp_ecn_check_ce` and `dctcp_ece_ack_update`.
    fn note_ecn(&mut self, ecn: Ecn, port: &mut impl Port) {
        match ecn {
            Ecn::NotEct => {
                // ECT was seen before: probably a retransmission.
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
                    // The window may be small: do not delay.
                    self.enter_quickack(2);
                    self.demand_cwr = true;
                }
            }
            Ecn::Ect0 | Ecn::Ect1 => {
                let marked = ecn == Ecn::Ect1;
                if self.sce.echo != SceEcho::Off {
                    self.note_sce(marked, port);
                }
                if self.echo == EcnEcho::PerPacket
                    || (self.echo == EcnEcho::PerPacketButEct1 && !marked)
                {
                    self.ce_changed(false, port);
                }
            }
        }
        self.ecn_seen = true;
        self.sce.prior_rcv_nxt = self.rcv_nxt;
    }

    /// SCE marks may have begun or ended: what was delayed is acknowledged first
    /// with the old state.
    fn note_sce(&mut self, marked: bool, port: &mut impl Port) {
        if self.sce.splits(marked, self.delack < Time::NEVER) {
            self.send_ack(self.sce.prior_rcv_nxt, port);
            self.enter_quickack(u32::from(self.sce.echo == SceEcho::Split));
        }
        self.sce.note(marked);
    }

    /// RFC 8257 section 3.2: an ACK at once when CE starts or ends, and what
    /// was delayed is acknowledged first with the old state.
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

    /// Linux `tcp_enter_quickack_mode`.
    fn enter_quickack(&mut self, n: u32) {
        self.quick = self.quick.max(n);
        self.ato = DELACK_MIN;
    }

    /// Linux `__tcp_ack_snd_check`.
    #[inline]
    fn acknowledge(&mut self, now: Time, port: &mut impl Port) {
        let more_than_one = self.rcv_nxt >= self.acked + 2;
        if more_than_one || self.quick > 0 || self.ack_now || !self.delayed {
            self.send_ack(self.rcv_nxt, port);
        } else if self.out_of_order.is_empty() {
            self.delay_ack(now, port);
        } else {
            self.compress_ack(now, port);
        }
    }

    /// Linux `tcp_send_delayed_ack`.
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
            // About to expire anyway: now.
            if self.delack <= now + Time(ato.ns() / 4) {
                return self.send_ack(self.rcv_nxt, port);
            }
            self.delack = self.delack.min(now + ato);
        } else {
            self.delack = now + ato;
            self.delack_rounded = false;
        }
    }

    /// SACK compression: after three duplicate ACKs, those that follow wait a little.
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
            // A third of 1.25 RTT.
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

    fn send_ack(&mut self, up_to: u64, port: &mut impl Port) {
        let mut ack = self.ack_packet();
        ack.seq = up_to;
        ack.sent = self.ts_recent;
        if self.demand_cwr {
            ack.flags |= flags::ECE;
        }
        if self.sce.echo != SceEcho::Off && self.sce.on_ack(up_to.saturating_sub(self.acked_to)) {
            ack.flags |= flags::ESCE;
        }
        if self.recent_len > 0 || self.dsack.is_some() {
            self.add_sack_blocks(&mut ack);
        }
        if let Some(accurate) = &mut self.accurate {
            let blocks = ack.sack.iter().filter(|s| s.len > 0).count();
            accurate.on_ack(&mut ack, blocks, self.last_data, self.rtt);
        }
        // An ACK that tells of the past only (of ECN) leaves what is due as it
        // is, but counts as one for the two segments that call for the next
        // (Linux `tcp_event_ack_sent`, `tcp_select_window`).
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

    #[cold]
    fn add_sack_blocks(&mut self, ack: &mut Packet) {
        let mut blocks = 0;
        if let Some(duplicate) = self.dsack.take() {
            ack.flags |= flags::DSACK;
            ack.sack[0] = Sack {
                offset: duplicate.wrapping_sub(ack.seq) as u32,
                len: 1,
            };
            blocks = 1;
        }
        let most = ack.sack.len();
        for &(start, end) in self.recent[..self.recent_len].iter().take(most - blocks) {
            ack.sack[blocks] = Sack {
                offset: (start - ack.seq) as u32,
                len: (end - start) as u32,
            };
            blocks += 1;
        }
        // RFC 2018: 2 bytes and 8 for each block, padded to a multiple of 4.
        ack.len += 4 + 8 * blocks as u16;
    }

    /// Puts a block first and drops those it swallowed.
    fn put_recent(&mut self, merged: (u64, u64)) {
        let mut kept = [(0, 0); 4];
        kept[0] = merged;
        let mut n = 1;
        for &block in &self.recent[..self.recent_len] {
            let swallowed = merged.0 <= block.0 && block.1 <= merged.1;
            if !swallowed && n < kept.len() {
                kept[n] = block;
                n += 1;
            }
        }
        self.recent = kept;
        self.recent_len = n;
    }

    fn drop_recent_below(&mut self) {
        let mut n = 0;
        for i in 0..self.recent_len {
            if self.recent[i].1 > self.rcv_nxt {
                self.recent[n] = self.recent[i];
                n += 1;
            }
        }
        self.recent_len = n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Wire(Vec<Packet>);

    impl Port for Wire {
        fn send(&mut self, packet: Packet) {
            self.0.push(packet);
        }
    }

    fn ms(n: u64) -> Time {
        Time::from_ms(n)
    }

    struct End {
        receiver: Receiver,
        wire: Wire,
    }

    impl End {
        fn new(echo: EcnEcho) -> End {
            let plan = TcpPlan {
                quickack: false,
                ..TcpPlan::default()
            };
            End {
                receiver: Receiver::new(0, &plan, echo),
                wire: Wire::default(),
            }
        }

        /// A segment arrives; the ACKs it brings about.
        fn data(&mut self, seq: u64, at: Time, ecn: Ecn, set: u16) -> Vec<Packet> {
            let mut packet = Packet::new(0, 1514, ecn);
            packet.seq = seq;
            packet.sent = at;
            packet.flags = set;
            self.receiver.on_packet(&packet, at, &mut self.wire);
            std::mem::take(&mut self.wire.0)
        }
    }

    /// Segments that are acknowledged one by one at the start when `per_rtt` of
    /// them arrive in each round-trip time of 100 ms.
    fn acknowledged_singly(rcvbuf: ReceiveBuffer, per_rtt: u64) -> u64 {
        let plan = TcpPlan {
            rcvbuf,
            ..TcpPlan::default()
        };
        let mut end = End {
            receiver: Receiver::new(0, &plan, EcnEcho::None),
            wire: Wire::default(),
        };
        end.receiver.establish(ms(100));
        let arrives = |seq| Time(seq * 100_000_000 / per_rtt);
        (0..)
            .find(|&seq| end.data(seq, arrives(seq), Ecn::NotEct, 0).is_empty())
            .unwrap_or(0)
    }

    /// A tuned buffer has room for what little is read, and its window does not
    /// grow; that of a fixed one grows for thousands of segments. A tuned one
    /// grows when more is read than the window has room for.
    #[test]
    fn a_tuned_buffer_grows_with_what_is_read() {
        assert_eq!(acknowledged_singly(ReceiveBuffer::Auto, 5), 16);
        assert_eq!(acknowledged_singly(ReceiveBuffer::Fixed, 5), 3_095);
        let mut tuned = Tuned::new(1_448);
        let mut grown = [0; 4];
        for round in 0..4 {
            for i in 0..100 {
                let now = ms(100 * round + 100) + Time(i);
                grown[round as usize] += u64::from(tuned.grows(now, ms(100)));
            }
        }
        // The first segment of the second round ends the first: there is to be
        // room for 2 * 101 + 16, and for the growth from 10, more than there can be.
        assert_eq!(tuned.clamp, TUNED_WINDOW.1);
        assert_eq!(grown, [0, 99, 100, 100]);
    }

    /// Linux `tcp_ecn_accept_cwr`, whoever echoes.
    #[test]
    fn cwr_is_acknowledged_at_once() {
        for echo in [EcnEcho::Sticky, EcnEcho::PerPacket] {
            let mut end = End::new(echo);
            assert!(end.data(0, ms(1), Ecn::Ect0, 0).is_empty());
            assert_eq!(end.data(1, ms(2), Ecn::Ect0, 0).len(), 1);
            assert_eq!(
                end.data(2, ms(3), Ecn::Ect0, flags::CWR).len(),
                1,
                "{echo:?}"
            );
        }
    }

    /// RFC 8257 section 3.2: what is delayed is acknowledged with the old state,
    /// the changed state at once.
    #[test]
    fn a_change_of_ce_is_told_by_two_acks() {
        let mut end = End::new(EcnEcho::PerPacket);
        assert!(end.data(0, ms(1), Ecn::Ect0, 0).is_empty());
        let acks = end.data(1, ms(2), Ecn::Ce, 0);
        let told: Vec<_> = acks.iter().map(|a| (a.seq, a.has(flags::ECE))).collect();
        assert_eq!(told, [(1, false), (2, true)]);
    }

    /// What each of these packets, 1 ms apart, brings: (acknowledged, ECE, ESCE).
    fn echoes(echo: EcnEcho, sce: SceEcho, packets: &[Ecn]) -> Vec<Vec<(u64, bool, bool)>> {
        let mut end = End::new(echo);
        end.receiver.echo_sce(sce);
        let mut seq = 0;
        packets
            .iter()
            .map(|&ecn| {
                seq += 1;
                let acks = end.data(seq - 1, ms(seq), ecn, 0);
                acks.iter()
                    .map(|a| (a.seq, a.has(flags::ECE), a.has(flags::ESCE)))
                    .collect()
            })
            .collect()
    }

    const ECT: Ecn = Ecn::Ect0;
    const SCE: Ecn = Ecn::Ect1;

    /// A run of marks is acknowledged by itself, its first packet at once.
    #[test]
    fn acks_are_split_where_sce_marks_begin_and_end() {
        let packets = [ECT, SCE, SCE, SCE, ECT, ECT, ECT, SCE, ECT, SCE];
        let (no, yes) = (false, true);
        assert_eq!(
            echoes(EcnEcho::Sticky, SceEcho::Split, &packets),
            [
                vec![],
                vec![(1, no, no), (2, no, yes)],
                vec![],
                vec![(4, no, yes)],
                vec![],
                vec![(6, no, no)],
                vec![],
                vec![(7, no, no), (8, no, yes)],
                vec![],
                vec![(9, no, no), (10, no, yes)],
            ]
        );
        // With the delay, the ACK of what came before counts as one (the next
        // is due two segments after it), and ends no delay.
        assert_eq!(
            echoes(EcnEcho::Sticky, SceEcho::SplitDelayed, &packets),
            [
                vec![],
                vec![(1, no, no)],
                vec![],
                vec![(4, no, yes)],
                vec![],
                vec![(6, no, no)],
                vec![],
                vec![(7, no, no)],
                vec![(8, no, yes)],
                vec![(9, no, no)],
            ]
        );
        // A change right after an ACK splits nothing.
        let packets = [ECT, ECT, SCE, SCE, ECT, ECT];
        let told = echoes(EcnEcho::Sticky, SceEcho::Split, &packets);
        let acks: Vec<_> = told.into_iter().flatten().collect();
        assert_eq!(acks, [(2, no, no), (4, no, yes), (6, no, no)]);
    }

    /// The last kind of packet decides: ESCE goes with the first ACK only.
    #[test]
    fn pending_esce_is_sent_once() {
        let mut end = End::new(EcnEcho::Sticky);
        end.receiver.echo_sce(SceEcho::Split);
        end.data(0, ms(1), SCE, 0);
        end.data(1, ms(2), SCE, 0);
        // A duplicate is acknowledged at once, and says nothing of SCE.
        let acks = end.data(0, ms(3), Ecn::NotEct, flags::RETRANSMIT);
        assert_eq!((acks.len(), acks[0].has(flags::ESCE)), (1, false));
    }

    /// CE is echoed as RFC 3168 has it, ESCE or not, and does not end a run of marks.
    #[test]
    fn ce_and_sce_are_echoed_apart() {
        let told = echoes(
            EcnEcho::Sticky,
            SceEcho::Split,
            &[ECT, Ecn::Ce, SCE, SCE, Ecn::Ce, SCE],
        );
        let (no, yes) = (false, true);
        assert_eq!(
            told,
            [
                vec![],
                // The first CE is acknowledged at once, and one more.
                vec![(2, yes, no)],
                vec![(3, yes, yes)],
                vec![],
                vec![(5, yes, yes)],
                vec![],
            ]
        );
        let off = echoes(EcnEcho::Sticky, SceEcho::Off, &[ECT, SCE, SCE, SCE]);
        let acks: Vec<_> = off.into_iter().flatten().collect();
        assert_eq!(acks, [(2, no, no), (4, no, no)]);
    }

    /// Three receivers for DCTCP: CE, then SCE-marked, then unmarked packets.
    #[test]
    fn dctcp_receivers_under_sce() {
        use crate::cc::CeEcho;
        let of = |echo| EcnEcho::of(true, EcnFeedback::Auto, EcnNeed::Dctcp(echo));
        let packets = [ECT, Ecn::Ce, SCE, SCE, ECT, ECT, ECT];
        let marked = |echo| -> Vec<(u64, bool)> {
            let told = echoes(of(echo), SceEcho::Off, &packets);
            told.into_iter().flatten().map(|a| (a.0, a.1)).collect()
        };
        let (no, yes) = (false, true);
        assert_eq!(
            marked(CeEcho::Precise),
            [(1, no), (2, yes), (3, no), (5, no), (7, no)]
        );
        // The echo lasts until the first unmarked packet.
        assert_eq!(
            marked(CeEcho::SceHoldsCe),
            [(1, no), (2, yes), (4, yes), (5, no), (7, no)]
        );
        // What is delayed is acknowledged up to the last packet that counted:
        // of the marked one the sender hears as one without CE.
        let told = echoes(
            of(CeEcho::SceHoldsCe),
            SceEcho::Off,
            &[ECT, Ecn::Ce, SCE, ECT],
        );
        let acks: Vec<_> = told.into_iter().flatten().map(|a| (a.0, a.1)).collect();
        assert_eq!(acks, [(1, no), (2, yes), (2, yes), (4, no)]);
        assert_eq!(
            marked(CeEcho::Sticky),
            [(2, yes), (3, yes), (5, yes), (7, yes)]
        );
    }

    /// RFC 2883 section 4: the duplicate, then the block that holds it.
    #[test]
    fn a_duplicate_out_of_order_is_reported_with_its_block() {
        let mut end = End::new(EcnEcho::None);
        end.data(0, ms(1), Ecn::NotEct, 0);
        end.data(2, ms(2), Ecn::NotEct, 0);
        end.data(3, ms(3), Ecn::NotEct, 0);
        end.data(5, ms(4), Ecn::NotEct, 0);
        let acks = end.data(2, ms(5), Ecn::NotEct, 0);
        // The fourth duplicate ACK is compressed: it comes with the timer.
        assert!(acks.is_empty());
        let at = end.receiver.deadline();
        end.receiver.on_timer(at, &mut end.wire);
        let last = end.wire.0[0];
        assert!(last.has(flags::DSACK));
        let blocks: Vec<_> = last
            .sack
            .iter()
            .map(|b| (last.seq + u64::from(b.offset), b.len))
            .collect();
        assert_eq!(blocks, [(2, 1), (2, 2), (5, 1)]);
    }

    /// Linux `tcp_event_data_recv`: after a silence longer than the timeout the
    /// sender may have restarted from a small window.
    #[test]
    fn a_long_silence_brings_quick_acks() {
        let mut end = End::new(EcnEcho::None);
        for i in 0..4 {
            end.data(i, ms(i), Ecn::NotEct, 0);
        }
        let counts: Vec<usize> = (0..18)
            .map(|i| end.data(4 + i, ms(300 + i), Ecn::NotEct, 0).len())
            .collect();
        assert_eq!(counts[..16], [1; 16]);
        assert_eq!(counts[16..], [0, 1]);
    }

    /// Linux `tcp_grow_window`: 16 quick ACKs and one for each segment by which
    /// a window of 32 MiB grows, (2^25 x 34 / 128 + 1448) / 2896 rounded up.
    #[test]
    fn every_segment_is_acknowledged_while_the_window_grows() {
        let mut end = End {
            receiver: Receiver::new(0, &TcpPlan::default(), EcnEcho::None),
            wire: Wire::default(),
        };
        let at_once = (0..)
            .take_while(|&i| end.data(i, Time::from_us(100 * i), Ecn::NotEct, 0).len() == 1)
            .count();
        assert_eq!(at_once, 3_079 + 16);
        let seq = at_once as u64 + 1;
        let now = Time::from_us(100 * seq);
        assert_eq!(end.data(seq, now, Ecn::NotEct, 0).len(), 1);
        assert!(end.data(seq + 1, now, Ecn::NotEct, 0).is_empty());
    }
}
