//! HyStart ends slow start after a long train of ACKs or after a rise of the RTT (Ha and Rhee
//! 2011), as in Linux's CUBIC. [`Train`] decides when slow start ends. For this decision, `Train`
//! needs the smallest RTT of the connection. CUBIC already measures this RTT for its curve. For all
//! other congestion controls, [`HyStart`] measures it.

use crate::cc::view::{Ack, View};
use crate::cc::window::Window;
use crate::units::Time;

/// HyStart ends slow start only if the window has at least this many segments.
const HYSTART_LOW_WINDOW: u32 = 16;
/// Number of RTT samples in a round that are needed to detect a rise.
const HYSTART_MIN_SAMPLES: u8 = 8;
/// Successive ACKs belong to one train if the time between them is at most this value, in us.
const HYSTART_ACK_DELTA: u64 = 2_000;
/// Lower and upper limit of the rise of the RTT that ends slow start, in us.
const HYSTART_DELAY: (u32, u32) = (4_000, 16_000);
/// The largest burst that a host passes to a network device, in bytes (Linux `sk_gso_max_size`: 64
/// KiB minus headers).
const GSO_MAX_SIZE: u64 = 65_536 - 321;

#[derive(Debug, Default)]
pub(in crate::cc) struct Train {
    round_start: u64,
    /// The round is over once a segment beyond this segment has been acknowledged.
    end_seq: u64,
    /// When the last ACK of the train arrived, in us.
    last_ack: u64,
    /// The smallest RTT of the round, in us.
    curr_rtt: u32,
    samples: u8,
}

impl Train {
    pub fn restart(&mut self, view: View<'_>) {
        let now = view.now.whole_us();
        *self = Train {
            round_start: now,
            last_ack: now,
            end_seq: view.flight.nxt,
            curr_rtt: u32::MAX,
            samples: 0,
        };
    }

    /// Returns by how much bursts may lengthen a train of ACKs, in us. The result is the time in
    /// which four bursts of the largest size are sent, but at most 1 ms. The bursts are assumed to
    /// leave at Linux's pacing rate. This rate is twice the window per RTT in slow start, and 1.2
    /// times the window per RTT later.
    fn burst_delay(view: View<'_>, window: &Window) -> u64 {
        let percent = if window.cwnd < window.ssthresh / 2 {
            200
        } else {
            120
        };
        let rate = if window.pacing_rate != 0 {
            window.pacing_rate
        } else if view.srtt == Time::ZERO {
            return 0;
        } else {
            let window =
                u64::from(window.cwnd.max(view.flight.packets_out())) * u64::from(view.mss);
            let rate = u128::from(window) * 10_000_000 * percent / u128::from(view.srtt.ns());
            u64::try_from(rate).unwrap_or(u64::MAX).max(1)
        };
        (GSO_MAX_SIZE * 4 * 1_000_000 / rate).min(1_000)
    }

    /// If this ACK ends slow start, returns why. Returns `None` if slow start continues. `delay` is
    /// the RTT sample of this ACK, and `delay_min` is the smallest RTT (both in us). If `ack_delay`
    /// is true, [`Train::burst_delay`] is added to the limit for the length of a train.
    #[inline(always)] // inline, because CUBIC calls it for every ACK in slow start
    pub fn ends_slow_start(
        &mut self,
        view: View<'_>,
        window: &Window,
        delay: u32,
        delay_min: u32,
        ack_delay: bool,
    ) -> Option<&'static str> {
        if view.flight.una > self.end_seq {
            self.restart(view);
        }
        if window.cwnd < HYSTART_LOW_WINDOW {
            return None;
        }
        let now = view.now.whole_us();
        let mut end = None;
        if now - self.last_ack <= HYSTART_ACK_DELTA {
            self.last_ack = now;
            let mut threshold = u64::from(delay_min);
            if ack_delay {
                threshold += Train::burst_delay(view, window);
            }
            // Without pacing, a train that lasts half an RTT ends slow start. Pacing spreads the
            // packets of a round over half an RTT. So with pacing, the limit is a full RTT.
            if window.pacing_rate == 0 {
                threshold /= 2;
            }
            end = (now - self.round_start > threshold).then_some("hystart_train");
        }
        self.curr_rtt = self.curr_rtt.min(delay);
        if self.samples < HYSTART_MIN_SAMPLES {
            self.samples += 1;
        } else {
            let (least, most) = HYSTART_DELAY;
            let most = delay_min.saturating_add((delay_min >> 3).clamp(least, most));
            if self.curr_rtt > most {
                end = end.or(Some("hystart_delay"));
            }
        }
        end
    }
}

/// HyStart for congestion controls that do not measure the smallest RTT themselves.
#[derive(Debug, Default)]
pub(in crate::cc) struct HyStart {
    train: Train,
    /// The smallest RTT since the connection began or since the last timeout, in us. The value is 0
    /// before the first RTT sample.
    delay_min: u32,
    /// Whether HyStart has ended slow start since the last timeout.
    found: bool,
}

impl HyStart {
    pub fn restart(&mut self, view: View<'_>) {
        self.delay_min = 0;
        self.found = false;
        self.train.restart(view);
    }

    pub fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else {
            return;
        };
        let delay = u32::try_from(rtt.whole_us()).unwrap_or(u32::MAX).max(1);
        if self.delay_min == 0 || self.delay_min > delay {
            self.delay_min = delay;
        }
        if self.found || !window.in_slow_start() {
            return;
        }
        let end = (self.train).ends_slow_start(view, window, delay, self.delay_min, true);
        if end.is_some() {
            self.found = true;
            window.ssthresh = window.cwnd;
            window.left_slow_start = end;
        }
    }
}
