//! Changes while a run goes on: of links, their queues and impairments, and of the times at which
//! flows and sources start and stop.
//!
//! Changes of the scenario and changes from outside ([`Network::change`]) wait in one list and are
//! applied by the same code. So a run that was changed from outside has the same results as a
//! scenario that contains the changes as `[[events]]`.
//!
//! A change is applied after everything else that happens at the same time.

use super::Network;
use super::build::mtu;
use super::connections::End;
use super::impaired::Impaired;
use super::pipe::More;
use crate::calendar::{Component, NOT_DUE};
use crate::plan::{Change, EventPlan};
use crate::rng::Stream;
use crate::units::Time;

impl Network {
    /// Adds changes to a run that has not ended. They are applied at the time of the event, or now
    /// if this time is past.
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

    /// Enters the next change into the calendar.
    pub(super) fn await_change(&mut self) {
        let next = self.changes.front().map_or(Time::NEVER, |event| event.at);
        self.calendar.move_to(self.ids.changes, next);
    }

    /// Applies changes that are due, or releases packets of a pen that was added during the run.
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
                self.with_pen(*link).change_delay(*delay);
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

    /// Returns the impairments of a link. If the link has none, its delay moves from its pipe to a
    /// pen. Packets in the pipe stay there, and later packets leave the pen after them.
    fn with_pen(&mut self, link: u32) -> &mut Impaired {
        let index = link as usize;
        let here = &mut self.links[index];
        let pipes = &mut self.pipes;
        here.impaired = true;
        self.impaired[index].get_or_insert_with(|| {
            let pipe = here.pipe.take().map(|pipe| &mut pipes[pipe as usize]);
            let last = pipe.as_ref().and_then(|pipe| pipe.packets.back());
            let last = last.map_or(Time::ZERO, |packet| packet.stamp);
            let more = pipe.and_then(|pipe| pipe.more.as_mut());
            let more = more.map_or_else(More::default, |more| More {
                jitter: more.jitter.take(),
                slots: more.slots.take(),
                part: None,
            });
            Impaired::after_pipe(more, last)
        })
    }

    /// Starts a flow or source that has not started.
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

    /// Stops a flow or source.
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
