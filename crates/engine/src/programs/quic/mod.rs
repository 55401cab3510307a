//! QUIC stacks. A server runs on the sender's host, and a client runs on the receiver's host.
//! Server and client are small programs that belong to tailback
//! (`tailback kernel build --program NAME`).

use super::{IPV6, Made, client, result, server, words_of};
use crate::plan::Ready;
use crate::registry::{Kind, Opt, Options, Value};

pub mod aioquic;
pub mod quic_go;
pub mod quiche;
pub mod quinn;
pub mod s2n_quic;

const PORT: u16 = 4433;

const REPORT: &str = "result.json";

/// The option for the number of bytes that the client downloads.
pub const BYTES: Opt = Opt {
    name: "bytes",
    doc: "Bytes that the client downloads; default: no limit, and the download lasts until the end of the run.",
    kind: Kind::Size {
        packets: false,
        bytes: true,
    },
    default: None,
    tc: None,
};

/// The option that determines whether packets carry an ECN-capable codepoint.
pub const ECT: Opt = Opt {
    name: "ect",
    doc: "Whether the stack may send ECN-capable packets.",
    kind: Kind::Bool,
    default: Some("true"),
    tc: None,
};

/// The option that determines whether the stack passes several datagrams to the kernel in one call.
const GSO: Opt = Opt {
    name: "gso",
    doc: "Whether the stack may pass several datagrams to the kernel at once (UDP_SEGMENT).",
    kind: Kind::Bool,
    default: Some("true"),
    tc: None,
};

/// The option that determines whether the stack writes a qlog file.
pub const QLOG: Opt = Opt {
    name: "qlog",
    doc: "Whether the server writes a qlog file for each connection.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};

/// The option for the number of threads. Only some stacks support several threads.
const THREADS: Opt = Opt {
    name: "threads",
    doc: "Number of worker threads besides the main thread; 0 means that the main thread does all work.",
    kind: Kind::Int { min: 0, max: 64 },
    default: Some("0"),
    tc: None,
};

/// Returns the commands that run a stack's program. `dash` is the prefix of options in the command
/// line of the program.
fn made(name: &'static str, dash: &str, packages: &[&str], options: &Options) -> Made {
    let program = format!("/files/{name}/transfer");
    let at = match options.bool(IPV6.name) {
        true => format!("[{{sender6}}]:{PORT}"),
        false => format!("{{sender}}:{PORT}"),
    };
    let mut serve = vec![program.clone(), "server".to_owned(), at.clone()];
    let mut fetch = vec![program, "client".to_owned(), at];
    for (option, word) in [
        ("ect", "no-ecn"),
        ("gso", "no-gso"),
        ("pacing", "no-pacing"),
    ] {
        if options.get(option) == Some(&Value::Bool(false)) {
            // Set the option at both ends, because it also affects the packets that the client
            // sends.
            for run in [&mut serve, &mut fetch] {
                run.push(format!("{dash}{word}"));
            }
        }
    }
    if let Some(Value::Word(control)) = options.get("control") {
        serve.extend([format!("{dash}cc"), (*control).to_owned()]);
    }
    if options.get("qlog") == Some(&Value::Bool(true)) {
        serve.extend([format!("{dash}qlog"), "/out".to_owned()]);
    }
    if let Some(Value::Int(threads)) = options.get("threads") {
        for run in [&mut serve, &mut fetch] {
            run.extend([format!("{dash}threads"), threads.to_string()]);
        }
    }
    if let Some(bytes) = options.bytes_if_set(BYTES.name) {
        fetch.extend([format!("{dash}bytes"), bytes.to_string()]);
    }
    Made {
        sender: server(serve, Ready::Udp(PORT)),
        receiver: client(fetch),
        packages: words_of(packages),
        built: Some(name),
        results: vec![
            result("goodput_mbit", REPORT, "goodput_mbit", 1.0),
            result("seconds", REPORT, "seconds", 1.0),
        ],
        ..Made::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::complete_defaults;

    #[test]
    fn words_of_each_stack() {
        let said = |side: Option<crate::plan::SidePlan>| side.map(|side| side.run.join(" "));
        let mut options = complete_defaults(&quinn::ENTRY);
        options.set("control", Value::Word("bbr"));
        options.set("ect", Value::Bool(false));
        let made = (quinn::ENTRY.build.made)(&options, 20);
        assert_eq!(
            said(made.sender).as_deref(),
            Some("/files/quinn/transfer server {sender}:4433 --no-ecn --cc bbr --threads 0")
        );
        assert_eq!(made.built, Some("quinn"));
        let mut options = complete_defaults(&quic_go::ENTRY);
        options.set("bytes", Value::Bytes(crate::units::Bytes(5_000_000)));
        let made = (quic_go::ENTRY.build.made)(&options, 20);
        let fetch = "/files/quic-go/transfer client {sender}:4433 -bytes 5000000";
        assert_eq!(said(made.receiver).as_deref(), Some(fetch));
        let mut options = complete_defaults(&quiche::ENTRY);
        options.set("control", Value::Word("bbr2"));
        options.set("pacing", Value::Bool(false));
        let made = (quiche::ENTRY.build.made)(&options, 20);
        let serve = "/files/quiche/transfer server {sender}:4433 --no-pacing --cc bbr2";
        assert_eq!(said(made.sender).as_deref(), Some(serve));
        let made = (aioquic::ENTRY.build.made)(&complete_defaults(&aioquic::ENTRY), 20);
        assert_eq!(made.packages, ["python3-aioquic"]);
        let made = (s2n_quic::ENTRY.build.made)(&complete_defaults(&s2n_quic::ENTRY), 20);
        let serve = "/files/s2n-quic/transfer server {sender}:4433 --cc cubic --threads 0";
        assert_eq!(said(made.sender).as_deref(), Some(serve));
    }
}
