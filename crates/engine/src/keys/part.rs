//! Converts a plan to plain data (tables, lists and values). Other code then writes these data as
//! text.

use crate::rate::RatePlan;
use crate::registry::{Algorithm, Options, Value};

/// A plan or a value in a plan, as plain data.
pub enum Part<'a> {
    /// A missing value.
    Null,
    /// A value in base units.
    Value(Value),
    /// A name.
    Text(&'a str),
    /// The options of an algorithm, a source or an impairment. The key `kind` of the same table
    /// contains the name of the algorithm, source or impairment.
    Options(&'a Options),
    /// An algorithm with its options.
    Algorithm(&'a Algorithm),
    /// A rate as a function of time.
    Rate(&'a RatePlan),
    /// A table: parts with their names, in the order in which they are declared.
    Table(Vec<(&'static str, Part<'a>)>),
    /// A list of parts of one kind.
    List(Box<dyn Iterator<Item = Part<'a>> + 'a>),
}

/// A type that occurs in a plan.
pub trait AsPart {
    /// Converts this value to plain data.
    fn part(&self) -> Part<'_>;
}

impl AsPart for String {
    fn part(&self) -> Part<'_> {
        Part::Text(self)
    }
}

impl AsPart for Options {
    fn part(&self) -> Part<'_> {
        Part::Options(self)
    }
}

impl AsPart for Algorithm {
    fn part(&self) -> Part<'_> {
        Part::Algorithm(self)
    }
}

impl AsPart for RatePlan {
    fn part(&self) -> Part<'_> {
        Part::Rate(self)
    }
}

impl<T: AsPart> AsPart for Option<T> {
    fn part(&self) -> Part<'_> {
        self.as_ref().map_or(Part::Null, T::part)
    }
}

impl<T: AsPart> AsPart for Box<T> {
    fn part(&self) -> Part<'_> {
        self.as_ref().part()
    }
}

impl<T: AsPart> AsPart for [T] {
    fn part(&self) -> Part<'_> {
        Part::List(Box::new(self.iter().map(T::part)))
    }
}

impl<T: AsPart> AsPart for Vec<T> {
    fn part(&self) -> Part<'_> {
        self.as_slice().part()
    }
}

impl<T: AsPart, const N: usize> AsPart for [T; N] {
    fn part(&self) -> Part<'_> {
        self.as_slice().part()
    }
}
