//! An algorithm that a scenario has chosen: from a registry, or one that only the kernel has.

use super::Options;

/// A queue discipline or congestion control that a scenario has chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Algorithm {
    /// An algorithm of the registry, which both engines may support.
    Known {
        /// Its name in the registry.
        name: &'static str,
        /// Its complete options.
        options: Options,
    },
    /// An algorithm that exists only in the kernel: the simulator cannot run it.
    Kernel {
        /// Its name in the kernel.
        name: String,
        /// Arguments that tc gets unchanged. Only for queue disciplines; may be empty.
        args: String,
    },
}

impl Default for Algorithm {
    /// Returns a placeholder, which is used until the scenario is read.
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

    /// Returns the name and options of an algorithm of the registry. Returns `None` for one that
    /// only the kernel has.
    pub fn known(&self) -> Option<(&'static str, &Options)> {
        match self {
            Algorithm::Known { name, options } => Some((name, options)),
            Algorithm::Kernel { .. } => None,
        }
    }
}
