//! Tests deficit round robin without an AQM.

use super::*;
use crate::packet::Ecn;

const MTU: u32 = 1514;

fn fair(flows: i64) -> Fair<()> {
    Fair::new(flows, None, MTU, (), &mut Stream::new(1, "fair", "test"))
}

fn put(fair: &mut Fair<()>, flow: u32, len: u16, n: usize) {
    for _ in 0..n {
        fair.push(flow, Packet::new(flow, len, Ecn::NotEct));
    }
}

/// Serves one packet. Returns the packet's flow, and whether it was served as a new flow.
fn serve(fair: &mut Fair<()>) -> Option<(u32, bool)> {
    loop {
        let turn = fair.turn()?;
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        let packet = fair.flow(turn.flow).1.pop_to(&mut packet).then_some(packet);
        match packet {
            Some(packet) => {
                assert_eq!(packet.flow, turn.flow);
                fair.sent(turn, packet.len);
                return Some((turn.flow, turn.new));
            }
            None => fair.pass(turn),
        }
    }
}

#[test]
fn flows_of_unequal_packets_get_equal_bytes() {
    let mut fair = fair(8);
    let lens = [1514u16, 757, 66];
    for (flow, len) in lens.iter().enumerate() {
        put(
            &mut fair,
            flow as u32,
            *len,
            60_000 / usize::from(*len) * 20,
        );
    }
    let mut bytes = [0u64; 3];
    while bytes.iter().sum::<u64>() < 1_500_000 {
        let (flow, _) = serve(&mut fair).unwrap();
        bytes[flow as usize] += u64::from(lens[flow as usize]);
    }
    // The numbers of bytes that any two flows have sent differ by at most a quantum and a packet.
    let spread = bytes.iter().max().unwrap() - bytes.iter().min().unwrap();
    assert!(spread <= 2 * u64::from(MTU), "{bytes:?}");
}

#[test]
fn a_round_is_a_quantum() {
    let mut fair = fair(8);
    put(&mut fair, 0, 500, 12);
    put(&mut fair, 1, 1500, 4);
    let order: Vec<u32> = (0..14).map(|_| serve(&mut fair).unwrap().0).collect();
    // A quantum of 1514 bytes allows three packets of 500 bytes. After three packets, 14 bytes of
    // the quantum are left, so a fourth packet may follow. After the fourth packet, -486 bytes are
    // left. With the next quantum, the flow may send 1028 bytes. These allow three packets. The
    // flow with packets of 1500 bytes sends two packets in its first turn, because 14 bytes are
    // left after the first packet. After its first turn, this flow sends one packet per turn.
    assert_eq!(order, [0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1]);
}

#[test]
fn a_sparse_flow_goes_first_and_only_once() {
    let mut fair = fair(8);
    put(&mut fair, 0, 700, 100);
    for _ in 0..10 {
        serve(&mut fair);
    }
    // Flow 0 may still send 570 bytes in its turn. In spite of this, the packet of the new flow is
    // sent next, before 90 packets of flow 0.
    put(&mut fair, 1, 200, 1);
    assert_eq!(serve(&mut fair), Some((1, true)));
    // The new flow still has bytes left in its turn, so it comes first again.
    put(&mut fair, 1, 200, 1);
    assert_eq!(serve(&mut fair), Some((1, true)));
    // When flow 1 is served and is empty, it moves to the old flows and is no longer new.
    assert_eq!(serve(&mut fair), Some((0, false)));
    put(&mut fair, 1, 200, 1);
    let next: Vec<_> = (0..2).map(|_| serve(&mut fair).unwrap()).collect();
    assert_eq!(next, [(1, false), (0, false)]);
    // Flow 1 had no packets for a round, so it is inactive. Its next packet makes it a new flow.
    for _ in 0..3 {
        serve(&mut fair);
    }
    put(&mut fair, 1, 200, 1);
    assert_eq!(serve(&mut fair), Some((1, true)));
}

#[test]
fn a_flow_that_exceeds_its_quantum_becomes_old() {
    let mut fair = fair(8);
    put(&mut fair, 0, 1514, 3);
    put(&mut fair, 1, 1514, 3);
    let order: Vec<_> = (0..6).map(|_| serve(&mut fair).unwrap()).collect();
    let expected = [
        (0, true),
        (1, true),
        (0, false),
        (1, false),
        (0, false),
        (1, false),
    ];
    assert_eq!(order, expected);
    assert_eq!(serve(&mut fair), None);
    assert_eq!(fair.active(), 0);
    assert_eq!(fair.backlog(), Backlog::default());
}

#[test]
fn two_flows_share_one_of_n_queues_with_probability_one_in_n() {
    // The share among 4,000 keys has a standard error of sqrt(p (1-p) / 4000).
    let mut rng = Stream::new(1, "keys", "test");
    for n in [4, 64] {
        let shared = (0..4_000)
            .filter(|_| {
                let fair = Fair::new(n, None, MTU, (), &mut rng);
                let of = |flow| fair.flow_of(&Packet::new(flow, 100, Ecn::NotEct));
                assert!(i64::from(of(0)) < n);
                of(0) == of(1)
            })
            .count() as f64;
        let p = 1.0 / n as f64;
        let error = (p * (1.0 - p) / 4_000.0).sqrt();
        assert!((shared / 4_000.0 - p).abs() < 4.0 * error, "{n}: {shared}");
    }
}

#[test]
fn acks_of_a_flow_are_another_flow() {
    let fair = fair(65_536);
    let data = Packet::new(7, 100, Ecn::NotEct);
    let ack = Packet {
        flags: flags::ACK,
        ..data
    };
    assert_ne!(fair.flow_of(&data), fair.flow_of(&ack));
}

#[test]
fn the_fattest_has_most_bytes_not_packets() {
    let mut fair = fair(8);
    put(&mut fair, 5, 66, 30);
    put(&mut fair, 2, 1514, 2);
    assert_eq!(fair.fattest(), (2, 3_028));
    assert_eq!(fair.memory(), 30 * 66 + 3_028 + 32 * FRAME_MEMORY);
}
