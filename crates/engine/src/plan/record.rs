//! `[record]`: which data tailback records.

use crate::keys::{ANY_TIME, BOOL, KeyKind, POSITIVE_TIME, key};
use crate::units::Time;
use crate::{keys, words};

words! {
    /// When tailback takes samples for the time series.
    pub enum SeriesMode {
        /// At every record interval.
        #[default]
        Interval = "interval",
        /// The series have a row at every record interval. In addition, the congestion window has a
        /// row at every change.
        Changes = "changes",
        /// The series have a row at every record interval. In addition, a sender's state has a row
        /// after every ACK and whenever one of the sender's timers has fired.
        Acks = "acks",
        /// Never.
        Off = "off",
    }
}

keys! {
    /// Which data tailback records.
    pub struct RecordPlan as "[record]" {
        /// Time between samples.
        interval: Time = POSITIVE_TIME.default("100ms");
        /// When tailback takes samples for the time series. "interval" (or true): at every
        /// `interval`. "changes": at every `interval`, and whenever a congestion window changes.
        /// "acks": at every `interval`, and after every ACK, for window, ssthresh, packets in
        /// flight, congestion state and acknowledged bytes. "off" (or false): never.
        series: SeriesMode => key(KeyKind::Switch(SeriesMode::WORDS)).default("interval");
        /// Whether series.parquet has a row for every drop and mark.
        events: bool = BOOL.default("false");
        /// Whether tailback records the headers of every packet, in packets.pcapng.
        packets: bool = BOOL.default("false");
        /// Whether the kernel engine captures packets. Without captures, the results contain
        /// neither packet delays nor the drops and marks of each flow. The key has no effect in the
        /// simulator.
        captures: bool = BOOL.default("true");
        /// Length of the intervals over which tailback computes statistics. The statistics are
        /// rate, window, utilisation, marks and drops for each class, and the utilisation for each
        /// link. The first interval begins at the end of the warm-up. The value is between 1ms and
        /// the measured time. With "0s", tailback computes no such statistics.
        statistics: Time = ANY_TIME.default("0s");
    }
}
