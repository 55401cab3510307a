//! Simulates a plan on several cores.

use std::sync::Arc;
use std::thread;

use tailback_engine::crates::Fault;
use tailback_engine::network::parts::{Ended, Meeting, Split};
use tailback_engine::plan::Plan;
use tailback_engine::units::Time;
use tailback_record::Outcome;

use crate::{Control, machine, panics};

/// The result of a simulation on several cores.
pub struct OnCores {
    /// The measurements, or why the simulation did not complete.
    pub outcome: Result<Box<Outcome>, NoOutcome>,
    /// CPU time of all threads other than the calling thread, s.
    pub elsewhere_s: f64,
}

/// Why a simulation did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoOutcome {
    /// The run was cancelled.
    Cancelled,
    /// The run must be simulated on one core instead of several cores. Either the order of
    /// simultaneous events is ambiguous, the run records too many rows, or no more threads can be
    /// started.
    Whole,
}

/// Simulates a plan with a seed until the end of the run. Uses one thread for each part of the
/// plan.
///
/// # Panics
/// If the engine panics, on any thread.
pub fn simulate(plan: &Arc<Plan>, seed: u64, control: &Control, split: &Split) -> OnCores {
    control.begin();
    let meeting = &Meeting::new(split);
    let duration = plan.duration.ns().max(1) as f64;
    let mut look = |now: Time| {
        control.progress(now.ns() as f64 / duration);
        !control.is_cancelled()
    };
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for own in 1..split.parts() {
            let play = move || {
                let played = panics::caught(|| split.play(plan, seed, own, meeting, &mut |_| true));
                played.map(|(_, network)| (network, machine::thread_cpu_s()))
            };
            match thread::Builder::new().spawn_scoped(scope, play) {
                Ok(thread) => threads.push(thread),
                Err(_) => meeting.give_up(),
            }
        }
        let all = threads.len() + 1 == split.parts();
        let (ended, first) = split.play(plan, seed, 0, meeting, &mut look);
        let (mut others, mut elsewhere_s) = (Vec::new(), 0.0);
        for thread in threads {
            match thread.join() {
                Ok(Ok((network, taken_s))) => {
                    others.push(network);
                    elsewhere_s += taken_s;
                }
                // The message already contains the location of the panic.
                Ok(Err(message)) => std::panic::panic_any(Fault(message)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        let outcome = match ended {
            Ended::Done => {
                assert!(!control.panics(), "this run was asked to panic");
                control.progress(1.0);
                Ok(Box::new(first.join(others).finish()))
            }
            Ended::Whole => Err(NoOutcome::Whole),
            Ended::Broken if !all => Err(NoOutcome::Whole),
            Ended::Stopped | Ended::Broken => Err(NoOutcome::Cancelled),
        };
        OnCores {
            outcome,
            elsewhere_s,
        }
    })
}
