//! Tests `[[programs]]`: errors in entries, the resulting plan, and the keys that affect run ids.

use std::cell::Cell;

use tailback_engine::plan::{DATE, Plan, Ready};
use tailback_engine::units::Time;
use tailback_scenario::{Contents, EngineKind, Found, Override, Request, Scenario, load_request};

const BASE: &str = r#"duration = "20s"
[bottleneck]
rate = "10Mbit"
both_directions = true
"#;

/// Loads a scenario. `content` returns the hash of each file.
fn load_of(
    text: &str,
    engine: EngineKind,
    folder: &str,
    content: &str,
    overrides: &[Override],
) -> Result<Scenario, String> {
    let loads = Cell::new(0);
    let files = |name: &str| {
        loads.set(loads.get() + 1);
        if name.contains("none") {
            return Err("it is not there".to_owned());
        }
        let mut contents = Contents::default();
        contents.file("", true, content.len() as u64);
        contents.bytes(content.as_bytes());
        Ok(Found {
            path: format!("{folder}/{}", name.trim_start_matches("./")),
            hash: contents.hash(),
        })
    };
    let loader = |_: &str| Err("no traces".to_owned());
    let request = Request {
        engine,
        files: &files,
        roots: &files,
        overrides,
        ..Request::new(text.as_bytes(), "f.toml", &loader)
    };
    load_request(&request).map_err(|diagnostics| {
        let all: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        all.join("\n")
    })
}

fn kernel(more: &str) -> Result<Scenario, String> {
    let text = format!("{BASE}{more}");
    load_of(&text, EngineKind::Kernel, "/here", "content", &[])
}

#[track_caller]
fn plan(more: &str) -> Plan {
    let scenario = kernel(more).unwrap_or_else(|said| panic!("{said}"));
    Plan::clone(&scenario.points[0].plan)
}

#[track_caller]
fn wrong(more: &str) -> String {
    kernel(more).expect_err("it was accepted")
}

#[test]
fn everything_wrong_is_said_at_its_place() {
    let said = wrong(
        r#"
[[programs]]
[[programs]]
kind = "iperf"
[[programs]]
kind = "iperf3"
sender = { run = ["iperf3"] }
paralel = 3
parallel = 0
[[programs]]
name = "web"
sender = { run = [], ready = "tcp:0" }
receiver = { runs = ["curl"], ready = "11s" }
files = ["./none", "./bin/a", "../a", 3]
packages = ["Nginx", "nginx-light"]
env = { "1A" = "x", OUT = "y", B = "{nobody.sender}", C = 3 }
interval = "1s"
[[programs]]
name = "web"
sender = { run = ["a", "{recever}", "{web.duration}", "${HOME}", "{{x}"] }
date = "2026-02-30"
expect = 256
dscp = 64
results = { "a b" = { file = "/out.json", path = "" }, c = { file = "../x", path = "y", scale = "z" } }
stop = "0s"
start = "21s"
hosts = ["a", "a"]
"#,
    );
    insta::assert_snapshot!(said);
}

#[test]
fn what_is_wrong_with_roots_is_said_at_its_place() {
    let said = wrong(
        r#"
[[programs]]
kind = "interop"
testcase = "transfers"
sender = { root = "./none" }
receiver = { run = ["x"], ready = "tcp:80" }
[[programs]]
kind = "interop"
bytes = "300MB"
downloads = 2
sender = { root = 3, cwd = "app", env = { OUT = "x" } }
[[programs]]
kind = "ping"
sender = { root = "./image" }
[[programs]]
sender = { root = "./image" }
receiver = { run = ["x"], rot = "./image" }
[[programs]]
sender = { root = "./image", run = ["x"] }
packages = ["curl"]
"#,
    );
    insta::assert_snapshot!(said);
}

#[test]
fn an_endpoint_of_the_interop_runner_runs_in_its_image() {
    let plan = plan(
        r#"
[[programs]]
kind = "interop"
bytes = "1MB"
sender = { root = "./images/a", cwd = "/a", run = ["./start"], env = { QLOGDIR = "", A = "1" } }
receiver = { root = "./images/b" }
env = { TESTCASE = "mine", QLOGDIR = "/x" }
"#,
    );
    let [entry] = plan.programs.as_slice() else {
        panic!("one entry")
    };
    let [Some(server), Some(client)] = entry.sides() else {
        panic!("two sides")
    };
    let said = |side: &tailback_engine::plan::SidePlan, name: &str| {
        let found = side.env.iter().find(|[known, _]| known == name);
        found.map(|[_, value]| value.clone())
    };
    assert_eq!(server.run, ["./start"]);
    assert_eq!(
        (server.ready.clone(), client.ready.clone()),
        (Some(Ready::Udp(443)), None)
    );
    assert_eq!(client.run, ["/run_endpoint.sh"]);
    let root = server.root.as_ref().map(|root| &*root.path);
    assert_eq!(
        (root, server.cwd.as_deref()),
        (Some("/here/images/a"), Some("/a"))
    );
    // An environment variable of a side overrides the entry's variable, which overrides the
    // variable of the entry's kind.
    assert_eq!(
        (said(server, "QLOGDIR"), said(server, "A")),
        (Some(String::new()), Some("1".into()))
    );
    assert_eq!(
        (said(client, "QLOGDIR"), said(client, "TESTCASE")),
        (None, None)
    );
    assert_eq!(said(client, "ROLE").as_deref(), Some("client"));
    let interop = entry.interop.expect("files");
    assert_eq!((interop.bytes, interop.files), (1 << 20, 1));
}

#[test]
fn hosts_of_others_are_shared_or_refused() {
    let said = wrong(
        r#"
[[programs]]
name = "server"
sender = { run = ["srv"], ready = "udp:4433" }
hosts = ["s", "r"]
[[programs]]
name = "many"
count = 3
sender = { run = ["srv"], ready = "udp:4433" }
[[programs]]
name = "client"
receiver = { run = ["cli", "{server.sender}"] }
rtt = "5ms"
[[programs]]
name = "both"
sender = { run = ["a", "{server.sender}"] }
receiver = { run = ["b"] }
[[programs]]
name = "backwards"
receiver = { run = ["cli", "{server.receiver}"] }
[[programs]]
name = "chain"
receiver = { run = ["cli", "{client.sender}"] }
[[programs]]
name = "one-of-many"
receiver = { run = ["cli", "{many.sender}"] }
[[programs]]
name = "two"
receiver = { run = ["cli", "{server.sender}", "{backwards.sender}"] }
hosts = ["s", "t"]
[[programs]]
name = "stranger"
receiver = { run = ["cli", "{sevrer.sender}"] }
[[programs]]
name = "late"
sender = { run = ["x"] }
date = "2026-12-01"
[[programs]]
name = "later"
sender = { run = ["x"] }
date = "2026-12-02"
"#,
    );
    insta::assert_snapshot!(said);
}

#[test]
fn the_simulator_runs_none() {
    let text = format!("{BASE}[[flows]]\ncc = \"cubic\"\n[[programs]]\nkind = \"ping\"\n");
    let said = load_of(&text, EngineKind::Sim, "/here", "", &[]).expect_err("it was accepted");
    let expected = "f.toml:8:8: ping runs on the kernel engine only; expected --engine kernel";
    assert_eq!(said, expected);
}

#[test]
fn an_entry_becomes_hosts_and_words() {
    let plan = plan(
        r#"
[path]
rtt = "30ms"
[[programs]]
sender = { run = ["/usr/bin/quicxfer", "{sender}:4433"], ready = "stdout:listening" }
receiver = { run = ["quicxfer", "{duration}"] }
env = { B = "2", A = "{sender6}" }
files = ["./bin/quicxfer"]
packages = ["nginx-light", "curl", "curl"]
stop = "10s"
ecn = true
cc = "reno"
date = 2026-12-01
results = { rate = { file = "out.json", path = "end.rate", scale = 1e-6 } }
[[programs]]
receiver = { run = ["quicxfer", "{quicxfer.sender}"] }
class = "probes"
[[programs]]
kind = "ping"
requests = 5
"#,
    );
    let [quic, second, ping] = plan.programs.as_slice() else {
        panic!("three entries")
    };
    assert_eq!(
        [&quic.name, &second.name, &ping.name],
        ["quicxfer", "quicxfer-2", "ping"]
    );
    let ready = quic.sender.as_ref().and_then(|side| side.ready.clone());
    assert_eq!(ready, Some(Ready::Stdout("listening".to_owned())));
    assert_eq!(quic.packages, ["curl", "nginx-light"]);
    let variable = |name: &str, text: &str| [name.to_owned(), text.to_owned()];
    assert_eq!(quic.env, [variable("A", "{sender6}"), variable("B", "2")]);
    assert_eq!(quic.files[0].name, "quicxfer");
    assert_eq!(quic.files[0].path, "/here/bin/quicxfer");
    assert_eq!(
        (quic.results[0].scale, &*quic.results[0].path),
        (1e-6, "end.rate")
    );
    assert_eq!(
        (quic.route.as_slice(), quic.back.as_slice()),
        (&[0][..], &[1][..])
    );
    assert_eq!(
        (quic.rtt, quic.ecn, quic.cc.name()),
        (Time::from_ms(30), true, "reno")
    );
    assert_eq!((second.partner, second.shared()), (Some(0), Some((0, 0))));
    assert_eq!((second.sender.is_none(), ping.partner), (true, None));
    let run = ping.sender.as_ref().map(|side| side.run.join(" "));
    assert_eq!(run.as_deref(), Some("ping -n -i 0.2 -s 56 -c 5 {receiver}"));
    assert_eq!(ping.packages, ["iputils-ping"]);
    // If one entry sets a date, all entries get this date.
    assert!(
        plan.programs
            .iter()
            .all(|one| one.date == DATE + 334 * 86_400)
    );
    assert_eq!(plan.owners()[..], [0, 1, 2]);
    assert_eq!(plan.classes_at(0)[0].flows[0].flow, 1);
}

#[test]
fn a_sweep_and_set_reach_into_programs_by_name() {
    let text = format!(
        "{BASE}[[programs]]\nkind = \"iperf3\"\n[sweep]\n\"programs.iperf3.parallel\" = [1, 4]\n"
    );
    let set = Override {
        key: "programs.iperf3.cc".to_owned(),
        value: "reno".to_owned(),
    };
    let scenario = load_of(&text, EngineKind::Kernel, "/here", "", &[set]);
    let scenario = scenario.unwrap_or_else(|said| panic!("{said}"));
    let words = |point: usize| {
        let program = &scenario.points[point].plan.programs[0];
        assert_eq!((&*program.name, program.cc.name()), ("iperf3", "reno"));
        program.sender.as_ref().map(|side| side.run.join(" "))
    };
    let end = "-J --logfile /out/iperf3.json";
    assert_eq!(
        words(0),
        Some(format!("iperf3 -c {{receiver}} -t 19 {end}"))
    );
    assert_eq!(
        words(1),
        Some(format!("iperf3 -c {{receiver}} -t 19 -P 4 {end}"))
    );
    assert_ne!(scenario.points[0].run_id, scenario.points[1].run_id);
}

#[test]
fn the_content_of_files_names_a_run_and_their_place_does_not() {
    let text = format!("{BASE}[[programs]]\nsender = {{ run = [\"x\"] }}\nfiles = [\"./x\"]\n");
    let point = |folder: &str, content: &str| {
        let scenario = load_of(&text, EngineKind::Kernel, folder, content, &[]);
        let point = scenario
            .unwrap_or_else(|said| panic!("{said}"))
            .points
            .remove(0);
        (point.run_id, point.canonical)
    };
    let one = point("/here", "content");
    assert_eq!(one, point("/there", "content"));
    let other = point("/here", "changed");
    assert_ne!((&one.0, &one.1), (&other.0, &other.1));
    assert!(
        one.1.contains(r#""files":[{"name":"x","sha256":"#),
        "{}",
        one.1
    );
    assert!(!one.1.contains("here"));
}

#[test]
fn the_canonical_form_of_an_entry() {
    let scenario = kernel(
        "[[programs]]\nsender = { run = [\"x\", \"{sender}\"], ready = \"tcp:80\" }\nenv = { A = \"b\" }\n",
    );
    let scenario = scenario.unwrap_or_else(|said| panic!("{said}"));
    let canonical: serde_json::Value = serde_json::from_str(&scenario.points[0].canonical).unwrap();
    insta::assert_snapshot!(canonical["programs"]);
}

#[test]
fn without_programs_nothing_tells_of_them() {
    let scenario = kernel("[[flows]]\ncc = \"cubic\"\n").unwrap_or_else(|said| panic!("{said}"));
    assert!(!scenario.points[0].canonical.contains("programs"));
}
