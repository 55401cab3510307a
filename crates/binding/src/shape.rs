//! Checks whether JSON has the expected keys and types (a schema), without building Python objects.
//!
//! Python code declares the schemas (`tailback.store.shape`). If this module rejects a file, Python
//! code checks the file again, and describes the error. This module may therefore reject valid
//! files. It rejects a file if Python might parse a number or a text in the file differently.

use std::cell::Cell;
use std::fmt;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use tailback_record::stored::is_id;

/// A float of this size or larger may be an integer that does not fit into 64 bits.
const LARGE: f64 = 1.8e19;

/// A schema of JSON, with the largest permitted depth and number of values.
#[pyclass(frozen, module = "tailback._native")]
pub struct Shape {
    /// The description from which the schema was parsed.
    pub described: String,
    node: Node,
    depth: usize,
    values: usize,
}

#[pymethods]
impl Shape {
    /// Parses a description that `tailback.store.shape.described` returned.
    #[new]
    #[pyo3(signature = (described, *, depth, values))]
    fn new(described: &str, depth: usize, values: usize) -> PyResult<Shape> {
        let node = serde_json::from_str(described)
            .ok()
            .and_then(|value| Node::of(&value))
            .ok_or_else(|| PyValueError::new_err("not the description of a shape"))?;
        Ok(Shape {
            described: described.to_owned(),
            node,
            depth,
            values,
        })
    }

    /// Returns whether the JSON in `data` has this schema. Python may accept JSON that this
    /// function rejects.
    #[pyo3(name = "fits")]
    fn fits_in_python(&self, py: Python<'_>, data: &[u8]) -> bool {
        py.detach(|| self.fits(data))
    }
}

impl Shape {
    /// The version of `fits_in_python` for Rust code.
    pub fn fits(&self, data: &[u8]) -> bool {
        let left = Cell::new(self.values);
        let whole = Fit {
            node: &self.node,
            depth: self.depth,
            left: &left,
        };
        let mut reader = serde_json::Deserializer::from_slice(data);
        whole
            .deserialize(&mut reader)
            .and_then(|()| reader.end())
            .is_ok()
    }
}

/// The schema of one value.
enum Node {
    Any,
    Text,
    Whole,
    Number,
    Identity,
    /// Null, or a value of this schema.
    Maybe(Box<Node>),
    /// A table with any keys, whose values all have this schema.
    Each(Box<Node>),
    List(Box<Node>),
    /// A table with these keys, at most 64. Each item is a name, a schema, and whether the key is
    /// required.
    Table(Vec<(String, Node, bool)>),
}

impl Node {
    fn of(described: &Value) -> Option<Node> {
        if let Some(word) = described.as_str() {
            return Some(match word {
                "text" => Node::Text,
                "whole" => Node::Whole,
                "number" => Node::Number,
                "identity" => Node::Identity,
                _ => return None,
            });
        }
        let inner = |value: &Value| Node::of(value).map(Box::new);
        let (kind, what) = described.as_object()?.iter().next()?;
        match kind.as_str() {
            "maybe" => inner(what).map(Node::Maybe),
            "each" => inner(what).map(Node::Each),
            "list" => inner(what).map(Node::List),
            "table" => {
                let keys = what.as_array()?.iter().map(|key| {
                    let name = key[0].as_str()?.to_owned();
                    Some((name, Node::of(&key[1])?, key[2].as_bool()?))
                });
                let keys: Vec<_> = keys.collect::<Option<_>>()?;
                (keys.len() <= 64).then_some(Node::Table(keys))
            }
            _ => None,
        }
    }
}

/// The schema that a value must have, and the depth and number of values that are still permitted.
#[derive(Clone, Copy)]
struct Fit<'a> {
    node: &'a Node,
    depth: usize,
    left: &'a Cell<usize>,
}

impl<'a> Fit<'a> {
    /// Returns the schema without `Maybe`, for a value that is not null.
    fn bare(&self) -> &'a Node {
        match self.node {
            Node::Maybe(inner) => inner,
            node => node,
        }
    }

    /// Returns the [`Fit`] of a value inside this value, or an error if it exceeds the permitted
    /// depth or number of values.
    fn inner<E: Error>(&self, node: &'a Node) -> Result<Fit<'a>, E> {
        let left = self.left.get().checked_sub(1);
        let depth = self.depth.checked_sub(1);
        let (Some(left), Some(depth)) = (left, depth) else {
            return Err(E::custom("too deep, or too much"));
        };
        self.left.set(left);
        let left = self.left;
        Ok(Fit { node, depth, left })
    }

    fn one_of<E: Error>(&self, wanted: fn(&Node) -> bool) -> Result<(), E> {
        let node = self.bare();
        if matches!(node, Node::Any) || wanted(node) {
            Ok(())
        } else {
            Err(E::custom("another shape"))
        }
    }
}

impl<'de> DeserializeSeed<'de> for Fit<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fit<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of the shape")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match self.node {
            Node::Maybe(_) | Node::Any => Ok(()),
            _ => Err(E::custom("null")),
        }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.one_of(|_| false)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.one_of(|node| matches!(node, Node::Whole | Node::Number))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        // serde calls this only for negative numbers.
        self.one_of(|node| matches!(node, Node::Number))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if value.abs() < LARGE {
            return self.one_of(|node| matches!(node, Node::Number));
        }
        self.one_of(|_| false)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match self.bare() {
            Node::Identity if !is_id(text) => Err(E::custom("no identity")),
            _ => self.one_of(|node| matches!(node, Node::Text | Node::Identity)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let node = match self.bare() {
            Node::List(inner) => inner,
            Node::Any => &Node::Any,
            _ => return Err(A::Error::custom("a list")),
        };
        loop {
            let inner = self.inner(node)?;
            if list.next_element_seed(inner)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<(), A::Error> {
        let (keys, others) = match self.bare() {
            Node::Table(keys) => (keys.as_slice(), &Node::Any),
            Node::Each(inner) => (&[][..], &**inner),
            Node::Any => (&[][..], &Node::Any),
            _ => return Err(A::Error::custom("a table")),
        };
        let mut seen = 0_u64;
        loop {
            let inner = self.inner(others)?;
            match table.next_key_seed(Name(keys))? {
                None => break,
                Some(None) => table.next_value_seed(inner)?,
                Some(Some(at)) => {
                    seen |= 1 << at;
                    let node = &keys[at].1;
                    table.next_value_seed(Fit { node, ..inner })?;
                }
            }
        }
        let has = |(at, key): (usize, &(String, Node, bool))| !key.2 || seen >> at & 1 == 1;
        if keys.iter().enumerate().all(has) {
            Ok(())
        } else {
            Err(A::Error::custom("a key is missing"))
        }
    }
}

/// Parses a key, and finds it among the keys of a table.
struct Name<'a>(&'a [(String, Node, bool)]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|key| key.0 == name))
    }
}
