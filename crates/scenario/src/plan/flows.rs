//! Reads flows and sources of traffic.

use std::collections::HashMap;

use tailback_engine::keys::{KeyKind, Registry};
use tailback_engine::plan::{ConnectionsPlan, FlowPlan, TcpPlan, TrafficPlan};
use tailback_engine::registry::{Options, Value};
use tailback_engine::units::{Bytes, Time};
use tailback_engine::{cc, traffic};

use super::applications::application;
use super::links::Links;
use super::routes::{route, routes};
use super::stack::{ecn_of, stack_of};
use crate::declare::{Bdp, Choice, Fields, MAX_TIME, Reader, expectation};
use crate::memory;
use crate::read::{Node, Problem, Table};

const MAX_FLOWS: u64 = 1_000_000;

/// Values from other tables that flows and sources depend on.
pub(super) struct Context<'a> {
    pub links: &'a Links,
    /// The value of `path.rtt`.
    pub rtt: Time,
    pub duration: Option<Time>,
    pub warmup: Time,
    pub start_jitter: Time,
    pub tcp: &'a TcpPlan,
    pub budget: Budget,
    /// For each class that has been read so far, the first link of its members.
    pub classes: HashMap<String, u32>,
}

/// Number of flows and sources so far. The number of flows and sources is limited.
#[derive(Default)]
pub(super) struct Budget {
    total: u64,
    exceeded: bool,
}

impl Budget {
    /// Returns the value of the key `count`. Reports an error and returns 1 if the scenario has too
    /// many flows and sources in total.
    pub(super) fn take(&mut self, reader: &mut Reader<'_>, fields: &Fields<'_>) -> u64 {
        let count = fields.int("count").unwrap_or(1).unsigned_abs();
        self.total = self.total.saturating_add(count);
        if self.exceeded {
            return 1;
        }
        let span = fields.span_of("count");
        if self.total > MAX_FLOWS {
            self.exceeded = true;
            reader.problem(
                Problem::new(span, format!("{} flows are too many", self.total))
                    .expected(format!("at most {MAX_FLOWS} flows and sources together")),
            );
        } else if let Some(available) = reader.memory
            && let Some(problem) = memory::refuse_flows(self.total, available, span)
        {
            self.exceeded = true;
            reader.problem(problem);
        }
        if self.exceeded { 1 } else { count }
    }
}

pub(super) fn flows(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    names: &[String],
    context: &mut Context<'_>,
    origin: &mut Vec<u32>,
) -> Vec<FlowPlan> {
    let mut flows = Vec::new();
    for (index, (node, name)) in nodes.iter().zip(names).enumerate() {
        // Read the route first, because sizes may be multiples of the route's bdp.
        let given_route = node.table().and_then(|table| table.item("route"));
        let route = given_route.and_then(|item| route(reader, item, context.links));
        let bdp = context.links.bdp_of(route.as_deref().unwrap_or_default());
        let fields = reader.fields(node, &FlowPlan::TABLE, FlowPlan::TABLE.label, bdp);
        let cc = fields
            .item("cc")
            .and_then(|item| reader.choice(Registry::Cc, "cc", &item.node, bdp));
        let count = context.budget.take(reader, &fields);
        times(reader, &fields, context);
        let (route, back) = routes(reader, &fields, route, context.links);
        let tcp = stack_of(reader, &fields, context.tcp, bdp);
        let hosts = hosts(reader, &fields);
        let class = class(reader, &fields, &route, context);
        let Some(choice) = cc else { continue };
        let ecn = fields
            .item("ecn")
            .map(|item| (fields.bool("ecn"), item.node.span));
        let ecn = ecn_of(reader, &choice, &tcp, ecn, &fields);
        let mut flow = FlowPlan {
            cc: choice.algorithm,
            module: choice.module,
            ecn,
            rtt: context.rtt,
            route,
            back,
            tcp,
            hosts,
            class,
            ..FlowPlan::default()
        };
        flow.set(|key| fields.value(key));
        (flow.name, flow.count) = (name.clone(), count);
        application(reader, &fields, &mut flow, bdp);
        warn_of_short(reader, &fields, &flow, context);
        origin.push(index as u32);
        flows.push(flow);
    }
    flows
}

/// Reads the connections of a source whose kind opens connections. `options` contains the options
/// of the source's kind.
fn connections(
    reader: &mut Reader<'_>,
    (fields, table): (&Fields<'_>, &Table),
    options: &Options,
    back: Vec<u32>,
    base: &TcpPlan,
    bdp: Bdp,
) -> ConnectionsPlan {
    let choice = fields
        .item("cc")
        .and_then(|item| reader.choice(Registry::Cc, "cc", &item.node, bdp));
    let choice = choice.unwrap_or_else(|| Choice::default_of(&cc::cubic::ENTRY));
    let tcp = stack_of(reader, fields, base, bdp);
    let given = match options.get("ecn") {
        Some(Value::Bool(ecn)) => Some(*ecn),
        _ => None,
    };
    let ecn = table.item("ecn").map(|item| (given, item.node.span));
    ConnectionsPlan {
        ecn: ecn_of(reader, &choice, &tcp, ecn, fields),
        cc: choice.algorithm,
        module: choice.module,
        back,
        tcp,
        limit: options.int("limit") as u32,
    }
}

pub(super) fn traffic(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    names: &[String],
    context: &mut Context<'_>,
    origin: &mut Vec<u32>,
) -> Vec<TrafficPlan> {
    let def = &TrafficPlan::TABLE;
    let own: Vec<&str> = def.keys.iter().map(|key| key.name).collect();
    let mut sources = Vec::new();
    for (index, (node, name)) in nodes.iter().zip(names).enumerate() {
        let given_route = node.table().and_then(|table| table.item("route"));
        let route = given_route.and_then(|item| route(reader, item, context.links));
        let bdp = context.links.bdp_of(route.as_deref().unwrap_or_default());
        let fields = reader.fields(node, def, def.label, bdp);
        let count = context.budget.take(reader, &fields);
        times(reader, &fields, context);
        let (route, back) = routes(reader, &fields, route, context.links);
        let hosts = hosts(reader, &fields);
        let class = class(reader, &fields, &route, context);
        let chosen = fields.item("kind").and_then(|item| {
            let kind = reader.string(item, expectation(KeyKind::Word(Registry::Traffic)))?;
            reader.entry(Registry::Traffic, kind, item.node.span)
        });
        let (Some(entry), Some(table)) = (chosen, node.table()) else {
            continue;
        };
        let choice = reader.known(Registry::Traffic, entry, table, &own, node.span, bdp);
        let options = choice.algorithm.known().map(|known| known.1.clone());
        let options = options.unwrap_or_default();
        let connections = traffic::connects(entry.name).then(|| {
            let back = back.clone();
            Box::new(connections(
                reader,
                (&fields, table),
                &options,
                back,
                context.tcp,
                bdp,
            ))
        });
        if connections.is_none() {
            let of_others = def.keys.iter().filter(|key| key.of_connections);
            let of_others = of_others.filter(|key| !traffic::takes(entry.name, key.name));
            for item in of_others.filter_map(|key| fields.item(key.name)) {
                let kinds = traffic::TABLE.entries().iter().map(|entry| entry.name);
                let kinds: Vec<&str> = kinds
                    .filter(|kind| traffic::takes(kind, &item.key))
                    .collect();
                let (key, kinds) = (&item.key, kinds.join(" and "));
                let message = format!("\"{key}\" is a key of {kinds}, not of {}", entry.name);
                let help = format!("remove \"{key}\"");
                reader.problem(Problem::new(item.key_span, message).help(help));
            }
        }
        let mut source = TrafficPlan {
            kind: entry.name,
            options,
            rtt: context.rtt,
            route,
            connections,
            answers: traffic::answers(entry.name).then_some(back),
            hosts,
            class,
            ..TrafficPlan::default()
        };
        source.set(|key| fields.value(key));
        (source.name, source.count) = (name.clone(), count);
        origin.push(index as u32);
        sources.push(source);
    }
    sources
}

/// Reads the class of a flow or source. All members of a class must have the same first link.
pub(super) fn class(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    route: &[u32],
    context: &mut Context<'_>,
) -> Option<String> {
    let item = fields.item("class")?;
    let name = reader.string(item, expectation(KeyKind::Class))?.to_owned();
    if !reader.check_class(&name, item.node.span) {
        return None;
    }
    // If the route is empty, the reader has already reported an error.
    let link = *route.first()?;
    let first = *context.classes.entry(name.clone()).or_insert(link);
    if first != link {
        let of = |link: u32| {
            context
                .links
                .plans
                .get(link as usize)
                .map_or("", |l| &l.name)
        };
        let problem = format!(
            "class \"{name}\" has members that begin at link \"{}\", and this one at \"{}\"",
            of(first),
            of(link)
        );
        reader.problem(
            Problem::new(item.node.span, problem)
                .expected("one first link for all members of a class, or another class"),
        );
    }
    Some(name)
}

pub(super) fn hosts(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<[String; 2]> {
    let item = fields.item("hosts")?;
    let names = item.node.array().unwrap_or_default();
    let texts: Vec<&str> = names.iter().filter_map(Node::string).collect();
    let &[sender, receiver] = texts.as_slice() else {
        reader.wrong("hosts", &item.node, expectation(KeyKind::Hosts));
        return None;
    };
    let good = names
        .iter()
        .zip(&texts)
        .all(|(node, name)| reader.check_name(name, node.span));
    if good && sender == receiver {
        reader.wrong("hosts", &item.node, "two hosts");
    }
    Some([sender.to_owned(), receiver.to_owned()])
}

/// Checks that a flow or source starts before the end of the run and before its own stop time.
/// Warns if a random start may be too late, or if the flow or source does not run during the
/// measured time.
pub(super) fn times(reader: &mut Reader<'_>, fields: &Fields<'_>, context: &Context<'_>) {
    let start = fields.time("start").unwrap_or_default();
    let stop = fields.time("stop");
    let before = reader.problems.len();
    if let (Some(duration), Some(item)) = (context.duration, fields.item("start"))
        && start >= duration
    {
        reader.wrong(
            "start",
            &item.node,
            format!("a time before the end of the run, {duration}"),
        );
    }
    if let (Some(stop), Some(item)) = (stop, fields.item("stop"))
        && stop <= start
    {
        reader.wrong(
            "stop",
            &item.node,
            format!("a time after the start, {start}"),
        );
    }
    let Some(duration) = context.duration.filter(|_| reader.problems.len() == before) else {
        return;
    };
    let (end, what) = match stop {
        Some(stop) if stop < duration => (stop, "stops"),
        _ => (duration, "ends with the run"),
    };
    let (latest, jitter) = (start + context.start_jitter, context.start_jitter);
    if latest >= end {
        let at = if fields.item("start").is_none() && stop.is_some() {
            "stop"
        } else {
            "start"
        };
        let message = format!(
            "with some seeds it never starts: it {what} at {end}, and starts up to {jitter} after \
             {start}"
        );
        let problem = Problem::new(fields.span_of(at), message);
        let expected = "a shorter start_jitter, or more time between start and end";
        reader.warnings.push(problem.expected(expected));
    }
    if let Some(stop) = stop
        && stop <= context.warmup
    {
        let message = format!(
            "it stops at {stop}, and nothing is counted before the warm-up ends at {}",
            context.warmup
        );
        let problem = Problem::new(fields.span_of("stop"), message);
        let expected = format!("a time after the warm-up, {}", context.warmup);
        reader.warnings.push(problem.expected(expected));
    }
}

/// Warns if a transfer would complete before the measured time, even without competitors.
fn warn_of_short(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    flow: &FlowPlan,
    context: &Context<'_>,
) {
    let Some(bytes) = flow.bytes else { return };
    let ends = flow.start + alone(flow, bytes, context.links);
    if ends > context.warmup || flow.stop.is_some_and(|stop| stop <= context.warmup) {
        return;
    }
    let message = format!(
        "without other traffic, the flow has sent all {} bytes at {}, and nothing is counted before the warm-up ends at {}",
        bytes.0,
        about(ends),
        context.warmup
    );
    let problem = Problem::new(fields.span_of("bytes"), message);
    let expected = "a later start, a shorter warm-up or more bytes";
    reader.warnings.push(problem.expected(expected));
}

/// Formats a time with three significant digits, such as 80.2ms.
fn about(time: Time) -> String {
    let digits = time.0.checked_ilog10().unwrap_or(0).saturating_sub(2);
    let unit = 10_u64.pow(digits);
    let rounded = (time.0.saturating_add(unit / 2) / unit).saturating_mul(unit);
    let (scale, unit) = match rounded {
        n if n >= 1_000_000_000 => (1e9, "s"),
        n if n >= 1_000_000 => (1e6, "ms"),
        n if n >= 1_000 => (1e3, "us"),
        _ => (1.0, "ns"),
    };
    format!("{}{unit}", rounded as f64 / scale)
}

/// Returns how long a transfer takes without competitors: the round trips of slow start, and then
/// the time that the slowest link needs for the data.
fn alone(flow: &FlowPlan, bytes: Bytes, links: &Links) -> Time {
    let on_route = || {
        let links = flow
            .route
            .iter()
            .map(|link| links.plans.get(*link as usize));
        links.flatten()
    };
    let rtt = on_route().fold(flow.rtt, |rtt, link| rtt + link.base_delay());
    let rate = on_route().map(|link| link.rate.nominal()).min();
    let rate = rate.unwrap_or_default();
    if rate.0 == 0 {
        return MAX_TIME;
    }
    let mss = u64::from(flow.tcp.mss);
    let mut window = u64::from(flow.tcp.initial_cwnd) * mss;
    let mut left = bytes.0;
    // The handshake takes one round-trip time.
    let mut time = rtt;
    while left > window && window < rate.bytes_in(rtt) {
        left -= window;
        window = window.saturating_mul(2);
        time += rtt;
    }
    time + rtt + rate.time_for(left)
}
