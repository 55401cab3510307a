//! An algorithm that a scenario has chosen, from a registry or from the kernel.

use super::Options;

/// A queue discipline or congestion control that a scenario has chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Algorithm {
    /// An algorithm of the registry, which both engines may have.
    Known {
        /// Its name in the registry.
        name: &'static str,
        /// Its options, complete.
        options: Options,
    },
    /// An algorithm that exists only in the kernel: the simulator cannot run it.
    Kernel {
        /// The kernel's name for it.
        name: String,
        /// Words handed to tc as they are (queue disciplines); may be empty.
        args: String,
    },
}

impl Default for Algorithm {
    /// None yet.
    fn default() -> Algorithm {
        Algorithm::Known {
            name: "",
            options: Options::default(),
        }
    }
}

impl Algorithm {
    /// The name in scenario files and results.
    pub fn name(&self) -> &str {
        match self {
            Algorithm::Known { name, .. } => name,
            Algorithm::Kernel { name, .. } => name,
        }
    }

    /// Name and options of one of the registry.
    pub fn known(&self) -> Option<(&'static str, &Options)> {
        match self {
            Algorithm::Known { name, options } => Some((name, options)),
            Algorithm::Kernel { .. } => None,
        }
    }
}
