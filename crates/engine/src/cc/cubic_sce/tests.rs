//! Tests the effect of SCE on the curve against values computed by hand.

use super::*;

/// Returns C t^3 with Linux's C of 410/1024.
fn rise_by_hand(seconds: f64) -> f64 {
    410.0 / 1024.0 * seconds * seconds * seconds
}

/// Moves the inflection point of a curve that starts at time 0. At first, the inflection point is
/// `k` ticks (1/1024 s) after the start. The time between this point and `now` (jiffies) shrinks by
/// `share`/10. Returns the curve's new start and k, and by how much the window at the inflection
/// point rises.
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
    // The inflection point is at 20,480 ticks = 20 s. At 4 s, the inflection point is 16 s ahead.
    // SCE shrinks these 16 s to 8/10.
    let (start, k, moved) = levelled(20_480, 4_000, 2);
    assert_eq!((start, k), (Some(4_000), 16_384 * 8 / 10));
    let lower = rise_by_hand(16.0) - rise_by_hand(12.8);
    assert!((moved + lower).abs() < 2.0, "{moved}, not {lower} down");
}

#[test]
fn beyond_it_the_time_that_has_passed_shrinks() {
    // The inflection point was at 5 s, which is 15 s ago.
    let (start, k, moved) = levelled(5_120, 20_000, 2);
    assert_eq!((start, k), (Some(5_000), 15_360 * 2 / 10));
    let higher = rise_by_hand(15.0) - rise_by_hand(12.0);
    assert!((moved - higher).abs() < 2.0, "{moved}, not {higher} up");
    // With a share of 10/10, the time since the inflection point shrinks to 0.
    let (start, k, moved) = levelled(5_120, 20_000, 10);
    assert_eq!((start, k), (Some(5_000), 15_360));
    assert!((moved - rise_by_hand(15.0)).abs() < 2.0, "{moved}");
}

/// Tests the case `if (t < ca->bic_K)` of tcp_cubic_sce.c.
#[test]
fn at_the_inflection_point_the_curve_begins_where_it_was() {
    // A tick is shorter than a jiffy, so with k = 1 tick the inflection point is in jiffy 0.
    assert_eq!(levelled(1, 1, 2), (Some(0), 0, 0.0));
}
