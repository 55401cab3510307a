//! Reads `[[assert]]`. Checks that the metrics exist, and that every sweep point has the flows,
//! links and classes that the assertions name. After the run, `tailback.metrics.assertions`
//! evaluates the assertions.

use tailback_engine::keys::KeyKind;

use super::baselines;
use super::grid::Run;
use super::subject::{Subject, competitor, measured};
use crate::declare::{Assert, Bdp, GAIN, HARM, Reader, expectation};
use crate::read::{Node, Problem};

const MAX_ASSERTS: usize = 1000;

/// Reads `[[assert]]` and checks the assertions against every sweep point.
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
        // Skip an empty table, because it asserts nothing. The example in the definition of
        // scenario files contains an empty table.
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
        let class = text(reader, "class");
        let without = text(reader, "without");
        let mut assert = Assert::default();
        assert.set(|key| fields.value(key));
        if fields.item("min").is_none() && fields.item("max").is_none() && node.table().is_some() {
            let problem = Problem::new(node.span, "an assertion without a bound");
            let problem = problem.expected("\"min\", \"max\" or both");
            reader.problem(problem.help("add \"min\", \"max\" or both").global());
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
        let subject = Subject { flow, link, class };
        subject.check(reader, &fields, runs);
        if let Some(name) = &without {
            competitor(reader, &fields, name, runs);
        }
        let Some(metric) = metric else { continue };
        let Some((metric, subject)) = measured(reader, &fields, &metric, subject, runs) else {
            continue;
        };
        if metric == GAIN && baselines.iter().any(Option::is_none) {
            let problem = Problem::new(
                fields.span_of("metric"),
                format!("there is no baseline for \"{GAIN}\""),
            );
            reader.problem(problem.expected(baselines::BASELINE).global());
        }
        match (&without, metric.starts_with(HARM)) {
            (None, true) => {
                let problem = Problem::new(
                    fields.span_of("metric"),
                    format!("\"{metric}\" compares with a run without a competitor"),
                );
                let problem = problem.expected("\"without\", the name of the competitor");
                reader.problem(problem.global());
            }
            (Some(_), false) => {
                let problem = Problem::new(
                    fields.span_of("without"),
                    format!("\"{metric}\" is a value of one run"),
                );
                let help =
                    "name a metric of harm such as \"harm_throughput\", or remove \"without\"";
                reader.problem(problem.help(help).global());
            }
            (Some(name), true) if subject.flow.as_ref() == Some(name) => {
                let problem = Problem::new(
                    fields.span_of("without"),
                    format!("\"{name}\" cannot harm itself"),
                );
                let help = "name another flow in \"flow\" or in \"without\"";
                reader.problem(problem.help(help));
            }
            _ => {}
        }
        let Subject { flow, link, class } = subject;
        asserts.push(Assert {
            metric,
            flow,
            link,
            class,
            without,
            ..assert
        });
    }
    asserts
}
