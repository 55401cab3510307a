//! iperf3 sends from the sender's host to the receiver's host. iperf3 uses the kernel's TCP, or UDP
//! at a fixed rate.

use super::{Build, IPV6, Made, address, client, result, server, words_of};
use crate::plan::Ready;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};

const PORT: u16 = 5201;

const REPORT: &str = "iperf3.json";

/// The registry entry of `iperf3`.
pub const ENTRY: Entry<Build> = Entry {
    name: "iperf3",
    doc: "iperf3 sends data over TCP or UDP. For TCP, the key `cc` sets the congestion control. \
        Over UDP, iperf3 sends at a fixed rate.",
    follows: "iperf3",
    options: &[
        Opt {
            name: "parallel",
            doc: "Number of parallel connections.",
            kind: Kind::Int { min: 1, max: 128 },
            default: Some("1"),
            tc: None,
        },
        Opt {
            name: "seconds",
            doc: "Number of seconds for which iperf3 sends. Default and maximum: the time \
                until one second before `stop` or before the end of the run.",
            kind: Kind::Int {
                min: 1,
                max: 86_400,
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "udp",
            doc: "Whether iperf3 sends UDP packets, at the rate `bitrate`.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        Opt {
            name: "bitrate",
            doc: "Payload rate of each connection; default: no limit with TCP, 1Mbit with UDP.",
            kind: Kind::Rate,
            default: None,
            tc: None,
        },
        Opt {
            name: "length",
            doc: "Size, in bytes, of a UDP datagram or of a write to a TCP socket; default: iperf3's own default.",
            kind: Kind::Int {
                min: 16,
                max: 65_000,
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "backwards",
            doc: "Whether the receiver's host sends to the sender's host, in the reverse direction.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        IPV6,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish,
    build: Build { made },
};

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    if options.bool("udp") {
        // The default datagram length of iperf3 depends on the MTU of the route. Datagrams with
        // 1400 bytes of payload fit every link.
        options.set_default("length", Value::Int(1400));
    }
    Ok(())
}

fn made(options: &Options, seconds: u64) -> Made {
    let mut run = words_of(&["iperf3", "-c"]);
    run.push(address(options, "receiver"));
    let mut add = |flag: &str, value: String| run.extend([flag.to_owned(), value]);
    // Stop one second early, because both ends exchange their results at the end of a test.
    let most = seconds.saturating_sub(1).max(1);
    let time = match options.get("seconds") {
        Some(_) => options.int("seconds").unsigned_abs().min(most),
        None => most,
    };
    add("-t", time.to_string());
    if options.int("parallel") > 1 {
        add("-P", options.int("parallel").to_string());
    }
    if let Some(Value::Rate(rate)) = options.get("bitrate") {
        add("-b", rate.0.to_string());
    }
    if options.get("length").is_some() {
        add("-l", options.int("length").to_string());
    }
    let udp = options.bool("udp");
    run.extend(udp.then(|| "-u".to_owned()));
    run.extend(options.bool("backwards").then(|| "-R".to_owned()));
    run.extend(words_of(&["-J", "--logfile"]));
    run.push(format!("/out/{REPORT}"));
    let (sum, rest) = match udp {
        true => (
            "end.sum",
            result("jitter_ms", REPORT, "end.sum.jitter_ms", 1.0),
        ),
        false => (
            "end.sum_received",
            result("retransmits", REPORT, "end.sum_sent.retransmits", 1.0),
        ),
    };
    let goodput = format!("{sum}.bits_per_second");
    Made {
        sender: client(run),
        // With `-1`, the server exits after it has served one client.
        receiver: server(words_of(&["iperf3", "-s", "-1"]), Ready::Tcp(PORT)),
        packages: vec!["iperf3".to_owned()],
        results: vec![result("goodput_mbit", REPORT, &goodput, 1e-6), rest],
        ..Made::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::complete_defaults;
    use crate::units::Rate;

    #[test]
    fn its_words() {
        let mut options = complete_defaults(&ENTRY);
        let said = |options: &Options| made(options, 20).sender.map(|side| side.run.join(" "));
        let by_default = "iperf3 -c {receiver} -t 19 -J --logfile /out/iperf3.json";
        assert_eq!(said(&options).as_deref(), Some(by_default));
        options.set("udp", Value::Bool(true));
        options.set("bitrate", Value::Rate(Rate(5_000_000)));
        options.set("ipv6", Value::Bool(true));
        finish(&mut options).expect("UDP has a length");
        let udp = "iperf3 -c {receiver6} -t 19 -b 5000000 -l 1400 -u -J --logfile /out/iperf3.json";
        assert_eq!(said(&options).as_deref(), Some(udp));
        let names = made(&options, 20).results;
        let names: Vec<&str> = names.iter().map(|result| result.name.as_str()).collect();
        assert_eq!(names, ["goodput_mbit", "jitter_ms"]);
    }
}
