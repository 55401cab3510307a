//! Registers smoltcp as a kind of `[[programs]]` in the simulator.

use smoltcp::socket::tcp::CongestionControl;
use tailback_engine::crates::Registry;
use tailback_engine::programs::stacks::{Build, Setting};
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Kind, Opt, Options as Given, no_finish};
use tailback_sim::Endpoint;

use crate::{Options, receiver, sender};

static OPTIONS: &[Opt] = &[
    Opt {
        name: "control",
        doc: "Congestion control that the stack uses.",
        kind: Kind::Word(&["cubic", "reno", "none"]),
        default: Some("cubic"),
        tc: None,
    },
    Opt {
        name: "bytes",
        doc: "Bytes that the sender sends; default: no limit, and the upload lasts until the end of the run.",
        kind: Kind::Size {
            packets: false,
            bytes: true,
        },
        default: None,
        tc: None,
    },
    Opt {
        name: "nagle",
        doc: "Whether short segments wait for acknowledgements (Nagle's algorithm).",
        kind: Kind::Bool,
        default: Some("true"),
        tc: None,
    },
    Opt {
        name: "delack",
        doc: "Whether the receiver delays acknowledgements by up to 10 ms, and acknowledges every second segment.",
        kind: Kind::Bool,
        default: Some("true"),
        tc: None,
    },
    Opt {
        name: "buffer",
        doc: "Size of each send and receive buffer, in bytes. The buffers limit the window.",
        kind: Kind::Int {
            min: 1 << 12,
            max: 1 << 26,
        },
        default: Some("1048576"),
        tc: None,
    },
];

/// The registry entry.
pub static ENTRY: Entry<Build> = Entry {
    name: "smoltcp",
    doc: "Uploads data over TCP. The sender and the receiver use smoltcp.",
    follows: "smoltcp 0.14.0",
    options: OPTIONS,
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build { ends },
};

/// Registers smoltcp. `tailback run --with stacks/smoltcp` calls this function.
pub fn register(registry: &mut Registry) {
    registry.stack(&ENTRY);
}

fn ends(given: &Given, setting: &Setting) -> [Box<dyn Endpoint>; 2] {
    let options = Options {
        control: match given.word("control") {
            "reno" => CongestionControl::Reno,
            "none" => CongestionControl::None,
            _ => CongestionControl::Cubic,
        },
        nagle: given.bool("nagle"),
        delack: given.bool("delack"),
        buffer: given.int("buffer") as usize,
        seed: setting.seed,
    };
    let bytes = given.bytes_if_set("bytes");
    [
        Box::new(sender(&options, bytes)),
        Box::new(receiver(&options)),
    ]
}
