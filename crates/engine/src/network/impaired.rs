//! Links with impairments: what happens to packets that have left the queue of such a link.

mod pen;

use std::collections::VecDeque;

use tailback_record::Cause;

use super::Network;
use super::connections::Ends;
use super::endpoints::Endpoints;
use super::pipe::More;
use crate::aqm::Sink;
use crate::calendar::Component;
use crate::impairments::{Fate, Impairment, Way};
use crate::packet::{Packet, flags};
use crate::plan::{Concerns, ImpairmentPlan, LinkPlan};
use crate::rng::Stream;
use crate::units::Time;
use pen::Pen;

/// What follows the queue of a link that has impairments.
pub(super) struct Impaired {
    delay: Time,
    /// Jitter and slots of the link itself, if it has them.
    more: Option<More>,
    /// When the last packet has passed the delay, jitter and slots, which keep the order.
    last: Time,
    steps: Vec<Step>,
    pen: Pen,
}

/// An impairment, and which packets meet it.
struct Step {
    impairment: Box<dyn Impairment>,
    concerns: Concerns,
    /// The windows that have not ended, the next one first; `None`: always.
    during: Option<VecDeque<(Time, Time)>>,
}

impl Step {
    fn new(plan: &ImpairmentPlan, stream: Stream) -> Step {
        let windows = plan.during.0.iter().copied();
        Step {
            impairment: (plan.entry().build.make)(&plan.options, stream),
            concerns: plan.only,
            during: (!plan.during.0.is_empty()).then(|| windows.collect()),
        }
    }

    /// Whether a packet meets the impairment now.
    fn concerns(&mut self, packet: &Packet, now: Time) -> bool {
        let is_ack = packet.has(flags::ACK);
        let concerned = match self.concerns {
            Concerns::All => true,
            Concerns::Data => !is_ack,
            Concerns::Acks => is_ack,
        };
        if !concerned {
            return false;
        }
        let Some(windows) = &mut self.during else {
            return true;
        };
        while windows.front().is_some_and(|(_, end)| *end <= now) {
            windows.pop_front();
        }
        windows.front().is_some_and(|(begin, _)| *begin <= now)
    }
}

/// What the impairments of a link may change outside of themselves.
struct Surroundings<'a> {
    sink: &'a mut Sink,
    ends: &'a mut [Ends],
    endpoints: Option<&'a mut Endpoints>,
    now: Time,
}

impl Impaired {
    /// Builds the impairments of a link for the run of a seed, if the link has some.
    pub fn of(link: &LinkPlan, seed: u64) -> Option<Box<Impaired>> {
        if link.impairments.is_empty() {
            return None;
        }
        let steps = link.impairments.iter().enumerate().map(|(place, plan)| {
            let purpose = format!("impairment {place}");
            Step::new(plan, Stream::new(seed, &link.name, &purpose))
        });
        let more = More::of(link, seed);
        Some(Box::new(Impaired {
            delay: link.delay,
            more: (more.jitter.is_some() || more.slots.is_some()).then_some(more),
            last: Time::ZERO,
            steps: steps.collect(),
            pen: Pen::default(),
        }))
    }

    /// Packets in the impairments and in the pen.
    pub fn packets(&self) -> u64 {
        let held = self.steps.iter().map(|step| step.impairment.held());
        self.pen.len() + held.sum::<u64>()
    }

    /// When a packet that comes now has passed the delay, jitter and slots of the link.
    fn due(&mut self, now: Time, len: u16) -> Time {
        let due = now + self.delay;
        let Some(more) = &mut self.more else {
            return due;
        };
        self.last = more.leaves(due, len, Some(self.last));
        self.last
    }

    /// A packet meets the impairments from `place` on.
    fn pass(
        &mut self,
        place: usize,
        mut packet: Packet,
        mut way: Way,
        around: &mut Surroundings<'_>,
    ) {
        let Some(step) = self.steps.get_mut(place) else {
            return self.pen.push(way.due, packet);
        };
        let now = around.now;
        if !step.concerns(&packet, now) {
            return self.pass(place + 1, packet, way, around);
        }
        match step.impairment.meet(&mut packet, &mut way) {
            Fate::Goes => self.pass(place + 1, packet, way, around),
            Fate::Twice => {
                around.ends[packet.flow as usize].entered += 1;
                if let Some(endpoints) = &mut around.endpoints {
                    endpoints.copied(&packet);
                }
                self.pass(place + 1, packet, way, around);
                self.pass(place + 1, packet, way, around);
            }
            Fate::Marked if packet.ecn.is_capable() => {
                around.sink.mark(&mut packet, Cause::PolicedMark, now);
                self.pass(place + 1, packet, way, around);
            }
            Fate::Marked => around.sink.lose(&packet, Cause::Policed, now),
            Fate::Lost(cause) => around.sink.lose(&packet, cause, now),
            Fate::Held => {}
        }
        self.release(place, around);
    }

    /// The packets that an impairment releases meet the impairments behind it.
    fn release(&mut self, place: usize, around: &mut Surroundings<'_>) {
        let now = around.now;
        while let Some((packet, way)) = self.steps[place].impairment.release(now) {
            let due = way.due + now.since(way.now);
            self.pass(place + 1, packet, Way { now, due }, around);
        }
    }

    /// The next time at which the pen or an impairment lets a packet go.
    fn deadline(&self) -> Time {
        let steps = self.steps.iter().map(|step| step.impairment.deadline());
        steps.fold(self.pen.due(), Time::min)
    }
}

impl Network {
    /// A packet leaves a link that loses packets or has impairments. Returns whether it goes on to
    /// the link's pipe: if not, it is lost, or meets the impairments.
    #[inline(never)]
    pub(super) fn goes_on(&mut self, link: u32, packet: &mut Packet) -> bool {
        let (now, index) = (self.now, link as usize);
        let here = &mut self.links[index];
        if here.loses(packet, now) {
            return false;
        }
        let Some(impaired) = &mut self.impaired[index] else {
            return true;
        };
        packet.hop += 1;
        let way = Way {
            now,
            due: impaired.due(now, packet.len),
        };
        let mut around = Surroundings {
            sink: &mut here.sink,
            ends: &mut self.ends,
            endpoints: self.endpoints.as_deref_mut(),
            now,
        };
        impaired.pass(0, *packet, way, &mut around);
        self.calendar
            .schedule(self.ids.pens + link, impaired.deadline().max(now));
        false
    }

    /// Lets the packets go that are due behind a link.
    pub(super) fn run_pen(&mut self, id: Component, link: u32) {
        let (now, index) = (self.now, link as usize);
        if let Some(impaired) = &mut self.impaired[index] {
            let mut around = Surroundings {
                sink: &mut self.links[index].sink,
                ends: &mut self.ends,
                endpoints: self.endpoints.as_deref_mut(),
                now,
            };
            for place in 0..impaired.steps.len() {
                if impaired.steps[place].impairment.deadline() <= now {
                    impaired.release(place, &mut around);
                }
            }
        }
        let pop = |network: &mut Network| network.impaired[index].as_mut()?.pen.pop(now);
        while let Some(mut packet) = pop(self) {
            self.arrive(&mut packet);
        }
        let impaired = self.impaired[index].as_ref();
        match impaired.map_or(Time::NEVER, |impaired| impaired.deadline()) {
            Time::NEVER => self.calendar.cancel(id),
            next => self.calendar.schedule(id, next.max(now)),
        }
    }
}
