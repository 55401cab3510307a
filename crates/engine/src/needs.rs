//! What an algorithm needs of the flow that uses it, and of a sweep around it.

use crate::cc::{self, EcnNeed};
use crate::plan::{EcnFeedback, SceReceiver, TcpPlan};
use crate::registry::{Options, find};

/// The needs of an entry, a function of its options.
pub struct Needs {
    /// What is wrong, or unusual, in a flow that uses it.
    pub checks: fn(&Chosen<'_>) -> Vec<Finding>,
    /// The standard response, over which gains are measured; `None`: it has no other.
    pub standard: Option<Standard>,
}

/// How the standard response is come back to.
#[derive(Clone, Copy)]
pub struct Standard {
    /// Whether these options respond otherwise.
    pub departs: fn(&Options) -> bool,
    /// Takes out what makes them, or could.
    pub restore: fn(&mut Options),
}

impl Needs {
    /// Goes with every flow, and has the standard response only.
    pub const NONE: Needs = Needs {
        checks: |_| Vec::new(),
        standard: None,
    };
}

/// An entry in a flow.
pub struct Chosen<'a> {
    /// Name of the entry.
    pub name: &'static str,
    /// Its options, complete.
    pub options: &'a Options,
    /// Whether the flow negotiates ECN.
    pub ecn: bool,
}

/// Something to say of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it points at.
    pub at: At,
    /// Whether the scenario may run nevertheless.
    pub warning: bool,
    /// What was found.
    pub message: String,
    /// What was expected.
    pub expected: &'static str,
}

/// A key of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// `ecn`.
    Ecn,
    /// `cc`.
    Control,
    /// An option of the congestion control.
    Option(&'static str),
}

/// Whether a flow negotiates ECN, as `given` or else as its congestion control
/// needs it, and what is wrong with that. `control`: name and options of one
/// that is registered.
pub fn ecn(
    control: Option<(&'static str, &Options)>,
    tcp: &TcpPlan,
    given: Option<bool>,
) -> (bool, Vec<Finding>) {
    let registered = control.and_then(|(name, options)| Some((find(cc::ENTRIES, name)?, options)));
    let need = registered.map_or(EcnNeed::Optional, |(entry, options)| {
        (entry.build)(options).needs().ecn
    });
    let ecn = given.unwrap_or(need != EcnNeed::Optional);
    let mut findings = Vec::new();
    if let Some((entry, options)) = registered {
        if need == EcnNeed::Sce && !ecn {
            findings.push(Finding {
                at: At::Ecn,
                warning: false,
                message: format!(
                    "{} answers SCE marks, which only packets with ECN can bear",
                    entry.name
                ),
                expected: "ecn = true, or no ecn key",
            });
        }
        let name = entry.name;
        findings.extend((entry.needs.checks)(&Chosen { name, options, ecn }));
    }
    // ESCE has become a bit of the counter of Accurate ECN.
    let accurate = need == EcnNeed::Accurate || tcp.ecn_feedback == EcnFeedback::AccEcn;
    let sce =
        need == EcnNeed::Sce || !matches!(tcp.sce_receiver, SceReceiver::Auto | SceReceiver::Off);
    if ecn && accurate && sce {
        findings.push(Finding {
            at: At::Control,
            warning: false,
            message: "Accurate ECN has no bit left to echo SCE marks".to_owned(),
            expected: "a flow with one of both: ecn_feedback = \"accecn\", or SCE",
        });
    }
    (ecn, findings)
}
