//! What reno-sce and dctcp-sce share: a sender that answers SCE (Some
//! Congestion Experienced, draft-morton-tsvwg-sce) by the kernel tree
//! github.com/chromi/sce of June 2019, `tcp_reno_sce.c` and `tcp_dctcp_sce.c`.
//!
//! A counter takes the bytes of every ACK: upwards in congestion avoidance,
//! downwards, times the response of the congestion control, where the ACK
//! carries ESCE. Each time it passes a window of data, the window moves by a
//! segment. ECN-Echo and losses reduce the window as well; an ACK with both
//! echoes does not count as ESCE.
//!
//! What that tree does not mean to do is off by default:
//! - Its counters count bytes and wrap at `rcv_mss` for each segment of the
//!   window; a host that only sends never measures that, so it stays at 536,
//!   and growth and response are 1448/536 of what they should be
//!   (`unit_quirk`).
//! - A congestion control answers the end of CWR and of Recovery with its
//!   factor, where the stack has just brought the window to ssthresh, half of
//!   it: both reductions apply (`cwr_quirk`). ACKs with ESCE in between lower
//!   ssthresh further.
//!
//! Deviations: counters do not wrap at 2^31; bytes are counted as full
//! segments; without `cwr_quirk` the window reacts neither to ESCE nor grows
//! while it is being reduced.

use super::{CaState, CongestionControl, CwndEvent, Echo, EcnNeed};
use crate::registry::{Kind, Opt, Options};
use crate::tcp::conn::Conn;

/// Parts of a whole in which factors are counted.
const WHOLE: u64 = 1_000_000;

/// Unit of the counters.
pub(super) const UNIT_QUIRK: Opt = Opt {
    name: "unit_quirk",
    doc: "Bytes for which the counters take a segment of the window while they count 1448 of an acknowledged one; 0: the MSS. The kernels of 2019 have 536 (see the draft's slow ramps).",
    kind: Kind::Int {
        min: 0,
        max: 65_000,
    },
    default: Some("0"),
    tc: None,
};

/// Which ssthresh ESCE and reductions set.
pub(super) const SSTHRESH: Opt = Opt {
    name: "ssthresh",
    doc: "ssthresh after ESCE: half of the window before it (\"half-loss-cwnd\", the kernels of 2019), or that unless ssthresh is larger already (\"max\", later ones: then SCE does not end the first slow start).",
    kind: Kind::Word(&["half-loss-cwnd", "max"]),
    default: Some("half-loss-cwnd"),
    tc: None,
};

/// Factor after a loss.
pub(super) const BETA: Opt = Opt {
    name: "beta",
    doc: "Factor of the window after a loss.",
    kind: Kind::Float {
        min: 0.01,
        max: 0.99,
    },
    default: Some("0.5"),
    tc: None,
};

/// Factor after ECN-Echo.
pub(super) const BETA_ECN: Opt = Opt {
    name: "beta_ecn",
    doc: "Factor of the window after ECN-Echo.",
    kind: Kind::Float {
        min: 0.01,
        max: 0.99,
    },
    default: Some("0.75"),
    tc: None,
};

/// Factor after ECN-Echo where SCE was about.
pub(super) const BETA_SCE: Opt = Opt {
    name: "beta_sce",
    doc: "Factor of the window after ECN-Echo if an ACK carried ESCE no more ACKs ago than the window had segments.",
    kind: Kind::Float {
        min: 0.01,
        max: 0.99,
    },
    default: Some("0.875"),
    tc: None,
};

/// Two reductions where one is meant.
pub(super) const CWR_QUIRK: Opt = Opt {
    name: "cwr_quirk",
    doc: "As the kernels of 2019: ECN-Echo and losses halve the window by PRR, and beta_ecn or beta_sce apply to what that leaves.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};

/// By what ESCE takes bytes off the counter, for each acknowledged.
pub(super) trait Response: Send {
    /// The multiplier of acknowledged bytes, before `response` scales it.
    fn of(&self, cwnd: u32) -> u64;
    /// The window has grown by one to this.
    fn grown(&mut self, _cwnd: u32) {}
    /// The window has shrunk by one to this.
    fn shrunk(&mut self, _cwnd: u32) {}
    /// The window was reduced to this at once.
    fn reduced(&mut self, _cwnd: u32) {}
}

/// The congestion control.
#[derive(Debug)]
pub(super) struct Sce<R> {
    /// How ESCE counts.
    response: R,
    /// Part of the response that applies, millionths.
    gain: u64,
    /// Option of that name; 0 is the MSS.
    unit_quirk: u16,
    /// ssthresh never falls by ESCE.
    keep_larger: bool,
    /// Factor after a loss, millionths.
    beta: u64,
    /// Factor after ECN-Echo, millionths.
    beta_ecn: u64,
    /// Factor after ECN-Echo with recent SCE, millionths.
    beta_sce: u64,
    /// Option of that name.
    cwr_quirk: bool,
    /// Bytes counted towards the next change of the window.
    cnt: i64,
    /// Window at the last ESCE or reduction, or the largest since, segments.
    loss_cwnd: u32,
    /// ACKs for which SCE counts as recent.
    recent_sce: u32,
    /// First unacknowledged segment at the last ACK.
    prior_una: u64,
}

impl<R: Response> Sce<R> {
    pub(super) fn new(options: &Options, response: R) -> Sce<R> {
        let millionths = |name| libm::round(options.float(name) * WHOLE as f64) as u64;
        Sce {
            response,
            gain: millionths("response"),
            unit_quirk: options.int("unit_quirk") as u16,
            keep_larger: options.word("ssthresh") == "max",
            beta: millionths("beta"),
            beta_ecn: millionths("beta_ecn"),
            beta_sce: millionths("beta_sce"),
            cwr_quirk: options.bool("cwr_quirk"),
            cnt: 0,
            loss_cwnd: 0,
            recent_sce: 0,
            prior_una: 0,
        }
    }

    /// Bytes that count as a segment of the window.
    fn unit(&self, conn: &Conn) -> i64 {
        i64::from(match self.unit_quirk {
            0 => conn.mss,
            unit => unit,
        })
    }

    /// ssthresh that goes with `loss_cwnd`.
    fn half(&self, conn: &Conn) -> u32 {
        let half = (self.loss_cwnd / 2).max(2);
        if self.keep_larger {
            half.max(conn.ssthresh)
        } else {
            half
        }
    }

    /// `cwnd` less one segment at least, but not below two.
    fn reduced(cwnd: u32, beta: u64) -> u32 {
        let cut = (u64::from(cwnd) * (WHOLE - beta) / WHOLE).max(1) as u32;
        cwnd.saturating_sub(cut).max(2)
    }

    /// Factor after ECN-Echo.
    fn factor(&self) -> u64 {
        if self.recent_sce > 0 {
            self.beta_sce
        } else {
            self.beta_ecn
        }
    }

    /// A reduction on top of the stack's (`cwr_quirk`).
    fn reduce(&mut self, conn: &mut Conn, beta: u64) {
        self.loss_cwnd = conn.cwnd;
        self.cnt = 0;
        conn.cwnd = Self::reduced(conn.cwnd, beta);
        if self.keep_larger {
            conn.ssthresh = (self.loss_cwnd / 2).max(2);
        }
        self.response.reduced(conn.cwnd);
    }

    /// Moves the window by a segment for each `over` bytes counted.
    fn spend(&mut self, conn: &mut Conn, over: i64) {
        while self.cnt <= -over {
            if conn.cwnd <= 2 {
                self.cnt %= over;
                break;
            }
            self.cnt += over;
            conn.cwnd -= 1;
            self.response.shrunk(conn.cwnd);
        }
        while self.cnt >= over {
            if conn.cwnd >= conn.cwnd_clamp {
                self.cnt %= over;
                break;
            }
            self.cnt -= over;
            conn.cwnd += 1;
            self.response.grown(conn.cwnd);
        }
    }
}

impl<R: Response> CongestionControl for Sce<R> {
    fn init(&mut self, conn: &mut Conn) {
        self.prior_una = conn.snd_una;
    }

    fn ssthresh(&mut self, conn: &mut Conn) -> u32 {
        if self.cwr_quirk {
            return self.half(conn);
        }
        self.loss_cwnd = conn.cwnd;
        let beta = if conn.reducing_on_ecn {
            self.factor()
        } else {
            self.beta
        };
        Self::reduced(conn.cwnd, beta)
    }

    fn in_ack_event(&mut self, conn: &mut Conn, _acked: u32, echo: Echo) {
        let unit = self.unit(conn);
        // A duplicate counts as a segment, of the receiving half's idea of its size.
        let bytes = match conn.snd_una - self.prior_una {
            0 => unit,
            segments => segments as i64 * i64::from(conn.mss),
        };
        self.prior_una = conn.snd_una;
        let reducing = matches!(conn.ca_state, CaState::Cwr | CaState::Recovery);
        // Of a window before anything changes.
        let over = unit * i64::from(conn.cwnd);
        if reducing && !self.cwr_quirk {
            // PRR has the window.
        } else if echo.esce && !echo.ece {
            let response = u128::from(self.response.of(conn.cwnd)) * u128::from(self.gain);
            let bytes = response * bytes as u128 / u128::from(WHOLE);
            self.cnt -= bytes as i64;
            self.loss_cwnd = conn.cwnd;
            conn.ssthresh = self.half(conn);
            self.recent_sce = conn.cwnd + 1;
        } else if !conn.in_slow_start() && conn.is_cwnd_limited() {
            self.cnt += bytes;
            self.loss_cwnd = self.loss_cwnd.max(conn.cwnd);
        }
        self.spend(conn, over);
        self.recent_sce = self.recent_sce.saturating_sub(1);
    }

    fn cong_avoid(&mut self, conn: &mut Conn, acked: u32) {
        // Congestion avoidance is the counter's.
        if conn.is_cwnd_limited() && conn.in_slow_start() {
            let left = conn.slow_start(acked);
            self.cnt += i64::from(left) * self.unit(conn);
        }
    }

    fn cwnd_event(&mut self, conn: &mut Conn, event: CwndEvent) {
        match (event, self.cwr_quirk) {
            (CwndEvent::CompleteCwr, true) => self.reduce(conn, self.factor()),
            // The stack sets the window after this.
            (CwndEvent::Loss, true) => self.reduce(conn, self.beta),
            (CwndEvent::CompleteCwr | CwndEvent::Loss, false) => {
                self.cnt = 0;
                self.response.reduced(conn.cwnd);
            }
            (CwndEvent::TxStart, _) => {}
        }
    }

    fn undo_cwnd(&mut self, conn: &mut Conn) -> u32 {
        conn.cwnd.max(self.loss_cwnd)
    }

    fn ecn_need(&self) -> EcnNeed {
        EcnNeed::Sce
    }

    fn gauges(&self, _conn: &Conn, out: &mut Vec<f64>) {
        out.push(self.cnt as f64);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["sce_count_bytes"]
    }
}
