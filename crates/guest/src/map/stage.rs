//! Maps the stages after a link (delay, jitter, loss, serialisation of a wire, transmission in
//! slots) to arguments of netem.

use tailback_engine::plan::{LinkMode, LinkPlan, SlotsPlan};
use tailback_engine::rng::Stream;
use tailback_engine::units::{Rate, Time};

use super::events::WireChange;
use super::tc::time;

/// Arguments that make netem keep the order of packets. netem keeps the order only if a rate is
/// set. The rate in these arguments delays a frame of 12,500 bytes by less than a nanosecond.
const KEEPS_ORDER: &str = "rate 100tbit";

/// Returns netem's arguments for a delay and a jitter of up to `jitter`. The arguments prevent
/// reordering.
pub(super) fn delay_words(delay: Time, jitter: Time, seed: Option<u64>) -> String {
    match (delay, jitter) {
        (Time::ZERO, Time::ZERO) => String::new(),
        (delay, Time::ZERO) => format!("delay {}", time(delay)),
        (delay, jitter) => {
            let half = Time(jitter.ns() / 2);
            let seed = seed.map_or(String::new(), |s| format!(" seed {s}"));
            let mean = time(delay + half);
            format!("delay {mean} {} {KEEPS_ORDER}{seed}", time(half))
        }
    }
}

/// Returns the arguments of a netem whose packets leave in slots.
pub(super) fn slot_words(slots: &SlotsPlan) -> String {
    let mut words = vec![format!("slot {} {}", time(slots.min), time(slots.max))];
    let limits = [("packets", slots.packets.into()), ("bytes", slots.bytes.0)];
    for (name, most) in limits.into_iter().filter(|limit| limit.1 > 0) {
        words.push(format!("{name} {most}"));
    }
    words.join(" ")
}

#[derive(Clone)]
pub(super) struct Stage {
    /// Rate in bit/s and overhead in bytes, if this netem serialises packets.
    pub wire: Option<(Rate, i32)>,
    delay: Time,
    jitter: Time,
    loss: f64,
    slots: Option<SlotsPlan>,
    seed: u64,
    /// Whether the delay changes during the run. Even if the delay changes, packets keep their
    /// order, as in the simulator.
    keeps_order: bool,
    /// The delay and the loss after each event that changes one of them.
    changes: Vec<WireChange>,
}

impl Stage {
    pub fn loses(&self) -> bool {
        self.loss > 0.0 || self.changes.iter().any(|change| change.loss > 0.0)
    }

    /// Returns the arguments of netem over time. Each item is a time and the arguments that apply
    /// from this time on. `steps` contains the steps of the link's rate.
    pub fn timeline(&self, steps: &[(Time, Rate)], name: &str) -> Vec<(Time, String)> {
        // netem treats a rate of 0 as no limit. During an outage (rate 0), no packet reaches netem,
        // so the old rate can stay.
        let steps = steps.iter().skip(1).filter(|step| step.1 != Rate(0));
        let steps = steps.filter(|_| self.wire.is_some());
        let mut times: Vec<Time> = self.changes.iter().map(|change| change.at).collect();
        times.extend(steps.clone().map(|step| step.0));
        times.sort_unstable();
        times.dedup();
        let mut seeds = Stream::new(self.seed, name, "netem changes");
        let lines = times.into_iter().map(|now| {
            let mut stage = self.clone();
            let change = self.changes.iter().rfind(|change| change.at <= now);
            if let Some(change) = change {
                (stage.delay, stage.loss) = (change.delay, change.loss);
            }
            // When the arguments of netem change, netem restarts its random numbers from the seed.
            if !self.changes.is_empty() {
                stage.seed = seeds.bits();
            }
            let rate = steps.clone().rfind(|step| step.0 <= now);
            (now, stage.words(rate.map(|step| step.1)))
        });
        lines.collect()
    }

    /// Returns the arguments of netem. If `rate` is given, it replaces the rate of this stage.
    pub fn words(&self, rate: Option<Rate>) -> String {
        let seed = self.seed;
        let mut words = Vec::new();
        let delay = delay_words(self.delay, self.jitter, None);
        if !delay.is_empty() {
            words.push(delay);
        }
        if self.keeps_order && self.wire.is_none() && self.jitter == Time::ZERO {
            words.push(KEEPS_ORDER.to_owned());
        }
        if self.loss > 0.0 {
            words.push(format!("loss random {}%", self.loss * 100.0));
        }
        if let Some(slots) = &self.slots {
            words.push(slot_words(slots));
        }
        if let Some((at_first, overhead)) = self.wire {
            let rate = rate.unwrap_or(at_first).0;
            words.push(match overhead {
                0 => format!("rate {rate}bit"),
                n => format!("rate {rate}bit {n}"),
            });
        }
        if self.loss > 0.0 || self.jitter > Time::ZERO {
            words.push(format!("seed {seed}"));
        }
        words.join(" ")
    }
}

/// Returns the netems after a link, in the order in which packets pass them. Serialisation and
/// jitter need separate netems, because a netem with serialisation would space out packets that the
/// jitter has bunched. Slots need a third netem, because packets wait for a slot only after their
/// delay.
pub(super) fn stages(link: &LinkPlan, seed: u64, changes: Vec<WireChange>) -> Vec<Stage> {
    let wire = (link.mode == LinkMode::Wire).then(|| (link.rate.nominal(), link.overhead));
    let jittered = link.jitter > Time::ZERO;
    let seed = Stream::new(seed, &link.name, "netem").bits();
    let plain = Stage {
        wire: None,
        delay: Time::ZERO,
        jitter: Time::ZERO,
        loss: 0.0,
        slots: None,
        seed,
        keeps_order: false,
        changes: Vec::new(),
    };
    let mut stages = Vec::new();
    if wire.is_some() && jittered {
        stages.push(Stage {
            wire,
            ..plain.clone()
        });
    }
    let last = Stage {
        wire: wire.filter(|_| !jittered),
        delay: link.delay,
        jitter: link.jitter,
        loss: link.loss,
        keeps_order: changes.iter().any(|change| change.delay != link.delay),
        changes,
        ..plain.clone()
    };
    if !last.changes.is_empty() || !last.words(None).is_empty() {
        stages.push(last);
    }
    if let Some(slots) = &link.slots {
        stages.push(Stage {
            delay: slots.delay,
            slots: Some(slots.clone()),
            ..plain
        });
    }
    stages
}
