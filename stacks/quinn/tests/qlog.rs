//! Tests quinn's qlog. Tests the qlog. Its times must be times of the run, two runs must write
//! identical logs, and the log must not affect the run.

use serde_json::Value;
use tailback_quinn::{Options, Quinn, client, server};
use tailback_sim::{Results, Simulation};

const LATE: &str = r#"
duration = "4s"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "fq_codel", ecn = true }
[path]
rtt = "20ms"
[[programs]]
name = "quic"
start = "1s"
"#;

fn run(qlog: bool) -> Results {
    let options = Options {
        qlog,
        ..Options::default()
    };
    let sides = (server(&options), client(&options, Some(4_000_000)));
    Simulation::from_toml(LATE)
        .and_then(|simulation| simulation.attach("quic", sides.0, sides.1))
        .and_then(Simulation::run)
        .expect("a run")
}

fn log(results: &Results) -> Vec<Value> {
    let sender = results.sender::<Quinn>("quic");
    let bytes = sender.take_qlog().expect("the option is set");
    let text = String::from_utf8(bytes).expect("UTF-8");
    let records = text.lines().map(|line| line.trim_start_matches('\u{1e}'));
    records
        .map(|record| serde_json::from_str(record).expect("JSON"))
        .collect()
}

#[test]
fn its_times_are_those_of_the_run() {
    let results = run(true);
    let measured = results.endpoints("quic").measured;
    let over = measured.to_s * 1e3;
    let begun = over - measured.completion_s.expect("it is over") * 1e3;
    let sent = results
        .sender::<Quinn>("quic")
        .stats()
        .expect("a connection");
    let records = log(&results);
    let common = &records[0]["trace"]["common_fields"];
    // The date of time 0 is 1 January 2026, here in ms since 1970.
    assert_eq!(common["reference_time"], 1_767_225_600_000_u64);
    assert_eq!(common["time_format"], "relative");
    let of = |name: &str| -> Vec<f64> {
        let named = records.iter().filter(|record| record["name"] == name);
        named.filter_map(|record| record["time"].as_f64()).collect()
    };
    let packets = of("transport:packet_sent");
    // The log contains one more packet than the statistics count.
    assert_eq!(packets.len() as u64, sent.path.sent_packets + 1);
    // The server immediately answers the client's first datagram, which arrives after half a round
    // trip.
    let first = packets[0] - begun;
    assert!((first - 10.0).abs() < 0.6, "{first} ms");
    let received = of("transport:packet_received");
    // The server receives the client's close half a round trip after the last data has arrived at
    // the client.
    let last = received[received.len() - 1];
    assert!((last - over).abs() < 15.0, "{last} ms, {over} ms");
    assert!(of("recovery:metrics_updated").len() > 1000);
}

#[test]
fn it_is_the_same_each_time_and_changes_nothing() {
    let (one, two, without) = (run(true), run(true), run(false));
    assert_eq!(log(&one), log(&two));
    let json = |of: &Results| -> Value { serde_json::from_str(&of.to_json()).expect("JSON") };
    let (mut with, mut plain) = (json(&one), json(&without));
    for summary in [&mut with, &mut plain] {
        summary["programs"][0]["results"] = Value::Null;
    }
    assert_eq!(with, plain);
}
