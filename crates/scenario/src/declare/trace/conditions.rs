//! Conditions of a link over time: a CSV file with a row for each change.
//!
//! ```text
//! time_s,rate_mbit,delay_ms,loss
//! 0,50,20,0
//! 15,35.5,42,0.002
//! ```
//!
//! `time_s` and `rate_mbit` are required. `delay_ms` and `loss` are optional. The columns may be in
//! any order. The values of a row apply until the time of the next row, or until the end of the
//! run. A rate of 0 is an outage.

use tailback_engine::registry::Value;
use tailback_engine::units::{Rate, Time};

use crate::declare::MAX_TIME;

const MAX_ROWS: usize = 1_000_000;

/// Names of the columns. The first two columns are required.
const COLUMNS: [&str; 4] = ["time_s", "rate_mbit", "delay_ms", "loss"];

/// Largest rate, in bit/s.
const MAX_RATE: f64 = 1e12;
/// Longest delay, in ms.
const MAX_DELAY_MS: f64 = 3.6e6;

/// The conditions of a link over time. Each field is a list of changes of one condition, in the
/// order of time, beginning at time 0.
pub(crate) struct Conditions {
    /// Rates.
    pub rates: Vec<(Time, Rate)>,
    /// One-way delays, if the file has this column.
    pub delays: Option<Vec<(Time, Value)>>,
    /// Loss probabilities, if the file has this column.
    pub losses: Option<Vec<(Time, Value)>>,
}

impl Conditions {
    /// Returns whether a text begins with a header that names a known column.
    pub fn are_in(text: &str) -> bool {
        let first = text.lines().find(|line| !line.trim().is_empty());
        first.is_some_and(|line| line.split(',').any(|name| COLUMNS.contains(&name.trim())))
    }

    /// Parses a file. Errors do not quote the file, because the user may have named a confidential
    /// file by mistake.
    pub fn parse(text: &str) -> Result<Conditions, String> {
        let mut rows = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| !line.trim().is_empty());
        let (header, _) = rows.next().ok_or("it is empty")?;
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let place = |column: &str| names.iter().position(|name| *name == column);
        let places = COLUMNS.map(place);
        let known = places.iter().flatten().count();
        let [Some(time), Some(rate), delay, loss] = places else {
            return Err("line 1: the columns time_s and rate_mbit are required".to_owned());
        };
        if known != names.len() {
            let known = COLUMNS.join(", ");
            return Err(format!(
                "line 1: the columns are {known}, each at most once"
            ));
        }
        let mut conditions = Conditions {
            rates: Vec::new(),
            delays: delay.map(|_| Vec::new()),
            losses: loss.map(|_| Vec::new()),
        };
        for (line, n) in rows {
            let fields = line.split(',').map(|field| field.trim().parse::<f64>());
            let fields: Vec<f64> = (fields.collect::<Result<_, _>>())
                .map_err(|_| format!("line {n} has a field that is not a number"))?;
            if fields.len() != names.len() {
                return Err(format!("line {n} does not have {} fields", names.len()));
            }
            let within = |column: usize, most: f64, what: &str| match fields[column] {
                value if (0.0..=most).contains(&value) => Ok(value),
                _ => Err(format!("line {n}: {what} is not between 0 and {most}")),
            };
            let seconds = within(time, MAX_TIME.as_secs_f64(), "the time in s")?;
            let at = Time((seconds * 1e9).round() as u64);
            let bits = within(rate, MAX_RATE / 1e6, "the rate in Mbit/s")? * 1e6;
            match conditions.rates.last() {
                None if at > Time::ZERO => {
                    return Err(format!("line {n}: the first time must be 0"));
                }
                None if bits < 1.0 => {
                    return Err(format!("line {n}: the first rate must be more than 0"));
                }
                Some((last, _)) if at <= *last => {
                    return Err(format!("line {n}: times must increase"));
                }
                _ => {}
            }
            if conditions.rates.len() == MAX_ROWS {
                return Err(format!("more than {MAX_ROWS} lines"));
            }
            conditions.rates.push((at, Rate(bits.round() as u64)));
            if let (Some(column), Some(delays)) = (delay, &mut conditions.delays) {
                let ms = within(column, MAX_DELAY_MS, "the delay in ms")?;
                delays.push((at, Value::Time(Time((ms * 1e6).round() as u64))));
            }
            if let (Some(column), Some(losses)) = (loss, &mut conditions.losses) {
                losses.push((at, Value::Float(within(column, 1.0, "the loss")?)));
            }
        }
        match conditions.rates.is_empty() {
            true => Err("it has no rows".to_owned()),
            false => Ok(conditions),
        }
    }
}
