//! Tests the requirements on every congestion control, queue discipline, kind of traffic and
//! transport stack. Each requirement is a function that panics if the tested component does not
//! meet it.
//!
//! `crates/engine/tests` tests tailback's components against these requirements. To test a plugin,
//! add this line to a file in its folder `tests`:
//!
//! ```ignore
//! tailback_conformance::tests!(my_cc::register);
//! ```

pub mod cc;
pub mod queue;
pub mod stack;
#[path = "../../engine/src/cc/testing.rs"]
pub mod testing;
pub mod traffic;

#[path = "../../engine/tests/common/mod.rs"]
mod plans;

use std::sync::OnceLock;

use tailback_engine::crates::{Crate, Registry, install};

/// Declares tests of all components that a function registers.
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

        #[test]
        fn stacks_conform() {
            for entry in $crate::registered($register).stacks() {
                $crate::stack::conforms(entry);
            }
        }
    };
}

/// Calls `register` with an empty registry, and returns this registry. Further calls return the
/// same registry.
///
/// # Panics
/// If the function registers nothing, or registers a name that is already used.
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
