//! A plan through the simulator on several cores.

use std::sync::Arc;
use std::thread;

use tailback_engine::network::parts::{Ended, Meeting, Split};
use tailback_engine::plan::Plan;
use tailback_engine::units::Time;
use tailback_record::Outcome;

use crate::{Control, machine, panics};

/// What came of it.
pub enum OnCores {
    /// The run is over; CPU time of the cores besides this one, s.
    Done(Box<Outcome>, f64),
    /// It was cancelled.
    Cancelled,
    /// What is simultaneous in this run cannot be put in order, or there are more rows than are kept:
    /// it is to be played on one core.
    NotSo,
}

/// Plays a plan with a seed to its end, each part of it on a thread of its own.
///
/// # Panics
/// Whatever in the engine panics, on whichever thread.
pub fn simulate(plan: &Arc<Plan>, seed: u64, control: &Control, split: &Split) -> OnCores {
    let meeting = Meeting::new(split);
    let duration = plan.duration.ns().max(1) as f64;
    let play = |own: usize, look: &mut dyn FnMut(Time) -> bool| {
        let mut network = split.part(plan, seed, own);
        let ended = network.play_part(&meeting, look);
        (ended, network)
    };
    let mut looks = 0_u32;
    let mut look = |now: Time| {
        looks = looks.wrapping_add(1);
        // Windows may be as short as a microsecond.
        if looks.is_multiple_of(64) {
            control.progress(now.ns() as f64 / duration);
        }
        !control.is_cancelled()
    };
    let (ended, first, others, cpu_s) = thread::scope(|scope| {
        let play = &play;
        let threads: Vec<_> = (1..split.parts())
            .map(|own| {
                scope.spawn(move || {
                    let (_, network) = panics::caught(|| play(own, &mut |_| true))?;
                    Ok((network, machine::thread_cpu_s()))
                })
            })
            .collect();
        let (ended, first) = play(0, &mut look);
        let (mut others, mut cpu_s) = (Vec::new(), 0.0);
        for thread in threads {
            match thread.join() {
                Ok(Ok((network, taken_s))) => {
                    others.push(network);
                    cpu_s += taken_s;
                }
                // With the place where it was.
                Ok(Err::<_, String>(message)) => panic!("{message}"),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (ended, first, others, cpu_s)
    });
    match ended {
        Ended::Done => match first.join(others) {
            Some(network) => OnCores::Done(Box::new(network.finish()), cpu_s),
            None => OnCores::NotSo,
        },
        Ended::Stopped | Ended::Broken => OnCores::Cancelled,
        Ended::Unordered => OnCores::NotSo,
    }
}
