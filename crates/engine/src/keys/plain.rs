//! Converts the values of a scenario file to fields of the plan, and back.

use super::{AsPart, Part};
use crate::registry::Value;
use crate::units::{Bytes, Rate, Time};

/// The type of a field that is set by a single key.
pub trait Plain: Sized {
    /// Converts a value from a file to the field. Returns `None` if the value does not have the
    /// right type.
    fn of(value: Value) -> Option<Self>;

    /// Converts the field to a value for a scenario file. Returns `None` if a file cannot contain
    /// this value.
    fn value(&self) -> Option<Value>;
}

impl<T: Plain> Plain for Option<T> {
    fn of(value: Value) -> Option<Self> {
        T::of(value).map(Some)
    }

    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(T::value)
    }
}

macro_rules! plain_types {
    ($($type:ty: $variant:ident($inner:ident) => $of:expr, $value:expr;)+) => {$(
        impl Plain for $type {
            fn of(value: Value) -> Option<$type> {
                match value {
                    Value::$variant($inner) => $of,
                    _ => None,
                }
            }

            fn value(&self) -> Option<Value> {
                let $inner = *self;
                Some(Value::$variant($value))
            }
        }

        impl AsPart for $type {
            fn part(&self) -> Part<'_> {
                self.value().map_or(Part::Null, Part::Value)
            }
        }
    )+};
}

plain_types! {
    bool: Bool(b) => Some(b), b;
    u8: Int(i) => u8::try_from(i).ok(), i.into();
    u16: Int(i) => u16::try_from(i).ok(), i.into();
    u32: Int(i) => u32::try_from(i).ok(), i.into();
    i32: Int(i) => i32::try_from(i).ok(), i.into();
    u64: Int(i) => u64::try_from(i).ok(), i as i64;
    f64: Float(f) => Some(f), f;
    Time: Time(t) => Some(t), t;
    Bytes: Bytes(b) => Some(b), b;
    Rate: Rate(r) => Some(r), r;
    &'static str: Word(w) => Some(w), w;
}
