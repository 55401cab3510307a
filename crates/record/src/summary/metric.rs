//! Makes the list of metrics from the declarations of the fields of a summary.

use std::sync::LazyLock;

use super::field::{Field, Kind, Reading, Record, Weight};
use super::{ClassSummary, FlowSummary, ProgramSummary, QueueSummary, Summary, TrafficSummary};

/// The kind of object that a metric measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// A flow, a program or a source of traffic.
    Flow,
    /// A link and its queue.
    Link,
    /// A class of flows.
    Class,
    /// The whole run.
    Run,
}

impl On {
    /// All kinds of objects.
    pub const ALL: [On; 4] = [On::Flow, On::Link, On::Class, On::Run];

    /// Returns the scope in a metric's name, such as `link` in `link.drops`.
    pub const fn name(self) -> &'static str {
        match self {
            On::Flow => "flow",
            On::Link => "link",
            On::Class => "class",
            On::Run => "run",
        }
    }
}

/// A metric, with the names that commands accept.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The kind of object that the metric measures.
    pub on: On,
    /// The parts of a summary that contain this metric, such as `flow`, `program`, `traffic`.
    pub parts: Vec<&'static str>,
    /// Path of the metric, such as `rtt_ms.p99`.
    pub path: String,
    /// Path of the field in its part of the summary.
    pub field: String,
    /// Description of the metric.
    pub doc: String,
    /// Unit, weight and direction of the metric.
    pub reading: Reading,
}

impl Metric {
    /// Returns the metric's name in tables and data frames, such as `rtt_p99_ms`.
    pub fn name(&self) -> String {
        identifier(&self.path)
    }
}

/// The parts of a summary, by name. If several parts contain a metric, the first part defines the
/// metric.
const PARTS: [(&str, On, &[Field]); 6] = [
    ("flow", On::Flow, FlowSummary::FIELDS),
    ("program", On::Flow, ProgramSummary::FIELDS),
    ("traffic", On::Flow, TrafficSummary::FIELDS),
    ("link", On::Link, QueueSummary::FIELDS),
    ("class", On::Class, ClassSummary::FIELDS),
    ("run", On::Run, Summary::FIELDS),
];

/// Returns every metric that is a field of a summary, in the order of the summary.
pub fn metrics() -> &'static [Metric] {
    static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
        let mut metrics = Vec::new();
        for (part, on, fields) in PARTS {
            add(&mut metrics, (part, on), fields, "", "");
        }
        metrics
    });
    &METRICS
}

/// Adds the metrics of a part's fields. Prepends `prefix` to the metrics' paths, and `place` to the
/// paths in the JSON.
fn add(
    metrics: &mut Vec<Metric>,
    (part, on): (&'static str, On),
    fields: &[Field],
    prefix: &str,
    place: &str,
) {
    for field in fields {
        let path = format!("{prefix}{}", field.metric.unwrap_or(field.name));
        let at = format!("{place}{}", field.name);
        match field.kind {
            Kind::Table(inner) | Kind::OptionalTable(inner) if part != "run" => {
                let prefix = match field.beside {
                    true => prefix.to_owned(),
                    false => format!("{path}."),
                };
                add(metrics, (part, on), inner, &prefix, &format!("{at}."));
            }
            Kind::Inline(inner) => add(metrics, (part, on), inner, prefix, place),
            _ => {}
        }
        let Some(reading) = field.reading else {
            continue;
        };
        if field.kind != Kind::Statistics {
            let doc = field.doc.to_owned();
            push(metrics, (part, on), (path, at), doc, reading);
            continue;
        }
        for statistic in field.statistics {
            let names = (format!("{path}.{statistic}"), format!("{at}.{statistic}"));
            let (doc, reading) = of_statistic(statistic, field.doc, reading);
            push(metrics, (part, on), names, doc, reading);
        }
    }
}

/// Adds a metric. If another part has already defined the metric, adds this part to the metric.
fn push(
    metrics: &mut Vec<Metric>,
    (part, on): (&'static str, On),
    (path, field): (String, String),
    doc: String,
    reading: Reading,
) {
    let same = metrics.iter_mut().find(|m| m.on == on && m.path == path);
    if let Some(metric) = same {
        debug_assert_eq!((&metric.field, metric.reading), (&field, reading), "{path}");
        metric.parts.push(part);
        return;
    }
    metrics.push(Metric {
        on,
        parts: vec![part],
        path,
        field,
        doc,
        reading,
    });
}

/// Returns the description of one statistic of a field, and the statistic's properties as a metric.
fn of_statistic(statistic: &str, doc: &str, reading: Reading) -> (String, Reading) {
    let words = match statistic {
        "n" => "Number of samples of the",
        "mean" => "Mean",
        "stddev" => "Standard deviation of the",
        "p1" => "1st percentile of the",
        "p25" => "25th percentile of the",
        "p50" => "Median",
        "p75" => "75th percentile of the",
        "p95" => "95th percentile of the",
        "p99" => "99th percentile of the",
        "p999" => "99.9th percentile of the",
        _ => "Largest",
    };
    let abbreviation = doc.chars().nth(1).is_some_and(char::is_uppercase);
    let mut doc = doc.to_owned();
    if !abbreviation && let Some(first) = doc.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let reading = match statistic {
        "n" => Reading {
            unit: "",
            weight: Weight::Count,
            most: None,
            better: None,
        },
        // For a standard deviation, neither higher nor lower values are better. The upper bound of
        // the values does not apply to a standard deviation.
        "stddev" => Reading {
            most: None,
            better: None,
            ..reading
        },
        _ => reading,
    };
    (format!("{words} {doc}"), reading)
}

/// Returns the name in tables and data frames for a path in the JSON, with the unit at the end:
/// `rtt_p99_ms` for `rtt_ms.p99`. A count has no unit.
pub fn identifier(path: &str) -> String {
    const UNITS: [&str; 4] = ["ms", "mbit", "bytes", "s"];
    let with_unit = |name: &str| {
        let (stem, unit) = name.rsplit_once('_')?;
        (!stem.is_empty() && UNITS.contains(&unit)).then(|| (stem.to_owned(), unit.to_owned()))
    };
    let (head, rest) = match path.split_once('.') {
        Some((head, rest)) => (head, Some(rest.replace('.', "_"))),
        None => (path, None),
    };
    let Some(rest) = rest else {
        if let Some((front, statistic)) = head.rsplit_once('_')
            && is_statistic(statistic)
            && let Some((stem, unit)) = with_unit(front)
        {
            return format!("{stem}_{statistic}_{unit}");
        }
        return head.to_owned();
    };
    match with_unit(head) {
        Some((stem, _)) if rest == "n" => format!("{stem}_n"),
        Some((stem, unit)) => format!("{stem}_{rest}_{unit}"),
        None => format!("{head}_{rest}"),
    }
}

fn is_statistic(word: &str) -> bool {
    let percentile = word.strip_prefix('p');
    ["mean", "max", "stddev"].contains(&word)
        || percentile.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_have_the_unit_last() {
        let names: BTreeSet<(&str, String)> =
            (metrics().iter().map(|m| (m.on.name(), m.name()))).collect();
        assert_eq!(names.len(), metrics().len());
        for (path, name) in [
            ("throughput_mbit", "throughput_mbit"),
            ("rtt_ms.p99", "rtt_p99_ms"),
            ("srtt_ms_mean", "srtt_mean_ms"),
            ("occupancy_bytes_max", "occupancy_max_bytes"),
            ("one_way_delay_ms.p999", "one_way_delay_p999_ms"),
            ("normalised.1MB.p99", "normalised_1MB_p99"),
            ("completion_s.81kB", "completion_81kB_s"),
            ("rate_mbit.n", "rate_n"),
            ("exit_s.sender", "exit_sender_s"),
            ("bytes", "bytes"),
            ("from_s", "from_s"),
        ] {
            assert_eq!(identifier(path), name);
        }
    }

    #[test]
    fn what_flows_programs_and_sources_share_is_one_metric() {
        let of = |path: &str| {
            let metric = metrics()
                .iter()
                .find(|m| m.path == path && m.on == On::Flow);
            metric.expect(path).parts.clone()
        };
        assert_eq!(of("throughput_mbit"), ["flow", "program", "traffic"]);
        assert_eq!(of("rtt_ms.mean"), ["flow", "program", "traffic"]);
        assert_eq!(of("one_way_delay_ms.p999"), ["traffic"]);
        assert_eq!(of("delay_ms.p99"), ["program"]);
        assert_eq!(of("requests"), ["traffic"]);
    }

    #[test]
    fn statistics_of_samples_are_called_by_their_own_name() {
        let of = |path: &str| {
            metrics()
                .iter()
                .find(|m| m.path == path && m.on == On::Class)
        };
        let field = |path| of(path).map(|metric| metric.field.as_str());
        assert_eq!(field("rate_mbit.p99"), Some("samples.rate_mbit.p99"));
        assert_eq!(
            field("sampled_delay_ms.mean"),
            Some("samples.delay_ms.mean")
        );
        assert_eq!(field("delay_ms.mean"), Some("delay_ms.mean"));
        let docs = |path| of(path).map(|metric| metric.doc.as_str());
        let share = "Median mark rate: CE marks divided by packets forwarded. There is one sample \
                     for each interval of `record.statistics`.";
        assert_eq!(docs("mark_share.p50"), Some(share));
        let rate = "Largest rate of a TCP flow, including the headers of each frame. There is \
                    one sample for each flow and each interval of `record.statistics`.";
        assert_eq!(docs("rate_mbit.max"), Some(rate));
    }
}
