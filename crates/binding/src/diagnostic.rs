//! Provides errors and warnings about scenarios for Python.

use pyo3::prelude::*;
use tailback_record::foreign::shown;
use tailback_scenario::{Diagnostic as Problem, Place};

/// An error in a scenario, or a warning about an unusual setting. Its text (`str`) is the message
/// for the user.
#[pyclass(frozen, eq, hash, get_all, module = "tailback._native")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// The position that the message shows. The position is `FILE:LINE:COLUMN`, the path of a
    /// table, or an option. It may be empty.
    place: String,
    /// The file as the caller named it, or the option (`--set a=b`). Empty if there is no file.
    file: String,
    /// Line, from 1. 0 without a file.
    line: usize,
    /// Column in characters, from 1. 0 without a file.
    column: usize,
    /// Number of characters to underline, beginning at the column.
    width: usize,
    source: String,
    /// The text of a `--set`, as `a=b`. `None` if the error is in the file.
    option: Option<String>,
    /// What is wrong.
    message: String,
    /// What was expected, if known.
    expected: Option<String>,
    /// The most similar valid name, if a valid name is similar enough.
    nearest: Option<String>,
    /// How to correct the error, as an imperative.
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
    /// Creates a message about a position in a file.
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
    /// Lets Python code create a message, with its position if known.
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

    /// Returns a copy whose message shows `place`. Its file, line and column stay the same.
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
