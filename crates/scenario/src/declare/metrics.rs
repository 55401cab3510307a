//! Assertions, and the metrics they name.

use std::sync::LazyLock;

use tailback_engine::keys;
use tailback_engine::keys::{NUMBER, TEXT};
use tailback_record::summary::BINS;
use tailback_record::summary::metric::{On, identifier, metrics as of_fields};

keys! {
    /// What must hold at every point and seed.
    pub struct Assert as "[[assert]]" {
        /// The metric, as `tailback list metrics` names it; results.NAME: a number from the files
        /// of a program. `link.drops` is that of a link, `drops@NAME` that of the link, flow or
        /// class of this name.
        metric: String => TEXT.required();
        /// The flow, program or source of traffic, or the name of several ("cubic" for cubic/1,
        /// cubic/2); default: every flow.
        flow: Option<String> => TEXT;
        /// The link, where there are several; default: the only one.
        link: Option<String> => TEXT;
        /// The class of flows; default: every one.
        class: Option<String> => TEXT;
        /// Smallest value that holds.
        min: Option<f64> = NUMBER;
        /// Largest value that holds.
        max: Option<f64> = NUMBER;
    }
}

/// Throughput over that with the standard backoff: it needs several points.
pub(crate) const GAIN: &str = "throughput_gain";

/// The metrics that are computed (`python/tailback/metrics`), with their scope and the parts of a
/// summary that have them.
const COMPUTED: [(&str, On, &[&str]); 6] = [
    (GAIN, On::Flow, &["flow"]),
    ("requests_completion_s", On::Flow, &["traffic"]),
    ("throughput_total_mbit", On::Run, &["run"]),
    ("throughput_ratio", On::Run, &["run"]),
    ("class_rate_ratio", On::Run, &["run"]),
    ("class_window_ratio", On::Run, &["run"]),
];

/// Metrics of the requests in every bin of sizes: begin and end of the path.
const OF_BINS: [(&str, &str); 7] = [
    ("completion_s", ""),
    ("normalised", ""),
    ("normalised", ".p1"),
    ("normalised", ".p25"),
    ("normalised", ".p50"),
    ("normalised", ".p75"),
    ("normalised", ".p99"),
];

/// A metric that an assertion may name.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricName {
    /// Its scope.
    pub on: On,
    /// Its path, e.g. `rtt_ms.p99`.
    pub path: String,
    /// Its name, e.g. `rtt_p99_ms`.
    pub name: String,
    /// The parts of a summary that have it, e.g. `flow` and `program`.
    pub parts: Vec<&'static str>,
}

impl MetricName {
    fn new(path: &str, on: On, parts: &[&'static str]) -> MetricName {
        MetricName {
            on,
            path: path.to_owned(),
            name: identifier(path),
            parts: parts.to_vec(),
        }
    }
}

/// Every metric that an assertion may name, except for numbers from the files of programs.
pub fn metrics() -> &'static [MetricName] {
    static METRICS: LazyLock<Vec<MetricName>> = LazyLock::new(|| {
        let fields = of_fields().iter();
        let fields = fields.map(|m| MetricName::new(&m.path, m.on, &m.parts));
        let computed = COMPUTED.iter();
        let computed = computed.map(|(path, on, parts)| MetricName::new(path, *on, parts));
        let bins = OF_BINS.iter().flat_map(|(begin, end)| {
            BINS.iter().map(move |(bin, _)| {
                MetricName::new(&format!("{begin}.{bin}{end}"), On::Flow, &["traffic"])
            })
        });
        fields.chain(computed).chain(bins).collect()
    });
    &METRICS
}
