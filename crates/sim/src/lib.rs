//! A network with real AQMs, ECN and competing TCP inside `cargo test`, in virtual time.
//!
//! There are two ways to use this crate:
//!
//! | you have | use |
//! |---|---|
//! | a transport stack that does no I/O, such as quinn-proto, smoltcp or your own | [`Simulation`]: implement [`Endpoint`], attach both sides to an entry of the scenario, run it, assert on [`Results`] |
//! | a test harness with its own loop and clock | [`Bottleneck`]: push datagrams, poll which of them arrive or are dropped |
//!
//! A scenario is TOML that describes a path, queues and competing traffic. tailback's documentation
//! describes the keys of a scenario. Errors state the line and the column, and contain advice on
//! how to correct the scenario.
//!
//! ```
//! use tailback_sim::Simulation;
//!
//! let results = Simulation::from_toml(
//!     r#"
//!     duration = "20s"
//!     warmup = "5s"
//!     [bottleneck]
//!     rate = "20Mbit"
//!     queue = { aqm = "fq_codel", ecn = true }
//!     [[flows]]
//!     cc = "cubic"
//!     ecn = true
//!     [[flows]]
//!     cc = "reno"
//!     "#,
//! )?
//! .run()?;
//! assert!((results.share("cubic") - 0.5).abs() < 0.05);
//! assert!(results.marks("cubic") > 0);
//! assert!(results.bottleneck().delay_ms.p99.unwrap() < 15.0);
//! # Ok::<(), tailback_sim::Error>(())
//! ```
//!
//! A run does no I/O, starts no threads, reads no clock and keeps no global state. A scenario with
//! the same text, seed and endpoints has the same results on every platform, including
//! `wasm32-unknown-unknown`.

mod bottleneck;
mod capture;
mod error;
mod results;
mod simulation;

pub use bottleneck::{Bottleneck, Event, Outcome};
pub use capture::Capture;
pub use error::Error;
pub use results::Results;
pub use simulation::Simulation;

pub use tailback_engine::endpoint::{
    Endpoint, EndpointFault, EndpointState, FaultKind, Side, Transmit, UDP_IPV4,
};
pub use tailback_engine::packet::Ecn;
pub use tailback_engine::units::Time;
pub use tailback_record::summary::{
    FlowSummary, ProgramSummary, QueueSummary, Summary, TrafficSummary,
};
pub use tailback_record::{Cause, PacketCount, Stat};
pub use tailback_scenario::{Diagnostic, Place};

/// The examples of the README, which cargo runs as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
