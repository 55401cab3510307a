//! Draws a random scenario from a seed. Most of the drawn scenarios are valid. A large number of
//! drawn scenarios uses every key at least once.
//!
//! Options of algorithms come from the registries, and keys from the JSON Schema. New options and
//! keys are therefore drawn without a change to this crate. The code of this module itself draws
//! only values that depend on each other (times, rates, names, routes). A test fails if this crate
//! never draws a certain key.

mod ends;
mod links;
pub(crate) mod values;

use std::sync::LazyLock;

use serde_json::Value as Json;
use tailback_engine::hosts;
use tailback_scenario::{EngineKind, json_schema};
use toml::{Table, Value};

use crate::draw::Draw;
use crate::trial::{contained, load};
use values::{Taste, bit, entry, ns, of_kind, of_schema, options};

static SCHEMA: LazyLock<Json> = LazyLock::new(json_schema);

/// Values on which several parts of a scenario depend.
struct Maker {
    draw: Draw,
    taste: Taste,
    /// Whether rates, times and sizes may be far outside the ranges of real networks.
    wild: bool,
    /// Rate of the first link, in bit/s.
    rate: f64,
    /// The smallest rate of all links, in bit/s.
    slowest: f64,
    rtt: f64,
    duration: f64,
    /// For each forward link, its name and whether it has a link in the return direction.
    links: Vec<(String, bool)>,
}

/// Largest number of draws to get a valid scenario.
const DRAWS: u64 = 16;

/// Returns the scenario of a seed: the first of several draws that an engine accepts, or the last
/// draw if no engine accepts any draw.
pub fn scenario(seed: u64) -> Table {
    let drawn = (0..DRAWS).map(|i| one(seed.wrapping_mul(DRAWS).wrapping_add(i)));
    let mut drawn = drawn.peekable();
    while let Some(table) = drawn.next() {
        let text = table.to_string();
        // Accept a scenario that makes an engine panic, so that the trial reports the panic.
        let valid = contained(|| {
            let engines = [EngineKind::Sim, EngineKind::Kernel];
            engines.iter().any(|engine| load(&text, *engine).is_ok())
        });
        if valid.unwrap_or(true) || drawn.peek().is_none() {
            return table;
        }
    }
    Table::new()
}

fn one(seed: u64) -> Table {
    let mut draw = Draw::new(seed);
    let taste = Taste {
        set: *draw.pick(&[0.0, 0.15, 0.4]),
        extreme: *draw.pick(&[0.0, 0.05, 0.05, 0.2]),
    };
    let wild = draw.chance(0.5);
    let (slow, fast) = if wild { (1e3, 4e11) } else { (1e5, 2e9) };
    let rate = draw.log(slow, fast);
    let (near, far) = if wild { (1e4, 1e10) } else { (2e5, 5e8) };
    let rtt = draw.log(near, far);
    // Most runs are so long that the link can send a few hundred to a few thousand packets. Half of
    // the runs also last for at least a random number of round trips.
    let packets = draw.log(200.0, 8_000.0) * 1514.0 * 8e9 / rate;
    let trips = if draw.chance(0.5) {
        rtt * draw.log(1.0, 100.0)
    } else {
        0.0
    };
    let duration = match draw.chance(0.03) {
        true => 9e14,
        false => packets.max(trips).clamp(1e4, 9e14).round(),
    };
    let mut maker = Maker {
        draw,
        taste,
        wild,
        rate,
        slowest: rate,
        rtt,
        duration,
        links: Vec::new(),
    };
    maker.whole(seed)
}

impl Maker {
    /// Sets a key with probability `p`, unless it is already set.
    fn maybe(&mut self, table: &mut Table, p: f64, key: &str, value: fn(&mut Maker) -> Value) {
        if self.draw.chance(p) {
            let value = value(self);
            table.insert(key.to_owned(), value);
        }
    }

    /// Draws the plain keys of a table from the table's schema. Omits the keys in `decided`,
    /// because the caller sets them.
    fn rest(&mut self, table: &mut Table, schema: &Json, decided: &[&str], p: f64) {
        let Some(keys) = schema["properties"].as_object() else {
            return;
        };
        for (key, schema) in keys {
            if decided.contains(&key.as_str()) || table.contains_key(key) || !self.draw.chance(p) {
                continue;
            }
            if let Some(value) = of_schema(&mut self.draw, schema, self.taste) {
                table.insert(key.clone(), value);
            }
        }
    }

    fn whole(&mut self, seed: u64) -> Table {
        let mut root = Table::new();
        root.insert("title".to_owned(), Value::String(format!("seed {seed}")));
        root.insert("duration".to_owned(), ns(self.duration));
        self.maybe(&mut root, 0.35, "warmup", |m| {
            ns(m.duration * m.draw.share() * 0.9)
        });
        self.maybe(&mut root, 0.9, "seed", |m| {
            let last = m.draw.chance(0.02);
            Value::Integer(if last {
                i64::MAX
            } else {
                m.draw.between(0, 1000)
            })
        });
        self.maybe(&mut root, 0.3, "start_jitter", |m| {
            let none = m.draw.chance(0.3);
            ns(if none {
                0.0
            } else {
                m.duration * m.draw.share() * 0.5
            })
        });
        self.links(&mut root);
        self.maybe(&mut root, 0.1, "host_jitter", |m| {
            // The host jitter must be less than a packet time at the slowest link.
            ns(100.0 * 8e9 / m.slowest * m.draw.share())
        });
        let mut path = Table::new();
        path.insert("rtt".to_owned(), ns(self.rtt));
        // Some receivers and all programs do not support offloads.
        self.maybe(&mut path, 0.02, "offloads", |m| {
            Value::Boolean(m.draw.chance(0.5))
        });
        root.insert("path".to_owned(), Value::Table(path));
        self.maybe(&mut root, 0.6, "tcp", |m| Value::Table(m.tcp()));
        let record = self.record();
        root.insert("record".to_owned(), Value::Table(record));
        self.ends(&mut root);
        self.maybe(&mut root, 0.05, "sweep", Maker::sweep);
        self.maybe(&mut root, 0.05, "assert", Maker::asserts);
        let decided = [
            "title",
            "with",
            "duration",
            "warmup",
            "seed",
            "start_jitter",
            "host_jitter",
            "hosts",
        ];
        self.rest(&mut root, &SCHEMA, &decided, 0.3);
        // Draw events last, so that they do not change the other values that are drawn from a seed.
        if self.draw.chance(0.05) {
            let events = self.events(root.contains_key("bottleneck"));
            root.insert("events".to_owned(), events);
        }
        if self.draw.chance(0.05) {
            let kind = *self.draw.pick(hosts::NAMES);
            // Do not combine hosts that hold packets with a host jitter, because this combination
            // is invalid.
            if kind != "vm" || !root.contains_key("host_jitter") {
                root.insert("hosts".to_owned(), Value::String(kind.to_owned()));
            }
        }
        root
    }

    /// Draws one or two changes of the first link's rate during the run.
    fn events(&mut self, bottleneck: bool) -> Value {
        let link = match self.links.first() {
            Some((name, _)) if !bottleneck => format!("links.{name}"),
            _ => "bottleneck".to_owned(),
        };
        let count = self.draw.between(1, 2);
        let changes = (0..count).map(|_| {
            let mut set = Table::new();
            let rate = self.rate * self.draw.log(0.3, 3.0);
            set.insert(format!("{link}.rate"), bit(rate));
            let mut event = Table::new();
            event.insert("at".to_owned(), ns(self.duration * self.draw.share()));
            event.insert("set".to_owned(), Value::Table(set));
            Value::Table(event)
        });
        Value::Array(changes.collect())
    }

    fn record(&mut self) -> Table {
        let mut record = Table::new();
        let interval = (self.duration / self.draw.log(1.0, 100.0)).max(1e3);
        record.insert("interval".to_owned(), ns(interval));
        self.maybe(&mut record, 0.1, "packets", |_| Value::Boolean(true));
        if self.duration > 1e8 {
            self.maybe(&mut record, 0.3, "statistics", |m| {
                ns((m.duration / m.draw.log(15.0, 100.0)).max(1e6))
            });
        }
        let schema = &SCHEMA["properties"]["record"];
        self.rest(
            &mut record,
            schema,
            &["interval", "packets", "statistics"],
            0.4,
        );
        record
    }

    fn tcp(&mut self) -> Table {
        let mut tcp = Table::new();
        self.maybe(&mut tcp, 0.25, "mss", |m| {
            let odd = m.wild && m.draw.chance(0.3);
            Value::Integer(match odd {
                true => *m.draw.pick(&[64, 100, 9000, 65_000]),
                false => m.draw.between(64, 9000),
            })
        });
        self.maybe(&mut tcp, 0.25, "rwnd", |m| {
            let most = match m.draw.chance(m.taste.extreme) {
                true => 9e18,
                false => 1e8,
            };
            Value::String(format!("{}b", m.draw.log(65e3, most) as u64))
        });
        let schema = &SCHEMA["properties"]["tcp"];
        self.rest(&mut tcp, schema, &["mss", "rwnd"], 0.2);
        tcp
    }

    /// Draws a sweep over two values of `path.rtt` and over seeds. The values may advance together
    /// with two durations (zip).
    fn sweep(&mut self) -> Value {
        let mut sweep = Table::new();
        let rtts = vec![ns(self.rtt), ns(self.rtt * 1.5)];
        if self.draw.chance(0.5) {
            sweep.insert("path.rtt".to_owned(), Value::Array(rtts));
        } else {
            let mut zip = Table::new();
            zip.insert("path.rtt".to_owned(), Value::Array(rtts));
            let lengths = vec![ns(self.duration), ns(self.duration * 2.0)];
            zip.insert("duration".to_owned(), Value::Array(lengths));
            let zip = vec![Value::Table(zip)];
            sweep.insert("zip".to_owned(), Value::Array(zip));
        }
        self.maybe(&mut sweep, 0.5, "seeds", |m| {
            Value::Integer(m.draw.between(1, 3))
        });
        Value::Table(sweep)
    }

    fn asserts(&mut self) -> Value {
        let mut assert = Table::new();
        let schema = &SCHEMA["properties"]["assert"]["items"];
        let decided = ["flow", "link", "without", "min", "max"];
        self.rest(&mut assert, schema, &decided, 1.0);
        let bound = *self.draw.pick(&["min", "max"]);
        let value = Value::Float(self.draw.log(1e-3, 1e3));
        assert.insert(bound.to_owned(), value);
        if self.draw.chance(0.5) {
            let other = if bound == "min" { "max" } else { "min" };
            assert.insert(
                other.to_owned(),
                Value::Float(if other == "max" { 1e6 } else { 0.0 }),
            );
        }
        // A metric may belong to a link or to a flow, but not to both. An invalid combination is
        // drawn only rarely.
        self.maybe(&mut assert, 0.2, "link", |m| {
            Value::String(m.links[0].0.clone())
        });
        self.maybe(&mut assert, 0.2, "flow", |_| Value::String("f0".to_owned()));
        // Metrics of harm require the key `without`, and other metrics must not have this key.
        if self.draw.chance(0.05) {
            for (key, value) in [("metric", "harm_throughput"), ("without", "f1")] {
                assert.insert(key.to_owned(), Value::String(value.to_owned()));
            }
        }
        Value::Array(vec![Value::Table(assert)])
    }
}

/// Returns the words for libFuzzer's dictionary: every key, option and word. libFuzzer may insert
/// these words into scenarios.
pub fn words() -> Vec<String> {
    let mut words = std::collections::BTreeSet::new();
    collect(&SCHEMA, &mut words);
    let units = [
        "20ms", "100Mbit", "1000p", "64kb", "0.5bdp", "1000000s", "0s",
    ];
    words.extend(units.map(str::to_owned));
    words
        .into_iter()
        .map(|word| format!("\"{word}\""))
        .collect()
}

fn collect(schema: &Json, words: &mut std::collections::BTreeSet<String>) {
    match schema {
        Json::Object(parts) => {
            for (name, part) in parts {
                if name == "properties" {
                    words.extend(
                        part.as_object()
                            .into_iter()
                            .flat_map(|all| all.keys().cloned()),
                    );
                }
                if ["enum", "const"].contains(&name.as_str()) {
                    let all = part.as_array().into_iter().flatten().chain([part]);
                    words.extend(all.filter_map(Json::as_str).map(str::to_owned));
                }
                collect(part, words);
            }
        }
        Json::Array(parts) => parts.iter().for_each(|part| collect(part, words)),
        _ => {}
    }
}
