//! Series and samples: values that the simulator records at every record interval, or at every
//! change.

use tailback_record::{FlowSampler, FlowState, LinkState, SenderSamples};

use super::Network;
use super::connections::Connection;
use crate::cc;
use crate::plan::SeriesMode;
use crate::traffic::application::Application;
use crate::units::Time;

/// The data of a flow that the network stores in addition to the flow's connection.
pub(super) struct Flow {
    pub stop: Option<Time>,
    /// The application, unless the flow always has data to send.
    pub application: Option<Box<Application>>,
    /// Payload delivered before the end of the warm-up, in bytes.
    pub base_bytes: u64,
    /// Payload delivered when the flow was stopped, in bytes.
    pub bytes_at_stop: Option<u64>,
    pub samples: SenderSamples,
    pub sampler: Option<Box<FlowSampler>>,
}

impl Network {
    /// Records the state of a sender after an ACK, or after one of the sender's timers has fired.
    /// If only the window is recorded, does nothing while the window has not changed.
    pub(super) fn record_change(&mut self, index: usize) {
        let (flow, now) = (&mut self.flows[index], self.now.ns());
        let Some(sampler) = &mut flow.sampler else {
            return;
        };
        let connection = self.ends[index].of_flow();
        let sender = &connection.sender;
        if !sampler.acks() {
            let cwnd = f64::from(sender.window.cwnd);
            sampler.window(now, cwnd, &mut self.series);
        } else if sender.conn.srtt > Time::ZERO {
            self.scratch.clear();
            sender.gauges(&mut self.scratch);
            let gauges = self.scratch.drain(..);
            sampler.ack(now, &state(connection), gauges, &mut self.series);
        }
    }

    pub(super) fn sample(&mut self) {
        for pipe in &mut self.pipes {
            pipe.packets.relax();
        }
        let (now, measured) = (self.now.ns(), self.now >= self.plan.warmup);
        for (flow, ends) in self.flows.iter_mut().zip(&self.ends) {
            let connection = ends.of_flow();
            let sender = &connection.sender;
            let Some(srtt) = sender.srtt() else {
                continue;
            };
            if measured && !sender.is_done() {
                flow.samples.add(srtt.ns(), sender.rwnd_limited());
            }
            if let Some(sampler) = &flow.sampler {
                self.scratch.clear();
                sender.gauges(&mut self.scratch);
                let gauges = self.scratch.drain(..);
                sampler.interval(now, &state(connection), gauges, &mut self.series);
            }
        }
        if self.plan.record.series == SeriesMode::Off {
            return;
        }
        self.sample_endpoints();
        for (place, (link, sampler)) in self.links.iter().zip(&self.link_samplers).enumerate() {
            if !self.owns_link(place) {
                continue;
            }
            let backlog = link.queue.backlog();
            let state = LinkState {
                backlog_packets: Some(backlog.packets as f64),
                backlog_bytes: Some(backlog.bytes as f64),
            };
            self.scratch.clear();
            link.queue.gauges(self.now, &mut self.scratch);
            let gauges = self.scratch.drain(..);
            sampler.interval(now, &state, gauges, &mut self.series);
        }
    }
}

fn state(connection: &Connection) -> FlowState {
    let sender = &connection.sender;
    let window = &sender.window;
    let known = window.ssthresh < cc::INFINITE_SSTHRESH;
    FlowState {
        cwnd: Some(f64::from(window.cwnd)),
        ssthresh: known.then_some(f64::from(window.ssthresh)),
        srtt_ns: sender.srtt().map(|srtt| srtt.ns() as f64),
        in_flight: Some(f64::from(sender.flight().in_flight())),
        delivered_bytes: Some(connection.delivered_bytes() as f64),
        ca_state: Some(f64::from(sender.conn.ca_state as u8)),
        acked_bytes: Some(connection.acked_bytes() as f64),
    }
}
