//! Copies of CUBIC and CoDel that test `tailback evaluate`. Some copies have one deliberate bug,
//! which the evaluation must find. In the other copies, it must not find a bug.

use tailback_engine::crates::Registry;

mod codel;
mod cubic;

/// Registers all copies.
pub fn register(registry: &mut Registry) {
    cubic::register(registry);
    codel::register(registry);
}
