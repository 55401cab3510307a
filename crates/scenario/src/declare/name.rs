//! Checks names of links, flows, sources, hosts and classes.

use super::reader::Reader;
use crate::read::{Problem, Span, shorten};

/// Returns whether a text is a valid name with at most the given number of characters.
pub(crate) fn is_name(text: &str, most: usize) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+');
    !text.is_empty() && text.chars().count() <= most && text.chars().all(fits)
}

/// Describes a name, for error messages.
pub(super) const NAME: &str = "a name of letters, digits, \"_\", \"-\" and \"+\"";

/// Describes a class's name, for error messages.
pub(crate) const CLASS: &str = "a name of 1 to 32 letters, digits, \"_\", \"-\" and \"+\"";

impl Reader<'_> {
    /// Checks the name of a link, flow or source.
    pub fn check_name(&mut self, name: &str, span: Span) -> bool {
        let good = is_name(name, 64);
        if !good {
            let problem = Problem::new(span, format!("\"{}\" cannot be a name", shorten(name)));
            self.problem(problem.expected("1 to 64 letters, digits, \"_\", \"-\" and \"+\""));
        }
        good
    }

    /// Checks the name of a class. A class's name must be shorter than other names, because names
    /// of time series contain it.
    pub fn check_class(&mut self, name: &str, span: Span) -> bool {
        let good = is_name(name, 32);
        if !good {
            let problem = format!("\"{}\" cannot be the name of a class", shorten(name));
            self.problem(Problem::new(span, problem).expected(CLASS));
        }
        good
    }
}
