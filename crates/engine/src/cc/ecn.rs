//! Decides whether a flow negotiates ECN. Some congestion controls need ECN.

use super::{EcnNeed, TABLE};
use crate::plan::{Algorithm, EcnFeedback, SceReceiver, TcpPlan};
use crate::registry::rules::{At, Chosen, Finding};
use crate::registry::{Options, find};

/// Returns whether a flow negotiates ECN. If `given` is set, it is the result. If `given` is
/// `None`, the flow negotiates ECN if its congestion control needs ECN. If `given` contradicts what
/// the congestion control needs, also returns an error. `control` contains the name and the options
/// of a registered congestion control.
pub fn negotiated(
    control: Option<(&'static str, &Options)>,
    tcp: &TcpPlan,
    given: Option<bool>,
) -> (bool, Vec<Finding>) {
    let registered =
        control.and_then(|(name, options)| Some((find(TABLE.entries(), name)?, options)));
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
                    "{} responds to SCE marks, which only ECN-capable packets can have",
                    entry.name
                ),
                expected: "ecn = true, or no ecn key",
            });
        }
        let name = entry.name;
        findings.extend((entry.rules.checks)(&Chosen { name, options, ecn }));
    }
    // Accurate ECN and ESCE use the same header bit, so a flow cannot use both.
    let accurate = need == EcnNeed::Accurate || tcp.ecn_feedback == EcnFeedback::AccEcn;
    let sce =
        need == EcnNeed::Sce || !matches!(tcp.sce_receiver, SceReceiver::Auto | SceReceiver::Off);
    if ecn && accurate && sce {
        findings.push(Finding {
            at: At::Control,
            warning: false,
            message: "Accurate ECN has no bit left to echo SCE marks".to_owned(),
            expected: "only one of the two: ecn_feedback = \"accecn\", or SCE",
        });
    }
    (ecn, findings)
}

/// Returns whether packets of a congestion control carry ECT(1) if the flow negotiates ECN. Returns
/// `None` if the congestion control is not registered.
pub fn sends_ect1(control: &Algorithm) -> Option<bool> {
    Some(need(control)? == EcnNeed::Accurate)
}

/// Returns the kind of ECN that a congestion control needs, or `None` if this congestion control is
/// not registered.
pub fn need(control: &Algorithm) -> Option<EcnNeed> {
    let (name, options) = control.known()?;
    let entry = find(TABLE.entries(), name)?;
    Some((entry.build)(options).needs().ecn)
}
