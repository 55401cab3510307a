//! Selects the kernel modules to load, and their parameters.

use tailback_engine::registry::kernel::Kernel;
use tailback_engine::{aqm, cc};

use crate::job::Module;

use super::kits::Kits;
use super::refuse::{Refusals, instead};

/// The modules that a plan needs, collected so far.
#[derive(Default)]
pub(super) struct Modules(Vec<Chosen>);

struct Chosen {
    /// The algorithm that the module provides: `cc NAME` or `qdisc NAME`.
    provides: String,
    /// Name of the module that replaces Linux's own module, if any.
    stand_in: Option<String>,
    /// Guest paths of the module's files. Empty if the algorithm is built in.
    paths: Vec<String>,
    parameters: String,
}

impl Modules {
    /// Adds the module of a congestion control. Rejects the congestion control if the guest kernel
    /// does not have the module.
    pub fn congestion_control(
        &mut self,
        path: &str,
        name: &str,
        stand_in: Option<&str>,
        parameters: String,
        kit: &Kits<'_>,
        refusals: &mut Refusals,
    ) {
        let provides = format!("cc {name}");
        if let Some(first) = self.0.iter().find(|c| c.provides == provides) {
            if first.stand_in.as_deref() != stand_in {
                refusals.add(
                    &format!("{path}.cc.module"),
                    format!("two modules for {name}: the kernel has room for one"),
                    "the same module for every flow of this congestion control",
                );
            } else if first.parameters != parameters {
                refusals.add(
                    &format!("{path}.cc"),
                    format!("the options of {name} differ from an earlier flow's, but they hold for the whole kernel"),
                    "the same options for every flow of this congestion control",
                );
            }
            return;
        }
        let found = match stand_in {
            Some(module) => extra(&format!("{path}.cc"), name, module, kit, refusals),
            None => match kit.ccs.get(name) {
                Some(built) => Some(built.iter().cloned().collect()),
                None => {
                    let face = cc::face(name);
                    let since = face.and_then(|face| face.since);
                    let others = kit
                        .with(since, |kit| kit.ccs.contains_key(name))
                        .or_else(|| (face.is_some() && since.is_none()).then(own_module));
                    refusals.add(
                        &format!("{path}.cc"),
                        kit.without(&format!("congestion control {name}"), since),
                        others.unwrap_or_else(|| instead(name, kit.ccs.keys())),
                    );
                    None
                }
            },
        };
        let Some(paths) = found else { return };
        if paths.is_empty() && !parameters.is_empty() {
            refusals.add(
                &format!("{path}.cc"),
                format!("{name} is built into this kernel, and only a module has these options"),
                "no options",
            );
        }
        self.0.push(Chosen {
            provides,
            stand_in: stand_in.map(str::to_owned),
            paths,
            parameters,
        });
    }

    /// Adds the module of a queue discipline. Rejects the queue discipline if the guest kernel does
    /// not have the module.
    pub fn qdisc(
        &mut self,
        path: &str,
        kind: &str,
        stand_in: Option<&str>,
        kit: &Kits<'_>,
        refusals: &mut Refusals,
    ) {
        let provides = format!("qdisc {kind}");
        if let Some(first) = self.0.iter().find(|c| c.provides == provides) {
            if first.stand_in.as_deref() != stand_in {
                refusals.add(
                    &format!("{path}.queue.module"),
                    format!("two modules for {kind}: the kernel has room for one"),
                    "the same module for every queue of this kind",
                );
            }
            return;
        }
        let face = aqm::face(kind);
        for other in face.map_or(&[][..], |face| face.needs) {
            if kit.qdiscs.contains_key(*other) {
                self.qdisc(path, other, None, kit, refusals);
            }
        }
        let found = match stand_in {
            Some(module) => extra(&format!("{path}.queue"), kind, module, kit, refusals),
            None if face.is_some_and(|face| face.built_in) => Some(Vec::new()),
            None => match kit.qdiscs.get(kind) {
                Some(built) => Some(built.iter().cloned().collect()),
                None => {
                    let since = face.and_then(|face| face.since);
                    let others = kit.with(since, |kit| kit.qdiscs.contains_key(kind));
                    refusals.add(
                        &format!("{path}.queue"),
                        kit.without(&format!("queue discipline {kind}"), since),
                        others.unwrap_or_else(|| instead(kind, kit.qdiscs.keys())),
                    );
                    None
                }
            },
        };
        if let Some(paths) = found {
            self.0.push(Chosen {
                provides,
                stand_in: stand_in.map(str::to_owned),
                paths,
                parameters: String::new(),
            });
        }
    }

    pub fn schedule(&mut self, paths: Vec<String>, parameters: String) {
        self.0.push(Chosen {
            provides: "schedule".to_owned(),
            stand_in: None,
            paths,
            parameters,
        });
    }

    /// Adds one of tailback's own modules, unless the module has been added before.
    pub fn own(&mut self, provides: &str, paths: Vec<String>) {
        if self.0.iter().all(|c| c.provides != provides) {
            self.0.push(Chosen {
                provides: provides.to_owned(),
                stand_in: None,
                paths,
                parameters: String::new(),
            });
        }
    }

    /// Returns the modules in loading order. If a module has several files, the last file gets the
    /// parameters. The other files are modules on which the last file depends.
    pub fn list(self) -> Vec<Module> {
        let mut list = Vec::new();
        for chosen in self.0 {
            let last = chosen.paths.len();
            for (i, path) in chosen.paths.into_iter().enumerate() {
                let parameters = if i + 1 == last {
                    chosen.parameters.clone()
                } else {
                    String::new()
                };
                list.push(Module { path, parameters });
            }
        }
        list
    }
}

/// Returns the files of an extra module, after checking that the module registers the given
/// algorithm.
fn extra(
    path: &str,
    algorithm: &str,
    name: &str,
    kit: &Kits<'_>,
    refusals: &mut Refusals,
) -> Option<Vec<String>> {
    let path = format!("{path}.module");
    let Some(found) = kit.extra.get(name) else {
        let expected = match is_own(name) {
            true => "one with it; run: tailback kernel build".to_owned(),
            false => instead(name, kit.extra.keys()),
        };
        let message = format!("the guest kernel has no module {name}");
        refusals.add(&path, message, expected);
        return None;
    };
    // Accept a module if it is unknown which algorithms the module registers. The build of a guest
    // kernel does not detect every way of registering an algorithm.
    let registers = kit.registers.get(name).map_or(&[][..], Vec::as_slice);
    if !registers.is_empty() && registers.iter().all(|one| one != algorithm) {
        let all = registers.join(" and ");
        refusals.add(
            &path,
            format!("module {name} registers {all}, not {algorithm}"),
            format!(
                "{}, or a module that registers {algorithm}",
                registers.join(" or ")
            ),
        );
        return None;
    }
    Some(found.clone())
}

fn is_own(name: &str) -> bool {
    let of_queue = aqm::TABLE.entries().iter().any(|entry| match entry.kernel {
        Kernel::Qdisc(face) => face.stand_ins.iter().any(|own| own.module == name),
        _ => false,
    });
    let of_control = cc::TABLE.entries().iter().any(|entry| match entry.kernel {
        Kernel::Module(face) => face.stand_ins().any(|own| own.module == name),
        _ => false,
    });
    of_queue || of_control
}

/// Returns advice for an algorithm that no Linux release has.
fn own_module() -> String {
    "a module of your own with it, built by `tailback kernel build --module FOLDER`".to_owned()
}
