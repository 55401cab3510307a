//! `[[assert]]`: the metrics exist, and what they are measured on does at every
//! point. Whether an assertion holds is seen after the run (`tailback.metrics.assertions`).

use std::collections::BTreeSet;

use tailback_engine::keys::KeyKind;
use tailback_engine::plan::Plan;

use super::baselines;
use super::grid::Run;
use crate::declare::{Assert, Bdp, Fields, GAIN, METRICS, Reader, Scope, expectation};
use crate::read::{Node, Problem, listed, shorten};

/// The most assertions.
const MAX_ASSERTS: usize = 1000;

/// Reads `[[assert]]` and checks it against every point.
pub(crate) fn read(
    root: &Node,
    runs: &[Run],
    baselines: &[Option<usize>],
    reader: &mut Reader<'_>,
) -> Vec<Assert> {
    let list = root.table().and_then(|table| table.item("assert"));
    let Some(item) = list else { return Vec::new() };
    let Some(nodes) = item.node.array() else {
        reader.wrong("assert", &item.node, "tables, each under [[assert]]");
        return Vec::new();
    };
    if nodes.len() > MAX_ASSERTS {
        reader.problem(
            Problem::new(item.key_span, format!("{} assertions", nodes.len()))
                .expected(format!("at most {MAX_ASSERTS}")),
        );
        return Vec::new();
    }
    let mut asserts = Vec::new();
    for node in nodes {
        // An empty table asserts nothing.
        if node.table().is_some_and(|table| table.0.is_empty()) {
            continue;
        }
        let fields = reader.fields(node, &Assert::TABLE, Assert::TABLE.label, Bdp::Nowhere);
        let text = |reader: &mut Reader<'_>, name: &str| {
            let item = fields.item(name)?;
            reader
                .string(item, expectation(KeyKind::Text))
                .map(str::to_owned)
        };
        let metric = text(reader, "metric");
        let flow = text(reader, "flow");
        let link = text(reader, "link");
        let mut assert = Assert::default();
        assert.set(|key| fields.value(key));
        if fields.item("min").is_none() && fields.item("max").is_none() && node.table().is_some() {
            let problem = Problem::new(node.span, "an assertion without a bound");
            reader.problem(problem.expected("\"min\", \"max\" or both").global());
        }
        if let (Some(min), Some(max)) = (assert.min, assert.max)
            && min > max
            && let Some(item) = fields.item("max")
        {
            reader.wrong(
                "max",
                &item.node,
                format!("a number of at least min, {min}"),
            );
        }
        check_subject(reader, &fields, flow.as_deref(), link.as_deref(), runs);
        let Some(metric) = metric else { continue };
        check_scope(
            reader,
            &fields,
            &metric,
            (flow.as_deref(), link.as_deref()),
            runs,
        );
        if metric == GAIN && baselines.iter().any(Option::is_none) {
            let problem = Problem::new(
                fields.span_of("metric"),
                format!("there is no baseline for \"{GAIN}\""),
            );
            reader.problem(problem.expected(baselines::BASELINE).global());
        }
        asserts.push(Assert {
            metric,
            flow,
            link,
            ..assert
        });
    }
    asserts
}

/// A metric exists, and is measured on what the assertion names.
fn check_scope(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    metric: &str,
    (flow, link): (Option<&str>, Option<&str>),
    runs: &[Run],
) {
    let results: BTreeSet<String> = runs.iter().flat_map(results).collect();
    let own = results.iter().map(|name| (name.as_str(), Scope::Flow));
    let known: Vec<(&str, Scope)> = METRICS.iter().copied().chain(own).collect();
    let names = || known.iter().map(|(name, _)| *name);
    let Some((_, scope)) = known.iter().find(|(name, _)| *name == metric) else {
        let problem = Problem::new(
            fields.span_of("metric"),
            format!("unknown metric \"{}\"", shorten(metric)),
        );
        let expected: Vec<&str> = names().collect();
        reader.problem(
            problem
                .expected(format!("one of {}", expected.join(", ")))
                .nearest(metric, names()),
        );
        return;
    };
    let (not_flow, not_link) = match scope {
        Scope::Flow => (false, link.is_some()),
        Scope::Link => (flow.is_some(), false),
        Scope::Run => (flow.is_some(), link.is_some()),
        Scope::FlowOrLink => {
            if flow.is_some() && link.is_some() {
                let problem = Problem::new(
                    fields.span_of("link"),
                    format!("\"{metric}\" of both a flow and a link"),
                );
                reader.problem(problem.expected("\"flow\" or \"link\""));
            }
            (false, false)
        }
    };
    let of_link = match scope {
        Scope::Link => true,
        Scope::FlowOrLink => flow.is_none(),
        Scope::Flow | Scope::Run => false,
    };
    let several = runs.iter().find(|run| run.plan.links.len() > 1);
    if let Some(run) = several.filter(|_| of_link && fields.item("link").is_none()) {
        let names = run.plan.links.iter().map(|link| link.name.as_str());
        let flow = match scope {
            Scope::FlowOrLink => ", or \"flow\"",
            _ => "",
        };
        reader.problem(
            Problem::new(
                fields.span_of("metric"),
                format!("\"{metric}\" is measured on a link, and there are several"),
            )
            .expected(format!("\"link\", one of {}{flow}", listed(names)))
            .global(),
        );
    }
    for (name, wrong) in [("flow", not_flow), ("link", not_link)] {
        if wrong {
            reader.problem(Problem::new(
                fields.span_of(name),
                format!("\"{metric}\" is not measured on a {name}"),
            ));
        }
    }
}

/// The metrics that programs of a point bring along: numbers out of their files.
fn results(run: &Run) -> impl Iterator<Item = String> {
    let programs = run.plan.programs.iter();
    let results = programs.flat_map(|program| &program.results);
    results.map(|result| format!("results.{}", result.name))
}

/// The flow or link exists at every point; a program stands for a flow.
fn check_subject(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    flow: Option<&str>,
    link: Option<&str>,
    runs: &[Run],
) {
    for run in runs {
        if let Some(name) = flow
            && !senders(&run.plan).any(|of| includes(of, name))
        {
            let mut problem = Problem::new(
                fields.span_of("flow"),
                format!("there is no flow named \"{}\"", shorten(name)),
            );
            let flows = run.plan.each_flow().map(|flow| flow.name());
            let programs = run.plan.each_program().map(|program| program.name());
            let names: Vec<String> = flows.chain(programs).take(1000).collect();
            let names = names.iter().map(String::as_str);
            problem = problem.nearest(name, names).global();
            if !run.swept.is_empty() {
                problem = problem.expected("the name of a flow of every point");
            }
            reader.problem(problem);
            break;
        }
        if let Some(name) = link {
            let names = || run.plan.links.iter().map(|link| link.name.as_str());
            if !names().any(|other| other == name) {
                let problem = Problem::new(
                    fields.span_of("link"),
                    format!("there is no link named \"{}\"", shorten(name)),
                )
                .expected(format!("one of {}", listed(names())));
                reader.problem(problem.nearest(name, names()).global());
                break;
            }
        }
    }
}

/// Names of flows and programs, and how many have each.
fn senders(plan: &Plan) -> impl Iterator<Item = (&str, u64)> {
    let flows = plan
        .flows
        .iter()
        .map(|flow| (flow.name.as_str(), flow.count));
    let programs = plan.programs.iter();
    flows.chain(programs.map(|program| (program.name.as_str(), program.count)))
}

/// Whether flows or programs have this name, all of them or one.
fn includes((own, count): (&str, u64), name: &str) -> bool {
    let Some((all, one)) = name.split_once('/') else {
        return own == name;
    };
    let number = one.parse().ok().filter(|n: &u64| n.to_string() == one);
    let known = number.is_some_and(|n| (1..=count).contains(&n));
    own == all && count > 1 && known
}
