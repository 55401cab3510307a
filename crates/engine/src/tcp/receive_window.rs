//! Growth of the receive window. ACKs report the receive window to the sender. An ACK that
//! announces a larger window is not delayed (Linux `tcp_grow_window`).

use crate::plan::{Growth, ReceiveBuffer, TcpPlan};
use crate::units::Time;

/// `skb->truesize` of a segment minus its payload, in bytes. This difference is `SKB_TRUESIZE` of
/// the head that Linux 7.3 allocates for a segment (`SKB_SMALL_HEAD_SIZE`). A segment from a
/// network card needs more or less memory, depending on the driver.
const OVERHEAD: u64 = 832;

/// Returns how many segments let the window grow at the start of the connection. At first, the
/// window is half of the receive buffer minus a segment. The first segment shows which share of the
/// buffer is payload, in 256ths (`tcp_measure_rcv_mss`). Then each arriving segment increases the
/// window by two segments. The window is limited to this share of the buffer, minus the segment
/// that has just arrived (`tcp_init_buffer_space`, `tcp_grow_window`). If segments are small, the
/// share is less than a half, so the window does not grow.
///
/// `window` is half of the buffer, in bytes. Not modelled: if the application reads late, the last
/// steps are delayed. If each segment carries the AccECN option, the share is still computed for
/// segments without this option.
pub fn growing_segments(window: u64, mss: u64) -> u64 {
    let mss = mss.max(1);
    let share = 256 * mss / (mss + OVERHEAD);
    let room = u128::from(window) * u128::from(share.saturating_sub(128)) / 128;
    (room as u64).div_ceil(2 * mss)
}

/// Returns how many segments let the window of this connection grow at its start.
///
/// With `growth = "acks"`, which follows Linux 3.2, the result is 0. The buffers of Linux 3.2 begin
/// at 87380 bytes and grow with the bytes that the application reads. So the window stops growing
/// after some tens of segments.
fn growing(plan: &TcpPlan) -> u64 {
    if !plan.quickack || plan.growth == Growth::Acks || plan.rcvbuf == ReceiveBuffer::Auto {
        return 0;
    }
    growing_segments(plan.rwnd.0, u64::from(plan.mss))
}

/// A receive buffer with automatic tuning (Linux `tcp_rcv_space_adjust` with the defaults of
/// `tcp_rmem` and `tcp_adv_win_scale` of 2019). The window is half of the buffer. The window can
/// grow to twice the number of bytes that the application reads in a round-trip time. While this
/// number increases, the window can grow even further. The round-trip time is the RTT of the
/// handshake.
#[derive(Clone, Copy, Debug)]
struct Tuned {
    mss: u64,
    /// The largest size that the window may have, in bytes.
    clamp: u64,
    window: u64,
    /// The largest number of bytes that were read in one round-trip time so far.
    space: u64,
    /// Number of bytes that were read in the current round-trip time.
    copied: u64,
    /// When the current round-trip time began.
    since: Time,
}

/// The smallest and the largest window, in bytes. These two values are half of the default and half
/// of the maximum in `tcp_rmem`.
const TUNED_WINDOW: (u64, u64) = (64 << 10, 3 << 20);

impl Tuned {
    fn new(mss: u64) -> Tuned {
        Tuned {
            mss,
            clamp: TUNED_WINDOW.0,
            window: TUNED_WINDOW.0,
            space: 10 * mss,
            copied: 0,
            since: Time::ZERO,
        }
    }

    /// Records that the application has read a segment. Returns whether the window grew.
    fn grows(&mut self, now: Time, rtt: Time) -> bool {
        self.copied += self.mss;
        let grows = self.window < self.clamp;
        if grows {
            self.window = (self.window + 2 * self.mss).min(self.clamp);
        }
        if now.since(self.since) >= rtt.max(Time::from_ms(1)) {
            if self.copied > self.space {
                let room = 2 * self.copied + 16 * self.mss;
                let more = 2 * room * (self.copied - self.space) / self.space;
                self.clamp = self.clamp.max((room + more).min(TUNED_WINDOW.1));
                self.space = self.copied;
            }
            self.copied = 0;
            self.since = now;
        }
        grows
    }
}

#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    /// How many more segments let the window grow at the start of the connection.
    growing: u64,
    /// The receive buffer, if it is tuned automatically.
    tuned: Option<Box<Tuned>>,
}

impl ReceiveWindow {
    pub fn new(plan: &TcpPlan) -> ReceiveWindow {
        let tuned = plan.quickack && plan.rcvbuf == ReceiveBuffer::Auto;
        ReceiveWindow {
            growing: growing(plan),
            tuned: tuned.then(|| Box::new(Tuned::new(u64::from(plan.mss)))),
        }
    }

    /// Records that a segment has arrived. Returns whether the window grew.
    #[inline]
    pub fn grows(&mut self, now: Time, rtt: Time) -> bool {
        if self.growing > 0 {
            self.growing -= 1;
            return true;
        }
        self.tuned
            .as_mut()
            .is_some_and(|tuned| tuned.grows(now, rtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a buffer of 64 MiB, the window of Linux 7.3 grows for these numbers of segments.
    /// Another 16 segments get quick ACKs before ACKs are delayed.
    #[test]
    fn the_window_grows_by_the_share_of_payload() {
        let grown = |mss| growing_segments(32 << 20, mss);
        assert_eq!(
            [1_448, 1_300, 1_000, 500].map(grown),
            [3_078, 2_824, 1_442, 0]
        );
        // A window of 20 kB has space for two steps.
        assert_eq!(growing_segments(20_480, 1_448), 2);
    }

    /// A tuned buffer grows when the application reads so much that the window becomes too small.
    #[test]
    fn a_tuned_buffer_grows_with_what_is_read() {
        let ms = Time::from_ms;
        let mut tuned = Tuned::new(1_448);
        let mut grown = [0; 4];
        for round in 0..4 {
            for i in 0..100 {
                let now = ms(100 * round + 100) + Time(i);
                grown[round as usize] += u64::from(tuned.grows(now, ms(100)));
            }
        }
        // The first segment of the second round ends the first round. The formula gives 2 x 101 +
        // 16 segments, plus an increase because the application has read more than the initial 10
        // segments. The result exceeds the maximum.
        assert_eq!(tuned.clamp, TUNED_WINDOW.1);
        assert_eq!(grown, [0, 99, 100, 100]);
    }

    /// Linux `tcp_rcv_space_adjust` limits the window to w segments. Here w is twice the number of
    /// segments read in an RTT, plus 16. If the application has read more than in the RTT before,
    /// the limit is w (1 + 2 g), where g is the relative increase.
    #[test]
    fn the_room_of_a_tuned_buffer_follows_what_was_read() {
        let mut tuned = Tuned::new(1_448);
        assert!(TUNED_WINDOW.0 < 243_264);
        for segment in 1..20 {
            tuned.grows(Time::from_ms(segment), Time::from_ms(100));
        }
        assert_eq!(tuned.clamp, TUNED_WINDOW.0, "the round is not over");
        tuned.grows(Time::from_ms(100), Time::from_ms(100));
        // The application reads 20 segments in this RTT, and it read 10 segments in the previous
        // RTT. So w = 2 x 20 + 16 = 56, and g = 1.
        assert_eq!(tuned.clamp, (56 + 112) * 1_448);
        assert_eq!(tuned.space, 20 * 1_448);
    }
}
