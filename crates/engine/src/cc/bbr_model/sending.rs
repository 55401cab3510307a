//! Pacing, bursts, and the number of packets in the network.

use super::units::{Bandwidth, Gain, NO_RTT, us};
use crate::cc::view::View;
use crate::cc::window::Window;
use crate::units::Time;

#[derive(Clone, Debug)]
pub(in crate::cc) struct Pace {
    /// The gain that applies until a bandwidth has been measured.
    initial: Gain,
    /// By how many percent the pacing rate is below the estimated bandwidth.
    margin: u32,
    seen_rtt: bool,
}

impl Pace {
    pub(in crate::cc) fn new(initial: Gain, margin: u32) -> Pace {
        Pace {
            initial,
            margin,
            seen_rtt: false,
        }
    }

    /// Sets the rate that applies until a bandwidth has been measured. This rate is the initial
    /// window per RTT, multiplied by the initial gain.
    pub(in crate::cc) fn init(&mut self, view: View<'_>, window: &mut Window) {
        self.seen_rtt = view.srtt > Time::ZERO;
        let rtt = if self.seen_rtt {
            us(view.srtt).max(1)
        } else {
            1000
        };
        let bw = Bandwidth::of(u64::from(window.cwnd), rtt);
        window.pacing_rate = bw.bytes_per_second(view.mss, self.initial, self.margin);
    }

    /// Sets the rate to `gain` times `bw`. Until the pipe is full (`full`), the samples of `bw` are
    /// too low. So the rate may rise but not fall.
    pub(in crate::cc) fn set(
        &mut self,
        view: View<'_>,
        window: &mut Window,
        bw: Bandwidth,
        gain: Gain,
        full: bool,
    ) {
        if !self.seen_rtt && view.srtt > Time::ZERO {
            self.init(view, window);
        }
        let rate = bw.bytes_per_second(view.mss, gain, self.margin);
        if full || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }
}

/// Returns the smallest RTT of a connection, in us.
pub(in crate::cc) fn min_rtt_us(view: View<'_>) -> u64 {
    if view.min_rtt == Time::NEVER {
        NO_RTT
    } else {
        us(view.min_rtt)
    }
}

/// Returns how many packets will be in flight when the next packet may leave, plus `burst` packets
/// (Linux `bbr_packets_in_net_at_edt`).
pub(in crate::cc) fn in_network_at_departure(
    view: View<'_>,
    in_flight: u32,
    bw: Bandwidth,
    burst: u32,
) -> u32 {
    let wait = us(view.rate.next_send.since(view.now));
    (in_flight + burst).saturating_sub(bw.segments_in(wait))
}

/// Returns how many segments a host sends in one burst. A burst consists of the bytes that leave in
/// 1 ms, plus `extra` bytes (Linux `tcp_tso_autosize` with `sk_pacing_shift` 10).
pub(in crate::cc) fn burst(view: View<'_>, window: &Window, extra: u64, least: u32) -> u32 {
    // The limit is Linux's GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER.
    const LIMIT: u64 = 65_536 - 1 - 320;
    let bytes = ((window.pacing_rate >> 10) + extra).min(LIMIT);
    ((bytes / u64::from(view.mss.max(1))) as u32)
        .max(least)
        .min(127)
}
