//! Reads which programs run on which hosts, and which entries share a host.

use std::collections::BTreeMap;

use tailback_engine::cc;
use tailback_engine::keys::{EngineKind, KeyKind, Registry};
use tailback_engine::plan::{DATE, FilePlan, ProgramPlan, ResultPlan};
use tailback_engine::programs::{self, Made, stacks};
use tailback_engine::registry::find;
use tailback_engine::units::Time;

use super::flows::{Context, class, hosts, times};
use super::routes::{route, routes};
use super::sides::{Mentions, in_root, no_use_of_packages, over, said_side, variables};
use crate::declare::{Bdp, Choice, Fields, Reader, expectation, is_name};
use crate::read::{Node, Problem, Span, Table, shorten};

/// The largest number of hosts with programs.
const MAX_PROGRAMS: u64 = 256;

const SIDES: [&str; 2] = ["sender", "receiver"];

/// An entry of `[[programs]]`, before its shared host is resolved.
struct Entry<'n> {
    plan: ProgramPlan,
    fields: Fields<'n>,
    /// Hosts of other entries to which placeholders in this entry refer.
    mentions: Mentions<'n>,
    /// Whether both sides of the entry are free of errors.
    sound: bool,
    date: Option<(u64, Span)>,
    index: u32,
}

pub(super) fn programs(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    names: &[String],
    context: &mut Context<'_>,
    origin: &mut Vec<u32>,
) -> Vec<ProgramPlan> {
    let mut entries = Vec::new();
    let mut total = 0_u64;
    for (index, (node, name)) in (0..).zip(nodes.iter().zip(names)) {
        let mut entry = entry(reader, node, context);
        total = total.saturating_add(entry.plan.count);
        if total > MAX_PROGRAMS {
            let span = entry.fields.span_of("count");
            let problem = Problem::new(span, format!("{total} entries of programs are too many"));
            reader.problem(problem.expected(format!("at most {MAX_PROGRAMS} together")));
            entry.plan.count = 1;
        }
        entry.plan.name.clone_from(name);
        entry.index = index;
        entries.push(entry);
    }
    one_date(reader, &mut entries);
    for at in 0..entries.len() {
        share(reader, &mut entries, at);
    }
    let mut plans = Vec::new();
    // If two entries share a host, the plan stores the index of the other entry.
    let mut places = BTreeMap::new();
    for entry in &entries {
        if entry.sound {
            places.insert(entry.index, places.len() as u32);
        }
    }
    for mut entry in entries.into_iter().filter(|entry| entry.sound) {
        entry.plan.partner = entry.plan.partner.and_then(|at| places.get(&at).copied());
        origin.push(entry.index);
        plans.push(entry.plan);
    }
    plans
}

/// Returns whether entries run transport stacks that are compiled into the simulator.
fn has_stacks(reader: &Reader<'_>) -> bool {
    reader.engine == EngineKind::Sim && !reader.endpoints
}

/// Keys that apply only to programs. These keys do not apply to transport stacks or to endpoints
/// that the caller attaches.
const OF_PROGRAMS: [&str; 10] = [
    "sender", "receiver", "files", "packages", "env", "cc", "ecn", "expect", "date", "results",
];

/// Reports an error if an entry with a transport stack or attached endpoints contains keys that
/// apply only to programs.
fn no_programs(reader: &mut Reader<'_>, fields: &Fields<'_>) {
    let (instead, expected) = match reader.endpoints {
        true => ("this entry has attached endpoints", ""),
        false => (
            "in the simulator this entry is a stack",
            ", or --engine kernel",
        ),
    };
    for key in OF_PROGRAMS {
        if let Some(item) = fields.item(key) {
            let message = format!("\"{key}\" describes programs; {instead}");
            let problem = Problem::new(item.key_span, message);
            reader.problem(problem.expected(format!("no \"{key}\"{expected}")));
        }
    }
}

/// Reads an entry. A later step determines whether the entry shares a host with another entry.
fn entry<'n>(reader: &mut Reader<'_>, node: &'n Node, context: &mut Context<'_>) -> Entry<'n> {
    let def = &ProgramPlan::TABLE;
    let given_route = node.table().and_then(|table| table.item("route"));
    let way = given_route.and_then(|item| route(reader, item, context.links));
    let bdp = context.links.bdp_of(way.as_deref().unwrap_or_default());
    let fields = reader.fields(node, def, def.label, bdp);
    let count = context.budget.take(reader, &fields);
    times(reader, &fields, context);
    let (route, back) = routes(reader, &fields, way, context.links);
    let choice = fields
        .item("cc")
        .and_then(|item| reader.choice(Registry::Cc, "cc", &item.node, bdp));
    let choice = choice.unwrap_or_else(|| Choice::default_of(&cc::cubic::ENTRY));
    let class = class(reader, &fields, &route, context);
    let mut mentions = Vec::new();
    let mut plan = ProgramPlan {
        cc: choice.algorithm,
        module: choice.module,
        rtt: context.rtt,
        route,
        back,
        class,
        hosts: hosts(reader, &fields),
        ..ProgramPlan::default()
    };
    plan.set(|key| fields.value(key));
    plan.count = count;
    if count > 1 && plan.hosts.is_some() {
        let problem = Problem::new(fields.span_of("hosts"), "several hosts with one name");
        reader.problem(problem.expected("no hosts, or count = 1"));
    }

    if reader.endpoints || (has_stacks(reader) && fields.item("kind").is_some()) {
        no_programs(reader, &fields);
    }
    let known = entry_sides(reader, (node, &fields), context, bdp, &mut mentions);
    let sound = known.is_some();
    let made = known.unwrap_or_default();
    (plan.sender, plan.receiver) = (made.sender, made.receiver);
    plan.interop = made.interop;
    if let Some(item) = fields.item("kind") {
        let kind = item.node.string().unwrap_or_default();
        plan.kind = match made.stack {
            Some(_) => find(stacks::TABLE.entries(), kind).map_or("", |entry| entry.name),
            None => find(programs::TABLE.entries(), kind).map_or("", |entry| entry.name),
        };
    }
    plan.stack = made.stack;
    plan.packages = made.packages;
    if let Some(item) = fields.item("packages") {
        for (name, place) in reader.words(item).unwrap_or_default() {
            if !is_package(name) {
                reader.wrong("packages", place, "the name of a Debian package");
            } else if !plan.packages.iter().any(|known| known == name) {
                plan.packages.push(name.to_owned());
            }
        }
    }
    plan.packages.sort();
    no_use_of_packages(reader, &plan, &fields);
    if let Some(item) = fields.item("files") {
        plan.files = reader.files(item);
    }
    // The engine builds the files of a transport stack itself, so the engine's version determines
    // their content.
    plan.files.extend(made.built.map(FilePlan::built));
    if let Some(item) = fields.item("env") {
        plan.env = variables(reader, item, &mut mentions);
        // The entry's variables apply to both sides, and override the variables of the entry's
        // kind.
        if plan.interop.is_some() {
            let own = [
                ("sender", &mut plan.sender),
                ("receiver", &mut plan.receiver),
            ];
            for (side, place) in own {
                let said = fields
                    .item(side)
                    .and_then(|item| item.node.table()?.get("env"));
                let of_side = |name: &str| said.and_then(|said| said.table()?.get(name)).is_some();
                let given = |name: &str| plan.env.iter().any(|[known, _]| known == name);
                if let Some(side) = place {
                    side.env.retain(|[name, _]| of_side(name) || !given(name));
                }
            }
        }
    }
    plan.results = results(reader, &fields, made.results);
    let date = fields.item("date");
    let date = date.and_then(|item| Some((reader.date(item)?, item.node.span)));
    Entry {
        plan,
        fields,
        mentions,
        sound,
        date,
        index: 0,
    }
}

/// Returns the programs of an entry. The entry's kind and the entry's own keys determine the
/// programs. Returns `None` after an error.
fn entry_sides<'n>(
    reader: &mut Reader<'_>,
    (node, fields): (&'n Node, &Fields<'n>),
    context: &Context<'_>,
    bdp: Bdp,
    mentions: &mut Mentions<'n>,
) -> Option<Made> {
    let def = &ProgramPlan::TABLE;
    let own: Vec<&str> = def.keys.iter().map(|key| key.name).collect();
    let table = node.table()?;
    let Some(item) = fields.item("kind") else {
        if has_stacks(reader) {
            let problem = Problem::new(node.span, "programs run on the kernel engine only");
            reader.problem(problem.expected("--engine kernel"));
        }
        return said_sides(reader, (node.span, table), fields, &own, mentions);
    };
    let kind = reader.string(item, expectation(KeyKind::Word(Registry::Programs)))?;
    if has_stacks(reader) {
        let view = reader.stack(kind, item.node.span)?;
        let choice = reader.known(Registry::Stacks, view, table, &own, node.span, bdp);
        let (_, options) = choice.algorithm.known()?;
        return Some(Made {
            stack: Some(options.clone()),
            ..Made::default()
        });
    }
    let view = reader.entry(Registry::Programs, kind, item.node.span)?;
    let choice = reader.known(Registry::Programs, view, table, &own, node.span, bdp);
    let (_, options) = choice.algorithm.known()?;
    let entry = find(programs::TABLE.entries(), view.name)?;
    let start = fields.time("start").unwrap_or_default();
    let end = fields
        .time("stop")
        .into_iter()
        .chain(context.duration)
        .min();
    let mut made = (entry.build.made)(options, seconds(start, end.unwrap_or_default()));
    let mut good = true;
    for (side, place) in SIDES.iter().zip([&mut made.sender, &mut made.receiver]) {
        if made.interop.is_some() {
            let said = in_root(reader, fields, (kind, side), mentions);
            good &= said.is_some();
            *place = place.take().zip(said).map(|(own, said)| over(own, said));
        } else if let Some(item) = fields.item(side) {
            let message = format!("kind {kind} sets what runs on the {side}'s host");
            let problem = Problem::new(item.key_span, message);
            reader.problem(problem.expected(format!("no \"{side}\", or no kind")));
        }
    }
    good.then_some(made)
}

/// Returns the number of whole seconds from start to end.
fn seconds(start: Time, end: Time) -> u64 {
    end.since(start.min(end)).ns() / 1_000_000_000
}

/// Reads the programs of an entry without a kind.
fn said_sides<'n>(
    reader: &mut Reader<'_>,
    (span, table): (Span, &'n Table),
    fields: &Fields<'n>,
    own: &[&'static str],
    mentions: &mut Mentions<'n>,
) -> Option<Made> {
    for item in table
        .0
        .iter()
        .filter(|item| !own.contains(&item.key.as_str()))
    {
        reader.unknown(item, ProgramPlan::TABLE.label, own.iter().copied());
    }
    if reader.endpoints {
        return Some(Made::default());
    }
    if SIDES.iter().all(|side| fields.item(side).is_none()) {
        let problem = Problem::new(span, "nothing runs").global();
        let kinds = programs::ENTRIES.iter().map(|entry| entry.name);
        let kinds: Vec<&str> = kinds.collect();
        let expected = format!(
            "sender or receiver = {{ run = [\"program\", \"argument\"] }}, or a kind: {}",
            kinds.join(", ")
        );
        let help = format!("add {expected}");
        reader.problem(problem.expected(expected).help(help));
        return None;
    }
    let mut made = Made::default();
    let mut good = true;
    for (side, place) in SIDES.iter().zip([&mut made.sender, &mut made.receiver]) {
        if fields.item(side).is_some() {
            *place = said_side(reader, fields, side, mentions);
            good &= place.is_some();
        }
    }
    good.then_some(made)
}

/// Returns whether a text is a valid name of a Debian package (policy, 5.6.1).
fn is_package(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    (2..=128).contains(&name.len())
        && name.chars().all(fits)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Returns the numbers to read from output files. The entry's kind defines some of these numbers,
/// and the scenario may add others.
fn results(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    of_kind: Vec<ResultPlan>,
) -> Vec<ResultPlan> {
    let mut results = of_kind;
    let Some(item) = fields.item("results") else {
        return results;
    };
    let Some(table) = item.node.table() else {
        let expected = "tables by name, { NAME = { file = \"out.json\", path = \"a.b\" } }";
        reader.wrong("results", &item.node, expected);
        return results;
    };
    for one in &table.0 {
        if !is_name(&one.key, 64) {
            reader.check_name(&one.key, one.key_span);
        }
        let label = format!("result \"{}\"", shorten(&one.key));
        let own = reader.fields(&one.node, &ResultPlan::TABLE, &label, Bdp::Nowhere);
        let mut text = |key: &str| {
            let item = own.item(key)?;
            let text = reader.string(item, expectation(KeyKind::Text))?;
            let inside = |part: &str| !matches!(part, "" | "." | "..");
            if text.is_empty() || (key == "file" && !text.split('/').all(inside)) {
                reader.wrong(
                    key,
                    &item.node,
                    match key {
                        "file" => "a file below /out such as \"out.json\"",
                        _ => "keys and indices separated by dots such as \"end.rate\"",
                    },
                );
                return None;
            }
            Some(text.to_owned())
        };
        let (Some(file), Some(path)) = (text("file"), text("path")) else {
            continue;
        };
        let mut result = ResultPlan::default();
        result.set(|key| own.value(key));
        (result.name, result.file, result.path) = (one.key.clone(), file, path);
        results.retain(|known| known.name != result.name);
        results.push(result);
    }
    results
}

/// Checks that all entries have the same date, because the guest has only one clock.
fn one_date(reader: &mut Reader<'_>, entries: &mut [Entry<'_>]) {
    let mut given = entries.iter().filter_map(|entry| entry.date);
    let first = given.next();
    let others: Vec<Span> = given
        .filter(|(date, _)| first.is_some_and(|(first, _)| first != *date))
        .map(|(_, span)| span)
        .collect();
    for span in others {
        let problem = Problem::new(span, "the guest has another date already");
        reader.problem(problem.expected("one date for all entries"));
    }
    for entry in entries {
        entry.plan.date = first.map_or(DATE, |(date, _)| date);
    }
}

/// Uses the placeholders of an entry to find the entry with which it shares a host.
fn share(reader: &mut Reader<'_>, entries: &mut [Entry<'_>], at: usize) {
    let mentions = std::mem::take(&mut entries[at].mentions);
    let mut partner: Option<usize> = None;
    for (name, side, span) in mentions {
        let mut problem = |message: String, expected: String| {
            reader.problem(Problem::new(span, message).expected(expected));
        };
        let names = entries.iter().map(|entry| entry.plan.name.as_str());
        let Some(other) = names.clone().position(|known| known == name) else {
            let others: Vec<&str> = names
                .enumerate()
                .filter_map(|(i, name)| (i != at).then_some(name))
                .collect();
            let message = format!("there is no entry of programs named \"{}\"", shorten(name));
            let problem = Problem::new(span, message).global();
            let problem = problem.nearest(name, others.iter().copied());
            reader.problem(match others.as_slice() {
                [] => problem,
                others => problem.expected(format!("one of {}", others.join(", "))),
            });
            continue;
        };
        if other == at {
            continue;
        }
        let (this, that) = (&entries[at], &entries[other]);
        if !this.sound || !that.sound {
            continue;
        }
        let runs_on = usize::from(this.plan.sender.is_none());
        if this.plan.sender.is_some() && this.plan.receiver.is_some() {
            problem(
                format!("cannot use a host of \"{name}\": this entry has two hosts of its own"),
                "only one side (sender or receiver) in this entry".to_owned(),
            );
        } else if side == runs_on {
            let word = SIDES[1 - side];
            problem(
                format!(
                    "the {} of \"{name}\" is on this side of the links",
                    SIDES[side]
                ),
                format!(
                    "{{{name}.{word}}}, or a {word} in place of the {}",
                    SIDES[side]
                ),
            );
        } else if partner.is_some_and(|partner| partner != other) {
            problem(
                "this entry already uses a host of another entry".to_owned(),
                "hosts of one entry".to_owned(),
            );
        } else if that.plan.count > 1 {
            problem(
                format!("\"{name}\" has {} hosts", that.plan.count),
                "an entry with count = 1".to_owned(),
            );
        } else if that.plan.partner.is_some() || shares(that, &entries[..]) {
            problem(
                format!("\"{name}\" itself uses a host of another entry"),
                "the entry that owns this host".to_owned(),
            );
        } else {
            partner = Some(other);
        }
    }
    let Some(other) = partner else { return };
    for key in ["rtt", "route", "back", "reverse", "hosts"] {
        if let Some(item) = entries[at].fields.item(key) {
            let name = &entries[other].plan.name;
            let message =
                format!("\"{name}\" sets \"{key}\", because this entry uses a host of \"{name}\"");
            let problem = Problem::new(item.key_span, message);
            reader.problem(problem.expected(format!("no \"{key}\"")));
        }
    }
    let of = &entries[other];
    let (route, back, rtt, index) = (
        of.plan.route.clone(),
        of.plan.back.clone(),
        of.plan.rtt,
        of.index,
    );
    let plan = &mut entries[at].plan;
    (plan.route, plan.back, plan.rtt) = (route, back, rtt);
    plan.partner = Some(index);
}

/// Returns whether an entry has a placeholder for another entry's host. Call this function before
/// shared hosts are resolved.
fn shares(entry: &Entry<'_>, all: &[Entry<'_>]) -> bool {
    entry.mentions.iter().any(|(name, ..)| {
        let mut others = all.iter().filter(|other| other.index != entry.index);
        others.any(|other| other.plan.name == *name)
    })
}

/// Checks that no entry has the same host name as another entry or a flow.
pub(super) fn check_hosts(reader: &mut Reader<'_>, lists: [&[Node]; 3], programs: &[ProgramPlan]) {
    let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    if programs.iter().all(|program| program.hosts.is_none()) {
        return;
    }
    for (list, nodes) in lists.into_iter().enumerate() {
        for (index, node) in nodes.iter().enumerate() {
            let hosts = node.table().and_then(|table| table.get("hosts"));
            for host in hosts.and_then(Node::array).unwrap_or_default() {
                let Some(name) = host.string() else { continue };
                let here = (list, index);
                let known = seen.insert(name, here);
                if list == 2 && known.is_some_and(|known| known != here) {
                    let message = format!("there is a host named \"{}\" already", shorten(name));
                    let problem = Problem::new(host.span, message);
                    reader.problem(problem.expected("host names that no other entry uses"));
                }
            }
        }
    }
}
