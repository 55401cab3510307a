//! The application of a flow, which limits the flow's rate. Determines how much data the
//! application may write now, and which chunks have arrived completely.

use std::collections::VecDeque;

use tailback_engine::traffic::application::{Act, Application as Machine, Writes};
use tailback_engine::units::{Rate, Time};
use tailback_guest::job::{Application as Plan, Chunks, Flow};
use tailback_record::{Completion, Completions};

pub struct Application<'a> {
    plan: &'a Plan,
    machine: Machine,
    warmup_ns: u64,
    /// Position in the stream up to which the application has written. TCP may not have accepted
    /// all of these bytes yet.
    pub handed_over: u64,
    held: bool,
    /// For each chunk that has not arrived completely, the time at which it was written or
    /// requested, in ns.
    begun: VecDeque<u64>,
    arrived: u64,
    started: u64,
    done: Vec<Completion>,
    /// Number of bytes of requests that the sender has read.
    heard: u64,
}

impl<'a> Application<'a> {
    pub fn of(flow: &'a Flow, warmup_ns: u64) -> Option<Application<'a>> {
        let plan = flow.application.as_ref()?;
        let writes = match (&plan.chunks, plan.rate_bit) {
            (Some(chunks), _) => match chunks.every_ns {
                Some(every) => Writes::Every {
                    bytes: chunks.bytes,
                    every: Time(every),
                    count: chunks.count,
                },
                None => Writes::Asked {
                    bytes: chunks.bytes,
                    count: chunks.count,
                },
            },
            (None, Some(rate)) => Writes::rate(Rate(rate), u64::from(flow.mss), flow.bytes),
            (None, None) => Writes::Greedy,
        };
        let pauses = plan.pauses.iter().map(|pause| pause.map(Time));
        let machine = Machine::new(writes, pauses.collect());
        Some(Application {
            handed_over: match machine.is_greedy() {
                true => flow.bytes.unwrap_or(u64::MAX),
                false => 0,
            },
            plan,
            machine,
            warmup_ns,
            held: false,
            begun: VecDeque::new(),
            arrived: 0,
            started: 0,
            done: Vec::new(),
            heard: 0,
        })
    }

    pub fn chunks(&self) -> Option<&'a Chunks> {
        self.plan.chunks.as_ref()
    }

    /// Performs the application's actions that are due. Returns the time of the application's next
    /// action, if an action is planned.
    pub fn act(&mut self, now: u64) -> Option<u64> {
        loop {
            match self.machine.next(Time(now)) {
                Act::Write(bytes) => {
                    let asks = self
                        .chunks()
                        .is_some_and(|chunks| chunks.think_ns.is_some());
                    if !asks || self.handed_over == 0 {
                        self.begin(now);
                    }
                    self.handed_over += bytes;
                }
                Act::Hold => self.held = true,
                Act::Resume => self.held = false,
                Act::Close => {}
                Act::Wait(Time::NEVER) => return None,
                Act::Wait(next) => return Some(next.ns()),
            }
        }
    }

    /// Returns the position up to which data may be written to the stream now. `written` is the
    /// number of bytes written so far.
    pub fn limit(&self, written: u64) -> u64 {
        if self.held { written } else { self.handed_over }
    }

    pub fn begin(&mut self, now: u64) {
        if self.plan.chunks.is_some() {
            self.begun.push_back(now);
            self.started += u64::from(now >= self.warmup_ns);
        }
    }

    /// Returns the position in the stream at which the next arriving chunk ends.
    pub fn next_end(&self) -> Option<u64> {
        Some((self.arrived + 1).saturating_mul(self.chunks()?.bytes))
    }

    /// Records how many bytes the receiver has read. Returns the time at which the receiver
    /// requests the next chunk, if it requests chunks.
    pub fn arrive(&mut self, read: u64, now: u64) -> Option<u64> {
        let chunks = self.chunks()?;
        let before = self.arrived;
        while self.next_end().is_some_and(|end| end <= read) {
            self.arrived += 1;
            if let Some(begun) = self.begun.pop_front().filter(|at| *at >= self.warmup_ns) {
                self.done.push(Completion {
                    at_ns: now,
                    bytes: chunks.bytes,
                    took_ns: now - begun,
                });
            }
        }
        let asks = self.arrived > before && chunks.count != Some(self.arrived);
        chunks.think_ns.filter(|_| asks).map(|think| now + think)
    }

    pub fn is_over(&self) -> bool {
        let count = self.chunks().and_then(|chunks| chunks.count);
        count.is_some_and(|count| count == self.arrived)
    }

    pub fn hear(&mut self, bytes: u64) {
        self.heard += bytes;
        if let Some(chunks) = self.chunks() {
            self.machine.ask(1 + self.heard / u64::from(chunks.request));
        }
    }

    pub fn completions(&self) -> Option<Box<Completions>> {
        let chunks = self.chunks()?;
        Some(Box::new(Completions {
            started: self.started,
            refused: 0,
            rate_bit: chunks.rate_bit,
            rtt_ns: chunks.rtt_ns,
            most_bytes: chunks.bytes,
            done: self.done.clone(),
        }))
    }
}
