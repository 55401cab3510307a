//! A sender without a network. Tests use this sender to call the hooks of a congestion control. The
//! sender always has data, and its segments are acknowledged in order. The sender reduces its
//! window as Linux does (by PRR in CWR and Recovery). The sender's delivery-rate samples report a
//! rate of one window per RTT. The unit tests and the tests in `tests/` use this sender.

// Each test includes this file, but uses only some of its functions.
#![allow(dead_code)]

use tailback_engine::cc::{
    Ack, Build, CaState, CongestionControl, Conn, Control, CwndEvent, Flight, INFINITE_SSTHRESH,
    LostSegment, MAX_CWND, Needs, RateSample, Signal, View, Window,
};
use tailback_engine::plan::Growth;
use tailback_engine::registry::{self, Entry, Options, Value};
use tailback_engine::units::Time;

/// Returns the default options of a congestion control, with the values in `set`.
pub fn options(entry: &Entry<Build>, set: &[(&'static str, Value)]) -> Options {
    let mut options = registry::defaults(entry.options);
    for (name, value) in set {
        options.set(name, value.clone());
    }
    (entry.finish)(&mut options).expect("a sensible combination");
    options
}

/// The congestion signal that an ACK carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    None,
    Ece,
    Esce,
}

/// Returns a window of `cwnd` segments with an infinite slow-start threshold.
pub fn window(cwnd: u32) -> Window {
    Window::new(cwnd, INFINITE_SSTHRESH, Growth::Segments)
}

/// Returns the counts of segments of a sender that has this many segments in flight.
pub fn flight(segments: u32) -> Flight {
    Flight {
        nxt: u64::from(segments),
        ..Flight::default()
    }
}

/// The values that the stack passes to a congestion control. Tests set them directly.
pub struct Stack {
    /// Clocks, counters and the state of the connection. The congestion control reads these values.
    pub conn: Conn,
    /// The segments in flight. The congestion control reads their numbers.
    pub flight: Flight,
    /// The window. The congestion control changes the window.
    pub window: Window,
}

impl Stack {
    /// Returns a connection with a window of `cwnd` segments. The window has limited sending so
    /// far.
    pub fn new(cwnd: u32) -> Stack {
        Stack {
            conn: Conn {
                cwnd_limited: true,
                ..Conn::default()
            },
            flight: Flight::default(),
            window: window(cwnd),
        }
    }

    /// Calls a hook, and passes it this connection and its window.
    pub fn with<R>(&mut self, hook: impl FnOnce(View<'_>, &mut Window) -> R) -> R {
        hook(self.conn.view(&self.flight), &mut self.window)
    }
}

/// Returns the window to which `cc` reduces `cwnd` while `out` segments are in flight.
pub fn ssthresh(cc: &mut dyn CongestionControl, cwnd: u32, out: u32, signal: Signal) -> u32 {
    let (conn, flight) = (Conn::default(), flight(out));
    cc.ssthresh(conn.view(&flight), &window(cwnd), signal)
}

/// A sender without a network.
pub struct Host {
    /// The congestion control under test.
    pub cc: Box<dyn CongestionControl>,
    /// The state of the connection that the congestion control reads.
    pub conn: Conn,
    /// The sender's segments. No segment is lost or selectively acknowledged.
    pub flight: Flight,
    /// The window that the congestion control changes.
    pub window: Window,
    /// What the congestion control needs from the stack.
    pub needs: Needs,
    /// Round-trip time of every segment.
    pub rtt: Time,
    /// The reduction ends when a segment above this one has been acknowledged.
    high_seq: u64,
    /// The window at the beginning of the last reduction.
    prior_cwnd: u32,
    prr_delivered: u32,
    prr_out: u32,
}

impl Host {
    /// Returns a sender with a window of `cwnd` segments, which are all in flight.
    pub fn new(cc: Box<dyn CongestionControl>, cwnd: u32, rtt: Time) -> Host {
        let mut host = Host {
            needs: cc.needs(),
            cc,
            window: window(cwnd),
            flight: Flight::default(),
            conn: Conn {
                srtt: rtt,
                min_rtt: rtt,
                cwnd_limited: true,
                ..Conn::default()
            },
            rtt,
            high_seq: 0,
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
        };
        let (cc, view, window) = host.hooks();
        cc.init(view, window);
        host.send();
        host.conn.now = rtt;
        host
    }

    /// Returns what a hook is called with: the congestion control, the connection and the window.
    pub fn hooks(&mut self) -> (&mut dyn CongestionControl, View<'_>, &mut Window) {
        let view = self.conn.view(&self.flight);
        (&mut *self.cc, view, &mut self.window)
    }

    /// Returns the values that the congestion control reports for the time series.
    pub fn gauges(&self) -> Vec<f64> {
        let mut out = Vec::new();
        let view = self.conn.view(&self.flight);
        self.cc.gauges(view, &self.window, &mut out);
        out
    }

    fn set_state(&mut self, new: CaState) {
        let (cc, view, window) = self.hooks();
        cc.set_state(view, window, new);
        self.conn.ca_state = new;
    }

    fn tell(&mut self, event: CwndEvent) {
        let (cc, view, window) = self.hooks();
        cc.cwnd_event(view, window, event);
    }

    /// Moves the clock forward.
    pub fn wait(&mut self, time: Time) {
        self.conn.now += time;
    }

    /// Delivers an ACK of `n` segments, or of all segments in flight if these are fewer.
    pub fn ack(&mut self, n: u32) {
        self.on_ack(n, Echo::None);
    }

    /// Delivers an ACK of `n` segments with ECN-Echo.
    pub fn ack_ece(&mut self, n: u32) {
        self.on_ack(n, Echo::Ece);
    }

    /// Delivers an ACK of `n` segments with the echo of SCE.
    pub fn ack_esce(&mut self, n: u32) {
        self.on_ack(n, Echo::Esce);
    }

    /// Simulates a round trip in which each segment in flight gets its own ACK. The ACKs are evenly
    /// spaced.
    pub fn round(&mut self) {
        self.marked_round(0);
    }

    /// Simulates a round trip whose first `marked` ACKs carry ECN-Echo.
    pub fn marked_round(&mut self, marked: u32) {
        self.echoed_round(marked, Echo::Ece);
    }

    /// Simulates a round trip whose first `marked` ACKs carry the echo of SCE.
    pub fn sce_round(&mut self, marked: u32) {
        self.echoed_round(marked, Echo::Esce);
    }

    fn echoed_round(&mut self, marked: u32, echo: Echo) {
        let n = self.flight.in_flight();
        let from = self.conn.now;
        for i in 0..n {
            self.conn.now = from + Time(self.rtt.ns() * u64::from(i + 1) / u64::from(n));
            self.on_ack(1, if i < marked { echo } else { Echo::None });
        }
    }

    /// Reports that a segment is lost, which starts fast recovery.
    pub fn lose(&mut self) {
        if self.conn.ca_state >= CaState::Recovery {
            return;
        }
        if self.conn.ca_state != CaState::Cwr {
            self.begin_reduction(Signal::Loss);
        } else {
            self.cc.loss_in_cwr(&mut self.window);
        }
        self.set_state(CaState::Recovery);
        if self.needs.rate_samples {
            let segment = LostSegment {
                tx_in_flight: self.flight.in_flight(),
                lost: 1,
                app_limited: false,
                seq: self.flight.una,
            };
            let (cc, view, window) = self.hooks();
            cc.on_lost(view, window, &segment);
        }
    }

    /// Lets the retransmission timer expire. All segments then count as lost, and the first segment
    /// is sent again.
    pub fn timeout(&mut self) {
        if self.conn.ca_state <= CaState::Disorder || self.high_seq <= self.flight.una {
            self.prior_cwnd = self.window.cwnd;
            self.ask_ssthresh(Signal::Loss);
            self.tell(CwndEvent::Loss);
        }
        self.window.cwnd = 1;
        self.window.cwnd_cnt = 0;
        self.set_state(CaState::Loss);
        self.high_seq = self.flight.nxt;
        self.flight.nxt = self.flight.una;
        self.send();
    }

    /// Undoes the last reduction, which was spurious.
    pub fn undo(&mut self) {
        let prior = self.prior_cwnd;
        let (cc, view, window) = self.hooks();
        window.cwnd = cc.undo_cwnd(view, window, prior).min(MAX_CWND);
        window.ssthresh = window.ssthresh.max(prior);
        self.set_state(CaState::Open);
        self.send();
    }

    /// Acknowledges all segments, stays idle for `time`, and then sends a window.
    pub fn idle(&mut self, time: Time) {
        if self.flight.in_flight() > 0 {
            self.conn.last_sent = self.conn.now;
            self.flight.una = self.flight.nxt;
        }
        self.wait(time);
        self.tell(CwndEvent::TxStart);
        self.send();
    }

    fn on_ack(&mut self, n: u32, echo: Echo) {
        let ece = echo == Echo::Ece;
        let prior_in_flight = self.flight.in_flight();
        let n = n.min(prior_in_flight);
        let mut ack = Ack {
            delivered: n,
            acked: n,
            ece,
            esce: echo == Echo::Esce,
            prior_in_flight,
            ce: if ece { n } else { 0 },
            ..Ack::default()
        };
        self.flight.una += u64::from(n);
        self.conn.delivered += u64::from(n);
        self.conn.delivered_ce += u64::from(ack.ce);
        let (cc, view, window) = self.hooks();
        cc.in_ack_event(view, window, &ack);
        ack.rtt = Some(self.rtt);
        let (cc, view, window) = self.hooks();
        cc.pkts_acked(view, window, &ack);

        // CWR ends when a segment that was sent after the CWR flag has been acknowledged. This ACK
        // shows that the receiver has received the flag. Recovery and Loss end when all segments
        // that were sent before the state began have been acknowledged.
        let (una, high) = (self.flight.una, self.high_seq);
        let over = match self.conn.ca_state {
            CaState::Cwr => una > high,
            CaState::Recovery | CaState::Loss => una >= high,
            CaState::Open | CaState::Disorder => false,
        };
        if over {
            let owned = match self.conn.ca_state {
                CaState::Cwr => self.needs.control >= Control::Cwr,
                _ => self.needs.control == Control::Window,
            };
            if self.conn.ca_state != CaState::Loss && !owned {
                if self.window.ssthresh < INFINITE_SSTHRESH {
                    self.window.cwnd = self.window.ssthresh;
                }
                self.tell(CwndEvent::CompleteCwr);
            }
            self.set_state(CaState::Open);
        }
        if ece && self.conn.ca_state < CaState::Cwr {
            self.begin_reduction(Signal::Ecn);
            self.set_state(CaState::Cwr);
            if self.needs.control >= Control::Cwr {
                self.cc.cwr_begin(&mut self.window);
            }
        }
        self.conn.rate = RateSample {
            interval_us: self.rtt.ns() / 1000,
            delivered: prior_in_flight,
            delivered_ce: ack.ce,
            prior_delivered: (self.conn.delivered).saturating_sub(prior_in_flight.into()),
            tx_in_flight: prior_in_flight,
            delivered_at: self.conn.now,
            ..RateSample::default()
        };
        let control = self.needs.control;
        let (cc, view, window) = self.hooks();
        match view.ca_state {
            _ if control == Control::Window => cc.cong_control(view, window, &ack),
            CaState::Cwr if control == Control::Cwr => cc.cwr_ack(view, window, &ack, n),
            CaState::Cwr | CaState::Recovery => self.prr(n),
            _ if n > 0 => cc.cong_avoid(view, window, n),
            _ => {}
        }
        self.send();
    }

    fn ask_ssthresh(&mut self, signal: Signal) {
        let (cc, view, window) = self.hooks();
        window.ssthresh = cc.ssthresh(view, window, signal);
    }

    fn begin_reduction(&mut self, signal: Signal) {
        self.high_seq = self.flight.nxt;
        self.prior_cwnd = self.window.cwnd;
        self.prr_delivered = 0;
        self.prr_out = 0;
        if !(signal == Signal::Ecn && self.needs.control >= Control::Cwr) {
            self.window.cwnd_cnt = 0;
        }
        self.ask_ssthresh(signal);
    }

    /// Applies proportional rate reduction (RFC 6937 section 3).
    fn prr(&mut self, delivered: u32) {
        let (in_flight, ssthresh) = (self.flight.in_flight(), self.window.ssthresh);
        self.prr_delivered += delivered;
        let sent = if in_flight > ssthresh {
            let due = u64::from(ssthresh) * u64::from(self.prr_delivered);
            (due.div_ceil(u64::from(self.prior_cwnd.max(1))) as u32).saturating_sub(self.prr_out)
        } else {
            let behind = self.prr_delivered.saturating_sub(self.prr_out);
            (behind.max(delivered) + 1).min(ssthresh - in_flight)
        };
        self.window.cwnd = in_flight + sent.max(u32::from(self.prr_out == 0));
    }

    fn send(&mut self) {
        let n = self.window.cwnd.saturating_sub(self.flight.in_flight());
        self.flight.nxt += u64::from(n);
        self.conn.max_packets_out = self.flight.in_flight();
        if n > 0 {
            self.conn.last_sent = self.conn.now;
            self.prr_out += n;
        }
    }
}
