//! Distributions of delays. Each distribution maps a draw of the standard normal distribution to a
//! delay.

use crate::impairments::options::time;
use crate::registry::{Options, Value};
use crate::rng::Stream;

/// A probability distribution of packet delays. The parameters of the distribution are in ns.
pub(super) enum Distribution {
    Uniform { mean: f64 },
    Normal { mean: f64, deviation: f64 },
    HalfNormal { deviation: f64 },
    Exponential { mean: f64 },
    Pareto { least: f64, exponent: f64 },
    Quantiles(Vec<f64>),
    Wifi { collisions: f64 },
}

/// A normal distribution is truncated at this many standard deviations.
const CUT: f64 = 3.0;

/// The smallest tail probability that is used, so that no delay is infinite.
const LEAST_TAIL: f64 = 1e-16;

/// Average number of collisions per colliding packet on a busy Wi-Fi channel. The next constant is
/// the time per collision, in ms.
const COLLISIONS: f64 = 12.0;
const COLLISION_MS: f64 = 7.5;

impl Distribution {
    pub fn of(options: &Options) -> Distribution {
        let mean = options.time("mean").ns() as f64;
        let deviation = time(options, "deviation").map_or(mean / 3.0, |time| time.ns() as f64);
        match options.word("distribution") {
            "uniform" => Distribution::Uniform { mean },
            "normal" => Distribution::Normal { mean, deviation },
            "half_normal" => Distribution::HalfNormal { deviation },
            "exponential" => Distribution::Exponential { mean },
            "pareto" => {
                let shape = options.float("shape");
                Distribution::Pareto {
                    least: mean * (shape - 1.0) / shape,
                    exponent: -1.0 / shape,
                }
            }
            "quantiles" => {
                let list = options.list("quantiles").iter();
                Distribution::Quantiles(list.filter_map(Value::number).collect())
            }
            // This formula assumes that a packet waits 1 ms for the medium on average. The duration
            // of the packet's collisions is added to this wait.
            _ => Distribution::Wifi {
                collisions: ((mean / 1e6 - 1.0) / (COLLISIONS * COLLISION_MS)).clamp(0.0, 1.0),
            },
        }
    }

    /// Returns a delay that very few packets exceed, in ns.
    pub fn most(&self) -> f64 {
        match self {
            Distribution::Wifi { .. } => 1e9,
            Distribution::HalfNormal { deviation } => CUT * deviation,
            _ => self.at(8.0),
        }
    }

    /// Maps a draw of the standard normal distribution to a delay, in ns.
    pub fn at(&self, z: f64) -> f64 {
        // Compute the probability of values below `z` and that of values above `z`. `below` is
        // precise if the probability below `z` is small, and `above` is precise if the probability
        // above `z` is small.
        let below = || 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        let above = || (0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)).max(LEAST_TAIL);
        match self {
            Distribution::Uniform { mean } => 2.0 * mean * below(),
            Distribution::Normal { mean, deviation } => mean + deviation * z.clamp(-CUT, CUT),
            Distribution::HalfNormal { deviation } => deviation * z.abs().min(CUT),
            Distribution::Exponential { mean } => -mean * libm::log(above()),
            Distribution::Pareto { least, exponent } => least * libm::pow(above(), *exponent),
            Distribution::Quantiles(list) => {
                let place = below() * (list.len() - 1) as f64;
                let first = (place as usize).min(list.len() - 2);
                let (low, high) = (list[first], list[first + 1]);
                low + (high - low) * (place - first as f64)
            }
            Distribution::Wifi { .. } => unreachable!("the Wi-Fi model draws by itself"),
        }
    }
}

/// Draws from the Poisson distribution by Knuth's method, which is fast for a small mean.
fn poisson(stream: &mut Stream, mean: f64) -> f64 {
    let least = libm::exp(-mean);
    let (mut product, mut count) = (stream.uniform(), 0.0);
    while product > least {
        product *= stream.uniform();
        count += 1.0;
    }
    count
}

/// Draws the delay of a packet on a busy Wi-Fi channel, in ns. The packet waits up to a few
/// milliseconds for the medium. Sometimes the packet also collides about a dozen times.
pub(super) fn wifi(stream: &mut Stream, collisions: f64) -> f64 {
    let medium = poisson(stream, 1.0);
    let part = stream.uniform();
    let medium = if medium >= 1.0 { medium - part } else { 0.0 };
    let collided = match stream.chance(collisions) {
        true => poisson(stream, COLLISIONS),
        false => 0.0,
    };
    (medium + COLLISION_MS * collided) * 1e6
}
