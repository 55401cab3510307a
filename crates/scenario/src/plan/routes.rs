//! Reads routes: the links that data and ACKs pass.

use tailback_engine::keys::KeyKind;

use super::links::Links;
use crate::declare::{Fields, Reader, expectation};
use crate::read::{Item, Problem, listed, shorten};

/// Largest number of links in a route. In each packet, a field of 8 bits counts the links that the
/// packet has passed.
const MAX_ROUTE: usize = 250;

pub(super) fn route(reader: &mut Reader<'_>, item: &Item, links: &Links) -> Option<Vec<u32>> {
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
                let message = format!("\"{name}\" is twice on the {}", item.key);
                reader.problem(Problem::new(node.span, message).help("remove one of them"));
            }
            Some(link) => route.push(link),
            None => {
                good = false;
                let names: Vec<&str> = links.plans.iter().map(|link| link.name.as_str()).collect();
                let shown = shorten(name);
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

/// Reads the links that data and ACKs pass.
pub(super) fn routes(
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
                let expected = format!("links in order, out of {}", listed(names.into_iter()));
                reader.problem(
                    Problem::new(fields.span, "\"route\" is missing: there are several links")
                        .help(format!("add \"route\": {expected}"))
                        .expected(expected)
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
            .help("add both_directions = true to a link of the route, or \"back\"")
            .global(),
        );
    }
    (back, there)
}
