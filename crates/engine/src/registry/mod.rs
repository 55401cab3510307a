//! What there is to choose from, and its options: one [`Entry`] for each
//! congestion control, queue and traffic source. The schema, `tailback list`,
//! the reference pages and the conformance tests come from here.

pub mod kernel;
pub mod needs;
mod options;

pub use options::{
    Kind, Opt, Options, Value, check_range, defaults, parse_word, text, word_or_int,
};

use kernel::Kernel;
use needs::Needs;

/// A registered algorithm; `B` is how it is built.
pub struct Entry<B: 'static> {
    /// Name in scenario files.
    pub name: &'static str,
    /// One sentence: what it is.
    pub doc: &'static str,
    /// The RFC or kernel version it follows.
    pub follows: &'static str,
    /// What may be set, in the order of documentation.
    pub options: &'static [Opt],
    /// What the kernel calls it.
    pub kernel: Kernel,
    /// What it needs of the scenario around it.
    pub needs: Needs,
    /// Fills in options whose defaults depend on others and reports
    /// combinations that make no sense. Runs after every option has been read
    /// and the plain defaults are in; [`no_finish`] where there is nothing to do.
    pub finish: fn(&mut Options) -> Result<(), Vec<OptionError>>,
    /// The constructor.
    pub build: B,
}

/// [`Entry::finish`] of an entry without derived defaults.
pub fn no_finish(_: &mut Options) -> Result<(), Vec<OptionError>> {
    Ok(())
}

/// A combination of options that makes no sense.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionError {
    /// The option to point at.
    pub option: &'static str,
    /// What is wrong and what was expected.
    pub message: String,
}

/// Finds an entry by name.
pub fn find<'a, B>(entries: &'a [&'static Entry<B>], name: &str) -> Option<&'a &'static Entry<B>> {
    entries.iter().find(|e| e.name == name)
}

/// The complete options of an entry with nothing set.
///
/// # Panics
/// When the entry cannot be built with nothing set.
pub fn complete_defaults<B>(entry: &Entry<B>) -> Options {
    let mut options = defaults(entry.options);
    (entry.finish)(&mut options).unwrap_or_else(|e| panic!("defaults of {}: {e:?}", entry.name));
    options
}
