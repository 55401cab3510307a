//! Stores the result of a guest as a run folder. The caller boots and monitors the guest, and calls
//! this module after the guest has ended.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use tailback_guest::result::{FILE, GuestResult};
use tailback_record::folder::{Store, Timing};
use tailback_record::stored::PROGRAMS;
use tailback_scenario::{EngineKind, Point};

use crate::{Failure, capture, machine, manifest, panics};

/// Largest size of a result file, bytes. Every valid result file is smaller.
const MAX_RESULT: u64 = 2 << 30;

/// The names and values of the numbers that were read from output files, for each program.
pub type Numbers = BTreeMap<String, Vec<(String, Option<f64>)>>;

/// The caller's measurements of a guest's run.
pub struct Ran<'a> {
    /// Description of the guest kernel, as JSON.
    pub environment: &'a str,
    /// Wall time of the guest, s.
    pub wall_s: f64,
    /// CPU time of the guest, s.
    pub cpu_s: f64,
    /// Peak memory use of the guest, bytes.
    pub memory_bytes: u64,
    /// Numbers from the output files of programs. `None` if a number was not found.
    pub numbers: Numbers,
}

/// Stores the files in the guest's result folder as a run. Returns the guest's warnings about
/// programs.
///
/// # Errors
/// Returns why nothing was stored: a file cannot be read or written, or the results contradict each
/// other.
pub fn store(
    point: &Point,
    store: &Store,
    results: &Path,
    ran: &Ran<'_>,
) -> Result<Vec<String>, Failure> {
    let GuestResult {
        mut outcome,
        environment,
        about_programs,
    } = read(&results.join(FILE))?;
    let mut whole: serde_json::Value =
        serde_json::from_str(ran.environment).map_err(io::Error::from)?;
    whole["guest"] = serde_json::to_value(&environment).map_err(io::Error::from)?;
    let packets = results.join(capture::FILE);
    if packets.exists() {
        let target = store.scratch_file(&point.run_id, capture::FILE)?;
        move_file(&packets, &target)?;
    }
    let programs = results.join(PROGRAMS);
    if programs.exists() {
        let target = store.scratch_file(&point.run_id, PROGRAMS)?;
        std::fs::rename(&programs, &target)?;
    }
    for program in &mut outcome.programs {
        program.numbers = ran.numbers.get(&program.name).cloned().unwrap_or_default();
    }
    let timing = Timing {
        wall_s: ran.wall_s,
        cpu_s: ran.cpu_s,
        host: machine::name(),
        data_packets: outcome.data_packets,
        events: outcome.events,
        memory_bytes: Some(ran.memory_bytes),
    };
    let manifest = manifest::of(point, EngineKind::Kernel, Some(whole))?;
    // If values in a guest's result contradict each other, `write` may panic. Catch this panic, so
    // that only the run fails, instead of the whole sweep.
    let written = panics::caught(|| store.write(&manifest, &outcome, &timing));
    written.map_err(|_| {
        store.discard(&point.run_id);
        io::Error::other("the guest's result contradicts itself")
    })??;
    Ok(about_programs)
}

fn read(path: &Path) -> io::Result<GuestResult> {
    let named = |message: String| io::Error::other(format!("{}: {message}", path.display()));
    let size = std::fs::metadata(path)?.len();
    if size > MAX_RESULT {
        return Err(named(format!("{} MiB", size >> 20)));
    }
    postcard::from_bytes(&std::fs::read(path)?).map_err(|e| named(e.to_string()))
}

/// Moves a file. If the new path is on another file system, copies the file.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to).or_else(|_| std::fs::copy(from, to).map(drop))
}
