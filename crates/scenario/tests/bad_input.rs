//! Tests every kind of invalid input. Each test contains the exact message that the user sees.
//!
//! In expected messages, `{queues}`, `{controls}` and `{kinds}` stand for the names in a registry,
//! and `{with OPTION}` for the queue disciplines that have this option. `{options of ENTRY}` and
//! `{options of ENTRY.TABLE}` stand for the options of an entry. With these placeholders, the
//! expected messages stay correct when entries are added.

use tailback_engine::plan::{Plan, TcpPlan};
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::{Entry, Kind, Opt};
use tailback_engine::{aqm, cc, traffic};
use tailback_scenario::{EngineKind, Judge, Override, Refusal, Request, load, load_request};

fn names<B>(entries: &[&'static Entry<B>]) -> String {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    names.join(", ")
}

/// Returns the names of congestion controls that the kernel engine supports without a module from
/// the user.
fn controls_of_linux() -> String {
    let of_linux = |entry: &&&'static Entry<cc::Build>| match entry.kernel {
        Kernel::Module(module) => module.since.is_some(),
        _ => false,
    };
    let names: Vec<&str> = cc::ENTRIES
        .iter()
        .filter(of_linux)
        .map(|e| e.name)
        .collect();
    names.join(", ")
}

fn names_with<B>(entries: &[&'static Entry<B>], option: &str) -> String {
    let with = |entry: &&&'static Entry<B>| entry.options.iter().any(|opt| opt.name == option);
    let names: Vec<&str> = entries.iter().filter(with).map(|e| e.name).collect();
    names.join(", ")
}

fn options_of<B>(entries: &[&'static Entry<B>], name: &str) -> Option<&'static [Opt]> {
    entries.iter().find(|e| e.name == name).map(|e| e.options)
}

fn fill(line: &str) -> String {
    let kinds = traffic::ENTRIES.iter().map(|entry| entry.name);
    let connecting: Vec<&str> = kinds.filter(|kind| traffic::connects(kind)).collect();
    let connecting = connecting.join(" and ");
    let mut line = line
        .replace("{queues}", &names(aqm::ENTRIES))
        .replace("{controls}", &names(cc::ENTRIES))
        .replace("{controls of Linux}", &controls_of_linux())
        .replace("{kinds}", &names(traffic::ENTRIES))
        .replace("{kinds that connect}", &connecting);
    for list in ["{with ", "{kinds with "] {
        while let Some(start) = line.find(list) {
            let end = line[start..].find('}').unwrap() + start;
            let option = &line[start + list.len()..end];
            let owners = match list {
                "{with " => names_with(aqm::ENTRIES, option),
                _ => names_with(traffic::ENTRIES, option),
            };
            line.replace_range(start..=end, &owners);
        }
    }
    while let Some(start) = line.find("{options of ") {
        let end = line[start..].find('}').unwrap() + start;
        let entry = &line[start + 12..end];
        let (entry, table) = entry.split_once('.').unwrap_or((entry, ""));
        let mut options = options_of(aqm::ENTRIES, entry)
            .or_else(|| options_of(cc::ENTRIES, entry))
            .or_else(|| options_of(traffic::ENTRIES, entry))
            .unwrap();
        for opt in options.iter().filter(|opt| opt.name == table) {
            if let Kind::Table(inner) = opt.kind {
                options = inner;
            }
        }
        let options: Vec<&str> = options.iter().map(|opt| opt.name).collect();
        line.replace_range(start..=end, &options.join(", "));
    }
    line
}

#[track_caller]
fn check_with(text: &[u8], overrides: &[(&str, &str)], seeds: Option<u64>, expected: &str) {
    let overrides: Vec<Override> = overrides
        .iter()
        .map(|(key, value)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        })
        .collect();
    let found = match load(text, "f.toml", &overrides, seeds) {
        Ok(_) => panic!("it was accepted"),
        Err(diagnostics) => diagnostics,
    };
    for diagnostic in found.iter().filter(|d| !d.message.starts_with("and ")) {
        let help = diagnostic.help.as_deref().unwrap_or_default();
        let verb = help.split(' ').next().unwrap_or_default();
        assert!(
            VERBS.contains(&verb),
            "{diagnostic}: {help:?} is no imperative"
        );
    }
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let expected: Vec<String> = expected.trim().lines().map(|l| fill(l.trim())).collect();
    assert_eq!(found.join("\n"), expected.join("\n"));
}

/// The verbs with which the advice in an error may begin.
const VERBS: [&str; 8] = [
    "add", "correct", "name", "remove", "rename", "split", "use", "write",
];

#[track_caller]
fn check(text: &str, expected: &str) {
    check_with(text.as_bytes(), &[], None, expected);
}

const BASE: &str = r#"duration = "60s"
[bottleneck]
rate = "100Mbit"
queue = { aqm = "codel", target = "5ms" }
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
[[flows]]
cc = "reno"
"#;

#[track_caller]
fn check_base(more: &str, expected: &str) {
    check(&format!("{BASE}{more}"), expected);
}

const TIME: &str = "a time such as \"20ms\" (units ns, us, ms, s)";
const RATE: &str = "a rate such as \"100Mbit\" (units bit, kbit, Mbit, Gbit, Tbit)";

#[test]
fn nothing_in_it() {
    let expected = r#"f.toml:1:1: the scenario is empty; expected at least "duration", a [bottleneck] with its "rate", and [[flows]] with their "cc""#;
    check("", expected);
    check("# only a comment\n", expected);
}

#[test]
fn what_is_missing() {
    check(
        "title = \"t\"\n[[flows]]\n",
        r#"
        f.toml:1:1: "duration" is missing in the scenario; expected a time such as "20ms" (units ns, us, ms, s)
        f.toml:1:1: there is no link; expected [bottleneck] or [links.NAME]
        f.toml:2:1: "cc" is missing in [[flows]]; expected a congestion control in quotes, or { name = "...", options }
        "#,
    );
    check(
        "duration = \"1s\"\n[bottleneck]\n[[traffic]]\n",
        r#"
        f.toml:2:1: "rate" is missing in [bottleneck]; expected a rate such as "100Mbit", { steps = [["0s", "50Mbit"], ...] } or { trace = "file" }
        f.toml:3:1: "kind" is missing in [[traffic]]; expected a kind of traffic in quotes
        "#,
    );
    check(
        "duration = \"1s\"\nbottleneck.rate = \"1Mbit\"\n",
        "f.toml:1:1: there is no traffic; expected at least one [[flows]] or [[traffic]]",
    );
}

#[test]
fn not_a_scenario() {
    let mib = vec![b' '; 100_000_000];
    check_with(
        &mib,
        &[],
        None,
        "f.toml:1:1: the file is too large for a scenario, 96 MiB; expected at most 1 MiB",
    );
    check_with(
        b"duration = \"60s\"\n# caf\xe9\n",
        &[],
        None,
        "f.toml:2:6: byte 0xe9 is not UTF-8; expected a text file in UTF-8",
    );
}

#[test]
fn syntax_errors_do_not_hide_the_rest() {
    check(
        r#"
duration = 60s
[bottleneck]
rate = 100Mbit
lss = 0.1
[[flows]]
cc = "cubik"
"#,
        r#"
        f.toml:2:12: string values must be quoted; expected a value in quotes such as "100Mbit"
        f.toml:4:8: string values must be quoted; expected a value in quotes such as "100Mbit"
        f.toml:5:1: unknown key "lss" in [bottleneck]; expected one of rate, queue, link, burst, both_directions, delay, jitter, slots, loss, reorder, duplicate, policer, overhead, count_in_service, schedule, impairments; did you mean "loss"?
        f.toml:7:6: unknown congestion control "cubik"; expected one of {controls}; did you mean "cubic"?
        "#,
    );
    // The parser cannot recover from this syntax error, so it reports no further errors.
    check(
        "warmpu = \"5s\"\nduration = \"60s\"\n[bottleneck\nrate = \"100Mbit\"\nquue = 1\n",
        r#"
        f.toml:1:1: unknown key "warmpu" in the scenario; expected one of title, duration, warmup, seed, kernel, start_jitter, host_jitter, hosts, timer_phase, bottleneck, links, path, tcp, record, flows, traffic, programs, events, with, sweep, assert; did you mean "warmup"?
        f.toml:3:12: unclosed table; expected `]`
        "#,
    );
    check(
        "duration = \"60s\"\nduration = \"50s\"\n[bottleneck]\nrate = \"1Mbit\"\n[bottleneck]\nloss = 0.1\n",
        r#"
        f.toml:2:1: duplicate key "duration"
        f.toml:5:2: duplicate key "bottleneck"
        "#,
    );
}

#[test]
fn unknown_keys_all_at_once() {
    let tcp: Vec<&str> = TcpPlan::TABLE.keys.iter().map(|key| key.name).collect();
    assert!(tcp.starts_with(&["mss", "header"]) && tcp.contains(&"pacing_ca_ratio"));
    check(
        r#"
duration = "60s"
warmpu = "5s"
[botleneck]
rate = "1Mbit"
[bottleneck]
rate = "100Mbit"
quue = "codel"
[[flows]]
cc = "cubic"
startt = "1s"
[flows.tcp]
initial_cwd = 3
zzz = 1
"#,
        &r#"
        f.toml:3:1: unknown key "warmpu" in the scenario; expected one of title, duration, warmup, seed, kernel, start_jitter, host_jitter, hosts, timer_phase, bottleneck, links, path, tcp, record, flows, traffic, programs, events, with, sweep, assert; did you mean "warmup"?
        f.toml:4:2: unknown key "botleneck" in the scenario; expected one of title, duration, warmup, seed, kernel, start_jitter, host_jitter, hosts, timer_phase, bottleneck, links, path, tcp, record, flows, traffic, programs, events, with, sweep, assert; did you mean "bottleneck"?
        f.toml:8:1: unknown key "quue" in [bottleneck]; expected one of rate, queue, link, burst, both_directions, delay, jitter, slots, loss, reorder, duplicate, policer, overhead, count_in_service, schedule, impairments; did you mean "queue"?
        f.toml:11:1: unknown key "startt" in [[flows]]; expected one of name, cc, ecn, count, start, stop, bytes, rate, chunks, pause, rtt, route, back, reverse, hosts, dscp, class, tcp; did you mean "start"?
        f.toml:13:1: unknown key "initial_cwd" in tcp; expected one of KEYS; did you mean "initial_cwnd"?
        f.toml:14:1: unknown key "zzz" in tcp; expected one of KEYS
        "#
        .replace("KEYS", &tcp.join(", ")),
    );
}

/// Tests that options for SCE marks are rejected without ECN, because only ECN-capable packets get
/// SCE marks.
#[test]
fn sce_without_ecn() {
    check_base(
        r#"[[flows]]
cc = { name = "dctcp-sce", unit_quirk = 70000, ssthresh = "half" }
ecn = false
[[flows]]
name = "more"
cc = "cubic-sce"
ecn = false
[tcp]
sce_receiver = "splt"
"#,
        r#"f.toml:12:41: wrong value 70000 for "unit_quirk"; expected a whole number from 0 to 65000
        f.toml:12:59: wrong value "half" for "ssthresh"; expected one of half-loss-cwnd, max; did you mean "half-loss-cwnd"?
        f.toml:17:7: cubic-sce responds to SCE marks, which only ECN-capable packets can have; expected ecn = true, or no ecn key
        f.toml:19:16: wrong value "splt" for "sce_receiver"; expected one of auto, off, split, split-delayed, dither; did you mean "split"?
        "#,
    );
}

#[test]
fn values_of_the_wrong_type_or_unit() {
    check(
        r#"duration = 60
warmup = "5 minutes"
host_jitter = "-1ms"
[bottleneck]
rate = "100Mb"
delay = "-3ms"
loss = 1.5
queue = { aqm = "codel", target = "5", limit = "64kb", ecn = "yes", interval = "-1ms" }
[path]
rtt = "0ms"
[tcp]
mss = 0
header = "66"
pacing = "onn"
[record]
interval = "0s"
series = "all"
packets = 1
[[flows]]
cc = { name = "reno", beta = nan }
bytes = "0b"
count = 0
ecn = 1
start = 1979-05-27
[[flows]]
cc = 3
bytes = -5
rtt = inf
"#,
        &r#"
        f.toml:1:12: wrong value 60 for "duration"; expected TIME
        f.toml:2:10: wrong value "5 minutes" for "warmup"; expected TIME
        f.toml:3:15: wrong value "-1ms" for "host_jitter"; expected a time of 0s or more
        f.toml:5:8: wrong value "100Mb" for "rate"; expected RATE
        f.toml:6:9: wrong value "-3ms" for "delay"; expected a time of 0s or more
        f.toml:7:8: wrong value 1.5 for "loss"; expected a number from 0 to 1
        f.toml:8:35: wrong value "5" for "target"; expected TIME
        f.toml:8:48: wrong value "64kb" for "limit"; expected a number of packets such as "1000p"
        f.toml:8:62: wrong value "yes" for "ecn"; expected true or false
        f.toml:8:80: wrong value "-1ms" for "interval"; expected a time of at least 1us
        f.toml:10:7: wrong value "0ms" for "rtt"; expected a time of at least 1us
        f.toml:12:7: wrong value 0 for "mss"; expected a whole number from 64 to 65000
        f.toml:13:10: wrong value "66" for "header"; expected a whole number from 0 to 512
        f.toml:14:10: wrong value "onn" for "pacing"; expected one of auto, off, fq, fq-gso, gso
        f.toml:16:12: wrong value "0s" for "interval"; expected a time of at least 1us
        f.toml:17:10: wrong value "all" for "series"; expected one of interval, changes, acks, off, or true or false
        f.toml:18:11: wrong value 1 for "packets"; expected true or false
        f.toml:20:30: wrong value nan for "beta"; expected a number from 0.001 to 0.999
        f.toml:21:9: wrong value "0b" for "bytes"; expected a size greater than 0
        f.toml:22:9: wrong value 0 for "count"; expected a whole number of at least 1
        f.toml:23:7: wrong value 1 for "ecn"; expected true or false
        f.toml:24:9: wrong value 1979-05-27 for "start"; expected TIME
        f.toml:26:6: wrong value 3 for "cc"; expected a congestion control in quotes, or { name = "...", options }
        f.toml:27:9: wrong value -5 for "bytes"; expected a size such as "64kb" (units b, kb, mb, gb) or "0.125bdp"
        f.toml:28:7: wrong value inf for "rtt"; expected TIME
        "#
        .replace("TIME", TIME)
        .replace("RATE", RATE),
    );
    check(
        "title = 3\nduration = \"1s\"\nwith = [\"a\", 3]\nbottleneck = 3\npath = \"20ms\"\nflows = { cc = \"cubic\" }\ntraffic = []\nsweep = 3\nassert = 1\n",
        r#"
        f.toml:1:9: wrong value 3 for "title"; expected a text in quotes
        f.toml:3:8: wrong value ["a", 3] for "with"; expected folders such as ["./my-cc"]
        f.toml:4:14: [bottleneck] is not a table; expected a table
        f.toml:5:8: [path] is not a table; expected a table
        f.toml:6:9: wrong value { cc = "cubic" } for "flows"; expected tables, each under [[flows]]
        f.toml:7:11: wrong value [] for "traffic"; expected tables, each under [[traffic]]
        f.toml:8:9: [sweep] is not a table; expected a table
        f.toml:9:10: wrong value 1 for "assert"; expected tables, each under [[assert]]
        "#,
    );
}

#[test]
fn zero_and_negative_rates() {
    check(
        "duration = \"1s\"\n[bottleneck]\nrate = \"0Mbit\"\n[[traffic]]\nkind = \"cbr\"\nrate = \"-1Mbit\"\n",
        r#"
        f.toml:3:8: wrong value "0Mbit" for "rate"; expected a rate greater than 0
        f.toml:6:8: wrong value "-1Mbit" for "rate"; expected a rate greater than 0
        "#,
    );
    check(
        "duration = \"1s\"\n[bottleneck]\nrate = \"9999999Tbit\"\n[[flows]]\ncc = \"reno\"\n",
        r#"f.toml:3:8: wrong value "9999999Tbit" for "rate"; expected a rate of at most 100 Tbit"#,
    );
}

#[test]
fn requests_and_periods() {
    check(
        r#"duration = "60s"
[bottleneck]
rate = "1Mbit"
[[traffic]]
kind = "web"
alpha = 0
arrival = "0s"
limit = 0
cc = "cubik"
tcp = { mss = 14 }
back = ["elsewhere"]
[[traffic]]
kind = "web"
name = "large"
alpha = -0.9
min = "2mb"
max = 5000
ecn = "ect0"
[[traffic]]
kind = "web"
name = "larger"
min = "2mb"
[[traffic]]
kind = "web"
name = "largest"
max = "100gb"
[[traffic]]
kind = "web"
name = "sce"
cc = "reno-sce"
ecn = false
[[traffic]]
kind = "cbr"
cc = "reno"
tcp = { mss = 1000 }
[[traffic]]
kind = "web"
name = "half"
sizes = { lognormal = { p5 = "64kb" } }
[[traffic]]
kind = "web"
name = "reversed"
sizes = { lognormal = { p5 = "2mb", p95 = "64kb" } }
[[traffic]]
kind = "web"
name = "both"
sizes = { lognormal = { p5 = "64kb", p95 = "2mb" } }
alpha = 1.2
max = "2mb"
[[traffic]]
kind = "web"
name = "neither"
sizes = { pareto = 1 }
[[traffic]]
kind = "on-off"
on = "0s"
off = "-1s"
on_distribution = "uniform"
alpha = 2
[[traffic]]
kind = "web"
idle = "5s"
[[traffic]]
kind = "web"
name = "collects"
collect = ["5s"]
[[traffic]]
kind = "web"
name = "unequal"
gaps = ["0s", "5s"]
lengths = ["1kb"]
[[traffic]]
kind = "web"
name = "huge"
lengths = ["100gb"]
[[traffic]]
kind = "web"
name = "listed"
lengths = ["1kb"]
alpha = 1.2
"#,
        r#"
        f.toml:6:9: wrong value 0 for "alpha"; expected a number from 0.01 to 100
        f.toml:7:11: wrong value "0s" for "arrival"; expected a time of at least 100us
        f.toml:8:9: wrong value 0 for "limit"; expected a whole number from 1 to 10000
        f.toml:9:6: unknown congestion control "cubik"; expected one of {controls}; did you mean "cubic"?
        f.toml:10:15: wrong value 14 for "mss"; expected a whole number from 64 to 65000
        f.toml:11:9: there is no link named "elsewhere"; expected one of bottleneck
        f.toml:15:9: wrong value -0.9 for "alpha"; expected a number from 0.01 to 100
        f.toml:18:7: wrong value "ect0" for "ecn"; expected true or false
        f.toml:22:7: "min" of web: 2097152 bytes are more than max; expected at most 1000000 bytes
        f.toml:26:7: "max" of web: 107374182400 bytes are too many; expected at most 10000000000
        f.toml:31:7: reno-sce responds to SCE marks, which only ECN-capable packets can have; expected ecn = true, or no ecn key
        f.toml:34:1: "cc" is a key of {kinds that connect}, not of cbr
        f.toml:35:1: "tcp" is a key of {kinds that connect}, not of cbr
        f.toml:39:23: "sizes.lognormal" of web: one percentile does not set a distribution; expected both p5 and p95
        f.toml:43:30: "sizes.lognormal.p5" of web: 2097152 bytes are more than p95; expected at most 65536 bytes
        f.toml:48:9: "alpha" of web: the sizes are lognormal; expected no alpha, an option of the Pareto distribution
        f.toml:49:7: "max" of web: the sizes are lognormal; expected no max, an option of the Pareto distribution
        f.toml:53:11: "sizes" of web has no option "pareto"; expected one of lognormal
        f.toml:56:6: wrong value "0s" for "on"; expected a time of at least 1us
        f.toml:57:7: wrong value "-1s" for "off"; expected a time of at least 1us
        f.toml:58:19: wrong value "uniform" for "on_distribution"; expected one of exponential, constant
        f.toml:59:1: "alpha" is an option of {kinds with alpha}, not of on-off; expected one of kind, name, count, start, stop, rtt, route, reverse, hosts, dscp, class, cc, tcp, back, {options of on-off}
        f.toml:62:8: "idle" of web: without reuse no connection stays open; expected reuse = true
        f.toml:66:11: "collect" of web: without reuse no connection stays open; expected reuse = true
        f.toml:71:11: "lengths" of web: 1 sizes for 2 gaps; expected one size for each gap
        f.toml:75:11: "lengths" of web: 107374182400 bytes; expected 1 to 10000000000
        f.toml:80:9: "alpha" of web: lengths sets the sizes; expected no alpha
        "#,
    );
}

#[test]
fn options_of_another() {
    check(
        r#"duration = "60s"
[bottleneck]
rate = "1Mbit"
queue = { aqm = "red", target = "5ms", limt = "3p" }
[[flows]]
cc = { name = "reno", bta = 0.5 }
[[traffic]]
kind = "cbrr"
[[traffic]]
kind = "cbr"
packetsize = 5
"#,
        r#"
        f.toml:4:24: "target" is an option of {with target}, not of red; expected one of {options of red}
        f.toml:4:40: red has no option "limt"; expected one of {options of red}; did you mean "limit"?
        f.toml:6:23: reno has no option "bta"; expected one of {options of reno}; did you mean "beta"?
        f.toml:8:8: unknown kind of traffic "cbrr"; expected one of {kinds}; did you mean "cbr"?
        f.toml:11:1: cbr has no option "packetsize"; expected one of kind, name, count, start, stop, rtt, route, reverse, hosts, dscp, class, cc, tcp, back, {options of cbr}; did you mean "packet_size"?
        "#,
    );
    check(
        r#"duration = "60s"
[bottleneck]
rate = "1Mbit"
queue = { aqm = "wred", ecn = { min = "10kb", mix = 3, target = "5ms" }, classic = 3 }
[[flows]]
cc = { name = "mycc", kernel = true }
"#,
        r#"
        f.toml:4:47: "ecn" of wred has no option "mix"; expected one of {options of wred.ecn}; did you mean "min"?
        f.toml:4:56: "target" is an option of {with target}, not of "ecn" of wred; expected one of {options of wred.ecn}
        f.toml:4:84: wrong value 3 for "classic"; expected a table of options
        f.toml:6:23: mycc exists in the kernel only; expected --engine kernel
        "#,
    );
    check(
        r#"duration = "60s"
[bottleneck]
rate = "1Mbit"
queue = { limit = "10p" }
[[flows]]
cc = { beta = 0.5 }
"#,
        r#"
        f.toml:4:9: "aqm" is missing in "queue"; expected a queue discipline in quotes
        f.toml:6:6: "name" is missing in "cc"; expected a congestion control in quotes
        "#,
    );
}

/// Returns a scenario with DualPI2 or PI2 that has the given options.
fn dual(aqm: &str, options: &str) -> String {
    format!(
        "duration = \"5s\"\n[bottleneck]\nrate = \"10Mbit\"\n[bottleneck.queue]\naqm = \"{aqm}\"\n{options}\n[path]\nrtt = \"10ms\"\n[[flows]]\ncc = \"cubic\"\n"
    )
}

#[test]
fn dualpi2_that_cannot_be() {
    check(
        &dual(
            "dualpi2",
            "coupling_factor = 0\ntarget = \"0ms\"\nclassic_protection = 101\nalpha = 0\nbeta = 8388608\ntupdate = \"0s\"",
        ),
        r#"
        f.toml:6:19: wrong value 0 for "coupling_factor"; expected a whole number from 1 to 255
        f.toml:7:10: wrong value "0ms" for "target"; expected a time of at least 1us
        f.toml:8:22: wrong value 101 for "classic_protection"; expected a whole number from 0 to 100
        f.toml:9:9: wrong value 0 for "alpha"; expected a number from 0.00390625 to 8388607
        f.toml:10:8: wrong value 8388608 for "beta"; expected a number from 0.00390625 to 8388607
        f.toml:11:11: wrong value "0s" for "tupdate"; expected a time of at least 1us
        "#,
    );
    check(
        &dual(
            "dualpi2",
            "coupling_factr = 2\nversion = \"linux-6.71\"\noverload = \"overflw\"\nlimit = \"0p\"\nmin_qlen_step = -1\nl_drop = 101",
        ),
        r#"
        f.toml:6:1: dualpi2 has no option "coupling_factr"; expected one of {options of dualpi2}; did you mean "coupling_factor"?
        f.toml:7:11: wrong value "linux-6.71" for "version"; expected one of linux-6.17, dualpi2-2019-02-21, dualpi2-2019-wrr-counter, dualpi2-2019-wrr-percent, dualpi2-2019-refactored; did you mean "linux-6.17"?
        f.toml:8:12: wrong value "overflw" for "overload"; expected one of drop, overflow; did you mean "overflow"?
        f.toml:9:9: wrong value "0p" for "limit"; expected a size greater than 0
        f.toml:10:17: wrong value -1 for "min_qlen_step"; expected a whole number from 0 to 4294967295
        f.toml:11:10: wrong value 101 for "l_drop"; expected a whole number from 0 to 100
        "#,
    );
    check(
        &dual("pi2", "target = \"0s\"\ncoupling_factor = 0\nalpha = -1"),
        r#"
        f.toml:6:10: wrong value "0s" for "target"; expected a time of at least 1us
        f.toml:7:19: wrong value 0 for "coupling_factor"; expected a whole number from 1 to 255
        f.toml:8:9: wrong value -1 for "alpha"; expected a number from 0.00390625 to 8388607
        "#,
    );
}

#[test]
fn dualpi2_whose_options_exclude_one_another() {
    check(
        &dual(
            "dualpi2",
            "step_thresh = \"1kb\"\nl_drop = 0\noverload = \"drop\"\ntshift = \"40ms\"\nwrr_ratio = 10\nmax_rtt = \"100ms\"\ntarget = \"10ms\"",
        ),
        r#"
        f.toml:6:15: "step_thresh" of dualpi2: the threshold is a sojourn time or a number of packets; expected "1ms" or "5p", for example
        f.toml:7:10: "l_drop" of dualpi2: l_drop and overload say the same thing; expected one of them
        f.toml:9:10: "tshift" of dualpi2: the scheduler "credit" has no use for it; expected it with "ts-fifo" or "wrr-counter"
        f.toml:10:13: "wrr_ratio" of dualpi2: the scheduler "credit" has no use for it; expected it with "wrr-counter"
        f.toml:12:10: "target" of dualpi2: max_rtt and typical_rtt determine it; expected this option, or max_rtt and typical_rtt
        "#,
    );
    check(
        &dual(
            "dualpi2",
            "version = \"dualpi2-2019-02-21\"\nwrr_ratio = 10\nmax_rtt = \"10ms\"\ntypical_rtt = \"20ms\"",
        ),
        r#"
        f.toml:7:13: "wrr_ratio" of dualpi2: the scheduler "ts-fifo" has no use for it; expected it with "wrr-counter"
        f.toml:9:15: "typical_rtt" of dualpi2: the typical round-trip time is above the largest; expected at most 10000us
        "#,
    );
}

#[test]
fn options_that_make_no_sense_together() {
    let place = |queue: &str| {
        let diagnostics = load(text_with_queue(queue).as_bytes(), "f", &[], None).unwrap_err();
        let [one] = diagnostics.as_slice() else {
            panic!("{diagnostics:?}")
        };
        (one.place.line, one.place.column, one.message.clone())
    };
    let (line, column, message) = place(r#"{ aqm = "red", min = "30kb", max = "10kb" }"#);
    assert_eq!((line, column), (4, 30));
    assert!(message.starts_with("\"min\" of red: "), "{message}");
    let (line, column, message) =
        place(r#"{ aqm = "wred", classic = { min = "30kb", max = "10kb" } }"#);
    assert_eq!((line, column), (4, 43));
    assert!(
        message.starts_with("\"classic.min\" of wred: "),
        "{message}"
    );
}

#[test]
fn cake_all_at_once() {
    let text = r#"duration = "10s"
[bottleneck]
rate = "0bit"
queue = { aqm = "cake", flow = "triple", sce = 1025, overhead = 257, rtt = "0us" }
[[flows]]
cc = "reno"
hosts = ["a"]
dscp = 64
[[flows]]
cc = "reno"
hosts = ["a", "a"]
[[flows]]
cc = "reno"
hosts = ["a b", "c"]
"#;
    let diagnostics = load(text.as_bytes(), "f", &[], None).unwrap_err();
    let told: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"));

    let single = text_with_queue(r#"{ aqm = "cake", sce = 8, sce_single_slope = "kept" }"#);
    let diagnostics = load(single.as_bytes(), "f", &[], None).unwrap_err();
    let [one] = diagnostics.as_slice() else {
        panic!("{diagnostics:?}")
    };
    assert!(
        one.message.contains("only sce = \"single\" has a slope"),
        "{}",
        one.message
    );
    for sce in ["\"off\"", "\"on\"", "\"single\"", "2", "1024"] {
        let text = text_with_queue(&format!("{{ aqm = \"cake\", sce = {sce} }}"));
        assert!(load(text.as_bytes(), "f", &[], None).is_ok(), "{sce}");
    }
}

fn text_with_queue(queue: &str) -> String {
    format!(
        "duration = \"60s\"\n[bottleneck]\nrate = \"1Mbit\"\nqueue = {queue}\n[[flows]]\ncc = \"reno\"\n"
    )
}

#[test]
fn routes() {
    check(
        r#"duration = "60s"
[links.a]
rate = "10Mbit"
[links.b]
rate = "1Mbit"
both_directions = true
[links."c d"]
rate = "1Mbit"
[[flows]]
cc = "reno"
route = ["a", "bb"]
[[flows]]
cc = "reno"
route = ["a"]
reverse = true
[[flows]]
cc = "reno"
route = ["a", "a"]
back = ["b.bak"]
[[flows]]
cc = "reno"
route = "a"
[[flows]]
cc = "reno"
route = []
"#,
        r#"
        f.toml:7:8: "c d" cannot be a name; expected 1 to 64 letters, digits, "_", "-" and "+"
        f.toml:11:15: there is no link named "bb"; expected one of a, b, b.back; did you mean "b"?
        f.toml:15:11: there is no link on the way back; expected both_directions = true on a link of the route, or "back"
        f.toml:18:15: "a" is twice on the route
        f.toml:22:9: wrong value "a" for "route"; expected names of links such as ["a", "b"]
        f.toml:25:9: wrong value [] for "route"; expected at least one link
        "#,
    );
    check(
        "duration = \"1s\"\n[links.a]\nrate = \"1Mbit\"\n[links.b]\nrate = \"1Mbit\"\n[[flows]]\ncc = \"reno\"\n",
        r#"f.toml:6:1: "route" is missing: there are several links; expected links in order, out of a, b"#,
    );
    check_base(
        "[links.a]\nrate = \"1Mbit\"\n",
        r#"f.toml:11:2: there are both [bottleneck] and [links]; expected [bottleneck] for a single link, or [links.NAME] for each of several"#,
    );
}

#[test]
fn rates_over_time() {
    check(
        r#"duration = "60s"
[links.a]
rate = { steps = [["1s", "10Mbit"], ["1s", "0bit"], ["3s", "x"], ["4s"]] }
[links.b]
rate = { steps = [] }
[links.c]
rate = { trace = "uplink" }
[links.d]
rate = { stps = [] }
[links.e]
rate = 10
[links.f]
rate = { steps = [["0s", "0bit"]] }
[[flows]]
cc = "reno"
route = ["a"]
"#,
        &r#"
        f.toml:3:20: wrong value "1s" for "steps"; expected the first step at "0s"
        f.toml:3:38: wrong value "1s" for "steps"; expected a time after 1s
        f.toml:3:60: wrong value "x" for "steps"; expected RATE
        f.toml:3:66: wrong value ["4s"] for "steps"; expected pairs of time and rate such as [["0s", "50Mbit"], ["30s", "5Mbit"]]
        f.toml:5:18: wrong value [] for "steps"; expected pairs of time and rate such as [["0s", "50Mbit"], ["30s", "5Mbit"]]
        f.toml:7:18: trace "uplink": there are no other files here
        f.toml:9:8: wrong value { stps = [] } for "rate"; expected a rate such as "100Mbit", { steps = [["0s", "50Mbit"], ...] } or { trace = "file" }
        f.toml:9:10: unknown key "stps" in a rate; expected one of steps, trace; did you mean "steps"?
        f.toml:11:8: wrong value 10 for "rate"; expected a rate such as "100Mbit", { steps = [["0s", "50Mbit"], ...] } or { trace = "file" }
        f.toml:13:26: wrong value "0bit" for "steps"; expected a rate greater than 0
        "#
        .replace("RATE", RATE),
    );
}

/// A list may be in a separate file, with one value per line.
#[test]
fn lists_in_files() {
    let text = "duration = \"1s\"\nbottleneck.rate = \"1Mbit\"\n[[traffic]]\nkind = \"video\"\nsizes = \"s\"\n";
    let with = |list: Result<&'static str, &'static str>| {
        let found = load_request(&Request::new(text.as_bytes(), "f.toml", &|_| {
            list.map(str::to_owned).map_err(str::to_owned)
        }));
        match found {
            Ok(scenario) => scenario.source.files.join(" "),
            Err(found) => found
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n"),
        }
    };
    let at = "f.toml:5:9: list \"s\"";
    assert_eq!(with(Ok("# bytes\n100\n\n 200 # a key frame\n")), "s");
    assert_eq!(
        with(Err("there is no file")),
        format!("{at}: there is no file")
    );
    assert_eq!(
        with(Ok("\n")),
        format!("{at}: it has 0 values; expected 1 to 100000")
    );
    let expected = "expected a whole number from 1 to 16000000";
    assert_eq!(
        with(Ok("100\nmany\n")),
        format!("{at}: line 2: wrong value \"many\"; {expected}")
    );
    assert_eq!(
        with(Ok("0\n")),
        format!("{at}: line 1: wrong value \"0\"; {expected}")
    );
}

#[test]
fn traces() {
    let text = "duration = \"1s\"\nbottleneck.rate = { trace = \"t\" }\n[[flows]]\ncc = \"reno\"\n";
    let with = |trace: &'static str| {
        let diagnostics = load_request(&Request {
            memory: None,
            ..Request::new(text.as_bytes(), "f.toml", &|_| Ok(trace.to_owned()))
        })
        .unwrap_err();
        diagnostics[0].to_string()
    };
    assert_eq!(with(""), "f.toml:2:29: trace \"t\": it is empty");
    assert_eq!(
        with("1\n2\nx\n"),
        "f.toml:2:29: trace \"t\": line 3 is not a whole number of milliseconds"
    );
    assert_eq!(
        with("1\n3\n2\n"),
        "f.toml:2:29: trace \"t\": line 3: times must not decrease"
    );
    assert_eq!(
        with("0\n0\n"),
        "f.toml:2:29: trace \"t\": its last time must be greater than 0"
    );
    let conditions = [
        (
            "time_s,delay_ms\n0,1\n",
            "line 1: the columns time_s and rate_mbit are required",
        ),
        (
            "time_s,rate_mbit,rtt\n0,1,1\n",
            "line 1: the columns are time_s, rate_mbit, delay_ms, loss, each at most once",
        ),
        ("time_s,rate_mbit\n", "it has no rows"),
        (
            "time_s,rate_mbit\n0,x\n",
            "line 2 has a field that is not a number",
        ),
        ("time_s,rate_mbit\n0\n", "line 2 does not have 2 fields"),
        (
            "time_s,rate_mbit\n1,5\n",
            "line 2: the first time must be 0",
        ),
        (
            "time_s,rate_mbit\n0,0\n",
            "line 2: the first rate must be more than 0",
        ),
        (
            "time_s,rate_mbit\n0,5\n0,6\n",
            "line 3: times must increase",
        ),
        (
            "time_s,rate_mbit,loss\n0,5,2\n",
            "line 2: the loss is not between 0 and 1",
        ),
        (
            "time_s,rate_mbit\n0,nan\n",
            "line 2: the rate in Mbit/s is not between 0 and 1000000",
        ),
    ];
    for (text, message) in conditions {
        assert_eq!(with(text), format!("f.toml:2:29: trace \"t\": {message}"));
    }
    assert_eq!(
        with("99999999999999\n"),
        "f.toml:2:29: trace \"t\": line 1: more than 12 days"
    );
}

#[test]
fn sweeps() {
    check_base(
        r#"[sweep]
"bottlenek.rate" = ["1Mbit"]
"bottleneck.rat" = ["1Mbit"]
"flows.cubik.rtt" = ["1ms"]
"flows[7].rtt" = ["1ms"]
"flows.rtt" = ["1ms"]
"title.x" = ["1ms"]
"with" = [["a"]]
"path.rtt" = []
"path.." = [1]
"bottleneck.queue.target" = ["1ms"]
"bottleneck.queue" = ["codel"]
"links.x.rate" = ["1Mbit"]
"duration.x" = [1]
seeds = 0
[[sweep.zip]]
"path.rtt" = ["1ms", "2ms"]
"flows.reno.rtt" = ["1ms"]
"#,
        r#"
        f.toml:12:2: there is no "bottlenek" in the scenario; expected one of bottleneck, duration, flows, path, record, sweep, tcp; did you mean "bottleneck"?
        f.toml:13:13: unknown key "rat" in [bottleneck]; expected one of rate, queue, link, burst, both_directions, delay, jitter, slots, loss, reorder, duplicate, policer, overhead, count_in_service, schedule, impairments; did you mean "rate"?
        f.toml:14:8: there is no "cubik" in flows; expected one of cubic, reno; did you mean "cubic"?
        f.toml:15:7: there is no flows[7]; expected an index below 2
        f.toml:16:8: there is no "rtt" in flows; expected one of cubic, reno
        f.toml:17:2: "title" is the same at every point; expected the path of a key that changes a run
        f.toml:18:2: "with" is the same at every point; expected the path of a key that changes a run
        f.toml:19:14: wrong value [] for "path.rtt"; expected a list of at least one value
        f.toml:20:7: "path.." is not a path; expected keys with dots between them, such as "bottleneck.rate" or "flows[0].rtt"
        f.toml:22:2: "bottleneck.queue" replaces "bottleneck.queue.target", which is swept before it
        f.toml:23:2: there is no "links" in the scenario; expected one of bottleneck, duration, flows, path, record, sweep, tcp
        f.toml:24:11: duration has no keys; expected the path of a key
        f.toml:25:9: wrong value 0 for "seeds"; expected a whole number of at least 1 (how many seeds)
        f.toml:28:2: the list of "flows.reno.rtt" has length 1, and the list of "path.rtt" has length 2; expected lists of equal length
        "#,
    );
    check_base(
        r#"[sweep]
"bottleneck.rate" = ["1Mbit", "10Mb", "0bit"]
"bottleneck.queue" = [{ aqm = "red", target = "1ms" }, "fifi"]
seeds = 3
"#,
        &r#"
        f.toml:12:31: wrong value "10Mb" for "rate"; expected RATE
        f.toml:12:39: wrong value "0bit" for "rate"; expected a rate greater than 0
        f.toml:13:38: "target" is an option of {with target}, not of red; expected one of {options of red}
        f.toml:13:56: unknown queue discipline "fifi"; expected one of {queues}; did you mean "fifo"?
        "#
        .replace("RATE", RATE),
    );
    check_base(
        "[sweep]\nbottleneck.rate = [\"1Mbit\"]\n\"bottleneck.rate\" = [\"1Mbit\"]\n",
        r#"f.toml:13:2: "bottleneck.rate" is swept twice"#,
    );
    check_base(
        "[sweep]\n\"seed\" = [1, 2]\nseeds = 60000\n",
        r#"f.toml:12:2: a sweep of 120000 points; expected at most 100000"#,
    );
}

#[test]
fn values_wrong_only_together() {
    // Each warm-up is valid with the first duration, and each duration is valid with the first
    // warm-up. Only the second duration together with the second warm-up is invalid.
    check_base(
        "[sweep]\n\"duration\" = [\"60s\", \"10s\"]\n\"warmup\" = [\"1s\", \"20s\"]\n",
        r#"f.toml:13:19: wrong value "20s" for "warmup"; expected a time shorter than the duration, 10s"#,
    );
}

#[test]
fn names_twice() {
    check(
        r#"duration = "60s"
[bottleneck]
rate = "1Mbit"
[[flows]]
name = "a"
cc = "reno"
[[flows]]
name = "a"
cc = "reno"
[[flows]]
name = "a/1"
cc = "reno"
[[traffic]]
name = "a"
kind = "cbr"
[[traffic]]
name = 3
kind = "cbr"
"#,
        r#"
        f.toml:8:8: there are two flows or sources named "a"; expected a name of its own for each
        f.toml:11:8: "a/1" cannot be a name; expected 1 to 64 letters, digits, "_", "-" and "+"
        f.toml:14:8: there are two flows or sources named "a"; expected a name of its own for each
        f.toml:17:8: wrong value 3 for "name"; expected a name of letters, digits, "_", "-" and "+"
        "#,
    );
}

#[test]
fn times_that_do_not_fit() {
    let with = |duration: &str| BASE.replace("60s", duration);
    check(
        &with("99999999999999999999s"),
        r#"f.toml:1:12: wrong value "99999999999999999999s" for "duration"; expected a time of at most 1000000s"#,
    );
    check(
        &with("1000001s"),
        r#"f.toml:1:12: wrong value "1000001s" for "duration"; expected a time of at most 1000000s"#,
    );
    check(
        &format!("warmup = \"60s\"\n{BASE}"),
        r#"f.toml:1:10: wrong value "60s" for "warmup"; expected a time shorter than the duration, 60s"#,
    );
    check_base(
        "start = \"60s\"\nstop = \"50s\"\n",
        r#"
        f.toml:11:9: wrong value "60s" for "start"; expected a time before the end of the run, 60s
        f.toml:12:8: wrong value "50s" for "stop"; expected a time after the start, 60s
        "#,
    );
    // The jitter equals the time that the link needs for a packet: 121.12 us for 1514 bytes at 100
    // Mbit/s.
    check(
        &format!("host_jitter = \"121120ns\"\n{BASE}"),
        r#"f.toml:1:15: wrong value "121120ns" for "host_jitter"; expected a time below one packet time at the slowest link, 121120ns"#,
    );
}

#[test]
fn a_kind_of_hosts() {
    check(
        &format!("hosts = \"mv\"\n{BASE}"),
        r#"f.toml:1:9: wrong value "mv" for "hosts"; expected one of ideal, vm, vm-shared; did you mean "vm"?"#,
    );
    check(
        &format!("hosts = true\n{BASE}"),
        r#"f.toml:1:9: wrong value true for "hosts"; expected one of ideal, vm, vm-shared"#,
    );
    check(
        &format!("hosts = \"vm\"\nhost_jitter = \"1us\"\n{BASE}"),
        r#"f.toml:2:15: hosts = "vm" already delays packets at random; expected host_jitter or hosts, but not both"#,
    );
    for valid in [
        "hosts = \"ideal\"\nhost_jitter = \"1us\"\n",
        "hosts = \"vm\"\n",
        "hosts = \"vm\"\nhost_jitter = \"0s\"\n",
    ] {
        let file = format!("{valid}{BASE}");
        for engine in [EngineKind::Sim, EngineKind::Kernel] {
            let request = Request::new(file.as_bytes(), "f.toml", &|_| Err("no".to_owned()));
            assert!(
                load_request(&Request { engine, ..request }).is_ok(),
                "{file}"
            );
        }
    }
}

#[test]
fn numbers_that_do_not_fit() {
    check_base(
        "count = 9223372036854775808\n",
        "f.toml:11:9: the number does not fit; expected a whole number of at most 64 bits",
    );
    check_base(
        "[tcp]\nrwnd = \"1000b\"\n",
        "f.toml:12:8: the receive window of 1000 bytes holds no segment; expected rwnd of at least mss, 1448 bytes",
    );
    check(
        &format!("seed = 9223372036854775807\n{BASE}[sweep]\nseeds = 3\n"),
        "f.toml:1:8: the seeds exceed the largest seed; expected a smaller seed, because 3 consecutive seeds begin with it",
    );
    check_base(
        "bytes = \"0.00000001bdp\"\n",
        r#"f.toml:11:9: wrong value "0.00000001bdp" for "bytes"; expected a multiple of the bdp that is at least 1 byte"#,
    );
}

#[test]
fn too_many_flows() {
    check_base(
        "count = 1000000\n",
        "f.toml:11:9: 1000001 flows are too many; expected at most 1000000 flows and sources together",
    );
    check_base(
        "count = 9223372036854775807\n",
        "f.toml:11:9: 9223372036854775808 flows are too many; expected at most 1000000 flows and sources together",
    );
    check_base(
        "count = 500000\n[sweep]\nseeds = 5\n",
        "f.toml:13:9: all sweep points together have too many flows; expected at most 2000000 in one sweep",
    );
    // The scenario is rejected before memory for the flows is allocated.
    let text = format!("{BASE}count = 999999\n");
    let diagnostics = load_request(&Request {
        memory: Some(4 << 30),
        ..Request::new(text.as_bytes(), "f.toml", &|_| Err(String::new()))
    })
    .unwrap_err();
    assert_eq!(
        diagnostics[0].to_string(),
        "f.toml:11:9: 1000000 flows need about 7829 MiB of memory, and 4096 MiB are available; expected fewer flows"
    );
}

#[test]
fn assertions() {
    check_base(
        r#"[[assert]]
metric = "utilization"
min = 1
[[assert]]
metric = "delay_ms.p99"
flow = "cubic"
max = 3
[[assert]]
metric = "throughput_mbit"
flow = "cubicc"
min = 5
max = 3
[[assert]]
metric = "drops"
flow = "cubic"
link = "bottlenec"
[[assert]]
metric = "jain"
min = "1"
[[assert]]
min = inf
"#,
        r#"
        f.toml:12:10: unknown metric "utilization"; expected a name that `tailback list metrics` prints; did you mean "utilisation"?
        f.toml:16:8: "delay_ms.p99" is not measured on a flow
        f.toml:20:8: there is no flow named "cubicc"; did you mean "cubic"?
        f.toml:22:7: wrong value 3 for "max"; expected a number of at least min, 5
        f.toml:23:1: an assertion without a bound; expected "min", "max" or both
        f.toml:26:8: "drops" is measured either on a flow or on a link, not on both; expected "flow" or "link"
        f.toml:26:8: there is no link named "bottlenec"; expected one of bottleneck; did you mean "bottleneck"?
        f.toml:29:7: wrong value "1" for "min"; expected a number
        f.toml:30:1: "metric" is missing in [[assert]]; expected a text in quotes
        f.toml:31:7: wrong value inf for "min"; expected a number
        "#,
    );
}

#[test]
fn assertions_on_harm() {
    check_base(
        r#"[[traffic]]
kind = "cbr"
rate = "1Mbit"
[[assert]]
metric = "harm_throughput"
flow = "cubic"
max = 0.5
[[assert]]
metric = "harm.rtt_p99"
flow = "cubic"
without = "rneo"
max = 0.5
[[assert]]
metric = "throughput_mbit"
flow = "cubic"
without = "reno"
min = 1
[[assert]]
metric = "harm_throughput@cubic"
without = "cubic"
max = 0.5
[[assert]]
metric = "harm_throughput"
link = "bottleneck"
without = "cbr"
max = 0.5
[[assert]]
metric = "harm_troughput"
without = "cbr"
max = 0.5
"#,
        r#"
        f.toml:15:10: "harm.throughput" compares with a run without a competitor; expected "without", the name of the competitor
        f.toml:21:11: there is no flow or source named "rneo"; expected one of cubic, reno, cbr; did you mean "reno"?
        f.toml:26:11: "throughput_mbit" is a value of one run
        f.toml:30:11: "cubic" cannot harm itself
        f.toml:34:8: "harm_throughput" is not measured on a link
        f.toml:38:10: unknown metric "harm_troughput"; expected a name that `tailback list metrics` prints; did you mean "harm_throughput"?
        "#,
    );
}

#[test]
fn set_on_the_command_line() {
    check_with(
        BASE.as_bytes(),
        &[
            ("bottlenek.rate", "3"),
            ("bottleneck.rate", "10Mb"),
            ("flows.foo.rtt", "3ms"),
            ("path.rtt", "[1"),
            ("a..b", "3"),
            ("flows.reno.strt", "1s"),
            ("bottleneck.queue.limit", "64kb"),
        ],
        None,
        &r#"
        --set bottlenek.rate=3:1:1: there is no "bottlenek" in the scenario; expected one of bottleneck, duration, flows, path, record, sweep, tcp; did you mean "bottleneck"?
        --set bottleneck.rate=10Mb:1:17: wrong value "10Mb" for "rate"; expected RATE
        --set flows.foo.rtt=3ms:1:7: there is no "foo" in flows; expected one of cubic, reno
        --set path.rtt=[1:1:12: unclosed array; expected `]`
        --set a..b=3:1:3: "a..b" is not a path; expected keys with dots between them, such as "bottleneck.rate" or "flows[0].rtt"
        --set flows.reno.strt=1s:1:12: unknown key "strt" in [[flows]]; expected one of name, cc, ecn, count, start, stop, bytes, rate, chunks, pause, rtt, route, back, reverse, hosts, dscp, class, tcp; did you mean "start"?
        --set bottleneck.queue.limit=64kb:1:24: wrong value "64kb" for "limit"; expected a number of packets such as "1000p"
        "#
        .replace("RATE", RATE),
    );
    check_with(
        BASE.as_bytes(),
        &[],
        Some(0),
        "--seeds:1:1: 0 seeds; expected at least 1",
    );
}

#[test]
fn a_file_of_another_kind_gives_a_hundred_errors_and_a_count() {
    let mut text = BASE.to_owned();
    for n in 0..150 {
        text.push_str(&format!("key{n} = 1\n"));
    }
    let diagnostics = load(text.as_bytes(), "f.toml", &[], None).unwrap_err();
    assert_eq!(diagnostics.len(), 101);
    assert_eq!(diagnostics[100].message, "50 more are not shown");
}

#[test]
fn what_offloads_do_not_support_in_the_simulator() {
    check(
        r#"duration = "60s"
[links.a]
rate = "1Mbit"
queue = "cake"
[path]
offloads = true
[[flows]]
cc = "cubic"
tcp = { receiver = "optimistic" }
"#,
        r#"
        f.toml:6:12: only honest receivers support offloads; expected offloads = false, or tcp.receiver = "honest"
        "#,
    );
}

#[test]
fn what_only_the_kernel_has() {
    check(
        r#"duration = "60s"
[links.a]
rate = "1Mbit"
queue = { aqm = "mysch", kernel = true, args = "limit 10" }
[links.b]
rate = "1Mbit"
queue = { aqm = "codel", module = "codel-mine", args = "limit 10" }
[path]
offloads = true
[[flows]]
cc = { name = "mycc", kernel = true }
route = ["a", "b"]
[[flows]]
cc = { name = "cubic", kernel = false, module = "cubic_2" }
route = ["a", "b"]
[[flows]]
cc = { name = "add2", module = "add2" }
route = ["a", "b"]
[[flows]]
cc = { name = "add2", kernel = false, module = "add2" }
route = ["a", "b"]
"#,
        r#"
        f.toml:4:26: mysch exists in the kernel only; expected --engine kernel
        f.toml:7:26: a module exists in the kernel only; expected --engine kernel
        f.toml:7:49: codel has no option "args"; expected one of {options of codel}
        f.toml:11:23: mycc exists in the kernel only; expected --engine kernel
        f.toml:14:40: a module exists in the kernel only; expected --engine kernel
        f.toml:17:23: a module exists in the kernel only; expected --engine kernel
        f.toml:20:15: unknown congestion control "add2"; expected one of {controls}
        f.toml:20:39: a module exists in the kernel only; expected --engine kernel
        "#,
    );
    let text = r#"duration = "60s"
[links.a]
rate = "1Mbit"
queue = { aqm = "a name", kernel = true, args = "limit\n10" }
[links.b]
rate = "1Mbit"
queue = { aqm = "sixteen_letters_", kernel = true, args = 3, limit = 10 }
[links.c]
rate = "1Mbit"
queue = { aqm = "", kernel = true, module = "../codel" }
[[flows]]
cc = { name = "mycc", kernel = 1 }
route = ["a", "b", "c"]
[[flows]]
cc = { name = "mycc", kernel = true, args = "x", module = 3 }
route = ["a", "b", "c"]
[[flows]]
cc = { kernel = true }
route = ["a", "b", "c"]
"#;
    check_kernel(
        text,
        None,
        r#"
        f.toml:4:17: "a name" cannot be a name in the kernel; expected 1 to 15 of a-z, A-Z, 0-9, "_" and "-"
        f.toml:4:49: wrong value "limit\n10" for "args"; expected tc words in quotes: at most 1000 printable ASCII characters
        f.toml:7:17: "sixteen_letters_" cannot be a name in the kernel; expected 1 to 15 of a-z, A-Z, 0-9, "_" and "-"
        f.toml:7:59: wrong value 3 for "args"; expected tc words in quotes: at most 1000 printable ASCII characters
        f.toml:7:62: unknown key "limit" in a queue discipline of the kernel; expected one of aqm, kernel, args, module
        f.toml:10:17: "" cannot be a name in the kernel; expected 1 to 15 of a-z, A-Z, 0-9, "_" and "-"
        f.toml:10:45: "../codel" cannot be a name in the kernel; expected 1 to 63 of a-z, A-Z, 0-9, "_" and "-"
        f.toml:12:15: unknown congestion control "mycc"; expected one of {controls of Linux}; or { name = "mycc", kernel = true } for one that only the kernel has
        f.toml:12:32: wrong value 1 for "kernel"; expected true or false
        f.toml:15:38: unknown key "args" in a congestion control of the kernel; expected one of name, kernel, module
        f.toml:15:59: wrong value 3 for "module"; expected the name of a module in quotes
        f.toml:18:6: "name" is missing in "cc"; expected a congestion control in quotes
        "#,
    );
}

/// Loads a scenario for the kernel engine.
#[track_caller]
fn check_kernel(text: &str, judge: Option<&Judge<'_>>, expected: &str) {
    let found = load_request(&Request {
        engine: EngineKind::Kernel,
        judge,
        ..Request::new(text.as_bytes(), "f.toml", &|_| Err("no".to_owned()))
    })
    .unwrap_err();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let expected: Vec<String> = expected.trim().lines().map(|l| fill(l.trim())).collect();
    assert_eq!(found.join("\n"), expected.join("\n"));
}

/// Tests that the kernel engine reports settings that Linux does not support, with the position in
/// the file.
#[test]
fn what_the_kernel_has_not() {
    fn split<B>(entries: &[&'static Entry<B>]) -> (Vec<&'static str>, Vec<&'static str>) {
        let (without, with): (Vec<&Entry<B>>, Vec<&Entry<B>>) =
            entries.iter().partition(|entry| !entry.kernel.has());
        let names = |list: Vec<&Entry<B>>| list.iter().map(|entry| entry.name).collect();
        (names(without), names(with))
    }
    let (without, with) = split(cc::ENTRIES);
    assert!(
        without.contains(&"reno-sce") && with.contains(&"dctcp"),
        "{without:?} {with:?}"
    );
    for name in without {
        let text =
            format!("duration = \"1s\"\nbottleneck.rate = \"1Mbit\"\n[[flows]]\ncc = \"{name}\"\n");
        let expected = format!(
            "f.toml:4:6: the kernel engine does not support {name}; expected --engine sim, or one of {}",
            controls_of_linux()
        );
        check_kernel(&text, None, &expected);
    }
}

/// Tests that a setting that an engine does not support is reported only once, and together with
/// other errors. The engine identifies the setting by an index in the plan, but the error shows the
/// setting's position in the file.
#[test]
fn refusals_of_an_engine() {
    let judge = |plan: &Plan| {
        let refusal = |path: String, message: &str, expected: Option<&str>| Refusal {
            path,
            message: message.to_owned(),
            expected: expected.map(str::to_owned),
        };
        let mut refusals = vec![
            refusal("record.packets".to_owned(), "no packets", None),
            refusal("host_jitter".to_owned(), "no jitter", Some("none")),
            refusal("record.nothing.of[3].that".to_owned(), "no sense", None),
            refusal("no path [".to_owned(), "no path", None),
        ];
        for (i, link) in plan.links.iter().enumerate() {
            let (path, message) = (format!("links[{i}].queue.gentle"), link.name.as_str());
            refusals.push(refusal(path, message, None));
        }
        refusals.push(refusal("links.up.rate".to_owned(), "no rate", None));
        for i in 0..plan.flows.len() {
            for key in [
                "tcp.growth",
                "tcp.mss",
                "cc.beta_ecn",
                "rtt",
                "name",
                "stop",
            ] {
                let message = format!("no {key}");
                refusals.push(refusal(format!("flows[{i}].{key}"), &message, None));
            }
        }
        for i in 0..plan.traffic.len() {
            refusals.push(refusal(format!("traffic[{i}].rate"), "no traffic", None));
        }
        refusals
    };
    check_kernel(
        r#"duration = "60s"
host_jitter = "1ns"
[links.up]
rate = "1Mbit"
both_directions = true
queue = { aqm = "red", gentle = true }
[links.far]
rate = "2Mbit"
queue = "codel"
[path]
rtt = "20ms"
[record]
packets = true
[tcp]
growth = "acks"
mss = 1000
[[flows]]
cc = "cubic"
count = 3
route = ["up"]
[[flows]]
cc = { name = "reno", beta_ecn = 0.8 }
ecn = true
route = ["up", "far"]
rtt = "30ms"
tcp.mss = 1200
[[flows]]
cc = { name = "reno", bta = 0.8 }
route = ["far"]
[[traffic]]
kind = "cbr"
count = 2
route = ["up"]
[[traffic]]
kind = "cbr"
rate = "1Mbit"
route = ["up"]
[sweep]
"path.rtt" = ["20ms", "30ms"]
"links.far.queue" = ["codel", "fifo"]
"#,
        Some(&judge),
        r#"
        f.toml:1:1: no path
        f.toml:2:15: no jitter; expected none
        f.toml:4:8: no rate
        f.toml:6:33: up
        f.toml:6:33: up.back
        f.toml:12:1: no sense
        f.toml:13:11: no packets
        f.toml:15:10: no tcp.growth
        f.toml:16:7: no tcp.mss
        f.toml:17:1: no name
        f.toml:17:1: no stop
        f.toml:18:6: no cc.beta_ecn
        f.toml:21:1: no name
        f.toml:21:1: no stop
        f.toml:22:34: no cc.beta_ecn
        f.toml:25:7: no rtt
        f.toml:26:11: no tcp.mss
        f.toml:27:1: no name
        f.toml:27:1: no stop
        f.toml:28:6: no cc.beta_ecn
        f.toml:28:23: reno has no option "bta"; expected one of {options of reno}; did you mean "beta"?
        f.toml:30:1: no traffic
        f.toml:36:8: no traffic
        f.toml:39:15: no rtt
        f.toml:39:23: no rtt
        f.toml:40:22: far
        f.toml:40:31: far
        "#,
    );
}

/// Tests that refusals of events have the right positions in the file. The events in the tested
/// file are not sorted by time.
#[test]
fn refused_events() {
    let judge = |plan: &Plan| {
        let numbered = plan.events.iter().enumerate();
        let refusals = numbered.map(|(i, event)| Refusal {
            path: format!("events[{i}]"),
            message: format!("no event at {}", event.at),
            expected: None,
        });
        refusals.collect()
    };
    check_kernel(
        r#"duration = "60s"
bottleneck = { rate = "1Mbit", queue = "codel" }
path = { rtt = "20ms" }
flows = [{ cc = "cubic" }]
[[events]]
at = "30s"
stop = ["cubic"]
[[events]]
at = "10s"
set = { "bottleneck.rate" = "2Mbit" }
[[events]]
at = "20s"
set = { "bottleneck.queue.target" = "9ms" }
"#,
        Some(&judge),
        r#"
        f.toml:5:1: no event at 30s
        f.toml:8:1: no event at 10s
        f.toml:11:1: no event at 20s
        "#,
    );
}

#[test]
fn schedules() {
    let with = |schedule: &str, expected: &str| {
        let text = format!(
            "duration = \"1s\"\n[bottleneck]\nrate = \"1Mbit\"\nschedule = {schedule}\n[[flows]]\ncc = \"reno\"\n"
        );
        check(&text, expected);
    };
    with(
        "{ marks = [0, 5, 5, 4, 6.5, 7], drops = [\"8\", 9, -1, 7], at = 3 }",
        r#"
        f.toml:4:23: wrong value 0 for "marks"; expected a whole number of at least 1
        f.toml:4:29: wrong value 5 for "marks"; expected a number above 5, because the list must ascend
        f.toml:4:32: wrong value 4 for "marks"; expected a number above 5, because the list must ascend
        f.toml:4:35: wrong value 6.5 for "marks"; expected a whole number of at least 1
        f.toml:4:53: wrong value "8" for "drops"; expected a whole number of at least 1
        f.toml:4:61: wrong value -1 for "drops"; expected a whole number of at least 1
        f.toml:4:65: wrong value 7 for "drops"; expected a number above 9, because the list must ascend
        f.toml:4:69: unknown key "at" in a schedule; expected one of marks, drops
        "#,
    );
    with(
        "{ marks = [1, 3], drops = [2, 3] }",
        "f.toml:4:42: packet 3 is to be both marked and dropped; expected each number in one list",
    );
    with(
        "[1, 3]",
        "f.toml:4:12: wrong value [1, 3] for \"schedule\"; expected packet numbers such as { marks = [100, 200], drops = [300] }",
    );
    with(
        "{ drops = 3 }",
        "f.toml:4:22: wrong value 3 for \"drops\"; expected packet numbers such as [100, 200]",
    );
    let many: Vec<String> = (1..=100_001).map(|n: u32| n.to_string()).collect();
    with(
        &format!("{{ marks = [{}] }}", many.join(",")),
        "f.toml:4:22: 100001 packet numbers in \"marks\"; expected at most 100000",
    );
}

#[test]
fn a_factor_for_marks() {
    let flow = |more: &str| {
        format!(
            "duration = \"60s\"\n[bottleneck]\nrate = \"100Mbit\"\n[[flows]]\nname = \"abe\"\n{more}\n"
        )
    };
    // For `beta` and `beta_ecn`, only values above 0 and below 1 are valid.
    check(
        &flow("ecn = true\ncc = { name = \"reno\", beta = 1, beta_ecn = 0 }"),
        r#"
        f.toml:7:30: wrong value 1 for "beta"; expected a number from 0.001 to 0.999
        f.toml:7:44: wrong value 0 for "beta_ecn"; expected a number from 0.001 to 0.999
        "#,
    );
    // `beta_ecn` is rejected for a flow without ECN, no matter whether the file, `--set` or a sweep
    // sets `beta_ecn`.
    let message = "beta_ecn of reno sets the response to CE marks, which a flow without ECN never gets; expected ecn = true, or no beta_ecn";
    check(
        &flow("cc = { name = \"reno\", beta_ecn = 0.8 }"),
        &format!("f.toml:4:1: {message}"),
    );
    check(
        &flow("cc = { name = \"reno\", beta_ecn = 0.8 }\necn = false"),
        &format!("f.toml:7:7: {message}"),
    );
    check_with(
        flow("ecn = true\ncc = { name = \"reno\", beta_ecn = 0.8 }").as_bytes(),
        &[("flows.abe.ecn", "false")],
        None,
        &format!("--set flows.abe.ecn=false:1:15: {message}"),
    );
    check(
        &flow("cc = { name = \"reno\" }\n[sweep]\n\"flows.abe.cc.beta_ecn\" = [0.5, 0.7, 0.8]"),
        &format!("f.toml:4:1: {message}"),
    );
    check(
        &flow(
            "ecn = true\ncc = { name = \"reno\", beta_ecn = 0.8 }\n[sweep]\n\"flows.abe.ecn\" = [true, false]",
        ),
        &format!("f.toml:9:26: {message}"),
    );
}

#[test]
fn gains_need_a_baseline() {
    let sweep = |values: &str| {
        format!(
            "duration = \"60s\"\n[bottleneck]\nrate = \"100Mbit\"\n[[flows]]\nname = \"abe\"\necn = true\ncc = {{ name = \"reno\" }}\n[[assert]]\nmetric = \"throughput_gain\"\nmin = 1\n[sweep]\n\"path.rtt\" = [\"10ms\", \"20ms\"]\n\"flows.abe.cc.beta_ecn\" = {values}\nseeds = 2\n"
        )
    };
    check(
        &sweep("[0.7, 0.8]"),
        r#"f.toml:9:10: there is no baseline for "throughput_gain"; expected a sweep over beta_ecn whose values include beta, which is the standard backoff"#,
    );
    let made = load(sweep("[0.8, 0.5]").as_bytes(), "f.toml", &[], None).expect("it is right");
    let baselines: Vec<_> = made.points.iter().map(|point| point.baseline).collect();
    // The baseline of a sweep point is the point with the second value of `beta_ecn`, the same RTT
    // and the same seed.
    let expected = [2, 3, 2, 3, 6, 7, 6, 7].map(Some);
    assert_eq!(baselines, expected);
}

#[test]
fn bursts() {
    let text = r#"duration = "60s"
[links.a]
rate = "10Mbit"
link = "wire"
burst = "tc"
[links.b]
rate = { steps = [["0s", "10Mbit"], ["1s", "8kbit"], ["2s", "0bit"]] }
burst = "60001b"
[links.c]
rate = "10Mbit"
queue = "cake"
burst = "1600b"
[links.d]
rate = "10Mbit"
burst = "10p"
[links.e]
rate = "10Mbit"
count_in_service = true
burst = 1600
[links.f]
rate = "100Gbit"
burst = "4gb"
[links.g]
rate = "10Mbit"
link = "wire"
burst = 0
[links.h]
rate = "100Mbit"
burst = "0b"
queue = "cake"
[[flows]]
cc = "cubic"
route = ["a"]
"#;
    check(
        text,
        r#"
        f.toml:5:9: a wire has no burst: packets leave at the end of their slots; expected burst = "0b", or link = "shaper"
        f.toml:8:9: wrong value "60001b" for "burst"; expected at most 60000b: what the lowest rate sends in 60s, and no more than 4294967295b
        f.toml:12:9: cake shapes traffic to the link's rate itself, without a burst; expected burst = "0b", or another queue
        f.toml:15:9: wrong value "10p" for "burst"; expected a size such as "1600b" (units b, kb, mb, gb), "0b" for none, or "tc" for what tc computes
        f.toml:19:9: packets that leave on saved tokens have no slot, so count_in_service cannot count them; expected burst = "0b", or count_in_service = false
        f.toml:22:9: wrong value "4gb" for "burst"; expected at most 4294967295b: what the lowest rate sends in 60s, and no more than 4294967295b
        "#,
    );
    let text = |burst: &str| {
        format!(
            "duration = \"60s\"\n[bottleneck]\nrate = \"10Mbit\"\n{burst}[[flows]]\ncc = \"cubic\"\n"
        )
    };
    let burst = |burst: &str| {
        let made = load(text(burst).as_bytes(), "f.toml", &[], None);
        made.expect("it is right").points[0].plan.links[0].burst.0
    };
    assert_eq!(burst(""), 0);
    assert_eq!(burst("burst = \"tc\"\n"), 1_600);
    assert_eq!(burst("burst = \"2kb\"\n"), 2_048);
    assert_eq!(burst("burst = 1514\n"), 1_514);
}

#[test]
fn slots() {
    let text = r#"duration = "60s"
[links.a]
rate = "10Mbit"
slots = { max = "1ms", packets = -1 }
[links.b]
rate = "10Mbit"
slots = { min = "800us", max = "700us", delay = "1ms", packet = 3 }
[links.c]
rate = "10Mbit"
[links.c.slots]
min = "800us"
max = "700us"
delay = "1ms"
[[flows]]
cc = "cubic"
route = ["c"]
"#;
    check(
        text,
        r#"
        f.toml:4:9: "min" is missing in [slots]; expected a time such as "20ms" (units ns, us, ms, s)
        f.toml:4:34: wrong value -1 for "packets"; expected a whole number from 0 to 2147483647
        f.toml:7:56: unknown key "packet" in [slots]; expected one of min, max, packets, bytes, delay; did you mean "packets"?
        f.toml:11:7: wrong value "800us" for "min"; expected at least delay, 1ms
        f.toml:12:7: wrong value "700us" for "max"; expected at least min, 800us
        "#,
    );
    let text = "duration = \"60s\"\n[bottleneck]\nrate = \"10Mbit\"\nslots.min = \"1ms\"\n[[flows]]\ncc = \"cubic\"\n";
    let made = load(text.as_bytes(), "f.toml", &[], None).expect("it is right");
    let slots = made.points[0].plan.links[0]
        .slots
        .clone()
        .expect("it has some");
    assert_eq!((slots.min, slots.max), (slots.max, slots.min));
}

#[test]
fn a_step_below_two_packet_times() {
    let warnings = |link: &str, flow: &str| -> Vec<String> {
        let text = format!("duration = \"60s\"\n[bottleneck]\n{link}\n[[flows]]\n{flow}\n");
        let made = load(text.as_bytes(), "f.toml", &[], None).expect("it is allowed");
        made.warnings.iter().map(ToString::to_string).collect()
    };
    let slow = "rate = \"10Mbit\"\nqueue = { aqm = \"dualpi2\", step_thresh = \"2ms\" }";
    assert_eq!(
        warnings(slow, "cc = \"prague\""),
        [
            "f.toml:4:42: step_thresh = 2ms is below two packet times of the link, 1211 us each: if two packets arrive together, the second may be marked because it waits for the first. A scalable flow then gets far less than its share; expected min_qlen_step = 2, burst = \"tc\" at the link, or a larger step_thresh"
        ]
    );
    let dualpi2 = "rate = \"24Mbit\"\nqueue = \"dualpi2\"";
    assert!(warnings(dualpi2, "cc = \"prague\"")[0].starts_with("f.toml:4:9: step_thresh = 1ms"));
    for (link, flow) in [
        (slow, "cc = \"cubic\"\necn = true"),
        (&slow.replace("2ms", "3ms"), "cc = \"prague\""),
        (&slow.replace("2ms", "1p"), "cc = \"prague\""),
        (
            &slow.replace("2ms\"", "2ms\", min_qlen_step = 2"),
            "cc = \"prague\"",
        ),
        (
            // With these options, a packet is marked only if another packet remains in the queue
            // when the packet leaves. If two packets arrive together, the second packet is
            // therefore not marked.
            &slow.replace("2ms\"", "2ms\", min_qlen_step = 1, step_rule = \"dequeue\""),
            "cc = \"prague\"",
        ),
        (&format!("{slow}\nburst = \"tc\""), "cc = \"prague\""),
        (&dualpi2.replace("24", "25"), "cc = \"prague\""),
    ] {
        assert_eq!(warnings(link, flow), [""; 0], "{link} {flow}");
    }
    let any = slow.replace("2ms\"", "2ms\", any_ect = true");
    assert_eq!(warnings(&any, "cc = \"dctcp\"").len(), 1);
    let short = format!("{slow}\nburst = \"1513b\"");
    assert_eq!(warnings(&short, "cc = \"prague\"").len(), 1);
}

#[test]
fn unusual_but_allowed() {
    let text = "duration = \"60s\"\nwarmup = \"1s\"\nbottleneck = { rate = \"100Mbit\", queue = \"codel\" }\n[[flows]]\necn = true\ncount = 3\ncc = { name = \"cubic\", beta_ecn = 0.6 }\n[sweep]\n\"path.rtt\" = [\"10ms\", \"20ms\"]\n";
    let made = load(text.as_bytes(), "f.toml", &[], None).expect("it is allowed");
    let warnings: Vec<String> = made.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "f.toml:7:35: beta_ecn = 0.6 of cubic is below beta = 0.7: a mark then reduces the window more than a loss; expected beta_ecn of at least beta, as in RFC 8511"
        ]
    );
    let usual = load(text.replace("0.6", "0.7").as_bytes(), "f.toml", &[], None);
    assert!(usual.expect("it is right").warnings.is_empty());
}

#[test]
fn classes() {
    let text = r#"duration = "60s"
warmup = "58s"
[links.a]
rate = "10Mbit"
[links.b]
rate = "10Mbit"
[record]
statistics = "3s"
[[flows]]
cc = "cubic"
route = ["a"]
class = ""
[[flows]]
cc = "reno"
route = ["b", "a"]
class = "L"
[[flows]]
cc = "dctcp"
route = ["a"]
class = 7
[[traffic]]
kind = "cbr"
route = ["a", "b"]
class = "L"
[[traffic]]
kind = "cbr"
route = ["a"]
class = "a class of more than 32 characters"
[[traffic]]
kind = "cbr"
route = ["b"]
class = "of/b"
"#;
    check(
        text,
        r#"
        f.toml:8:14: wrong value "3s" for "statistics"; expected 0s, or a time from 1ms to the measured time, 2s
        f.toml:12:9: "" cannot be the name of a class; expected a name of 1 to 32 letters, digits, "_", "-" and "+"
        f.toml:20:9: wrong value 7 for "class"; expected a name of 1 to 32 letters, digits, "_", "-" and "+"
        f.toml:24:9: class "L" has members that begin at link "b", and this one at "a"; expected one first link for all members of a class, or another class
        f.toml:28:9: "a class of more than 32 characters" cannot be the name of a class; expected a name of 1 to 32 letters, digits, "_", "-" and "+"
        f.toml:32:9: "of/b" cannot be the name of a class; expected a name of 1 to 32 letters, digits, "_", "-" and "+"
        "#,
    );
    check_base(
        "[record]\nstatistics = \"999us\"\n",
        r#"f.toml:12:14: wrong value "999us" for "statistics"; expected 0s, or a time from 1ms to the measured time, 60s"#,
    );
}

#[test]
fn rates_in_bytes_per_second_are_refused_with_both_readings() {
    let text = |rate: &str| {
        format!(
            "duration = \"1s\"\n[bottleneck]\nrate = {rate}\n[path]\nrtt = \"20ms\"\n[[flows]]\ncc = \"reno\"\n"
        )
    };
    check(
        &text("\"50Mbps\""),
        r#"f.toml:3:8: "50Mbps" for "rate" can be bits or bytes per second; expected "50Mbit" if you mean bits, or "400Mbit" if you mean bytes, as tc does"#,
    );
    check(
        &text("{ steps = [[\"0s\", \"1MBps/s\"]] }"),
        r#"f.toml:3:26: "1MBps/s" for "steps" can be bits or bytes per second; expected "1Mbit" if you mean bits, or "8Mbit" if you mean bytes, as tc does"#,
    );
    check(
        &(text("\"1Mbit\"") + "[[traffic]]\nkind = \"cbr\"\nrate = \"5kbps\"\n"),
        r#"f.toml:10:8: "5kbps" for "rate" can be bits or bytes per second; expected "5kbit" if you mean bits, or "40kbit" if you mean bytes, as tc does"#,
    );
    check_with(
        text("\"1Mbit\"").as_bytes(),
        &[("bottleneck.rate", "50Mbps")],
        None,
        r#"--set bottleneck.rate=50Mbps:1:17: "50Mbps" for "rate" can be bits or bytes per second; expected "50Mbit" if you mean bits, or "400Mbit" if you mean bytes, as tc does"#,
    );
    for bits in ["50Mbit", "50Mbit/s", "1Gbit"] {
        assert!(load(text(&format!("\"{bits}\"")).as_bytes(), "f.toml", &[], None).is_ok());
    }
}

/// Returns a scenario with one flow over one link, and additional lines.
fn one_flow(queue: &str, more: &str) -> String {
    format!(
        "duration = \"10s\"\nwarmup = \"2s\"\n[bottleneck]\nrate = \"10Mbit\"\nqueue = {queue}\n\
         [path]\nrtt = \"20ms\"\n[[flows]]\ncc = \"reno\"\n{more}"
    )
}

#[test]
fn values_that_make_points_equal_are_refused_at_both_places() {
    let swept = |sweep: &str| one_flow("{ aqm = \"fifo\", limit = \"100p\" }", "[sweep]\n") + sweep;
    check(
        &swept("\"path.rtt\" = [\"20ms\", \"10ms\", \"0.02s\"]\n"),
        r#"
        f.toml:11:15: "20ms" and "0.02s" plan the same run; expected values that make a difference
        f.toml:11:31: "20ms" and "0.02s" plan the same run; expected values that make a difference
        "#,
    );
    check(
        &swept("\"path.rtt\" = [\"10ms\", \"10ms\"]\n"),
        r#"
        f.toml:11:15: "10ms" and "10ms" plan the same run; expected values that make a difference
        f.toml:11:23: "10ms" and "10ms" plan the same run; expected values that make a difference
        "#,
    );
    check(
        &swept(
            "[[sweep.zip]]\n\"path.rtt\" = [\"1ms\", \"1ms\", \"0.001s\"]\n\
             \"bottleneck.rate\" = [\"1Mbit\", \"2Mbit\", \"1000kbit\"]\n",
        ),
        r#"
        f.toml:12:15: ["1ms", "1Mbit"] and ["0.001s", "1000kbit"] plan the same run; expected values that make a difference
        f.toml:12:29: ["1ms", "1Mbit"] and ["0.001s", "1000kbit"] plan the same run; expected values that make a difference
        "#,
    );
    check(
        &swept("\"bottleneck.queue\" = [\"codel\", { aqm = \"codel\" }]\n"),
        r#"
        f.toml:11:23: "codel" and { aqm = "codel" } plan the same run; expected values that make a difference
        f.toml:11:32: "codel" and { aqm = "codel" } plan the same run; expected values that make a difference
        "#,
    );
}

#[test]
fn a_queue_that_lets_no_packet_in_is_refused() {
    check(
        &one_flow("{ aqm = \"fifo\", limit = \"100b\" }", ""),
        r#"f.toml:5:33: the queue of "bottleneck" lets no full packet in: its limit is 100 bytes, and packets have up to 1514; expected at least 1514b"#,
    );
    check(
        &one_flow(
            "{ aqm = \"fifo\", limit = \"1000b\" }",
            "tcp = { mss = 536 }\n[[traffic]]\nkind = \"cbr\"\n",
        ),
        r#"f.toml:5:33: the queue of "bottleneck" lets no full packet in: its limit is 1000 bytes, and packets have up to 1514; expected at least 1514b"#,
    );
    let small = one_flow(
        "{ aqm = \"fifo\", limit = \"1000b\" }",
        "tcp = { mss = 536 }\n",
    );
    assert!(load(small.as_bytes(), "f.toml", &[], None).is_ok());
}

#[test]
fn a_metric_of_a_link_needs_its_name_where_there_are_several() {
    let text = |keys: &str| {
        format!(
            "duration = \"1s\"\n[links.a]\nrate = \"1Mbit\"\n[links.b]\nrate = \"1Mbit\"\n[[flows]]\n\
             cc = \"reno\"\nroute = [\"a\", \"b\"]\n[[assert]]\nmax = 1\n{keys}"
        )
    };
    check(
        &text("metric = \"delay_ms.p99\"\n"),
        r#"f.toml:11:10: "delay_ms.p99" is measured on a link, and there are several; expected "link", one of a, b"#,
    );
    check(
        &text("metric = \"drops\"\n"),
        r#"f.toml:11:10: "drops" is measured on a link, and there are several; expected "link", one of a, b, or "flow""#,
    );
    for good in [
        "metric = \"delay_ms.p99\"\nlink = \"b\"\n",
        "metric = \"drops\"\nflow = \"reno\"\n",
        "metric = \"jain\"\n",
        "metric = \"delay_p99_ms@b\"\n",
        "metric = \"link.drops@b\"\n",
        "metric = \"flow.drops\"\n",
        "metric = \"drops@reno\"\n",
    ] {
        assert!(
            load(text(good).as_bytes(), "f.toml", &[], None).is_ok(),
            "{good}"
        );
    }
}

#[test]
fn the_name_behind_a_metric_is_that_of_a_flow_link_or_class() {
    check_base(
        r#"[[traffic]]
kind = "cbr"
class = "C"
[[assert]]
metric = "drops@bottlenec"
max = 3
[[assert]]
metric = "drops@cubic"
link = "bottleneck"
max = 3
[[assert]]
metric = "jain@cubic"
max = 3
[[assert]]
metric = "delay_ms.p99@C"
class = "C"
max = 3
[[assert]]
metric = "sent_packets@cubic"
max = 3
[[assert]]
metric = "class.drops"
class = "D"
max = 3
[[assert]]
metric = "requests@cbr"
max = 3
"#,
        r#"
        f.toml:15:10: there is no link or flow or class named "bottlenec"; expected one of bottleneck, cubic, reno, cbr, C; did you mean "bottleneck"?
        f.toml:19:8: "drops@" and "link" both say what is measured; expected one of them
        f.toml:22:10: "jain" is measured on the run, which has no name; expected the metric without @
        f.toml:26:9: "delay_ms.p99@" and "class" both say what is measured; expected one of them
        f.toml:29:10: "sent_packets" is not measured on a flow
        f.toml:33:9: there is no class named "D"; expected one of C; did you mean "C"?
        "#,
    );
}

#[test]
fn a_wrong_name_hides_nothing_of_its_table() {
    let wrong = "hosts = [\"a\"]\nclass = 3\n";
    let text = one_flow("\"fifo\"", wrong).replace("cc = \"reno\"", "cc = \"renoo\"");
    check(
        &(text
            + "[[traffic]]\nkind = \"cbs\"\n"
            + wrong
            + "[[assert]]\nmetric = 3\nmax = 1\nflow = \"none\"\n"),
        r#"
        f.toml:9:6: unknown congestion control "renoo"; expected one of {controls}; did you mean "reno"?
        f.toml:10:9: wrong value ["a"] for "hosts"; expected the names of two hosts, ["a", "b"]
        f.toml:11:9: wrong value 3 for "class"; expected a name of 1 to 32 letters, digits, "_", "-" and "+"
        f.toml:13:8: unknown kind of traffic "cbs"; expected one of {kinds}; did you mean "cbr"?
        f.toml:14:9: wrong value ["a"] for "hosts"; expected the names of two hosts, ["a", "b"]
        f.toml:15:9: wrong value 3 for "class"; expected a name of 1 to 32 letters, digits, "_", "-" and "+"
        f.toml:17:10: wrong value 3 for "metric"; expected a text in quotes
        f.toml:19:8: there is no flow named "none"
        "#,
    );
}

#[track_caller]
fn check_warnings(text: &str, expected: &[&str]) {
    let made = load(text.as_bytes(), "f.toml", &[], None).expect("it is right");
    let warnings: Vec<String> = made.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, expected);
}

#[test]
fn what_is_never_measured_is_warned_of() {
    let flow = |more: &str| one_flow("\"fifo\"", more);
    check_warnings(
        &flow("stop = \"2s\"\n"),
        &[
            "f.toml:10:8: it stops at 2s, and nothing is counted before the warm-up ends at 2s; \
           expected a time after the warm-up, 2s",
        ],
    );
    check_warnings(&flow("stop = \"2001ms\"\n"), &[]);
    check_warnings(
        &flow("start = \"9990ms\"\n"),
        &[
            "f.toml:10:9: with some seeds it never starts: it ends with the run at 10s, and starts up \
           to 20ms after 9990ms; expected a shorter start_jitter, or more time between start and end",
        ],
    );
    check_warnings(&flow("start = \"9979ms\"\n"), &[]);
    // The transfer takes the time of the handshake, plus 8 ms for the ten segments of the initial
    // window.
    check_warnings(
        &flow("bytes = \"14480b\"\n"),
        &[
            "f.toml:10:9: without other traffic, the flow has sent all 14480 bytes at 51.6ms, and \
           nothing is counted before the warm-up ends at 2s; expected a later start, a shorter warm-up or more bytes",
        ],
    );
    // At 10 Mbit/s, 2.5 MB take 2 s, so the transfer lasts into the measured time.
    check_warnings(&flow("bytes = \"2500000b\"\n"), &[]);
}

#[test]
fn links_that_nothing_passes_are_warned_of() {
    let text = |more: &str| {
        format!(
            "duration = \"1s\"\n[links.a]\nrate = \"1Mbit\"\n[links.idle]\nrate = \"1Mbit\"\n{more}\
             [[flows]]\ncc = \"reno\"\nroute = [\"a\"]\n"
        )
    };
    check_warnings(
        &text(""),
        &[
            "f.toml:4:8: nothing passes link \"idle\"; expected its name in a \"route\" or \"back\", or \
           no such link",
        ],
    );
    check_warnings(&(text("") + "back = [\"idle\"]\n"), &[]);
    check_warnings(
        &(text("both_directions = true\n") + "back = [\"idle.back\"]\n"),
        &[],
    );
}

#[test]
fn intervals_that_are_too_short_for_the_series_are_warned_of() {
    let warned = |interval: &str| -> Vec<String> {
        let text = format!(
            "duration = \"1000s\"\n[bottleneck]\nrate = \"1Mbit\"\n[path]\nrtt = \"20ms\"\n\
             [record]\n{interval}\n[[flows]]\ncc = \"reno\"\n"
        );
        let made = load(text.as_bytes(), "f.toml", &[], None).expect("it is right");
        made.warnings.iter().map(ToString::to_string).collect()
    };
    let [ref short] = warned("interval = \"1us\"")[..] else {
        panic!("one warning");
    };
    assert!(
        short.starts_with("f.toml:7:12: record.interval = 1us takes 1000000000 samples in 1000s;"),
        "{short}"
    );
    let least = short.rsplit_once("expected at least ").expect("a hint").1;
    assert_eq!(warned(&format!("interval = \"{least}\"")), [""; 0]);
    let off = warned("series = false\ninterval = \"1us\"");
    assert_eq!(off.len(), 1, "srtt is sampled all the same");
    assert!(!off[0].contains("rows"));
    assert_eq!(warned("interval = \"10ms\""), [""; 0]);
}

/// An error may quote a line of the file only if the file contains keys of a scenario.
#[test]
fn only_scenarios_are_quoted() {
    let lines = |text: &str| -> Vec<String> {
        let found = load(text.as_bytes(), "f.toml", &[], None).unwrap_err();
        found.into_iter().map(|d| d.place.text).collect()
    };
    let scenario = "duration = \"1s\"\npasword = \"secret\"\n";
    assert!(lines(scenario).contains(&"pasword = \"secret\"".to_owned()));
    for other in ["password = \"secret\"\n", "root:secret:0:0\n"] {
        assert!(lines(other).iter().all(String::is_empty), "{other}");
    }
}

#[test]
fn impairments() {
    let check_one = |lines: &str, expected: &str| {
        check_base(&format!("[[bottleneck.impairments]]\n{lines}"), expected);
    };
    check_one(
        "loss = 0.1\n",
        "f.toml:11:1: \"kind\" is missing in [[impairments]]; expected an impairment in quotes",
    );
    check_one(
        "kind = \"burst\"\n",
        "f.toml:12:8: unknown impairment \"burst\"; expected one of loss, burst_loss, delay, jitter, reorder, duplicate, police, ack_batch, ecn, tunnel, two_paths; did you mean \"burst_loss\"?",
    );
    check_one(
        "kind = \"burst_loss\"\nloss = 0.9\nburst = 2\n",
        "f.toml:13:8: \"loss\" of burst_loss: bursts of this length cannot reach this loss; set at most burst / (burst + 1)",
    );
    check_one(
        "kind = \"loss\"\nduring = [[\"2s\", \"1s\"]]\n",
        "f.toml:13:10: wrong value [[\"2s\", \"1s\"]] for \"during\"; expected windows that end after they begin, in order and with gaps between them",
    );
    check_one(
        "kind = \"delay\"\nsteps = [[\"0s\", 5]]\n",
        &format!("f.toml:13:17: wrong value 5 for \"steps\"; expected {TIME}"),
    );
    check_one(
        "kind = \"delay\"\nsteps = [[\"1s\", \"5ms\"]]\n",
        "f.toml:13:9: \"steps\" of delay: the first step must be at \"0s\"; add one",
    );
}

/// Tests that contradictory keys of an application are reported, each with its position.
#[test]
fn applications() {
    let flow = |keys: &str| {
        format!(
            "duration = \"10s\"\n[bottleneck]\nrate = \"10Mbit\"\n[[flows]]\ncc = \"cubic\"\n{keys}\n"
        )
    };
    let either = "expected \"every\" or \"think\"";
    check(
        &flow("chunks = { bytes = \"50kb\", every = \"1s\", think = \"1s\" }"),
        &format!("f.toml:6:50: \"every\" and \"think\" exclude each other; {either}"),
    );
    check(
        &flow("chunks = { bytes = \"50kb\" }"),
        &format!(
            "f.toml:6:10: neither \"every\" nor \"think\" says when the next chunk comes; {either} in chunks, such as think = \"100ms\""
        ),
    );
    check(
        &flow("chunks = { bytes = \"50kb\", every = \"1s\", request = 10 }\nrate = \"1Mbit\"\nbytes = \"1mb\""),
        "f.toml:6:52: with \"every\" the receiver sends no requests; expected \"think\" in place of \"every\", or no \"request\"
        f.toml:7:8: the flow has \"chunks\" and \"rate\"; expected \"every\" in chunks in place of \"rate\"
        f.toml:8:9: the flow has \"chunks\" and \"bytes\"; expected \"count\" in chunks in place of \"bytes\"",
    );
    let pairs = "pairs of times such as [[\"10s\", \"12s\"]]";
    check(
        &flow(
            "pause = [[\"2s\", \"1s\"], [\"3s\", \"4s\"], [\"3.5s\", \"5s\"], [\"6s\"], [\"7s\", 8]]",
        ),
        &format!(
            "f.toml:6:17: wrong value \"1s\" for \"pause\"; expected a time after 2s
            f.toml:6:39: wrong value \"3.5s\" for \"pause\"; expected a time at or after 4s
            f.toml:6:54: wrong value [\"6s\"] for \"pause\"; expected {pairs}
            f.toml:6:69: wrong value 8 for \"pause\"; expected {TIME}"
        ),
    );
}

/// Tests that messages name tailback's key or name if users write another word from the literature.
#[test]
fn words_of_the_field() {
    const BUFFER: &str =
        "write \"queue.limit\", as in queue = { aqm = \"fifo\", limit = \"100p\" }";
    let in_bottleneck: [(&str, &str); 12] = [
        ("buffer = \"100p\"", BUFFER),
        ("buffer_size = \"100p\"", BUFFER),
        ("limit = \"100p\"", BUFFER),
        ("qlen = 100", BUFFER),
        ("bandwidth = \"1Mbit\"", "write \"rate\""),
        ("capacity = \"1Mbit\"", "write \"rate\""),
        ("speed = \"1Mbit\"", "write \"rate\""),
        ("aqm = \"codel\"", "write \"queue\""),
        ("qdisc = \"codel\"", "write \"queue\""),
        ("latency = \"10ms\"", "write \"delay\""),
        ("loss_rate = 0.01", "write \"loss\""),
        (
            "rtt = \"10ms\"",
            "move \"rtt\" to [path], [[flows]], [[traffic]] or [[programs]]",
        ),
    ];
    let in_path = [
        (
            "delay = \"10ms\"",
            "write \"rtt\", the delay of both directions together",
        ),
        (
            "latency = \"10ms\"",
            "write \"rtt\", the delay of both directions together",
        ),
        (
            "owd = \"10ms\"",
            "write \"rtt\", the delay of both directions together",
        ),
        (
            "bandwidth = \"1Mbit\"",
            "write \"rate\" in [bottleneck], [links.NAME] or [[flows]]",
        ),
        (
            "buffer = \"100p\"",
            "write \"queue.limit\", as in queue = { aqm = \"fifo\", limit = \"100p\" } in \
             [bottleneck] or [links.NAME]",
        ),
    ];
    let in_flow = [
        ("algorithm = \"reno\"", "write \"cc\""),
        ("congestion_control = \"reno\"", "write \"cc\""),
        ("cca = \"reno\"", "write \"cc\""),
        ("size = \"1mb\"", "write \"bytes\""),
        ("n = 4", "write \"count\""),
        ("start_time = \"1s\"", "write \"start\""),
        ("end = \"1s\"", "write \"stop\""),
        ("iw = 4", "write \"initial_cwnd\" in [tcp]"),
    ];
    let at_top = [
        ("runtime = \"10s\"", "write \"duration\""),
        ("time = \"10s\"", "write \"duration\""),
        ("name = \"x\"", "write \"title\""),
        ("runs = 5", "write \"seeds\" in [sweep]"),
    ];
    let tables: [(&str, &[(&str, &str)]); 4] = [
        ("rate = \"100Mbit\"\n", &in_bottleneck),
        ("rtt = \"20ms\"\n", &in_path),
        ("cc = \"reno\"\n", &in_flow),
        ("duration = \"60s\"\n", &at_top),
    ];
    for (after, cases) in tables {
        for (key, help) in cases {
            let text = BASE.replace(after, &format!("{after}{key}\n"));
            check_help(&text, help);
        }
    }
    for word in ["drop-tail", "droptail", "tail-drop", "Tail_Drop", "pfifo"] {
        let text = BASE.replace(
            "{ aqm = \"codel\", target = \"5ms\" }",
            &format!("\"{word}\""),
        );
        let help = format!("write \"fifo\", or another of {}", names(aqm::ENTRIES));
        check_help(&text, &help);
    }
    for (word, name) in [
        ("newreno", "reno"),
        ("New-Reno", "reno"),
        ("tcp", "reno"),
        ("bbrv1", "bbr"),
        ("bbr1", "bbr"),
        ("bbrv2", "bbr2"),
        ("bbrv3", "bbr3"),
        ("dctcp+", "dctcp"),
        ("l4s", "prague"),
        ("tcp-prague", "prague"),
    ] {
        let text = BASE.replace("\"cubic\"", &format!("\"{word}\""));
        let help = format!("write \"{name}\", or another of {}", names(cc::ENTRIES));
        check_help(&text, &help);
    }
}

/// Checks the advice in the first error of a scenario.
#[track_caller]
fn check_help(text: &str, expected: &str) {
    let errors = load(text.as_bytes(), "f.toml", &[], None).err();
    let help = errors.and_then(|errors| errors[0].help.clone());
    assert_eq!(help.as_deref(), Some(expected), "{text}");
}
