//! DCTCP (RFC 8257) as in Linux 7.3 `tcp_dctcp.c`. Earlier versions of DCTCP are also available:
//! the versions in the kernels of 2014 and 2019, and the original patch for Linux 2.6 and 3.2.
//! Options add the modifications (a) to (d) that Kühlewind et al. propose in "Using Data Center TCP
//! (DCTCP) in the Internet" (2014). In these comments, "the paper" means this publication by
//! Kühlewind et al.
//!
//! The sender computes alpha, a moving average of the fraction of marked segments. On ECN-Echo, the
//! sender reduces the window by the fraction alpha/2, at most once per round trip.
//!
//! Deviations from RFC 8257, as in Linux:
//! - alpha is a 10-bit fixed-point number, whereas section 3.3 step 6 of RFC 8257 uses real
//!   numbers. If alpha would fall below 16/1024, it becomes 0. The window shrinks by
//!   (cwnd * alpha) >> 11 segments. So if alpha is below 98/1024, a window of 21 segments does not
//!   shrink at all.
//! - PRR spreads the reduction over a round trip, in which the window does not grow. In section 3.3
//!   step 9 of RFC 8257, the sender reduces the window at once.
//!
//! Deviations from Linux: every version in tailback computes alpha from the number of delivered
//! segments. Kernels before 5.5 and the original patch use the number of acknowledged bytes
//! instead. During loss recovery, bytes and segments give different values of alpha. After a
//! spurious reduction, every version in tailback restores the same values as Linux 7.3.
//!
//! The paper leaves three questions open, which tailback answers as follows. In the moving average
//! of modification (c), each ACK counts as 1 if it carries ECN-Echo, and as 0 otherwise. The number
//! of segments that the ACK acknowledges has no effect on alpha. An ACK with ECN-Echo never
//! increases the window. If the window is 2 segments, ssthresh is 2 segments as well.

mod kernel;
#[cfg(test)]
mod tests;

use super::contract::{Build, CeEcho, CongestionControl, Control, EcnNeed, Needs, Signal};
use super::reno::cong_avoid;
use super::view::{Ack, CaState, View};
use super::window::Window;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};

/// The registry entry of `dctcp`.
pub const ENTRY: Entry<Build> = Entry {
    name: "dctcp",
    doc: "Reduces the window in proportion to the fraction of marked segments.",
    follows: "RFC 8257; Linux 7.3 tcp_dctcp.c",
    options: &[
        Opt {
            name: "version",
            doc: "Version of DCTCP that sets the defaults of the options below: a kernel, the patch for Linux 2.6 and 3.2, or the paper of 2014. The paper's version is the patch with modifications (a) to (d). If you choose the patch's or the paper's version, also set tcp.growth = \"acks\".",
            kind: Kind::Word(&[
                "linux-7.3",
                "linux-5.2",
                "linux-3.19",
                "patch-2012",
                "paper-2014",
            ]),
            default: Some("linux-7.3"),
            tc: None,
        },
        Opt {
            name: "g",
            doc: "Weight g of the newest fraction of marked segments in alpha. The weight is a \
                power of two. Default: 1/16; with update = \"ack\" and without normalise, 1/256.",
            kind: Kind::Float {
                min: 1.0 / 1_048_576.0,
                max: 1.0,
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "alpha_init",
            doc: "alpha at the start; default: 1, or 0 in the patch and the paper.",
            kind: Kind::Float { min: 0.0, max: 1.0 },
            default: None,
            tc: None,
        },
        Opt {
            name: "alpha_bits",
            doc: "Number of binary digits of alpha; default: 10, or 20 in the paper (its \
                modification (a)).",
            kind: Kind::Int { min: 10, max: 20 },
            default: None,
            tc: None,
        },
        Opt {
            name: "decay",
            doc: "What happens to alpha if alpha * g rounds to 0. \"to-zero\": alpha falls to 0 (Linux since 4.4). \"shift\": alpha does not change, so with g = 1/16, alpha never falls below 15/1024. The default depends on version.",
            kind: Kind::Word(&["to-zero", "shift"]),
            default: None,
            tc: None,
        },
        Opt {
            name: "update",
            doc: "When alpha is updated. \"window\": alpha is updated once per window of data. \"ack\": alpha is updated on every ACK, and the whole ACK counts as marked or unmarked (modification (c)). Default: \"window\", or \"ack\" in the paper.",
            kind: Kind::Word(&["window", "ack"]),
            default: None,
            tc: None,
        },
        Opt {
            name: "normalise",
            doc: "With update = \"ack\": whether the weight of an ACK is g times its share of the segments in flight. With this weight, all ACKs of a round trip together have a weight of about g.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        Opt {
            name: "loss",
            doc: "Response to a loss. \"halve\": halve the window, even if marks have already \
                reduced it in the same round trip (Linux since 5.1). \"reno\": halve the window, \
                unless marks have already reduced it in the same round trip. \"alpha\": reduce the \
                window as on marks (Linux before 5.1). \"none\": no response. The default depends \
                on version.",
            kind: Kind::Word(&["halve", "reno", "alpha", "none"]),
            default: None,
            tc: None,
        },
        Opt {
            name: "reduction",
            doc: "How marks reduce the window. \"prr\": PRR spreads the reduction over a round trip. \"immediate\": the window shrinks at once, as in the patch. \"progressive\": the window shrinks at once, and again with each ECN-Echo of the round trip (modification (d)). The default depends on version.",
            kind: Kind::Word(&["prr", "immediate", "progressive"]),
            default: None,
            tc: None,
        },
        Opt {
            name: "ssthresh",
            doc: "ssthresh after marks have reduced the window: the window, or one segment less. With tcp.growth = \"acks\", slow start continues while the window equals ssthresh, so \"cwnd-1\" avoids an extra segment. reduction = \"prr\" requires \"cwnd\"; default: \"cwnd\", or \"cwnd-1\" in the paper.",
            kind: Kind::Word(&["cwnd", "cwnd-1"]),
            default: None,
            tc: None,
        },
        Opt {
            name: "cut",
            doc: "When to reduce the window by alpha/2. \"echo\": reduce the window in round trips with ECN-Echo. \"round\": reduce the window in every round trip, even without marks (later SCE kernels). \"round-ssthresh\": like \"round\", but ssthresh is reduced as well.",
            kind: Kind::Word(&["echo", "round", "round-ssthresh"]),
            default: Some("echo"),
            tc: None,
        },
        Opt {
            name: "grow_in_cwr",
            doc: "Whether the window may grow in the round trip of a reduction (modification (b)). If a reduction rounds to zero segments, the sender also keeps its count of acknowledged segments for the next increase. Not possible with reduction = \"prr\"; default: false, or true in the paper.",
            kind: Kind::Bool,
            default: None,
            tc: None,
        },
        Opt {
            name: "receiver",
            doc: "How the receiver echoes CE. \"precise\": the echo follows CE packet by packet, as in Linux. \"sce_holds_ce\": like \"precise\", but SCE marks (ECT(1)) do not change the echo, so the echo of CE lasts until an unmarked packet, as in the SCE kernels of 2019. \"sticky\": every ACK carries the echo until CWR arrives (RFC 3168).",
            kind: Kind::Word(&["precise", "sce_holds_ce", "sticky"]),
            default: Some("precise"),
            tc: None,
        },
    ],
    kernel: Kernel::Module(&kernel::KERNEL),
    rules: Rules::NONE,
    finish,
    build: |options| {
        super::hook::made("dctcp");
        let bits = options.int("alpha_bits") as u32;
        let full = 1_u64 << bits;
        Box::new(Dctcp {
            bits,
            shift_g: shift_of(options.float("g")).unwrap_or(0),
            alpha_init: libm::round(options.float("alpha_init") * full as f64) as u64,
            decay_to_zero: options.word("decay") == "to-zero",
            per_ack: options.word("update") == "ack",
            normalise: options.bool("normalise"),
            loss: match options.word("loss") {
                "reno" => Loss::Reno,
                "alpha" => Loss::Alpha,
                "none" => Loss::None,
                _ => Loss::Halve,
            },
            reduction: match options.word("reduction") {
                "immediate" => Reduction::Immediate,
                "progressive" => Reduction::Progressive,
                _ => Reduction::Prr,
            },
            below: u32::from(options.word("ssthresh") == "cwnd-1"),
            cut: match options.word("cut") {
                "round" => Cut::Round,
                "round-ssthresh" => Cut::RoundAndSsthresh,
                _ => Cut::Echo,
            },
            grow_in_cwr: options.bool("grow_in_cwr"),
            receiver: match options.word("receiver") {
                "sce_holds_ce" => CeEcho::SceHoldsCe,
                "sticky" => CeEcho::Sticky,
                _ => CeEcho::Precise,
            },
            alpha: 0,
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            max_cwnd: 0,
            loss_cwnd: 0,
        })
    },
};

fn shift_of(g: f64) -> Option<u32> {
    (0..=20).find(|k| g * f64::from(1_u32 << k) == 1.0)
}

/// Sets the options whose defaults depend on the version. Checks combinations of options.
fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let version = options.word("version");
    let patch = matches!(version, "patch-2012" | "paper-2014");
    let paper = version == "paper-2014";
    let before_5_1 = version == "linux-3.19";
    let pick = |choice: bool, then: &'static str, other: &'static str| {
        Value::Word(if choice { then } else { other })
    };
    let defaults = [
        ("alpha_init", Value::Float(if patch { 0.0 } else { 1.0 })),
        ("alpha_bits", Value::Int(if paper { 20 } else { 10 })),
        ("decay", pick(patch || before_5_1, "shift", "to-zero")),
        ("update", pick(paper, "ack", "window")),
        (
            "loss",
            match (patch, before_5_1) {
                (true, _) => Value::Word("reno"),
                (_, true) => Value::Word("alpha"),
                _ => Value::Word("halve"),
            },
        ),
        (
            "reduction",
            match (patch, paper) {
                (_, true) => Value::Word("progressive"),
                (true, _) => Value::Word("immediate"),
                _ => Value::Word("prr"),
            },
        ),
        ("ssthresh", pick(paper, "cwnd-1", "cwnd")),
        ("grow_in_cwr", Value::Bool(paper)),
    ];
    for (name, value) in defaults {
        options.set_default(name, value);
    }
    let per_ack = options.word("update") == "ack";
    let slow = per_ack && !options.bool("normalise");
    let g = if slow { 1.0 / 256.0 } else { 1.0 / 16.0 };
    options.set_default("g", Value::Float(g));

    let mut errors = Vec::new();
    let mut wrong = |option, message: String| errors.push(OptionError { option, message });
    let bits = options.int("alpha_bits");
    if shift_of(options.float("g")).is_none_or(|k| i64::from(k) > bits) {
        wrong(
            "g",
            format!(
                "alpha has {bits} bits (alpha_bits): expected a power of two from 1 down to 2^-{bits}, such as 0.0625"
            ),
        );
    }
    if options.bool("normalise") && !per_ack {
        wrong(
            "normalise",
            "normalise needs an update at every ACK: expected no normalise, or update = \"ack\""
                .to_owned(),
        );
    }
    if options.word("reduction") == "prr" {
        let other = "PRR brings the window to ssthresh and holds it there: expected reduction = \"immediate\" or \"progressive\"";
        if options.word("ssthresh") != "cwnd" {
            wrong("ssthresh", other.to_owned());
        }
        if options.bool("grow_in_cwr") {
            wrong("grow_in_cwr", other.to_owned());
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// How the sender responds to a loss (option `loss`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Halve,
    Reno,
    Alpha,
    None,
}

/// How marks reduce the window (option `reduction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    Prr,
    Immediate,
    Progressive,
}

/// When marks reduce the window (option `cut`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Echo,
    Round,
    RoundAndSsthresh,
}

/// The congestion control `dctcp`.
#[derive(Debug)]
pub struct Dctcp {
    bits: u32,
    shift_g: u32,
    /// The initial value of alpha, in units of 2^-bits.
    alpha_init: u64,
    /// Whether alpha becomes 0 once its product with g is rounded down to 0.
    decay_to_zero: bool,
    /// Whether alpha is updated at every ACK instead of once per window.
    per_ack: bool,
    /// Whether an ACK has a weight equal to its share of the segments in flight.
    normalise: bool,
    loss: Loss,
    reduction: Reduction,
    /// By how many segments the reduced window is below ssthresh (1 with `ssthresh = "cwnd-1"`).
    below: u32,
    cut: Cut,
    grow_in_cwr: bool,
    /// The kind of echo that the sender needs from the receiver.
    receiver: CeEcho,
    /// Moving average of the marked fraction, in units of 2^-bits.
    alpha: u64,
    /// alpha is updated again when all segments before this one have been acknowledged.
    next_seq: u64,
    /// Number of segments that had been delivered at the last update of alpha.
    old_delivered: u64,
    /// Number of segments that had been delivered with ECN-Echo at the last update of alpha.
    old_delivered_ce: u64,
    max_cwnd: u32,
    /// The window before the last response to marks or to a loss, in segments.
    loss_cwnd: u32,
}

impl Dctcp {
    /// Returns `cwnd` reduced by the fraction alpha/2 (RFC 8257 section 3.3 step 9).
    fn reduced(&self, cwnd: u32) -> u32 {
        let cut = (u64::from(cwnd) * self.alpha) >> (self.bits + 1);
        (cwnd - cut as u32).max(2)
    }

    /// Updates alpha = (1 - weight) alpha + weight F, where F is the fraction of marked segments
    /// (RFC 8257 section 3.3 step 6). `fall` is weight times alpha, and `rise` is weight times F.
    fn average(&mut self, fall: u64, rise: u64) {
        let fall = if fall == 0 && self.decay_to_zero {
            self.alpha
        } else {
            fall
        };
        self.alpha = (self.alpha - fall + rise).min(1 << self.bits);
    }

    fn begin_window(&mut self, view: View<'_>) {
        self.next_seq = view.flight.nxt;
        self.old_delivered = view.delivered;
        self.old_delivered_ce = view.delivered_ce;
    }

    fn reduce(&self, window: &mut Window) {
        let target = self.reduced(self.max_cwnd);
        if target < window.cwnd {
            window.cwnd = target;
            window.cwnd_cnt = 0;
            window.ssthresh = (target - self.below).max(2);
        }
    }
}

impl CongestionControl for Dctcp {
    fn needs(&self) -> Needs {
        Needs {
            ecn: EcnNeed::Dctcp(self.receiver),
            control: match self.reduction {
                Reduction::Prr => Control::Growth,
                Reduction::Immediate | Reduction::Progressive => Control::Cwr,
            },
            ..Needs::default()
        }
    }

    fn init(&mut self, view: View<'_>, _window: &mut Window) {
        self.alpha = self.alpha_init;
        self.begin_window(view);
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, signal: Signal) -> u32 {
        self.loss_cwnd = window.cwnd;
        if signal == Signal::Ecn {
            return (self.reduced(window.cwnd) - self.below).max(2);
        }
        match self.loss {
            Loss::Halve | Loss::Reno => (window.cwnd / 2).max(2),
            Loss::Alpha => self.reduced(window.cwnd),
            Loss::None => window.cwnd.max(2),
        }
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        cong_avoid(view, window, acked);
    }

    fn in_ack_event(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        if self.per_ack {
            let full = if ack.ece { 1 << self.bits } else { 0 };
            if self.normalise {
                let in_flight = u64::from(ack.prior_in_flight.max(1));
                // A duplicate ACK is treated as one delivered segment.
                let acked = u64::from(ack.acked).clamp(1, in_flight);
                let share = |of: u64| (of * acked / in_flight) >> self.shift_g;
                self.average(share(self.alpha), share(full));
            } else {
                self.average(self.alpha >> self.shift_g, full >> self.shift_g);
            }
        } else if view.flight.una >= self.next_seq {
            // Follow RFC 8257 section 3.3, steps 3 to 7. The counters include this ACK.
            let delivered = view.delivered - self.old_delivered;
            let marked = view.delivered_ce - self.old_delivered_ce;
            let rise = (marked << (self.bits - self.shift_g)) / delivered.max(1);
            self.average(self.alpha >> self.shift_g, rise);
            self.begin_window(view);
            if self.cut != Cut::Echo {
                self.loss_cwnd = window.cwnd;
                window.cwnd = self.reduced(window.cwnd);
                if self.cut == Cut::RoundAndSsthresh {
                    window.ssthresh = window.ssthresh.min(window.cwnd);
                }
            }
        }
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        // When Recovery follows CWR, the stack does not call `ssthresh`. So DCTCP responds to the
        // loss in this hook.
        let again = new == CaState::Recovery && view.ca_state == CaState::Cwr;
        if again && self.loss == Loss::Halve {
            self.loss_cwnd = window.cwnd;
            window.ssthresh = (window.cwnd / 2).max(2);
        }
    }

    fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, _prior_cwnd: u32) -> u32 {
        window.cwnd.max(self.loss_cwnd)
    }

    fn cwr_begin(&mut self, window: &mut Window) {
        self.max_cwnd = window.cwnd;
        if !self.grow_in_cwr {
            window.cwnd_cnt = 0;
        }
        self.reduce(window);
    }

    fn cwr_ack(&mut self, view: View<'_>, window: &mut Window, ack: &Ack, grow: u32) {
        if ack.ece {
            if self.reduction == Reduction::Progressive {
                self.reduce(window);
            }
        } else if self.grow_in_cwr && grow > 0 {
            cong_avoid(view, window, grow);
        }
    }

    fn gauges(&self, _view: View<'_>, _window: &Window, out: &mut Vec<f64>) {
        out.push(self.alpha as f64 / (1_u64 << self.bits) as f64);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["alpha"]
    }
}
