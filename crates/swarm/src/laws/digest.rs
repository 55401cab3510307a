//! Maps names of flows, links and classes to their results. With these maps, two runs can be
//! compared even if their scenarios list the entries in different orders.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use tailback_engine::plan::Plan;
use tailback_record::Outcome;

/// The kind of object to which a name belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A flow or a source, which may be a member of a group.
    End,
    /// A link, or its copy in the return direction.
    Link,
    Class,
}

/// The measurements of a run, by the name of the measured object.
pub(super) struct Digest {
    /// All counters of each object, as JSON.
    pub parts: BTreeMap<String, String>,
    /// The time and value of every sample, by the name of the sample's series.
    pub series: BTreeMap<String, Vec<(u64, u64)>>,
}

/// Returns the name of a quantity, such as "class.NAME.share", after renaming the class in the
/// name.
fn quantity(name: &str, rename: impl Fn(Kind, &str) -> String) -> String {
    let of_class = name.strip_prefix("class.");
    match of_class.and_then(|rest| rest.split_once('.')) {
        Some((class, rest)) => format!("class.{}.{rest}", rename(Kind::Class, class)),
        None => name.to_owned(),
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("an outcome is data")
}

impl Digest {
    /// Makes the digest of a run's measurements.
    pub fn of(plan: &Plan, outcome: Outcome) -> Digest {
        Digest::renamed(plan, outcome, |_, name| name.to_owned())
    }

    /// Returns the digest of a run, after applying `rename` to every name.
    pub fn renamed(
        plan: &Plan,
        mut outcome: Outcome,
        rename: impl Fn(Kind, &str) -> String,
    ) -> Digest {
        let mut parts = BTreeMap::new();
        let mut add = |what: &str, name: &str, of: String| {
            let twice = parts.insert(format!("{what} {name}"), of);
            assert!(twice.is_none(), "two results of {what} {name}");
        };
        let links: Vec<String> = (outcome.links.iter())
            .map(|link| rename(Kind::Link, &link.name))
            .collect();
        for flow in &mut outcome.flows {
            flow.name = rename(Kind::End, &flow.name);
            add("flow", &flow.name, json(flow));
        }
        for source in &mut outcome.traffic {
            source.name = rename(Kind::End, &source.name);
            add("source", &source.name, json(source));
        }
        for (link, name) in outcome.links.iter_mut().zip(&links) {
            link.name.clone_from(name);
            for (end, _) in &mut link.account.held {
                *end = rename(Kind::End, end);
            }
            link.account.held.sort_by(|a, b| a.0.cmp(&b.0));
            add("link", name, json(link));
        }
        // A class lists its flows and sources by number, so replace the numbers with names.
        let flows = plan.each_flow().map(|member| member.name());
        let ends: Vec<String> = flows
            .chain(plan.each_source().map(|member| member.name()))
            .map(|name| rename(Kind::End, &name))
            .collect();
        for class in &mut outcome.classes {
            let of = std::mem::take(&mut class.class);
            let bytes = std::mem::take(&mut class.flow_bytes);
            let members =
                (of.flows.iter()).map(|flow| (&ends[flow.flow as usize], flow.base_rtt_ns));
            let members: BTreeMap<_, _> = members.collect();
            let sources = of.sources.iter().map(|source| &ends[*source as usize]);
            let mut sources: Vec<_> = sources.collect();
            sources.sort();
            let bytes: BTreeMap<_, _> = (of.flows.iter().zip(&bytes))
                .map(|(flow, bytes)| (&ends[flow.flow as usize], bytes))
                .collect();
            let name = rename(Kind::Class, &of.name);
            let at = &links[std::mem::take(&mut class.link) as usize];
            add(
                "class",
                &format!("{name} at {at}"),
                json(&(class, members, sources, bytes)),
            );
        }
        let whole = (
            outcome.duration_ns,
            outcome.warmup_ns,
            outcome.data_packets,
            outcome.packets,
        );
        add("the", "whole", json(&whole));
        let mut series: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
        let all = &outcome.series;
        let keys = all.keys.iter().map(|key| {
            let flow = key.flow.as_ref().map(|flow| rename(Kind::End, flow));
            let link = key.link.as_ref().map(|link| rename(Kind::Link, link));
            let quantity = quantity(&key.quantity, &rename);
            format!(
                "{quantity} of {} at {}",
                flow.unwrap_or_default(),
                link.unwrap_or_default()
            )
        });
        let keys: Vec<String> = keys.collect();
        for row in all.rows() {
            let rows = series.entry(keys[row.key as usize].clone()).or_default();
            rows.push((row.time_ns, row.value.to_bits()));
        }
        Digest { parts, series }
    }

    /// Removes the results of a link, in both directions.
    pub fn without_link(&mut self, name: &str) {
        let back = format!("{name}.back");
        let about = |key: &str, link: &str| key == format!("link {link}");
        self.parts
            .retain(|key, _| !about(key, name) && !about(key, &back));
        let ends = [format!(" at {name}"), format!(" at {back}")];
        self.series
            .retain(|key, _| !ends.iter().any(|end| key.ends_with(end)));
    }

    /// Describes the first difference from another digest, if there is one.
    pub fn difference(&self, other: &Digest) -> Option<String> {
        let parts = first(&self.parts, &other.parts, |a, b| around(a, b));
        parts.or_else(|| {
            first(&self.series, &other.series, |a, b| {
                let row = a.iter().zip(b).position(|(a, b)| a != b);
                match row {
                    Some(row) => format!("row {row}: {} and {}", shown(a[row]), shown(b[row])),
                    None => format!("{} and {} rows", a.len(), b.len()),
                }
            })
        })
    }
}

fn shown((time, value): (u64, u64)) -> String {
    format!("{} at {time} ns", f64::from_bits(value))
}

/// Describes the first key whose values differ in the two maps, or that exists in only one map.
fn first<T: PartialEq + Debug>(
    left: &BTreeMap<String, T>,
    right: &BTreeMap<String, T>,
    differ: impl Fn(&T, &T) -> String,
) -> Option<String> {
    for (key, value) in left {
        match right.get(key) {
            Some(other) if other == value => {}
            Some(other) => return Some(format!("{key}: {}", differ(value, other))),
            None => return Some(format!("{key} is missing")),
        }
    }
    let more = right.keys().find(|key| !left.contains_key(*key));
    more.map(|key| format!("{key} was not there"))
}

/// Returns excerpts of two texts that begin shortly before the first difference.
fn around(left: &str, right: &str) -> String {
    let same = left.chars().zip(right.chars()).take_while(|(a, b)| a == b);
    let from = same.count().saturating_sub(50);
    let part = |text: &str| text.chars().skip(from).take(110).collect::<String>();
    format!("{} and {}", part(left), part(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flows: &[(&str, u64)]) -> Digest {
        let mut digest = Digest {
            parts: BTreeMap::new(),
            series: BTreeMap::new(),
        };
        for (name, packets) in flows {
            digest
                .parts
                .insert(format!("flow {name}"), packets.to_string());
            let rows = vec![(5, (*packets as f64).to_bits())];
            digest.series.insert(format!("cwnd of {name} at "), rows);
        }
        digest
    }

    #[test]
    fn the_first_difference_is_told() {
        let two = of(&[("a", 1), ("b", 2)]);
        assert_eq!(two.difference(&of(&[("b", 2), ("a", 1)])), None);
        let other = two.difference(&of(&[("a", 1), ("b", 3)]));
        assert_eq!(other.as_deref(), Some("flow b: 2 and 3"));
        assert_eq!(
            two.difference(&of(&[("a", 1)])).as_deref(),
            Some("flow b is missing")
        );
        let more = of(&[("a", 1), ("b", 2), ("c", 3)]);
        assert_eq!(
            two.difference(&more).as_deref(),
            Some("flow c was not there")
        );
        let mut later = of(&[("a", 1), ("b", 2)]);
        later
            .series
            .insert("cwnd of b at ".to_owned(), vec![(6, 2_f64.to_bits())]);
        let row = two.difference(&later);
        assert_eq!(
            row.as_deref(),
            Some("cwnd of b at : row 0: 2 at 5 ns and 2 at 6 ns")
        );
    }

    #[test]
    fn what_is_about_a_link_goes() {
        let mut digest = of(&[("a", 1)]);
        for link in ["x", "x.back", "y"] {
            digest.parts.insert(format!("link {link}"), String::new());
            digest
                .series
                .insert(format!("backlog_bytes of  at {link}"), Vec::new());
        }
        digest.without_link("x");
        let kept: Vec<_> = digest.parts.keys().chain(digest.series.keys()).collect();
        assert_eq!(
            kept,
            [
                "flow a",
                "link y",
                "backlog_bytes of  at y",
                "cwnd of a at "
            ]
        );
    }
}
