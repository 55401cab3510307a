//! The values that hosts store about destinations from one connection to the next. Flows and
//! sources on the same pair of hosts share these values.

use std::collections::VecDeque;

use crate::plan::{Plan, TcpPlan};
use crate::tcp::destination::{Destination, Finished};
use crate::tcp::sender::Sender;
use crate::traffic::web;
use crate::units::Time;

pub(super) struct Memory {
    /// Where each flow or source stores values, and which values it stores. The index is the number
    /// of the flow or source.
    senders: Vec<Remembering>,
    /// The stored values of each pair of hosts.
    destinations: Vec<Destination>,
    /// For each pair of hosts, values that will be stored later, in the order of time.
    later: Vec<VecDeque<Later>>,
}

/// Values of a connection whose server closes later than its client.
struct Later {
    /// When the server closes.
    at: Time,
    values: Finished,
    ssthresh: bool,
}

/// Where one flow or source stores values, and which values it stores.
struct Remembering {
    pair: usize,
    metrics: bool,
    ssthresh: bool,
    /// The times at which the server closes its connections. `None` if the server closes each
    /// connection at once.
    collect: Option<Vec<Time>>,
    /// Whether the flow has stored its values. A flow stores its values only once, when it closes.
    stored: bool,
}

impl Memory {
    /// Creates an empty memory. Returns `None` if no flow or source remembers anything.
    pub fn of(plan: &Plan) -> Option<Box<Memory>> {
        if !plan.remembers() {
            return None;
        }
        let (pairs, of) = plan.hosts();
        let flows = plan.each_flow().map(|flow| (Some(&flow.of.tcp), None));
        let sources = plan.each_source().map(|source| {
            let tcp = source.of.connections.as_ref().map(|c| &c.tcp);
            (tcp, web::collects(&source.of.options))
        });
        let on = |tcp: Option<&TcpPlan>, key: fn(&TcpPlan) -> bool| tcp.is_some_and(key);
        let senders = flows.chain(sources).zip(of);
        let senders = senders.map(|((tcp, collect), pair)| Remembering {
            pair,
            metrics: on(tcp, |tcp| tcp.metrics_save),
            ssthresh: on(tcp, |tcp| tcp.ssthresh_metrics_save),
            collect,
            stored: false,
        });
        Some(Box::new(Memory {
            senders: senders.collect(),
            destinations: vec![Destination::default(); pairs.len()],
            later: pairs.iter().map(|_| VecDeque::new()).collect(),
        }))
    }

    /// Passes the stored values to a sender that is about to connect.
    pub fn recall(&mut self, number: usize, sender: &mut Sender, now: Time) {
        let of = &self.senders[number];
        let (pair, ssthresh) = (of.pair, of.ssthresh);
        if of.metrics {
            self.settle(pair, now);
            self.destinations[pair].recall(sender, ssthresh);
        }
    }

    /// Stores the values of a sender whose connection is finished. `has_served` tells whether the
    /// sender has sent data. A server that has sent no data closes the connection at once.
    pub fn store(&mut self, number: usize, sender: &Sender, has_served: bool, now: Time) {
        let of = &self.senders[number];
        if !of.metrics {
            return;
        }
        let (pair, ssthresh, mut values) = (of.pair, of.ssthresh, Finished::of(sender));
        let Some(times) = of.collect.as_ref().filter(|_| has_served) else {
            self.settle(pair, now);
            return self.destinations[pair].update(&values, ssthresh);
        };
        let next = times.partition_point(|at| *at < now);
        if let Some(&at) = times.get(next)
            && at.since(now) < web::REMEMBERED
        {
            values.idle_for(at.since(now));
            let later = Later {
                at,
                values,
                ssthresh,
            };
            let all = &mut self.later[pair];
            let place = all.partition_point(|other| other.at <= at);
            all.insert(place, later);
        }
    }

    /// For a pair of hosts, stores the values of all connections that the servers have closed by
    /// now.
    fn settle(&mut self, pair: usize, now: Time) {
        let all = &mut self.later[pair];
        let due = all.partition_point(|later| later.at <= now);
        for later in all.drain(..due) {
            self.destinations[pair].update(&later.values, later.ssthresh);
        }
    }

    /// If a flow is done, stores the values of its sender. Later calls have no effect.
    pub fn store_flow(&mut self, number: usize, sender: &Sender, now: Time) {
        if sender.is_done() && !self.senders[number].stored {
            self.senders[number].stored = true;
            self.store(number, sender, true, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::destination::tests::sender;

    /// A server that closes at 70 s remembers only clients that closed less than 60 s before.
    #[test]
    fn a_server_that_closes_late_remembers_late() {
        let collect = Some(vec![Time::from_secs(70)]);
        let known = |closed, has_served, asked| {
            let mut memory = Memory {
                senders: vec![Remembering {
                    pair: 0,
                    metrics: true,
                    ssthresh: true,
                    collect: collect.clone(),
                    stored: false,
                }],
                destinations: vec![Destination::default()],
                later: vec![VecDeque::new()],
            };
            let rtt = Time::from_ms(20);
            memory.store(0, &sender(rtt, 8, 7), has_served, Time::from_secs(closed));
            let mut next = sender(rtt, 8, 99);
            memory.recall(0, &mut next, Time::from_secs(asked));
            next.window.ssthresh == 7
        };
        assert!(known(11, true, 70));
        assert!(!known(11, true, 69));
        assert!(!known(10, true, 80));
        assert!(!known(71, true, 80));
        assert!(known(10, false, 11), "it has answered no request");
    }
}
