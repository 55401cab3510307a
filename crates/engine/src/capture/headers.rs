//! Headers for simulated packets.
//!
//! A simulated packet has a length and the fields that TCP needs, but no bytes. This module makes
//! up addresses and headers for each packet. A flow has the source address 10.1.G.1 and the
//! destination address 10.2.G.1. The distinct RTTs of the scenario are numbered, and G is the
//! number of the flow's RTT. At both ends, the flow has the port 5001 plus the flow's number.
//! Traffic sources are numbered after the flows. Programs are numbered after the sources, and their
//! packets are written as UDP. The simultaneous connections of the sources have the last numbers.
//! Some header fields have no equivalent in the simulator. Comments in this file state which values
//! are written for these fields.

use tailback_record::frame::{self, Envelope, Host, Options, Segment};

use crate::cc::{EcnNeed, ecn};
use crate::packet::{Packet, flags};
use crate::plan::{Algorithm, FlowPlan, Plan, ProgramPlan, TcpPlan, TrafficPlan};
use crate::tcp::accecn::{self, Counters};
use crate::tcp::ecn_echo::EcnEcho;
use crate::tcp::receiver::Receiver;
use crate::units::{Bytes, Time};

/// The port of the first flow. Later flows and other traffic have higher ports.
const FIRST_PORT: u32 = 5001;
/// How many ports are used per address.
const PORTS: u32 = 60_000;

/// Header values that are equal in all packets of a connection or of a stream of datagrams.
pub struct Conversation {
    sender: Host,
    receiver: Host,
    tcp: Option<Tcp>,
}

struct Tcp {
    /// Payload of a full segment without the AccECN option, in bytes.
    mss: u16,
    cut: u16,
    /// Total payload of a flow that has a limited size, in bytes. The value is `None` for a source,
    /// because its connections have different sizes. As a result, the ACK for the last segment of
    /// each such connection always covers a full segment in the capture.
    bytes: Option<u64>,
    /// Whether the receiver opens the connection ([`Receiver::connect`]) and the sender accepts it.
    accepts: bool,
    ecn: bool,
    timestamps: bool,
    /// The window field of a SYN. The next two fields are the window field of other segments and
    /// the window scale.
    syn_window: u16,
    window: u16,
    scale: u8,
}

/// Returns the conversation for each flow number ([`Packet::flow`]).
pub fn conversations(plan: &Plan) -> Vec<Conversation> {
    let flow = |f: &FlowPlan| (f.rtt, Some(Tcp::of(&f.tcp, &f.cc, f.bytes, f.ecn)));
    let source = |t: &TrafficPlan| {
        let tcp = t.connections.as_ref();
        let tcp = tcp.map(|c| Tcp::of(&c.tcp, &c.cc, None, c.ecn));
        let tcp = tcp.map(|tcp| Tcp {
            accepts: true,
            ..tcp
        });
        (t.rtt, tcp)
    };
    let flows: Vec<&FlowPlan> = plan.each_flow().map(|flow| flow.of).collect();
    let sources: Vec<&TrafficPlan> = plan.each_source().map(|source| source.of).collect();
    let programs: Vec<&ProgramPlan> = plan.each_program().map(|program| program.of).collect();
    let owners = plan.owners();
    let mut rtts: Vec<Time> = Vec::new();
    owners
        .iter()
        .map(|owner| *owner as usize)
        .map(|owner| match flows.get(owner) {
            Some(of) => flow(of),
            None => match sources.get(owner - flows.len()) {
                Some(of) => source(of),
                // The payloads of a transport stack have their own format. The capture does not
                // contain these payloads.
                None => (programs[owner - flows.len() - sources.len()].rtt, None),
            },
        })
        .zip(0..)
        .map(|((rtt, tcp), number)| {
            let known = rtts.iter().position(|r| *r == rtt);
            let group = known.unwrap_or_else(|| {
                rtts.push(rtt);
                rtts.len() - 1
            });
            Conversation {
                sender: host(1, group as u32, number),
                receiver: host(2, group as u32, number),
                tcp,
            }
        })
        .collect()
}

/// Returns the address of one end of a flow. A group above 255 changes the second byte of the
/// address. A flow number of [`PORTS`] or more changes the last byte.
fn host(side: u8, group: u32, number: u32) -> Host {
    let (net, subnet) = ((group >> 8) as u8, group as u8);
    let last = (number / PORTS) as u8 + 1;
    let ip = [10, side.wrapping_add(net.wrapping_mul(2)), subnet, last];
    Host {
        mac: [2, 0, ip[0], ip[1], ip[2], ip[3]],
        ip,
        port: (FIRST_PORT + number % PORTS) as u16,
    }
}

impl Conversation {
    /// Writes the headers of a packet. Returns how many payload bytes follow the headers.
    pub fn headers(&self, packet: &Packet, out: &mut Vec<u8>) -> u16 {
        let back = packet.has(flags::ACK);
        let (from, to) = if back {
            (self.receiver, self.sender)
        } else {
            (self.sender, self.receiver)
        };
        let mut envelope = Envelope {
            from,
            to,
            ecn: packet.ecn as u8,
            payload: packet.payload,
        };
        match &self.tcp {
            Some(tcp) => tcp.headers(packet, &envelope, out),
            None => {
                let headers = frame::ETHERNET + frame::IPV4 + frame::UDP;
                envelope.payload = packet.len.saturating_sub(headers as u16);
                frame::udp(&envelope, out);
            }
        }
        envelope.payload
    }
}

impl Tcp {
    fn of(plan: &TcpPlan, control: &Algorithm, bytes: Option<Bytes>, ecn: bool) -> Tcp {
        let need = ecn::need(control).unwrap_or(EcnNeed::Optional);
        let echo = EcnEcho::of(ecn, plan.ecn_feedback, need);
        let cut = accecn::of_sender(plan, echo);
        let rwnd = plan.rwnd.0;
        let scale = (0..14).find(|s| rwnd >> s <= 0xFFFF).unwrap_or(14);
        let field = |window: u64| u16::try_from(window).unwrap_or(u16::MAX);
        Tcp {
            mss: plan.mss,
            cut: cut.mss,
            bytes: bytes.map(|b| b.0),
            accepts: false,
            ecn,
            timestamps: plan.timestamps,
            syn_window: field(rwnd),
            window: field(rwnd >> scale),
            scale,
        }
    }

    fn headers(&self, packet: &Packet, envelope: &Envelope, out: &mut Vec<u8>) {
        // Write those options that fit into the frame length of the scenario. If bytes are left
        // after headers and payload, they become an Ethernet trailer.
        let fixed = frame::ETHERNET + frame::IPV4 + frame::TCP;
        // The length of a packet of joined segments (GSO) includes headers for each segment, but
        // the captured packet has only one set of headers.
        let headers = u32::from(packet.len - packet.payload) / packet.segments();
        let room = (headers as usize).saturating_sub(fixed);
        let mut options = Options::new(room);
        let (syn, back) = (packet.has(flags::SYN), packet.has(flags::ACK));
        // If the receiver opens the connection, the sender's SYN is a SYN-ACK.
        let reply = match (syn, self.accepts) {
            (true, false) => Some(back),
            (true, true) if !back => Some(true),
            (true, true) if Receiver::is_connect(packet) => Some(false),
            _ => None,
        };
        let segment = match reply {
            Some(reply) => self.syn(packet, reply, &mut options),
            None => self.segment(packet, &mut options),
        };
        let options = options.bytes();
        frame::tcp(envelope, &Segment { options, ..segment }, out);
    }

    fn syn(&self, packet: &Packet, reply: bool, options: &mut Options) -> Segment<'static> {
        options.mss(self.announced_mss());
        if !(self.timestamps && self.put_timestamps(packet, true, options)) {
            options.sack_permitted();
        }
        options.window_scale(self.scale);
        // Set the ECN flags of a SYN or SYN-ACK as in RFC 3168 section 6.1.1, or as AccECN does.
        let ecn = match (self.ecn, reply) {
            (true, _) if packet.flags & flags::ACE != 0 => ace(packet),
            (false, _) => 0,
            (true, false) => frame::flags::ECE | frame::flags::CWR,
            (true, true) => frame::flags::ECE,
        };
        Segment {
            seq: 0,
            ack: u32::from(reply),
            flags: frame::flags::SYN | ecn | if reply { frame::flags::ACK } else { 0 },
            window: self.syn_window,
            options: &[],
        }
    }

    fn segment(&self, packet: &Packet, options: &mut Options) -> Segment<'static> {
        if self.timestamps {
            self.put_timestamps(packet, false, options);
        }
        let back = packet.has(flags::ACK);
        if back {
            self.put_sack(packet, options);
            if let Some(counters) = Counters::of(packet) {
                options.accecn(&counters.on_the_wire());
            }
        } else if self.cut < self.mss {
            options.accecn(&Counters([Some(0); 3]).on_the_wire());
        }
        let bits = frame::flags::ACK | ace(packet);
        let at = self.at(packet.seq);
        Segment {
            // The receiver's SYN has the sequence number 0. So all later segments of the receiver
            // have the sequence number 1.
            seq: if back { 1 } else { at },
            ack: if back { at } else { 1 },
            flags: bits,
            window: self.window,
            options: &[],
        }
    }

    /// Returns the sequence number of the first byte of a segment.
    fn at(&self, segment: u64) -> u32 {
        let bytes = segment.wrapping_mul(u64::from(self.cut));
        let bytes = self.bytes.map_or(bytes, |all| bytes.min(all));
        bytes.wrapping_add(1) as u32
    }

    /// Writes timestamps in ms, which is the default of Linux. Data packets in the simulator do not
    /// echo a timestamp, so their TSecr is 0. ACKs in the simulator contain only the echo, so TSval
    /// gets the same value.
    fn put_timestamps(&self, packet: &Packet, syn: bool, options: &mut Options) -> bool {
        let value = (packet.sent.ns() / 1_000_000) as u32;
        let echo = if packet.has(flags::ACK) { value } else { 0 };
        options.timestamps(value, echo, syn)
    }

    fn put_sack(&self, packet: &Packet, options: &mut Options) {
        let mut blocks = [(0, 0); 3];
        let mut n = 0;
        let most = if packet.has(flags::ACCECN) { 2 } else { 3 };
        for sack in packet.sack[..most].iter().filter(|s| s.len > 0) {
            // A D-SACK block may be below the acknowledgement number. So the offset of a block has
            // a sign.
            let start = packet
                .seq
                .wrapping_add_signed(i64::from(sack.offset as i32));
            let end = start.wrapping_add(u64::from(sack.len));
            blocks[n] = (self.at(start), self.at(end));
            n += 1;
        }
        options.sack(&blocks[..n]);
    }

    /// Returns the announced MSS, which is the payload plus the bytes of the timestamp option (RFC
    /// 6691).
    fn announced_mss(&self) -> u16 {
        self.mss + if self.timestamps { 12 } else { 0 }
    }
}

/// Returns the three flags of the TCP header that ECN uses. With AccECN, these flags are the ACE
/// field.
fn ace(packet: &Packet) -> u16 {
    [
        (flags::ECE, frame::flags::ECE),
        (flags::CWR, frame::flags::CWR),
        (flags::AE, frame::flags::AE),
    ]
    .into_iter()
    .filter(|(ours, _)| packet.has(*ours))
    .fold(0, |bits, (_, theirs)| bits | theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_packet_has_a_conversation() {
        let plan = Plan {
            flows: vec![FlowPlan::default()],
            traffic: vec![TrafficPlan::default()],
            programs: vec![ProgramPlan {
                count: 2,
                rtt: Time::from_ms(20),
                ..ProgramPlan::default()
            }],
            ..Plan::default()
        };
        let all = conversations(&plan);
        assert_eq!(all.len(), plan.owners().len());
        let program = all.last().expect("a program");
        let mut packet = Packet::new(3, 1200, crate::packet::Ecn::Ect0);
        packet.flags = flags::DATAGRAM;
        let mut frame = Vec::new();
        assert_eq!(program.headers(&packet, &mut frame), 1200 - 42);
        // The frame has Ethernet, IPv4 and UDP headers, and goes from the sender to the receiver.
        assert_eq!((frame.len(), frame[23]), (42, 17));
        assert_eq!((frame[27], frame[31]), (1, 2));
    }
}
