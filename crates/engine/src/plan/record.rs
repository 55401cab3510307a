//! `[record]`: which data is recorded.

use crate::keys::{ANY_TIME, BOOL, KeyKind, POSITIVE_TIME, key};
use crate::units::Time;
use crate::{keys, words};

words! {
    /// When samples for the time series are taken.
    pub enum SeriesMode {
        /// At every record interval.
        #[default]
        Interval = "interval",
        /// At every record interval, and the congestion window also at every change.
        Changes = "changes",
        /// At every record interval, and the state of a sender also after every ACK and after every
        /// timer of the sender.
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
        /// When samples for the time series are taken. "interval" (or true): at every `interval`.
        /// "changes": also the congestion window at every change. "acks": also window, ssthresh,
        /// packets in flight, congestion state and acknowledged bytes after every ACK. "off" (or
        /// false): never.
        series: SeriesMode => key(KeyKind::Switch(SeriesMode::WORDS)).default("interval");
        /// Whether series.parquet gets a row for every drop and mark.
        events: bool = BOOL.default("false");
        /// Whether the headers of every packet are recorded, in packets.pcapng.
        packets: bool = BOOL.default("false");
        /// Whether the kernel engine captures packets. Without captures, the results do not have
        /// the delays of packets, or drops and marks by flow. The key has no effect in the
        /// simulator.
        captures: bool = BOOL.default("true");
        /// Length of the intervals over which rate, window, utilisation, marks and drops of each
        /// class, and the utilisation of each link, are sampled. Sampling begins at the end of the
        /// warm-up. The value is between 1ms and the measured time, or "0s" for no such samples.
        statistics: Time = ANY_TIME.default("0s");
    }
}
