//! A queue as seen from its two sides: what went in and what came out.
//!
//! The guest's own work takes no virtual time, so the time between the two
//! captures of a packet is its sojourn time, exactly. Within a flow and a
//! direction every queue keeps the order, and a single queue does so for all
//! of them: a packet that a later one overtakes was dropped. What does not show
//! is the mark on a packet that the full buffer then drops (RED marks first).

use std::collections::VecDeque;

use tailback_engine::aqm;
use tailback_record::{
    Cause, ClassOutcome, ClassRecorder, Counts, FlowCounts, LinkOutcome, Series, SeriesId,
};

use super::frame::{CE, ECT0, ECT1};
use tailback_guest::job::{DropsAt, Limit, Link};

/// A packet on one side of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When, ns from the start of the run.
    pub time_ns: u64,
    /// Flow and direction: twice the flow's number, one more for its ACKs.
    pub lane: usize,
    /// What tells it from the others of its lane.
    pub key: u64,
    /// Frame length, bytes.
    pub len: u32,
    /// The ECN field.
    pub ecn: u8,
}

/// A packet that went in and was not seen again so far.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    /// What had come out when it went in.
    bytes_out: u64,
    packets_out: u64,
}

/// A packet that the queue is known to have dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its lane, of which it was the oldest.
    pub lane: usize,
    /// When it was dropped, ns.
    pub at_ns: u64,
    /// Why.
    pub cause: Cause,
}

/// Drops and marks as events of the series: one id for each cause and flow.
pub struct Events {
    ids: Vec<Option<SeriesId>>,
    names: Vec<String>,
    /// The flow or source of each number in packets.
    owners: Vec<u32>,
}

impl Events {
    /// For flows and sources of these names.
    pub fn new(names: Vec<String>, owners: Vec<u32>) -> Events {
        Events {
            ids: vec![None; names.len() * Cause::COUNT],
            names,
            owners,
        }
    }

    /// As the simulator: the value is the backlog, bytes.
    fn push(
        &mut self,
        series: &mut Series,
        link: &str,
        flow: usize,
        cause: Cause,
        at_ns: u64,
        backlog: u64,
    ) {
        let flow = self.owners[flow] as usize;
        let id = *self.ids[flow * Cause::COUNT + cause as usize].get_or_insert_with(|| {
            let kind = if cause.is_drop() { "drop" } else { "mark" };
            let quantity = format!("{kind}.{}", cause.name());
            series.id(Some(&self.names[flow]), Some(link), &quantity)
        });
        series.push(id, at_ns, backlog as f64);
    }
}

/// The state of one link.
pub struct Queue {
    /// What was measured.
    pub outcome: LinkOutcome,
    /// Of each flow and source.
    pub flows: Vec<FlowCounts>,
    /// Packets that came out and were not seen going in.
    pub strangers: u64,
    /// Drops found over the whole run, warm-up included.
    pub dropped: u64,
    /// Drops that have not been asked for yet, if anybody does.
    pub lost: Option<Vec<Lost>>,
    warmup_ns: u64,
    end_ns: u64,
    limit: Limit,
    drops_at: DropsAt,
    /// It drops for no other reason than a full buffer.
    tail_drop: bool,
    /// All packets keep their order: they wait in the first of `lanes`.
    in_order: bool,
    lanes: Vec<VecDeque<Waiting>>,
    /// Marks seen over the whole run, warm-up included.
    marked: u64,
    /// The buffer has been full.
    overflowed: bool,
    /// Bytes that went in, less those dropped on arrival as far as known.
    bytes_in: u64,
    /// Bytes and packets that came out, those the algorithm dropped at the head included.
    bytes_out: u64,
    packets_out: u64,
    /// When the packet that came out last went in.
    newest_out_ns: u64,
    events: Option<Events>,
    /// Counts by class, if there is anything to count.
    classes: Option<ClassRecorder>,
}

impl Queue {
    /// An empty queue; `owners` has the flow or source of each number in packets.
    pub fn new(
        link: &Link,
        owners: &[u32],
        warmup_ns: u64,
        end_ns: u64,
        statistics_ns: u64,
        events: Option<Events>,
    ) -> Queue {
        Queue {
            outcome: LinkOutcome {
                name: link.name.clone(),
                aqm: link.aqm.clone(),
                capacity_bytes: capacity_bytes(&link.rates, warmup_ns, end_ns),
                ..LinkOutcome::default()
            },
            flows: vec![FlowCounts::default(); owners.len()],
            strangers: 0,
            dropped: 0,
            lost: None,
            warmup_ns,
            end_ns,
            limit: link.limit,
            drops_at: link.drops_at,
            tail_drop: aqm::face(&link.kind).is_some_and(|face| face.tail_drop),
            in_order: link.in_order,
            lanes: vec![VecDeque::new(); if link.in_order { 1 } else { 2 * owners.len() }],
            marked: 0,
            overflowed: false,
            bytes_in: 0,
            bytes_out: 0,
            packets_out: 0,
            newest_out_ns: 0,
            events,
            classes: ClassRecorder::new(
                link.classes.clone(),
                owners,
                warmup_ns,
                end_ns,
                statistics_ns,
            ),
        }
    }

    /// A packet went in.
    pub fn enter(&mut self, packet: Packet) {
        if packet.time_ns >= self.warmup_ns {
            self.flows[packet.lane / 2].arrived += 1;
        }
        self.bytes_in += u64::from(packet.len);
        let slot = self.slot(packet.lane);
        self.lanes[slot].push_back(Waiting {
            packet,
            bytes_out: self.bytes_out,
            packets_out: self.packets_out,
        });
    }

    /// Which of `lanes` holds the packets of a lane.
    fn slot(&self, lane: usize) -> usize {
        if self.in_order { 0 } else { lane }
    }

    /// A packet came out; whether it was seen going in.
    pub fn leave(&mut self, packet: Packet, series: &mut Series) -> bool {
        let slot = self.slot(packet.lane);
        let is_it = |w: &Waiting| w.packet.key == packet.key && w.packet.lane == packet.lane;
        let Some(place) = self.lanes[slot].iter().position(is_it) else {
            self.strangers += 1;
            return false;
        };
        for _ in 0..place {
            if let Some(lost) = self.lanes[slot].pop_front() {
                self.lose(&lost, packet.time_ns, series);
            }
        }
        let Some(waiting) = self.lanes[slot].pop_front() else {
            return false;
        };
        let (entered, len) = (waiting.packet.time_ns, u64::from(packet.len));
        self.newest_out_ns = self.newest_out_ns.max(entered);
        let before = self.bytes_out - waiting.bytes_out;
        self.bytes_out += len;
        self.packets_out += 1;
        self.hold(entered, packet.time_ns, len);
        if entered >= self.warmup_ns {
            self.outcome.backlog_max_bytes = self.outcome.backlog_max_bytes.max(before + len);
        }
        if packet.time_ns >= self.warmup_ns {
            self.outcome.packets += 1;
            self.outcome.bytes += len;
            self.outcome.delay.record(packet.time_ns - entered);
        }
        if let Some(classes) = &mut self.classes {
            let (member, waited) = (packet.lane / 2, packet.time_ns - entered);
            classes.forward(member, packet.len, waited, packet.time_ns);
        }
        if packet.ecn != waiting.packet.ecn {
            let cause = match packet.ecn {
                CE => Cause::Mark,
                ECT1 => Cause::SceMark,
                _ => return true,
            };
            self.marked += u64::from(cause == Cause::Mark);
            // An event belongs to the moment at which the algorithm decided.
            let at_ns = match self.drops_at {
                DropsAt::Enqueue => entered,
                DropsAt::Dequeue => packet.time_ns,
            };
            self.count(packet.lane / 2, cause, at_ns, series);
        }
        true
    }

    /// Counts what happened outside the queue, e.g. by a schedule.
    pub fn count(&mut self, flow: usize, cause: Cause, at_ns: u64, series: &mut Series) {
        if at_ns >= self.warmup_ns {
            self.outcome.counts.add(cause);
            self.flows[flow].counts.add(cause);
        }
        if let Some(classes) = &mut self.classes {
            classes.count(flow, cause, at_ns);
        }
        if let Some(events) = &mut self.events {
            let backlog = self.bytes_in.saturating_sub(self.bytes_out);
            events.push(series, &self.outcome.name, flow, cause, at_ns, backlog);
        }
    }

    /// A packet is known to have been dropped, at the latest at `seen_ns`.
    fn lose(&mut self, lost: &Waiting, seen_ns: u64, series: &mut Series) {
        self.dropped += 1;
        let packet = lost.packet;
        // What was ahead of it when it came has left since, the order being kept.
        let full = match self.limit {
            Limit::Packets(n) => self.packets_out - lost.packets_out >= n,
            Limit::Bytes(n) => self.bytes_out - lost.bytes_out + u64::from(packet.len) > n,
            Limit::Unknown => false,
        };
        let full = full || self.tail_drop;
        self.overflowed |= full;
        let cause = if full { Cause::Overflow } else { Cause::Aqm };
        let at_ns = if full || self.drops_at == DropsAt::Enqueue {
            self.bytes_in -= u64::from(packet.len);
            packet.time_ns
        } else {
            self.hold(packet.time_ns, seen_ns, u64::from(packet.len));
            self.bytes_out += u64::from(packet.len);
            self.packets_out += 1;
            seen_ns
        };
        if let Some(log) = &mut self.lost {
            log.push(Lost {
                lane: packet.lane,
                at_ns,
                cause,
            });
        }
        self.count(packet.lane / 2, cause, at_ns, series);
    }

    /// When the packet that has waited longest went in, ns.
    pub fn oldest_ns(&self) -> Option<u64> {
        let fronts = self.lanes.iter().filter_map(VecDeque::front);
        fronts.map(|w| w.packet.time_ns).min()
    }

    /// A packet of this length waited so long.
    fn hold(&mut self, from_ns: u64, to_ns: u64, len: u64) {
        let (from, to) = (from_ns.max(self.warmup_ns), to_ns.min(self.end_ns));
        if to > from {
            self.outcome.backlog_byte_ns += u128::from(to - from) * u128::from(len);
        }
    }

    /// The end of the run: what waits is waiting still, or was dropped where
    /// nothing came after it to show that. `queued` is what the queue says
    /// that it holds, `dropped` and `marked` what it has over the whole run.
    pub fn finish(
        &mut self,
        queued: Option<u64>,
        dropped: Option<u64>,
        marked: Option<u64>,
        series: &mut Series,
    ) {
        let waiting: u64 = self.lanes.iter().map(|l| l.len() as u64).sum();
        let mut surplus = queued.map_or(0, |queued| waiting.saturating_sub(queued));
        // The oldest first: the queue holds the newest.
        let mut rest: Vec<Waiting> = self
            .lanes
            .iter_mut()
            .flat_map(|lane| lane.drain(..))
            .collect();
        rest.sort_by_key(|w| (w.packet.time_ns, w.packet.lane));
        let mut kept = Vec::new();
        for waiting in rest {
            if surplus > 0 && waiting.packet.time_ns <= self.newest_out_ns {
                surplus -= 1;
                self.lose(&waiting, waiting.packet.time_ns, series);
            } else {
                kept.push(waiting);
            }
        }
        // Nothing has left yet that came after them: that they were dropped on
        // arrival shows in the queue's own count only.
        let missing = dropped.map_or(0, |d| d.saturating_sub(self.dropped));
        let unseen = marked.map_or(0, |m| m.saturating_sub(self.marked));
        for (i, waiting) in kept.iter().enumerate() {
            if (i as u64) < missing {
                self.lose(waiting, waiting.packet.time_ns, series);
            } else {
                let len = u64::from(waiting.packet.len);
                self.hold(waiting.packet.time_ns, self.end_ns, len);
            }
        }
        // Marked on arrival and still waiting. Which of them it was does not
        // show; the newest came upon the longest queue. A full buffer may have
        // dropped marked packets as well, and then nothing is known.
        let unseen = if self.overflowed { 0 } else { unseen };
        let waits = kept.iter().skip(missing as usize).rev();
        for waiting in waits
            .filter(|w| w.packet.ecn == ECT0 || w.packet.ecn == ECT1)
            .take(unseen as usize)
        {
            let (flow, at_ns) = (waiting.packet.lane / 2, waiting.packet.time_ns);
            self.count(flow, Cause::Mark, at_ns, series);
        }
    }

    /// What was counted by class, after [`Queue::finish`]; the link's samples
    /// go into its outcome. `index` is its place, `rates` are its own.
    pub fn finish_classes(&mut self, index: u32, rates: &[(u64, u64)]) -> Vec<ClassOutcome> {
        let Some(recorder) = self.classes.take() else {
            return Vec::new();
        };
        let capacity = |from, to| capacity_bytes(rates, from, to);
        let (classes, samples) = recorder.finish(index, self.end_ns, capacity);
        self.outcome.samples = samples;
        classes
    }

    /// Drops and marks of a flow.
    pub fn counts_of(&self, flow: usize) -> &Counts {
        &self.flows[flow].counts
    }
}

/// What a link could carry between two times, bytes.
fn capacity_bytes(rates: &[(u64, u64)], from_ns: u64, to_ns: u64) -> f64 {
    let ends = rates.iter().skip(1).map(|r| r.0).chain([to_ns]);
    let pieces = rates.iter().zip(ends).map(|(&(begin, rate), end)| {
        let (begin, end) = (begin.max(from_ns), end.min(to_ns));
        end.saturating_sub(begin) as f64 * rate as f64 / 8e9
    });
    pieces.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_record::{ClassFlow, ClassPlan};

    fn queue(limit: Limit, drops_at: DropsAt) -> Queue {
        let link = Link {
            name: "bottleneck".to_owned(),
            aqm: "codel".to_owned(),
            kind: "codel".to_owned(),
            namespace: 0,
            device: "out".to_owned(),
            rates: vec![(0, 8_000_000), (500, 16_000_000)],
            limit,
            drops_at,
            in_order: false,
            scheduled_marks: Vec::new(),
            scheduled_drops: Vec::new(),
            schedule_namespace: None,
            classes: vec![
                ClassPlan {
                    name: "L".to_owned(),
                    number: 0,
                    flows: vec![ClassFlow {
                        flow: 0,
                        base_rtt_ns: 400,
                    }],
                    sources: Vec::new(),
                },
                ClassPlan {
                    name: "U".to_owned(),
                    number: 1,
                    flows: Vec::new(),
                    sources: vec![1],
                },
            ],
        };
        Queue::new(&link, &[0, 1], 100, 1_000, 300, None)
    }

    fn packet(time_ns: u64, lane: usize, key: u64, ecn: u8) -> Packet {
        Packet {
            time_ns,
            lane,
            key,
            len: 1000,
            ecn,
        }
    }

    #[test]
    fn sojourn_marks_and_occupancy() {
        let (mut queue, mut series) = (
            queue(Limit::Packets(10), DropsAt::Dequeue),
            Series::default(),
        );
        queue.enter(packet(50, 0, 1, 2));
        queue.enter(packet(120, 2, 1, 2));
        queue.leave(packet(150, 0, 1, 2), &mut series);
        queue.leave(packet(200, 2, 1, CE), &mut series);
        queue.finish(Some(0), None, None, &mut series);
        let outcome = &queue.outcome;
        assert_eq!((outcome.packets, outcome.bytes), (2, 2000));
        assert_eq!(outcome.delay.sum(), 100 + 80);
        assert_eq!(outcome.counts.marks(), 1);
        assert_eq!(queue.counts_of(1).marks(), 1);
        // 1000 B from the warm-up at 100 to 150, 1000 B from 120 to 200.
        assert_eq!(outcome.backlog_byte_ns, 1000 * (50 + 80));
        assert_eq!(outcome.backlog_max_bytes, 2000);
        // 400 ns at 1 B/us and 500 ns at 2 B/us
        assert!((outcome.capacity_bytes - 1.4).abs() < 1e-9);
    }

    #[test]
    fn what_is_overtaken_was_dropped_at_the_head() {
        let (mut queue, mut series) = (
            queue(Limit::Packets(10), DropsAt::Dequeue),
            Series::default(),
        );
        (0..4).for_each(|key| queue.enter(packet(200 + key, 0, key, 0)));
        queue.leave(packet(300, 0, 2, 0), &mut series);
        queue.finish(Some(1), None, None, &mut series);
        assert_eq!(queue.outcome.counts.get(Cause::Aqm), 2);
        assert_eq!(queue.dropped, 2);
        let waited = (300 - 200) + (300 - 201) + (300 - 202) + (1000 - 203);
        assert_eq!(queue.outcome.backlog_byte_ns, 1000 * waited);
    }

    #[test]
    fn a_full_buffer_is_told_from_the_algorithm() {
        let (mut queue, mut series) = (
            queue(Limit::Packets(2), DropsAt::Enqueue),
            Series::default(),
        );
        (0..3).for_each(|key| queue.enter(packet(200 + key, 0, key, 0)));
        queue.leave(packet(300, 0, 0, 0), &mut series);
        queue.enter(packet(301, 0, 3, 0));
        queue.leave(packet(310, 0, 1, 0), &mut series);
        queue.enter(packet(311, 0, 4, 0));
        queue.enter(packet(312, 0, 5, 0));
        queue.leave(packet(320, 0, 3, 0), &mut series);
        // Number 4 found one packet waiting, so it was not the buffer.
        queue.leave(packet(330, 0, 5, 0), &mut series);
        queue.finish(Some(0), None, None, &mut series);
        assert_eq!(queue.outcome.counts.get(Cause::Overflow), 1);
        assert_eq!(queue.outcome.counts.get(Cause::Aqm), 1);
    }

    #[test]
    fn drops_that_nothing_follows_are_found_by_what_the_queue_holds() {
        let (mut queue, mut series) = (queue(Limit::Unknown, DropsAt::Enqueue), Series::default());
        queue.enter(packet(200, 0, 1, 0)); // dropped, the last of its flow
        queue.enter(packet(210, 2, 1, 0));
        queue.leave(packet(400, 2, 1, 0), &mut series);
        queue.enter(packet(500, 2, 2, 0)); // waiting
        queue.finish(Some(1), None, None, &mut series);
        assert_eq!(queue.outcome.counts.get(Cause::Aqm), 1);
        assert_eq!(queue.flows[0].counts.drops(), 1);
    }

    #[test]
    fn classes_divide_what_the_queue_has() {
        let (mut queue, mut series) = (queue(Limit::Unknown, DropsAt::Dequeue), Series::default());
        queue.enter(packet(50, 0, 1, 2));
        queue.enter(packet(110, 2, 1, 0));
        queue.enter(packet(120, 0, 2, 2));
        queue.enter(packet(130, 0, 3, 2)); // dropped, seen at 450
        queue.enter(packet(140, 0, 4, 2));
        queue.leave(packet(90, 0, 1, CE), &mut series);
        queue.leave(packet(150, 2, 1, 0), &mut series);
        queue.leave(packet(200, 0, 2, CE), &mut series);
        queue.leave(packet(450, 0, 4, 2), &mut series);
        queue.finish(Some(0), None, None, &mut series);
        let classes = queue.finish_classes(0, &[(0, 8_000_000_000)]);
        let outcome = &queue.outcome;
        let of = |class: &ClassOutcome| (class.packets, class.delay.sum());
        assert_eq!([of(&classes[0]), of(&classes[1])], [(2, 80 + 310), (1, 40)]);
        assert_eq!(outcome.packets, 3);
        assert_eq!(classes[0].counts, outcome.counts);
        assert_eq!((outcome.counts.drops(), outcome.counts.marks()), (1, 1));
        // From 100 to 400 ns and from 400 to 700; the rest to 1000 as well.
        let drops: Vec<u64> = classes[0].intervals.iter().map(|i| i.drops).collect();
        assert_eq!(drops, [0, 1, 0]);
        assert_eq!(classes[0].flow_bytes, [[1000, 1000, 0]]);
        let samples = outcome.samples.as_ref().expect("samples");
        assert_eq!(samples.bytes, [2000, 1000, 0]);
        assert_eq!(samples.capacity_bytes, [300.0; 3]);
    }

    #[test]
    fn events_belong_to_the_moment_of_decision() {
        let mut series = Series::default();
        // Marked on arrival before the warm-up at 100, seen leaving after it.
        let mut red = queue(Limit::Unknown, DropsAt::Enqueue);
        red.enter(packet(90, 0, 1, 2));
        red.enter(packet(110, 0, 2, 2));
        red.leave(packet(120, 0, 1, CE), &mut series);
        red.leave(packet(130, 0, 2, CE), &mut series);
        // Two more on arrival, of which one is still there at the end.
        red.enter(packet(900, 0, 3, 2));
        red.enter(packet(910, 2, 3, 2));
        red.leave(packet(990, 0, 3, CE), &mut series);
        red.finish(Some(1), None, Some(4), &mut series);
        assert_eq!(red.counts_of(0).marks(), 2);
        assert_eq!(red.counts_of(1).marks(), 1);
        assert_eq!(red.outcome.counts.marks(), 3);
    }

    #[test]
    fn in_one_queue_any_flow_overtakes() {
        let mut series = Series::default();
        let mut codel = queue(Limit::Unknown, DropsAt::Dequeue);
        (codel.in_order, codel.lanes) = (true, vec![VecDeque::new()]);
        codel.enter(packet(10, 0, 1, 0)); // dropped at the head at 90, before the warm-up
        codel.enter(packet(20, 2, 1, 0));
        codel.enter(packet(120, 0, 2, 0));
        codel.leave(packet(90, 2, 1, 0), &mut series);
        codel.leave(packet(130, 0, 2, 0), &mut series);
        codel.finish(Some(0), Some(1), Some(0), &mut series);
        assert_eq!((codel.dropped, codel.outcome.counts.drops()), (1, 0));
    }

    #[test]
    fn the_queue_counts_what_it_dropped_last() {
        let (mut queue, mut series) = (queue(Limit::Unknown, DropsAt::Enqueue), Series::default());
        queue.tail_drop = true;
        (0..4).for_each(|key| queue.enter(packet(200 + key, 0, key, 0)));
        queue.leave(packet(300, 0, 0, 0), &mut series);
        queue.finish(Some(2), Some(1), None, &mut series);
        assert_eq!(queue.outcome.counts.get(Cause::Overflow), 1);
        assert_eq!(queue.dropped, 1);
    }
}
