//! Reads a queue discipline, a congestion control or a kind of traffic, with its options. The value
//! is an entry of a registry, or an algorithm that only the kernel provides.

use serde_json::{Map, Value as Json, json};
use tailback_engine::keys::{EngineKind, Registry};
use tailback_engine::plan::Algorithm;
use tailback_engine::programs::stacks::adapter;
use tailback_engine::registry::{
    Entry, Kind, Opt, OptionError, Options, Value, complete_defaults, defaults,
};

use super::reader::{Bdp, Reader};
use super::registries::{View, entries};
use super::value;
use crate::read::{Item, Node, Problem, Span, Table, Toml, shorten};

/// Maximum length of the name of a congestion control or queue discipline in Linux, in bytes.
const MAX_KERNEL_NAME: usize = 15;

const MAX_MODULE_NAME: usize = 63;

/// Maximum length of the arguments for tc, in bytes.
const MAX_ARGS: usize = 1000;

/// Returns whether arguments for tc may contain the given byte.
fn printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// A queue discipline or congestion control that was read from the scenario file.
#[derive(Clone)]
pub(crate) struct Choice {
    pub algorithm: Algorithm,
    /// Name of the kernel module that replaces the algorithm.
    pub module: Option<String>,
    /// Whether the options in the file are valid. If the options are not valid, `algorithm` has the
    /// default options.
    pub valid: bool,
}

impl Choice {
    /// Returns the algorithm that applies if the file does not name an algorithm.
    pub fn default_of<B>(entry: &Entry<B>) -> Choice {
        Choice {
            algorithm: Algorithm::Known {
                name: entry.name,
                options: complete_defaults(entry),
            },
            module: None,
            valid: true,
        }
    }
}

/// Describes a value for error messages. The value is an entry's name, or a table with the name and
/// the options.
pub(super) fn expectation(registry: Registry) -> String {
    format!(
        "a {} in quotes, or {{ {} = \"...\", options }}",
        registry.noun(),
        registry.name_key()
    )
}

/// Returns an example of a value: an entry's name in quotes.
pub(super) fn example(registry: Registry) -> String {
    let first = entries(registry).first().map_or("", |entry| entry.name);
    format!("\"{first}\"")
}

/// Describes a value that is an entry's name, for error messages.
pub(super) fn name_expectation(registry: Registry) -> String {
    let article = match registry {
        Registry::Impairments => "an",
        _ => "a",
    };
    format!("{article} {} in quotes", registry.noun())
}

/// Returns whether a kind of programs is a transport stack from tailback's repository or from a
/// plugin.
fn is_stack(kind: &str) -> bool {
    let stacks = entries(Registry::Stacks);
    adapter(kind).is_some() || stacks.iter().any(|stack| stack.name == kind)
}

impl Reader<'_> {
    /// Finds an entry of a registry by name, or reports an unknown name.
    pub fn entry(&mut self, registry: Registry, name: &str, span: Span) -> Option<View> {
        let only_a_stack = registry == Registry::Programs && self.engine == EngineKind::Kernel;
        let entries = entries(registry);
        let found = entries.iter().find(|entry| entry.name == name).copied();
        if found.is_none() && only_a_stack && is_stack(name) {
            let message = format!("{name} is a stack of the simulator, not a program");
            self.problem(Problem::new(span, message).expected("--engine sim"));
        } else if found.is_none() {
            let plays = |entry: &&View| self.engine == EngineKind::Sim || entry.in_linux;
            let names: Vec<&str> = entries.iter().filter(plays).map(|e| e.name).collect();
            let mut expected = format!("one of {}", names.join(", "));
            let of_kernel = matches!(registry, Registry::Aqm | Registry::Cc);
            if self.engine == EngineKind::Kernel && of_kernel {
                let (key, name) = (registry.name_key(), shorten(name));
                expected += &format!(
                    "; or {{ {key} = \"{name}\", kernel = true }} for one that only the kernel has"
                );
            }
            let problem = Problem::new(
                span,
                format!("unknown {} \"{}\"", registry.noun(), shorten(name)),
            )
            .expected(expected)
            .nearest(name, names.iter().copied());
            self.problem(problem);
        }
        if let Some(entry) = found
            && self.engine == EngineKind::Kernel
            && !entry.in_kernel
        {
            let known = entries.iter().filter(|entry| entry.in_linux);
            let names: Vec<&str> = known.map(|entry| entry.name).collect();
            let problem = Problem::new(span, format!("the kernel engine does not support {name}"));
            self.problem(problem.expected(format!("--engine sim, or one of {}", names.join(", "))));
        }
        found
    }

    /// Finds the transport stack for a kind of programs, or reports that the simulator needs a
    /// transport stack.
    pub fn stack(&mut self, kind: &str, span: Span) -> Option<View> {
        let stacks = entries(Registry::Stacks);
        let found = stacks.iter().find(|stack| stack.name == kind).copied();
        if found.is_some() {
            return found;
        }
        let problem = if let Some(adapter) = adapter(kind) {
            let folder = adapter.folder;
            let message = format!("the stack of {kind} is not compiled into the simulator");
            Problem::new(span, message).help(format!(
                "add --with {folder}, a folder of tailback's repository, or the line with = \
                 [\"{folder}\"]"
            ))
        } else if entries(Registry::Programs).iter().any(|e| e.name == kind) {
            let message = format!("{kind} runs on the kernel engine only");
            Problem::new(span, message).expected("--engine kernel")
        } else {
            let programs = entries(Registry::Programs);
            let names = stacks.iter().chain(&programs).map(|entry| entry.name);
            let names: Vec<&str> = names.collect();
            let message = format!("unknown {} \"{}\"", Registry::Stacks.noun(), shorten(kind));
            Problem::new(span, message)
                .expected("the kind of a stack that is compiled in (--with DIR)")
                .nearest(kind, names.iter().copied())
        };
        self.problem(problem);
        None
    }

    /// Reads an algorithm and its options. If an algorithm is in no registry, the file may name a
    /// kernel module that provides this algorithm.
    pub fn choice(
        &mut self,
        registry: Registry,
        key: &str,
        node: &Node,
        bdp: Bdp,
    ) -> Option<Choice> {
        let name_key = registry.name_key();
        match &node.value {
            Toml::String(name) => {
                let entry = self.entry(registry, name, node.span)?;
                let none = Table::default();
                Some(self.known(registry, entry, &none, &[], node.span, bdp))
            }
            Toml::Table(table) => {
                let Some(item) = table.item(name_key) else {
                    let problem =
                        Problem::new(node.span, format!("\"{name_key}\" is missing in \"{key}\""));
                    let problem = problem.expected(name_expectation(registry));
                    let help = format!("add {name_key} = {}", example(registry));
                    self.problem(problem.help(help));
                    return None;
                };
                let name = self.string(item, name_expectation(registry))?;
                let module = self.module(table);
                let of_module = module.is_some()
                    && table.item("kernel").is_none()
                    && entries(registry).iter().all(|entry| entry.name != name);
                if self.flag(table, "kernel") || of_module {
                    return Some(self.of_kernel(registry, name, table, module));
                }
                let entry = self.entry(registry, name, item.node.span)?;
                let keys = [name_key, "kernel", "module"];
                let choice = self.known(registry, entry, table, &keys, node.span, bdp);
                Some(Choice { module, ..choice })
            }
            _ => {
                self.wrong(key, node, expectation(registry));
                None
            }
        }
    }

    /// Builds an entry of a registry from the options in a table.
    pub fn known(
        &mut self,
        registry: Registry,
        entry: View,
        table: &Table,
        skip: &[&str],
        span: Span,
        bdp: Bdp,
    ) -> Choice {
        let options = self.options(registry, entry, table, skip, span, bdp);
        let valid = options.is_some();
        let options = options.unwrap_or_else(|| {
            // After an error, use the default options, because checks of other parts of the plan
            // need options.
            let mut options = defaults(entry.options);
            _ = (entry.finish)(&mut options);
            options
        });
        Choice {
            algorithm: Algorithm::Known {
                name: entry.name,
                options,
            },
            module: None,
            valid,
        }
    }

    /// Reads an algorithm of the kernel, such as `{ aqm = "mysch", kernel = true, args = "limit 10"
    /// }`.
    fn of_kernel(
        &mut self,
        registry: Registry,
        name: &str,
        table: &Table,
        module: Option<String>,
    ) -> Choice {
        let name_key = registry.name_key();
        // Only queue disciplines have arguments. tailback passes these arguments to tc.
        let keys: &'static [&'static str] = match registry {
            Registry::Aqm => &["aqm", "kernel", "args", "module"],
            _ => &["name", "kernel", "module"],
        };
        let label = format!("a {} of the kernel", registry.noun());
        let mut args = String::new();
        for item in &table.0 {
            match item.key.as_str() {
                key if key == name_key => {
                    self.kernel_name(name, item.node.span, MAX_KERNEL_NAME);
                }
                "kernel" if self.engine == EngineKind::Sim => {
                    let message = format!("{} exists in the kernel only", shorten(name));
                    let problem = Problem::new(item.key_span, message);
                    self.problem(problem.expected("--engine kernel"));
                }
                "args" if keys.contains(&"args") => match item.node.string() {
                    Some(text) if text.len() <= MAX_ARGS && text.bytes().all(printable) => {
                        args = text.to_owned();
                    }
                    _ => self.wrong(
                        "args",
                        &item.node,
                        format!(
                            "tc words in quotes: at most {MAX_ARGS} printable ASCII characters"
                        ),
                    ),
                },
                key if keys.contains(&key) => {}
                _ => self.unknown(item, &label, keys.iter().copied()),
            }
        }
        Choice {
            algorithm: Algorithm::Kernel {
                name: name.to_owned(),
                args,
            },
            module,
            valid: true,
        }
    }

    /// Reads the name of the kernel module that replaces an algorithm.
    fn module(&mut self, table: &Table) -> Option<String> {
        let item = table.item("module")?;
        let Some(name) = item.node.string() else {
            self.wrong("module", &item.node, "the name of a module in quotes");
            return None;
        };
        if self.engine == EngineKind::Sim {
            let problem = Problem::new(item.key_span, "a module exists in the kernel only");
            self.problem(problem.expected("--engine kernel"));
        }
        self.kernel_name(name, item.node.span, MAX_MODULE_NAME);
        Some(name.to_owned())
    }

    fn kernel_name(&mut self, name: &str, span: Span, most: usize) {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if name.is_empty() || name.len() > most || !name.bytes().all(fits) {
            let message = format!("\"{}\" cannot be a name in the kernel", shorten(name));
            let expected = format!("1 to {most} of a-z, A-Z, 0-9, \"_\" and \"-\"");
            self.problem(Problem::new(span, message).expected(expected));
        }
    }

    /// Reads a boolean key that is false by default.
    fn flag(&mut self, table: &Table, key: &str) -> bool {
        let Some(item) = table.item(key) else {
            return false;
        };
        match item.node.value {
            Toml::Bool(value) => value,
            _ => {
                self.wrong(key, &item.node, value::expectation(Kind::Bool));
                false
            }
        }
    }

    /// Reads the options of an entry from a table, except the keys in `skip`. If an option is
    /// wrong, the entry is not built, because some of the entry's options may be missing.
    pub fn options(
        &mut self,
        registry: Registry,
        entry: View,
        table: &Table,
        skip: &[&str],
        span: Span,
        bdp: Bdp,
    ) -> Option<Options> {
        let before = self.problems.len();
        let mut options = defaults(entry.options);
        for item in &table.0 {
            if skip.contains(&item.key.as_str()) {
                continue;
            }
            match entry.options.iter().find(|opt| opt.name == item.key) {
                Some(opt) => {
                    if let Some(value) = self.option(registry, entry.name, opt, item, bdp) {
                        options.set(opt.name, value);
                    }
                }
                None => self.foreign(registry, entry.name, entry.options, item, skip),
            }
        }
        if self.problems.len() == before
            && let Err(errors) = (entry.finish)(&mut options)
        {
            for error in errors {
                // If an option is in a table of options, the error names the table and the key,
                // such as "classic.min".
                let mut at = span;
                let mut within = Some(table);
                for step in error.option.split('.') {
                    let item = within.and_then(|table| table.item(step));
                    at = item.map_or(at, |item| item.node.span);
                    within = item.and_then(|item| item.node.table());
                }
                let of = format!("\"{}\" of {}", error.option, entry.name);
                self.problem(wrong_option(at, &of, &error));
            }
        }
        (self.problems.len() == before).then_some(options)
    }

    fn option(
        &mut self,
        registry: Registry,
        entry: &str,
        opt: &Opt,
        item: &Item,
        bdp: Bdp,
    ) -> Option<Value> {
        let Kind::Table(inner) = opt.kind else {
            return self.plain(opt.name, opt.kind, &item.node, bdp);
        };
        let Some(table) = item.node.table() else {
            self.wrong(opt.name, &item.node, value::expectation(opt.kind));
            return None;
        };
        let label = format!("\"{}\" of {entry}", opt.name);
        let mut options = defaults(inner);
        for item in &table.0 {
            match inner.iter().find(|opt| opt.name == item.key) {
                Some(opt) => {
                    if let Some(value) = self.option(registry, &label, opt, item, bdp) {
                        options.set(opt.name, value);
                    }
                }
                None => self.foreign(registry, &label, inner, item, &[]),
            }
        }
        Some(Value::Table(options))
    }

    /// Reports an option that the entry does not have, and names the entries that have this option.
    fn foreign(
        &mut self,
        registry: Registry,
        entry: &str,
        options: &'static [Opt],
        item: &Item,
        keys: &[&str],
    ) {
        let owners: Vec<&str> = entries(registry)
            .iter()
            .filter(|other| other.options.iter().any(|opt| opt.name == item.key))
            .map(|other| other.name)
            .collect();
        let mut valid: Vec<&str> = options.iter().map(|opt| opt.name).collect();
        // In [[traffic]] and [[programs]], options are next to `kind`.
        if matches!(
            registry,
            Registry::Traffic | Registry::Programs | Registry::Stacks
        ) {
            valid.splice(0..0, keys.iter().copied());
        }
        let key = shorten(&item.key);
        let message = if owners.is_empty() {
            format!("{entry} has no option \"{key}\"")
        } else {
            format!(
                "\"{key}\" is an option of {}, not of {entry}",
                owners.join(", ")
            )
        };
        let mut problem = Problem::new(item.key_span, message);
        if !valid.is_empty() {
            problem = problem.expected(format!("one of {}", valid.join(", ")));
        }
        let of_program = registry == Registry::Stacks
            && entries(Registry::Programs).iter().any(|program| {
                program.name == entry && program.options.iter().any(|opt| opt.name == item.key)
            });
        if of_program {
            problem = problem.help(format!("remove \"{key}\", or use --engine kernel"));
        } else if owners.is_empty() {
            problem = problem.nearest(&item.key, valid.iter().copied());
        } else {
            problem = problem.help(match valid.is_empty() {
                true => format!("remove \"{key}\""),
                false => format!("remove \"{key}\", or use one of {}", valid.join(", ")),
            });
        }
        self.problem(problem);
    }
}

pub(super) fn names_schema(registry: Registry) -> Json {
    let names: Vec<&str> = entries(registry).iter().map(|entry| entry.name).collect();
    json!({ "enum": names })
}

/// Returns the JSON Schema of an entry's name, or of a table with its name and options.
pub(super) fn schema(registry: Registry) -> Json {
    let mut shapes = vec![names_schema(registry)];
    for entry in entries(registry) {
        let mut properties = Map::new();
        properties.insert(
            registry.name_key().to_owned(),
            json!({ "const": entry.name }),
        );
        for opt in entry.options {
            properties.insert(opt.name.to_owned(), value::option_schema(opt));
        }
        properties.insert("kernel".to_owned(), json!({ "const": false }));
        properties.insert("module".to_owned(), module_schema());
        shapes.push(json!({
            "type": "object",
            "description": entry.doc,
            "properties": properties,
            "required": [registry.name_key()],
            "additionalProperties": false,
        }));
    }
    let mut of_kernel = json!({
        registry.name_key(): { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,15}$" },
        "kernel": { "const": true },
        "module": module_schema(),
    });
    if registry == Registry::Aqm {
        of_kernel["args"] = json!({ "type": "string", "pattern": "^[ -~]{0,1000}$", "default": "",
                "description": "Words that are passed to tc unchanged." });
    }
    shapes.push(json!({
        "type": "object",
        "description": format!("A {} that only the kernel engine has.", registry.noun()),
        "properties": of_kernel,
        "required": [registry.name_key()],
        "anyOf": [{ "required": ["kernel"] }, { "required": ["module"] }],
        "additionalProperties": false,
    }));
    json!({ "anyOf": shapes })
}

fn module_schema() -> Json {
    json!({
        "type": "string",
        "pattern": "^[A-Za-z0-9_-]{1,63}$",
        "description": "A module of the guest kernel that replaces the algorithm.",
    })
}

/// Returns an error about an option of the entry `of`.
pub(crate) fn wrong_option(at: Span, of: &str, error: &OptionError) -> Problem {
    match error.message.split_once(": expected ") {
        Some((message, expected)) => {
            Problem::new(at, format!("{of}: {message}")).expected(expected)
        }
        None => Problem::new(at, format!("{of}: {}", error.message))
            .help(format!("correct \"{}\"", error.option)),
    }
}
