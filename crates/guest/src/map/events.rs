//! Maps the entries in `[[events]]` to changes that the guest makes during a run.
//!
//! | change | effect in the guest |
//! |---|---|
//! | the rate of a link | the plan gets `steps` of the rate, which the guest then applies |
//! | delay and loss of a link | the agent changes the netem after the queue |
//! | options of a queue | the agent runs `tc qdisc change` |
//! | options of an impairment | the agent changes the impairment's qdisc |
//! | start and stop of a flow or source | the agent starts and stops its sockets at these times |

use std::borrow::Cow;

use tailback_engine::impairments::Discipline;
use tailback_engine::plan::{Algorithm, Change, LinkPlan, Plan, RatePlan};
use tailback_engine::registry::Options;
use tailback_engine::units::{Rate, Time};

use super::kits::Kits;
use super::modules::Modules;
use super::refuse::Refusals;
use super::tc::{self, Qdisc};
use crate::job::{Flow, Source};

/// The earliest time of a step that changes a rate. A step at time 0 is not a change, because it
/// sets the initial rate.
const EARLIEST: Time = Time(1);

/// Returns the plan after replacing each event that changes a rate with a step of the rate.
pub(super) fn with_steps(plan: &Plan) -> Cow<'_, Plan> {
    let mut steps: Vec<Vec<(Time, Rate)>> = vec![Vec::new(); plan.links.len()];
    for (at, change) in changes(plan) {
        if let Change::Rate(link, rate) = change {
            let steps = &mut steps[*link as usize];
            let at = at.max(EARLIEST);
            steps.retain(|step| step.0 != at);
            steps.push((at, *rate));
        }
    }
    if steps.iter().all(Vec::is_empty) {
        return Cow::Borrowed(plan);
    }
    let mut plan = plan.clone();
    for (link, steps) in plan.links.iter_mut().zip(steps) {
        if !steps.is_empty() {
            let first = (Time::ZERO, link.rate.nominal());
            link.rate = RatePlan::Steps(std::iter::once(first).chain(steps).collect());
        }
    }
    Cow::Owned(plan)
}

/// Returns every change of a plan with its time, in order.
fn changes(plan: &Plan) -> impl Iterator<Item = (Time, &Change)> {
    placed(plan).map(|(_, at, change)| (at, change))
}

/// Returns every change of a plan with the index of its event and its time, in order.
fn placed(plan: &Plan) -> impl Iterator<Item = (usize, Time, &Change)> {
    let events = plan.events.iter().enumerate();
    events.flat_map(|(i, event)| {
        event
            .changes
            .iter()
            .map(move |change| (i, event.at, change))
    })
}

/// Returns the path of an event in the scenario. Refusals quote this path.
fn path_of(event: usize) -> String {
    format!("events[{event}]")
}

/// The delay and loss of a link that apply from a certain time on.
#[derive(Clone, Copy)]
pub(super) struct WireChange {
    pub at: Time,
    pub delay: Time,
    pub loss: f64,
}

/// Returns delay and loss of a link after each event that changes one of them.
pub(super) fn of_wire(plan: &Plan, link: usize) -> Vec<WireChange> {
    let (mut delay, mut loss) = (plan.links[link].delay, plan.links[link].loss);
    let mut found: Vec<WireChange> = Vec::new();
    for (at, change) in changes(plan) {
        match change {
            Change::Delay(of, to) if *of as usize == link => delay = *to,
            Change::Loss(of, to) if *of as usize == link => loss = *to,
            _ => continue,
        }
        found.retain(|one| one.at != at);
        found.push(WireChange { at, delay, loss });
    }
    found
}

/// Returns whether a link loses packets at some time. Losses by impairments do not count.
pub(super) fn loses(plan: &Plan, link: usize) -> bool {
    plan.links[link].loss > 0.0 || of_wire(plan, link).iter().any(|one| one.loss > 0.0)
}

/// Returns the options of an impairment after each event that changes them. Each item also contains
/// the event's index and time.
pub(super) fn of_impairment(
    plan: &Plan,
    link: usize,
    number: usize,
) -> impl Iterator<Item = (usize, Time, &Options)> {
    placed(plan).filter_map(move |(event, at, change)| match change {
        Change::Impairment {
            link: of,
            place,
            options,
        } if (*of as usize, *place as usize) == (link, number) => Some((event, at, options)),
        _ => None,
    })
}

/// Rejects changes of an impairment that Linux does not support.
pub(super) fn check_impairment(
    plan: &Plan,
    link: usize,
    number: usize,
    discipline: Discipline,
    refusals: &mut Refusals,
) {
    let impairment = &plan.links[link].impairments[number];
    for (event, _, options) in of_impairment(plan, link, number) {
        let path = path_of(event);
        if discipline == Discipline::AckBatch {
            refusals.add(
                &path,
                "tailback's qdisc ack_batch keeps its options during a run",
                "--engine sim",
            );
            continue;
        }
        match (impairment.entry().build.netem)(options) {
            Ok(netem) if netem.discipline == discipline => {}
            Ok(_) => refusals.add(
                &path,
                format!("the options of {} need another qdisc", impairment.kind),
                "options that the qdisc at the start of the run has",
            ),
            Err(refused) => refusals.add(&path, refused.message, refused.expected),
        }
    }
}

/// Adds the queue's options after each event to `queue`. Rejects events that Linux does not
/// support.
pub(super) fn of_queue(
    plan: &Plan,
    number: usize,
    queue: &mut Qdisc,
    kit: &Kits<'_>,
    refusals: &mut Refusals,
) {
    let mut old: LinkPlan = plan.links[number].clone();
    for (event, at, change) in placed(plan) {
        let options = match change {
            Change::Queue(link, options) if *link as usize == number => options,
            _ => continue,
        };
        let path = path_of(event);
        if queue.is_text() {
            refusals.add(
                &path,
                format!(
                    "tailback's qdisc {} keeps its options during a run",
                    queue.kind
                ),
                "--engine sim, or another queue",
            );
            return;
        }
        let mut new = old.clone();
        if let Algorithm::Known { options: own, .. } = &mut new.queue {
            own.clone_from(options);
        }
        // Report errors with the path of the event, because the path of the queue refers to the
        // value before the event.
        let mut found = Refusals::default();
        let qdisc = tc::queue(&path, &new, kit, &mut Modules::default(), &mut found);
        found.name(&path);
        let module =
            |link: &LinkPlan| tc::stand_in(&link.queue, link.module.as_deref()).map(str::to_owned);
        if qdisc.kind != queue.kind
            || module(&new) != module(&old)
            || qdisc.drops_at != queue.drops_at
        {
            found.add(
                &path,
                format!(
                    "the options of {} need another qdisc or module",
                    new.queue.name()
                ),
                "options that the qdisc at the start of the run has",
            );
        }
        let words = tc::changed(&path, &old, &new, &mut found);
        if found.0.is_empty() {
            queue.change(at, words, qdisc.limit);
        }
        refusals.0.append(&mut found.0);
        old = new;
    }
}

/// Sets the times at which events start and stop flows and sources.
pub(super) fn turn(plan: &Plan, flows: &mut [Flow], sources: &mut [Source]) {
    for (at, change) in changes(plan) {
        let (owner, begins) = match change {
            Change::Start(owner) => (*owner as usize, true),
            Change::Stop(owner) => (*owner as usize, false),
            _ => continue,
        };
        let turn = |start_ns: &mut u64, stop_ns: &mut Option<u64>| {
            if begins {
                *start_ns = at.ns();
            } else {
                *stop_ns = Some(at.ns());
            }
        };
        if let Some(flow) = flows.get_mut(owner) {
            turn(&mut flow.start_ns, &mut flow.stop_ns);
            continue;
        }
        let Some(source) = sources.get_mut(owner - flows.len()) else {
            continue;
        };
        turn(&mut source.start_ns, &mut source.stop_ns);
        if let Some(connections) = &mut source.connections {
            turn(
                &mut connections.flow.start_ns,
                &mut connections.flow.stop_ns,
            );
        }
    }
}
