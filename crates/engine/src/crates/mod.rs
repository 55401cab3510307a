//! Plugins: crates that add algorithms to tailback. Plugins are compiled together with tailback.
//!
//! Each plugin has a function `register`, which adds the plugin's entries to a [`Registry`]. A
//! program with plugins must call [`install`] before anything else.
//!
//! | file | purpose |
//! |---|---|
//! | `guarded` | checks the congestion controls of plugins at run time; a window of 0 ends the run |
//! | `whereabouts` | shows to another thread which hook of a plugin is running |
//! | `wrapping` | finds the hooks that a plugin's wrapper around another congestion control does not forward |

mod guarded;
mod whereabouts;
#[cfg(test)]
mod whole;
mod wrapping;

use std::sync::OnceLock;

pub use guarded::Fault;
pub(crate) use guarded::build;
pub use whereabouts::Whereabouts;
pub use wrapping::forgotten;

use crate::plan::ProgramPlan;
use crate::programs::stacks;
use crate::registry::{Entry, find};
use crate::traffic::{self, Transport};
use crate::{aqm, cc};

/// The algorithms that the plugins register.
#[derive(Default)]
pub struct Registry {
    cc: Vec<&'static Entry<cc::Build>>,
    aqm: Vec<&'static Entry<aqm::Build>>,
    traffic: Vec<&'static Entry<traffic::Build>>,
    stacks: Vec<&'static Entry<stacks::Build>>,
    problems: Vec<String>,
}

/// A plugin that is compiled into the program.
pub struct Crate {
    /// The name of the plugin.
    pub name: &'static str,
    /// A hash of the plugin's sources. The hash is part of the engine's version.
    pub hash: &'static str,
    /// The plugin's function `register`.
    pub register: fn(&mut Registry),
}

/// The plugins that are compiled into this program. The list is empty until [`install`] is called.
static INSTALLED: OnceLock<&'static [Crate]> = OnceLock::new();

impl Registry {
    /// Adds a congestion control.
    pub fn cc(&mut self, entry: &'static Entry<cc::Build>) {
        let known = cc::TABLE.shipped();
        let problem = problem_of("congestion control", entry, known, &self.cc);
        self.problems.extend(problem);
        self.cc.push(entry);
    }

    /// Adds a queue discipline.
    pub fn queue(&mut self, entry: &'static Entry<aqm::Build>) {
        let known = aqm::TABLE.shipped();
        let problem = problem_of("queue discipline", entry, known, &self.aqm);
        self.problems.extend(problem);
        self.aqm.push(entry);
    }

    /// Adds a kind of traffic.
    pub fn traffic(&mut self, entry: &'static Entry<traffic::Build>) {
        let known = traffic::TABLE.shipped();
        let problem = problem_of("kind of traffic", entry, known, &self.traffic);
        self.problems.extend(problem);
        if let Transport::Connections { .. } = entry.build.transport {
            for needed in [traffic::ECN, traffic::LIMIT] {
                if entry.options.iter().all(|opt| opt.name != needed.name) {
                    self.problems.push(format!(
                        "the kind of traffic \"{}\" opens connections and has no option \"{}\"",
                        entry.name, needed.name
                    ));
                }
            }
        }
        self.traffic.push(entry);
    }

    /// Adds a transport stack. In the simulator, the stack's name is then a valid `kind` in
    /// `[[programs]]`.
    pub fn stack(&mut self, entry: &'static Entry<stacks::Build>) {
        let problem = problem_of("stack", entry, stacks::TABLE.shipped(), &self.stacks);
        self.problems.extend(problem);
        for opt in entry.options {
            if ProgramPlan::TABLE.key(opt.name).is_some() {
                self.problems.push(format!(
                    "the stack \"{}\" has the option \"{}\", which is a key of [[programs]]",
                    entry.name, opt.name
                ));
            }
        }
        self.stacks.push(entry);
    }

    fn len(&self) -> usize {
        self.cc.len() + self.aqm.len() + self.traffic.len() + self.stacks.len()
    }

    /// Collects the entries that these plugins register.
    ///
    /// # Errors
    /// Returns an error message for each plugin that registers nothing, and for each name that is
    /// invalid or already in use.
    pub fn of(crates: &[Crate]) -> Result<Registry, Vec<String>> {
        let mut registry = Registry::default();
        let mut problems = Vec::new();
        for one in crates {
            let before = registry.len();
            (one.register)(&mut registry);
            let found = std::mem::take(&mut registry.problems);
            problems.extend(found.iter().map(|what| format!("{}: {what}", one.name)));
            if registry.len() == before {
                problems.push(format!("{}: it registers nothing", one.name));
            }
        }
        match problems.is_empty() {
            true => Ok(registry),
            false => Err(problems),
        }
    }

    /// Returns the congestion controls.
    pub fn ccs(&self) -> &[&'static Entry<cc::Build>] {
        &self.cc
    }

    /// Returns the queue disciplines.
    pub fn queues(&self) -> &[&'static Entry<aqm::Build>] {
        &self.aqm
    }

    /// Returns the kinds of traffic.
    pub fn sources(&self) -> &[&'static Entry<traffic::Build>] {
        &self.traffic
    }

    /// Returns the transport stacks.
    pub fn stacks(&self) -> &[&'static Entry<stacks::Build>] {
        &self.stacks
    }
}

/// Checks the name of a plugin's algorithm. Returns an error message if the name is invalid or
/// already in use.
fn problem_of<B>(
    noun: &str,
    entry: &Entry<B>,
    shipped: &[&'static Entry<B>],
    others: &[&'static Entry<B>],
) -> Option<String> {
    let name = entry.name;
    if find(shipped, name).is_some() {
        return Some(format!("the {noun} \"{name}\" is one of tailback's own"));
    }
    if find(others, name).is_some() {
        return Some(format!("the {noun} \"{name}\" is registered already"));
    }
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    let good = name.len() <= 63 && name.bytes().all(fits) && !name.starts_with(['-', '_']);
    (name.is_empty() || !good).then(|| {
        format!("\"{name}\" cannot name a {noun}; expected a-z, 0-9, \"-\" and \"_\", at most 63")
    })
}

/// Adds the algorithms of plugins to the tables of congestion controls, queues, traffic and stacks.
/// Check the plugins with [`Registry::of`] first.
///
/// # Panics
/// Panics if this function is called twice.
pub fn install(crates: &'static [Crate], registry: &Registry) {
    if crates.is_empty() {
        return;
    }
    cc::TABLE.add(&registry.cc);
    aqm::TABLE.add(&registry.aqm);
    traffic::TABLE.add(&registry.traffic);
    stacks::TABLE.add(&registry.stacks);
    assert!(
        INSTALLED.set(crates).is_ok(),
        "plugins are compiled in once"
    );
}

/// Returns the plugins that are compiled into this program.
pub fn installed() -> &'static [Crate] {
    INSTALLED.get().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: fn(&'static str) -> Entry<cc::Build> = |name| Entry {
        name,
        ..cc::reno::ENTRY
    };

    fn of(names: &'static [&'static str]) -> Vec<String> {
        let mut registry = Registry::default();
        for name in names {
            registry.cc(Box::leak(Box::new(NAMED(name))));
        }
        registry.problems
    }

    #[test]
    fn a_name_is_new_and_can_be_written() {
        assert_eq!(of(&["aimd", "aimd-2"]), Vec::<String>::new());
        assert_eq!(
            of(&["cubic", "aimd", "aimd", "My CC", "-x", ""]),
            [
                "the congestion control \"cubic\" is one of tailback's own",
                "the congestion control \"aimd\" is registered already",
                "\"My CC\" cannot name a congestion control; expected a-z, 0-9, \"-\" and \"_\", at most 63",
                "\"-x\" cannot name a congestion control; expected a-z, 0-9, \"-\" and \"_\", at most 63",
                "\"\" cannot name a congestion control; expected a-z, 0-9, \"-\" and \"_\", at most 63",
            ]
        );
    }

    #[test]
    fn options_of_a_stack_are_no_keys_of_its_entry() {
        use crate::registry::kernel::Kernel;
        use crate::registry::rules::Rules;
        use crate::registry::{Kind, Opt, no_finish};

        const fn option(name: &'static str) -> Opt {
            Opt {
                name,
                doc: "",
                kind: Kind::Bool,
                default: None,
                tc: None,
            }
        }
        const OPTIONS: &[Opt] = &[option("rtt"), option("bytes")];
        static ENTRY: Entry<stacks::Build> = Entry {
            name: "quinn",
            doc: "",
            follows: "",
            options: OPTIONS,
            kernel: Kernel::None,
            rules: Rules::NONE,
            finish: no_finish,
            build: stacks::Build {
                ends: |_, _| unreachable!("it is not built"),
            },
        };
        let mut registry = Registry::default();
        registry.stack(&ENTRY);
        assert_eq!(
            registry.problems,
            ["the stack \"quinn\" has the option \"rtt\", which is a key of [[programs]]"]
        );
    }

    #[test]
    fn a_crate_that_registers_nothing_is_told() {
        let crates = [
            Crate {
                name: "empty",
                hash: "",
                register: |_| {},
            },
            Crate {
                name: "again",
                hash: "",
                register: |registry| registry.queue(&aqm::fifo::ENTRY),
            },
        ];
        let problems = Registry::of(&crates).err().unwrap_or_default();
        assert_eq!(
            problems,
            [
                "empty: it registers nothing",
                "again: the queue discipline \"fifo\" is one of tailback's own",
            ]
        );
        assert!(Registry::of(&[]).is_ok_and(|registry| registry.len() == 0));
    }
}
