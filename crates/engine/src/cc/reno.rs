//! Reno (RFC 5681), as Linux 7.3 `tcp_cong.c` has it, with ABE (RFC 8511) as
//! an option.
//!
//! Deviations from the RFCs, as in Linux: the window counts segments; the
//! reduction is from cwnd, not from FlightSize; growth is per acknowledged
//! segment (an L of the whole ACK in RFC 3465's terms). Linux has the factors
//! fixed at one half; any other is applied in millionths and rounded down.

use super::{Build, CongestionControl};
use crate::registry::{Entry, Kernel, Kind, Opt, Options, no_finish};
use crate::tcp::conn::Conn;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "reno",
    doc: "Additive increase of one segment per RTT, multiplicative decrease by half.",
    follows: "RFC 5681; Linux 7.3 tcp_cong.c",
    options: &[
        Opt {
            name: "beta",
            doc: "Factor of the window after a loss.",
            kind: Kind::Float {
                min: 0.01,
                max: 0.99,
            },
            default: Some("0.5"),
            tc: None,
        },
        Opt {
            name: "beta_ecn",
            doc: "Factor of the window after ECN-Echo (ABE, RFC 8511, has 0.8); default: beta.",
            kind: Kind::Float {
                min: 0.01,
                max: 0.99,
            },
            default: None,
            tc: None,
        },
    ],
    kernel: Kernel::Module("reno"),
    finish: no_finish,
    build: |options| {
        let (loss, ecn) = betas(options, 1_000_000);
        Box::new(Reno { loss, ecn })
    },
};

/// The options `beta` and `beta_ecn` as integers of `scale`, the second the
/// first where it is not set.
pub(super) fn betas(options: &Options, scale: u32) -> (u32, u32) {
    let fixed = |name| libm::round(options.float(name) * f64::from(scale)) as u32;
    let loss = fixed("beta");
    match options.get("beta_ecn") {
        Some(_) => (loss, fixed("beta_ecn")),
        None => (loss, loss),
    }
}

/// Reno's growth, which DCTCP shares.
#[inline]
pub(super) fn cong_avoid(conn: &mut Conn, mut acked: u32) {
    if !conn.is_cwnd_limited() {
        return;
    }
    // RFC 5681 section 3.1: slow start below ssthresh; what an ACK brings
    // beyond it counts for congestion avoidance.
    if conn.in_slow_start() {
        acked = conn.slow_start(acked);
        if acked == 0 {
            return;
        }
    }
    conn.cong_avoid_ai(conn.cwnd, acked);
}

/// The congestion control: all of its state is the connection's.
#[derive(Debug)]
pub struct Reno {
    /// Factor after a loss, millionths.
    loss: u32,
    /// Factor after ECN-Echo, millionths.
    ecn: u32,
}

impl CongestionControl for Reno {
    fn ssthresh(&mut self, conn: &mut Conn) -> u32 {
        // RFC 5681 equation (4); RFC 8511 section 3 for ECN.
        let beta = if conn.reducing_on_ecn {
            self.ecn
        } else {
            self.loss
        };
        let cut = u64::from(conn.cwnd) * u64::from(beta) / 1_000_000;
        (cut as u32).max(2)
    }

    fn cong_avoid(&mut self, conn: &mut Conn, acked: u32) {
        cong_avoid(conn, acked);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Host, options};
    use super::*;
    use crate::registry::Value;
    use crate::units::Time;

    fn ssthresh(set: &[(&'static str, Value)], cwnd: u32, ecn: bool) -> u32 {
        let mut cc = (ENTRY.build)(&options(&ENTRY, set));
        cc.ssthresh(&mut Conn {
            cwnd,
            reducing_on_ecn: ecn,
            ..Conn::default()
        })
    }

    #[test]
    fn half_of_the_window_but_two_segments() {
        for (cwnd, half) in [
            (1, 2),
            (3, 2),
            (4, 2),
            (5, 2),
            (21, 10),
            (u32::MAX / 2, 1_073_741_823),
        ] {
            assert_eq!(ssthresh(&[], cwnd, false), half, "cwnd {cwnd}");
            assert_eq!(ssthresh(&[], cwnd, true), half, "cwnd {cwnd}, ECN");
        }
    }

    #[test]
    fn abe_is_gentler_on_marks_only() {
        let abe = [("beta_ecn", Value::Float(0.8))];
        assert_eq!(ssthresh(&abe, 20, true), 16);
        assert_eq!(ssthresh(&abe, 20, false), 10);
        // 0.57 * 100 is 56.99... in floats: the factor is exact in millionths.
        assert_eq!(ssthresh(&[("beta_ecn", Value::Float(0.57))], 100, true), 57);
    }

    #[test]
    fn doubles_each_round_then_adds_one() {
        let mut host = Host::new((ENTRY.build)(&options(&ENTRY, &[])), 10, Time::from_ms(50));
        host.conn.ssthresh = 40;
        let mut windows = Vec::new();
        for _ in 0..5 {
            host.round();
            windows.push(host.conn.cwnd);
        }
        // The second doubling ends at ssthresh exactly.
        assert_eq!(windows, [20, 40, 41, 42, 43]);
    }
}
