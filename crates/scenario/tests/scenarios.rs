//! Tests the plans and sweep points of valid scenarios.

use std::sync::Arc;

use tailback_engine::plan::{
    Algorithm, Delack, Growth, LinkMode, Pacing, Plan, RatePlan, SceReceiver, Schedule, SeriesMode,
    TcpPlan,
};
use tailback_engine::registry::{Options, Value};
use tailback_engine::units::{Bytes, Rate, Time};
use tailback_scenario::{
    EngineKind, Override, Param, Point, Request, Scenario, check_memory, estimate_memory,
    estimate_packets, json_schema, key_paths, load, load_with,
};

#[track_caller]
fn load_set(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<Override> = overrides
        .iter()
        .map(|(key, value)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        })
        .collect();
    load(text.as_bytes(), "f.toml", &overrides, None).unwrap_or_else(|diagnostics| {
        let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

#[track_caller]
fn load_ok(text: &str) -> Scenario {
    load_set(text, &[])
}

#[track_caller]
fn plan(text: &str) -> Arc<Plan> {
    load_ok(text).points.swap_remove(0).plan
}

#[track_caller]
fn options(algorithm: &Algorithm) -> &Options {
    algorithm.known().expect("one of the registry").1
}

const SMALL: &str = "duration = \"10s\"\nbottleneck.rate = \"8Mbit\"\n[[flows]]\ncc = \"reno\"\n";

/// The example scenario from the definition of the file format.
const DEFINITION: &str = r#"
title    = "CUBIC and DCTCP through CoDel"
duration = "60s"
warmup   = "5s"                      # default 0s
seed     = 1

[bottleneck]                         # short form of one [links.NAME]
rate  = "100Mbit"                    # frame bytes (IP + 14 B Ethernet, as skb->len); also { steps = [["0s","50Mbit"],["30s","5Mbit"]] } or { trace = "file" } (Mahimahi)
queue = { aqm = "codel", target = "5ms", interval = "100ms", limit = "1000p", ecn = true }
link  = "shaper"                     # default: a packet leaves at the start of its slot, the next after len/rate, as htb and Cake do; "wire": at the end
both_directions = false              # true: an independent instance of rate and queue on the way back, reported as NAME.back
# also: delay (adds one way), loss, jitter, overhead

[path]
rtt = "20ms"                         # total base round-trip time: half before the first link, half after the receiver

[tcp]                                # and flows.tcp: mss 1448, header 66, initial_cwnd, min_rto, delack, timestamps, rwnd, pacing, growth ("segments" or "acks")
[record]                             # interval "100ms", series, events, packets

[[flows]]
name  = "cubic"                      # default: the congestion control's name, made unique (cubic, cubic-2)
cc    = "cubic"                      # or { name = "dctcp", g = 0.0625 }
ecn   = true                         # default: true where the cc requires it, else false
count = 2                            # then named cubic/1, cubic/2
start = "0s"                         # also stop, bytes, rtt (replaces path.rtt), route = ["a", "b"], back = [...], reverse = true (data on the way back)

[[traffic]]
kind = "cbr"                         # unresponsive UDP; also "web", "on-off"
rate = "10Mbit"
ecn  = "not-ect"                     # not-ect, ect0, ect1

[sweep]                              # a grid, last key fastest, then seeds; keys as paths: "flows.cubic.cc", "flows[0].rtt"; values may be tables
"bottleneck.rate" = ["10Mbit", "100Mbit"]
seeds = 3                            # seed .. seed+2, the same at every point; [[sweep.zip]]: lists of equal length as one more axis

[[assert]]                           # metric, flow or link, min, max: the run fails (exit 1) if it does not hold
"#;

#[test]
fn the_example_of_the_definition() {
    let scenario = load_ok(DEFINITION);
    assert_eq!(scenario.title, "CUBIC and DCTCP through CoDel");
    assert_eq!(scenario.asserts, []);
    let seeds: Vec<u64> = scenario.points.iter().map(|point| point.seed).collect();
    assert_eq!(seeds, [1, 2, 3, 1, 2, 3]);
    let rates: Vec<&RatePlan> = scenario
        .points
        .iter()
        .map(|point| &point.plan.links[0].rate)
        .collect();
    let (slow, fast) = (
        &RatePlan::Constant(Rate(10_000_000)),
        &RatePlan::Constant(Rate(100_000_000)),
    );
    assert_eq!(rates, [slow, slow, slow, fast, fast, fast]);
    assert_eq!(
        scenario.points[3].params,
        [("bottleneck.rate".to_owned(), Param::Number(1e8))].into()
    );
    let plan = &scenario.points[0].plan;
    assert_eq!(plan.duration, Time::from_secs(60));
    assert_eq!(plan.warmup, Time::from_secs(5));
    assert_eq!(plan.start_jitter, Time::from_ms(20));
    assert_eq!(plan.host_jitter, Time::ZERO);
    let names: Vec<String> = plan.each_flow().map(|flow| flow.name()).collect();
    assert_eq!(names, ["cubic/1", "cubic/2"]);
    assert!(plan.flows[0].ecn);
    assert_eq!(plan.flows[0].rtt, Time::from_ms(20));
    assert_eq!(plan.flows[0].tcp, TcpPlan::default());
    assert_eq!(
        (plan.flows[0].route.as_slice(), plan.flows[0].back.len()),
        (&[0][..], 0)
    );
    let link = &plan.links[0];
    assert_eq!(
        (link.name.as_str(), link.queue.name()),
        ("bottleneck", "codel")
    );
    assert_eq!(link.mode, LinkMode::Shaper);
    assert_eq!(
        options(&link.queue).get("limit"),
        Some(&Value::Packets(1000))
    );
    assert_eq!(options(&link.queue).time("target"), Time::from_ms(5));
    assert!(options(&link.queue).bool("ecn"));
    assert_eq!(plan.traffic[0].name, "cbr");
    assert_eq!(
        plan.traffic[0].options.get("rate"),
        Some(&Value::Rate(Rate(10_000_000)))
    );
}

#[test]
fn the_files_of_the_repository() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let points = |file: &str| {
        let text = std::fs::read(format!("{root}/{file}")).unwrap();
        match load(&text, file, &[], None) {
            Ok(scenario) => scenario.points,
            Err(diagnostics) => panic!("{}", diagnostics[0]),
        }
    };
    assert_eq!(points("examples/first.toml").len(), 1);
    assert_eq!(points("examples/codel-dctcp.toml")[0].plan.flows.len(), 2);
    assert_eq!(points("examples/parking-lot.toml")[0].plan.links.len(), 3);
    assert_eq!(points("examples/sweep.toml").len(), 48);
    for (case, flows, seconds) in [
        ("a", 1, 300),
        ("b", 2, 300),
        ("c", 1, 300),
        ("d", 100, 20),
        ("e", 1000, 10),
    ] {
        let points = points(&format!("benches/{case}.toml"));
        assert_eq!(points[0].plan.flow_count(), flows, "case {case}");
        assert_eq!(
            points[0].plan.duration,
            Time::from_secs(seconds),
            "case {case}"
        );
    }
}

#[test]
fn defaults_are_those_of_the_engine() {
    let plan = plan(SMALL);
    assert_eq!(plan.flows[0].tcp, TcpPlan::default());
    assert_eq!(plan.record.interval, Time::from_ms(100));
    assert_eq!(plan.record.series, SeriesMode::Interval);
    assert!(!plan.record.events);
    assert_eq!(plan.links[0].queue.name(), "fifo");
    assert_eq!(
        options(&plan.links[0].queue).get("limit"),
        Some(&Value::Packets(1000))
    );
    assert_eq!(plan.warmup, Time::ZERO);
    assert_eq!(load_ok(SMALL).points[0].seed, 1);
    assert_eq!(plan.flows[0].rtt, Time::from_ms(20));
}

#[test]
fn every_key_reaches_the_plan() {
    let mut points = load_ok(
        r#"
duration = "10s"
seed = 7
start_jitter = "3ms"
host_jitter = "10us"
[links.up]
rate = { steps = [["0s", "8Mbit"], ["2s", "0bit"], ["3s", "16Mbit"]] }
queue = { aqm = "fifo", limit = "15kb" }
link = "wire"
both_directions = true
delay = "1ms"
jitter = "2ms"
loss = 0.25
overhead = -14
count_in_service = true
[links.acks]
rate = "1Mbit"
[path]
rtt = "30ms"
[tcp]
mss = 1000
header = 54
initial_cwnd = 4
min_rto = "1s"
delack = false
timestamps = false
rwnd = "2bdp"
pacing = "fq"
growth = "acks"
quickack = false
sce_receiver = "dither"
pacing_ss_ratio = 100
pacing_ca_ratio = 40
[record]
interval = "10ms"
series = "changes"
events = true
[[flows]]
cc = { name = "reno", beta = 0.7 }
ecn = true
start = "1s"
stop = "9s"
bytes = "1mb"
rtt = "50ms"
route = ["up"]
back = ["acks"]
[flows.tcp]
mss = 500
pacing = "off"
[[traffic]]
kind = "cbr"
name = "noise"
count = 2
rate = "1Mbit"
ecn = "ect1"
start = "2s"
stop = "3s"
rtt = "4ms"
route = ["up"]
reverse = true
"#,
    )
    .points;
    let Point { plan, seed, .. } = points.swap_remove(0);
    assert_eq!(seed, 7);
    assert_eq!(plan.start_jitter, Time::from_ms(3));
    assert_eq!(plan.host_jitter, Time::from_us(10));
    let names: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["up", "acks", "up.back"]);
    let up = &plan.links[0];
    let steps = vec![
        (Time::ZERO, Rate(8_000_000)),
        (Time::from_secs(2), Rate(0)),
        (Time::from_secs(3), Rate(16_000_000)),
    ];
    assert_eq!(up.rate, RatePlan::Steps(steps));
    assert_eq!(
        options(&up.queue).get("limit"),
        Some(&Value::Bytes(Bytes(15 * 1024)))
    );
    assert_eq!(up.mode, LinkMode::Wire);
    assert_eq!((up.delay, up.jitter), (Time::from_ms(1), Time::from_ms(2)));
    assert_eq!(
        (up.loss, up.overhead, up.count_in_service),
        (0.25, -14, true)
    );
    let mut back = up.clone();
    back.name = "up.back".to_owned();
    assert_eq!(plan.links[2], back);
    assert_eq!(plan.record.interval, Time::from_ms(10));
    assert_eq!(plan.record.series, SeriesMode::Changes);
    assert!(plan.record.events);
    let flow = &plan.flows[0];
    assert_eq!(
        (flow.name.as_str(), flow.cc.name(), flow.ecn),
        ("reno", "reno", true)
    );
    assert_eq!(options(&flow.cc).float("beta"), 0.7);
    assert_eq!(
        (flow.start, flow.stop),
        (Time::from_secs(1), Some(Time::from_secs(9)))
    );
    assert_eq!(flow.bytes, Some(Bytes(1 << 20)));
    assert_eq!(flow.rtt, Time::from_ms(50));
    assert_eq!(
        (flow.route.as_slice(), flow.back.as_slice()),
        (&[0][..], &[1][..])
    );
    assert_eq!(
        flow.tcp,
        TcpPlan {
            mss: 500,
            header: 54,
            initial_cwnd: 4,
            min_rto: Time::from_secs(1),
            delack: Delack::OFF,
            timestamps: false,
            // The receive window is twice the bandwidth-delay product: 2 x 8 Mbit/s x 30 ms.
            rwnd: Bytes(60_000),
            pacing: Pacing::Off,
            growth: Growth::Acks,
            quickack: false,
            sce_receiver: SceReceiver::Dither,
            pacing_ss_ratio: 100,
            pacing_ca_ratio: 40,
            ..TcpPlan::default()
        }
    );
    let names: Vec<String> = plan.each_source().map(|source| source.name()).collect();
    assert_eq!(names, ["noise/1", "noise/2"]);
    let noise = &plan.traffic[0];
    assert_eq!((noise.count, noise.kind), (2, "cbr"));
    assert_eq!(noise.options.word("ecn"), "ect1");
    assert_eq!(
        (noise.start, noise.stop),
        (Time::from_secs(2), Some(Time::from_secs(3)))
    );
    assert_eq!(
        (noise.rtt, noise.route.as_slice()),
        (Time::from_ms(4), &[2][..])
    );
}

#[test]
fn the_way_back() {
    let plan = plan(
        r#"
duration = "10s"
[links.a]
rate = "8Mbit"
both_directions = true
[links.b]
rate = "8Mbit"
[links.c]
rate = "8Mbit"
both_directions = true
[[flows]]
cc = "reno"
route = ["a", "b", "c"]
[[flows]]
cc = "reno"
route = ["a", "b", "c"]
reverse = true
[[flows]]
cc = "reno"
route = ["c.back"]
[[flows]]
cc = "reno"
route = ["b"]
back = []
"#,
    );
    // The links are a, b, c, a.back and c.back, in this order.
    let ways: Vec<(&[u32], &[u32])> = plan
        .flows
        .iter()
        .map(|flow| (flow.route.as_slice(), flow.back.as_slice()))
        .collect();
    assert_eq!(
        ways,
        [
            (&[0, 1, 2][..], &[4, 3][..]),
            (&[4, 3], &[0, 1, 2]),
            (&[4], &[2]),
            (&[1], &[]),
        ]
    );
}

#[test]
fn ecn_by_default_where_it_is_needed() {
    let text = "duration = \"1s\"\nbottleneck.rate = \"8Mbit\"\n[[flows]]\ncc = \"cubic\"\n[[flows]]\ncc = \"dctcp\"\n[[flows]]\ncc = \"dctcp\"\necn = false\n";
    let plan = plan(text);
    let ecn: Vec<bool> = plan.flows.iter().map(|flow| flow.ecn).collect();
    assert_eq!(ecn, [false, true, false]);
    let names: Vec<&str> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["cubic", "dctcp", "dctcp-2"]);
}

#[test]
fn default_names_avoid_those_given() {
    let text = format!(
        "{SMALL}[[flows]]\ncc = \"reno\"\n[[flows]]\ncc = \"reno\"\nname = \"reno-2\"\n[[traffic]]\nkind = \"cbr\"\nname = \"cbr\"\n[[traffic]]\nkind = \"cbr\"\n"
    );
    let plan = plan(&text);
    let names: Vec<&str> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["reno", "reno-3", "reno-2"]);
    let names: Vec<&str> = plan
        .traffic
        .iter()
        .map(|source| source.name.as_str())
        .collect();
    assert_eq!(names, ["cbr", "cbr-2"]);
}

#[test]
fn multiples_of_the_bdp() {
    // One bdp is 10 Mbit/s x 25 ms = 31,250 B. The bdp is computed from `path.rtt`, not from the
    // flow's own RTT.
    let text = |size: &str| {
        format!(
            "duration = \"1s\"\npath.rtt = \"25ms\"\n[bottleneck]\nrate = \"10Mbit\"\nqueue.aqm = \"fifo\"\nqueue.limit = \"{size}\"\n[[flows]]\ncc = \"reno\"\nrtt = \"5ms\"\nbytes = \"2bdp\"\n"
        )
    };
    for (size, bytes) in [("1bdp", 31_250), ("0.125bdp", 3_906), ("0.05 bdp", 1_563)] {
        let plan = plan(&text(size));
        assert_eq!(
            options(&plan.links[0].queue).bytes("limit"),
            bytes,
            "{size}"
        );
        assert_eq!(plan.flows[0].bytes, Some(Bytes(62_500)));
    }
}

#[test]
fn traces() {
    let text =
        "duration = \"1s\"\nbottleneck.rate = { trace = \"up.txt\" }\n[[flows]]\ncc = \"reno\"\n";
    let scenario = load_with(text.as_bytes(), "f.toml", &[], None, &|file| {
        assert_eq!(file, "up.txt");
        Ok("0\n1\n1\n4\n".to_owned())
    })
    .unwrap();
    let times = [0, 1, 1, 4].map(Time::from_ms).into();
    assert_eq!(
        scenario.points[0].plan.links[0].rate,
        RatePlan::Trace(times)
    );
    let other = load_with(text.as_bytes(), "f.toml", &[], None, &|_| {
        Ok("0\n1\n2\n4\n".to_owned())
    })
    .unwrap();
    assert_ne!(scenario.points[0].run_id, other.points[0].run_id);
}

#[test]
fn traces_of_conditions() {
    let text =
        "duration = \"1s\"\nbottleneck.rate = { trace = \"c.csv\" }\n[[flows]]\ncc = \"reno\"\n";
    let with = |csv: &'static str| {
        load_with(
            text.as_bytes(),
            "f.toml",
            &[],
            None,
            &|_| Ok(csv.to_owned()),
        )
        .unwrap()
    };
    let scenario = with("time_s,rate_mbit,delay_ms,loss\n0,50,20,0\n\n1.5,0,42.5,0.25\n");
    let link = &scenario.points[0].plan.links[0];
    let rates = vec![
        (Time::ZERO, Rate(50_000_000)),
        (Time::from_ms(1_500), Rate(0)),
    ];
    assert_eq!(link.rate, RatePlan::Steps(rates));
    let impairments = link.impairments.iter();
    let impairments = impairments.map(|plan| (plan.kind, plan.options.pairs("steps").to_vec()));
    let impairments: Vec<_> = impairments.collect();
    let at = [Time::ZERO, Time::from_ms(1_500)];
    let losses = vec![(at[0], Value::Float(0.0)), (at[1], Value::Float(0.25))];
    let delays = [20_000_000, 42_500_000].map(|ns| Value::Time(Time(ns)));
    let delays = at.into_iter().zip(delays).collect();
    assert_eq!(impairments, [("loss", losses), ("delay", delays)]);
    // The columns of this trace are in another order, and the optional columns are missing.
    let bare = with("rate_mbit, time_s\n50, 0\n");
    assert!(bare.points[0].plan.links[0].impairments.is_empty());
    assert_ne!(scenario.points[0].run_id, bare.points[0].run_id);
}

fn names(point: &Point) -> Vec<String> {
    point
        .params
        .iter()
        .map(|(key, param)| match param {
            Param::Number(number) => format!("{key}={number}"),
            Param::Name(name) => format!("{key}={name}"),
        })
        .collect()
}

#[test]
fn the_order_of_a_sweep() {
    let scenario = load_ok(
        r#"
duration = "10s"
seed = 5
bottleneck.rate = "8Mbit"
[[flows]]
cc = "reno"
[sweep]
"flows.reno.cc" = ["reno", "cubic"]
path.rtt = ["10ms", "20ms"]
seeds = 2
[[sweep.zip]]
"bottleneck.rate" = ["1Mbit", "2Mbit"]
"bottleneck.queue" = [{ aqm = "fifo", limit = "2bdp" }, "codel"]
"#,
    );
    let found: Vec<String> = scenario
        .points
        .iter()
        .map(|point| format!("{} seed {}", names(point).join(" "), point.seed))
        .collect();
    let mut expected = Vec::new();
    for cc in ["reno", "cubic"] {
        for rtt in [10_000_000, 20_000_000] {
            for (rate, queue) in [(1_000_000, "fifo"), (2_000_000, "codel")] {
                for seed in [5, 6] {
                    expected.push(format!("flows.reno.cc={cc} path.rtt={rtt} bottleneck.rate={rate} bottleneck.queue={queue} seed {seed}"));
                }
            }
        }
    }
    assert_eq!(found, expected);
    // A size in bdp is computed from the rate and RTT of each sweep point.
    assert_eq!(
        options(&scenario.points[0].plan.links[0].queue).bytes("limit"),
        2_500
    );
    assert_eq!(
        options(&scenario.points[4].plan.links[0].queue).bytes("limit"),
        5_000
    );
    // The default name of a flow does not change when a sweep changes its congestion control.
    assert_eq!(scenario.points[8].plan.flows[0].cc.name(), "cubic");
    assert_eq!(scenario.points[8].plan.flows[0].name, "reno");
    let keys: Vec<&[String]> = scenario
        .axes
        .iter()
        .map(|axis| axis.keys.as_slice())
        .collect();
    assert_eq!(keys[1], ["path.rtt"]);
    assert_eq!(keys[2], ["bottleneck.rate", "bottleneck.queue"]);
    assert_eq!(
        scenario.axes[2].values[1],
        [Param::Number(2e6), Param::Name("codel".to_owned())]
    );
}

#[test]
fn labels_of_tables_of_one_kind() {
    let text = format!(
        "{SMALL}[sweep]\n\"bottleneck.queue\" = [{{ aqm = \"fifo\", limit = \"5p\" }}, {{ aqm = \"fifo\", limit = \"9p\" }}, \"codel\"]\n"
    );
    let scenario = load_ok(&text);
    let labels: Vec<Vec<String>> = scenario.points.iter().map(names).collect();
    assert_eq!(
        labels.concat(),
        [
            "bottleneck.queue={ aqm = \"fifo\", limit = \"5p\" }",
            "bottleneck.queue={ aqm = \"fifo\", limit = \"9p\" }",
            "bottleneck.queue=codel",
        ]
    );
}

#[test]
fn a_size_that_depends_on_the_point_labels_its_axis_as_written() {
    let text = format!(
        "{SMALL}[sweep]\n\"bottleneck.rate\" = [\"8Mbit\", \"80Mbit\"]\n\"bottleneck.queue.limit\" = [\"1bdp\", \"2000b\"]\n"
    );
    let scenario = load_ok(&text);
    assert_eq!(
        scenario.axes[1].values,
        [[Param::Name("1bdp".to_owned())], [Param::Number(2000.0)]]
    );
    assert_eq!(scenario.points[2].params[1].1, Param::Number(200_000.0));
}

#[test]
fn set_wins() {
    let text = format!("{SMALL}[sweep]\n\"bottleneck.rate\" = [\"1Mbit\", \"2Mbit\"]\n");
    // `--set` reads a bare word as a string, and any other text as TOML. `--set` also creates
    // missing tables.
    let scenario = load_set(
        &text,
        &[
            ("bottleneck.queue.limit", "10p"),
            ("path.rtt", "7ms"),
            ("flows.reno.count", "3"),
            ("flows[0].tcp.delack", "false"),
            ("record.series", "off"),
            ("flows.reno.cc", "{ name = \"reno\", beta = 0.7 }"),
            ("title", "\"5ms\""),
        ],
    );
    assert_eq!((scenario.points.len(), scenario.title.as_str()), (2, "5ms"));
    let plan = &scenario.points[0].plan;
    assert_eq!(
        options(&plan.links[0].queue).get("limit"),
        Some(&Value::Packets(10))
    );
    assert_eq!((plan.flows.len(), plan.flow_count()), (1, 3));
    assert_eq!(plan.flows[0].rtt, Time::from_ms(7));
    assert_eq!(plan.flows[0].tcp.delack, Delack::OFF);
    assert_eq!(options(&plan.flows[0].cc).float("beta"), 0.7);
    assert_eq!(plan.record.series, SeriesMode::Off);

    // If `--set` sets a swept key, the key is no longer swept.
    let scenario = load_set(&text, &[("bottleneck.rate", "3Mbit")]);
    assert_eq!((scenario.points.len(), scenario.axes.len()), (1, 0));
    assert_eq!(
        scenario.points[0].plan.links[0].rate.nominal(),
        Rate(3_000_000)
    );

    let scenario = load_set(
        &text,
        &[
            ("sweep.bottleneck.rate", "[\"5Mbit\"]"),
            ("sweep.\"path.rtt\"", "[\"1ms\", \"2ms\"]"),
            ("sweep.seeds", "2"),
        ],
    );
    assert_eq!(scenario.points.len(), 4);
    assert_eq!(
        scenario.points[0].plan.links[0].rate.nominal(),
        Rate(5_000_000)
    );

    // If `--set` sets a key inside swept tables, this key changes in every table. The labels of the
    // swept tables change, too.
    let text = format!(
        "{SMALL}[sweep]\n\"bottleneck.queue\" = [\"codel\", {{ aqm = \"red\", limit = \"100kb\" }}]\n"
    );
    let scenario = load_set(&text, &[("bottleneck.queue.ecn", "true")]);
    assert!(
        scenario
            .points
            .iter()
            .all(|p| options(&p.plan.links[0].queue).bool("ecn"))
    );
    assert_eq!(names(&scenario.points[0]), ["bottleneck.queue=codel"]);
}

#[test]
fn seeds_replace_those_of_the_file() {
    let text = format!("{SMALL}[sweep]\nseeds = 2\n");
    let scenario = load(text.as_bytes(), "f", &[], Some(4)).unwrap();
    let seeds: Vec<u64> = scenario.points.iter().map(|point| point.seed).collect();
    assert_eq!(seeds, [1, 2, 3, 4]);
    let plan = &scenario.points[0].plan;
    let shared = |point: &Point| Arc::ptr_eq(&point.plan, plan);
    assert!(scenario.points.iter().all(shared));
}

#[test]
fn the_canonical_form() {
    let text = format!("{SMALL}bytes = \"64kb\"\n[[traffic]]\nkind = \"cbr\"\ncount = 2\n");
    let scenario = load_ok(&text);
    assert_eq!(
        &*scenario.points[0].canonical,
        concat!(
            r#"{"duration":10000000000,"flows":[{"back":[],"bytes":65536,"cc":{"name":"reno","options":{"abe":"linux","abe_frlossreduce":false,"beta":0.5,"limited_growth":"linux","slow_start":"none"}},"#,
            r#""chunks":null,"class":null,"count":1,"dscp":0,"ecn":false,"hosts":null,"module":null,"name":"reno","pause":[],"rate":null,"#,
            r#""route":[0],"rtt":20000000,"start":0,"stop":null,"tcp":{"accecn_option":"full","accecn_receiver":"linux","delack":true,"ecn_feedback":"auto","growth":"segments","header":66,"initial_cwnd":10,"initial_ssthresh":0,"metrics_save":false,"min_rto":200000000,"#,
            r#""mss":1448,"pacing":"auto","pacing_ca_ratio":120,"pacing_ss_ratio":200,"quickack":true,"rcvbuf":"fixed","receiver":"honest","rwnd":33554432,"sce_receiver":"auto","ssthresh_metrics_save":false,"timestamps":true}}],"host_jitter":0,"kernel":null,"#,
            r#""links":[{"burst":0,"count_in_service":false,"delay":0,"impairments":[],"jitter":0,"link":"shaper","loss":0.0,"module":null,"name":"bottleneck","overhead":0,"#,
            r#""queue":{"name":"fifo","options":{"limit":{"packets":1000}}},"rate":8000000,"schedule":null,"slots":null}],"offloads":false,"#,
            r#""record":{"captures":true,"events":false,"interval":100000000,"packets":false,"series":"interval","statistics":0},"start_jitter":20000000,"timer_phase":null,"#,
            r#""traffic":[{"answers":null,"class":null,"connections":null,"count":2,"dscp":0,"hosts":null,"kind":"cbr","name":"cbr","#,
            r#""options":{"ecn":"not-ect","packet_size":1514,"rate":1000000},"route":[0],"rtt":20000000,"#,
            r#""start":0,"stop":null}],"version":2,"warmup":0}"#
        )
    );
}

/// Ideal hosts are the default. If a scenario sets ideal hosts, the ids of its runs are the same as
/// without the key.
#[test]
fn the_canonical_form_has_hosts_only_if_they_hold_packets() {
    let canonical = |key: &str| {
        load_ok(&format!("{key}{SMALL}")).points[0]
            .canonical
            .clone()
    };
    assert_eq!(canonical("hosts = \"ideal\"\n"), canonical(""));
    let waiting = canonical("hosts = \"vm\"\n");
    assert_eq!(waiting.replace(r#""hosts":"vm","#, ""), *canonical(""));
}

#[test]
fn connections_of_a_source() {
    let text = format!("{SMALL}[[traffic]]\nkind = \"web\"\n");
    let web = |rest: &str| {
        let scenario = load_ok(&format!("{text}{rest}"));
        let plan = &scenario.points[0].plan;
        let source = plan.traffic[0].clone();
        (source, scenario.points[0].run_id.clone())
    };
    let (plain, id) = web("");
    let connections = plain.connections.unwrap();
    assert_eq!(connections.cc.name(), "cubic");
    assert!(!connections.ecn);
    assert_eq!((connections.limit, connections.tcp.mss), (1000, 1448));
    assert_eq!(plain.options.bytes("min"), 1_000);
    assert_eq!(plain.options.bytes("max"), 1_000_000);
    assert!(connections.back.is_empty());

    // If the file states the default values, the run stays the same.
    let same = "cc = { name = \"cubic\" }\necn = false\nlimit = 1000\ntcp = { mss = 1448 }\n";
    assert_eq!(web(same).0.connections.unwrap(), connections);
    let changes = [
        "cc = \"dctcp\"",
        "ecn = true",
        "tcp = { initial_cwnd = 2 }",
        "limit = 10",
        "alpha = 1",
        "arrival = \"100ms\"",
        "max = \"10kb\"",
    ];
    for change in changes {
        assert_ne!(web(change).1, id, "{change}");
    }
    // An empty table `lognormal` has the same effect as no table.
    assert_eq!(web("sizes = { lognormal = {} }").1, id);
    let (lognormal, other) = web("sizes = { lognormal = { p5 = \"64kb\", p95 = \"2mb\" } }");
    assert_ne!(other, id);
    let percentiles = lognormal.options.table("sizes").table("lognormal");
    assert_eq!(percentiles.bytes("p5"), 65_536);
    assert_eq!(percentiles.bytes("p95"), 2_097_152);
    assert_eq!(
        lognormal.options.get("max"),
        None,
        "of the other distribution"
    );
    let dctcp = web("cc = \"dctcp\"").0.connections.unwrap();
    assert!(dctcp.ecn, "as the congestion control needs it");
    let tcp = web("tcp = { initial_cwnd = 2 }").0.connections.unwrap().tcp;
    assert_eq!(tcp.initial_cwnd, 2);

    let twin = "[[flows]]";
    let both = text.replacen(
        twin,
        &format!("bottleneck.both_directions = true\n{twin}"),
        1,
    );
    let plan = load_ok(&format!("{both}reverse = true\n")).points[0]
        .plan
        .clone();
    assert_eq!(plan.traffic[0].route, [1]);
    assert_eq!(plan.traffic[0].connections.as_ref().unwrap().back, [0]);
}

/// Tests that equal runs have equal ids, no matter how their scenarios are written. Also tests that
/// ids differ if a value differs that may change a result or the recorded data.
#[test]
fn run_ids() {
    let id = |text: &str, set: &[(&str, &str)]| load_set(text, set).points[0].run_id.clone();
    let base = id(SMALL, &[]);
    assert_eq!(base.len(), 20);
    assert!(base.bytes().all(|b| b.is_ascii_hexdigit()));
    let same = r#"
# The same, with defaults written out and another spelling of everything.
title = "another title"
record = { series = true, interval = "0.1s" }
duration = "10000ms"
[[flows]]
count = 1
name = "reno"
cc = { name = "reno" }
[bottleneck]
rate = "8000kbit"
queue = { aqm = "fifo", limit = "1000p", kernel = false }
schedule = { marks = [] }
[path]
rtt = "20000us"
offloads = false
[[assert]]
metric = "jain"
max = 1
"#;
    assert_eq!(id(same, &[]), base);
    let swept = load_ok(&format!(
        "{SMALL}[sweep]\n\"path.rtt\" = [\"10ms\", \"20ms\"]\n"
    ));
    assert_eq!(swept.points[1].run_id, base);
    for (key, value) in [
        ("seed", "2"),
        ("duration", "11s"),
        ("warmup", "1s"),
        ("start_jitter", "1ms"),
        ("host_jitter", "1us"),
        ("bottleneck.rate", "9Mbit"),
        ("bottleneck.queue.limit", "1001p"),
        ("bottleneck.queue.limit", "2000b"),
        ("bottleneck.link", "wire"),
        ("bottleneck.both_directions", "true"),
        ("bottleneck.delay", "1ms"),
        ("bottleneck.jitter", "1ms"),
        ("bottleneck.loss", "0.01"),
        ("bottleneck.overhead", "1"),
        ("bottleneck.count_in_service", "true"),
        ("bottleneck.schedule", "{ marks = [3] }"),
        ("bottleneck.schedule", "{ drops = [3] }"),
        ("record.packets", "true"),
        ("record.captures", "false"),
        ("path.rtt", "21ms"),
        ("record.events", "true"),
        ("record.series", "changes"),
        ("record.interval", "99ms"),
        ("flows.reno.name", "other"),
        ("flows.reno.count", "2"),
        ("flows.reno.ecn", "true"),
        ("flows.reno.start", "1s"),
        ("flows.reno.stop", "9s"),
        ("flows.reno.bytes", "9b"),
        ("flows.reno.cc", "cubic"),
        ("flows.reno.cc.beta", "0.6"),
        ("flows.reno.tcp.growth", "acks"),
        ("flows.reno.class", "L"),
        ("record.statistics", "1s"),
        ("traffic", "[{ kind = \"cbr\" }]"),
    ] {
        assert_ne!(id(SMALL, &[(key, value)]), base, "{key} = {value}");
    }
}

#[test]
fn classes_and_samples_are_planned() {
    let text = format!(
        "{SMALL}class = \"L\"\ncount = 2\n[[traffic]]\nkind = \"cbr\"\nclass = \"U\"\n[record]\nstatistics = \"1s\"\n"
    );
    let point = &load_ok(&text).points[0];
    let plan = &point.plan;
    assert_eq!(plan.record.statistics, Time::from_secs(1));
    assert!(plan.flows.iter().all(|f| f.class.as_deref() == Some("L")));
    assert_eq!(plan.traffic[0].class.as_deref(), Some("U"));
    let classes = plan.classes_at(0);
    assert_eq!((classes[0].name.as_str(), classes[0].number), ("L", 0));
    assert_eq!(classes[0].flows.len(), 2);
    assert_eq!(classes[0].flows[1].base_rtt_ns, 20_000_000);
    assert_eq!(
        (classes[1].name.as_str(), &classes[1].sources[..]),
        ("U", &[2][..])
    );
    for part in [
        r#""class":"L","count":2"#,
        r#""class":"U","connections":null"#,
        r#""statistics":1000000000"#,
    ] {
        assert!(
            point.canonical.contains(part),
            "{part}: {}",
            point.canonical
        );
    }
    // If the file states the default value, the run id stays the same.
    let plain = load_ok(SMALL).points[0].run_id.clone();
    let zero = load_set(SMALL, &[("record.statistics", "0s")]);
    assert_eq!(zero.points[0].run_id, plain);
}

#[test]
fn flows_of_a_kind_are_one_entry_of_the_canonical_form() {
    let scenario = load_set(SMALL, &[("flows.reno.count", "1000")]);
    let canonical: serde_json::Value = serde_json::from_str(&scenario.points[0].canonical).unwrap();
    let flows = canonical["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 1);
    assert_eq!(
        (&flows[0]["name"], &flows[0]["count"]),
        (&"reno".into(), &1000.into())
    );
}

#[test]
fn asserts() {
    let text = format!(
        "{SMALL}count = 2\n[[traffic]]\nkind = \"cbr\"\n\
         [[assert]]\nmetric = \"throughput_mbit\"\nflow = \"reno\"\nmin = 1\nmax = 8\n\
         [[assert]]\nmetric = \"drops\"\nlink = \"bottleneck\"\nmax = 0\n\
         [[assert]]\nmetric = \"harm_throughput\"\nwithout = \"cbr\"\nmax = 0.2\n"
    );
    let asserts = load_ok(&text).asserts;
    assert_eq!((asserts[0].min, asserts[0].max), (Some(1.0), Some(8.0)));
    assert_eq!(asserts[0].flow.as_deref(), Some("reno"));
    assert_eq!(asserts[1].link.as_deref(), Some("bottleneck"));
    assert_eq!(asserts[1].flow, None);
    assert_eq!(asserts[2].metric, "harm.throughput");
    assert_eq!(asserts[2].without.as_deref(), Some("cbr"));
}

#[test]
fn memory() {
    let scenario = load_set(
        SMALL,
        &[("flows.reno.count", "1000"), ("bottleneck.rate", "1Gbit")],
    );
    let bytes = estimate_memory(&scenario.points[0].plan);
    // The estimate for a thousand flows is more than 24 KiB for each flow, and less than 256 MiB in
    // total.
    assert!((24 << 20..256 << 20).contains(&bytes), "{bytes}");
    assert_eq!(check_memory(&scenario, bytes), Ok(()));
    assert_eq!(
        check_memory(&scenario, 24 << 20).unwrap_err().to_string(),
        format!(
            "f.toml:1:1: a run needs about {} MiB of memory, and 24 MiB are available; expected fewer flows, smaller windows or queues, a longer record.interval or record.series = \"off\"",
            bytes.div_ceil(1 << 20)
        )
    );
}

/// Tests the estimated memory for traffic without congestion control. Traffic without congestion
/// control fills the queue of a slow link to its limit.
#[test]
fn memory_of_unresponsive_sources() {
    let bytes = |rate: &str, limit: &str, more: &str| {
        let text = format!(
            "duration = \"10s\"\n[bottleneck]\nrate = {rate}\nqueue = {{ aqm = \"fifo\", limit = \"{limit}\" }}\n\
             [path]\nrtt = \"10ms\"\n[[traffic]]\nkind = \"cbr\"\nrate = \"1Tbit\"\npacket_size = 1000\n{more}"
        );
        estimate_memory(&load_ok(&text).points[0].plan)
    };
    let large = "900000000000000p";
    // For 10 s, 125 MB of excess traffic join the queue in each millisecond. Each packet of 1000
    // bytes needs 160 bytes of memory, which is 200 GB in total. In addition, 10 ms of traffic are
    // on the path.
    let whole = bytes("\"1kbit\"", large, "");
    assert!(
        (200_000_000_000..201_000_000_000).contains(&whole),
        "{whole}"
    );
    let half = bytes("\"500Gbit\"", large, "");
    assert!((100_000_000_000..101_000_000_000).contains(&half), "{half}");
    let steps = "{ steps = [[\"0s\", \"500Gbit\"], [\"5s\", \"0bit\"]] }";
    let stops = bytes(steps, large, "");
    assert!(
        (150_000_000_000..151_000_000_000).contains(&stops),
        "{stops}"
    );
    let brief = bytes("\"1kbit\"", large, "stop = \"100ms\"\n");
    assert!((2_200_000_000..2_220_000_000).contains(&brief), "{brief}");
    assert!(bytes("\"1kbit\"", "1000p", "") < 400_000_000);
    assert!(bytes("\"2Tbit\"", large, "") < 400_000_000);
}

/// Tests that whole windows of a source's connections can be in the queue if receivers acknowledge
/// data that has not arrived.
#[test]
fn memory_of_sources_whose_receivers_acknowledge_early() {
    let bytes = |receiver: &str| {
        let text = format!(
            "duration = \"40s\"\n[bottleneck]\nrate = \"200kbit\"\nqueue = {{ aqm = \"fifo\", limit = \"100000p\" }}\n\
             [path]\nrtt = \"30ms\"\n[tcp]\nmss = 64\nreceiver = \"{receiver}\"\n\
             [[traffic]]\nkind = \"responsiveness\"\ninterval = \"9s\"\n"
        );
        estimate_memory(&load_ok(&text).points[0].plan)
    };
    assert!(bytes("honest") < 60 << 20, "{}", bytes("honest"));
    // A simulation of the source in this test used 173 MiB.
    assert!(bytes("optimistic") > 180 << 20, "{}", bytes("optimistic"));
}

#[test]
fn a_million_flows_are_loaded_when_there_is_room() {
    let text = format!("{SMALL}count = 1000000\n");
    let scenario = tailback_scenario::load_request(&Request {
        memory: Some(1 << 40),
        ..Request::new(text.as_bytes(), "f.toml", &|_| Err(String::new()))
    })
    .unwrap();
    let plan = &scenario.points[0].plan;
    assert_eq!(plan.flows.len(), 1, "they stay a group");
    let last = plan.each_flow().last().unwrap();
    assert_eq!(
        (last.name(), last.number),
        ("reno/1000000".to_owned(), 999_999)
    );
}

/// Tests that flows with a `count` above 1 have numbered names, and that keys can refer to these
/// names.
#[test]
fn members_of_groups_have_numbers_and_names() {
    let text = format!(
        "{SMALL}count = 1\n[[flows]]\ncc = \"reno\"\ncount = 2\n[[traffic]]\nkind = \"cbr\"\n\
         [[traffic]]\nkind = \"web\"\nlimit = 3\ncount = 2\n"
    );
    let plan = plan(&text);
    let flows = plan.each_flow().map(|f| (f.name(), f.group, f.number));
    let flows: Vec<_> = flows.collect();
    let expected = [("reno", 0, 0), ("reno-2/1", 1, 1), ("reno-2/2", 1, 2)];
    assert_eq!(
        flows,
        expected.map(|(name, group, i)| (name.to_owned(), group, i))
    );
    let sources = plan.each_source().map(|s| (s.name(), s.group, s.number));
    let sources: Vec<_> = sources.collect();
    let expected = [("cbr", 0, 0), ("web/1", 1, 1), ("web/2", 1, 2)];
    assert_eq!(
        sources,
        expected.map(|(name, group, i)| (name.to_owned(), group, i))
    );
    assert_eq!((plan.flow_count(), plan.source_count()), (3, 3));
    // The numbers of connections follow the numbers of flows and sources.
    assert_eq!(plan.owners()[..], [0, 1, 2, 3, 4, 5, 4, 4, 4, 5, 5, 5]);
    // Flows and connections with the same TCP stack share hosts, unless a flow has its own jitter.
    assert_eq!(plan.hosts().1, [0, 0, 0, 1, 0, 0]);
    let jittered = load_set(&text, &[("host_jitter", "1us")]).points.remove(0);
    let (pairs, of) = jittered.plan.hosts();
    assert_eq!(of, [0, 1, 2, 3, 4, 4]);
    assert_eq!(pairs[2].alone.as_deref(), Some("reno-2/2"));

    let asked = |name: &str| {
        let assert = "[[assert]]\nmetric = \"drops\"\nmax = 0\nflow = ";
        let text = format!("{text}{assert}\"{name}\"\n");
        load(text.as_bytes(), "f", &[], None).is_ok()
    };
    // Assertions accept a traffic source in place of a flow.
    for name in ["reno", "reno-2", "reno-2/1", "reno-2/2", "cbr"] {
        assert!(asked(name), "{name}");
    }
    for name in [
        "reno/1",
        "reno-2/0",
        "reno-2/3",
        "reno-2/01",
        "reno-2/",
        "/1",
    ] {
        assert!(!asked(name), "{name}");
    }
}

/// The seed is not part of the plan, so all seeds share the plan and its canonical form.
#[test]
fn a_plan_is_the_same_at_any_seed() {
    let of = |seed| {
        load_set(SMALL, &[("seed", seed), ("flows.reno.count", "2")])
            .points
            .remove(0)
    };
    let (one, other) = (of("1"), of("77"));
    assert_eq!((&one.plan, &one.canonical), (&other.plan, &other.canonical));
    assert_ne!(one.run_id, other.run_id);
}

#[test]
fn the_schema_knows_every_key_and_option() {
    let schema = json_schema();
    let link = &schema["properties"]["bottleneck"];
    assert_eq!(link["properties"]["loss"]["anyOf"][0]["maximum"], 1.0);
    assert_eq!(link["required"], serde_json::json!(["rate"]));
    assert_eq!(schema["required"], serde_json::json!(["duration"]));
    let flow = &schema["properties"]["flows"]["items"]["properties"];
    for entry in tailback_engine::cc::ENTRIES {
        let shapes = flow["cc"]["anyOf"].as_array().unwrap();
        let shape = shapes
            .iter()
            .find(|shape| shape["properties"]["name"]["const"] == entry.name)
            .unwrap_or_else(|| panic!("{} is missing", entry.name));
        for opt in entry.options {
            let known = &shape["properties"][opt.name]["description"];
            assert_eq!(known, opt.doc, "{} of {}", opt.name, entry.name);
        }
    }
    assert_eq!(flow["tcp"]["properties"]["mss"]["default"], 1448);
    let shapes = schema["properties"]["traffic"]["items"]["anyOf"]
        .as_array()
        .unwrap();
    assert_eq!(shapes.len(), tailback_engine::traffic::ENTRIES.len());
}

#[test]
fn every_key_has_a_path() {
    let paths = key_paths();
    let of = |path: &'static str| paths.iter().filter(move |key| key.path == path);
    let growth = of("flows.NAME.tcp.growth").next().expect("a key");
    assert_eq!(
        (growth.kind, &growth.words[..]),
        ("choice", &["segments", "acks"][..])
    );
    assert_eq!(growth.default, Some("segments"));
    assert!(growth.doc.starts_with("Whether the window grows"));
    let kinds = [
        "duration",
        "bottleneck.rate",
        "tcp.mss",
        "assert[0].max",
        "record.events",
    ];
    let kinds = kinds.map(|path| of(path).next().map(|key| key.kind));
    assert_eq!(kinds, ["time", "rate", "count", "number", "bool"].map(Some));
    // In the list of keys, `entry` is the algorithm to which an option belongs.
    let targets: Vec<_> = of("bottleneck.queue.target").map(|key| key.entry).collect();
    assert!(targets.contains(&Some("codel")) && targets.contains(&Some("pie")));
    assert_eq!(
        of("traffic.NAME.packet_size").next().expect("a key").entry,
        Some("cbr")
    );
    assert_eq!(
        of("links.NAME.queue.classic.min")
            .next()
            .expect("a key")
            .entry,
        Some("wred")
    );

    // `--set` accepts each of these paths if the scenario has the objects that the path names.
    let text = "duration = \"1s\"\n[bottleneck]\nrate = \"1Mbit\"\nqueue = \"wred\"\n[[flows]]\nname = \"f\"\ncc = \"reno\"\n[[traffic]]\nname = \"f2\"\nkind = \"web\"\n[[programs]]\nname = \"f3\"\nkind = \"ping\"\nsender = { run = [\"x\"] }\nreceiver = { run = [\"x\"] }\nresults = { NAME = { file = \"a\", path = \"b\" } }\n[[assert]]\nmetric = \"jain\"\nmin = 0\n[[events]]\nat = \"1ms\"\nset = { \"bottleneck.rate\" = \"2Mbit\" }\n";
    for key in &paths {
        let path = key
            .path
            .replace("flows.NAME", "flows.f")
            .replace("traffic.NAME", "traffic.f2")
            .replace("programs.NAME", "programs.f3");
        if path.starts_with("links.") {
            continue;
        }
        // An impairment needs its kind before its options can be set.
        let kind = key.entry.filter(|_| path.contains("impairments"));
        let list = format!(
            "[[bottleneck.impairments]]\nkind = \"{}\"\n",
            kind.unwrap_or("loss")
        );
        let text = format!("{text}{list}");
        let set = Override {
            key: path.clone(),
            value: "[]".to_owned(),
        };
        let errors =
            load(text.as_bytes(), "f", &[set], None).map_or_else(|errors| errors, |_| vec![]);
        for error in errors {
            let unknown = error.message.starts_with("unknown key")
                || error.message.starts_with("there is no \"");
            assert!(!unknown, "{path}: {error}");
        }
    }
}

#[test]
fn what_only_the_kernel_has_is_in_the_plan_and_in_the_name_of_the_run() {
    let text = r#"duration = "10s"
[bottleneck]
rate = "8Mbit"
queue = { aqm = "mysch", kernel = true, args = "limit 10 'x'" }
[path]
offloads = true
[[flows]]
cc = { name = "mycc", kernel = true, module = "mycc_2" }
[[flows]]
cc = { name = "cubic", beta = 0.5, module = "cubic-mine" }
count = 2
"#;
    let kernel = |text: &str, set: &[(&str, &str)], version: &str| {
        let overrides: Vec<Override> = set
            .iter()
            .map(|(key, value)| Override {
                key: (*key).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        tailback_scenario::load_request(&Request {
            overrides: &overrides,
            engine: EngineKind::Kernel,
            engine_version: version,
            ..Request::new(text.as_bytes(), "f.toml", &|_| Err(String::new()))
        })
        .unwrap()
    };
    let scenario = kernel(text, &[], "6.17");
    // A queue with a module is a queue discipline of the kernel, even without `kernel = true`.
    let implied = text.replace("kernel = true, module", "module");
    assert_ne!(implied, text);
    assert_eq!(kernel(&implied, &[], "6.17").id, scenario.id);
    let point = &scenario.points[0];
    let plan = &point.plan;
    assert!(plan.offloads);
    assert_eq!(
        plan.links[0].queue,
        Algorithm::Kernel {
            name: "mysch".to_owned(),
            args: "limit 10 'x'".to_owned()
        }
    );
    assert_eq!(plan.links[0].module, None);
    let flow = &plan.flows[0];
    assert_eq!(
        (flow.name.as_str(), flow.cc.name(), flow.ecn),
        ("mycc", "mycc", false)
    );
    assert_eq!(flow.cc.known(), None);
    assert_eq!(flow.module.as_deref(), Some("mycc_2"));
    let cubic = &plan.flows[1];
    assert_eq!(options(&cubic.cc).float("beta"), 0.5);
    assert_eq!(cubic.module.as_deref(), Some("cubic-mine"));
    for part in [
        r#""queue":{"args":"limit 10 'x'","kernel":true,"name":"mysch"}"#,
        r#""cc":{"args":"","kernel":true,"name":"mycc"}"#,
        r#""module":"mycc_2","name":"mycc""#,
        r#""module":"cubic-mine","name":"cubic""#,
        r#""offloads":true"#,
    ] {
        assert!(
            point.canonical.contains(part),
            "{part} in {}",
            point.canonical
        );
    }
    let id = |set: &[(&str, &str)]| kernel(text, set, "6.17").points[0].run_id.clone();
    for (key, value) in [
        ("bottleneck.queue.args", "limit 11"),
        ("bottleneck.queue.aqm", "mysch2"),
        ("bottleneck.queue.module", "m"),
        ("flows.cubic.cc.module", "cubic-other"),
        ("path.offloads", "false"),
    ] {
        assert_ne!(id(&[(key, value)]), point.run_id, "{key} = {value}");
    }

    // The ids of the runs and of the sweep depend on the engine's version.
    let sim = load_ok(SMALL);
    assert_eq!(
        (sim.engine, sim.engine_version.as_str()),
        (EngineKind::Sim, "sim")
    );
    let one = kernel(SMALL, &[], "6.17 a");
    let other = kernel(SMALL, &[], "6.17 b");
    assert_eq!(
        (one.engine, one.engine_version.as_str()),
        (EngineKind::Kernel, "6.17 a")
    );
    assert_eq!(
        one.points[0].run_id,
        kernel(SMALL, &[], "6.17 a").points[0].run_id
    );
    assert_eq!(one.points[0].canonical, sim.points[0].canonical);
    let ids = |scenario: &Scenario| (scenario.points[0].run_id.clone(), scenario.id.clone());
    // A new engine version of a loaded scenario changes only the ids.
    assert_eq!(
        ids(&one.clone().versioned(|_| "6.17 b".into())),
        ids(&other)
    );
    let unknown = kernel(SMALL, &[], "kernel");
    let all = [ids(&sim), ids(&one), ids(&other), ids(&unknown)];
    for (i, a) in all.iter().enumerate() {
        for b in &all[..i] {
            assert!(a.0 != b.0 && a.1 != b.1, "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_schedule_of_marks_and_losses() {
    let schedule = |text: &str| {
        let plan = load_set(SMALL, &[("bottleneck.schedule", text)])
            .points
            .swap_remove(0)
            .plan;
        plan.links[0].schedule.clone()
    };
    assert_eq!(
        schedule("{ marks = [100, 200], drops = [300, 301] }"),
        Some(Schedule {
            marks: vec![100, 200],
            drops: vec![300, 301]
        })
    );
    assert_eq!(schedule("{ drops = [] }"), None);
    assert_eq!(plan(SMALL).links[0].schedule, None);
}

#[test]
fn a_program_stands_where_a_flow_does() {
    let text = format!(
        "{SMALL}[[programs]]\nname = \"quic\"\ncount = 2\nclass = \"Q\"\nrtt = \"30ms\"\nsender = {{ run = [\"server\"] }}\nresults.goodput = {{ file = \"a.json\", path = \"b\" }}\n"
    );
    let request = |text: &str| {
        tailback_scenario::load_request(&Request {
            engine: EngineKind::Kernel,
            ..Request::new(text.as_bytes(), "f.toml", &|_| Err(String::new()))
        })
    };
    let asserted = |of: &str| format!("{text}[[assert]]\nmin = 1\n{of}\n");
    for of in [
        "metric = \"throughput_mbit\"\nflow = \"quic\"",
        "metric = \"rtt_ms.p99\"\nflow = \"quic/2\"",
        "metric = \"results.goodput\"",
    ] {
        assert!(request(&asserted(of)).is_ok(), "{of}");
    }
    for (of, said) in [
        (
            "metric = \"drops\"\nflow = \"quic/3\"",
            "there is no flow named \"quic/3\"; did you mean \"quic/1\"?",
        ),
        (
            "metric = \"results.godput\"",
            "did you mean \"results.goodput\"?",
        ),
    ] {
        let found = request(&asserted(of)).expect_err(of)[0].to_string();
        assert!(found.contains(said), "{found}");
    }
    let plan = request(&text).expect("good").points.swap_remove(0).plan;
    // The source is the second member of the class, and has its own round-trip time.
    let class = &plan.classes_at(0)[0];
    let members: Vec<(u32, u64)> = class
        .flows
        .iter()
        .map(|f| (f.flow, f.base_rtt_ns))
        .collect();
    assert_eq!(members, [(1, 30_000_000), (2, 30_000_000)]);
    assert!(class.sources.is_empty());
}

/// Tests that parameters contain the unit if the values of a swept key have different units. Labels
/// always contain the unit.
#[test]
fn packets_and_bytes_are_no_equal_parameters() {
    let point = |text: &str| {
        let points = load_ok(&format!("{SMALL}[sweep]\n{text}\n")).points;
        let params: Vec<_> = points
            .iter()
            .map(|point| point.params[0].1.clone())
            .collect();
        let labels: Vec<_> = points.iter().map(|point| point.labels[0].clone()).collect();
        (params, labels)
    };
    let name = |text: &str| Param::Name(text.to_owned());
    assert_eq!(
        point(r#""bottleneck.queue.limit" = ["20000p", "20kb", "2bdp"]"#),
        (
            vec![name("20000p"), name("20480b"), name("40000b")],
            ["20000p", "20kb", "2bdp"].map(str::to_owned).to_vec(),
        )
    );
    assert_eq!(
        point(r#""bottleneck.queue.limit" = ["100p", "2000p"]"#).0,
        [Param::Number(100.0), Param::Number(2000.0)]
    );
    assert_eq!(
        point("\"bottleneck.queue\" = [\"codel\"]\n\"bottleneck.queue.limit\" = [100, \"2000p\"]")
            .1,
        ["codel", "codel"]
    );
    let codel = load_set(
        &format!("{SMALL}[sweep]\n\"bottleneck.queue.limit\" = [100, \"2000p\"]\n"),
        &[("bottleneck.queue", "codel")],
    );
    assert_eq!(codel.points[0].labels[0], "100p");
    assert_eq!(codel.points[0].params[0].1, Param::Number(100.0));
}

/// Labels of long tables stay distinct even if the tables differ only at their end.
#[test]
fn long_values_are_not_cut_to_one() {
    let steps = |last: u32| {
        let steps: Vec<String> = (0..40)
            .map(|at| format!("[\"{at}s\", \"{}Mbit\"]", if at == 39 { last } else { 5 }))
            .collect();
        format!("{{ steps = [{}] }}", steps.join(", "))
    };
    let text = format!(
        "{SMALL}[sweep]\n\"bottleneck.rate\" = [{}, {}]\n",
        steps(6),
        steps(7)
    );
    let points = load_ok(&text).points;
    assert_ne!(points[0].params, points[1].params);
    assert_ne!(points[0].labels, points[1].labels);
}

/// Tests the estimated number of packets. The estimate counts the packets that senders offer, up to
/// the capacity of the links.
#[test]
fn packets_of_a_run() {
    let packets = |set: &[(&str, &str)]| {
        let text = "duration = \"10s\"\n[bottleneck]\nrate = \"12.112Mbit\"\n[path]\nrtt = \"20ms\"\n\
                    [[flows]]\ncc = \"reno\"\n";
        estimate_packets(&load_set(text, set).points[0].plan)
    };
    // The link carries 1000 frames of 1514 bytes per second, which are 12.112 Mbit/s.
    assert_eq!(packets(&[]), 10_000);
    assert_eq!(packets(&[("flows.reno.count", "50")]), 10_000);
    assert_eq!(packets(&[("duration", "1000000s")]), 1_000_000_000);
    assert_eq!(packets(&[("flows.reno.stop", "4s")]), 4_000);
    assert_eq!(
        packets(&[("flows.reno.bytes", "146000b"), ("flows.reno.count", "3")]),
        303
    );
    // Every second segment is acknowledged, and ACKs use a separate link.
    assert_eq!(packets(&[("bottleneck.both_directions", "true")]), 15_000);
    // The window is ten segments per round-trip time of 20 ms.
    assert_eq!(
        packets(&[("tcp.rwnd", "14480b"), ("bottleneck.rate", "1Gbit")]),
        5_010
    );
}

const FLOW: &str = "duration = \"10s\"\n[[flows]]\ncc = \"reno\"\n";

/// Tests that a scenario with a built-in network path (`profile`) and one flow is complete, and has
/// no warnings.
#[test]
fn named_paths_are_complete() {
    for name in tailback_engine::profiles::NAMES {
        let scenario = load_set(FLOW, &[("path.profile", name)]);
        assert!(
            scenario.warnings.is_empty(),
            "{name}: {:?}",
            scenario.warnings
        );
    }
}

/// Tests that a scenario with a built-in network path leads to the same run as a scenario that
/// contains the path's keys. Keys of the scenario must override keys of the path.
#[test]
fn a_named_path_stands_for_keys_that_are_not_written() {
    let written = r#"
        [path]
        rtt = "2ms"
        [bottleneck]
        rate = "10Mbit"
        queue = { aqm = "fifo", limit = "312500b" }
        [[bottleneck.impairments]]
        kind = "jitter"
        distribution = "wifi"
        mean = "7ms"
    "#;
    let written = load_ok(&format!("{FLOW}{written}"));
    let named = load_set(FLOW, &[("path.profile", "wifi-bad")]);
    assert_eq!(named.points[0].run_id, written.points[0].run_id);
    let path = "path = { profile = \"wifi-bad\", rtt = \"9ms\" }\nbottleneck.queue = \"codel\"\n";
    let plan = plan(&format!("{path}{FLOW}"));
    assert_eq!(plan.flows[0].rtt, Time::from_ms(9));
    assert_eq!(plan.links[0].rate.lowest(), Rate(10_000_000));
    assert_eq!(
        plan.links[0].queue.known().map(|known| known.0),
        Some("codel")
    );
    assert_eq!(plan.links[0].impairments.len(), 1);
}

/// Tests that a sweep over built-in network paths labels runs with the names of the paths, even if
/// several paths have equal values.
#[test]
fn a_sweep_over_named_paths() {
    let names = tailback_engine::profiles::NAMES;
    let scenario = load_ok(&format!("{FLOW}[sweep]\n\"path.profile\" = {names:?}\n"));
    let params: Vec<&Param> = scenario
        .points
        .iter()
        .map(|point| &point.params[0].1)
        .collect();
    let expected: Vec<Param> = names
        .iter()
        .map(|name| Param::Name((*name).to_owned()))
        .collect();
    assert_eq!(params, expected.iter().collect::<Vec<_>>());
}

/// Tests that short forms lead to the same runs as the impairments that the short forms abbreviate.
#[test]
fn short_forms_are_impairments() {
    let run_id = |keys: &str| {
        let text = format!("[bottleneck]\nrate = \"8Mbit\"\n{keys}\n");
        load_ok(&format!(
            "duration = \"10s\"\nflows = [{{ cc = \"reno\" }}]\n{text}"
        ))
        .points[0]
            .run_id
            .clone()
    };
    for (short, long) in [
        (
            "loss = { gilbert = { p = 0.001, r = 0.2, good = 0, bad = 0.5 } }",
            "kind = \"burst_loss\"\np = 0.001\nr = 0.2\ngood_loss = 0.0\nbad_loss = 0.5",
        ),
        (
            "delay = { steps = [[\"0s\", \"1ms\"], [\"3s\", \"35ms\"]] }",
            "kind = \"delay\"\nsteps = [[\"0s\", \"1ms\"], [\"3s\", \"35ms\"]]",
        ),
        (
            "reorder = { probability = 0.02, delay = \"10ms\" }",
            "kind = \"reorder\"\nprobability = 0.02\nby = \"10ms\"",
        ),
        (
            "duplicate = 0.03",
            "kind = \"duplicate\"\nprobability = 0.03",
        ),
        (
            "policer = { rate = \"5Mbit\", burst = \"30kb\" }",
            "kind = \"police\"\nrate = \"5Mbit\"\nburst = \"30kb\"",
        ),
    ] {
        let long = format!("[[bottleneck.impairments]]\n{long}");
        assert_eq!(run_id(short), run_id(&long), "{short}");
    }
    // `--set` can change a value inside a short form.
    let set = load_set(
        SMALL,
        &[
            ("bottleneck.loss.gilbert.p", "0.1"),
            ("bottleneck.loss.gilbert.r", "0.5"),
        ],
    );
    assert_eq!(
        set.points[0].plan.links[0].impairments[0].kind,
        "burst_loss"
    );
    assert_eq!(run_id("duplicate = 0"), run_id(""));
}
