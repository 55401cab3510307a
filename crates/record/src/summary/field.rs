//! Declares the fields of a summary. The declaration of a field states its type, unit, meaning, and
//! properties as a metric.
//!
//! The JSON, the check of stored summaries, the metrics, the assertions, the data frames and the
//! reference are all generated from these declarations. To add a field, declare the field with
//! `fields!` in its part of the summary, and set its value.

use serde::ser::SerializeMap;

use super::Causes;
use crate::stat::Stat;

/// A field in a part of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// The field's key in JSON.
    pub name: &'static str,
    /// Type of the field's value.
    pub kind: Kind,
    /// Description of the field for the documentation.
    pub doc: &'static str,
    /// Properties of the field as a metric. `None` if the field is not a metric.
    pub reading: Option<Reading>,
    /// For [`Kind::Statistics`], the names of the statistics to write.
    pub statistics: &'static [&'static str],
    /// Whether the key is omitted from the JSON if the field has no value.
    pub left_out: bool,
    /// Whether the field may be missing in summaries of earlier versions.
    pub added: bool,
    /// Name of the field's metric, if it differs from the key.
    pub metric: Option<&'static str>,
    /// For a table, whether the names of its metrics omit the table's name.
    pub beside: bool,
}

/// Type of the value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// The value is a string.
    Text,
    /// The value is a string or null.
    OptionalText,
    /// The value is the id of a run.
    Identity,
    /// The value is a whole number.
    Count,
    /// The value is a whole number or null.
    OptionalCount,
    /// The value is a number.
    Number,
    /// The value is a number or null.
    OptionalNumber,
    /// The value is a [`Stat`], or some of the statistics in it.
    Statistics,
    /// The value is a table of counts by cause, or null.
    Causes,
    /// The value is a table that contains only numbers or null.
    Numbers,
    /// The value is a table.
    Table(&'static [Field]),
    /// The value is a table or null.
    OptionalTable(&'static [Field]),
    /// The value is a list of tables.
    List(&'static [Field]),
    /// The value is a table of tables, such as the links by name.
    ByName(&'static [Field]),
    /// The fields of the part are written into the surrounding table instead of a separate table.
    Inline(&'static [Field]),
}

/// Properties of a field as a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Unit. Empty if the number has no unit.
    pub unit: &'static str,
    /// How values are weighted in the mean over a run.
    pub weight: Weight,
    /// Upper bound of the values, if an upper bound exists.
    pub most: Option<f64>,
    /// Whether higher or lower values are better. `None` if neither higher nor lower values are
    /// better.
    pub better: Option<Better>,
}

/// How values are weighted in the mean over a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The field counts events and is not a mean.
    Count,
    /// The field is a count of bytes, or a count of bytes divided by a time or by the link's
    /// capacity.
    Bytes,
    /// Every packet has the same weight.
    Packets,
    /// Every RTT sample or record interval has the same weight.
    Samples,
    /// Every request has the same weight.
    Requests,
    /// The mean is weighted by time.
    Time,
    /// Every interval of `record.statistics` has the same weight.
    Intervals,
    /// Every flow has the same weight.
    Flows,
    /// A run has only one value.
    Once,
}

impl Weight {
    /// Returns the name of this value in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Weight::Count => "count",
            Weight::Bytes => "bytes",
            Weight::Packets => "packets",
            Weight::Samples => "samples",
            Weight::Requests => "requests",
            Weight::Time => "time",
            Weight::Intervals => "intervals",
            Weight::Flows => "flows",
            Weight::Once => "once",
        }
    }
}

/// Whether higher or lower values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

impl Better {
    /// Returns the name of this value in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Better::Less => "less",
            Better::More => "more",
        }
    }
}

/// Declares a field that is not a metric, or that contains other fields.
pub(crate) const fn about() -> Field {
    Field {
        name: "",
        kind: Kind::Text,
        doc: "",
        reading: None,
        statistics: Stat::NAMES,
        left_out: false,
        added: false,
        metric: None,
        beside: false,
    }
}

/// Declares a field that is a metric, with its unit and weight.
pub(crate) const fn measured(unit: &'static str, weight: Weight) -> Field {
    Field {
        reading: Some(Reading {
            unit,
            weight,
            most: None,
            better: None,
        }),
        ..about()
    }
}

impl Field {
    /// Declares that lower values are better.
    pub(crate) const fn less(mut self) -> Field {
        if let Some(reading) = &mut self.reading {
            reading.better = Some(Better::Less);
        }
        self
    }

    /// Declares that higher values are better.
    pub(crate) const fn more(mut self) -> Field {
        if let Some(reading) = &mut self.reading {
            reading.better = Some(Better::More);
        }
        self
    }

    /// Sets the upper bound of the values.
    pub(crate) const fn at_most(mut self, most: f64) -> Field {
        if let Some(reading) = &mut self.reading {
            reading.most = Some(most);
        }
        self
    }

    /// Sets which statistics are written.
    pub(crate) const fn only(mut self, statistics: &'static [&'static str]) -> Field {
        self.statistics = statistics;
        self
    }

    /// Omits the key from the JSON if the field has no value.
    pub(crate) const fn or_left_out(mut self) -> Field {
        self.left_out = true;
        self
    }

    /// Allows the field to be missing in summaries of earlier versions.
    pub(crate) const fn added(mut self) -> Field {
        self.added = true;
        self
    }

    /// Sets the name of the field's metric.
    pub(crate) const fn called(mut self, metric: &'static str) -> Field {
        self.metric = Some(metric);
        self
    }

    /// For a table, omits the table's name from the names of its metrics.
    pub(crate) const fn beside(mut self) -> Field {
        self.beside = true;
        self
    }

    /// Sets the field's name, JSON type and description (its doc comment).
    pub(crate) const fn declared(
        mut self,
        name: &'static str,
        kind: Kind,
        doc: &'static str,
    ) -> Field {
        self.name = name;
        self.kind = kind;
        self.doc = doc.trim_ascii_start();
        self
    }
}

/// A type that a field of a summary can have.
pub(crate) trait Value {
    /// JSON type of the value.
    const KIND: Kind;

    /// Writes a field with this value into the table that contains the field.
    fn write<M: SerializeMap>(&self, field: &Field, table: &mut M) -> Result<(), M::Error>;
}

/// A part of a summary, declared with `fields!`.
pub trait Record {
    /// The fields of the part, in the order of the JSON.
    const FIELDS: &'static [Field];
}

macro_rules! values {
    ($($type:ty: $kind:expr;)*) => {
        $(impl $crate::summary::field::Value for $type {
            const KIND: $crate::summary::field::Kind = $kind;

            fn write<M: serde::ser::SerializeMap>(
                &self,
                field: &$crate::summary::field::Field,
                table: &mut M,
            ) -> Result<(), M::Error> {
                table.serialize_entry(field.name, self)
            }
        })*
    };
}
pub(crate) use values;

values! {
    String: Kind::Text;
    &str: Kind::Text;
    Option<String>: Kind::OptionalText;
    Option<&str>: Kind::OptionalText;
    u64: Kind::Count;
    Option<u64>: Kind::OptionalCount;
    Option<i32>: Kind::OptionalCount;
    f64: Kind::Number;
    Option<f64>: Kind::OptionalNumber;
    Option<Causes>: Kind::Causes;
}

impl Value for Stat {
    const KIND: Kind = Kind::Statistics;

    fn write<M: SerializeMap>(&self, field: &Field, table: &mut M) -> Result<(), M::Error> {
        table.serialize_entry(field.name, &self.only(field.statistics))
    }
}

impl<T: Record + serde::Serialize> Value for Option<T> {
    const KIND: Kind = Kind::OptionalTable(T::FIELDS);

    fn write<M: SerializeMap>(&self, field: &Field, table: &mut M) -> Result<(), M::Error> {
        match self {
            None if field.left_out => Ok(()),
            part => table.serialize_entry(field.name, part),
        }
    }
}

impl<T: Record + serde::Serialize> Value for Vec<T> {
    const KIND: Kind = Kind::List(T::FIELDS);

    fn write<M: SerializeMap>(&self, field: &Field, table: &mut M) -> Result<(), M::Error> {
        if field.left_out && self.is_empty() {
            return Ok(());
        }
        table.serialize_entry(field.name, self)
    }
}

/// Declares a part of a summary: a struct, its fields, and how to write it. A line has the form
/// `name: Type = spec;`. Each line needs a doc comment, which the documentation quotes. The spec
/// begins with [`measured`] or [`about`]. The line `inline name: Type;` includes the fields of
/// another part.
macro_rules! fields {
    ($(#[doc = $about:literal])+ pub struct $part:ident $(<$life:lifetime>)? { $($lines:tt)* }) => {
        $crate::summary::field::fields!(@ [$part [$($life)?] [$(#[doc = $about])+]] {} {} {} $($lines)*);
    };
    (@ $head:tt {$($member:tt)*} {$($field:tt)*} {$($write:tt)*}
        $(#[doc = $doc:literal])+ inline $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::summary::field::fields!(@ $head
            {$($member)* $(#[doc = $doc])+ pub $name: $type,}
            {$($field)* $crate::summary::field::about().declared(
                stringify!($name),
                $crate::summary::field::Kind::Inline(
                    <$type as $crate::summary::field::Record>::FIELDS,
                ),
                concat!($($doc),+),
            ),}
            {$($write)* [$name]}
            $($rest)*);
    };
    (@ $head:tt {$($member:tt)*} {$($field:tt)*} {$($write:tt)*}
        $(#[doc = $doc:literal])+ $name:ident: $type:ty = $spec:expr; $($rest:tt)*) => {
        $crate::summary::field::fields!(@ $head
            {$($member)* $(#[doc = $doc])+ pub $name: $type,}
            {$($field)* $spec.declared(
                stringify!($name),
                <$type as $crate::summary::field::Value>::KIND,
                concat!($($doc),+),
            ),}
            {$($write)* [$name]}
            $($rest)*);
    };
    (@ [$part:ident [$($life:lifetime)?] [$(#[doc = $about:literal])+]]
        {$($member:tt)*} {$($field:tt)*} {$([$name:ident])*}) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $part $(<$life>)? { $($member)* }

        impl $(<$life>)? $crate::summary::field::Record for $part $(<$life>)? {
            const FIELDS: &'static [$crate::summary::field::Field] = &[$($field)*];
        }

        impl $(<$life>)? $part $(<$life>)? {
            fn write_into<M: serde::ser::SerializeMap>(&self, table: &mut M) -> Result<(), M::Error> {
                let mut fields = <Self as $crate::summary::field::Record>::FIELDS.iter();
                $(if let Some(field) = fields.next() {
                    $crate::summary::field::Value::write(&self.$name, field, table)?;
                })*
                Ok(())
            }
        }

        impl $(<$life>)? serde::Serialize for $part $(<$life>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut table = serializer.serialize_map(None)?;
                self.write_into(&mut table)?;
                serde::ser::SerializeMap::end(table)
            }
        }

        impl $(<$life>)? $crate::summary::field::Value for $part $(<$life>)? {
            const KIND: $crate::summary::field::Kind = $crate::summary::field::Kind::Table(
                <Self as $crate::summary::field::Record>::FIELDS,
            );

            fn write<M: serde::ser::SerializeMap>(
                &self,
                field: &$crate::summary::field::Field,
                table: &mut M,
            ) -> Result<(), M::Error> {
                match field.kind {
                    $crate::summary::field::Kind::Inline(_) => self.write_into(table),
                    _ => table.serialize_entry(field.name, self),
                }
            }
        }
    };
}
pub(crate) use fields;
