//! Runs the kernel's scripts, if the kernel's source is available. Compares the verdicts with
//! `tests/scripts.txt` and `docs/evidence/packetdrill.md`. With `TAILBACK_BLESS=1`, rewrites both
//! files. Also tests that a script fails if the expectation of any checked packet is changed.

use std::path::{Path, PathBuf};

use tailback_packetdrill::script::{Script, Segment, TcpOption, What, When};
use tailback_packetdrill::{
    Verdict, judge, kernel_scripts, kernel_version, parse, report, scripts_in,
};

/// Kernel version whose scripts the table of verdicts lists. Other kernel versions may have other
/// scripts.
const VERSION: &str = "7.3";

fn scripts() -> Option<Vec<(String, Script)>> {
    let Some(folder) = kernel_scripts() else {
        eprintln!("skipped: no kernel source with packetdrill scripts");
        return None;
    };
    let version = kernel_version(&folder).unwrap_or_default();
    if version != VERSION {
        eprintln!("skipped: the table is of Linux {VERSION}, the source is {version}");
        return None;
    }
    let read = |path: &PathBuf| {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let name = path.file_stem().expect("a file").to_string_lossy();
        let script = parse(&text).unwrap_or_else(|e| panic!("{}:{e}", path.display()));
        (name.into_owned(), script)
    };
    Some(
        scripts_in(&folder)
            .expect("a folder")
            .iter()
            .map(read)
            .collect(),
    )
}

fn compare(path: &Path, now: &str) {
    if std::env::var_os("TAILBACK_BLESS").is_some() {
        std::fs::write(path, now).expect("written");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    for (was, is) in stored.lines().zip(now.lines()) {
        assert_eq!(was, is, "{}", path.display());
    }
    assert_eq!(
        stored.lines().count(),
        now.lines().count(),
        "{}",
        path.display()
    );
}

#[test]
fn verdicts_match_the_table() {
    let Some(scripts) = scripts() else { return };
    let rows: Vec<report::Row> = scripts.iter().map(|(n, s)| (n.clone(), judge(s))).collect();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    compare(&here.join("tests/scripts.txt"), &report::table(&rows));
    compare(
        &here.join("../../docs/evidence/packetdrill.md"),
        &report::markdown(&rows, Some(VERSION)),
    );
}

/// Returns variants of an expected packet. In each variant, one of the fields that the script
/// specifies has a different value.
fn otherwise(packet: &Segment) -> Vec<Segment> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Segment)| {
        let mut other = packet.clone();
        change(&mut other);
        if other != *packet {
            all.push(other);
        }
    };
    with(&|p| {
        if let Some(ecn) = &mut p.ecn {
            *ecn = if ecn == "ce" { "noecn" } else { "ce" }.to_owned();
        }
    });
    // Change the ACE field if it is written as a digit. If there is no digit, remove the letter of
    // the ECE flag.
    with(&|p| {
        p.flags = match p.flags.find(|c: char| c.is_ascii_digit()) {
            Some(at) => p
                .flags
                .replacen(&p.flags[at..=at], if p.has('2') { "3" } else { "2" }, 1),
            None if p.has('E') => p.flags.replacen('E', "", 1),
            None => format!("{}E", p.flags),
        };
    });
    for n in 0..packet.options().len() {
        with(&|p| match &mut p.options.as_mut().expect("it has one")[n] {
            TcpOption::AccEcn(counters) => counters[0] = counters[0].map(|bytes| bytes ^ 1),
            TcpOption::Sack(blocks) => blocks[0].1 += 1,
            TcpOption::Timestamps(_, echo) => *echo += 1,
            _ => {}
        });
    }
    all
}

/// Tests that a script fails if the expectation of one of its packets is changed. The changed
/// script expects the packet a second later, or with another acknowledgement number, or with
/// another value of a field.
#[test]
fn every_checked_packet_is_compared() {
    let Some(scripts) = scripts() else { return };
    for (name, script) in scripts {
        let told = judge(&script);
        let Verdict::Pass { until } = told.verdict else {
            continue;
        };
        let (mut compared, mut fields) = (0, 0);
        for (i, event) in script.events.iter().enumerate() {
            let What::Packet(packet) = &event.what else {
                continue;
            };
            if packet.inbound || until.is_some_and(|line| event.line >= line) {
                continue;
            }
            let mut late = script.clone();
            let second = |a: u64, b: u64| (1_000_000_000 + b, 1_000_000_000 + b + (b - a));
            late.events[i].at = match event.at {
                When::Relative(a, b) => {
                    let (a, b) = second(a, b);
                    When::Relative(a, b)
                }
                When::Absolute(a, b) => {
                    let (a, b) = second(a, b);
                    When::Absolute(a, b)
                }
                When::Any => continue,
            };
            let mut more = script.clone();
            if let What::Packet(packet) = &mut more.events[i].what {
                packet.ack = packet.ack.map(|ack| ack + 1);
            }
            let fails = |script: &Script| matches!(judge(script).verdict, Verdict::Fail { line, .. } if line == event.line);
            // A SYN without an ACK has no acknowledgement number, so change only the SYN's time.
            compared += u32::from(fails(&late) && (packet.ack.is_none() || fails(&more)));
            for other in otherwise(packet) {
                let mut wrong = script.clone();
                wrong.events[i].what = What::Packet(Box::new(other));
                fields += u32::from(fails(&wrong));
            }
        }
        assert!(
            fields >= told.fields,
            "{name}: {fields} of {} fields",
            told.fields
        );
        assert!(
            compared >= told.packets,
            "{name}: {compared} of {}",
            told.packets
        );
    }
}
