//! The measurements of a run.

use std::collections::BTreeMap;
use std::fmt;

use tailback_engine::endpoint::{Endpoint, Side};
use tailback_engine::units::Time;
use tailback_record::summary::{
    FlowSummary, ProgramSummary, QueueSummary, Summary, TrafficSummary,
};
use tailback_record::{Outcome, PacketCount};

use crate::capture::Recorded;

/// The results of a run. The measured time begins at the end of the warm-up.
///
/// Methods use the names from the scenario. If a test passes an unknown name to a method, the
/// method panics and lists the known names.
pub struct Results {
    outcome: Outcome,
    seed: u64,
    endpoints: BTreeMap<String, [Option<Box<dyn Endpoint>>; 2]>,
    pcapng: Option<Vec<u8>>,
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl Results {
    pub(crate) fn new(
        mut outcome: Outcome,
        seed: u64,
        endpoints: BTreeMap<String, [Option<Box<dyn Endpoint>>; 2]>,
        recorded: Option<Recorded>,
    ) -> Results {
        outcome.packets = recorded.as_ref().map(|(_, count)| *count);
        Results {
            outcome,
            seed,
            endpoints,
            pcapng: recorded.map(|(bytes, _)| bytes),
        }
    }

    /// Returns the summary with all measurements except time series.
    pub fn summary(&self) -> Summary<'_> {
        Summary::new(&self.outcome, "", self.seed)
    }

    /// Returns the summary as JSON, in the format of tailback's `summary.json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.summary()).unwrap_or_default()
    }

    /// Returns the throughput of a flow or of an entry's endpoints over the measured time, Mbit/s.
    /// Throughput is the rate of the payload that reached the receiver. For other traffic,
    /// throughput is the rate of the bytes of whole frames.
    ///
    /// # Panics
    /// If the name does not exist, or if the flow, endpoints or traffic started too late to be
    /// measured.
    #[track_caller]
    pub fn throughput_mbit(&self, name: &str) -> f64 {
        let summary = self.summary();
        let flow = summary.flows.iter().find(|flow| flow.name == name);
        let program = summary.programs.iter().find(|entry| entry.name == name);
        let traffic = summary.traffic.iter().find(|source| source.name == name);
        let throughput = flow.map(|flow| flow.throughput_mbit);
        let throughput = throughput
            .or_else(|| program.map(|entry| entry.measured.throughput_mbit))
            .or_else(|| traffic.map(|source| source.throughput_mbit));
        match throughput {
            Some(Some(mbit)) => mbit,
            Some(None) => panic!("no time of \"{name}\" was measured: it began too late"),
            None => self.unknown(name),
        }
    }

    /// Returns the throughput of a flow, or of an entry's endpoints, as a fraction of the total
    /// throughput of all flows and endpoints. The total throughput does not include other traffic.
    ///
    /// # Panics
    /// If [`Results::throughput_mbit`] would panic.
    #[track_caller]
    pub fn share(&self, name: &str) -> f64 {
        let own = self.throughput_mbit(name);
        let summary = self.summary();
        let flows = summary.flows.iter().filter_map(|flow| flow.throughput_mbit);
        let entries = summary.programs.iter();
        let entries = entries.filter_map(|entry| entry.measured.throughput_mbit);
        own / flows.chain(entries).sum::<f64>()
    }

    /// Returns how many packets of a flow, an entry's endpoints or other traffic were marked CE,
    /// summed over all links.
    ///
    /// # Panics
    /// If the name does not exist.
    #[track_caller]
    pub fn marks(&self, name: &str) -> u64 {
        self.counts(name).marks()
    }

    /// Returns how many packets of a flow, an entry's endpoints or other traffic were dropped,
    /// summed over all links.
    ///
    /// # Panics
    /// If the name does not exist.
    #[track_caller]
    pub fn drops(&self, name: &str) -> u64 {
        self.counts(name).drops()
    }

    #[track_caller]
    fn counts(&self, name: &str) -> tailback_record::Counts {
        let of = &self.outcome;
        let flow = of.flows.iter().find(|flow| flow.name == name);
        let program = of.programs.iter().find(|entry| entry.name == name);
        let traffic = of.traffic.iter().find(|source| source.name == name);
        let counts = flow.map(|flow| flow.counts);
        let counts = counts
            .or_else(|| program.map(|entry| entry.measures.counts))
            .or_else(|| traffic.map(|source| source.counts));
        counts.unwrap_or_else(|| self.unknown(name))
    }

    /// Returns the time from the start of a flow until the delivery of its last byte, s. For
    /// endpoints, returns the time from their start until both endpoints were done, s. Returns
    /// `None` if the run ended before completion.
    ///
    /// # Panics
    /// If the name does not exist.
    #[track_caller]
    pub fn completion_s(&self, name: &str) -> Option<f64> {
        let summary = self.summary();
        if let Some(flow) = summary.flows.iter().find(|flow| flow.name == name) {
            return flow.completion_s;
        }
        let program = summary.programs.iter().find(|entry| entry.name == name);
        match program {
            Some(entry) => entry.measured.completion_s,
            None => self.unknown(name),
        }
    }

    /// Returns the summary of a flow, such as percentiles of its RTT.
    ///
    /// # Panics
    /// If the flow does not exist.
    #[track_caller]
    pub fn flow(&self, name: &str) -> FlowSummary<'_> {
        let flows = self.summary().flows;
        let flow = flows.iter().find(|flow| flow.name == name);
        flow.unwrap_or_else(|| self.unknown(name))
    }

    /// Returns the summary of other traffic.
    ///
    /// # Panics
    /// If the source of traffic does not exist.
    #[track_caller]
    pub fn traffic(&self, name: &str) -> TrafficSummary {
        let sources = self.summary().traffic.into_iter();
        let mut sources = sources.filter(|source| source.name == name);
        sources.next().unwrap_or_else(|| self.unknown(name))
    }

    /// Returns the measurements of the endpoints of an entry in `[[programs]]`.
    ///
    /// # Panics
    /// If the entry does not exist.
    #[track_caller]
    pub fn endpoints(&self, name: &str) -> ProgramSummary {
        let entries = self.summary().programs.into_iter();
        let mut entries = entries.filter(|entry| entry.name == name);
        entries.next().unwrap_or_else(|| self.unknown(name))
    }

    /// Returns the summary of the first link and its queue.
    ///
    /// # Panics
    /// Never, because a scenario has at least one link.
    pub fn bottleneck(&self) -> QueueSummary {
        self.summary().queue.expect("a scenario has a link")
    }

    /// Returns the summary of a link and its queue.
    ///
    /// # Panics
    /// If the link does not exist.
    #[track_caller]
    pub fn link(&self, name: &str) -> QueueSummary {
        let summary = self.summary();
        let link = summary.queues.iter().find(|link| link.name == name);
        link.cloned().unwrap_or_else(|| self.unknown(name))
    }

    /// Returns the times and values of a time series. For a flow or endpoints, there are series
    /// such as `cwnd` and `delivered_bytes`. For a link, there are series such as `backlog_bytes`.
    /// The time series is empty if the scenario did not record it.
    ///
    /// # Panics
    /// If the name or the quantity does not exist.
    #[track_caller]
    pub fn series(&self, name: &str, quantity: &str) -> Vec<(Time, f64)> {
        let series = &self.outcome.series;
        let keys = series.keys.iter();
        let of = |key: &tailback_record::series::SeriesKey| match &key.flow {
            Some(flow) => &**flow == name,
            None => key.link.as_deref() == Some(name),
        };
        let place = keys
            .clone()
            .position(|key| of(key) && &*key.quantity == quantity);
        let Some(place) = place else {
            let known: Vec<&str> = keys
                .filter(|key| of(key))
                .map(|key| &*key.quantity)
                .collect();
            match known.as_slice() {
                [] => self.unknown(name),
                known => panic!(
                    "there is no series \"{quantity}\" of \"{name}\"; use one of {}",
                    known.join(", ")
                ),
            }
        };
        let rows = series.rows().filter(|row| row.key as usize == place);
        rows.map(|row| (Time(row.time_ns), row.value)).collect()
    }

    /// Returns the captured packets as a pcapng file, or `None` if the simulation captured nothing
    /// ([`crate::Simulation::capture`]).
    pub fn pcapng(&self) -> Option<&[u8]> {
        self.pcapng.as_deref()
    }

    /// Returns how many packets the capture contains, and how many packets are missing because of
    /// the capture's size limit. Returns `None` if the simulation captured nothing.
    pub fn captured(&self) -> Option<PacketCount> {
        self.outcome.packets
    }

    /// Removes and returns the output files of an endpoint with their names, such as a qlog
    /// ([`Endpoint::take_files`]).
    ///
    /// # Panics
    /// If the entry does not exist.
    #[track_caller]
    pub fn take_files(&mut self, name: &str, side: Side) -> Vec<(String, Vec<u8>)> {
        if !self.endpoints.contains_key(name) {
            self.unknown(name)
        }
        let sides = self.endpoints.get_mut(name);
        let endpoint = sides.and_then(|sides| sides[side as usize].as_mut());
        endpoint.map_or_else(Vec::new, |endpoint| endpoint.take_files())
    }

    /// Returns the sending endpoint of an entry in its final state.
    ///
    /// # Panics
    /// If the entry does not exist, or if its endpoint has another type.
    #[track_caller]
    pub fn sender<E: Endpoint>(&self, name: &str) -> &E {
        self.endpoint(name, Side::Sender)
    }

    /// Returns the receiving endpoint of an entry in its final state.
    ///
    /// # Panics
    /// If [`Results::sender`] would panic.
    #[track_caller]
    pub fn receiver<E: Endpoint>(&self, name: &str) -> &E {
        self.endpoint(name, Side::Receiver)
    }

    #[track_caller]
    fn endpoint<E: Endpoint>(&self, name: &str, side: Side) -> &E {
        let Some(sides) = self.endpoints.get(name) else {
            self.unknown(name)
        };
        let endpoint = sides[side as usize].as_deref();
        let endpoint = endpoint.and_then(|endpoint| {
            let any: &dyn std::any::Any = endpoint;
            any.downcast_ref()
        });
        endpoint.unwrap_or_else(|| {
            panic!(
                "the {} of \"{name}\" is no {}",
                side.name(),
                std::any::type_name::<E>()
            )
        })
    }

    #[track_caller]
    fn unknown(&self, name: &str) -> ! {
        let of = &self.outcome;
        let mut names: Vec<&str> = of.flows.iter().map(|flow| flow.name.as_str()).collect();
        names.extend(of.programs.iter().map(|entry| entry.name.as_str()));
        names.extend(of.traffic.iter().map(|source| source.name.as_str()));
        names.extend(of.links.iter().map(|link| link.name.as_str()));
        panic!(
            "there is no \"{name}\" here; use one of {}",
            names.join(", ")
        )
    }
}
