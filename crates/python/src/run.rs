//! One run: the engine in slices, then the run folder.

use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use pyo3::exceptions::{PyOSError, PyPermissionError};
use pyo3::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use tailback_engine::network::Network;
use tailback_engine::plan::Plan;
use tailback_engine::registry::Entry;
use tailback_engine::{aqm, cc, traffic};
use tailback_record::Outcome;
use tailback_record::folder::{Manifest, Timing};
use tailback_scenario::Point;

use crate::packets::Capture;
use crate::{Cancelled, EnginePanic};

/// Calendar events between two looks at the control: some 20 ms of work, so
/// that Ctrl-C is answered at once and the look costs nothing.
const SLICE_EVENTS: u64 = 200_000;

/// The same where packets are recorded: what a slice leaves is kept until its end.
const SLICE_EVENTS_RECORDING: u64 = 20_000;

/// Name of the packet capture in a run folder.
pub const CAPTURE: &str = "packets.pcapng";

/// Folder of runs; removes the leftovers of killed processes when opened.
#[pyclass(frozen, module = "tailback._native")]
pub struct Store {
    pub(crate) inner: tailback_record::folder::Store,
}

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, root: PathBuf) -> PyResult<Store> {
        py.detach(|| tailback_record::folder::Store::open(&root))
            .map(|inner| Store { inner })
            .map_err(os_error)
    }

    /// Whether a run is finished and every file of it what was written.
    fn contains(&self, py: Python<'_>, run_id: &str) -> PyResult<bool> {
        py.detach(|| self.inner.contains(run_id)).map_err(os_error)
    }

    /// Moves a run that is not what was written to `runs/.damaged`, if it is one;
    /// what is wrong with it and where it is now, in a sentence. `found` is what somebody else
    /// found wrong, who looked at more than hashes.
    #[pyo3(signature = (run_id, found = None))]
    fn set_aside(
        &self,
        py: Python<'_>,
        run_id: &str,
        found: Option<&str>,
    ) -> PyResult<Option<String>> {
        py.detach(|| self.inner.set_aside(run_id, found))
            .map_err(os_error)
    }

    /// A new folder for whatever a run needs while it is under way. It is the
    /// caller's to remove, and goes with this process in any case.
    fn workplace(&self, run_id: &str) -> PyResult<PathBuf> {
        self.inner.workplace(run_id).map_err(os_error)
    }

    /// Folder of a run, whether it is finished or not.
    fn path(&self, run_id: &str) -> PathBuf {
        self.inner.path(run_id)
    }
}

/// Progress of a run, and the wish that it stop; shared between threads.
#[pyclass(frozen, module = "tailback._native")]
#[derive(Default)]
pub struct Control {
    cancelled: AtomicBool,
    /// Bits of a float from 0 to 1.
    fraction: AtomicU64,
    fail: bool,
}

#[pymethods]
impl Control {
    /// With `fail` the run panics halfway: for tests of what a panic costs.
    #[new]
    #[pyo3(signature = (*, fail = false))]
    fn new(fail: bool) -> Control {
        Control {
            fail,
            ..Control::default()
        }
    }

    /// Asks the run to stop.
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    #[getter]
    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Says how far the run is, from 0 to 1: for engines that are not compiled in.
    fn progress(&self, fraction: f64) {
        self.fraction.store(fraction.to_bits(), Ordering::Relaxed);
    }

    /// Simulated part of the duration, from 0 to 1.
    #[getter]
    fn fraction(&self) -> f64 {
        f64::from_bits(self.fraction.load(Ordering::Relaxed))
    }
}

thread_local! {
    static IN_RUN: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the message of a panic inside a run for that run's error instead of
/// printing it between the progress bar and the results.
pub fn keep_panics_of_runs() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if IN_RUN.get() {
            PANIC.set(Some(info.to_string()));
        } else {
            default(info);
        }
    }));
}

/// Runs a point and stores its folder.
pub fn run(point: &Point, store: &Store, control: &Control) -> PyResult<()> {
    let result = run_and_write(point, store, control);
    if result.is_err() {
        store.inner.discard(&point.run_id);
    }
    result
}

fn run_and_write(point: &Point, store: &Store, control: &Control) -> PyResult<()> {
    let wall = Instant::now();
    let cpu = thread_cpu_s();
    let capture = if point.plan.record.packets {
        let path = store.inner.scratch_file(&point.run_id, CAPTURE);
        Some(
            path.and_then(|path| Capture::create(path, &point.plan))
                .map_err(os_error)?,
        )
    } else {
        None
    };
    IN_RUN.set(true);
    let simulated = catch_unwind(AssertUnwindSafe(|| simulate(&point.plan, control, capture)));
    IN_RUN.set(false);
    let outcome = match simulated {
        Ok(Ok(Some(outcome))) => outcome,
        Ok(Ok(None)) => return Err(Cancelled::new_err(())),
        Ok(Err(error)) => return Err(os_error(error)),
        Err(_) => {
            let message = PANIC.take().unwrap_or_else(|| "no message".to_owned());
            return Err(EnginePanic::new_err((message,)));
        }
    };
    let timing = Timing {
        wall_s: wall.elapsed().as_secs_f64(),
        cpu_s: thread_cpu_s() - cpu,
        host: host(),
        data_packets: outcome.data_packets,
        events: outcome.events,
        memory_bytes: None,
    };
    let manifest = Manifest {
        run_id: &point.run_id,
        engine: "sim",
        engine_version: tailback_engine::VERSION,
        seed: point.seed,
        canonical: serde_json::from_str(&point.canonical)
            .map_err(|e| PyOSError::new_err(format!("canonical point: {e}")))?,
        follows: follows(&point.plan),
        environment: None,
    };
    store
        .inner
        .write(&manifest, &outcome, &timing)
        .map(drop)
        .map_err(os_error)
}

/// `None` when cancelled.
fn simulate(
    plan: &Plan,
    control: &Control,
    mut capture: Option<Capture>,
) -> io::Result<Option<Outcome>> {
    let mut network = Network::new(plan);
    let duration = plan.duration.ns().max(1) as f64;
    let slice = match capture {
        Some(_) => SLICE_EVENTS_RECORDING,
        None => SLICE_EVENTS,
    };
    let mut packets = Vec::new();
    loop {
        let goes_on = network.advance(slice);
        if let Some(capture) = &mut capture {
            packets.clear();
            network.take_packets(&mut packets);
            capture.write(&packets)?;
        }
        if !goes_on {
            break;
        }
        if control.cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let fraction = network.now().ns() as f64 / duration;
        control
            .fraction
            .store(fraction.to_bits(), Ordering::Relaxed);
    }
    assert!(!control.fail, "this run was asked to panic");
    control.fraction.store(1_f64.to_bits(), Ordering::Relaxed);
    let mut outcome = network.finish();
    outcome.packets = capture.map(Capture::finish).transpose()?;
    Ok(Some(outcome))
}

/// Name of this machine.
pub fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// What each algorithm of a plan follows, each once.
pub fn follows(plan: &Plan) -> Vec<(String, String)> {
    fn one<B>(kind: &str, entries: &[&'static Entry<B>], name: &str) -> Option<(String, String)> {
        let entry = tailback_engine::registry::find(entries, name)?;
        Some((format!("{kind}.{name}"), entry.follows.to_owned()))
    }
    let aqms = plan
        .links
        .iter()
        .map(|l| one("aqm", aqm::ENTRIES, l.queue.name()));
    let connections = plan.traffic.iter().filter_map(|t| t.connections.as_ref());
    let controls = plan.flows.iter().map(|f| &f.cc);
    let ccs = controls
        .chain(connections.map(|c| &c.cc))
        .map(|cc| one("cc", cc::ENTRIES, cc.name()));
    let sources = plan
        .traffic
        .iter()
        .map(|t| one("traffic", traffic::ENTRIES, t.kind));
    let all: std::collections::BTreeMap<String, String> =
        aqms.chain(ccs).chain(sources).flatten().collect();
    all.into_iter().collect()
}

fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// `PermissionError` where nothing may be written, `OSError` for anything else.
pub fn os_error(error: io::Error) -> PyErr {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            PyPermissionError::new_err(error.to_string())
        }
        _ => PyOSError::new_err(error.to_string()),
    }
}
