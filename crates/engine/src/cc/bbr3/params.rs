//! The options in the units of the model.

use crate::cc::bbr_model::{Gain, tso_segs};
use crate::registry::Options;
use crate::units::Time;

/// The options.
#[derive(Clone, Debug)]
pub(super) struct Params {
    pub startup_gain: Gain,
    pub drain_gain: Gain,
    pub steady_gain: Gain,
    pub up_gain: Gain,
    pub up_cwnd_gain: Gain,
    pub down_gain: Gain,
    pub loss_threshold: Gain,
    /// Factor of a bound after a round with losses.
    pub loss_cut: Gain,
    pub headroom: Gain,
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
        let whole = |name| options.int(name) as u32;
        let rounded = |name| Gain::rounded(options.float(name));
        let floored = |name| Gain::floored(options.float(name));
        Params {
            startup_gain: rounded("startup_gain"),
            // 1/2.885, whatever STARTUP has.
            drain_gain: Gain(256 * 1000 / 2885),
            steady_gain: rounded("cwnd_gain"),
            up_gain: rounded("up_gain"),
            up_cwnd_gain: rounded("up_cwnd_gain"),
            down_gain: floored("down_gain"),
            loss_threshold: floored("loss_threshold"),
            loss_cut: Gain::ONE - Gain::floored(1.0 - options.float("beta")),
            headroom: floored("headroom"),
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
