//! The main loop of the agent, which starts and stops flows, runs sources, and takes samples.
//!
//! Time is virtual: it stops while any process computes, and jumps to the next timer when all
//! processes wait. The time that a computation takes therefore cannot change the result. Only the
//! order of simultaneous events can change the result. This file determines the order of
//! simultaneous events.

mod open;
mod results;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::sync::Arc;

use tailback_guest::job::Job;
use tailback_guest::result::GuestResult;
use tailback_record::Series;

use super::capture::{self, Captures};
use super::clock::Clock;
use super::crowd::Crowd;
use super::datagrams::Datagrams;
use super::flow::Connection;
use super::io;
use super::link::LinkProbe;
use super::programs::{GRACE_NS, Programs, With};
use super::requests::Requests;
use super::setup::{self, Namespaces};
use super::sys::{self, Poll, Timer};
use super::tcp::Zeros;
use super::token::{self, ECHO, LISTENER, RECEIVER, SENDER, SENDER_RING, TIMER};
use super::token::{PROGRAM_EXIT, PROGRAM_OUTPUT};
use super::token::{REQUEST_CLIENT, REQUEST_LISTENER, REQUEST_SERVER};

/// Time between the set-up and the start of the run, in ns. The time is long enough for all effects
/// of the set-up to end.
const SETTLE_NS: u64 = 20_000_000;

/// Smallest uptime of the guest at the start of a run, in ns. Before its first dropping phase,
/// CoDel compares times with 0. If the machine has just started, CoDel treats 0 as a recent time.
/// In virtual time, waiting for this uptime costs nothing. In real time, a run starts without this
/// wait.
const UPTIME_NS: u64 = 10_000_000_000;

/// Length of a jiffy, in ns (HZ 1000).
const JIFFY_NS: u64 = 1_000_000;

/// A run begins when the number of jiffies is a multiple of this number. CUBIC's clock therefore
/// has the same phase in every run and in the simulator. Long timers, which fire at multiples of 8
/// or 64 jiffies, also have the same phase in every run.
const START_JIFFIES: u64 = 512;

/// Largest number of progress lines on the console.
const PROGRESS_STEPS: u64 = 500;

/// Shortest time between two progress lines, in ns.
const PROGRESS_NS: u64 = 100_000_000;

/// Kinds of scheduled events. The agent handles simultaneous events in the order of these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Warmup,
    End,
    Change(usize),
    Stop(usize),
    Kill(usize),
    Halt(usize),
    Start(usize),
    Launch(usize),
    Ask(usize),
    Act(usize),
    Datagram(usize),
    Drain,
    Look,
    Sample,
    Progress,
}

enum Player<'a> {
    Datagrams(Box<Datagrams<'a>>),
    Requests(Box<Requests<'a>>),
}

struct Runner<'a> {
    job: &'a Job,
    namespaces: &'a Namespaces,
    poll: Poll,
    timer: Timer,
    /// The time for which the timer is set. `None` once the timer has expired.
    armed: Option<u64>,
    due: BinaryHeap<Reverse<(u64, Due)>>,
    clock: Clock,
    /// The wall clock at the start of the run, in ns since 1970.
    clock_at_start_ns: u64,
    connections: Vec<Connection<'a>>,
    crowd: Option<Crowd>,
    players: Vec<Player<'a>>,
    programs: Programs<'a>,
    probes: Vec<LinkProbe>,
    captures: Captures,
    /// Number of packets that were sent since the captures were last read. Packets that links
    /// dropped are included.
    datagrams: u64,
    series: Series,
    zeros: Arc<Zeros>,
    warnings: Vec<String>,
    data_segments_before_warmup: u64,
}

pub fn run(job: &Job, namespaces: &Namespaces) -> Result<GuestResult, String> {
    let mut runner = Runner::new(job, namespaces)?;
    runner.play()?;
    runner.finish()
}

impl Runner<'_> {
    fn play(&mut self) -> Result<(), String> {
        let with = With {
            namespaces: self.namespaces,
            poll: &self.poll,
            timer: &self.timer,
        };
        self.programs.prepare(&with)?;
        let now = sys::monotonic_ns();
        let settle_ns = match self.clock.virtual_time {
            true => SETTLE_NS.max(UPTIME_NS.saturating_sub(now)),
            false => SETTLE_NS,
        };
        let mut origin_ns = now + settle_ns;
        if let Some(jiffies) = jiffies() {
            let then = jiffies + settle_ns / JIFFY_NS;
            let wait = then.next_multiple_of(START_JIFFIES) - jiffies;
            origin_ns = (now / JIFFY_NS + wait) * JIFFY_NS;
        }
        self.clock = Clock {
            origin_ns,
            ..self.clock
        };
        // The difference between the realtime clock and the monotonic clock is constant, because
        // nothing adjusts virtual time.
        let origin_of_captures = sys::realtime_ns() - now + origin_ns;
        self.clock_at_start_ns = origin_of_captures;
        self.captures.begin(origin_of_captures);
        for player in &mut self.players {
            if let Player::Datagrams(source) = player {
                source.begin(origin_of_captures);
            }
        }
        self.plan_first();
        println!("tailback: start");
        let mut happened = Vec::new();
        loop {
            let Some(&Reverse((at, _))) = self.due.peek() else {
                return Ok(());
            };
            if self.armed != Some(at) {
                self.timer
                    .set(self.clock.origin_ns + at)
                    .map_err(io("timer"))?;
                self.armed = Some(at);
            }
            self.poll.wait(&mut happened).map_err(io("epoll"))?;
            // Handle received packets before events that are scheduled for the same time.
            for &(token, events) in &happened {
                self.on_event(token, events)?;
            }
            if self.armed.is_some() {
                continue;
            }
            let now = self.clock.after(at);
            while let Some(&Reverse((at, due))) = self.due.peek() {
                if at > now {
                    break;
                }
                self.due.pop();
                if due == Due::End {
                    return Ok(());
                }
                self.on_due(at, due)?;
            }
        }
    }

    fn plan_first(&mut self) {
        let job = self.job;
        let mut players = self.players.iter();
        let players_of_datagrams = players.any(|p| matches!(p, Player::Datagrams(_)));
        let mut add = |at, due| self.due.push(Reverse((at, due)));
        add(job.duration_ns, Due::End);
        if job.warmup_ns > 0 {
            add(job.warmup_ns, Due::Warmup);
        }
        for (i, flow) in job.flows.iter().enumerate() {
            add(flow.start_ns, Due::Start(i));
            if flow.application.is_some() {
                add(flow.start_ns, Due::Act(i));
            }
            if let Some(stop) = flow.stop_ns {
                add(stop, Due::Stop(i));
            }
        }
        for (i, source) in job.sources.iter().enumerate() {
            add(source.start_ns, Due::Datagram(i));
        }
        for (i, program) in job.programs.iter().enumerate() {
            add(program.start_ns, Due::Launch(i));
            if let Some(stop) = program.stop_ns {
                add(stop, Due::Halt(i));
                add(stop + GRACE_NS, Due::Kill(i));
            }
        }
        for (i, change) in job.changes.iter().enumerate() {
            add(change.at_ns, Due::Change(i));
        }
        add(job.record.interval_ns, Due::Sample);
        if self.captures.watches() || players_of_datagrams {
            add(capture::drain_ns(job), Due::Drain);
        }
        if job.record.acks {
            add(JIFFY_NS, Due::Look);
        }
        add(0, Due::Progress);
    }

    fn on_due(&mut self, at: u64, due: Due) -> Result<(), String> {
        match due {
            Due::End => {}
            Due::Warmup => self.end_warmup()?,
            Due::Change(i) => setup::run_batch(self.namespaces, &self.job.changes[i].batch)?,
            Due::Start(i) => {
                self.connections[i].start(self.namespaces, &self.poll, &self.zeros)?;
            }
            Due::Stop(i) => self.connections[i].stop(&self.poll),
            Due::Launch(i) => {
                let with = With {
                    namespaces: self.namespaces,
                    poll: &self.poll,
                    timer: &self.timer,
                };
                self.programs.start(i, &with)?;
            }
            Due::Ask(i) => self.connections[i].ask(at),
            Due::Act(i) => self.act(i, at),
            Due::Halt(i) => self.programs.stop(i),
            Due::Kill(i) => self.programs.kill(i),
            Due::Datagram(i) => {
                let next = match &mut self.players[i] {
                    Player::Datagrams(source) => {
                        let before = source.sent();
                        let next = source.play(at)?;
                        self.datagrams += source.sent() - before;
                        next
                    }
                    Player::Requests(requests) => requests.play(at, self.namespaces, &self.poll)?,
                };
                if let Some(next) = next {
                    self.due.push(Reverse((next, due)));
                }
                if self.captures.fills(self.datagrams) {
                    self.drain(at);
                }
            }
            Due::Drain => {
                self.drain(at);
                let next = at + capture::drain_ns(self.job);
                self.due.push(Reverse((next, due)));
            }
            Due::Look => {
                // TCP's timers fire at jiffies, and the agent's main loop gets no event when they
                // fire.
                self.record_changes(None);
                self.due.push(Reverse((at + JIFFY_NS, due)));
            }
            Due::Sample => {
                self.sample(at)?;
                self.due
                    .push(Reverse((at + self.job.record.interval_ns, due)));
            }
            Due::Progress => {
                println!("tailback: at {at}");
                let step = (self.job.duration_ns / PROGRESS_STEPS).max(PROGRESS_NS);
                self.due.push(Reverse((at + step, due)));
            }
        }
        Ok(())
    }

    fn on_event(&mut self, token: u64, events: u32) -> Result<(), String> {
        let (clock, poll) = (self.clock, &self.poll);
        let (kind, index) = token::parts(token);
        match kind {
            TIMER => self.armed = None,
            LISTENER => self.connections[index].accept(clock, poll)?,
            SENDER => {
                if self.connections[index].hear() {
                    self.act(index, clock.now());
                }
                self.connections[index].write(&self.zeros);
            }
            RECEIVER => self.connections[index].read(clock, poll),
            SENDER_RING => self.record_changes(Some(index)),
            ECHO => {
                if let Some(Player::Datagrams(source)) = self.players.get_mut(index) {
                    source.answer()?;
                }
            }
            PROGRAM_EXIT | PROGRAM_OUTPUT => {
                let now = clock.now();
                self.programs.on_event(kind, index, now, poll)?;
            }
            kind => {
                let now = clock.now();
                let (source, client) = token::of_source(index);
                if let Some(Player::Requests(requests)) = self.players.get_mut(source) {
                    match kind {
                        REQUEST_LISTENER => requests.accept(now, &self.zeros, poll)?,
                        REQUEST_CLIENT => requests.read(client, now, poll),
                        REQUEST_SERVER => requests.serve(client, events, now, &self.zeros, poll),
                        _ => {}
                    }
                }
            }
        }
        if let LISTENER | RECEIVER = kind
            && let Some(at) = self.connections[index].take_asking()
        {
            self.due.push(Reverse((at, Due::Ask(index))));
        }
        Ok(())
    }

    fn act(&mut self, index: usize, now: u64) {
        if let Some(next) = self.connections[index].act(now, &self.zeros) {
            self.due.push(Reverse((next, Due::Act(index))));
        }
    }

    fn end_warmup(&mut self) -> Result<(), String> {
        for connection in &mut self.connections {
            self.data_segments_before_warmup += connection.end_warmup();
        }
        for player in &mut self.players {
            if let Player::Requests(requests) = player {
                self.data_segments_before_warmup += requests.end_warmup();
            }
        }
        self.probes.iter_mut().try_for_each(LinkProbe::end_warmup)
    }

    fn drain(&mut self, at: u64) {
        self.datagrams = 0;
        self.captures.drain(at);
        self.receive_datagrams();
    }

    fn receive_datagrams(&mut self) {
        for player in &mut self.players {
            if let Player::Datagrams(source) = player {
                source.receive();
            }
        }
    }

    /// Records the state of the senders in a namespace, or of all senders. Call this function when
    /// the senders may have received packets.
    fn record_changes(&mut self, namespace: Option<usize>) {
        let now = self.clock.now();
        for connection in &mut self.connections {
            if namespace.is_none_or(|n| connection.sends_from(n)) {
                connection.record_change(now, &mut self.series);
            }
        }
    }

    fn sample(&mut self, now: u64) -> Result<(), String> {
        let measured = now >= self.job.warmup_ns;
        if let Some(crowd) = &mut self.crowd {
            crowd.look().map_err(io("sock_diag"))?;
        }
        let interval_ns = self.job.record.interval_ns;
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let known = self.crowd.as_ref().map(|crowd| crowd.of(index));
            let known = known.unwrap_or_default();
            connection.sample(now, measured, interval_ns, known, &mut self.series);
        }
        self.captures.sample_programs(now);
        let mut probes = self.probes.iter_mut();
        probes.try_for_each(|probe| probe.sample(now, &mut self.series))
    }
}

fn jiffies() -> Option<u64> {
    let text = fs::read_to_string("/proc/timer_list").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("jiffies:"))?;
    line.trim().parse().ok()
}
