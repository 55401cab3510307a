//! Reads pauses of an application.

use serde_json::{Value as Json, json};
use tailback_engine::registry::{Kind, Value};
use tailback_engine::units::Time;

use super::reader::{Bdp, Reader};
use super::value;
use crate::read::Item;

/// Describes pauses, for error messages.
pub(super) const EXPECTED: &str = "pairs of times such as [[\"10s\", \"12s\"]]";

const MOST: usize = 10_000;

const TIME: Kind = Kind::Time { min: Time::ZERO };

impl Reader<'_> {
    /// Reads pauses, which must be in order and must not overlap.
    pub fn pauses(&mut self, item: &Item) -> Vec<[Time; 2]> {
        let Some(list) = item.node.array() else {
            self.wrong(&item.key, &item.node, EXPECTED);
            return Vec::new();
        };
        if list.len() > MOST {
            self.wrong(&item.key, &item.node, format!("at most {MOST} pauses"));
            return Vec::new();
        }
        let mut pauses: Vec<[Time; 2]> = Vec::with_capacity(list.len());
        for node in list {
            let Some([from, to]) = node.array() else {
                self.wrong(&item.key, node, EXPECTED);
                continue;
            };
            let ends = [from, to].map(|end| self.plain("pause", TIME, end, Bdp::Nowhere));
            let [Some(Value::Time(begin)), Some(Value::Time(end))] = ends else {
                continue;
            };
            let last = pauses.last().map(|[_, end]| *end);
            if let Some(last) = last.filter(|last| begin < *last) {
                self.wrong("pause", from, format!("a time at or after {last}"));
            } else if end <= begin {
                self.wrong("pause", to, format!("a time after {begin}"));
            } else {
                pauses.push([begin, end]);
            }
        }
        pauses
    }
}

pub(super) fn schema() -> Json {
    json!({
        "type": "array",
        "maxItems": MOST,
        "items": {
            "type": "array",
            "prefixItems": [value::schema(TIME), value::schema(TIME)],
            "minItems": 2,
            "maxItems": 2,
        },
    })
}
