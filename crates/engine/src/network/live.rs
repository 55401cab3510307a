//! Changes that are applied while the run goes on. These changes affect links with their queues and
//! impairments, and the times at which flows and sources start and stop.
//!
//! Changes from the scenario and changes from outside ([`Network::change`]) are in one list, and
//! the same code applies them. So a change from outside has the same effect on the results as an
//! entry of `[[events]]` in the scenario.
//!
//! A change is applied after all other events at the same time.

use super::Network;
use super::build::mtu;
use super::connections::End;
use super::impaired::Impaired;
use crate::calendar::{Component, NOT_DUE};
use crate::packet::flags;
use crate::plan::{Change, EventPlan};
use crate::rng::Stream;
use crate::units::Time;

impl Network {
    /// Adds an event to a run that has not ended. The event's changes are applied at the time of
    /// the event, or now if this time has passed.
    pub fn change(&mut self, event: EventPlan) {
        let at = event.at.max(self.now);
        let place = self.changes.partition_point(|waiting| waiting.at <= at);
        self.changes.insert(place, EventPlan { at, ..event });
        self.await_change();
    }

    /// Removes all changes that are not yet applied.
    pub fn forget_changes(&mut self) {
        self.changes.clear();
        self.await_change();
    }

    /// Returns the number of changes that are not yet applied.
    pub fn waiting_changes(&self) -> usize {
        self.changes.len()
    }

    /// Enters the next change into the calendar.
    pub(super) fn await_change(&mut self) {
        let next = self.changes.front().map_or(Time::NEVER, |event| event.at);
        self.calendar.move_to(self.ids.changes, next);
    }

    /// Handles a calendar entry that belongs to a change or to a pen that was added during the run.
    /// Applies the change or releases packets from the pen.
    #[cold]
    #[inline(never)]
    pub(super) fn run_late(&mut self, component: Component) {
        if component != self.ids.changes {
            return self.run_pen(component, component - self.ids.used_pens);
        }
        if let Some(event) = self.changes.pop_front() {
            for change in &event.changes {
                self.apply(change);
            }
        }
        self.await_change();
    }

    fn apply(&mut self, change: &Change) {
        let now = self.now;
        match change {
            Change::Rate(link, rate) => {
                let id = self.ids.links + link;
                let due = self.calendar.due(id).filter(|due| *due < NOT_DUE);
                let link = &mut self.links[*link as usize];
                match link.change_rate(*rate, now, due) {
                    Some(again) if again < NOT_DUE => self.calendar.schedule(id, again),
                    Some(_) => self.calendar.cancel(id),
                    None => {}
                }
            }
            Change::Delay(link, delay) => {
                self.move_to_pen(*link);
                if let Some(impaired) = &mut self.impaired[*link as usize] {
                    impaired.change_delay(*delay);
                }
            }
            Change::Loss(link, probability) => {
                let (seed, plan) = (self.seed, &self.plan.links[*link as usize]);
                let stream = || Stream::new(seed, &plan.name, "loss");
                self.links[*link as usize].change_loss(*probability, stream);
            }
            Change::Queue(link, options) => {
                let mtu = mtu(&self.plan);
                self.links[*link as usize].change_queue(options, mtu, now);
            }
            Change::Impairment {
                link,
                place,
                options,
            } => {
                if let Some(impaired) = &mut self.impaired[*link as usize] {
                    let id = self.ids.used_pens + link;
                    let place = *place as usize;
                    impaired.change_options(place, options, id, now, &mut self.calendar);
                }
            }
            Change::Start(owner) => self.start_now(*owner),
            Change::Stop(owner) => self.stop_now(*owner),
        }
    }

    /// Moves the delay of a link from the link's pipe to a pen. Does nothing if the link already
    /// has a pen. Packets of this link that are in the pipe move to the pen too, so that they leave
    /// before later packets. The pipe may also hold packets of other links or hosts with the same
    /// delay. Such packets of other links or hosts stay in the pipe.
    fn move_to_pen(&mut self, link: u32) {
        let index = link as usize;
        let here = &mut self.links[index];
        here.impaired = true;
        if self.impaired[index].is_some() {
            return;
        }
        let mut impaired = Impaired::without_delay();
        if let Some(id) = here.pipe.take() {
            let pipe = &mut self.pipes[id as usize];
            if let Some(more) = &mut pipe.more {
                impaired.take_pipe(more);
            }
            for packet in std::mem::take(&mut pipe.packets).iter() {
                let path = &self.ends[packet.flow as usize].path;
                let hops = match packet.has(flags::ACK) {
                    true => &path.back,
                    false => &path.route,
                };
                let passed = usize::from(packet.hop).checked_sub(1);
                match passed.and_then(|hop| hops.get(hop)) {
                    Some(from) if *from == link => impaired.take_packet(packet),
                    _ => pipe.packets.push_back(*packet),
                }
            }
            let next = pipe.packets.front().map_or(Time::NEVER, |head| head.stamp);
            self.calendar.move_to(id, next);
            let pen = self.ids.used_pens + link;
            impaired.enter_deadline(pen, self.now, &mut self.calendar);
        }
        self.impaired[index] = Some(impaired);
    }

    /// Starts a flow or source now, if it has not started.
    fn start_now(&mut self, owner: u32) {
        let now = self.now;
        let Some(source) = owner.checked_sub(self.flows.len() as u32) else {
            let flow = &self.flows[owner as usize];
            let ends = &mut self.ends[owner as usize];
            let connection = ends.of_flow_mut();
            if connection.sender.has_started() {
                return;
            }
            connection.opened = now;
            ends.armed[End::Sender as usize] = now;
            self.calendar.schedule(self.ids.senders + owner, now);
            if flow.application.is_some() {
                self.calendar.schedule(self.ids.stops + owner, now);
            }
            return;
        };
        self.traffic[source as usize].start = now;
        self.calendar.schedule(self.ids.sources + source, now);
    }

    /// Stops a flow or source now.
    fn stop_now(&mut self, owner: u32) {
        let now = self.now;
        let Some(source) = owner.checked_sub(self.flows.len() as u32) else {
            self.flows[owner as usize].stop = Some(now);
            return self.stop_flow(self.ids.stops + owner, owner as usize);
        };
        self.traffic[source as usize].stop = Some(now);
        self.calendar.schedule(self.ids.sources + source, now);
    }
}
