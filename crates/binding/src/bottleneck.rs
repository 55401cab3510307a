//! A simulated bottleneck for Python programs that have their own event loop and clock.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tailback_sim::{Bottleneck as Inner, Ecn, Error, Outcome, Side, Time};

use crate::diagnostic::Diagnostic;
use crate::{EnginePanic, InputError, ScenarioError};

/// A simulated path, with the queues and the competing traffic of a scenario, through which the
/// caller sends datagrams.
///
/// The scenario must have one entry of [[programs]], to which the datagrams belong. All times are
/// in ns on the caller's clock, which starts at 0. The times must not decrease from call to call.
#[pyclass(module = "tailback._native")]
pub struct Bottleneck {
    inner: Mutex<Inner>,
}

/// The outcome of a datagram: it arrived, or a link dropped it.
#[pyclass(frozen, get_all, module = "tailback._native")]
pub struct Delivery {
    /// The number that the caller passed to `push` or `push_back` to identify the datagram.
    handle: u64,
    /// The side to which the datagram was sent: "receiver" or "sender".
    to: &'static str,
    /// When the datagram was pushed, ns.
    sent: u64,
    /// When the datagram arrived or was dropped, ns.
    at: u64,
    /// The ECN field with which the datagram arrived, or None if it was dropped.
    ecn: Option<&'static str>,
    /// Why the datagram was dropped, or None if it arrived.
    cause: Option<&'static str>,
    /// The link that dropped the datagram, or None if it arrived.
    link: Option<String>,
}

#[pymethods]
impl Delivery {
    fn __repr__(&self) -> String {
        let Delivery { handle, to, at, .. } = self;
        match (self.ecn, self.cause) {
            (Some(ecn), _) => format!("Delivery({handle} to {to} at {at} ns, {ecn})"),
            (_, cause) => format!(
                "Delivery({handle} to {to}, dropped at {at} ns: {})",
                cause.unwrap_or_default()
            ),
        }
    }
}

/// ECN fields and their names. Scenarios use the same names, but cannot set "ce".
const FIELDS: [(&str, Ecn); 4] = [
    ("not-ect", Ecn::NotEct),
    ("ect1", Ecn::Ect1),
    ("ect0", Ecn::Ect0),
    ("ce", Ecn::Ce),
];

fn field(name: &str) -> PyResult<Ecn> {
    let known = FIELDS.iter().find(|(known, _)| *known == name);
    known.map(|(_, ecn)| *ecn).ok_or_else(|| {
        let names = FIELDS.map(|(name, _)| name).join(", ");
        InputError::new_err((format!(
            "unknown ECN field {name:?}; expected one of {names}"
        ),))
    })
}

fn field_name(ecn: Ecn) -> &'static str {
    let known = FIELDS.iter().find(|(_, known)| *known == ecn);
    known.map_or("not-ect", |(name, _)| name)
}

fn failure(error: Error) -> PyErr {
    match error {
        Error::Scenario(problems) => {
            let diagnostics: Vec<Diagnostic> = problems.iter().map(Diagnostic::from).collect();
            ScenarioError::new_err((diagnostics,))
        }
        other => InputError::new_err((other.to_string(),)),
    }
}

impl Bottleneck {
    /// Calls `work` at the caller's time `now`. Returns an error if the time decreases or the
    /// engine panics.
    fn at<T>(&self, now: u64, work: impl FnOnce(&mut Inner, Time) -> T) -> PyResult<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let reached = inner.now();
        if Time(now) < reached {
            let message = format!("the time goes back from {} ns to {now} ns", reached.ns());
            return Err(InputError::new_err((message,)));
        }
        let done = tailback_run::panics::caught(|| work(&mut inner, Time(now)));
        done.map_err(|panic| EnginePanic::new_err((panic,)))
    }

    fn send(&self, now: u64, from: Side, bytes: usize, ecn: &str, handle: u64) -> PyResult<()> {
        let ecn = field(ecn)?;
        if bytes > Inner::MAX_BYTES {
            let message = format!(
                "a datagram of {bytes} bytes; expected at most {}",
                Inner::MAX_BYTES
            );
            return Err(InputError::new_err((message,)));
        }
        self.at(now, |inner, now| inner.send(now, from, bytes, ecn, handle))
    }
}

#[pymethods]
impl Bottleneck {
    /// Creates the bottleneck that a scenario describes. `seed` replaces the scenario's seed.
    #[new]
    #[pyo3(signature = (text, *, seed = None))]
    fn new(text: &str, seed: Option<u64>) -> PyResult<Bottleneck> {
        let simulation = tailback_sim::Simulation::from_toml(text).map_err(failure)?;
        let simulation = match seed {
            Some(seed) => simulation.seed(seed),
            None => simulation,
        };
        let inner = Inner::new(simulation).map_err(failure)?;
        Ok(Bottleneck {
            inner: Mutex::new(inner),
        })
    }

    /// Sends a datagram with `bytes` of payload to the receiver.
    #[pyo3(signature = (now, bytes, ecn = "not-ect", handle = 0))]
    fn push(&self, now: u64, bytes: usize, ecn: &str, handle: u64) -> PyResult<()> {
        self.send(now, Side::Sender, bytes, ecn, handle)
    }

    /// Sends a datagram to the sender, along the return path.
    #[pyo3(signature = (now, bytes, ecn = "not-ect", handle = 0))]
    fn push_back(&self, now: u64, bytes: usize, ecn: &str, handle: u64) -> PyResult<()> {
        self.send(now, Side::Receiver, bytes, ecn, handle)
    }

    /// Returns the outcome of the next datagram that arrived or was dropped up to `now`. Returns
    /// None if there are no more outcomes. Outcomes are in the order of time.
    fn poll(&self, now: u64) -> PyResult<Option<Delivery>> {
        self.at(now, |inner, now| {
            let event = inner.poll(now)?;
            let (ecn, cause, link) = match event.outcome {
                Outcome::Arrived { ecn } => (Some(field_name(ecn)), None, None),
                Outcome::Dropped { cause, link } => {
                    (None, Some(cause.name()), inner.links().get(link).cloned())
                }
            };
            Some(Delivery {
                handle: event.handle,
                to: event.to.name(),
                sent: event.sent.ns(),
                at: event.at.ns(),
                ecn,
                cause,
                link,
            })
        })
    }

    /// Returns when to poll next, ns, or None if no datagram is in the network.
    fn next(&self) -> Option<u64> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.next().map(|time| time.ns())
    }

    /// Returns the packets captured until now as a pcapng file, or None if the scenario does not
    /// have `packets = true` in [record].
    fn pcapng<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.pcapng().map(|file| PyBytes::new(py, file))
    }
}
