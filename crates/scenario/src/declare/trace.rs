//! Reads traces: delivery opportunities (Mahimahi) or conditions over time (CSV). Each trace is
//! read, parsed and hashed once for all sweep points and seeds.

mod conditions;

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tailback_engine::units::Time;

use super::MAX_TIME;
use crate::hash::hex;
use crate::request::Loader;

/// The largest number of opportunities in a trace: an hour at 33 Mbit/s.
const MAX_TRACE: usize = 10_000_000;

/// The largest number of opportunities in all traces of a scenario together.
const MAX_TOGETHER: usize = 4 * MAX_TRACE;

pub(crate) use conditions::Conditions;

#[derive(Clone)]
pub(crate) enum Traced {
    /// Times of delivery opportunities.
    Opportunities(Arc<[Time]>),
    /// Rate, delay and loss over time.
    Conditions(Arc<Conditions>),
}

impl Traced {
    fn len(&self) -> usize {
        match self {
            Traced::Opportunities(times) => times.len(),
            Traced::Conditions(conditions) => conditions.rates.len(),
        }
    }
}

struct Trace {
    traced: Traced,
    /// SHA-256 of the opportunities. Conditions of a link need no hash, because they are part of
    /// the plan.
    hash: String,
}

/// Traces by their names in the file. If a trace has an error, this map stores the error. The
/// reader reports this error at every key that refers to the trace.
#[derive(Default)]
pub(crate) struct Traces {
    traces: HashMap<String, Result<Trace, String>>,
    /// Contents of files with a list of values, by the names of the files.
    lists: HashMap<String, Result<Arc<str>, String>>,
}

impl Traces {
    /// Returns a trace. The first call for a name reads the file.
    pub fn get(&mut self, file: &str, load: &Loader<'_>) -> Result<Traced, String> {
        if !self.traces.contains_key(file) {
            let read = self.read(file, load);
            self.traces.insert(file.to_owned(), read);
        }
        match &self.traces[file] {
            Ok(trace) => Ok(trace.traced.clone()),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the text of a file with a list of values. The first call for a name reads the file.
    pub fn list(&mut self, file: &str, load: &Loader<'_>) -> Result<Arc<str>, String> {
        if !self.lists.contains_key(file) {
            let text = load(file).map(Arc::from);
            self.lists.insert(file.to_owned(), text);
        }
        self.lists[file].clone()
    }

    /// Returns the sorted names of all traces and lists that have been read so far.
    pub fn names(&self) -> Vec<String> {
        let traces = self.traces.iter().filter(|(_, trace)| trace.is_ok());
        let lists = self.lists.iter().filter(|(_, text)| text.is_ok());
        let read = traces
            .map(|(name, _)| name)
            .chain(lists.map(|(name, _)| name));
        let mut names: Vec<String> = read.cloned().collect();
        names.sort();
        names
    }

    /// Returns the hash of a trace. Call this function only for a trace that [`Traces::get`] has
    /// returned.
    pub fn hash(&self, times: &Arc<[Time]>) -> String {
        let mut known = self.traces.values().flatten();
        let known = known.find(|trace| match &trace.traced {
            Traced::Opportunities(known) => Arc::ptr_eq(known, times),
            Traced::Conditions(_) => false,
        });
        known.map_or_else(|| hash(times), |trace| trace.hash.clone())
    }

    fn read(&self, file: &str, load: &Loader<'_>) -> Result<Trace, String> {
        let text = load(file)?;
        let traced = match Conditions::are_in(&text) {
            true => Traced::Conditions(Arc::new(Conditions::parse(&text)?)),
            false => Traced::Opportunities(parse(&text)?.into()),
        };
        let others = self.traces.values().flatten();
        let together = others.map(|trace| trace.traced.len()).sum::<usize>() + traced.len();
        if together > MAX_TOGETHER {
            return Err(format!(
                "the traces have more than {MAX_TOGETHER} lines together"
            ));
        }
        let Traced::Opportunities(times) = &traced else {
            let hash = String::new();
            return Ok(Trace { traced, hash });
        };
        // If a trace with another name has the same content, share the memory of this content.
        let hash = hash(times);
        let mut known = self.traces.values().flatten();
        let known = known.find(|trace| trace.hash == hash);
        let traced = known.map_or(traced.clone(), |trace| trace.traced.clone());
        Ok(Trace { traced, hash })
    }
}

fn hash(times: &[Time]) -> String {
    let mut hash = Sha256::new();
    for time in times {
        hash.update(time.0.to_le_bytes());
    }
    hex(&hash.finalize(), 32)
}

/// Parses a Mahimahi trace. Each line is a whole number of milliseconds, at which there is an
/// opportunity to deliver 1504 bytes. The numbers must ascend. Errors do not quote the file,
/// because the user may have named a confidential file by mistake.
fn parse(text: &str) -> Result<Vec<Time>, String> {
    let mut times: Vec<Time> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let n = n + 1;
        let time = match line.parse::<u64>() {
            Ok(ms) if ms <= MAX_TIME.0 / 1_000_000 => Time::from_ms(ms),
            Ok(_) => {
                let days = MAX_TIME.as_secs_f64() / 86_400.0;
                return Err(format!("line {n}: more than {days:.0} days"));
            }
            Err(_) => return Err(format!("line {n} is not a whole number of milliseconds")),
        };
        if times.last().is_some_and(|last| time < *last) {
            return Err(format!("line {n}: times must not decrease"));
        }
        if times.len() == MAX_TRACE {
            return Err(format!("more than {MAX_TRACE} lines"));
        }
        times.push(time);
    }
    match times.last() {
        None => Err("it is empty".to_owned()),
        Some(Time(0)) => Err("its last time must be greater than 0".to_owned()),
        Some(_) => Ok(times),
    }
}
