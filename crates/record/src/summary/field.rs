//! The fields of a summary, each declared once: type, unit, meaning, and its properties as a
//! metric.
//!
//! Serialisation, the required shape of a stored summary, metrics, assertions, frames and the
//! reference follow from the declarations. To add a field, declare it in `fields!` in its part of
//! the summary, and fill it in.

use serde::ser::SerializeMap;

use super::Causes;
use crate::stat::Stat;

/// A field of a part of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// Type of its value.
    pub kind: Kind,
    /// Its meaning.
    pub doc: &'static str,
    /// Its properties as a metric; `None`: it describes what was measured.
    pub reading: Option<Reading>,
    /// The statistics that are written, for [`Kind::Statistics`].
    pub statistics: &'static [&'static str],
    /// Whether the key is left out without a value.
    pub left_out: bool,
    /// Whether summaries of earlier versions may be without it.
    pub added: bool,
    /// Name of its metric, if that is not its key.
    pub metric: Option<&'static str>,
    /// Whether metrics of a table get names as if its fields were in the table around it.
    pub beside: bool,
}

/// Type of the value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A text.
    Text,
    /// A text or null.
    OptionalText,
    /// The id of a run.
    Identity,
    /// A whole number.
    Count,
    /// A whole number or null.
    OptionalCount,
    /// A number.
    Number,
    /// A number or null.
    OptionalNumber,
    /// [`Stat`], or part of it.
    Statistics,
    /// Counts by cause, or null.
    Causes,
    /// Numbers or nulls by name.
    Numbers,
    /// A table.
    Table(&'static [Field]),
    /// A table or null.
    OptionalTable(&'static [Field]),
    /// A list of tables.
    List(&'static [Field]),
    /// Tables by name.
    ByName(&'static [Field]),
    /// Fields that are in the table around them.
    Inline(&'static [Field]),
}

/// Properties of a number as a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Unit; empty without one.
    pub unit: &'static str,
    /// The weight of each value within the run.
    pub weight: Weight,
    /// Upper bound of the values.
    pub most: Option<f64>,
    /// Which direction is better, if this matters.
    pub better: Option<Better>,
}

/// The weight of each value within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A count of events.
    Count,
    /// Bytes over the measured time.
    Bytes,
    /// Every packet once.
    Packets,
    /// Every RTT sample or record interval once.
    Samples,
    /// Every request once.
    Requests,
    /// Every moment once.
    Time,
    /// Every interval of `record.statistics` once.
    Intervals,
    /// Every flow once.
    Flows,
    /// One value.
    Once,
}

impl Weight {
    /// Its name in metrics.
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

/// Which direction of a number is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
}

impl Better {
    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Better::Less => "less",
            Better::More => "more",
        }
    }
}

/// A field that describes what was measured, or holds other fields.
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

/// A measured number: its unit, and the weight of each value within a run.
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
    /// Less is better.
    pub(crate) const fn less(mut self) -> Field {
        if let Some(reading) = &mut self.reading {
            reading.better = Some(Better::Less);
        }
        self
    }

    /// More is better.
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

    /// Writes only these statistics.
    pub(crate) const fn only(mut self, statistics: &'static [&'static str]) -> Field {
        self.statistics = statistics;
        self
    }

    /// Leaves the key out without a value.
    pub(crate) const fn or_left_out(mut self) -> Field {
        self.left_out = true;
        self
    }

    /// Allows summaries of earlier versions to be without it.
    pub(crate) const fn added(mut self) -> Field {
        self.added = true;
        self
    }

    /// Sets the name of its metric.
    pub(crate) const fn called(mut self, metric: &'static str) -> Field {
        self.metric = Some(metric);
        self
    }

    /// Names the metrics of a table as if its fields were in the table around it.
    pub(crate) const fn beside(mut self) -> Field {
        self.beside = true;
        self
    }

    /// Adds its name, the kind of its type and its doc comment.
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

/// The type of a field.
pub(crate) trait Value {
    /// Its kind in JSON.
    const KIND: Kind;

    /// Writes a field with this value into its table.
    fn write<M: SerializeMap>(&self, field: &Field, table: &mut M) -> Result<(), M::Error>;
}

/// A part of a summary, declared by `fields!`.
pub trait Record {
    /// Its fields, in the order of the JSON.
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

/// Declares a part of a summary: a struct, its fields, and how it is written. A line is `name: Type
/// = spec;` with a doc comment, which is also the documentation for users. The spec begins with
/// [`measured`] or [`about`]. `inline name: Type;` includes the fields of another part.
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
