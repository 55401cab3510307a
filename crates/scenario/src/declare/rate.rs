//! Reads the rate of a link: a constant, steps or a trace.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tailback_engine::plan::RatePlan;
use tailback_engine::registry::{Kind, Value};
use tailback_engine::units::{Rate, Time, parse_rate};

use super::reader::{Bdp, Reader};
use super::trace::{Conditions, Traced};
use super::value;
use crate::read::{Item, Problem, shorten};

/// Describes a rate, for error messages.
pub(super) const EXPECTED: &str =
    "a rate such as \"100Mbit\", { steps = [[\"0s\", \"50Mbit\"], ...] } or { trace = \"file\" }";

impl Reader<'_> {
    pub fn rate(&mut self, item: &Item) -> Option<RatePlan> {
        let node = &item.node;
        let Some(table) = node.table() else {
            if node.string().is_none() {
                self.wrong(&item.key, node, EXPECTED);
                return None;
            }
            return match self.plain(&item.key, Kind::Rate, node, Bdp::Nowhere)? {
                Value::Rate(rate) => Some(RatePlan::Constant(rate)),
                _ => None,
            };
        };
        let known = ["steps", "trace"];
        for item in &table.0 {
            if !known.contains(&item.key.as_str()) {
                self.unknown(item, "a rate", known.iter().copied());
            }
        }
        match (table.item("steps"), table.item("trace")) {
            (Some(steps), None) => self.steps(steps),
            (None, Some(trace)) => self.trace(trace),
            _ => {
                self.wrong(&item.key, node, EXPECTED);
                None
            }
        }
    }

    /// Returns the path conditions over time, if the key `rate` of a link names a trace of
    /// conditions.
    pub fn conditions(&mut self, rate: &Item) -> Option<Arc<Conditions>> {
        let file = rate.node.table()?.item("trace")?.node.string()?;
        match self.traces.get(file, self.load) {
            Ok(Traced::Conditions(conditions)) => Some(conditions),
            _ => None,
        }
    }

    fn steps(&mut self, item: &Item) -> Option<RatePlan> {
        const PAIRS: &str =
            "pairs of time and rate such as [[\"0s\", \"50Mbit\"], [\"30s\", \"5Mbit\"]]";
        let Some(list) = item.node.array().filter(|list| !list.is_empty()) else {
            self.wrong(&item.key, &item.node, PAIRS);
            return None;
        };
        let before = self.problems.len();
        let mut steps: Vec<(Time, Rate)> = Vec::with_capacity(list.len());
        for node in list {
            let Some([at, rate]) = node.array() else {
                self.wrong(&item.key, node, PAIRS);
                continue;
            };
            let time = self.plain("steps", Kind::Time { min: Time::ZERO }, at, Bdp::Nowhere);
            let value = match rate.string().map(parse_rate) {
                // Later steps may have a rate of 0 (an outage), but the first step may not.
                Some(Ok(Rate(0))) if !steps.is_empty() => Some(Value::Rate(Rate(0))),
                _ => self.plain("steps", Kind::Rate, rate, Bdp::Nowhere),
            };
            let (Some(Value::Time(time)), Some(Value::Rate(rate))) = (time, value) else {
                continue;
            };
            match steps.last() {
                None if time > Time::ZERO => {
                    self.wrong("steps", at, "the first step at \"0s\"");
                }
                Some((last, _)) if time <= *last => {
                    self.wrong("steps", at, format!("a time after {last}"));
                }
                _ => {}
            }
            steps.push((time, rate));
        }
        (self.problems.len() == before).then_some(RatePlan::Steps(steps))
    }

    fn trace(&mut self, item: &Item) -> Option<RatePlan> {
        let Some(file) = item.node.string() else {
            self.wrong(&item.key, &item.node, "the name of a file in quotes");
            return None;
        };
        match self.traces.get(file, self.load) {
            Ok(Traced::Opportunities(times)) => Some(RatePlan::Trace(times)),
            Ok(Traced::Conditions(conditions)) => Some(RatePlan::Steps(conditions.rates.clone())),
            Err(error) => {
                let message = format!("trace \"{}\": {error}", shorten(file));
                let problem = Problem::new(item.node.span, message);
                self.problem(problem.help("correct the trace, or name another file"));
                None
            }
        }
    }
}

pub(super) fn schema() -> Json {
    let step = json!({
        "type": "array",
        "prefixItems": [value::schema(Kind::Time { min: Time::ZERO }), value::schema(Kind::Rate)],
        "minItems": 2,
        "maxItems": 2,
    });
    let shape = |name: &str, schema: Json| {
        json!({
            "type": "object",
            "properties": { name: schema },
            "required": [name],
            "additionalProperties": false,
        })
    };
    json!({ "anyOf": [
        value::schema(Kind::Rate),
        shape("steps", json!({ "type": "array", "items": step, "minItems": 1 })),
        shape("trace", json!({ "type": "string" })),
    ]})
}
