//! Tries one scenario: loads it for both engines, runs it twice, and checks the results.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Arc, LazyLock, Once, mpsc};
use std::thread;
use std::time::Duration;

use tailback_engine::network::Network;
use tailback_engine::plan::Plan;
use tailback_engine::registry::Entry;
use tailback_engine::{aqm, cc};
use tailback_guest::map::{self, Kit};
use tailback_record::Outcome;
use tailback_scenario::{
    EngineKind, Judge, Override, Point, Request, Scenario, estimate_memory, load_request,
};

use crate::finding::Finding;
use crate::{heap, invariants, traces};

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The scenario is invalid. The text is the first error of the scenario.
    Refused(String),
    /// The run needs more memory than a trial may use, so it did not start.
    Large,
    /// The run was stopped at the event limit. The trial checked the results up to this point.
    Cut,
    /// The run ended.
    Done,
    /// The run panicked, or did not end.
    Failed,
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct Report {
    /// How the trial ended.
    pub end: End,
    /// Rules that the run has violated.
    pub findings: Vec<Finding>,
}

/// The limits of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of events of a run.
    pub events: u64,
    /// Largest estimated memory of a run, in bytes.
    pub memory: u64,
    /// Whether the trial runs the scenario a second time, with another slice size and other segment
    /// numbers.
    pub twice: bool,
    /// Time after which the trial reports that a run does not end. Even a busy machine processes
    /// `events` events in less time.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            events: 100_000,
            memory: 512 << 20,
            twice: true,
            patience: Duration::from_secs(300),
        }
    }
}

/// Number of events at the same simulated time at which a run counts as stuck. No valid run has so
/// many simultaneous events, because the memory of a trial cannot hold so many segments.
const STANDSTILL: u64 = 5_000_000;

/// Number of events between two checks of a run's time and progress.
const SLICE: u64 = 4096;

/// Upper limit for the memory of event rows, in bytes. Each row needs 20 bytes. Buffers of rows
/// grow by doubling. While a buffer is copied, both the old and the new buffer exist.
const EVENT_ROWS: u64 = 20 * 3 * (tailback_record::series::MAX_ROWS.next_power_of_two() / 2) as u64;

/// Parameters of the second run: another slice size, and segment numbers that start just below
/// 2^32. The results of the second run must equal the results of the first run.
const AGAIN: (u64, u64) = (777, (1 << 32) - 100);

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
    /// Whether this thread is inside [`contained`].
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Stores panics of trials instead of printing them, because these panics are findings. Other
/// panics, such as panics of failed tests, are still printed.
pub fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                keep(info);
            } else {
                before(info);
            }
        }));
    });
}

/// Stores the position and the message of a panic.
fn keep(info: &PanicHookInfo<'_>) {
    let place = info.location();
    let place = place.map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
    let payload = info.payload();
    let text = match (
        payload.downcast_ref::<String>(),
        payload.downcast_ref::<&str>(),
    ) {
        (Some(text), _) => text.as_str(),
        (_, Some(text)) => text,
        _ => "no message",
    };
    PANIC.set(format!("{place}: {}", text.replace('\n', " ")));
}

/// Runs a task and catches its panic, without printing it.
pub(crate) fn contained<T>(task: impl FnOnce() -> T) -> thread::Result<T> {
    let outer = CATCHING.replace(true);
    let done = catch_unwind(AssertUnwindSafe(task));
    CATCHING.set(outer);
    done
}

/// Runs a task. If the task panics, adds a finding to `found`.
pub(crate) fn caught<T>(
    when: &str,
    found: &mut Vec<Finding>,
    task: impl FnOnce() -> T,
) -> Option<T> {
    match contained(task) {
        Ok(done) => Some(done),
        Err(_) => {
            let message = PANIC.take();
            let place = message.split(": ").next().unwrap_or("").to_owned();
            found.push(Finding::new(format!("panic at {place}, {when}"), message));
            None
        }
    }
}

/// The description of a guest kernel that has every algorithm.
static KIT: LazyLock<Kit> = LazyLock::new(|| {
    fn names<B>(entries: &[&'static Entry<B>]) -> BTreeMap<String, Option<String>> {
        let names = entries
            .iter()
            .filter_map(|entry| Some((entry.kernel.name()?.to_owned(), None)));
        names.collect()
    }
    let mut kit = Kit {
        ccs: names(cc::ENTRIES),
        qdiscs: names(aqm::ENTRIES),
        ..Kit::default()
    };
    kit.ccs.insert("vegas".to_owned(), None);
    for qdisc in ["bfifo", "fq", "sfq"] {
        kit.qdiscs.insert(qdisc.to_owned(), None);
    }
    let module = vec!["/modules/tbsched.ko".to_owned()];
    kit.extra.insert("tbsched".to_owned(), module);
    let module = vec!["/modules/sch_outage.ko".to_owned()];
    kit.extra.insert("sch_outage".to_owned(), module);
    let module = vec!["/modules/sch_police.ko".to_owned()];
    kit.extra.insert("sch_impair".to_owned(), module);
    kit
});

/// Loads a generated scenario. If the scenario is invalid, returns the first error of the scenario.
pub(crate) fn load(text: &str, engine: EngineKind) -> Result<Scenario, String> {
    load_as(&Request {
        engine,
        ..Request::new(text.as_bytes(), "swarm.toml", &traces::text)
    })
}

/// Loads a scenario for the simulator and applies overrides.
pub(crate) fn load_with(
    text: &str,
    overrides: &[Override],
    seeds: Option<u64>,
) -> Result<Scenario, String> {
    load_as(&Request {
        overrides,
        seeds,
        ..Request::new(text.as_bytes(), "swarm.toml", &traces::text)
    })
}

fn load_as(request: &Request<'_>) -> Result<Scenario, String> {
    let judge: &Judge<'_> = &|plan| map::judge(plan, &KIT);
    let request = Request {
        judge: (request.engine == EngineKind::Kernel).then_some(judge),
        ..*request
    };
    load_request(&request).map_err(|diagnostics| match diagnostics.first() {
        Some(first) => first.message.clone(),
        None => "no diagnostic".to_owned(),
    })
}

/// Tries a scenario. If a trial does not end within [`Limits::patience`], this function abandons
/// the trial. The thread of an abandoned trial continues until the process ends.
pub fn trial(text: &str, limits: &Limits) -> Report {
    let (text, limits) = (text.to_owned(), *limits);
    let report = patiently(limits.patience, move || {
        let mut findings = Vec::new();
        let end = try_out(&text, &limits, &mut findings);
        Report { end, findings }
    });
    report.unwrap_or_else(|finding| Report {
        end: End::Failed,
        findings: vec![finding],
    })
}

/// Returns the result of a task, or a finding if the task does not end within `patience`.
pub(crate) fn patiently<T: Send + 'static>(
    patience: Duration,
    task: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Finding> {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        // Ignore the result, because sending fails if the time limit has passed.
        let _ = sender.send(task());
    });
    receiver.recv_timeout(patience).map_err(|_| {
        let what = match thread.is_finished() {
            true => "the trial itself panicked".to_owned(),
            false => format!("in {} s", patience.as_secs()),
        };
        Finding::new("does not end", what)
    })
}

fn try_out(text: &str, limits: &Limits, found: &mut Vec<Finding>) -> End {
    linux(text, found);
    let Some(loaded) = caught("when loaded", found, || load(text, EngineKind::Sim)) else {
        return End::Failed;
    };
    let scenario = match loaded {
        Ok(scenario) => scenario,
        Err(message) => return End::Refused(message),
    };
    same_ids(text, &scenario, found);
    let Point { plan, seed, .. } = &scenario.points[0];
    let estimate = estimate_memory(plan);
    if estimate > limits.memory {
        return End::Large;
    }
    let before = heap::reset();
    let first = caught("in the run", found, || {
        run(plan, *seed, SLICE, 0, limits, true)
    });
    let Some((outcome, mut broken)) = first else {
        return End::Failed;
    };
    found.append(&mut broken);
    let took = (heap::most() - before).max(0) as u64;
    // The number of marks and drops cannot be predicted if segments are retransmitted very often.
    // Therefore assume the largest possible number of rows.
    let rows = if plan.record.events { EVENT_ROWS } else { 0 };
    if took > 2 * estimate + (16 << 20) + rows {
        let what = format!("{} MiB, estimated {} MiB", took >> 20, estimate >> 20);
        found.push(Finding::new("more memory than estimated", what));
    }
    let Some(outcome) = outcome else {
        return End::Failed;
    };
    let whole = outcome.now_ns >= plan.duration.ns();
    if whole {
        caught("in the summary", found, || {
            let mut wrong = Vec::new();
            invariants::check(plan, *seed, &outcome.measured, &mut wrong);
            wrong
        })
        .into_iter()
        .for_each(|mut wrong| found.append(&mut wrong));
    }
    if limits.twice && whole {
        // The first run may exceed the event limit by up to a slice. Allow more events in the
        // second run, so that the second run does not stop earlier.
        let limits = &Limits {
            events: 2 * limits.events,
            ..*limits
        };
        let again = caught("only the second time", found, || {
            run(plan, *seed, AGAIN.0, AGAIN.1, limits, false).0
        });
        if let Some(Some(again)) = again {
            let bytes = |outcome: &Outcome| postcard::to_stdvec(outcome).expect("plain data");
            if bytes(&again.measured) != bytes(&outcome.measured) {
                found.push(Finding::new(
                    "not deterministic",
                    "other bytes the second time",
                ));
            }
        }
    }
    if whole { End::Done } else { End::Cut }
}

/// Checks that the kernel engine either rejects the scenario or makes a job from it.
fn linux(text: &str, found: &mut Vec<Finding>) {
    let mut wrong = None;
    caught("when loaded for the kernel", found, || {
        if let Ok(scenario) = load(text, EngineKind::Kernel) {
            let point = &scenario.points[0];
            match map::map(&point.plan, point.seed, &KIT) {
                Ok(job) => drop(job.to_string()),
                Err(refused) => wrong = refused.into_iter().next().map(|no| no.message),
            }
        }
    });
    if let Some(message) = wrong {
        found.push(Finding::new(
            "accepted for the kernel, then refused",
            message,
        ));
    }
}

/// Checks that the scenario has the same run ids when it is loaded again, and when it is written in
/// another notation.
fn same_ids(text: &str, scenario: &Scenario, found: &mut Vec<Finding>) {
    let Ok(mut table) = text.parse::<toml::Table>() else {
        return;
    };
    let title = toml::Value::String("another".to_owned());
    table.insert("title".to_owned(), title);
    let ids = |scenario: &Scenario| -> Vec<String> {
        let points = scenario.points.iter();
        points.map(|point| point.run_id.clone()).collect()
    };
    for (how, text) in [("again", text), ("in other words", &table.to_string())] {
        match load(text, EngineKind::Sim) {
            Ok(again) if ids(&again) == ids(scenario) => {}
            Ok(_) => found.push(Finding::new("a run of another name", how)),
            Err(message) => found.push(Finding::new("refused the second time", message)),
        }
    }
}

/// The measurements of a run, and the simulated time at which the run stopped.
struct Ran {
    measured: Outcome,
    now_ns: u64,
}

/// Runs a plan for at most the number of events in `limits`. Returns the measurements if the run
/// ended.
pub(crate) fn run_whole(plan: &Arc<Plan>, seed: u64, limits: &Limits) -> Option<Outcome> {
    let (ran, _) = run(plan, seed, SLICE, 0, limits, false);
    let ran = ran.filter(|ran| ran.now_ns >= plan.duration.ns());
    ran.map(|ran| ran.measured)
}

/// Runs a plan. The result contains no measurements if the run does not end.
fn run(
    plan: &Arc<Plan>,
    seed: u64,
    slice: u64,
    first_segment: u64,
    limits: &Limits,
    census: bool,
) -> (Option<Ran>, Vec<Finding>) {
    let mut network = Network::numbered_from(plan, seed, first_segment);
    let mut found = Vec::new();
    let (mut events, mut here) = (0, 0);
    let mut now = network.now();
    let mut packets = Vec::new();
    loop {
        let goes_on = network.advance(slice);
        events += slice;
        if plan.record.packets {
            packets.clear();
            network.take_packets(&mut packets);
            if packets.windows(2).any(|two| two[0].time > two[1].time) {
                found.push(Finding::new("packets out of order", network.now()));
            }
        }
        // The results omit drops during the warm-up, so check the sums of packet counts only
        // without a warm-up.
        if census && plan.warmup.ns() == 0 {
            let all = network.census();
            if all.entered != all.ended + all.inside + all.dropped {
                found.push(Finding::new(
                    "packets are not conserved",
                    format!("{all:?}"),
                ));
                return (None, found);
            }
        }
        if !goes_on {
            break;
        }
        here = if network.now() == now {
            here + slice
        } else {
            0
        };
        now = network.now();
        if here > STANDSTILL {
            found.push(Finding::new("time stands still", now));
            return (None, found);
        }
        if events > limits.events && here == 0 {
            break;
        }
    }
    let now_ns = network.now().ns();
    let measured = network.finish();
    (Some(Ran { measured, now_ns }), found)
}
