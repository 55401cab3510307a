//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control), as in the module
//! `net/ipv4/tcp_prague.c` of the L4S team's Linux. Version 0.6 is part of the L4S team's Linux
//! 5.10 of 2020 and 2021. Version 0.7 is part of the L4S team's Linux 5.15 of 2024
//! (github.com/L4STeam/tcp-prague, commit 90aea47f).
//!
//! Prague adapts DCTCP to the Internet. Prague uses Accurate ECN, ECT(1) and pacing. Prague does
//! not round the window and alpha to integers. Each unmarked segment contributes to additive
//! increase, even in CWR. If the RTT is below a target, Prague scales additive increase by the RTT
//! (*RTT scaling*). With RTT scaling, flows with different RTTs get equal rates instead of equal
//! windows. RTT scaling begins some round trips after slow start, so that RTT scaling does not slow
//! down short flows. After marks or a loss, Prague reduces the window by one segment per ACK until
//! the reduction is complete. If the receiver does not support Accurate ECN, Prague behaves like
//! Reno without ECN.
//!
//! For a year, the version number stayed at 0.6 although the module changed. Some commits of
//! version 0.6 store the fractional part of the window. A few of these commits also use the
//! fractional part to compute the pacing rate. By default, tailback computes the pacing rate from
//! the window without its fractional part (option `pace`). Earlier commits and version 0.7 also
//! ignore the fractional part.
//!
//! Version 0.7 differs from 0.6 as follows. alpha has 24 binary digits and starts at 0. The first
//! mark halves the window. But in slow start, the first mark does not halve the window if its ACK
//! also covers an unmarked segment. RTT scaling begins 4 round trips after slow start, whereas
//! version 0.6 waits for 500 round trips. Once RTT scaling has begun, at least one target RTT (25
//! ms) passes between two reductions. Version 0.7 sends segments one at a time, not in pairs. The
//! window grows whenever the application does not limit the flow. The window grows even if the flow
//! does not use the whole window. If the window is at most four packets of 1500 bytes, increase and
//! reductions apply to a rate and not to the window. The rate grows by one packet per virtual RTT,
//! which is the larger of the target RTT and the smoothed RTT. The window is the rate multiplied by
//! the slow RTT, which is an average over 128 round trips. In the first half of a virtual RTT, the
//! pacing rate is 3 % higher than its mean. In the second half, the pacing rate is 3 % lower than
//! its mean. Because the pacing rate swings, a queue with a step threshold marks some packets of
//! each flow. Marks do not reduce the rate below 100 kbit/s.
//!
//! Other commits of the module also have the version number 0.7. In some commits of version 0.7,
//! the rate replaces the window when RTT scaling begins, even if the window is large. With
//! tailback's option `mode = "rate"`, the rate replaces the window as soon as RTT scaling has begun
//! and a packet has been marked. Later commits of version 0.7 have parameters for the mode and for
//! the initial alpha. In some later commits, the pacing rate swings even if the window is large. In
//! other later commits, alpha starts at 1, or the window grows only if the window limits the flow.
//! tailback does not support every combination of these differences between commits.
//!
//! Deviations: in version 0.6, tailback keeps the fractional part of the window during slow start.
//! If a reduction is undone in version 0.6, tailback restores the fractional part that the window
//! had before the reduction. Linux's module subtracts the fractional part of the window a second
//! time when it undoes a reduction. For pacing, tailback assumes packets with the size of the IPv4
//! MTU and with timestamps. TSO is not modelled, but all segments of a burst leave at once. With
//! both versions, the receiver behaves as in the newest Linux by default. The receiver delays ACKs,
//! and acknowledges a change of the ECN field at once. With the key `accecn_receiver = "l4s-5.15"`,
//! the receiver acknowledges most segments of a slow flow at once, as in the L4S team's Linux 5.15.
//! In version 0.7, tailback sends packets of a constant size. Linux's module sends smaller packets
//! if two full packets would take longer than a virtual RTT. With a virtual RTT of 25 ms, the
//! module sends smaller packets at rates below 1 Mbit/s. In tailback, the option `swing = 0` turns
//! the swing of the pacing rate off. Linux's module replaces a swing of 0 with the default swing.
//! In tailback, ACKs and SYNs do not carry ECT(1).

mod alpha;
mod fallback;
mod version_0_7;

use self::alpha::Alpha;
use super::contract::{Build, CongestionControl, Control, CwndEvent, EcnNeed, Needs, Signal};
use super::view::{Ack, CaState, View};
use super::window::{MAX_CWND, Window};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::units::Time;

/// The registry entry of `prague`.
pub const ENTRY: Entry<Build> = Entry {
    name: "prague",
    doc: "The reference congestion control of L4S. Prague responds in proportion to marks, paces \
        packets, and equalises the rates of flows whose RTT is below a target.",
    follows: "TCP Prague 0.6 and 0.7 (Linux 5.10 and 5.15 of the L4S team, tcp_prague.c)",
    options: &[
        Opt {
            name: "version",
            doc: "Version of the module: \"0.6\" of 2020 and 2021, or \"0.7\" of 2024. The version \
             sets the defaults of the options below.",
            kind: Kind::Word(&["0.6", "0.7"]),
            default: Some("0.6"),
            tc: None,
        },
        Opt {
            name: "rtt_scaling",
            doc: "How Prague equalises the rates of flows whose RTT is below the target. \"rate\": the flows increase their rates as if their RTT were the target. \"additive\": the flows increase their rates as if their RTT were the target plus their actual RTT. \"scalable\": like \"rate\", but with at least one mark in eight RTTs. \"off\": Prague does not equalise rates.",
            kind: Kind::Word(&["rate", "scalable", "additive", "off"]),
            default: Some("rate"),
            tc: None,
        },
        Opt {
            name: "rtt_target",
            doc: "Target RTT: rtt_scaling equalises the rates of flows whose RTT is below this value.",
            kind: Kind::Time {
                min: Time::from_us(128),
            },
            default: Some("25ms"),
            tc: None,
        },
        Opt {
            name: "rtt_transition",
            doc: "Number of round trips after slow start until RTT scaling begins; default: 500, or 4 in version 0.7.",
            kind: Kind::Int {
                min: 0,
                max: 1_000_000,
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "g",
            doc: "Weight of the newest round trip in alpha, the moving average of the fraction of \
                marked segments. The weight is a power of two.",
            kind: Kind::Float {
                min: 1.0 / 1024.0,
                max: 1.0,
            },
            default: Some("0.0625"),
            tc: None,
        },
        Opt {
            name: "alpha_init",
            doc: "Value of alpha at the start. alpha does not change before the first mark. In version 0.7, the first mark halves the window if alpha starts at 0. Default: 1, or 0 in version 0.7.",
            kind: Kind::Float { min: 0.0, max: 1.0 },
            default: None,
            tc: None,
        },
        Opt {
            name: "alpha_bits",
            doc: "Number of binary digits of alpha; default: 20, or 24 in version 0.7.",
            kind: Kind::Int { min: 10, max: 24 },
            default: None,
            tc: None,
        },
        Opt {
            name: "window",
            doc: "How fractional changes of the window become whole segments. \"fraction\": the window is stored with its fractional part and rounded up (later commits of version 0.6, and all versions since). \"carry\": fractions add up in a separate counter until they reach a whole segment (first commits of version 0.6; not in version 0.7).",
            kind: Kind::Word(&["fraction", "carry"]),
            default: Some("fraction"),
            tc: None,
        },
        Opt {
            name: "pace",
            doc: "Window from which the pacing rate is computed. \"packets\": the larger of the window in whole packets and the number of packets in flight. \"fraction\": the window including its fractional part, as in some commits of version 0.6 (needs window = \"fraction\"; not in version 0.7).",
            kind: Kind::Word(&["packets", "fraction"]),
            default: Some("packets"),
            tc: None,
        },
        Opt {
            name: "pace_iw",
            doc: "Whether Prague also paces the first ten segments. The pacing rate of these segments is twice the window, divided by the RTT of the handshake.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        Opt {
            name: "burst_shift",
            doc: "Limits a burst to the segments that the pacing rate sends in 2^-n seconds, where n is this value.",
            kind: Kind::Int { min: 0, max: 30 },
            default: Some("12"),
            tc: None,
        },
        Opt {
            name: "min_burst",
            doc: "Number of segments that every burst may contain, even at a low pacing rate (Linux's tcp_min_tso_segs, which version 0.7 ignores). Default: 2, or 1 in version 0.7.",
            kind: Kind::Int { min: 1, max: 64 },
            default: None,
            tc: None,
        },
        Opt {
            name: "mode",
            doc: "What additive increase and reductions apply to: the \"window\", the \"rate\", or the rate if the window is at most four packets (\"switch\"). Until RTT scaling has begun and a mark has arrived, additive increase and reductions always apply to the window. Default: \"window\", or \"switch\" in version 0.7. Version 0.6 supports only \"window\".",
            kind: Kind::Word(&["window", "rate", "switch"]),
            default: None,
            tc: None,
        },
        Opt {
            name: "swing",
            doc: "Variation of the pacing rate, in units of 1/128. The pacing rate is higher by this share in the first half of a virtual RTT, and lower by this share in the second half. The pacing rate varies only if increase and reductions apply to the rate. Default: 0, or 4 in version 0.7. Version 0.6 supports only 0.",
            kind: Kind::Int { min: 0, max: 126 },
            default: None,
            tc: None,
        },
        Opt {
            name: "ecn_fallback",
            doc: "Whether alpha is raised, up to 0.625, if the queue seems to mark as classic ECN does. Prague recognises a classic queue by the variation of the RTT (version 2 of the algorithm in arXiv 1911.00710). \"unscaled\": as in builds of 2023 to 2025, the reference values have 20 binary digits even if alpha has 24, so Prague treats almost every queue as classic.",
            kind: Kind::Word(&["off", "on", "unscaled"]),
            default: Some("off"),
            tc: None,
        },
    ],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish,
    build: |options| {
        super::hook::made("prague");
        let scaling = match options.word("rtt_scaling") {
            "off" => Scaling::Off,
            "scalable" => Scaling::Scalable,
            "additive" => Scaling::Additive,
            _ => Scaling::Rate,
        };
        let shift_g = shift_of(options.float("g")).unwrap_or(0);
        let alpha = Alpha::new(options, shift_g);
        if options.word("version") == "0.7" {
            return Box::new(version_0_7::Prague::new(options, scaling, alpha));
        }
        Box::new(Prague {
            scaling,
            target: (options.time("rtt_target").ns() / 1000) >> RTT_SHIFT,
            transition: options.int("rtt_transition") as u64,
            pace_iw: options.bool("pace_iw"),
            fraction: options.word("window") == "fraction",
            pace_fraction: options.word("pace") == "fraction",
            burst_shift: options.int("burst_shift") as u32,
            min_burst: options.int("min_burst") as u32,
            reno: false,
            alpha,
            cwr_stamp: Time::ZERO,
            carry: 0,
            increase: ONE as u64,
            loss_carry: 0,
            loss_cwnd: 0,
            round: 0,
            in_loss: false,
        })
    },
};

fn shift_of(g: f64) -> Option<u32> {
    (0..=10).find(|k| g * f64::from(1_u32 << k) == 1.0)
}

/// Sets the options whose defaults depend on the version. Checks combinations of options.
fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let later = options.word("version") == "0.7";
    for (name, of_0_6, of_0_7) in [
        ("rtt_transition", Value::Int(500), Value::Int(4)),
        ("alpha_init", Value::Float(1.0), Value::Float(0.0)),
        ("alpha_bits", Value::Int(20), Value::Int(24)),
        ("min_burst", Value::Int(2), Value::Int(1)),
        ("mode", Value::Word("window"), Value::Word("switch")),
        ("swing", Value::Int(0), Value::Int(4)),
    ] {
        options.set_default(name, if later { of_0_7 } else { of_0_6 });
    }
    let mut errors = Vec::new();
    let mut only = |is_wrong: bool, option: &'static str, message: &str| {
        if is_wrong {
            errors.push(OptionError {
                option,
                message: message.to_owned(),
            });
        }
    };
    only(
        !later && options.word("mode") != "window",
        "mode",
        "version 0.6 has no rate that replaces the window: expected \"window\", or version = \"0.7\"",
    );
    only(
        !later && options.int("swing") != 0,
        "swing",
        "version 0.6 does not vary the pacing rate: expected 0, or version = \"0.7\"",
    );
    only(
        later && options.word("window") == "carry",
        "window",
        "version 0.7 stores the window with its fraction: expected \"fraction\"",
    );
    only(
        later && options.word("pace") == "fraction",
        "pace",
        "version 0.7 paces whole packets: expected \"packets\"",
    );
    if shift_of(options.float("g")).is_none() {
        errors.push(OptionError {
            option: "g",
            message:
                "the gain is a shift: expected a power of two from 1 down to 2^-10, such as 0.0625"
                    .to_owned(),
        });
    }
    if !later && options.word("pace") == "fraction" && options.word("window") != "fraction" {
        errors.push(OptionError {
            option: "pace",
            message: "the window has no fraction: expected \"packets\", or window = \"fraction\""
                .to_owned(),
        });
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// The smallest window after a reduction, in segments.
const MIN_CWND: u32 = 2;
/// Number of binary digits in the fractional part of the window.
const CWND_SHIFT: u32 = 20;
const ONE: i64 = 1 << CWND_SHIFT;
/// Half a segment. This value is added in order to round to the nearest segment.
const HALF: u128 = 1 << (CWND_SHIFT - 1);
/// The scaling represents RTTs in units of 2^7 us.
const RTT_SHIFT: u32 = 7;
/// The largest RTT to which the scaling applies, in units of 2^7 us.
const MAX_SCALED_RTT: u64 = 100_000;
/// Headers of IPv4 and TCP with timestamps, in bytes.
const HEADERS: u64 = 52;
/// Parameters of the scaling "scalable", in units of 2^7 us. At the RTT `SCALABLE_R0`, the increase
/// is one segment per RTT. Above `SCALABLE_R1`, the increase rises faster with the RTT.
const SCALABLE_R0: u64 = (1 << 14) >> RTT_SHIFT;
const SCALABLE_R1: u64 = ((1 << 10) + (1 << 9)) >> RTT_SHIFT;

/// How the increase of the window depends on the RTT (option `rtt_scaling`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scaling {
    Off,
    Rate,
    Scalable,
    Additive,
}

/// The congestion control `prague`.
#[derive(Debug)]
pub struct Prague {
    scaling: Scaling,
    /// The target RTT of the scaling, in units of 2^7 us.
    target: u64,
    /// How many rounds pass before the scaling begins.
    transition: u64,
    /// Whether the first segments of the connection are paced.
    pace_iw: bool,
    fraction: bool,
    /// Whether the pacing rate is computed from the fractional window.
    pace_fraction: bool,
    /// The longest burst lasts 2^-burst_shift s.
    burst_shift: u32,
    min_burst: u32,
    /// Whether Prague behaves as Reno. Prague behaves as Reno if the receiver does not support
    /// Accurate ECN.
    reno: bool,
    alpha: Alpha,
    cwr_stamp: Time,
    /// The change of the window that is still to be applied, in units of 2^-20 segments. Each ACK
    /// changes the window by at most one segment.
    carry: i64,
    /// Growth of the window after a whole window of unmarked segments, in units of 2^-20
    /// segments.
    increase: u64,
    /// The value of `carry` before the last loss.
    loss_carry: i64,
    /// The window before the last loss, in segments.
    loss_cwnd: u32,
    /// Number of rounds since slow start.
    round: u64,
    /// Whether a loss has been found since the congestion state was last Open. After such a loss,
    /// the window does not grow.
    in_loss: bool,
}

impl Prague {
    fn is_scaled(&self, window: &Window) -> bool {
        self.scaling != Scaling::Off && !window.in_slow_start() && self.round >= self.transition
    }

    /// Returns the window in units of 2^-20 segments. This includes the fractional part, if it is
    /// stored.
    fn window(&self, window: &Window) -> u64 {
        let whole = i64::from(window.cwnd) << CWND_SHIFT;
        let carry = if self.fraction { self.carry } else { 0 };
        (whole + carry).max(0) as u64
    }

    /// Returns the smoothed RTT in units of 2^7 us.
    fn rtt(view: View<'_>) -> u64 {
        (view.srtt.ns() / 1000) >> RTT_SHIFT
    }

    fn target(&self, view: View<'_>) -> u64 {
        match self.scaling {
            Scaling::Additive => self.target + Prague::rtt(view),
            _ => self.target,
        }
    }

    fn target_elapsed(&self, view: View<'_>, stamp: Time) -> bool {
        view.now.since(stamp).ns() / 1000 >= self.target(view) << RTT_SHIFT
    }

    /// Sets the increase per window to the product of two factors, which are both RTT/target. With
    /// only the first factor, the window would grow by one segment per target RTT. The second
    /// factor gives flows with different RTTs equal rates.
    fn rescale(&mut self, view: View<'_>) {
        let one = ONE as u64;
        let rtt = Prague::rtt(view);
        self.increase = one;
        if self.round < self.transition || rtt == 0 || rtt > MAX_SCALED_RTT {
            return;
        }
        self.increase = match self.scaling {
            Scaling::Off => one,
            Scaling::Rate | Scaling::Additive => {
                let target = self.target(view);
                if rtt >= target {
                    return;
                }
                // If the square of the target overflows, which needs a target of many hours, the
                // increase becomes 0.
                let square = target.saturating_mul(target);
                (one * rtt * rtt + (square >> 1)) / square
            }
            Scaling::Scalable => {
                let growth = (one >> 3) * SCALABLE_R0
                    + one * rtt.saturating_sub(SCALABLE_R1).min(SCALABLE_R0);
                let square = SCALABLE_R0 * SCALABLE_R0;
                (growth * rtt + (square >> 1)) / square
            }
        };
    }

    fn begin_round(&mut self, view: View<'_>, window: &Window) {
        self.alpha.begin_round(view);
        if !window.in_slow_start() {
            self.round += 1;
        }
        self.rescale(view);
    }

    fn update_window(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.alpha.saw_ce |= ack.ce > 0;
        let mut acked = ack.delivered.saturating_sub(ack.ce);
        if acked > 0 && !self.in_loss && view.is_cwnd_limited(window) {
            if window.in_slow_start() {
                acked = window.slow_start(acked);
                if acked == 0 {
                    return self.rescale(view);
                }
            }
            // Use the window that will remain after the current reduction.
            let cwnd = (self.window(window).div_ceil(ONE as u64)).max(1);
            let increase = (u64::from(acked) * self.increase + (cwnd >> 1)) / cwnd;
            self.carry += increase.max(u64::from(acked)) as i64;
        }
        if self.fraction {
            // In this function, `carry` is the difference between the window with its fractional
            // part and the whole window.
            let floor = -i64::from(window.cwnd) << CWND_SHIFT;
            self.carry = self.carry.max(floor + ONE);
            if self.carry <= -ONE && window.cwnd > MIN_CWND {
                self.carry += ONE;
                window.cwnd -= 1;
                window.ssthresh = window.cwnd;
                self.rescale(view);
            } else if self.carry > 0 && window.cwnd < MAX_CWND {
                self.carry -= ONE;
                window.cwnd += 1;
                self.rescale(view);
            }
        } else if self.carry <= -ONE {
            self.carry += ONE;
            window.cwnd = window.cwnd.saturating_sub(1);
            if window.cwnd < MIN_CWND {
                window.cwnd = MIN_CWND;
                self.carry = 0;
            }
            window.ssthresh = window.cwnd;
            self.rescale(view);
        } else if self.carry >= ONE {
            self.carry -= ONE;
            window.cwnd = (window.cwnd + 1).min(MAX_CWND);
            self.rescale(view);
        }
    }

    /// Updates alpha once a round has passed. With scaling, the target RTT must have passed as
    /// well.
    fn update_alpha(&mut self, view: View<'_>, window: &Window) {
        if !self.alpha.is_round_over(view)
            || (self.is_scaled(window) && !self.target_elapsed(view, self.alpha.stamp))
        {
            return;
        }
        self.alpha.update(view);
        self.begin_round(view, window);
    }

    /// Sets the pacing rate to cwnd/srtt, computed from whole packets. In early slow start, sets
    /// the pacing rate to twice this value.
    fn update_pacing(&self, view: View<'_>, window: &mut Window) {
        let srtt = view.srtt.ns();
        if srtt == 0 {
            return;
        }
        let mtu = u64::from(view.mss) + HEADERS;
        let twice = u32::from(window.cwnd < window.ssthresh / 2);
        let per_second = |bytes: u64| u128::from(bytes << twice) * 1_000_000_000 / u128::from(srtt);
        window.pacing_rate = if self.pace_fraction {
            ((per_second(mtu) * u128::from(self.window(window)) + HALF) >> CWND_SHIFT) as u64
        } else {
            let packets = u64::from(window.cwnd.max(view.flight.in_flight()));
            per_second(mtu * packets) as u64
        };
        let burst = (window.pacing_rate / mtu) >> self.burst_shift;
        window.pacing_burst = (burst.min(1 << 16) as u32).max(self.min_burst);
    }

    fn enter_loss(&mut self, view: View<'_>, window: &Window) {
        self.loss_cwnd = window.cwnd;
        self.loss_carry = self.carry;
        self.carry -= (i64::from(window.cwnd) << (CWND_SHIFT - 1)) + (self.carry >> 1);
        self.in_loss = true;
        self.rescale(view);
    }

    fn enter_cwr(&mut self, view: View<'_>, window: &Window) {
        if self.is_scaled(window) && !self.target_elapsed(view, self.cwr_stamp) {
            return;
        }
        self.cwr_stamp = view.now;
        let alpha = u128::from(self.alpha.limited());
        let window = u128::from(self.window(window));
        self.carry -= ((alpha * window + (1 << self.alpha.bits)) >> (self.alpha.bits + 1)) as i64;
    }
}

impl CongestionControl for Prague {
    fn needs(&self) -> Needs {
        Needs {
            ecn: EcnNeed::Accurate,
            control: Control::Window,
            pacing: true,
            rate_samples: false,
        }
    }

    fn ecn_refused(&mut self) -> Control {
        self.reno = true;
        Control::Growth
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        // If Prague behaves as Reno, the stack determines the length of bursts.
        if !self.reno {
            window.least_burst = 0;
        }
        self.alpha.begin(view);
        self.begin_round(view, window);
        if self.pace_iw && !self.reno {
            window.pace_first = true;
            self.update_pacing(view, window);
        }
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        if self.reno {
            return (window.cwnd / 2).max(2);
        }
        self.alpha.reduced(window.ssthresh);
        window.ssthresh
    }

    /// Increases the window as Reno does. The stack calls this hook only if Prague behaves as Reno.
    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        super::reno::cong_avoid(view, window, acked);
    }

    fn cong_control(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.update_window(view, window, ack);
        self.update_alpha(view, window);
        self.update_pacing(view, window);
    }

    fn pkts_acked(&mut self, _view: View<'_>, _window: &mut Window, ack: &Ack) {
        self.alpha.sample(ack.rtt);
    }

    fn cwnd_event(&mut self, view: View<'_>, window: &mut Window, event: CwndEvent) {
        if event == CwndEvent::Loss {
            self.enter_loss(view, window);
        }
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        if new == view.ca_state {
            return;
        }
        match new {
            CaState::Recovery => self.enter_loss(view, window),
            CaState::Cwr => self.enter_cwr(view, window),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }

    fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, prior_cwnd: u32) -> u32 {
        if self.reno {
            return window.cwnd.max(prior_cwnd);
        }
        self.carry = self.loss_carry;
        window.cwnd.max(self.loss_cwnd)
    }

    fn gauges(&self, _view: View<'_>, window: &Window, out: &mut Vec<f64>) {
        out.push(self.alpha.share());
        // The window does not fall below its minimum, even if `carry` demands a larger reduction.
        // Reno does not use `carry`.
        let floor = if self.fraction { 1 } else { MIN_CWND };
        let carry = if self.reno { 0 } else { self.carry };
        let window = f64::from(window.cwnd) + carry as f64 / ONE as f64;
        out.push(window.max(f64::from(floor)));
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["alpha", "window_segments"]
    }
}

#[cfg(test)]
mod tests;
