//! Counts packets by class during a run. The engine reports the time of each drop, each mark, and
//! each packet that leaves a queue. The reports may come in any order. All memory is allocated
//! before the run.

use super::{ClassOutcome, ClassPlan, Interval, LinkSamples};
use crate::Cause;

/// The index for 'no class' or 'no samples'.
const NONE: u32 = u32::MAX;

/// Identifies the counters for the packets of a flow or source, by the indices of its class and its
/// samples.
#[derive(Clone, Copy)]
struct Member {
    class: u32,
    /// Index among the flows with samples.
    flow: u32,
}

/// The counters of one link's classes during the run.
pub(crate) struct ClassRecorder {
    /// The entry of each flow or source, at the index of its number. The list ends with the last
    /// flow or source that belongs to a class.
    members: Vec<Member>,
    classes: Vec<ClassOutcome>,
    cuts: Cuts,
    /// Frame bytes that the link forwarded in each interval.
    bytes: Vec<u64>,
    /// Frame bytes of each flow of a class in each interval, ordered by flow, then by interval.
    flow_bytes: Vec<u64>,
}

struct Cuts {
    warmup_ns: u64,
    interval_ns: u64,
    /// Number of complete intervals.
    count: usize,
    /// Index of the interval that contains the last event.
    last: usize,
    /// Start of the interval `last`, in ns.
    last_ns: u64,
}

impl Cuts {
    /// Returns the index of the interval that contains a time after the warm-up.
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
    /// Creates a recorder for the classes of a link. The recorder takes a sample every
    /// `interval_ns` between `warmup_ns` and `end_ns`. If `interval_ns` is 0, the recorder takes no
    /// samples. Returns `None` if the link has neither classes nor samples.
    pub fn new(
        classes: Vec<ClassPlan>,
        warmup_ns: u64,
        end_ns: u64,
        interval_ns: u64,
    ) -> Option<ClassRecorder> {
        if classes.is_empty() && interval_ns == 0 {
            return None;
        }
        let measured = end_ns.saturating_sub(warmup_ns);
        let count = measured.checked_div(interval_ns).unwrap_or(0) as usize;
        let of_none = Member {
            class: NONE,
            flow: NONE,
        };
        let flows = classes.iter().flat_map(|class| &class.flows);
        let sources = classes.iter().flat_map(|class| &class.sources);
        let last = flows.map(|flow| &flow.flow).chain(sources).max();
        let mut members = vec![of_none; last.map_or(0, |last| *last as usize + 1)];
        let mut flows = 0;
        for (class, plan) in (0..).zip(&classes) {
            for member in &plan.flows {
                members[member.flow as usize] = Member { class, flow: flows };
                flows += 1;
            }
            for source in &plan.sources {
                members[*source as usize].class = class;
            }
        }
        let classes = classes.into_iter().map(|class| ClassOutcome {
            class,
            intervals: vec![Interval::default(); count],
            ..ClassOutcome::default()
        });
        Some(ClassRecorder {
            members,
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

    /// Counts a packet that left the queue after waiting for `delay_ns`. `owner` is the number of
    /// the packet's flow or source.
    #[inline]
    pub fn forward(&mut self, owner: usize, len: u32, delay_ns: u64, at_ns: u64) {
        if at_ns < self.cuts.warmup_ns {
            return;
        }
        let len = u64::from(len);
        let interval = self.cuts.find(at_ns);
        if let Some(interval) = interval {
            self.bytes[interval] += len;
        }
        let Some(member) = self.members.get(owner) else {
            return;
        };
        let Some(class) = self.classes.get_mut(member.class as usize) else {
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
        if member.flow != NONE {
            self.flow_bytes[member.flow as usize * self.cuts.count + interval] += len;
        }
    }

    /// Counts a drop or mark of a packet of a flow or source.
    pub fn count(&mut self, owner: usize, cause: Cause, at_ns: u64) {
        if at_ns < self.cuts.warmup_ns {
            return;
        }
        let member = self.members.get(owner);
        let Some(class) = member.and_then(|m| self.classes.get_mut(m.class as usize)) else {
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

    /// Returns the outcomes of the link's classes up to `end_ns`, and the link's samples if samples
    /// were taken. `capacity` returns the bytes that the link could carry between two times in ns.
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
