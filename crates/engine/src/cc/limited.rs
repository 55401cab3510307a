//! Growth of the window while the sending rate is limited by the application and not by the window
//! (draft-ietf-ccwg-ratelimited-increase).
//!
//! While the application limits the sending rate, Linux bounds the window in slow start. The bound
//! is twice the number of segments that were outstanding in the last round. In congestion
//! avoidance, Linux does not increase the window at all (`tcp_is_cwnd_limited`). In contrast, with
//! RFC 5681 every ACK increases the window. The draft is a compromise between Linux and RFC 5681.
//! The draft's bound on the window depends on the largest flight since the last reduction. The
//! bound is twice this flight in slow start, and this flight plus one segment in congestion
//! avoidance. The initial window is treated as the first flight.
//!
//! The flight is the number of segments in flight before an ACK arrived.

use super::contract::{CongestionControl, CwndEvent, Signal};
use super::view::{Ack, View};
use super::window::Window;
use crate::registry::{Kind, Opt, Options};

pub(super) const GROWTH: Opt = Opt {
    name: "limited_growth",
    doc: "Limit on window growth while the application limits the rate. \"linux\": grow only if the flow used the whole window, as Linux does. \"draft\": draft-ietf-ccwg-ratelimited-increase. \"none\": no limit, as in RFC 5681.",
    kind: Kind::Word(&["linux", "draft", "none"]),
    default: Some("linux"),
    tc: None,
};

/// Wraps a congestion control so that it obeys the option `limited_growth`. Every congestion
/// control already follows Linux's rule, so this rule needs no wrapper.
pub(super) fn around(
    options: &Options,
    inner: Box<dyn CongestionControl>,
) -> Box<dyn CongestionControl> {
    match options.word("limited_growth") {
        "linux" => inner,
        word => Box::new(Limited {
            inner,
            bounded: word == "draft",
            largest: 0,
            window: 0,
        }),
    }
}

/// A congestion control whose window also grows while the application limits sending.
struct Limited {
    inner: Box<dyn CongestionControl>,
    /// Whether the draft's bound applies. If the value is false, the growth is not bounded.
    bounded: bool,
    /// The largest flight since the last reduction, in segments (the draft's maxFS).
    largest: u32,
    /// The window after the last event that this wrapper has seen.
    window: u32,
}

impl CongestionControl for Limited {
    crate::forward_hooks!(inner, except init, ssthresh, cong_avoid, in_ack_event, cwnd_event);

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        self.inner.init(view, window);
        (self.largest, self.window) = (window.cwnd, window.cwnd);
    }

    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
        self.largest = 0;
        self.inner.ssthresh(view, window, signal)
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        let mut used = (*view).clone();
        used.cwnd_limited = true;
        let (before, slow_start) = (window.cwnd, window.in_slow_start());
        self.inner.cong_avoid(used.view(view.flight), window, acked);
        if self.bounded {
            let most = match slow_start {
                true => self.largest.saturating_mul(2),
                false => self.largest + 1,
            };
            window.cwnd = window.cwnd.min(most.max(before));
        }
        self.window = window.cwnd;
    }

    fn in_ack_event(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.largest = self.largest.max(ack.prior_in_flight);
        self.inner.in_ack_event(view, window, ack);
    }

    fn cwnd_event(&mut self, view: View<'_>, window: &mut Window, event: CwndEvent) {
        // After a pause, the restart window counts as the first flight for the bound.
        if matches!(event, CwndEvent::TxStart) && window.cwnd < self.window {
            self.largest = window.cwnd;
        }
        self.window = window.cwnd;
        self.inner.cwnd_event(view, window, event);
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::{Conn, Flight};
    use super::super::window::INFINITE_SSTHRESH;
    use super::*;
    use crate::plan::Growth;
    use crate::registry::Value;

    /// A congestion control that grows as in RFC 5681, but only if the window has limited sending.
    struct Standard;

    impl CongestionControl for Standard {
        fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
            window.cwnd / 2
        }

        fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
            if view.is_cwnd_limited(window) {
                let slow = window.in_slow_start();
                let left = if slow {
                    window.slow_start(acked)
                } else {
                    acked
                };
                if left > 0 {
                    window.cong_avoid_ai(window.cwnd, left);
                }
            }
        }
    }

    struct Host {
        cc: Box<dyn CongestionControl>,
        conn: Conn,
        window: Window,
    }

    fn host(growth: &'static str) -> Host {
        let mut options = Options::default();
        options.set("limited_growth", Value::Word(growth));
        let mut host = Host {
            cc: around(&options, Box::new(Standard)),
            conn: Conn::default(),
            window: Window::new(10, INFINITE_SSTHRESH, Growth::Segments),
        };
        let flight = Flight::default();
        host.cc.init(host.conn.view(&flight), &mut host.window);
        host
    }

    impl Host {
        /// Sends this many segments at once and acknowledges them one by one. Returns the window.
        fn burst(&mut self, segments: u32) -> u32 {
            self.conn.max_packets_out = segments;
            self.conn.cwnd_limited = segments >= self.window.cwnd;
            for acked in 0..segments {
                let ack = Ack {
                    delivered: 1,
                    acked: 1,
                    prior_in_flight: segments - acked,
                    ..Ack::default()
                };
                let flight = Flight {
                    nxt: u64::from(segments - acked - 1),
                    ..Flight::default()
                };
                let view = self.conn.view(&flight);
                self.cc.in_ack_event(view, &mut self.window, &ack);
                self.cc.cong_avoid(view, &mut self.window, 1);
            }
            self.window.cwnd
        }

        fn reduce(&mut self) {
            let flight = Flight::default();
            let view = self.conn.view(&flight);
            self.window.ssthresh = self.cc.ssthresh(view, &self.window, Signal::Loss);
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Tests the example of the draft's section 3.1, with bursts of ten and then four segments.
    #[test]
    fn the_example_of_the_draft() {
        for (growth, windows) in [("none", [20, 24]), ("draft", [20, 20]), ("linux", [20, 20])] {
            let mut host = host(growth);
            assert_eq!([10, 4].map(|n| host.burst(n)), windows, "{growth}");
        }
    }

    /// Tests the example of the draft's appendix A, with successive bursts of 4, 8, 4 and 20
    /// segments.
    #[test]
    fn the_bursts_of_the_appendix() {
        for (growth, windows) in [
            ("draft", [14, 20, 20, 40]),
            ("none", [14, 22, 26, 46]),
            ("linux", [10, 16, 16, 36]),
        ] {
            let mut host = host(growth);
            assert_eq!([4, 8, 4, 20].map(|n| host.burst(n)), windows, "{growth}");
        }
    }

    /// Flights from before a reduction do not affect the bound. The window grows to one segment
    /// beyond the largest flight since the reduction.
    #[test]
    fn congestion_avoidance_goes_one_segment_beyond() {
        let mut host = host("draft");
        host.burst(10);
        host.burst(20);
        host.reduce();
        assert_eq!(host.window.cwnd, 20);
        let windows: Vec<u32> = (0..40).map(|_| host.burst(4)).collect();
        assert_eq!(windows.last(), Some(&20));
        let windows: Vec<u32> = (0..40).map(|_| host.burst(21)).collect();
        assert_eq!(windows.last(), Some(&22));
    }
}
