//! Tests str0m over a bottleneck, alone and beside CUBIC.

use std::process::Command;

use tailback_sim::{Results, Simulation, Time};
use tailback_str0m::{Options, Str0m, receiver, sender};

const ALONE: &str = r#"
duration = "60s"
warmup = "20s"
[bottleneck]
rate = "1Mbit"
queue = { aqm = "fifo", limit = "37500b" }
[path]
rtt = "100ms"
[[programs]]
name = "call"
"#;

const BESIDE: &str = r#"
duration = "60s"
warmup = "20s"
[bottleneck]
rate = "5Mbit"
queue = { aqm = "fq_codel", ecn = true }
[path]
rtt = "40ms"
[[flows]]
cc = "cubic"
[[programs]]
name = "call"
"#;

fn run(text: &str, options: &Options) -> Results {
    let attach =
        |simulation: Simulation| simulation.attach("call", sender(options), receiver(options));
    Simulation::from_toml(text)
        .and_then(attach)
        .and_then(Simulation::run)
        .expect("a run")
}

/// [`two_processes_give_the_same_run`] runs this test in two processes and compares their output.
#[test]
#[ignore = "prints a run for another test"]
fn print_a_run() {
    let results = run(BESIDE, &Options::default());
    let estimates = results.sender::<Str0m>("call").estimates();
    println!(
        "\nRUN {} {estimates:?}",
        results.to_json().replace('\n', " ")
    );
}

#[test]
fn two_processes_give_the_same_run() {
    let print = || {
        let binary = std::env::current_exe().expect("the path of this test");
        let words = ["print_a_run", "--exact", "--ignored", "--nocapture"];
        let output = Command::new(binary).args(words).output().expect("a run");
        let text = String::from_utf8(output.stdout).expect("text");
        let run = text.lines().find(|line| line.starts_with("RUN "));
        run.expect("the output of a run").to_owned()
    };
    assert_eq!(print(), print());
}

#[test]
fn it_fills_a_link_and_frames_arrive() {
    let results = run(ALONE, &Options::default());
    let throughput = results.throughput_mbit("call");
    assert!((0.9..1.0).contains(&throughput), "{throughput} Mbit/s");
    let view = results.receiver::<Str0m>("call");
    let sent = results.sender::<Str0m>("call").frames();
    // The source sends 30 frames per second for 60 s, except during the handshake.
    assert!((1785..1800).contains(&sent), "{sent} frames");
    assert!(view.frames() as f64 > 0.97 * sent as f64);
    let (mean, _) = view.frame_delay_ms().expect("frames");
    // A frame's delay is half of the path's RTT plus the queueing delay. The buffer holds 300 ms.
    assert!((50.0..500.0).contains(&mean), "{mean} ms");
}

#[test]
fn the_estimate_follows_a_link_that_gets_slower() {
    let steps = r#"{ steps = [["0s", "2Mbit"], ["30s", "0.6Mbit"]] }"#;
    let results = run(&ALONE.replace("\"1Mbit\"", steps), &Options::default());
    let estimates = results.sender::<Str0m>("call").estimates();
    let at = |second| {
        let before = estimates
            .iter()
            .rev()
            .find(|(time, _)| *time <= Time::from_secs(second));
        before.expect("an estimate").1 / 1e6
    };
    assert!((1.6..2.6).contains(&at(30)), "{} Mbit/s", at(30));
    assert!((0.4..0.8).contains(&at(60)), "{} Mbit/s", at(60));
}

#[test]
fn beside_cubic_each_queue_of_fq_codel_has_its_half() {
    let results = run(BESIDE, &Options::default());
    let share = results.share("call");
    assert!((0.45..0.55).contains(&share), "{share}");
    assert_eq!(results.marks("call"), 0, "str0m does not use ECN");
}

#[test]
fn retransmissions_complete_frames() {
    let frames = |retransmit| {
        let options = Options {
            retransmit,
            ..Options::default()
        };
        let text = ALONE.replace("[path]", "loss = 0.02\n[path]");
        run(&text, &options).receiver::<Str0m>("call").frames()
    };
    assert!(frames(true) > frames(false) + 10);
}

#[test]
fn the_seed_varies_the_frames() {
    let json = |seed| {
        let options = Options {
            seed,
            ..Options::default()
        };
        run(ALONE, &options).to_json()
    };
    assert_ne!(json(1), json(2));
}
