//! Traces of delivery opportunities (Mahimahi) that a scenario names: each is
//! read, parsed and hashed once, however many points and seeds have it.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tailback_engine::units::Time;

use super::MAX_TIME;
use crate::hash::hex;
use crate::request::Loader;

/// The most opportunities a trace may have: an hour at 33 Gbit/s.
const MAX_TRACE: usize = 10_000_000;

/// The most opportunities of all traces of a scenario.
const MAX_TOGETHER: usize = 4 * MAX_TRACE;

/// A trace that has been read.
struct Trace {
    times: Arc<[Time]>,
    /// SHA-256 of the times.
    hash: String,
}

/// The traces of a scenario by the name they have there. The error of a trace is
/// kept too: it is reported at every key that names the trace.
#[derive(Default)]
pub(crate) struct Traces(HashMap<String, Result<Trace, String>>);

impl Traces {
    /// The opportunities of a trace.
    pub fn get(&mut self, file: &str, load: &Loader<'_>) -> Result<Arc<[Time]>, String> {
        if !self.0.contains_key(file) {
            let read = self.read(file, load);
            self.0.insert(file.to_owned(), read);
        }
        match &self.0[file] {
            Ok(trace) => Ok(Arc::clone(&trace.times)),
            Err(error) => Err(error.clone()),
        }
    }

    /// The names of those that were read, sorted.
    pub fn names(&self) -> Vec<String> {
        let read = self.0.iter().filter(|(_, trace)| trace.is_ok());
        let mut names: Vec<String> = read.map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    /// The hash of a trace that was read here.
    pub fn hash(&self, times: &Arc<[Time]>) -> String {
        let mut known = self.0.values().flatten();
        let known = known.find(|trace| Arc::ptr_eq(&trace.times, times));
        known.map_or_else(|| hash(times), |trace| trace.hash.clone())
    }

    fn read(&self, file: &str, load: &Loader<'_>) -> Result<Trace, String> {
        let times = parse(&load(file)?)?;
        let others = self.0.values().flatten();
        let together = others.map(|trace| trace.times.len()).sum::<usize>() + times.len();
        if together > MAX_TOGETHER {
            return Err(format!(
                "the traces have more than {MAX_TOGETHER} lines together"
            ));
        }
        // Two names may lead to one file.
        let hash = hash(&times);
        let mut known = self.0.values().flatten();
        let times = known
            .find(|trace| trace.hash == hash)
            .map_or_else(|| times.into(), |trace| Arc::clone(&trace.times));
        Ok(Trace { times, hash })
    }
}

fn hash(times: &[Time]) -> String {
    let mut hash = Sha256::new();
    for time in times {
        hash.update(time.0.to_le_bytes());
    }
    hex(&hash.finalize(), 32)
}

/// Reads a Mahimahi trace: a whole number of milliseconds on each line, ascending, each an
/// opportunity to deliver 1504 bytes. Errors never repeat the lines: the file may contain anything.
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
