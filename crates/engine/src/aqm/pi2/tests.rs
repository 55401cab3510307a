//! Tests that lowering the limit does not change the state of the controller.

use super::*;
use crate::registry::{Value, complete_defaults};

#[test]
fn a_shrinking_limit_drops_from_the_head_without_the_control_law() {
    let mut options = complete_defaults(&ENTRY);
    options.set("ecn", Value::Bool(true));
    let mut queue = Pi2::new(&options, 1514, Stream::new(1, "pi2", "test"));
    queue.vars.prob = (ONE / 2) as u32;
    let mut sink = Sink::new(1, Time::ZERO);
    for seq in 0..50 {
        let mut packet = Packet::new(0, 1514, Ecn::Ect0);
        packet.seq = seq;
        sink.arrive(&packet, Time::ZERO);
        queue.enqueue(&mut packet, Time::ZERO, &mut sink);
    }
    let before = (queue.vars, queue.rng.clone().bits());
    options.set("limit", Value::Packets(10));
    let setting = Setting {
        rate: crate::units::Rate(40_000_000),
        mtu: 1514,
        now: Time::from_ms(50),
    };
    queue.change(&options, &setting, &mut sink);
    assert_eq!((queue.vars, queue.rng.clone().bits()), before);
    assert_eq!(queue.backlog().packets, 10);
    assert_eq!(queue.packets.front().map(|head| head.seq), Some(40));
    let counts = &sink.meter.counts;
    assert_eq!(counts.get(Cause::Overflow), 40);
    assert_eq!((counts.get(Cause::Aqm), counts.marks()), (0, 0));
}
