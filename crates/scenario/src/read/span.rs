//! Spans of the file, and of what stands on the command line.

/// A place in one of the [`Sources`], in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    /// Index into [`Sources`]: 0 is the file, the others are options.
    pub source: u32,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(source: u32, range: std::ops::Range<usize>) -> Span {
        Span {
            source,
            start: range.start as u32,
            end: range.end.max(range.start) as u32,
        }
    }
}

/// The texts a scenario was put together from.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Source>);

#[derive(Debug)]
struct Source {
    name: String,
    text: String,
    /// Where each line starts, bytes.
    lines: Vec<usize>,
}

impl Sources {
    pub fn add(&mut self, name: &str, text: &str) -> u32 {
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        self.0.push(Source {
            name: name.to_owned(),
            text: text.to_owned(),
            lines: std::iter::once(0)
                .chain(newlines.map(|(i, _)| i + 1))
                .collect(),
        });
        (self.0.len() - 1) as u32
    }

    /// Index of the line a place is on, from 0.
    pub fn line(&self, span: Span) -> usize {
        self.0.get(span.source as usize).map_or(0, |source| {
            source
                .lines
                .partition_point(|start| *start <= span.start as usize)
                .saturating_sub(1)
        })
    }

    /// File, line and column, the latter two from 1; columns count characters.
    pub fn position(&self, span: Span) -> (&str, usize, usize) {
        let Some(source) = self.0.get(span.source as usize) else {
            return ("", 1, 1);
        };
        let line = self.line(span);
        let begin = source.lines[line];
        let column = source
            .text
            .get(begin..(span.start as usize).min(source.text.len()))
            .map_or(0, |before| before.chars().count());
        (&source.name, line + 1, column + 1)
    }
}
