//! A plan through the simulator, in slices: no files, no clock, no threads.

use std::io;
use std::sync::Arc;

use tailback_engine::capture::PacketEvent;
use tailback_engine::crates::installed;
use tailback_engine::network::Network;
use tailback_engine::plan::Plan;
use tailback_record::Outcome;

use crate::Control;

/// Calendar events between two looks at the control: some 20 ms of work, so that a wish to stop
/// is answered at once and the look costs nothing.
const SLICE_EVENTS: u64 = 200_000;

/// The same where packets are recorded: what a slice leaves is kept until its end.
const SLICE_EVENTS_RECORDING: u64 = 20_000;

/// The same with code of plugins, which may be slow: that it goes on is seen by its progress.
const SLICE_EVENTS_WATCHED: u64 = 1_000;

/// Takes the packets that were recorded since it was last called, in the order of time.
pub type Recorder<'a> = dyn FnMut(&[PacketEvent]) -> io::Result<()> + 'a;

/// Plays a plan with a seed to its end; `None` when it was cancelled.
///
/// # Errors
/// What the recorder could not write.
///
/// # Panics
/// Whatever in the engine panics: see [`crate::panics::caught`].
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
        if !goes_on {
            break;
        }
        control.progress(network.now().ns() as f64 / duration);
    }
    assert!(!control.panics(), "this run was asked to panic");
    control.progress(1.0);
    Ok(Some(network.finish()))
}
