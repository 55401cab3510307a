//! Draws links. If there are several links, also draws routes over these links.

use tailback_engine::plan::Concerns;
use tailback_engine::{aqm, impairments};

use super::*;
use crate::traces;

impl Maker {
    pub(super) fn links(&mut self, root: &mut Table) {
        let several = self.draw.chance(0.3);
        let number = if several { 2 + self.draw.below(3) } else { 1 };
        let mut named = Table::new();
        for i in 0..number {
            let factor = if i == 0 { 1.0 } else { self.draw.log(0.3, 5.0) };
            let link = self.link(self.rate * factor);
            let both = link.get("both_directions") == Some(&Value::Boolean(true));
            if several {
                let name = format!("l{i}");
                named.insert(name.clone(), Value::Table(link));
                self.links.push((name, both));
            } else {
                root.insert("bottleneck".to_owned(), Value::Table(link));
                self.links.push(("bottleneck".to_owned(), both));
            }
        }
        if several {
            root.insert("links".to_owned(), Value::Table(named));
        }
    }

    fn link(&mut self, rate: f64) -> Table {
        let mut link = Table::new();
        self.slowest = self.slowest.min(rate);
        let rates = self.rates(rate);
        link.insert("rate".to_owned(), rates);
        let (queue, _) = entry(&mut self.draw, "aqm", aqm::ENTRIES, self.taste);
        let queue = self.fitting(queue);
        let queue = if self.draw.chance(0.005) {
            only_linux("aqm", "sfq")
        } else {
            queue
        };
        link.insert("queue".to_owned(), queue);
        self.maybe(&mut link, 0.5, "both_directions", |_| Value::Boolean(true));
        let near = |m: &mut Maker| ns(m.draw.log(1.0, m.rtt.max(10.0)));
        self.maybe(&mut link, 0.3, "delay", near);
        self.maybe(&mut link, 0.2, "jitter", near);
        self.maybe(&mut link, 0.25, "loss", |m| {
            let all = m.draw.chance(0.1);
            Value::Float(if all { 1.0 } else { m.draw.log(1e-5, 0.9) })
        });
        self.maybe(&mut link, 0.15, "schedule", Maker::schedule);
        self.maybe(&mut link, 0.1, "burst", |m| {
            let bytes = m.draw.log(1.0, 1e5) as u64;
            Value::String(m.draw.pick(&["tc".to_owned(), format!("{bytes}b")]).clone())
        });
        self.maybe(&mut link, 0.1, "slots", Maker::slots);
        self.maybe(&mut link, 0.3, "impairments", Maker::impairments);
        let schema = &SCHEMA["properties"]["bottleneck"];
        let decided = [
            "both_directions",
            "delay",
            "jitter",
            "loss",
            "schedule",
            "burst",
            "slots",
            "impairments",
        ];
        self.rest(&mut link, schema, &decided, 0.2);
        link
    }

    fn rates(&mut self, rate: f64) -> Value {
        match self.draw.below(10) {
            0 => {
                let name = Value::String((*self.draw.pick(traces::NAMES)).to_owned());
                Value::Table(Table::from_iter([("trace".to_owned(), name)]))
            }
            1 | 2 => {
                let mut at = 0.0;
                let mut steps = vec![Value::Array(vec![ns(0.0), bit(rate)])];
                for _ in 0..=self.draw.below(5) {
                    at += 1.0 + (self.duration * self.draw.share() * 0.5).floor();
                    let rate = if self.draw.chance(0.25) {
                        Value::String("0bit".to_owned())
                    } else {
                        let rate = rate * self.draw.log(0.01, 20.0);
                        self.slowest = self.slowest.min(rate);
                        bit(rate)
                    };
                    steps.push(Value::Array(vec![ns(at), rate]));
                }
                Value::Table(Table::from_iter([(
                    "steps".to_owned(),
                    Value::Array(steps),
                )]))
            }
            _ => bit(rate),
        }
    }

    /// Draws the numbers of packets to mark and to drop.
    fn schedule(&mut self) -> Value {
        let mut lists = [Vec::new(), Vec::new()];
        let mut number = 0;
        for _ in 0..self.draw.below(40) {
            number += 1 + self.draw.below(100) as i64;
            let list = self.draw.below(2) as usize;
            lists[list].push(Value::Integer(number));
        }
        let [marks, drops] = lists.map(Value::Array);
        Value::Table(Table::from_iter([
            ("marks".to_owned(), marks),
            ("drops".to_owned(), drops),
        ]))
    }

    /// Draws slots. The gaps between slots are mostly shorter than the round-trip time. In some
    /// cases, slots have no delay.
    fn slots(&mut self) -> Value {
        let delay = self.draw.log(1.0, self.rtt.max(10.0));
        let min = delay + self.draw.log(1.0, self.rtt.max(10.0));
        let max = min + self.draw.log(1.0, self.rtt.max(10.0));
        let mut slots = Table::from_iter([("min".to_owned(), ns(min))]);
        for (key, value) in [("max", max), ("delay", delay)] {
            if self.draw.chance(0.5) {
                slots.insert(key.to_owned(), ns(value));
            }
        }
        self.maybe(&mut slots, 0.5, "packets", |m| {
            Value::Integer(m.draw.below(50) as i64)
        });
        self.maybe(&mut slots, 0.3, "bytes", |m| {
            Value::String(format!("{}b", m.draw.log(1.0, 1e6) as u64))
        });
        Value::Table(slots)
    }

    /// Removes options of a queue at random until the remaining options are valid together, because
    /// some options exclude each other. With a small probability, stops while the combination is
    /// still invalid.
    fn fitting(&mut self, queue: Value) -> Value {
        let Value::Table(mut queue) = queue else {
            return queue;
        };
        while !is_valid("queue", Value::Table(queue.clone())) && !self.draw.chance(0.01) {
            let options: Vec<String> = queue.keys().filter(|key| *key != "aqm").cloned().collect();
            if options.is_empty() {
                break;
            }
            queue.remove(self.draw.pick(&options));
        }
        Value::Table(queue)
    }

    fn impairments(&mut self) -> Value {
        let number = self.draw.log(1.0, 6.0) as usize;
        let impairments = (0..number).map(|_| {
            let entry = *self.draw.pick(impairments::ENTRIES);
            let kind = Value::String(entry.name.to_owned());
            let mut impairment = Table::from_iter([("kind".to_owned(), kind)]);
            // Some options exclude each other, so repeat the draw until all drawn options are valid
            // together. Twenty attempts are nearly always enough.
            for _ in 0..20 {
                let mut drawn = options(&mut self.draw, entry.options, self.taste);
                drawn.extend(impairment.clone());
                let alone = Value::Array(vec![Value::Table(drawn.clone())]);
                if is_valid("impairments", alone) || self.draw.chance(0.01) {
                    impairment = drawn;
                    break;
                }
            }
            self.maybe(&mut impairment, 0.3, "only", |m| {
                let word = *m.draw.pick(Concerns::WORDS);
                Value::String(word.to_owned())
            });
            self.maybe(&mut impairment, 0.3, "during", Maker::windows);
            Value::Table(impairment)
        });
        Value::Array(impairments.collect())
    }

    /// Draws time windows within the run.
    fn windows(&mut self) -> Value {
        let mut at = 0.0;
        let number = 1 + self.draw.below(4);
        let windows = (0..number).map(|_| {
            let from = at + (self.duration * self.draw.share() * 0.3).floor();
            let to = from + 1.0 + (self.duration * self.draw.share() * 0.3).floor();
            at = to + 1.0;
            Value::Array(vec![ns(from), ns(to)])
        });
        Value::Array(windows.collect())
    }

    /// Draws a route of links, or returns `None` if the links have no names. If `backwards` is
    /// true, also draws from the links of the return direction.
    pub(super) fn route(&mut self, backwards: bool) -> Option<Value> {
        let mut names: Vec<String> = self.links.iter().map(|(name, _)| name.clone()).collect();
        if backwards {
            let both = self.links.iter().filter(|(_, both)| *both);
            names.extend(both.map(|(name, _)| format!("{name}.back")));
        }
        if names.len() == 1 {
            return None;
        }
        self.draw.shuffle(&mut names);
        names.truncate(1 + self.draw.below(names.len() as u64) as usize);
        Some(Value::Array(names.into_iter().map(Value::String).collect()))
    }
}

fn is_valid(key: &str, value: Value) -> bool {
    let mut scenario: Table = BARE.parse().expect("TOML");
    if let Some(Value::Table(link)) = scenario.get_mut("bottleneck") {
        link.insert(key.to_owned(), value);
    }
    load(&scenario.to_string(), EngineKind::Sim).is_ok()
}

/// The smallest valid scenario.
const BARE: &str =
    "duration = \"1s\"\nbottleneck = { rate = \"1Mbit\" }\nflows = [{ cc = \"reno\" }]";

/// Returns the value for a queue or congestion control that exists only in Linux.
pub(super) fn only_linux(key: &str, name: &str) -> Value {
    Value::Table(Table::from_iter([
        (key.to_owned(), Value::String(name.to_owned())),
        ("kernel".to_owned(), Value::Boolean(true)),
    ]))
}
