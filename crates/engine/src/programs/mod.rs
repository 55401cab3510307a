//! Ready-made programs. Each turns a few options into the commands for both hosts of an entry of
//! `[[programs]]`, so that one line is enough. A kind is one file and one line of [`ENTRIES`].
//!
//! Only the kernel engine runs programs. In the simulator the stack of a plugin can stand for a kind
//! ([`stacks`]). Words of a command may have the placeholders of `[[programs]]`: `{sender}`,
//! `{receiver}`, `{sender6}`, `{receiver6}`.

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

/// How an entry of this kind is expanded.
pub struct Build {
    /// Expands these options to commands. The number is the seconds that the entry may run.
    pub made: fn(&Options, u64) -> Made,
}

/// The expansion of an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// The command on the sender's host.
    pub sender: Option<SidePlan>,
    /// The command on the receiver's host.
    pub receiver: Option<SidePlan>,
    /// Debian packages that the commands need.
    pub packages: Vec<String>,
    /// A program of tailback's own, compiled on this machine. The guest has it in `/files/NAME`.
    pub built: Option<&'static str>,
    /// Numbers to read from the files that the programs write.
    pub results: Vec<ResultPlan>,
    /// Set if both sides run in roots that the scenario gives, with the environment of the QUIC
    /// interop runner.
    pub interop: Option<InteropPlan>,
    /// The options of the stack that is the kind in the simulator.
    pub stack: Option<Options>,
}

/// The ready-made programs of this repository, one line each.
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

/// Option of several kinds: whether packets are IPv6.
pub const IPV6: Opt = Opt {
    name: "ipv6",
    doc: "Whether packets use IPv6.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};

/// The address of a host, in the family that [`IPV6`] selects.
fn address(options: &Options, host: &str) -> String {
    match options.bool(IPV6.name) {
        true => format!("{{{host}6}}"),
        false => format!("{{{host}}}"),
    }
}

/// A side that is a client, which starts with the entry.
fn client(run: Vec<String>) -> Option<SidePlan> {
    Some(SidePlan {
        run,
        ..SidePlan::default()
    })
}

/// A side that is a server. Clients wait until it is ready.
fn server(run: Vec<String>, ready: Ready) -> Option<SidePlan> {
    Some(SidePlan {
        run,
        ready: Some(ready),
        ..SidePlan::default()
    })
}

/// Converts the words of a command line.
fn words_of(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A result: a number that a program writes to a file.
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

    /// A kind without a client would have no effect. An option with the name of a key could not be
    /// distinguished from that key.
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
