//! Lists the entries of all registries in one form, for the reader and the schema.

use tailback_engine::keys::Registry;
use tailback_engine::programs::stacks;
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::{Entry, Opt, OptionError, Options};
use tailback_engine::{aqm, cc, impairments, programs, traffic};

/// The data of a registry entry, without the entry's constructor.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub name: &'static str,
    pub doc: &'static str,
    pub options: &'static [Opt],
    /// Whether Linux or a tailback module provides the algorithm.
    pub in_kernel: bool,
    /// Whether a Linux release provides the algorithm without a module.
    pub in_linux: bool,
    pub finish: fn(&mut Options) -> Result<(), Vec<OptionError>>,
}

fn views<B>(entries: &[&'static Entry<B>]) -> Vec<View> {
    entries
        .iter()
        .map(|entry| View {
            name: entry.name,
            doc: entry.doc,
            options: entry.options,
            in_kernel: entry.kernel.has(),
            in_linux: match entry.kernel {
                Kernel::Module(module) => module.since.is_some(),
                other => other.has(),
            },
            finish: entry.finish,
        })
        .collect()
}

pub(crate) fn entries(registry: Registry) -> Vec<View> {
    match registry {
        Registry::Aqm => views(aqm::TABLE.entries()),
        Registry::Cc => views(cc::TABLE.entries()),
        Registry::Traffic => views(traffic::TABLE.entries()),
        Registry::Impairments => views(impairments::ENTRIES),
        Registry::Programs => views(programs::TABLE.entries()),
        Registry::Stacks => views(stacks::TABLE.entries()),
    }
}
