//! Reads which values a run records, and how often.

use tailback_engine::keys::KeyKind;
use tailback_engine::plan::{Plan, RecordPlan, SeriesMode};
use tailback_engine::units::Time;
use tailback_record::series::MAX_ROWS;

use crate::declare::{Fields, Reader, expectation};
use crate::memory::sampled_rows;
use crate::read::{Problem, Toml};

/// Shortest interval of `record.statistics`.
const SHORTEST_SAMPLE: Time = Time::from_ms(1);

/// Reads `[record]`. `measured` is the length of the measured time, if known.
pub(super) fn read(
    reader: &mut Reader<'_>,
    top: &Fields<'_>,
    measured: Option<Time>,
) -> RecordPlan {
    let fields = reader.table(top, "record", &RecordPlan::TABLE);
    let mut plan = RecordPlan::default();
    plan.set(|key| fields.value(key));
    if let Some(item) = fields.item("series") {
        let mode = match item.node.value {
            Toml::Bool(true) => Some(SeriesMode::Interval),
            Toml::Bool(false) => Some(SeriesMode::Off),
            Toml::String(ref word) => SeriesMode::named(word),
            _ => None,
        };
        plan.series = mode.unwrap_or(SeriesMode::Off);
        if mode.is_none() {
            let kind = KeyKind::Switch(SeriesMode::WORDS);
            reader.wrong("series", &item.node, expectation(kind));
        }
    }
    let statistics = plan.statistics;
    let most = measured.filter(|time| *time > Time::ZERO);
    if let Some(item) = fields.item("statistics")
        && statistics > Time::ZERO
        && (statistics < SHORTEST_SAMPLE || most.is_some_and(|most| statistics > most))
    {
        let most = most.map_or("the measured time".to_owned(), |most| {
            format!("the measured time, {most}")
        });
        reader.wrong(
            "statistics",
            &item.node,
            format!("0s, or a time from {SHORTEST_SAMPLE} to {most}"),
        );
    }
    plan
}

/// Number of samples above which sampling takes more time than all other parts of the simulation.
const MANY_SAMPLES: u64 = 10_000_000;

/// Warns if the record interval is so short that not all rows can be stored, or that sampling takes
/// too long.
pub(super) fn check(reader: &mut Reader<'_>, top: &Fields<'_>, plan: &Plan) {
    let table = top.item("record").and_then(|item| item.node.table());
    let Some(item) = table.and_then(|table| table.item("interval")) else {
        return;
    };
    let interval = plan.record.interval;
    let samples = plan.duration.0 / interval.0.max(1);
    let rows = sampled_rows(plan);
    let kept = MAX_ROWS as u64;
    if rows <= kept && samples <= MANY_SAMPLES {
        return;
    }
    // Suggest the shortest interval for which all rows can be stored, in whole microseconds.
    let least = u128::from(interval.0) * u128::from(rows) / u128::from(kept);
    let least = least.max(u128::from(plan.duration.0 / MANY_SAMPLES));
    let least =
        Time(u64::try_from(least / 1000 + 1).map_or(u64::MAX, |us| us.saturating_mul(1000)));
    let mut message = format!(
        "record.interval = {interval} takes {samples} samples in {}",
        plan.duration
    );
    if rows > kept {
        message += &format!("; the run keeps only the first {kept} of about {rows} rows");
    }
    let problem = Problem::new(item.node.span, message);
    reader
        .warnings
        .push(problem.expected(format!("at least {least}")));
}
