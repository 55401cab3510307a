//! Tests why slow start ends, and how many packets are lost because slow start overshoots.

mod common;

use common::*;
use tailback_engine::registry::Value;
use tailback_engine::units::Time;
use tailback_record::Outcome;
use tailback_record::account::SlowStart;

const RATE: u64 = 50_000_000;
const RTT: Time = Time::from_ms(100);
/// Bandwidth-delay product of the path, in frames of 1514 bytes.
const ROOM: f64 = 50e6 * 0.1 / 8.0 / 1514.0;

/// Runs one flow for `seconds` seconds into a buffer of `buffer` times the path's capacity.
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

/// Slow start doubles the window until the buffer is full. The sender learns of the first loss a
/// round trip later, and doubles the window once more until then. So the window becomes twice the
/// capacity of path and buffer, and half of it is lost.
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

/// HyStart detects that a train of ACKs gets longer when the window exceeds the path's capacity.
/// HyStart leaves slow start within this round. If the buffer is as large as the path's capacity,
/// no segment is lost.
#[test]
fn hystart_leaves_within_the_round() {
    for cc in ["reno", "cubic"] {
        let (_, end) = start(cc, "hystart", 1.0, 5);
        assert_eq!((end.why.as_str(), end.lost), ("hystart_train", 0), "{cc}");
        let window = f64::from(end.cwnd) / ROOM;
        assert!((1.0..=2.0).contains(&window), "{cc}: {window}");
    }
}

/// HyStart++ detects a queue from the RTT of segments that were sent a round earlier. So HyStart++
/// slows down at most one doubling too late, when the window is twice the path's capacity. Then the
/// window grows by a quarter in each of five rounds, a factor of 3.05.
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

/// If the buffer is large enough for a few round trips, SEARCH ends slow start without a loss. The
/// window falls to the path's capacity and keeps the link busy.
#[test]
fn search_keeps_what_the_path_holds() {
    for cc in ["reno", "cubic"] {
        let (outcome, end) = start(cc, "search", 8.0, 5);
        assert_eq!((end.why.as_str(), end.lost), ("search", 0), "{cc}");
        assert_eq!(outcome.links[0].counts.drops(), 0, "{cc}");
        let (plain, _) = start(cc, "none", 8.0, 5);
        let busy = outcome.links[0].bytes as f64 / plain.links[0].bytes as f64;
        assert!(
            busy > 0.999,
            "{cc}: {busy} of the amount that a full buffer sends"
        );
        // After five seconds, the queue from the overshoot has drained. The mean queue is only a
        // fraction of that queue.
        let mean = |outcome: &Outcome| outcome.links[0].delay.mean().expect("packets");
        assert!(mean(&outcome) < mean(&plain) / 5.0, "{cc}");
    }
}

/// A loss among the segments that were in flight when slow start ended counts as overshoot, even if
/// it is detected only after the end.
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

/// Runs one Reno flow with these options. The flow's measurements cover the time from `from` to
/// `to` (both in ms).
fn start_with(set: &[(&'static str, Value)], buffer: f64, (from, to): (u64, u64)) -> Outcome {
    let limit = Value::Packets((ROOM * buffer) as u64);
    let mut p = plan(
        Time::from_ms(to),
        vec![link(RATE, "fifo", &[("limit", limit)])],
        vec![flow("f", "reno", RTT, set)],
    );
    p.warmup = Time::from_ms(from);
    run(network(&p))
}

/// Returns the options of a connection with a saved capacity of `saved` times the path's capacity.
fn resumed(saved: f64) -> [(&'static str, Value); 3] {
    [
        ("slow_start", Value::Word("careful-resume")),
        ("saved_window", Value::Int((saved * ROOM) as i64)),
        ("saved_rtt", Value::Time(RTT)),
    ]
}

/// Returns the share of the link that the flow uses in the first `ms` milliseconds. The first 250
/// ms are not included. During this time, the connection is established, the first window is sent,
/// and another half round trip passes.
fn share_of_full(outcome: &Outcome, ms: u64) -> f64 {
    let full = RATE * (ms - 250) / 8_000;
    outcome.links[0].bytes as f64 / full as f64
}

/// The saved capacity is twice the path's capacity. After the handshake and the first window, the
/// sender jumps to half of the saved capacity. The jump is paced over a round trip. From then on
/// the link is busy, and no segment is lost. Slow start needs seven rounds to fill the link.
#[test]
fn careful_resume_fills_the_link_in_its_third_round() {
    let resumed = start_with(&resumed(2.0), 1.0, (0, 450));
    let share = share_of_full(&resumed, 450);
    assert!((share - 1.0).abs() < 0.02, "{share}");
    assert_eq!(resumed.links[0].counts.drops(), 0);
    let slow = share_of_full(&start_with(&[], 1.0, (0, 450)), 450);
    assert!(slow < 0.1, "{slow}");
}

/// If the path's capacity has decreased, the jump exceeds it, and packets are dropped. The sender
/// then reduces its window to half of the data that the path has carried. This window is at most
/// the path's capacity.
#[test]
fn careful_resume_retreats() {
    let outcome = start_with(&resumed(8.0), 1.0, (0, 5_000));
    let first = &outcome.flows[0].account.listed[0];
    assert!(f64::from(first.from) > 4.0 * ROOM, "the jump: {first:?}");
    assert!(f64::from(first.to) < ROOM, "the retreat: {first:?}");
    assert_eq!(outcome.flows[0].timeouts, 0);
}

/// After Rapid Start's first reduction, the window is beta times the capacity of path and buffer,
/// however large the overshoot was.
#[test]
fn rapid_start_leaves_beta_times_what_path_and_buffer_hold() {
    for buffer in [0.5, 1.0, 2.0, 4.0] {
        let set = [("slow_start", Value::Word("rapid-start"))];
        let outcome = start_with(&set, buffer, (2_500, 3_500));
        let window = mean_window(&outcome, 0) / (ROOM * (1.0 + buffer));
        assert!((window - 0.5).abs() < 0.03, "{buffer}: {window}");
    }
}

/// Rapid Start reaches the link's rate sooner, because it triples the window in each round trip,
/// and slow start only doubles it.
#[test]
fn rapid_start_is_faster_than_slow_start() {
    let sent = |word| {
        let set = [("slow_start", Value::Word(word))];
        start_with(&set, 1.0, (0, 700)).links[0].bytes as f64
    };
    // Pacing the first window delays all later data by half a round trip. The larger third window
    // compensates for this delay.
    let ratio = sent("rapid-start") / sent("none");
    assert!(ratio > 1.4, "{ratio}");
}
