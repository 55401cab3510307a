//! What every congestion control, queue discipline and kind of traffic owes, whichever it is:
//! functions that take an entry and panic where it falls short.
//!
//! The entries of this tree go through them in `crates/engine/tests`; a crate with algorithms of
//! its own has them all by one line in a file of its folder `tests`:
//!
//! ```ignore
//! tailback_conformance::tests!(my_cc::register);
//! ```

pub mod cc;
pub mod queue;
#[path = "../../engine/src/cc/testing.rs"]
pub mod testing;
pub mod traffic;

#[path = "../../engine/tests/common/mod.rs"]
mod plans;

use std::sync::OnceLock;

use tailback_engine::crates::{Crate, Registry, install};

/// The tests of whatever a function registers.
#[macro_export]
macro_rules! tests {
    ($register:path) => {
        #[test]
        fn registers_something_new() {
            $crate::registered($register);
        }

        #[test]
        fn congestion_controls_conform() {
            for entry in $crate::registered($register).ccs() {
                $crate::cc::conforms(entry);
            }
        }

        #[test]
        fn queues_conform() {
            for entry in $crate::registered($register).queues() {
                $crate::queue::conforms(entry);
            }
        }

        #[test]
        fn traffic_conforms() {
            for entry in $crate::registered($register).sources() {
                $crate::traffic::conforms(entry);
            }
        }
    };
}

/// What a function registers; the same one each time.
///
/// # Panics
/// When that is nothing, or has a name that is taken.
pub fn registered(register: fn(&mut Registry)) -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let crates: &'static [Crate] = Vec::leak(vec![Crate {
            name: "this crate",
            hash: "",
            register,
        }]);
        let registry = Registry::of(crates).unwrap_or_else(|all| panic!("{}", all.join("\n")));
        install(crates, &registry);
        registry
    })
}
