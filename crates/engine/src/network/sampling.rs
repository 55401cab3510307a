//! Series and samples: what is looked at every record interval, or at every change.

use tailback_record::{Series, SeriesId};

use super::Network;
use crate::cc::{self, Window};
use crate::plan::SeriesMode;
use crate::units::Time;

/// What is measured of a flow, besides what its connection knows.
pub(super) struct Flow {
    pub stop: Option<Time>,
    /// Bytes delivered before the measurement began.
    pub base_bytes: u64,
    /// Payload delivered when the flow was stopped.
    pub bytes_at_stop: Option<u64>,
    pub srtt_sum_ns: u128,
    pub srtt_samples: u64,
    pub rwnd_limited_samples: u64,
    /// Window last recorded (series at every change).
    pub recorded_cwnd: u32,
    pub series: Option<FlowSeries>,
}

pub(super) struct FlowSeries {
    pub cwnd: SeriesId,
    pub ssthresh: SeriesId,
    pub srtt: SeriesId,
    pub in_flight: SeriesId,
    pub delivered: SeriesId,
    pub gauges: Vec<SeriesId>,
    /// Congestion state and acknowledged bytes, if the state is recorded after every ACK.
    pub acks: Option<(SeriesId, SeriesId)>,
}

impl FlowSeries {
    fn push_window(&self, window: &Window, now: u64, series: &mut Series) {
        series.push(self.cwnd, now, f64::from(window.cwnd));
        if window.ssthresh < cc::INFINITE_SSTHRESH {
            series.push(self.ssthresh, now, f64::from(window.ssthresh));
        }
    }
}

pub(super) struct LinkSeries {
    pub packets: SeriesId,
    pub bytes: SeriesId,
    pub gauges: Vec<SeriesId>,
}

impl Network {
    /// A sender has had an ACK or a timer of its own: records its state, or its
    /// window if that has changed.
    pub(super) fn record_change(&mut self, index: usize) {
        let (flow, now) = (&mut self.flows[index], self.now.ns());
        let Some(ids) = &flow.series else {
            return;
        };
        let connection = self.ends[index].of_flow();
        let sender = &connection.sender;
        let cwnd = sender.window.cwnd;
        let Some((ca_state, acked_bytes)) = ids.acks else {
            if cwnd != flow.recorded_cwnd {
                flow.recorded_cwnd = cwnd;
                self.series.push(ids.cwnd, now, f64::from(cwnd));
            }
            return;
        };
        if sender.conn.srtt == Time::ZERO {
            return;
        }
        let acked = connection.acked_bytes();
        self.series.push(acked_bytes, now, acked as f64);
        ids.push_window(&sender.window, now, &mut self.series);
        let in_flight = f64::from(sender.flight().in_flight());
        self.series.push(ids.in_flight, now, in_flight);
        let state = f64::from(sender.conn.ca_state as u8);
        self.series.push(ca_state, now, state);
        self.scratch.clear();
        sender.gauges(&mut self.scratch);
        push_gauges(&ids.gauges, &self.scratch, now, &mut self.series);
    }

    /// Takes the samples of one record interval.
    pub(super) fn sample(&mut self) {
        let (now, measured) = (self.now.ns(), self.now >= self.plan.warmup);
        for (flow, ends) in self.flows.iter_mut().zip(&self.ends) {
            let connection = ends.of_flow();
            let sender = &connection.sender;
            let srtt = sender.srtt();
            if measured
                && let Some(srtt) = srtt
                && !sender.is_done()
            {
                flow.srtt_sum_ns += u128::from(srtt.ns());
                flow.srtt_samples += 1;
                flow.rwnd_limited_samples += u64::from(sender.rwnd_limited());
            }
            let (Some(ids), Some(srtt)) = (&flow.series, srtt) else {
                continue;
            };
            if ids.acks.is_some() {
                // The rest is recorded with every ACK.
                self.series.push(ids.srtt, now, srtt.ns() as f64);
                continue;
            }
            ids.push_window(&sender.window, now, &mut self.series);
            self.series.push(ids.srtt, now, srtt.ns() as f64);
            let in_flight = f64::from(sender.flight().in_flight());
            self.series.push(ids.in_flight, now, in_flight);
            let delivered = connection.delivered_bytes();
            self.series.push(ids.delivered, now, delivered as f64);
            self.scratch.clear();
            sender.gauges(&mut self.scratch);
            push_gauges(&ids.gauges, &self.scratch, now, &mut self.series);
        }
        if self.plan.record.series == SeriesMode::Off {
            return;
        }
        for (link, ids) in self.links.iter().zip(&self.link_series) {
            let backlog = link.sink.backlog();
            self.series.push(ids.packets, now, backlog.packets as f64);
            self.series.push(ids.bytes, now, backlog.bytes as f64);
            self.scratch.clear();
            link.queue.gauges(self.now, &mut self.scratch);
            push_gauges(&ids.gauges, &self.scratch, now, &mut self.series);
        }
    }
}

fn push_gauges(ids: &[SeriesId], values: &[f64], now: u64, series: &mut Series) {
    for (id, value) in ids.iter().zip(values) {
        series.push(*id, now, *value);
    }
}
