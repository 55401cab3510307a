//! Registers the algorithms of plugins, checks their hooks, and adds plugins to an engine's
//! version.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tailback_engine::aqm::QueueContext;
use tailback_engine::cc;
use tailback_engine::crates::{Crate, Registry, forgotten, install as add, installed};
use tailback_engine::programs::stacks::Setting;
use tailback_engine::registry::{Entry, Options, complete_defaults};
use tailback_engine::rng::Stream;
use tailback_engine::units::Rate;

use crate::panics;

/// Registers all algorithms of the given plugins. Call this function once, before any other
/// function of this module.
///
/// # Errors
/// Returns a sentence for each error in the plugins.
pub fn install(crates: &'static [Crate]) -> Result<(), Vec<String>> {
    let registry = panics::caught(|| Registry::of(crates));
    let registry = registry.map_err(|panic| vec![format!("register: {panic}")])??;
    let mut problems = Vec::new();
    for entry in registry.ccs() {
        let problem = wrong(entry, |options| _ = (entry.build)(options).needs());
        problems.extend(problem.or_else(|| forgetful(entry)));
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
    for entry in registry.stacks() {
        problems.extend(wrong(entry, |options| {
            _ = (entry.build.ends)(options, &Setting::of(1));
        }));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    add(crates, &registry);
    Ok(())
}

/// Returns why an entry cannot be built with default options, or `None` if it can.
fn wrong<B>(entry: &'static Entry<B>, build: impl FnOnce(&Options)) -> Option<String> {
    let built = panics::caught(|| build(&complete_defaults(entry)));
    let panic = built.err()?;
    let panic = panic.replace('\n', " ");
    Some(format!(
        "\"{}\" cannot be built with its default options: {panic}",
        entry.name
    ))
}

/// Timeout for the check of a plugin's congestion control. The check calls every hook once.
const PROBE_TIME: Duration = Duration::from_secs(20);

/// Returns an error if a congestion control wraps a built-in congestion control, but does not
/// forward every hook.
fn forgetful(entry: &'static Entry<cc::Build>) -> Option<String> {
    let (tell, told) = mpsc::channel();
    // Use a thread with a timeout, because a hook may never return. The Python module cannot be
    // loaded before the check has ended.
    thread::spawn(move || tell.send(panics::caught(|| forgotten(entry))));
    let name = entry.name;
    let Ok(found) = told.recv_timeout(PROBE_TIME) else {
        return Some(format!(
            "\"{name}\" has a hook that does not return; look for a loop that never ends"
        ));
    };
    let (inside, missing) = found.ok()??;
    if missing.is_empty() {
        return None;
    }
    let missing: Vec<_> = missing.iter().map(|hook| hook.name()).collect();
    Some(format!(
        "\"{name}\" wraps {} and does not pass on {}; write tailback_engine::forward_hooks!(FIELD) \
         in its impl to pass on all hooks, or write these hooks by hand (empty, to do nothing)",
        inside.join(" and "),
        missing.join(", ")
    ))
}

/// Returns the version of an engine that contains compiled-in plugins.
pub fn versioned(engine: &str) -> String {
    let crates = installed().iter();
    crates.fold(engine.to_owned(), |version, one| {
        format!("{version}.{}-{}", one.name, one.hash)
    })
}
