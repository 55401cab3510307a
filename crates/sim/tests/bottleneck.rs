//! Tests the bottleneck inside harnesses that have their own event loop.

use tailback_sim::{Bottleneck, Cause, Ecn, Event, Outcome, Side, Time};

fn bottleneck(queue: &str, rest: &str) -> Bottleneck {
    Bottleneck::from_toml(&format!(
        "duration = \"1s\"\n[bottleneck]\nrate = \"10Mbit\"\nqueue = {queue}\n{rest}\n\
         [path]\nrtt = \"10ms\"\n[[programs]]\nname = \"mine\"\n"
    ))
    .expect("a scenario")
}

fn drain(bottleneck: &mut Bottleneck) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(time) = bottleneck.next() {
        events.extend(std::iter::from_fn(|| bottleneck.poll(time)));
    }
    events
}

#[test]
fn datagrams_leave_at_the_rate_and_overflow_is_reported() {
    let mut bottleneck = bottleneck("{ aqm = \"fifo\", limit = \"4p\" }", "");
    // With headers, each datagram is a frame of 1250 bytes, which the link sends in 1 ms.
    for handle in 0..7 {
        bottleneck.push(Time::from_ms(3), 1208, Ecn::NotEct, handle);
    }
    assert_eq!(bottleneck.poll(Time::from_ms(4)), None);
    let events = drain(&mut bottleneck);
    // The link sends the first of seven datagrams at once. The next four datagrams are queued, and
    // the last two are dropped because the queue is full.
    let at = |ms| Time::from_ms(3 + 5 + ms);
    let event = |handle, at, outcome| Event {
        handle,
        to: Side::Receiver,
        sent: Time::from_ms(3),
        at,
        outcome,
    };
    let full = Outcome::Dropped {
        cause: Cause::Overflow,
        link: 0,
    };
    let arrived = Outcome::Arrived { ecn: Ecn::NotEct };
    let mut expected: Vec<Event> = (0..5).map(|n| event(n, at(n), arrived)).collect();
    expected.insert(1, event(5, at(0), full));
    expected.insert(2, event(6, at(0), full));
    assert_eq!(events, expected);
    assert_eq!(events[6].delay(), Time::from_ms(9));
    assert_eq!(bottleneck.next(), None, "nothing is inside");
    let results = bottleneck.finish(Time::from_secs(2));
    assert_eq!(results.drops("mine"), 2);
    assert_eq!(results.bottleneck().packets, 5);
}

#[test]
fn competing_tcp_fills_the_queue_and_the_aqm_marks() {
    let rest = "[[flows]]\ncc = \"cubic\"\necn = true\n";
    let mut bottleneck = bottleneck("{ aqm = \"codel\", ecn = true }", rest);
    let mut events = Vec::new();
    // For 20 s, send a datagram every 2 ms, which uses half of the link's rate.
    for handle in 0..10_000 {
        let now = Time::from_ms(2 * handle);
        bottleneck.push(now, 1208, Ecn::Ect0, handle);
        events.extend(std::iter::from_fn(|| bottleneck.poll(now)));
    }
    events.extend(drain(&mut bottleneck));
    assert_eq!(events.len(), 10_000);
    let marked = |event: &&Event| event.outcome == Outcome::Arrived { ecn: Ecn::Ce };
    let marks = events.iter().filter(marked).count();
    assert!((20..2000).contains(&marks), "{marks}");
    let mean = events.iter().map(|e| e.delay().ns()).sum::<u64>() / 10_000;
    // The mean delay is half of the path's RTT plus the delay of CoDel's standing queue, which is
    // about 5 ms.
    assert!((7_000_000..20_000_000).contains(&mean), "{mean}");
    let results = bottleneck.finish(Time::from_secs(21));
    assert_eq!(results.marks("mine"), marks as u64);
    let cubic = results.throughput_mbit("cubic");
    assert!((3.0..5.0).contains(&cubic), "{cubic}");
}

#[test]
fn the_way_back_has_a_queue_of_its_own() {
    let mut bottleneck = bottleneck("\"fifo\"", "both_directions = true");
    bottleneck.push(Time::ZERO, 1208, Ecn::NotEct, 1);
    for handle in [2, 3] {
        bottleneck.push_back(Time::ZERO, 1208, Ecn::NotEct, handle);
    }
    let events = drain(&mut bottleneck);
    let seen = events
        .iter()
        .map(|e| (e.handle, e.to, e.at.ns() / 1_000_000));
    let seen: Vec<_> = seen.collect();
    let expected = [
        (1, Side::Receiver, 5),
        (2, Side::Sender, 5),
        (3, Side::Sender, 6),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn copies_of_a_link_come_out_too() {
    let mut bottleneck = bottleneck("\"fifo\"", "duplicate = 0.5\nloss = 0.1");
    for handle in 0..100 {
        bottleneck.push(Time::from_ms(10 * handle), 1208, Ecn::NotEct, handle);
    }
    let events = drain(&mut bottleneck);
    let lost = |event: &&Event| matches!(event.outcome, Outcome::Dropped { .. });
    let lost = events.iter().filter(lost).count();
    assert!((1..30).contains(&lost), "{lost}");
    assert!(events.len() > 120, "{}", events.len());
    assert_eq!(bottleneck.next(), None);
}

#[test]
#[should_panic(expected = "time goes back from 5ms to 4ms")]
fn time_does_not_go_back() {
    let mut bottleneck = bottleneck("\"fifo\"", "");
    bottleneck.push(Time::from_ms(5), 100, Ecn::NotEct, 0);
    bottleneck.poll(Time::from_ms(4));
}

#[test]
fn it_needs_one_entry() {
    let text = "duration = \"1s\"\n[bottleneck]\nrate = \"10Mbit\"\n[[flows]]\ncc = \"reno\"\n";
    let error = Bottleneck::from_toml(text).err().expect("an error");
    assert!(
        error.to_string().contains("one entry of [[programs]]"),
        "{error}"
    );
}
