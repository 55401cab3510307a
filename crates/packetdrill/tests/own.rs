//! Tests tailback's own scripts, and that wrong expectations make a script fail.

use std::path::{Path, PathBuf};

use tailback_packetdrill::script::{Script, What, When};
use tailback_packetdrill::{Category, Judged, Verdict, judge, parse, report, scripts_in};

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/own")
}

fn read(path: &Path) -> Script {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    parse(&text).unwrap_or_else(|e| panic!("{}:{e}", path.display()))
}

fn judged(text: &str) -> Judged {
    judge(&parse(text).unwrap_or_else(|e| panic!("{e}")))
}

/// Returns a script that opens a connection with segments of 1000 bytes and an RTT of 100 ms.
/// `rest` is appended to the script.
fn open(rest: &str) -> String {
    format!(
        "`./defaults.sh`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n\
         +0 < S 0:0(0) win 60000 <mss 1000,sackOK,nop,wscale 7>\n+0 > S. 0:0(0) ack 1 <...>\n\
         +.1 < . 1:1(0) ack 1 win 600\n+0 accept(3, ..., ...) = 4\n{rest}"
    )
}

/// Every script must pass, and check as many packets, fields and assertions as the expected table
/// lists.
#[test]
fn own_scripts_pass() {
    let rows: Vec<report::Row> = scripts_in(&own())
        .expect("tests/own")
        .iter()
        .map(|path| {
            let name = path.file_stem().expect("a file").to_string_lossy();
            (name.into_owned(), judge(&read(path)))
        })
        .collect();
    let expected = "\
script               verdict  packets  fields  asserts  why
accecn_receiver      pass           7      20        0
accecn_sender        pass          12      25        5
application_limited  pass           2       0        3
duplicates           pass           5       4        0
ecn_receiver         pass           4       3        0
ecn_sender           pass           3       4        3
frto                 pass           4       0        5
late_originals       pass           3       0        3
limited_transmit     pass           3       0        4
needless             pass           2       0        3
recovery             pass           7       0        8
slow_start           pass           5       0        3
timeout              pass           5       0        9
13 pass, 0 run and assert nothing, 0 fail, 0 not applicable, of 13
";
    assert_eq!(report::table(&rows), expected);
}

/// Tests that a script fails if it expects one of its packets a second later, or one byte longer.
#[test]
fn every_packet_is_compared() {
    for path in scripts_in(&own()).expect("tests/own") {
        let script = read(&path);
        let Verdict::Pass { .. } = judge(&script).verdict else {
            panic!("{}", path.display());
        };
        for (i, event) in script.events.iter().enumerate() {
            let What::Packet(packet) = &event.what else {
                continue;
            };
            // Skip the packets of the handshake, because the interpreter does not check them.
            if packet.inbound || packet.has('S') || packet.end == 1 && packet.ack == Some(1) {
                continue;
            }
            let mut late = script.clone();
            late.events[i].at = match event.at {
                When::Relative(a, b) => When::Relative(a + 1_000_000_000, b + 1_000_000_000),
                other => panic!("{other:?}"),
            };
            let mut longer = script.clone();
            if let What::Packet(packet) = &mut longer.events[i].what {
                packet.end += 1;
            }
            for wrong in [late, longer] {
                let verdict = judge(&wrong).verdict;
                assert!(
                    matches!(verdict, Verdict::Fail { line, .. } if line == event.line),
                    "{}:{}: {verdict:?}",
                    path.display(),
                    event.line
                );
            }
        }
    }
}

#[test]
fn a_failure_reports_what_was_expected_and_what_was_sent() {
    let wrong = open(
        "+0 write(4, ..., 3000) = 3000\n+0 > P. 1:2001(2000) ack 1\n+.1 > . 1:1001(1000) ack 1\n",
    );
    assert_eq!(
        judged(&wrong).verdict,
        Verdict::Fail {
            line: 10,
            expected: "data 1:1001 at 0.2000 s".to_owned(),
            got: "data 2001:3001 at 0.1000 s".to_owned(),
        }
    );
    let wrong = open("+0 %{ assert 3 <= tcpi_snd_cwnd < 10, 'cwnd' }%\n");
    assert_eq!(
        judged(&wrong).verdict,
        Verdict::Fail {
            line: 8,
            expected: "3 <= tcpi_snd_cwnd < 10".to_owned(),
            got: "tcpi_snd_cwnd = 10".to_owned(),
        }
    );
}

/// The times of packets may differ by 4 ms from the script, unless the script sets another
/// tolerance.
#[test]
fn times_have_a_tolerance() {
    let at = |offset: &str| {
        open(&format!(
            "+0 write(4, ..., 1000) = 1000\n+{offset} > P. 1:1001(1000) ack 1\n"
        ))
    };
    let fails = |text: &str| matches!(judged(text).verdict, Verdict::Fail { .. });
    assert!(!fails(&at(".004")));
    assert!(fails(&at(".0041")));
    assert!(!fails(&format!("--tolerance_usecs=5000\n{}", at(".005"))));
    assert!(!fails(&at(".004~.2")));
    assert!(fails(&at(".005~.2")));
}

/// If a script contains an unsupported part, the verdict must name this part instead of ignoring
/// it.
#[test]
fn unsupported_parts_are_reported() {
    let category = |text: &str| match judged(text).verdict {
        Verdict::NotApplicable { category, line, .. } => (category, line),
        other => panic!("{other:?}"),
    };
    for (rest, expected) in [
        (
            "+0 write(4, ..., 500) = 500\n+0 write(4, ..., 10) = 10\n",
            (Category::Nagle, 9),
        ),
        (
            "+0 write(4, ..., 2000) = 2000\n+0 < . 1:1(0) ack 501 win 600\n",
            (Category::PartOfSegment, 9),
        ),
        ("+0 < . 1:1(0) ack 2 win 600\n", (Category::Challenge, 8)),
        (
            "+0 < . 1:1(0) ack 1 win 0\n+0 < F. 1:1(0) ack 1 win 600\n",
            (Category::Close, 9),
        ),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_FOO, [1], 4) = 0\n",
            (Category::Socket, 8),
        ),
        ("+0 `reboot`\n", (Category::Command, 8)),
        (
            "+0 `sysctl -q net.ipv4.tcp_ecn_option=0`\n",
            (Category::Command, 8),
        ),
        (
            "+0 `sysctl -q net.ipv4.tcp_ecn=6`\n",
            (Category::Command, 8),
        ),
        (
            "+0 < PU. 1:2(1) ack 1 win 600 urg 1\n",
            (Category::Urgent, 8),
        ),
        ("", (Category::Nothing, 7)),
    ] {
        assert_eq!(category(&open(rest)), expected, "{rest}");
    }
    let known = judged(&open(
        "+0 %{ assert tcpi_snd_cwnd == 10; assert tcpi_probes == 0 }%\n",
    ));
    assert_eq!(known.verdict, Verdict::Pass { until: None });
    assert_eq!(
        (known.assertions, known.unjudged),
        (1, vec!["tcpi_probes".to_owned()])
    );
}

/// If any part of a script is removed or replaced, the result is an error or a verdict, never a
/// panic.
#[test]
fn broken_scripts_do_not_panic() {
    let (mut errors, mut verdicts) = (0, 0);
    for path in scripts_in(&own()).expect("tests/own") {
        let text = std::fs::read_to_string(&path).expect("a script");
        let from = text.find("socket").expect("a script begins with a socket");
        for at in from..text.len() {
            for with in ["", "9", "\n", ":"] {
                let broken = format!("{}{with}{}", &text[..at], &text[at + 1..]);
                match parse(&broken) {
                    Ok(script) => {
                        judge(&script);
                        verdicts += 1;
                    }
                    Err(_) => errors += 1,
                }
            }
        }
    }
    assert!(errors > 1000 && verdicts > 1000, "{errors} {verdicts}");
}
