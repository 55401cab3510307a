//! Keys of a link that are short forms of one of its impairments.

use crate::keys;
use crate::keys::{BYTES, KeyKind, POSITIVE_TIME, float, key, plain};
use crate::registry::Kind;
use crate::units::Time;

const PROBABILITY: keys::Key = float(0.0, 1.0);

keys! {
    /// Loss in bursts: a short form of the impairment `burst_loss`.
    pub struct BurstLossForm as "loss" {
        /// The four parameters of a Gilbert-Elliott channel.
        key gilbert = key(KeyKind::Table(&GilbertForm::TABLE)).required();
    }
}

keys! {
    /// A Gilbert-Elliott channel. All values are probabilities per packet.
    pub struct GilbertForm as "gilbert" {
        /// Probability that the channel changes from good to bad.
        key p = PROBABILITY.required();
        /// Probability that the channel changes from bad to good.
        key r = PROBABILITY.required();
        /// Probability that a packet is lost in the good state.
        key good = PROBABILITY.default("0");
        /// Probability that a packet is lost in the bad state.
        key bad = PROBABILITY.default("1");
    }
}

keys! {
    /// A delay that changes: a short form of the impairment `delay`.
    pub struct DelayForm as "delay" {
        /// A list of pairs: a time, and the delay that applies from this time on.
        key steps = plain(Kind::Pairs(&Kind::Time { min: Time::ZERO })).required();
    }
}

keys! {
    /// Packets that arrive late: a short form of the impairment `reorder`.
    pub struct ReorderForm as "[reorder]" {
        /// Probability that a packet arrives late.
        key probability = PROBABILITY.required();
        /// Additional delay of a packet that arrives late.
        key delay = POSITIVE_TIME.required();
    }
}

keys! {
    /// A policer: a short form of the impairment `police`.
    pub struct PolicerForm as "[policer]" {
        /// Rate at which the policer's bucket gains tokens.
        key rate = plain(Kind::Rate).required();
        /// Largest number of tokens in the bucket. One token is one byte.
        key burst = BYTES.required();
    }
}
