//! Chooses the `Instant` at which runs start, so that str0m's NTP timestamps are reproducible.
//!
//! str0m computes with `Instant`. For NTP timestamps, it also reads the date of the host once per
//! process. It then adds differences of `Instant` to this date. RTCP reports contain the middle 32
//! bits of an NTP timestamp, with the seconds modulo 65536, and str0m computes round-trip times
//! from them. On another date, these round-trip times would be rounded differently. Runs therefore
//! start at an instant whose date modulo 65536 s is always the same.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use str0m::Event;
use str0m::rtp::RawPacket;
use str0m::rtp::rtcp::Rtcp;
use tailback_sim::{Ecn, Endpoint, Time};

use crate::stack::Str0m;

/// Period of the 32-bit NTP timestamps in RTCP reports.
const CYCLE: Duration = Duration::from_secs(1 << 16);
/// Date of the start of a run, modulo `CYCLE`. It is not 0, because a timestamp of 0 means that no
/// report was received.
const START: Duration = Duration::from_secs(1000);
/// Time step of the simulated call from which this module learns str0m's date.
const STEP: Time = Time::from_ms(1);

/// Returns the instant of time 0 of each run.
///
/// # Panics
/// If str0m sends no sender report within the first minute of a call without loss.
pub fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(|| {
        let (instant, date) = read_date();
        let since = date
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("a date after 1970");
        let cycles = u32::try_from(since.as_secs() / CYCLE.as_secs()).expect("a date before 10000");
        // The start is at least a cycle after str0m's first instant, because str0m treats any
        // instant in the first hours of its clock as already past.
        instant + ((cycles + 2) * CYCLE + START - since)
    })
}

/// Lets a sender and a receiver exchange packets without delay until the first sender report.
/// Returns the instant and the date of this report.
fn read_date() -> (Instant, SystemTime) {
    let options = crate::Options::default();
    let origin = Instant::now();
    let mut ends = [
        Str0m::sender(&options).observed(origin),
        Str0m::receiver(&options).observed(origin),
    ];
    let mut now = Time::ZERO;
    while now < Time::from_secs(60) {
        for side in [0, 1] {
            ends[side].wake(now);
            let mut datagram = Vec::new();
            while ends[side].transmit(now, &mut datagram).is_some() {
                ends[1 - side].receive(now, &datagram, Ecn::NotEct);
                datagram.clear();
            }
            for event in ends[side].take_events() {
                if let Some(date) = report(&event) {
                    return (origin + Duration::from_nanos(now.ns()), date);
                }
            }
        }
        now += STEP;
    }
    panic!("str0m sends no sender report");
}

/// Returns the date in a sender report that this event sends.
fn report(event: &Event) -> Option<SystemTime> {
    match event.as_raw_packet()? {
        RawPacket::RtcpTx(Rtcp::SenderReport(report)) => Some(report.sender_info.ntp_time),
        _ => None,
    }
}
