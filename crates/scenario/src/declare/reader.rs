//! Reads the values of a scenario. After an error, the reader continues with a default, so that one
//! pass finds all errors.

use std::collections::{HashMap, HashSet};

use tailback_engine::keys::{EngineKind, TableDef};
use tailback_engine::registry::Value;

use super::elsewhere;
use super::files::Files;
use super::in_phase::InPhase;
use super::trace::Traces;
use crate::read::{Item, Node, Problem, Span, shorten, synonyms};
use crate::request::{FileLoader, Loader, Request};

/// The size of the unit `bdp` at a position in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bdp {
    /// Size in bytes.
    Known(f64),
    /// Unknown, because the rate or the round-trip time has an error, which has already been
    /// reported.
    Unknown,
    /// Undefined, because the key does not belong to a link.
    Nowhere,
}

/// Reads values and collects errors.
pub(crate) struct Reader<'a> {
    pub problems: Vec<Problem>,
    /// Warnings about values that are allowed but unusual.
    pub warnings: Vec<Problem>,
    /// A queue at which flows may stay in phase, if the reader has found such a queue at any sweep
    /// point. The whole scenario gets only one warning about such queues.
    pub in_phase: Option<InPhase>,
    /// Positions of swept values. If a swept value is a number, the reader stores the number,
    /// because the labels of sweep points contain it.
    pub watched: HashSet<Span>,
    /// The numbers at the positions in `watched`, in base units.
    pub resolved: HashMap<Span, Value>,
    /// Memory that a run may use, in bytes. `None` if the memory is not limited.
    pub memory: Option<u64>,
    /// The engine of the runs.
    pub engine: EngineKind,
    /// Whether the caller attaches endpoints to the entries of `[[programs]]`.
    pub endpoints: bool,
    pub(super) load: &'a Loader<'a>,
    /// The traces and the lists of values read from files.
    pub traces: Traces,
    pub(super) load_files: &'a FileLoader<'a>,
    /// The files that programs need, with their hashes.
    pub(super) contents: Files,
    pub(super) load_root: &'a FileLoader<'a>,
    pub(super) roots: Files,
}

impl<'a> Reader<'a> {
    pub fn new(request: &'a Request<'a>) -> Reader<'a> {
        Reader {
            problems: Vec::new(),
            warnings: Vec::new(),
            in_phase: None,
            watched: HashSet::new(),
            resolved: HashMap::new(),
            memory: request.memory,
            engine: request.engine,
            endpoints: request.endpoints,
            load: request.loader,
            traces: Traces::default(),
            load_files: request.files,
            contents: Files::default(),
            load_root: request.roots,
            roots: Files::default(),
        }
    }
}

impl Reader<'_> {
    pub fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reports a value of the wrong form, and states the expected form.
    pub fn wrong(&mut self, name: &str, node: &Node, expected: impl Into<String>) {
        let problem = Problem::new(
            node.span,
            format!("wrong value {} for \"{name}\"", node.inline(60)),
        );
        self.problem(problem.expected(expected));
    }

    pub fn unknown(
        &mut self,
        item: &Item,
        label: &str,
        valid: impl Iterator<Item = &'static str> + Clone,
    ) {
        self.problem(unknown(item, label, valid));
    }

    /// Reports a key that a table does not accept. Suggests the key that the user probably meant,
    /// or lists the tables that accept this key.
    pub fn unknown_in(&mut self, item: &Item, label: &str, def: &'static TableDef) {
        let mut problem = unknown(item, label, def.keys.iter().map(|key| key.name));
        // If the unknown key is another word for a key of this table, the advice is to write the
        // name of the table's key.
        if synonyms::meant(&item.key).all(|meant| def.key(meant).is_none()) {
            problem.help = elsewhere::set_buffer(&item.key, def)
                .or_else(|| elsewhere::move_to(&item.key, def))
                .or_else(|| elsewhere::write_in(&item.key, def));
        } else if problem.nearest.as_deref() == Some("rtt") && synonyms::is_one_way(&item.key) {
            problem.help = Some("write \"rtt\", the delay of both directions together".into());
        }
        self.problem(problem);
    }

    /// Reads any text.
    pub fn string<'n>(&mut self, item: &'n Item, expected: impl Into<String>) -> Option<&'n str> {
        let text = item.node.string();
        if text.is_none() {
            self.wrong(&item.key, &item.node, expected);
        }
        text
    }

    /// Stores a number if a sweep inserted this number.
    pub(super) fn note(&mut self, span: Span, value: &Value) {
        if self.watched.contains(&span) && value.number().is_some() {
            self.resolved.insert(span, value.clone());
        }
    }
}

fn unknown(item: &Item, label: &str, valid: impl Iterator<Item = &'static str> + Clone) -> Problem {
    let expected: Vec<&str> = valid.clone().collect();
    Problem::new(
        item.key_span,
        format!("unknown key \"{}\" in {label}", shorten(&item.key)),
    )
    .expected(format!("one of {}", expected.join(", ")))
    .nearest(&item.key, valid)
}
