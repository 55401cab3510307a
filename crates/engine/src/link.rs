//! Links. A link has a queue and a rate, which may change over time. After the queue, packets may
//! be delayed or lost.

use tailback_record::Cause;

use crate::aqm::{Dequeue, Queue, Setting, Sink};
use crate::bucket::Bucket;
use crate::calendar::NOT_DUE;
use crate::packet::Packet;
use crate::plan::{LinkMode, LinkPlan, RatePlan, Schedule};
use crate::rate::{Cursor, OPPORTUNITY, opportunities_until, opportunity_time};
use crate::registry::Options;
use crate::rng::Stream;
use crate::units::{Rate, Time};

/// When to serve a link next, and whether a packet leaves the link now.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// The packet leaves now. Serve the link again at this time.
    Leaves(Time),
    /// No packet leaves now. Serve the link again at this time.
    Wait(Time),
    /// The link is idle until a packet arrives.
    Idle,
}

/// A link and its queue.
pub struct Link {
    /// The queue.
    pub queue: Box<dyn Queue>,
    /// Counters of the link.
    pub sink: Sink,
    /// Index of the pipe that delays packets after the link, if any.
    pub pipe: Option<u32>,
    rate: RatePlan,
    /// The rate, if it never changes and the shaper has no burst. Otherwise `None`.
    constant: Option<Rate>,
    step: Cursor,
    mode: LinkMode,
    /// Whether the link is a shaper whose rate does not come from a trace. A shaper releases a
    /// packet when the packet's transmission begins.
    plain: bool,
    bucket: Bucket,
    overhead: i32,
    count_in_service: bool,
    /// Whether packets may be lost or pass through impairments after they have left the queue.
    pub impaired: bool,
    /// Probability of loss after the queue, and the random stream for it.
    loss: Option<(f64, Stream)>,
    /// What happens to packets before they enter the queue. `None` if nothing happens.
    before: Option<Box<Before>>,
    /// True while the link is transmitting, or while the queue holds its packets until a known
    /// time. While `busy` is true, the network serves the link for an arriving packet only if
    /// `held` is also true.
    busy: bool,
    /// Whether the queue holds its packets until a known time. An arriving packet may change this
    /// time.
    held: bool,
    /// On a wire: the packet in transmission. On a trace: a partly sent packet with its remaining
    /// bytes.
    in_service: Option<(Packet, u32)>,
    /// On a trace: how many delivery opportunities have passed or are in use.
    opportunity: u64,
    /// The length and transmission time of the last frame. If the next frame has the same length,
    /// the link uses this time and saves a division by the rate. On a trace: how many bytes of the
    /// opportunity are used.
    slot: (u32, Time),
}

/// What happens to packets before they enter the queue.
#[derive(Default)]
struct Before {
    /// Marks and drops that the scenario schedules by packet number.
    scheduled: Option<Scheduled>,
    /// Whether the link splits packets that TCP has combined from several segments (`split_gso`).
    splits: bool,
}

/// A schedule of marks and drops, and the position up to which it has been applied.
struct Scheduled {
    /// Packet numbers in ascending order. The flag is true if the packet is dropped, and false if
    /// it is marked.
    due: Vec<(u64, bool)>,
    /// Number of entries of `due` that have been applied.
    done: usize,
    /// Number of packets with payload that have arrived.
    arrived: u64,
}

impl Scheduled {
    fn new(schedule: &Schedule) -> Scheduled {
        let marks = schedule.marks.iter().map(|number| (*number, false));
        let drops = schedule.drops.iter().map(|number| (*number, true));
        let mut due: Vec<(u64, bool)> = marks.chain(drops).collect();
        due.sort_unstable();
        Scheduled {
            due,
            done: 0,
            arrived: 0,
        }
    }

    /// Counts a packet and checks whether the schedule marks or drops it. Returns whether the
    /// packet is dropped. If the schedule marks a packet that is not ECN-capable, the packet is
    /// dropped, as a queue would do.
    fn drops(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) -> bool {
        if packet.payload == 0 {
            return false;
        }
        self.arrived += 1;
        let drop = match self.due.get(self.done) {
            Some((number, drop)) if *number == self.arrived => *drop,
            _ => return false,
        };
        self.done += 1;
        if drop || !packet.ecn.is_capable() {
            sink.drop(packet, Cause::Scheduled, now);
            return true;
        }
        sink.mark(packet, Cause::ScheduledMark, now);
        false
    }
}

impl Link {
    /// Creates an idle link with an empty queue.
    pub fn new(plan: &LinkPlan, mut queue: Box<dyn Queue>, sink: Sink, loss: Stream) -> Link {
        queue.link_overhead(plan.overhead);
        Link {
            queue,
            sink,
            pipe: None,
            rate: plan.rate.clone(),
            constant: match plan.rate {
                RatePlan::Constant(rate) if plan.burst.0 == 0 => Some(rate),
                _ => None,
            },
            step: Cursor::default(),
            mode: plan.mode,
            plain: plan.mode == LinkMode::Shaper && !matches!(plan.rate, RatePlan::Trace(_)),
            bucket: Bucket::new(plan.burst),
            overhead: plan.overhead,
            count_in_service: plan.count_in_service,
            impaired: plan.loss > 0.0 || !plan.impairments.is_empty(),
            loss: (plan.loss > 0.0).then_some((plan.loss, loss)),
            before: plan.schedule.as_ref().map(|schedule| {
                Box::new(Before {
                    scheduled: Some(Scheduled::new(schedule)),
                    splits: false,
                })
            }),
            busy: false,
            held: false,
            in_service: None,
            opportunity: 0,
            slot: (0, Time::ZERO),
        }
    }

    /// Makes the link split packets of several segments before they enter the queue. `flows` is the
    /// length of [`crate::plan::Plan::owners`].
    pub fn split_packets(&mut self, flows: usize) {
        self.before.get_or_insert_default().splits = true;
        self.sink.count_splits(flows);
    }

    /// Puts an arriving packet into the queue. Returns whether the link must be served now.
    #[inline]
    pub fn arrive(&mut self, packet: &mut Packet, now: Time) -> bool {
        packet.stamp = now;
        self.sink.arrive(packet, now);
        if self.before.is_some() {
            return self.arrive_after(packet, now);
        }
        self.queue.enqueue(packet, now, &mut self.sink);
        !self.busy || self.held
    }

    /// Applies scheduled marks and drops to a packet, splits it if necessary, and puts the result
    /// into the queue. Returns whether the link must be served now.
    #[inline(never)]
    fn arrive_after(&mut self, packet: &mut Packet, now: Time) -> bool {
        let Some(before) = &mut self.before else {
            return false;
        };
        if let Some(scheduled) = &mut before.scheduled
            && scheduled.drops(packet, now, &mut self.sink)
        {
            return false;
        }
        let segments = packet.segments();
        if segments > 1 && before.splits {
            for mut segment in packet.split() {
                self.queue.enqueue(&mut segment, now, &mut self.sink);
            }
            self.sink.split(packet.flow, segments - 1);
        } else {
            self.queue.enqueue(packet, now, &mut self.sink);
        }
        !self.busy || self.held
    }

    /// Serves the link. Call this function at the time that the previous call returned, and when a
    /// packet arrives at an idle link. A packet that leaves is written to `packet`.
    #[inline]
    pub fn serve(&mut self, now: Time, packet: &mut Packet) -> Next {
        if !self.plain {
            return self.serve_other(now, packet);
        }
        match self.begin(now, packet) {
            Ok(end) => Next::Leaves(end),
            Err(next) => next,
        }
    }

    /// Serves a link whose mode is `wire` or whose rate comes from a trace.
    #[inline(never)]
    fn serve_other(&mut self, now: Time, packet: &mut Packet) -> Next {
        if matches!(self.rate, RatePlan::Trace(_)) {
            return self.serve_trace(now, packet);
        }
        let leaves = self.in_service.take();
        let begun = self.begin(now, packet);
        if begun.is_ok() {
            self.in_service = Some((*packet, 0));
        }
        match (leaves, begun) {
            // The transmission on a wire has ended, so its packet leaves. The next transmission
            // begins.
            (Some((leaves, _)), begun) => {
                *packet = leaves;
                // No transmission begins if the queue is empty or holds its packets, or if the rate
                // is 0. In these cases, the link is served again at once, to find out how long it
                // must wait.
                Next::Leaves(begun.unwrap_or(now))
            }
            (None, Ok(end)) => Next::Wait(end),
            (None, Err(next)) => next,
        }
    }

    /// Takes the next packet from the queue and begins its transmission. Returns when the
    /// transmission ends.
    #[inline(always)]
    fn begin(&mut self, now: Time, packet: &mut Packet) -> Result<Time, Next> {
        if let Some(until) = self.stopped_until(now) {
            // While the rate is 0, packets wait in the queue.
            self.busy = true;
            self.held = false;
            return Err(Next::Wait(until));
        }
        let end = match self.queue.dequeue(now, &mut self.sink, packet) {
            // The queue itself shapes traffic to the link's rate, so the queue determines when the
            // transmission ends. In the mode `wire`, the link computes the transmission time
            // itself, even if the queue shapes traffic.
            Dequeue::Until(next) if self.mode == LinkMode::Shaper => next.clamp(now, NOT_DUE),
            Dequeue::Packet | Dequeue::Until(_) => {
                let len = self.charged(packet);
                self.slot_end(now, len)
            }
            Dequeue::Empty => {
                self.busy = false;
                self.held = false;
                return Err(Next::Idle);
            }
            Dequeue::NotBefore(time) => {
                self.busy = true;
                self.held = true;
                return Err(Next::Wait(time.max(now + Time(1))));
            }
        };
        self.sink.forward(packet, now);
        self.busy = true;
        self.held = false;
        if self.count_in_service {
            self.sink.occupy(packet, now, end);
        }
        Ok(end)
    }

    /// If the rate is 0 now, returns when the rate will next exceed 0. This time may be
    /// [`Time::NEVER`].
    #[inline]
    fn stopped_until(&mut self, now: Time) -> Option<Time> {
        let RatePlan::Steps(steps) = &self.rate else {
            return None;
        };
        let current = self.step.at(steps, now);
        if steps[current].1.0 > 0 {
            return None;
        }
        let next = steps[current..].iter().find(|s| s.1.0 > 0);
        Some(next.map_or(Time::NEVER, |s| s.0))
    }

    /// Returns the length of a frame on the link, in bytes, including the link's overhead.
    #[inline]
    fn charged(&self, packet: &Packet) -> u32 {
        (i32::from(packet.len) + self.overhead).max(1) as u32
    }

    /// The transmission of a frame begins now. Returns when it ends.
    #[inline]
    fn slot_end(&mut self, now: Time, len: u32) -> Time {
        match self.constant {
            Some(rate) => {
                if self.slot.0 != len {
                    self.slot = (len, rate.time_for(u64::from(len)));
                }
                now + self.slot.1
            }
            None => self.bucket.take(&self.rate, now, len),
        }
    }

    /// Serves a trace of delivery opportunities as Mahimahi does. At each opportunity, the link
    /// sends up to 1504 bytes. If the queue becomes empty, the unused bytes of the opportunity are
    /// lost. A packet may need several opportunities.
    fn serve_trace(&mut self, now: Time, packet: &mut Packet) -> Next {
        let RatePlan::Trace(times) = &self.rate else {
            unreachable!("only called for traces")
        };
        // The link was idle during the opportunities before now. There may be millions of such
        // opportunities, so skip them all at once.
        let mut opportunity = self.opportunity;
        if opportunity_time(times, opportunity) < now {
            opportunity = opportunities_until(times, now - Time(1));
            self.slot.0 = 0;
        }
        let due = opportunity_time(times, opportunity);
        let after = opportunity_time(times, opportunity + 1);
        self.opportunity = opportunity;
        if due > now {
            self.busy = true;
            return Next::Wait(due);
        }
        // `slot.0` counts the bytes of this opportunity that are already used.
        let left = OPPORTUNITY - self.slot.0;
        let need = match self.in_service.take() {
            Some((partly, need)) => {
                *packet = partly;
                need
            }
            None => match self.queue.dequeue(now, &mut self.sink, packet) {
                Dequeue::Packet | Dequeue::Until(_) => {
                    self.sink.forward(packet, now);
                    self.charged(packet)
                }
                Dequeue::Empty => {
                    self.busy = false;
                    return Next::Idle;
                }
                Dequeue::NotBefore(time) => {
                    self.busy = true;
                    self.held = true;
                    return Next::Wait(time.max(after));
                }
            },
        };
        self.busy = true;
        self.held = false;
        if need <= left {
            self.slot.0 += need;
            if self.slot.0 == OPPORTUNITY {
                self.slot.0 = 0;
                self.opportunity += 1;
                return Next::Leaves(after);
            }
            Next::Leaves(now)
        } else {
            self.in_service = Some((*packet, need - left));
            self.slot.0 = 0;
            self.opportunity += 1;
            Next::Wait(after)
        }
    }

    /// Decides at random whether a packet is lost after the queue. If the packet is lost, counts
    /// the loss.
    #[inline]
    pub fn loses(&mut self, packet: &Packet, now: Time) -> bool {
        let Some((probability, stream)) = &mut self.loss else {
            return false;
        };
        let lost = stream.chance(*probability);
        if lost {
            self.sink.lose(packet, Cause::Loss, now);
        }
        lost
    }

    /// Returns how many packets have left the queue and are in transmission (0 or 1).
    pub fn in_service(&self) -> u64 {
        u64::from(self.in_service.is_some())
    }

    /// Changes the rate from `now` on. `due` is the time at which the link would have been served
    /// next at the old rate. If this time changes, returns the new time. A packet in transmission
    /// continues at the new rate. Do not call this for a link whose rate comes from a trace.
    pub fn change_rate(&mut self, rate: Rate, now: Time, due: Option<Time>) -> Option<Time> {
        let mut steps = match &mut self.rate {
            RatePlan::Steps(steps) => std::mem::take(steps),
            other => vec![(Time::ZERO, other.nominal())],
        };
        steps.retain(|step| step.0 < now);
        steps.push((now, rate));
        let sends = self.busy && !self.held;
        if self.constant.take().is_some()
            && let Some(end) = due
            && sends
            && self.slot.0 > 0
        {
            self.bucket.note(Time(end.0 - self.slot.1.0), self.slot.0);
        }
        let again = self.bucket.again(&steps).filter(|end| *end > now);
        self.rate = RatePlan::Steps(steps);
        self.queue.rate_changed(rate, now);
        if !sends {
            return None;
        }
        match (again, due) {
            // The queue itself shapes traffic and has determined when the transmission ends. A new
            // rate does not change this time.
            (None, Some(_)) => None,
            // The rate was 0 so far, so serve the link now.
            (None, None) => Some(now),
            (Some(again), _) => {
                self.sink.change_end(again);
                Some(again)
            }
        }
    }

    /// Changes the probability of loss after the queue. `stream` creates the random stream if the
    /// link had no random loss so far.
    pub fn change_loss(&mut self, probability: f64, stream: impl FnOnce() -> Stream) {
        self.impaired = true;
        match &mut self.loss {
            Some((now, _)) => *now = probability,
            none => *none = Some((probability, stream())),
        }
    }

    /// Changes options of the queue. `options` holds every option, including options that do not
    /// change.
    pub fn change_queue(&mut self, options: &Options, mtu: u32, now: Time) {
        let rate = match &self.rate {
            RatePlan::Steps(steps) => steps[self.step.at(steps, now)].1,
            other => other.nominal(),
        };
        self.queue
            .change(options, &Setting { rate, mtu, now }, &mut self.sink);
    }

    /// Returns the link's rate as a function of time, from the start of the run.
    pub fn rate(&self) -> &RatePlan {
        &self.rate
    }

    /// Returns the rate from `now` on, if the link's rate changes in steps.
    pub fn rate_now(&mut self, now: Time) -> Option<Rate> {
        match &self.rate {
            RatePlan::Steps(steps) => Some(steps[self.step.at(steps, now)].1),
            _ => None,
        }
    }

    /// Returns when the rate changes next after `now`.
    pub fn next_rate_change(&mut self, now: Time) -> Option<Time> {
        match &self.rate {
            RatePlan::Steps(steps) => Some(steps.get(self.step.at(steps, now) + 1)?.0),
            _ => None,
        }
    }
}
