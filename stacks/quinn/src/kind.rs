//! Registers quinn as a kind of `[[programs]]` in the simulator.

use tailback_engine::crates::Registry;
use tailback_engine::programs::quic::{BYTES, ECT, QLOG};
use tailback_engine::programs::stacks::{Build, Setting};
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Kind, Opt, Options as Given, no_finish};
use tailback_sim::Endpoint;

use crate::{Control, Options, SEEDED, Timers, client, server};

/// The options of this stack. Some also exist for the kernel engine's `quinn`, and the others exist
/// only in the simulator.
static OPTIONS: &[Opt] = &[
    Opt {
        name: "control",
        doc: "Congestion control that the stack uses.",
        kind: Kind::Word(if SEEDED {
            &["cubic", "newreno", "bbr"]
        } else {
            &["cubic", "newreno"]
        }),
        default: Some("cubic"),
        tc: None,
    },
    BYTES,
    ECT,
    Opt {
        name: "gso",
        doc: "Whether the stack sends up to ten datagrams at once.",
        kind: Kind::Bool,
        default: Some("true"),
        tc: None,
    },
    Opt {
        name: "ipv6",
        doc: "Whether packets are as long as with IPv6, that is, 20 bytes longer than with IPv4.",
        kind: Kind::Bool,
        default: Some("false"),
        tc: None,
    },
    Opt {
        name: "mtu_discovery",
        doc: "Whether the stack searches for an MTU above 1200 bytes.",
        kind: Kind::Bool,
        default: Some("true"),
        tc: None,
    },
    QLOG,
    Opt {
        name: "timers",
        doc: "Whether timers fire exactly when they are due, or at the next millisecond as with tokio.",
        kind: Kind::Word(&["exact", "tokio"]),
        default: Some("exact"),
        tc: None,
    },
];

/// The registry entry.
pub static ENTRY: Entry<Build> = Entry {
    name: "quinn",
    doc: "Downloads data over QUIC. Client and server are quinn-proto.",
    follows: "quinn-proto 0.11.19",
    options: OPTIONS,
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build { ends },
};

/// Registers quinn. `tailback run --with stacks/quinn` calls this function.
pub fn register(registry: &mut Registry) {
    registry.stack(&ENTRY);
}

fn ends(given: &Given, setting: &Setting) -> [Box<dyn Endpoint>; 2] {
    let options = Options {
        control: match given.word("control") {
            "newreno" => Control::NewReno,
            "bbr" => Control::Bbr,
            _ => Control::Cubic,
        },
        ecn: given.bool("ect"),
        burst: if given.bool("gso") { 10 } else { 1 },
        mtu_discovery: given.bool("mtu_discovery"),
        timers: match given.word("timers") {
            "tokio" => Timers::Tokio,
            _ => Timers::Exact,
        },
        ipv6: given.bool("ipv6"),
        qlog: given.bool("qlog"),
        seed: setting.seed,
    };
    let bytes = given.bytes_if_set("bytes");
    [
        Box::new(server(&options)),
        Box::new(client(&options, bytes)),
    ]
}
