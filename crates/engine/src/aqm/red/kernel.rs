//! Writes the options of RED as arguments of tc (iproute2 `tc/q_red.c` and `tc/tc_red.c`). tc
//! computes the weight from its argument `burst`.

use super::burst::holds;
use crate::registry::Value;
use crate::registry::kernel::{Qdisc, Words, Xstats, derives, flag, number, only, simulated};

pub const KERNEL: Qdisc = Qdisc {
    kinds: &["red"],
    since: Some("2.2"),
    changes_whole: true,
    words: &[
        ("gentle", |w, o| absent(w, o, Value::Bool(false))),
        ("uniformise", |w, o| absent(w, o, Value::Word("linux"))),
        ("idle", |w, o| {
            let message = "below a shaper, RED of Linux never detects that the queue is idle";
            only(w, o, Value::Word("hold"), message);
        }),
        ("include_arriving", |w, o| absent(w, o, Value::Bool(false))),
        ("limit", bytes),
        ("min", bytes),
        ("max", bytes),
        ("avpkt", |w, o| {
            if w.showing {
                simulated(w, o)
            } else {
                bytes(w, o)
            }
        }),
        ("weight", weight),
        ("burst", derives),
        ("probability", probability),
        ("bandwidth", bandwidth),
        ("ecn", |w, o| flag(w, o, "ecn", "")),
        ("adaptive", |w, o| flag(w, o, "adaptive", "")),
    ],
    shown: &[
        "limit",
        "min",
        "max",
        "ecn",
        "adaptive",
        "weight",
        "probability",
    ],
    xstats: Xstats {
        marks: Some(&[12]),
        ..Qdisc::DEFAULT.xstats
    },
    ..Qdisc::DEFAULT
};

fn absent(words: &mut Words<'_>, option: &'static str, linux: Value) {
    only(
        words,
        option,
        linux,
        format!("RED of Linux has no {option}"),
    );
}

fn bytes(words: &mut Words<'_>, option: &'static str) {
    if !words.showing && words.bytes(option).is_none() {
        let expected = "a size in bytes such as \"64kb\"";
        words.refuse(option, "RED of Linux counts bytes", expected);
    }
    number(words, option);
}

/// Writes a burst from which tc computes this weight, because tc has no argument for the weight.
/// The kernel stores the negative binary logarithm of the weight, which is called Wlog.
fn weight(words: &mut Words<'_>, option: &'static str) {
    let weight = words.options.float(option);
    let wlog = wlog_of(weight);
    if words.showing {
        return match wlog {
            Some(wlog) => words.pair("ewma", &wlog.to_string()),
            None => simulated(words, option),
        };
    }
    let [Some(min), Some(max), Some(avpkt)] = ["min", "max", "avpkt"].map(|o| words.bytes(o))
    else {
        return;
    };
    let Some(wlog) = wlog else {
        let (below, above) = around(weight);
        let expected = match above {
            Some(above) => format!("weight = {below} or {above}"),
            None => format!("weight = {below}"),
        };
        return words.refuse(option, "tc supports only powers of two", expected);
    };
    let given = match words.options.get("burst") {
        Some(Value::Int(burst)) => Some(burst.unsigned_abs()),
        _ => None,
    };
    let Some(burst) = given.or_else(|| burst_of(min, avpkt, wlog)) else {
        let message = format!(
            "no burst gives this weight with min {min} and avpkt {avpkt} (tc derives Wlog from them)"
        );
        return words.refuse(option, message, "another weight, or min above avpkt");
    };
    // In the kernel, the average is a 32-bit number. The lowest Wlog bits of this number are the
    // fraction.
    if 64 - max.leading_zeros() + wlog >= 32 {
        let most = format!("max below {} bytes at this weight", 1_u64 << (31 - wlog));
        words.refuse("max", "it does not fit into the kernel's average", most);
    }
    words.pair("burst", &burst.to_string());
}

fn probability(words: &mut Words<'_>, option: &'static str) {
    if words.showing {
        return words.value(option);
    }
    let probability = words.options.float(option);
    let (min, max) = (
        words.bytes("min").unwrap_or(0),
        words.bytes("max").unwrap_or(0),
    );
    let delta = max.saturating_sub(min).max(1) as f64;
    if probability / delta * 2_147_483_648.0 <= 1.0 {
        let least = format!("at least {}", delta / 2_147_483_648.0);
        words.refuse(option, "tc cannot express a slope this small", least);
    }
    // tc stores the probability in 32 bits, into which a probability of 1 does not fit.
    let probability = probability.min(1.0 - 1.0 / 4_294_967_296.0);
    words.pair(option, &probability.to_string());
}

/// Writes the bandwidth. tc requires it, even though the average never decays if RED is below a
/// shaper.
fn bandwidth(words: &mut Words<'_>, option: &'static str) {
    if words.showing {
        return simulated(words, option);
    }
    let rate = match words.options.get(option) {
        Some(Value::Rate(rate)) => *rate,
        _ => words.rate,
    };
    words.pair(option, &format!("{}bit", rate.0));
}

/// If the weight equals 2^-n within 5 %, returns n. The smallest n that tc accepts is 1.
fn wlog_of(weight: f64) -> Option<u32> {
    (1..=30).find(|w| (weight * f64::from(1_u32 << w) - 1.0).abs() <= 0.05)
}

/// Returns the nearest weights below and above this weight that tc can set. Such weights are powers
/// of two.
fn around(weight: f64) -> (f64, Option<f64>) {
    let below = (1..=30)
        .map(|w| 1.0 / f64::from(1_u32 << w))
        .find(|p| *p <= weight)
        .unwrap_or(1.0 / f64::from(1_u32 << 30));
    (below, (below < 0.5).then_some(below * 2.0))
}

/// Returns the smallest burst (in packets) from which tc computes this exponent.
fn burst_of(min: u64, avpkt: u64, wlog: u32) -> Option<u64> {
    let min_packets = min as f64 / avpkt as f64;
    let holds = |burst: u64, wlog: u32| holds(min, avpkt, burst, wlog);
    // A longer burst needs a larger Wlog. So search for the smallest burst for which Wlog - 1 is
    // too small.
    let (mut low, mut high) = (min_packets.ceil() as u64, 1 << 31);
    if wlog > 1 {
        while low < high {
            let middle = low.midpoint(high);
            if holds(middle, wlog - 1) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
    }
    let burst = low.max(1);
    holds(burst, wlog).then_some(burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_gives_the_weight() {
        // For these bursts, `tc -d qdisc show` prints the third value as `ewma` (see tests/kernel).
        for (min, avpkt, wlog) in [(33_333, 1000, 9), (30_000, 1500, 9), (30_000, 1000, 1)] {
            let burst = burst_of(min, avpkt, wlog).unwrap();
            let weight = |w: u32| 1.0 / f64::from(1_u32 << w);
            let a = burst as f64 + 1.0 - min as f64 / avpkt as f64;
            let f = |w: u32| (1.0 - libm::pow(1.0 - weight(w), burst as f64)) / weight(w);
            assert!(a >= 1.0 && a <= f(wlog), "{min} {wlog}: {burst}");
            assert!(wlog == 1 || a > f(wlog - 1), "{min} {wlog}: {burst}");
        }
        // A threshold below one packet does not allow a burst.
        assert_eq!(burst_of(900, 1000, 9), None);
    }

    #[test]
    fn weights_are_powers_of_two() {
        assert_eq!(wlog_of(0.002), Some(9));
        assert_eq!(wlog_of(0.5), Some(1));
        assert_eq!(wlog_of(1.0), None);
        assert_eq!(wlog_of(0.0015), None);
        assert_eq!(around(0.0015), (1.0 / 1024.0, Some(1.0 / 512.0)));
        assert_eq!(around(1.0), (0.5, None));
    }
}
