//! The effect of SCE on the curve, computed by hand.

use super::*;

/// C of RFC 9438 as Linux has it, 410/1024.
fn rise_by_hand(seconds: f64) -> f64 {
    410.0 / 1024.0 * seconds * seconds * seconds
}

/// A curve that began at 0 with its inflection point `k` ticks (1/1024 s) later, levelled off by a
/// share of 2 of 10 at a time in jiffies: start, k and origin then.
fn levelled(k: u64, now: u64, share: u64) -> (Option<u64>, u64, f64) {
    let mut cc = CubicSce {
        cubic: Cubic::new(Backoff::same(717, 1024)),
        beta: 717,
        beta_sce: 896,
        unit_quirk: 0,
        root: 10,
        recent_sce: 0,
        prior_una: 0,
    };
    cc.cubic.epoch.start = Some(0);
    cc.cubic.epoch.k = k;
    cc.cubic.epoch.origin = 5_000;
    cc.level_off(0, now, share);
    let epoch = &cc.cubic.epoch;
    (epoch.start, epoch.k, f64::from(epoch.origin) - 5_000.0)
}

#[test]
fn below_the_inflection_point_the_time_that_is_left_shrinks() {
    // 20,480 ticks are 20 s; after 4 s 16 are left, of which eight tenths stay.
    let (start, k, moved) = levelled(20_480, 4_000, 2);
    assert_eq!((start, k), (Some(4_000), 16_384 * 8 / 10));
    let lower = rise_by_hand(16.0) - rise_by_hand(12.8);
    assert!((moved + lower).abs() < 2.0, "{moved}, not {lower} down");
}

#[test]
fn beyond_it_the_time_that_has_passed_shrinks() {
    // 5 s and 15 s more.
    let (start, k, moved) = levelled(5_120, 20_000, 2);
    assert_eq!((start, k), (Some(5_000), 15_360 * 2 / 10));
    let higher = rise_by_hand(15.0) - rise_by_hand(12.0);
    assert!((moved - higher).abs() < 2.0, "{moved}, not {higher} up");
    // A share of 1: none of the time has passed.
    let (start, k, moved) = levelled(5_120, 20_000, 10);
    assert_eq!((start, k), (Some(5_000), 15_360));
    assert!((moved - rise_by_hand(15.0)).abs() < 2.0, "{moved}");
}

/// `if (t < ca->bic_K)` in tcp_cubic_sce.c.
#[test]
fn at_the_inflection_point_the_curve_begins_where_it_was() {
    // A tick is less than a jiffy: k of one tick is over in the jiffy 0.
    assert_eq!(levelled(1, 1, 2), (Some(0), 0, 0.0));
}
