//! Maps outages, during which the rate of a link is 0, to a queue discipline. htb does not accept a
//! rate of 0. After a very low rate, htb sends nothing for up to a minute. The root queue
//! discipline is therefore tailback's module `outage`, and htb is its child. The agent closes this
//! root qdisc at the start of an outage and opens it at the end.

use tailback_engine::plan::{LinkPlan, RatePlan};
use tailback_engine::units::Rate;

use super::kits::Kits;
use super::modules::Modules;
use super::refuse::Refusals;
use super::tc::Qdisc;

/// The kernel module with the queue discipline that holds packets back during an outage.
pub(super) const MODULE: &str = "sch_outage";

/// Returns whether the rate of a link is 0 at some time.
pub(super) fn has(link: &LinkPlan) -> bool {
    matches!(&link.rate, RatePlan::Steps(steps) if steps.iter().any(|step| step.1 == Rate(0)))
}

/// If the link has an outage, adds the kernel module `outage` to the list of modules to load.
/// Rejects the link if its queue has its own shaper, or if the guest kernel does not have the
/// module.
pub(super) fn check(
    path: &str,
    queue: &Qdisc,
    kit: &Kits<'_>,
    modules: &mut Modules,
    refusals: &mut Refusals,
) {
    let rate = format!("{path}.rate");
    if queue.shaper().is_some() {
        return refusals.add(
            &rate,
            format!("the shaper of {} does not support a rate of 0", queue.kind),
            "steps of at least 8bit",
        );
    }
    match kit.extra.get(MODULE) {
        Some(paths) => modules.own(MODULE, paths.clone()),
        None => refusals.add(
            &rate,
            "the guest kernel has no module for a rate of 0",
            format!("a guest kernel with {MODULE}: tailback kernel build"),
        ),
    }
}

/// The tc command that adds the root qdisc, which holds packets back during an outage.
pub(super) const ROOT: &str = "qdisc add dev out root handle f: outage";
/// The part of a tc command that makes a queue discipline a child of the root qdisc.
pub(super) const CHILD: &str = "parent f:1";

/// Returns the tc command that closes or opens the root qdisc. A closed root qdisc holds all
/// packets back.
pub(super) fn change(closed: bool) -> String {
    format!(
        "qdisc change dev out root handle f: outage closed {}",
        u8::from(closed)
    )
}
