//! An algorithm that a scenario has chosen, of a registry or of the kernel.

use super::Options;

/// A queue discipline or congestion control that a scenario has chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Algorithm {
    /// An algorithm of the registry, which both engines may support.
    Known {
        /// The name in the registry.
        name: &'static str,
        /// The complete options.
        options: Options,
    },
    /// An algorithm that exists only in the kernel: the simulator cannot run it.
    Kernel {
        /// The name in the kernel.
        name: String,
        /// Words that tc gets as they are. Only for queue disciplines; may be empty.
        args: String,
    },
}

impl Default for Algorithm {
    /// A placeholder until the scenario is read.
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

    /// Name and options, for an algorithm of the registry.
    pub fn known(&self) -> Option<(&'static str, &Options)> {
        match self {
            Algorithm::Known { name, options } => Some((name, options)),
            Algorithm::Kernel { .. } => None,
        }
    }
}
