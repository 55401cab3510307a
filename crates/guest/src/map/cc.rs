//! Maps a flow's congestion control to a congestion control in the kernel, and finds the module
//! that contains this congestion control.
//!
//! Module parameters apply to all flows that use the module. All flows of a plan that use the same
//! module must therefore have equal parameters.

use tailback_engine::cc;
use tailback_engine::plan::{Algorithm, EcnFeedback, FlowPlan, Growth};
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::{complete_defaults, find};

use super::kits::{ACCURATE_ECN, Kits};
use super::modules::Modules;
use super::refuse::{Refusals, instead};

/// Returns the module that replaces Linux's own congestion control, if any. If the scenario names a
/// module, returns this module. If the scenario names no module, and Linux does not have the flow's
/// options, returns tailback's own module.
pub(super) fn stand_in<'a>(
    control: &'a Algorithm,
    module: Option<&'a str>,
    growth: Growth,
) -> Option<&'a str> {
    module.or_else(|| {
        let (name, options) = control.known()?;
        match find(cc::TABLE.entries(), name)?.kernel {
            Kernel::Module(face) => Some(face.stand_in(options, growth == Growth::Acks)?.module),
            _ => None,
        }
    })
}

/// Returns the kernel's name of a flow's congestion control. Adds the congestion control's module,
/// with its parameters, to the list of modules to load.
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
    let acks = flow.tcp.growth == Growth::Acks;
    let mut by_acks = None;
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
                    format!("the kernel engine does not support {name}"),
                    instead(name, kit.ccs.keys()),
                );
                return String::new();
            };
            let (mut parameters, refused) = face.parameters(options, &complete_defaults(entry));
            refusals.at(&at, refused);
            let own = face.stand_in(options, acks);
            by_acks = own.and_then(|own| own.growth_by_acks);
            if acks && let Some(more) = by_acks.filter(|more| !more.is_empty()) {
                parameters = [parameters.as_str(), more]
                    .join(" ")
                    .trim_start()
                    .to_owned();
            }
            if let Some((own, since)) = own.and_then(|own| Some((own, own.since?)))
                && !kit.has(since)
            {
                let module = own.module;
                refusals.add(
                    &at,
                    format!(
                        "Linux {} is too old for {module}, which needs {since}",
                        kit.version
                    ),
                    kit.with(Some(since), |kit| kit.extra.contains_key(module))
                        .unwrap_or_default(),
                );
                return String::new();
            }
            (own.map_or(face.name, |own| own.name).to_owned(), parameters)
        }
    };
    if acks && (by_acks.is_none() || flow.module.is_some()) {
        refusals.add(
            &format!("{path}.tcp.growth"),
            format!("{name} counts acknowledged segments"),
            "growth = \"segments\", or reno, or dctcp of another version than Linux's own",
        );
    }
    let stand_in = stand_in(&flow.cc, flow.module.as_deref(), flow.tcp.growth);
    modules.congestion_control(path, &name, stand_in, parameters, kit, refusals);
    name
}
