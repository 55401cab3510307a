//! Declares assertions and the metrics that they can name.

use std::sync::LazyLock;

use tailback_engine::keys;
use tailback_engine::keys::{NUMBER, TEXT};
use tailback_record::summary::BINS;
use tailback_record::summary::metric::{On, identifier, metrics as of_fields};

keys! {
    /// A condition that must hold at every sweep point and seed.
    pub struct Assert as "[[assert]]" {
        /// A metric from `tailback list metrics`, or results.NAME for a number from the files of a
        /// program. `link.drops` means the drops of a link, and `drops@NAME` means the drops of the
        /// link, flow or class of this name.
        metric: String => TEXT.required();
        /// The flow, program or source of traffic, or the common name of several copies ("cubic"
        /// for cubic/1, cubic/2); default: every flow.
        flow: Option<String> => TEXT;
        /// The link, if the scenario has several links; default: the only link.
        link: Option<String> => TEXT;
        /// The class to which the condition applies; default: every class.
        class: Option<String> => TEXT;
        /// The flow or source of traffic whose harm to the other flows and sources is measured. Set
        /// this key for metrics such as `harm_throughput`. To measure the harm, tailback also runs
        /// the scenario without this flow or source, with the same seed.
        without: Option<String> => TEXT.since("0.2");
        /// Smallest allowed value.
        min: Option<f64> = NUMBER;
        /// Largest allowed value.
        max: Option<f64> = NUMBER;
    }
}

/// A flow's throughput, divided by the flow's throughput with the standard response to marks. The
/// divisor comes from another sweep point.
pub(crate) const GAIN: &str = "throughput_gain";

/// Metrics that `python/tailback/metrics` computes, each with its scope and the parts of a summary
/// that contain it.
const COMPUTED: [(&str, On, &[&str]); 6] = [
    (GAIN, On::Flow, &["flow"]),
    ("requests_completion_s", On::Flow, &["traffic"]),
    ("throughput_total_mbit", On::Run, &["run"]),
    ("throughput_ratio", On::Run, &["run"]),
    ("class_rate_ratio", On::Run, &["run"]),
    ("class_window_ratio", On::Run, &["run"]),
];

/// Metrics of the requests in each size bin. Each entry is the field of the summary, and the
/// statistic at the end of the metric's path.
const OF_BINS: [(&str, &str); 7] = [
    ("completion_s", ""),
    ("normalised", ""),
    ("normalised", ".p1"),
    ("normalised", ".p25"),
    ("normalised", ".p50"),
    ("normalised", ".p75"),
    ("normalised", ".p99"),
];

/// Prefix of the metrics that compare a run with a run without a competitor.
pub(crate) const HARM: &str = "harm.";

/// Metrics of harm. Each entry is the name of a metric of harm, and the metric that a competitor
/// makes worse.
const OF_HARM: [(&str, &str); 11] = [
    ("throughput", "throughput_mbit"),
    ("completion", "completion_s"),
    ("requests", "requests_completion_s"),
    ("rtt_mean", "rtt_ms.mean"),
    ("rtt_p99", "rtt_ms.p99"),
    ("one_way_mean", "one_way_delay_ms.mean"),
    ("one_way_p99", "one_way_delay_ms.p99"),
    ("frame_p99", "frame_delay_ms.p99"),
    ("drops", "drops"),
    ("chunk_mean", "chunk_ms.mean"),
    ("chunk_p99", "chunk_ms.p99"),
];

/// A metric that assertions can name.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricName {
    /// Scope of the metric.
    pub on: On,
    /// Path of the metric in a summary, such as `rtt_ms.p99`.
    pub path: String,
    /// Name of the metric in tables, such as `rtt_p99_ms`.
    pub name: String,
    /// Parts of a summary that contain the metric, such as `flow` and `program`.
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

/// Returns every metric that assertions can name, except numbers from the files of programs.
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
        let mut found: Vec<MetricName> = fields.chain(computed).chain(bins).collect();
        let harm = OF_HARM.iter().map(|(end, worsened)| {
            let of = |metric: &&MetricName| metric.on == On::Flow && metric.path == *worsened;
            let parts = found.iter().find(of).map_or(&[][..], |m| &m.parts);
            MetricName::new(&format!("{HARM}{end}"), On::Flow, parts)
        });
        let harm: Vec<MetricName> = harm.collect();
        found.extend(harm);
        found
    });
    &METRICS
}
