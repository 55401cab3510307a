//! Flent runs on the sender's host, and uses netperf and irtt. The servers of netperf and irtt run
//! on the receiver's host.

use super::{Build, Made, client, server, words_of};
use crate::plan::Ready;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};

/// How many seconds Flent needs before and after a test, including the time to write its result
/// file.
const AROUND_S: u64 = 13;

/// The registry entry of `flent`.
pub const ENTRY: Entry<Build> = Entry {
    name: "flent",
    doc: "Runs one of Flent's tests. The data file that Flent writes is stored with the run. \
        Uploads use the forward direction of the route, and downloads use the reverse direction.",
    follows: "Flent, netperf and irtt",
    options: &[
        Opt {
            name: "test",
            doc: "Name of the test in Flent.",
            kind: Kind::Word(&[
                "rrul",
                "rrul_be",
                "tcp_upload",
                "tcp_download",
                "tcp_nup",
                "tcp_ndown",
                "tcp_bidirectional",
                "ping",
                "voip",
            ]),
            default: Some("tcp_upload"),
            tc: None,
        },
        Opt {
            name: "seconds",
            doc: "Length of the test, in seconds. Default and maximum: the time from `start` to \
                `stop`, or to the end of the run.",
            kind: Kind::Int {
                min: 1,
                max: 86_400,
            },
            default: None,
            tc: None,
        },
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build { made },
};

fn made(options: &Options, seconds: u64) -> Made {
    let most = seconds.saturating_sub(AROUND_S).max(1);
    let length = match options.get("seconds") {
        Some(_) => options.int("seconds").unsigned_abs().min(most),
        None => most,
    };
    // Run the version that Flent's authors publish, because Debian's package does not include the
    // tests.
    let flent = ["env", "PYTHONPATH=/files/flent", "python3", "-m", "flent"];
    let mut run = words_of(&flent);
    run.extend(words_of(&[
        options.word("test"),
        "-H",
        "{receiver}",
        "-D",
        "/out",
    ]));
    run.extend(["-l".to_owned(), length.to_string()]);
    run.extend(words_of(&["-4", "-t", "tailback"]));
    let servers = "irtt server -d 0 -i 0 > /dev/null & exec netserver -D -4";
    Made {
        sender: client(run),
        receiver: server(words_of(&["sh", "-c", servers]), Ready::Tcp(12865)),
        packages: words_of(&["fping", "irtt", "netperf", "python3"]),
        built: Some("flent"),
        ..Made::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::complete_defaults;

    #[test]
    fn its_words() {
        let said = made(&complete_defaults(&ENTRY), 33).sender;
        let expected = "env PYTHONPATH=/files/flent python3 -m flent \
            tcp_upload -H {receiver} -D /out -l 20 -4 -t tailback";
        assert_eq!(
            said.map(|side| side.run.join(" ")).as_deref(),
            Some(expected)
        );
    }
}
