//! An algorithm that a scenario has chosen. Either the registry has an entry for the algorithm, or
//! the algorithm exists only in the Linux kernel.

use super::Options;

/// A queue discipline or congestion control that a scenario has chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Algorithm {
    /// An algorithm with an entry in the registry.
    Known {
        /// Its name in the registry.
        name: &'static str,
        /// All its options.
        options: Options,
    },
    /// An algorithm that exists only in the kernel, so the simulator cannot run it.
    Kernel {
        /// Its name in the kernel.
        name: String,
        /// Arguments that are passed to tc unchanged. Only queue disciplines have arguments. The
        /// arguments may be empty.
        args: String,
    },
}

impl Default for Algorithm {
    /// Returns a placeholder that is used until the scenario has been read.
    fn default() -> Algorithm {
        Algorithm::Known {
            name: "",
            options: Options::default(),
        }
    }
}

impl Algorithm {
    /// Returns the name in scenario files and results.
    pub fn name(&self) -> &str {
        match self {
            Algorithm::Known { name, .. } => name,
            Algorithm::Kernel { name, .. } => name,
        }
    }

    /// Returns the name and options of an algorithm with an entry in the registry. Returns `None`
    /// if only the kernel has the algorithm.
    pub fn known(&self) -> Option<(&'static str, &Options)> {
        match self {
            Algorithm::Known { name, options } => Some((name, options)),
            Algorithm::Kernel { .. } => None,
        }
    }
}
