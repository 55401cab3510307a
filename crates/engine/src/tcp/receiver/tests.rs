//! Tests the receiver by sending it single packets.

use super::*;
use crate::cc::EcnNeed;
use crate::plan::{AccEcnOption, AccEcnReceiver, EcnFeedback, ReceiveBuffer};

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

    fn data(&mut self, seq: u64, at: Time, ecn: Ecn, set: u16) -> Vec<Packet> {
        let mut packet = Packet::new(0, 1514, ecn);
        packet.seq = seq;
        packet.sent = at;
        packet.flags = set;
        self.receiver.on_packet(&packet, at, &mut self.wire);
        std::mem::take(&mut self.wire.0)
    }
}

/// Sends `per_rtt` segments in each RTT of 100 ms. Returns how many of these segments the receiver
/// acknowledges singly before it delays an ACK for the first time.
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

/// If an application reads little data, the auto-tuned buffer stays large enough and the window
/// does not grow. With a fixed buffer, the window grows for thousands of segments.
#[test]
fn a_window_that_does_not_grow_lets_acks_be_delayed() {
    assert_eq!(acknowledged_singly(ReceiveBuffer::Auto, 5), 16);
    assert_eq!(acknowledged_singly(ReceiveBuffer::Fixed, 5), 3_094);
}

/// With every kind of echo, a segment with CWR is acknowledged at once (Linux
/// `tcp_ecn_accept_cwr`).
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

/// RFC 8257 section 3.2: when CE starts or ends, an ACK with the old state acknowledges the delayed
/// packets. Another ACK with the new state is sent at once.
#[test]
fn a_change_of_ce_is_told_by_two_acks() {
    let mut end = End::new(EcnEcho::PerPacket);
    assert!(end.data(0, ms(1), Ecn::Ect0, 0).is_empty());
    let acks = end.data(1, ms(2), Ecn::Ce, 0);
    let told: Vec<_> = acks.iter().map(|a| (a.seq, a.has(flags::ECE))).collect();
    assert_eq!(told, [(1, false), (2, true)]);
}

/// With Accurate ECN, DCTCP's receiver also sends two ACKs when CE starts or ends (Linux
/// `dctcp_ece_ack_update`). In the first ACK, the CE counter already includes the new mark. Other
/// receivers with Accurate ECN send only the second ACK. With Accurate ECN, ECE is a bit of the CE
/// counter, not an echo.
#[test]
fn with_accurate_ecn_a_change_of_ce_is_told_by_two_acks_to_dctcp_only() {
    use crate::cc::CeEcho;
    use crate::tcp::accecn::ace;
    let told = |need| {
        let mut end = End::new(EcnEcho::of(true, EcnFeedback::AccEcn, need));
        let mut acks = Vec::new();
        for (seq, ecn) in (0..).zip([ECT, ECT, Ecn::Ce, Ecn::Ce, Ecn::Ce, ECT]) {
            acks.extend(end.data(seq, ms(seq + 1), ecn, 0));
        }
        let seen = acks.iter().map(|a| (a.seq, ace(a.flags)));
        seen.collect::<Vec<_>>()
    };
    let dctcp = told(EcnNeed::Dctcp(CeEcho::Precise));
    let others = told(EcnNeed::Optional);
    // The CE counter begins at 5 and has three bits, so it wraps to 0 after 7.
    assert_eq!(dctcp, [(1, 5), (2, 6), (3, 6), (5, 0), (6, 0)]);
    assert_eq!(others, [(1, 5), (3, 6), (5, 0), (6, 0)]);
}

/// Sends these packets 1 ms apart. Returns the ACKs that follow each packet, as (acknowledged, ECE,
/// ESCE).
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

/// An ACK never covers both SCE-marked and unmarked packets. The first packet after a change of the
/// marking is acknowledged at once.
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
    // With `SplitDelayed`, the first packet after a change counts as acknowledged, so the next ACK
    // follows two packets later. The ACK for the packets before the change does not stop the
    // delayed-ACK timer.
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
    // If no ACK is being delayed, a change of the marking does not cause an extra ACK.
    let packets = [ECT, ECT, SCE, SCE, ECT, ECT];
    let told = echoes(EcnEcho::Sticky, SceEcho::Split, &packets);
    let acks: Vec<_> = told.into_iter().flatten().collect();
    assert_eq!(acks, [(2, no, no), (4, no, yes), (6, no, no)]);
}

/// The first ACK after an SCE-marked packet carries ESCE, and the second ACK does not.
#[test]
fn pending_esce_is_sent_once() {
    let mut end = End::new(EcnEcho::Sticky);
    end.receiver.echo_sce(SceEcho::Split);
    end.data(0, ms(1), SCE, 0);
    end.data(1, ms(2), SCE, 0);
    // A duplicate is acknowledged at once, and has no effect on the echo of SCE.
    let acks = end.data(0, ms(3), Ecn::NotEct, flags::RETRANSMIT);
    assert_eq!((acks.len(), acks[0].has(flags::ESCE)), (1, false));
}

/// CE is echoed as in RFC 3168, whether or not ACKs carry ESCE. If a CE mark arrives among SCE
/// marks, the sequence of SCE marks continues.
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
            // The ACK of the first packet with CE is sent at once, and so is the ACK of the next
            // packet.
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

/// Sends packets to each of the three kinds of DCTCP receivers. The packets are first CE-marked,
/// then SCE-marked, then unmarked.
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
    // The receiver echoes CE until the first unmarked packet.
    assert_eq!(
        marked(CeEcho::SceHoldsCe),
        [(1, no), (2, yes), (4, yes), (5, no), (7, no)]
    );
    // When CE begins or ends, an ACK acknowledges the delayed packets. This ACK covers packets up
    // to the last packet that has set the CE state. An SCE-marked packet does not set the CE state,
    // so it is acknowledged like a packet without CE.
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

/// RFC 2883 section 4: the first block of the ACK reports the duplicate segment. The next block is
/// the SACK block that contains this segment.
#[test]
fn a_duplicate_out_of_order_is_reported_with_its_block() {
    let mut end = End::new(EcnEcho::None);
    end.data(0, ms(1), Ecn::NotEct, 0);
    end.data(2, ms(2), Ecn::NotEct, 0);
    end.data(3, ms(3), Ecn::NotEct, 0);
    end.data(5, ms(4), Ecn::NotEct, 0);
    let acks = end.data(2, ms(5), Ecn::NotEct, 0);
    // The fourth duplicate ACK is compressed, so it waits for the timer.
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

/// Linux `tcp_sack_compress_send_ack`: if the compressed ACK already has two blocks to report, it
/// is sent before a third block begins. So every block is reported (RFC 2018 section 4).
#[test]
fn a_pending_ack_is_sent_before_its_blocks_are_displaced() {
    let mut end = End::new(EcnEcho::None);
    end.data(0, ms(1), Ecn::NotEct, 0);
    let mut blocks = Vec::new();
    let mut last = Vec::new();
    // Four segments arrive every 100 us, and every second sequence number is missing.
    for i in 1..40_u64 {
        let acks = end.data(2 * i, Time::from_us(1_100 + 25 * i), Ecn::NotEct, 0);
        for ack in &acks {
            let of = |b: &crate::packet::Sack| ack.seq + u64::from(b.offset);
            last = ack.sack.iter().filter(|b| b.len > 0).map(of).collect();
            blocks.extend(last.iter().copied());
        }
    }
    for block in (2..76).step_by(2) {
        assert!(blocks.contains(&block), "{block} is reported");
    }
    assert_eq!(
        last,
        [76, 74, 72],
        "each arrival sends what the one before left"
    );
    // A segment next to one of the two newest blocks only extends this block. All blocks still fit
    // into the compressed ACK, so it may wait.
    assert!(end.data(79, ms(3), Ecn::NotEct, 0).is_empty());
}

/// Linux `tcp_sack_new_ofo_skb` keeps the four newest blocks. A segment next to a discarded block
/// begins a new block, and adjoining blocks are merged.
#[test]
fn a_forgotten_block_begins_anew() {
    let mut sack = SackBlocks::default();
    for start in [10, 20, 30, 40, 50] {
        sack.put(start, start + 1);
    }
    let shown = |sack: &SackBlocks| {
        let mut sack = sack.clone();
        let mut ack = Packet::new(0, 66, Ecn::NotEct);
        sack.fill(&mut ack);
        ack.sack.map(|b| (b.offset, b.offset + b.len))
    };
    assert_eq!(shown(&sack), [(50, 51), (40, 41), (30, 31)]);
    sack.put(11, 12);
    assert_eq!(shown(&sack), [(11, 12), (50, 51), (40, 41)]);
    sack.put(41, 42);
    assert_eq!(shown(&sack), [(40, 42), (11, 12), (50, 51)]);
    for seq in 42..50 {
        sack.put(seq, seq + 1);
    }
    assert_eq!(shown(&sack), [(40, 51), (11, 12), (30, 31)]);
}

/// Linux `tcp_event_data_recv`: after a pause longer than the timeout, the receiver sends quick
/// ACKs again. The sender may have restarted with a small window.
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

/// Linux `tcp_grow_window`: the receiver sends 16 quick ACKs, and one more for each segment that
/// increases the window of a 64 MiB buffer. The number of such segments is
/// `2^25 x 34 / 128 / 2896`, rounded up (`growing_segments`).
#[test]
fn every_segment_is_acknowledged_while_the_window_grows() {
    let mut end = End {
        receiver: Receiver::new(0, &TcpPlan::default(), EcnEcho::None),
        wire: Wire::default(),
    };
    let at_once = (0..)
        .take_while(|&i| end.data(i, Time::from_us(100 * i), Ecn::NotEct, 0).len() == 1)
        .count();
    assert_eq!(at_once, 3_078 + 16);
    let seq = at_once as u64 + 1;
    let now = Time::from_us(100 * seq);
    assert_eq!(end.data(seq, now, Ecn::NotEct, 0).len(), 1);
    assert!(end.data(seq + 1, now, Ecn::NotEct, 0).is_empty());
}

/// Linux `tcp_send_ack_compressed`: a compressed ACK is delayed by a third of 1.25 RTT, but by at
/// most 1 ms. If the RTT is unknown, the delay is 1 ms.
#[test]
fn a_compressed_ack_waits_for_a_share_of_the_round_trip() {
    let waits = |rtt: Time| {
        let mut end = End::new(EcnEcho::None);
        end.receiver.establish(rtt);
        end.data(0, ms(1), Ecn::NotEct, 0);
        // Three duplicate ACKs are sent at once. The fourth duplicate ACK waits. The segment that
        // causes it adjoins the newest block.
        for seq in 2..5 {
            assert_eq!(end.data(seq, ms(2), Ecn::NotEct, 0).len(), 1);
        }
        assert!(end.data(5, ms(2), Ecn::NotEct, 0).is_empty());
        end.receiver.deadline() - ms(2)
    };
    assert_eq!(waits(Time::from_us(1_200)), Time::from_us(500));
    assert_eq!(waits(ms(100)), ms(1));
    assert_eq!(waits(Time::ZERO), ms(1));
}

/// Linux `tcp_send_delayed_ack`: further segments do not postpone a delayed ACK. If the delayed ACK
/// is due soon, it is sent at once.
#[test]
fn a_delayed_ack_is_not_postponed() {
    let mut end = End::new(EcnEcho::None);
    end.receiver.ack_every = 8;
    assert!(end.data(0, ms(1), Ecn::NotEct, 0).is_empty());
    assert_eq!(end.receiver.deadline(), ms(41));
    assert!(end.data(1, ms(2), Ecn::NotEct, 0).is_empty());
    assert_eq!(end.receiver.deadline(), ms(41));
    // The delayed ACK is due in 10 ms. This time is a quarter of the ACK's delay of 40 ms, so the
    // ACK is sent at once.
    assert_eq!(end.data(2, ms(31), Ecn::NotEct, 0).len(), 1);
    assert_eq!(end.receiver.deadline(), Time::NEVER);
}

/// Returns a receiver that accepts packets of several segments, and a function that sends such a
/// packet to the receiver.
fn joined() -> (End, impl Fn(&mut End, u64, u32, u64) -> Vec<Packet>) {
    let mut end = End::new(EcnEcho::PerPacket);
    end.receiver = end.receiver.joined();
    let send = |end: &mut End, seq: u64, segments: u32, at: u64| {
        let mut packet = Packet::new(0, 1514, Ecn::Ect0);
        (packet.seq, packet.sent) = (seq, ms(at));
        packet.join(segments, 1448);
        end.receiver.on_packet(&packet, ms(at), &mut end.wire);
        std::mem::take(&mut end.wire.0)
    };
    (end, send)
}

/// A packet of several segments is acknowledged at once and by one ACK. The ACK of a single segment
/// is delayed.
#[test]
fn joined_segments_get_one_ack() {
    let (mut end, send) = joined();
    let acks = send(&mut end, 0, 43, 1);
    assert_eq!(acks.iter().map(|a| a.seq).collect::<Vec<_>>(), [43]);
    assert!(send(&mut end, 43, 1, 2).is_empty());
    assert_eq!(send(&mut end, 44, 2, 3)[0].seq, 46);
    assert_eq!(end.receiver.arrived(), 46);
}

/// A SACK block reports all segments of a packet, and a D-SACK reports all segments that are
/// duplicates.
#[test]
fn joined_segments_are_one_block() {
    let (mut end, send) = joined();
    let block = |ack: &Packet| (ack.sack[0].offset, ack.sack[0].len);
    let acks = send(&mut end, 20, 10, 1);
    assert_eq!((acks[0].seq, block(&acks[0])), (0, (20, 10)));
    // Send a part of these segments again, with new ones after them.
    let acks = send(&mut end, 25, 10, 2);
    assert!(acks[0].has(flags::DSACK));
    assert_eq!(block(&acks[0]), (25, 5));
    assert_eq!((acks[0].sack[1].offset, acks[0].sack[1].len), (20, 15));
    // The packet fills the hole, and repeats two segments after the hole.
    let acks = send(&mut end, 0, 22, 3);
    assert_eq!(acks[0].seq, 35);
    let acks = send(&mut end, 30, 5, 4);
    assert!(acks[0].has(flags::DSACK));
    assert_eq!((acks[0].seq, acks[0].sack[0].len), (35, 5));
    // The packet begins with duplicates. The ACK reports the duplicates, and acknowledges the rest
    // of the packet.
    let acks = send(&mut end, 33, 4, 5);
    assert!(acks[0].has(flags::DSACK));
    assert_eq!((acks[0].seq, acks[0].sack[0].len), (37, 2));
    assert_eq!(end.receiver.arrived(), 37);
}

/// A packet may begin with a new segment and repeat later segments that have already arrived. The
/// ACK reports the first repeated segment, and the repeated segments that follow it without a hole
/// (Linux `tcp_data_queue_ofo`, `tcp_ofo_queue`).
#[test]
fn covered_segments_are_reported_as_duplicates() {
    let dsack = |ack: &Packet| {
        let first = ack.sack[0];
        let seq = ack.seq.wrapping_add_signed(i64::from(first.offset as i32));
        ack.has(flags::DSACK).then_some((seq, first.len))
    };
    let (mut end, send) = joined();
    for seq in [20, 30] {
        assert_eq!(dsack(&send(&mut end, seq, 4, 1)[0]), None);
    }
    // The packet covers the first block and a part of the second block.
    assert_eq!(dsack(&send(&mut end, 15, 17, 2)[0]), Some((20, 4)));
    // The ACK of a packet in order also reports the segments that the packet repeats.
    assert_eq!(dsack(&send(&mut end, 0, 18, 3)[0]), Some((15, 3)));
    assert_eq!(end.receiver.rcv_nxt, 34);
    assert_eq!(dsack(&send(&mut end, 34, 8, 4)[0]), None);
}

/// A late packet may repeat segments of several blocks. The ACK acknowledges all of the packet
/// cumulatively, so its SACK blocks only cover later segments.
#[test]
fn a_packet_that_covers_blocks_ends_them() {
    let (mut end, send) = joined();
    for seq in [5, 15, 30] {
        send(&mut end, seq, 5, 1);
    }
    let acks = send(&mut end, 0, 20, 2);
    assert_eq!(acks.last().map(|ack| ack.seq), Some(20));
    // The first block reports duplicates.
    let blocks: Vec<_> = acks[0].sack[1..]
        .iter()
        .map(|b| (b.offset, b.len))
        .collect();
    assert_eq!(blocks, [(10, 5), (0, 0)]);
    let acks = send(&mut end, 20, 43, 3);
    assert_eq!((acks[0].seq, acks[0].sack[1].len), (63, 0));
    assert_eq!(end.receiver.arrived(), 63);
}

/// Sends segments with these timestamps and ECN fields, 1 us apart. Returns which of these segments
/// the receiver acknowledges at once.
fn hurried(plan: TcpPlan, segments: &[(Time, Ecn)]) -> Vec<bool> {
    let echo = EcnEcho::of(true, EcnFeedback::AccEcn, EcnNeed::Accurate);
    let mut end = End {
        receiver: Receiver::new(
            0,
            &TcpPlan {
                quickack: false,
                ..plan
            },
            echo,
        ),
        wire: Wire::default(),
    };
    let mut seen = Vec::new();
    for (seq, (sent, ecn)) in segments.iter().enumerate() {
        let mut packet = Packet::new(0, 1514, *ecn);
        (packet.seq, packet.sent) = (seq as u64, *sent);
        let now = ms(100) + Time(1000 * seq as u64);
        end.receiver.on_packet(&packet, now, &mut end.wire);
        seen.push(!std::mem::take(&mut end.wire.0).is_empty());
    }
    seen
}

#[test]
fn the_l4s_teams_receiver_acknowledges_a_segment_with_a_newer_timestamp_at_once() {
    let l4s = TcpPlan {
        accecn_receiver: AccEcnReceiver::L4s515,
        ..TcpPlan::default()
    };
    let at = |us| (Time::from_us(us), Ecn::Ect1);
    // The first segment changes the ECN field, so every receiver acknowledges it at once. The
    // second segment has the same timestamp in ms as the first, so its ACK waits. The third segment
    // is the second since the last ACK, so every receiver acknowledges it at once. The fourth and
    // the fifth segment have newer timestamps.
    let segments = [at(1000), at(1999), at(3000), at(4000), at(5999), at(5999)];
    let hurries = [true, false, true, true, true, false];
    let delays = [true, false, true, false, true, false];
    assert_eq!(hurried(l4s.clone(), &segments), hurries);
    assert_eq!(hurried(TcpPlan::default(), &segments), delays);
    // Without the option in every segment or without timestamps, Linux does not test the counter.
    for plan in [
        TcpPlan {
            accecn_option: AccEcnOption::Minimum,
            ..l4s.clone()
        },
        TcpPlan {
            timestamps: false,
            ..l4s.clone()
        },
    ] {
        assert_eq!(hurried(plan, &segments), delays);
    }
    // A segment that is not ECN-capable does not count as a mark.
    let plain = segments.map(|(sent, _)| (sent, Ecn::NotEct));
    assert_eq!(
        hurried(l4s, &plain),
        [false, true, false, true, false, true]
    );
}
