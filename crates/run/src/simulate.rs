//! Simulates a plan in slices, without files, clocks or threads.

use std::io;
use std::sync::Arc;

use tailback_engine::capture::PacketEvent;
use tailback_engine::crates::{Fault, installed};
use tailback_engine::network::Network;
use tailback_engine::plan::Plan;
use tailback_record::Outcome;

use crate::Control;

/// Number of calendar events after which the simulation checks again whether the caller has
/// requested that it stop. The simulator needs about 20 ms to process this number of events. A run
/// therefore stops soon after the request, and the checks take almost no time.
const SLICE_EVENTS: u64 = 200_000;

/// Number of events between two checks if packets are recorded. The number is smaller than
/// `SLICE_EVENTS`, because recorded packets stay in memory until the next check.
const SLICE_EVENTS_RECORDING: u64 = 20_000;

/// Number of events between two checks if plugins run. The number is smaller than `SLICE_EVENTS`,
/// because plugins may be slow and the run should show progress.
const SLICE_EVENTS_WATCHED: u64 = 1_000;

/// A function that writes the packets that were recorded since its last call, in the order of time.
pub type Recorder<'a> = dyn FnMut(&[PacketEvent]) -> io::Result<()> + 'a;

/// Simulates a plan with a seed until the end of the run. Returns `None` if the run was cancelled.
///
/// # Errors
/// Returns the error of the recorder.
///
/// # Panics
/// If the engine panics (see [`crate::panics::caught`]).
pub fn simulate(
    plan: &Arc<Plan>,
    seed: u64,
    control: &Control,
    record: &mut Recorder<'_>,
) -> io::Result<Option<Outcome>> {
    control.begin();
    let mut network = Network::new(plan, seed);
    let duration = plan.duration.ns().max(1) as f64;
    let slice = if !installed().is_empty() {
        SLICE_EVENTS_WATCHED
    } else if plan.record.packets {
        SLICE_EVENTS_RECORDING
    } else {
        SLICE_EVENTS
    };
    let mut packets = Vec::new();
    loop {
        if control.is_cancelled() {
            return Ok(None);
        }
        let goes_on = network.advance(slice);
        packets.clear();
        network.take_packets(&mut packets);
        if !packets.is_empty() {
            record(&packets)?;
        }
        if let Some(fault) = network.endpoint_fault() {
            let mut names = plan.each_program().map(|entry| entry.name());
            let name = names.nth(fault.entry).unwrap_or_default();
            // Like a panic inside an endpoint, this panic ends only this run.
            std::panic::panic_any(Fault(format!(
                "the {} of \"{name}\" {} (at {:.6} s)",
                fault.side.name(),
                fault.kind.describe(),
                fault.at.as_secs_f64()
            )));
        }
        if !goes_on {
            break;
        }
        control.progress(network.now().ns() as f64 / duration);
    }
    assert!(!control.panics(), "this run was asked to panic");
    control.progress(1.0);
    Ok(Some(network.finish()))
}
