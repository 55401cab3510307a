//! The parts that all versions of BBR share (Linux 7.3 `tcp_bbr.c`).

mod aggregation;
mod max_filter;
mod options;
mod probe_rtt;
mod sending;
mod units;

pub(super) use aggregation::Aggregation;
pub(super) use max_filter::MaxFilter;
pub(super) use options::{TSO_SEGS, number, switch, time, tso_segs, whole};
pub(super) use probe_rtt::{ProbeRtt, Progress};
pub(super) use sending::{Pace, burst, in_network_at_departure, min_rtt_us};
pub(super) use units::{Bandwidth, Gain, NO_RTT, us};
