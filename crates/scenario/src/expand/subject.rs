//! Resolves the subject of an assertion: a metric, and the flow, link or class that the metric
//! measures. A metric may have several names, and an assertion may use any of them.

use std::collections::BTreeSet;

use tailback_engine::plan::Plan;
use tailback_record::summary::metric::On;

use super::grid::Run;
use crate::declare::{Fields, Reader, metrics};
use crate::read::{Problem, listed, shorten};

/// The flow, link or class that an assertion names, if any.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Subject {
    pub flow: Option<String>,
    pub link: Option<String>,
    pub class: Option<String>,
}

/// Name of the part of a summary that describes traffic sources.
const SOURCE: &str = "traffic";

impl Subject {
    fn of(&self, on: On) -> Option<&str> {
        match on {
            On::Flow => self.flow.as_deref(),
            On::Link => self.link.as_deref(),
            On::Class => self.class.as_deref(),
            On::Run => None,
        }
    }

    fn name(&mut self, on: On, name: &str) {
        let name = Some(name.to_owned());
        match on {
            On::Flow => self.flow = name,
            On::Link => self.link = name,
            On::Class => self.class = name,
            On::Run => {}
        }
    }

    fn named(&self) -> impl Iterator<Item = On> {
        On::ALL.into_iter().filter(|on| self.of(*on).is_some())
    }

    /// Checks that the flow, link and class exist at every sweep point. In this check, a program or
    /// source counts as a flow.
    pub fn check(&self, reader: &mut Reader<'_>, fields: &Fields<'_>, runs: &[Run]) {
        for run in runs {
            let mut missing = |on: On| {
                let name = self.of(on)?;
                if has(&run.plan, on, name) {
                    return None;
                }
                let problem = Problem::new(
                    fields.span_of(on.name()),
                    format!("there is no {} named \"{}\"", on.name(), shorten(name)),
                );
                let names = names(&run.plan, on);
                let names = || names.iter().map(String::as_str);
                let problem = match on {
                    On::Flow if run.swept.is_empty() => problem,
                    On::Flow => problem.expected("the name of a flow of every point"),
                    _ if names().next().is_none() => problem,
                    _ => problem.expected(format!("one of {}", listed(names()))),
                };
                let mut problem = problem.nearest(name, names()).global();
                if problem.expected.is_none() && problem.nearest.is_none() {
                    problem = problem.help(format!("name a {} of the scenario", on.name()));
                }
                reader.problem(problem);
                Some(())
            };
            if [On::Flow, On::Link, On::Class]
                .into_iter()
                .find_map(&mut missing)
                .is_some()
            {
                break;
            }
        }
    }
}

/// Returns the path and the subject of an assertion's metric, or `None` after an error.
pub(super) fn measured(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    text: &str,
    mut subject: Subject,
    runs: &[Run],
) -> Option<(String, Subject)> {
    let (word, at) = match text.split_once('@') {
        Some((word, name)) => (word.trim_end(), Some(name.trim_start())),
        None => (text, None),
    };
    let Some((path, mut ons, parts)) = offered(word, runs) else {
        let results: BTreeSet<String> = runs.iter().flat_map(results).collect();
        let results = results.iter().map(String::as_str);
        let names = metrics()
            .iter()
            .flat_map(|m| [m.path.as_str(), m.name.as_str()]);
        let problem = Problem::new(
            fields.span_of("metric"),
            format!("unknown metric \"{}\"", shorten(word)),
        );
        let expected = "a name that `tailback list metrics` prints";
        reader.problem(
            problem
                .expected(expected)
                .nearest(word, names.chain(results)),
        );
        return None;
    };
    if let Some(name) = at {
        name_subject(reader, fields, (word, name), &ons, &mut subject, runs)?;
    }
    let named: Vec<On> = subject.named().collect();
    let known: Vec<On> = named
        .iter()
        .copied()
        .filter(|on| ons.contains(on))
        .collect();
    if known.len() > 1 && known == named {
        let [first, .., last] = &known[..] else {
            return None;
        };
        let problem = Problem::new(
            fields.span_of(last.name()),
            format!(
                "\"{word}\" is measured either on a {} or on a {}, not on both",
                first.name(),
                last.name()
            ),
        );
        let expected = format!("\"{}\" or \"{}\"", first.name(), last.name());
        reader.problem(problem.expected(expected));
        return None;
    }
    for on in named.iter().filter(|on| !ons.contains(on)) {
        reader.problem(not_measured(fields, word, on.name(), *on));
    }
    if named.iter().any(|on| !ons.contains(on)) {
        return None;
    }
    ons.retain(|on| known.is_empty() || known.contains(on));
    let several = runs.iter().find(|run| run.plan.links.len() > 1);
    if let Some(run) = several.filter(|_| known.is_empty() && ons.contains(&On::Link)) {
        let names = run.plan.links.iter().map(|link| link.name.as_str());
        let or_flow = match ons.contains(&On::Flow) && parts.contains(&"flow") {
            true => ", or \"flow\"",
            false => "",
        };
        reader.problem(
            Problem::new(
                fields.span_of("metric"),
                format!("\"{word}\" is measured on a link, and there are several"),
            )
            .expected(format!("\"link\", one of {}{or_flow}", listed(names)))
            .global(),
        );
    }
    if let Some(name) = &subject.flow
        && let Some(kind) = kind_of(name, runs)
        && !parts.contains(&kind)
    {
        let what = if kind == SOURCE {
            "source of traffic"
        } else {
            kind
        };
        reader.problem(not_measured(fields, word, what, On::Flow));
        return None;
    }
    // If links also have this metric, add the scope to the path. A path without a scope means the
    // metric of a link.
    let shared = || metrics().iter().filter(|m| m.path == path).count() > ons.len();
    let path = match &ons[..] {
        [on] if known.is_empty() && shared() => format!("{}.{path}", on.name()),
        _ => path,
    };
    Some((path, subject))
}

/// Checks that a competitor exists at every sweep point. A competitor is a flow or traffic source,
/// with all its copies. Rejects programs, because tailback cannot repeat a run without one of its
/// programs.
pub(super) fn competitor(reader: &mut Reader<'_>, fields: &Fields<'_>, name: &str, runs: &[Run]) {
    for run in runs {
        let plan = &run.plan;
        let flows = plan.flows.iter().map(|flow| flow.name.as_str());
        let valid: Vec<&str> = flows
            .chain(plan.traffic.iter().map(|source| source.name.as_str()))
            .collect();
        if valid.contains(&name) {
            continue;
        }
        let text = format!("there is no flow or source named \"{}\"", shorten(name));
        let problem = Problem::new(fields.span_of("without"), text).nearest(name, valid.clone());
        let problem = match run.swept.is_empty() {
            true => problem.expected(format!("one of {}", listed(valid.into_iter()))),
            false => problem.expected("the name of a flow or source of every point"),
        };
        reader.problem(problem.global());
        return;
    }
}

fn not_measured(fields: &Fields<'_>, word: &str, what: &str, on: On) -> Problem {
    let key = if fields.item(on.name()).is_some() {
        on.name()
    } else {
        "metric"
    };
    Problem::new(
        fields.span_of(key),
        format!("\"{word}\" is not measured on a {what}"),
    )
    .help("name another metric, or what this one is measured on")
}

/// Finds a metric by its path or name, with or without a scope (`flow.`, `link.`, `class.` or
/// `run.`). Returns the metric's path, the metric's possible scopes, and the parts of a summary
/// that contain the metric.
fn offered(word: &str, runs: &[Run]) -> Option<(String, Vec<On>, Vec<&'static str>)> {
    let (scope, rest) = match word.split_once('.') {
        Some((scope, rest)) => (On::ALL.into_iter().find(|on| on.name() == scope), rest),
        None => (None, word),
    };
    let matching: Vec<_> = metrics()
        .iter()
        .filter(|m| {
            let is = |word: &str| m.path == word || m.name == word;
            is(word) || (Some(m.on) == scope && is(rest))
        })
        .collect();
    if let Some(first) = matching.first() {
        let ons = matching.iter().map(|m| m.on).collect();
        let parts = matching.iter().filter(|m| m.on == On::Flow);
        let parts = parts.flat_map(|m| m.parts.iter().copied()).collect();
        return Some((first.path.clone(), ons, parts));
    }
    let rest = if scope == Some(On::Flow) { rest } else { word };
    let own = runs
        .iter()
        .flat_map(results)
        .find(|path| path == rest || path.replacen('.', "_", 1) == rest)?;
    Some((own, vec![On::Flow], vec!["program"]))
}

/// Resolves the name after a metric's `@` to a link, flow or class.
fn name_subject(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    (word, name): (&str, &str),
    ons: &[On],
    subject: &mut Subject,
    runs: &[Run],
) -> Option<()> {
    let on_metric = |text: String| Problem::new(fields.span_of("metric"), text);
    if let Some(on) = subject.named().next() {
        let text = format!(
            "\"{}@\" and \"{}\" both say what is measured",
            shorten(word),
            on.name()
        );
        let span = fields.span_of(on.name());
        reader.problem(Problem::new(span, text).expected("one of them"));
        return None;
    }
    let order = [On::Link, On::Flow, On::Class];
    let mut candidates = order.into_iter().filter(|on| ons.contains(on));
    let everywhere = |on: &On| runs.iter().all(|run| has(&run.plan, *on, name));
    if let Some(on) = candidates.clone().find(everywhere) {
        subject.name(on, name);
        return Some(());
    }
    let Some(first) = candidates.next() else {
        let text = format!(
            "\"{}\" is measured on the run, which has no name",
            shorten(word)
        );
        reader.problem(on_metric(text).expected("the metric without @"));
        return None;
    };
    let kinds: Vec<&str> = [first]
        .into_iter()
        .chain(candidates.clone())
        .map(On::name)
        .collect();
    let valid: Vec<String> = [first]
        .into_iter()
        .chain(candidates)
        .flat_map(|on| runs.first().map_or(Vec::new(), |run| names(&run.plan, on)))
        .collect();
    let text = format!(
        "there is no {} named \"{}\"",
        kinds.join(" or "),
        shorten(name)
    );
    let expected = format!("one of {}", listed(valid.iter().map(String::as_str)));
    let problem = on_metric(text).expected(expected);
    reader.problem(
        problem
            .nearest(name, valid.iter().map(String::as_str))
            .global(),
    );
    None
}

/// Returns the names of numbers that programs of a sweep point report in their files.
fn results(run: &Run) -> impl Iterator<Item = String> {
    let programs = run.plan.programs.iter();
    let results = programs.flat_map(|program| &program.results);
    results.map(|result| format!("results.{}", result.name))
}

/// Returns whether a sweep point has a flow, link or class with the given name.
fn has(plan: &Plan, on: On, name: &str) -> bool {
    match on {
        On::Flow => senders(plan).any(|(_, of)| includes(of, name)),
        On::Link => plan.links.iter().any(|link| link.name == name),
        On::Class => classes(plan).any(|class| class == name),
        On::Run => false,
    }
}

/// Returns the names of the flows, links or classes. If there are many flows, returns only the
/// first names.
fn names(plan: &Plan, on: On) -> Vec<String> {
    match on {
        On::Flow => {
            let flows = plan.each_flow().map(|flow| flow.name());
            let programs = plan.each_program().map(|program| program.name());
            let sources = plan.each_source().map(|source| source.name());
            flows.chain(programs).chain(sources).take(1000).collect()
        }
        On::Link => plan.links.iter().map(|link| link.name.clone()).collect(),
        On::Class => {
            let names: BTreeSet<&str> = classes(plan).collect();
            names.into_iter().map(str::to_owned).collect()
        }
        On::Run => Vec::new(),
    }
}

fn classes(plan: &Plan) -> impl Iterator<Item = &str> {
    let flows = plan.flows.iter().map(|flow| &flow.class);
    let sources = plan.traffic.iter().map(|source| &source.class);
    let programs = plan.programs.iter().map(|program| &program.class);
    let all = flows.chain(sources).chain(programs);
    all.filter_map(|class| class.as_deref())
}

/// Returns whether the sender with the given name is a flow, a program or a source. Uses the first
/// sweep point that contains a sender with this name.
fn kind_of(name: &str, runs: &[Run]) -> Option<&'static str> {
    let mut senders = runs.iter().flat_map(|run| senders(&run.plan));
    senders
        .find(|(_, of)| includes(*of, name))
        .map(|(kind, _)| kind)
}

/// Returns the kind, name and number of copies of all flows, programs and traffic sources.
fn senders(plan: &Plan) -> impl Iterator<Item = (&'static str, (&str, u64))> {
    let flows = plan
        .flows
        .iter()
        .map(|flow| ("flow", (flow.name.as_str(), flow.count)));
    let programs = plan.programs.iter();
    let programs = programs.map(|program| ("program", (program.name.as_str(), program.count)));
    let sources = plan.traffic.iter();
    let sources = sources.map(|source| (SOURCE, (source.name.as_str(), source.count)));
    flows.chain(programs).chain(sources)
}

/// Returns whether `name` is the name of a sender or of one of the sender's copies.
fn includes((own, count): (&str, u64), name: &str) -> bool {
    let Some((all, one)) = name.split_once('/') else {
        return own == name;
    };
    let number = one.parse().ok().filter(|n: &u64| n.to_string() == one);
    let known = number.is_some_and(|n| (1..=count).contains(&n));
    own == all && count > 1 && known
}
