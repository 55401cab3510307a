//! Reads schedules, which list the numbers of packets to mark or to drop.

use std::collections::HashSet;

use serde_json::{Value as Json, json};
use tailback_engine::plan::Schedule;

use super::reader::Reader;
use crate::read::{Item, Problem, Span, Toml};

/// The largest number of marks in a schedule, and also the largest number of drops.
const MAX_SCHEDULE: usize = 100_000;

/// Describes a schedule, for error messages.
pub(super) const EXPECTED: &str = "packet numbers such as { marks = [100, 200], drops = [300] }";

impl Reader<'_> {
    /// Reads `{ marks = [100, 200], drops = [300] }`. Returns `None` if both lists are empty.
    pub fn schedule(&mut self, item: &Item) -> Option<Schedule> {
        let Some(table) = item.node.table() else {
            self.wrong(&item.key, &item.node, EXPECTED);
            return None;
        };
        let known = ["marks", "drops"];
        for item in &table.0 {
            if !known.contains(&item.key.as_str()) {
                self.unknown(item, "a schedule", known.iter().copied());
            }
        }
        let [marks, drops] = known.map(|key| match table.item(key) {
            Some(item) => self.packet_numbers(item),
            None => Vec::new(),
        });
        let both: HashSet<u64> = marks.iter().map(|(number, _)| *number).collect();
        for (number, span) in &drops {
            if both.contains(number) {
                let message = format!("packet {number} is to be both marked and dropped");
                let problem = Problem::new(*span, message).expected("each number in one list");
                self.problem(problem.help("remove it from one of the lists"));
            }
        }
        let numbers = |list: Vec<(u64, Span)>| list.into_iter().map(|(number, _)| number).collect();
        let schedule = Schedule {
            marks: numbers(marks),
            drops: numbers(drops),
        };
        (schedule != Schedule::default()).then_some(schedule)
    }

    /// Reads packet numbers, and returns them with their positions. The numbers must ascend.
    fn packet_numbers(&mut self, item: &Item) -> Vec<(u64, Span)> {
        let key = item.key.as_str();
        let Some(list) = item.node.array() else {
            self.wrong(key, &item.node, "packet numbers such as [100, 200]");
            return Vec::new();
        };
        if list.len() > MAX_SCHEDULE {
            let message = format!("{} packet numbers in \"{key}\"", list.len());
            self.problem(
                Problem::new(item.node.span, message).expected(format!("at most {MAX_SCHEDULE}")),
            );
            return Vec::new();
        }
        let mut numbers: Vec<(u64, Span)> = Vec::with_capacity(list.len());
        for node in list {
            let last = numbers.last().map_or(0, |(number, _)| *number);
            match node.value {
                Toml::Integer(n) if n >= 1 && n.unsigned_abs() > last => {
                    numbers.push((n.unsigned_abs(), node.span));
                }
                Toml::Integer(n) if n >= 1 => {
                    self.wrong(
                        key,
                        node,
                        format!("a number above {last}, because the list must ascend"),
                    );
                }
                _ => self.wrong(key, node, "a whole number of at least 1"),
            }
        }
        numbers
    }
}

/// Returns the JSON Schema of packet numbers. The schema cannot express that the numbers ascend.
pub(super) fn schema() -> Json {
    let numbers = json!({
        "type": "array",
        "items": { "type": "integer", "minimum": 1 },
        "uniqueItems": true,
        "maxItems": MAX_SCHEDULE,
    });
    json!({
        "type": "object",
        "properties": { "marks": numbers.clone(), "drops": numbers },
        "additionalProperties": false,
    })
}
