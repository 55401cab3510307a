//! CUBIC (RFC 9438), as Linux 7.3 `tcp_cubic.c` has it, in its fixed-point
//! arithmetic; ABE (RFC 8511) as an option.
//!
//! Units inside: windows in segments; `K` and epochs in 1/1024 s once they
//! enter the cubic function; clocks in jiffies of 1 ms (HZ 1000); delays in us.
//!
//! Deviations of Linux from RFC 9438, all kept:
//! - C is 410/1024 = 0.40039 and beta 717/1024 = 0.70020.
//! - The reduction is from cwnd, not from FlightSize (section 4.6).
//! - The curve is evaluated at the time since the epoch began plus the
//!   smallest RTT, not the smoothed one (section 4.2), at most once per jiffy.
//! - The increase is 1/cnt per segment, cnt = cwnd / (target - cwnd) in
//!   integers and at least 2; the target is not clamped to 1.5 cwnd (4.2).
//! - W_est grows with alpha = 3 (1 - beta)/(1 + beta) for good (section 4.3
//!   switches to 1 at cwnd_prior: option `friendly_alpha_one`).
//! - A spurious reduction restores the window only, not W_max and the epoch
//!   (section 4.9).
//! - Slow start ends by HyStart (its ACK trains and delays), not HyStart++.
//!
//! Deviations from Linux: the cube root is exact and rounded, where Linux
//! takes a table and one Newton step (K is within 0.16 % of ours, which
//! moves the window by less than 0.5 % of W_max - cwnd); products that wrap
//! in Linux (epochs beyond some 350 s, windows beyond 2^22) saturate.

use super::reno::betas;
use super::{Build, CaState, CongestionControl, CwndEvent};
use crate::registry::{Entry, Kernel, Kind, Opt, no_finish};
use crate::tcp::conn::Conn;
use crate::units::Time;

/// Scale of beta.
const BETA_SCALE: u32 = 1024;
/// Binary digits of the cubic function's clock: 2^10 ticks per second.
const BICTCP_HZ: u32 = 10;
/// C in units of 1/1024 segments/s^3.
const CUBE_RTT_SCALE: u64 = 410;
/// Jiffies per second.
const HZ: u64 = 1000;
/// HyStart looks at windows from this on, segments.
const HYSTART_LOW_WINDOW: u32 = 16;
/// Samples of the RTT before HyStart's delay detection decides.
const HYSTART_MIN_SAMPLES: u8 = 8;
/// ACKs closer than this are one train, us.
const HYSTART_ACK_DELTA: u64 = 2_000;
/// Bounds of the delay increase that ends slow start, us.
const HYSTART_DELAY: (u32, u32) = (4_000, 16_000);
/// Largest burst handed to a device, bytes (Linux `sk_gso_max_size`: 64 KiB less headers).
const GSO_MAX_SIZE: u64 = 65_536 - 321;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "cubic",
    doc: "Window as a cubic function of the time since the last reduction; Linux's default.",
    follows: "RFC 9438; Linux 7.3 tcp_cubic.c",
    options: &[
        Opt {
            name: "beta",
            doc: "Factor of the window after a loss, rounded to 1/1024 as in Linux.",
            kind: Kind::Float {
                min: 0.01,
                max: 0.99,
            },
            default: Some("0.7"),
            tc: None,
        },
        Opt {
            name: "beta_ecn",
            doc: "Factor of the window after ECN-Echo (ABE, RFC 8511, has 0.85), also in fast convergence; default: beta.",
            kind: Kind::Float {
                min: 0.01,
                max: 0.99,
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "fast_convergence",
            doc: "Remember less than the window reached if it was below the last maximum (RFC 9438 section 4.7).",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
        Opt {
            name: "tcp_friendliness",
            doc: "Grow at least as Reno would with the same beta (RFC 9438 section 4.3).",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
        Opt {
            name: "friendly_alpha_one",
            doc: "The Reno-friendly window grows by 1 per RTT once it has reached the window before the last reduction (RFC 9438 section 4.3; not in Linux).",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        Opt {
            name: "hystart",
            doc: "Leave slow start on a long train of ACKs or on a rise of the RTT, before losses.",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
        Opt {
            name: "hystart_ack_delay",
            doc: "Allow up to 1 ms more for a train of ACKs, as much as four large bursts take (Linux since 5.6).",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
    ],
    kernel: Kernel::Module("cubic"),
    finish: no_finish,
    build: |options| {
        let (beta, beta_ecn) = betas(options, BETA_SCALE);
        Box::new(Cubic {
            beta,
            beta_ecn,
            beta_scale: 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta),
            fast_convergence: options.bool("fast_convergence"),
            tcp_friendliness: options.bool("tcp_friendliness"),
            friendly_alpha_one: options.bool("friendly_alpha_one"),
            hystart: options.bool("hystart"),
            ack_delay: options.bool("hystart_ack_delay"),
            cwnd_prior: 0,
            epoch: Epoch::default(),
            train: Train::default(),
        })
    },
};

/// The congestion control.
#[derive(Debug)]
pub struct Cubic {
    /// Factor after a loss, 1/1024.
    beta: u32,
    /// Factor after ECN-Echo, 1/1024.
    beta_ecn: u32,
    /// 8/alpha of the Reno-friendly window: eighths of a window to
    /// acknowledge per segment of increase.
    beta_scale: u32,
    /// Option of that name.
    fast_convergence: bool,
    /// Option of that name.
    tcp_friendliness: bool,
    /// Option of that name.
    friendly_alpha_one: bool,
    /// Option of that name.
    hystart: bool,
    /// Option `hystart_ack_delay`.
    ack_delay: bool,
    /// Window when ssthresh was last set, segments (RFC 9438 `cwnd_prior`).
    cwnd_prior: u32,
    /// What a timeout resets: the curve.
    epoch: Epoch,
    /// What each round of slow start resets: HyStart's observations.
    train: Train,
}

/// The curve, and what it is computed from.
#[derive(Debug, Default)]
struct Epoch {
    /// Segments to acknowledge per segment of increase.
    cnt: u32,
    /// W_max: window before the last reduction, less with fast convergence,
    /// segments; 0 before the first.
    last_max_cwnd: u32,
    /// Window at the last update, segments.
    last_cwnd: u32,
    /// Time of the last update, jiffies.
    last_time: u64,
    /// Window at the inflection point, segments.
    origin: u32,
    /// Time from the start of the epoch to the inflection point, 1/1024 s.
    k: u64,
    /// Smallest RTT since the last timeout, us; 0: none yet.
    delay_min: u32,
    /// When growth began after the last reduction, jiffies.
    start: Option<u64>,
    /// Segments acknowledged and not yet counted in `w_est`.
    ack_cnt: u32,
    /// Window that Reno would have, segments.
    w_est: u32,
    /// HyStart ended slow start.
    found: bool,
}

/// HyStart's view of the current round.
#[derive(Debug, Default)]
struct Train {
    /// Start of the round, us.
    round_start: u64,
    /// The round is over once a segment beyond this one is acknowledged.
    end_seq: u64,
    /// Last ACK of the train, us.
    last_ack: u64,
    /// Smallest RTT of the round, us.
    curr_rtt: u32,
    /// RTT samples of the round, up to [`HYSTART_MIN_SAMPLES`].
    samples: u8,
}

fn jiffies(time: Time) -> u64 {
    time.ns() / (1_000_000_000 / HZ)
}

fn micros(time: Time) -> u64 {
    time.ns() / 1_000
}

/// The integer closest to the cube root.
fn cubic_root(a: u64) -> u64 {
    // One binary digit of the root at a time; 21 digits hold that of 2^64.
    let mut root = 0_u64;
    for bit in (0..22).rev() {
        let try_root = u128::from(root | 1 << bit);
        if try_root * try_root * try_root <= u128::from(a) {
            root |= 1 << bit;
        }
    }
    // (root + 1/2)^3 <= a, without the fraction.
    let odd = u128::from(2 * root + 1);
    root + u64::from(odd * odd * odd <= 8 * u128::from(a))
}

impl Epoch {
    /// Recomputes `cnt`.
    fn update(&mut self, cubic: &Friendly, now: u64, cwnd: u32, acked: u32) {
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        if self.last_cwnd == cwnd && now - self.last_time <= HZ / 32 {
            return;
        }
        // The curve moves with the clock, a jiffy at a time; the Reno-friendly
        // window moves with ACKs.
        if self.start.is_none() || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.cnt = self.cubic(now, cwnd, acked);
        }
        if cubic.on {
            self.friendly(cubic, cwnd);
        }
        // RFC 9438 section 4.2: at most 1.5 times the window per RTT.
        self.cnt = self.cnt.max(2);
    }

    /// `cnt` that follows the curve (RFC 9438 sections 4.2, 4.4 and 4.5).
    fn cubic(&mut self, now: u64, cwnd: u32, acked: u32) -> u32 {
        let start = match self.start {
            Some(start) => start,
            None => {
                self.start = Some(now);
                self.ack_cnt = acked;
                self.w_est = cwnd;
                // RFC 9438 figure 2: K = cbrt((W_max - cwnd_epoch) / C).
                let below = u64::from(self.last_max_cwnd.saturating_sub(cwnd));
                self.origin = self.last_max_cwnd.max(cwnd);
                self.k = cubic_root((1 << (10 + 3 * BICTCP_HZ)) / CUBE_RTT_SCALE * below);
                now
            }
        };
        // One RTT ahead, in the clock of the cubic function. An idle shift
        // never sets the start beyond the present.
        let rtt = u64::from(self.delay_min).div_ceil(1_000_000 / HZ);
        let t = ((now - start + rtt) << BICTCP_HZ) / HZ;
        // RFC 9438 figure 1: W_cubic(t) = C (t - K)^3 + W_max.
        let off = u128::from(t.abs_diff(self.k));
        let delta = (u128::from(CUBE_RTT_SCALE) * off * off * off) >> (10 + 3 * BICTCP_HZ);
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        let target = if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        let cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            cwnd.saturating_mul(100)
        };
        // Nothing is known yet of the bandwidth: at least 5 % per RTT.
        if self.last_max_cwnd == 0 {
            cnt.min(20)
        } else {
            cnt
        }
    }

    /// Lowers `cnt` to where Reno would be (RFC 9438 section 4.3).
    fn friendly(&mut self, friendly: &Friendly, cwnd: u32) {
        let per_segment = ((u64::from(cwnd) * u64::from(friendly.scale)) >> 3).max(1);
        let mut room = u64::MAX;
        if friendly.alpha_one {
            room = u64::from(friendly.cwnd_prior.saturating_sub(self.w_est));
        }
        self.count(per_segment, room);
        if friendly.alpha_one && self.w_est >= friendly.cwnd_prior {
            self.count(u64::from(cwnd.max(1)), u64::MAX);
        }
        if self.w_est > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.w_est - cwnd));
        }
    }

    /// Moves acknowledged segments from `ack_cnt` to `w_est`, which grows by
    /// one for each `per_segment`, at most by `room`; the last one needs a
    /// segment more than that.
    fn count(&mut self, per_segment: u64, room: u64) {
        let grown = (u64::from(self.ack_cnt.saturating_sub(1)) / per_segment).min(room);
        self.ack_cnt -= (grown * per_segment) as u32;
        self.w_est = self.w_est.saturating_add(grown as u32);
    }
}

/// The part of [`Cubic`] that the Reno-friendly window depends on.
struct Friendly {
    on: bool,
    alpha_one: bool,
    scale: u32,
    cwnd_prior: u32,
}

impl Cubic {
    fn hystart_reset(&mut self, conn: &Conn) {
        let now = micros(conn.now);
        self.train = Train {
            round_start: now,
            last_ack: now,
            end_seq: conn.snd_nxt,
            curr_rtt: u32::MAX,
            samples: 0,
        };
    }

    /// What bursts may add to a train of ACKs, us: four of the largest at the
    /// rate Linux would pace at (twice the window per RTT in slow start, 1.2
    /// times it later), at most 1 ms.
    fn burst_delay(&self, conn: &Conn) -> u64 {
        let percent = if conn.cwnd < conn.ssthresh / 2 {
            200
        } else {
            120
        };
        let rate = if conn.pacing_rate != 0 {
            conn.pacing_rate
        } else if conn.srtt == Time::ZERO {
            return 0;
        } else {
            let window = u64::from(conn.cwnd.max(conn.packets_out)) * u64::from(conn.mss);
            let rate = u128::from(window) * 10_000_000 * percent / u128::from(conn.srtt.ns());
            u64::try_from(rate).unwrap_or(u64::MAX).max(1)
        };
        (GSO_MAX_SIZE * 4 * 1_000_000 / rate).min(1_000)
    }

    /// Looks at an ACK in slow start; `delay` is its RTT in us.
    fn hystart_update(&mut self, conn: &mut Conn, delay: u32) {
        if conn.snd_una > self.train.end_seq {
            self.hystart_reset(conn);
        }
        if conn.cwnd < HYSTART_LOW_WINDOW {
            return;
        }
        let now = micros(conn.now);
        let delay_min = self.epoch.delay_min;
        let mut found = false;
        if now - self.train.last_ack <= HYSTART_ACK_DELTA {
            self.train.last_ack = now;
            let mut threshold = u64::from(delay_min);
            if self.ack_delay {
                threshold += self.burst_delay(conn);
            }
            // Pacing spreads the packets of a round over half an RTT already.
            if conn.pacing_rate == 0 {
                threshold /= 2;
            }
            found = now - self.train.round_start > threshold;
        }
        self.train.curr_rtt = self.train.curr_rtt.min(delay);
        if self.train.samples < HYSTART_MIN_SAMPLES {
            self.train.samples += 1;
        } else {
            let (least, most) = HYSTART_DELAY;
            found |=
                self.train.curr_rtt > delay_min.saturating_add((delay_min >> 3).clamp(least, most));
        }
        if found {
            self.epoch.found = true;
            conn.ssthresh = conn.cwnd;
            self.cwnd_prior = conn.cwnd;
        }
    }
}

impl CongestionControl for Cubic {
    fn init(&mut self, conn: &mut Conn) {
        self.epoch = Epoch::default();
        self.hystart_reset(conn);
    }

    fn ssthresh(&mut self, conn: &mut Conn) -> u32 {
        // RFC 9438 section 4.6; RFC 8511 section 3 for ECN.
        let beta = if conn.reducing_on_ecn {
            self.beta_ecn
        } else {
            self.beta
        };
        let part =
            |of: u32, scale: u32| (u64::from(conn.cwnd) * u64::from(of) / u64::from(scale)) as u32;
        self.cwnd_prior = conn.cwnd;
        self.epoch.start = None;
        // RFC 9438 section 4.7: release bandwidth while the maximum falls.
        self.epoch.last_max_cwnd = if self.fast_convergence && conn.cwnd < self.epoch.last_max_cwnd
        {
            part(BETA_SCALE + beta, 2 * BETA_SCALE)
        } else {
            conn.cwnd
        };
        part(beta, BETA_SCALE).max(2)
    }

    fn cong_avoid(&mut self, conn: &mut Conn, mut acked: u32) {
        if !conn.is_cwnd_limited() {
            return;
        }
        if conn.in_slow_start() {
            acked = conn.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        let friendly = Friendly {
            on: self.tcp_friendliness,
            alpha_one: self.friendly_alpha_one,
            scale: self.beta_scale,
            cwnd_prior: self.cwnd_prior,
        };
        self.epoch
            .update(&friendly, jiffies(conn.now), conn.cwnd, acked);
        conn.cong_avoid_ai(self.epoch.cnt.max(1), acked);
    }

    fn pkts_acked(&mut self, conn: &mut Conn, ack: &super::Ack) {
        let Some(rtt) = ack.rtt else {
            return;
        };
        // Right after a reduction the queue is not what it was, and drains.
        if self
            .epoch
            .start
            .is_some_and(|start| jiffies(conn.now) < start + HZ)
        {
            return;
        }
        let delay = u32::try_from(micros(rtt)).unwrap_or(u32::MAX).max(1);
        if self.epoch.delay_min == 0 || self.epoch.delay_min > delay {
            self.epoch.delay_min = delay;
        }
        if self.hystart && !self.epoch.found && conn.in_slow_start() {
            self.hystart_update(conn, delay);
        }
    }

    fn cwnd_event(&mut self, conn: &mut Conn, event: CwndEvent) {
        if event != CwndEvent::TxStart {
            return;
        }
        // RFC 9438 section 5.8: the curve does not move on while the
        // application is silent.
        if let Some(start) = &mut self.epoch.start {
            let now = jiffies(conn.now);
            *start = (*start + (now - jiffies(conn.last_sent))).min(now);
        }
    }

    fn set_state(&mut self, conn: &mut Conn, new: CaState) {
        if new == CaState::Loss {
            // RFC 9438 section 4.8; Linux forgets W_max and the delay, too.
            self.epoch = Epoch::default();
            self.hystart_reset(conn);
        }
    }
}
