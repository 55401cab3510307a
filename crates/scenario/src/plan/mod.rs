//! Makes a [`Plan`] from the tree of a file: reads every table, resolves names, fills in defaults,
//! and checks rules that concern several keys.

mod applications;
mod flows;
mod impairments;
mod links;
mod names;
mod offloads;
mod origins;
mod phases;
mod programs;
mod queues;
mod record;
mod routes;
mod short_forms;
mod sides;
mod stack;

use std::collections::HashMap;

use tailback_engine::keys::{EngineKind, KeyKind};
use tailback_engine::plan::{FlowPlan, PathKeys, Plan, ProgramPlan, TcpPlan, TrafficPlan};
use tailback_engine::units::Time;

pub(crate) use names::{LISTS, name_flows, names};
pub(crate) use origins::Origins;

use crate::declare::{Bdp, Fields, Reader, expectation};
use crate::read::{Node, Problem};
use flows::{Budget, Context};
use links::Links;

/// Returns the plan, the seed of its first run, and the positions of the plan's parts in the file.
/// Adds errors to the reader. Replaces wrong or missing values with defaults, or omits the part of
/// the plan that contains them.
pub(crate) fn plan(root: &Node, reader: &mut Reader<'_>) -> (Plan, u64, Origins) {
    let top = reader.fields(root, &Plan::TABLE, Plan::TABLE.label, Bdp::Nowhere);
    if let Some(item) = top.item("title") {
        reader.string(item, expectation(KeyKind::Text));
    }
    check_plugins(reader, &top);
    let (duration, warmup) = duration_and_warmup(reader, &top);

    let fields = reader.table(&top, "path", &PathKeys::TABLE);
    let mut path = PathKeys::default();
    path.set(|key| fields.value(key));
    let rtt_wrong = fields.item("rtt").is_some() && fields.given("rtt").is_none();

    let links = links::read(reader, &top, (!rtt_wrong).then_some(path.rtt));
    let tcp = top.item("tcp").map_or_else(TcpPlan::default, |item| {
        let (label, bdp) = (TcpPlan::TABLE.label, links.bdp_of(&[]));
        stack::read(reader, &item.node, label, &TcpPlan::default(), bdp)
    });

    let lists = LISTS.map(|name| list(reader, &top, name));
    if LISTS.iter().all(|name| top.item(name).is_none()) {
        reader.problem(
            Problem::new(root.span, "there is no traffic")
                .expected("at least one [[flows]] or [[traffic]]")
                .help("add [[flows]] or [[traffic]]")
                .global(),
        );
    }
    let names = names(lists);
    names::check(reader, lists, &names);
    let mut context = Context {
        links: &links,
        rtt: path.rtt,
        duration,
        warmup,
        start_jitter: top.time("start_jitter").unwrap_or(path.rtt),
        tcp: &tcp,
        budget: Budget::default(),
        classes: HashMap::new(),
    };
    let mut origins = Origins {
        links: links.origin.clone(),
        ..Origins::default()
    };
    let flows = flows::flows(
        reader,
        lists[0],
        &names[0],
        &mut context,
        &mut origins.flows,
    );
    let traffic = flows::traffic(
        reader,
        lists[1],
        &names[1],
        &mut context,
        &mut origins.traffic,
    );
    let programs = programs::programs(
        reader,
        lists[2],
        &names[2],
        &mut context,
        &mut origins.programs,
    );
    programs::check_hosts(reader, lists, &programs);

    let mut plan = Plan {
        start_jitter: path.rtt,
        offloads: path.offloads,
        record: record::read(reader, &top, duration.map(|end| end.since(warmup))),
        ..Plan::default()
    };
    plan.set(|key| top.value(key));
    plan.kernel = kernel(reader, &top);
    let packet = slowest_packet(&links, &tcp, &flows);
    check_host_jitter(reader, &top, &plan, packet);
    let at_once = plan.hosts.wait.is_none();
    if !at_once && plan.host_jitter > Time::ZERO {
        reject_host_jitter(reader, &top, plan.hosts.name);
    }
    if at_once && plan.host_jitter == Time::ZERO {
        phases::check(reader, &links, &flows, plan.duration, packet);
    }
    queues::check(reader, &links, &flows, &traffic, &programs);
    if plan.offloads
        && reader.engine == EngineKind::Sim
        && let Some(item) = fields.item("offloads")
    {
        offloads::check(reader, item.node.span, &flows, &traffic, &programs);
    }
    warn_of_idle_links(reader, &links, &flows, &traffic, &programs);
    plan.links = links.plans;
    plan.flows = flows;
    plan.traffic = traffic;
    plan.programs = programs;
    record::check(reader, &top, &plan);
    let seed = top.int("seed").unwrap_or_default().unsigned_abs();
    (plan, seed, origins)
}

/// Checks that the key `with` is a list of folders.
fn check_plugins(reader: &mut Reader<'_>, top: &Fields<'_>) {
    if let Some(item) = top.item("with")
        && !item
            .node
            .array()
            .is_some_and(|list| list.iter().all(|one| one.string().is_some()))
    {
        reader.wrong("with", &item.node, expectation(KeyKind::Folders));
    }
}

/// Returns the length of the run if the key `duration` is valid, and the start of the measured
/// time.
fn duration_and_warmup(reader: &mut Reader<'_>, top: &Fields<'_>) -> (Option<Time>, Time) {
    let duration = top.time("duration");
    let warmup = top.time("warmup").unwrap_or_default();
    if let Some(duration) = duration
        && warmup >= duration
        && let Some(item) = top.item("warmup")
    {
        reader.wrong(
            "warmup",
            &item.node,
            format!("a time shorter than the duration, {duration}"),
        );
    }
    (duration, warmup)
}

fn warn_of_idle_links(
    reader: &mut Reader<'_>,
    links: &Links,
    flows: &[FlowPlan],
    traffic: &[TrafficPlan],
    programs: &[ProgramPlan],
) {
    let ways = flows.iter().map(|f| (&f.route[..], Some(&f.back[..])));
    let ways = ways.chain(traffic.iter().map(|s| (&s.route[..], s.back())));
    let ways = ways.chain(programs.iter().map(|p| (&p.route[..], Some(&p.back[..]))));
    let ways = ways.flat_map(|(route, back)| [Some(route), back]);
    links::warn_of_idle(reader, links, ways.flatten());
}

/// Returns the kernel on which the plan runs. Returns `None` if the plan runs in the simulator.
fn kernel(reader: &mut Reader<'_>, top: &Fields<'_>) -> Option<String> {
    let item = top.item("kernel")?;
    let name = reader.string(item, "the release of a kernel such as \"6.1\"")?;
    if reader.engine == EngineKind::Sim {
        let problem = Problem::new(item.node.span, "the simulator does not run a kernel");
        reader.problem(problem.expected("--engine kernel, or no kernel"));
    }
    Some(name.to_owned())
}

/// Returns a top-level array of tables, such as `[[flows]]`.
fn list<'n>(reader: &mut Reader<'_>, top: &Fields<'n>, name: &str) -> &'n [Node] {
    let Some(item) = top.item(name) else {
        return &[];
    };
    match item.node.array() {
        Some(list) if !list.is_empty() => list,
        _ => {
            reader.wrong(name, &item.node, format!("tables, each under [[{name}]]"));
            &[]
        }
    }
}

/// Returns how long the slowest link needs to send the shortest full packet of a flow.
fn slowest_packet(links: &Links, tcp: &TcpPlan, flows: &[FlowPlan]) -> Option<Time> {
    let rate = links.plans.iter().map(|link| link.rate.lowest()).min();
    let rate = rate.filter(|rate| rate.0 > 0)?;
    let frame = |tcp: &TcpPlan| u64::from(tcp.mss) + u64::from(tcp.header);
    let frame = flows
        .iter()
        .map(|flow| frame(&flow.tcp))
        .min()
        .unwrap_or(frame(tcp));
    Some(rate.time_for(frame))
}

/// Rejects a host jitter that is too large. With a jitter of at least a packet time, packets that a
/// link has spaced out could leave back to back.
fn check_host_jitter(reader: &mut Reader<'_>, top: &Fields<'_>, plan: &Plan, packet: Option<Time>) {
    if let Some(packet) = packet
        && let Some(item) = top.item("host_jitter")
        && plan.host_jitter >= packet
    {
        reader.wrong(
            "host_jitter",
            &item.node,
            format!("a time below one packet time at the slowest link, {packet}"),
        );
    }
}

/// Rejects a host jitter in combination with hosts that hold packets. The waiting times of such
/// hosts are already a jitter.
fn reject_host_jitter(reader: &mut Reader<'_>, top: &Fields<'_>, kind: &str) {
    if let Some(item) = top.item("host_jitter") {
        let message = format!("hosts = \"{kind}\" already delays packets at random");
        let problem = Problem::new(item.node.span, message);
        reader.problem(problem.expected("host_jitter or hosts, but not both"));
    }
}
