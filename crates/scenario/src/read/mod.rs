//! Parses text to a tree. Every node knows its position in the text, where errors are reported.

mod path;
mod problem;
mod span;
mod tree;

pub(crate) use path::{Path, Step};
pub use problem::Diagnostic;
pub(crate) use problem::{Problem, listed, render, shorten};
pub use span::Place;
pub(crate) use span::{Sources, Span};
pub(crate) use tree::{Item, Node, Table, Toml, parse, parse_value};
