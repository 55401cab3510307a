//! Runs a sweep point in the simulator, from the plan to the run folder.

use std::time::Instant;

use tailback_engine::network::parts::Split;
use tailback_record::folder::{Store, Timing};
use tailback_scenario::{EngineKind, Point};

use crate::capture::{self, Capture};
use crate::cores::{self, NoOutcome};
use crate::simulate::simulate;
use crate::{Control, Failure, left, machine, manifest, panics};

/// Runs a sweep point and stores the run folder. A run that does not complete leaves no files.
///
/// # Errors
/// Returns why no folder was stored.
pub fn run(point: &Point, store: &Store, control: &Control) -> Result<(), Failure> {
    let result = run_and_write(point, store, control);
    if result.is_err() {
        store.discard(&point.run_id);
    }
    result
}

fn run_and_write(point: &Point, store: &Store, control: &Control) -> Result<(), Failure> {
    let (wall, cpu) = (Instant::now(), machine::thread_cpu_s());
    let plan = &point.plan;
    let mut capture = match plan.record.packets {
        true => {
            let path = store.scratch_file(&point.run_id, capture::FILE)?;
            Some(Capture::create(path, plan)?)
        }
        false => None,
    };
    let mut elsewhere_s = 0.0;
    let simulated = panics::caught(|| {
        if let Some(split) = Split::of(plan, control.cores()) {
            let done = cores::simulate(plan, point.seed, control, &split);
            elsewhere_s = done.elsewhere_s;
            match done.outcome {
                Ok(outcome) => return Ok(Some(*outcome)),
                Err(NoOutcome::Cancelled) => return Ok(None),
                Err(NoOutcome::Whole) => {}
            }
        }
        simulate(
            plan,
            point.seed,
            control,
            &mut |packets| match &mut capture {
                Some(capture) => capture.write(packets),
                None => Ok(()),
            },
        )
    });
    let mut outcome = simulated
        .map_err(Failure::Panic)??
        .ok_or(Failure::Cancelled)?;
    outcome.packets = capture.map(Capture::finish).transpose()?;
    left::write(store, &point.run_id, &outcome)?;
    let timing = Timing {
        wall_s: wall.elapsed().as_secs_f64(),
        cpu_s: machine::thread_cpu_s() - cpu + elsewhere_s,
        host: machine::name(),
        data_packets: outcome.data_packets,
        events: outcome.events,
        memory_bytes: None,
    };
    let manifest = manifest::of(point, EngineKind::Sim, None)?;
    store.write(&manifest, &outcome, &timing)?;
    Ok(())
}
