//! What hosts remember about destinations, over all flows and sources that share a pair of hosts.

use crate::plan::{Plan, TcpPlan};
use crate::tcp::destination::Destination;
use crate::tcp::sender::Sender;

/// The destinations of a network.
pub(super) struct Memory {
    /// By the number of a flow or source.
    senders: Vec<Remembering>,
    /// By pair of hosts.
    destinations: Vec<Destination>,
}

/// How one flow or source remembers.
struct Remembering {
    /// Index of its destination.
    pair: usize,
    /// Whether it remembers at all.
    metrics: bool,
    /// Whether it remembers ssthresh.
    ssthresh: bool,
    /// Whether it was stored already: a flow closes once.
    stored: bool,
}

impl Memory {
    /// An empty memory; `None` if no flow or source remembers anything.
    pub fn of(plan: &Plan) -> Option<Box<Memory>> {
        if !plan.remembers() {
            return None;
        }
        let (pairs, of) = plan.hosts();
        let flows = plan.each_flow().map(|flow| Some(&flow.of.tcp));
        let sources = plan.each_source();
        let sources = sources.map(|source| source.of.connections.as_ref().map(|c| &c.tcp));
        let on = |tcp: Option<&TcpPlan>, key: fn(&TcpPlan) -> bool| tcp.is_some_and(key);
        let senders = flows.chain(sources).zip(of).map(|(tcp, pair)| Remembering {
            pair,
            metrics: on(tcp, |tcp| tcp.metrics_save),
            ssthresh: on(tcp, |tcp| tcp.ssthresh_metrics_save),
            stored: false,
        });
        Some(Box::new(Memory {
            senders: senders.collect(),
            destinations: vec![Destination::default(); pairs.len()],
        }))
    }

    /// Gives a sender that is about to connect what its host knows.
    pub fn recall(&self, number: usize, sender: &mut Sender) {
        let of = &self.senders[number];
        if of.metrics {
            self.destinations[of.pair].recall(sender, of.ssthresh);
        }
    }

    /// Stores what the sender of a finished connection knows.
    pub fn store(&mut self, number: usize, sender: &Sender) {
        let of = &self.senders[number];
        if of.metrics {
            self.destinations[of.pair].update(sender, of.ssthresh);
        }
    }

    /// Stores what the sender of a flow knows, once the flow is done.
    pub fn store_flow(&mut self, number: usize, sender: &Sender) {
        if sender.is_done() && !self.senders[number].stored {
            self.senders[number].stored = true;
            self.store(number, sender);
        }
    }
}
