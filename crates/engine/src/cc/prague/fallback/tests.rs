//! Tests the score of a classic queue with RTTs of both kinds of queue.

use super::*;
use crate::cc::view::{Conn, Flight};

/// Returns the least alpha after a second per 25 rounds of RTTs that alternate between `base` plus
/// or minus `swing`, in us.
fn least_alpha(bits: u32, unscaled: bool, base: u64, queue: u64, swing: u64) -> f64 {
    let mut fallback = Fallback::new(bits, unscaled);
    fallback.begin(Time::from_us(base));
    fallback.rescale(64);
    let conn = Conn {
        min_rtt: Time::from_us(base),
        ..Conn::default()
    };
    let flight = Flight::default();
    for _ in 0..200 {
        for i in 0..64 {
            let from = base + queue;
            let rtt = if i % 2 == 0 {
                from + swing
            } else {
                from - swing.min(queue)
            };
            fallback.sample(Time::from_us(rtt));
        }
        fallback.update(conn.view(&flight));
    }
    fallback.limited(0) as f64 / (1_u64 << bits) as f64
}

/// An RTT that varies by 0.2 ms is that of an L4S queue, and one that varies by 4 ms in a queue of
/// 8 ms is that of a classic queue. With reference values for 20 digits and 24 digits of alpha,
/// even the first seems classic.
#[test]
fn variation_and_delay_of_the_queue_decide() {
    for bits in [20, 24] {
        assert_eq!(least_alpha(bits, false, 10_000, 400, 200), 0.0, "{bits}");
        assert_eq!(
            least_alpha(bits, false, 10_000, 8_000, 4_000),
            0.625,
            "{bits}"
        );
    }
    assert_eq!(least_alpha(20, true, 10_000, 400, 200), 0.0);
    assert_eq!(least_alpha(24, true, 10_000, 400, 200), 0.625);
}

/// The larger one of alpha and the least alpha counts.
#[test]
fn alpha_is_limited_from_below() {
    let mut fallback = Fallback::new(20, false);
    fallback.score = fallback.floor() + (1 << 19);
    assert_eq!(fallback.limited(0), 327_680);
    assert_eq!(fallback.limited(1 << 20), 1 << 20);
    fallback.score = fallback.floor();
    assert_eq!(fallback.limited(5), 5);
}
