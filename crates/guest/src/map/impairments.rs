//! Maps each impairment of a link to a netem qdisc, or returns why Linux does not support it. A few
//! impairments use tailback's own queue disciplines, which read their arguments as text.

use tailback_engine::impairments::{Discipline, Netem};
use tailback_engine::plan::{Concerns, ImpairmentPlan, LinkPlan, Plan};
use tailback_engine::rng::Stream;
use tailback_engine::units::Time;

use super::events;
use super::kits::Kits;
use super::modules::Modules;
use super::refuse::Refusals;

/// The qdisc that implements an impairment: netem, or one of tailback's own qdiscs.
pub(super) struct ImpairmentNetem {
    pub discipline: Discipline,
    /// The qdisc's arguments over time. Each item is a time and the arguments that apply from this
    /// time on. The first time is 0.
    pub words: Vec<(Time, String)>,
    pub loses: bool,
}

/// The kinds of packets that pass a link: data, ACKs, or both.
#[derive(Clone, Copy, Default)]
struct Passing {
    data: bool,
    acks: bool,
}

/// Whether an impairment affects all, some or none of the packets on a link.
#[derive(PartialEq)]
enum Concerned {
    All,
    Some,
    None,
}

impl Passing {
    fn of(plan: &Plan, link: usize) -> Passing {
        let here = |route: &[u32]| route.contains(&(link as u32));
        let mut passing = Passing::default();
        for flow in &plan.flows {
            passing.data |= here(&flow.route);
            passing.acks |= here(&flow.back);
        }
        for source in &plan.traffic {
            passing.data |= here(&source.route);
            passing.acks |= here(source.back().unwrap_or_default());
        }
        let programs = plan.programs.iter();
        let mixed = programs.filter(|p| here(&p.route) || here(&p.back));
        if mixed.count() > 0 {
            (passing.data, passing.acks) = (true, true);
        }
        passing
    }

    /// Returns whether an impairment affects all, some or none of the packets.
    fn concerned(self, concerns: Concerns) -> Concerned {
        let matching = match (concerns, self.data, self.acks) {
            (Concerns::All, ..) => true,
            (_, true, true) => return Concerned::Some,
            (Concerns::Data, data, _) => data,
            (Concerns::Acks, _, acks) => acks,
        };
        if matching {
            Concerned::All
        } else {
            Concerned::None
        }
    }
}

pub(super) fn needs_module(link: &LinkPlan) -> bool {
    link.impairments.iter().any(|impairment| {
        let netem = (impairment.entry().build.netem)(&impairment.options);
        netem.is_ok_and(|netem| netem.discipline.is_own())
    })
}

/// Adds the module for a link's impairments to the list of modules to load. Rejects impairments
/// that Linux does not support.
pub(super) fn check(
    path: &str,
    (link, plan): (usize, &Plan),
    kit: &Kits<'_>,
    modules: &mut Modules,
    refusals: &mut Refusals,
) {
    let passing = Passing::of(plan, link);
    let here = &plan.links[link];
    let mut lossy = usize::from(events::loses(plan, link));
    for (place, impairment) in here.impairments.iter().enumerate() {
        let path = format!("{path}.impairments[{place}]");
        let netem = match (impairment.entry().build.netem)(&impairment.options) {
            Ok(netem) => netem,
            Err(refused) => {
                refusals.at(&path, vec![refused]);
                continue;
            }
        };
        let is_own = netem.discipline.is_own();
        events::check_impairment(plan, link, place, netem.discipline, refusals);
        if is_own {
            match kit.extra.get(Discipline::MODULE) {
                Some(paths) => modules.own(Discipline::MODULE, paths.clone()),
                None => refusals.add(
                    &format!("{path}.kind"),
                    format!(
                        "the guest kernel has no module for {}",
                        netem.discipline.kind()
                    ),
                    format!(
                        "a guest kernel with {}: tailback kernel build",
                        Discipline::MODULE
                    ),
                ),
            }
        }
        let concerned = passing.concerned(impairment.only);
        if concerned == Concerned::None {
            continue;
        }
        if concerned == Concerned::Some && !is_own {
            refusals.add(
                &format!("{path}.only"),
                "netem does not distinguish data from ACKs, and both pass this link",
                "only = \"all\", or a link that only data or only ACKs pass",
            );
        }
        let loses = loses(plan, link, place, netem.loses);
        lossy += usize::from(loses);
        if loses && lossy > 1 {
            refusals.add(
                &format!("{path}.kind"),
                "the kernel engine watches one impairment that loses packets per link",
                "one impairment that loses packets, or the link's loss",
            );
        }
    }
}

/// Returns the qdiscs of a link's impairments, in order. The plan must have passed all checks.
pub(super) fn netems(plan: &Plan, link: usize, seed: u64) -> Vec<ImpairmentNetem> {
    let passing = Passing::of(plan, link);
    let here = &plan.links[link];
    let impairments = here.impairments.iter().enumerate();
    let netems = impairments.filter_map(|(place, impairment)| {
        let concerned = passing.concerned(impairment.only);
        if concerned == Concerned::None {
            return None;
        }
        let netem = (impairment.entry().build.netem)(&impairment.options).ok()?;
        let purpose = format!("netem {place}");
        let mut seeds = Stream::new(seed, &here.name, &purpose);
        // If the arguments of netem change, netem restarts its random numbers from the seed. The
        // code therefore uses another seed for each change.
        let words = with_events(plan, link, place, &netem);
        let words = words.into_iter().map(|(at, words)| {
            let seed = match netem.random && !words.is_empty() {
                true => format!(" seed {}", seeds.bits()),
                false => String::new(),
            };
            (at, format!("{words}{seed}"))
        });
        let mut words: Vec<(Time, String)> = words.collect();
        if netem.discipline.is_own() {
            scope(&mut words, impairment.only, concerned == Concerned::Some);
        }
        Some(ImpairmentNetem {
            discipline: netem.discipline,
            words,
            loses: loses(plan, link, place, netem.loses),
        })
    });
    netems.collect()
}

/// Makes one of tailback's own queue disciplines affect only certain kinds of packets. During the
/// run, only the argument `active` changes.
fn scope(words: &mut [(Time, String)], only: Concerns, mixed: bool) {
    let Some(constant) = words
        .iter()
        .map(|step| &step.1)
        .find(|words| !words.is_empty())
    else {
        return;
    };
    let only = match only {
        Concerns::Data if mixed => " only data",
        Concerns::Acks if mixed => " only acks",
        _ => "",
    };
    let constant = format!("{constant}{only}");
    for (place, (_, words)) in words.iter_mut().enumerate() {
        let active = format!("active {}", u8::from(!words.is_empty()));
        *words = match place {
            0 => format!("{constant} {active}"),
            _ => active,
        };
    }
}

/// Returns whether an impairment loses packets at some time. `at_start` states whether the
/// impairment loses packets with its initial options.
fn loses(plan: &Plan, link: usize, place: usize, at_start: bool) -> bool {
    let impairment = &plan.links[link].impairments[place];
    let mut later = events::of_impairment(plan, link, place);
    at_start
        || later.any(|(.., options)| {
            (impairment.entry().build.netem)(options).is_ok_and(|netem| netem.loses)
        })
}

/// Returns the arguments of an impairment's qdisc over time. Each item is a time and the arguments
/// that apply from this time on. The arguments include changes by events.
fn with_events(plan: &Plan, link: usize, place: usize, netem: &Netem) -> Vec<(Time, String)> {
    let impairment = &plan.links[link].impairments[place];
    let mut words = timeline(impairment, netem);
    for (_, at, options) in events::of_impairment(plan, link, place) {
        let Ok(netem) = (impairment.entry().build.netem)(options) else {
            continue;
        };
        let new = timeline(impairment, &netem);
        let now = new.iter().rfind(|step| step.0 <= at);
        let now = now.map_or_else(String::new, |step| step.1.clone());
        words.retain(|step| step.0 < at);
        words.push((at, now));
        words.extend(new.into_iter().filter(|step| step.0 > at));
    }
    words
}

/// Returns the arguments of a netem qdisc over time. Each item is a time and the arguments that
/// apply from this time on. Outside the time windows of the impairment, the arguments are empty.
fn timeline(impairment: &ImpairmentPlan, netem: &Netem) -> Vec<(Time, String)> {
    let windows = &impairment.during.0;
    if windows.is_empty() {
        return netem.words.clone();
    }
    let edges = windows.iter().flat_map(|(from, to)| [*from, *to]);
    let steps = netem.words.iter().map(|step| step.0);
    let mut times: Vec<Time> = edges.chain(steps).collect();
    times.sort_unstable();
    times.dedup();
    let words = times.into_iter().map(|now| {
        let acts = windows.iter().any(|(from, to)| (*from..*to).contains(&now));
        let step = netem.words.iter().rfind(|step| step.0 <= now);
        let words = step.filter(|_| acts).map(|step| step.1.clone());
        (now, words.unwrap_or_default())
    });
    words.collect()
}
