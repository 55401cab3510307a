//! What happens to packets after the queue of a link with impairments. The packets pass the link's
//! delay and its impairments, and then a buffer that orders them by time.

mod pen;

use std::collections::VecDeque;

use tailback_record::Cause;

use super::Network;
use super::connections::Ends;
use super::endpoints::Endpoints;
use super::pipe::More;
use crate::aqm::Sink;
use crate::calendar::{Calendar, Component};
use crate::impairments::{Fate, Impairment, Way};
use crate::packet::{Ecn, Packet, flags};
use crate::plan::{Concerns, ImpairmentPlan, LinkPlan};
use crate::registry::Options;
use crate::rng::Stream;
use crate::units::Time;
use pen::Pen;

pub(super) struct Impaired {
    delay: Time,
    /// The link's own jitter and slots. This field is also set if the delay has changed during the
    /// run, because packets must keep their order.
    more: Option<More>,
    /// When the link's delay, jitter and slots end for the last packet. Later packets must not
    /// overtake this packet.
    last: Time,
    steps: Vec<Step>,
    /// How many impairments hold packets now.
    holding: usize,
    pen: Pen,
    /// Time of this link's entry in the calendar. [`Time::NEVER`] if it has no entry.
    entered: Time,
}

/// An impairment, with the packets and times to which it applies.
struct Step {
    impairment: Box<dyn Impairment>,
    /// Whether the impairment holds packets now. Only an impairment that holds packets can release
    /// packets, and only such an impairment has a deadline.
    holds: bool,
    concerns: Concerns,
    /// The intervals in which the impairment acts. Past intervals are removed. `None` means that
    /// the impairment always acts.
    during: Option<VecDeque<(Time, Time)>>,
}

impl Step {
    fn new(plan: &ImpairmentPlan, stream: Stream) -> Step {
        let windows = plan.during.0.iter().copied();
        Step {
            impairment: (plan.entry().build.make)(&plan.options, stream),
            holds: false,
            concerns: plan.only,
            during: (!plan.during.0.is_empty()).then(|| windows.collect()),
        }
    }

    /// Returns whether the impairment affects a packet now.
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

/// The result of passing a packet through an impairment.
enum Met {
    /// The impairment does not affect the packet.
    Passes,
    Goes,
    Twice,
    /// The packet is lost or held.
    Ends,
}

/// The parts of the network that impairments may change.
struct Surroundings<'a> {
    sink: &'a mut Sink,
    ends: &'a mut [Ends],
    endpoints: Option<&'a mut Endpoints>,
    now: Time,
}

impl Impaired {
    /// Builds the impairments of a link for a run with this seed. Returns `None` if the link has no
    /// impairments.
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
            holding: 0,
            pen: Pen::default(),
            entered: Time::NEVER,
        }))
    }

    /// Returns a pen without delay and without impairments. Such a pen is for a link whose packets
    /// have passed through a pipe so far.
    pub fn without_delay() -> Box<Impaired> {
        Box::new(Impaired {
            delay: Time::ZERO,
            more: None,
            last: Time::ZERO,
            steps: Vec::new(),
            holding: 0,
            pen: Pen::default(),
            entered: Time::NEVER,
        })
    }

    /// Moves the jitter and slots from the link's pipe to this pen.
    pub fn take_pipe(&mut self, pipe: &mut More) {
        self.more = Some(More {
            pauses: None,
            jitter: pipe.jitter.take(),
            slots: pipe.slots.take(),
            part: None,
        });
    }

    /// Moves a packet from the link's pipe to this pen. The packet leaves the pen at the time at
    /// which it would have left the pipe.
    pub fn take_packet(&mut self, packet: &Packet) {
        let mut packet = *packet;
        // For a pipe, a packet's `hop` already counts the link when the packet enters the pipe. For
        // a pen, `hop` counts the link only when the packet leaves the pen.
        packet.hop -= 1;
        self.last = packet.stamp;
        self.pen.push(packet.stamp, &packet);
    }

    /// Changes the delay of packets that leave the queue from now on. Packets still leave in the
    /// order in which they left the queue.
    pub fn change_delay(&mut self, delay: Time) {
        self.more.get_or_insert_default();
        self.delay = delay;
    }

    /// Changes the options of an impairment. `options` holds every option, including options that
    /// do not change. Held packets may then leave at other times, so the link's calendar entry `id`
    /// is moved.
    pub fn change_options(
        &mut self,
        place: usize,
        options: &Options,
        id: Component,
        now: Time,
        calendar: &mut Calendar,
    ) {
        if let Some(step) = self.steps.get_mut(place) {
            step.impairment.change(options);
        }
        self.enter_deadline(id, now, calendar);
    }

    /// Returns the number of packets that impairments hold or that are in the pen.
    pub fn packets(&self) -> u64 {
        let held = self.steps.iter().map(|step| step.impairment.held());
        self.pen.len() + held.sum::<u64>()
    }

    /// Returns when the link's delay, jitter and slots end for a packet that leaves the queue now.
    fn due(&mut self, now: Time, len: u16) -> Time {
        let due = now + self.delay;
        let Some(more) = &mut self.more else {
            self.last = due;
            return due;
        };
        self.last = more.leaves(due, len, Some(self.last));
        self.last
    }

    /// Passes a packet through all impairments. Returns whether the packet moves on at once.
    #[inline(always)] // inline, because it has one caller
    fn enter(&mut self, packet: &mut Packet, way: &mut Way, around: &mut Surroundings<'_>) -> bool {
        for place in 0..self.steps.len() {
            // An impairment that holds packets may release some of them together with this packet,
            // so handle all of them in order.
            if self.holding > 0 {
                self.pass(place, *packet, *way, around);
                return false;
            }
            match self.meet(place, packet, way, around) {
                Met::Passes | Met::Goes => {}
                Met::Twice => {
                    self.pass(place + 1, *packet, *way, around);
                    self.pass(place + 1, *packet, *way, around);
                    return false;
                }
                Met::Ends => {
                    self.release(place, around);
                    return false;
                }
            }
        }
        // If a packet in the pen is due now, that packet left the queue before this packet. So it
        // also leaves the pen before this packet.
        if way.due <= around.now && self.pen.due() > around.now {
            return true;
        }
        self.pen.push(way.due, packet);
        false
    }

    /// Passes a packet through the impairment with index `place` and all impairments after it.
    #[inline(never)]
    fn pass(
        &mut self,
        place: usize,
        mut packet: Packet,
        mut way: Way,
        around: &mut Surroundings<'_>,
    ) {
        if place == self.steps.len() {
            return self.pen.push(way.due, &packet);
        }
        match self.meet(place, &mut packet, &mut way, around) {
            Met::Passes => return self.pass(place + 1, packet, way, around),
            Met::Goes => self.pass(place + 1, packet, way, around),
            Met::Twice => {
                self.pass(place + 1, packet, way, around);
                self.pass(place + 1, packet, way, around);
            }
            Met::Ends => {}
        }
        self.release(place, around);
    }

    #[inline(always)] // inline, because a call would cost more than the function
    fn meet(
        &mut self,
        place: usize,
        packet: &mut Packet,
        way: &mut Way,
        around: &mut Surroundings<'_>,
    ) -> Met {
        let (step, now) = (&mut self.steps[place], around.now);
        if !step.concerns(packet, now) {
            return Met::Passes;
        }
        match step.impairment.meet(packet, way) {
            Fate::Goes => return Met::Goes,
            Fate::Twice => {
                around.ends[packet.flow as usize].entered += 1;
                if let Some(endpoints) = &mut around.endpoints {
                    endpoints.copied(packet);
                }
                return Met::Twice;
            }
            Fate::Marked if packet.ecn.is_capable() => {
                around.sink.mark(packet, Cause::PolicedMark, now);
                return Met::Goes;
            }
            Fate::Marked => around.sink.lose(packet, Cause::Policed, now),
            Fate::Lost(cause) => around.sink.lose(packet, cause, now),
            Fate::Held => {
                self.holding += usize::from(!step.holds);
                step.holds = true;
            }
        }
        Met::Ends
    }

    /// Passes each packet that impairment `place` releases now through the impairments after it.
    fn release(&mut self, place: usize, around: &mut Surroundings<'_>) {
        let now = around.now;
        if !self.steps[place].holds {
            return;
        }
        while let Some((packet, way)) = self.steps[place].impairment.release(now) {
            let due = way.due + now.since(way.now);
            self.pass(place + 1, packet, Way { now, due }, around);
        }
        let step = &mut self.steps[place];
        if step.impairment.held() == 0 {
            step.holds = false;
            self.holding -= 1;
        }
    }

    /// Returns when the pen or an impairment next releases a packet.
    fn deadline(&self) -> Time {
        let first = self.pen.due();
        if self.holding == 0 {
            return first;
        }
        let steps = self.steps.iter().filter(|step| step.holds);
        steps.fold(first, |first, step| first.min(step.impairment.deadline()))
    }

    /// Moves the link's calendar entry to the time at which a packet may next leave.
    pub fn enter_deadline(&mut self, id: Component, now: Time, calendar: &mut Calendar) {
        let next = match self.deadline() {
            Time::NEVER => Time::NEVER,
            next => next.max(now),
        };
        if next != self.entered {
            self.entered = next;
            calendar.move_to(id, next);
        }
    }
}

impl Network {
    /// Handles a packet that leaves a link with losses or impairments. Returns whether the packet
    /// moves on at once. If the packet does not move on, it is lost, held by an impairment, or in
    /// the pen.
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
        let mut way = Way {
            now,
            due: impaired.due(now, packet.len),
        };
        let mut around = Surroundings {
            sink: &mut here.sink,
            ends: &mut self.ends,
            endpoints: self.endpoints.as_deref_mut(),
            now,
        };
        let goes = impaired.enter(packet, &mut way, &mut around);
        impaired.enter_deadline(self.ids.used_pens + link, now, &mut self.calendar);
        goes
    }

    /// Takes the packets that are due out of a link's pen, and moves them to the next link or to
    /// their destination.
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
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        let pop = |network: &mut Network, packet: &mut Packet| {
            let impaired = network.impaired[index].as_mut();
            impaired.is_some_and(|impaired| impaired.pen.pop(now, packet))
        };
        while pop(self, &mut packet) {
            packet.hop += 1;
            self.arrive(&mut packet);
        }
        if let Some(impaired) = &mut self.impaired[index] {
            impaired.enter_deadline(id, now, &mut self.calendar);
        }
    }
}
