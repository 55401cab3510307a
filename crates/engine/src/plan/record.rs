//! `[record]`: which data is recorded.

use crate::keys::{ANY_TIME, BOOL, KeyKind, POSITIVE_TIME, key};
use crate::units::Time;
use crate::{keys, words};

words! {
    /// When samples of series are taken.
    pub enum SeriesMode {
        /// At every record interval.
        #[default]
        Interval = "interval",
        /// At every record interval, and the congestion window also at every change.
        Changes = "changes",
        /// The state of a sender after every ACK and after every timer of the sender. All other
        /// values at every record interval.
        Acks = "acks",
        /// Never.
        Off = "off",
    }
}

keys! {
    /// What is recorded.
    pub struct RecordPlan as "[record]" {
        /// Time between samples.
        interval: Time = POSITIVE_TIME.default("100ms");
        /// "interval" (or true): a sample every interval. "changes": in addition, the congestion
        /// window at every change. "acks": window, ssthresh, packets in flight, congestion state
        /// and acknowledged bytes after every ACK. "off" (or false): no series.
        series: SeriesMode => key(KeyKind::Switch(SeriesMode::WORDS)).default("interval");
        /// Whether every drop and mark is recorded as a row of series.parquet.
        events: bool = BOOL.default("false");
        /// Whether the headers of every packet are recorded, in packets.pcapng.
        packets: bool = BOOL.default("false");
        /// Whether the kernel engine captures packets. Captures give the delay of each packet, and
        /// drops and marks by flow. The key has no effect in the simulator.
        captures: bool = BOOL.default("true");
        /// Length of the intervals for the statistics of classes (rate, window, utilisation, marks
        /// and drops) and of the utilisation of each link. The samples begin at the end of the
        /// warm-up. The value is from 1ms to the measured time, or "0s" for no samples.
        statistics: Time = ANY_TIME.default("0s");
    }
}
