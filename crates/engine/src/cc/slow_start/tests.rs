//! Tests HyStart++, SEARCH, and the option `slow_start` of Reno and CUBIC. The values for HyStart++
//! were computed by hand from RFC 9406 section 4, and the values for SEARCH from the arithmetic of
//! its draft.

use super::*;
use crate::cc::testing::{Host, options};
use crate::cc::{cubic, reno};
use crate::registry::{Entry, defaults};
use crate::units::Time;

const WORDS: [&str; 6] = [
    "hystart",
    "hystart++",
    "search",
    "careful-resume",
    "rapid-start",
    "none",
];

/// Returns the options of Reno with this value of `slow_start`. For Careful Resume, the saved
/// parameters are also set.
fn reno_with(word: &'static str, saved: (i64, u64)) -> Options {
    let mut set = vec![("slow_start", Value::Word(word))];
    if word == "careful-resume" {
        set.push(("saved_window", Value::Int(saved.0)));
        set.push(("saved_rtt", Value::Time(Time::from_ms(saved.1))));
    }
    options(&reno::ENTRY, &set)
}

fn host(word: &'static str, rtt: u64) -> Host {
    let options = options(&reno::ENTRY, &[("slow_start", Value::Word(word))]);
    Host::new((reno::ENTRY.build)(&options), 10, Time::from_ms(rtt))
}

/// Returns the window after each round. Round i has the RTT `rtts[i]` in us.
fn windows(host: &mut Host, rtts: &[u64]) -> Vec<u32> {
    let round = |host: &mut Host, rtt: u64| {
        host.rtt = Time::from_us(rtt);
        host.round();
        host.window.cwnd
    };
    rtts.iter().map(|rtt| round(host, *rtt)).collect()
}

/// RttThresh is 1/8 of the smallest RTT in the last round. In this test, RttThresh is 1/8 of 40 ms,
/// which is 5 ms. In conservative slow start (CSS), an ACK increases the window by a quarter of a
/// segment. HyStart++ decides at the eighth sample of a round. So each of the first seven ACKs
/// increases the window by a full segment.
#[test]
fn a_rise_by_an_eighth_slows_down() {
    let mut below = host("hystart++", 40);
    assert_eq!(
        windows(&mut below, &[40_000, 40_000, 44_999]),
        [20, 40, 80],
        "4.999 ms are no rise"
    );
    let mut rise = host("hystart++", 40);
    // Of 40 ACKs, 7 increase the window by a segment each, and 33 by a quarter of a segment each.
    assert_eq!(
        windows(&mut rise, &[40_000, 40_000, 45_000]),
        [20, 40, 40 + 7 + 33 / 4]
    );
}

#[test]
fn the_rise_is_between_4_and_16_ms() {
    for (rtt, least) in [(8_000, 4_000), (400_000, 16_000)] {
        for (rise, window) in [(least - 1, 80), (least, 55)] {
            let mut host = host("hystart++", 0);
            let last = windows(&mut host, &[rtt, rtt, rtt + rise])[2];
            assert_eq!(last, window, "{rise} us more than {rtt} us");
        }
    }
}

/// HyStart++ decides after eight RTT samples of a round. So the eighth ACK is the first that
/// increases the window by a quarter of a segment.
#[test]
fn eight_samples_decide() {
    let mut host = host("hystart++", 40);
    host.round();
    host.rtt = Time::from_ms(60);
    let grown = [1, 6, 1, 3, 1].map(|acks| {
        let before = host.window.cwnd;
        (0..acks).for_each(|_| host.ack(1));
        host.window.cwnd - before
    });
    assert_eq!(grown, [1, 6, 0, 1, 0]);
}

/// Conservative slow start lasts five rounds, including the round in which it begins. When
/// conservative slow start ends, ssthresh is set to the window.
#[test]
fn five_conservative_rounds_end_slow_start() {
    let mut host = host("hystart++", 40);
    windows(&mut host, &[40_000, 40_000, 50_000]);
    let mut expected = 55;
    for _ in 0..4 {
        assert_eq!(host.window.ssthresh, crate::cc::INFINITE_SSTHRESH);
        let before = host.window.cwnd;
        windows(&mut host, &[50_000]);
        expected = before + before / 4;
        assert!(
            host.window.cwnd.abs_diff(expected) <= 1,
            "a quarter a round"
        );
    }
    host.ack(1);
    assert_eq!(host.window.left_slow_start, Some("hystart++"));
    assert!(host.window.ssthresh.abs_diff(expected) <= 1);
    let end = host.window.ssthresh;
    host.round();
    assert!(host.window.cwnd <= end + 1, "congestion avoidance");
}

/// If the RTT falls below the baseline, the rise was only jitter, and slow start continues.
#[test]
fn a_rise_that_passes_was_none() {
    let mut host = host("hystart++", 40);
    let windows = windows(&mut host, &[40_000, 40_000, 46_000, 45_999, 45_999]);
    // In the fourth round, the first seven of 55 ACKs are in conservative slow start. A quarter of
    // a segment is left over from the third round. The eighth sample shows that the RTT did not
    // rise. So the other 48 ACKs increase the window by a segment each.
    assert_eq!(windows[..3], [20, 40, 55]);
    assert_eq!(windows[3], 55 + (1 + 7) / 4 + 48);
    assert_eq!(windows[4], 2 * windows[3]);
    assert_eq!(host.window.left_slow_start, None);
}

/// After the first reduction, HyStart++ no longer affects slow start (section 4.3).
#[test]
fn only_in_the_first_slow_start() {
    let mut host = host("hystart++", 40);
    windows(&mut host, &[40_000, 40_000]);
    host.timeout();
    let rtts = [40_000, 40_000, 60_000, 60_000];
    let plain = {
        let mut host = self::host("none", 40);
        windows(&mut host, &[40_000, 40_000]);
        host.timeout();
        windows(&mut host, &rtts)
    };
    assert_eq!(windows(&mut host, &rtts), plain);
}

/// If packets are not paced, an ACK increases the window by at most eight segments.
#[test]
fn a_stretched_ack_counts_for_eight() {
    let grown = |rate: u64, word| {
        let mut host = host(word, 40);
        host.window.pacing_rate = rate;
        host.ack(10);
        host.window.cwnd - 10
    };
    assert_eq!(grown(0, "hystart++"), 8);
    assert_eq!(grown(1_000_000, "hystart++"), 10);
    assert_eq!(grown(0, "none"), 10);
}

/// Returns a sender on a path that delivers `room` segments per 100 ms and has an unlimited queue.
/// The path delivers each window within a round trip, until the window exceeds `room`. Then the
/// queue grows.
fn path(word: &'static str, room: u32) -> Host {
    let mut host = host(word, 100);
    for _ in 0..12 {
        let window = host.flight.in_flight();
        let rtt = 100_000 * u64::from(window.max(room)) / u64::from(room);
        host.rtt = Time::from_us(rtt);
        host.round();
        if host.window.left_slow_start.is_some() {
            break;
        }
    }
    host
}

/// SEARCH ends slow start once about a quarter of the sent segments is not delivered in time. The
/// window then falls to the number of segments that the path delivers in the time of the first RTT.
#[test]
fn search_ends_at_what_the_path_holds() {
    for room in [200, 1_000, 5_000] {
        let host = path("search", room);
        assert_eq!(host.window.left_slow_start, Some("search"), "{room}");
        let share = f64::from(host.window.ssthresh) / f64::from(room);
        // A bin lasts 0.35 of the first RTT, so three bins last 1.05 of the first RTT.
        assert!((share - 1.05).abs() < 0.06, "{room}: {share}");
    }
}

/// While the window shrinks, one segment is sent for every two that are delivered, and the window
/// does not grow.
#[test]
fn search_drains_by_half() {
    let mut host = path("search", 1_000);
    let (from, target) = (host.window.cwnd, host.window.ssthresh);
    assert!(from > target + 200, "{from} and {target}");
    host.ack(100);
    assert_eq!(host.window.cwnd, from - 50);
    host.round();
    assert_eq!(host.window.cwnd.clamp(target, target + 1), host.window.cwnd);
    let mut reduced = path("search", 1_000);
    reduced.lose();
    let after = reduced.window.ssthresh;
    reduced.round();
    reduced.round();
    assert!(reduced.window.ssthresh == after && reduced.window.cwnd <= after + 1);
}

#[test]
fn search_waits_for_the_path() {
    let host = path("search", 1 << 30);
    assert_eq!(
        (host.window.left_slow_start, host.window.cwnd),
        (None, 10 << 12)
    );
}

#[test]
fn reno_has_the_hystart_of_cubic() {
    let leave = |entry: &Entry<crate::cc::Build>, rtts: &[u64]| {
        let options = options(entry, &[("slow_start", Value::Word("hystart"))]);
        let mut host = Host::new((entry.build)(&options), 10, Time::from_us(rtts[0]));
        windows(&mut host, rtts);
        (host.window.left_slow_start, host.window.ssthresh)
    };
    for (rtts, expected) in [
        ([40_000, 40_000, 40_000], "hystart_train"),
        ([400_000, 400_000, 417_000], "hystart_delay"),
    ] {
        let (why, at) = leave(&reno::ENTRY, &rtts);
        assert_eq!((why, at), leave(&cubic::ENTRY, &rtts));
        assert_eq!(why, Some(expected));
    }
}

/// Both spellings of a setting give identical options. Contradictory settings are an error.
#[test]
fn cubic_has_one_spelling_of_each() {
    let complete = |set: &[(&'static str, Value)]| {
        let mut options = defaults(cubic::ENTRY.options);
        for (name, value) in set {
            options.set(name, value.clone());
        }
        (cubic::ENTRY.finish)(&mut options).map(|()| options)
    };
    let off = ("hystart", Value::Bool(false));
    let word = |word| ("slow_start", Value::Word(word));
    assert_eq!(complete(&[word("hystart")]), complete(&[]));
    assert_eq!(
        complete(&[word("none")]),
        complete(std::slice::from_ref(&off))
    );
    let (search, again) = (
        complete(&[word("search")]),
        complete(&[word("search"), off.clone()]),
    );
    assert_eq!(search, again);
    assert_ne!(search, complete(&[]));
    let errors = complete(&[word("hystart"), off]).expect_err("a contradiction");
    assert_eq!(errors[0].option, "slow_start");
}

/// Returns a Reno connection with this saved window and RTT. One round of 100 ms has passed.
fn resumed(saved: (i64, u64)) -> Host {
    let options = reno_with("careful-resume", saved);
    let mut host = Host::new((reno::ENTRY.build)(&options), 10, Time::from_ms(100));
    host.round();
    host
}

/// Once the initial window has been acknowledged, the window jumps to half of the saved window.
/// After this jump, packets are paced over an RTT.
#[test]
fn careful_resume_jumps_to_half_of_the_saved_window() {
    let mut host = resumed((1_000, 100));
    assert_eq!(host.window.cwnd, 500);
    assert_eq!(host.window.pacing_rate, 500 * 1448 * 10);
    // The host sends the whole window at once, so the phase ends at the next ACK.
    host.ack(1);
    assert!(host.window.paced_by_stack);
    assert!(
        (499..=501).contains(&host.window.cwnd),
        "{}",
        host.window.cwnd
    );
    host.round();
    host.round();
    assert!(
        host.window.cwnd > 900,
        "slow start goes on: {}",
        host.window.cwnd
    );
}

/// The path has changed if the RTT is at most half of the saved RTT, or more than ten times as
/// long.
#[test]
fn careful_resume_wants_the_saved_rtt() {
    for (saved, window) in [(200, 20), (199, 500), (10, 500), (9, 20)] {
        assert_eq!(resumed((1_000, saved)).window.cwnd, window, "{saved} ms");
    }
    // Half of the saved window is not larger than the window in slow start, so there is no jump.
    assert_eq!(resumed((40, 100)).window.cwnd, 20);
}

/// After a loss during the jump, ssthresh is half of PipeSize instead of half of the window.
#[test]
fn careful_resume_retreats_to_half_of_the_pipe() {
    let mut host = resumed((1_000, 100));
    host.ack(1);
    host.ack(20);
    host.lose();
    // 18 segments were in flight at the jump, and 21 segments have been acknowledged since then.
    assert_eq!(host.window.ssthresh, (18 + 21) / 2);
}

/// Careful Resume needs both saved parameters. Other algorithms reject them.
#[test]
fn careful_resume_needs_what_it_remembers() {
    let finish = |set: &[(&'static str, Value)]| {
        let mut options = defaults(reno::ENTRY.options);
        for (name, value) in set {
            options.set(name, value.clone());
        }
        let errors = (reno::ENTRY.finish)(&mut options).err().unwrap_or_default();
        errors.iter().map(|error| error.option).collect::<Vec<_>>()
    };
    let word = ("slow_start", Value::Word("careful-resume"));
    let (window, rtt) = (
        ("saved_window", Value::Int(10)),
        ("saved_rtt", Value::Time(Time::from_ms(1))),
    );
    assert_eq!(finish(std::slice::from_ref(&word)), ["slow_start"; 2]);
    assert_eq!(finish(&[word.clone(), window.clone()]), ["slow_start"]);
    assert_eq!(finish(std::slice::from_ref(&window)), ["saved_window"]);
    assert_eq!(finish(&[word, window, rtt]), [""; 0]);
}

/// The window triples each round. The window only doubles if the RTT rises by more than a tenth, or
/// by 4 ms.
#[test]
fn rapid_start_triples_without_a_queue() {
    let mut host = host("rapid-start", 20);
    assert_eq!(windows(&mut host, &[20_000, 20_000, 22_000]), [30, 90, 270]);
    assert_eq!(windows(&mut host, &[22_001, 20_000]), [540, 1_620]);
    let mut far = self::host("rapid-start", 100);
    assert_eq!(
        windows(&mut far, &[100_000, 104_000, 104_001]),
        [30, 90, 180]
    );
}

/// The first window is paced over one RTT. Later windows are paced at 5/3 of cwnd/srtt.
#[test]
fn rapid_start_paces() {
    let mut host = host("rapid-start", 100);
    assert!(host.window.pace_first && host.needs.pacing);
    assert_eq!(host.window.pacing_rate, 10 * 1448 * 10);
    host.round();
    host.ack(1);
    let before = u64::from(host.window.cwnd) - 2;
    assert_eq!(host.window.pacing_rate, before * 1448 * 10 * 5 / 3);
}

/// After the first recovery, ssthresh is beta times the number of segments that the path has
/// delivered. This rule applies to every number of losses. ssthresh is at least beta/3 of the
/// window. So ssthresh does not fall further if less than a third of the segments is delivered.
#[test]
fn rapid_start_ends_at_beta_times_the_path() {
    for (window, delivered, expected) in [
        (900, 900, 450),
        (900, 450, 225),
        (900, 300, 150),
        (900, 100, 150),
    ] {
        let mut host = host("rapid-start", 100);
        host.window.cwnd = window;
        let lost = window - delivered;
        let mut rapid = rapid_start::RapidStart::default();
        rapid.init(host.conn.view(&host.flight), &mut host.window);
        host.flight.nxt = host.flight.una + u64::from(window);
        let view = host.conn.view(&host.flight);
        host.window.ssthresh = rapid.ssthresh(view, &host.window, window / 2);
        assert_eq!(host.window.ssthresh, 750, "silence: 5/6");
        host.conn.ca_state = crate::cc::CaState::Recovery;
        let mut acks = 0;
        while rapid.take_path().is_none() {
            acks += 1;
            host.conn.delivered += u64::from(delivered / 50);
            host.flight.lost_out += lost / 50;
            let view = host.conn.view(&host.flight);
            rapid.pkts_acked(view, &mut host.window, &Ack::default());
        }
        assert_eq!(
            (host.window.ssthresh, acks),
            (expected, 50),
            "{delivered} of {window}"
        );
    }
}

/// After a timeout, ssthresh is half of the window, and not the value that a first recovery
/// computes. ssthresh is at least two segments.
#[test]
fn rapid_start_ends_at_a_timeout() {
    for (window, expected) in [(100, 50), (1, 2)] {
        let mut host = host("rapid-start", 100);
        host.window.cwnd = window;
        host.timeout();
        assert_eq!((host.window.cwnd, host.window.ssthresh), (1, expected));
        assert!(host.window.paced_by_stack);
    }
}

#[test]
fn every_word_makes_its_own() {
    let Kind::Word(words) = option(None, "").kind else {
        panic!("no words");
    };
    assert_eq!(words, WORDS);
    let made = WORDS.map(|word| {
        let made = SlowStart::of(&reno_with(word, (100, 100)));
        std::mem::discriminant(&made)
    });
    for (i, kind) in made.iter().enumerate() {
        assert!(!made[i + 1..].contains(kind), "{}", WORDS[i]);
    }
}
