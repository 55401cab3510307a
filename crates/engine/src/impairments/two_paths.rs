//! This impairment models two parallel paths with different delays, as in a bonded link or in
//! equal-cost multipath routing. Packets on the same path keep their order. Packets on different
//! paths may overtake each other.
//!
//! How many packets are reordered depends on how the path is chosen. If the path is chosen for each
//! packet (`random`, `turns`), nearly all packets are reordered. With `flowlets`, packets are
//! reordered only if the delays of the paths differ by more than `gap`.

use super::options::{passes_all, share};
use super::{Build, Fate, Impairment, Way};
use crate::packet::{Packet, flags};
use crate::registry::kernel::{Kernel, Refused};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::rng::Stream;
use crate::units::Time;

const RANDOM: &str = "random";
const TURNS: &str = "turns";
const FLOWLETS: &str = "flowlets";

pub const ENTRY: Entry<Build> = Entry {
    name: "two_paths",
    doc: "Spreads packets over two parallel paths. The second path has a longer delay.",
    follows: "an example; no published source",
    options: &[
        share(
            "share",
            "Share of the packets (or flowlets) that take the second path.",
            Some("0.5"),
        ),
        Opt {
            name: "delay",
            doc: "Delay that the second path adds.",
            kind: Kind::Time { min: Time(1) },
            default: Some("5ms"),
            tc: None,
        },
        Opt {
            name: "spread",
            doc: "How the path is chosen. \"random\": at random for each packet. \"turns\": the \
                paths alternate, as evenly as the share allows. \"flowlets\": at random for each \
                flow, and again after each pause of at least `gap` in the flow.",
            kind: Kind::Word(&[RANDOM, TURNS, FLOWLETS]),
            default: Some(RANDOM),
            tc: None,
        },
        Opt {
            name: "gap",
            doc: "Pause after which a flow may take the other path (only with \"flowlets\").",
            kind: Kind::Time { min: Time(1) },
            default: Some("500us"),
            tc: None,
        },
    ],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        make: |options, stream| Box::new(TwoPaths::new(options, stream)),
        netem: |_| {
            Err(Refused::new(
                "kind",
                "netem has only one path, on which it can delay single packets",
                "kind = \"reorder\", which is the same as spread = \"random\"",
            ))
        },
        longest: |options| options.time("delay"),
        long_run: passes_all,
        copies: false,
    },
};

enum Spread {
    Random,
    /// Packets alternate between the two paths in proportion to the shares of the paths. The number
    /// is the fraction of a packet that the second path is still owed.
    Turns(f64),
    Flowlets {
        gap: Time,
        /// For each flow and direction: when the last packet arrived, and whether it took the
        /// second path.
        last: Vec<[Option<(Time, bool)>; 2]>,
    },
}

struct TwoPaths {
    share: f64,
    delay: Time,
    spread: Spread,
    stream: Stream,
}

impl TwoPaths {
    fn new(options: &Options, stream: Stream) -> TwoPaths {
        TwoPaths {
            share: options.float("share"),
            delay: options.time("delay"),
            spread: match options.word("spread") {
                RANDOM => Spread::Random,
                TURNS => Spread::Turns(0.0),
                _ => Spread::Flowlets {
                    gap: options.time("gap"),
                    last: Vec::new(),
                },
            },
            stream,
        }
    }

    fn takes_second(&mut self, packet: &Packet, now: Time) -> bool {
        match &mut self.spread {
            Spread::Random => self.stream.chance(self.share),
            Spread::Turns(owed) => {
                *owed += self.share;
                let second = *owed >= 1.0;
                *owed -= f64::from(u8::from(second));
                second
            }
            Spread::Flowlets { gap, last } => {
                let flow = packet.flow as usize;
                if last.len() <= flow {
                    last.resize(flow + 1, [None; 2]);
                }
                let last = &mut last[flow][usize::from(packet.has(flags::ACK))];
                let second = match *last {
                    Some((at, second)) if at + *gap > now => second,
                    _ => self.stream.chance(self.share),
                };
                *last = Some((now, second));
                second
            }
        }
    }
}

impl Impairment for TwoPaths {
    fn changeable(&self) -> &'static [&'static str] {
        &["share", "delay"]
    }

    fn change(&mut self, options: &Options) {
        self.share = options.float("share");
        self.delay = options.time("delay");
    }

    fn meet(&mut self, packet: &mut Packet, way: &mut Way) -> Fate {
        if self.takes_second(packet, way.now) {
            way.due += self.delay;
        }
        Fate::Goes
    }
}
