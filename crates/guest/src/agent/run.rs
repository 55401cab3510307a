//! The main loop: starts and stops flows, plays sources, takes samples.
//!
//! Time is virtual: it stands still while anything runs and jumps to the next
//! timer when nothing does. So the order of what is due at one moment is all
//! that matters, and it is fixed here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};

use tailback_engine::packet::Ecn;
use tailback_engine::registry;
use tailback_engine::rng::Stream;
use tailback_engine::traffic::{self, Step};
use tailback_engine::units::Time;
use tailback_guest::job::{Flow, Job, Source, Tool};
use tailback_guest::result::{Environment, GuestResult};
use tailback_record::{FlowOutcome, Outcome, Series, SeriesId, Totals, TrafficOutcome};

use super::capture::Captures;
use super::qdisc::{Probe, Statistics};
use super::setup::{self, Namespaces};
use super::sys::{self, EDGE, Poll, READABLE, Socket, Timer, WRITABLE};
use super::tcp::{self, Info};
use super::web::{Tokens, Web};

/// Between set-up and the start of the run, ns: whatever the set-up has
/// caused is over.
const SETTLE_NS: u64 = 20_000_000;

/// A jiffy, ns (HZ 1000).
const JIFFY_NS: u64 = 1_000_000;

/// A run begins with a jiffy that is a multiple of this: CUBIC's clock and
/// timers, which fire at multiples of 8 or 64 jiffies if they lie far ahead,
/// have the same phase in every run, that of the simulator.
const START_JIFFIES: u64 = 512;

/// Between two looks at the captures, ns.
const DRAIN_NS: u64 = 50_000_000;

/// How often the console hears how far the run is.
const PROGRESS_STEPS: u64 = 500;

/// An infinite slow-start threshold as Linux has it.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// UDP, IPv4 and Ethernet headers, bytes.
const DATAGRAM_HEADERS: u16 = 8 + 20 + 14;

/// What is due at a time; what comes first here comes first at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Warmup,
    End,
    Change(usize),
    Stop(usize),
    Start(usize),
    Datagram(usize),
    Drain,
    Look,
    Sample,
    Progress,
}

/// What a descriptor is for.
const TIMER: u64 = 0;
const LISTENER: u64 = 1;
const SENDER: u64 = 2;
const RECEIVER: u64 = 3;
const SENDER_RING: u64 = 4;
const WEB_LISTENER: u64 = 5;
const WEB_CLIENT: u64 = 6;
const WEB_SERVER: u64 = 7;

/// Where the number of a source begins in the index of a token, above that of a client.
const WEB_SOURCE_BITS: u32 = 16;

fn token(kind: u64, index: usize) -> u64 {
    kind << 32 | index as u64
}

/// A flow under way.
struct Connection<'a> {
    flow: &'a Flow,
    listener: Option<Socket>,
    sender: Option<Socket>,
    receiver: Option<Socket>,
    written: u64,
    read: u64,
    finished_writing: bool,
    /// At the end of the warm-up: of the sender and the receiver.
    base: [Info; 2],
    /// As it was when the flow was stopped.
    at_stop: Option<[Info; 2]>,
    completed_ns: Option<u64>,
    stopped: bool,
    srtt_sum_ns: u128,
    srtt_samples: u64,
    rwnd_limited_samples: u64,
    rwnd_limited_us: u64,
    recorded_cwnd: u32,
    /// As it was when it was last recorded after an ACK.
    recorded: Info,
    series: Option<FlowSeries>,
    error: Option<String>,
}

struct FlowSeries {
    cwnd: SeriesId,
    ssthresh: SeriesId,
    srtt: SeriesId,
    in_flight: SeriesId,
    delivered: SeriesId,
    alpha: Option<SeriesId>,
    /// Congestion state and acknowledged bytes, if the state is recorded after every ACK.
    acks: Option<(SeriesId, SeriesId)>,
}

struct LinkProbe {
    probe: Probe,
    /// At the end of the warm-up.
    base: Statistics,
    series: Option<LinkSeries>,
}

struct LinkSeries {
    packets: SeriesId,
    bytes: SeriesId,
    /// CoDel's count and dropping.
    codel: Option<[SeriesId; 2]>,
}

/// A source under way.
struct Playing<'a> {
    source: &'a Source,
    machine: Box<dyn traffic::Source>,
    socket: Socket,
    sink: Socket,
    ecn: Option<Ecn>,
    number: u64,
    payload: Vec<u8>,
    sent_packets: u64,
    received_packets: u64,
    received_bytes: u64,
}

/// A source under way, of either sort.
enum Player<'a> {
    Datagrams(Playing<'a>),
    Requests(Web<'a>),
}

struct Runner<'a> {
    job: &'a Job,
    namespaces: &'a Namespaces,
    poll: Poll,
    timer: Timer,
    due: BinaryHeap<Reverse<(u64, Due)>>,
    /// Start of the run on the monotonic clock, ns.
    origin_ns: u64,
    connections: Vec<Connection<'a>>,
    players: Vec<Player<'a>>,
    probes: Vec<LinkProbe>,
    captures: Captures,
    series: Series,
    zeros: File,
    warnings: Vec<String>,
    data_segments_before_warmup: u64,
}

/// Runs a job in its namespaces.
pub fn run(job: &Job, namespaces: &Namespaces) -> Result<GuestResult, String> {
    let mut runner = Runner::new(job, namespaces)?;
    runner.play()?;
    runner.finish()
}

fn io(what: &str) -> impl Fn(std::io::Error) -> String {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}

impl<'a> Runner<'a> {
    fn new(job: &'a Job, namespaces: &'a Namespaces) -> Result<Runner<'a>, String> {
        let mut series = Series::default();
        let poll = Poll::new().map_err(io("epoll"))?;
        let timer = Timer::new().map_err(io("timer"))?;
        poll.add(timer.fd(), READABLE, token(TIMER, 0))
            .map_err(io("epoll"))?;
        let captures = Captures::open(job, namespaces).map_err(io("captures"))?;
        let mut probes = Vec::new();
        for link in &job.links {
            namespaces.enter(link.namespace)?;
            let what = format!("statistics of {}", link.name);
            let probe = Probe::new(&link.device, &link.kind).map_err(io(&what))?;
            let name = Some(link.name.as_str());
            probes.push(LinkProbe {
                probe,
                base: Statistics::default(),
                series: job.record.series.then(|| LinkSeries {
                    packets: series.id(None, name, "backlog_packets"),
                    bytes: series.id(None, name, "backlog_bytes"),
                    codel: (link.kind == "codel").then(|| {
                        ["codel_count", "codel_dropping"].map(|q| series.id(None, name, q))
                    }),
                }),
            });
        }
        let mut connections = Vec::new();
        for (index, flow) in job.flows.iter().enumerate() {
            namespaces.enter(flow.receiver)?;
            let listener = tcp::listener(flow).map_err(io(&flow.name))?;
            poll.add(listener.fd(), READABLE, token(LISTENER, index))
                .map_err(io("epoll"))?;
            let recorded = job.record.series.then(|| {
                let mut id = |quantity: &str| series.id(Some(&flow.name), None, quantity);
                FlowSeries {
                    cwnd: id("cwnd"),
                    ssthresh: id("ssthresh"),
                    srtt: id("srtt_ns"),
                    in_flight: id("in_flight"),
                    delivered: id("delivered_bytes"),
                    alpha: (flow.cc == "dctcp").then(|| id("alpha")),
                    acks: job.record.acks.then(|| (id("ca_state"), id("acked_bytes"))),
                }
            });
            connections.push(Connection {
                flow,
                listener: Some(listener),
                sender: None,
                receiver: None,
                written: 0,
                read: 0,
                finished_writing: false,
                base: [Info::default(); 2],
                at_stop: None,
                completed_ns: None,
                stopped: false,
                srtt_sum_ns: 0,
                srtt_samples: 0,
                rwnd_limited_samples: 0,
                rwnd_limited_us: 0,
                recorded_cwnd: 0,
                recorded: Info::default(),
                series: recorded,
                error: None,
            });
        }
        let mut players = Vec::new();
        for (index, source) in job.sources.iter().enumerate() {
            players.push(open_player(index, source, (job, namespaces, &poll))?);
        }
        if job.record.changes || job.record.acks {
            for (namespace, fd) in captures.sender_rings() {
                poll.add(fd, READABLE | EDGE, token(SENDER_RING, namespace))
                    .map_err(io("epoll"))?;
            }
        }
        Ok(Runner {
            job,
            namespaces,
            poll,
            timer,
            due: BinaryHeap::new(),
            origin_ns: 0,
            connections,
            players,
            probes,
            captures,
            series,
            zeros: sys::zeros(tcp::ZEROS).map_err(io("payload"))?,
            warnings: Vec::new(),
            data_segments_before_warmup: 0,
        })
    }

    fn play(&mut self) -> Result<(), String> {
        let now = sys::monotonic_ns();
        self.origin_ns = now + SETTLE_NS;
        if let Some(jiffies) = jiffies() {
            let then = jiffies + SETTLE_NS / JIFFY_NS;
            let wait = then.next_multiple_of(START_JIFFIES) - jiffies;
            self.origin_ns = (now / JIFFY_NS + wait) * JIFFY_NS;
        }
        // The clocks differ by a constant: virtual time is adjusted by nobody.
        self.captures
            .begin(sys::realtime_ns() - now + self.origin_ns);
        self.plan_first();
        println!("tailback: start");
        let mut happened = Vec::new();
        loop {
            let Some(&Reverse((at, _))) = self.due.peek() else {
                return Ok(());
            };
            self.timer.set(self.origin_ns + at).map_err(io("timer"))?;
            self.poll.wait(&mut happened).map_err(io("epoll"))?;
            // What packets have caused comes before what is due.
            for &(token, events) in &happened {
                self.on_event(token, events)?;
            }
            let now = sys::monotonic_ns().saturating_sub(self.origin_ns);
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
        let mut add = |at, due| self.due.push(Reverse((at, due)));
        add(job.duration_ns, Due::End);
        if job.warmup_ns > 0 {
            add(job.warmup_ns, Due::Warmup);
        }
        for (i, flow) in job.flows.iter().enumerate() {
            add(flow.start_ns, Due::Start(i));
            if let Some(stop) = flow.stop_ns {
                add(stop, Due::Stop(i));
            }
        }
        for (i, source) in job.sources.iter().enumerate() {
            add(source.start_ns, Due::Datagram(i));
        }
        for (i, change) in job.changes.iter().enumerate() {
            add(change.at_ns, Due::Change(i));
        }
        add(job.record.interval_ns, Due::Sample);
        add(DRAIN_NS, Due::Drain);
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
            Due::Start(i) => self.start(i)?,
            Due::Stop(i) => self.stop(i),
            Due::Datagram(i) => {
                let next = match &mut self.players[i] {
                    Player::Datagrams(playing) => playing.play(at, self.job.warmup_ns)?,
                    Player::Requests(web) => web.play(at, self.namespaces, &self.poll)?,
                };
                if let Some(next) = next {
                    self.due.push(Reverse((next, due)));
                }
            }
            Due::Drain => {
                self.captures.drain(at, &mut self.series);
                self.receive_datagrams(at);
                self.due.push(Reverse((at + DRAIN_NS, due)));
            }
            Due::Look => {
                // TCP's timers fire with jiffies; nothing tells of them.
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
                let step = (self.job.duration_ns / PROGRESS_STEPS).max(1_000_000);
                self.due.push(Reverse((at + step, due)));
            }
        }
        Ok(())
    }

    fn on_event(&mut self, token: u64, events: u32) -> Result<(), String> {
        let index = (token & 0xffff_ffff) as usize;
        match token >> 32 {
            TIMER => self.timer.clear(),
            LISTENER => self.accept(index)?,
            SENDER => self.write(index, events),
            RECEIVER => self.read(index),
            SENDER_RING => self.record_changes(Some(index)),
            kind => self.on_request(kind, index, events)?,
        }
        Ok(())
    }

    /// Something has happened to a connection of a source.
    fn on_request(&mut self, kind: u64, index: usize, events: u32) -> Result<(), String> {
        let now = sys::monotonic_ns().saturating_sub(self.origin_ns);
        let (source, place) = (
            index >> WEB_SOURCE_BITS,
            index & ((1 << WEB_SOURCE_BITS) - 1),
        );
        if let Some(Player::Requests(web)) = self.players.get_mut(source) {
            match kind {
                WEB_LISTENER => web.accept(&self.zeros, &self.poll)?,
                WEB_CLIENT => web.read(place, now, &self.poll),
                WEB_SERVER => web.serve(place, events, &self.zeros, &self.poll),
                _ => {}
            }
        }
        Ok(())
    }

    fn start(&mut self, index: usize) -> Result<(), String> {
        let connection = &mut self.connections[index];
        let flow = connection.flow;
        self.namespaces.enter(flow.sender)?;
        let what = format!("flow {} ({})", flow.name, flow.kernel_cc);
        let socket = tcp::sender(flow).map_err(io(&what))?;
        socket
            .connect(flow.receiver_address, flow.port)
            .map_err(io(&what))?;
        self.poll
            .add(socket.fd(), WRITABLE | EDGE, token(SENDER, index))
            .map_err(io(&what))?;
        connection.sender = Some(socket);
        Ok(())
    }

    fn accept(&mut self, index: usize) -> Result<(), String> {
        let connection = &mut self.connections[index];
        let Some(listener) = connection.listener.take() else {
            return Ok(());
        };
        let name = &connection.flow.name;
        let socket = match listener.accept() {
            Ok(socket) => socket,
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                connection.listener = Some(listener);
                return Ok(());
            }
            Err(e) => return Err(format!("flow {name}: accept: {e}")),
        };
        tcp::accepted(connection.flow, &socket).map_err(io(name))?;
        self.poll
            .add(socket.fd(), READABLE, token(RECEIVER, index))
            .map_err(io(name))?;
        connection.receiver = Some(socket);
        self.read(index);
        Ok(())
    }

    fn write(&mut self, index: usize, _events: u32) {
        let connection = &mut self.connections[index];
        let (Some(socket), false) = (&connection.sender, connection.stopped) else {
            return;
        };
        match tcp::write(connection.flow, socket, &self.zeros, connection.written) {
            Ok(written) => connection.written = written,
            Err(e) => {
                if e.raw_os_error() != Some(libc::ENOTCONN) {
                    connection.error.get_or_insert(format!("write: {e}"));
                }
                return;
            }
        }
        if connection.flow.bytes == Some(connection.written) && !connection.finished_writing {
            connection.finished_writing = true;
            // Without it the receiver would not know; a failure shows as no completion.
            let _ = socket.finish();
        }
    }

    fn read(&mut self, index: usize) {
        let now = sys::monotonic_ns().saturating_sub(self.origin_ns);
        let connection = &mut self.connections[index];
        let Some(socket) = &connection.receiver else {
            return;
        };
        match tcp::read(connection.flow, socket, connection.read) {
            Ok(read) => connection.read = read,
            Err(e) => {
                connection.error.get_or_insert(format!("read: {e}"));
            }
        }
        if connection.completed_ns.is_none()
            && connection.flow.bytes.is_some_and(|b| connection.read >= b)
        {
            connection.completed_ns = Some(now);
        }
        let ended = connection.error.is_some() || connection.completed_ns.is_some();
        if ended {
            // A socket at its end can be read for ever.
            let _ = self.poll.remove(socket.fd());
        }
    }

    /// Ends a flow as the simulator does: nothing new is sent. What TCP holds
    /// cannot be taken back, so the connection ends.
    fn stop(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.at_stop = Some(connection.infos());
        connection.stopped = true;
        if let Some(socket) = connection.receiver.take() {
            let _ = self.poll.remove(socket.fd());
        }
        if let Some(socket) = connection.sender.take() {
            let _ = self.poll.remove(socket.fd());
            let _ = socket.abort();
        }
    }

    fn end_warmup(&mut self) -> Result<(), String> {
        self.receive_datagrams(self.job.warmup_ns.saturating_sub(1));
        for connection in &mut self.connections {
            connection.base = connection.infos();
            self.data_segments_before_warmup += u64::from(connection.base[0].data_segments);
            connection.rwnd_limited_us = connection.base[0].rwnd_limited_us;
        }
        for player in &mut self.players {
            if let Player::Requests(web) = player {
                self.data_segments_before_warmup += web.end_warmup();
            }
        }
        for link in &mut self.probes {
            link.base = link
                .probe
                .read()
                .map_err(io("statistics"))?
                .unwrap_or_default();
        }
        Ok(())
    }

    fn receive_datagrams(&mut self, now: u64) {
        for player in &mut self.players {
            if let Player::Datagrams(playing) = player {
                playing.receive(now >= self.job.warmup_ns);
            }
        }
    }

    /// The senders of a namespace, or all, may have heard something.
    fn record_changes(&mut self, namespace: Option<usize>) {
        let now = sys::monotonic_ns().saturating_sub(self.origin_ns);
        for connection in &mut self.connections {
            if namespace.is_some_and(|n| connection.flow.sender != n) {
                continue;
            }
            let (Some(socket), Some(ids)) = (&connection.sender, &connection.series) else {
                continue;
            };
            let Ok(info) = tcp::info(socket) else {
                continue;
            };
            if ids.acks.is_some() {
                connection.record_ack(now, &info, &mut self.series);
            } else if info.cwnd != connection.recorded_cwnd && info.srtt_us > 0 {
                connection.recorded_cwnd = info.cwnd;
                self.series.push(ids.cwnd, now, f64::from(info.cwnd));
            }
        }
    }

    fn sample(&mut self, now: u64) -> Result<(), String> {
        let measured = now >= self.job.warmup_ns;
        for connection in &mut self.connections {
            connection.sample(now, measured, self.job.record.interval_ns, &mut self.series);
        }
        for link in &mut self.probes {
            if let Some(ids) = &link.series {
                let statistics = link
                    .probe
                    .read()
                    .map_err(io("statistics"))?
                    .unwrap_or_default();
                self.series
                    .push(ids.packets, now, f64::from(statistics.packets));
                self.series
                    .push(ids.bytes, now, f64::from(statistics.bytes));
                for (id, value) in ids
                    .codel
                    .iter()
                    .flatten()
                    .zip(statistics.codel.iter().flatten())
                {
                    self.series.push(*id, now, f64::from(*value));
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<GuestResult, String> {
        let job = self.job;
        let end = job.duration_ns;
        // Before anything else: what the kernel has now is what it had at the end.
        let infos: Vec<[Info; 2]> = self.connections.iter().map(Connection::infos).collect();
        let webs: Vec<Option<TrafficOutcome>> = self
            .players
            .iter()
            .map(|player| match player {
                Player::Datagrams(_) => None,
                Player::Requests(web) => Some(web.outcome(job)),
            })
            .collect();
        self.captures.drain(end, &mut self.series);
        self.receive_datagrams(end);
        let mut outcome = Outcome {
            duration_ns: end,
            warmup_ns: job.warmup_ns,
            data_packets: self.data_segments_before_warmup,
            unwatched: !self.captures.on(),
            ..Outcome::default()
        };
        let capturing = self.captures.on();
        for (index, probe) in self.probes.iter_mut().enumerate() {
            let statistics = probe.probe.read().map_err(io("statistics"))?;
            let queue = &mut self.captures.queues[index];
            queue.finish(
                statistics.map(|s| u64::from(s.packets)),
                statistics.map(|s| u64::from(s.drops)),
                statistics.and_then(|s| s.marks).map(u64::from),
                &mut self.series,
            );
            if queue.strangers > 0 {
                self.warnings.push(format!(
                    "link {}: {} packets left the queue that were not seen entering it",
                    job.links[index].name, queue.strangers
                ));
            }
            if let Some(statistics) = statistics
                && !capturing
            {
                let counted = statistics.since(&probe.base);
                queue.outcome.packets = u64::from(counted.sent_packets);
                queue.outcome.bytes = counted.sent_bytes;
                queue.outcome.totals = Some(Totals {
                    drops: u64::from(counted.drops),
                    marks: counted.marks.map(u64::from),
                });
            }
            if let Some(statistics) = statistics
                && capturing
                && u64::from(statistics.drops) != queue.dropped
            {
                self.warnings.push(format!(
                    "link {}: the queue counts {} drops, the captures show {}",
                    job.links[index].name, statistics.drops, queue.dropped
                ));
            }
        }
        if job.offloads {
            self.warnings.push(
                "offloads are on: packets of up to 64 kB pass the queues, and are counted, as one"
                    .to_owned(),
            );
        }
        outcome.packets = self
            .captures
            .finish_packets()
            .map_err(io("packets.pcapng"))?;
        for (index, connection) in self.connections.iter().enumerate() {
            let now = connection.at_stop.unwrap_or(infos[index]);
            let mut flow = connection.outcome(now, job);
            outcome.data_packets += flow.packets;
            flow.rtt = self.captures.take_rtt(index);
            for queue in &self.captures.queues {
                flow.counts.merge(queue.counts_of(index));
            }
            outcome.flows.push(flow);
            if let Some(error) = &connection.error {
                self.warnings
                    .push(format!("flow {}: {error}", connection.flow.name));
            }
        }
        let owners = job.owners();
        for (index, (player, web)) in self.players.iter().zip(webs).enumerate() {
            let mut source = match (player, web) {
                (Player::Datagrams(playing), _) => playing.outcome(job),
                (Player::Requests(web), known) => {
                    self.warnings.extend(web.warning());
                    known.unwrap_or_default()
                }
            };
            let number = (self.connections.len() + index) as u32;
            for (place, _) in owners.iter().enumerate().filter(|(_, o)| **o == number) {
                for queue in &self.captures.queues {
                    source.counts.merge(queue.counts_of(place));
                }
            }
            if let Some(completions) = &source.completions {
                outcome.data_packets += source.sent_packets;
                if job.record.series {
                    completions.rows(&source.name, &mut self.series);
                }
            }
            outcome.traffic.push(source);
        }
        let queues = (0..).zip(&mut self.captures.queues).zip(&job.links);
        let classes = queues.flat_map(|((i, queue), link)| queue.finish_classes(i, &link.rates));
        outcome.set_classes(classes.collect());
        outcome.links = self
            .captures
            .queues
            .iter_mut()
            .map(|q| std::mem::take(&mut q.outcome))
            .collect();
        outcome.series = std::mem::take(&mut self.series);
        if job.record.series {
            outcome.record_samples();
        }
        outcome.events = self.captures.captured;
        let environment = self.environment()?;
        Ok(GuestResult {
            outcome,
            environment,
        })
    }

    fn environment(&mut self) -> Result<Environment, String> {
        let mut environment = Environment {
            kernel: trimmed("/proc/sys/kernel/osrelease"),
            iproute2: setup::tool_output(Tool::Tc, &["-V"]),
            captured: self.captures.captured,
            capture_lost: self.captures.lost(),
            ..Environment::default()
        };
        if environment.capture_lost > 0 {
            self.warnings.push(format!(
                "{} packets were not captured: delays, drops and marks are incomplete",
                environment.capture_lost
            ));
        }
        for index in 0..self.namespaces.len() {
            self.namespaces.enter(index)?;
            let name = self.namespaces.name(index).to_owned();
            environment.qdiscs.push((
                name.clone(),
                setup::tool_output(Tool::Tc, &["-d", "qdisc", "show"]),
            ));
            for (path, _) in &self.job.namespaces[index].sysctls {
                let value = trimmed(&format!("/proc/sys/{path}"));
                environment
                    .sysctls
                    .push((name.clone(), path.clone(), value));
            }
            for veth in &self.job.veths {
                for device in [&veth.a, &veth.b] {
                    if device.namespace == index {
                        let what = format!("{name}/{}", device.name);
                        environment
                            .offloads
                            .push((what, setup::features(&device.name)));
                    }
                }
            }
        }
        for link in &self.job.links {
            self.namespaces.enter(link.namespace)?;
            let text = setup::tool_output(Tool::Tc, &["-s", "qdisc", "show", "dev", &link.device]);
            environment.statistics.push((link.name.clone(), text));
        }
        if memory_pressure() {
            self.warnings
                .push("TCP came under memory pressure: give the guest more memory".to_owned());
        }
        environment.warnings = std::mem::take(&mut self.warnings);
        Ok(environment)
    }
}

impl Connection<'_> {
    /// What both ends say: the sender and the receiver.
    fn infos(&self) -> [Info; 2] {
        if let Some(infos) = self.at_stop {
            return infos;
        }
        let of = |socket: &Option<Socket>| {
            socket
                .as_ref()
                .and_then(|s| tcp::info(s).ok())
                .unwrap_or_default()
        };
        [of(&self.sender), of(&self.receiver)]
    }

    fn sample(&mut self, now: u64, measured: bool, interval_ns: u64, series: &mut Series) {
        let Some(socket) = &self.sender else {
            return;
        };
        let Some(info) = tcp::info(socket).ok().filter(|i| i.srtt_us > 0) else {
            return;
        };
        let srtt_ns = u64::from(info.srtt_us) * 1000;
        if measured && self.completed_ns.is_none() {
            self.srtt_sum_ns += u128::from(srtt_ns);
            self.srtt_samples += 1;
            let limited_us = info.rwnd_limited_us.saturating_sub(self.rwnd_limited_us);
            self.rwnd_limited_samples += u64::from(limited_us * 2000 > interval_ns);
            self.rwnd_limited_us = info.rwnd_limited_us;
        }
        let Some(ids) = &self.series else {
            return;
        };
        if ids.acks.is_some() {
            // The rest is recorded with every ACK.
            series.push(ids.srtt, now, srtt_ns as f64);
            return;
        }
        series.push(ids.cwnd, now, f64::from(info.cwnd));
        if info.ssthresh < INFINITE_SSTHRESH {
            series.push(ids.ssthresh, now, f64::from(info.ssthresh));
        }
        series.push(ids.srtt, now, srtt_ns as f64);
        series.push(ids.in_flight, now, f64::from(info.in_flight));
        if let Some(receiver) = self.receiver.as_ref().and_then(|s| tcp::info(s).ok()) {
            series.push(ids.delivered, now, self.delivered(&receiver) as f64);
        }
        if let Some(id) = ids.alpha
            && let Some(alpha) = tcp::dctcp_alpha(socket)
        {
            series.push(id, now, alpha);
        }
    }

    /// The state of the sender, if it is another than before.
    fn record_ack(&mut self, now: u64, info: &Info, series: &mut Series) {
        let shown = |i: &Info| (i.acked_bytes, i.cwnd, i.ssthresh, i.in_flight, i.ca_state);
        if shown(info) == shown(&self.recorded) {
            return;
        }
        self.recorded = *info;
        let (Some(socket), Some(ids)) = (&self.sender, &self.series) else {
            return;
        };
        let Some((ca_state, acked_bytes)) = ids.acks.filter(|_| info.srtt_us > 0) else {
            return;
        };
        // The SYN counts as a byte.
        let acked = info.acked_bytes.saturating_sub(1);
        let acked = self.flow.bytes.map_or(acked, |bytes| acked.min(bytes));
        series.push(acked_bytes, now, acked as f64);
        series.push(ids.cwnd, now, f64::from(info.cwnd));
        if info.ssthresh < INFINITE_SSTHRESH {
            series.push(ids.ssthresh, now, f64::from(info.ssthresh));
        }
        series.push(ids.in_flight, now, f64::from(info.in_flight));
        series.push(ca_state, now, f64::from(info.ca_state));
        if let Some(id) = ids.alpha
            && let Some(alpha) = tcp::dctcp_alpha(socket)
        {
            series.push(id, now, alpha);
        }
    }

    /// Payload delivered in order; the kernel counts the end of the stream as a byte.
    fn delivered(&self, receiver: &Info) -> u64 {
        self.flow
            .bytes
            .map_or(receiver.received_bytes, |b| b.min(receiver.received_bytes))
    }

    fn outcome(&self, [sender, receiver]: [Info; 2], job: &Job) -> FlowOutcome {
        let flow = self.flow;
        let ends = [flow.stop_ns, self.completed_ns];
        let base = &self.base;
        FlowOutcome {
            name: flow.name.clone(),
            cc: flow.cc.clone(),
            from_ns: flow.start_ns.max(job.warmup_ns),
            to_ns: ends.into_iter().flatten().fold(job.duration_ns, u64::min),
            delivered_bytes: self
                .delivered(&receiver)
                .saturating_sub(self.delivered(&base[1])),
            srtt_sum_ns: self.srtt_sum_ns,
            srtt_samples: self.srtt_samples,
            packets: u64::from(sender.data_segments.wrapping_sub(base[0].data_segments)),
            retransmits: u64::from(sender.retransmits.wrapping_sub(base[0].retransmits)),
            timeouts: u64::from(sender.timeouts.wrapping_sub(base[0].timeouts)),
            completion_ns: self.completed_ns.map(|at| at.saturating_sub(flow.start_ns)),
            rwnd_limited_samples: self.rwnd_limited_samples,
            ..FlowOutcome::default()
        }
    }
}

impl Playing<'_> {
    /// Sends what is due; gives the time of the next call.
    fn play(&mut self, now: u64, warmup_ns: u64) -> Result<Option<u64>, String> {
        let what = &self.source.name;
        loop {
            if self.source.stop_ns.is_some_and(|stop| now >= stop) {
                return Ok(None);
            }
            match self.machine.next(Time(now)) {
                Step::Done | Step::Open { .. } => return Ok(None),
                Step::Wait(until) => return Ok(Some(until.ns())),
                Step::Send { len, ecn } => {
                    if self.ecn != Some(ecn) {
                        let dscp = i32::from(self.source.dscp) << 2;
                        let field = match ecn {
                            Ecn::NotEct => 0_i32,
                            Ecn::Ect1 => 1,
                            Ecn::Ect0 => 2,
                            Ecn::Ce => 3,
                        };
                        self.socket
                            .set(libc::IPPROTO_IP, libc::IP_TOS, &(dscp | field))
                            .map_err(io(what))?;
                        self.ecn = Some(ecn);
                    }
                    let payload = usize::from(len.saturating_sub(DATAGRAM_HEADERS)).max(8);
                    self.payload.resize(payload.max(self.payload.len()), 0);
                    self.number += 1;
                    self.payload[..8].copy_from_slice(&self.number.to_be_bytes());
                    self.socket
                        .send(&self.payload[..payload])
                        .map_err(io(what))?;
                    self.sent_packets += u64::from(now >= warmup_ns);
                }
            }
        }
    }

    /// Takes what has arrived.
    fn receive(&mut self, measured: bool) {
        while let Ok(Some(n)) = self.sink.discard_datagram() {
            if measured {
                self.received_packets += 1;
                self.received_bytes += n as u64 + u64::from(DATAGRAM_HEADERS);
            }
        }
    }

    fn outcome(&self, job: &Job) -> TrafficOutcome {
        TrafficOutcome {
            name: self.source.name.clone(),
            kind: self.source.kind.clone(),
            from_ns: self.source.start_ns.max(job.warmup_ns),
            to_ns: self
                .source
                .stop_ns
                .map_or(job.duration_ns, |s| s.min(job.duration_ns)),
            sent_packets: self.sent_packets,
            received_packets: self.received_packets,
            received_bytes: self.received_bytes,
            ..TrafficOutcome::default()
        }
    }
}

fn open_player<'a>(
    index: usize,
    source: &'a Source,
    (job, namespaces, poll): (&Job, &Namespaces, &Poll),
) -> Result<Player<'a>, String> {
    let entry = registry::find(traffic::ENTRIES, &source.kind)
        .ok_or_else(|| format!("source {}: no kind {}", source.name, source.kind))?;
    let options = registry::read_texts(entry.options, &source.options)
        .map_err(|e| format!("source {}: {e}", source.name))?;
    let stream = Stream::new(job.seed, &source.name, "traffic");
    let machine = (entry.build.source)(&options, stream);
    if let Some(connections) = &source.connections {
        let first = |kind| token(kind, index << WEB_SOURCE_BITS);
        let tokens = Tokens {
            listener: first(WEB_LISTENER),
            clients: first(WEB_CLIENT),
            servers: first(WEB_SERVER),
        };
        let web = Web::open(
            source,
            connections,
            machine,
            tokens,
            (job, namespaces, poll),
        )?;
        return Ok(Player::Requests(web));
    }
    open_source(source, machine, namespaces).map(Player::Datagrams)
}

fn open_source<'a>(
    source: &'a Source,
    machine: Box<dyn traffic::Source>,
    namespaces: &Namespaces,
) -> Result<Playing<'a>, String> {
    namespaces.enter(source.receiver)?;
    let open = || Socket::new(libc::AF_INET, libc::SOCK_DGRAM, 0);
    let sink = open().map_err(io(&source.name))?;
    // Room for what arrives between two looks.
    let room: i32 = 64 << 20;
    sink.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room)
        .map_err(io(&source.name))?;
    sink.bind(source.receiver_address, source.port)
        .map_err(io(&source.name))?;
    namespaces.enter(source.sender)?;
    let socket = open().map_err(io(&source.name))?;
    socket
        .set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room)
        .map_err(io(&source.name))?;
    socket
        .bind(source.sender_address, source.port)
        .map_err(io(&source.name))?;
    socket
        .connect(source.receiver_address, source.port)
        .map_err(io(&source.name))?;
    Ok(Playing {
        source,
        machine,
        socket,
        sink,
        ecn: None,
        number: 0,
        payload: Vec::new(),
        sent_packets: 0,
        received_packets: 0,
        received_bytes: 0,
    })
}

/// The kernel's count of jiffies, if it tells.
fn jiffies() -> Option<u64> {
    let text = fs::read_to_string("/proc/timer_list").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("jiffies:"))?;
    line.trim().parse().ok()
}

fn trimmed(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|e| e.to_string(), |text| text.trim().to_owned())
}

/// Whether TCP is short of memory: the column "press" of /proc/net/protocols.
fn memory_pressure() -> bool {
    let text = fs::read_to_string("/proc/net/protocols").unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with("TCP "))
        .any(|line| line.split_whitespace().nth(4) == Some("yes"))
}
