//! Tests that loading never panics, for any content and any overrides of a scenario. Loading must
//! return a scenario or errors. Also tests requirements on every registry entry.

use proptest::prelude::*;
use tailback_engine::registry::{Kind, Opt};
use tailback_engine::{aqm, cc, traffic};
use tailback_scenario::{Override, load};

/// Valid scenario files that the tests modify at random.
const SAMPLES: &[&str] = &[
    include_str!("../../../examples/first.toml"),
    include_str!("../../../examples/codel-dctcp.toml"),
    include_str!("../../../examples/parking-lot.toml"),
    include_str!("../../../examples/sweep.toml"),
    r#"
duration = "10s"
[links.up]
rate = { steps = [["0s", "8Mbit"], ["2s", "0bit"]] }
both_directions = true
queue = { aqm = "wred", ecn = { min = "10kb" }, classic = { min = "0.5bdp" } }
[[flows]]
cc = { name = "reno", beta = 0.7 }
reverse = true
tcp = { mss = 500, rwnd = "2bdp" }
[sweep]
links.up.rate = ["1Mbit", "2Mbit"]
[[sweep.zip]]
"flows[0].rtt" = ["1ms", "2ms"]
"flows.reno.cc" = ["cubic", { name = "dctcp" }]
"#,
    r#"
duration = "10s"
[bottleneck]
rate = "8Mbit"
[[programs]]
name = "quic"
sender = { run = ["srv", "{sender}:4433", "{duration}"], ready = "udp:4433" }
receiver = { run = ["cli", "[{sender6}]:4433"] }
packages = ["curl"]
env = { A = "{receiver}" }
date = "2026-12-01"
results = { rate = { file = "out.json", path = "a.b", scale = 1e-6 } }
[[programs]]
receiver = { run = ["cli", "{quic.sender}"] }
count = 2
[[programs]]
kind = "iperf3"
udp = true
[sweep]
"programs.quic.cc" = ["reno", "cubic"]
"#,
];

/// Words and characters that have a special meaning in scenarios. The tests insert these words and
/// characters at random.
const PIECES: &[&str] = &[
    "[",
    "]",
    "{",
    "}",
    "\"",
    "=",
    ".",
    ",",
    "\n",
    "[[flows]]\n",
    "[[programs]]\n",
    "{quic.sender}",
    "[sweep]\n",
    "[links.x]\n",
    "-",
    "0",
    "99999999999999999999",
    "nan",
    "inf",
    "true",
    "1979-05-27",
    "\"0bdp\"",
    "\"1e999bdp\"",
    "\"-1ms\"",
    "\"0Mbit\"",
    "\"1p\"",
    "count = 999999999999\n",
    "seeds = 99999\n",
    "\u{feff}",
    "é",
    "\0",
    "\r\n",
    "flows",
    "cc",
    "aqm",
    "both_directions = true\n",
    "route = [\"a\"]\n",
    "bottleneck",
    "\"100000000000Gbit\"",
    "\"\"",
    "#",
];

fn spoilt() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        0usize..12,
        prop::sample::select(PIECES),
    );
    (
        prop::sample::select(SAMPLES),
        prop::collection::vec(edit, 1..6),
    )
        .prop_map(|(sample, edits)| {
            let mut text: Vec<char> = sample.chars().collect();
            for (at, remove, piece) in edits {
                let at = at.index(text.len() + 1);
                let end = (at + remove).min(text.len());
                text.splice(at..end, piece.chars());
            }
            text.into_iter().collect()
        })
}

/// Checks that all errors have positions within the text of the file or of another source.
fn check_places(text: &[u8], overrides: &[Override]) -> Result<(), TestCaseError> {
    let Err(diagnostics) = load(text, "f", overrides, None) else {
        return Ok(());
    };
    prop_assert!(!diagnostics.is_empty());
    let lines: Vec<String> = String::from_utf8_lossy(text)
        .split('\n')
        .map(str::to_owned)
        .collect();
    for diagnostic in diagnostics {
        prop_assert!(
            diagnostic.place.line >= 1 && diagnostic.place.column >= 1,
            "{diagnostic}"
        );
        if diagnostic.place.file == "f" {
            let line = lines.get(diagnostic.place.line - 1);
            prop_assert!(line.is_some(), "{diagnostic}");
            let columns = line.map_or(0, |line| line.chars().count()) + 1;
            prop_assert!(diagnostic.place.column <= columns, "{diagnostic}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_places(&bytes, &[])?;
    }

    #[test]
    fn random_text(text in "[\\[\\]{}\"=.,a-z0-9 \n#-]{0,200}") {
        check_places(text.as_bytes(), &[])?;
    }

    #[test]
    fn spoilt_files(text in spoilt()) {
        check_places(text.as_bytes(), &[])?;
    }

    #[test]
    fn random_settings(
        sample in prop::sample::select(SAMPLES),
        key in "(bottleneck|links|flows|traffic|path|sweep|x)?[.\\[]?[a-z0-9]{0,6}[.\\]\"]{0,2}[a-z]{0,8}",
        value in "[\\[{\"]?[a-z0-9.\\-]{0,6}(ms|Mbit|p|bdp|\"|\\]|\\})?",
    ) {
        check_places(sample.as_bytes(), &[Override { key, value }])?;
    }
}

#[test]
fn deep_nesting() {
    for text in [
        format!("{}1", "a.".repeat(100_000)),
        format!("{} = 1", vec!["a"; 100_000].join(".")),
        format!("[{}]\nb = 1", vec!["a"; 100_000].join(".")),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{b=".repeat(100_000)),
        format!("[sweep]\n{} = [1]", vec!["a"; 70].join(".")),
    ] {
        assert!(load(text.as_bytes(), "f", &[], None).is_err());
    }
    let overrides = [Override {
        key: format!("sweep.{}", vec!["a"; 100_000].join(".")),
        value: "[1]".to_owned(),
    }];
    assert!(load(SAMPLES[0].as_bytes(), "f", &overrides, None).is_err());
}

/// Writes options with their default values as TOML.
fn written(options: &[Opt]) -> String {
    let mut text = String::new();
    for opt in options {
        let value = match (opt.kind, opt.default) {
            (Kind::Table(inner), _) => format!("{{ {} }}", written(inner)),
            (_, None) => continue,
            (Kind::Bool | Kind::Int { .. } | Kind::Float { .. }, Some(default)) => {
                default.to_owned()
            }
            (_, Some(default)) => format!("\"{default}\""),
        };
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&format!("{} = {value}", opt.name));
    }
    text
}

/// Tests two rules for every registry entry. A scenario in which all options are set to their
/// defaults must have the same run id as a scenario without options. Unknown options must be
/// rejected.
#[test]
fn every_registry_entry() {
    let scenario = |queue: &str, cc: &str, traffic: &str| {
        format!(
            "duration = \"1s\"\n[bottleneck]\nrate = \"8Mbit\"\nqueue = {queue}\n[[flows]]\nname = \"f\"\ncc = {cc}\n[[traffic]]\n{traffic}\n"
        )
    };
    let id = |text: String| match load(text.as_bytes(), "f", &[], None) {
        Ok(scenario) => scenario.points[0].run_id.clone(),
        Err(diagnostics) => panic!("{}\n{text}", diagnostics[0]),
    };
    let refused = |text: String| {
        let diagnostics = load(text.as_bytes(), "f", &[], None).unwrap_err();
        assert_eq!(diagnostics.len(), 1, "{}", diagnostics[0]);
        assert!(
            diagnostics[0]
                .message
                .contains("no option \"no_such_option\"")
        );
    };
    let (reno, cbr) = ("\"reno\"", "kind = \"cbr\"");
    let join = |name: String, options: &[Opt]| {
        let options = written(options);
        let comma = if options.is_empty() { "" } else { ", " };
        format!("{{ {name}{comma}{options} }}")
    };
    for entry in aqm::ENTRIES {
        let short = id(scenario(&format!("\"{}\"", entry.name), reno, cbr));
        let name = format!("aqm = \"{}\"", entry.name);
        let long = id(scenario(&join(name.clone(), entry.options), reno, cbr));
        assert_eq!(short, long, "{}", entry.name);
        refused(scenario(
            &format!("{{ {name}, no_such_option = 1 }}"),
            reno,
            cbr,
        ));
    }
    for entry in cc::ENTRIES {
        let short = id(scenario("\"fifo\"", &format!("\"{}\"", entry.name), cbr));
        let name = format!("name = \"{}\"", entry.name);
        let long = id(scenario(
            "\"fifo\"",
            &join(name.clone(), entry.options),
            cbr,
        ));
        assert_eq!(short, long, "{}", entry.name);
        refused(scenario(
            "\"fifo\"",
            &format!("{{ {name}, no_such_option = 1 }}"),
            cbr,
        ));
    }
    for entry in traffic::ENTRIES {
        let name = format!("kind = \"{}\"", entry.name);
        let short = id(scenario("\"fifo\"", reno, &name));
        let options = written(entry.options).replace(", ", "\n");
        let long = id(scenario("\"fifo\"", reno, &format!("{name}\n{options}")));
        assert_eq!(short, long, "{}", entry.name);
        refused(scenario(
            "\"fifo\"",
            reno,
            &format!("{name}\nno_such_option = 1"),
        ));
    }
}

/// An option may not have the same name as a key of the table that contains it.
#[test]
fn options_do_not_hide_keys() {
    let none = |options: &[Opt], keys: &[&str], entry: &str| {
        for opt in options {
            assert!(
                !keys.contains(&opt.name),
                "{entry} has an option {}",
                opt.name
            );
        }
    };
    for entry in aqm::ENTRIES {
        none(
            entry.options,
            &["aqm", "kernel", "args", "module"],
            entry.name,
        );
    }
    for entry in cc::ENTRIES {
        none(
            entry.options,
            &["name", "kernel", "args", "module"],
            entry.name,
        );
    }
    for entry in traffic::ENTRIES {
        let keys = [
            "kind", "name", "count", "start", "stop", "rtt", "route", "reverse", "hosts", "dscp",
            "cc", "tcp", "back",
        ];
        none(entry.options, &keys, entry.name);
    }
}
