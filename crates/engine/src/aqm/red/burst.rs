//! Computes the weight of the average from the option `burst`, as tc does (`tc/q_red.c` and
//! `tc/tc_red.c`).

use super::Unit;
use crate::registry::{OptionError, Options, Value};

/// The weight that is used if the scenario sets neither a weight nor a burst.
const WEIGHT: f64 = 0.002;

/// The exponents of the weight (Wlog) that tc accepts.
pub(super) const WLOG: std::ops::Range<u32> = 1..32;

/// Sets `weight`. If the scenario sets a burst, computes the weight from the burst. If `burst` is
/// "tc", first computes the burst as tc does. Both thresholds must already be set.
pub(super) fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let error = |option, message: String| Err(vec![OptionError { option, message }]);
    let Some(burst) = options.get("burst").cloned() else {
        options.set_default("weight", Value::Float(WEIGHT));
        return Ok(());
    };
    let bytes = |name| match options.get(name) {
        Some(Value::Bytes(bytes)) => bytes.0,
        _ => 0,
    };
    let [min, max, avpkt] = ["min", "max", "avpkt"].map(bytes);
    if Unit::of(options) == Unit::Packets || avpkt == 0 {
        let message = "burst counts packets of avpkt bytes: expected min and max in bytes";
        return error("burst", message.to_owned());
    }
    let burst = match burst {
        Value::Int(burst) => burst.unsigned_abs(),
        _ => (2 * u128::from(min) + u128::from(max)) as u64 / (3 * avpkt),
    };
    let Some(wlog) = wlog_of_burst(min, avpkt, burst) else {
        let least = 1 + min / avpkt;
        return error(
            "burst",
            format!("tc finds no weight for a burst of {burst} packets: expected at least {least}"),
        );
    };
    let weight = 1.0 / f64::from(1_u32 << wlog);
    if options
        .get("weight")
        .is_some_and(|given| *given != Value::Float(weight))
    {
        let message = "there are both weight and burst: expected one of them";
        return error("weight", message.to_owned());
    }
    options.set("weight", Value::Float(weight));
    options.set("burst", Value::Int(burst as i64));
    Ok(())
}

/// `tc_red_eval_ewma`: `burst` packets arrive at an empty queue. Returns the smallest Wlog with
/// which the average does not rise above `min`.
fn wlog_of_burst(min: u64, avpkt: u64, burst: u64) -> Option<u32> {
    WLOG.into_iter()
        .find(|wlog| holds(min, avpkt, burst, *wlog))
}

/// `burst` packets arrive at an empty queue, and the weight is W = 2^-`wlog`. Returns whether the
/// average stays at or below `min`. After `burst` samples of a growing queue, the average is `burst
/// + 1 - (1 - (1 - W)^burst) / W`.
pub(super) fn holds(min: u64, avpkt: u64, burst: u64, wlog: u32) -> bool {
    let weight = 1.0 / f64::from(1_u32 << wlog);
    let excess = burst as f64 + 1.0 - min as f64 / avpkt as f64;
    excess >= 1.0 && excess <= (1.0 - libm::pow(1.0 - weight, burst as f64)) / weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_tc() {
        // For these values, `tc -d qdisc show` prints "ewma 4".
        assert_eq!(wlog_of_burst(12_500, 1_000, 20), Some(4));
        // A burst of 55 packets exceeds min by 22.67 packets. A weight of 1/16 allows only 15.5
        // packets. A weight of 1/32 allows 26.4 packets, which is enough.
        assert_eq!(wlog_of_burst(33_333, 1_000, 55), Some(5));
        // For this burst, tc fails with "Try burst 13".
        assert_eq!(wlog_of_burst(12_500, 1_000, 12), None);
    }
}
