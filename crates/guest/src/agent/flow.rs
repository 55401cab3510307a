//! Runs a flow: its connection and its application. Reads its socket information.

use std::io::ErrorKind;
use std::sync::Arc;

use tailback_engine::cc;
use tailback_engine::registry::kernel::Gauge;
use tailback_guest::job::{Chunks, Flow, Job};
use tailback_record::{FlowOutcome, FlowSampler, FlowState, SenderSamples, Series};

use super::application::Application;
use super::clock::Clock;
use super::io;
use super::pump::{self, Failure};
use super::setup::Namespaces;
use super::sys::{EDGE, Poll, READABLE, Socket, WRITABLE};
use super::tcp::{self, Info, Slack, Zeros};
use super::token::{LISTENER, RECEIVER, SENDER, token};
use super::watch::Watch;

/// The number with which Linux represents an infinite ssthresh.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

pub struct Connection<'a> {
    flow: &'a Flow,
    index: usize,
    slack: Slack,
    listener: Option<Socket>,
    sender: Option<Arc<Socket>>,
    receiver: Option<Arc<Socket>>,
    /// `Some` if threads read and write at both ends of the flow. The value contains the error that
    /// ended a thread, if any.
    pumped: Option<Failure>,
    written: u64,
    read: u64,
    finished_writing: bool,
    application: Option<Application<'a>>,
    /// When the receiver will request the next chunk. `None` if this request is already scheduled.
    asks_ns: Option<u64>,
    /// Time at which the application's next action is scheduled, in ns.
    acts_ns: Option<u64>,
    /// Socket information of sender and receiver at the end of the warm-up.
    base: [Info; 2],
    /// Socket information of sender and receiver when the flow was stopped.
    at_stop: Option<[Info; 2]>,
    completed_ns: Option<u64>,
    stopped: bool,
    samples: SenderSamples,
    rwnd_limited_us: u64,
    watch: Watch,
    /// The sender's socket information at the time of the last record.
    recorded: Info,
    sampler: Option<FlowSampler>,
    gauges: &'static [Gauge],
    error: Option<String>,
}

impl<'a> Connection<'a> {
    /// Opens the receiver's listening socket, and declares the quantities to sample.
    pub fn open(
        (index, flow): (usize, &'a Flow),
        (job, namespaces, poll): (&Job, &Namespaces, &Poll),
        series: &mut Series,
    ) -> Result<Connection<'a>, String> {
        namespaces.enter(flow.receiver)?;
        let pumped = pump::serves(flow, job).then(Failure::default);
        let slack = match pumped {
            Some(_) => Slack::waiting(job.flows.len()),
            None => match &flow.application {
                Some(application) if !application.pauses.is_empty() => Slack::PAUSED,
                _ => Slack::POLLED,
            },
        };
        let listener = tcp::listener(flow, slack).map_err(io(&flow.name))?;
        poll.add(listener.fd(), READABLE, token(LISTENER, index))
            .map_err(io("epoll"))?;
        let gauges = cc::face(&flow.kernel_cc).map_or(&[][..], |face| face.gauges);
        let names: Vec<&str> = gauges.iter().map(|gauge| gauge.series).collect();
        let sampler = || FlowSampler::new(series, &flow.name, &names, job.record.acks);
        Ok(Connection {
            flow,
            index,
            slack,
            listener: Some(listener),
            sender: None,
            receiver: None,
            pumped,
            written: 0,
            read: 0,
            finished_writing: false,
            application: Application::of(flow, job.warmup_ns),
            asks_ns: None,
            acts_ns: None,
            base: [Info::default(); 2],
            at_stop: None,
            completed_ns: None,
            stopped: false,
            samples: SenderSamples::default(),
            rwnd_limited_us: 0,
            watch: Watch::default(),
            recorded: Info::default(),
            sampler: job.record.series.then(sampler),
            gauges,
            error: None,
        })
    }

    pub fn sends_from(&self, namespace: usize) -> bool {
        self.flow.sender == namespace
    }

    pub fn start(
        &mut self,
        namespaces: &Namespaces,
        poll: &Poll,
        zeros: &Arc<Zeros>,
    ) -> Result<(), String> {
        let flow = self.flow;
        namespaces.enter(flow.sender)?;
        let what = format!("flow {} ({})", flow.name, flow.kernel_cc);
        let socket = Arc::new(tcp::sender(flow, self.slack).map_err(io(&what))?);
        socket
            .connect(flow.receiver_address, flow.port)
            .map_err(io(&what))?;
        let ready = match &self.pumped {
            Some(failure) => pump::write(socket.clone(), zeros.clone(), failure.clone()),
            None => {
                let events = READABLE | WRITABLE | EDGE;
                let events = match self.chunks() {
                    Some(chunks) if chunks.think_ns.is_some() => events,
                    _ => WRITABLE | EDGE,
                };
                poll.add(socket.fd(), events, token(SENDER, self.index))
            }
        };
        ready.map_err(io(&what))?;
        self.sender = Some(socket);
        Ok(())
    }

    pub fn accept(&mut self, clock: Clock, poll: &Poll) -> Result<(), String> {
        let Some(listener) = self.listener.take() else {
            return Ok(());
        };
        let name = &self.flow.name;
        let socket = match listener.accept() {
            Ok(socket) => socket,
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                self.listener = Some(listener);
                return Ok(());
            }
            Err(e) => return Err(format!("flow {name}: accept: {e}")),
        };
        tcp::accepted(self.flow, &socket).map_err(io(name))?;
        let socket = Arc::new(socket);
        self.receiver = Some(socket.clone());
        if let Some(failure) = &self.pumped {
            return pump::read(self.flow, self.slack, socket, failure.clone()).map_err(io(name));
        }
        poll.add(socket.fd(), READABLE, token(RECEIVER, self.index))
            .map_err(io(name))?;
        self.read(clock, poll);
        Ok(())
    }

    /// Writes as much data as the socket accepts. Call this function when the sender's socket is
    /// writable.
    pub fn write(&mut self, zeros: &Zeros) {
        let (Some(socket), false) = (&self.sender, self.stopped) else {
            return;
        };
        let (written, application) = (self.written, self.application.as_ref());
        let all = self.flow.bytes.unwrap_or(u64::MAX);
        let limit = application.map_or(all, |application| application.limit(written));
        let chunk = application.and_then(Application::chunks);
        let done = match chunk {
            Some(chunks) => tcp::write_chunks(socket, chunks.bytes, limit, written),
            None => tcp::write(socket, zeros, limit, written),
        };
        match done {
            Ok(written) => self.written = written,
            Err(e) => {
                if e.raw_os_error() != Some(libc::ENOTCONN) {
                    self.error.get_or_insert(format!("write: {e}"));
                }
                return;
            }
        }
        if self.flow.bytes == Some(self.written) && !self.finished_writing {
            self.finished_writing = true;
            // Tell the receiver that the data has ended. The result can be ignored: if the call
            // fails, the flow is reported as incomplete anyway.
            let _ = socket.finish();
        }
    }

    /// Reads the data that has arrived. Call this function when the receiver's socket is readable.
    pub fn read(&mut self, clock: Clock, poll: &Poll) {
        // The completion time is needed only for transfers of limited size and for chunks.
        let ends = self.flow.bytes.is_some() || self.application.is_some();
        let now = ends.then(|| clock.now());
        let Some(socket) = &self.receiver else {
            return;
        };
        match tcp::read(self.flow, socket, self.read) {
            Ok(read) => self.read = read,
            Err(e) => {
                self.error.get_or_insert(format!("read: {e}"));
            }
        }
        if self.completed_ns.is_none() && self.flow.bytes.is_some_and(|b| self.read >= b) {
            self.completed_ns = now;
        }
        if let (Some(application), Some(now)) = (&mut self.application, now) {
            self.asks_ns = application.arrive(self.read, now).or(self.asks_ns);
            if application.is_over() && self.completed_ns.is_none() {
                self.completed_ns = Some(now);
            }
        }
        let ended = self.error.is_some() || self.completed_ns.is_some();
        if ended {
            // After the end of the stream, a socket is always readable, so remove the socket from
            // the poll.
            let _ = poll.remove(socket.fd());
        }
    }

    fn chunks(&self) -> Option<&'a Chunks> {
        self.application.as_ref().and_then(Application::chunks)
    }

    /// Performs the application's actions that are due. Returns when to call this function again,
    /// or `None` if that call is already scheduled.
    pub fn act(&mut self, now: u64, zeros: &Zeros) -> Option<u64> {
        if self.stopped {
            return None;
        }
        let next = self.application.as_mut()?.act(now);
        self.write(zeros);
        // The next call may already be scheduled, because a call that a request causes does not
        // cancel a later call.
        if next == self.acts_ns {
            return None;
        }
        self.acts_ns = next;
        next
    }

    /// Returns when the receiver requests the next chunk, or `None` if this request is already
    /// scheduled.
    pub fn take_asking(&mut self) -> Option<u64> {
        self.asks_ns.take()
    }

    pub fn ask(&mut self, now: u64) {
        let (Some(socket), Some(chunks)) = (&self.receiver, self.chunks()) else {
            return;
        };
        if let Err(e) = socket.send(&vec![0; usize::from(chunks.request)]) {
            self.error.get_or_insert(format!("request: {e}"));
        }
        if let Some(application) = &mut self.application {
            application.begin(now);
        }
    }

    pub fn hear(&mut self) -> bool {
        let asked = self.chunks().is_some_and(|c| c.think_ns.is_some());
        let (Some(socket), Some(application), true) = (&self.sender, &mut self.application, asked)
        else {
            return false;
        };
        match socket.discard(1 << 20) {
            Ok(Some(bytes)) if bytes > 0 => {
                application.hear(bytes as u64);
                true
            }
            _ => false,
        }
    }

    /// Stops the flow, so that the sender sends no new data, as in the simulator. Data in TCP's
    /// buffer cannot be withdrawn, so this closes the connection.
    pub fn stop(&mut self, poll: &Poll) {
        self.at_stop = Some(self.infos());
        self.stopped = true;
        if let Some(socket) = self.receiver.take() {
            let _ = poll.remove(socket.fd());
        }
        if let Some(socket) = self.sender.take() {
            let _ = poll.remove(socket.fd());
            let _ = socket.abort();
        }
    }

    /// Restarts the counters. Returns how many data segments the flow sent during the warm-up.
    pub fn end_warmup(&mut self) -> u64 {
        self.base = self.infos();
        self.rwnd_limited_us = self.base[0].rwnd_limited_us;
        self.watch.end_warmup(0);
        u64::from(self.base[0].data_segments)
    }

    pub fn infos(&self) -> [Info; 2] {
        if let Some(infos) = self.at_stop {
            return infos;
        }
        let of = |socket: &Option<Arc<Socket>>| {
            let info = socket.as_ref().and_then(|s| tcp::info(s).ok());
            info.unwrap_or_default()
        };
        [of(&self.sender), of(&self.receiver)]
    }

    /// Samples the flow at the end of a record interval. `known` is the socket information of both
    /// ends, if the agent has already read it.
    pub fn sample(
        &mut self,
        now: u64,
        measured: bool,
        interval_ns: u64,
        known: [Option<Info>; 2],
        series: &mut Series,
    ) {
        let Some(socket) = &self.sender else {
            return;
        };
        let info = known[0].or_else(|| tcp::info(socket).ok());
        let Some(info) = info.filter(|i| i.srtt_us > 0) else {
            return;
        };
        if !self.sampler.as_ref().is_some_and(FlowSampler::acks) {
            self.watch.look(now, &info, interval_ns);
        }
        if measured && self.completed_ns.is_none() {
            self.watch.sample(&info);
            let limited_us = info.rwnd_limited_us.saturating_sub(self.rwnd_limited_us);
            let srtt_ns = u64::from(info.srtt_us) * 1000;
            self.samples.add(srtt_ns, limited_us * 2000 > interval_ns);
            self.rwnd_limited_us = info.rwnd_limited_us;
        }
        let Some(sampler) = &self.sampler else {
            return;
        };
        let mut state = self.state(&info);
        if !sampler.acks()
            && let Some(socket) = &self.receiver
            && let Some(receiver) = known[1].or_else(|| tcp::info(socket).ok())
        {
            state.delivered_bytes = Some(self.delivered(&receiver) as f64);
        }
        sampler.interval(now, &state, tcp::gauges(socket, self.gauges), series);
    }

    /// Records the sender's state. Call this function when the sender may have received a packet or
    /// its timer may have expired.
    pub fn record_change(&mut self, now: u64, series: &mut Series) {
        let (Some(socket), Some(sampler)) = (&self.sender, &mut self.sampler) else {
            return;
        };
        let Ok(info) = tcp::info(socket) else {
            return;
        };
        if !sampler.acks() {
            if info.srtt_us > 0 {
                sampler.window(now, f64::from(info.cwnd), series);
            }
            return;
        }
        let shown = |i: &Info| (i.acked_bytes, i.cwnd, i.ssthresh, i.in_flight, i.ca_state);
        if shown(&info) == shown(&self.recorded) {
            return;
        }
        self.recorded = info;
        self.watch.look(now, &info, 0);
        if let (Some(sampler), true) = (&self.sampler, info.srtt_us > 0) {
            let gauges = tcp::gauges(socket, self.gauges);
            sampler.ack(now, &self.state(&info), gauges, series);
        }
    }

    /// Returns the sender's sampled quantities.
    fn state(&self, info: &Info) -> FlowState {
        let known = info.ssthresh < INFINITE_SSTHRESH;
        // The kernel counts the SYN as one byte.
        let acked = info.acked_bytes.saturating_sub(1);
        let acked = self.flow.bytes.map_or(acked, |bytes| acked.min(bytes));
        FlowState {
            cwnd: Some(f64::from(info.cwnd)),
            ssthresh: known.then_some(f64::from(info.ssthresh)),
            srtt_ns: Some(f64::from(info.srtt_us) * 1000.0),
            in_flight: Some(f64::from(info.in_flight)),
            delivered_bytes: None,
            ca_state: Some(f64::from(info.ca_state)),
            acked_bytes: Some(acked as f64),
        }
    }

    /// Returns the payload delivered in order, in bytes. The kernel also counts the end of the
    /// stream as a byte, but this function does not.
    fn delivered(&self, receiver: &Info) -> u64 {
        self.flow
            .bytes
            .map_or(receiver.received_bytes, |b| b.min(receiver.received_bytes))
    }

    /// Returns the flow's measurements. `sender` and `receiver` are the socket information at the
    /// end of the run.
    pub fn outcome(&self, [sender, receiver]: [Info; 2], job: &Job) -> FlowOutcome {
        let flow = self.flow;
        let ends = [flow.stop_ns, self.completed_ns];
        let base = &self.base;
        let to = ends.into_iter().flatten().fold(job.duration_ns, u64::min);
        let from = flow.start_ns.max(job.warmup_ns);
        let elapsed_ns = to.saturating_sub(from);
        FlowOutcome {
            name: flow.name.clone(),
            cc: flow.cc.clone(),
            from_ns: from,
            to_ns: to,
            account: Box::new(self.watch.finish(&base[0], &sender, elapsed_ns)),
            delivered_bytes: self
                .delivered(&receiver)
                .saturating_sub(self.delivered(&base[1])),
            samples: self.samples,
            packets: u64::from(sender.data_segments.wrapping_sub(base[0].data_segments)),
            retransmits: u64::from(sender.retransmits.wrapping_sub(base[0].retransmits)),
            timeouts: u64::from(sender.timeouts.wrapping_sub(base[0].timeouts)),
            chunks: self.application.as_ref().and_then(Application::completions),
            completion_ns: self.completed_ns.map(|at| at.saturating_sub(flow.start_ns)),
            ..FlowOutcome::default()
        }
    }

    pub fn warning(&self) -> Option<String> {
        let pumped = || self.pumped.as_ref().and_then(|failure| failure.get());
        let error = self.error.as_ref().or_else(pumped)?;
        Some(format!("flow {}: {error}", self.flow.name))
    }
}
