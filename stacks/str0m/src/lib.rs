//! Unmodified str0m provides both endpoints of a call in tailback's simulator. One endpoint sends
//! video over WebRTC to the other. str0m's bandwidth estimator sets the rate of the video.
//!
//! ```
//! use tailback_sim::Simulation;
//! use tailback_str0m::{Options, receiver, sender};
//!
//! let results = Simulation::from_toml(
//!     r#"
//!     duration = "20s"
//!     warmup = "5s"
//!     [bottleneck]
//!     rate = "1Mbit"
//!     queue = "codel"
//!     [[programs]]
//!     name = "call"
//!     "#,
//! )?
//! .attach("call", sender(&Options::default()), receiver(&Options::default()))?
//! .run()?;
//! assert!(results.throughput_mbit("call") > 0.5);
//! # Ok::<(), tailback_sim::Error>(())
//! ```
//!
//! **Deterministic.** [`Options::seed`] determines all random choices. str0m draws them from
//! fastrand, which this crate seeds before each call into str0m. str0m reads the date of the host
//! once, for the timestamps of its reports. [`clock`] chooses the start of a run so that this date
//! has no effect.
//!
//! **Differences from str0m on a host.** ICE, RTP, RTCP, pacing, retransmissions and the bandwidth
//! estimator are str0m's code. DTLS is replaced by one datagram in each direction. SRTP and the
//! integrity check of STUN are replaced by functions that do not encrypt ([`crypto`]). Packets are
//! as long as with AES-128 in counter mode and a tag of 10 bytes. str0m does not use ECN.

pub mod clock;
pub mod crypto;
mod kind;
mod stack;
mod video;

pub use kind::{ENTRY, register};
pub use stack::Str0m;

/// The settings of both ends.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Lowest rate of the video, bit/s.
    pub min_rate: f64,
    /// Bandwidth estimate at the start, bit/s.
    pub start_rate: f64,
    /// Highest rate of the video, bit/s. The estimator does not probe above this rate.
    pub max_rate: f64,
    /// Frames per second.
    pub fps: u32,
    /// Largest deviation of a frame's size from the mean, as a share of the mean. If this is 0.2, a
    /// frame is up to 20 % larger or smaller than the mean.
    pub variation: f64,
    /// Whether the sender retransmits lost packets.
    pub retransmit: bool,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            min_rate: 150e3,
            start_rate: 300e3,
            max_rate: 2.5e6,
            fps: 30,
            variation: 0.1,
            retransmit: true,
            seed: 1,
        }
    }
}

/// Returns an end that sends video.
pub fn sender(options: &Options) -> Str0m {
    Str0m::sender(options)
}

/// Returns an end that receives the video.
pub fn receiver(options: &Options) -> Str0m {
    Str0m::receiver(options)
}
