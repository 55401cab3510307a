//! Counts arrivals, departures, drops and marks at a link, with the same definitions for every
//! engine.
//!
//! A [`Meter`] receives three values for each packet: the number that the packet carries, the frame
//! length and the time. The simulator reports events as they happen. The kernel engine derives
//! events from captures, and finds a drop some time after it happened. The results must therefore
//! not depend on the order of the calls. For example, a meter computes the integral of the backlog
//! as a sum over packets. Each packet adds its length times its time in the queue.
//!
//! A packet's number identifies its flow, or the connection of a traffic source. Counters belong to
//! the number's owner, which is the flow or the source.

use std::sync::Arc;

use crate::account::{Held, Minima, QueueAccount, Timeline};
use crate::class::ClassRecorder;
use crate::paged::Paged;
use crate::series::SeriesKey;
use crate::{Cause, ClassPlan, Counts, Histogram, LinkOutcome, Outcome, Series};

/// Returns the owner of each packet number: a flow, a source or a program. The flows have the first
/// numbers, followed by the sources, the programs, and the connections of sources. `connections` is
/// the number of connections of each source, or 0.
pub fn owners(
    flows: usize,
    connections: impl IntoIterator<Item = u32>,
    programs: usize,
) -> Arc<[u32]> {
    let mut owners: Vec<u32> = (0..flows as u32).collect();
    let mut slots = Vec::new();
    for (source, limit) in (flows as u32..).zip(connections) {
        owners.push(source);
        slots.extend((0..limit).map(|_| source));
    }
    let next = owners.len() as u32;
    owners.extend(next..next + programs as u32);
    owners.extend(slots);
    owners.into()
}

/// The counters of one link since the warm-up.
pub struct Meter {
    /// Frame bytes forwarded.
    pub bytes: u64,
    /// Time from arrival to departure of each forwarded packet, in ns. The histogram's count is the
    /// number of forwarded packets.
    pub delay: Histogram,
    /// Drops and marks by cause.
    pub counts: Counts,
    warmup_ns: u64,
    backlog: u64,
    backlog_max: u64,
    /// The difference of two sums of products, in byte x ns. The first sum is over all departed
    /// packets: length of the packet x time of its departure. The second sum is over all arrived
    /// packets: length x time of arrival. At a time when the queue is empty, the difference equals
    /// the integral of the queue's backlog over time.
    held: i128,
    /// The owner (flow or source) of each packet number.
    owners: Arc<[u32]>,
    by_owner: ByOwner,
    /// Sum of packet length times time in the queue, for each packet number.
    held_by: Held,
    /// The minimum queue delay in each time window.
    minima: Minima,
    timeline: Timeline,
    /// Events, stored as series. The number of a series is computed from the owner and the cause. A
    /// series gets its key at the end of the run.
    events: Option<Series>,
    details: Option<Box<Details>>,
}

/// Additional measurements, which only some runs need.
#[derive(Default)]
struct Details {
    classes: Option<ClassRecorder>,
    programs: ProgramDelays,
}

/// The queue delays of the packets of each program.
#[derive(Default)]
struct ProgramDelays {
    /// Number of the first program among the owners.
    first: usize,
    /// Queue delays of each program, in ns. `None` if packets of the program's receiver, or no
    /// packets of its sender, pass this link.
    delays: Vec<Option<Histogram>>,
}

impl ProgramDelays {
    #[inline]
    fn forward(&mut self, owner: usize, delay_ns: u64) {
        let place = owner.checked_sub(self.first);
        let delay = place.and_then(|place| self.delays.get_mut(place)?.as_mut());
        if let Some(delay) = delay {
            delay.record(delay_ns);
        }
    }
}

/// Counters by owner. At most links, most owners have no drops or marks, so a row is created at an
/// owner's first drop or mark.
#[derive(Default)]
struct ByOwner {
    /// For each owner, the index of its row in `rows` plus 1, or 0 if the owner has no row.
    row: Paged<u32>,
    rows: Vec<Counts>,
}

impl ByOwner {
    #[inline]
    fn of(&mut self, owner: u32) -> &mut Counts {
        let row = self.row.at(owner);
        if *row == 0 {
            self.rows.push(Counts::default());
            *row = self.rows.len() as u32;
        }
        &mut self.rows[*row as usize - 1]
    }

    fn get(&self, owner: usize) -> Option<&Counts> {
        self.rows
            .get((self.row.get(owner) as usize).checked_sub(1)?)
    }
}

impl Meter {
    /// Creates a meter that counts events at or after `warmup_ns`. `owners` is the result of the
    /// function [`owners`].
    pub fn new(owners: Arc<[u32]>, warmup_ns: u64) -> Meter {
        Meter {
            bytes: 0,
            delay: Histogram::new(),
            counts: Counts::default(),
            warmup_ns,
            backlog: 0,
            backlog_max: 0,
            held: 0,
            owners,
            by_owner: ByOwner::default(),
            held_by: Held::default(),
            minima: Minima::new(warmup_ns),
            timeline: Timeline::default(),
            events: None,
            details: None,
        }
    }

    /// Records every drop and mark, including drops and marks during the warm-up, as a row of the
    /// series `drop.<cause>` or `mark.<cause>`. The row's value is the backlog, in bytes.
    pub fn record_events(&mut self) {
        self.events = Some(Series::default());
    }

    /// Makes the meter also count by class, and take a sample every `interval_ns` up to `end_ns`.
    /// If the interval is 0, the meter takes no samples.
    pub fn record_classes(&mut self, classes: Vec<ClassPlan>, end_ns: u64, interval_ns: u64) {
        let recorder = ClassRecorder::new(classes, self.warmup_ns, end_ns, interval_ns);
        if recorder.is_some() {
            self.details.get_or_insert_default().classes = recorder;
        }
    }

    /// Makes the meter also record queue delays of programs. `first` is the number of the first
    /// program among the owners. `measured` is true for each program of which only the sender's
    /// packets pass this link.
    pub fn record_programs(&mut self, first: usize, measured: Vec<bool>) {
        let delays = measured.iter().map(|on| on.then(Histogram::new));
        let delays: Vec<_> = delays.collect();
        if !delays.is_empty() {
            self.details.get_or_insert_default().programs = ProgramDelays { first, delays };
        }
    }

    /// Counts a packet that arrives at the queue.
    #[inline]
    pub fn arrive(&mut self, len: u32, at_ns: u64) {
        self.backlog += u64::from(len);
        self.held -= self.byte_ns(len, at_ns);
    }

    /// Counts a packet that leaves the queue to be sent over the link.
    #[inline(always)] // inline, because a single place calls it, for every packet
    pub fn forward(&mut self, number: u32, len: u32, arrived_ns: u64, at_ns: u64) {
        self.leave(len, at_ns);
        let delay_ns = at_ns.saturating_sub(arrived_ns);
        if let Some(details) = &mut self.details {
            let owner = self.owners[number as usize] as usize;
            if let Some(classes) = &mut details.classes {
                classes.forward(owner, len, delay_ns, at_ns);
            }
            if at_ns >= self.warmup_ns {
                details.programs.forward(owner, delay_ns);
            }
        }
        if at_ns >= self.warmup_ns {
            self.bytes += u64::from(len);
            self.minima.forward(delay_ns, at_ns, self.delay.count());
            self.delay.record(delay_ns);
            self.held_by.add(number, len, delay_ns);
        }
    }

    /// Prefetches the counters for a packet number, before a packet with this number is forwarded.
    #[inline]
    pub fn fetch(&self, number: u32) {
        self.held_by.fetch(number);
    }

    /// Counts the drop of a packet that is in the queue.
    #[inline]
    pub fn drop(&mut self, number: u32, len: u32, cause: Cause, at_ns: u64) {
        self.leave(len, at_ns);
        self.count(number, cause, at_ns);
    }

    /// Counts a mark, or the loss of a packet after the queue. Neither event changes the backlog.
    pub fn count(&mut self, number: u32, cause: Cause, at_ns: u64) {
        let owner = self.owners[number as usize];
        if at_ns >= self.warmup_ns {
            self.counts.add(cause);
            self.by_owner.of(owner).add(cause);
        }
        self.timeline.add(cause, at_ns);
        if let Some(events) = &mut self.events {
            let id = Series::numbered(owner * Cause::COUNT as u32 + cause as u32);
            events.push(id, at_ns, self.backlog as f64);
        }
        let details = self.details.as_mut();
        if let Some(classes) = details.and_then(|details| details.classes.as_mut()) {
            classes.count(owner as usize, cause, at_ns);
        }
    }

    #[inline]
    fn leave(&mut self, len: u32, at_ns: u64) {
        self.backlog -= u64::from(len);
        self.held += self.byte_ns(len, at_ns);
    }

    #[inline]
    fn byte_ns(&self, len: u32, at_ns: u64) -> i128 {
        i128::from(len) * i128::from(at_ns.max(self.warmup_ns))
    }

    /// Adds a packet in transmission to the integral of the backlog, but not to the backlog itself.
    pub fn hold(&mut self, len: u32, from_ns: u64, to_ns: u64) {
        self.held += self.byte_ns(len, to_ns) - self.byte_ns(len, from_ns);
    }

    /// Updates the maximum of the backlog.
    #[inline]
    pub fn note_backlog(&mut self, bytes: u64) {
        self.backlog_max = self.backlog_max.max(bytes);
    }

    /// Returns the current backlog, in bytes.
    #[inline]
    pub fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Returns the numbers of drops and marks of a flow or source.
    pub fn counts_of(&self, owner: usize) -> Counts {
        self.by_owner.get(owner).copied().unwrap_or_default()
    }
}

/// The data about a link at the end of a run: its names, its meter and its capacity.
pub struct Measured<F> {
    /// Name of the link.
    pub name: String,
    /// Name of the queue discipline.
    pub aqm: String,
    /// The counters of the link.
    pub meter: Meter,
    /// A function that returns the number of bytes that the link could carry between two times
    /// (both in ns).
    pub capacity: F,
}

impl Outcome {
    /// Adds the counters of the links, in file order, to the outcomes of the flows, sources and
    /// classes. If `series` is true, samples and requests also become rows of the series.
    pub fn complete<F: Fn(u64, u64) -> f64>(
        &mut self,
        links: impl IntoIterator<Item = Measured<F>>,
        series: bool,
    ) {
        self.data_packets += self.flows.iter().map(|flow| flow.packets).sum::<u64>();
        for flow in self.flows.iter().filter(|_| series) {
            if let Some(chunks) = &flow.chunks {
                chunks.rows(&flow.name, &mut self.series);
            }
        }
        for source in &self.traffic {
            if let Some(completions) = &source.completions {
                self.data_packets += source.sent_packets;
                if series {
                    completions.rows(&source.name, &mut self.series);
                }
            }
        }
        for link in links {
            self.add_link(link);
        }
        // List classes in the order of the scenario.
        self.classes.sort_by_key(|class| class.class.number);
        if series {
            self.record_samples();
        }
    }

    fn add_link<F: Fn(u64, u64) -> f64>(&mut self, link: Measured<F>) {
        let (index, end_ns, mut meter) = (self.links.len() as u32, self.duration_ns, link.meter);
        meter.minima.pass(end_ns, meter.delay.count());
        let sources = self.traffic.iter_mut().map(|source| &mut source.counts);
        let parts = self.flows.iter_mut().map(|flow| &mut flow.counts);
        let programs = self.programs.iter_mut();
        let programs = programs.map(|program| &mut program.measures.counts);
        for (owner, counts) in parts.chain(sources).chain(programs).enumerate() {
            if let Some(here) = meter.by_owner.get(owner) {
                counts.merge(here);
            }
        }
        if let Some(mut events) = meter.events {
            events.name(|number| SeriesKey {
                flow: self.name_of(number as usize / Cause::COUNT).map(Into::into),
                link: Some(link.name.as_str().into()),
                quantity: Cause::ALL[number as usize % Cause::COUNT].event().into(),
            });
            self.series.append(events);
        }
        let mut samples = None;
        let details = meter.details.map(|details| *details).unwrap_or_default();
        if let Some(classes) = details.classes {
            let (here, taken) = classes.finish(index, end_ns, &link.capacity);
            self.classes.extend(here);
            samples = taken;
        }
        for (program, delay) in self.programs.iter_mut().zip(details.programs.delays) {
            if let Some(delay) = &delay {
                program.measures.delay.merge(delay);
            }
        }
        let held = meter.held_by.by_owner(&meter.owners);
        let held = held
            .into_iter()
            .filter_map(|(owner, held)| Some((self.name_of(owner)?, held)));
        let account = QueueAccount {
            held: held.collect(),
            minima: meter.minima,
            events: meter.timeline,
        };
        // Include packets that are still in the queue. The packets in the queue have waited since
        // their arrival.
        let waited = i128::from(meter.backlog) * i128::from(end_ns.max(meter.warmup_ns));
        self.links.push(LinkOutcome {
            name: link.name,
            aqm: link.aqm,
            packets: meter.delay.count(),
            delay: meter.delay,
            bytes: meter.bytes,
            capacity_bytes: (link.capacity)(meter.warmup_ns, end_ns),
            counts: meter.counts,
            backlog_byte_ns: (meter.held + waited).max(0) as u128,
            backlog_max_bytes: meter.backlog_max,
            totals: None,
            samples,
            account,
        });
    }

    /// Returns the name of the flow, source or program with the given owner number.
    pub(crate) fn name_of(&self, owner: usize) -> Option<String> {
        let flow = self.flows.get(owner).map(|flow| &flow.name);
        let source = || self.traffic.get(owner.checked_sub(self.flows.len())?);
        let before = self.flows.len() + self.traffic.len();
        let program = || self.programs.get(owner.checked_sub(before)?);
        flow.or_else(|| Some(&source()?.name))
            .or_else(|| Some(&program()?.name))
            .cloned()
    }

    /// Returns the start and the end of the measured time of the flow or program with the given
    /// owner number, in ns.
    pub(crate) fn measured_time_of(&self, owner: usize) -> (u64, u64) {
        let flow = self.flows.get(owner).map(|flow| (flow.from_ns, flow.to_ns));
        let before = self.flows.len() + self.traffic.len();
        let program = || {
            let program = self.programs.get(owner.checked_sub(before)?)?;
            Some((program.measures.from_ns, program.measures.to_ns))
        };
        flow.or_else(program).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowOutcome, TrafficOutcome};

    /// Returns a meter with a flow, a source and one connection of the source. The warm-up ends at
    /// 100 ns.
    fn meter() -> Meter {
        Meter::new(owners(1, [1], 0), 100)
    }

    fn outcome(meter: Meter) -> Outcome {
        let mut outcome = Outcome {
            duration_ns: 1000,
            warmup_ns: 100,
            flows: vec![FlowOutcome {
                name: "flow".to_owned(),
                ..FlowOutcome::default()
            }],
            traffic: vec![TrafficOutcome {
                name: "source".to_owned(),
                ..TrafficOutcome::default()
            }],
            ..Outcome::default()
        };
        let link = Measured {
            name: "link".to_owned(),
            aqm: "fifo".to_owned(),
            meter,
            capacity: |from, to| (to - from) as f64,
        };
        outcome.complete([link], true);
        outcome
    }

    #[test]
    fn the_backlog_is_integrated_whatever_the_order_of_the_calls() {
        // One packet leaves, one packet is dropped from the head of the queue, and one packet
        // stays.
        let mut in_time = meter();
        in_time.arrive(1000, 50);
        in_time.arrive(500, 150);
        in_time.forward(0, 1000, 50, 200);
        in_time.arrive(200, 300);
        in_time.drop(0, 500, Cause::Aqm, 400);
        let mut late = meter();
        late.arrive(1000, 50);
        late.arrive(500, 150);
        late.arrive(200, 300);
        late.drop(0, 500, Cause::Aqm, 400);
        late.forward(0, 1000, 50, 200);
        for meter in [in_time, late] {
            assert_eq!(meter.backlog(), 200);
            let link = &outcome(meter).links[0];
            let expected = 1000 * (200 - 100) + 500 * (400 - 150) + 200 * (1000 - 300);
            assert_eq!(link.backlog_byte_ns, expected);
            assert_eq!((link.packets, link.bytes, link.delay.sum()), (1, 1000, 150));
            assert_eq!(link.capacity_bytes, 900.0);
        }
    }

    #[test]
    fn a_connection_counts_for_its_source_and_the_warm_up_for_nobody() {
        let mut meter = meter();
        meter.record_events();
        meter.count(2, Cause::Mark, 99);
        for (number, cause) in [(2, Cause::Mark), (1, Cause::Loss), (0, Cause::SceMark)] {
            meter.count(number, cause, 100);
        }
        meter.count(2, Cause::Mark, 101);
        assert_eq!(meter.counts_of(1).marks(), 2);
        let outcome = outcome(meter);
        assert_eq!(outcome.flows[0].counts.sce_marks(), 1);
        let source = &outcome.traffic[0].counts;
        assert_eq!((source.marks(), source.drops()), (2, 1));
        assert_eq!(outcome.links[0].counts.marks(), 2);
        // The meter records events of the whole run, in the order of flows and causes.
        let series = &outcome.series;
        let names = |key: &SeriesKey| format!("{} {}", key.flow.as_deref().unwrap(), key.quantity);
        let keys: Vec<_> = series.keys.iter().map(names).collect();
        let expected = ["flow mark.sce_mark", "source drop.loss", "source mark.mark"];
        assert_eq!(keys, expected);
        let rows: Vec<_> = series.rows().map(|row| (row.key, row.time_ns)).collect();
        assert_eq!(rows, [(2, 99), (2, 100), (1, 100), (0, 100), (2, 101)]);
    }

    #[test]
    fn a_flow_without_drop_or_mark_costs_no_row() {
        let mut meter = Meter::new((0..1000).collect(), 0);
        meter.count(700, Cause::Aqm, 0);
        assert_eq!(meter.by_owner.rows.len(), 1);
        assert_eq!(meter.counts_of(700).drops(), 1);
        assert_eq!(meter.counts_of(701), Counts::default());
    }

    /// Tests the counters of a flow in a class, a flow without a class, a source with requests, and
    /// a program.
    #[test]
    fn everybody_is_counted_by_name_and_class() {
        let mut meter = Meter::new(owners(2, [1], 1), 100);
        let flow = |flow| crate::ClassFlow {
            flow,
            base_rtt_ns: 10,
        };
        let class = |name: &str, number, members: &[u32]| ClassPlan {
            name: name.to_owned(),
            number,
            flows: members.iter().map(|member| flow(*member)).collect(),
            sources: Vec::new(),
        };
        meter.record_classes(
            vec![class("late", 1, &[3]), class("early", 0, &[0])],
            1000,
            0,
        );
        meter.record_events();
        for number in 0..5 {
            meter.arrive(100, 200);
            meter.fetch(number);
        }
        for number in 0..3 {
            meter.forward(number, 100, 200, 300);
        }
        meter.drop(3, 100, Cause::Aqm, 400);
        let mut outcome = Outcome {
            duration_ns: 1000,
            warmup_ns: 100,
            flows: ["one", "two"]
                .map(|name| FlowOutcome {
                    name: name.to_owned(),
                    packets: 3,
                    ..FlowOutcome::default()
                })
                .into(),
            traffic: vec![TrafficOutcome {
                name: "source".to_owned(),
                sent_packets: 7,
                completions: Some(crate::Completions {
                    done: vec![crate::Completion {
                        at_ns: 500,
                        bytes: 10,
                        took_ns: 20,
                    }],
                    ..crate::Completions::default()
                }),
                ..TrafficOutcome::default()
            }],
            programs: vec![crate::ProgramOutcome {
                name: "program".to_owned(),
                ..crate::ProgramOutcome::default()
            }],
            ..Outcome::default()
        };
        let link = |meter| Measured {
            name: "link".to_owned(),
            aqm: "fifo".to_owned(),
            meter,
            capacity: |from, to| (to - from) as f64,
        };
        outcome.complete([link(meter)], true);
        assert_eq!(outcome.data_packets, 3 + 3 + 7, "connections are TCP");
        assert_eq!(outcome.programs[0].measures.counts.drops(), 1);
        assert_eq!(outcome.flows[0].counts.drops(), 0);
        let classes: Vec<_> = (outcome.classes.iter())
            .map(|class| {
                (
                    class.class.name.as_str(),
                    class.packets,
                    class.counts.drops(),
                )
            })
            .collect();
        assert_eq!(classes, [("early", 1, 0), ("late", 0, 1)]);
        let held = &outcome.links[0].account.held;
        let rows = outcome.series.keys.iter().map(|key| {
            let flow = key.flow.as_deref().unwrap_or_default();
            (flow.to_owned(), key.quantity.to_string())
        });
        let rows: Vec<(String, String)> = rows.collect();
        assert!(
            rows.contains(&("program".to_owned(), Cause::Aqm.event())),
            "{rows:?}"
        );
        assert!(rows.iter().any(|(flow, _)| flow == "source"), "{rows:?}");
        assert!(
            held.is_empty(),
            "100 ns are less than the kept delay: {held:?}"
        );

        // If the run records no series, requests are not recorded as rows.
        outcome.series = Series::default();
        outcome.complete([link(Meter::new(owners(2, [1], 1), 100))], false);
        assert!(outcome.series.is_empty());
    }

    #[test]
    fn what_leaves_before_the_warm_up_is_over_is_not_counted() {
        let mut meter = meter();
        for at_ns in [99, 100] {
            meter.arrive(10, 50);
            meter.forward(0, 10, 50, at_ns);
        }
        let link = &outcome(meter).links[0];
        assert_eq!((link.packets, link.bytes, link.delay.sum()), (1, 10, 50));
    }
}
