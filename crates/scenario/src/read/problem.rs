//! Errors in a scenario, with their position, the expected value, and the nearest valid name.

use std::fmt;

use tailback_record::foreign::shown;

use super::span::{Place, Sources, Span};
use super::synonyms;

/// An error in the form that the user sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where the error is.
    pub place: Box<Place>,
    /// What is wrong.
    pub message: String,
    /// Description of the expected value, if known.
    pub expected: Option<String>,
    /// The valid name that is most similar to the wrong name, if a valid name is similar enough.
    pub nearest: Option<String>,
    /// How to correct the error, as an imperative.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place {
            file, line, column, ..
        } = &*self.place;
        write!(f, "{}:{line}:{column}: {}", shown(file), self.text())
    }
}

impl Diagnostic {
    /// Makes an error.
    pub fn new(
        place: Place,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> Diagnostic {
        let expected = Some(expected.into());
        Diagnostic {
            place: Box::new(place),
            message: message.into(),
            help: instruction(expected.as_deref(), None),
            expected,
            nearest: None,
        }
    }

    /// Returns the message with the expected value and the nearest valid name, without the
    /// position.
    pub fn text(&self) -> String {
        // Names and values come from files, and a terminal would interpret control characters in
        // them.
        let mut text = shown(&self.message).into_owned();
        if let Some(expected) = &self.expected {
            text += &format!("; expected {}", shown(expected));
        }
        if let Some(nearest) = &self.nearest {
            text += &format!("; did you mean \"{}\"?", shown(nearest));
        }
        text
    }
}

impl std::error::Error for Diagnostic {}

/// Largest length, in characters, of the list of valid names in an error that suggests the nearest
/// name. The error omits a longer list.
const MAX_LISTED: usize = 100;

/// Returns the advice to the user, composed of the expected value and the nearest valid name.
fn instruction(expected: Option<&str>, nearest: Option<&str>) -> Option<String> {
    let Some(nearest) = nearest else {
        return expected.map(use_or_remove);
    };
    let written = format!("write \"{nearest}\"");
    Some(
        match expected.map(|text| (text, text.strip_prefix("one of "))) {
            None => written,
            Some((_, Some(others))) if others == nearest || others.len() > MAX_LISTED => written,
            Some((_, Some(others))) => format!("{written}, or another of {others}"),
            Some((other, None)) => format!("{written}, or use {other}"),
        },
    )
}

/// Converts a description of the expected value to an imperative: `--engine kernel, or no kernel`
/// becomes `use --engine kernel, or remove kernel`.
fn use_or_remove(expected: &str) -> String {
    let mut verb = "";
    let choices = expected.split(", or ").map(|choice| {
        let (next, object) = match choice.strip_prefix("no ") {
            Some(object) => ("remove", object),
            None => ("use", choice),
        };
        if next == verb {
            return object.to_owned();
        }
        verb = next;
        format!("{next} {object}")
    });
    choices.collect::<Vec<_>>().join(", or ")
}

/// Largest number of errors to report. A file that is not a scenario may have an error in each
/// line.
const MAX_REPORTED: usize = 100;

/// A diagnostic whose position is still a span of bytes, instead of a line and a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub span: Span,
    pub message: String,
    pub expected: Option<String>,
    pub nearest: Option<String>,
    /// The advice to the user. `None` if the advice is composed of `expected` and `nearest`.
    pub help: Option<String>,
    /// Whether the error depends only on the text at its position. An error that depends on other
    /// text, such as a missing key or an unknown name, may be a consequence of a syntax error.
    pub local: bool,
}

impl Problem {
    pub fn new(span: Span, message: impl Into<String>) -> Problem {
        Problem {
            span,
            message: message.into(),
            expected: None,
            nearest: None,
            help: None,
            local: true,
        }
    }

    pub fn expected(mut self, expected: impl Into<String>) -> Problem {
        self.expected = Some(expected.into());
        self
    }

    pub fn nearest<'a>(mut self, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Problem {
        self.nearest = nearest(name, valid);
        self
    }

    /// Sets the advice on how to correct the error.
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    pub fn global(mut self) -> Problem {
        self.local = false;
        self
    }
}

/// Joins names with commas. If there are many names, joins only the first names.
pub(crate) fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 20;
    let more = names.len().saturating_sub(SHOWN);
    let shown: Vec<&str> = names.take(SHOWN).collect();
    let shown = shown.join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns the valid name that the user probably meant. If `name` is another word for a valid name,
/// returns this valid name. Otherwise returns the most similar valid name, if its similarity is
/// high enough.
pub(crate) fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Skip very long words, because they are not misspelled names, and the comparison takes
    // quadratic time.
    if name.is_empty() || name.len() > 64 {
        return None;
    }
    let valid: Vec<&str> = valid.into_iter().collect();
    if let Some(meant) = synonyms::meant(name).find(|meant| valid.contains(meant)) {
        return Some(meant.to_owned());
    }
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in valid {
        let lower = candidate.to_lowercase();
        let mut distance = strsim::damerau_levenshtein(&name, &lower);
        // Accept the beginning of a valid name, such as "thresh" for "threshold".
        if distance > allowed && name.len() >= 3 && lower.starts_with(&name) {
            distance = allowed;
        }
        if distance <= allowed && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate.to_owned())
}

/// Sorts errors by position, removes repetitions, and finds lines and columns.
pub(crate) fn render(mut problems: Vec<Problem>, sources: &Sources) -> Vec<Diagnostic> {
    problems.sort();
    problems.dedup();
    let more = problems.len().saturating_sub(MAX_REPORTED);
    problems.truncate(MAX_REPORTED);
    let mut rendered: Vec<Diagnostic> = problems
        .into_iter()
        .map(|problem| Diagnostic {
            place: Box::new(sources.place(problem.span)),
            help: problem
                .help
                .or_else(|| instruction(problem.expected.as_deref(), problem.nearest.as_deref())),
            message: problem.message,
            expected: problem.expected,
            nearest: problem.nearest,
        })
        .collect();
    if more > 0
        && let Some(last) = rendered.last().cloned()
    {
        rendered.push(Diagnostic {
            message: format!("{more} more are not shown"),
            expected: None,
            nearest: None,
            help: None,
            ..last
        });
    }
    rendered
}

pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        text.to_owned()
    } else {
        text.chars().take(60).chain("...".chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_becomes_an_imperative() {
        let table = [
            (Some("a table"), None, "use a table"),
            (
                Some("--engine kernel, or no kernel"),
                None,
                "use --engine kernel, or remove kernel",
            ),
            (Some("no a, or no b"), None, "remove a, or b"),
            (None, Some("cubic"), "write \"cubic\""),
            (Some("one of cubic"), Some("cubic"), "write \"cubic\""),
            (
                Some("one of cubic, reno"),
                Some("cubic"),
                "write \"cubic\", or another of cubic, reno",
            ),
            (Some("a name"), Some("x"), "write \"x\", or use a name"),
        ];
        for (expected, nearest, help) in table {
            assert_eq!(instruction(expected, nearest).as_deref(), Some(help));
        }
        assert_eq!(instruction(None, None), None);
    }
}
