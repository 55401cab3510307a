//! Statistics by class of flow: what the members of a class do at the link
//! that comes first on their way, and samples of it at a fixed distance.
//!
//! The engines tell a [`ClassRecorder`] of each packet that leaves a queue and
//! of each drop and mark, with their times, in any order; it counts those after
//! the warm-up. Where samples are asked for the measured time is cut into
//! intervals from the warm-up on, of which a last one that is not whole is left
//! out. All room is made before the run.

use serde::{Deserialize, Serialize};

use crate::{Cause, Counts, Histogram, Outcome};

/// A class at the link of its members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassPlan {
    /// Name.
    pub name: String,
    /// Place among all classes, in the order of the scenario.
    pub number: u32,
    /// Its TCP flows.
    pub flows: Vec<ClassFlow>,
    /// Numbers of its unresponsive sources, counted on from the flows'.
    pub sources: Vec<u32>,
}

/// A TCP flow of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassFlow {
    /// Number of the flow.
    pub flow: u32,
    /// Its round-trip time without queues, delays of links included, ns.
    pub base_rtt_ns: u64,
}

/// What the members of a class did at their link.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassOutcome {
    /// The class.
    pub class: ClassPlan,
    /// Place of the link in [`Outcome::links`].
    pub link: u32,
    /// Enqueue to dequeue of every forwarded packet, as of a link, ns.
    pub delay: Histogram,
    /// Packets forwarded.
    pub packets: u64,
    /// Frame bytes forwarded.
    pub bytes: u64,
    /// Drops and marks by cause.
    pub counts: Counts,
    /// By interval; empty without samples.
    pub intervals: Vec<Interval>,
    /// Frame bytes forwarded, of each flow in each interval; empty without samples.
    pub flow_bytes: Vec<Vec<u64>>,
}

/// What a class did in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Packets forwarded.
    pub packets: u64,
    /// Frame bytes forwarded.
    pub bytes: u64,
    /// Packets that the queue dropped; those lost behind it were forwarded.
    pub drops: u64,
    /// CE marks.
    pub marks: u64,
    /// Sum of the queue delays of forwarded packets, ns.
    pub delay_ns: u64,
}

impl Interval {
    /// Mean queue delay, ns.
    pub fn mean_delay_ns(&self) -> Option<f64> {
        ratio(self.delay_ns as f64, self.packets as f64)
    }

    /// Marks over packets forwarded.
    pub fn mark_share(&self) -> Option<f64> {
        ratio(self.marks as f64, self.packets as f64)
    }

    /// Drops over packets forwarded and dropped.
    pub fn drop_share(&self) -> Option<f64> {
        ratio(self.drops as f64, (self.packets + self.drops) as f64)
    }
}

/// Samples of a whole link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSamples {
    /// Length of an interval, ns; the first begins with the warm-up's end.
    pub interval_ns: u64,
    /// Frame bytes forwarded in each interval.
    pub bytes: Vec<u64>,
    /// What the link could have carried in each, bytes.
    pub capacity_bytes: Vec<f64>,
}

/// Of no class.
const NONE: u32 = u32::MAX;

/// Where a flow or source counts.
#[derive(Clone, Copy)]
struct Place {
    class: u32,
    /// Place of the flow among those with samples.
    flow: u32,
}

/// What a link counts by class, while the run lasts.
pub struct ClassRecorder {
    /// By number of the flow or source.
    places: Vec<Place>,
    classes: Vec<ClassOutcome>,
    cuts: Cuts,
    /// Frame bytes of the link by interval.
    bytes: Vec<u64>,
    /// The same of each flow of a class, one after the other.
    flow_bytes: Vec<u64>,
}

/// How the measured time is cut.
struct Cuts {
    warmup_ns: u64,
    interval_ns: u64,
    /// Whole intervals.
    count: usize,
    /// The interval of the last event, and when it begins.
    last: usize,
    last_ns: u64,
}

impl Cuts {
    /// The interval that a time after the warm-up lies in.
    #[inline]
    fn find(&mut self, at_ns: u64) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        if at_ns < self.last_ns || at_ns - self.last_ns >= self.interval_ns {
            self.last = ((at_ns - self.warmup_ns) / self.interval_ns) as usize;
            self.last_ns = self.warmup_ns + self.last as u64 * self.interval_ns;
        }
        (self.last < self.count).then_some(self.last)
    }
}

impl ClassRecorder {
    /// A recorder for a link with its classes, of packets with numbers of flows and sources and
    /// of places for a source's connections: `owners` has the flow or source of each; and
    /// samples every `interval_ns` (0: none) between the two times; `None` if
    /// there is nothing to record.
    pub fn new(
        classes: Vec<ClassPlan>,
        owners: &[u32],
        warmup_ns: u64,
        end_ns: u64,
        interval_ns: u64,
    ) -> Option<ClassRecorder> {
        if classes.is_empty() && interval_ns == 0 {
            return None;
        }
        let measured = end_ns.saturating_sub(warmup_ns);
        let count = measured.checked_div(interval_ns).unwrap_or(0) as usize;
        let nowhere = Place {
            class: NONE,
            flow: NONE,
        };
        let mut places = vec![nowhere; owners.len()];
        let mut flows = 0;
        for (class, plan) in (0..).zip(&classes) {
            for member in &plan.flows {
                places[member.flow as usize] = Place { class, flow: flows };
                flows += 1;
            }
            for source in &plan.sources {
                places[*source as usize].class = class;
            }
        }
        for (number, owner) in owners.iter().enumerate() {
            places[number] = places[*owner as usize];
        }
        let classes = classes.into_iter().map(|class| ClassOutcome {
            class,
            intervals: vec![Interval::default(); count],
            ..ClassOutcome::default()
        });
        Some(ClassRecorder {
            places,
            classes: classes.collect(),
            cuts: Cuts {
                warmup_ns,
                interval_ns,
                count,
                last: 0,
                last_ns: warmup_ns,
            },
            bytes: vec![0; count],
            flow_bytes: vec![0; count * flows as usize],
        })
    }

    /// A packet of a flow or source left the queue after it had waited so long.
    #[inline]
    pub fn forward(&mut self, member: usize, len: u32, delay_ns: u64, at_ns: u64) {
        if at_ns < self.cuts.warmup_ns {
            return;
        }
        let len = u64::from(len);
        let interval = self.cuts.find(at_ns);
        if let Some(interval) = interval {
            self.bytes[interval] += len;
        }
        let place = self.places[member];
        let Some(class) = self.classes.get_mut(place.class as usize) else {
            return;
        };
        class.packets += 1;
        class.bytes += len;
        class.delay.record(delay_ns);
        let Some(interval) = interval else { return };
        let now = &mut class.intervals[interval];
        now.packets += 1;
        now.bytes += len;
        now.delay_ns += delay_ns;
        if place.flow != NONE {
            self.flow_bytes[place.flow as usize * self.cuts.count + interval] += len;
        }
    }

    /// A packet of a flow or source was dropped or marked.
    pub fn count(&mut self, member: usize, cause: Cause, at_ns: u64) {
        if at_ns < self.cuts.warmup_ns {
            return;
        }
        let class = self.places[member].class as usize;
        let Some(class) = self.classes.get_mut(class) else {
            return;
        };
        class.counts.add(cause);
        let Some(interval) = self.cuts.find(at_ns) else {
            return;
        };
        let now = &mut class.intervals[interval];
        if cause.is_drop() {
            now.drops += u64::from(cause != Cause::Loss);
        } else {
            now.marks += u64::from(cause != Cause::SceMark);
        }
    }

    /// What was counted: the classes of this link, and its samples if there
    /// are any, of the intervals that were over at `end_ns`. `capacity` says how
    /// many bytes the link could carry between two times, ns.
    pub fn finish(
        self,
        link: u32,
        end_ns: u64,
        capacity: impl Fn(u64, u64) -> f64,
    ) -> (Vec<ClassOutcome>, Option<LinkSamples>) {
        let Cuts {
            warmup_ns,
            interval_ns,
            count,
            ..
        } = self.cuts;
        let over = end_ns.saturating_sub(warmup_ns).checked_div(interval_ns);
        let over = (over.unwrap_or(0) as usize).min(count);
        let flows = self.flow_bytes.chunks(count.max(1));
        let mut flows = flows.map(|bytes| bytes[..over].to_vec());
        let (mut classes, mut bytes) = (self.classes, self.bytes);
        bytes.truncate(over);
        for class in &mut classes {
            class.link = link;
            class.intervals.truncate(over);
            let members = class.class.flows.len();
            class.flow_bytes = flows.by_ref().take(members).collect();
        }
        let samples = (count > 0).then(|| LinkSamples {
            interval_ns,
            bytes,
            capacity_bytes: (0..over as u64)
                .map(|i| warmup_ns + i * interval_ns)
                .map(|from| capacity(from, from + interval_ns))
                .collect(),
        });
        (classes, samples)
    }
}

impl Outcome {
    /// Takes what the links' recorders have: classes in the order of the scenario.
    pub fn set_classes(&mut self, mut classes: Vec<ClassOutcome>) {
        classes.sort_by_key(|class| class.class.number);
        self.classes = classes;
    }

    /// The samples of a class, if any were taken and packets were watched.
    pub fn samples_of(&self, class: &ClassOutcome) -> Option<ClassSamples<'_>> {
        let link = self.links.get(class.link as usize)?;
        let samples = link.samples.as_ref().filter(|_| !self.unwatched)?;
        Some(ClassSamples {
            outcome: self,
            link: samples,
        })
    }

    /// Appends the samples of classes and their flows to the series, each at
    /// the end of its interval.
    pub fn record_samples(&mut self) {
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
            for place in 0..class.class.flows.len() {
                let flow = class.class.flows[place].flow as usize;
                let Some(name) = self.flows.get(flow).map(|f| f.name.as_str()) else {
                    continue;
                };
                let id = series.id(Some(name), None, "rate_mbit");
                for (i, rate) in samples.rates(class, place) {
                    series.push(id, samples.end_ns(i), rate * 8.0 / 1e6);
                }
            }
        }
        self.series = series;
    }
}

impl LinkSamples {
    /// Part of what the link could carry in an interval; `None` if that was nothing.
    pub fn utilisation(&self, interval: usize, bytes: u64) -> Option<f64> {
        ratio(bytes as f64, *self.capacity_bytes.get(interval)?)
    }
}

/// The samples of a class.
#[derive(Clone, Copy)]
pub struct ClassSamples<'a> {
    outcome: &'a Outcome,
    /// Those of its link.
    pub link: &'a LinkSamples,
}

impl ClassSamples<'_> {
    /// When an interval ends, ns.
    fn end_ns(&self, interval: usize) -> u64 {
        self.outcome.warmup_ns + (interval as u64 + 1) * self.link.interval_ns
    }

    /// Intervals and rates, byte/s, of a class's flow by its place: those
    /// intervals that lie in the flow's measured time.
    fn rates(&self, class: &ClassOutcome, place: usize) -> impl Iterator<Item = (usize, f64)> {
        let flow = class.class.flows[place].flow as usize;
        let (from, to) = self
            .outcome
            .flows
            .get(flow)
            .map_or((0, 0), |flow| (flow.from_ns, flow.to_ns));
        let (interval_ns, warmup_ns) = (self.link.interval_ns, self.outcome.warmup_ns);
        let bytes = class.flow_bytes.get(place).into_iter().flatten();
        let rates = bytes.enumerate().filter_map(move |(i, &bytes)| {
            let begin = warmup_ns + i as u64 * interval_ns;
            let inside = begin >= from && begin + interval_ns <= to;
            inside.then(|| (i, bytes as f64 * 1e9 / interval_ns as f64))
        });
        rates.collect::<Vec<_>>().into_iter()
    }

    /// Rate of each flow in each interval of its measured time, byte/s, and
    /// the window that follows: rate x (mean queue delay of the class in that
    /// interval + the flow's base RTT), bytes.
    pub fn rates_and_windows(&self, class: &ClassOutcome) -> Vec<(f64, f64)> {
        let mut all = Vec::new();
        for (place, flow) in class.class.flows.iter().enumerate() {
            all.extend(self.rates(class, place).map(|(i, rate)| {
                // Nothing was forwarded: the rate is 0, and so is the window.
                let queue_ns = class.intervals[i].mean_delay_ns().unwrap_or(0.0);
                (rate, rate * (queue_ns + flow.base_rtt_ns as f64) / 1e9)
            }));
        }
        all
    }
}

fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowOutcome, LinkOutcome, Summary};

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    /// Two flows of class L (one starts at 2 s), a flow and a source of class
    /// C, a flow of none, at 1 Mbyte/s; measured from 1 to 4.5 s, samples of 1 s.
    fn recorder(interval_ns: u64) -> ClassRecorder {
        let flow = |flow, rtt_ms| ClassFlow {
            flow,
            base_rtt_ns: rtt_ms * MS,
        };
        let classes = vec![
            ClassPlan {
                name: "L".to_owned(),
                number: 1,
                flows: vec![flow(0, 10), flow(2, 20)],
                sources: Vec::new(),
            },
            ClassPlan {
                name: "C".to_owned(),
                number: 0,
                flows: vec![flow(1, 40)],
                sources: vec![4],
            },
        ];
        ClassRecorder::new(classes, &[0, 1, 2, 3, 4], S, 4 * S + S / 2, interval_ns)
            .expect("classes")
    }

    fn outcome(recorder: ClassRecorder) -> Outcome {
        let flow = |name: &str, from_ns| FlowOutcome {
            name: name.to_owned(),
            from_ns,
            to_ns: 4 * S + S / 2,
            ..FlowOutcome::default()
        };
        let mut outcome = Outcome {
            duration_ns: 4 * S + S / 2,
            warmup_ns: S,
            flows: vec![
                flow("l", S),
                flow("c", S),
                flow("late", 2 * S),
                flow("none", S),
            ],
            ..Outcome::default()
        };
        let capacity = |from: u64, to: u64| (to - from) as f64 / 1e3;
        let (classes, samples) = recorder.finish(0, outcome.duration_ns, capacity);
        outcome.links.push(LinkOutcome {
            name: "bottleneck".to_owned(),
            samples,
            ..LinkOutcome::default()
        });
        outcome.set_classes(classes);
        outcome
    }

    #[test]
    fn definitions() {
        let mut recorder = recorder(S);
        // Before the warm-up: nothing. In any order afterwards.
        recorder.forward(0, 9999, 1, S - 1);
        recorder.count(0, Cause::Mark, S - 1);
        recorder.forward(0, 100_000, 3 * MS, 3 * S + 5);
        recorder.forward(0, 100_000, MS, S);
        recorder.forward(0, 300_000, 3 * MS, 2 * S - 1);
        recorder.forward(2, 50_000, 2 * MS, 3 * S + 9);
        recorder.forward(1, 400_000, 20 * MS, S + 7);
        recorder.forward(4, 80_000, 30 * MS, S + 8);
        recorder.forward(3, 20_000, 50 * MS, S + 9);
        // In the last half second: of the whole, of no sample.
        recorder.forward(0, 1_000, 9 * MS, 4 * S + 1);
        recorder.count(0, Cause::StepMark, S + 1);
        recorder.count(0, Cause::SceMark, S + 1);
        recorder.count(2, Cause::Mark, 3 * S + 1);
        recorder.count(2, Cause::Overflow, 3 * S + 1);
        recorder.count(2, Cause::Loss, 3 * S + 1);
        recorder.count(4, Cause::Aqm, 2 * S + 1);
        recorder.count(3, Cause::Aqm, 2 * S + 1);
        let mut outcome = outcome(recorder);
        let summary = Summary::new(&outcome, "", 1);

        // In the order of the scenario.
        let [c, l] = &summary.classes[..] else {
            panic!("two classes")
        };
        assert_eq!((c.name.as_str(), l.name.as_str()), ("C", "L"));
        assert_eq!((l.flows, l.sources, c.flows, c.sources), (2, 0, 1, 1));
        assert_eq!((l.packets, l.bytes), (Some(5), Some(551_000)));
        assert_eq!((l.drops, l.marks, l.sce_marks), (Some(2), Some(2), Some(1)));
        assert_eq!((c.packets, c.drops, c.marks), (Some(2), Some(1), Some(0)));
        // Per packet: 1, 2, 3, 3 and 9 ms.
        assert!((l.delay_ms.mean.expect("packets") - 3.6).abs() < 1e-12);
        let near = |got: Option<f64>, ms: f64| (got.expect("packets") / ms - 1.0).abs() < 1e-3;
        assert!(near(l.delay_ms.p25, 2.0) && near(l.delay_ms.p50, 3.0));
        assert!(near(l.delay_ms.p1, 1.0) && near(l.delay_ms.p75, 3.0));
        assert!(near(l.delay_ms.p99, 9.0) && l.delay_ms.max == Some(9.0));
        // Squares 6.76 + 2.56 + 0.36 + 0.36 + 29.16 over 4.
        assert!(near(l.delay_ms.stddev, 9.8_f64.sqrt()));

        let samples = l.samples.as_ref().expect("samples");
        // l: 400 kB, 0 and 100 kB; late, from 2 s on: 0 and 50 kB.
        let rate = samples.rate_mbit;
        assert_eq!((rate.n, rate.max), (5, Some(3.2)));
        assert!((rate.mean.expect("five") - (3.2 + 0.8 + 0.4) / 5.0).abs() < 1e-12);
        assert_eq!(
            [rate.p1, rate.p25, rate.p50, rate.p75, rate.p99],
            [0.0, 0.0, 0.4, 0.8, 3.2].map(Some)
        );
        // 400 kB/s x (2 + 10) ms, 0, 100 kB/s x (2.5 + 10) ms, 0, 50 kB/s x (2.5 + 20) ms
        let window = samples.window_bytes;
        assert_eq!((window.n, window.max), (5, Some(4_800.0)));
        assert_eq!([window.p50, window.p75], [Some(1_125.0), Some(1_250.0)]);
        assert_eq!(window.mean, Some((4_800.0 + 1_250.0 + 1_125.0) / 5.0));
        // Of 1 MB each.
        let used = samples.utilisation;
        assert_eq!([used.p1, used.p50, used.p99], [0.0, 0.15, 0.4].map(Some));
        // One mark for two packets twice, and an interval without packets.
        let (marks, drops) = (samples.mark_share, samples.drop_share);
        assert_eq!((marks.n, marks.mean), (2, Some(0.5)));
        // 0 of 2, and 1 of 2 + 1: what was lost behind the queue was forwarded.
        assert_eq!((drops.n, drops.p1), (2, Some(0.0)));
        assert_eq!(drops.max, Some(1.0 / 3.0));
        assert_eq!(samples.delay_ms.p1, Some(2.0));
        assert_eq!(samples.delay_ms.max, Some(2.5));

        let samples = c.samples.as_ref().expect("samples");
        // The source's bytes are in the utilisation, not among the rates.
        assert_eq!(samples.utilisation.max, Some(0.48));
        assert_eq!(samples.rate_mbit.max, Some(3.2));
        // Its delay is in the class's mean: 25 ms and 40 ms at 400 kB/s.
        assert_eq!(samples.window_bytes.max, Some(26_000.0));
        // A drop in an interval without packets.
        assert_eq!(samples.drop_share.max, Some(1.0));
        let whole = summary.queues[0].samples.as_ref().expect("samples");
        assert_eq!((whole.utilisation.n, whole.utilisation.max), (3, Some(0.9)));

        outcome.record_samples();
        let rows: Vec<(String, u64, f64)> = (0..outcome.series.len())
            .map(|row| {
                let key = &outcome.series.keys[outcome.series.key[row] as usize];
                let of = key.flow.as_ref().or(key.link.as_ref()).expect("either");
                let (at, value) = (outcome.series.time_ns[row], outcome.series.value[row]);
                (format!("{of} {}", key.quantity), at / S, value)
            })
            .collect();
        let of = |name: &str| -> Vec<(u64, f64)> {
            let rows = rows.iter().filter(|(n, _, _)| n == name);
            rows.map(|(_, at, value)| (*at, *value)).collect()
        };
        assert_eq!(
            of("bottleneck class.L.utilisation"),
            [(2, 0.4), (3, 0.0), (4, 0.15)]
        );
        assert_eq!(of("bottleneck class.L.delay_ms"), [(2, 2.0), (4, 2.5)]);
        assert_eq!(of("bottleneck class.C.drop_share"), [(2, 0.0), (3, 1.0)]);
        assert_eq!(of("late rate_mbit"), [(3, 0.0), (4, 0.4)]);
        assert!(of("none rate_mbit").is_empty());
    }

    #[test]
    fn without_samples_there_are_totals_only() {
        let mut recorder = recorder(0);
        recorder.forward(0, 1_000, MS, S);
        recorder.forward(3, 1_000, MS, S);
        let mut outcome = outcome(recorder);
        outcome.record_samples();
        assert!(outcome.series.keys.is_empty());
        let summary = Summary::new(&outcome, "", 1);
        assert_eq!(summary.classes[1].packets, Some(1));
        assert_eq!(summary.classes[1].samples, None);
        assert_eq!(summary.queues[0].samples, None);
        assert!(ClassRecorder::new(Vec::new(), &[0, 1, 2], S, 2 * S, 0).is_none());
    }

    #[test]
    fn of_packets_nobody_watched_nothing_is_known() {
        let mut outcome = outcome(recorder(S));
        outcome.unwatched = true;
        let json = serde_json::to_value(Summary::new(&outcome, "", 1)).expect("plain data");
        for name in ["packets", "bytes", "drops", "marks", "causes", "samples"] {
            assert!(json["classes"][0][name].is_null(), "{name}");
        }
        assert!(json["queue"]["samples"].is_null());
        outcome.record_samples();
        assert!(outcome.series.is_empty());
    }

    #[test]
    fn a_run_that_ended_early_has_the_intervals_it_had() {
        let recorder = recorder(S);
        let (classes, samples) = recorder.finish(0, 3 * S + 5, |_, _| 1.0);
        assert_eq!(samples.expect("samples").bytes.len(), 2);
        assert_eq!(classes[0].intervals.len(), 2);
        assert_eq!(classes[0].flow_bytes, [[0, 0], [0, 0]]);
    }
}
