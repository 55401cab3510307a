//! Builds an idle network from a plan: pipes, links, endpoints and their first events.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tailback_record::{FlowSampler, Histogram, LinkSampler, ProgramSampler, SenderSamples, Series};

use super::Network;
use super::applications;
use super::chunks::Chunks;
use super::connections::{Connection, End, Ends, Opener, Path};
use super::datagrams::Far;
use super::endpoints::{Endpoints, Entry as ProgramEntry};
use super::events::Ids;
use super::impaired::Impaired;
use super::memory::Memory;
use super::pauses::PausingHosts;
use super::pipe::{More, Pipe};
use super::sampling::Flow;
use super::slots::Slots;
use super::sources::{Connections, Places, Traffic};
use super::turns::Pool;
use crate::aqm::{self, QueueContext, Sink};
use crate::calendar::Calendar;
use crate::cc;
use crate::crates;
use crate::link::Link;
use crate::plan::{
    Algorithm, FlowPlan, LinkPlan, Member, Plan, ProgramPlan, SeriesMode, SlotsPlan, TrafficPlan,
};
use crate::programs::stacks;
use crate::registry::{Entry, Options, Value, find};
use crate::rng::Stream;
use crate::traffic;
use crate::units::Time;
use crate::wheel::WheelPhase;

impl Ids {
    /// Assigns calendar numbers to the components of a plan with this many pipes. Each kind of
    /// component gets consecutive numbers.
    fn of(plan: &Plan, n_pipes: u32, n_slots: u32) -> Ids {
        let n_programs = plan.program_count() as u32;
        let n_links = plan.links.len() as u32;
        let (n_flows, n_traffic) = (plan.flow_count() as u32, plan.source_count() as u32);
        let links_at = n_pipes;
        let impaired = plan.links.iter().any(|link| !link.impairments.is_empty());
        let pens = links_at + n_links;
        let queue_timers = pens + if impaired { n_links } else { 0 };
        let senders = queue_timers + 2 * n_links;
        let sources = senders + 2 * n_flows;
        let stops = sources + n_traffic;
        let sampler = stops + n_flows + 1;
        let endpoints = sampler + 1 + 2 * n_slots;
        let late_pens = endpoints + 2 * n_programs;
        Ids {
            links: links_at,
            pens,
            used_pens: if impaired { pens } else { late_pens },
            queue_timers,
            rate_changes: queue_timers + n_links,
            senders,
            receivers: senders + n_flows,
            sources,
            stops,
            warmup: stops + n_flows,
            sampler,
            slots: sampler + 1,
            endpoints,
            late_pens,
            changes: late_pens + n_links,
        }
    }
}

impl Network {
    /// Builds the network of a plan for a run with this seed.
    ///
    /// # Panics
    /// Panics if the simulator does not have one of the plan's algorithms, or if options are
    /// incomplete. If a scenario was validated for the simulator, its plan does not cause this
    /// panic.
    pub fn new(plan: &Arc<Plan>, seed: u64) -> Network {
        Network::numbered_from(plan, seed, 0)
    }

    /// Does the same as [`Network::new`], but the first segment of every connection has the number
    /// `first_segment`. This number does not affect the results, as tests of long flows check.
    ///
    /// # Panics
    /// Panics for the same reasons as [`Network::new`].
    pub fn numbered_from(plan: &Arc<Plan>, seed: u64, first_segment: u64) -> Network {
        let mut pipes = Pipes::default();
        let paths = paths(plan, seed, &mut pipes);
        let link_pipes = link_pipes(plan, seed, &mut pipes);
        let pipes = pipes.all;

        let (n_flows, n_traffic) = (plan.flow_count() as u32, plan.source_count() as u32);
        let (owners, n_programs) = (plan.owners(), plan.program_count() as u32);
        let first_slot = n_flows + n_traffic + n_programs;
        let n_slots = owners.len() as u32 - first_slot;
        let ids = Ids::of(plan, pipes.len() as u32, n_slots);
        let ends = ends(plan, seed, first_segment, &ids, &owners, &paths);

        let mtu = mtu(plan);
        let mut links: Vec<Link> = (0..)
            .zip(&plan.links)
            .map(|(i, link)| build_link(i, link, plan, mtu, seed, &owners))
            .collect();
        let info = plan.flow_info();
        for (link, pipe) in links.iter_mut().zip(link_pipes) {
            link.pipe = pipe;
            link.queue.flows(&info);
        }
        let mut series = Series::default();
        let link_samplers = plan.links.iter().zip(&links).map(|(plan, link)| {
            let gauges = link.queue.gauge_names();
            LinkSampler::new(&mut series, &plan.name, gauges)
        });
        let link_samplers = link_samplers.collect();
        let flows = plan.each_flow().zip(&ends);
        let flows = flows.map(|(flow, ends)| build_flow(&flow, ends.of_flow(), plan, &mut series));
        let flows: Vec<_> = flows.collect();
        let mut free = first_slot;
        let traffic = (n_flows..).zip(plan.each_source());
        let traffic = traffic.map(|(number, source)| {
            let limit = source.of.connections.as_ref().map_or(0, |c| c.limit);
            free += limit;
            build_traffic(number, free - limit..free, &source, plan, seed)
        });
        let traffic = traffic.collect();
        let endpoints = (n_programs > 0).then(|| {
            let first = n_flows + n_traffic;
            Box::new(endpoints(first, plan, seed, &mut series))
        });
        let every_change = matches!(plan.record.series, SeriesMode::Changes | SeriesMode::Acks);
        let mut network = Network {
            now: Time::ZERO,
            ids,
            calendar: Calendar::new(
                ids.changes as usize + 1,
                // Pipes, links and pens are the components that usually have an entry in the
                // calendar. Timers have an event only about once per round-trip time.
                ids.queue_timers as usize,
            ),
            pipes,
            links,
            impaired: plan.links.iter().map(|l| Impaired::of(l, seed)).collect(),
            link_samplers,
            connections: flows.len(),
            ends,
            flows,
            traffic,
            endpoints,
            series,
            scratch: Vec::new(),
            events: 0,
            data_packets_before_warmup: 0,
            every_change,
            follows_flows: every_change || plan.remembers(),
            first_slot,
            first_segment,
            memory: Memory::of(plan),
            part: None,
            changes: plan.events.iter().cloned().collect(),
            seed,
            plan: Arc::clone(plan),
        };
        network.enter_first_events();
        network.attach_stacks(seed);
        network
    }

    fn attach_stacks(&mut self, seed: u64) {
        let plan = Arc::clone(&self.plan);
        for (place, member) in plan.each_program().enumerate() {
            let Some(options) = &member.of.stack else {
                continue;
            };
            let entry = find(stacks::TABLE.entries(), member.of.kind)
                .expect("a validated plan names registered stacks");
            let mut stream = Stream::new(seed, &member.name(), "stack");
            let setting = stacks::Setting::of(stream.bits());
            self.attach(place, (entry.build.ends)(options, &setting));
        }
    }

    fn enter_first_events(&mut self) {
        for i in 0..self.links.len() {
            let link = &mut self.links[i];
            link.queue
                .rate_changed(self.plan.links[i].rate.nominal(), Time::ZERO);
            if let Some(next) = link.queue.timer(Time::ZERO, &mut link.sink) {
                self.calendar
                    .schedule(self.ids.queue_timers + i as u32, next);
            }
            if let Some(time) = link.next_rate_change(Time::ZERO) {
                self.calendar
                    .schedule(self.ids.rate_changes + i as u32, time);
            }
        }
        for (i, (flow, ends)) in (0..).zip(self.flows.iter().zip(&mut self.ends)) {
            let opened = ends.of_flow().opened;
            ends.armed[End::Sender as usize] = opened;
            self.calendar.schedule(self.ids.senders + i, opened);
            let acts = flow.application.as_ref().map(|_| opened);
            if let Some(first) = acts.into_iter().chain(flow.stop).min() {
                self.calendar.schedule(self.ids.stops + i, first);
            }
        }
        for (i, traffic) in (0..).zip(&self.traffic) {
            self.calendar.schedule(self.ids.sources + i, traffic.start);
        }
        if self.plan.warmup > Time::ZERO {
            self.calendar.schedule(self.ids.warmup, self.plan.warmup);
        }
        self.calendar
            .schedule(self.ids.sampler, self.plan.record.interval);
        self.await_change();
    }
}

#[derive(Default)]
struct Pipes {
    all: Vec<Pipe>,
    /// Indices of the pipes without jitter and without slots, by their delay. All packets with the
    /// same delay share such a pipe.
    constant: BTreeMap<Time, u32>,
}

impl Pipes {
    fn constant(&mut self, delay: Time) -> u32 {
        *self.constant.entry(delay).or_insert_with(|| {
            self.all.push(Pipe::new(delay, None));
            (self.all.len() - 1) as u32
        })
    }

    fn own(&mut self, delay: Time, more: More) -> u32 {
        self.all.push(Pipe::new(delay, Some(more)));
        (self.all.len() - 1) as u32
    }
}

/// The random streams for the jitter of the sender's and the receiver's host.
const OF_SIDES: [&str; 2] = ["sender jitter", "receiver jitter"];

fn paths(plan: &Plan, seed: u64, pipes: &mut Pipes) -> Vec<Path> {
    let mut paths =
        Vec::with_capacity(plan.flow_count() + plan.source_count() + plan.program_count());
    // Store each route only once, even if many flows use it.
    let mut routes: BTreeMap<Vec<u32>, Arc<[u32]>> = BTreeMap::new();
    let mut shared = |route: &[u32]| match routes.get(route) {
        Some(known) => Arc::clone(known),
        None => {
            let new: Arc<[u32]> = route.into();
            routes.insert(route.to_vec(), Arc::clone(&new));
            new
        }
    };
    let mut waiting = Waiting::of(plan, seed);
    let pausing = PausingHosts::of(plan, seed);
    let mut accesses =
        |number: usize, rtt: Time, jitter: Time, name: &dyn Fn() -> String, pipes: &mut Pipes| {
            let half = Time(rtt.ns() / 2);
            let delays = [half, rtt - half];
            if let Some(waiting) = &mut waiting {
                return waiting.pipes_of(number, delays, name, pipes);
            }
            [0, 1].map(|side| {
                let pauses = pausing
                    .as_ref()
                    .map(|hosts| hosts.pauses(number, side, name));
                if jitter == Time::ZERO && pauses.is_none() {
                    return pipes.constant(delays[side]);
                }
                // Jitter may reorder packets of different hosts, but not packets of the same host.
                // So flows with jitter cannot share a pipe.
                let stream = || Stream::new(seed, &name(), OF_SIDES[side]);
                let more = More {
                    jitter: (jitter > Time::ZERO).then(|| (jitter, stream())),
                    pauses,
                    ..More::default()
                };
                pipes.own(delays[side], more)
            })
        };
    for member in plan.each_flow() {
        let flow = member.of;
        paths.push(Path {
            route: shared(&flow.route),
            back: shared(&flow.back),
            pipes: accesses(
                paths.len(),
                flow.rtt,
                plan.host_jitter,
                &|| member.name(),
                pipes,
            ),
        });
    }
    for member in plan.each_source() {
        let source = member.of;
        let half = Time(source.rtt.ns() / 2);
        let back = source.back();
        let own = match back {
            _ if !plan.hosts.is_ideal() => {
                // `host_jitter` does not delay the packets of sources.
                accesses(
                    paths.len(),
                    source.rtt,
                    Time::ZERO,
                    &|| member.name(),
                    pipes,
                )
            }
            Some(_) => [half, source.rtt - half].map(|delay| pipes.constant(delay)),
            None => [pipes.constant(half); 2],
        };
        paths.push(Path {
            route: shared(&source.route),
            back: shared(back.unwrap_or_default()),
            pipes: own,
        });
    }
    for member in plan.each_program() {
        let program = member.of;
        paths.push(Path {
            route: shared(&program.route),
            back: shared(&program.back),
            pipes: accesses(
                paths.len(),
                program.rtt,
                plan.host_jitter,
                &|| member.name(),
                pipes,
            ),
        });
    }
    paths
}

/// Creates the pipes of hosts that hold packets before they leave ([`crate::hosts`]). All flows and
/// sources of a pair of hosts share its two pipes, so that their packets wait together.
struct Waiting {
    slots: SlotsPlan,
    seed: u64,
    /// The pair of hosts of each flow, followed by the pair of each source. Each program has its
    /// own pair of hosts.
    of: Vec<usize>,
    made: BTreeMap<usize, [u32; 2]>,
}

impl Waiting {
    /// Returns `None` if hosts do not hold packets.
    fn of(plan: &Plan, seed: u64) -> Option<Waiting> {
        let slots = plan.hosts.wait.map(SlotsPlan::of_gaps)?;
        let (_, of) = plan.hosts();
        Some(Waiting {
            slots,
            seed,
            of,
            made: BTreeMap::new(),
        })
    }

    /// Returns the pipes of the sender's and the receiver's host. `number` is an index over all
    /// flows, then all sources, then all programs. If the hosts have no pipes yet, the random
    /// streams of the new pipes get the name `name`.
    fn pipes_of(
        &mut self,
        number: usize,
        delays: [Time; 2],
        name: &dyn Fn() -> String,
        pipes: &mut Pipes,
    ) -> [u32; 2] {
        let pair = self.of.get(number).copied();
        if let Some(made) = pair.and_then(|pair| self.made.get(&pair)) {
            return *made;
        }
        let sides = [(delays[0], "sender waits"), (delays[1], "receiver waits")];
        let made = sides.map(|(delay, purpose)| {
            let stream = Stream::new(self.seed, &name(), purpose);
            let more = More {
                slots: Some(Slots::new(&self.slots, stream)),
                ..More::default()
            };
            pipes.own(delay, more)
        });
        if let Some(pair) = pair {
            self.made.insert(pair, made);
        }
        made
    }
}

/// Builds the entries of `[[programs]]`. Endpoints of these entries are attached later.
fn endpoints(first: u32, plan: &Plan, seed: u64, series: &mut Series) -> Endpoints {
    let recorded = plan.record.series != SeriesMode::Off;
    let entries = (first..).zip(plan.each_program()).map(|(number, member)| {
        let name = member.name();
        let start = plan.start_of(seed, member.of.start, &name);
        let sampler = recorded.then(|| ProgramSampler::new(series, &name));
        ProgramEntry::new(number, start, member.of.stop, sampler)
    });
    Endpoints::new(entries.collect())
}

/// Returns the registry entry of the algorithm that the plan selects, and the algorithm's options.
fn known<'a, B>(
    entries: &'static [&'static Entry<B>],
    chosen: &'a Algorithm,
) -> (&'static Entry<B>, &'a Options) {
    let (name, options) = chosen.known().expect(
        "a plan that was validated for the simulator uses nothing that only the kernel has",
    );
    let entry = find(entries, name).expect("a validated plan names registered algorithms");
    (entry, options)
}

/// Returns the length, in bytes, of the longest frame of any connection or endpoint.
pub(super) fn mtu(plan: &Plan) -> u32 {
    let connections = plan.traffic.iter().filter_map(|t| t.connections.as_ref());
    let stacks = plan.flows.iter().map(|flow| &flow.tcp);
    let stacks = stacks.chain(connections.map(|c| &c.tcp));
    let frames = stacks.map(|tcp| u32::from(tcp.mss) + u32::from(tcp.header));
    let endpoints = (!plan.programs.is_empty()).then_some(1514);
    frames.chain(endpoints).max().unwrap_or(1514)
}

fn build_link(
    index: u32,
    plan: &LinkPlan,
    whole: &Plan,
    mtu: u32,
    seed: u64,
    owners: &Arc<[u32]>,
) -> Link {
    let (entry, options) = known(aqm::TABLE.entries(), &plan.queue);
    let context = QueueContext {
        rate: plan.rate.nominal(),
        mtu,
        rng: Stream::new(seed, &plan.name, "queue"),
    };
    let mut sink = Sink::of(owners.clone(), whole.warmup);
    if whole.record.events {
        sink.meter.record_events();
    }
    let (end_ns, interval_ns) = (whole.duration.ns(), whole.record.statistics.ns());
    let classes = whole.classes_at(index);
    sink.meter.record_classes(classes, end_ns, interval_ns);
    let first_program = whole.flow_count() + whole.source_count();
    if owners.len() > first_program {
        let programs = whole.each_program();
        let measured = programs.map(|p| passes_once(p.of, index)).collect();
        sink.meter.record_programs(first_program, measured);
        let first_slot = first_program + whole.program_count();
        sink.note_dropped(first_program as u32, first_slot as u32);
    }
    if whole.record.packets {
        sink.record_packets(index);
    }
    let loss = Stream::new(seed, &plan.name, "loss");
    let mut link = Link::new(plan, (entry.build)(options, context), sink, loss);
    if whole.offloads {
        match options.get(aqm::SPLITS) {
            Some(Value::Bool(true)) => link.split_packets(owners.len()),
            _ => link.queue.expect_joined(),
        }
    }
    link
}

/// Returns whether this link transmits a program's data, but not the program's packets in the
/// reverse direction.
fn passes_once(program: &ProgramPlan, link: u32) -> bool {
    program.route.contains(&link) && !program.back.contains(&link)
}

/// Chooses random timer phases for the two hosts of a flow or source. The random stream depends on
/// the host's name or, if the host has no name, on the flow's name.
fn wheel_phases(
    plan: &Plan,
    seed: u64,
    hosts: Option<&[String; 2]>,
    name: &str,
) -> [WheelPhase; 2] {
    if let Some(time) = plan.timer_phase {
        return [WheelPhase::running_for(time); 2];
    }
    match hosts {
        Some(hosts) => hosts
            .each_ref()
            .map(|host| WheelPhase::of_host(seed, host, "host timers")),
        None => {
            ["sender timers", "receiver timers"].map(|end| WheelPhase::of_host(seed, name, end))
        }
    }
}

/// Creates the connection of a flow. The connection begins at the start of the flow.
fn of_flow(
    member: &Member<'_, FlowPlan>,
    plan: &Plan,
    seed: u64,
    first_segment: u64,
    ids: &Ids,
) -> Connection {
    let (flow, name, number) = (member.of, member.name(), member.number as u32);
    let (entry, options) = known(cc::TABLE.entries(), &flow.cc);
    let mut control = crates::build(entry, options);
    control.randomise(Stream::new(seed, &name, "cc"));
    let bytes = flow.bytes.map(|b| b.0);
    let written = flow.rate.is_some() || flow.chunks.is_some();
    let phases = wheel_phases(plan, seed, flow.hosts.as_ref(), &name);
    let mut connection = Connection {
        client: End::Sender,
        opened: plan.start_of(seed, flow.start, &name),
        ..Connection::unopened(
            number,
            &flow.tcp,
            control,
            flow.ecn,
            if written { Some(0) } else { bytes },
            first_segment,
            phases,
        )
        .with_offloads(plan.offloads)
    };
    if written {
        connection.expect_writes(bytes);
    }
    if let Some(chunks) = &flow.chunks {
        let application = ids.stops + number;
        let chunks = Chunks::new(chunks, connection.mss, flow, plan.warmup, application);
        connection.divide(chunks);
    }
    connection
}

fn build_flow(
    flow: &Member<'_, FlowPlan>,
    connection: &Connection,
    plan: &Plan,
    series: &mut Series,
) -> Flow {
    let acks = plan.record.series == SeriesMode::Acks;
    let gauges = connection.sender.gauge_names();
    let mut sampler = || FlowSampler::new(series, &flow.name(), gauges, acks);
    Flow {
        stop: flow.of.stop,
        application: applications::of_flow(flow.of, connection.mss),
        base_bytes: 0,
        bytes_at_stop: None,
        samples: SenderSamples::default(),
        sampler: (plan.record.series != SeriesMode::Off).then(|| Box::new(sampler())),
    }
}

fn build_traffic(
    number: u32,
    slots: Range<u32>,
    member: &Member<'_, TrafficPlan>,
    plan: &Plan,
    seed: u64,
) -> Traffic {
    let (source, name) = (member.of, member.name());
    let entry = find(traffic::TABLE.entries(), source.kind)
        .expect("a validated plan names registered sources");
    let stream = Stream::new(seed, &name, "traffic");
    Traffic {
        source: (entry.build.source)(&source.options, stream),
        number,
        start: plan.start_of(seed, source.start, &name),
        stop: source.stop,
        sent_packets: 0,
        received_packets: 0,
        received_bytes: 0,
        one_way: Histogram::new(),
        far: Far::of(source, plan.warmup),
        loads_at: Vec::new(),
        waits: false,
        loads: Histogram::new(),
        connections: source.connections.as_ref().map(|connections| {
            let (entry, options) = known(cc::TABLE.entries(), &connections.cc);
            Connections {
                group: member.group,
                places: Places::new(slots),
                entry,
                options: options.clone(),
                seeds: Stream::new(seed, &name, "cc"),
                phases: wheel_phases(plan, seed, source.hosts.as_ref(), &name),
                pool: Pool::default(),
                spare: Vec::new(),
                started: 0,
                refused: 0,
                done: Vec::new(),
            }
        }),
    }
}

/// Returns the index of the pipe after each link, or `None` for a link without a pipe.
fn link_pipes(plan: &Plan, seed: u64, pipes: &mut Pipes) -> Vec<Option<u32>> {
    plan.links
        .iter()
        .map(|link| {
            let more = More::of(link, seed);
            if !link.impairments.is_empty() {
                // A link with impairments has a pen, which is a buffer after the impairments. The
                // pen applies the delay, so the link needs no pipe.
                None
            } else if more.jitter.is_some() || more.slots.is_some() {
                Some(pipes.own(link.delay, more))
            } else {
                (link.delay > Time::ZERO).then(|| pipes.constant(link.delay))
            }
        })
        .collect()
}

/// Creates the two endpoints of every flow, source, connection slot and program.
fn ends(
    plan: &Plan,
    seed: u64,
    first_segment: u64,
    ids: &Ids,
    owners: &[u32],
    paths: &[Path],
) -> Vec<Ends> {
    let mut flows = plan.each_flow();
    let (n_flows, n_traffic) = (plan.flow_count() as u32, plan.source_count() as u32);
    let first_slot = n_flows + n_traffic + plan.program_count() as u32;
    let ends = (0_u32..).zip(owners.iter()).map(|(number, owner)| {
        let flow = flows.next();
        let slot = number.saturating_sub(first_slot);
        Ends {
            opener: match owner.checked_sub(n_flows) {
                None => Opener::Flow,
                Some(source) if source < n_traffic => Opener::Traffic(source),
                Some(place) => Opener::Program(place - n_traffic),
            },
            path: paths[*owner as usize].clone(),
            timers: match &flow {
                Some(_) => [ids.senders + number, ids.receivers + number],
                None => [ids.slots + 2 * slot + 1, ids.slots + 2 * slot],
            },
            armed: [Time::NEVER; 2],
            due: [Time::ZERO; 2],
            entered: 0,
            ended: 0,
            connection: flow.map(|flow| Box::new(of_flow(&flow, plan, seed, first_segment, ids))),
        }
    });
    ends.collect()
}
