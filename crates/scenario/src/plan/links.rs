//! Reads the links, and copies links to the return direction where needed. Also records which links
//! are copies of each other.

use std::collections::{HashMap, HashSet};

use tailback_engine::aqm;
use tailback_engine::keys::Registry;
use tailback_engine::plan::{LinkPlan, SlotsPlan};
use tailback_engine::units::Time;

use super::{impairments, short_forms};
use crate::declare::{Bdp, Choice, Fields, Reader};
use crate::read::{Item, Problem, Span};

#[derive(Default)]
pub(super) struct Links {
    pub plans: Vec<LinkPlan>,
    /// For each link with a copy in the return direction, the index of the copy.
    pub twin: HashMap<u32, u32>,
    /// Whether a link was omitted because of an error.
    pub broken: bool,
    /// Number of links in the forward direction. These links come first in the list of links.
    pub forward: usize,
    /// The bandwidth-delay product of each link.
    pub bdp: Vec<Bdp>,
    /// The name in `[links]` of each link. `None` for `[bottleneck]`.
    pub origin: Vec<Option<String>>,
    /// The position at which each link is declared. A link and its copy have the same position.
    pub declared: Vec<Span>,
    /// For each link, the position of its queue's name, and the positions of the queue's options.
    pub queues: Vec<(Span, Vec<(String, Span)>)>,
}

impl Links {
    pub fn find(&self, name: &str) -> Option<u32> {
        self.plans
            .iter()
            .position(|link| link.name == name)
            .map(|index| index as u32)
    }

    pub fn twins(&self, route: &[u32]) -> Vec<u32> {
        let twins = route.iter().rev().filter_map(|link| self.twin.get(link));
        twins.copied().collect()
    }

    pub fn bdp_of(&self, route: &[u32]) -> Bdp {
        let first = route.first().map_or(0, |link| *link as usize);
        match self.bdp.get(first) {
            Some(bdp) => *bdp,
            None if self.broken => Bdp::Unknown,
            None => Bdp::Nowhere,
        }
    }
}

/// Reads the links. `rtt` is the round-trip time of the path, if known.
pub(super) fn read(reader: &mut Reader<'_>, top: &Fields<'_>, rtt: Option<Time>) -> Links {
    let mut links = Links::default();
    let mut broken = false;
    let mut twins = Vec::new();
    let mut named: Vec<(&str, &Item, String, bool)> = Vec::new();
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
                .help("add [bottleneck] or [links.NAME]")
                .global(),
        ),
        _ => {}
    }
    if let Some(item) = top.item("bottleneck") {
        named.push(("bottleneck", item, "[bottleneck]".to_owned(), false));
    }
    if let Some(item) = top.item("links") {
        match item.node.table() {
            Some(table) if !table.0.is_empty() => {
                for item in &table.0 {
                    if reader.check_name(&item.key, item.key_span) {
                        let label = format!("[links.{}]", item.key);
                        named.push((&item.key, item, label, true));
                    } else {
                        links.broken = true;
                    }
                }
            }
            _ => reader.wrong("links", &item.node, "a table [links.NAME] for each link"),
        }
    }
    for (name, item, label, from_links) in named {
        let node = &item.node;
        links.declared.push(item.key_span);
        // Read the rate first, because sizes in options may be multiples of the link's bdp.
        let rate_item = node.table().and_then(|table| table.item("rate"));
        let rate = rate_item.and_then(|item| reader.rate(item));
        let bdp = match (&rate, rtt) {
            (Some(rate), Some(rtt)) => Bdp::Known(rate.nominal().0 as f64 * rtt.0 as f64 / 8e9),
            _ => Bdp::Unknown,
        };
        let fields = reader.fields(node, &LinkPlan::TABLE, &label, bdp);
        let queue = match fields.item("queue") {
            Some(item) => reader.choice(Registry::Aqm, "queue", &item.node, bdp),
            None => None,
        };
        // Keep a link whose queue has an error, so that routes can refer to the link.
        let queue = queue.unwrap_or_else(|| Choice::default_of(&aqm::fifo::ENTRY));
        let schedule = fields.item("schedule");
        let schedule = schedule.and_then(|item| reader.schedule(item));
        if fields.bool("both_directions") == Some(true) {
            twins.push(links.plans.len());
        }
        links.queues.push(places(fields.item("queue"), node.span));
        let rate_known = rate.is_some();
        let slots = fields
            .item("slots")
            .and_then(|item| read_slots(reader, item));
        let mut impairments =
            rate_item.map_or_else(Vec::new, |item| short_forms::of_trace(reader, item));
        impairments.extend(short_forms::read(reader, &fields, bdp));
        if let Some(item) = fields.item("impairments") {
            impairments.extend(impairments::read(reader, item, bdp));
        }
        links.bdp.push(bdp);
        links.origin.push(from_links.then(|| name.to_owned()));
        let mut plan = LinkPlan {
            name: name.to_owned(),
            rate: rate.unwrap_or_default(),
            queue: queue.algorithm,
            module: queue.module,
            schedule,
            slots,
            impairments,
            ..LinkPlan::default()
        };
        plan.set(|key| fields.value(key));
        if let Some(item) = fields.item("burst") {
            plan.burst = reader.burst(item, &plan, rate_known, bdp);
        }
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
        links.queues.push(links.queues[forward].clone());
        links.origin.push(links.origin[forward].clone());
        links.declared.push(links.declared[forward]);
        links.twin.insert(forward as u32, back);
        links.twin.insert(back, forward as u32);
    }
    links
}

/// Warns about links that no sender uses. `used` lists the links on all routes.
pub(super) fn warn_of_idle<'a>(
    reader: &mut Reader<'_>,
    links: &Links,
    used: impl Iterator<Item = &'a [u32]>,
) {
    let used: HashSet<u32> = used.flatten().copied().collect();
    for (number, link) in (0..).zip(&links.plans[..links.forward]) {
        let twin = links.twin.get(&number);
        if used.contains(&number) || twin.is_some_and(|twin| used.contains(twin)) {
            continue;
        }
        let message = format!("nothing passes link \"{}\"", link.name);
        let problem = Problem::new(links.declared[number as usize], message);
        let expected = "its name in a \"route\" or \"back\", or no such link";
        let help = "add its name to a \"route\" or \"back\", or remove the link";
        reader.warnings.push(problem.expected(expected).help(help));
    }
}

fn read_slots(reader: &mut Reader<'_>, item: &Item) -> Option<SlotsPlan> {
    let before = reader.problems.len();
    let fields = reader.fields(&item.node, &SlotsPlan::TABLE, "[slots]", Bdp::Nowhere);
    let mut slots = SlotsPlan::default();
    slots.set(|key| fields.value(key));
    if reader.problems.len() > before {
        return None;
    }
    if slots.max == Time::ZERO {
        slots.max = slots.min;
    }
    for (name, least, what) in [
        ("max", slots.min, "min"),
        // The gap between slots has a minimum, because otherwise each arriving packet could start a
        // new slot.
        ("min", slots.delay, "delay"),
    ] {
        if let Some(given) = fields.item(name)
            && fields.time(name).is_some_and(|time| time < least)
        {
            let expected = format!("at least {what}, {least}");
            reader.wrong(name, &given.node, expected);
        }
    }
    Some(slots)
}

/// Returns the position of a queue's name, and the positions of its options.
fn places(queue: Option<&Item>, link: Span) -> (Span, Vec<(String, Span)>) {
    let table = queue.and_then(|item| item.node.table());
    let options = table.map_or(&[][..], |table| &table.0);
    let options = options.iter().map(|opt| (opt.key.clone(), opt.node.span));
    (queue.map_or(link, |item| item.node.span), options.collect())
}
