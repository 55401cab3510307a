//! Warns about queue settings that do not suit the link.

use tailback_engine::aqm;
use tailback_engine::cc::ecn::sends_ect1;
use tailback_engine::plan::{Algorithm, FlowPlan, ProgramPlan, TcpPlan, TrafficPlan};
use tailback_engine::registry::rules::{At, Placed};
use tailback_engine::registry::{Options, Value, find};
use tailback_engine::traffic::{Transport, transport};

use super::links::Links;
use crate::declare::Reader;
use crate::read::{Problem, Span};

/// Length of the longest frame that a program sends, in bytes.
const MOST_OF_PROGRAMS: u32 = 1514;

/// Names of the options that limit a queue.
const LIMITS: [&str; 3] = ["limit", "memlimit", "memory_limit"];

/// A flow, or a source's connections, whose data passes a link in the forward direction.
struct Passing<'a> {
    route: &'a [u32],
    cc: &'a Algorithm,
    ecn: bool,
    tcp: &'a TcpPlan,
}

pub(super) fn check(
    reader: &mut Reader<'_>,
    links: &Links,
    flows: &[FlowPlan],
    traffic: &[TrafficPlan],
    programs: &[ProgramPlan],
) {
    let mut all: Vec<Passing<'_>> = Vec::new();
    all.extend(flows.iter().map(|flow| Passing {
        route: &flow.route,
        cc: &flow.cc,
        ecn: flow.ecn,
        tcp: &flow.tcp,
    }));
    all.extend(traffic.iter().filter_map(|source| {
        let connections = source.connections.as_ref()?;
        Some(Passing {
            route: &source.route,
            cc: &connections.cc,
            ecn: connections.ecn,
            tcp: &connections.tcp,
        })
    }));
    for (number, (link, (queue, places))) in (0..).zip(links.plans.iter().zip(&links.queues)) {
        let known = link.queue.known();
        let Some((entry, options)) =
            known.and_then(|(name, options)| Some((find(aqm::TABLE.entries(), name)?, options)))
        else {
            continue;
        };
        let passing = || all.iter().filter(|one| one.route.contains(&number));
        // Programs may send packets with any ECN codepoint.
        let runs = programs
            .iter()
            .any(|one| one.route.contains(&number) || one.back.contains(&number));
        let frames = passing().map(|one| u32::from(one.tcp.mss) + u32::from(one.tcp.header));
        let frames = frames.chain(runs.then_some(MOST_OF_PROGRAMS));
        let placed = Placed {
            options,
            rate: link.rate.lowest(),
            frame: frames.max().unwrap_or_default(),
            burst: link.burst,
            ecn: [
                runs || passing().any(|one| one.ecn),
                // For a congestion control that only the kernel provides, it is unknown whether it
                // sends ECT(1). Assume that it does.
                runs || passing().any(|one| one.ecn && sends_ect1(one.cc).unwrap_or(true)),
            ],
        };
        let of_sources = traffic
            .iter()
            .filter(|source| source.route.contains(&number));
        let datagrams = of_sources.filter_map(|source| match transport(source.kind) {
            Some(Transport::Datagrams(of)) => Some(u32::from(of(&source.options).len)),
            _ => None,
        });
        let longest = placed.frame.max(datagrams.max().unwrap_or_default());
        check_limits(reader, &link.name, (options, longest), (*queue, places));
        for finding in (entry.rules.at_link)(&placed) {
            let span = match finding.at {
                At::Option(name) => places.iter().find(|place| place.0 == name),
                At::Ecn | At::Control => None,
            };
            let span = span.map_or(*queue, |place| place.1);
            let problem = Problem::new(span, finding.message).expected(finding.expected);
            reader.warnings.push(problem);
        }
    }
}

/// Rejects a limit in bytes that is smaller than the longest packet, because the queue would always
/// drop a packet of this length.
fn check_limits(
    reader: &mut Reader<'_>,
    link: &str,
    (options, longest): (&Options, u32),
    (queue, places): (Span, &[(String, Span)]),
) {
    for (name, value) in options.iter() {
        let Value::Bytes(limit) = value else { continue };
        if !LIMITS.contains(&name) || limit.0 >= u64::from(longest) {
            continue;
        }
        let place = places.iter().find(|place| place.0 == name);
        let message = format!(
            "the queue of \"{link}\" lets no full packet in: its {name} is {} bytes, and packets \
             have up to {longest}",
            limit.0
        );
        let span = place.map_or(queue, |place| place.1);
        reader.problem(Problem::new(span, message).expected(format!("at least {longest}b")));
    }
}
