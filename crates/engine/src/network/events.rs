//! Handles the events of components, and moves a packet from one component to the next.

use super::Network;
use crate::calendar::{Component, NOT_DUE};
use crate::link::Next;
use crate::packet::{Ecn, Packet, flags};
use crate::units::Time;

/// Ranges of component numbers. Simultaneous events are handled in the order of component numbers.
#[derive(Clone, Copy)]
pub(super) struct Ids {
    /// The first link. All component numbers below `links` belong to pipes.
    pub links: u32,
    /// Pens: the buffers of links with impairments, after the queue. If any link has impairments,
    /// every link has a pen. Nearly all events belong to pipes, links and pens.
    pub pens: u32,
    /// The number of the first pen that is in use. The value is `pens`, or `late_pens` if no link
    /// had impairments at the start.
    pub used_pens: u32,
    pub queue_timers: u32,
    pub rate_changes: u32,
    pub senders: u32,
    pub receivers: u32,
    pub sources: u32,
    /// Components that run the applications of flows, and that stop flows.
    pub stops: u32,
    pub warmup: u32,
    pub sampler: u32,
    /// Slots for connections of sources. Each slot has one number for its receiver, followed by one
    /// for its sender.
    pub slots: u32,
    /// Endpoints of programs. Each entry of `[[programs]]` has one number for its sender, followed
    /// by one for its receiver.
    pub endpoints: u32,
    /// Pens of links that get impairments only during the run. Each link has one late pen.
    pub late_pens: u32,
    /// Scheduled changes during the run. A change is applied after all other events at the same
    /// time.
    pub changes: u32,
}

impl Network {
    #[inline(always)] // inline in each caller, to save a call for every event
    pub(super) fn dispatch(&mut self, component: Component) {
        let ids = self.ids;
        if component < ids.links {
            self.run_pipe(component);
        } else if component < ids.pens {
            self.serve_link(component - ids.links);
        } else if component < ids.queue_timers {
            self.run_pen(component, component - ids.pens);
        } else if component < ids.rate_changes {
            self.run_queue_timer(component, (component - ids.queue_timers) as usize);
        } else if component < ids.senders {
            self.change_rate(component, (component - ids.rate_changes) as usize);
        } else if component < ids.receivers {
            self.run_sender((component - ids.senders) as usize);
            self.look_at_timers();
        } else if component < ids.sources {
            self.run_receiver((component - ids.receivers) as usize);
            self.look_at_timers();
        } else if component < ids.stops {
            self.run_source(component, (component - ids.sources) as usize);
        } else if component < ids.warmup {
            self.run_application(component, (component - ids.stops) as usize);
        } else if component == ids.warmup {
            self.calendar.cancel(component);
            self.end_warmup();
        } else if component == ids.sampler {
            self.sample();
            self.calendar
                .schedule(component, self.now + self.plan.record.interval);
        } else if component >= ids.late_pens {
            self.run_late(component);
        } else if component >= ids.endpoints {
            self.run_endpoint(component);
        } else {
            let slot = (component - ids.slots) / 2;
            let number = (self.first_slot + slot) as usize;
            match (component - ids.slots) % 2 {
                0 => self.run_receiver(number),
                _ => self.run_sender(number),
            }
        }
    }

    /// Moves the packets that leave a pipe now to the next link or to their destination.
    #[inline(always)]
    fn run_pipe(&mut self, id: Component) {
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        loop {
            let waiting = &mut self.pipes[id as usize].packets;
            if waiting.pop_if(&mut packet, |head| head.stamp <= self.now) {
                self.look_into_pipe(id, &packet);
                self.arrive(&mut packet);
                continue;
            }
            return match waiting.front() {
                None => self.calendar.cancel(id),
                Some(head) => self.calendar.schedule(id, head.stamp),
            };
        }
    }

    /// Moves a packet to the next link of its route, or to its destination.
    #[inline(always)]
    pub(super) fn arrive(&mut self, packet: &mut Packet) {
        let path = &self.ends[packet.flow as usize].path;
        let is_ack = packet.has(flags::ACK);
        let hops = if is_ack { &path.back } else { &path.route };
        if let Some(&link) = hops.get(usize::from(packet.hop)) {
            if self.links[link as usize].arrive(packet, self.now) {
                self.serve_link(link);
            }
            return;
        }
        if is_ack {
            self.deliver_ack(packet);
        } else {
            self.deliver_data(packet);
        }
    }

    /// Serves a link until no more packets leave at this time.
    fn serve_link(&mut self, link: u32) {
        let id = self.ids.links + link;
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        loop {
            let here = &mut self.links[link as usize];
            match here.serve(self.now, &mut packet) {
                Next::Leaves(again) => {
                    let (impaired, pipe) = (here.impaired, here.pipe);
                    self.calendar.schedule(id, again);
                    self.look_into_queue(link);
                    // Call `leave_link` only here, because the compiler does not inline a function
                    // that is called twice.
                    if !impaired || self.goes_on(link, &mut packet) {
                        self.leave_link(&mut packet, pipe);
                    }
                    if again > self.now {
                        return;
                    }
                }
                Next::Wait(time) if time < NOT_DUE => return self.calendar.schedule(id, time),
                Next::Wait(_) | Next::Idle => return self.calendar.cancel(id),
            }
        }
    }

    /// Moves a packet that leaves a link. The packet enters the pipe after the link. If the link
    /// has no pipe, the packet moves to the next link or to its destination.
    #[inline]
    fn leave_link(&mut self, packet: &mut Packet, pipe: Option<u32>) {
        packet.hop += 1;
        match pipe {
            None => self.arrive(packet),
            Some(pipe) => {
                if self.part.is_some() && self.crosses(packet, pipe) {
                    return;
                }
                self.pipes[pipe as usize].push(*packet, self.now, pipe, &mut self.calendar);
            }
        }
    }

    fn run_queue_timer(&mut self, id: Component, index: usize) {
        let link = &mut self.links[index];
        match link.queue.timer(self.now, &mut link.sink) {
            Some(next) => self.calendar.schedule(id, next.max(self.now + Time(1))),
            None => self.calendar.cancel(id),
        }
    }

    fn change_rate(&mut self, id: Component, index: usize) {
        let link = &mut self.links[index];
        if let Some(rate) = link.rate_now(self.now) {
            link.queue.rate_changed(rate, self.now);
        }
        match link.next_rate_change(self.now) {
            Some(time) => self.calendar.schedule(id, time),
            None => self.calendar.cancel(id),
        }
    }

    pub(super) fn stop_flow(&mut self, id: Component, index: usize) {
        self.calendar.cancel(id);
        if let Some(connection) = &mut self.ends[index].connection {
            self.flows[index].bytes_at_stop = Some(connection.delivered_bytes());
            connection.sender.stop();
            self.flows[index].application = None;
            if let Some(chunks) = &mut connection.chunks {
                (chunks.application, chunks.asks) = (None, None);
            }
        }
    }
}
