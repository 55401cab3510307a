//! Crates that bring algorithms of their own: what they register, and the engine's version with
//! them.

use tailback_engine::crates::{Crate, Registry, install as add, installed};
use tailback_engine::registry::{Entry, complete_defaults};

use crate::panics;

/// Makes what these crates register known. To be called once, before anything else.
///
/// # Errors
/// A sentence for everything that is wrong with them.
pub fn install(crates: &'static [Crate]) -> Result<(), Vec<String>> {
    let registry = panics::caught(|| Registry::of(crates));
    let registry = registry.map_err(|panic| vec![format!("register: {panic}")])??;
    let mut problems = Vec::new();
    problems.extend(registry.ccs().iter().filter_map(|entry| wrong(entry)));
    problems.extend(registry.queues().iter().filter_map(|entry| wrong(entry)));
    problems.extend(registry.sources().iter().filter_map(|entry| wrong(entry)));
    if !problems.is_empty() {
        return Err(problems);
    }
    add(crates, &registry);
    Ok(())
}

/// Why the options of an entry are none.
fn wrong<B>(entry: &'static Entry<B>) -> Option<String> {
    let defaults = panics::caught(|| complete_defaults(entry));
    let panic = defaults.err()?;
    Some(format!("the options of \"{}\": {panic}", entry.name))
}

/// The version of an engine with the crates that are compiled in.
pub fn versioned(engine: &str) -> String {
    let crates = installed().iter();
    crates.fold(engine.to_owned(), |version, one| {
        format!("{version}.{}-{}", one.name, one.hash)
    })
}
