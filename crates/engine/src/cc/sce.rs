//! The common part of reno-sce and dctcp-sce: a sender that responds to SCE (Some Congestion
//! Experienced, draft-morton-tsvwg-sce). This module follows `tcp_reno_sce.c` and `tcp_dctcp_sce.c`
//! in the kernel tree github.com/chromi/sce of June 2019.
//!
//! A counter sums up acknowledged bytes. In congestion avoidance, acknowledged bytes increase the
//! counter. An ACK with ESCE decreases the counter. The decrease is the number of acknowledged
//! bytes multiplied by the response of the congestion control. Each time the absolute value of the
//! counter reaches a window of data, the window changes by a segment. The window grows if the
//! counter is positive, and shrinks otherwise. ECN-Echo and losses also reduce the window. If an
//! ACK carries both ECN-Echo and ESCE, the sender ignores ESCE.
//!
//! The kernel tree has two unintended effects, which are off by default in tailback:
//! - The counters of the kernel tree count bytes, and assume that a segment of the window has
//!   `rcv_mss` bytes. A host that only sends data never measures `rcv_mss`, so the value stays at
//!   536 bytes. As a result, growth and the response to marks are 1448/536 = 2.7 times as strong as
//!   intended. The option `unit_quirk` enables this effect.
//! - The congestion controls of the kernel tree apply their factor at the end of CWR and of
//!   Recovery. By then, the stack has already reduced the window to ssthresh, which is half of the
//!   earlier window. So the window is reduced twice. The option `cwr_quirk` enables this effect.
//!   With this option, ACKs with ESCE during the reduction lower ssthresh further.
//!
//! Deviations: counters do not wrap at 2^31. The bytes of an ACK are counted as if all segments
//! that it acknowledges were full. Without `cwr_quirk`, the window does not grow while it is being
//! reduced, and does not respond to ESCE.

use super::contract::{CongestionControl, CwndEvent, EcnNeed, Needs, Signal};
use super::view::{Ack, CaState, View};
use super::window::{MAX_CWND, Window};
use crate::registry::{Kind, Opt, Options};

/// The integer that represents a factor of 1.
const WHOLE: u64 = 1_000_000;

pub(super) const UNIT_QUIRK: Opt = Opt {
    name: "unit_quirk",
    doc: "Segment size, in bytes, that converts the window from segments to bytes. Acknowledged segments always count as 1448 bytes. 0: the MSS. The SCE kernels of 2019 use a segment size of 536 bytes by mistake.",
    kind: Kind::Int {
        min: 0,
        max: 65_000,
    },
    default: Some("0"),
    tc: None,
};

pub(super) const SSTHRESH: Opt = Opt {
    name: "ssthresh",
    doc: "ssthresh after ESCE. \"half-loss-cwnd\": ssthresh becomes half of the window before ESCE (SCE kernels of 2019). \"max\": ssthresh becomes half of the window only if this increases ssthresh (later SCE kernels). With \"max\", SCE does not end the first slow start.",
    kind: Kind::Word(&["half-loss-cwnd", "max"]),
    default: Some("half-loss-cwnd"),
    tc: None,
};

pub(super) const BETA: Opt = Opt {
    name: "beta",
    doc: "Factor by which the window is multiplied after a loss.",
    kind: Kind::Float {
        min: 0.01,
        max: 0.99,
    },
    default: Some("0.5"),
    tc: None,
};

pub(super) const BETA_ECN: Opt = Opt {
    name: "beta_ecn",
    doc: "Factor by which the window is multiplied after ECN-Echo.",
    kind: Kind::Float {
        min: 0.01,
        max: 0.99,
    },
    default: Some("0.75"),
    tc: None,
};

pub(super) const BETA_SCE: Opt = Opt {
    name: "beta_sce",
    doc: "Factor by which the window is multiplied after ECN-Echo if one of the last cwnd ACKs carried ESCE.",
    kind: Kind::Float {
        min: 0.01,
        max: 0.99,
    },
    default: Some("0.875"),
    tc: None,
};

pub(super) const CWR_QUIRK: Opt = Opt {
    name: "cwr_quirk",
    doc: "Whether ECN-Echo or a loss reduces the window twice, as in the SCE kernels of 2019. PRR \
        halves the window, and then the window is multiplied by beta_ecn or beta_sce.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};

/// How strongly a congestion control responds to ESCE.
pub(super) trait Response: Send {
    /// Returns the number of bytes that the counter loses for each byte acknowledged with ESCE. The
    /// option `response` then scales this number.
    fn of(&self, cwnd: u32) -> u64;
    fn grown(&mut self, _cwnd: u32) {}
    fn shrunk(&mut self, _cwnd: u32) {}
    fn reduced(&mut self, _cwnd: u32) {}
}

#[derive(Debug)]
pub(super) struct Sce<R> {
    response: R,
    /// The value of the option `response`, in millionths.
    gain: u64,
    /// The value of the option `unit_quirk`, in bytes. 0 means the MSS.
    unit_quirk: u16,
    /// Whether an ACK with ESCE leaves ssthresh unchanged if ssthresh is larger than half of
    /// `loss_cwnd`.
    keep_larger: bool,
    /// Factor after a loss, in millionths.
    beta: u64,
    /// Factor after ECN-Echo, in millionths.
    beta_ecn: u64,
    /// Factor after ECN-Echo if an ACK with ESCE has arrived recently, in millionths.
    beta_sce: u64,
    cwr_quirk: bool,
    /// The counter of acknowledged bytes.
    cnt: i64,
    /// The window at the last ESCE or reduction, or the largest window since then, in segments.
    loss_cwnd: u32,
    /// Number of further ACKs for which the last ACK with ESCE counts as recent.
    recent_sce: u32,
    /// The first unacknowledged segment after the previous ACK.
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

    fn unit(&self, view: View<'_>) -> i64 {
        i64::from(match self.unit_quirk {
            0 => view.mss,
            unit => unit,
        })
    }

    /// Returns half of `loss_cwnd` as the new ssthresh. If `keep_larger` is set, the result is at
    /// least the current ssthresh.
    fn half(&self, window: &Window) -> u32 {
        let half = (self.loss_cwnd / 2).max(2);
        if self.keep_larger {
            half.max(window.ssthresh)
        } else {
            half
        }
    }

    /// Returns `cwnd` multiplied by beta. The window shrinks by at least one segment, and the
    /// result is at least two segments.
    fn reduced(cwnd: u32, beta: u64) -> u32 {
        let cut = (u64::from(cwnd) * (WHOLE - beta) / WHOLE).max(1) as u32;
        cwnd.saturating_sub(cut).max(2)
    }

    /// Returns the factor after ECN-Echo. The factor is `beta_sce` if an ACK with ESCE has arrived
    /// recently.
    fn factor(&self) -> u64 {
        if self.recent_sce > 0 {
            self.beta_sce
        } else {
            self.beta_ecn
        }
    }

    /// Reduces the window in addition to the stack's reduction (`cwr_quirk`).
    fn reduce(&mut self, window: &mut Window, beta: u64) {
        self.loss_cwnd = window.cwnd;
        self.cnt = 0;
        window.cwnd = Self::reduced(window.cwnd, beta);
        if self.keep_larger {
            window.ssthresh = (self.loss_cwnd / 2).max(2);
        }
        self.response.reduced(window.cwnd);
    }

    /// For each `over` bytes in the counter, changes the window by one segment and removes these
    /// bytes.
    fn spend(&mut self, window: &mut Window, over: i64) {
        while self.cnt <= -over {
            if window.cwnd <= 2 {
                self.cnt %= over;
                break;
            }
            self.cnt += over;
            window.cwnd -= 1;
            self.response.shrunk(window.cwnd);
        }
        while self.cnt >= over {
            if window.cwnd >= MAX_CWND {
                self.cnt %= over;
                break;
            }
            self.cnt -= over;
            window.cwnd += 1;
            self.response.grown(window.cwnd);
        }
    }
}

impl<R: Response> CongestionControl for Sce<R> {
    fn needs(&self) -> Needs {
        Needs {
            ecn: EcnNeed::Sce,
            ..Needs::default()
        }
    }

    fn init(&mut self, view: View<'_>, _window: &mut Window) {
        self.prior_una = view.flight.una;
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, signal: Signal) -> u32 {
        if self.cwr_quirk && self.keep_larger {
            return self.half(window);
        } else if self.cwr_quirk {
            // After a timeout, `loss_cwnd` may be out of date. But a reduction must not raise
            // ssthresh.
            return self.half(window).min(window.cwnd.max(2));
        }
        self.loss_cwnd = window.cwnd;
        let beta = if signal == Signal::Ecn {
            self.factor()
        } else {
            self.beta
        };
        Self::reduced(window.cwnd, beta)
    }

    fn in_ack_event(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let unit = self.unit(view);
        // A duplicate ACK counts as one segment. The size of this segment is the size that the host
        // assumes for received segments (Linux `rcv_mss`).
        let bytes = match view.flight.una - self.prior_una {
            0 => unit,
            segments => segments as i64 * i64::from(view.mss),
        };
        self.prior_una = view.flight.una;
        let reducing = matches!(view.ca_state, CaState::Cwr | CaState::Recovery);
        let over = unit * i64::from(window.cwnd);
        if reducing && !self.cwr_quirk {
            // While PRR reduces the window, ESCE has no effect.
        } else if ack.esce && !ack.ece {
            let response = u128::from(self.response.of(window.cwnd)) * u128::from(self.gain);
            let bytes = response * bytes as u128 / u128::from(WHOLE);
            self.cnt -= bytes as i64;
            self.loss_cwnd = window.cwnd;
            let half = self.half(window);
            window.ssthresh = if reducing {
                half.min(window.ssthresh)
            } else {
                half
            };
            self.recent_sce = window.cwnd + 1;
        } else if !window.in_slow_start() && view.is_cwnd_limited(window) {
            self.cnt += bytes;
            self.loss_cwnd = self.loss_cwnd.max(window.cwnd);
        }
        self.spend(window, over);
        self.recent_sce = self.recent_sce.saturating_sub(1);
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        // In congestion avoidance, the counter decides when the window grows.
        if view.is_cwnd_limited(window) && window.in_slow_start() {
            let left = window.slow_start(acked);
            self.cnt += i64::from(left) * self.unit(view);
        }
    }

    fn cwnd_event(&mut self, _view: View<'_>, window: &mut Window, event: CwndEvent) {
        match (event, self.cwr_quirk) {
            (CwndEvent::CompleteCwr, true) => self.reduce(window, self.factor()),
            // After this hook, the stack sets the window as after any timeout.
            (CwndEvent::Loss, true) => self.reduce(window, self.beta),
            (CwndEvent::CompleteCwr | CwndEvent::Loss, false) => {
                self.cnt = 0;
                self.response.reduced(window.cwnd);
            }
            (CwndEvent::TxStart | CwndEvent::ProbeRepaired, _) => {}
        }
    }

    fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, _prior_cwnd: u32) -> u32 {
        window.cwnd.max(self.loss_cwnd)
    }

    fn gauges(&self, _view: View<'_>, _window: &Window, out: &mut Vec<f64>) {
        out.push(self.cnt as f64);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["sce_count_bytes"]
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::testing::{Host, options};
    use super::super::{Build, dctcp_sce, reno_sce};
    use super::*;
    use crate::registry::{Entry, Value};
    use crate::units::Time;

    type Set = [(&'static str, Value)];

    fn host(entry: &Entry<Build>, set: &Set, cwnd: u32, ssthresh: u32) -> Host {
        let mut host = Host::new((entry.build)(&options(entry, set)), cwnd, Time::from_ms(20));
        host.window.ssthresh = ssthresh;
        host
    }

    fn count(host: &Host) -> i64 {
        host.gauges()[0] as i64
    }

    /// Delivers ACKs, each given as (segments, ESCE). Returns the counter, cwnd and ssthresh after
    /// each ACK.
    fn play(host: &mut Host, acks: &[(u32, bool)]) -> Vec<(i64, u32, u32)> {
        acks.iter()
            .map(|&(segments, esce)| {
                if esce {
                    host.ack_esce(segments);
                } else {
                    host.ack(segments);
                }
                (count(host), host.window.cwnd, host.window.ssthresh)
            })
            .collect()
    }

    #[test]
    fn a_marked_segment_costs_dctcp_half_a_segment() {
        // If the unit is the MSS, a window of 10 segments is 10 x 1448 = 14480 bytes. Two segments
        // without ESCE add 2896 bytes. Two segments with ESCE subtract 2896 x 10/2 = 14480 bytes.
        // Four segments with ESCE subtract twice as much, so the window shrinks by two segments.
        let mut h = host(&dctcp_sce::ENTRY, &[], 10, 10);
        let acks = [(2, false), (2, true), (1, true), (4, true), (2, false)];
        assert_eq!(
            play(&mut h, &acks),
            [
                (2_896, 10, 10),
                (-11_584, 10, 5),
                (-4_344, 9, 5),
                // 4 x 1448 x 9/2 = 26064 bytes are subtracted. The counter falls to -30408. This
                // value is below minus two windows of 13032 bytes, so the window shrinks by two
                // segments.
                (-4_344, 7, 4),
                (-1_448, 7, 4),
            ]
        );
    }

    #[test]
    fn the_unit_of_2019_makes_all_of_it_larger() {
        // In this test, a window is only 10 x 536 = 5360 bytes. Two segments of 1448 bytes add 2896
        // bytes. Two segments with ESCE subtract 14480 bytes, which is 2.7 windows.
        let set = [("unit_quirk", Value::Int(536))];
        let mut h = host(&dctcp_sce::ENTRY, &set, 10, 10);
        let acks = [(2, false), (2, false), (2, true), (0, false)];
        assert_eq!(
            play(&mut h, &acks),
            [
                (2_896, 10, 10),
                (432, 11, 10),
                // 2896 x 11/2 = 15928 bytes are subtracted. The window shrinks by two segments, so
                // the counter is 432 - 15928 + 2 x 5896.
                (-3_704, 9, 5),
                // A duplicate ACK counts as a segment of 536 bytes.
                (-3_168, 9, 5),
            ]
        );
    }

    #[test]
    fn a_marked_window_costs_reno_its_root() {
        let mut h = host(&reno_sce::ENTRY, &[], 2, 2);
        // While the window grows by a segment per round, the root follows the square root of the
        // window. The root is 1 for windows below 3, 2 from 3 to 5, and so on. The root is one step
        // late, because it can change only when the window changes.
        for _ in 0..60 {
            h.round();
        }
        let cwnd = h.window.cwnd;
        h.sce_round(cwnd);
        let cost = cwnd - h.window.cwnd;
        // A whole window with ESCE lowers the counter by 8 windows. The counter was above 0 before,
        // so the window shrinks by only 7 segments.
        assert_eq!((cwnd, cost), (62, 7));
        // If the response is halved, the window shrinks by half as much.
        let set = [("response", Value::Float(0.5))];
        let mut h = host(&reno_sce::ENTRY, &set, 2, 2);
        for _ in 0..60 {
            h.round();
        }
        h.sce_round(62);
        assert_eq!(h.window.cwnd, 59);
    }

    /// With the earlier rule for ssthresh, SCE ends slow start. With the later rule, SCE does not
    /// end slow start.
    #[test]
    fn slow_start_and_sce() {
        for (word, ssthresh) in [
            ("half-loss-cwnd", 10),
            ("max", crate::cc::INFINITE_SSTHRESH),
        ] {
            let set = [("ssthresh", Value::Word(word))];
            let mut h = host(&dctcp_sce::ENTRY, &set, 20, crate::cc::INFINITE_SSTHRESH);
            h.ack_esce(1);
            assert_eq!(h.window.ssthresh, ssthresh, "{word}");
        }
        // Slow start does not use all segments of the ACK. The remaining segments count for
        // congestion avoidance.
        let mut h = host(&dctcp_sce::ENTRY, &[], 10, 11);
        h.ack(3);
        assert_eq!((h.window.cwnd, count(&h)), (11, 2 * 1448));
    }

    /// CE reduces a window of 100 segments to 75. If an ACK with ESCE has arrived recently, CE
    /// reduces the window of 100 segments to 87 (100 - 12.5, rounded down). A loss reduces the
    /// window of 100 segments to 50.
    #[test]
    fn factors_of_marks_and_losses() {
        let after = |set: &Set, act: fn(&mut Host)| {
            let mut h = host(&dctcp_sce::ENTRY, set, 100, 100);
            h.round();
            act(&mut h);
            h.ack(1);
            (h.window.cwnd, h.window.ssthresh)
        };
        let recent: fn(&mut Host) = |h| {
            h.ack_esce(1);
            h.marked_round(1);
        };
        // After the first round, the window is 101 segments. The results are 101 - 25, 101 - 12 and
        // 101 - 50.
        assert_eq!(after(&[], |h| h.marked_round(1)), (76, 76));
        assert_eq!(after(&[], recent), (89, 89));
        assert_eq!(
            after(&[], |h| {
                h.lose();
                h.round();
            }),
            (51, 51)
        );
        // The stack reduces the window to half of `loss_cwnd` (101/2 = 50). The congestion control
        // then reduces the window by another quarter.
        let quirk = [("cwr_quirk", Value::Bool(true))];
        assert_eq!(after(&quirk, |h| h.marked_round(1)), (39, 50));
        let later = [
            ("cwr_quirk", Value::Bool(true)),
            ("ssthresh", Value::Word("max")),
        ];
        // With the later rule, ssthresh first stays at 100. At the reduction, the window shrinks by
        // a quarter, and ssthresh becomes half of the earlier window.
        assert_eq!(after(&later, |h| h.marked_round(1)), (75, 50));
    }

    /// An ACK with ESCE counts as recent for one window of ACKs. The ACK with ECN-Echo is one of
    /// these ACKs.
    #[test]
    fn recent_is_a_window_of_acks() {
        let reduced = |acks: u32| {
            let mut h = host(&dctcp_sce::ENTRY, &[], 20, 20);
            h.ack_esce(1);
            for _ in 0..acks {
                h.ack(1);
            }
            h.ack_ece(1);
            h.window.ssthresh
        };
        // After 18 ACKs, the ACK with ESCE is still recent, so the window becomes 20 - 20/8. After
        // 19 ACKs, the ACK with ESCE is no longer recent, so the window becomes 20 - 20/4.
        assert_eq!(reduced(18), 18);
        assert_eq!(reduced(19), 15);
    }

    /// The sender does not respond to SCE on an ACK with ECN-Echo.
    #[test]
    fn ce_is_answered_first() {
        let mut h = host(&dctcp_sce::ENTRY, &[], 20, 20);
        h.ack(1);
        let ack = Ack {
            acked: 2,
            ece: true,
            esce: true,
            ..Ack::default()
        };
        h.flight.una += 2;
        let (cc, view, window) = h.hooks();
        cc.in_ack_event(view, window, &ack);
        assert_eq!((count(&h), h.window.ssthresh), (3 * 1448, 20));
    }

    #[test]
    fn never_below_two_segments() {
        let mut h = host(&dctcp_sce::ENTRY, &[], 4, 4);
        for _ in 0..30 {
            h.ack_esce(2);
        }
        assert_eq!(h.window.cwnd, 2);
        // The window cannot shrink further, so the rest of the reduction is discarded.
        assert!(count(&h) > -2 * 1448);
    }

    /// Compares the window after each round with recorded values. In every fourth round, segments
    /// are marked: 4 in round 4, 8 in round 8, and so on.
    #[test]
    fn rounds() {
        let quirk = ("unit_quirk", Value::Int(536));
        let quirk = std::slice::from_ref(&quirk);
        let mut hosts = [
            host(&reno_sce::ENTRY, &[], 20, 20),
            host(&reno_sce::ENTRY, quirk, 20, 20),
            host(&dctcp_sce::ENTRY, &[], 20, 20),
            host(&dctcp_sce::ENTRY, quirk, 20, 20),
        ];
        let mut table = String::from("round marks");
        for name in ["reno-sce", "reno 536", "dctcp-sce", "dctcp 536"] {
            write!(table, "{name:>12}").unwrap();
        }
        for round in 1..=40 {
            let marks = if round % 4 == 0 { round } else { 0 };
            write!(table, "\n{round:>5} {marks:>5}").unwrap();
            for host in &mut hosts {
                host.sce_round(marks);
                write!(table, "{:>12}", host.window.cwnd).unwrap();
            }
        }
        insta::assert_snapshot!("windows_under_sce", table);
    }
}
