//! Computes flow rates, flow windows and rows of the series from the samples of classes.

use super::Outcome;
use crate::class::{ClassOutcome, LinkSamples};

impl Outcome {
    /// Returns the samples of a class, if samples were taken and packets were captured.
    pub fn samples_of(&self, class: &ClassOutcome) -> Option<ClassSamples<'_>> {
        let link = self.links.get(class.link as usize)?;
        let samples = link.samples.as_ref().filter(|_| !self.unwatched)?;
        Some(ClassSamples {
            outcome: self,
            link: samples,
        })
    }

    /// Appends the samples of classes and their flows to the series. The time of a sample is the
    /// end of its interval.
    pub(crate) fn record_samples(&mut self) {
        let mut series = std::mem::take(&mut self.series);
        for class in &self.classes {
            let Some(samples) = self.samples_of(class) else {
                continue;
            };
            let link = Some(self.links[class.link as usize].name.as_str());
            let mut declare = |quantity: &str| {
                series.id(
                    None,
                    link,
                    &format!("class.{}.{quantity}", class.class.name),
                )
            };
            let ids = ["utilisation", "delay_ms", "mark_share", "drop_share"].map(&mut declare);
            for (i, interval) in class.intervals.iter().enumerate() {
                let values = [
                    samples.link.utilisation(i, interval.bytes),
                    interval.mean_delay_ns().map(|ns| ns / 1e6),
                    interval.mark_share(),
                    interval.drop_share(),
                ];
                for (id, value) in ids.into_iter().zip(values) {
                    if let Some(value) = value {
                        series.push(id, samples.end_ns(i), value);
                    }
                }
            }
            for (member, flow) in class.class.flows.iter().enumerate() {
                let Some(name) = self.name_of(flow.flow as usize) else {
                    continue;
                };
                let id = series.id(Some(&name), None, "rate_mbit");
                for (i, rate) in samples.rates(class, member) {
                    series.push(id, samples.end_ns(i), rate * 8.0 / 1e6);
                }
            }
        }
        self.series = series;
    }
}

/// The samples of a class, together with the samples of its link.
#[derive(Clone, Copy)]
pub struct ClassSamples<'a> {
    outcome: &'a Outcome,
    /// The samples of the class's link.
    pub link: &'a LinkSamples,
}

impl ClassSamples<'_> {
    /// Returns the end of an interval, in ns.
    fn end_ns(&self, interval: usize) -> u64 {
        self.outcome.warmup_ns + (interval as u64 + 1) * self.link.interval_ns
    }

    /// Iterates over the intervals in a flow's measured time. Each item contains the flow's rate in
    /// byte/s. `member` is the index of the flow in the class.
    fn rates(&self, class: &ClassOutcome, member: usize) -> impl Iterator<Item = (usize, f64)> {
        let flow = class.class.flows[member].flow as usize;
        let (from, to) = self.outcome.measured_time_of(flow);
        let (interval_ns, warmup_ns) = (self.link.interval_ns, self.outcome.warmup_ns);
        let bytes = class.flow_bytes.get(member).into_iter().flatten();
        let rates = bytes.enumerate().filter_map(move |(i, &bytes)| {
            let begin = warmup_ns + i as u64 * interval_ns;
            let inside = begin >= from && begin + interval_ns <= to;
            inside.then(|| (i, bytes as f64 * 1e9 / interval_ns as f64))
        });
        rates.collect::<Vec<_>>().into_iter()
    }

    /// Returns each flow's rate (byte/s) and window (bytes) in each interval of its measured time.
    /// The window is rate x (mean queue delay of the class in the interval + the flow's base RTT).
    pub fn rates_and_windows(&self, class: &ClassOutcome) -> Vec<(f64, f64)> {
        let mut all = Vec::new();
        for (member, flow) in class.class.flows.iter().enumerate() {
            all.extend(self.rates(class, member).map(|(i, rate)| {
                // If the class forwarded no packets, the rate is 0, so the window is also 0.
                let queue_ns = class.intervals[i].mean_delay_ns().unwrap_or(0.0);
                (rate, rate * (queue_ns + flow.base_rtt_ns as f64) / 1e9)
            }));
        }
        all
    }
}
