//! Runs a scenario with endpoints.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tailback_engine::endpoint::Endpoint;
use tailback_engine::network::Network;
use tailback_engine::plan::Plan;
use tailback_scenario::{Diagnostic, Override, Request, load_request};

use crate::capture::{Capture, Recording};
use crate::error::Error;
use crate::results::Results;

/// Number of events between two checks for a fault in an endpoint.
const SLICE: u64 = 10_000;

/// A scenario with endpoints that is ready to run.
pub struct Simulation {
    plan: Arc<Plan>,
    seed: u64,
    warnings: Vec<Diagnostic>,
    capture: Capture,
    attached: BTreeMap<usize, [Box<dyn Endpoint>; 2]>,
}

impl Simulation {
    /// Loads a scenario.
    ///
    /// The text may use all keys that the simulator supports. Entries of `[[programs]]` need no
    /// programs, because the caller attaches endpoints to these entries ([`Simulation::attach`]).
    /// An entry may have the keys `name`, `count`, `start`, `stop`, `rtt`, `route`, `back`,
    /// `reverse`, `dscp`, `hosts` and `class`. The default name of an entry with a `kind` is the
    /// kind. The endpoints replace the programs of such an entry.
    ///
    /// # Errors
    /// All errors of the scenario. The function also rejects sweeps and `[[assert]]`, because a
    /// simulation is one run.
    pub fn from_toml(text: &str) -> Result<Simulation, Error> {
        Simulation::from_toml_with(text, &[])
    }

    /// Loads a scenario and sets keys in it, like the option `--set` of the command line:
    /// `("bottleneck.rate", "10Mbit")`, `("flows.cubic.cc", "reno")`. Values are TOML. A bare word
    /// is a string.
    ///
    /// # Errors
    /// The errors of [`Simulation::from_toml`].
    pub fn from_toml_with(text: &str, set: &[(&str, &str)]) -> Result<Simulation, Error> {
        let overrides: Vec<Override> = set
            .iter()
            .map(|(key, value)| Override {
                key: (*key).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        let loader = |_: &str| Err("a scenario given as text has no other files".to_owned());
        let request = Request {
            overrides: &overrides,
            endpoints: true,
            ..Request::new(text.as_bytes(), "scenario", &loader)
        };
        let scenario = load_request(&request).map_err(Error::Scenario)?;
        if scenario.points.len() != 1 {
            return Err(Error::Sweep(scenario.points.len()));
        }
        if !scenario.asserts.is_empty() {
            return Err(Error::Asserts);
        }
        let point = &scenario.points[0];
        Ok(Simulation {
            plan: Arc::clone(&point.plan),
            seed: point.seed,
            warnings: scenario.warnings,
            capture: Capture::all(),
            attached: BTreeMap::new(),
        })
    }

    /// Returns warnings about settings that are allowed but unusual.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Sets the seed, which determines start offsets, losses, and the random numbers of queues and
    /// congestion controls.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Simulation {
        self.seed = seed;
        self
    }

    /// Attaches endpoints to the entry of `[[programs]]` with the given name. Datagrams from the
    /// sender follow the entry's route, which by default passes the bottleneck. Datagrams from the
    /// receiver follow the return route.
    ///
    /// # Errors
    /// If the entry does not exist.
    pub fn attach(
        mut self,
        name: &str,
        sender: impl Endpoint,
        receiver: impl Endpoint,
    ) -> Result<Simulation, Error> {
        let names = self.entries();
        let Some(place) = names.iter().position(|known| known == name) else {
            return Err(Error::Entry {
                name: name.to_owned(),
                known: names,
            });
        };
        let sides: [Box<dyn Endpoint>; 2] = [Box::new(sender), Box::new(receiver)];
        self.attached.insert(place, sides);
        Ok(self)
    }

    /// Captures packets ([`Results::pcapng`]). Without this call, a simulation captures all packets
    /// if the scenario sets `packets = true` in `[record]`. In other scenarios, it captures no
    /// packets.
    ///
    /// # Errors
    /// If a name in `capture` does not exist.
    pub fn capture(mut self, capture: Capture) -> Result<Simulation, Error> {
        capture.check(&self.plan)?;
        Arc::make_mut(&mut self.plan).record.packets = true;
        self.capture = capture;
        Ok(self)
    }

    pub(crate) fn into_parts(self) -> (Arc<Plan>, u64, Capture) {
        (self.plan, self.seed, self.capture)
    }

    /// Returns the names of the entries of `[[programs]]`.
    pub fn entries(&self) -> Vec<String> {
        self.plan.each_program().map(|entry| entry.name()).collect()
    }

    /// Runs the simulation to its end.
    ///
    /// # Errors
    /// If an entry does not have endpoints, or if an endpoint panics, loops without progress or
    /// floods the network. The simulation cannot stop an endpoint that never returns from a call.
    pub fn run(self) -> Result<Results, Error> {
        let names = self.entries();
        let missing = names.iter().enumerate();
        let missing = missing.filter(|(place, _)| !self.attached.contains_key(place));
        let missing: Vec<String> = missing.map(|(_, name)| name.clone()).collect();
        if !missing.is_empty() {
            return Err(Error::Unattached(missing));
        }
        let run = AssertUnwindSafe(move || self.run_to_the_end(&names));
        catch_unwind(run).unwrap_or_else(|panic| Err(Error::Panic(message_of(&*panic))))
    }

    fn run_to_the_end(self, names: &[String]) -> Result<Results, Error> {
        let mut network = Network::new(&self.plan, self.seed);
        for (place, sides) in self.attached {
            network.attach(place, sides);
        }
        let mut recording = Recording::begin(&self.capture, &self.plan, &mut network);
        loop {
            let goes_on = network.advance(SLICE);
            if let Some(recording) = &mut recording {
                recording.take(&mut network);
            }
            if let Some(fault) = network.endpoint_fault() {
                return Err(Error::Fault {
                    name: names[fault.entry].clone(),
                    side: fault.side,
                    at: fault.at,
                    kind: fault.kind,
                });
            }
            if !goes_on {
                break;
            }
        }
        let entries = names.iter().enumerate();
        let endpoints = entries.map(|(place, name)| (name.clone(), network.detach(place)));
        let endpoints = endpoints.collect();
        let outcome = network.finish();
        let recorded = recording.map(Recording::finish);
        Ok(Results::new(outcome, self.seed, endpoints, recorded))
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}
