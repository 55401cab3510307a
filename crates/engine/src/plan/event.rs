//! `[[events]]`: changes during a run.

use super::{LinkPlan, Plan};
use crate::keys;
use crate::keys::{ANY_TIME, AsPart, KeyKind, Part, key};
use crate::rate::RatePlan;
use crate::registry::{Algorithm, Options, Value};
use crate::units::{Rate, Time};

keys! {
    /// A change during the run. The simulator applies the change after all other events at the same
    /// time.
    pub struct EventPlan as "[[events]]" {
        /// Time of the change.
        at: Time = ANY_TIME.required();
        /// New values, each with the path of its key as in [sweep]: { "bottleneck.rate" = "10Mbit",
        /// "bottleneck.queue.target" = "2ms" }. An event may change a link's rate, delay and loss,
        /// options of the link's queue, and options of the link's impairments. The rate of a link
        /// may change only if its initial rate is a constant. A size in bdp, such as 0.5bdp, is
        /// computed from the rate at the start of the run. If a packet is in transmission, the rest
        /// of this packet is sent at the new rate. A new delay applies to packets that leave the
        /// queue after the event, and does not change the order of packets. If an event reduces a
        /// queue's limit, the queue drops packets from its head, as in Linux. But `fifo`, `step`,
        /// `red` and `wred` keep all queued packets (in Linux, `red` discards them), and `cake`
        /// drops packets only when the next packet arrives.
        key set = key(KeyKind::Changes);
        /// Names of flows and sources that start at the time of the event. Set the key `start` of
        /// these flows and sources to a later time; the event overrides this key. start_jitter does
        /// not delay these starts.
        key start = key(KeyKind::Words);
        /// Names of flows and sources that stop at the time of the event.
        key stop = key(KeyKind::Words);
        /// The changes, in the order in which they are applied.
        changes: Vec<Change>;
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The rate of a link changes. A rate of 0 stops the link.
    Rate(u32, Rate),
    /// The delay of a link changes.
    Delay(u32, Time),
    /// The probability of loss of a link changes.
    Loss(u32, f64),
    /// Options of a link's queue change. The list contains all options.
    Queue(u32, Options),
    /// Options of an impairment of a link change. The list contains all options.
    Impairment {
        /// Index of the link.
        link: u32,
        /// Index of the impairment in the link's list.
        place: u32,
        /// All options of the impairment.
        options: Options,
    },
    /// A flow or source starts. Sources are numbered after the flows.
    Start(u32),
    /// A flow or source stops. Sources are numbered after the flows.
    Stop(u32),
}

impl Change {
    /// Returns the link that changes.
    pub fn link(&self) -> Option<u32> {
        match self {
            Change::Rate(link, _)
            | Change::Delay(link, _)
            | Change::Loss(link, _)
            | Change::Queue(link, _)
            | Change::Impairment { link, .. } => Some(*link),
            Change::Start(_) | Change::Stop(_) => None,
        }
    }

    /// Applies the change to the plan of its link.
    fn apply(&self, plan: &mut LinkPlan) {
        match self {
            Change::Rate(_, rate) => plan.rate = RatePlan::Constant(*rate),
            Change::Delay(_, delay) => plan.delay = *delay,
            Change::Loss(_, loss) => plan.loss = *loss,
            Change::Queue(_, options) => {
                if let Algorithm::Known { options: old, .. } = &mut plan.queue {
                    old.clone_from(options);
                }
            }
            Change::Impairment { place, options, .. } => {
                if let Some(impairment) = plan.impairments.get_mut(*place as usize) {
                    impairment.options.clone_from(options);
                }
            }
            Change::Start(_) | Change::Stop(_) => {}
        }
    }
}

impl Plan {
    /// Returns the links as they are after each event.
    pub fn links_after_events(&self) -> impl Iterator<Item = Vec<LinkPlan>> {
        self.events.iter().scan(self.links.clone(), |links, event| {
            for change in &event.changes {
                let link = change.link().and_then(|link| links.get_mut(link as usize));
                if let Some(link) = link {
                    change.apply(link);
                }
            }
            Some(links.clone())
        })
    }
}

impl AsPart for Change {
    fn part(&self) -> Part<'_> {
        let number = |number: u32| Part::Value(Value::Int(i64::from(number)));
        let of = |link: u32, name, value| Part::Table(vec![("link", number(link)), (name, value)]);
        match self {
            Change::Rate(link, rate) => of(*link, "rate", Part::Value(Value::Rate(*rate))),
            Change::Delay(link, delay) => of(*link, "delay", Part::Value(Value::Time(*delay))),
            Change::Loss(link, loss) => of(*link, "loss", Part::Value(Value::Float(*loss))),
            Change::Queue(link, options) => of(*link, "queue", part_of(options)),
            Change::Impairment {
                link,
                place,
                options,
            } => Part::Table(vec![
                ("link", number(*link)),
                ("impairment", number(*place)),
                ("options", part_of(options)),
            ]),
            Change::Start(owner) => Part::Table(vec![("start", number(*owner))]),
            Change::Stop(owner) => Part::Table(vec![("stop", number(*owner))]),
        }
    }
}

/// Converts complete options to plain data.
fn part_of(options: &Options) -> Part<'_> {
    let parts = options.iter();
    Part::Table(
        parts
            .map(|(name, value)| (name, Part::Value(value.clone())))
            .collect(),
    )
}
