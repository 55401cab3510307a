//! `[[assert]]`: checks that the metrics exist, and that the objects they are measured on exist at
//! every point. Whether an assertion holds is checked after the run
//! (`tailback.metrics.assertions`).

use tailback_engine::keys::KeyKind;

use super::baselines;
use super::grid::Run;
use super::subject::{Subject, measured};
use crate::declare::{Assert, Bdp, GAIN, Reader, expectation};
use crate::read::{Node, Problem};

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
        let class = text(reader, "class");
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
        let Subject { flow, link, class } = subject;
        asserts.push(Assert {
            metric,
            flow,
            link,
            class,
            ..assert
        });
    }
    asserts
}
