//! ping sends echo requests at equal intervals, and measures the round-trip time of a small packet.

use super::{Build, IPV6, Made, address, client, words_of};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::units::Time;

/// The registry entry of `ping`.
pub const ENTRY: Entry<Build> = Entry {
    name: "ping",
    doc: "The sender's host sends ICMP echo requests. The kernel of the receiver's host answers \
        the echo requests.",
    follows: "iputils ping",
    options: &[
        Opt {
            name: "interval",
            doc: "Time from one request to the next.",
            kind: Kind::Time {
                min: Time::from_ms(1),
            },
            default: Some("200ms"),
            tc: None,
        },
        Opt {
            name: "size",
            doc: "Bytes of data in a request.",
            kind: Kind::Int {
                min: 0,
                max: 65_000,
            },
            default: Some("56"),
            tc: None,
        },
        Opt {
            name: "requests",
            doc: "Number of requests; default: ping sends requests until one second before `stop` \
             or before the end of the run.",
            kind: Kind::Int {
                min: 1,
                max: 1_000_000,
            },
            default: None,
            tc: None,
        },
        IPV6,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build { made },
};

fn made(options: &Options, seconds: u64) -> Made {
    let mut run = words_of(&["ping", "-n", "-i"]);
    run.push(options.time("interval").as_secs_f64().to_string());
    run.extend(["-s".to_owned(), options.int("size").to_string()]);
    run.extend(match options.get("requests") {
        Some(_) => ["-c".to_owned(), options.int("requests").to_string()],
        // Leave time for the last reply and for the summary.
        None => [
            "-w".to_owned(),
            seconds.saturating_sub(1).max(1).to_string(),
        ],
    });
    run.push(address(options, "receiver"));
    Made {
        sender: client(run),
        packages: vec!["iputils-ping".to_owned()],
        ..Made::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Value, complete_defaults};

    #[test]
    fn its_words() {
        let mut options = complete_defaults(&ENTRY);
        let said = |options: &Options| made(options, 20).sender.map(|side| side.run.join(" "));
        let by_default = "ping -n -i 0.2 -s 56 -w 19 {receiver}";
        assert_eq!(said(&options).as_deref(), Some(by_default));
        options.set("requests", Value::Int(5));
        options.set("ipv6", Value::Bool(true));
        let five = "ping -n -i 0.2 -s 56 -c 5 {receiver6}";
        assert_eq!(said(&options).as_deref(), Some(five));
    }
}
