//! Parses text into a tree. Every node stores its position in the text, so that errors can state
//! the position.

mod path;
mod problem;
mod span;
pub(crate) mod synonyms;
mod tree;

pub(crate) use path::{Path, Step};
pub use problem::Diagnostic;
pub(crate) use problem::{Problem, listed, render, shorten};
pub use span::Place;
pub(crate) use span::{Sources, Span};
pub(crate) use tree::{Item, Node, Table, Toml, parse, parse_value};
