//! The host under test: the simulator's sender and receiver. This module translates between the
//! byte ranges in a script and the simulator's segments.
//!
//! For outgoing data, a retransmitted segment has the same payload as the original segment.
//!
//! For incoming data, the stream is split into segments wherever a packet of the script begins or
//! ends. A packet therefore usually arrives as one segment. If other packets overlap a packet, it
//! arrives as several segments at the same instant. Of the ACKs for these segments, only the last
//! is used.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tailback_engine::cc::{self, EcnNeed};
use tailback_engine::packet::{Ecn, Packet, Sack, flags};
use tailback_engine::plan::{AccEcnOption, EcnFeedback, Pacing, TcpPlan};
use tailback_engine::registry::{complete_defaults, find};
use tailback_engine::tcp::Port;
use tailback_engine::tcp::accecn::{self, Counters};
use tailback_engine::tcp::ecn_echo::EcnEcho;
use tailback_engine::tcp::receiver::Receiver;
use tailback_engine::tcp::sender::Sender;
use tailback_engine::units::{Bytes, Time};

use crate::check::Values;
use crate::ecn::{Agreed, Much, codepoint, on_the_wire};
use crate::script::{Segment, TcpOption};
use crate::setup::Setup;
use crate::verdict::{Beyond, Category};

/// Maximum segment size that the host announces. packetdrill's MTU is 1500 bytes.
const OUR_MSS: u32 = 1460;
/// Maximum segment size if an endpoint does not announce one (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;
/// Bytes of the timestamp option in each segment.
const TIMESTAMPS_LEN: u32 = 12;
/// Length, in bytes, of the AccECN option in each segment, if all segments have this option.
const ACCECN_LEN: u32 = 12;

#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// Time at which the packet was sent.
    pub at: Time,
    /// Sequence number of the first byte of the payload. The field `end` is the sequence number
    /// after the last byte.
    pub start: u32,
    pub end: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// SACK blocks, in bytes.
    pub sack: Vec<(u32, u32)>,
    /// The send time of the packet whose timestamp this packet echoes.
    pub echo: Time,
    pub syn: bool,
    pub ece: bool,
    pub cwr: bool,
    pub ecn: Ecn,
    /// The ACE field, if the ECN flags encode an ACE field.
    pub ace: Option<u32>,
    /// Counters of the AccECN option, in the order on the wire.
    pub accecn: Option<[Option<u32>; 3]>,
    /// Whether this packet is compared with the script's expectation. The field is false for
    /// packets of the handshake that this crate sends instead of the simulator.
    pub judged: bool,
}

#[derive(Default)]
struct Wire(Vec<Packet>);

impl Port for Wire {
    fn send(&mut self, packet: Packet) {
        self.0.push(packet);
    }
}

/// One connection of the host.
pub(crate) struct Host {
    sender: Sender,
    receiver: Receiver,
    /// Sent packets that have not been compared with an expected packet of the script yet.
    pub out: VecDeque<Sent>,
    /// The start of each sent segment. The last entry is the start of the next segment to send.
    begins: Vec<u32>,
    /// The stream positions, in bytes, at which the script's incoming packets begin or end.
    edges: Vec<u32>,
    arrived: BTreeSet<usize>,
    /// Maps the timestamp values of this host in the script to send times in the simulator.
    stamps: BTreeMap<u32, Time>,
    mss: u32,
    /// Whether both ends support SACK.
    sack: bool,
    /// Whether both ends send timestamps.
    pub timestamps: bool,
    /// Window scale of the other end, in bits.
    scale: u32,
    /// Receive window of the other end, in bytes.
    window: u64,
    /// Time at which this host sent its SYN or SYN-ACK.
    syn_at: Time,
    /// Whether the simulator decides the ECN flags of the handshake. The simulator decides the
    /// flags if this end requests Accurate ECN. The simulator also decides the flags if this end
    /// accepts a request for Accurate ECN or RFC 3168.
    pub negotiates: bool,
    /// Whether both ends agreed on Accurate ECN.
    pub accurate: bool,
    /// The last timestamp received from the other end.
    ts_recent: Option<u32>,
}

impl Host {
    /// Makes a host in the state before the handshake. `syn` is the SYN or SYN-ACK of the other
    /// end. `inbound` contains all packets that the script will send.
    pub fn new<'a>(
        setup: &Setup,
        syn: &Segment,
        agreed: Agreed,
        inbound: impl Iterator<Item = &'a Segment>,
    ) -> Result<Host, Beyond> {
        let option = |test: fn(&TcpOption) -> Option<u32>| syn.options().iter().find_map(test);
        let timestamps = setup.timestamps && syn.timestamps().is_some();
        let offered = option(|o| match o {
            TcpOption::Mss(mss) => Some(*mss),
            _ => None,
        });
        let scale = option(|o| match o {
            TcpOption::WindowScale(bits) => Some(*bits),
            _ => None,
        });
        let sack = syn.options().contains(&TcpOption::SackPermitted);
        let accurate = agreed.ecn == Much::Accurate;
        let inbound: Vec<&Segment> = inbound.collect();
        // If every full segment has the AccECN option, the payload of the segment is shorter by the
        // option's length.
        let option = accurate && matches!(setup.option, AccEcnOption::Full | AccEcnOption::Persist);
        let opens = |p: &&Segment| p.accecn().is_some();
        let heard = opens(&syn) || inbound.first().is_some_and(opens);
        let header = if timestamps { TIMESTAMPS_LEN } else { 0 };
        let header = header + if option && heard { ACCECN_LEN } else { 0 };
        let mss = (offered.unwrap_or(DEFAULT_MSS).clamp(64, OUR_MSS)) - header;
        let plan = TcpPlan {
            mss: mss as u16,
            timestamps,
            rwnd: Bytes(1 << 30),
            // As a client, the simulator's sender requests ECN and reads the result from the
            // SYN-ACK.
            ecn_feedback: match agreed.ours {
                Much::Accurate if agreed.negotiates => EcnFeedback::AccEcn,
                _ => agreed.feedback(),
            },
            accecn_option: setup.option,
            pacing: if setup.paced {
                Pacing::FqGso
            } else {
                Pacing::Auto
            },
            ..TcpPlan::default()
        };
        let Some(entry) = find(cc::ENTRIES, &setup.cc) else {
            return Err((
                Category::Command,
                format!("congestion control {}", setup.cc),
            ));
        };
        let control = (entry.build)(&complete_defaults(entry));
        let ecn = agreed.ecn != Much::None;
        let asks = ecn || agreed.ours == Much::Accurate && agreed.negotiates;
        let mut sender = Sender::new(0, &plan, control, asks, Some(0));
        sender.expect_writes();
        sender.idle_restart = setup.idle_restart;
        sender.ecn_fallback = setup.fallback;
        let echo = EcnEcho::of(ecn, agreed.feedback(), EcnNeed::Optional);
        let mut receiver = Receiver::new(0, &plan, echo);
        receiver.hears_option(syn.accecn().is_some());
        let mut edges: BTreeSet<u32> = inbound
            .into_iter()
            .filter(|p| !p.is_empty())
            .flat_map(|p| [p.start, p.end])
            .collect();
        edges.insert(1);
        Ok(Host {
            sender,
            receiver,
            out: VecDeque::new(),
            begins: vec![1],
            edges: edges.into_iter().collect(),
            arrived: BTreeSet::new(),
            stamps: BTreeMap::new(),
            mss,
            sack: sack && setup.sack,
            timestamps,
            scale: scale.unwrap_or(0).min(14),
            window: u64::from(syn.win.unwrap_or(0)),
            syn_at: Time::ZERO,
            negotiates: agreed.negotiates,
            accurate,
            ts_recent: None,
        })
    }

    /// Sends a SYN.
    pub fn connect(&mut self, now: Time) {
        self.syn_at = now;
        self.with_sender(now, |s, wire| s.start(now, wire));
    }

    /// Handles the SYN of the other end.
    pub fn accept(&mut self, syn: &Segment, now: Time) {
        self.syn_at = now;
        self.note_timestamp(syn);
        let mut asked = Packet::new(0, 74, codepoint(syn));
        asked.flags = flags::SYN | accecn::flags_of(syn.ace());
        let mut wire = Wire::default();
        self.receiver.on_packet(&asked, now, &mut wire);
        let answer = wire.0.first().map_or(0, |answer| answer.flags);
        let judged = self.negotiates;
        self.push(now, 0, |sent| {
            sent.syn = true;
            sent.ace = judged.then_some(accecn::ace(answer));
            sent.judged = judged;
        });
    }

    /// Handles the SYN-ACK of the other end.
    pub fn connected(&mut self, syn_ack: &Segment, now: Time) {
        self.note_timestamp(syn_ack);
        self.apply_window();
        self.receiver.establish(now - self.syn_at);
        let mut answer = Packet::new(0, 74, codepoint(syn_ack));
        answer.flags = flags::SYN | flags::ACK | accecn::flags_of(syn_ack.ace());
        answer.sent = self.syn_at;
        self.hear_option(syn_ack);
        if self.accurate {
            let third = self.receiver.third_ack(answer.ecn, now);
            self.push(now, 1, |sent| {
                sent.ace = Some(accecn::ace(third.flags));
                sent.accecn = on_the_wire(&third);
                sent.ecn = third.ecn;
                sent.echo = third.sent;
            });
        } else {
            self.push(now, 1, |sent| sent.judged = false);
        }
        self.with_sender(now, |s, wire| s.on_syn_ack(&answer, now, wire));
    }

    /// Handles the ACK of this host's SYN-ACK. The ACK of the SYN-ACK may contain data.
    pub fn established(&mut self, packet: &Segment, now: Time) -> Result<(), Beyond> {
        let rtt = now - self.syn_at;
        self.note_timestamp(packet);
        self.receiver.establish(rtt);
        self.hear_option(packet);
        if self.accurate {
            let mut third = Packet::new(0, 66, codepoint(packet));
            third.flags = flags::ACK | accecn::flags_of(packet.ace());
            third.payload = packet.len().min(1) as u16;
            self.sender.grant_accurate(&third);
            if packet.is_empty() {
                self.receiver.note_ecn_field(third.ecn);
            }
        }
        self.sender.establish(now, rtt);
        self.window = u64::from(packet.win.unwrap_or(0)) << self.scale;
        self.apply_window();
        if packet.is_empty() {
            return Ok(());
        }
        self.take_data(packet, now)
    }

    /// Adds a packet of the handshake. This crate, not the simulator, sends packets of the
    /// handshake.
    fn push(&mut self, at: Time, seq: u32, set: impl FnOnce(&mut Sent)) {
        let mut sent = Sent {
            at,
            start: seq,
            end: seq,
            ack: 1,
            sack: Vec::new(),
            echo: Time::ZERO,
            syn: false,
            ece: false,
            cwr: false,
            ecn: Ecn::NotEct,
            ace: None,
            accecn: None,
            judged: true,
        };
        set(&mut sent);
        self.out.push_back(sent);
    }

    fn with_sender(&mut self, now: Time, act: impl FnOnce(&mut Sender, &mut Wire)) {
        let mut wire = Wire::default();
        act(&mut self.sender, &mut wire);
        for mut packet in wire.0 {
            // With Accurate ECN, data packets also contain counters of the packets that this end
            // has received.
            if !packet.has(flags::SYN) && self.accurate {
                self.receiver.accompany(&mut packet, now);
            }
            self.absorb(&packet, now);
        }
    }

    /// Tells the receiver that the other end supports the AccECN option, if the packet contains the
    /// option.
    fn hear_option(&mut self, packet: &Segment) {
        if packet.accecn().is_some() {
            self.receiver.hears_option(true);
        }
    }

    fn absorb(&mut self, packet: &Packet, now: Time) {
        let begin = |unit: u64| self.edges.get(unit as usize).copied().unwrap_or(u32::MAX);
        let mut sent = Sent {
            at: now,
            start: 0,
            end: 0,
            ack: begin(self.receiver.rcv_nxt),
            sack: Vec::new(),
            echo: Time::ZERO,
            syn: packet.has(flags::SYN),
            ece: packet.has(flags::ECE),
            cwr: packet.has(flags::CWR),
            ecn: packet.ecn,
            ace: (self.accurate || self.negotiates && packet.has(flags::SYN))
                .then(|| accecn::ace(packet.flags)),
            accecn: on_the_wire(packet),
            // The script decides the time of the first SYN. The simulator decides the flags of the
            // first SYN, and the time and flags of later SYNs.
            judged: self.negotiates || !(packet.has(flags::SYN) && now == self.syn_at),
        };
        if packet.has(flags::ACK) {
            sent.ack = begin(packet.seq);
            sent.echo = packet.sent;
            if self.sack {
                let most = if packet.has(flags::ACCECN) { 2 } else { 3 };
                sent.sack = packet.sack[..most]
                    .iter()
                    .filter(|b| b.len > 0)
                    .map(|b| {
                        let from = packet.seq.wrapping_add_signed(i64::from(b.offset as i32));
                        (begin(from), begin(from + u64::from(b.len)))
                    })
                    .collect();
            }
            let next = self.begins.last().copied().unwrap_or(1);
            (sent.start, sent.end) = (next, next);
        } else if !sent.syn {
            let at = packet.seq as usize;
            if at + 1 == self.begins.len() {
                let end = self.begins[at] + u32::from(packet.payload);
                self.begins.push(end);
            }
            (sent.start, sent.end) = (self.begins[at], self.begins[at + 1]);
        }
        self.out.push_back(sent);
    }

    /// Returns when the next timer is due.
    pub fn deadline(&self) -> Time {
        self.sender.deadline().min(self.receiver.deadline())
    }

    /// Runs the timers that are due at `now`.
    pub fn on_timer(&mut self, now: Time) {
        if self.sender.deadline() <= now {
            self.with_sender(now, |s, wire| s.on_timer(now, wire));
        }
        if self.receiver.deadline() <= now {
            let mut wire = Wire::default();
            self.receiver.on_timer(now, &mut wire);
            for packet in wire.0 {
                self.absorb(&packet, now);
            }
        }
    }

    /// Writes data for the application. If `nodelay` is true, the application has turned off
    /// Nagle's algorithm.
    pub fn write(&mut self, bytes: u64, nodelay: bool, now: Time) -> Result<(), Beyond> {
        if !nodelay {
            self.check_nagle(bytes)?;
        }
        self.with_sender(now, |s, wire| s.write(bytes, now, wire));
        self.check_window()
    }

    /// Rejects a write if Linux's variant of Nagle's algorithm (Minshall) would delay the last,
    /// partial segment of the write. Linux delays a partial segment while another partial segment
    /// is in flight.
    fn check_nagle(&self, bytes: u64) -> Result<(), Beyond> {
        let rest = self.sender.unsent().unwrap_or(0) + bytes;
        let first = self.sender.flight().una as usize;
        let mut lens = self.begins[first..].windows(2).map(|w| w[1] - w[0]);
        if !rest.is_multiple_of(u64::from(self.mss)) && lens.any(|len| len < self.mss) {
            return Err((
                Category::Nagle,
                "Nagle's algorithm delays a short segment".to_owned(),
            ));
        }
        Ok(())
    }

    fn check_window(&self) -> Result<(), Beyond> {
        if self.window < u64::from(self.mss) && self.sender.unsent() > Some(0) {
            let why = "data waits because the receive window is closed";
            return Err((Category::Window, why.to_owned()));
        }
        Ok(())
    }

    fn apply_window(&mut self) {
        self.sender.set_rwnd(self.window / u64::from(self.mss));
    }

    /// Updates the window according to Linux's `tcp_ack_update_window`. If a packet has a smaller
    /// window and acknowledges no new data, Linux assumes that the packet is old and keeps the
    /// window.
    fn take_window(&mut self, packet: &Segment, advanced: bool) {
        let told = u64::from(packet.win.unwrap_or(0)) << self.scale;
        if advanced || told > self.window {
            self.window = told;
        }
        self.apply_window();
    }

    fn note_timestamp(&mut self, packet: &Segment) {
        if let (true, Some((value, _))) = (self.timestamps, packet.timestamps()) {
            let unit = self.edges.partition_point(|e| *e < packet.start);
            self.ts_recent = self.ts_recent.max(Some(value));
            self.receiver
                .note_timestamp(unit as u64, Time::from_ms(u64::from(value)));
        }
    }

    /// Records the timestamp value that the script uses for a packet sent at `at`.
    pub fn name_stamp(&mut self, name: u32, at: Time) {
        self.stamps.insert(name, at);
    }

    /// Handles a packet of the open connection.
    pub fn receive(&mut self, packet: &Segment, now: Time) -> Result<(), Beyond> {
        self.hear_option(packet);
        self.take_ack(packet, now)?;
        if packet.is_empty() {
            self.receiver.note_ecn_field(codepoint(packet));
            self.note_timestamp(packet);
        } else {
            self.take_data(packet, now)?;
        }
        self.check_window()
    }

    fn segment_at(&self, byte: u32) -> Result<u64, Beyond> {
        self.begins
            .binary_search(&byte)
            .map(|n| n as u64)
            .map_err(|_| {
                let why = format!("no segment of the simulator begins at byte {byte}");
                (Category::PartOfSegment, why)
            })
    }

    fn take_ack(&mut self, packet: &Segment, now: Time) -> Result<(), Beyond> {
        let Some(ack) = packet.ack else {
            return Ok(());
        };
        let (una, next) = (
            self.begins[self.sender.flight().una as usize],
            self.begins.last().copied().unwrap_or(1),
        );
        if ack > next || una.saturating_sub(ack) as u64 > self.window.max(1) {
            let why = "an ACK number outside the acceptable range";
            return Err((Category::Challenge, why.to_owned()));
        }
        let old_window = self.window;
        self.take_window(packet, ack > una);
        // A packet with data is not a duplicate ACK, even if it acknowledges no new data.
        if !packet.is_empty() && ack <= una {
            if self.window != old_window {
                self.with_sender(now, |s, wire| s.write(0, now, wire));
            }
            return Ok(());
        }
        if self.window != old_window && ack == una && packet.sack().is_empty() {
            // The packet may have increased the receive window, so let the sender send more data.
            self.with_sender(now, |s, wire| s.write(0, now, wire));
            return Ok(());
        }
        if !self.sack && ack == una && next > una {
            let why = "duplicate ACKs without SACK";
            return Err((Category::NoSack, why.to_owned()));
        }
        let mut told = Packet::new(0, 66, Ecn::NotEct);
        told.flags = flags::ACK;
        told.seq = self.segment_at(ack)?;
        if self.accurate {
            told.flags |= accecn::flags_of(packet.ace());
            let stamp = packet.timestamps().map(|(value, _)| value);
            if self.timestamps && stamp > self.ts_recent {
                told.flags |= flags::NEWER;
            }
        } else if packet.has('E') {
            told.flags |= flags::ECE;
        }
        if let (true, Some((_, echo))) = (self.timestamps, packet.timestamps()) {
            told.sent = match self.stamps.get(&echo) {
                Some(at) => *at,
                None => Time::from_ms(u64::from(echo)),
            };
        }
        let blocks = packet.sack();
        for (slot, &(from, to)) in told.sack.iter_mut().zip(blocks) {
            let (from, to) = (self.segment_at(from)?, self.segment_at(to)?);
            *slot = Sack {
                offset: from.wrapping_sub(told.seq) as u32,
                len: (to - from) as u32,
            };
        }
        if let (true, Some(counters)) = (self.accurate, packet.accecn()) {
            if blocks.len() > 2 {
                let why = "an ACK has three SACK blocks and the AccECN option";
                return Err((Category::PartOfSegment, why.to_owned()));
            }
            Counters::from_the_wire(counters).put(&mut told);
        }
        // The first block is a D-SACK (RFC 2883 section 4).
        if let Some(&(from, to)) = blocks.first() {
            let inside = |b: &(u32, u32)| b.0 <= from && to <= b.1;
            if to <= ack || blocks.get(1).is_some_and(inside) {
                told.flags |= flags::DSACK;
            }
        }
        self.with_sender(now, |s, wire| s.on_ack(&told, now, wire));
        Ok(())
    }

    fn take_data(&mut self, packet: &Segment, now: Time) -> Result<(), Beyond> {
        let unit = |byte: u32| self.edges.partition_point(|e| *e < byte);
        let units = unit(packet.start)..unit(packet.end);
        let known = units.clone().filter(|u| self.arrived.contains(u)).count();
        if known > 0 && known < units.len() {
            let why = "some segments of a packet have already arrived";
            return Err((Category::PartOfSegment, why.to_owned()));
        }
        let mut wire = Wire::default();
        for unit in units {
            self.arrived.insert(unit);
            let mut data = Packet::new(0, 1514, codepoint(packet));
            data.seq = unit as u64;
            let edge = |unit: usize| self.edges.get(unit).copied().unwrap_or(packet.end);
            data.payload = (edge(unit + 1) - edge(unit)) as u16;
            data.sent = match packet.timestamps() {
                Some((value, _)) if self.timestamps => Time::from_ms(u64::from(value)),
                _ => Time::ZERO,
            };
            if packet.has('W') {
                data.flags |= flags::CWR;
            }
            self.receiver.on_packet(&data, now, &mut wire);
        }
        if let Some(last) = wire.0.last() {
            self.absorb(&last.clone(), now);
        }
        Ok(())
    }

    /// Returns the fields of `tcp_info` and the constants that assertions may contain.
    pub fn values(&self) -> Values {
        let (info, conn, window) = (self.sender.info(), &self.sender.conn, &self.sender.window);
        let us = |t: Time| (t.ns() / 1000) as i64;
        let told = [
            ("TCP_CA_Open", 0),
            ("TCP_CA_Disorder", 1),
            ("TCP_CA_CWR", 2),
            ("TCP_CA_Recovery", 3),
            ("TCP_CA_Loss", 4),
            ("tcpi_ca_state", conn.ca_state as i64),
            ("tcpi_snd_cwnd", i64::from(window.cwnd)),
            ("tcpi_snd_ssthresh", i64::from(window.ssthresh)),
            ("tcpi_snd_mss", i64::from(self.mss)),
            ("tcpi_unacked", i64::from(info.unacked)),
            ("tcpi_sacked", i64::from(info.sacked)),
            ("tcpi_lost", i64::from(info.lost)),
            ("tcpi_retrans", i64::from(info.retrans)),
            ("tcpi_total_retrans", info.total_retrans as i64),
            ("tcpi_retransmits", i64::from(info.retransmits)),
            ("tcpi_backoff", i64::from(info.backoff)),
            ("tcpi_reordering", i64::from(info.reordering)),
            ("tcpi_rto", us(info.rto)),
            ("tcpi_delivered", conn.delivered as i64),
            ("tcpi_delivered_ce", conn.delivered_ce as i64),
        ];
        let bytes = (self.sender.told_bytes().into_iter()).flat_map(|[e1, ce, e0]| {
            [
                ("tcpi_delivered_e1_bytes", i64::from(e1)),
                ("tcpi_delivered_ce_bytes", i64::from(ce)),
                ("tcpi_delivered_e0_bytes", i64::from(e0)),
            ]
        });
        let srtt = self.sender.srtt().map(|t| ("tcpi_rtt", us(t)));
        let min = (conn.min_rtt < Time::NEVER).then(|| ("tcpi_min_rtt", us(conn.min_rtt)));
        told.into_iter()
            .chain(bytes)
            .chain(srtt)
            .chain(min)
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
