//! The values that hosts remember about destinations. Flows and sources on the same pair of hosts
//! share these values.

use crate::plan::{Plan, TcpPlan};
use crate::tcp::destination::Destination;
use crate::tcp::sender::Sender;

/// The remembered destinations of a network.
pub(super) struct Memory {
    /// Which values each flow or source remembers, indexed by its number.
    senders: Vec<Remembering>,
    /// The remembered destinations, one for each pair of hosts.
    destinations: Vec<Destination>,
}

/// Which values one flow or source remembers.
struct Remembering {
    /// Index of the destination.
    pair: usize,
    /// Whether this flow or source remembers anything.
    metrics: bool,
    /// Whether it also remembers ssthresh.
    ssthresh: bool,
    /// Whether the values were already stored. They are stored only once, when the flow closes.
    stored: bool,
}

impl Memory {
    /// Creates an empty memory. Returns `None` if no flow or source remembers anything.
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

    /// Passes the values that a host remembers to a sender that is about to connect.
    pub fn recall(&self, number: usize, sender: &mut Sender) {
        let of = &self.senders[number];
        if of.metrics {
            self.destinations[of.pair].recall(sender, of.ssthresh);
        }
    }

    /// Stores the values of a finished connection's sender.
    pub fn store(&mut self, number: usize, sender: &Sender) {
        let of = &self.senders[number];
        if of.metrics {
            self.destinations[of.pair].update(sender, of.ssthresh);
        }
    }

    /// Stores the values of a flow's sender, once the flow is done.
    pub fn store_flow(&mut self, number: usize, sender: &Sender) {
        if sender.is_done() && !self.senders[number].stored {
            self.senders[number].stored = true;
            self.store(number, sender);
        }
    }
}
