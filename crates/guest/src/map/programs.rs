//! Maps the programs of a plan to the job of the guest.

use std::collections::BTreeMap;

use serde::Deserialize;
use tailback_engine::keys::EngineKind;
use tailback_engine::plan::{self, FlowPlan, InteropPlan, Plan, ProgramPlan, SidePlan};
use tailback_engine::programs::words::{Placeholder, filled};

use super::kits::Kits;
use super::layout::Layout;
use super::modules::Modules;
use super::refuse::Refusals;
use super::{cc, routes};
use crate::job::{Interop, Program, Ready, Side};

/// Paths in the guest's file system of the packages, files and folders that programs use.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Places {
    /// Folders of unpacked packages. The key of this map consists of the package names, joined by
    /// spaces.
    #[serde(default)]
    pub roots: BTreeMap<String, String>,
    /// Files and folders. The key is the path of the files on the host.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Root folders of the programs. The key is the path of the folder on the host.
    #[serde(default)]
    pub folders: BTreeMap<String, String>,
}

/// Returns a flow with the TCP options of a program's hosts.
fn as_flow(program: &ProgramPlan) -> FlowPlan {
    FlowPlan {
        name: program.name.clone(),
        cc: program.cc.clone(),
        module: program.module.clone(),
        ecn: program.ecn,
        route: program.route.clone(),
        back: program.back.clone(),
        ..FlowPlan::default()
    }
}

/// Returns the congestion control of each program. Adds a refusal for each option that Linux does
/// not support.
pub(super) fn controls(
    plan: &Plan,
    kit: &Kits<'_>,
    modules: &mut Modules,
    refusals: &mut Refusals,
) -> Vec<String> {
    let mut controls = Vec::new();
    for (i, program) in plan.programs.iter().enumerate() {
        let path = format!("programs[{i}]");
        let both = [("route", &program.route), ("back", &program.back)];
        routes(&path, &both, &plan.links, refusals);
        refusals
            .0
            .extend(program.refusals(EngineKind::Kernel, &path));
        let flow = as_flow(program);
        controls.push(cc::control(&path, &flow, kit, modules, refusals));
    }
    controls
}

/// Returns the sysctl that lists the congestion controls that programs may select. In every
/// namespace except the first, programs may select only the congestion controls that
/// `tcp_allowed_congestion_control` lists.
pub(super) fn allowed(controls: &[String]) -> Option<(String, String)> {
    let mut names = vec!["reno"];
    for control in controls {
        if !names.contains(&control.as_str()) {
            names.push(control);
        }
    }
    let path = "net/ipv4/tcp_allowed_congestion_control";
    (!controls.is_empty()).then(|| (path.to_owned(), names.join(" ")))
}

/// Returns the programs of a plan for the run with the given seed.
pub(super) fn programs(plan: &Plan, seed: u64, layout: &Layout, places: &Places) -> Vec<Program> {
    let mut numbers = BTreeMap::new();
    for member in plan.each_program() {
        numbers.insert(member.name(), member.number);
    }
    let each = plan.each_program().map(|member| {
        let (program, name) = (member.of, member.name());
        let pair = &layout.programs[member.number];
        let end = program.stop.unwrap_or(plan.duration).min(plan.duration);
        let seconds = end.since(program.start.min(end)).ns() / 1_000_000_000;
        let fill = |text: &String| {
            filled(text, |placeholder| match placeholder {
                Placeholder::Duration => seconds.to_string(),
                Placeholder::Address { entry, side, six } => {
                    let other = entry.and_then(|entry| numbers.get(entry));
                    let of = other.map_or(pair, |number| &layout.programs[*number]);
                    let (four, address) = of.addresses[side];
                    match six {
                        true => address.to_string(),
                        false => four.to_string(),
                    }
                }
            })
        };
        let side = |side: &SidePlan| Side {
            run: side.run.iter().map(fill).collect(),
            ready: side.ready.as_ref().map(ready),
            root: side.root.as_ref().map(|root| {
                let place = places.folders.get(&root.path);
                place.cloned().unwrap_or_default()
            }),
            cwd: side.cwd.clone(),
            env: variables(&side.env, fill),
        };
        let indices = |route: &[u32]| route.iter().map(|link| *link as usize).collect();
        let root = places.roots.get(&program.packages.join(" "));
        let files = program.files.iter().map(|file| {
            let place = places.files.get(&file.path);
            (file.name.clone(), place.cloned().unwrap_or_default())
        });
        let [sender, receiver] = program.sides();
        let rtt = plan.rtt_over(program.rtt, &program.route, &program.back);
        Program {
            kind: program.kind.to_owned(),
            sender: pair.hosts[0],
            receiver: pair.hosts[1],
            sender_addresses: pair.addresses[0],
            receiver_addresses: pair.addresses[1],
            sides: [sender.map(side), receiver.map(side)],
            env: variables(&program.env, fill),
            root: root.cloned().unwrap_or_default(),
            files: files.collect(),
            host_names: program.hosts.clone(),
            start_ns: plan.start_of(seed, program.start, &name).ns(),
            stop_ns: program.stop.map(|stop| stop.ns()),
            expect: program.expect,
            access_delay_ns: program.rtt.ns() / 2,
            base_rtt_ns: rtt.ns(),
            route: indices(&program.route),
            back: indices(&program.back),
            dscp: program.dscp,
            interop: program.interop.map(interop),
            name,
        }
    });
    each.collect()
}

fn variables(env: &[[String; 2]], fill: impl Fn(&String) -> String) -> Vec<(String, String)> {
    let each = env.iter().map(|[name, text]| (name.clone(), fill(text)));
    each.collect()
}

fn interop(plan: InteropPlan) -> Interop {
    let files = (0..plan.files).map(|number| (InteropPlan::name(number), plan.bytes));
    Interop {
        files: files.collect(),
    }
}

fn ready(ready: &plan::Ready) -> Ready {
    match ready {
        plan::Ready::Tcp(port) => Ready::Tcp(*port),
        plan::Ready::Udp(port) => Ready::Udp(*port),
        plan::Ready::Stdout(text) => Ready::Stdout(text.clone()),
        plan::Ready::After(time) => Ready::After(time.ns()),
    }
}
