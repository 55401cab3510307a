//! Maps a link's queue to arguments of tc.

use tailback_engine::aqm;
use tailback_engine::plan::{Algorithm, LinkPlan};
use tailback_engine::registry::kernel::{self, Kernel, Order, Shaper};
use tailback_engine::registry::{Options, Value, find};
use tailback_engine::units::Time;

use super::kits::Kits;
use super::modules::Modules;
use super::refuse::{Refusals, instead};
use crate::job::{DropsAt, Limit};

/// A queue discipline, as arguments of tc.
pub(super) struct Qdisc {
    pub kind: String,
    /// The tc arguments that follow the kind of the queue discipline.
    pub words: String,
    /// The queue's limit in packets or bytes.
    pub limit: Limit,
    /// Whether the queue is adaptive RED, whose adaptation timer the agent has to start.
    pub adapts: bool,
    /// Whether the AQM drops packets when they arrive or when they depart.
    pub drops_at: DropsAt,
    /// The changes that events make during the run, in order.
    pub changes: Vec<QdiscChange>,
    /// How the kernel implements this kind of queue, from the registry.
    face: Option<&'static kernel::Qdisc>,
}

/// A change of a queue during the run.
pub(super) struct QdiscChange {
    pub at: Time,
    /// The tc arguments that follow the kind of the queue discipline.
    pub words: String,
    /// The queue's limit from this time on.
    pub limit: Limit,
}

impl Qdisc {
    fn new(kind: &str, words: String, limit: Limit) -> Qdisc {
        let face = aqm::face(kind);
        Qdisc {
            kind: kind.to_owned(),
            words,
            limit,
            adapts: false,
            changes: Vec::new(),
            drops_at: drops_at(face, &Options::default()),
            face,
        }
    }

    /// Adds a change during the run. Changes must be in the order of time.
    pub fn change(&mut self, at: Time, words: String, limit: Limit) {
        self.changes.push(QdiscChange { at, words, limit });
    }

    /// Returns the options of the queue's own shaper, if it has one.
    pub fn shaper(&self) -> Option<&'static Shaper> {
        self.face?.shaper
    }

    /// Returns whether all flows share one first-in, first-out queue.
    pub fn in_order(&self) -> bool {
        self.face.is_some_and(|face| face.order == Order::Arrival)
    }

    /// Returns whether the agent creates the queue itself, because tc does not support its
    /// kind.
    pub fn is_text(&self) -> bool {
        let kind = self.kind.as_str();
        self.face.is_some_and(|face| face.texts.contains(&kind))
    }

    /// Returns whether the queue keeps the packets of each flow in order. Returns false for a kind
    /// of queue that the registry does not contain.
    pub fn keeps_order(&self) -> bool {
        self.face.is_some()
    }

    /// Returns whether the queue splits packets that consist of joined segments.
    pub fn splits(&self) -> bool {
        let whole = self.face.map_or(&[][..], |face| face.splits_unless);
        !whole.is_empty() && !whole.iter().any(|words| self.words.contains(words))
    }

    /// Rejects settings that the queue's own shaper does not support.
    pub fn check(&self, path: &str, link: &LinkPlan, refusals: &mut Refusals) {
        let Some(shaper) = self.shaper() else { return };
        refusals.at(path, (shaper.check)(&self.words, link.overhead));
    }
}

/// Returns the queue of a link. If the queue needs a module, adds this module to the list of
/// modules to load.
pub(super) fn queue(
    path: &str,
    link: &LinkPlan,
    kit: &Kits<'_>,
    modules: &mut Modules,
    refusals: &mut Refusals,
) -> Qdisc {
    let at = format!("{path}.queue");
    let qdisc = match &link.queue {
        Algorithm::Kernel { name, args } => {
            if args.chars().any(char::is_control) || name.contains(char::is_whitespace) {
                refusals.add(&at, "tc reads one line", "words without line breaks");
            }
            Qdisc::new(name, args.clone(), Limit::Unknown)
        }
        Algorithm::Known { name, options } => {
            let face = match find(aqm::TABLE.entries(), name).map(|entry| entry.kernel) {
                Some(Kernel::Qdisc(face)) if !face.kinds.is_empty() => face,
                _ => {
                    refusals.add(
                        &format!("{at}.aqm"),
                        format!("the kernel engine does not support {name}"),
                        instead(name, kit.qdiscs.keys()),
                    );
                    return Qdisc::new(name, String::new(), Limit::Unknown);
                }
            };
            let spelled = face.spell(options, link.rate.nominal());
            refusals.at(&at, spelled.refused);
            Qdisc {
                adapts: options.get("adaptive") == Some(&Value::Bool(true)),
                drops_at: drops_at(Some(face), options),
                ..Qdisc::new(spelled.kind, spelled.words, limit(options))
            }
        }
    };
    let module = stand_in(&link.queue, link.module.as_deref());
    modules.qdisc(path, &qdisc.kind, module, kit, refusals);
    qdisc
}

/// Returns the arguments of `tc qdisc change` for the options that differ. For some values, tc has
/// no argument. This function rejects a change to a value without an argument, because tc would
/// keep the old value.
pub(super) fn changed(
    path: &str,
    old: &LinkPlan,
    new: &LinkPlan,
    refusals: &mut Refusals,
) -> String {
    let (Some((name, before)), Some((_, after))) = (old.queue.known(), new.queue.known()) else {
        return String::new();
    };
    let face = match find(aqm::TABLE.entries(), name).map(|entry| entry.kernel) {
        Some(Kernel::Qdisc(face)) => face,
        _ => return String::new(),
    };
    let rate = new.rate.nominal();
    for (option, value) in after.iter() {
        let mut one = before.clone();
        one.set(option, value.clone());
        let silent = face.spell_changed(before, &one, rate).words.is_empty();
        if silent && face.spell(before, rate).words != face.spell(&one, rate).words {
            refusals.add(
                path,
                format!("tc does not change {option} of {name} to this value"),
                "--engine sim, or another value",
            );
        }
    }
    face.spell_changed(before, after, rate).words
}

/// Returns the module that replaces Linux's queue discipline on a link. If the scenario names a
/// module, returns this module. If the scenario names no module, returns a tailback module for a
/// kind or an option that Linux does not support.
pub(super) fn stand_in<'a>(queue: &'a Algorithm, module: Option<&'a str>) -> Option<&'a str> {
    module.or_else(|| {
        let (name, options) = queue.known()?;
        match find(aqm::TABLE.entries(), name)?.kernel {
            Kernel::Qdisc(face) => face.stand_in(options),
            _ => None,
        }
    })
}

fn drops_at(face: Option<&kernel::Qdisc>, options: &Options) -> DropsAt {
    let on_arrival = |face: &kernel::Qdisc| {
        let known = face.drops_on_arrival_if;
        known.is_some_and(|(option, word)| options.get(option) == Some(&Value::Word(word)))
    };
    match face {
        Some(face) if face.drops_at_dequeue && !on_arrival(face) => DropsAt::Dequeue,
        _ => DropsAt::Enqueue,
    }
}

fn limit(options: &Options) -> Limit {
    match options.get("limit") {
        Some(Value::Packets(n)) => Limit::Packets(*n),
        Some(Value::Bytes(b)) => Limit::Bytes(b.0),
        _ => Limit::Unknown,
    }
}

/// Formats a time in us. If the time is not a whole number of us, formats it in ns. netem and `ip`
/// accept both units.
pub(super) fn time(t: Time) -> String {
    if t.ns().is_multiple_of(1_000) {
        format!("{}us", t.ns() / 1_000)
    } else {
        format!("{}ns", t.ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_nanoseconds() {
        assert_eq!(time(Time::from_ms(10)), "10000us");
        assert_eq!(time(Time(12_345)), "12345ns");
    }
}
