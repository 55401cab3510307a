//! Applications of flows. Applications write data, make the sender hold data back, and request
//! chunks. An application has one entry in the calendar. The same calendar entry also stops the
//! flow.
//!
//! A request is an ACK with payload, which the receiver sends. Until the answer begins to arrive,
//! the receiver repeats the request after a timeout. The timeout depends on the round-trip time of
//! the handshake.

use super::Network;
use super::connections::{Acting, End, Opener};
use crate::calendar::Component;
use crate::plan::FlowPlan;
use crate::traffic::application::{Act, Application, Writes};
use crate::units::Time;

/// Creates the application of a flow. Returns `None` if the flow always has data to send.
pub(super) fn of_flow(flow: &FlowPlan, mss: u64) -> Option<Box<Application>> {
    let writes = match (&flow.chunks, flow.rate) {
        (Some(chunks), _) => match chunks.every {
            Some(every) => Writes::Every {
                bytes: chunks.bytes.0,
                every,
                count: chunks.count,
            },
            None => Writes::Asked {
                bytes: chunks.bytes.0,
                count: chunks.count,
            },
        },
        (None, Some(rate)) => Writes::rate(rate, mss, flow.bytes.map(|bytes| bytes.0)),
        (None, None) if flow.pause.is_empty() => return None,
        (None, None) => Writes::Greedy,
    };
    Some(Box::new(Application::new(writes, flow.pause.clone())))
}

impl Network {
    /// Lets a flow's application write and request the data that is due. If the flow's stop time
    /// has come, stops the flow.
    pub(super) fn run_application(&mut self, id: Component, number: usize) {
        let now = self.now;
        let stop = self.flows[number].stop.unwrap_or(Time::NEVER);
        if stop <= now {
            return self.stop_flow(id, number);
        }
        let asks = self.ask_if_due(number);
        let writes = self.write(number);
        match asks.min(writes).min(stop) {
            Time::NEVER => self.calendar.cancel(id),
            next => self.calendar.schedule(id, next),
        }
    }

    /// Lets the application write the data that is due. Returns when the next write is due.
    fn write(&mut self, number: usize) -> Time {
        let now = self.now;
        let Some(application) = &mut self.flows[number].application else {
            return Time::NEVER;
        };
        let ends = &mut self.ends[number];
        let acting = ends.acting(End::Sender, &mut self.pipes, now, &mut self.calendar);
        let Some(Acting {
            connection,
            mut port,
            entry,
        }) = acting
        else {
            return Time::NEVER;
        };
        if let Some(chunks) = &connection.chunks {
            application.ask(chunks.requested);
        }
        let (sender, mut acted) = (&mut connection.sender, false);
        let next = loop {
            match application.next(now) {
                Act::Write(bytes) => {
                    if let Some(chunks) = &mut connection.chunks
                        && (chunks.asks.is_none() || chunks.arrived == 0)
                    {
                        chunks.begin(now);
                    }
                    sender.write(bytes, now, &mut port);
                }
                Act::Hold => sender.hold(),
                Act::Resume => sender.resume(now, &mut port),
                Act::Close => sender.close(),
                Act::Wait(next) => break next,
            }
            acted = true;
        };
        if acted && sender.has_started() {
            sender.note_limit();
            entry.rearm(sender.deadline(), port.calendar);
            self.after_sender(number, Opener::Flow);
        }
        next
    }

    /// Sends the receiver's request if it is due. Returns when the next request is due.
    fn ask_if_due(&mut self, number: usize) -> Time {
        let now = self.now;
        let ends = &mut self.ends[number];
        let acting = ends.acting(End::Receiver, &mut self.pipes, now, &mut self.calendar);
        let Some(mut end) = acting else {
            return Time::NEVER;
        };
        let connection = &mut *end.connection;
        let Some(chunks) = &mut connection.chunks else {
            return Time::NEVER;
        };
        let begun = connection.receiver.arrived() > chunks.arrived * chunks.segments;
        let Some(asks) = &mut chunks.asks else {
            return Time::NEVER;
        };
        if asks.due > now {
            return asks.due;
        }
        if begun {
            // The answer has begun to arrive, so the receiver need not repeat the request. If a
            // part of the answer is lost, TCP retransmits it.
            asks.due = Time::NEVER;
            return asks.due;
        }
        asks.due = now + asks.timeout(connection.receiver.rtt());
        asks.times += 1;
        let (due, payload, first) = (asks.due, asks.payload, asks.times == 1);
        if first {
            chunks.begin(now);
        }
        connection.receiver.ask(payload, &mut end.port);
        end.rearm_receiver();
        due
    }
}
