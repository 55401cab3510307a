//! quinn-proto, unmodified, as an endpoint of tailback's simulator: a server at the sender's side
//! and a client at the receiver's that downloads over one stream, as in the program of the same name
//! of the kernel engine.
//!
//! ```
//! use tailback_quinn::{Options, client, server};
//! use tailback_sim::Simulation;
//!
//! let results = Simulation::from_toml(
//!     r#"
//!     duration = "5s"
//!     [bottleneck]
//!     rate = "20Mbit"
//!     queue = { aqm = "fq_codel", ecn = true }
//!     [[programs]]
//!     name = "quic"
//!     "#,
//! )?
//! .attach("quic", server(&Options::default()), client(&Options::default(), Some(2_000_000)))?
//! .run()?;
//! assert!(results.completion_s("quic").unwrap() < 1.1);
//! # Ok::<(), tailback_sim::Error>(())
//! ```
//!
//! **Deterministic.** Connection ids, packet number skips and the like come from [`Options::seed`];
//! TLS has fixed keys and a fixed source of randomness ([`tls`]). Time is the simulation's: quinn
//! only takes differences of `Instant`. Its certificate is not checked against a date.
//!
//! **What differs from quinn on a host.** No sockets: a datagram is handled the instant it arrives,
//! one by one, where a host reads several at once. quinn's asynchronous layer (`quinn`, tokio) is not
//! part of it; [`Timers`] has what tokio does to timers. BBR is missing, because quinn seeds it from
//! the operating system.

mod application;
mod stack;
pub mod tls;

use std::sync::Arc;

use quinn_proto::TransportConfig;
use quinn_proto::congestion::{CubicConfig, NewRenoConfig};

pub use stack::Quinn;

/// How both ends are set up. The defaults are quinn's, with windows that limit nothing.
#[derive(Clone, Debug)]
pub struct Options {
    /// Congestion control.
    pub control: Control,
    /// Whether datagrams are sent as ECT(0).
    pub ecn: bool,
    /// Datagrams that leave together at most, as with GSO; 1: each by itself.
    pub burst: usize,
    /// Whether quinn looks for a larger MTU than 1200 bytes.
    pub mtu_discovery: bool,
    /// When timers fire.
    pub timers: Timers,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            control: Control::Cubic,
            ecn: true,
            burst: 10,
            mtu_discovery: true,
            timers: Timers::Exact,
            seed: 1,
        }
    }
}

/// A congestion control of quinn's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// CUBIC.
    Cubic,
    /// NewReno.
    NewReno,
}

/// When timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// When they are due.
    Exact,
    /// As with tokio: its wheel has milliseconds, and so has the system call that waits for the next
    /// slot. Both round up.
    Tokio,
}

/// The flow control windows, and what a sender may have unacknowledged: 64 MiB.
const WINDOW: u32 = 64 << 20;

impl Options {
    fn transport(&self) -> Arc<TransportConfig> {
        let mut transport = TransportConfig::default();
        match self.control {
            Control::Cubic => {
                transport.congestion_controller_factory(Arc::new(CubicConfig::default()))
            }
            Control::NewReno => {
                transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()))
            }
        };
        transport
            .enable_segmentation_offload(self.burst > 1)
            .stream_receive_window(WINDOW.into())
            .receive_window(WINDOW.into())
            .send_window(WINDOW.into())
            .max_idle_timeout(None);
        if !self.mtu_discovery {
            transport.mtu_discovery_config(None);
        }
        Arc::new(transport)
    }
}

/// A server that sends what its client asks for.
pub fn server(options: &Options) -> Quinn {
    Quinn::server(options)
}

/// A client that asks for this many bytes over one stream, or without end.
pub fn client(options: &Options, bytes: Option<u64>) -> Quinn {
    Quinn::client(options, bytes)
}
