//! Congestion controls: registry options as parameters of the kernel's modules.
//!
//! A module's parameters hold for every flow that uses it, so the flows of a
//! plan must agree on them.

use tailback_engine::cc;
use tailback_engine::plan::{Algorithm, EcnFeedback, FlowPlan};
use tailback_engine::registry::{Kernel, Options, Value, complete_defaults, find, text};

use super::modules::Modules;
use super::refuse::{Refusals, instead};
use super::{Kit, THIS_LINUX};

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
    let mut own = None;
    let (name, parameters) = match &flow.cc {
        Algorithm::Kernel { name, args } => (name.clone(), args.clone()),
        Algorithm::Known { name, options } => {
            let Some(entry) = find(cc::ENTRIES, name) else {
                no.never(&at, format!("{name} is not registered"));
                return String::new();
            };
            let Kernel::Module(module) = entry.kernel else {
                no.add(
                    &at,
                    format!("the kernel has nothing like {name}"),
                    instead(name, kit.ccs.keys()),
                );
                return String::new();
            };
            let defaults = complete_defaults(entry);
            own = abe(name, options);
            let parameters = match *name {
                "reno" => reno(&at, options, &defaults, no),
                "cubic" => cubic(&at, options, &defaults, no),
                "dctcp" => dctcp(&at, options, &defaults, no),
                "bbr" | "bbr3" => bbr(&at, name, options, &defaults, no),
                _ => plain(&at, options, &defaults, no),
            };
            let name = own.map_or(module, |own| own.0);
            (name.to_owned(), parameters.join(" "))
        }
    };
    let stand_in = flow.module.as_deref().or(own.map(|own| own.1));
    modules.congestion_control(path, &name, stand_in, parameters, kit, no);
    name
}

/// Linux answers ECN-Echo as it answers a loss; where a flow does not, a module
/// of ours has the congestion control: its name there, and the module's.
fn abe(name: &str, options: &Options) -> Option<(&'static str, &'static str)> {
    let beta_ecn = options.get("beta_ecn")?;
    match name {
        _ if options.get("beta") == Some(beta_ecn) => None,
        "reno" => Some(("reno_abe", "tcp_reno_abe")),
        "cubic" => Some(("cubic_abe", "tcp_cubic_abe")),
        _ => None,
    }
}

/// Refuses every option that is not as in `defaults`, but for `mapped`.
fn same(
    path: &str,
    options: &Options,
    defaults: &Options,
    mapped: &[&str],
    name: &str,
    no: &mut Refusals,
) {
    for (option, value) in options.iter() {
        if mapped.contains(&option) || defaults.get(option) == Some(value) {
            continue;
        }
        let expected = match defaults.get(option) {
            Some(default) => format!("{option} = {}", quoted(default)),
            None => format!("no {option}"),
        };
        let message = format!("{name} of Linux has no {option} = {}", quoted(value));
        no.add(&format!("{path}.{option}"), message, expected);
    }
}

/// A value as in a scenario file.
pub(super) fn quoted(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => text(value),
        Value::Time(time) => format!("\"{time}\""),
        _ => format!("\"{}\"", text(value)),
    }
}

fn plain(path: &str, options: &Options, defaults: &Options, no: &mut Refusals) -> Vec<String> {
    same(path, options, defaults, &[], "this congestion control", no);
    Vec::new()
}

/// BBR's module has no parameters.
fn bbr(
    path: &str,
    name: &str,
    options: &Options,
    defaults: &Options,
    no: &mut Refusals,
) -> Vec<String> {
    same(path, options, defaults, &[], name, no);
    Vec::new()
}

/// The parameter of a module of ours, in parts of one.
fn beta_ecn(name: &str, options: &Options, one: f64) -> Option<String> {
    abe(name, options)?;
    let part = (options.float("beta_ecn") * one).round();
    Some(format!("beta_ecn={part}"))
}

fn reno(path: &str, options: &Options, defaults: &Options, no: &mut Refusals) -> Vec<String> {
    same(path, options, defaults, &["beta_ecn"], "reno", no);
    beta_ecn("reno", options, 1e6).into_iter().collect()
}

fn cubic(path: &str, options: &Options, defaults: &Options, no: &mut Refusals) -> Vec<String> {
    let mapped = [
        "beta",
        "beta_ecn",
        "fast_convergence",
        "tcp_friendliness",
        "hystart",
    ];
    same(path, options, defaults, &mapped, "cubic", no);
    let mut parameters: Vec<String> = beta_ecn("cubic", options, 1024.0).into_iter().collect();
    if options.get("beta") != defaults.get("beta") {
        // In 1/1024, as in the module.
        parameters.push(format!("beta={}", (options.float("beta") * 1024.0).round()));
    }
    for name in ["fast_convergence", "tcp_friendliness", "hystart"] {
        if options.get(name) != defaults.get(name) {
            parameters.push(format!("{name}={}", u8::from(options.bool(name))));
        }
    }
    parameters
}

fn dctcp(path: &str, options: &Options, defaults: &Options, no: &mut Refusals) -> Vec<String> {
    let version = options.word("version");
    if version != THIS_LINUX {
        // The version decides the rest: one refusal says all.
        no.add(
            &format!("{path}.version"),
            format!("the kernel's dctcp is not that of {version}"),
            format!("version = \"{THIS_LINUX}\""),
        );
        return Vec::new();
    }
    let mapped = ["g", "alpha_init", "version"];
    same(path, options, defaults, &mapped, "dctcp", no);
    let mut parameters = Vec::new();
    if options.get("g") != defaults.get("g") {
        let shift = -options.float("g").log2().round();
        if !(0.0..=10.0).contains(&shift) {
            no.add(
                &format!("{path}.g"),
                "dctcp of Linux has ten binary digits of alpha",
                "a power of two from 1 down to 2^-10",
            );
        }
        parameters.push(format!("dctcp_shift_g={shift}"));
    }
    if options.get("alpha_init") != defaults.get("alpha_init") {
        let alpha = (options.float("alpha_init") * 1024.0).round();
        parameters.push(format!("dctcp_alpha_on_init={alpha}"));
    }
    parameters
}
