//! Congestion controls: a flow's stack and module as the kernel has them.
//!
//! A module's parameters hold for every flow that uses it, so the flows of a
//! plan must agree on them.

use tailback_engine::cc;
use tailback_engine::plan::{
    Algorithm, EcnFeedback, FlowPlan, Growth, ReceiveBuffer, SceReceiver, TcpPlan,
};
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::{complete_defaults, find};

use super::Kit;
use super::modules::Modules;
use super::refuse::{Refusals, instead};

/// The name by which the kernel knows the flow's congestion control; its
/// module and parameters are noted.
pub(super) fn control(
    path: &str,
    flow: &FlowPlan,
    kit: &Kit,
    modules: &mut Modules,
    no: &mut Refusals,
) -> String {
    let at = format!("{path}.cc");
    if flow.tcp.growth == Growth::Acks {
        no.add(
            &format!("{path}.tcp.growth"),
            "Linux counts acknowledged segments",
            "growth = \"segments\"",
        );
    }
    if !matches!(flow.tcp.sce_receiver, SceReceiver::Auto | SceReceiver::Off) {
        no.add(
            &format!("{path}.tcp.sce_receiver"),
            "Linux does not know of SCE",
            "sce_receiver = \"auto\" or \"off\"",
        );
    }
    if flow.ecn
        && matches!(
            flow.tcp.ecn_feedback,
            EcnFeedback::Rfc3168 | EcnFeedback::None
        )
    {
        no.add(
            &format!("{path}.tcp.ecn_feedback"),
            "both hosts of the guest have the same ECN",
            "ecn_feedback = \"auto\" or \"accecn\", or a flow with ecn = false",
        );
    }
    if flow.tcp.initial_ssthresh != 0 {
        no.add(
            &format!("{path}.tcp.initial_ssthresh"),
            "Linux no longer begins with an ssthresh that it remembers",
            "initial_ssthresh = 0",
        );
    }
    if flow.tcp.rcvbuf == ReceiveBuffer::Auto {
        no.add(
            &format!("{path}.tcp.rcvbuf"),
            "the guest's receive buffers have a size that is set",
            "rcvbuf = \"fixed\"",
        );
    }
    let stack = TcpPlan::default();
    for (name, percent, default) in [
        (
            "pacing_ss_ratio",
            flow.tcp.pacing_ss_ratio,
            stack.pacing_ss_ratio,
        ),
        (
            "pacing_ca_ratio",
            flow.tcp.pacing_ca_ratio,
            stack.pacing_ca_ratio,
        ),
    ] {
        if percent != default {
            no.add(
                &format!("{path}.tcp.{name}"),
                "the guest's hosts keep Linux's pacing ratios",
                format!("{name} = {default}"),
            );
        }
    }
    let mut own = None;
    let (name, parameters) = match &flow.cc {
        Algorithm::Kernel { name, args } => (name.clone(), args.clone()),
        Algorithm::Known { name, options } => {
            let Some(entry) = find(cc::ENTRIES, name) else {
                no.never(&at, format!("{name} is not registered"));
                return String::new();
            };
            let Kernel::Control(face) = entry.kernel else {
                no.add(
                    &at,
                    format!("the kernel has nothing like {name}"),
                    instead(name, kit.ccs.keys()),
                );
                return String::new();
            };
            let (parameters, refused) = face.parameters(options, &complete_defaults(entry));
            no.at(&at, refused);
            own = face.stand_in(options);
            let name = own.map_or(face.name, |own| own.name);
            (name.to_owned(), parameters)
        }
    };
    let stand_in = flow.module.as_deref().or(own.map(|own| own.module));
    modules.congestion_control(path, &name, stand_in, parameters, kit, no);
    name
}
