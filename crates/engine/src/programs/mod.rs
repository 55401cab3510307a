//! Ready-made programs. Each kind of program converts a few options of an entry of `[[programs]]`
//! to the commands for both hosts. Each kind has one file and one line in [`ENTRIES`].
//!
//! Only the kernel engine runs programs. The simulator can instead run a transport stack from a
//! plugin that has the name of the kind ([`stacks`]). The words of a command may contain the
//! placeholders of `[[programs]]`: `{sender}`, `{receiver}`, `{sender6}`, `{receiver6}`.

use crate::plan::{InteropPlan, Ready, ResultPlan, SidePlan};
use crate::registry::{Entry, Kind, Opt, Options, Table};

pub mod flent;
pub mod http;
pub mod interop;
pub mod iperf3;
pub mod irtt;
pub mod ping;
pub mod quic;
pub mod stacks;
pub mod words;

/// How the options of a ready-made program are converted to commands.
pub struct Build {
    /// Converts these options to commands. The second argument is the number of seconds that the
    /// entry may run.
    pub made: fn(&Options, u64) -> Made,
}

/// The commands and files of an entry of `[[programs]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// The program and its arguments on the sender's host, if a program runs there.
    pub sender: Option<SidePlan>,
    /// The program and its arguments on the receiver's host, if a program runs there.
    pub receiver: Option<SidePlan>,
    /// Debian packages that the commands need.
    pub packages: Vec<String>,
    /// The name of one of tailback's own programs, which was compiled on this machine. In the
    /// guest, the program is `/files/NAME`.
    pub built: Option<&'static str>,
    /// Numbers that tailback reads from files that the programs write.
    pub results: Vec<ResultPlan>,
    /// The files that the client fetches. Set if both sides run in container images with the
    /// environment of the QUIC interop runner.
    pub interop: Option<InteropPlan>,
    /// The options of the transport stack that the simulator runs instead of the commands.
    pub stack: Option<Options>,
}

/// The ready-made programs of tailback.
pub const ENTRIES: &[&Entry<Build>] = &[
    &quic::aioquic::ENTRY,
    &flent::ENTRY,
    &http::ENTRY,
    &interop::ENTRY,
    &iperf3::ENTRY,
    &irtt::ENTRY,
    &ping::ENTRY,
    &quic::quic_go::ENTRY,
    &quic::quiche::ENTRY,
    &quic::quinn::ENTRY,
    &quic::s2n_quic::ENTRY,
];

/// Every ready-made program.
pub static TABLE: Table<Build> = Table::of(ENTRIES);

/// An option that several kinds share: whether packets are IPv6.
pub const IPV6: Opt = Opt {
    name: "ipv6",
    doc: "Whether packets use IPv6.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};

/// Returns the placeholder for the address of a host. The placeholder stands for an IPv6 address if
/// the option [`IPV6`] is true.
fn address(options: &Options, host: &str) -> String {
    match options.bool(IPV6.name) {
        true => format!("{{{host}6}}"),
        false => format!("{{{host}}}"),
    }
}

/// Returns a side that runs a client. The client starts at the time `start` of its entry.
fn client(run: Vec<String>) -> Option<SidePlan> {
    Some(SidePlan {
        run,
        ..SidePlan::default()
    })
}

/// Returns a side that runs a server. The run begins when the server is ready.
fn server(run: Vec<String>, ready: Ready) -> Option<SidePlan> {
    Some(SidePlan {
        run,
        ready: Some(ready),
        ..SidePlan::default()
    })
}

fn words_of(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Describes a number that a program writes to a file and tailback reads.
fn result(name: &str, file: &str, path: &str, scale: f64) -> ResultPlan {
    ResultPlan {
        name: name.to_owned(),
        file: file.to_owned(),
        path: path.to_owned(),
        scale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::complete_defaults;

    /// Tests that each kind has a client. An entry that only has servers would do nothing. Also
    /// tests that no option has the same name as a key. Options and keys are in one table.
    #[test]
    fn every_kind_has_a_client_and_no_option_with_the_name_of_a_key() {
        for entry in ENTRIES {
            let made = (entry.build.made)(&complete_defaults(entry), 10);
            let sides = [&made.sender, &made.receiver];
            let mut clients = sides.iter().filter(|side| {
                side.as_ref()
                    .is_some_and(|side| side.ready.is_none() && !side.run.is_empty())
            });
            assert!(clients.next().is_some(), "{}", entry.name);
            let found = made.built.is_some() || made.interop.is_some();
            assert!(!made.packages.is_empty() || found, "{}", entry.name);
            for opt in entry.options {
                let key = crate::plan::ProgramPlan::TABLE.key(opt.name);
                assert!(key.is_none(), "{}: {}", entry.name, opt.name);
            }
        }
    }
}
