//! The available kernel kits, and the Linux release that introduced a feature. A kit is a built
//! kernel with its modules and the agent.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use tailback_engine::plan::{Plan, Refusal};

/// A feature of a kernel other than its queue disciplines and congestion controls.
pub(super) struct Feature {
    /// Name of the feature, for messages.
    pub name: &'static str,
    /// First Linux release that has the feature.
    pub since: &'static str,
}

/// Accurate ECN: `net.ipv4.tcp_ecn` = 3 and `net.ipv4.tcp_ecn_option`.
pub(super) const ACCURATE_ECN: Feature = Feature {
    name: "Accurate ECN",
    since: "6.18",
};

/// The sysctl that determines whether Linux remembers ssthresh. Earlier releases always remember it
/// with the other metrics.
pub(super) const SSTHRESH_METRICS: Feature = Feature {
    name: "net/ipv4/tcp_no_ssthresh_metrics_save",
    since: "5.6",
};

/// The sysctl that determines whether a connection changes its hash after a timeout. Earlier
/// releases always change the hash.
pub(super) const TXREHASH: Feature = Feature {
    name: "net/core/txrehash",
    since: "5.18",
};

/// The contents of a kernel kit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kit {
    /// Version of the kernel, e.g. 6.1.176; empty if unknown.
    #[serde(default)]
    pub version: String,
    /// Hash of the kit.
    #[serde(default)]
    pub hash: String,
    /// Congestion controls by name. The value is the guest path of the module, or `None` if it is
    /// built in.
    #[serde(default)]
    pub ccs: BTreeMap<String, Option<String>>,
    /// Queue disciplines by name. The value is the guest path of the module, or `None` if it is
    /// built in.
    #[serde(default)]
    pub qdiscs: BTreeMap<String, Option<String>>,
    /// Other modules by name. The values are guest paths, in the order of loading.
    #[serde(default)]
    pub extra: BTreeMap<String, Vec<String>>,
    /// The congestion controls and kinds of queues that the modules in `extra` register, if known.
    #[serde(default)]
    pub registers: BTreeMap<String, Vec<String>>,
    /// All kits that a scenario may name. The kit that was built last comes first.
    #[serde(default)]
    pub others: Vec<Kit>,
    /// Errors that the host has found in programs. Each has a path such as `programs[0].files`, and
    /// a message.
    #[serde(default)]
    pub refused: Vec<(String, String)>,
}

/// Number of digits of a kit's hash that a scenario must give at least.
const HASH_DIGITS: usize = 6;

impl Kit {
    /// Returns whether a scenario may select the kit by this name: a release, a version, or the
    /// beginning of its hash.
    fn is(&self, name: &str) -> bool {
        self.version == name
            || self.release() == name
            || (name.len() >= HASH_DIGITS && self.hash.starts_with(name))
    }

    /// Returns the first two numbers of the kernel's version.
    fn release(&self) -> &str {
        let mut dots = self.version.match_indices('.');
        match dots.nth(1) {
            Some((at, _)) => &self.version[..at],
            None => &self.version,
        }
    }

    /// Returns whether the Linux release of this kernel has a feature. If the release is unknown,
    /// returns true.
    pub(super) fn has(&self, since: &str) -> bool {
        self.version.is_empty() || numbers(&self.version) >= numbers(since)
    }
}

/// The kit that runs a plan, and the other kits.
#[derive(Clone, Copy)]
pub(super) struct Kits<'a> {
    chosen: &'a Kit,
    all: &'a [Kit],
}

impl Deref for Kits<'_> {
    type Target = Kit;

    fn deref(&self) -> &Kit {
        self.chosen
    }
}

impl<'a> Kits<'a> {
    /// Selects the kit of a plan, or returns why no kit fits.
    pub fn of(plan: &Plan, kit: &'a Kit) -> Result<Kits<'a>, Refusal> {
        let all = kit.others.as_slice();
        let Some(name) = plan.kernel.as_deref() else {
            return Ok(Kits { chosen: kit, all });
        };
        // Prefer the kit in use, then the kit that was built last.
        let mut known = std::iter::once(kit).chain(all);
        match known.find(|kit| kit.is(name)) {
            Some(chosen) => Ok(Kits { chosen, all }),
            None => {
                let there_are = all.iter().map(|kit| kit.version.as_str());
                let there_are: BTreeSet<&str> = there_are.collect();
                let there_are: Vec<&str> = there_are.into_iter().collect();
                let there_are = match there_are.as_slice() {
                    [] => "there is no other".to_owned(),
                    some => format!("there are {}", some.join(", ")),
                };
                Err(Refusal {
                    path: "kernel".to_owned(),
                    message: format!("no kit of {name}: {there_are}"),
                    expected: Some(format!(
                        "a kit that is built, or `tailback kernel build --release {name}` first"
                    )),
                })
            }
        }
    }

    /// Returns the kernels that have a feature. These are kernels of built kits or, if no kit has
    /// the feature, the first release that has it.
    pub fn with(&self, since: Option<&str>, has: impl Fn(&Kit) -> bool) -> Option<String> {
        let found = self.all.iter().filter(|kit| has(kit));
        let found: BTreeSet<&str> = found.map(Kit::release).collect();
        if !found.is_empty() {
            let found: Vec<String> = found.iter().map(|r| format!("kernel = \"{r}\"")).collect();
            return Some(found.join(" or "));
        }
        let since = since.filter(|since| !self.has(since))?;
        Some(format!(
            "Linux {since} or later; `tailback kernel build` makes the newest"
        ))
    }

    /// Returns the message about a feature that a later release of Linux introduced.
    pub fn without(&self, what: &str, since: Option<&str>) -> String {
        match since {
            Some(since) if !self.has(since) => {
                format!(
                    "Linux {} has no {what}, which came with {since}",
                    self.version
                )
            }
            _ => format!("this kernel has no {what}"),
        }
    }
}

/// Returns the numbers of a version, up to the first part that is not a number.
fn numbers(version: &str) -> Vec<u32> {
    let parts = version.split(['.', '-', '~', '+']);
    parts.map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kit(version: &str, hash: &str) -> Kit {
        Kit {
            version: version.to_owned(),
            hash: hash.to_owned(),
            ..Kit::default()
        }
    }

    #[test]
    fn a_release_is_older_by_its_numbers() {
        let old = kit("5.10.223", "");
        assert!(old.has("2.6.13") && old.has("5.6") && old.has("5.10"));
        assert!(!old.has("5.18") && !old.has("6.17") && !kit("6.1.176", "").has("6.12"));
        assert!(kit("7.4~rc1", "").has("7.4") && Kit::default().has("9.0"));
    }

    #[test]
    fn a_kit_is_named_by_release_version_or_hash() {
        let all = [kit("6.1.176", "abcdef0123"), kit("6.12.107", "99")];
        let here = Kit {
            others: all.to_vec(),
            ..kit("7.3.4", "1234567")
        };
        let of = |name: &str| {
            let plan = Plan {
                kernel: Some(name.to_owned()),
                ..Plan::default()
            };
            Kits::of(&plan, &here).map(|kits| kits.version.clone())
        };
        let version = |name| of(name).unwrap();
        assert_eq!(version("6.1"), "6.1.176");
        assert_eq!(version("6.1.176"), "6.1.176");
        assert_eq!(version("abcdef"), "6.1.176");
        assert_eq!(version("6.12"), "6.12.107");
        assert_eq!(version("7.3"), "7.3.4");
        for name in ["6", "6.10", "99", "abcd"] {
            let refused = of(name).unwrap_err();
            assert_eq!(refused.path, "kernel");
            let message = format!("no kit of {name}: there are 6.1.176, 6.12.107");
            assert_eq!(refused.message, message);
        }
    }
}
