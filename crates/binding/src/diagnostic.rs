//! What is wrong with a scenario, for Python: place, message and hints as separate fields.

use pyo3::prelude::*;
use tailback_record::foreign::shown;
use tailback_scenario::{Diagnostic as Problem, Place};

/// Something that is wrong with a scenario, or unusual. Its text is the message that the user
/// reads.
#[pyclass(frozen, eq, hash, get_all, module = "tailback._native")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Where, as the user reads it: `FILE:LINE:COLUMN`, a path of a table, an option; may be empty.
    place: String,
    /// The file as it was named, or the option (`--set a=b`); empty without one.
    file: String,
    /// Line, from 1; 0: there is no file.
    line: usize,
    /// Column in characters, from 1; 0: there is no file.
    column: usize,
    /// Number of characters to mark from there on, on this line.
    width: usize,
    /// The line.
    source: String,
    /// The text of a `--set`, `a=b`; `None`: the error is in the file.
    option: Option<String>,
    /// What is wrong.
    message: String,
    /// What was expected.
    expected: Option<String>,
    /// The nearest valid name.
    nearest: Option<String>,
    /// What to do about it, an imperative.
    help: Option<String>,
    /// Message and hints in one line.
    text: String,
}

impl From<&Problem> for Diagnostic {
    fn from(problem: &Problem) -> Diagnostic {
        let text = problem.text();
        Diagnostic {
            message: problem.message.clone(),
            expected: problem.expected.clone(),
            nearest: problem.nearest.clone(),
            help: problem.help.clone(),
            ..Diagnostic::of(&problem.place, text)
        }
    }
}

impl Diagnostic {
    /// A message at a place of a file.
    pub fn of(at: &Place, text: String) -> Diagnostic {
        Diagnostic {
            place: format!("{}:{}:{}", shown(&at.file), at.line, at.column),
            file: at.file.clone(),
            line: at.line,
            column: at.column,
            width: at.width,
            source: at.text.clone(),
            option: at.option.clone(),
            message: text.clone(),
            expected: None,
            nearest: None,
            help: None,
            text,
        }
    }
}

#[pymethods]
impl Diagnostic {
    /// A message that comes from Python, with its place if it has one.
    #[new]
    #[pyo3(signature = (message, place = ""))]
    fn new(message: String, place: &str) -> Diagnostic {
        Diagnostic {
            place: place.to_owned(),
            file: String::new(),
            line: 0,
            column: 0,
            width: 0,
            source: String::new(),
            option: None,
            message: message.clone(),
            expected: None,
            nearest: None,
            help: None,
            text: message,
        }
    }

    /// The same message with another place for the user to read; the place in the file is kept.
    fn at(&self, place: String) -> Diagnostic {
        Diagnostic {
            place,
            ..self.clone()
        }
    }

    fn __str__(&self) -> String {
        match self.place.as_str() {
            "" => self.text.clone(),
            place => format!("{place}: {}", self.text),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Diagnostic {:?}>", self.__str__())
    }
}
