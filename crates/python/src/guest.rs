//! The kernel engine's part in Rust: what the guest is told, and its result as
//! a run folder. Booting and watching it is Python's (engines/kernel.py).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use tailback_guest::job::Job;
use tailback_guest::map::{self, Kit};
use tailback_guest::result::{FILE, GuestResult};
use tailback_record::folder::{Manifest, Timing};
use tailback_scenario::Point;

use crate::run::{CAPTURE, Store, follows, host, os_error};

/// What a kit has, from JSON.
pub fn kit(text: &str) -> PyResult<Kit> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(format!("kit: {e}")))
}

fn mapped(point: &Point, kit: &Kit) -> PyResult<Job> {
    map::map(&point.plan(), kit).map_err(|refusals| {
        let all: Vec<String> = refusals
            .iter()
            .map(|r| format!("{}: {}", r.path, r.message))
            .collect();
        PyValueError::new_err(all.join("; "))
    })
}

/// The job of a point, as JSON for the guest.
pub fn job(point: &Point, kit: &Kit) -> PyResult<String> {
    serde_json::to_string(&mapped(point, kit)?).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// A job as the lines of `ip` and `tc` that it consists of, to be read.
pub fn script(point: &Point, kit: &Kit) -> PyResult<String> {
    Ok(mapped(point, kit)?.to_string())
}

/// What ran, beyond what the guest says of itself.
pub struct Host<'a> {
    /// Version of the engine.
    pub engine_version: &'a str,
    /// What the host knows of the kit, as JSON.
    pub environment: &'a str,
    /// Wall time of the guest, s.
    pub wall_s: f64,
    /// Its CPU time, s.
    pub cpu_s: f64,
    /// The most memory it held, bytes.
    pub memory_bytes: u64,
}

/// More than a result with every row of its series has, bytes.
const MAX_RESULT: u64 = 2 << 30;

/// Stores what the guest left in its result folder; gives its warnings.
pub fn store(
    point: &Point,
    store: &Store,
    results: &Path,
    host_says: &Host<'_>,
) -> PyResult<Vec<String>> {
    let path = results.join(FILE);
    let size = std::fs::metadata(&path).map_err(os_error)?.len();
    if size > MAX_RESULT {
        let mib = size >> 20;
        return Err(PyOSError::new_err(format!("{}: {mib} MiB", path.display())));
    }
    let bytes = std::fs::read(&path).map_err(os_error)?;
    let GuestResult {
        outcome,
        environment,
    } = postcard::from_bytes(&bytes)
        .map_err(|e| PyOSError::new_err(format!("{}: {e}", path.display())))?;
    let json = |e: serde_json::Error| PyOSError::new_err(e.to_string());
    let mut whole: serde_json::Value = serde_json::from_str(host_says.environment).map_err(json)?;
    whole["guest"] = serde_json::to_value(&environment).map_err(json)?;
    let capture = results.join(CAPTURE);
    if capture.exists() {
        let target = store
            .inner
            .scratch_file(&point.run_id, CAPTURE)
            .map_err(os_error)?;
        move_file(&capture, &target)?;
    }
    let timing = Timing {
        wall_s: host_says.wall_s,
        cpu_s: host_says.cpu_s,
        host: host(),
        data_packets: outcome.data_packets,
        events: outcome.events,
        memory_bytes: Some(host_says.memory_bytes),
    };
    let manifest = Manifest {
        run_id: &point.run_id,
        engine: "kernel",
        engine_version: host_says.engine_version,
        seed: point.seed,
        canonical: serde_json::from_str(&point.canonical).map_err(json)?,
        follows: follows(&point.shape),
        environment: Some(whole),
    };
    // What a guest says may contradict itself: that is this run's loss, not the sweep's.
    let write = || store.inner.write(&manifest, &outcome, &timing);
    let written = catch_unwind(AssertUnwindSafe(write)).map_err(|_| {
        store.inner.discard(&point.run_id);
        PyOSError::new_err("the guest's result contradicts itself")
    })?;
    written.map_err(os_error)?;
    Ok(environment.warnings)
}

/// Both are on one file system as a rule.
fn move_file(from: &Path, to: &PathBuf) -> PyResult<()> {
    if std::fs::rename(from, to).is_ok() {
        return Ok(());
    }
    std::fs::copy(from, to).map(drop).map_err(os_error)
}
