//! Collects the results of a run, which cover the time from the end of the warm-up to the end of
//! the run.

use tailback_record::account::{Account, Limit};
use tailback_record::{Completions, FlowOutcome, Measured, Outcome, TrafficOutcome};

use super::Network;
use super::sources::Traffic;
use crate::plan::SeriesMode;
use crate::tcp::sender::{Sender, SenderStats};
use crate::traffic::largest;
use crate::units::Time;

impl Network {
    /// Begins the measurement, at the end of the warm-up.
    pub(super) fn end_warmup(&mut self) {
        for (flow, ends) in self.flows.iter_mut().zip(&self.ends) {
            flow.base_bytes = ends.of_flow().delivered_bytes();
        }
        if let Some(endpoints) = &mut self.endpoints {
            endpoints.end_warmup();
        }
        let now = self.now.ns();
        let open = self.ends.iter_mut().filter_map(|e| e.connection.as_mut());
        let over = self.traffic.iter_mut().flat_map(Traffic::spare);
        for connection in open.chain(over) {
            connection.sender.account.end_warmup(now);
        }
        let open = self.ends.iter_mut().filter_map(|e| e.connection.as_mut());
        let open = open.map(|connection| &mut connection.sender.stats);
        let over = self.traffic.iter_mut().flat_map(Traffic::spare_stats);
        for stats in open.chain(over) {
            self.data_packets_before_warmup += stats.packets;
            *stats = SenderStats::default();
        }
    }

    /// Returns the results. The results cover the time up to [`Network::now`], so call this at the
    /// end of a run.
    pub fn finish(mut self) -> Outcome {
        let (end, warmup) = (self.now, self.plan.warmup);
        let mut outcome = Outcome {
            duration_ns: end.ns(),
            warmup_ns: warmup.ns(),
            events: self.events,
            data_packets: self.data_packets_before_warmup,
            programs: self.program_outcomes(),
            series: self.series,
            ..Outcome::default()
        };
        // Free the memory of the packets in pipes. With many flows, these packets use as much
        // memory as the results.
        self.pipes = Vec::new();
        outcome.flows.reserve_exact(self.flows.len());
        let flows = self.flows.iter().zip(self.plan.each_flow());
        for ((flow, plan), ends) in flows.zip(&mut self.ends) {
            // Move the connection out, so that its memory is freed while the results are collected.
            let Some(connection) = ends.connection.take() else {
                continue;
            };
            let to = [flow.stop, connection.completed]
                .into_iter()
                .flatten()
                .fold(end, Time::min);
            let delivered = flow.bytes_at_stop;
            let delivered = delivered.unwrap_or_else(|| connection.delivered_bytes());
            let (opened, completed) = (connection.opened, connection.completed);
            let chunks = connection.chunks.map(|mut chunks| {
                let (rate, rtt) = self
                    .plan
                    .alone_over(plan.of.rtt, &plan.of.route, &plan.of.back);
                Box::new(chunks.completions(rate.0, rtt))
            });
            let Sender {
                stats, mut account, ..
            } = connection.sender;
            account.turn(Limit::Off, end.ns());
            outcome.flows.push(FlowOutcome {
                name: plan.name(),
                cc: plan.of.cc.name().to_owned(),
                from_ns: opened.max(warmup).ns(),
                to_ns: to.ns(),
                delivered_bytes: delivered.saturating_sub(flow.base_bytes),
                rtt: stats.rtt,
                samples: flow.samples,
                packets: stats.packets,
                retransmits: stats.retransmits,
                timeouts: stats.timeouts,
                completion_ns: completed.map(|t| t.since(opened).ns()),
                account,
                chunks,
                ..FlowOutcome::default()
            });
        }
        for (traffic, plan) in self.traffic.iter_mut().zip(self.plan.each_source()) {
            let (name, plan) = (plan.name(), plan.of);
            let mut source = TrafficOutcome {
                name,
                kind: plan.kind.to_owned(),
                from_ns: traffic.start.max(warmup).ns(),
                to_ns: traffic.stop.map_or(end, |s| s.min(end)).ns(),
                sent_packets: traffic.sent_packets,
                received_packets: traffic.received_packets,
                received_bytes: traffic.received_bytes,
                responsiveness: traffic.source.responsiveness().map(Box::new),
                loads: std::mem::take(&mut traffic.loads),
                one_way: std::mem::take(&mut traffic.one_way),
                ..TrafficOutcome::default()
            };
            source.sent_packets += traffic.spare_stats().map(|s| s.packets).sum::<u64>();
            let stop = traffic.stop.unwrap_or(Time::NEVER);
            (source.echoes, source.frames) = std::mem::take(&mut traffic.far).finish(end, stop);
            let mut account = Account::counting();
            for spare in traffic.spare() {
                account.add(std::mem::take(&mut *spare.sender.account), end.ns());
            }
            if let Some(connections) = &mut traffic.connections {
                for slot in connections.places.slots.clone() {
                    let Some(open) = &mut self.ends[slot as usize].connection else {
                        continue;
                    };
                    source.sent_packets += open.sender.stats.packets;
                    account.add(std::mem::take(&mut *open.sender.account), end.ns());
                }
                source.account = Some(account);
                let (rate, rtt) = self.plan.alone(plan);
                source.completions = Some(Completions {
                    started: connections.started,
                    refused: connections.refused,
                    rate_bit: rate.0,
                    rtt_ns: rtt.ns(),
                    most_bytes: largest(plan.kind, &plan.options),
                    done: std::mem::take(&mut connections.done),
                });
            }
            outcome.traffic.push(source);
        }
        let links = self.links.into_iter().zip(&self.plan.links);
        let links = links.map(|(link, plan)| {
            let rate = link.rate().clone();
            Measured {
                name: plan.name.clone(),
                aqm: plan.queue.name().to_owned(),
                meter: link.sink.finish(end),
                capacity: move |from, to| rate.capacity_bytes(Time(from), Time(to)),
            }
        });
        outcome.complete(links, self.plan.record.series != SeriesMode::Off);
        outcome
    }
}
