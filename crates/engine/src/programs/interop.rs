//! This kind of program runs two endpoints of the QUIC interop runner. The container images of the
//! endpoints are used as root file systems. The server runs on the sender's host. The client runs
//! on the receiver's host, and fetches files from the server over HTTP/0.9 or HTTP/3.
//!
//! Server and client find the same environment as in the runner's containers:
//!
//! | item | variable or path |
//! |---|---|
//! | role and test case | `ROLE`, `TESTCASE` (in the runner: `TESTCASE_SERVER`, `TESTCASE_CLIENT`) |
//! | files to fetch, destination | `REQUESTS` (`https://server4:443/file-1 ...`), `/downloads` |
//! | files to serve | `/www`, with pseudo-random content |
//! | certificates | `/certs`: `cert.pem` and `priv.key` of the server, `ca.pem`; generated in each run |
//! | logs | `/logs`, which is stored with the run; `SSLKEYLOGFILE`, `QLOGDIR` |
//! | names | `server`, `server4`, `server6`, `server46`, the same four names for `client`, and `sim` |
//!
//! The container images of the QUIC interop runner contain two scripts that work only in the
//! runner's own network. First, `/setup.sh` sets routes through the runner's simulator and turns
//! off the network card's checksums. In tailback, hosts already have their routes. So tailback
//! replaces `/setup.sh` with a script that only creates `/logs/qlog`. Second, clients run
//! `/wait-for-it.sh sim:57832` to wait for the simulator. In tailback, `sim` is the client's own
//! host, where a socket listens at this port. So `/wait-for-it.sh` returns at once.

use super::{Build, IPV6, Made, client, result, server, words_of};
use crate::plan::{InteropPlan, Ready, SidePlan};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options};

const PORT: u16 = 443;

/// The command that is run in a container image if the scenario does not set `run`.
const ENTRY_POINT: &str = "/run_endpoint.sh";

const REPORT: &str = "interop.json";

/// The largest total size of the files, in bytes. The guest needs twice as much memory.
const MOST: u64 = 500_000_000;

/// The registry entry of `interop`.
pub const ENTRY: Entry<Build> = Entry {
    name: "interop",
    doc: "Runs two endpoints of the QUIC interop runner. The sender's host runs the server, and the receiver's host runs the client. In each of the tables `sender` and `receiver`, set `root` to the folder of an unpacked container image. The key `run` sets the command; its default is /run_endpoint.sh.",
    follows: "the QUIC interop runner",
    options: &[
        Opt {
            name: "testcase",
            doc: "Name of the test case in the QUIC interop runner. Server and client receive this \
                name in the variable TESTCASE. Some test cases of the runner also check a packet \
                trace; tailback does not check packet traces.",
            kind: Kind::Word(&[
                "handshake",
                "transfer",
                "chacha20",
                "keyupdate",
                "retry",
                "resumption",
                "zerortt",
                "http3",
                "multiconnect",
                "v2",
                "ecn",
                "connectionmigration",
            ]),
            default: Some("transfer"),
            tc: None,
        },
        Opt {
            name: "bytes",
            doc: "Size of each file that the client fetches.",
            kind: Kind::Size {
                packets: false,
                bytes: true,
            },
            default: Some("10000000b"),
            tc: None,
        },
        Opt {
            name: "downloads",
            doc: "Number of files that the client fetches.",
            kind: Kind::Int { min: 1, max: 2000 },
            default: Some("1"),
            tc: None,
        },
        IPV6,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish,
    build: Build { made },
};

fn files(options: &Options) -> InteropPlan {
    let bytes = options.bytes_if_set("bytes").unwrap_or_default();
    let files = options.int("downloads").unsigned_abs();
    InteropPlan { bytes, files }
}

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let InteropPlan { bytes, files } = files(options);
    let all = bytes.saturating_mul(files);
    if all <= MOST {
        return Ok(());
    }
    Err(vec![OptionError {
        option: "bytes",
        message: format!(
            "all files together have {} MB: expected at most {} MB",
            all / 1_000_000,
            MOST / 1_000_000
        ),
    }])
}

/// Returns the names of a test case, first for the server and then for the client.
fn names(testcase: &'static str) -> [&'static str; 2] {
    match testcase {
        "keyupdate" => ["transfer", "keyupdate"],
        "connectionmigration" => ["connectionmigration", "transfer"],
        both => [both, both],
    }
}

fn made(options: &Options, _: u64) -> Made {
    let testcase = options.word("testcase");
    let files = files(options);
    let host = match (options.bool(IPV6.name), testcase) {
        (true, _) => "server6",
        // The name `server46` has an IPv4 address and an IPv6 address.
        (false, "connectionmigration") => "server46",
        (false, _) => "server4",
    };
    let requests: Vec<String> = (0..files.files)
        .map(|number| format!("https://{host}:{PORT}/{}", InteropPlan::name(number)))
        .collect();
    let [at_server, at_client] = names(testcase);
    let variables = |role: &str, testcase: &str, more: &[(&str, &str)]| {
        let upper = role.to_uppercase();
        let all = [
            ("ROLE", role),
            ("TESTCASE", testcase),
            (&*format!("TESTCASE_{upper}"), testcase),
            (&*format!("{upper}_PARAMS"), ""),
            ("SSLKEYLOGFILE", "/logs/keys.log"),
            ("QLOGDIR", "/logs/qlog/"),
        ];
        let all = all.iter().chain(more);
        let mut all: Vec<[String; 2]> = all
            .map(|(name, value)| [(*name).to_owned(), (*value).to_owned()])
            .collect();
        all.sort();
        all
    };
    let with =
        |side: Option<SidePlan>, env: Vec<[String; 2]>| side.map(|side| SidePlan { env, ..side });
    let serve = server(words_of(&[ENTRY_POINT]), Ready::Udp(PORT));
    let fetch = client(words_of(&[ENTRY_POINT]));
    let to = [
        ("REQUESTS", &*requests.join(" ")),
        ("DOWNLOADS", "/downloads"),
    ];
    Made {
        sender: with(
            serve,
            variables("server", at_server, &[("WWW", "/www"), ("CERTS", "/certs")]),
        ),
        receiver: with(fetch, variables("client", at_client, &to)),
        results: vec![
            result("goodput_mbit", REPORT, "goodput_mbit", 1.0),
            result("seconds", REPORT, "seconds", 1.0),
            result("whole_files", REPORT, "whole_files", 1.0),
        ],
        interop: Some(files),
        ..Made::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Value, complete_defaults};
    use crate::units::Bytes;

    fn variable(side: Option<SidePlan>, name: &str) -> Option<String> {
        let env = side.map(|side| side.env).unwrap_or_default();
        let found = env.into_iter().find(|[known, _]| known == name);
        found.map(|[_, value]| value)
    }

    #[test]
    fn each_side_hears_its_name_of_the_test_and_where_the_files_are() {
        let mut options = complete_defaults(&ENTRY);
        options.set("testcase", Value::Word("keyupdate"));
        options.set("downloads", Value::Int(2));
        let made = made(&options, 20);
        let server = |name| variable(made.sender.clone(), name);
        let client = |name| variable(made.receiver.clone(), name);
        assert_eq!(server("ROLE").as_deref(), Some("server"));
        assert_eq!(server("TESTCASE").as_deref(), Some("transfer"));
        assert_eq!(client("TESTCASE_CLIENT").as_deref(), Some("keyupdate"));
        let requests = "https://server4:443/file-1 https://server4:443/file-2";
        assert_eq!(client("REQUESTS").as_deref(), Some(requests));
        assert_eq!(server("REQUESTS"), None);
        let interop = made.interop.expect("files");
        assert_eq!((interop.bytes, interop.files), (10_000_000, 2));
        options.set("bytes", Value::Bytes(Bytes(300_000_000)));
        assert!(finish(&mut options).is_err());
    }
}
