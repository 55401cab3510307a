//! Tests DCTCP against values that were computed by hand.

use super::*;
use crate::cc::testing::{Host, Stack, options};
use crate::units::Time;

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Word(word))
}

fn build(set: &[(&'static str, Value)]) -> Box<dyn CongestionControl> {
    (ENTRY.build)(&options(&ENTRY, set))
}

fn acked(acked: u32, ece: bool) -> Ack {
    Ack {
        acked,
        ece,
        ..Ack::default()
    }
}

/// Returns alpha in units of 2^-bits.
fn alpha(cc: &dyn CongestionControl, bits: u32) -> u64 {
    let mut out = Vec::new();
    Stack::new(10).with(|view, window| cc.gauges(view, window, &mut out));
    (out[0] * f64::from(1_u32 << bits)) as u64
}

/// Acknowledges windows of data, each given as (delivered, marked) segments. Returns alpha after
/// each window.
fn windows(set: &[(&'static str, Value)], bits: u32, seen: &[(u64, u64)]) -> Vec<u64> {
    let mut cc = build(set);
    let mut stack = Stack::new(10);
    stack.with(|view, window| cc.init(view, window));
    let mut alphas = Vec::new();
    for (delivered, marked) in seen {
        stack.conn.delivered += delivered;
        stack.conn.delivered_ce += marked;
        stack.flight.una = stack.flight.nxt;
        stack.flight.nxt += delivered;
        let ack = acked(*delivered as u32, *marked > 0);
        stack.with(|view, window| cc.in_ack_event(view, window, &ack));
        alphas.push(alpha(&*cc, bits));
    }
    alphas
}

#[test]
fn alpha_by_hand() {
    // Each window sets alpha to alpha - (alpha >> 4) + (marked << 6) / delivered. The results are
    // 1024 - 64, 960 - 60, 900 - 56 + 32, 876 - 54 + 9, and 831 - 51 + 64.
    let seen = [(20, 0), (20, 0), (20, 10), (20, 3), (20, 20)];
    assert_eq!(windows(&[], 10, &seen), [960, 900, 876, 831, 844]);
    // If more marks than segments are reported, all segments count as marked.
    assert_eq!(windows(&[], 10, &[(0, 20)]), [1024]);
}

#[test]
fn alpha_moves_once_a_window() {
    let mut cc = build(&[]);
    let mut stack = Stack::new(10);
    stack.flight.nxt = 10;
    stack.with(|view, window| cc.init(view, window));
    let mut ack = |una: u64, nxt: u64, ece: bool| {
        stack.conn.delivered += una - stack.flight.una;
        (stack.flight.una, stack.flight.nxt) = (una, nxt);
        stack.with(|view, window| cc.in_ack_event(view, window, &acked(1, ece)));
        alpha(&*cc, 10)
    };
    for una in 1..10 {
        assert_eq!(ack(una, 10, false), 1024);
    }
    assert_eq!(ack(10, 20, false), 960);
    assert_eq!(ack(19, 20, false), 960);
    assert_eq!(ack(20, 30, false), 900);
}

fn decayed(set: &[(&'static str, Value)]) -> u64 {
    *windows(set, 10, &[(20, 0); 200]).last().unwrap()
}

#[test]
fn linux_decays_to_zero_and_older_versions_do_not() {
    assert_eq!(decayed(&[]), 0);
    let at_16 = [("alpha_init", Value::Float(16.0 / 1024.0))];
    assert_eq!(windows(&at_16, 10, &[(20, 0); 3]), [15, 0, 0]);
    assert_eq!(decayed(&[word("version", "linux-3.19")]), 15);
    // `patch-2012` starts with alpha = 0. One mark in 21 segments adds 64/21 = 3 to alpha. Such a
    // small alpha does not decay.
    let patch = [word("version", "patch-2012")];
    assert_eq!(
        windows(&patch, 10, &[(21, 0), (21, 1), (21, 0), (21, 0)]),
        [0, 3, 3, 3]
    );
    // If all segments of a window are marked, alpha is 64. In the following windows, alpha falls by
    // alpha/16 per window, down to 15.
    let mut seen = vec![(20, 0); 100];
    seen[0] = (20, 20);
    let patch = windows(&patch, 10, &seen);
    assert_eq!(patch[..4], [64, 60, 57, 54]);
    assert_eq!(patch[99], 15);
}

#[test]
fn cut_of_the_window() {
    // After ECN-Echo, the window is cwnd - (cwnd alpha >> 11), but at least 2 segments.
    let alphas = [0, 15, 97, 98, 256, 512, 1024];
    let table = [
        (1, [2, 2, 2, 2, 2, 2, 2]),
        (2, [2, 2, 2, 2, 2, 2, 2]),
        (4, [4, 4, 4, 4, 4, 3, 2]),
        (10, [10, 10, 10, 10, 9, 8, 5]),
        // With an alpha below 98/1024, a window of 21 does not shrink.
        (21, [21, 21, 21, 20, 19, 16, 11]),
        (100, [100, 100, 96, 96, 88, 75, 50]),
        (137, [137, 136, 131, 131, 120, 103, 69]),
        (10_000, [10_000, 9_927, 9_527, 9_522, 8_750, 7_500, 5_000]),
    ];
    for (cwnd, expected) in table {
        for (alpha, after) in alphas.into_iter().zip(expected) {
            let mut cc = build(&[("alpha_init", Value::Float(f64::from(alpha) / 1024.0))]);
            let reduced = Stack::new(cwnd).with(|view, window| {
                cc.init(view, window);
                cc.ssthresh(view, window, Signal::Ecn)
            });
            assert_eq!(reduced, after, "cwnd {cwnd}, alpha {alpha}");
        }
    }
}

#[test]
fn a_cut_in_rounds_without_marks() {
    // alpha falls from 1024 to 960, so the window is 100 - (100 * 960 >> 11) = 54.
    for (cut, cwnd, ssthresh) in [
        ("echo", 100, 80),
        ("round", 54, 80),
        ("round-ssthresh", 54, 54),
    ] {
        let mut cc = build(&[word("cut", cut)]);
        let mut stack = Stack::new(100);
        stack.window.ssthresh = 80;
        stack.with(|view, window| cc.init(view, window));
        stack.conn.delivered += 20;
        stack.flight.una = stack.flight.nxt;
        stack.with(|view, window| cc.in_ack_event(view, window, &acked(2, false)));
        assert_eq!(
            (stack.window.cwnd, stack.window.ssthresh),
            (cwnd, ssthresh),
            "{cut}"
        );
    }
}

#[test]
fn resolution_of_alpha() {
    // If one of 21 segments is marked in every window, alpha falls. With 10 bits, alpha stops at
    // 63/1024 = 0.0615, because the decrease 63 >> 4 then equals the increase 64/21. With 20 bits,
    // alpha reaches 1/21 = 0.0476.
    let coarse = windows(&[], 10, &[(21, 1); 300]);
    assert_eq!(coarse.last(), Some(&63));
    let fine = windows(&[("alpha_bits", Value::Int(20))], 20, &[(21, 1); 300]);
    // alpha stops at (3120 << 4) + 15. At this alpha, the decrease equals the increase of each
    // window, which is 3120 = (1 << 16) / 21.
    assert_eq!(fine.last(), Some(&49_935));
}

#[test]
fn alpha_on_every_ack() {
    let set = [
        word("update", "ack"),
        ("alpha_bits", Value::Int(20)),
        ("alpha_init", Value::Float(0.0)),
    ];
    let mut cc = build(&set);
    let mut stack = Stack::new(10);
    stack.with(|view, window| cc.init(view, window));
    // An ACK with a mark adds 2^20 / 256 = 4096 to alpha. Every ACK subtracts alpha / 256. So alpha
    // is 4096, then 4096 - 16 + 4096, then 8176 - 31.
    for (ece, expected) in [(true, 4_096), (true, 8_176), (false, 8_145)] {
        stack.with(|view, window| cc.in_ack_event(view, window, &acked(0, ece)));
        assert_eq!(alpha(&*cc, 20), expected);
    }

    let mut set = set.to_vec();
    set.push(("normalise", Value::Bool(true)));
    let mut cc = build(&set);
    stack.with(|view, window| cc.init(view, window));
    // The first ACK covers 2 of 20 segments. With g = 1/16, this ACK adds (2^20 * 2 / 20) >> 4 =
    // 6553 to alpha. The second ACK subtracts (6553 * 2 / 20) >> 4 from alpha. A duplicate ACK is
    // treated as one segment.
    for (segments, ece, expected) in [
        (2, true, 6_553),
        (2, false, 6_513),
        (0, true, 6_513 - 20 + 3_276),
    ] {
        let ack = Ack {
            prior_in_flight: 20,
            ..acked(segments, ece)
        };
        stack.with(|view, window| cc.in_ack_event(view, window, &ack));
        assert_eq!(alpha(&*cc, 20), expected);
    }
}

/// Returns the window after each ACK of a round that began with 20 segments. `true` means an ACK
/// with ECN-Echo.
fn reduction(set: &[(&'static str, Value)], aces: &[bool]) -> Vec<u32> {
    let mut host = Host::new(build(set), 20, Time::from_ms(20));
    host.window.ssthresh = 20;
    let mut seen = Vec::new();
    for ece in aces {
        if *ece {
            host.ack_ece(1);
        } else {
            host.ack(1);
        }
        seen.push(host.window.cwnd);
    }
    seen
}

#[test]
fn ways_down() {
    // Each of the four ACKs updates alpha: to 1/4, 7/16, 21/64 and 127/256. The first, second and
    // fourth ACK carry a mark. The marks shrink the window by 2.5, 4.4 and 4.96 segments.
    let mut set = vec![
        word("reduction", "progressive"),
        word("update", "ack"),
        ("g", Value::Float(0.25)),
        ("alpha_bits", Value::Int(20)),
        ("alpha_init", Value::Float(0.0)),
    ];
    let acks = [true, true, false, true];
    assert_eq!(reduction(&set, &acks), [18, 16, 16, 16]);
    set[0] = word("reduction", "immediate");
    assert_eq!(reduction(&set, &acks), [18, 18, 18, 18]);
    // PRR spreads a reduction of 2 segments over the round. While more than 18 segments are in
    // flight, ceil(18 n / 20) segments have been sent after the n-th ACK.
    set[0] = word("reduction", "prr");
    let prr = reduction(&set, &[true; 20]);
    assert_eq!(prr[..12], [20, 20, 20, 20, 20, 20, 20, 20, 20, 19, 18, 18]);
    assert_eq!(prr[19], 18);
}

#[test]
fn growth_during_the_reduction() {
    // alpha is 0, so the window does not change. At the mark, the original patch of DCTCP resets
    // the count of acknowledged segments. It does not count segments during CWR. With modification
    // (b), DCTCP continues to count acknowledged segments.
    let mut set = vec![word("version", "patch-2012")];
    let count = |set: &[_]| {
        let mut host = Host::new(build(set), 20, Time::from_ms(20));
        host.window.ssthresh = 20;
        host.ack(7);
        host.ack_ece(1);
        let (cwnd, cnt) = (host.window.cwnd, host.window.cwnd_cnt);
        host.ack(1);
        (cwnd, cnt, host.window.cwnd_cnt)
    };
    assert_eq!(count(&set), (20, 0, 0));
    set.push(("grow_in_cwr", Value::Bool(true)));
    assert_eq!(count(&set), (20, 7, 8));
    // After a reduction of the window, the count of acknowledged segments restarts at 0 and
    // continues.
    set.push(("alpha_init", Value::Float(0.5)));
    // (The first ACK lowers alpha from 512 to 480. So the window shrinks by 20 * 480 >> 11 = 4.)
    assert_eq!(count(&set), (16, 0, 1));
}

#[test]
fn one_below_the_window_avoids_slow_start() {
    use crate::plan::Growth;
    let after = |ssthresh| {
        let set = [
            word("version", "patch-2012"),
            word("ssthresh", ssthresh),
            ("alpha_init", Value::Float(0.5)),
        ];
        let mut host = Host::new(build(&set), 20, Time::from_ms(20));
        host.window = Window::new(20, 10, Growth::Acks);
        // The first ACK carries a mark and raises alpha to 512 - 32 + 64 = 544. So the window is 20
        // - 5. `held` is the window at the end of the marked round, before one more ACK.
        host.marked_round(1);
        let held = host.window.cwnd;
        host.ack(1);
        (held, host.window.cwnd, host.window.ssthresh)
    };
    assert_eq!(after("cwnd"), (15, 16, 15));
    assert_eq!(after("cwnd-1"), (15, 15, 14));
}

#[test]
fn responses_to_loss() {
    // `alone` is ssthresh after a loss without marks, with a window of 20 and an alpha of 1/4.
    // `within` is ssthresh after a loss in the same round as marks. The marks have reduced the
    // window to 20 - (20 * 256 >> 11) = 18.
    for (loss, alone, within) in [
        ("halve", 10, 10),
        ("reno", 10, 18),
        ("alpha", 18, 18),
        ("none", 20, 18),
    ] {
        let set = [word("loss", loss), ("alpha_init", Value::Float(0.25))];
        let host = || {
            let mut host = Host::new(build(&set), 20, Time::from_ms(20));
            host.window.ssthresh = 20;
            host
        };
        let mut lost = host();
        lost.lose();
        assert_eq!(lost.window.ssthresh, alone, "{loss}");
        lost.undo();
        assert_eq!(lost.window.cwnd, 20, "{loss}");

        let mut marked = host();
        marked.ack_ece(1);
        assert_eq!(marked.window.ssthresh, 18, "{loss}");
        marked.lose();
        assert_eq!(marked.window.ssthresh, within, "{loss}");
    }
}

#[test]
fn versions() {
    let names = [
        "g",
        "alpha_init",
        "alpha_bits",
        "decay",
        "update",
        "normalise",
        "loss",
        "reduction",
        "ssthresh",
        "grow_in_cwr",
    ];
    let mut table = String::new();
    for version in [
        "linux-7.3",
        "linux-5.2",
        "linux-3.19",
        "patch-2012",
        "paper-2014",
    ] {
        table += version;
        let options = options(&ENTRY, &[word("version", version)]);
        for name in names {
            table += " ";
            table += &match options.get(name) {
                Some(Value::Word(word)) => (*word).to_owned(),
                Some(Value::Float(number)) => format!("{number}"),
                Some(Value::Int(number)) => format!("{number}"),
                Some(Value::Bool(on)) => format!("{on}"),
                other => format!("{other:?}"),
            };
        }
        table += "\n";
    }
    assert_eq!(
        table,
        "linux-7.3 0.0625 1 10 to-zero window false halve prr cwnd false\n\
         linux-5.2 0.0625 1 10 to-zero window false halve prr cwnd false\n\
         linux-3.19 0.0625 1 10 shift window false alpha prr cwnd false\n\
         patch-2012 0.0625 0 10 shift window false reno immediate cwnd false\n\
         paper-2014 0.00390625 0 20 shift ack false reno progressive cwnd-1 true\n"
    );
    // The version does not change options that a scenario sets.
    let options = options(
        &ENTRY,
        &[word("version", "paper-2014"), word("loss", "none")],
    );
    assert_eq!(options.word("loss"), "none");
}

#[test]
fn combinations_that_make_no_sense() {
    let refused = |set: &[(&'static str, Value)]| {
        let mut options = crate::registry::defaults(ENTRY.options);
        for (name, value) in set {
            options.set(name, value.clone());
        }
        let errors = finish(&mut options).err().unwrap_or_default();
        errors.iter().map(|e| e.option).collect::<Vec<_>>()
    };
    assert_eq!(refused(&[("g", Value::Float(0.05))]), ["g"]);
    assert_eq!(refused(&[("g", Value::Float(1.0 / 2048.0))]), ["g"]);
    assert_eq!(refused(&[("g", Value::Float(1.0 / 1024.0))]), [""; 0]);
    assert_eq!(
        refused(&[
            ("normalise", Value::Bool(true)),
            word("ssthresh", "cwnd-1"),
            ("grow_in_cwr", Value::Bool(true))
        ]),
        ["normalise", "ssthresh", "grow_in_cwr"]
    );
}
