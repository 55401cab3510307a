//! The options of BBR, converted to the units of the model.

use super::share::Share;
use crate::cc::bbr_model::{Gain, tso_segs};
use crate::registry::{OptionError, Options, Value};
use crate::units::Time;

pub(super) const DRAFT_06: &str = "06";

/// Sets the gains whose default depends on whether BBR follows the draft or Google's branch.
pub(super) fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let gains = if options.word("draft") == DRAFT_06 {
        [2.77, 0.5, 0.9]
    } else {
        // In Google's branch, the gain of DRAIN is always 1000/2885. The gain of DRAIN does not
        // depend on the gain of STARTUP.
        [2.773, 0.3466, 0.91]
    };
    for (name, gain) in ["startup_gain", "drain_gain", "down_gain"]
        .into_iter()
        .zip(gains)
    {
        options.set_default(name, Value::Float(gain));
    }
    Ok(())
}

/// The L4S team's variant of BBR version 2, as a value of the option `version`.
pub(in crate::cc) const L4S: &str = "l4s";

/// Sets the defaults of version 2 that depend on the variant.
pub(in crate::cc) fn finish_version_2(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let l4s = options.word("version") == L4S;
    let defaults = [
        ("up_cwnd_gain", Value::Float(if l4s { 0.25 } else { 0.0 })),
        ("down_gain", Value::Float(if l4s { 0.91 } else { 0.75 })),
        ("ecn_response", Value::Bool(l4s)),
        (
            "ecn_max_rtt",
            Value::Time(if l4s { Time::ZERO } else { Time::from_ms(5) }),
        ),
    ];
    for (name, default) in defaults {
        options.set_default(name, default);
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub(super) struct Params {
    /// Whether BBR follows version 06 of the draft. If this field is false, BBR follows Google's
    /// branch.
    pub draft: bool,
    /// Whether this is BBR version 2 (`super::super::bbr2`).
    pub v2: bool,
    /// Whether this is the L4S team's variant of BBR version 2. If this field is true, `v2` is true
    /// as well.
    pub l4s: bool,
    /// Whether the whole state of BBR is sampled.
    pub trace: bool,
    pub startup_gain: Gain,
    /// The window in STARTUP and DRAIN, as a multiple of the bandwidth-delay product.
    pub startup_cwnd_gain: Gain,
    pub drain_gain: Gain,
    pub steady_gain: Gain,
    pub up_gain: Gain,
    pub up_cwnd_gain: Gain,
    pub down_gain: Gain,
    pub loss_threshold: Share,
    /// Share by which a bound falls after a round with losses.
    pub loss_cut: Share,
    pub headroom: Share,
    pub startup_losses: u32,
    pub probe_wait: Time,
    pub probe_wait_random: Time,
    pub probe_rounds: u32,
    pub min_rtt_window: Time,
    pub probe_rtt_interval: Time,
    pub probe_rtt_time: Time,
    pub probe_rtt_gain: Gain,
    pub min_window: u32,
    pub margin: u32,
    pub aggregates: bool,
    pub tso_segs: Option<u32>,
    pub ecn: bool,
    pub ecn_max_rtt: Time,
    pub ecn_threshold: Gain,
    pub ecn_factor: Gain,
    pub ecn_alpha_gain: Gain,
}

impl Params {
    pub(super) fn of(options: &Options) -> Params {
        Params {
            draft: options.word("draft") == DRAFT_06,
            up_cwnd_gain: Gain::rounded(options.float("up_cwnd_gain")),
            ..Params::shared(options, options.word("draft") == DRAFT_06)
        }
    }

    pub(super) fn version_2(options: &Options) -> Params {
        Params {
            v2: true,
            l4s: options.word("version") == L4S,
            startup_cwnd_gain: Gain::rounded(options.float("startup_cwnd_gain")),
            up_cwnd_gain: Gain::rounded(options.float("up_cwnd_gain")),
            ..Params::shared(options, false)
        }
    }

    /// Converts the options that BBR versions 2 and 3 share. With `fine`, shares are not rounded to
    /// multiples of 1/256.
    fn shared(options: &Options, fine: bool) -> Params {
        let whole = |name| options.int(name) as u32;
        let rounded = |name| Gain::rounded(options.float(name));
        let floored = |name| Gain::floored(options.float(name));
        let share = |value| {
            if fine {
                Share::fine(value)
            } else {
                Share::coarse(value)
            }
        };
        Params {
            draft: false,
            v2: false,
            l4s: false,
            trace: options.bool("trace"),
            startup_gain: rounded("startup_gain"),
            startup_cwnd_gain: Gain::TWO,
            drain_gain: floored("drain_gain"),
            steady_gain: rounded("cwnd_gain"),
            up_gain: rounded("up_gain"),
            up_cwnd_gain: Gain(0),
            down_gain: floored("down_gain"),
            loss_threshold: share(options.float("loss_threshold")),
            loss_cut: share(1.0 - options.float("beta")).rest(),
            headroom: share(options.float("headroom")),
            startup_losses: whole("startup_losses"),
            probe_wait: options.time("probe_wait"),
            probe_wait_random: options.time("probe_wait_random"),
            probe_rounds: whole("probe_rounds"),
            min_rtt_window: options.time("min_rtt_window"),
            probe_rtt_interval: options.time("probe_rtt_interval"),
            probe_rtt_time: options.time("probe_rtt"),
            probe_rtt_gain: rounded("probe_rtt_gain"),
            min_window: whole("min_window"),
            margin: whole("pacing_margin"),
            aggregates: options.bool("ack_aggregation"),
            tso_segs: tso_segs(options),
            ecn: options.bool("ecn_response"),
            ecn_max_rtt: options.time("ecn_max_rtt"),
            ecn_threshold: floored("ecn_threshold"),
            ecn_factor: floored("ecn_factor"),
            ecn_alpha_gain: floored("ecn_alpha_gain"),
        }
    }
}
