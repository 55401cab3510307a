//! Congestion controls: maps a flow's congestion control to the kernel's, with its module.
//!
//! A module's parameters hold for every flow that uses it, so the flows of a
//! plan must agree on them.

use tailback_engine::cc;
use tailback_engine::plan::{Algorithm, EcnFeedback, FlowPlan};
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::{complete_defaults, find};

use super::kits::{ACCURATE_ECN, Kits};
use super::modules::Modules;
use super::refuse::{Refusals, instead};

/// The modules of a kit that replace congestion controls of a flow: the one that the scenario
/// names, or one of tailback's own if Linux does not have the flow's options.
pub(super) fn stand_in<'a>(control: &'a Algorithm, module: Option<&'a str>) -> Option<&'a str> {
    module.or_else(|| {
        let (name, options) = control.known()?;
        match find(cc::TABLE.entries(), name)?.kernel {
            Kernel::Module(face) => Some(face.stand_in(options)?.module),
            _ => None,
        }
    })
}

/// The kernel's name of the flow's congestion control; also notes its module and parameters.
pub(super) fn control(
    path: &str,
    flow: &FlowPlan,
    kit: &Kits<'_>,
    modules: &mut Modules,
    refusals: &mut Refusals,
) -> String {
    let at = format!("{path}.cc");
    if flow.ecn
        && matches!(
            flow.tcp.ecn_feedback,
            EcnFeedback::Rfc3168 | EcnFeedback::None
        )
    {
        refusals.add(
            &format!("{path}.tcp.ecn_feedback"),
            "the kernel engine sets ECN for both hosts alike",
            "ecn_feedback = \"auto\" or \"accecn\", or a flow with ecn = false",
        );
    }
    let accurate = flow.ecn && flow.tcp.ecn_feedback == EcnFeedback::AccEcn;
    if accurate && !kit.has(ACCURATE_ECN.since) {
        refusals.add(
            &format!("{path}.tcp.ecn_feedback"),
            kit.without(ACCURATE_ECN.name, Some(ACCURATE_ECN.since)),
            kit.with(Some(ACCURATE_ECN.since), |kit| kit.has(ACCURATE_ECN.since))
                .unwrap_or_default(),
        );
    }
    let (name, parameters) = match &flow.cc {
        Algorithm::Kernel { name, args } => (name.clone(), args.clone()),
        Algorithm::Known { name, options } => {
            let Some(entry) = find(cc::TABLE.entries(), name) else {
                refusals.never(&at, format!("{name} is not registered"));
                return String::new();
            };
            let Kernel::Module(face) = entry.kernel else {
                refusals.add(
                    &at,
                    format!("the kernel has nothing like {name}"),
                    instead(name, kit.ccs.keys()),
                );
                return String::new();
            };
            let (parameters, refused) = face.parameters(options, &complete_defaults(entry));
            refusals.at(&at, refused);
            let name = face.stand_in(options).map_or(face.name, |own| own.name);
            (name.to_owned(), parameters)
        }
    };
    let stand_in = stand_in(&flow.cc, flow.module.as_deref());
    modules.congestion_control(path, &name, stand_in, parameters, kit, refusals);
    name
}
