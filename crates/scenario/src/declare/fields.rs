//! Reads a table, and checks the types of the values against the declaration of the table.

use tailback_engine::keys::{EngineKind, Key, KeyKind, TableDef};
use tailback_engine::registry::{Value, parse_word};
use tailback_engine::units::Time;

use super::kinds::{example, expectation};
use super::reader::{Bdp, Reader};
use crate::read::{Item, Node, Problem, Span, Table};

/// A table of the file that has been read and checked.
pub(crate) struct Fields<'n> {
    def: &'static TableDef,
    pub span: Span,
    given: Vec<Option<(&'n Item, Option<Value>)>>,
}

impl<'n> Fields<'n> {
    fn index(&self, name: &str) -> Option<usize> {
        self.def.keys.iter().position(|key| key.name == name)
    }

    /// Returns the key and its value if the file sets the key.
    pub fn item(&self, name: &str) -> Option<&'n Item> {
        self.given[self.index(name)?]
            .as_ref()
            .map(|(item, _)| *item)
    }

    /// Returns the position for errors about a key. The result is the position of the key's value,
    /// or of the table if the file does not set the key.
    pub fn span_of(&self, name: &str) -> Span {
        self.item(name).map_or(self.span, |item| item.node.span)
    }

    /// Returns the value of a plain key if the file sets the key to a valid value.
    pub fn given(&self, name: &str) -> Option<&Value> {
        self.given[self.index(name)?]
            .as_ref()
            .and_then(|(_, value)| value.as_ref())
    }

    /// Returns the value of a plain key, or its default.
    pub fn value(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.given(name) {
            return Some(value.clone());
        }
        let key = &self.def.keys[self.index(name)?];
        match (key.kind, key.default) {
            (KeyKind::Plain(kind), Some(text)) => parse_word(kind, text).ok(),
            _ => None,
        }
    }

    pub fn time(&self, name: &str) -> Option<Time> {
        match self.value(name) {
            Some(Value::Time(time)) => Some(time),
            _ => None,
        }
    }

    pub fn bool(&self, name: &str) -> Option<bool> {
        match self.value(name) {
            Some(Value::Bool(b)) => Some(b),
            _ => None,
        }
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(Value::Int(i)) => Some(i),
            _ => None,
        }
    }
}

impl Reader<'_> {
    /// Reads the plain keys of a table, and reports unknown and missing keys.
    pub fn fields<'n>(
        &mut self,
        node: &'n Node,
        def: &'static TableDef,
        label: &str,
        bdp: Bdp,
    ) -> Fields<'n> {
        let mut fields = Fields {
            def,
            span: node.span,
            given: def.keys.iter().map(|_| None).collect(),
        };
        let Some(table) = node.table() else {
            self.problem(
                Problem::new(node.span, format!("{label} is not a table")).expected("a table"),
            );
            return fields;
        };
        for item in &table.0 {
            match fields.index(&item.key) {
                Some(index) => {
                    let key = &def.keys[index];
                    let value = match key.kind {
                        // The value is a table, which other code reads.
                        KeyKind::Plain(_) if key.table.is_some() && item.node.table().is_some() => {
                            None
                        }
                        KeyKind::Plain(kind) => self.plain(&item.key, kind, &item.node, bdp),
                        _ => None,
                    };
                    if let Some(value) = &value {
                        self.not_simulated(&def.keys[index], value, item.node.span);
                    }
                    fields.given[index] = Some((item, value));
                }
                None if def.flat().is_some() => {}
                None => self.unknown_in(item, label, def),
            }
        }
        self.missing(def, table, node.span, label);
        fields
    }

    /// Reports a value that the simulator does not support. A later check of the finished plan
    /// finds values that the kernel engine does not support, because flows may override keys of
    /// `[tcp]`.
    fn not_simulated(&mut self, key: &Key, value: &Value, span: Span) {
        if self.engine == EngineKind::Sim
            && let Some(refusal) = key.refuses(EngineKind::Sim, "", value)
        {
            let expected = refusal.expected.unwrap_or_default();
            let problem = Problem::new(span, refusal.message);
            self.problem(problem.expected(format!("--engine kernel, or {expected}")));
        }
    }

    /// Reads an optional top-level table of the file.
    pub fn table<'n>(
        &mut self,
        top: &Fields<'n>,
        name: &str,
        def: &'static TableDef,
    ) -> Fields<'n> {
        match top.item(name) {
            Some(item) => self.fields(&item.node, def, def.label, Bdp::Nowhere),
            None => self.absent(def, top.span),
        }
    }

    /// Returns an empty table in place of a table that the file does not contain.
    fn absent(&self, def: &'static TableDef, span: Span) -> Fields<'static> {
        Fields {
            def,
            span,
            given: def.keys.iter().map(|_| None).collect(),
        }
    }

    fn missing(&mut self, def: &'static TableDef, table: &Table, span: Span, label: &str) {
        let missing = |key: &&Key| key.required && table.get(key.name).is_none();
        for key in def.keys.iter().filter(missing) {
            let problem = Problem::new(span, format!("\"{}\" is missing in {label}", key.name));
            let problem = problem.expected(expectation(key.kind)).global();
            let help = format!("add {} = {}", key.name, example(key));
            self.problem(problem.help(help));
        }
    }
}
