//! Copies of CUBIC and CoDel with one bug each, which `tailback evaluate` must find, and clean
//! copies, in which it must find nothing.

use tailback_engine::crates::Registry;

mod codel;
mod cubic;

/// Registers everything in this crate with tailback.
pub fn register(registry: &mut Registry) {
    cubic::register(registry);
    codel::register(registry);
}
