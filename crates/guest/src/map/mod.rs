//! Maps a plan to a job for the guest, or returns why Linux cannot run the plan.
//!
//! | module | content |
//! |---|---|
//! | `layout` | namespaces, devices, routes, shapers, delays |
//! | `tc` | queue disciplines as arguments of tc |
//! | `cc` | congestion controls and their parameters |
//! | `ends` | flows and sources of traffic |
//! | `events` | the changes during a run (`[[events]]`) |
//! | `impairments` | the impairments of links, as arguments of netem |
//! | `kits` | the available kernels, and the releases that introduced features |
//! | `modules` | the modules to load |
//! | `programs` | the programs that run on hosts |
//! | `refuse` | collects what Linux does not support, with the path in the plan |
//! | `stage` | delay, jitter and loss after a link, as arguments of netem |
//! | `script` | a job as text for a person to read |

mod cc;
mod ends;
mod events;
mod impairments;
mod kits;
mod layout;
mod modules;
mod outage;
mod programs;
mod refuse;
mod script;
mod stage;
mod tc;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use tailback_engine::impairments::Discipline;
use tailback_engine::keys::EngineKind;
use tailback_engine::plan::{
    ConnectionsPlan, FlowPlan, Growth, LinkPlan, Plan, RatePlan, Refusal, Schedule, SeriesMode,
    TcpPlan, TrafficPlan,
};
use tailback_engine::registry::find;
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::traffic;
use tailback_engine::units::Time;

use crate::job::{FORMAT, Job, Link, Module, Record};
use ends::Ends;
pub use kits::Kit;
use kits::Kits;
use layout::{Layout, mtu_of};
use modules::Modules;
pub use programs::Places;
use refuse::Refusals;

/// Name of the kernel module for scheduled marks and drops, and of its qdisc.
const SCHEDULE: &str = "tbsched";

/// Largest number of marks, and also of drops, that the module accepts (`TBSCHED_MAX`).
const MOST_SCHEDULED: usize = 4096;

const MOST_ENDS: usize = 60_000;

/// Largest number of simultaneous connections of a source, and backlog of its listening socket.
const MOST_CONNECTIONS: u32 = 4096;

/// Returns the reasons why this kernel cannot run a plan, or an empty list if it can. The plan may
/// be incomplete, because the function does not check missing parts.
pub fn judge(plan: &Plan, kit: &Kit) -> Vec<Refusal> {
    let found = kit.refused.iter().map(|(path, message)| Refusal {
        path: path.clone(),
        message: message.clone(),
        expected: None,
    });
    let mut refusals = decide(plan, kit).err().unwrap_or_default();
    refusals.extend(found);
    refusals
}

/// Returns the names of the kernel modules that a plan needs. A plan needs the modules that the
/// scenario names, and tailback's own modules for options that Linux does not have.
pub fn modules(plan: &Plan) -> BTreeSet<&str> {
    let queues = plan.links.iter();
    let queues = queues.filter_map(|link| tc::stand_in(&link.queue, link.module.as_deref()));
    let flows = plan.flows.iter().map(|f| (&f.cc, &f.module, f.tcp.growth));
    let connections = plan.traffic.iter().filter_map(|t| t.connections.as_ref());
    let controls = flows.chain(connections.map(|c| (&c.cc, &c.module, c.tcp.growth)));
    let programs = plan.programs.iter();
    let programs = programs.map(|p| (&p.cc, &p.module, Growth::Segments));
    let controls = controls
        .chain(programs)
        .filter_map(|(control, module, growth)| cc::stand_in(control, module.as_deref(), growth));
    let stepped = events::with_steps(plan);
    let outages = stepped.links.iter().any(outage::has);
    let outages = outages.then_some(outage::MODULE);
    let impaired = plan.links.iter();
    let impaired = impaired.filter(|link| impairments::needs_module(link));
    let impaired = impaired.map(|_| Discipline::MODULE);
    let own = outages.into_iter().chain(impaired);
    queues.chain(controls).chain(own).collect()
}

/// The parts of the kernel that a plan uses.
struct Decided<'k> {
    kit: Kits<'k>,
    modules: Vec<Module>,
    queues: Vec<tc::Qdisc>,
    /// The kernel's names of the congestion controls, by group of flows.
    controls: Vec<String>,
    /// The kernel's name of each source's congestion control. `None` for a source of datagrams.
    source_controls: Vec<Option<String>>,
    /// The kernel's names of the congestion controls, by entry in `[[programs]]`.
    program_controls: Vec<String>,
}

/// Returns the settings of a source's connections as the settings of a flow.
fn as_flow(source: &TrafficPlan, connections: &ConnectionsPlan) -> FlowPlan {
    FlowPlan {
        name: source.name.clone(),
        cc: connections.cc.clone(),
        module: connections.module.clone(),
        ecn: connections.ecn,
        count: 1,
        start: source.start,
        stop: source.stop,
        bytes: None,
        rtt: source.rtt,
        route: source.route.clone(),
        back: connections.back.clone(),
        tcp: connections.tcp.clone(),
        hosts: source.hosts.clone(),
        dscp: source.dscp,
        class: source.class.clone(),
        ..FlowPlan::default()
    }
}

/// Determines which parts of the kernel a plan uses, or returns why the plan cannot run.
fn decide<'k>(plan: &Plan, kit: &'k Kit) -> Result<Decided<'k>, Vec<Refusal>> {
    let plan = &*events::with_steps(plan);
    let kit = &Kits::of(plan, kit).map_err(|refusal| vec![refusal])?;
    let mut refusals = Refusals::default();
    let mut modules = Modules::default();
    whole(plan, &mut refusals);
    let mut queues = Vec::new();
    let mut scheduled = 0;
    for (i, link) in plan.links.iter().enumerate() {
        let path = format!("links[{i}]");
        links(&path, link, &mut refusals);
        impairments::check(&path, (i, plan), kit, &mut modules, &mut refusals);
        let mut queue = tc::queue(&path, link, kit, &mut modules, &mut refusals);
        events::of_queue(plan, i, &mut queue, kit, &mut refusals);
        queue.check(&path, link, &mut refusals);
        if outage::has(link) {
            outage::check(&path, &queue, kit, &mut modules, &mut refusals);
        }
        queues.push(queue);
        if let Some(numbers) = &link.schedule {
            scheduled += 1;
            let at = format!("{path}.schedule");
            if scheduled > 1 {
                refusals.add(
                    &at,
                    "the kernel engine supports one schedule",
                    "one link with a schedule",
                );
            }
            schedule(&at, numbers, kit, &mut modules, &mut refusals);
        }
    }
    shared_hosts(plan, &mut refusals);
    let mut controls = Vec::new();
    for (i, flow) in plan.flows.iter().enumerate() {
        let path = format!("flows[{i}]");
        connection(&path, flow, &plan.links, &mut refusals);
        controls.push(cc::control(&path, flow, kit, &mut modules, &mut refusals));
    }
    let mut source_controls = Vec::new();
    for (i, source) in plan.traffic.iter().enumerate() {
        let path = format!("traffic[{i}]");
        let links = &plan.links;
        let control = source_control(&path, source, links, kit, &mut modules, &mut refusals);
        source_controls.push(control);
    }
    let program_controls = programs::controls(plan, kit, &mut modules, &mut refusals);
    if !refusals.0.is_empty() {
        return Err(refusals.0);
    }
    Ok(Decided {
        kit: *kit,
        modules: modules.list(),
        queues,
        controls,
        source_controls,
        program_controls,
    })
}

/// Adds the module for scheduled marks and drops, with the packet numbers of a link's schedule as
/// parameters.
fn schedule(
    path: &str,
    schedule: &Schedule,
    kit: &Kits<'_>,
    modules: &mut Modules,
    refusals: &mut Refusals,
) {
    let Some(paths) = kit.extra.get(SCHEDULE) else {
        return refusals.add(
            path,
            "the guest kernel has no module for scheduled marks and drops",
            format!("a guest kernel with {SCHEDULE}"),
        );
    };
    let mut parameters = Vec::new();
    for (name, list) in [("marks", &schedule.marks), ("drops", &schedule.drops)] {
        if list.len() > MOST_SCHEDULED || list.iter().any(|n| *n > u64::from(u32::MAX)) {
            refusals.add(
                &format!("{path}.{name}"),
                "more than the module's list holds",
                format!("at most {MOST_SCHEDULED} numbers of 32 bits"),
            );
        }
        if !list.is_empty() {
            let list: Vec<String> = list.iter().map(u64::to_string).collect();
            parameters.push(format!("{name}={}", list.join(",")));
        }
    }
    modules.schedule(paths.clone(), parameters.join(" "));
}

fn source_control(
    path: &str,
    source: &TrafficPlan,
    links: &[LinkPlan],
    kit: &Kits<'_>,
    modules: &mut Modules,
    refusals: &mut Refusals,
) -> Option<String> {
    let kernel = find(traffic::ENTRIES, source.kind).map(|e| e.kernel);
    if !matches!(kernel, Some(Kernel::Agent)) {
        refusals.never(
            &format!("{path}.kind"),
            format!("the kernel engine does not support {}", source.kind),
        );
    }
    let Some(connections) = &source.connections else {
        let back = source.answers.as_ref().map(|back| ("back", back));
        let ways: Vec<_> = [("route", &source.route)].into_iter().chain(back).collect();
        routes(path, &ways, links, refusals);
        return None;
    };
    if connections.limit > MOST_CONNECTIONS {
        refusals.add(
            &format!("{path}.limit"),
            "more connections than a listening socket accepts",
            format!("at most {MOST_CONNECTIONS}"),
        );
    }
    let flow = as_flow(source, connections);
    connection(path, &flow, links, refusals);
    Some(cc::control(path, &flow, kit, modules, refusals))
}

/// Checks a TCP flow or connection, except for its congestion control.
fn connection(path: &str, flow: &FlowPlan, links: &[LinkPlan], refusals: &mut Refusals) {
    stack(path, &flow.tcp, refusals);
    let both = [("route", &flow.route), ("back", &flow.back)];
    routes(path, &both, links, refusals);
    if mtu_of(flow) > 65_535 {
        refusals.add(
            &format!("{path}.tcp.mss"),
            "longer than an IP packet",
            "mss + header of at most 65549",
        );
    }
}

/// Maps a plan to the job of a run with the given seed. The job contains no paths for the files of
/// programs.
///
/// # Errors
/// Returns every setting that Linux, or this guest kernel, does not support.
pub fn map(plan: &Plan, seed: u64, kit: &Kit) -> Result<Job, Vec<Refusal>> {
    map_with(plan, seed, kit, &Places::default())
}

/// Maps a plan to the job of a run with the given seed. `places` contains the paths of the
/// programs' packages and files.
///
/// # Errors
/// Returns every setting that Linux, or this guest kernel, does not support.
pub fn map_with(plan: &Plan, seed: u64, kit: &Kit, places: &Places) -> Result<Job, Vec<Refusal>> {
    let Decided {
        kit,
        modules,
        queues,
        controls,
        source_controls,
        program_controls,
    } = decide(plan, kit)?;
    let plan = &*events::with_steps(plan);
    let mut layout = Layout::of(plan, seed, &queues, &program_controls, &kit);
    let setup = layout.setup();
    let links = links_of(plan, queues, &layout);
    let ends = Ends {
        plan,
        seed,
        layout: &layout,
        controls: &controls,
        source_controls: &source_controls,
    };
    let (mut flows, mut sources) = (ends.flows(), ends.sources());
    events::turn(plan, &mut flows, &mut sources);
    let programs = programs::programs(plan, seed, &layout, places);
    Ok(Job {
        format: FORMAT,
        duration_ns: plan.duration.ns(),
        warmup_ns: plan.warmup.ns(),
        seed,
        record: record(plan),
        modules,
        sysctls: global_sysctls()
            .into_iter()
            .chain(programs::allowed(&program_controls))
            .collect(),
        namespaces: layout.namespaces,
        veths: layout.veths,
        offloads: plan.offloads,
        setup,
        changes: layout.changes,
        flows,
        sources,
        links,
        programs,
        gates: layout.gates,
    })
}

fn links_of(plan: &Plan, queues: Vec<tc::Qdisc>, layout: &Layout) -> Vec<Link> {
    let schedule_of = |link: &LinkPlan| link.schedule.clone().unwrap_or_default();
    let links = (0..).zip(&plan.links).zip(queues).zip(&layout.links);
    let links = links.map(|(((index, link), queue), at)| Link {
        name: link.name.clone(),
        aqm: link.queue.name().to_owned(),
        in_order: queue.in_order(),
        keeps_order: queue.keeps_order(),
        splits: plan.offloads && queue.splits(),
        loss_namespace: at.loss.map(|(namespace, _)| namespace),
        loss_kind: (at.loss)
            .filter(|(_, discipline)| discipline.is_own())
            .map(|(_, discipline)| discipline.kind().to_owned()),
        drops_at: queue.drops_at,
        kind: queue.kind,
        namespace: at.namespace,
        device: "out".to_owned(),
        rates: match &link.rate {
            RatePlan::Steps(steps) => steps.iter().map(|(t, r)| (t.ns(), r.0)).collect(),
            other => vec![(0, other.nominal().0)],
        },
        limit: queue.limit,
        limits: queue.changes.iter().map(|c| (c.at.ns(), c.limit)).collect(),
        scheduled_marks: schedule_of(link).marks,
        scheduled_drops: schedule_of(link).drops,
        schedule_namespace: at.schedule,
        classes: plan.classes_at(index),
    });
    links.collect()
}

fn record(plan: &Plan) -> Record {
    let record = &plan.record;
    Record {
        interval_ns: record.interval.ns(),
        series: record.series != SeriesMode::Off,
        changes: record.series == SeriesMode::Changes,
        acks: record.series == SeriesMode::Acks,
        events: record.events,
        statistics_ns: record.statistics.ns(),
        captures: record.captures,
        packets: record.packets,
    }
}

/// Returns the sysctls that apply to the whole kernel, not to a single namespace.
fn global_sysctls() -> Vec<(String, String)> {
    [
        // The unit is pages. Let TCP's memory pressure begin only at 2 GiB, because each buffer
        // already has its own limit.
        ("net/ipv4/tcp_mem", "393216 524288 786432"),
        ("net/core/rmem_max", "67108864"),
        ("net/core/wmem_max", "67108864"),
        // Each destination in each namespace uses an entry of the neighbour table.
        ("net/ipv4/neigh/default/gc_thresh1", "262144"),
        ("net/ipv4/neigh/default/gc_thresh2", "524288"),
        ("net/ipv4/neigh/default/gc_thresh3", "1048576"),
    ]
    .map(|(path, value)| (path.to_owned(), value.to_owned()))
    .to_vec()
}

/// Checks the settings of a plan that do not belong to a single link or a single flow.
fn whole(plan: &Plan, refusals: &mut Refusals) {
    if plan.hosts.pauses.is_some() {
        refusals.add(
            "hosts",
            "only the simulator pauses hosts",
            "\"vm\" or \"ideal\"",
        );
    }
    if plan.owners().len() > MOST_ENDS {
        refusals.add(
            "flows",
            "every flow, source and simultaneous connection needs a port",
            format!("at most {MOST_ENDS} of them"),
        );
    }
    if !plan.record.captures {
        for (path, on) in [
            ("record.events", plan.record.events),
            ("record.packets", plan.record.packets),
            ("record.statistics", plan.record.statistics > Time::ZERO),
            ("record.series", plan.record.series == SeriesMode::Changes),
        ] {
            if on {
                refusals.add(path, "taken from captures", "captures = true");
            }
        }
    }
}

fn links(path: &str, link: &LinkPlan, refusals: &mut Refusals) {
    let rate = format!("{path}.rate");
    match &link.rate {
        RatePlan::Trace(_) => refusals.add(
            &rate,
            "the kernel's shaper does not support traces",
            "a rate or steps",
        ),
        RatePlan::Steps(steps) if steps.iter().any(|s| (1..8).contains(&s.1.0)) => refusals.add(
            &rate,
            "less than a byte in a second",
            "steps of 0bit, or of at least 8bit",
        ),
        RatePlan::Constant(r) if r.0 < 8 => {
            refusals.add(&rate, "less than a byte in a second", "at least 8bit");
        }
        _ => {}
    }
    refusals.0.extend(link.refusals(EngineKind::Kernel, path));
    if let Some(slots) = &link.slots {
        let path = format!("{path}.slots");
        refusals.0.extend(slots.refusals(EngineKind::Kernel, &path));
    }
}

fn stack(path: &str, tcp: &TcpPlan, refusals: &mut Refusals) {
    let needed = if tcp.timestamps { 66 } else { 54 };
    if tcp.header != needed {
        let which = if tcp.timestamps { "with" } else { "without" };
        refusals.add(
            &format!("{path}.tcp.header"),
            format!("Linux sends {needed} bytes besides the payload {which} timestamps"),
            format!("header = {needed} or timestamps = {}", !tcp.timestamps),
        );
    }
    if tcp.min_rto.ns() == 0 || !tcp.min_rto.ns().is_multiple_of(1_000_000) {
        refusals.add(
            &format!("{path}.tcp.min_rto"),
            "a route stores the smallest timeout in milliseconds",
            "whole milliseconds, at least 1ms",
        );
    }
    let declared = tcp.refusals(EngineKind::Kernel, &format!("{path}.tcp"));
    refusals.0.extend(declared);
}

/// Rejects a host whose flows or sources have different peers, routes or stacks. Flows with the
/// same peer, route and stack form a group, and each end of a group is a namespace. A host that
/// belongs to several groups would need routes that depend on the source address.
fn shared_hosts(plan: &Plan, refusals: &mut Refusals) {
    let (pairs, of) = plan.hosts();
    let mut pair_of = BTreeMap::new();
    let mut refused = vec![false; pairs.len()];
    let flows = plan.each_flow().map(|flow| ("flows", flow.group));
    let sources = plan.each_source().map(|source| ("traffic", source.group));
    for ((list, group), &pair) in flows.chain(sources).zip(&of) {
        for name in pairs[pair].names.iter().flatten() {
            if *pair_of.entry(name).or_insert(pair) != pair && !refused[pair] {
                refused[pair] = true;
                refusals.add(
                    &format!("{list}[{group}].hosts"),
                    format!("the kernel engine already uses \"{name}\" in another pair of hosts, or with another route or stack"),
                    "flows that share both hosts, round-trip time, route and stack, or that share no host",
                );
            }
        }
    }
}

/// Rejects a route that passes a link twice, because routing depends only on the destination.
fn routes(path: &str, routes: &[(&str, &Vec<u32>)], links: &[LinkPlan], refusals: &mut Refusals) {
    for (name, route) in routes {
        if route.iter().any(|link| *link as usize >= links.len()) {
            refusals.never(&format!("{path}.{name}"), "a link that is not in the plan");
        }
        let twice = (1..route.len()).any(|i| route[..i].contains(&route[i]));
        if twice {
            refusals.add(
                &format!("{path}.{name}"),
                "the kernel's routes pass a link once",
                "every link at most once",
            );
        }
        // A link consists of up to five routers (schedule, queue, wire, jitter, fork), plus one
        // router for each impairment.
        let routers = route.iter().filter_map(|link| links.get(*link as usize));
        let routers: usize = routers.map(|link| 5 + link.impairments.len()).sum();
        if routers > 250 {
            refusals.add(
                &format!("{path}.{name}"),
                "more hops than the time to live of an IP packet",
                "at most 50 links, fewer with impairments",
            );
        }
    }
}
