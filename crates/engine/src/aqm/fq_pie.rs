//! FQ-PIE: fair queueing with a separate PIE for each flow.
//!
//! tailback's FQ-PIE follows sch_fq_pie of Linux 7.3, even where the PIE in sch_fq_pie differs from
//! sch_pie. One timer updates the drop probabilities of all flows, including inactive flows. The
//! timer updates 2048 flows at once. Then the timer waits a jiffy (1 ms) before it updates the next
//! 2048 flows. When all flows are updated, the timer waits `tupdate` and begins with the first flow
//! again. If the queues of all flows together hold `limit` packets, arriving packets are dropped.
//! As in Linux, packets that exceed `memory_limit` are counted but not dropped. If the probability
//! is above `ecn_prob` (10 % in PIE), packets are dropped even if they are ECN-capable. Whether a
//! packet is dropped or marked depends on the backlog of its own flow. fair/mod.rs describes how
//! flows are distinguished, and pie.rs describes PIE.
//!
//! Known deviations: pie.rs and fair/mod.rs list the deviations that also apply to FQ-PIE.

use tailback_record::Cause;

use super::codel::Source;
use super::fair::{self, Fair};
use super::pie::{self, Params, Vars};
use super::{Backlog, Build, Dequeue, Queue, QueueContext, Setting, Sink, shrink};
use crate::packet::Packet;
use crate::registry::kernel::{Kernel, Order, Qdisc, Xstats, flag, micros, number};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::rng::Stream;
use crate::units::Time;

/// The registry entry of `fq_pie`.
pub const ENTRY: Entry<Build> = Entry {
    name: "fq_pie",
    doc: "FQ-PIE: fair queueing, with a separate PIE for each flow's queue.",
    follows: "Linux 7.3 sch_fq_pie",
    options: &[
        Opt {
            name: "limit",
            doc: "Largest length of all queues together, in packets; packets that arrive at a full \
                queue are dropped.",
            kind: Kind::Size {
                packets: true,
                bytes: false,
            },
            default: Some("10240p"),
            tc: Some("limit PACKETS"),
        },
        fair::FLOWS,
        pie::TARGET,
        Opt {
            name: "tupdate",
            doc: "Time between two updates of the probabilities. Linux counts the time between two updates in jiffies.",
            kind: Kind::Time {
                min: Time::from_ms(1),
            },
            default: Some("15ms"),
            tc: None,
        },
        pie::ALPHA,
        pie::BETA,
        fair::QUANTUM,
        Opt {
            name: "memory_limit",
            doc: "If the queued packets use more memory than this limit, Linux counts each \
                arriving packet as over the limit, but does not drop the packet.",
            kind: Kind::Size {
                packets: false,
                bytes: true,
            },
            default: Some("32mb"),
            tc: Some("memory_limit BYTES"),
        },
        Opt {
            name: "ecn_prob",
            doc: "Largest probability, in percent, at which ECN-capable packets are marked instead of dropped.",
            kind: Kind::Int { min: 0, max: 100 },
            default: Some("10"),
            tc: Some("ecn_prob PERCENTAGE"),
        },
        Opt {
            name: "ecn",
            doc: "Whether ECN-capable packets are marked instead of dropped while the probability is at most ecn_prob.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("ecn or noecn"),
        },
        pie::BYTEMODE,
        Opt {
            name: "dq_rate_estimator",
            doc: "Whether the queueing delay is computed from the backlog and the estimated departure rate. If false, PIE uses the packets' sojourn time instead.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("dq_rate_estimator or no_dq_rate_estimator"),
        },
    ],
    kernel: Kernel::Qdisc(&KERNEL),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options, context| Box::new(FqPie::new(options, context)),
};

const KERNEL: Qdisc = Qdisc {
    kinds: &["fq_pie"],
    since: Some("5.6"),
    needs: &["pie"],
    words: &[
        ("limit", number),
        ("target", micros),
        ("tupdate", micros),
        ("alpha", pie::gain),
        ("beta", pie::gain),
        ("ecn", |w, o| flag(w, o, "ecn", "noecn")),
        ("bytemode", |w, o| flag(w, o, "bytemode", "nobytemode")),
        ("dq_rate_estimator", |w, o| {
            flag(w, o, "dq_rate_estimator", "no_dq_rate_estimator");
        }),
        ("flows", number),
        ("quantum", number),
        ("memory_limit", number),
        ("ecn_prob", number),
    ],
    xstats: Xstats {
        marks: Some(&[16]),
        ..Qdisc::DEFAULT.xstats
    },
    order: Order::Flows,
    ..Qdisc::DEFAULT
};

/// How many flows the timer updates each time it fires.
const ROUND: usize = 2048;

/// The time between two rounds of the timer: Linux's jiffy at HZ = 1000.
const JIFFY: Time = Time::from_ms(1);

#[derive(Clone, Copy, Debug)]
struct State {
    vars: Vars,
    awake: bool,
}

/// The queue discipline `fq_pie`.
#[derive(Debug)]
pub struct FqPie {
    fair: Fair<State>,
    params: Params,
    limit: u64,
    /// The flows whose state an update would change. Updates skip all other flows.
    awake: Vec<u32>,
    /// The first flow that the timer updates when it fires next.
    cursor: usize,
    /// When the timer fires next.
    next_update: Time,
    rng: Stream,
}

impl FqPie {
    fn new(options: &Options, mut context: QueueContext) -> FqPie {
        let params = Params::of(options, context.mtu);
        let (flows, quantum) = (options.int("flows"), options.get("quantum"));
        let state = State {
            vars: Vars::new(&params),
            awake: false,
        };
        let fair = Fair::new(flows, quantum, context.mtu, state, &mut context.rng);
        FqPie {
            awake: Vec::with_capacity(fair.len()),
            fair,
            params,
            limit: fair::packets(options.get("limit")),
            cursor: 0,
            next_update: Time::NEVER,
            rng: context.rng,
        }
    }

    /// Updates up to [`ROUND`] flows, and returns when the timer fires next.
    fn round(&mut self, now: Time) -> Time {
        let round = self.cursor..(self.cursor + ROUND).min(self.fair.len());
        let (fair, params) = (&mut self.fair, &self.params);
        self.awake.retain(|&flow| {
            if !round.contains(&(flow as usize)) {
                return true;
            }
            let (state, queue) = fair.flow(flow);
            let before = state.vars;
            state.vars.update(params, queue.bytes());
            state.awake = queue.bytes() > 0 || state.vars != before;
            state.awake
        });
        if round.end < self.fair.len() {
            self.cursor = round.end;
            now + JIFFY
        } else {
            self.cursor = 0;
            self.params.after(now)
        }
    }
}

impl Queue for FqPie {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "limit",
            "target",
            "tupdate",
            "alpha",
            "beta",
            "ecn",
            "bytemode",
            "quantum",
            "memory_limit",
            "ecn_prob",
        ]
    }

    fn change(&mut self, options: &Options, setting: &Setting, sink: &mut Sink) {
        let quantum = options.get("quantum");
        self.fair.change_quantum(quantum, setting.mtu);
        self.params = Params::of(options, setting.mtu);
        self.limit = fair::packets(options.get("limit"));
        shrink(self, setting.now, sink, |queue| {
            queue.fair.backlog().packets > queue.limit
        });
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        let flow = self.fair.flow_of(packet);
        let full = self.fair.backlog().packets >= self.limit;
        let (state, queue) = self.fair.flow(flow);
        if full {
            state.vars.dropped();
            sink.drop(packet, Cause::Overflow, now);
            return;
        }
        let (backlog, len) = (queue.bytes(), u64::from(packet.len));
        let vars = &mut state.vars;
        if vars.drop_early(&self.params, backlog, len, &mut self.rng) {
            if !self.params.marks(vars, packet) {
                vars.dropped();
                sink.drop(packet, Cause::Aqm, now);
                return;
            }
            sink.mark(packet, Cause::Mark, now);
        }
        if !state.awake {
            state.awake = true;
            self.awake.push(flow);
        }
        self.fair.push(flow, *packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        loop {
            let Some(turn) = self.fair.turn() else {
                return Dequeue::Empty;
            };
            let (state, mut queue) = self.fair.flow(turn.flow);
            if !queue.pop_to(next) {
                self.fair.pass(turn);
                continue;
            }
            let left = queue.bytes();
            state.vars.dequeued(&self.params, next, left, now);
            self.fair.sent(turn, next.len);
            return Dequeue::Packet;
        }
    }

    fn timer(&mut self, now: Time, _sink: &mut Sink) -> Option<Time> {
        if self.next_update == Time::NEVER {
            self.next_update = self.params.after(now);
        } else if now >= self.next_update {
            self.next_update = self.round(now);
        }
        Some(self.next_update)
    }

    fn backlog(&self) -> Backlog {
        self.fair.backlog()
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.push(self.fair.active() as f64);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["fq_active_flows"]
    }
}

#[cfg(test)]
mod tests;
