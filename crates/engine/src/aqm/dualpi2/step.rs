//! Warns if the step threshold is so low that L would get too little of the link's rate. If the
//! threshold is below two packet times, the queue marks each packet that has another packet in
//! front of it.

use crate::registry::Value;
use crate::registry::rules::{At, Finding, Placed, Rules};
use crate::units::Time;

pub(super) const RULES: Rules = Rules {
    at_link,
    ..Rules::NONE
};

fn at_link(placed: &Placed<'_>) -> Vec<Finding> {
    let options = placed.options;
    let [some_ecn, some_ect1] = placed.ecn;
    let low_latency = some_ect1 || some_ecn && options.bool("any_ect");
    let (Some(Value::Time(threshold)), true) =
        (options.get("step_thresh"), low_latency && placed.rate.0 > 0)
    else {
        return Vec::new();
    };
    // How many packets L may hold without a step mark.
    let least = options.int("min_qlen_step");
    let alone = least + i64::from(options.word("step_rule") == "dequeue");
    let packet = placed.rate.time_for(u64::from(placed.frame));
    let pairs_pass = placed.burst.0 >= u64::from(placed.frame);
    if *threshold >= Time(2 * packet.0) || alone >= 2 || pairs_pass {
        return Vec::new();
    }
    vec![Finding {
        at: At::Option("step_thresh"),
        warning: true,
        message: format!(
            "step_thresh = {threshold} is below two packet times of the link, {} us each: if two packets arrive together, the second may be marked because it waits for the first. A scalable flow then gets far less than its share",
            packet.0 / 1_000
        ),
        expected: "min_qlen_step = 2, burst = \"tc\" at the link, or a larger step_thresh",
    }]
}
