//! The client sends small UDP packets at equal intervals, and the server replies to each packet.
//! irtt reports round-trip and one-way delays.

use super::{Build, IPV6, Made, address, client, result, server, words_of};
use crate::plan::Ready;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::units::Time;

const REPORT: &str = "irtt.json";

/// The registry entry of `irtt`.
pub const ENTRY: Entry<Build> = Entry {
    name: "irtt",
    doc: "irtt sends UDP packets at equal intervals, as in a call, and measures the delays of the \
          replies. The client and the server of irtt share one clock, so one-way delays are exact.",
    follows: "irtt",
    options: &[
        Opt {
            name: "interval",
            doc: "Time from one packet to the next.",
            kind: Kind::Time {
                min: Time::from_ms(1),
            },
            default: Some("20ms"),
            tc: None,
        },
        Opt {
            name: "length",
            doc: "Bytes of payload.",
            kind: Kind::Int {
                min: 60,
                max: 1_400,
            },
            default: Some("172"),
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
    let mut run = words_of(&["irtt", "client", "-q", "-i"]);
    run.push(format!("{}us", options.time("interval").ns() / 1000));
    // Stop sending one second early, so that the last replies can arrive.
    run.extend([
        "-d".to_owned(),
        format!("{}s", seconds.saturating_sub(1).max(1)),
    ]);
    run.extend(["-l".to_owned(), options.int("length").to_string()]);
    run.extend(["-o".to_owned(), format!("/out/{REPORT}")]);
    run.push(match options.bool(IPV6.name) {
        true => format!("[{}]", address(options, "receiver")),
        false => address(options, "receiver"),
    });
    let of = |name: &str, path: &str, scale: f64| result(name, REPORT, path, scale);
    Made {
        sender: client(run),
        receiver: server(
            words_of(&["irtt", "server", "-d", "0", "-i", "0"]),
            Ready::Udp(2112),
        ),
        packages: words_of(&["irtt"]),
        results: vec![
            of("irtt_mean_ms", "stats.rtt.mean", 1e-6),
            of("irtt_max_ms", "stats.rtt.max", 1e-6),
            of("irtt_there_mean_ms", "stats.send_delay.mean", 1e-6),
            of("irtt_back_mean_ms", "stats.receive_delay.mean", 1e-6),
            of("irtt_lost_percent", "stats.packet_loss_percent", 1.0),
        ],
        ..Made::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::complete_defaults;

    #[test]
    fn its_words() {
        let said = made(&complete_defaults(&ENTRY), 20).sender;
        let expected = "irtt client -q -i 20000us -d 19s -l 172 -o /out/irtt.json {receiver}";
        assert_eq!(
            said.map(|side| side.run.join(" ")).as_deref(),
            Some(expected)
        );
    }
}
