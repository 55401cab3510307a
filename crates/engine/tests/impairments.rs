//! Tests each impairment against its expected distribution, without a network.

mod common;

use std::collections::BTreeMap;

use common::*;
use tailback_engine::impairments::{ENTRIES, Fate, Impairment, Way};
use tailback_engine::packet::{Ecn, Packet, flags};
use tailback_engine::registry::complete_defaults;
use tailback_engine::rng::Stream;
use tailback_engine::units::Time;
use tailback_record::Cause;

const MS: fn(u64) -> Time = Time::from_ms;
const US: fn(u64) -> Time = |us| Time(us * 1_000);

fn build(kind: &str, set: &[(&str, &str)]) -> Box<dyn Impairment> {
    let plan = impairment(kind, set);
    (plan.entry().build.make)(&plan.options, Stream::new(1, "test", kind))
}

/// Sends `n` packets at equal intervals. Returns what the impairment does to each packet, and the
/// packet's delay.
fn fates(impairment: &mut dyn Impairment, n: u64, every: Time) -> Vec<(Fate, Time)> {
    let fates = (0..n).map(|i| {
        let now = Time(i * every.ns());
        let mut packet = Packet::new(0, 1_500, Ecn::NotEct);
        let mut way = Way { now, due: now };
        (impairment.meet(&mut packet, &mut way), way.due.since(now))
    });
    fates.collect()
}

fn is_lost(fate: Fate) -> bool {
    matches!(fate, Fate::Lost(Cause::Loss))
}

/// Asserts that a mean of `n` draws is within four standard errors of its expected value.
#[track_caller]
fn near(mean: f64, expected: f64, deviation: f64, n: f64) {
    let errors = (mean - expected) / (deviation / n.sqrt());
    assert!(
        errors.abs() < 4.0,
        "{mean} is {errors:.1} errors from {expected}"
    );
}

#[test]
fn loss_has_its_share() {
    let (n, p) = (200_000, 0.03);
    let all = fates(&mut *build("loss", &[("probability", "0.03")]), n, US(10));
    let lost = all.iter().filter(|fate| is_lost(fate.0)).count();
    let deviation = (p * (1.0_f64 - p)).sqrt();
    near(lost as f64 / n as f64, p, deviation, n as f64);
}

#[test]
fn bursts_of_loss_have_their_mean_loss_and_length() {
    let n = 1_000_000;
    for (loss, burst) in [(0.01, 4.0), (0.05, 20.0), (0.5, 2.0), (0.2, 1.0)] {
        let set = [
            ("loss", loss.to_string()),
            ("burst", f64::to_string(&burst)),
        ];
        let set = set.each_ref().map(|(name, text)| (*name, text.as_str()));
        let all = fates(&mut *build("burst_loss", &set), n, US(10));
        let lost: Vec<bool> = all.iter().map(|fate| is_lost(fate.0)).collect();
        let runs: Vec<usize> = lost.chunk_by(|a, b| a == b).map(<[bool]>::len).collect();
        let runs = runs.iter().skip(usize::from(!lost[0])).step_by(2);
        let runs: Vec<f64> = runs.map(|run| *run as f64).collect();
        // The length of a loss burst has a geometric distribution.
        let bursts = runs.len() as f64;
        let deviation = (burst * (burst - 1.0_f64)).sqrt().max(1e-9);
        near(runs.iter().sum::<f64>() / bursts, burst, deviation, bursts);
        // Bursts and gaps alternate independently (a renewal process). The standard deviation of
        // the share of lost packets follows from the delta method.
        let gap = burst * (1.0 - loss) / loss;
        let cycle = burst + gap;
        let of_gaps = loss * (gap * (gap - 1.0)).max(0.0).sqrt();
        let spread = libm::hypot((1.0 - loss) * deviation, of_gaps);
        let share = lost.iter().filter(|lost| **lost).count() as f64 / n as f64;
        near(share, loss, spread / cycle, bursts);
    }
}

#[test]
fn four_parameters_lose_in_both_states() {
    let set = [
        ("p", "0.02"),
        ("r", "0.1"),
        ("bad_loss", "0.6"),
        ("good_loss", "0.01"),
    ];
    let n = 2_000_000;
    let all = fates(&mut *build("burst_loss", &set), n, US(10));
    let share = all.iter().filter(|fate| is_lost(fate.0)).count() as f64 / n as f64;
    let expected = (0.02 * 0.6 + 0.1 * 0.01) / 0.12;
    // Losses are correlated over about 1/(p + r) packets.
    near(share, expected, 0.5 * (2.0 / 0.12_f64).sqrt(), n as f64);
}

#[test]
fn delay_changes_at_its_steps() {
    let set = [
        ("steps", "0s 5ms, 10ms 30ms, 20ms 1ms"),
        ("keep_order", "false"),
    ];
    let all = fates(&mut *build("delay", &set), 30, MS(1));
    let expected = (0..30).map(|i| {
        MS(match i {
            0..10 => 5,
            10..20 => 30,
            _ => 1,
        })
    });
    assert!(all.iter().map(|fate| fate.1).eq(expected));
    // If the impairment keeps the order, packets that are sent after the delay has fallen wait for
    // earlier packets.
    let all = fates(&mut *build("delay", &set[..1]), 60, MS(1));
    let due: Vec<Time> = (0..).zip(&all).map(|(i, fate)| MS(i) + fate.1).collect();
    assert!(due.is_sorted());
    assert_eq!(
        (due[19], due[20], due[48], due[49]),
        (MS(49), MS(49), MS(49), MS(50))
    );
}

/// Sends packets so far apart that they never wait for each other. Returns their delays, in ms.
fn delays(set: &[(&str, &str)]) -> Vec<f64> {
    let all = fates(&mut *build("jitter", set), 100_000, Time::from_secs(1));
    all.iter().map(|fate| fate.1.ns() as f64 / 1e6).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: Vec<f64> = values.iter().map(|v| (v - mean) * (v - mean)).collect();
    self::mean(&squares).sqrt()
}

#[test]
fn jitter_has_the_moments_of_its_distribution() {
    let uniform = delays(&[("distribution", "uniform"), ("mean", "6ms")]);
    near(mean(&uniform), 6.0, 12.0 / 12.0_f64.sqrt(), 1e5);
    let normal = delays(&[("mean", "20ms"), ("deviation", "5ms")]);
    near(mean(&normal), 20.0, 5.0, 1e5);
    // A draw that is more than 3 standard deviations from the mean is limited to 3 standard
    // deviations. So the variance is 0.9950 times the variance of the normal distribution.
    assert!((deviation(&normal) / 5.0 - 0.9950_f64.sqrt()).abs() < 0.01);
    assert!(normal.iter().all(|ms| (5.0..=35.0).contains(ms)));
    let half = delays(&[("distribution", "half_normal"), ("deviation", "5ms")]);
    near(
        mean(&half),
        5.0 * (2.0 / std::f64::consts::PI).sqrt(),
        3.0,
        1e5,
    );
    assert!(half.iter().all(|ms| (0.0..=15.0).contains(ms)));
    let exponential = delays(&[("distribution", "exponential"), ("mean", "4ms")]);
    near(mean(&exponential), 4.0, 4.0, 1e5);
    near(deviation(&exponential), 4.0, 4.0 * 2.0_f64.sqrt(), 1e5);
    let shape = ("shape", "3");
    let pareto = delays(&[("distribution", "pareto"), ("mean", "3ms"), shape]);
    // The Pareto distribution has a minimum of 2 ms, a median of 2 ms * 2^(1/3), and a variance of
    // mean^2/(shape * (shape - 2)).
    near(mean(&pareto), 3.0, 3.0_f64.sqrt(), 1e5);
    let median = pareto
        .iter()
        .filter(|ms| **ms < 2.0 * libm::cbrt(2.0))
        .count();
    near(median as f64 / 1e5, 0.5, 0.5, 1e5);
    let listed = ("quantiles", "1ms, 2ms, 10ms");
    let quantiles = delays(&[("distribution", "quantiles"), listed]);
    near(mean(&quantiles), 0.5 * (1.5 + 6.0), 3.0, 1e5);
    // With the option `mean` at 7 ms, the published model has a mean of 6.68 ms
    // (draft-huitema-ccwg-c4-test).
    let wifi = delays(&[("distribution", "wifi"), ("mean", "7ms")]);
    let medium = 1.0 - 0.5 * (1.0 - libm::exp(-1.0));
    near(mean(&wifi), medium + 6.0, 24.0, 1e5);
}

#[test]
fn jitter_is_correlated_over_its_coherence_time() {
    let set = [
        ("mean", "30ms"),
        ("coherence", "100ms"),
        ("keep_order", "false"),
    ];
    let all = fates(&mut *build("jitter", &set), 400_000, MS(10));
    let all: Vec<f64> = all.iter().map(|fate| fate.1.ns() as f64).collect();
    let (mean, deviation) = (mean(&all), deviation(&all));
    for lag in [1, 5, 10, 30] {
        let both = all.iter().zip(&all[lag..]);
        let products: Vec<f64> = both.map(|(a, b)| (a - mean) * (b - mean)).collect();
        let correlation = self::mean(&products) / (deviation * deviation);
        let expected = libm::exp(-(lag as f64) / 10.0);
        // The packets cover 20,000 independent intervals.
        assert!(
            (correlation - expected).abs() < 4.0 / 20_000.0_f64.sqrt(),
            "{lag}: {correlation}"
        );
    }
}

/// Sends `n` packets of two flows, one packet per ms. Returns the time and the number of each
/// packet, in the order of departure.
fn order(impairment: &mut dyn Impairment, n: u64, marks: u16) -> Vec<(Time, u64)> {
    let mut left = Vec::new();
    let mut release = |impairment: &mut dyn Impairment, now| {
        while let Some((packet, _)) = impairment.release(now) {
            left.push((now, packet.seq));
        }
    };
    let mut on_time = Vec::new();
    for seq in 0..n {
        let now = MS(seq);
        while impairment.deadline() < now {
            let due = impairment.deadline();
            release(impairment, due);
        }
        let mut packet = Packet::new((seq % 2) as u32, 1_500, Ecn::NotEct);
        (packet.seq, packet.flags) = (seq, marks);
        let mut way = Way { now, due: now };
        if impairment.meet(&mut packet, &mut way) == Fate::Goes {
            on_time.push((now, seq));
        }
        release(impairment, now);
    }
    while impairment.held() > 0 {
        let due = impairment.deadline();
        release(impairment, due);
    }
    // A packet that was not held may leave at the release time of held packets. Such a packet
    // leaves before the held packets.
    on_time.extend(left);
    on_time.sort_by_key(|(time, _)| *time);
    on_time
}

#[test]
fn late_packets_are_passed_by_the_number_that_is_set() {
    let set = [
        ("probability", "0.05"),
        ("distance", "7"),
        ("patience", "1s"),
    ];
    let n = 20_000;
    let order = order(&mut *build("reorder", &set), n, 0);
    assert_eq!(order.len() as u64, n);
    // Packets that are not delayed keep their order. Each delayed packet is overtaken by seven
    // packets that are not delayed.
    let mut place = BTreeMap::new();
    let mut newest = None;
    let (mut late, mut passed) = (Vec::new(), 0);
    for (i, (_, seq)) in order.iter().enumerate() {
        place.insert(*seq, i);
        match newest {
            Some(max) if *seq < max => late.push(*seq),
            _ => newest = Some(*seq),
        }
    }
    for seq in &late {
        let behind = (seq + 1..n).filter(|other| place[other] < place[seq]);
        let behind = behind.filter(|other| !late.contains(other)).count();
        passed += usize::from(behind == 7);
    }
    near(
        late.len() as f64 / n as f64,
        0.05,
        0.05_f64.sqrt(),
        n as f64,
    );
    // The packets that are delayed near the end are followed by fewer than seven packets.
    assert!(passed + 2 >= late.len(), "{passed} of {}", late.len());
}

#[test]
fn a_late_packet_arrives_even_if_none_passes_it() {
    let set = [
        ("probability", "1"),
        ("distance", "3"),
        ("patience", "20ms"),
    ];
    let order = order(&mut *build("reorder", &set), 10, 0);
    let expected: Vec<(Time, u64)> = (0..10).map(|seq| (MS(seq + 20), seq)).collect();
    assert_eq!(order, expected);
}

#[test]
fn a_late_packet_takes_longer_by_the_time_that_is_set() {
    let set = [("probability", "0.1"), ("by", "3ms")];
    let all = fates(&mut *build("reorder", &set), 50_000, MS(1));
    assert!(
        all.iter()
            .all(|fate| fate.1 == Time::ZERO || fate.1 == MS(3))
    );
    let late = all.iter().filter(|fate| fate.1 == MS(3)).count();
    near(late as f64 / 5e4, 0.1, 0.3, 5e4);
}

#[test]
fn acks_leave_by_number_and_by_time() {
    // An ACK arrives every ms, and every fourth ACK completes a batch.
    let by_number = [("packets", "4"), ("time", "1s")];
    let order_of = |set: &[(&str, &str)], n| order(&mut *build("ack_batch", set), n, flags::ACK);
    let expected = (0..12).map(|seq| (MS(seq / 4 * 4 + 3), seq));
    assert!(order_of(&by_number, 12).into_iter().eq(expected));
    let by_time = [("packets", "100"), ("time", "2500us")];
    let expected = (0..12).map(|seq| (MS(seq / 3 * 3) + US(2_500), seq));
    assert!(order_of(&by_time, 12).into_iter().eq(expected));
    // If a batch has eight ACKs of two flows, the impairment keeps only the newest ACK of each
    // flow.
    let thinned = [("packets", "8"), ("time", "1s"), ("keep", "newest")];
    let left = order_of(&thinned, 16);
    assert_eq!(left, [(MS(7), 6), (MS(7), 7), (MS(15), 14), (MS(15), 15)]);
    // The impairment does not hold data packets.
    let data = order(&mut *build("ack_batch", &by_number), 5, 0);
    assert_eq!(data.last(), Some(&(MS(4), 4)));
}

#[test]
fn a_policer_lets_its_rate_and_its_burst_pass() {
    // The packets arrive at 120 Mbit/s: 1500 bytes every 100 us.
    let set = [("rate", "30Mbit"), ("burst", "15000b")];
    let all = fates(&mut *build("police", &set), 100_000, US(100));
    let lost = |fate: &Fate| *fate == Fate::Lost(Cause::Policed);
    let passed = all.iter().filter(|fate| !lost(&fate.0)).count();
    // The policer accepts the burst, plus the bytes for which tokens arrive before the last packet
    // at 9.9999 s.
    assert_eq!(passed, (30e6 / 8.0 * 9.9999 + 15_000.0) as usize / 1_500);
    let first = all.iter().position(|fate| lost(&fate.0));
    assert_eq!(
        first,
        Some(13),
        "ten packets of the burst, and the tokens that come meanwhile"
    );
    let set = [("rate", "30Mbit"), ("burst", "15000b"), ("action", "mark")];
    let all = fates(&mut *build("police", &set), 100_000, US(100));
    assert_eq!(
        all.iter().filter(|fate| fate.0 == Fate::Goes).count(),
        passed
    );
    assert!(
        all.iter()
            .all(|fate| fate.0 == Fate::Goes || fate.0 == Fate::Marked)
    );
}

#[test]
fn middleboxes_bleach_hide_or_drop() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    let through = |action: &str| {
        let mut middlebox = build("ecn", &[("action", action)]);
        [NotEct, Ect1, Ect0, Ce].map(|ecn| {
            let mut packet = Packet::new(0, 1_500, ecn);
            let mut way = Way {
                now: Time::ZERO,
                due: Time::ZERO,
            };
            let fate = middlebox.meet(&mut packet, &mut way);
            (fate == Fate::Goes).then_some(packet.ecn)
        })
    };
    assert_eq!(through("bleach"), [Some(NotEct); 4]);
    assert_eq!(
        through("hide"),
        [Some(NotEct), Some(Ect1), Some(Ect0), Some(Ect0)]
    );
    assert_eq!(through("drop"), [Some(NotEct), None, None, None]);
}

#[test]
fn every_kind_has_netem_words_or_a_reason() {
    for entry in ENTRIES {
        match (entry.build.netem)(&complete_defaults(entry)) {
            Ok(netem) => {
                assert_eq!(netem.words[0].0, Time::ZERO, "{}", entry.name);
                assert!(netem.words.iter().all(|(_, words)| !words.is_empty()));
            }
            Err(refused) => assert!(!refused.message.is_empty() && !refused.expected.is_empty()),
        }
    }
}

#[test]
fn options_that_exclude_each_other_are_errors() {
    let wrong = [
        ("burst_loss", [("p", "0.1"), ("loss", "0.1")], "loss"),
        ("burst_loss", [("r", "0.1"), ("good_loss", "0")], "r"),
        ("burst_loss", [("loss", "0.9"), ("burst", "2")], "loss"),
        ("burst_loss", [("loss", "0.1"), ("bad_loss", "0.5")], "loss"),
        (
            "delay",
            [("steps", "1s 5ms"), ("keep_order", "true")],
            "steps",
        ),
        (
            "delay",
            [("steps", "0s 5ms, 0s 1ms"), ("keep_order", "true")],
            "steps",
        ),
        ("reorder", [("by", "1ms"), ("distance", "3")], "by"),
        (
            "jitter",
            [("distribution", "quantiles"), ("mean", "1ms")],
            "quantiles",
        ),
        (
            "jitter",
            [("distribution", "normal"), ("quantiles", "1ms, 2ms")],
            "quantiles",
        ),
        (
            "jitter",
            [("distribution", "quantiles"), ("quantiles", "2ms, 1ms")],
            "quantiles",
        ),
        (
            "jitter",
            [("distribution", "wifi"), ("coherence", "1ms")],
            "coherence",
        ),
    ];
    for (kind, set, at) in wrong {
        let errors = impairment_options(kind, &set).expect_err(kind);
        assert_eq!(errors[0].option, at, "{kind} {set:?}");
    }
    // The parser reports every error, not only the first.
    let set = [("p", "0.1"), ("loss", "0.1"), ("burst", "4")];
    let errors = impairment_options("burst_loss", &set).expect_err("burst_loss");
    assert_eq!(errors.len(), 2);
}

#[test]
fn a_tunnel_combines_marks_as_its_rfc_says() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    let fields = [NotEct, Ect0, Ect1, Ce];
    // The table of RFC 6040, figure 4. The table has a row for each inner header and a column for
    // each outer header. `None` means a drop.
    let of_6040 = [
        [Some(NotEct), Some(NotEct), Some(NotEct), None],
        [Some(Ect0), Some(Ect0), Some(Ect1), Some(Ce)],
        [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)],
        [Some(Ce); 4],
    ];
    // RFC 3168 section 9.1.1: of the codepoints of the outer header, the egress copies only CE to
    // the inner header. The ingress clears CE in the outer header. So a packet is CE-marked after
    // the egress only if the inner header was CE-marked.
    let of_3168 = [
        of_6040[0],
        [Some(Ect0), Some(Ect0), Some(Ect0), Some(Ce)],
        of_6040[2],
        of_6040[3],
    ];
    let ingress = [
        ("normal", fields, of_6040),
        ("compatibility", [NotEct; 4], of_6040),
        ("full-functionality", [NotEct, Ect0, Ect1, Ect0], of_3168),
    ];
    for (mode, outers, table) in ingress {
        let mut begin = build("tunnel", &[("end", "ingress"), ("mode", mode)]);
        let mut end = build("tunnel", &[("end", "egress"), ("mode", mode)]);
        let mut way = Way {
            now: Time::ZERO,
            due: Time::ZERO,
        };
        for (row, inner) in fields.into_iter().enumerate() {
            for (column, outer) in fields.into_iter().enumerate() {
                let mut packet = Packet::new(0, 1_500, inner);
                packet.flags = flags::CWR | flags::WASHED;
                begin.meet(&mut packet, &mut way);
                assert_eq!(packet.ecn, outers[row], "{mode}: {inner:?}");
                packet.ecn = outer;
                let fate = end.meet(&mut packet, &mut way);
                let left = (fate == Fate::Goes).then_some(packet.ecn);
                assert_eq!(left, table[row][column], "{mode}: {inner:?} in {outer:?}");
                assert_eq!(packet.flags, flags::CWR | flags::WASHED);
            }
        }
        // A second ingress has no effect. An egress without an ingress has no effect either.
        let mut packet = Packet::new(0, 1_500, Ce);
        assert_eq!(end.meet(&mut packet, &mut way), Fate::Goes);
        assert_eq!((packet.ecn, packet.inner_ecn()), (Ce, None));
        packet.set_inner_ecn(Some(Ect1));
        begin.meet(&mut packet, &mut way);
        assert_eq!((packet.ecn, packet.inner_ecn()), (Ce, Some(Ect1)));
    }
}

#[test]
fn two_paths_reorder_across_and_not_within() {
    let set = [("spread", "turns"), ("share", "0.25"), ("delay", "2500us")];
    let all = fates(&mut *build("two_paths", &set), 8, MS(1));
    let delays: Vec<u64> = all.iter().map(|fate| fate.1.ns() / 1_000).collect();
    assert_eq!(delays, [0, 0, 0, 2_500, 0, 0, 0, 2_500]);

    let set = [("spread", "random"), ("share", "0.25")];
    let n = 100_000;
    let all = fates(&mut *build("two_paths", &set), n, US(10));
    let second = all.iter().filter(|fate| fate.1 == MS(5)).count() as f64;
    near(
        second / n as f64,
        0.25,
        0.25_f64.sqrt() * 0.75_f64.sqrt(),
        n as f64,
    );

    // A flowlet chooses its path at random, but only after a gap. If packets are sent at shorter
    // intervals than this gap, they stay on one path. If packets are sent at intervals of this gap,
    // each packet chooses a path at random.
    let changes = |every: Time| {
        let set = [("spread", "flowlets"), ("gap", "1ms")];
        let all = fates(&mut *build("two_paths", &set), 10_000, every);
        all.windows(2).filter(|pair| pair[0].1 != pair[1].1).count() as f64
    };
    assert_eq!(changes(US(500)), 0.0);
    near(changes(MS(1)) / 9_999.0, 0.5, 0.5, 9_999.0);
}
