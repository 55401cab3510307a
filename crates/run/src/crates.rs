//! Crates that bring algorithms of their own: what they register, and the engine's version with
//! them.

use tailback_engine::aqm::QueueContext;
use tailback_engine::crates::{Crate, Registry, install as add, installed};
use tailback_engine::registry::{Entry, Options, complete_defaults};
use tailback_engine::rng::Stream;
use tailback_engine::units::Rate;

use crate::panics;

/// Makes what these crates register known. To be called once, before anything else.
///
/// # Errors
/// A sentence for everything that is wrong with them.
pub fn install(crates: &'static [Crate]) -> Result<(), Vec<String>> {
    let registry = panics::caught(|| Registry::of(crates));
    let registry = registry.map_err(|panic| vec![format!("register: {panic}")])??;
    let mut problems = Vec::new();
    for entry in registry.ccs() {
        problems.extend(wrong(entry, |options| _ = (entry.build)(options).needs()));
    }
    for entry in registry.queues() {
        problems.extend(wrong(entry, |options| {
            let context = QueueContext {
                rate: Rate(1_000_000),
                mtu: 1514,
                rng: Stream::new(1, entry.name, "queue"),
            };
            _ = (entry.build)(options, context);
        }));
    }
    for entry in registry.sources() {
        problems.extend(wrong(entry, |options| {
            let stream = Stream::new(1, entry.name, "traffic");
            _ = (entry.build.source)(options, stream);
        }));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    add(crates, &registry);
    Ok(())
}

/// Why an entry cannot be built with nothing set.
fn wrong<B>(entry: &'static Entry<B>, build: impl FnOnce(&Options)) -> Option<String> {
    let built = panics::caught(|| build(&complete_defaults(entry)));
    let panic = built.err()?;
    let panic = panic.replace('\n', " ");
    Some(format!(
        "\"{}\" cannot be made with nothing set: {panic}",
        entry.name
    ))
}

/// The version of an engine with the crates that are compiled in.
pub fn versioned(engine: &str) -> String {
    let crates = installed().iter();
    crates.fold(engine.to_owned(), |version, one| {
        format!("{version}.{}-{}", one.name, one.hash)
    })
}
