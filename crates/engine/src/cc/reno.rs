//! Reno (RFC 5681), as Linux 7.3 `tcp_cong.c` has it.
//!
//! Deviations from the RFC, as in Linux: the window counts segments; the
//! reduction is from cwnd, not from FlightSize; growth is per acknowledged
//! segment (an L of the whole ACK in RFC 3465's terms).

use super::{Build, CongestionControl};
use crate::registry::{Entry, Kernel, Kind, Opt, no_finish};
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
        let beta = options.float("beta");
        let beta_ecn = if options.get("beta_ecn").is_some() {
            options.float("beta_ecn")
        } else {
            beta
        };
        Box::new(Reno { beta, beta_ecn })
    },
};

/// The congestion control: all of its state is the connection's.
#[derive(Debug)]
pub struct Reno {
    beta: f64,
    beta_ecn: f64,
}

impl CongestionControl for Reno {
    fn ssthresh(&mut self, conn: &mut Conn) -> u32 {
        let beta = if conn.reducing_on_ecn {
            self.beta_ecn
        } else {
            self.beta
        };
        ((f64::from(conn.cwnd) * beta) as u32).max(2)
    }

    fn cong_avoid(&mut self, conn: &mut Conn, acked: u32) {
        if !conn.is_cwnd_limited() {
            return;
        }
        let mut acked = acked;
        if conn.in_slow_start() {
            acked = conn.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        conn.cong_avoid_ai(conn.cwnd, acked);
    }
}
