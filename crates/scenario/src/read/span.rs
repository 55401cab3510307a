//! Positions in the scenario file and in command-line options.

/// A range of bytes in one of the [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    /// Index into [`Sources`]: 0 is the file, and larger indices are command-line options.
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

/// A position in a file or on the command line, in the form that the user sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the file as the user wrote it, or the option (`--set a=b`).
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Number of characters to mark on this line, beginning at the column.
    pub width: usize,
    /// The text of the line. The text is empty for a file that is not a scenario.
    pub text: String,
    /// The text `a=b` of the command-line option, if the position is in an option.
    pub option: Option<String>,
}

impl Place {
    /// Returns the position at the start of a file.
    pub fn start(file: &str) -> Place {
        Place {
            file: file.to_owned(),
            line: 1,
            column: 1,
            ..Place::default()
        }
    }
}

/// The file and the command-line options that make up a scenario.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Source>);

#[derive(Debug)]
struct Source {
    name: String,
    text: String,
    /// The text `a=b`, if the source is a command-line option.
    option: Option<String>,
    /// Whether errors quote lines of this source.
    quoted: bool,
    /// Offset of the start of each line, in bytes.
    lines: Vec<usize>,
}

impl Sources {
    pub fn add(&mut self, name: &str, text: &str) -> u32 {
        self.push(name, text, None)
    }

    /// Adds the text `KEY=VALUE` of an option as a source.
    pub fn add_option(&mut self, name: &str, text: &str) -> u32 {
        self.push(name, text, Some(text.to_owned()))
    }

    fn push(&mut self, name: &str, text: &str, option: Option<String>) -> u32 {
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        self.0.push(Source {
            name: name.to_owned(),
            text: text.to_owned(),
            option,
            quoted: true,
            lines: std::iter::once(0)
                .chain(newlines.map(|(i, _)| i + 1))
                .collect(),
        });
        (self.0.len() - 1) as u32
    }

    /// Prevents errors from quoting a source. Call this function if the user has probably named a
    /// wrong file.
    pub fn conceal(&mut self, source: u32) {
        if let Some(source) = self.0.get_mut(source as usize) {
            source.quoted = false;
        }
    }

    /// Returns the index of the line of a position, counted from 0.
    pub fn line(&self, span: Span) -> usize {
        self.0.get(span.source as usize).map_or(0, |source| {
            source
                .lines
                .partition_point(|start| *start <= span.start as usize)
                .saturating_sub(1)
        })
    }

    /// Converts a span to a position (line and column) for the user.
    pub fn place(&self, span: Span) -> Place {
        let Some(source) = self.0.get(span.source as usize) else {
            return Place::start("");
        };
        let line = self.line(span);
        let begin = source.lines[line];
        let text = source.text[begin..].lines().next().unwrap_or_default();
        let start = (span.start as usize).min(source.text.len());
        let characters = |range: std::ops::Range<usize>| {
            let found = source.text.get(range);
            found.map_or(0, |text| text.chars().count())
        };
        let end = (span.end as usize).clamp(start, (begin + text.len()).max(start));
        Place {
            file: source.name.clone(),
            line: line + 1,
            column: characters(begin..start) + 1,
            width: characters(start..end),
            text: if source.quoted { text } else { "" }.to_owned(),
            option: source.option.clone(),
        }
    }
}
