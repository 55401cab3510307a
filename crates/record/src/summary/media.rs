//! Echoes and frames of a source in the summary of a run.

use super::field::Weight::{Bytes, Count, Once, Packets, Requests};
use super::field::{about, fields, measured};
use super::{mbit, ms, seconds};
use crate::stat::Stat;
use crate::{EchoOutcome, FrameOutcome, ResponsivenessOutcome, ratio};

fields! {
    /// Summary of the echoes of a source.
    pub struct EchoSummary {
        /// Number of echo requests sent.
        sent: u64 = measured("", Count).called("echo_requests");
        /// Number of requests whose echo arrived.
        answered: u64 = measured("", Count).called("echoes").more();
        /// Number of echo requests that count as lost. A request is lost if its echo does not
        /// arrive within 10 s, or if the echo of a later request arrives first.
        lost: u64 = measured("", Count).called("echoes_lost").less();
        /// One-way delay of the echoes, which travel in the reverse direction.
        back_ms: Stat = measured("ms", Packets).called("echo_delay_ms").only(Stat::OF_DELAYS).less();
    }
}

fields! {
    /// Summary of the frames of a source of media.
    pub struct FrameSummary {
        /// Number of frames that were captured.
        sent: u64 = measured("", Count).called("frames");
        /// Number of complete frames, that is, frames whose datagrams all arrived.
        complete: u64 = measured("", Count).called("frames_complete").more();
        /// Number of lost frames. A frame is lost if it is still incomplete 10 s after its capture,
        /// or when a later frame is complete.
        lost: u64 = measured("", Count).called("frames_lost").less();
        /// Number of frames whose deadline passed before the end of the run.
        judged: u64 = measured("", Count).called("frames_judged");
        /// Share of the frames in `frames_judged` that were incomplete at their deadline. Lost
        /// frames count as incomplete.
        late_share: Option<f64> = measured("", Packets).at_most(1.0).less();
        /// Delay of frames, from the capture of a frame to the arrival of its last datagram.
        delay_ms: Stat = measured("ms", Packets)
            .called("frame_delay_ms")
            .only(Stat::OF_DELAYS)
            .less();
        /// Number of stalls. A stall is a time longer than max(3 frame intervals, 1 frame interval
        /// + 150 ms) without a playable frame.
        stalls: u64 = measured("", Count).less();
        /// Total time of all stalls.
        stall_s: f64 = measured("s", Once).less();
        /// Duration of the longest stall.
        longest_stall_s: f64 = measured("s", Once).less();
        /// Rate of the captured audio or video, without headers.
        bitrate_mbit: Option<f64> = measured("Mbit/s", Bytes).called("media_mbit").more();
    }
}

fields! {
    /// Summary of a test of responsiveness, over its last intervals.
    pub struct ResponsivenessSummary {
        /// Responsiveness, in round trips per minute: the mean of `rpm_foreign` and `rpm_loaded`.
        rpm: Option<f64> = measured("1/min", Once).more();
        /// Round trips per minute, measured with foreign probes. Each foreign probe opens its own
        /// connection.
        foreign_rpm: Option<f64> = measured("1/min", Once).called("rpm_foreign").more();
        /// Round trips per minute, measured with probes on the bulk connections.
        loaded_rpm: Option<f64> = measured("1/min", Once).called("rpm_loaded").more();
        /// Confidence in the responsiveness: low, medium or high.
        confidence: &'static str = about();
        /// Duration of foreign probes, including handshake and fetch.
        foreign_ms: Stat = measured("ms", Requests).only(Stat::OF_DELAYS).less();
        /// Duration of probes on bulk connections.
        loaded_ms: Stat = measured("ms", Requests).only(Stat::OF_DELAYS).less();
        /// Number of complete intervals of the responsiveness test.
        intervals: u64 = measured("", Count).called("rpm_intervals");
        /// Number of bulk connections at the end of the responsiveness test.
        connections: u64 = measured("", Count).called("rpm_connections");
        /// Mean goodput of the last 4 intervals of the responsiveness test.
        goodput_mbit: f64 = measured("Mbit/s", Bytes).called("rpm_goodput_mbit").more();
    }
}

impl ResponsivenessSummary {
    pub(super) fn new(of: &ResponsivenessOutcome) -> ResponsivenessSummary {
        ResponsivenessSummary {
            rpm: of.rpm,
            foreign_rpm: of.foreign_rpm,
            loaded_rpm: of.loaded_rpm,
            confidence: of.confidence.name(),
            foreign_ms: Stat::of_histogram(&of.foreign).map(ms),
            loaded_ms: Stat::of_histogram(&of.loaded).map(ms),
            intervals: of.intervals,
            connections: of.connections,
            goodput_mbit: of.goodput_bit / 1e6,
        }
    }
}

impl EchoSummary {
    pub(super) fn new(of: &EchoOutcome) -> EchoSummary {
        EchoSummary {
            sent: of.sent,
            answered: of.answered,
            lost: of.lost,
            back_ms: Stat::of_histogram(&of.back).map(ms),
        }
    }
}

impl FrameSummary {
    pub(super) fn new(of: &FrameOutcome, from_ns: u64, to_ns: u64) -> FrameSummary {
        FrameSummary {
            sent: of.sent,
            complete: of.complete,
            lost: of.lost,
            judged: of.judged,
            late_share: ratio(of.late as f64, of.judged as f64),
            delay_ms: Stat::of_histogram(&of.delay).map(ms),
            stalls: of.stalls,
            stall_s: seconds(of.stalled_ns),
            longest_stall_s: seconds(of.longest_stall_ns),
            bitrate_mbit: mbit(of.media_bytes, from_ns, to_ns),
        }
    }
}
