//! Copies of CUBIC and CoDel. Some copies have one bug, which `tailback evaluate` must find. The
//! other copies are clean, and `tailback evaluate` must not find a bug in them.

use tailback_engine::crates::Registry;

mod codel;
mod cubic;

/// Registers everything in this crate with tailback.
pub fn register(registry: &mut Registry) {
    cubic::register(registry);
    codel::register(registry);
}
