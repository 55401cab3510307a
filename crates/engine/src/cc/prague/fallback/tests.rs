//! Tests the score for classic ECN with RTTs that are typical of L4S queues and of classic queues.

use super::*;
use crate::cc::view::{Conn, Flight};

/// Returns the lower limit of alpha after 200 updates. Before each update, 64 RTTs are measured.
/// The RTTs alternate between `base` + `queue` + `swing` and `base` + `queue` - `swing` (in us).
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

/// An RTT that varies by 0.2 ms indicates an L4S queue. An RTT that varies by 4 ms indicates a
/// classic queue, if the queueing delay is 8 ms. If alpha has 24 binary digits but the reference
/// values have 20, every RTT seems to indicate a classic queue.
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

/// `limited` returns alpha or its lower limit, whichever is larger.
#[test]
fn alpha_is_limited_from_below() {
    let mut fallback = Fallback::new(20, false);
    fallback.score = fallback.floor() + (1 << 19);
    assert_eq!(fallback.limited(0), 327_680);
    assert_eq!(fallback.limited(1 << 20), 1 << 20);
    fallback.score = fallback.floor();
    assert_eq!(fallback.limited(5), 5);
}
