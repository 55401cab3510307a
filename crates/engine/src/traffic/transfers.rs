//! Transfers at equal distances, each over a TCP connection of its own: the load
//! of backups and of scheduled uploads.

use super::sizes::{self, Sizes};
use super::{Build, ECN, LIMIT, Source, Step, Transport};
use crate::needs::Needs;
use crate::registry::{Entry, Kernel, Kind, Opt};
use crate::rng::Stream;
use crate::units::Time;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "transfers",
    doc: "TCP transfers at equal distances, of Pareto or lognormal sizes.",
    follows: "scheduled transfers",
    options: &[
        Opt {
            name: "every",
            doc: "From one transfer to the next.",
            kind: Kind::Time { min: Time(100_000) },
            default: Some("1s"),
            tc: None,
        },
        sizes::ALPHA,
        sizes::MIN,
        sizes::MAX,
        sizes::SIZES,
        ECN,
        LIMIT,
    ],
    kernel: Kernel::Agent,
    needs: Needs::NONE,
    finish: sizes::finish,
    build: Build {
        source: |options, stream| {
            Box::new(Transfers {
                every: options.time("every"),
                sizes: Sizes::of(options),
                stream,
                due: None,
            })
        },
        transport: Transport::Connections {
            largest: |options| Sizes::of(options).largest(),
            gap: |options| options.time("every"),
        },
    },
};

struct Transfers {
    every: Time,
    sizes: Sizes,
    stream: Stream,
    /// When the next transfer begins; `None` before the start.
    due: Option<Time>,
}

impl Source for Transfers {
    fn next(&mut self, now: Time) -> Step {
        let due = *self.due.get_or_insert(now);
        if due > now {
            return Step::Wait(due);
        }
        self.due = Some(due + self.every);
        let bytes = self.sizes.draw(&mut self.stream);
        Step::Open { bytes }
    }
}
