//! The values that hosts store about destinations from one connection to the next. Flows and
//! sources on the same pair of hosts share these values.

use crate::plan::{Plan, TcpPlan};
use crate::tcp::destination::Destination;
use crate::tcp::sender::Sender;

pub(super) struct Memory {
    /// Where each flow or source stores values, and which values it stores. The index is the number
    /// of the flow or source.
    senders: Vec<Remembering>,
    /// The stored values of each pair of hosts.
    destinations: Vec<Destination>,
}

/// Where one flow or source stores values, and which values it stores.
struct Remembering {
    pair: usize,
    metrics: bool,
    ssthresh: bool,
    /// Whether the flow has stored its values. A flow stores its values once, when it closes.
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

    /// Passes the stored values to a sender that is about to connect.
    pub fn recall(&self, number: usize, sender: &mut Sender) {
        let of = &self.senders[number];
        if of.metrics {
            self.destinations[of.pair].recall(sender, of.ssthresh);
        }
    }

    /// Stores the values of a sender whose connection is finished.
    pub fn store(&mut self, number: usize, sender: &Sender) {
        let of = &self.senders[number];
        if of.metrics {
            self.destinations[of.pair].update(sender, of.ssthresh);
        }
    }

    /// If a flow is done, stores the values of its sender. Later calls have no effect.
    pub fn store_flow(&mut self, number: usize, sender: &Sender) {
        if sender.is_done() && !self.senders[number].stored {
            self.senders[number].stored = true;
            self.store(number, sender);
        }
    }
}
