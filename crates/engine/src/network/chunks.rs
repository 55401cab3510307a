//! The chunks of one connection: when each chunk was written or requested, and when it arrived.

use std::collections::VecDeque;

use tailback_record::{Completion, Completions};

use crate::calendar::{Calendar, Component};
use crate::plan::{ChunksPlan, FlowPlan};
use crate::units::Time;

pub(super) struct Chunks {
    pub bytes: u64,
    pub segments: u64,
    /// Total number of chunks. `None` means no limit.
    count: Option<u64>,
    /// The times at which chunks were written or requested, for chunks that have not arrived yet.
    /// The oldest chunk is first.
    begun: VecDeque<Time>,
    pub arrived: u64,
    pub asks: Option<Asks>,
    /// The number of the last chunk that was requested, counted from 1.
    pub requested: u64,
    /// The calendar component of the flow's application. `None` once the flow has stopped.
    pub application: Option<Component>,
    warmup: Time,
    /// Number of chunks that began after the warm-up.
    started: u64,
    done: Vec<Completion>,
}

pub(super) struct Asks {
    think: Time,
    pub payload: u16,
    min_rto: Time,
    /// When the receiver next requests a chunk, or repeats its last request.
    pub due: Time,
    /// How many times the next chunk has been requested.
    pub times: u32,
}

/// Largest number of times that a timeout doubles. With this limit, a timeout of 200 ms stays below
/// Linux's maximum of 120 s.
const MOST_DOUBLINGS: u32 = 9;

impl Chunks {
    pub fn new(
        plan: &ChunksPlan,
        mss: u64,
        flow: &FlowPlan,
        warmup: Time,
        application: Component,
    ) -> Chunks {
        Chunks {
            bytes: plan.bytes.0,
            segments: plan.bytes.0.div_ceil(mss),
            count: plan.count,
            begun: VecDeque::new(),
            arrived: 0,
            asks: plan.think.map(|think| Asks {
                think,
                payload: plan.request,
                min_rto: flow.tcp.min_rto,
                due: Time::NEVER,
                times: 0,
            }),
            requested: 1,
            application: Some(application),
            warmup,
            started: 0,
            done: Vec::new(),
        }
    }

    pub fn begin(&mut self, now: Time) {
        self.begun.push_back(now);
        self.started += u64::from(now >= self.warmup);
    }

    /// Records the chunks that are complete once `segments` segments have arrived in total. If a
    /// chunk is complete, schedules the request for the next chunk. Returns the total number of
    /// segments at which the next chunk is complete.
    #[cold]
    pub fn arrive(&mut self, segments: u64, now: Time, calendar: &mut Calendar) -> u64 {
        while (self.arrived + 1) * self.segments <= segments {
            self.arrived += 1;
            if let Some(begun) = self.begun.pop_front()
                && begun >= self.warmup
            {
                self.done.push(Completion {
                    at_ns: now.ns(),
                    bytes: self.bytes,
                    took_ns: now.since(begun).ns(),
                });
            }
        }
        let over = self.count == Some(self.arrived);
        if let Some(asks) = &mut self.asks {
            asks.times = 0;
            asks.due = if over { Time::NEVER } else { now + asks.think };
            if let (Some(application), false) = (self.application, over) {
                // The application sends a request only if the request is due, so it is harmless to
                // schedule the application too early.
                calendar.schedule(application, now);
            }
        }
        if over {
            return u64::MAX;
        }
        (self.arrived + 1) * self.segments
    }

    /// Handles a request from a receiver that has received `segments` segments in total.
    #[cold]
    pub fn request(&mut self, segments: u64, now: Time, calendar: &mut Calendar) {
        let wanted = segments / self.segments + 1;
        if wanted > self.requested
            && let Some(application) = self.application
        {
            self.requested = wanted;
            calendar.schedule(application, now);
        }
    }

    pub fn completions(&mut self, rate_bit: u64, rtt: Time) -> Completions {
        Completions {
            started: self.started,
            refused: 0,
            rate_bit,
            rtt_ns: rtt.ns(),
            most_bytes: self.bytes,
            done: std::mem::take(&mut self.done),
        }
    }
}

impl Asks {
    /// Returns how long the receiver waits before it repeats a request, if the handshake took
    /// `rtt`.
    pub fn timeout(&self, rtt: Time) -> Time {
        let first = rtt + Time(2 * rtt.ns()).max(self.min_rto);
        Time(first.ns() << self.times.min(MOST_DOUBLINGS))
    }
}
