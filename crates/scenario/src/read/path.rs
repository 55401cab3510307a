//! Paths of keys, as in `[sweep]` and `--set`: `flows[0].tcp.mss`.

use super::problem::{Problem, shorten};
use super::span::Span;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// Largest number of steps of a path. Every key of a scenario has fewer steps. A longer path could
/// create such a deep tree that recursion overflows the stack.
const MAX_STEPS: usize = 16;

/// A path to a key, with the position of each step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path(pub Vec<(Step, Span)>);

impl Path {
    /// Reads a path such as `bottleneck.rate`, `flows[0].rtt` or `flows."a b".rtt`. `span` is the
    /// position of the text that contains the path.
    pub fn parse(text: &str, span: Span) -> Result<Path, Problem> {
        let wrong = |at: usize| {
            Problem::new(
                part(span, at, text.len()),
                format!("\"{}\" is not a path", shorten(text)),
            )
            .expected(
                "keys with dots between them, such as \"bottleneck.rate\" or \"flows[0].rtt\"",
            )
        };
        let bytes = text.as_bytes();
        let mut steps = Vec::new();
        let mut at = 0;
        loop {
            let begin = at;
            if bytes.get(at) == Some(&b'"') {
                let end = text[at + 1..].find('"').ok_or_else(|| wrong(at))? + at + 1;
                steps.push((
                    Step::Key(text[at + 1..end].to_owned()),
                    part(span, begin, end + 1),
                ));
                at = end + 1;
            } else {
                let end = text[at..]
                    .find(['.', '[', ']', '"'])
                    .map_or(text.len(), |n| at + n);
                if end == begin {
                    return Err(wrong(begin));
                }
                steps.push((
                    Step::Key(text[begin..end].to_owned()),
                    part(span, begin, end),
                ));
                at = end;
            }
            while bytes.get(at) == Some(&b'[') {
                let end = text[at..].find(']').ok_or_else(|| wrong(at))? + at;
                let index = text[at + 1..end].parse().map_err(|_| wrong(at))?;
                steps.push((Step::Index(index), part(span, at, end + 1)));
                at = end + 1;
            }
            if steps.len() > MAX_STEPS {
                return Err(wrong(at));
            }
            match bytes.get(at) {
                None => return Ok(Path(steps)),
                Some(b'.') => at += 1,
                Some(_) => return Err(wrong(at)),
            }
        }
    }

    /// Returns whether both paths lead to the same key.
    pub fn same(&self, other: &Path) -> bool {
        self.0.len() == other.0.len() && self.is_prefix_of(other)
    }

    /// Returns whether the path `other` begins with this path.
    pub fn is_prefix_of(&self, other: &Path) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.0 == b.0)
    }
}

/// Returns the position of a part of a text. `span` is the position of the whole text.
fn part(span: Span, start: usize, end: usize) -> Span {
    let at = span.start as usize;
    Span::new(span.source, at + start..at + end)
}
