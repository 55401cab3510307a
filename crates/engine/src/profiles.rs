//! Named paths. Each named path sets keys of `[path]` and `[bottleneck]`, such as the RTT and the
//! rate, and cites the source of these numbers. For example, `[path] profile = "wifi-bad"` adds the
//! keys from the file `wifi-bad`. If the scenario itself sets one of these keys, the scenario's
//! value is used.
//!
//! A file begins with two comments: the first describes the path, and the second gives the source
//! of its numbers.

/// A named path.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// The name in scenarios.
    pub name: &'static str,
    /// The keys of the path in TOML: `[path]` and `[bottleneck]`.
    pub toml: &'static str,
}

impl Profile {
    /// Returns one sentence that describes the path.
    pub fn doc(&self) -> &'static str {
        self.comment(0)
    }

    /// Returns the source of the path's numbers.
    pub fn source(&self) -> &'static str {
        let comment = self.comment(1);
        comment.strip_prefix("source: ").unwrap_or(comment)
    }

    fn comment(&self, line: usize) -> &'static str {
        let line = self.toml.lines().nth(line).unwrap_or_default();
        line.trim_start_matches("# ")
    }
}

/// Declares the paths. The name of each path is also the name of its file.
macro_rules! profiles {
    ($($name:literal,)*) => {
        /// All named paths, in the order in which the reference page lists them.
        pub const ENTRIES: &[Profile] = &[$(
            Profile {
                name: $name,
                toml: include_str!(concat!("profiles/", $name, ".toml")),
            },
        )*];

        /// The names of the paths.
        pub const NAMES: &[&str] = &[$($name,)*];
    };
}

profiles! {
    "c4-basic",
    "c4-fast",
    "c4-satellite",
    "low-and-up",
    "drop-and-back",
    "black-hole",
    "short-to-long",
    "wifi-bad",
    "wifi-fade",
    "suspension",
    "media-variable",
    "media-two-flows",
    "media-two-way",
    "nsperf-coexist",
    "nsperf-random-loss",
    "nsperf-shallow",
    "nsperf-bufferbloat",
    "nsperf-ecn",
    "docsis-classic",
    "docsis-low-latency",
    "geo",
    "leo",
    "lte",
    "dsl",
    "data-centre",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_says_what_it_is_and_where_it_comes_from() {
        for profile in ENTRIES {
            assert!(profile.doc().ends_with('.'), "{}", profile.name);
            assert!(profile.toml.contains("\n# source: "), "{}", profile.name);
            assert!(!profile.source().is_empty(), "{}", profile.name);
        }
    }
}
