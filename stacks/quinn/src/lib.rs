//! Unmodified quinn-proto provides the endpoints of a connection in tailback's simulator. A client
//! at the receiver's side downloads over one stream from a server at the sender's side. So do the
//! client and the server of the program `quinn` on the kernel engine.
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
//! **Deterministic.** [`Options::seed`] determines all random choices, such as connection ids and
//! skipped packet numbers. TLS has fixed keys and a fixed source of randomness ([`tls`]). quinn
//! runs on simulated time: it reads no clock, and only computes with the `Instant`s that this crate
//! passes to it. The dates in the certificate are not checked.
//!
//! **WebAssembly.** The crate compiles for `wasm32-unknown-unknown` without the default feature
//! `qlog`, because quinn's qlog uses a clock that does not exist in WebAssembly. Results have the
//! same bytes as on other platforms. To compile ring, you need clang. If your host does not use
//! wasm-bindgen, it must define the functions that the module imports. Each of these functions may
//! return 0.
//!
//! **Differences from quinn on a host.** There are no sockets. quinn gets each datagram as soon as
//! it arrives, whereas on a host it reads several datagrams at once. quinn's asynchronous layer
//! (`quinn`, tokio) is not used, but [`Timers`] models its effect on timers.
//!
//! **BBR** draws random numbers that quinn seeds from the operating system. [`Control::Bbr`]
//! therefore needs `--cfg getrandom_backend="custom"`, with which they follow from the seed
//! ([`SEEDED`]). Without this flag, and in WebAssembly, it panics.

mod application;
mod kind;
mod qlog;
mod seeded;
mod stack;
pub mod tls;

use std::sync::Arc;

use quinn_proto::TransportConfig;
use quinn_proto::congestion::{CubicConfig, NewRenoConfig};
use seeded::SeededBbr;

pub use kind::{ENTRY, register};
pub use seeded::SEEDED;
pub use stack::Quinn;

/// The settings of both ends. The defaults are quinn's defaults, except that the windows are so
/// large that they do not limit the rate.
#[derive(Clone, Debug)]
pub struct Options {
    /// Congestion control.
    pub control: Control,
    /// Whether datagrams are sent as ECT(0).
    pub ecn: bool,
    /// Largest number of datagrams that are sent at once, as with GSO. If this is 1, each datagram
    /// is sent separately.
    pub burst: usize,
    /// Whether quinn searches for an MTU above 1200 bytes.
    pub mtu_discovery: bool,
    /// When timers fire: exactly when they are due, or at the times at which they would fire with
    /// tokio.
    pub timers: Timers,
    /// Whether packets have the length of IPv6 packets.
    pub ipv6: bool,
    /// Whether the server writes a qlog of its connection ([`Quinn::take_qlog`]). This needs the
    /// feature `qlog`, which is on by default.
    pub qlog: bool,
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
            ipv6: false,
            qlog: false,
            seed: 1,
        }
    }
}

/// A congestion control of quinn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// CUBIC.
    Cubic,
    /// NewReno.
    NewReno,
    /// BBR. quinn describes its version as experimental. Needs [`SEEDED`].
    Bbr,
}

/// The times at which timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// Timers fire when they are due.
    Exact,
    /// Timers fire as with tokio. tokio's timer wheel has a resolution of a millisecond. The system
    /// call that waits for the next slot of the wheel has the same resolution. The timer wheel and
    /// the system call both round times up.
    Tokio,
}

/// Size of the flow control windows, and limit of the unacknowledged data of a sender, bytes.
const WINDOW: u32 = 64 << 20;

impl Options {
    fn transport(&self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        match self.control {
            Control::Cubic => {
                transport.congestion_controller_factory(Arc::new(CubicConfig::default()))
            }
            Control::NewReno => {
                transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()))
            }
            Control::Bbr => {
                transport.congestion_controller_factory(Arc::new(SeededBbr::new(self.seed)))
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
        transport
    }
}

/// Returns a server that sends the data that its client requests.
pub fn server(options: &Options) -> Quinn {
    Quinn::server(options)
}

/// Returns a client that requests `bytes` bytes over one stream. If `bytes` is `None`, it requests
/// data without end.
pub fn client(options: &Options, bytes: Option<u64>) -> Quinn {
    Quinn::client(options, bytes)
}
