//! What was measured, from the end of the warm-up to that of the run.

use tailback_record::{
    Completions, Counts, FlowOutcome, Histogram, LinkOutcome, Outcome, TrafficOutcome,
};

use super::Network;
use super::sources::Traffic;
use crate::link::Link;
use crate::plan::SeriesMode;
use crate::tcp::sender::SenderStats;
use crate::traffic::largest;
use crate::units::Time;

impl Network {
    /// Counters start from here.
    pub(super) fn end_warmup(&mut self) {
        for (flow, ends) in self.flows.iter_mut().zip(&self.ends) {
            flow.base_bytes = ends.of_flow().delivered_bytes();
        }
        let open = self.ends.iter_mut().filter_map(|e| e.connection.as_mut());
        let open = open.map(|connection| &mut connection.sender.stats);
        let over = self.traffic.iter_mut().flat_map(Traffic::spare_stats);
        for stats in open.chain(over) {
            self.data_packets_before_warmup += stats.packets;
            *stats = SenderStats::default();
        }
        for link in &mut self.links {
            link.sink.account(self.now);
        }
    }

    /// What was measured. Meant for the end of a run; earlier it tells of the
    /// time up to [`Network::now`].
    pub fn finish(mut self) -> Outcome {
        let (end, warmup) = (self.now, self.plan.warmup);
        let mut outcome = Outcome {
            duration_ns: end.ns(),
            warmup_ns: warmup.ns(),
            events: self.events,
            ..Outcome::default()
        };
        let counts_of = |links: &[Link], number: usize| {
            let mut counts = Counts::default();
            links
                .iter()
                .for_each(|l| counts.merge(&l.sink.flows[number].counts));
            counts
        };
        outcome.data_packets = self.data_packets_before_warmup;
        let flows = self.flows.iter().zip(&self.plan.flows).enumerate();
        for (i, (flow, plan)) in flows {
            let Some(connection) = &mut self.ends[i].connection else {
                continue;
            };
            let to = [flow.stop, connection.completed]
                .into_iter()
                .flatten()
                .fold(end, Time::min);
            let delivered = flow.bytes_at_stop;
            let delivered = delivered.unwrap_or_else(|| connection.delivered_bytes());
            let stats = std::mem::take(&mut connection.sender.stats);
            let opened = connection.opened;
            outcome.data_packets += stats.packets;
            outcome.flows.push(FlowOutcome {
                name: plan.name.clone(),
                cc: plan.cc.name().to_owned(),
                from_ns: opened.max(warmup).ns(),
                to_ns: to.ns(),
                delivered_bytes: delivered.saturating_sub(flow.base_bytes),
                rtt: stats.rtt,
                srtt_sum_ns: flow.srtt_sum_ns,
                srtt_samples: flow.srtt_samples,
                packets: stats.packets,
                retransmits: stats.retransmits,
                timeouts: stats.timeouts,
                counts: counts_of(&self.links, i),
                completion_ns: connection.completed.map(|t| t.since(opened).ns()),
                rwnd_limited_samples: flow.rwnd_limited_samples,
            });
        }
        for (traffic, plan) in self.traffic.iter_mut().zip(&self.plan.traffic) {
            let mut source = TrafficOutcome {
                name: plan.name.clone(),
                kind: plan.kind.to_owned(),
                from_ns: traffic.start.max(warmup).ns(),
                to_ns: traffic.stop.map_or(end, |s| s.min(end)).ns(),
                sent_packets: traffic.sent_packets,
                received_packets: traffic.received_packets,
                received_bytes: traffic.received_bytes,
                counts: counts_of(&self.links, traffic.number as usize),
                completions: None,
            };
            source.sent_packets += traffic.spare_stats().map(|s| s.packets).sum::<u64>();
            if let Some(connections) = &mut traffic.connections {
                for slot in connections.slots.clone() {
                    let open = &self.ends[slot as usize].connection;
                    source.sent_packets += open.as_ref().map_or(0, |c| c.sender.stats.packets);
                    source.counts.merge(&counts_of(&self.links, slot as usize));
                }
                outcome.data_packets += source.sent_packets;
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
        let mut series = self.series;
        if self.plan.record.series != SeriesMode::Off {
            for source in &outcome.traffic {
                if let Some(completions) = &source.completions {
                    completions.rows(&source.name, &mut series);
                }
            }
        }
        let mut classes = Vec::new();
        for (i, (link, plan)) in (0..).zip(self.links.iter_mut().zip(&self.plan.links)) {
            let sink = &mut link.sink;
            sink.finish(end);
            series.append(sink.take_events());
            let samples = sink.take_classes().and_then(|recorder| {
                let capacity = |from, to| link.capacity_bytes(Time(from), Time(to));
                let (here, samples) = recorder.finish(i, end.ns(), capacity);
                classes.extend(here);
                samples
            });
            let sink = &mut link.sink;
            outcome.links.push(LinkOutcome {
                name: plan.name.clone(),
                aqm: plan.queue.name().to_owned(),
                delay: std::mem::replace(&mut sink.delay, Histogram::new()),
                packets: sink.packets,
                bytes: sink.bytes,
                counts: sink.counts,
                backlog_byte_ns: sink.backlog_byte_ns(),
                backlog_max_bytes: sink.backlog_max,
                capacity_bytes: link.capacity_bytes(warmup, end),
                totals: None,
                samples,
            });
        }
        outcome.series = series;
        outcome.set_classes(classes);
        if self.plan.record.series != SeriesMode::Off {
            outcome.record_samples();
        }
        outcome
    }
}
