//! Reads the changes during a run (`[[events]]`), and rejects changes of values that must stay
//! constant.
//!
//! To change an option of a queue or impairment, this module changes a copy of the file, and then
//! reads the copy like the original file. The rules for initial values therefore also apply to the
//! new value.

use std::collections::BTreeMap;

use tailback_engine::aqm;
use tailback_engine::bucket::MOST_GATHERED;
use tailback_engine::impairments;
use tailback_engine::plan::{Algorithm, Change, EventPlan, LinkPlan, Plan, RatePlan};
use tailback_engine::registry::{Kind, Options, Value};
use tailback_engine::units::{Rate, Time, parse_rate};

use super::graft::{at, graft, written};
use crate::declare::{Bdp, Fields, Reader};
use crate::plan::{Origins, plan as read_plan};
use crate::read::{Item, Node, Path, Problem, Span, Toml, listed, shorten};

/// The largest number of events.
const MOST: usize = 1_000;

/// The keys of a link that events may change. The first three keys have plain values, and the other
/// keys have options.
const KEYS: [&str; 8] = [
    "rate",
    "delay",
    "loss",
    "queue",
    "impairments",
    "reorder",
    "duplicate",
    "policer",
];

/// A value that an event sets.
struct Set {
    path: Path,
    /// The path of the value, as the user wrote it in the file.
    text: String,
    span: Span,
    node: Node,
    /// The links to which the path refers.
    links: Vec<usize>,
    /// The steps of the path after the link, such as `queue` and `target`.
    below: Vec<String>,
}

/// The time during which a flow or source runs.
#[derive(Clone, Copy)]
struct Runs {
    start: Time,
    stop: Option<Time>,
}

/// Reads the events of a sweep point, and adds these events to the plan of the sweep point. If the
/// plan has errors (`sound` is false), checks only the parts of events that do not depend on the
/// plan.
pub(super) fn read(
    tree: &Node,
    plan: &mut Plan,
    origins: &mut Origins,
    reader: &mut Reader<'_>,
    sound: bool,
) {
    let Some(item) = tree.table().and_then(|table| table.item("events")) else {
        return;
    };
    let Some(list) = item.node.array().filter(|list| !list.is_empty()) else {
        reader.wrong("events", &item.node, "tables, each under [[events]]");
        return;
    };
    if list.len() > MOST {
        let message = format!("{} events are too many", list.len());
        let problem = Problem::new(item.key_span, message);
        reader.problem(problem.expected(format!("at most {MOST}")));
        return;
    }
    let mut changed = Changed {
        tree: without_events(tree),
        links: plan.links.clone(),
        runs: runs(plan),
        owners: owners(plan),
    };
    let mut timed = Vec::new();
    for (number, node) in (0..).zip(list) {
        let def = &EventPlan::TABLE;
        let fields = reader.fields(node, def, def.label, Bdp::Nowhere);
        let keys = ["set", "start", "stop"];
        if keys.iter().all(|key| fields.item(key).is_none()) {
            let problem = Problem::new(node.span, "the event changes nothing");
            let help = "add set = { \"bottleneck.rate\" = \"10Mbit\" }, or start or stop";
            let problem = problem.expected("\"set\", \"start\" or \"stop\"");
            reader.problem(problem.help(help).global());
        }
        let Some(at) = fields.time("at") else {
            continue;
        };
        if let Some(item) = fields.item("at")
            && sound
            && at >= plan.duration
        {
            let expected = format!("a time before the end of the run, {}", plan.duration);
            reader.wrong("at", &item.node, expected);
        }
        timed.push((at, number, fields));
    }
    if !sound {
        return;
    }
    // The sort is stable, so events at the same time keep their order in the file.
    timed.sort_by_key(|(at, ..)| *at);
    let mut events = Vec::new();
    for (at, number, fields) in timed {
        let mut changes = changed.sets(&fields, origins, reader);
        for (key, begins) in [("start", true), ("stop", false)] {
            changes.extend(changed.turns(&fields, key, begins, at, reader));
        }
        if !changes.is_empty() {
            events.push(EventPlan { at, changes });
            origins.events.push(number);
        }
    }
    plan.events = events;
}

/// Returns the tree of a sweep point without its events.
fn without_events(tree: &Node) -> Node {
    let mut tree = tree.clone();
    if let Toml::Table(table) = &mut tree.value {
        table.0.retain(|item| item.key != "events");
    }
    tree
}

/// Returns the running time of each flow, followed by the running time of each source.
fn runs(plan: &Plan) -> Vec<Runs> {
    let flows = plan.each_flow().map(|flow| (flow.of.start, flow.of.stop));
    let sources = plan.each_source();
    let sources = sources.map(|source| (source.of.start, source.of.stop));
    let all = flows.chain(sources);
    all.map(|(start, stop)| Runs { start, stop }).collect()
}

/// For each name, returns the numbers of the flows and sources with this name. For the common name
/// of several copies, returns the numbers of all copies.
fn owners(plan: &Plan) -> BTreeMap<String, Vec<u32>> {
    let mut owners: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let flows = plan.each_flow();
    let flows = flows.map(|flow| (flow.of.name.clone(), flow.name()));
    let sources = plan.each_source();
    let sources = sources.map(|source| (source.of.name.clone(), source.name()));
    for (number, (group, name)) in (0..).zip(flows.chain(sources)) {
        if name != group {
            owners.entry(name).or_default().push(number);
        }
        owners.entry(group).or_default().push(number);
    }
    owners
}

/// The state of the scenario after the events that have been read so far.
struct Changed {
    /// The file with the new options of queues and impairments. The file keeps the initial rates,
    /// so that sizes in the unit bdp do not change.
    tree: Node,
    links: Vec<LinkPlan>,
    /// The running time of each flow, followed by the running time of each source.
    runs: Vec<Runs>,
    owners: BTreeMap<String, Vec<u32>>,
}

impl Changed {
    /// Reads the new values of an event.
    fn sets(
        &mut self,
        fields: &Fields<'_>,
        origins: &Origins,
        reader: &mut Reader<'_>,
    ) -> Vec<Change> {
        let Some(item) = fields.item("set") else {
            return Vec::new();
        };
        let Some(table) = item.node.table().filter(|table| !table.0.is_empty()) else {
            let expected = "paths with values such as { \"bottleneck.rate\" = \"10Mbit\" }";
            reader.wrong("set", &item.node, expected);
            return Vec::new();
        };
        let mut sets = Vec::new();
        for item in &table.0 {
            self.flatten("", item, origins, reader, &mut sets);
        }
        let mut changes = Vec::new();
        let mut options = Vec::new();
        for set in sets {
            let below: Vec<&str> = set.below.iter().map(String::as_str).collect();
            match below.as_slice() {
                ["rate"] => changes.extend(self.rate(&set, reader)),
                ["delay"] => {
                    let kind = Kind::Time { min: Time::ZERO };
                    if let Some(Value::Time(delay)) = self.value(&set, "delay", kind, reader) {
                        let links = set.links.iter();
                        changes.extend(links.map(|link| Change::Delay(*link as u32, delay)));
                    }
                }
                ["loss"] => {
                    let kind = Kind::Float { min: 0.0, max: 1.0 };
                    if let Some(Value::Float(loss)) = self.value(&set, "loss", kind, reader) {
                        let links = set.links.iter();
                        changes.extend(links.map(|link| Change::Loss(*link as u32, loss)));
                    }
                }
                _ => options.push(set),
            }
        }
        if !options.is_empty() {
            changes.extend(self.options(&options, reader));
        }
        changes
    }

    /// Collects the values below an item of `set`. An item is `"a.b" = 1`, or a table `a` with a
    /// key `b`.
    fn flatten(
        &self,
        prefix: &str,
        item: &Item,
        origins: &Origins,
        reader: &mut Reader<'_>,
        sets: &mut Vec<Set>,
    ) {
        let text = format!("{prefix}{}", item.key);
        if let Some(table) = item.node.table().filter(|table| !table.0.is_empty()) {
            for inner in &table.0 {
                self.flatten(&format!("{text}."), inner, origins, reader, sets);
            }
            return;
        }
        let path = match Path::parse(&text, item.key_span) {
            Ok(path) => path,
            Err(problem) => return reader.problem(problem),
        };
        let steps: Vec<String> = path.0.chunks(1).map(written).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let (link, below) = match steps.as_slice() {
            ["bottleneck", below @ ..] => (None, below),
            ["links", name, below @ ..] => (Some((*name).to_owned()), below),
            _ => (Some(String::new()), &[][..]),
        };
        let links = origins.links.iter().enumerate();
        let links = links.filter(|(_, origin)| **origin == link);
        let links: Vec<usize> = links.map(|(number, _)| number).collect();
        let changeable = match below {
            ["rate", _, ..] | [] => false,
            [key, ..] => KEYS.contains(key),
        };
        if links.is_empty() || !changeable {
            let message = format!("\"{}\" does not change during a run", shorten(&text));
            let valid = self.valid(origins);
            let problem = Problem::new(item.key_span, message);
            let expected = "the rate, delay or loss of a link, or an option of its queue or of an \
                            impairment, such as \"bottleneck.rate\" or \"bottleneck.queue.limit\"";
            let nearest = valid.iter().map(String::as_str);
            reader.problem(problem.expected(expected).nearest(&text, nearest));
            return;
        }
        sets.push(Set {
            path,
            span: item.key_span,
            node: item.node.clone(),
            links,
            below: below.iter().map(|step| (*step).to_owned()).collect(),
            text,
        });
    }

    /// Returns the paths whose values events may change.
    fn valid(&self, origins: &Origins) -> Vec<String> {
        let mut valid = Vec::new();
        for (link, origin) in self.links.iter().zip(&origins.links) {
            let prefix = match origin {
                Some(name) => format!("links.{name}."),
                None => "bottleneck.".to_owned(),
            };
            valid.extend(KEYS[..3].iter().map(|key| format!("{prefix}{key}")));
            if let Some((name, options)) = link.queue.known() {
                let options = aqm::changeable(name, options).iter();
                valid.extend(options.map(|option| format!("{prefix}queue.{option}")));
            }
            for (place, impairment) in link.impairments.iter().enumerate() {
                let kind = (impairment.kind, &impairment.options);
                let options = impairments::changeable(kind.0, kind.1).iter();
                valid
                    .extend(options.map(|option| format!("{prefix}impairments[{place}].{option}")));
            }
        }
        valid.dedup();
        valid
    }

    /// Reads the new rate of a link.
    fn rate(&mut self, set: &Set, reader: &mut Reader<'_>) -> Vec<Change> {
        let rate = match set.node.string().map(parse_rate) {
            // A rate of 0 is an outage.
            Some(Ok(Rate(0))) => Some(Value::Rate(Rate(0))),
            _ => reader.plain("rate", Kind::Rate, &set.node, Bdp::Nowhere),
        };
        let Some(Value::Rate(rate)) = rate else {
            return Vec::new();
        };
        let mut changes = Vec::new();
        for link in &set.links {
            let plan = &self.links[*link];
            if !matches!(plan.rate, RatePlan::Constant(_)) {
                let message = format!("the rate of \"{}\" already changes over time", plan.name);
                let problem = Problem::new(set.span, message);
                reader.problem(problem.expected("a link whose own rate is constant"));
            } else if rate.0 > 0 && plan.burst.0 > rate.bytes_in(MOST_GATHERED) {
                let expected = format!(
                    "a rate that sends the link's burst of {} B within {MOST_GATHERED}",
                    plan.burst.0
                );
                reader.wrong("rate", &set.node, expected);
            } else {
                changes.push(Change::Rate(*link as u32, rate));
            }
        }
        changes
    }

    /// Reads the new delay or loss of a link.
    fn value(&self, set: &Set, key: &str, kind: Kind, reader: &mut Reader<'_>) -> Option<Value> {
        let value = reader.plain(key, kind, &set.node, Bdp::Nowhere)?;
        if at(&self.tree, &set.path).is_some_and(|node| node.table().is_some()) {
            let message = format!("\"{}\" is a table with options of its own", set.text);
            let problem = Problem::new(set.span, message);
            reader.problem(problem.expected(format!("the path of an option of this {key}")));
            return None;
        }
        Some(value)
    }

    /// Reads new options of queues and impairments.
    fn options(&mut self, sets: &[Set], reader: &mut Reader<'_>) -> Vec<Change> {
        let before = reader.problems.len();
        let mut tree = self.tree.clone();
        for set in sets {
            if let Err(problem) = graft(&mut tree, &set.path, set.node.clone()) {
                reader.problem(problem);
            }
        }
        let warnings = reader.warnings.len();
        let in_phase = reader.in_phase;
        let (plan, ..) = read_plan(&tree, reader);
        // This function reads the file a second time. Remove the new warnings, because the user has
        // already seen them.
        reader.warnings.truncate(warnings);
        reader.in_phase = in_phase;
        if reader.problems.len() > before {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let mut links = self.links.clone();
        for (number, (old, new)) in links.iter_mut().zip(&plan.links).enumerate() {
            let Some(set) = sets.iter().find(|set| set.links.contains(&number)) else {
                continue;
            };
            let link = number as u32;
            if let Some(options) = queue(number, old, new, sets, reader) {
                changes.push(Change::Queue(link, options));
            }
            if old.impairments.len() != new.impairments.len()
                || (old.impairments.iter().zip(&new.impairments)).any(|(old, new)| {
                    old.kind != new.kind || old.only != new.only || old.during != new.during
                })
            {
                let message = format!("\"{}\" keeps its impairments during a run", old.name);
                let problem = Problem::new(set.span, message);
                let expected = "an option of an impairment that the link has from the start";
                reader.problem(problem.expected(expected));
                continue;
            }
            for (place, (old, new)) in old.impairments.iter().zip(&new.impairments).enumerate() {
                let can = impairments::changeable(old.kind, &old.options);
                let what = format!("the impairment \"{}\"", old.kind);
                let span = |option: &str| span_of(number, option, sets);
                if differ(&old.options, &new.options, can, &what, span, reader) {
                    changes.push(Change::Impairment {
                        link,
                        place: place as u32,
                        options: new.options.clone(),
                    });
                }
            }
            (old.queue, old.impairments) = (new.queue.clone(), new.impairments.clone());
        }
        // Do not store rejected values, because each later event would report the same error again.
        if reader.problems.len() == before {
            (self.tree, self.links) = (tree, links);
        }
        changes
    }

    /// Reads the flows and sources that start or stop.
    fn turns(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        begins: bool,
        at: Time,
        reader: &mut Reader<'_>,
    ) -> Vec<Change> {
        let Some(item) = fields.item(key) else {
            return Vec::new();
        };
        let Some(list) = item.node.array().filter(|list| !list.is_empty()) else {
            reader.wrong(key, &item.node, "names such as [\"cubic\"]");
            return Vec::new();
        };
        let mut changes = Vec::new();
        for node in list {
            let Some(name) = node.string() else {
                reader.wrong(key, node, "the name of a flow or source");
                continue;
            };
            let Some(numbers) = self.owners.get(name) else {
                let message = format!("there is no flow or source named \"{}\"", shorten(name));
                let names = self.owners.keys().map(String::as_str);
                let problem = Problem::new(node.span, message).nearest(name, names.clone());
                reader.problem(
                    problem
                        .expected(format!("one of {}", listed(names)))
                        .global(),
                );
                continue;
            };
            for number in numbers {
                let runs = &mut self.runs[*number as usize];
                let stopped = runs.stop.filter(|stop| *stop <= at);
                let problem = match (begins, stopped) {
                    (_, Some(stop)) => Some((
                        format!("\"{name}\" has stopped at {stop}"),
                        "one that has not stopped",
                    )),
                    (true, None) if runs.start <= at => Some((
                        format!("\"{name}\" starts at {}", runs.start),
                        "one that starts later than the event",
                    )),
                    (false, None) if runs.start >= at => Some((
                        format!("\"{name}\" does not start before {}", runs.start),
                        "one that has started",
                    )),
                    _ => None,
                };
                if let Some((message, expected)) = problem {
                    reader.problem(Problem::new(node.span, message).expected(expected).global());
                    break;
                }
                if begins {
                    runs.start = at;
                    changes.push(Change::Start(*number));
                } else {
                    runs.stop = Some(at);
                    changes.push(Change::Stop(*number));
                }
            }
        }
        changes
    }
}

/// Returns the new options of a link's queue. Returns `None` if no option changes.
fn queue(
    number: usize,
    old: &LinkPlan,
    new: &LinkPlan,
    sets: &[Set],
    reader: &mut Reader<'_>,
) -> Option<Options> {
    if old.queue == new.queue && old.module == new.module {
        return None;
    }
    let known = |queue: &Algorithm| Some((queue.known()?.0, queue.known()?.1.clone()));
    match (known(&old.queue), known(&new.queue)) {
        (Some((name, before)), Some((same, after))) if name == same && old.module == new.module => {
            let can = aqm::changeable(name, &before);
            let span = |option: &str| span_of(number, option, sets);
            let what = format!("the queue \"{name}\"");
            differ(&before, &after, can, &what, span, reader).then_some(after)
        }
        _ => {
            let message = format!("\"{}\" keeps its queue discipline during a run", old.name);
            let problem = Problem::new(span_of(number, "queue", sets), message);
            let expected = format!("an option of {}", old.queue.name());
            reader.problem(problem.expected(expected));
            None
        }
    }
}

/// Returns whether options differ. Reports changes of options that must stay constant.
fn differ(
    old: &Options,
    new: &Options,
    changeable: &[&str],
    what: &str,
    span: impl Fn(&str) -> Span,
    reader: &mut Reader<'_>,
) -> bool {
    let names = old.iter().chain(new.iter()).map(|(name, _)| name);
    let names: std::collections::BTreeSet<&str> = names.collect();
    let differing = names
        .into_iter()
        .filter(|name| old.get(name) != new.get(name));
    let differing: Vec<&str> = differing.collect();
    for name in &differing {
        let problem = if !changeable.contains(name) {
            let message = format!("\"{name}\" of {what} does not change during a run");
            let expected = match changeable {
                [] => "another queue or impairment, because this one keeps its options".to_owned(),
                can => format!("one of {}", can.join(", ")),
            };
            Problem::new(span(name), message).expected(expected)
        } else if let (Some(old), Some(new)) = (old.get(name), new.get(name))
            && !old.same_unit(new)
        {
            let message = format!("\"{name}\" of {what} keeps its unit during a run");
            let expected = "packets, bytes or a time, as before the event";
            Problem::new(span(name), message).expected(expected)
        } else {
            continue;
        };
        reader.problem(problem);
    }
    !differing.is_empty()
}

/// Returns the position of the value that sets an option of a link. If the option follows from
/// another value, returns the position of the other value.
fn span_of(link: usize, option: &str, sets: &[Set]) -> Span {
    let mut of_link = sets.iter().filter(|set| set.links.contains(&link));
    let named = |set: &&Set| set.below.iter().any(|step| step == option);
    let found = of_link.clone().find(named).or_else(|| of_link.next());
    found.map_or_else(Span::default, |set| set.span)
}
