//! CUBIC (RFC 9438) as in Linux 7.3 `tcp_cubic.c`, with the same fixed-point arithmetic. The option
//! `beta_ecn` turns on ABE (RFC 8511).
//!
//! Units are the same as in Linux. Windows are in segments, and clocks are in jiffies of 1 ms (HZ
//! 1000). `K` and times in the cubic function are in 1/1024 s, and delays are in us.
//!
//! Deviations from RFC 9438, as in Linux:
//! - C is 410/1024 = 0.40039, and beta is 717/1024 = 0.70020.
//! - A reduction multiplies cwnd by beta, whereas section 4.6 of RFC 9438 multiplies FlightSize.
//! - The argument of the cubic function is the time since the start of the epoch plus the smallest
//!   RTT. Section 4.2 of RFC 9438 adds the smoothed RTT instead of the smallest RTT. Linux
//!   evaluates the cubic function at most once per jiffy.
//! - Each acknowledged segment increases the window by 1/cnt, where cnt = cwnd / (target - cwnd) is
//!   an integer and at least 2. Section 4.2 of RFC 9438 limits the target to 1.5 cwnd, whereas
//!   Linux does not.
//! - W_est always grows with alpha = 3 (1 - beta)/(1 + beta). In section 4.3 of RFC 9438, alpha
//!   becomes 1 once W_est reaches cwnd_prior. To follow section 4.3 of RFC 9438, set the option
//!   `friendly_alpha_one`.
//! - When a spurious reduction is undone, only the window is restored. Section 4.9 of RFC 9438
//!   requires that W_max and the epoch are restored as well.
//! - HyStart (with ACK trains and delays) ends slow start, whereas RFC 9438 recommends HyStart++.
//!   The option `slow_start` selects the algorithm of slow start.
//!
//! ABE: fast convergence after ECN-Echo also uses `beta_ecn` instead of `beta`. RFC 8511 does not
//! mention fast convergence. The Reno-friendly window W_est grows with the alpha that is computed
//! from `beta`.
//!
//! Deviation from Linux: if a multiplication overflows in Linux, tailback uses the largest possible
//! value instead. Multiplications overflow in epochs longer than about 350 s, and with windows
//! above 2^22 segments.

pub(super) mod curve;
#[cfg(test)]
mod tests;

use self::curve::{Epoch, Friendly, HZ, jiffies};
use super::abe::{self, Backoff};
use super::contract::{Build, CongestionControl, CwndEvent, Needs, Signal};
use super::limited;
use super::slow_start::hystart::Train;
use super::slow_start::{self, SlowStart};
use super::view::{Ack, CaState, View};
use super::window::Window;
use crate::registry::kernel::{Kernel, Module, Parameter, digits, flag_digit};
use crate::registry::{Entry, Kind, Opt};

/// The number that represents a beta of 1.
const BETA_SCALE: u32 = 1024;

/// The registry entry of `cubic`.
pub const ENTRY: Entry<Build> = Entry {
    name: "cubic",
    doc: "The window is a cubic function of the time since the window was last reduced. CUBIC is \
        Linux's default congestion control.",
    follows: "RFC 9438; Linux 7.3 tcp_cubic.c",
    options: &[
        abe::beta(
            "0.7",
            "Factor by which the window is multiplied after a loss, rounded to a multiple of 1/1024 as in Linux.",
        ),
        abe::beta_ecn(
            "Factor by which the window is multiplied after ECN-Echo, including in fast convergence. \
                ABE (RFC 8511) recommends 0.85. Default: the value of beta. The flow must have ecn \
                = true.",
        ),
        abe::READING,
        abe::FRLOSSREDUCE,
        Opt {
            name: "fast_convergence",
            doc: "Whether CUBIC uses fast convergence: if cwnd at a reduction is below the last W_max, the new W_max is set below cwnd (RFC 9438 section 4.7).",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
        Opt {
            name: "tcp_friendliness",
            doc: "Whether the window grows at least as fast as the window of Reno with the same beta (RFC 9438 section 4.3).",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
        Opt {
            name: "friendly_alpha_one",
            doc: "Whether the Reno-friendly window grows by 1 per RTT once it has reached the window before the last reduction (RFC 9438 section 4.3; not in Linux).",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        slow_start::option(
            None,
            "Algorithm of the first slow start: HyStart, HyStart++ (RFC 9406), SEARCH (draft-chung-ccwg-search-09), Careful Resume (RFC 9959), Rapid Start (draft-kazuho-ccwg-rapid-start), or none. With none, only losses and marks end slow start; default: hystart.",
        ),
        slow_start::SAVED_WINDOW,
        slow_start::SAVED_RTT,
        Opt {
            name: "hystart",
            doc: "Whether HyStart ends slow start after a long train of ACKs or a rise of the RTT. The value false has the same effect as slow_start = \"none\".",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
        Opt {
            name: "hystart_ack_delay",
            doc: "Whether HyStart tolerates longer ACK trains (Linux since 5.6). HyStart allows \
                extra time for four bursts of the largest size, but at most 1 ms.",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
        limited::GROWTH,
    ],
    kernel: Kernel::Module(&KERNEL),
    rules: abe::RULES,
    finish: |options| {
        abe::finish(options)?;
        slow_start::finish_cubic(options)
    },
    build: |options| {
        super::hook::made("cubic");
        let start = SlowStart::of(options);
        let cubic = Cubic {
            fast_convergence: options.bool("fast_convergence"),
            tcp_friendliness: options.bool("tcp_friendliness"),
            friendly_alpha_one: options.bool("friendly_alpha_one"),
            hystart: options.bool("hystart") && matches!(start, SlowStart::Standard),
            start,
            ack_delay: options.bool("hystart_ack_delay"),
            ..Cubic::new(Backoff::of(options, BETA_SCALE))
        };
        limited::around(options, Box::new(cubic))
    },
};

const KERNEL: Module = Module {
    parameters: &[
        fraction("beta_ecn"),
        fraction("beta"),
        switch("fast_convergence"),
        switch("tcp_friendliness"),
        switch("hystart"),
    ],
    stand_in: Some(abe::stand_in("cubic_abe", "tcp_cubic_abe")),
    ..Module::named("cubic", Some("2.6.13"))
};

const fn fraction(name: &'static str) -> Parameter {
    Parameter {
        option: name,
        name,
        spell: |value| digits(value, BETA_SCALE as f64),
    }
}

const fn switch(name: &'static str) -> Parameter {
    Parameter {
        option: name,
        name,
        spell: flag_digit,
    }
}

/// The congestion control `cubic`.
#[derive(Debug)]
pub struct Cubic {
    backoff: Backoff,
    /// The value 8/alpha. The Reno-friendly window grows by alpha segments for each window of
    /// acknowledged segments.
    beta_scale: u32,
    fast_convergence: bool,
    tcp_friendliness: bool,
    friendly_alpha_one: bool,
    hystart: bool,
    ack_delay: bool,
    /// The window before ssthresh was last set, in segments (RFC 9438 `cwnd_prior`).
    cwnd_prior: u32,
    /// By how much an acknowledged segment increases `Epoch::ack_cnt`.
    pub(super) unit: i64,
    /// The curve. A timeout resets it.
    pub(super) epoch: Epoch,
    /// What HyStart has measured in this round of slow start.
    train: Train,
    start: SlowStart,
}

impl Cubic {
    /// Creates CUBIC with the reduction factors `backoff`. All other settings are as in Linux.
    pub(super) fn new(backoff: Backoff) -> Cubic {
        let beta = backoff.loss;
        Cubic {
            backoff,
            beta_scale: 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta),
            fast_convergence: true,
            tcp_friendliness: true,
            friendly_alpha_one: false,
            hystart: true,
            ack_delay: true,
            cwnd_prior: 0,
            unit: 1,
            epoch: Epoch::default(),
            train: Train::default(),
            start: SlowStart::Standard,
        }
    }
}

impl Cubic {
    /// Processes an ACK in slow start. Called if an algorithm other than HyStart ends slow start.
    #[cold]
    #[inline(never)] // so that other ACKs save no registers
    fn start_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let before = window.ssthresh;
        self.start.pkts_acked(view, window, ack);
        if window.ssthresh != before {
            // RFC 9438 section 4.3: the Reno-friendly window has reached `cwnd_prior`.
            self.cwnd_prior = window.cwnd;
        }
        if let Some(path) = self.start.take_path() {
            // Set W_max to the path's capacity. With fast convergence, set W_max to twice the
            // capacity. With the old W_max, the next reduction would make W_max too small.
            self.epoch.last_max_cwnd = path << u32::from(self.fast_convergence);
        }
        self.note_delay(view, ack);
    }

    /// Updates the smallest RTT. Returns the RTT of the ACK in us. Returns `None` if the ACK gives
    /// no RTT sample, or if its sample does not describe the path.
    #[inline(always)] // the function has two callers, and one of them rarely runs
    fn note_delay(&mut self, view: View<'_>, ack: &Ack) -> Option<u32> {
        let rtt = ack.rtt?;
        // The queue drains right after a reduction, so do not use delays that are measured at this
        // time.
        if self
            .epoch
            .start
            .is_some_and(|start| jiffies(view.now) < start + HZ)
        {
            return None;
        }
        let delay = u32::try_from(rtt.whole_us()).unwrap_or(u32::MAX).max(1);
        if self.epoch.delay_min == 0 || self.epoch.delay_min > delay {
            self.epoch.delay_min = delay;
        }
        Some(delay)
    }
}

impl CongestionControl for Cubic {
    fn needs(&self) -> Needs {
        Needs {
            control: self.backoff.control(),
            pacing: self.start.paces(),
            ..Needs::default()
        }
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        self.epoch = Epoch::default();
        self.train.restart(view);
        self.start.init(view, window);
    }

    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
        self.cwnd_prior = window.cwnd;
        self.epoch.start = None;
        // RFC 9438 section 4.7 (fast convergence): if the maximum has fallen, leave bandwidth to
        // other flows.
        self.epoch.last_max_cwnd =
            if self.fast_convergence && window.cwnd < self.epoch.last_max_cwnd {
                let kept = u64::from(BETA_SCALE + self.backoff.factor(signal));
                (u64::from(window.cwnd) * kept / u64::from(2 * BETA_SCALE)) as u32
            } else {
                window.cwnd
            };
        let reduced = self.backoff.ssthresh(view, window, signal);
        self.start.ssthresh(view, window, reduced)
    }

    fn cwr_begin(&mut self, window: &mut Window) {
        self.backoff.cwr_begin(window);
    }

    fn loss_in_cwr(&mut self, window: &mut Window) {
        self.backoff.loss_in_cwr(window);
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, mut acked: u32) {
        if !view.is_cwnd_limited(window) {
            return;
        }
        if window.in_slow_start() {
            acked = window.slow_start(self.start.counted(view, window, acked));
            if acked == 0 {
                return;
            }
        } else if self.start.drains() {
            return;
        }
        let friendly = Friendly {
            on: self.tcp_friendliness,
            alpha_one: self.friendly_alpha_one,
            scale: self.beta_scale,
            cwnd_prior: self.cwnd_prior,
            unit: self.unit,
        };
        self.epoch
            .update(&friendly, jiffies(view.now), window.cwnd, acked);
        window.cong_avoid_ai(self.epoch.cnt.max(1), acked);
    }

    fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        if !matches!(self.start, SlowStart::Standard) {
            return self.start_acked(view, window, ack);
        }
        let Some(delay) = self.note_delay(view, ack) else {
            return;
        };
        if self.hystart && !self.epoch.found && window.in_slow_start() {
            let delay_min = self.epoch.delay_min;
            let train = &mut self.train;
            let end = train.ends_slow_start(view, window, delay, delay_min, self.ack_delay);
            if end.is_some() {
                self.epoch.found = true;
                window.ssthresh = window.cwnd;
                window.left_slow_start = end;
                self.cwnd_prior = window.cwnd;
            }
        }
    }

    fn cwnd_event(&mut self, view: View<'_>, _window: &mut Window, event: CwndEvent) {
        if event != CwndEvent::TxStart {
            return;
        }
        // RFC 9438 section 5.8: while the application sends no data, the time on the curve does not
        // advance.
        if let Some(start) = &mut self.epoch.start {
            let now = jiffies(view.now);
            *start = (*start + (now - jiffies(view.last_sent))).min(now);
        }
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.start.timeout(view, window);
            // RFC 9438 section 4.8: a timeout starts a new epoch. Linux also resets W_max and the
            // smallest delay.
            self.epoch = Epoch::default();
            self.train.restart(view);
        }
    }
}
