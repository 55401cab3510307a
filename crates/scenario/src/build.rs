//! From a tree to a [`Plan`]: reads every table, resolves names, fills in
//! defaults and checks what no single key can know.

use std::collections::HashMap;

use tailback_engine::cc;
use tailback_engine::keys::{KeyKind, Registry, TableDef};
use tailback_engine::plan::{
    Algorithm, ConnectionsPlan, FlowPlan, LinkPlan, PathKeys, Plan, RatePlan, RecordPlan,
    SeriesMode, TcpPlan, TrafficPlan,
};
use tailback_engine::registry::rules::At;
use tailback_engine::registry::{self, Entry, Options, Value};
use tailback_engine::units::Time;
use tailback_engine::{aqm, traffic};

use crate::diagnostic::{Problem, listed};
use crate::memory;
use crate::places::Places;
use crate::read::{Bdp, Choice, Fields, Reader, expectation};
use crate::tree::{Node, Span, Table, Toml, unique_names};

/// The most flows and sources of one run.
pub(crate) const MAX_FLOWS: u64 = 1_000_000;

/// The shortest distance of the samples for statistics.
const SHORTEST_SAMPLE: Time = Time::from_ms(1);

/// A packet counts the links behind it in 8 bits.
const MAX_ROUTE: usize = 250;

/// The links of a plan under construction.
#[derive(Default)]
struct Links {
    plans: Vec<LinkPlan>,
    /// The link on the way back of each link on the way there, and the reverse.
    twin: HashMap<u32, u32>,
    /// Whether a link was left out because it is wrong.
    broken: bool,
    /// How many are on the way there: these come first.
    forward: usize,
    /// What one bdp is for each.
    bdp: Vec<Bdp>,
    /// The name in `[links]` of each; `None`: `[bottleneck]`.
    origin: Vec<Option<String>>,
}

impl Links {
    fn find(&self, name: &str) -> Option<u32> {
        self.plans
            .iter()
            .position(|link| link.name == name)
            .map(|index| index as u32)
    }

    fn twins(&self, route: &[u32]) -> Vec<u32> {
        let twins = route.iter().rev().filter_map(|link| self.twin.get(link));
        twins.copied().collect()
    }

    fn bdp_of(&self, route: &[u32]) -> Bdp {
        let first = route.first().map_or(0, |link| *link as usize);
        match self.bdp.get(first) {
            Some(bdp) => *bdp,
            None if self.broken => Bdp::Unknown,
            None => Bdp::Nowhere,
        }
    }
}

/// Reads a plan, and where its parts come from. Problems are in the reader;
/// what is wrong or missing has its default, or is left out of the plan.
pub(crate) fn plan(root: &Node, reader: &mut Reader<'_>) -> (Plan, Places) {
    let mut places = Places::default();
    let top = reader.fields(root, &Plan::TABLE, Plan::TABLE.label, Bdp::Nowhere);
    if let Some(item) = top.item("title") {
        reader.string(item, KeyKind::Text);
    }
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

    let fields = table(reader, &top, "path", &PathKeys::TABLE);
    let mut path = PathKeys::default();
    path.set(|key| fields.value(key));
    let rtt = path.rtt;
    let rtt_wrong = fields.item("rtt").is_some() && fields.given("rtt").is_none();

    let links = links(reader, &top, (!rtt_wrong).then_some(rtt));
    places.links = links.origin.clone();
    let tcp = match top.item("tcp") {
        Some(item) => {
            let label = TcpPlan::TABLE.label;
            stack(
                reader,
                &item.node,
                label,
                &TcpPlan::default(),
                links.bdp_of(&[]),
            )
        }
        None => TcpPlan::default(),
    };

    let mut budget = Budget::default();
    let (flow_nodes, traffic_nodes) = (list(reader, &top, "flows"), list(reader, &top, "traffic"));
    if flow_nodes.is_empty()
        && traffic_nodes.is_empty()
        && top.item("flows").is_none()
        && top.item("traffic").is_none()
    {
        reader.problem(
            Problem::new(root.span, "there is no traffic")
                .expected("at least one [[flows]] or [[traffic]]")
                .global(),
        );
    }
    let names = names(flow_nodes, traffic_nodes);
    check_names(reader, flow_nodes, traffic_nodes, &names);
    let mut classes = HashMap::new();
    let mut context = Context {
        links: &links,
        rtt,
        duration,
        tcp: &tcp,
    };
    let flows = flows(
        reader,
        flow_nodes,
        &names.0,
        &mut context,
        &mut budget,
        &mut places.flows,
        &mut classes,
    );
    let traffic = traffic(
        reader,
        traffic_nodes,
        &names.1,
        &context,
        &mut budget,
        &mut places.traffic,
        &mut classes,
    );

    let mut plan = Plan {
        start_jitter: rtt,
        ..Plan::default()
    };
    plan.set(|key| top.value(key));
    check_host_jitter(reader, &top, plan.host_jitter, &links, &tcp, &flows);
    plan.offloads = path.offloads;
    plan.record = record(reader, &top, duration.map(|end| end.since(warmup)));
    plan.links = links.plans;
    plan.flows = flows;
    plan.traffic = traffic;
    (plan, places)
}

/// A table of the root, which may be absent.
fn table<'n>(
    reader: &mut Reader<'_>,
    top: &Fields<'n>,
    name: &str,
    def: &'static TableDef,
) -> Fields<'n> {
    match top.item(name) {
        Some(item) => reader.fields(&item.node, def, def.label, Bdp::Nowhere),
        None => reader.absent(def, top.span),
    }
}

/// An array of tables of the root.
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

/// What stands where nothing is named.
fn default_choice<B>(entry: &Entry<B>) -> Choice {
    Choice {
        algorithm: Algorithm::Known {
            name: entry.name,
            options: registry::complete_defaults(entry),
        },
        module: None,
        right: true,
    }
}

fn links(reader: &mut Reader<'_>, top: &Fields<'_>, rtt: Option<Time>) -> Links {
    let mut links = Links::default();
    let mut broken = false;
    let mut twins = Vec::new();
    let mut named: Vec<(&str, &Node, String, bool)> = Vec::new();
    match (top.item("bottleneck"), top.item("links")) {
        (Some(bottleneck), Some(links)) => {
            let later = bottleneck.key_span.max(links.key_span);
            broken = true;
            reader.problem(
                Problem::new(later, "there are both [bottleneck] and [links]").expected(
                    "[bottleneck] for a single link, or [links.NAME] for each of several",
                ),
            );
        }
        (None, None) => reader.problem(
            Problem::new(top.span, "there is no link")
                .expected("[bottleneck] or [links.NAME]")
                .global(),
        ),
        _ => {}
    }
    if let Some(item) = top.item("bottleneck") {
        named.push(("bottleneck", &item.node, "[bottleneck]".to_owned(), false));
    }
    if let Some(item) = top.item("links") {
        match item.node.table() {
            Some(table) if !table.0.is_empty() => {
                for item in &table.0 {
                    if reader.check_name(&item.key, item.key_span) {
                        let label = format!("[links.{}]", item.key);
                        named.push((&item.key, &item.node, label, true));
                    } else {
                        links.broken = true;
                    }
                }
            }
            _ => reader.wrong("links", &item.node, "a table [links.NAME] for each link"),
        }
    }
    for (name, node, label, from_links) in named {
        // The rate first: the options' sizes may be in multiples of the bdp.
        let rate = node.table().and_then(|table| table.item("rate"));
        let rate = rate.and_then(|item| reader.rate(item));
        let bdp = match (&rate, rtt) {
            (Some(rate), Some(rtt)) => Bdp::Known(rate.nominal().0 as f64 * rtt.0 as f64 / 8e9),
            _ => Bdp::Unknown,
        };
        let fields = reader.fields(node, &LinkPlan::TABLE, &label, bdp);
        let queue = match fields.item("queue") {
            Some(item) => reader.choice(Registry::Aqm, "queue", &item.node, bdp),
            None => None,
        };
        // So has one that is wrong: it keeps its name, so that routes find it.
        let queue = queue.unwrap_or_else(|| default_choice(&aqm::fifo::ENTRY));
        let schedule = fields.item("schedule");
        let schedule = schedule.and_then(|item| reader.schedule(item));
        if fields.bool("both_directions") == Some(true) {
            twins.push(links.plans.len());
        }
        links.bdp.push(bdp);
        links.origin.push(from_links.then(|| name.to_owned()));
        let mut plan = LinkPlan {
            name: name.to_owned(),
            rate: rate.unwrap_or_default(),
            queue: queue.algorithm,
            module: queue.module,
            schedule,
            ..LinkPlan::default()
        };
        plan.set(|key| fields.value(key));
        links.plans.push(plan);
    }
    links.broken |= broken;
    links.forward = links.plans.len();
    for forward in twins {
        let back = links.plans.len() as u32;
        let mut plan = links.plans[forward].clone();
        plan.name.push_str(".back");
        links.plans.push(plan);
        links.bdp.push(links.bdp[forward]);
        links.origin.push(links.origin[forward].clone());
        links.twin.insert(forward as u32, back);
        links.twin.insert(back, forward as u32);
    }
    links
}

/// A receive window that holds no segment would stop the flow.
fn check_window(reader: &mut Reader<'_>, fields: &Fields<'_>, tcp: &TcpPlan) {
    if tcp.rwnd.0 >= u64::from(tcp.mss) {
        return;
    }
    let key = ["rwnd", "mss"]
        .into_iter()
        .find(|key| fields.item(key).is_some());
    reader.problem(
        Problem::new(
            fields.span_of(key.unwrap_or("rwnd")),
            format!(
                "the receive window of {} bytes holds no segment",
                tcp.rwnd.0
            ),
        )
        .expected(format!("rwnd of at least mss, {} bytes", tcp.mss)),
    );
}

/// The name of a flow or source that is given, and the one it has by default.
fn own_names<'n>(node: &'n Node, key: &str, name_key: &str) -> (Option<&'n str>, &'n str) {
    let table = node.table();
    let explicit = table.and_then(|t| t.get("name")).and_then(Node::string);
    let chosen = table.and_then(|t| t.get(key));
    let default = chosen.and_then(|node| match &node.value {
        Toml::Table(table) => table.get(name_key).and_then(Node::string),
        _ => node.string(),
    });
    (explicit, default.unwrap_or("flow"))
}

/// The names of all flows and sources, which are unique among both: a random
/// stream belongs to a name.
pub(crate) fn names(flows: &[Node], traffic: &[Node]) -> (Vec<String>, Vec<String>) {
    let flow_names = flows.iter().map(|node| own_names(node, "cc", "name"));
    let traffic_names = traffic.iter().map(|node| own_names(node, "kind", "kind"));
    let mut names = unique_names(flow_names.chain(traffic_names));
    let traffic_names = names.split_off(flows.len());
    (names, traffic_names)
}

/// Gives every flow and source the name it has in the file, so that neither
/// `--set` nor a sweep over `cc` renames it: paths, assertions and results
/// speak of the same flow at every point.
pub(crate) fn name_flows(root: &mut Node) {
    let Toml::Table(table) = &mut root.value else {
        return;
    };
    let list = |table: &Table, name| {
        let list = table.get(name).and_then(Node::array);
        list.map(<[Node]>::to_vec).unwrap_or_default()
    };
    let (flows, traffic) = (list(table, "flows"), list(table, "traffic"));
    let (flow_names, traffic_names) = names(&flows, &traffic);
    for (list, names) in [("flows", flow_names), ("traffic", traffic_names)] {
        let Some(Toml::Array(nodes)) = table.get_mut(list).map(|node| &mut node.value) else {
            continue;
        };
        for (node, name) in nodes.iter_mut().zip(names) {
            if let Toml::Table(table) = &mut node.value
                && table.get("name").is_none()
            {
                let name = Node {
                    span: DEFAULT_NAME,
                    value: Toml::String(name),
                };
                table.set("name", DEFAULT_NAME, name);
            }
        }
    }
}

/// The place of a name that is not in the file.
const DEFAULT_NAME: Span = Span {
    source: u32::MAX,
    start: 0,
    end: 0,
};

fn check_names(
    reader: &mut Reader<'_>,
    flows: &[Node],
    traffic: &[Node],
    names: &(Vec<String>, Vec<String>),
) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let nodes = flows.iter().chain(traffic);
    for (node, name) in nodes.zip(names.0.iter().chain(&names.1)) {
        let item = node.table().and_then(|table| table.item("name"));
        let Some(item) = item.filter(|item| item.node.span != DEFAULT_NAME) else {
            continue;
        };
        if item.node.string().is_none() {
            reader.wrong("name", &item.node, expectation(KeyKind::Name));
        } else if reader.check_name(name, item.node.span) {
            if seen.contains_key(name.as_str()) {
                let problem = Problem::new(
                    item.node.span,
                    format!("there are two flows or sources named \"{name}\""),
                );
                reader.problem(problem.expected("a name of its own for each"));
            }
            seen.insert(name, item.node.span);
        }
    }
}

/// What flows and sources need of the rest.
struct Context<'a> {
    links: &'a Links,
    /// path.rtt.
    rtt: Time,
    duration: Option<Time>,
    tcp: &'a TcpPlan,
}

/// How many flows and sources there are so far.
#[derive(Default)]
struct Budget {
    total: u64,
    exceeded: bool,
}

impl Budget {
    /// Takes `count` from what may be used; 1 if that is too much.
    fn take(&mut self, reader: &mut Reader<'_>, fields: &Fields<'_>) -> u64 {
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

/// A name for each of `count` flows.
fn numbered(name: &str, count: u64) -> impl Iterator<Item = String> + '_ {
    (1..=count).map(move |n| {
        if count == 1 {
            name.to_owned()
        } else {
            format!("{name}/{n}")
        }
    })
}

fn flows(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    names: &[String],
    context: &mut Context<'_>,
    budget: &mut Budget,
    origin: &mut Vec<u32>,
    classes: &mut Classes,
) -> Vec<FlowPlan> {
    let mut flows = Vec::new();
    for (index, (node, name)) in nodes.iter().zip(names).enumerate() {
        // The route first: sizes may be in multiples of its bdp.
        let given_route = node.table().and_then(|table| table.item("route"));
        let route = given_route.and_then(|item| route(reader, item, context.links));
        let bdp = context.links.bdp_of(route.as_deref().unwrap_or_default());
        let fields = reader.fields(node, &FlowPlan::TABLE, FlowPlan::TABLE.label, bdp);
        let cc = fields
            .item("cc")
            .and_then(|item| reader.choice(Registry::Cc, "cc", &item.node, bdp));
        let count = budget.take(reader, &fields);
        times(reader, &fields, context.duration);
        let (route, back) = way(reader, &fields, route, context.links);
        let tcp = stack_of(reader, &fields, context.tcp, bdp);
        let Some(choice) = cc else { continue };
        let ecn = fields
            .item("ecn")
            .map(|item| (fields.bool("ecn"), item.node.span));
        let ecn = ecn_of(reader, &choice, &tcp, ecn, &fields);
        let hosts = hosts(reader, &fields);
        let class = class(reader, &fields, &route, context.links, classes);
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
        origin.extend((0..count).map(|_| index as u32));
        flows.extend(numbered(name, count).map(|name| FlowPlan {
            name,
            ..flow.clone()
        }));
    }
    flows
}

/// The stack of a flow: that of all, but for its own keys.
fn stack_of(reader: &mut Reader<'_>, fields: &Fields<'_>, base: &TcpPlan, bdp: Bdp) -> TcpPlan {
    let Some(item) = fields.item("tcp") else {
        return base.clone();
    };
    stack(reader, &item.node, "tcp", base, bdp)
}

/// The stack that a table describes; what it does not say is as in `base`.
fn stack(reader: &mut Reader<'_>, node: &Node, label: &str, base: &TcpPlan, bdp: Bdp) -> TcpPlan {
    let fields = reader.fields(node, &TcpPlan::TABLE, label, bdp);
    let mut tcp = base.clone();
    tcp.set(|key| fields.given(key).cloned());
    check_window(reader, &fields, &tcp);
    tcp
}

/// Whether ECN is negotiated: as `given` with its place, or as the congestion control needs it.
fn ecn_of(
    reader: &mut Reader<'_>,
    choice: &Choice,
    tcp: &TcpPlan,
    given: Option<(Option<bool>, Span)>,
    fields: &Fields<'_>,
) -> bool {
    let (given, at) = given.unwrap_or((None, fields.span));
    let control = choice.algorithm.known().filter(|_| choice.right);
    let (ecn, findings) = cc::ecn::negotiated(control, tcp, given);
    for finding in findings {
        let span = match finding.at {
            At::Ecn => at,
            At::Control => fields.span_of("cc"),
            At::Option(name) => {
                let cc = fields.item("cc").and_then(|item| item.node.table());
                let option = cc.and_then(|cc| cc.item(name));
                option.map_or(fields.span_of("cc"), |item| item.node.span)
            }
        };
        let problem = Problem::new(span, finding.message).expected(finding.expected);
        if finding.warning {
            reader.warnings.push(problem);
        } else {
            reader.problem(problem);
        }
    }
    ecn
}

/// The connections of a source that has some; `options` are those of its kind.
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
    let choice = choice.unwrap_or_else(|| default_choice(&cc::cubic::ENTRY));
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

fn traffic(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    names: &[String],
    context: &Context<'_>,
    budget: &mut Budget,
    origin: &mut Vec<u32>,
    classes: &mut Classes,
) -> Vec<TrafficPlan> {
    let def = &TrafficPlan::TABLE;
    let own: Vec<&str> = def.keys.iter().map(|key| key.name).collect();
    let mut sources = Vec::new();
    for (index, (node, name)) in nodes.iter().zip(names).enumerate() {
        let given_route = node.table().and_then(|table| table.item("route"));
        let route = given_route.and_then(|item| route(reader, item, context.links));
        let bdp = context.links.bdp_of(route.as_deref().unwrap_or_default());
        let fields = reader.fields(node, def, def.label, bdp);
        let count = budget.take(reader, &fields);
        times(reader, &fields, context.duration);
        let (route, back) = way(reader, &fields, route, context.links);
        let chosen = fields.item("kind").and_then(|item| {
            let kind = reader.string(item, KeyKind::Word(Registry::Traffic))?;
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
            for item in of_others.filter_map(|key| fields.item(key.name)) {
                let kinds = traffic::ENTRIES.iter().map(|entry| entry.name);
                let kinds: Vec<&str> = kinds.filter(|kind| traffic::connects(kind)).collect();
                let (key, kinds) = (&item.key, kinds.join(" and "));
                let message = format!("\"{key}\" is a key of {kinds}, not of {}", entry.name);
                reader.problem(Problem::new(item.key_span, message));
            }
        }
        let hosts = hosts(reader, &fields);
        let class = class(reader, &fields, &route, context.links, classes);
        let mut source = TrafficPlan {
            kind: entry.name,
            options,
            rtt: context.rtt,
            route,
            connections,
            hosts,
            class,
            ..TrafficPlan::default()
        };
        source.set(|key| fields.value(key));
        origin.extend((0..count).map(|_| index as u32));
        sources.extend(numbered(name, count).map(|name| TrafficPlan {
            name,
            ..source.clone()
        }));
    }
    sources
}

/// The classes so far, with the link of their members.
type Classes = HashMap<String, u32>;

/// The class of a flow or source that takes this way.
fn class(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    route: &[u32],
    links: &Links,
    classes: &mut Classes,
) -> Option<String> {
    let item = fields.item("class")?;
    let name = reader.string(item, KeyKind::Class)?.to_owned();
    if !reader.check_class(&name, item.node.span) {
        return None;
    }
    // Without a link the route is wrong, which is said already.
    let link = *route.first()?;
    let first = *classes.entry(name.clone()).or_insert(link);
    if first != link {
        let of = |link: u32| links.plans.get(link as usize).map_or("", |l| &l.name);
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

/// The hosts of a flow or source.
fn hosts(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<[String; 2]> {
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

/// A flow or source starts within the run, and before it stops.
fn times(reader: &mut Reader<'_>, fields: &Fields<'_>, duration: Option<Time>) {
    let start = fields.time("start").unwrap_or_default();
    let stop = fields.time("stop");
    if let (Some(duration), Some(item)) = (duration, fields.item("start"))
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
}

/// Reads a list of links.
fn route(reader: &mut Reader<'_>, item: &crate::tree::Item, links: &Links) -> Option<Vec<u32>> {
    let Some(list) = item.node.array() else {
        reader.wrong(&item.key, &item.node, expectation(KeyKind::Route));
        return None;
    };
    if list.len() > MAX_ROUTE {
        let problem = Problem::new(item.node.span, format!("a route of {} links", list.len()));
        reader.problem(problem.expected(format!("at most {MAX_ROUTE} links")));
        return None;
    }
    let mut route = Vec::with_capacity(list.len());
    let mut good = true;
    for node in list {
        let Some(name) = node.string() else {
            reader.wrong(&item.key, node, expectation(KeyKind::Route));
            good = false;
            continue;
        };
        match links.find(name) {
            Some(link) if route.contains(&link) => {
                good = false;
                reader.problem(Problem::new(
                    node.span,
                    format!("\"{name}\" is twice on the {}", item.key),
                ));
            }
            Some(link) => route.push(link),
            None => {
                good = false;
                let names: Vec<&str> = links.plans.iter().map(|link| link.name.as_str()).collect();
                let shown = crate::tree::shorten(name);
                let mut problem =
                    Problem::new(node.span, format!("there is no link named \"{shown}\"")).global();
                if !names.is_empty() {
                    problem = problem
                        .expected(format!("one of {}", listed(names.iter().copied())))
                        .nearest(name, names.iter().copied().take(1000));
                }
                reader.problem(problem);
            }
        }
    }
    good.then_some(route)
}

/// The links of data and of ACKs.
fn way(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    given: Option<Vec<u32>>,
    links: &Links,
) -> (Vec<u32>, Vec<u32>) {
    let there = match (given, fields.item("route")) {
        (Some(route), Some(item)) => {
            if route.is_empty() {
                reader.wrong("route", &item.node, "at least one link");
            }
            route
        }
        (_, Some(_)) => return (Vec::new(), Vec::new()),
        (_, None) if links.forward == 1 => vec![0],
        (_, None) => {
            if links.forward > 1 && !links.broken {
                let names: Vec<&str> = links.plans.iter().map(|link| link.name.as_str()).collect();
                reader.problem(
                    Problem::new(fields.span, "\"route\" is missing: there are several links")
                        .expected(format!(
                            "links in order, out of {}",
                            listed(names.into_iter())
                        ))
                        .global(),
                );
            }
            return (Vec::new(), Vec::new());
        }
    };
    let back = match fields.item("back") {
        Some(item) => match route(reader, item, links) {
            Some(back) => back,
            None => return (there, Vec::new()),
        },
        None => links.twins(&there),
    };
    if fields.bool("reverse") != Some(true) {
        return (there, back);
    }
    if back.is_empty() {
        reader.problem(
            Problem::new(
                fields.span_of("reverse"),
                "there is no link on the way back",
            )
            .expected("both_directions = true on a link of the route, or \"back\"")
            .global(),
        );
    }
    (back, there)
}

/// The jitter of hosts must not reorder what a link has spaced.
fn check_host_jitter(
    reader: &mut Reader<'_>,
    top: &Fields<'_>,
    host_jitter: Time,
    links: &Links,
    tcp: &TcpPlan,
    flows: &[FlowPlan],
) {
    let slowest = |plan: &RatePlan| match plan {
        RatePlan::Steps(steps) => steps
            .iter()
            .map(|(_, rate)| *rate)
            .filter(|rate| rate.0 > 0)
            .min()
            .unwrap_or_default(),
        other => other.nominal(),
    };
    let rate = links.plans.iter().map(|link| slowest(&link.rate)).min();
    let Some(rate) = rate.filter(|rate| rate.0 > 0) else {
        return;
    };
    let frame = |tcp: &TcpPlan| u64::from(tcp.mss) + u64::from(tcp.header);
    let frame = flows
        .iter()
        .map(|flow| frame(&flow.tcp))
        .min()
        .unwrap_or(frame(tcp));
    let packet = rate.time_for(frame);
    if let Some(item) = top.item("host_jitter")
        && host_jitter >= packet
    {
        reader.wrong(
            "host_jitter",
            &item.node,
            format!("a time below one packet time at the slowest link, {packet}"),
        );
    }
}

fn record(reader: &mut Reader<'_>, top: &Fields<'_>, measured: Option<Time>) -> RecordPlan {
    let fields = table(reader, top, "record", &RecordPlan::TABLE);
    let mut plan = RecordPlan::default();
    plan.set(|key| fields.value(key));
    if let Some(item) = fields.item("series") {
        let mode = match &item.node.value {
            Toml::Bool(true) => Some(SeriesMode::Interval),
            Toml::Bool(false) => Some(SeriesMode::Off),
            Toml::String(word) => SeriesMode::named(word),
            _ => None,
        };
        plan.series = mode.unwrap_or(SeriesMode::Off);
        if mode.is_none() {
            let kind = KeyKind::Switch(SeriesMode::WORDS);
            reader.wrong("series", &item.node, expectation(kind));
        }
    }
    let statistics = plan.statistics;
    let most = measured.filter(|time| *time > Time::ZERO);
    if let Some(item) = fields.item("statistics")
        && statistics > Time::ZERO
        && (statistics < SHORTEST_SAMPLE || most.is_some_and(|most| statistics > most))
    {
        let most = most.map_or("the measured time".to_owned(), |most| {
            format!("the measured time, {most}")
        });
        reader.wrong(
            "statistics",
            &item.node,
            format!("0s, or a time from {SHORTEST_SAMPLE} to {most}"),
        );
    }
    plan
}
