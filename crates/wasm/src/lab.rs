//! Holds one scenario and one run, and answers queries about them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tailback_engine::aqm;
use tailback_engine::capture::PacketEvent;
use tailback_engine::impairments;
use tailback_engine::network::Network;
use tailback_engine::plan::{Algorithm, Change, Plan, RatePlan, SeriesMode};
use tailback_engine::units::Time;
use tailback_record::outcome::account_file;
use tailback_record::{Outcome, Series, Summary};
use tailback_scenario::{
    Diagnostic, KeyPath, Override, Param, Place, Request, Scenario, check_memory, estimate_packets,
    key_paths, load_request, outline, registry,
};

use crate::VERSION;
use crate::log;
use crate::watch::{Group, Watch};

/// Memory that a run may use, bytes. A WebAssembly instance has at most 4 GiB.
const MEMORY: u64 = 1 << 30;

/// Largest number of sweep points whose labels are listed.
const LISTED_POINTS: usize = 500;

/// Largest number of flows and sources for which each flow and source has its own colour. With more
/// flows and sources, all copies from one table of the scenario share a colour.
const SINGLE: usize = 12;

/// The loaded scenario and its current run.
#[derive(Default)]
pub struct Lab {
    scenario: Option<Scenario>,
    run: Option<Run>,
    done: Option<Done>,
}

struct Run {
    point: usize,
    plan: Arc<Plan>,
    network: Network,
    end: Time,
    watch: Option<Watch>,
    packets: Vec<PacketEvent>,
}

impl Run {
    /// Passes the recorded packets to the recorder of the watched link.
    fn see(&mut self) {
        if let Some(watch) = &mut self.watch {
            self.packets.clear();
            self.network.take_packets(&mut self.packets);
            self.packets.iter().for_each(|event| watch.see(event));
        }
    }

    fn progress(&self) -> f64 {
        self.network.now().ns() as f64 / self.end.ns().max(1) as f64
    }

    /// Replaces the events that have not been applied yet with the events of another scenario.
    /// Apart from these events, the two scenarios must be equal.
    fn change(&mut self, scenario: &Scenario) -> Result<(), String> {
        let now = self.network.now();
        let point = scenario.points.get(self.point);
        let point = point.ok_or("the point of the run is missing")?;
        let plan = recorded(&point.plan, self.watch.is_some());
        // Count the applied events, instead of finding them by their times. An event at the current
        // time may not have been applied yet, if an earlier call of this function has added the
        // event.
        let applied = self.plan.events.len() - self.network.waiting_changes();
        let alike = |plan: &Plan| Plan {
            events: Vec::new(),
            ..plan.clone()
        };
        if alike(&plan) != alike(&self.plan)
            || plan.events.get(..applied) != self.plan.events.get(..applied)
            || plan.events[applied..].iter().any(|event| event.at < now)
        {
            return Err(format!("the scenario differs before {now}"));
        }
        self.network.forget_changes();
        for event in &plan.events[applied..] {
            self.network.change(event.clone());
        }
        self.plan = plan;
        Ok(())
    }
}

/// Returns a plan that also records the data that the page draws about a watched link. The
/// recording of additional data does not change other results.
fn recorded(plan: &Arc<Plan>, watched: bool) -> Arc<Plan> {
    let mut plan = Arc::clone(plan);
    if watched {
        let record = &mut Arc::make_mut(&mut plan).record;
        record.packets = true;
        record.events = true;
        if record.series == SeriesMode::Interval {
            record.series = SeriesMode::Changes;
        }
    }
    plan
}

struct Done {
    run_id: String,
    seed: u64,
    outcome: Outcome,
    watch: Option<Watch>,
    rows: Rows,
}

/// The samples of each series.
struct Rows {
    /// Time (in ns) and value of each sample, sorted by series.
    samples: Vec<(u64, f64)>,
    /// The position in `samples` at which each series begins, and the end of the last series.
    begins: Vec<usize>,
}

impl Rows {
    fn new(series: &Series) -> Rows {
        let mut begins = vec![0; series.keys.len() + 1];
        for row in series.rows() {
            begins[row.key as usize + 1] += 1;
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        let mut next = begins.clone();
        let mut samples = vec![(0, 0.0); series.len()];
        for row in series.rows() {
            let place = &mut next[row.key as usize];
            samples[*place] = (row.time_ns, row.value);
            *place += 1;
        }
        Rows { samples, begins }
    }

    fn of(&self, series: usize) -> &[(u64, f64)] {
        let bounds = self.begins.get(series).zip(self.begins.get(series + 1));
        bounds.map_or(&[], |(from, to)| &self.samples[*from..*to])
    }
}

impl Lab {
    /// Answers `lab_about`.
    pub fn about() -> Vec<u8> {
        let keys: Vec<Value> = key_paths().iter().map(KeyPath::json).collect();
        json!({ "version": VERSION, "registry": registry::json(), "keys": keys })
            .to_string()
            .into()
    }

    /// Answers `lab_outline`.
    pub fn outline(text: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(text);
        outline::outline(&text).to_string().into()
    }

    /// Loads a scenario: `{"text", "file", "sets": [[key, value]], "seeds", "files": {name: text}}`.
    pub fn load(&mut self, request: &[u8]) -> Vec<u8> {
        self.scenario = None;
        self.run = None;
        let request: Value = serde_json::from_slice(request).unwrap_or_default();
        self.take(read(&request))
    }

    /// Stores a scenario and returns its description, or returns its errors.
    fn take(&mut self, scenario: Result<Scenario, Vec<Diagnostic>>) -> Vec<u8> {
        let answer = match scenario {
            Ok(scenario) => {
                let answer = about(&scenario);
                self.scenario = Some(scenario);
                answer
            }
            Err(problems) => {
                let problems: Vec<Value> = problems.iter().map(diagnostic).collect();
                json!({ "problems": problems })
            }
        };
        answer.to_string().into()
    }

    /// Begins the run of a sweep point (see `lab_begin`).
    pub fn begin(&mut self, point: usize, link: usize, stays: usize, from_s: f64) -> bool {
        self.done = None;
        self.run = None;
        let found = self.scenario.as_ref().and_then(|s| s.points.get(point));
        let Some(found) = found else {
            return false;
        };
        let watched = link < found.plan.links.len();
        let plan = recorded(&found.plan, watched);
        let watch = watched.then(|| {
            let from = Time((from_s.max(0.0) * 1e9) as u64);
            Watch::new(&plan, link, groups(&plan), stays, from)
        });
        self.run = Some(Run {
            point,
            plan: Arc::clone(&plan),
            network: Network::new(&plan, found.seed),
            end: plan.duration,
            watch,
            packets: Vec::new(),
        });
        true
    }

    /// Continues the run by the given number of events. Returns the run's progress from 0 to 1, or
    /// 2 at its end.
    pub fn advance(&mut self, events: u64) -> f64 {
        let Some(run) = &mut self.run else {
            return 2.0;
        };
        let goes_on = run.network.advance(events);
        run.see();
        if goes_on {
            return run.progress();
        }
        if let (Some(run), Some(scenario)) = (self.run.take(), &self.scenario) {
            let point = &scenario.points[run.point];
            let outcome = run.network.finish();
            self.done = Some(Done {
                run_id: point.run_id.clone(),
                seed: point.seed,
                rows: Rows::new(&outcome.series),
                outcome,
                watch: run.watch,
            });
        }
        2.0
    }

    /// Continues the run up to and including a time. Returns the run's progress, or 2 if no run has
    /// begun.
    pub fn until(&mut self, time_s: f64) -> f64 {
        let Some(run) = &mut self.run else {
            return 2.0;
        };
        run.network
            .advance_until(Time((time_s.max(0.0) * 1e9) as u64));
        run.see();
        run.progress()
    }

    /// Changes the run from the current simulated time on (see `lab_change`).
    pub fn change(&mut self, request: &[u8]) -> Vec<u8> {
        let request: Value = serde_json::from_slice(request).unwrap_or_default();
        let changed = read(&request).and_then(|scenario| {
            let run = self.run.as_mut().ok_or("there is no run".to_owned());
            let changed = run.and_then(|run| run.change(&scenario));
            let place = || Place::start(&scenario.file);
            match changed {
                Ok(()) => Ok(scenario),
                Err(why) => Err(vec![Diagnostic::new(place(), why, "a run from the start")]),
            }
        });
        self.take(changed)
    }

    fn answer(&self, of: impl FnOnce(&Done) -> Vec<u8>) -> Vec<u8> {
        self.done.as_ref().map_or_else(Vec::new, of)
    }

    pub fn summary(&self) -> Vec<u8> {
        self.answer(|done| {
            let summary = Summary::new(&done.outcome, &done.run_id, done.seed);
            let mut text = serde_json::to_vec_pretty(&summary).expect("numbers and names");
            text.push(b'\n');
            text
        })
    }

    pub fn account(&self) -> Vec<u8> {
        self.answer(|done| {
            let mut text = Vec::new();
            account_file::write(&done.outcome, &mut text).expect("memory");
            text
        })
    }

    pub fn log(&self) -> Vec<u8> {
        self.answer(|done| log::of(&done.outcome).to_string().into())
    }

    pub fn series(&self) -> Vec<u8> {
        self.answer(|done| {
            let series = &done.outcome.series;
            let keys = series.keys.iter().enumerate().map(|(number, key)| {
                let rows = done.rows.of(number).len();
                json!({ "flow": key.flow, "link": key.link, "quantity": key.quantity, "rows": rows })
            });
            json!({ "keys": keys.collect::<Vec<_>>(), "lost": series.lost })
                .to_string()
                .into()
        })
    }

    pub fn rows(&self, of: u32) -> Vec<u8> {
        self.answer(|done| {
            let rows = done.rows.of(of as usize).iter();
            let times = rows.clone().map(|(time_ns, _)| *time_ns as f64 / 1e9);
            let values = rows.map(|(_, value)| *value);
            times.chain(values).flat_map(f64::to_le_bytes).collect()
        })
    }

    /// Returns the columns with data about the watched link, as JSON (see `Watch::about`).
    pub fn watched(&self) -> Vec<u8> {
        self.answer(|done| match &done.watch {
            Some(watch) => watch.about().to_string().into(),
            None => b"null".to_vec(),
        })
    }

    pub fn column(&self, number: u32) -> Vec<u8> {
        self.answer(|done| {
            let watch = done.watch.as_ref();
            watch.map_or_else(Vec::new, |watch| watch.column(number))
        })
    }
}

/// Loads a scenario, or returns its errors.
fn read(request: &Value) -> Result<Scenario, Vec<Diagnostic>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sets = request["sets"].as_array().cloned().unwrap_or_default();
    let overrides: Vec<Override> = (sets.iter())
        .map(|set| Override {
            key: text(&set[0]),
            value: text(&set[1]),
        })
        .collect();
    let files: BTreeMap<String, String> = request["files"]
        .as_object()
        .map(|files| files.iter().map(|(k, v)| (k.clone(), text(v))).collect())
        .unwrap_or_default();
    let beside = |name: &str| {
        let found = files.get(name).cloned();
        found.ok_or_else(|| "it is not among the files that the page was given".to_owned())
    };
    let content = text(&request["text"]);
    let file = request["file"].as_str().unwrap_or("scenario.toml");
    let scenario = load_request(&Request {
        overrides: &overrides,
        seeds: request["seeds"].as_u64(),
        memory: Some(MEMORY),
        engine_version: VERSION,
        ..Request::new(content.as_bytes(), file, &beside)
    })?;
    check_memory(&scenario, MEMORY).map_err(|problem| vec![problem])?;
    Ok(scenario)
}

/// Returns the data that the page shows about a scenario before it is run.
fn about(scenario: &Scenario) -> Value {
    let mut changeable = Changeable::default();
    let points = scenario.points.iter().take(LISTED_POINTS).map(|point| {
        let links = (0..).zip(&point.plan.links).map(|(number, link)| {
            json!({
                "name": link.name,
                "aqm": link.queue.name(),
                "rate_bit": link.rate.nominal().0,
                "rates": rates(&point.plan, number),
                "changeable": {
                    "rate": matches!(link.rate, RatePlan::Constant(_)),
                    "queue": changeable.of_queue(&link.queue),
                    "impairments": link.impairments.iter().map(|impairment| {
                        impairments::changeable(impairment.kind, &impairment.options)
                    }).collect::<Vec<_>>(),
                },
            })
        });
        let params = point.params.iter().map(|(path, value)| {
            let value = match value {
                Param::Number(number) => json!(number),
                Param::Name(name) => json!(name),
            };
            json!([path, value])
        });
        json!({
            "params": params.collect::<Vec<_>>(),
            "labels": *point.labels,
            "seed": point.seed,
            "run_id": point.run_id,
            "duration_s": point.plan.duration.ns() as f64 / 1e9,
            "warmup_s": point.plan.warmup.ns() as f64 / 1e9,
            "packets": estimate_packets(&point.plan),
            "links": links.collect::<Vec<_>>(),
        })
    });
    let warnings: Vec<Value> = scenario.warnings.iter().map(diagnostic).collect();
    json!({
        "title": scenario.title,
        "version": scenario.engine_version,
        "id": scenario.id,
        "points": points.collect::<Vec<_>>(),
        "count": scenario.points.len(),
        "warnings": warnings,
    })
}

/// Returns the times (s) and values (bit/s) of a link's rate, if the rate changes in steps or by
/// events.
fn rates(plan: &Plan, number: u32) -> Vec<(f64, u64)> {
    let steps: &[_] = match &plan.links[number as usize].rate {
        RatePlan::Steps(steps) => steps,
        _ => &[],
    };
    let steps = steps.iter().map(|(at, rate)| (*at, *rate));
    let changes = plan.events.iter().flat_map(|event| {
        let rates = event.changes.iter().filter_map(|change| match change {
            Change::Rate(link, rate) if *link == number => Some(*rate),
            _ => None,
        });
        rates.map(|rate| (event.at, rate))
    });
    let all = steps.chain(changes);
    all.map(|(at, rate)| (at.ns() as f64 / 1e9, rate.0))
        .collect()
}

/// The options of a queue that may change during a run. To find these options, the code must build
/// a queue. This struct stores the result for the last queue, because the points of a sweep often
/// have the same queue.
#[derive(Default)]
struct Changeable {
    queue: Option<Algorithm>,
    names: &'static [&'static str],
}

impl Changeable {
    fn of_queue(&mut self, queue: &Algorithm) -> &'static [&'static str] {
        if self.queue.as_ref() != Some(queue) {
            self.names = match queue.known() {
                Some((name, options)) => aqm::changeable(name, options),
                None => &[],
            };
            self.queue = Some(queue.clone());
        }
        self.names
    }
}

fn diagnostic(problem: &Diagnostic) -> Value {
    json!({
        "line": problem.place.line,
        "column": problem.place.column,
        "width": problem.place.width,
        "option": problem.place.option,
        "message": problem.message,
        "text": problem.text(),
        "help": problem.help,
    })
}

/// Returns the flows and sources, grouped by colour, in the order of the scenario.
fn groups(plan: &tailback_engine::plan::Plan) -> Vec<Group> {
    let single = plan.flow_count() + plan.source_count() <= SINGLE;
    let flows = plan.each_flow().map(|flow| {
        let (name, cc) = (&flow.of.name, flow.of.cc.name().to_owned());
        (flow.number, flow.group, flow.name(), name, cc)
    });
    let before = plan.flows.len();
    let sources = plan.each_source().map(|source| {
        let (name, kind) = (&source.of.name, source.of.kind.to_owned());
        let owner = plan.flow_count() + source.number;
        (owner, before + source.group, source.name(), name, kind)
    });
    let mut found: Vec<Group> = Vec::new();
    let mut last = None;
    for (owner, group, own, entry, what) in flows.chain(sources) {
        if single || last != Some(group) {
            let name = if single { own } else { entry.clone() };
            found.push(Group {
                name,
                what,
                owners: Vec::new(),
            });
        }
        last = Some(group);
        if let Some(group) = found.last_mut() {
            group.owners.push(owner as u32);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        duration = "3s"
        warmup = "1s"
        [bottleneck]
        rate = "10Mbit"
        queue = { aqm = "codel", ecn = true }
        [path]
        rtt = "20ms"
        [[flows]]
        cc = "cubic"
        ecn = true
        [[flows]]
        cc = "reno"
        [[traffic]]
        kind = "cbr"
        rate = "1Mbit"
    "#;

    fn loaded(text: &str) -> (Lab, Value) {
        let mut lab = Lab::default();
        let request = json!({ "text": text, "file": "a.toml" }).to_string();
        let answer = lab.load(request.as_bytes());
        (lab, serde_json::from_slice(&answer).expect("JSON"))
    }

    fn run(lab: &mut Lab, link: usize, stays: usize, from_s: f64) {
        assert!(lab.begin(0, link, stays, from_s));
        while lab.advance(1000) < 2.0 {}
    }

    fn column(lab: &Lab, number: u32) -> Vec<f64> {
        let bytes = lab.column(number);
        let values = bytes.chunks_exact(8);
        values
            .map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes")))
            .collect()
    }

    #[test]
    fn every_mistake_has_its_line_and_column() {
        let (lab, answer) = loaded("duration = \"3x\"\n[bottleneck]\nrat = \"1Mbit\"\n");
        assert!(lab.scenario.is_none());
        let problems = answer["problems"].as_array().expect("a list");
        let places: Vec<_> = problems
            .iter()
            .map(|p| (p["line"].as_u64(), p["column"].as_u64()))
            .collect();
        assert!(places.contains(&(Some(1), Some(12))), "{answer}");
        assert!(places.contains(&(Some(3), Some(1))), "{answer}");
    }

    #[test]
    fn watching_a_link_changes_no_number() {
        let (mut lab, _) = loaded(SCENARIO);
        run(&mut lab, usize::MAX, 0, 0.0);
        let (summary, account) = (lab.summary(), lab.account());
        run(&mut lab, 0, 100_000, 0.0);
        assert_eq!(lab.summary(), summary);
        assert_eq!(lab.account(), account);
        assert!(summary.ends_with(b"}\n"));
    }

    #[test]
    fn what_is_watched_adds_up_to_the_summary() {
        let text = SCENARIO.replace("warmup = \"1s\"", "");
        let (mut lab, _) = loaded(&text);
        run(&mut lab, 0, 100_000, 0.0);
        let summary: Value = serde_json::from_slice(&lab.summary()).expect("JSON");
        let about: Value = serde_json::from_slice(&lab.watched()).expect("JSON");
        let names: Vec<_> = about["groups"].as_array().expect("groups").iter().collect();
        assert_eq!(names.len(), 3);
        let sum = |number| column(&lab, number).iter().sum::<f64>();
        let width = about["width_s"].as_f64().expect("a width");
        let bytes = sum(0) * width * 1e6 / 8.0;
        let queue = &summary["queue"];
        assert!((bytes - queue["bytes"].as_f64().expect("bytes")).abs() < 1.0);
        assert_eq!(sum(2), queue["marks"].as_f64().expect("marks"));
        assert_eq!(sum(3), queue["drops"].as_f64().expect("drops"));
        assert!(sum(2) > 0.0);
        // The columns of `Stays` have one row for each packet.
        let rows = about["stays"].as_u64().expect("a number");
        assert_eq!(lab.column(4).len() as u64, 8 * rows);
        let (came, left) = (column(&lab, 4), column(&lab, 5));
        let forwarded = left.iter().filter(|left| left.is_finite()).count() as f64 - sum(3);
        assert_eq!(forwarded, queue["packets"].as_f64().expect("packets"));
        assert!(
            came.iter()
                .zip(&left)
                .all(|(came, left)| left.is_nan() || left >= came)
        );
    }

    #[test]
    fn stays_of_a_later_time_are_those_of_the_whole_run() {
        let (mut lab, _) = loaded(SCENARIO);
        let stays = |lab: &Lab| -> Vec<(u64, u64)> {
            let (came, left) = (column(lab, 4), column(lab, 5));
            let both = came.iter().zip(&left);
            let mut both: Vec<_> = both
                .filter(|(_, left)| left.is_nan() || **left >= 2.0)
                .map(|(a, b)| (a.to_bits(), b.to_bits()))
                .collect();
            both.sort_unstable();
            both
        };
        run(&mut lab, 0, 100_000, 0.0);
        let whole = stays(&lab);
        run(&mut lab, 0, 100_000, 2.0);
        assert_eq!(stays(&lab), whole);
        run(&mut lab, 0, 10, 2.0);
        let about: Value = serde_json::from_slice(&lab.watched()).expect("JSON");
        assert!(about["until_s"].as_f64().expect("a time") < 2.1, "{about}");
    }

    #[test]
    fn a_run_changed_at_a_moment_equals_the_scenario_with_the_change() {
        let change = "\n[[events]]\nat = \"1.5s\"\nset = { \"bottleneck.rate\" = \"4Mbit\" }\n";
        let changed = format!("{SCENARIO}{change}");
        let (mut lab, _) = loaded(&changed);
        run(&mut lab, 0, 1_000, 0.0);
        let scheduled = [lab.summary(), lab.account(), lab.log(), lab.column(5)];
        let (mut lab, _) = loaded(SCENARIO);
        assert!(lab.begin(0, 0, 1_000, 0.0));
        assert!(lab.until(1.5) < 2.0);
        let request = |text: &str| json!({ "text": text, "file": "a.toml" }).to_string();
        let change = |lab: &mut Lab, text: &str| -> Value {
            serde_json::from_slice(&lab.change(request(text).as_bytes())).expect("JSON")
        };
        let early = changed.replace("1.5s", "1s");
        let other = changed.replace("cubic", "reno");
        for text in [early, other] {
            let answer = change(&mut lab, &text);
            assert!(answer["problems"].is_array(), "{answer}");
        }
        assert!(change(&mut lab, &changed)["points"].is_array());
        while lab.advance(1000) < 2.0 {}
        assert_eq!(
            scheduled,
            [lab.summary(), lab.account(), lab.log(), lab.column(5)]
        );
    }

    #[test]
    fn changes_at_the_present_moment_are_kept_by_a_second_change() {
        let rate = "\n[[events]]\nat = \"1.5s\"\nset = { \"bottleneck.rate\" = \"4Mbit\" }\n";
        let once = format!("{SCENARIO}{rate}");
        let twice = format!("{once}\n[[events]]\nat = \"1.5s\"\nstop = [\"cubic\"]\n");
        let (mut lab, _) = loaded(&twice);
        run(&mut lab, 0, 1_000, 0.0);
        let scheduled = [lab.summary(), lab.account(), lab.log()];
        let (mut lab, _) = loaded(SCENARIO);
        assert!(lab.begin(0, 0, 1_000, 0.0));
        assert!(lab.until(1.5) < 2.0);
        for text in [&once, &twice] {
            let request = json!({ "text": text, "file": "a.toml" }).to_string();
            let answer = lab.change(request.as_bytes());
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            assert!(answer["points"].is_array(), "{answer}");
        }
        while lab.advance(1000) < 2.0 {}
        assert_eq!(scheduled, [lab.summary(), lab.account(), lab.log()]);
    }

    #[test]
    fn the_log_has_reductions_with_reasons_in_order() {
        let (mut lab, _) = loaded(SCENARIO);
        run(&mut lab, 0, 0, 0.0);
        let log: Value = serde_json::from_slice(&lab.log()).expect("JSON");
        let rows = log["rows"].as_array().expect("rows");
        let kinds: Vec<_> = rows.iter().map(|row| row["kind"].as_str()).collect();
        assert!(kinds.contains(&Some("reduction")) && kinds.contains(&Some("slow start")));
        assert!(kinds.contains(&Some("mark")));
        let times: Vec<f64> = rows.iter().map(|r| r["t"].as_f64().expect("t")).collect();
        assert!(times.is_sorted());
    }
}
