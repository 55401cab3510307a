//! The built guest kernels, and which Linux release introduced which feature. A guest kernel is a
//! Linux kernel with its modules and tailback's agent ("kit" in code).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use tailback_engine::plan::{Plan, Refusal};

/// A kernel feature that is neither a queue discipline nor a congestion control.
pub(super) struct Feature {
    pub name: &'static str,
    /// The first Linux release with the feature.
    pub since: &'static str,
}

/// Accurate ECN: `net.ipv4.tcp_ecn` = 3 and `net.ipv4.tcp_ecn_option`.
pub(super) const ACCURATE_ECN: Feature = Feature {
    name: "Accurate ECN",
    since: "6.18",
};

/// The sysctl that controls whether Linux stores ssthresh with the metrics of a destination.
/// Releases without this sysctl always store ssthresh.
pub(super) const SSTHRESH_METRICS: Feature = Feature {
    name: "net/ipv4/tcp_no_ssthresh_metrics_save",
    since: "5.6",
};

/// The sysctl that controls whether a timeout changes a connection's flow hash. In releases without
/// this sysctl, a timeout always changes the hash.
pub(super) const TXREHASH: Feature = Feature {
    name: "net/core/txrehash",
    since: "5.18",
};

/// The contents of a guest kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kit {
    /// Kernel version, such as 6.1.176. Empty if unknown.
    #[serde(default)]
    pub version: String,
    /// Hash of the guest kernel.
    #[serde(default)]
    pub hash: String,
    /// Congestion controls by name, each with the path of its module in the guest, or `None` if the
    /// congestion control is built in.
    #[serde(default)]
    pub ccs: BTreeMap<String, Option<String>>,
    /// Queue disciplines by name, each with the path of its module in the guest, or `None` if the
    /// queue discipline is built in.
    #[serde(default)]
    pub qdiscs: BTreeMap<String, Option<String>>,
    /// Other modules by name, each with the paths of its files in the guest, in loading order.
    #[serde(default)]
    pub extra: BTreeMap<String, Vec<String>>,
    /// The congestion controls and queue disciplines that each module in `extra` registers, if
    /// known.
    #[serde(default)]
    pub registers: BTreeMap<String, Vec<String>>,
    /// All built guest kernels, the newest first. A scenario may name any of these kernels.
    #[serde(default)]
    pub others: Vec<Kit>,
    /// Errors that the host has found in `[[programs]]`: a path such as `programs[0].files`, and a
    /// message.
    #[serde(default)]
    pub refused: Vec<(String, String)>,
}

/// Shortest prefix of a guest kernel's hash that a scenario may use, in digits.
const HASH_DIGITS: usize = 6;

impl Kit {
    /// Returns whether `name` denotes the guest kernel. The name may be a release, a version, or
    /// the beginning of the guest kernel's hash.
    fn is(&self, name: &str) -> bool {
        self.version == name
            || self.release() == name
            || (name.len() >= HASH_DIGITS && self.hash.starts_with(name))
    }

    /// Returns the kernel's release, that is, the first two numbers of the kernel version.
    fn release(&self) -> &str {
        let mut dots = self.version.match_indices('.');
        match dots.nth(1) {
            Some((at, _)) => &self.version[..at],
            None => &self.version,
        }
    }

    /// Returns whether this kernel's release has a feature that was introduced in `since`. Returns
    /// true if the release is unknown.
    pub(super) fn has(&self, since: &str) -> bool {
        self.version.is_empty() || numbers(&self.version) >= numbers(since)
    }
}

/// The guest kernel that runs a plan, and the other guest kernels.
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
    /// Selects the guest kernel for a plan. Returns an error if no built guest kernel matches.
    pub fn of(plan: &Plan, kit: &'a Kit) -> Result<Kits<'a>, Refusal> {
        let all = kit.others.as_slice();
        let Some(name) = plan.kernel.as_deref() else {
            return Ok(Kits { chosen: kit, all });
        };
        // Prefer the current guest kernel, then the newest one.
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
                    message: format!("no guest kernel of {name}: {there_are}"),
                    expected: Some(format!(
                        "a kernel that is built, or run `tailback kernel build --release {name}` first"
                    )),
                })
            }
        }
    }

    /// Names the built guest kernels that have a feature, for an error message. If no built guest
    /// kernel has the feature, names the first release with this feature.
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

    /// Returns an error message for a feature that this kernel does not have.
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

/// Returns the numbers of a version string, up to the first part that is not a number.
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
            let message = format!("no guest kernel of {name}: there are 6.1.176, 6.12.107");
            assert_eq!(refused.message, message);
        }
    }
}
