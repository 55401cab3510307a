//! The algorithms and their options: one [`Entry`] for each congestion control, queue and traffic
//! source. The schema, `tailback list`, the reference pages and the conformance tests use these
//! entries.

mod algorithm;
pub mod kernel;
mod options;
pub mod rules;
mod table;

pub use algorithm::Algorithm;
pub use options::{
    Kind, Opt, Options, Value, bool_or_int, check_range, defaults, parse_word, read_texts, text,
    texts, word_or_int,
};
pub use table::Table;

use kernel::Kernel;
use rules::Rules;

/// A registered algorithm. `B` is the type of its constructor.
pub struct Entry<B: 'static> {
    /// Name in scenario files.
    pub name: &'static str,
    /// One sentence that describes the algorithm.
    pub doc: &'static str,
    /// The RFC or kernel version that the algorithm follows.
    pub follows: &'static str,
    /// The options of the algorithm, in the order in which its reference page lists them.
    pub options: &'static [Opt],
    /// How the kernel engine runs the algorithm.
    pub kernel: Kernel,
    /// Checks that need more information than the options, such as the flow or the link.
    pub rules: Rules,
    /// Sets defaults that depend on other options, and rejects combinations of options that
    /// contradict each other. Runs after all options of the scenario have been read and the simple
    /// defaults have been filled in. Use [`no_finish`] if the options need no such function.
    pub finish: fn(&mut Options) -> Result<(), Vec<OptionError>>,
    /// The constructor.
    pub build: B,
}

/// An [`Entry::finish`] that does nothing, for entries whose options do not depend on each other.
pub fn no_finish(_: &mut Options) -> Result<(), Vec<OptionError>> {
    Ok(())
}

/// An error in an option, or in a combination of options.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionError {
    /// The option to which the error message points.
    pub option: &'static str,
    /// Says what is wrong and what is expected.
    pub message: String,
}

/// Returns the entry with this name.
pub fn find<'a, B>(entries: &'a [&'static Entry<B>], name: &str) -> Option<&'a &'static Entry<B>> {
    entries.iter().find(|e| e.name == name)
}

/// Returns the options that an entry has if the scenario sets none of them.
///
/// # Panics
/// Panics if the entry has an option without a default.
pub fn complete_defaults<B>(entry: &Entry<B>) -> Options {
    let mut options = defaults(entry.options);
    (entry.finish)(&mut options).unwrap_or_else(|e| panic!("defaults of {}: {e:?}", entry.name));
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    /// Tests that options stay the same if they are converted to text and back. Options are sent to
    /// a guest as text.
    #[test]
    fn options_survive_as_texts() {
        for entry in crate::traffic::ENTRIES {
            let options = complete_defaults(entry);
            assert_eq!(read_texts(entry.options, &texts(&options)), Ok(options));
        }
        let web = crate::traffic::web::ENTRY.options;
        let told = [("arrival", "1ms"), ("sizes.lognormal.p5", "64kb")];
        let told = told.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let read = read_texts(web, &told).expect("options of web");
        let p5 = read.table("sizes").table("lognormal").bytes("p5");
        assert_eq!((read.time("arrival"), p5), (Time::from_ms(1), 65_536));
        assert_eq!(texts(&read).len(), 2);
        for unknown in ["size", "arrival.p5", "sizes.normal", "sizes.lognormal.p50"] {
            let told = [(unknown.to_owned(), "64kb".to_owned())];
            assert!(read_texts(web, &told).is_err(), "{unknown}");
        }
    }
}
