//! Makes quinn's BBR draw its phase from the seed.
//!
//! When quinn's BBR begins to probe for bandwidth, it draws the phase of its gain cycle from a
//! generator that quinn seeds from `rand::rng()`. This generator gets its seed from the operating
//! system, through the crate getrandom. If this crate is compiled with `--cfg
//! getrandom_backend="custom"`, getrandom calls a function of this module instead. The function
//! returns bytes that are computed from the seed of the entry. tailback sets the flag, because
//! `Cargo.toml` requests it. If cargo runs in this folder, `.cargo/config.toml` sets the flag.
//!
//! The flag is not set for WebAssembly, where getrandom 0.4.3 does not compile with it.
//!
//! Do not set the flag in a program that needs real randomness: it applies to every crate of the
//! program that uses getrandom 0.3 or 0.4.

use std::sync::Arc;

use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory};
use web_time::Instant;

/// Whether the crate is compiled with seeded randomness. Otherwise, two runs with BBR would differ.
pub const SEEDED: bool = cfg!(getrandom_backend = "custom");

/// Creates quinn's BBR.
pub(crate) struct SeededBbr {
    config: Arc<BbrConfig>,
    seed: u64,
}

impl SeededBbr {
    /// Returns a factory whose controllers all draw the same numbers.
    ///
    /// # Panics
    /// If the crate is compiled without seeded randomness.
    pub fn new(seed: u64) -> SeededBbr {
        assert!(
            SEEDED,
            "BBR needs seeded randomness; compile with RUSTFLAGS='--cfg \
             getrandom_backend=\"custom\"', or run cargo in the folder stacks/quinn"
        );
        let config = Arc::new(BbrConfig::default());
        SeededBbr { config, seed }
    }
}

impl ControllerFactory for SeededBbr {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        seed_thread(self.seed);
        Arc::clone(&self.config).build(now, mtu)
    }
}

#[cfg(getrandom_backend = "custom")]
fn seed_thread(seed: u64) {
    backend::STATE.set(seed);
    rand::rng().reseed().expect("the function below succeeds");
}

#[cfg(not(getrandom_backend = "custom"))]
fn seed_thread(_: u64) {}

#[cfg(getrandom_backend = "custom")]
mod backend {
    // getrandom finds the function by its name.
    #![allow(unsafe_code)]

    use std::cell::Cell;

    use crate::stack::mixed;

    thread_local! {
        /// State of the generator of this thread. Each thread has its own state, because
        /// `rand::rng()` also differs between threads.
        pub static STATE: Cell<u64> = const { Cell::new(0) };
    }

    /// Fills a buffer with pseudo-random bytes.
    ///
    /// # Safety
    /// `buffer` has `len` bytes.
    #[unsafe(no_mangle)]
    unsafe extern "Rust" fn __getrandom_v03_custom(
        buffer: *mut u8,
        len: usize,
    ) -> Result<(), getrandom::Error> {
        // SAFETY: getrandom passes a buffer with this length. Zeros initialise it.
        let buffer = unsafe {
            buffer.write_bytes(0, len);
            std::slice::from_raw_parts_mut(buffer, len)
        };
        for bytes in buffer.chunks_mut(8) {
            let state = STATE.get().wrapping_add(1);
            STATE.set(state);
            bytes.copy_from_slice(&mixed(state).to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}
