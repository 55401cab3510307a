//! What is recorded, and how often.

use tailback_engine::keys::KeyKind;
use tailback_engine::plan::{RecordPlan, SeriesMode};
use tailback_engine::units::Time;

use crate::declare::{Fields, Reader, expectation};
use crate::read::Toml;

/// The shortest distance of the samples for statistics.
const SHORTEST_SAMPLE: Time = Time::from_ms(1);

/// Reads `[record]`; `measured` is the time that is.
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
