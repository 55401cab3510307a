//! Draws flows and other traffic.

use tailback_engine::{cc, traffic};

use super::*;
use crate::generate::links::only_linux;

impl Maker {
    pub(super) fn ends(&mut self, root: &mut Table) {
        let many = self.draw.chance(0.1);
        let total = if many {
            self.draw.log(10.0, 2000.0) as u64
        } else {
            1 + self.draw.below(8)
        };
        let groups = 1 + self.draw.below(4).min(total - 1);
        let no_flows = self.draw.chance(0.05);
        if !no_flows {
            let flows = (0..groups).map(|i| Value::Table(self.flow(i, total / groups)));
            root.insert("flows".to_owned(), Value::Array(flows.collect()));
        }
        let some = self.draw.chance(0.4);
        let sources = match (no_flows, some) {
            (true, _) => 1,
            (false, true) => 1 + self.draw.below(3),
            (false, false) => 0,
        };
        if sources > 0 {
            let sources = (0..sources).map(|i| Value::Table(self.source(i)));
            root.insert("traffic".to_owned(), Value::Array(sources.collect()));
        }
    }

    /// Draws the keys that both flows and sources may have.
    fn end(&mut self, table: &mut Table) {
        let mut start = 0.0;
        if self.draw.chance(0.3) {
            start = (self.duration * self.draw.share() * 0.7).floor();
            table.insert("start".to_owned(), ns(start));
        }
        if self.draw.chance(0.2) {
            let stop = start + 1.0 + self.duration * self.draw.share();
            table.insert("stop".to_owned(), ns(stop));
        }
        self.maybe(table, 0.3, "rtt", |m| {
            ns((m.rtt * m.draw.log(0.1, 5.0)).max(1000.0))
        });
        if let Some(route) = self.route(false) {
            table.insert("route".to_owned(), route);
        }
        let first = match table.get("route").and_then(|route| route.get(0)) {
            Some(Value::String(first)) => first.clone(),
            _ => self.links[0].0.clone(),
        };
        let both = self.links.iter().any(|(_, both)| *both);
        let reverse = both && self.draw.chance(0.15);
        if reverse {
            table.insert("reverse".to_owned(), Value::Boolean(true));
        } else if self.draw.chance(0.2) {
            // All members of a class must have the same first link.
            let class = format!("k{}{first}", self.draw.below(2));
            table.insert("class".to_owned(), Value::String(class));
        }
        self.maybe(table, 0.1, "hosts", |m| {
            let (here, there) = (m.draw.below(2), m.draw.below(2));
            Value::Array(vec![
                Value::String(format!("h{here}")),
                Value::String(format!("g{there}")),
            ])
        });
    }

    fn flow(&mut self, number: u64, count: u64) -> Table {
        let mut flow = Table::new();
        let (cc, _) = entry(&mut self.draw, "name", cc::ENTRIES, self.taste);
        let cc = if self.draw.chance(0.005) {
            only_linux("name", "vegas")
        } else {
            cc
        };
        flow.insert("cc".to_owned(), cc);
        flow.insert("name".to_owned(), Value::String(format!("f{number}")));
        if count > 1 {
            flow.insert("count".to_owned(), Value::Integer(count as i64));
        }
        self.maybe(&mut flow, 0.5, "ecn", |m| {
            Value::Boolean(m.draw.chance(0.75))
        });
        self.maybe(&mut flow, 0.3, "bytes", |m| {
            let one = m.draw.chance(0.2);
            Value::Integer(if one { 1 } else { m.draw.log(1.0, 3e7) as i64 })
        });
        self.application(&mut flow);
        self.end(&mut flow);
        self.maybe(&mut flow, 0.25, "tcp", |m| Value::Table(m.tcp()));
        if self.draw.chance(0.05)
            && let Some(back) = self.route(true)
        {
            flow.insert("back".to_owned(), back);
        }
        let schema = &SCHEMA["properties"]["flows"]["items"];
        let decided = [
            "count", "ecn", "bytes", "start", "stop", "rtt", "class", "hosts", "tcp", "reverse",
            "rate", "chunks", "pause",
        ];
        self.rest(&mut flow, schema, &decided, 0.2);
        flow
    }

    /// Draws when a flow's application writes, how much data it writes, and when it pauses.
    fn application(&mut self, flow: &mut Table) {
        if self.draw.chance(0.1) {
            let rate = self.rate * self.draw.log(0.001, 3.0);
            flow.insert("rate".to_owned(), bit(rate));
        } else if self.draw.chance(0.15) {
            flow.remove("bytes");
            let mut chunks = Table::new();
            let bytes = self.draw.log(1.0, 1e6) as i64;
            chunks.insert("bytes".to_owned(), Value::Integer(bytes));
            self.maybe(&mut chunks, 0.3, "count", |m| {
                Value::Integer(m.draw.between(1, 50))
            });
            let gap = self.duration / self.draw.log(1.0, 500.0);
            if self.draw.chance(0.5) {
                chunks.insert("every".to_owned(), ns(gap.max(1e5)));
            } else {
                let none = self.draw.chance(0.2);
                let think = if none { 0.0 } else { gap };
                chunks.insert("think".to_owned(), ns(think));
                self.maybe(&mut chunks, 0.5, "request", |m| {
                    Value::Integer(m.draw.between(1, 1400))
                });
            }
            flow.insert("chunks".to_owned(), Value::Table(chunks));
        }
        if self.draw.chance(0.1) {
            let mut at = self.duration * self.draw.share();
            let pauses = (0..1 + self.draw.below(3)).map(|_| {
                let begin = at.floor();
                let end = (begin + 1.0 + self.duration * 0.3 * self.draw.share()).floor();
                at = end + self.duration * 0.2 * self.draw.share();
                Value::Array(vec![ns(begin), ns(end)])
            });
            let pauses: Vec<Value> = pauses.collect();
            flow.insert("pause".to_owned(), Value::Array(pauses));
        }
    }

    /// Draws a list of request sizes, one for each gap in the source's list. Removes the options of
    /// a distribution, because the list replaces the distribution.
    fn lengths(&mut self, source: &mut Table) {
        for distribution in ["sizes", "alpha", "min", "max"] {
            source.remove(distribution);
        }
        let count = match source.get("gaps") {
            Some(Value::Array(gaps)) => gaps.len() as u64,
            _ => 1 + self.draw.below(5),
        };
        let lengths = (0..count).map(|_| {
            let bytes = self.draw.log(1.0, 1e6) as u64;
            Value::String(format!("{bytes}b"))
        });
        let lengths = lengths.collect();
        source.insert("lengths".to_owned(), Value::Array(lengths));
    }

    fn source(&mut self, number: u64) -> Table {
        let entry = *self.draw.pick(traffic::ENTRIES);
        let mut source = Table::new();
        source.insert("kind".to_owned(), Value::String(entry.name.to_owned()));
        source.insert("name".to_owned(), Value::String(format!("t{number}")));
        for opt in entry.options {
            let value = match opt.name {
                "rate" => bit(self.rate * self.draw.log(0.01, 3.0)),
                // With a larger bitrate, frames would exceed the largest allowed size.
                "bitrate" => bit((self.rate * self.draw.log(0.01, 3.0)).clamp(1e4, 1e6)),
                "min_bitrate" if self.draw.chance(0.5) => bit(1e3),
                "min_bitrate" => continue,
                "idle" | "collect" if source.get("reuse") != Some(&Value::Boolean(true)) => {
                    continue;
                }
                "lengths" => continue,
                "frame_time" => ns((self.duration / self.draw.log(1.0, 500.0)).clamp(1e6, 9e14)),
                "arrival" | "interval" => {
                    ns((self.duration / self.draw.log(1.0, 500.0)).clamp(1e5, 9e14))
                }
                _ if self.draw.chance(self.taste.set) => {
                    of_kind(&mut self.draw, opt.kind, self.taste)
                }
                _ => continue,
            };
            source.insert(opt.name.to_owned(), value);
        }
        if entry.options.iter().any(|opt| opt.name == "lengths") && self.draw.chance(0.2) {
            self.lengths(&mut source);
        }
        self.end(&mut source);
        self.maybe(&mut source, 0.2, "count", |m| {
            Value::Integer(m.draw.between(1, 5))
        });
        if traffic::connects(entry.name) {
            if self.draw.chance(0.5) {
                let (cc, _) = super::entry(&mut self.draw, "name", cc::ENTRIES, self.taste);
                source.insert("cc".to_owned(), cc);
            }
            self.maybe(&mut source, 0.3, "tcp", |m| Value::Table(m.tcp()));
        }
        if traffic::takes(entry.name, "back")
            && self.draw.chance(0.1)
            && let Some(back) = self.route(true)
        {
            source.insert("back".to_owned(), back);
        }
        let shapes = SCHEMA["properties"]["traffic"]["items"]["anyOf"].as_array();
        let mut shapes = shapes.into_iter().flatten();
        let shape = shapes.find(|shape| shape["properties"]["kind"]["const"] == entry.name);
        let mut decided = vec![
            "kind", "name", "count", "start", "stop", "rtt", "class", "hosts", "reverse", "cc",
        ];
        decided.extend(entry.options.iter().map(|opt| opt.name));
        self.rest(&mut source, shape.unwrap_or(&Json::Null), &decided, 0.2);
        source
    }
}
