//! Laws of slow start: what ends it, and what its overshoot costs.

mod common;

use common::*;
use tailback_engine::registry::Value;
use tailback_engine::units::Time;
use tailback_record::Outcome;
use tailback_record::account::SlowStart;

const RATE: u64 = 50_000_000;
const RTT: Time = Time::from_ms(100);
/// What the path holds, segments of 1514 bytes.
const ROOM: f64 = 50e6 * 0.1 / 8.0 / 1514.0;

/// One flow into a buffer of so many times what the path holds, for so long.
fn start(cc: &str, word: &'static str, buffer: f64, seconds: u64) -> (Outcome, SlowStart) {
    let limit = Value::Packets((ROOM * buffer) as u64);
    let outcome = run(network(&plan(
        Time::from_secs(seconds),
        vec![link(RATE, "fifo", &[("limit", limit)])],
        vec![flow("f", cc, RTT, &[("slow_start", Value::Word(word))])],
    )));
    let end = outcome.flows[0].account.slow_start.clone();
    (outcome, *end.expect("slow start ended"))
}

/// Slow start doubles into a full buffer. A round trip passes before the first loss is known, in
/// which it doubles once more: the window is then twice what path and buffer hold, and the second
/// half of it, as much as they hold, is lost.
#[test]
fn slow_start_loses_what_path_and_buffer_hold() {
    for cc in ["reno", "cubic"] {
        for buffer in [1.0, 2.0, 4.0, 8.0] {
            let (_, end) = start(cc, "none", buffer, 5);
            assert_eq!((end.why.as_str(), end.settled), ("dupthresh", true));
            let held = ROOM * (1.0 + buffer);
            let (window, lost) = (f64::from(end.cwnd) / held, end.lost as f64 / held);
            assert!((window - 2.0).abs() < 0.02, "{buffer}: window {window}");
            assert!((lost - 1.0).abs() < 0.02, "{buffer}: lost {lost}");
        }
    }
}

/// HyStart sees the train of ACKs grow while the window passes what the path holds: it leaves within
/// the round, and loses nothing where the buffer is as large.
#[test]
fn hystart_leaves_within_the_round() {
    for cc in ["reno", "cubic"] {
        let (_, end) = start(cc, "hystart", 1.0, 5);
        assert_eq!((end.why.as_str(), end.lost), ("hystart_train", 0), "{cc}");
        let window = f64::from(end.cwnd) / ROOM;
        assert!((1.0..=2.0).contains(&window), "{cc}: {window}");
    }
}

/// HyStart++ learns of a queue from the RTT of a round that has been sent already: at twice what
/// the path holds at the latest it slows down, one doubling later, and five rounds of a quarter each
/// multiply that by 3.05 (1.25 to the power of 5).
#[test]
fn hystart_plus_plus_leaves_six_rounds_later() {
    let rounds = libm::pow(1.25, 5.0);
    for cc in ["reno", "cubic"] {
        let (_, end) = start(cc, "hystart++", 16.0, 5);
        assert_eq!((end.why.as_str(), end.lost), ("hystart++", 0), "{cc}");
        let window = f64::from(end.cwnd) / ROOM / rounds;
        assert!((2.0..=4.0).contains(&window), "{cc}: {window}");
    }
}

/// SEARCH ends slow start without a loss where the buffer holds a few round trips, goes down to what
/// the path holds, and keeps the link busy from then on.
#[test]
fn search_keeps_what_the_path_holds() {
    for cc in ["reno", "cubic"] {
        let (outcome, end) = start(cc, "search", 8.0, 5);
        assert_eq!((end.why.as_str(), end.lost), ("search", 0), "{cc}");
        assert_eq!(outcome.links[0].counts.drops(), 0, "{cc}");
        let (plain, _) = start(cc, "none", 8.0, 5);
        let busy = outcome.links[0].bytes as f64 / plain.links[0].bytes as f64;
        assert!(busy > 0.999, "{cc}: {busy} of what a full buffer sends");
        // The queue that the overshoot left is gone: five seconds on the mean is a fraction of it.
        let mean = |outcome: &Outcome| outcome.links[0].delay.mean().expect("packets");
        assert!(mean(&outcome) < mean(&plain) / 5.0, "{cc}");
    }
}

/// What is lost of the segments that were in flight when slow start ended counts as its overshoot,
/// though nothing had been found lost by then.
#[test]
fn the_overshoot_is_counted_to_its_end() {
    for (buffer, lost) in [(2.0, true), (8.0, false)] {
        let (outcome, end) = start("reno", "search", buffer, 5);
        assert_eq!(end.why, "search");
        assert!(end.settled);
        assert_eq!(end.lost > 0, lost, "{buffer}");
        assert_eq!(end.lost, outcome.links[0].counts.drops(), "{buffer}");
    }
}
