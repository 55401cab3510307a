//! The macros that declare the keys of scenario files and the words that keys accept:
//! [`words!`](crate::words!) and [`keys!`](crate::keys!).

/// Declares an enum with one variant for each word that a key accepts.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$doc:meta])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])+ $variant,)+
        }

        impl $name {
            /// All words of the enum, as written in a file.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// A key that accepts each of these words.
            pub const KEY: $crate::keys::Key =
                $crate::keys::plain($crate::registry::Kind::Word($name::WORDS));

            /// Returns the word of this variant, as written in a file.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// Returns the variant for a word.
            pub fn named(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }
        }

        impl $crate::keys::Plain for $name {
            fn of(value: $crate::registry::Value) -> Option<$name> {
                match value {
                    $crate::registry::Value::Word(word) => $name::named(word),
                    _ => None,
                }
            }

            fn value(&self) -> Option<$crate::registry::Value> {
                Some($crate::registry::Value::Word(self.name()))
            }
        }

        impl $crate::keys::AsPart for $name {
            fn part(&self) -> $crate::keys::Part<'_> {
                $crate::keys::Part::Text(self.name())
            }
        }
    };
}

/// Declares a struct of the plan and the table of its keys. Each line has one of these forms:
///
/// - `field: Type = key;` declares a key whose value is put into the field unchanged;
/// - `field: Type => key;` declares a key that other code reads, because the field depends on
///   several keys;
/// - `field: Type;` declares a field without a key;
/// - `key name = key;` declares a key without a field.
///
/// The doc comment above a line documents both the field and the key of this line.
#[macro_export]
macro_rules! keys {
    ($(#[doc = $doc:literal])+ pub struct $name:ident as $label:literal { $($lines:tt)* }) => {
        $crate::keys!(@ [$name $label $($doc)+] {} {} {} {} {} $($lines)*);
    };
    (@ $head:tt {$($field:tt)*} {$($key:tt)*} {$($plain:tt)*} {$($init:tt)*} {$($part:tt)*}
        $(#[doc = $doc:literal])+ $name:ident : $ty:ty = $spec:expr; $($rest:tt)*) => {
        $crate::keys!(@ $head
            {$($field)* $(#[doc = $doc])+ pub $name: $ty,}
            {$($key)* $spec.declared(stringify!($name), concat!($($doc),+)),}
            {$($plain)* [$name $spec]}
            {$($init)* $name: $spec.declared(stringify!($name), "").initial(),}
            {$($part)* [$name $spec.declared(stringify!($name), "").name]}
            $($rest)*);
    };
    (@ $head:tt {$($field:tt)*} {$($key:tt)*} {$($plain:tt)*} {$($init:tt)*} {$($part:tt)*}
        $(#[doc = $doc:literal])+ $name:ident : $ty:ty => $spec:expr; $($rest:tt)*) => {
        $crate::keys!(@ $head
            {$($field)* $(#[doc = $doc])+ pub $name: $ty,}
            {$($key)* $spec.declared(stringify!($name), concat!($($doc),+)),}
            {$($plain)*}
            {$($init)* $name: Default::default(),}
            {$($part)* [$name $spec.declared(stringify!($name), "").name]}
            $($rest)*);
    };
    (@ $head:tt {$($field:tt)*} {$($key:tt)*} {$($plain:tt)*} {$($init:tt)*} {$($part:tt)*}
        $(#[doc = $doc:literal])+ $name:ident : $ty:ty; $($rest:tt)*) => {
        $crate::keys!(@ $head
            {$($field)* $(#[doc = $doc])+ pub $name: $ty,}
            {$($key)*}
            {$($plain)*}
            {$($init)* $name: Default::default(),}
            {$($part)* [$name stringify!($name)]}
            $($rest)*);
    };
    (@ $head:tt $field:tt {$($key:tt)*} $plain:tt $init:tt $part:tt
        $(#[doc = $doc:literal])+ key $name:ident = $spec:expr; $($rest:tt)*) => {
        $crate::keys!(@ $head
            $field
            {$($key)* $spec.declared(stringify!($name), concat!($($doc),+)),}
            $plain $init $part
            $($rest)*);
    };
    (@ [$name:ident $label:literal $($doc:literal)+]
        {$($field:tt)*} {$($key:tt)*} {$([$plain:ident $spec:expr])*} {$($init:tt)*}
        {$([$part:ident $part_name:expr])*}) => {
        $(#[doc = $doc])+
        // In these docs, square brackets denote tables of a scenario and not links.
        #[allow(rustdoc::broken_intra_doc_links)]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($field)*
        }

        impl $name {
            /// The table of a scenario file that fills this struct.
            pub const TABLE: $crate::keys::TableDef = $crate::keys::TableDef {
                label: $label,
                doc: concat!($($doc),+).trim_ascii_start(),
                keys: &[$($key)*],
            };

            /// Sets the fields that are declared with `=`. Each field gets the value of its key in
            /// the file.
            #[allow(unused_mut, unused_variables, clippy::allow_attributes)]
            pub fn set(
                &mut self,
                mut given: impl FnMut(&'static str) -> Option<$crate::registry::Value>,
            ) {
                $({
                    let key = $spec.declared(stringify!($plain), "");
                    if let Some(value) = given(key.name) {
                        self.$plain = key.take(value);
                    }
                })*
            }

            /// Checks the fields that are declared with `=`. Returns an error for each value that
            /// an engine does not support. `path` is the path of this table in the scenario.
            #[allow(unused_variables, clippy::allow_attributes)]
            pub fn refusals(
                &self,
                engine: $crate::keys::EngineKind,
                path: &str,
            ) -> Vec<$crate::keys::Refusal> {
                let all: [Option<$crate::keys::Refusal>; _] = [$({
                    let value = $crate::keys::Plain::value(&self.$plain);
                    let key = $spec.declared(stringify!($plain), "");
                    value.and_then(|value| key.refuses(engine, path, &value))
                }),*];
                all.into_iter().flatten().collect()
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($init)* }
            }
        }

        impl $crate::keys::AsPart for $name {
            fn part(&self) -> $crate::keys::Part<'_> {
                $crate::keys::Part::Table(vec![
                    $(($part_name, $crate::keys::AsPart::part(&self.$part)),)*
                ])
            }
        }
    };
}
