//! A sender without a network, to drive congestion controls in tests: it has
//! always data, acknowledges in order, and reduces its window as Linux does
//! (PRR in CWR and Recovery). One that measures delivery rates is told that
//! a window is delivered per RTT. Shared by the unit tests and `tests/`.

// Each user of this file needs another part of it.
#![allow(dead_code)]

use tailback_engine::cc::{
    Ack, Build, CaState, CongestionControl, CwndEvent, Echo, INFINITE_SSTHRESH,
};
use tailback_engine::registry::{self, Entry, Options, Value};
use tailback_engine::tcp::conn::Conn;
use tailback_engine::tcp::rate::{LostSegment, RateSample};
use tailback_engine::units::Time;

/// The complete options of an entry with some set.
pub fn options(entry: &Entry<Build>, set: &[(&'static str, Value)]) -> Options {
    let mut options = registry::defaults(entry.options);
    for (name, value) in set {
        options.set(name, value.clone());
    }
    (entry.finish)(&mut options).expect("a sensible combination");
    options
}

const ECE: Echo = Echo {
    ece: true,
    esce: false,
};
const ESCE: Echo = Echo {
    ece: false,
    esce: true,
};

/// The sender.
pub struct Host {
    /// What is under test.
    pub cc: Box<dyn CongestionControl>,
    /// Its connection.
    pub conn: Conn,
    /// RTT of every segment.
    pub rtt: Time,
    /// A reduction ends when something beyond this segment is acknowledged.
    high_seq: u64,
    /// Segments delivered during a reduction.
    prr_delivered: u32,
    /// Segments sent during a reduction.
    prr_out: u32,
}

impl Host {
    /// A sender with a window of `cwnd` segments, all in flight.
    pub fn new(cc: Box<dyn CongestionControl>, cwnd: u32, rtt: Time) -> Host {
        let mut host = Host {
            cc,
            conn: Conn {
                cwnd,
                srtt: rtt,
                min_rtt: rtt,
                cwnd_limited: true,
                ..Conn::default()
            },
            rtt,
            high_seq: 0,
            prr_delivered: 0,
            prr_out: 0,
        };
        host.cc.init(&mut host.conn);
        host.send();
        host.conn.now = rtt;
        host
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Time) {
        self.conn.now += time;
    }

    /// An ACK of `n` segments (no more than are in flight).
    pub fn ack(&mut self, n: u32) {
        self.on_ack(n, Echo::default());
    }

    /// The same with ECN-Echo.
    pub fn ack_ece(&mut self, n: u32) {
        self.on_ack(n, ECE);
    }

    /// The same with the echo of SCE.
    pub fn ack_esce(&mut self, n: u32) {
        self.on_ack(n, ESCE);
    }

    /// A round trip: every segment in flight is acknowledged on its own, evenly spaced.
    pub fn round(&mut self) {
        self.marked_round(0);
    }

    /// A round trip whose first `marked` ACKs carry ECN-Echo.
    pub fn marked_round(&mut self, marked: u32) {
        self.echoed_round(marked, ECE);
    }

    /// A round trip whose first `marked` ACKs carry the echo of SCE.
    pub fn sce_round(&mut self, marked: u32) {
        self.echoed_round(marked, ESCE);
    }

    fn echoed_round(&mut self, marked: u32, echo: Echo) {
        let n = self.conn.in_flight;
        let from = self.conn.now;
        for i in 0..n {
            self.conn.now = from + Time(self.rtt.ns() * u64::from(i + 1) / u64::from(n));
            self.on_ack(1, if i < marked { echo } else { Echo::default() });
        }
    }

    /// A segment is found lost: fast recovery.
    pub fn lose(&mut self) {
        if self.conn.ca_state >= CaState::Recovery {
            return;
        }
        if self.conn.ca_state != CaState::Cwr {
            self.begin_reduction(false);
        } else {
            self.cc.loss_in_cwr(&mut self.conn);
        }
        self.cc.set_state(&mut self.conn, CaState::Recovery);
        self.conn.ca_state = CaState::Recovery;
        if self.cc.needs_rate_samples() {
            let segment = LostSegment {
                tx_in_flight: self.conn.in_flight,
                lost: 1,
                app_limited: false,
            };
            self.cc.on_lost(&mut self.conn, &segment);
        }
    }

    /// The retransmission timer fires: all is lost, one segment is sent again.
    pub fn timeout(&mut self) {
        let conn = &mut self.conn;
        if conn.ca_state <= CaState::Disorder || self.high_seq <= conn.snd_una {
            conn.prior_cwnd = conn.cwnd;
            conn.ssthresh = self.cc.ssthresh(conn);
            self.cc.cwnd_event(conn, CwndEvent::Loss);
        }
        conn.cwnd = 1;
        conn.cwnd_cnt = 0;
        self.cc.set_state(conn, CaState::Loss);
        conn.ca_state = CaState::Loss;
        self.high_seq = conn.snd_nxt;
        conn.snd_nxt = conn.snd_una;
        conn.in_flight = 0;
        self.send();
    }

    /// The last reduction was spurious.
    pub fn undo(&mut self) {
        let conn = &mut self.conn;
        conn.cwnd = self.cc.undo_cwnd(conn).min(conn.cwnd_clamp);
        conn.ssthresh = conn.ssthresh.max(conn.prior_cwnd);
        self.cc.set_state(conn, CaState::Open);
        conn.ca_state = CaState::Open;
        self.send();
    }

    /// Everything is acknowledged, nothing is sent for so long, then a window.
    pub fn idle(&mut self, time: Time) {
        if self.conn.in_flight > 0 {
            self.conn.last_sent = self.conn.now;
            self.conn.snd_una = self.conn.snd_nxt;
            self.conn.in_flight = 0;
        }
        self.wait(time);
        self.cc.cwnd_event(&mut self.conn, CwndEvent::TxStart);
        self.send();
    }

    fn on_ack(&mut self, n: u32, echo: Echo) {
        let ece = echo.ece;
        let n = n.min(self.conn.in_flight);
        let (cc, conn) = (&mut self.cc, &mut self.conn);
        let ack = Ack {
            delivered: n,
            acked: n,
            ece,
            esce: echo.esce,
            rtt: Some(self.rtt),
            prior_in_flight: conn.in_flight,
            ce: if ece { n } else { 0 },
            ..Ack::default()
        };
        conn.snd_una += u64::from(n);
        conn.delivered += u64::from(n);
        conn.delivered_ce += if ece { u64::from(n) } else { 0 };
        cc.in_ack_event(conn, n, echo);
        conn.in_flight -= n;
        conn.packets_out = conn.in_flight;
        cc.pkts_acked(conn, &ack);

        // CWR lasts until its bit must have reached the receiver: until
        // something sent after it is acknowledged; the other two end at it.
        let (una, high) = (conn.snd_una, self.high_seq);
        let over = match conn.ca_state {
            CaState::Cwr => una > high,
            CaState::Recovery | CaState::Loss => una >= high,
            CaState::Open | CaState::Disorder => false,
        };
        if over {
            let owned = (conn.ca_state == CaState::Cwr && cc.owns_cwr()) || cc.owns_window();
            if conn.ca_state != CaState::Loss && !owned {
                if conn.ssthresh < INFINITE_SSTHRESH {
                    conn.cwnd = conn.ssthresh;
                }
                cc.cwnd_event(conn, CwndEvent::CompleteCwr);
            }
            cc.set_state(conn, CaState::Open);
            conn.ca_state = CaState::Open;
        }
        if ece && self.conn.ca_state < CaState::Cwr {
            self.begin_reduction(true);
            self.cc.set_state(&mut self.conn, CaState::Cwr);
            self.conn.ca_state = CaState::Cwr;
            if self.cc.owns_cwr() {
                self.cc.cwr_begin(&mut self.conn);
            }
        }
        self.conn.rate = RateSample {
            interval_us: self.rtt.ns() / 1000,
            delivered: ack.prior_in_flight,
            delivered_ce: if ece { n } else { 0 },
            prior_delivered: (self.conn.delivered).saturating_sub(ack.prior_in_flight.into()),
            tx_in_flight: ack.prior_in_flight,
            delivered_at: self.conn.now,
            ..RateSample::default()
        };
        if self.cc.cong_control(&mut self.conn, &ack) {
            return self.send();
        }
        match self.conn.ca_state {
            CaState::Cwr if self.cc.owns_cwr() => self.cc.cwr_ack(&mut self.conn, &ack, n),
            CaState::Cwr | CaState::Recovery => self.prr(n),
            _ if n > 0 => self.cc.cong_avoid(&mut self.conn, n),
            _ => {}
        }
        self.send();
    }

    fn begin_reduction(&mut self, ecn: bool) {
        let conn = &mut self.conn;
        self.high_seq = conn.snd_nxt;
        conn.prior_cwnd = conn.cwnd;
        self.prr_delivered = 0;
        self.prr_out = 0;
        if !(ecn && self.cc.owns_cwr()) {
            conn.cwnd_cnt = 0;
        }
        conn.reducing_on_ecn = ecn;
        conn.ssthresh = self.cc.ssthresh(conn);
        conn.reducing_on_ecn = false;
    }

    /// RFC 6937 section 3.
    fn prr(&mut self, delivered: u32) {
        let conn = &mut self.conn;
        self.prr_delivered += delivered;
        let sent = if conn.in_flight > conn.ssthresh {
            let due = u64::from(conn.ssthresh) * u64::from(self.prr_delivered);
            (due.div_ceil(u64::from(conn.prior_cwnd.max(1))) as u32).saturating_sub(self.prr_out)
        } else {
            let behind = self.prr_delivered.saturating_sub(self.prr_out);
            (behind.max(delivered) + 1).min(conn.ssthresh - conn.in_flight)
        };
        conn.cwnd = conn.in_flight + sent.max(u32::from(self.prr_out == 0));
    }

    /// Fills the window.
    fn send(&mut self) {
        let conn = &mut self.conn;
        let n = conn.cwnd.saturating_sub(conn.in_flight);
        conn.in_flight += n;
        conn.snd_nxt += u64::from(n);
        conn.packets_out = conn.in_flight;
        conn.max_packets_out = conn.in_flight;
        if n > 0 {
            conn.last_sent = conn.now;
            self.prr_out += n;
        }
    }
}
