//! From a plan to a network at rest: pipes, links, end points and their first
//! events.

use tailback_record::{ClassRecorder, Series};

use super::web::Web;
use super::{End, Flow, FlowSeries, Ids, LinkSeries, Network, Path, Pipe, Unresponsive};
use crate::aqm::{self, QueueContext, Sink};
use crate::calendar::Calendar;
use crate::cc::{self, CongestionControl};
use crate::link::Link;
use crate::plan::{Algorithm, FlowPlan, LinkPlan, Plan, SeriesMode, TcpPlan, TrafficPlan};
use crate::registry::{Entry, Options, find};
use crate::rng::Stream;
use crate::tcp::ecn_echo::EcnEcho;
use crate::tcp::receiver::Receiver;
use crate::tcp::sce::SceEcho;
use crate::tcp::sender::Sender;
use crate::traffic;
use crate::units::Time;

impl Network {
    /// Builds the network of a plan.
    ///
    /// # Panics
    /// When the plan names an algorithm that is not registered or of the kernel
    /// only, or options that are not complete: a plan made from a scenario that
    /// was validated for the simulator does neither.
    pub fn new(plan: &Plan) -> Network {
        Network::numbered_from(plan, 0)
    }

    /// The same network whose senders number their segments from `first_segment` on. What is
    /// measured does not depend on it; that is what it is for (tests of long flows).
    ///
    /// # Panics
    /// As [`Network::new`].
    pub fn numbered_from(plan: &Plan, first_segment: u64) -> Network {
        let plan = plan.clone();
        let names: Vec<&str> = plan
            .flows
            .iter()
            .map(|f| f.name.as_str())
            .chain(plan.traffic.iter().map(|t| t.name.as_str()))
            .collect();
        let mut pipes = Vec::new();
        let mut paths = Vec::new();
        for flow in &plan.flows {
            let half = Time(flow.rtt.ns() / 2);
            let (access, returning) = if plan.host_jitter > Time::ZERO {
                // Its own pipes: jitter keeps the order of one host's packets only.
                let mut own = |delay: Time, purpose| {
                    let stream = Stream::new(plan.seed, &flow.name, purpose);
                    pipes.push(Pipe::new(delay, Some((plan.host_jitter, stream))));
                    (pipes.len() - 1) as u32
                };
                (
                    own(half, "sender jitter"),
                    own(flow.rtt - half, "receiver jitter"),
                )
            } else {
                (
                    pipe_of(&mut pipes, half),
                    pipe_of(&mut pipes, flow.rtt - half),
                )
            };
            paths.push(Path {
                route: flow.route.clone().into(),
                back: flow.back.clone().into(),
                access,
                returning,
            });
        }
        for source in &plan.traffic {
            let half = Time(source.rtt.ns() / 2);
            let access = pipe_of(&mut pipes, half);
            let connections = source.connections.as_ref();
            paths.push(Path {
                route: source.route.clone().into(),
                back: connections.map_or_else(Vec::new, |c| c.back.clone()).into(),
                access,
                returning: match connections {
                    Some(_) => pipe_of(&mut pipes, source.rtt - half),
                    None => access,
                },
            });
        }
        let owners = plan.owners();
        for owner in &owners[paths.len()..] {
            paths.push(paths[*owner as usize].clone());
        }
        let link_pipes: Vec<Option<u32>> = plan
            .links
            .iter()
            .map(|link| {
                if link.jitter > Time::ZERO {
                    let stream = Stream::new(plan.seed, &link.name, "jitter");
                    pipes.push(Pipe::new(link.delay, Some((link.jitter, stream))));
                    Some((pipes.len() - 1) as u32)
                } else {
                    (link.delay > Time::ZERO).then(|| pipe_of(&mut pipes, link.delay))
                }
            })
            .collect();

        let mut series = Series::default();
        let mut links: Vec<Link> = plan
            .links
            .iter()
            .enumerate()
            .map(|(i, l)| build_link(i as u32, l, &plan, &names, &owners))
            .collect();
        let info = plan.flow_info();
        for link in &mut links {
            link.queue.flows(&info);
        }
        let link_series = plan
            .links
            .iter()
            .zip(&links)
            .map(|(p, l)| declare_link(&mut series, p, l));
        let link_series = link_series.collect();
        let flows = plan
            .flows
            .iter()
            .enumerate()
            .map(|(i, f)| build_flow(i as u32, f, &plan, first_segment, &mut series))
            .collect();
        let sources = plan
            .traffic
            .iter()
            .map(|t| build_source(t, &plan))
            .collect();

        let (n_pipes, n_links) = (pipes.len() as u32, plan.links.len() as u32);
        let (n_flows, n_sources) = (plan.flows.len() as u32, plan.traffic.len() as u32);
        let links_at = n_pipes;
        let senders = links_at + 3 * n_links;
        let sources_at = senders + 2 * n_flows;
        let stops = sources_at + n_sources;
        let ids = Ids {
            links: links_at,
            queue_timers: links_at + n_links,
            rate_changes: links_at + 2 * n_links,
            senders,
            receivers: senders + n_flows,
            sources: sources_at,
            stops,
            warmup: stops + n_flows,
            sampler: stops + n_flows + 1,
        };
        let every_change = matches!(plan.record.series, SeriesMode::Changes | SeriesMode::Acks);
        let mut network = Network {
            now: Time::ZERO,
            ids,
            calendar: Calendar::new(ids.sampler as usize + 1 + owners.len() - names.len()),
            pipes,
            links,
            link_pipes,
            link_series,
            flows,
            sources,
            web: Web::new(&plan, &owners, ids.sampler + 1),
            paths,
            series,
            scratch: Vec::new(),
            events: 0,
            entered: 0,
            ended: 0,
            data_packets_before_warmup: 0,
            every_change,
            first_segment,
            plan,
        };
        network.enter_first_events();
        network
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
            if let Some((time, _)) = link.next_rate_change(Time::ZERO) {
                self.calendar
                    .schedule(self.ids.rate_changes + i as u32, time);
            }
        }
        for (i, flow) in self.flows.iter_mut().enumerate() {
            flow.armed[End::Sender as usize] = flow.start;
            self.calendar
                .schedule(self.ids.senders + i as u32, flow.start);
            if let Some(stop) = flow.stop {
                self.calendar.schedule(self.ids.stops + i as u32, stop);
            }
        }
        for (i, source) in self.sources.iter().enumerate() {
            self.calendar
                .schedule(self.ids.sources + i as u32, source.start);
        }
        if self.plan.warmup > Time::ZERO {
            self.calendar.schedule(self.ids.warmup, self.plan.warmup);
        }
        self.calendar
            .schedule(self.ids.sampler, self.plan.record.interval);
    }
}

/// Finds or makes the pipe of a constant delay.
fn pipe_of(pipes: &mut Vec<Pipe>, delay: Time) -> u32 {
    let found = pipes
        .iter()
        .position(|p| p.jitter.is_none() && p.delay == delay);
    found.unwrap_or_else(|| {
        pipes.push(Pipe::new(delay, None));
        pipes.len() - 1
    }) as u32
}

/// The entry of an algorithm, and the options it is built with.
pub(super) fn known<'a, B>(
    entries: &'a [&'static Entry<B>],
    chosen: &'a Algorithm,
) -> (&'a Entry<B>, &'a Options) {
    let (name, options) = chosen
        .known()
        .expect("a plan validated for the simulator has nothing of the kernel only");
    let entry = find(entries, name).expect("a validated plan names registered algorithms");
    (entry, options)
}

fn build_link(index: u32, plan: &LinkPlan, whole: &Plan, names: &[&str], owners: &[u32]) -> Link {
    let (entry, options) = known(aqm::ENTRIES, &plan.queue);
    let connections = whole.traffic.iter().filter_map(|t| t.connections.as_ref());
    let stacks = whole.flows.iter().map(|flow| &flow.tcp);
    let stacks = stacks.chain(connections.map(|c| &c.tcp));
    let frames = stacks.map(|tcp| u32::from(tcp.mss) + u32::from(tcp.header));
    let context = QueueContext {
        rate: plan.rate.nominal(),
        mtu: frames.max().unwrap_or(1514),
        rng: Stream::new(whole.seed, &plan.name, "queue"),
    };
    let mut sink = Sink::new(names.len(), whole.warmup);
    if whole.record.events {
        sink.record_events(names, &plan.name);
    }
    sink.add_places(owners);
    if whole.record.packets {
        sink.record_packets(index);
    }
    sink.record_classes(ClassRecorder::new(
        whole.classes_at(index),
        owners,
        whole.warmup.ns(),
        whole.duration.ns(),
        whole.record.statistics.ns(),
    ));
    let loss = Stream::new(whole.seed, &plan.name, "loss");
    Link::new(plan, (entry.build)(options, context), sink, loss)
}

fn declare_link(series: &mut Series, plan: &LinkPlan, link: &Link) -> LinkSeries {
    let name = Some(plan.name.as_str());
    LinkSeries {
        packets: series.id(None, name, "backlog_packets"),
        bytes: series.id(None, name, "backlog_bytes"),
        gauges: link
            .queue
            .gauge_names()
            .iter()
            .map(|q| series.id(None, name, q))
            .collect(),
    }
}

fn build_flow(
    index: u32,
    flow: &FlowPlan,
    plan: &Plan,
    first_segment: u64,
    series: &mut Series,
) -> Flow {
    let (entry, options) = known(cc::ENTRIES, &flow.cc);
    let mut control = (entry.build)(options);
    control.randomise(Stream::new(plan.seed, &flow.name, "cc"));
    let gauges = control.gauge_names();
    let bytes = flow.bytes.map(|b| b.0);
    let (sender, receiver) = build_ends(index, &flow.tcp, control, flow.ecn, bytes, first_segment);
    let recording = plan.record.series != SeriesMode::Off;
    Flow {
        series: recording.then(|| {
            let mut id = |quantity: &str| series.id(Some(&flow.name), None, quantity);
            FlowSeries {
                cwnd: id("cwnd"),
                ssthresh: id("ssthresh"),
                srtt: id("srtt_ns"),
                in_flight: id("in_flight"),
                delivered: id("delivered_bytes"),
                gauges: gauges.iter().map(|g| id(g)).collect(),
                acks: (plan.record.series == SeriesMode::Acks)
                    .then(|| (id("ca_state"), id("acked_bytes"))),
            }
        }),
        sender,
        receiver,
        armed: [Time::NEVER; 2],
        start: plan.start_of(flow.start, &flow.name),
        stop: flow.stop,
        bytes,
        mss: u64::from(flow.tcp.mss),
        base_bytes: 0,
        completed: None,
        bytes_at_stop: None,
        srtt_sum_ns: 0,
        srtt_samples: 0,
        rwnd_limited_samples: 0,
        recorded_cwnd: 0,
    }
}

/// Both ends of a connection.
pub(super) fn build_ends(
    number: u32,
    tcp: &TcpPlan,
    control: Box<dyn CongestionControl>,
    ecn: bool,
    bytes: Option<u64>,
    first_segment: u64,
) -> (Sender, Receiver) {
    let need = control.needs().ecn;
    let echo = EcnEcho::of(ecn, tcp.ecn_feedback, need);
    let mut receiver = Receiver::new(number, tcp, echo);
    if ecn && !receiver.is_accurate() {
        receiver.echo_sce(SceEcho::of(tcp.sce_receiver, need));
    }
    let sender = Sender::new(number, tcp, control, ecn, bytes);
    (
        sender.numbered_from(first_segment),
        receiver.numbered_from(first_segment),
    )
}

fn build_source(source: &TrafficPlan, plan: &Plan) -> Unresponsive {
    let entry =
        find(traffic::ENTRIES, source.kind).expect("a validated plan names registered sources");
    let stream = Stream::new(plan.seed, &source.name, "traffic");
    Unresponsive {
        source: (entry.build)(&source.options, stream),
        start: plan.start_of(source.start, &source.name),
        stop: source.stop,
        sent_packets: 0,
        received_packets: 0,
        received_bytes: 0,
    }
}
