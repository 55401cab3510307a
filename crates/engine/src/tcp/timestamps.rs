//! The clock for the timestamp option (RFC 7323 section 5.4). The clock counts whole milliseconds
//! (Linux `TCP_TS_HZ`). So an RTT that is computed from an echoed timestamp is a whole number of
//! milliseconds.

use crate::units::Time;

/// A tick of this clock, in ns.
const TICK: u64 = 1_000_000;

/// Computes the RTT from an echoed timestamp, in whole ticks (Linux `tcp_rtt_tsopt_us`). The result
/// is at least one tick.
pub(super) fn rtt(now: Time, echo: Time) -> Time {
    let ticks = (now.ns() / TICK).saturating_sub(echo.ns() / TICK);
    Time(ticks.max(1) * TICK)
}

/// Returns whether an echoed timestamp is older than a packet that was sent at `sent` (Linux
/// `tcp_tsopt_ecr_before`).
pub(super) fn before(echo: Time, sent: Time) -> bool {
    echo.ns() / TICK < sent.ns() / TICK
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An RTT of 20.48 ms is measured as 20 or 21 ticks, depending on when within a tick the packet
    /// was sent.
    #[test]
    fn in_whole_milliseconds() {
        let us = Time::from_us;
        assert_eq!(rtt(us(30_480), us(10_000)), us(20_000));
        assert_eq!(rtt(us(31_080), us(10_600)), us(21_000));
        assert_eq!(rtt(us(10_700), us(10_600)), us(1_000), "at least one");
        assert!(before(us(10_999), us(11_000)));
        assert!(!before(us(10_000), us(10_999)), "in the same tick");
    }
}
