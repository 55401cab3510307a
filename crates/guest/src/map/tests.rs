//! Tests the jobs that are made from plans. Also tests which keys errors name if Linux does not
//! support a plan.

use super::*;
use crate::job::Tool;
use common::{flow, impairment, link, plan};
use tailback_engine::aqm;
use tailback_engine::hosts;
use tailback_engine::plan::{
    AccEcnOption, Algorithm, Concerns, Delack, EcnFeedback, FlowPlan, Growth, ImpairmentPlan,
    LinkMode, Pacing, RatePlan, ReceiveBuffer, SceReceiver, Schedule, SlotsPlan, TrafficPlan,
    Windows,
};
use tailback_engine::registry::{Value, complete_defaults, text};
use tailback_engine::units::{Bytes, Rate};

#[path = "../../../engine/tests/common/mod.rs"]
mod common;
mod events;
mod programs;

const MS: fn(u64) -> Time = Time::from_ms;

fn kit() -> Kit {
    let module = |name: &str| (name.to_owned(), Some(format!("/modules/{name}.ko")));
    let tcp = |name: &str| (name.to_owned(), Some(format!("/modules/tcp_{name}.ko")));
    let mut kit = Kit {
        ccs: ["cubic", "dctcp", "bbr"].map(tcp).into(),
        qdiscs: [
            "codel", "pie", "red", "fq_codel", "fq_pie", "cake", "dualpi2",
        ]
        .map(module)
        .into(),
        extra: BTreeMap::from([
            ("tbsched".to_owned(), vec!["/modules/tbsched.ko".to_owned()]),
            (
                "my-codel".to_owned(),
                vec!["/modules/base.ko".to_owned(), "/modules/my.ko".to_owned()],
            ),
        ]),
        registers: BTreeMap::from([("my-codel".to_owned(), vec!["codel".to_owned()])]),
        ..Kit::default()
    };
    kit.ccs.insert("reno".to_owned(), None);
    kit.qdiscs.insert("fq".to_owned(), None);
    kit
}

fn cbr(name: &str) -> TrafficPlan {
    TrafficPlan {
        name: name.into(),
        count: 1,
        kind: "cbr",
        options: complete_defaults(traffic::ENTRIES[0]),
        start: Time::ZERO,
        stop: None,
        rtt: MS(20),
        route: vec![0],
        connections: None,
        answers: None,
        hosts: None,
        dscp: 0,
        class: None,
    }
}

fn second(mut link: LinkPlan, name: &str) -> LinkPlan {
    link.name = name.into();
    link
}

/// Returns a plan with a 100 Mbit/s CoDel link and one flow of CUBIC.
fn simple() -> Plan {
    plan(
        Time::from_secs(60),
        vec![link(100_000_000, "codel", &[])],
        vec![flow("cubic", "cubic", MS(20), &[])],
    )
}

/// Returns the job as text, without the lines that are the same for every namespace.
fn script(plan: &Plan) -> String {
    let job = map(plan, 1, &kit()).unwrap_or_else(|no| panic!("{no:#?}"));
    // Check that every device in a command line exists exactly once, and that no device belongs to
    // two veth pairs.
    let mut devices: Vec<(usize, &str)> = Vec::new();
    for veth in &job.veths {
        for end in [&veth.a, &veth.b] {
            let device = (end.namespace, end.name.as_str());
            assert!(!devices.contains(&device), "{device:?} twice");
            devices.push(device);
        }
    }
    let changes = job.changes.iter().map(|c| &c.batch);
    for batch in job.setup.iter().chain(changes) {
        for line in &batch.lines {
            let words: Vec<&str> = line.split(' ').collect();
            let at = words.iter().position(|w| *w == "dev");
            if let Some(device) = at.map(|i| words[i + 1]).filter(|d| *d != "lo") {
                let named = (batch.namespace, device);
                assert!(devices.contains(&named), "no device for {line}");
            }
        }
    }
    let text = job.to_string();
    let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with("sysctl")).collect();
    lines.join("\n")
}

#[test]
fn fair_queues_in_tcs_words() {
    for (aqm, set, words) in [
        (
            "fq_codel",
            vec![("ce_threshold", Value::Time(MS(1)))],
            "fq_codel limit 10240 target 5000us interval 100000us ecn ce_threshold 1000us \
             flows 1024 memory_limit 33554432 drop_batch 64",
        ),
        (
            "fq_pie",
            vec![("quantum", Value::Int(300)), ("flows", Value::Int(64))],
            "fq_pie limit 10240 target 15000us tupdate 15000us alpha 2 beta 20 noecn nobytemode \
             no_dq_rate_estimator flows 64 quantum 300 memory_limit 33554432 ecn_prob 10",
        ),
        (
            "dualpi2",
            vec![("any_ect", Value::Bool(true))],
            "dualpi2 limit 10000 target 15000us tupdate 16000us alpha 0.16015625 beta 3.19921875 \
             coupling_factor 2 step_thresh 1000us min_qlen_step 0 any_ect drop_on_overload \
             drop_dequeue classic_protection 10% split_gso",
        ),
        (
            "dualpi2",
            vec![
                ("step_thresh", Value::Packets(5)),
                ("memlimit", Value::Bytes(Bytes(1_000_000))),
                ("overload", Value::Word("overflow")),
                ("drop", Value::Word("enqueue")),
                ("max_rtt", Value::Time(MS(60))),
                ("split_gso", Value::Bool(false)),
            ],
            "dualpi2 limit 10000 memlimit 1000000 target 10000us tupdate 10000us alpha 0.27734375 \
             beta 5 coupling_factor 2 step_thresh 5p min_qlen_step 0 l4s_ect overflow \
             drop_enqueue classic_protection 10% no_split_gso",
        ),
    ] {
        let mut p = simple();
        p.links[0] = link(1_000_000, aqm, &set);
        let job = map(&p, 1, &kit()).unwrap().to_string();
        assert!(job.contains(words), "{job}");
    }
}

#[test]
fn one_flow_with_codel() {
    let job = map(&simple(), 1, &kit()).unwrap();
    insta::assert_snapshot!("one_flow_with_codel", job.to_string());
    assert_eq!(job.flows[0].access_delay_ns, 10_000_000);
    assert_eq!(job.links[0].rates, [(0, 100_000_000)]);
    assert_eq!(job.links[0].limit, crate::job::Limit::Packets(1000));
    assert_eq!(job.links[0].drops_at, crate::job::DropsAt::Dequeue);
    // The send buffer is 6 x 100 Mbit/s x 0.27 s / 8 bit. The duration of 0.27 s consists of 20 ms
    // of base RTT and 250 ms of queueing delay.
    assert_eq!(job.flows[0].send_buffer, 20_250_000);
}

#[test]
fn a_burst_is_that_of_rate_and_ceiling() {
    let mut plan = simple();
    let link = &mut plan.links[0];
    link.burst = Bytes(1_600);
    link.rate = RatePlan::Steps(vec![
        (Time::ZERO, Rate(10_000_000)),
        (MS(500), Rate(20_000_000_000)),
    ]);
    let job = script(&plan);
    let class = "htb rate 10000000bit ceil 10000000bit burst 1600b cburst 1600b quantum 1514";
    assert!(job.contains(class), "{job}");
    // The burst covers at least one tick of the guest's clock.
    let class = "htb rate 20000000000bit ceil 20000000000bit burst 2500b cburst 2500b";
    assert!(job.contains(class), "{job}");
}

#[test]
fn slots_are_a_netem_of_their_own() {
    let mut plan = simple();
    let link = &mut plan.links[0];
    link.delay = MS(5);
    link.jitter = MS(1);
    link.slots = Some(SlotsPlan {
        min: Time::from_us(800),
        max: MS(5),
        packets: 32,
        bytes: Bytes(0),
        delay: Time::from_us(200),
    });
    let job = script(&plan);
    let delay = "netem limit 1000000 delay 5500us 500us rate 100tbit seed";
    let slots = "netem limit 1000000 delay 200us slot 800us 5000us packets 32\n";
    assert!(job.contains(delay) && job.contains(slots), "{job}");
    let link = plan.links[0].slots.as_mut().unwrap();
    (link.delay, link.packets, link.bytes) = (Time::ZERO, 0, Bytes(20_000));
    assert!(script(&plan).contains("limit 1000000 slot 800us 5000us bytes 20000\n"));
}

/// The netem with a host's slots is the child of the netem with the host's delay. The child gets
/// packets when their delay has passed. Both hosts have these two netems.
#[test]
fn hosts_that_wait_have_slots_behind_their_delay() {
    let mut plan = simple();
    let ideal = script(&plan);
    plan.hosts = hosts::ENTRIES[1];
    let waiting = script(&plan);
    for device in ["data", "ack"] {
        let add = format!("tc qdisc add dev {device}");
        let delay = "netem limit 1000000 delay 10000us";
        let lines = [
            format!("{add} root handle 1: {delay}\n"),
            format!("{add} parent 1:1 netem limit 1000000 slot 10us 230us\n"),
        ];
        assert!(waiting.contains(&lines.concat()), "{waiting}");
        assert!(ideal.contains(&format!("{add} root {delay}\n")), "{ideal}");
    }
    assert_eq!(waiting.matches("slot").count(), 2);
}

#[test]
fn adaptive_red_is_told_its_flags_in_both_places() {
    let mut plan = simple();
    let set = [
        ("limit", Value::Bytes(Bytes(150_000))),
        ("burst", Value::Word("tc")),
        ("adaptive", Value::Bool(true)),
        ("ecn", Value::Bool(true)),
    ];
    plan.links[0] = link(50_000_000, "red", &set);
    let job = script(&plan);
    let red = "red limit 150000 min 12500 max 37500 avpkt 1000 burst 20 probability 0.02 \
               bandwidth 50000000bit ecn adaptive\n";
    assert!(job.contains(red), "{job}");
    assert!(job.contains("adapt out"), "{job}");
    plan.links[0] = link(50_000_000, "red", &set[..2]);
    assert!(!script(&plan).contains("adapt"));
}

#[test]
fn two_rtts_and_a_source() {
    let mut plan = simple();
    plan.flows.push(flow("far", "dctcp", MS(80), &[]));
    plan.flows.push(flow("cubic-2", "cubic", MS(20), &[]));
    plan.traffic.push(cbr("cbr"));
    insta::assert_snapshot!("two_rtts_and_a_source", script(&plan));
}

#[test]
fn a_route_over_two_links_that_parts() {
    let mut plan = simple();
    plan.links
        .push(second(link(50_000_000, "fifo", &[]), "second"));
    plan.flows[0].route = vec![0, 1];
    plan.flows.push(FlowPlan {
        route: vec![0],
        ..flow("short", "reno", MS(20), &[])
    });
    plan.flows.push(FlowPlan {
        route: vec![1],
        ..flow("late", "reno", MS(20), &[])
    });
    insta::assert_snapshot!("a_route_over_two_links_that_parts", script(&plan));
}

#[test]
fn both_directions_and_a_flow_the_other_way() {
    let mut plan = simple();
    plan.links
        .push(second(link(10_000_000, "codel", &[]), "bottleneck.back"));
    plan.flows[0].back = vec![1];
    plan.flows.push(FlowPlan {
        route: vec![1],
        back: vec![0],
        ..flow("upload", "cubic", MS(20), &[])
    });
    insta::assert_snapshot!("both_directions_and_a_flow_the_other_way", script(&plan));
}

#[test]
fn a_wire_with_delay_jitter_and_loss() {
    let mut plan = simple();
    let wire = &mut plan.links[0];
    wire.mode = LinkMode::Wire;
    wire.delay = MS(5);
    wire.overhead = 24;
    plan.links.push(LinkPlan {
        jitter: Time::from_us(300),
        loss: 0.01,
        ..second(plan.links[0].clone(), "jittery")
    });
    plan.flows[0].route = vec![0, 1];
    plan.flows.push(FlowPlan {
        route: vec![1],
        ..flow("late", "reno", MS(20), &[])
    });
    insta::assert_snapshot!("a_wire_with_delay_jitter_and_loss", script(&plan));
}

#[test]
fn impairments_are_netems_in_their_order() {
    let mut plan = simple();
    let outage = Windows(vec![(Time::from_secs(2), Time::from_secs(4))]);
    plan.links[0].impairments = vec![
        ImpairmentPlan {
            during: outage,
            ..impairment("burst_loss", &[("loss", "0.2"), ("burst", "4")])
        },
        impairment("delay", &[("steps", "0s 0ms, 1s 35ms")]),
        impairment("reorder", &[("probability", "0.02"), ("by", "3ms")]),
        ImpairmentPlan {
            only: Concerns::Acks,
            ..impairment("loss", &[])
        },
    ];
    let text = script(&plan);
    let netem = |line: &str| {
        line.contains("netem") && !line.contains("dev data") && !line.contains("dev ack")
    };
    let lines: Vec<&str> = text.lines().filter(|line| netem(line)).collect();
    let lines = lines.join("\n");
    insta::assert_snapshot!("impairments_are_netems_in_their_order", lines);
    let job = map(&plan, 1, &kit()).unwrap();
    assert!(job.links[0].loss_namespace.is_some());
    assert_eq!(job.links[0].loss_kind, None);
}

#[test]
fn a_policer_and_batches_of_acks_are_modules_of_tailbacks_own() {
    let mut plan = simple();
    plan.flows.push(FlowPlan {
        route: vec![],
        back: vec![0],
        ..flow("against", "reno", MS(20), &[])
    });
    let seconds = |from, to| (Time::from_secs(from), Time::from_secs(to));
    plan.links[0].impairments = vec![
        ImpairmentPlan {
            only: Concerns::Data,
            during: Windows(vec![seconds(2, 4), seconds(4, 5)]),
            ..impairment("police", &[("rate", "20Mbit"), ("burst", "64000b")])
        },
        impairment("ack_batch", &[("packets", "4"), ("time", "2ms")]),
    ];
    let without: Vec<_> = judge(&plan, &kit()).into_iter().map(|r| r.path).collect();
    let at = |place| format!("links[0].impairments[{place}].kind");
    assert_eq!(without, [at(0), at(1)]);
    let mut kit = kit();
    let files = ["sch_ack_batch", "sch_police"].map(|file| format!("/modules/{file}.ko"));
    kit.extra.insert("sch_impair".to_owned(), files.to_vec());
    assert_eq!(modules(&plan), BTreeSet::from(["sch_impair"]));
    let job = map(&plan, 1, &kit).unwrap();
    let loaded: Vec<_> = job.modules.iter().map(|module| &module.path).collect();
    assert!(
        files.iter().all(|file| loaded.contains(&file)),
        "{loaded:?}"
    );
    let own = job.setup.iter().filter(|batch| batch.tool == Tool::Qdisc);
    let lines: Vec<_> = own.flat_map(|batch| &batch.lines).collect();
    // A token bucket of 64,000 bytes lasts 25.6 ms at 20 Mbit/s.
    let police = "police rate 20000000 depth 25600000 mark 0 only data active 0";
    let batch = "ack_batch packets 4 time 2000000 newest 0 active 1";
    let add = |words| format!("qdisc add dev out root handle f: {words}");
    assert_eq!(lines, [&add(police), &add(batch)]);
    let changes = job.changes.iter();
    let changes: Vec<_> = changes
        .map(|c| (c.at_ns / 1_000_000_000, c.batch.lines[0].as_str()))
        .collect();
    let (on, off) = (
        "qdisc change dev out root handle f: police active 1",
        "qdisc change dev out root handle f: police active 0",
    );
    assert_eq!(changes, [(2, on), (4, on), (5, off)]);
    // The agent captures packets at the policer. The agent does not capture packets at `ack_batch`,
    // which drops no ACK.
    assert_eq!(job.links[0].loss_kind.as_deref(), Some("police"));
}

#[test]
fn impairments_that_linux_does_not_have() {
    let mut plan = simple();
    plan.links[0].loss = 0.1;
    plan.links[0].impairments = vec![
        impairment("loss", &[]),
        impairment("tunnel", &[]),
        ImpairmentPlan {
            only: Concerns::Acks,
            ..impairment("duplicate", &[])
        },
        impairment("reorder", &[("distance", "3")]),
    ];
    plan.flows.push(FlowPlan {
        route: vec![],
        back: vec![0],
        ..flow("against", "reno", MS(20), &[])
    });
    let refused = judge(&plan, &kit()).into_iter().map(|refusal| refusal.path);
    let expected = ["[0].kind", "[1].kind", "[2].only", "[3].distance"];
    let expected = expected.map(|at| format!("links[0].impairments{at}"));
    assert_eq!(refused.collect::<Vec<_>>(), expected);
}

#[test]
fn steps_of_a_wire() {
    let mut plan = simple();
    plan.links[0].mode = LinkMode::Wire;
    plan.links[0].rate = RatePlan::Steps(vec![
        (Time::ZERO, Rate(50_000_000)),
        (Time::from_secs(30), Rate(5_000_000)),
    ]);
    insta::assert_snapshot!("steps_of_a_wire", script(&plan));
    let job = map(&plan, 1, &kit()).unwrap();
    assert_eq!(
        job.links[0].rates,
        [(0, 50_000_000), (30_000_000_000, 5_000_000)]
    );
}

#[test]
fn an_outage_holds_the_shaper_back() {
    let mut plan = simple();
    let mut with_module = kit();
    let outage = vec!["/modules/sch_outage.ko".to_owned()];
    with_module.extra.insert("sch_outage".to_owned(), outage);
    plan.links[0].rate = RatePlan::Steps(vec![
        (Time::ZERO, Rate(50_000_000)),
        (Time::from_secs(2), Rate(0)),
        (Time::from_secs(4), Rate(10_000_000)),
    ]);
    assert_eq!(modules(&plan), BTreeSet::from(["sch_outage"]));
    let job = map(&plan, 1, &with_module).unwrap();
    let lines = job.changes.iter().map(|change| {
        let line = change.batch.lines.join(" ");
        (change.at_ns / 1_000_000_000, change.batch.tool, line)
    });
    let class = "class change dev out parent 1: classid 1:1 htb rate 10000000bit ceil 10000000bit burst 2b cburst 2b quantum 1514";
    let outage = |closed| format!("qdisc change dev out root handle f: outage closed {closed}");
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            (2, Tool::Qdisc, outage(1)),
            (4, Tool::Tc, class.to_owned()),
            (4, Tool::Qdisc, outage(0)),
        ]
    );
    let mut setup = job.setup.iter().flat_map(|batch| &batch.lines);
    assert!(setup.any(|line| line == "qdisc add dev out parent f:1 handle 1: htb default 1"));
    // Cake has its own shaper, which the module `outage` does not support.
    plan.links[0].queue = link(1_000_000, "cake", &[]).queue;
    let refused = judge(&plan, &with_module);
    assert_eq!(refused[0].path, "links[0].rate");
    assert!(refused[0].message.contains("shaper of cake"), "{refused:?}");
}

#[test]
fn scheduled_marks_before_the_queue() {
    let mut plan = simple();
    plan.links[0].schedule = Some(Schedule {
        marks: vec![100, 200],
        drops: vec![],
    });
    insta::assert_snapshot!("scheduled_marks_before_the_queue", script(&plan));
    let job = map(&plan, 1, &kit()).unwrap();
    assert_eq!(job.links[0].scheduled_marks, [100, 200]);
    let x = job.links[0].schedule_namespace.unwrap();
    assert_eq!(job.namespaces[x].name, "x0");
}

#[test]
fn red_and_options_of_the_stack() {
    let mut plan = simple();
    plan.links = vec![link(
        10_000_000,
        "red",
        &[
            ("min", Value::Bytes(Bytes(30_000))),
            ("max", Value::Bytes(Bytes(90_000))),
            ("ecn", Value::Bool(true)),
        ],
    )];
    plan.host_jitter = Time::from_us(100);
    let set = [("beta", Value::Float(0.8)), ("hystart", Value::Bool(false))];
    plan.flows = vec![flow("cubic", "cubic", MS(20), &set)];
    let tcp = &mut plan.flows[0].tcp;
    (tcp.timestamps, tcp.header) = (false, 54);
    tcp.initial_cwnd = 3;
    tcp.min_rto = MS(50);
    tcp.delack = Delack::OFF;
    tcp.rwnd = Bytes(100_000);
    tcp.pacing = Pacing::Fq;
    plan.flows[0].ecn = true;
    insta::assert_snapshot!(
        "red_and_options_of_the_stack",
        map(&plan, 1, &kit()).unwrap().to_string()
    );
}

/// If TCP may join segments, the sender has no limit on the size of joined segments. The offloads
/// of the sender's device stay off, so single segments arrive at the queues.
#[test]
fn a_sender_may_join_segments_before_its_device_separates_them() {
    let limits = |pacing| {
        let mut plan = simple();
        plan.flows[0].tcp.pacing = pacing;
        let job = map(&plan, 1, &kit()).unwrap();
        assert!(!job.offloads);
        let script = job.to_string();
        script.matches("gso_max_segs 1").count()
    };
    assert_eq!([Pacing::Auto, Pacing::Gso].map(limits), [1, 0]);
}

#[test]
fn accurate_ecn_is_a_setting_of_both_hosts() {
    let mut plan = simple();
    plan.flows[0].ecn = true;
    plan.flows[0].tcp.ecn_feedback = EcnFeedback::AccEcn;
    plan.flows[0].tcp.accecn_option = AccEcnOption::Minimum;
    let script = map(&plan, 1, &kit()).unwrap().to_string();
    let lines = |wanted: &str| script.lines().filter(|line| *line == wanted).count();
    assert_eq!(lines("sysctl net/ipv4/tcp_ecn = 3"), 2);
    assert_eq!(lines("sysctl net/ipv4/tcp_ecn_option = 1"), 2);
}

#[test]
fn of_the_kernel_only() {
    let mut plan = simple();
    plan.links[0].queue = Algorithm::Kernel {
        name: "cake".into(),
        args: "flowblind besteffort".into(),
    };
    plan.flows[0].cc = Algorithm::Kernel {
        name: "bbr".into(),
        args: String::new(),
    };
    plan.links.push(LinkPlan {
        module: Some("my-codel".into()),
        ..second(link(1_000_000, "codel", &[]), "unused")
    });
    insta::assert_snapshot!("of_the_kernel_only", script(&plan));
}

#[test]
fn cake_shapes_itself() {
    let mut plan = simple();
    let cake = || Algorithm::Kernel {
        name: "cake".into(),
        args: "flowblind besteffort".into(),
    };
    plan.links[0].queue = cake();
    plan.links[0].rate = RatePlan::Steps(vec![
        (Time::ZERO, Rate(50_000_000)),
        (Time::from_secs(30), Rate(5_000_000)),
    ]);
    plan.links.push(LinkPlan {
        queue: cake(),
        overhead: 4,
        ..second(link(10_000_000, "fifo", &[]), "bottleneck.back")
    });
    plan.flows[0].back = vec![1];
    insta::assert_snapshot!("cake_shapes_itself", script(&plan));
    let job = map(&plan, 1, &kit()).unwrap();
    assert_eq!(job.links[0].kind, "cake");
    assert_eq!(job.links[0].limit, crate::job::Limit::Unknown);
    assert_eq!(job.links[0].drops_at, crate::job::DropsAt::Dequeue);
}

#[test]
fn cake_has_every_word_of_tc() {
    let words = |set: &[(&'static str, Value)]| {
        let mut plan = simple();
        plan.links[0] = link(50_000_000, "cake", set);
        let job = map(&plan, 1, &kit()).unwrap_or_else(|no| panic!("{no:#?}"));
        let lines = job.setup.into_iter().flat_map(|batch| batch.lines);
        let mut cake: Vec<String> = lines.filter(|l| l.contains(" cake ")).collect();
        cake.pop().unwrap()
    };
    assert_eq!(
        words(&[]),
        "qdisc add dev out root handle 10: cake bandwidth 50000000bit diffserv3 triple-isolate rtt 100000us no-ack-filter noatm egress nowash split-gso"
    );
    assert_eq!(
        words(&[
            ("tins", Value::Word("besteffort")),
            ("flow", Value::Word("dual-srchost")),
            ("rtt", Value::Time(MS(10))),
            ("ack_filter", Value::Word("aggressive")),
            ("overhead", Value::Int(-20)),
            ("mpu", Value::Int(84)),
            ("atm", Value::Word("ptm")),
            ("memlimit", Value::Bytes(Bytes(1 << 20))),
            ("ingress", Value::Bool(true)),
            ("wash", Value::Bool(true)),
            ("split_gso", Value::Bool(false)),
        ]),
        "qdisc add dev out root handle 10: cake bandwidth 50000000bit besteffort dual-srchost rtt 10000us ack-filter-aggressive overhead -20 mpu 84 ptm memlimit 1048576 ingress wash no-split-gso"
    );
}

#[test]
fn flows_are_on_the_hosts_they_name() {
    let on = |name: &str, hosts: [&str; 2]| FlowPlan {
        hosts: Some(hosts.map(str::to_owned)),
        dscp: 46,
        ..flow(name, "cubic", MS(20), &[])
    };
    let mut plan = simple();
    plan.flows = vec![
        on("a", ["x", "y"]),
        on("b", ["x", "y"]),
        on("c", ["u", "v"]),
        flow("d", "cubic", MS(20), &[]),
    ];
    let job = map(&plan, 1, &kit()).unwrap();
    let senders: Vec<_> = job.flows.iter().map(|f| f.sender_address).collect();
    assert_eq!(senders[0], senders[1]);
    assert!(senders[2] != senders[0] && senders[3] != senders[2] && senders[3] != senders[0]);
    assert_eq!(
        job.flows.iter().map(|f| f.dscp).collect::<Vec<_>>(),
        [46, 46, 46, 0]
    );
    // The simulator must assign the same numbers to hosts.
    let info = plan.flow_info();
    assert_eq!(
        info.iter().map(|i| i.source).collect::<Vec<_>>(),
        [0, 0, 2, 4]
    );
    // In the simulator, a host may belong to two pairs of sender and receiver. In the guest, each
    // host may belong to only one pair, because hosts are namespaces.
    plan.flows[2] = on("c", ["x", "v"]);
    assert_eq!(plan.flow_info()[2].source, 0);
    let no = judge(&plan, &kit());
    assert_eq!(
        no.iter().map(|r| r.path.as_str()).collect::<Vec<_>>(),
        ["flows[2].hosts"]
    );
}

#[test]
fn fq_pie_takes_pie_along() {
    let mut plan = simple();
    plan.links[0].queue = Algorithm::Kernel {
        name: "fq_pie".into(),
        args: String::new(),
    };
    let job = map(&plan, 1, &kit()).unwrap();
    let paths: Vec<&str> = job.modules.iter().map(|m| m.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/modules/pie.ko",
            "/modules/fq_pie.ko",
            "/modules/tcp_cubic.ko"
        ]
    );
}

#[test]
fn many_flows_share_the_buffers() {
    let mut plan = simple();
    plan.flows[0].count = 1000;
    let job = map(&plan, 1, &kit()).unwrap();
    let total: u64 = job.flows.iter().map(|f| u64::from(f.send_buffer)).sum();
    assert_eq!(total, (1 << 30) / 1000 * 1000);
    assert_eq!(
        (job.flows[999].name.as_str(), job.flows[999].port),
        ("cubic/1000", 6000)
    );
    assert_eq!(job.namespaces.len(), 3, "one group, one link");
}

#[test]
fn texts_of_options_are_read_back() {
    use tailback_engine::registry::{Opt, Options, parse_word};
    use tailback_engine::{aqm, cc};
    fn check(options: &'static [Opt], values: &Options, checked: &mut usize) {
        for (name, value) in values.iter() {
            let kind = options.iter().find(|o| o.name == name).unwrap().kind;
            if let tailback_engine::registry::Kind::Table(inner) = kind {
                check(inner, values.table(name), checked);
                continue;
            }
            assert_eq!(parse_word(kind, &text(value)).as_ref(), Ok(value), "{name}");
            *checked += 1;
        }
    }
    let mut checked = 0;
    for entry in aqm::ENTRIES {
        check(entry.options, &complete_defaults(entry), &mut checked);
    }
    for entry in cc::ENTRIES {
        check(entry.options, &complete_defaults(entry), &mut checked);
    }
    for entry in traffic::ENTRIES {
        check(entry.options, &complete_defaults(entry), &mut checked);
    }
    assert!(checked > 50, "{checked}");
}

/// Returns a traffic source that makes requests over the link of `simple`.
fn web(name: &str) -> TrafficPlan {
    let entry = find(traffic::ENTRIES, "web").unwrap();
    let server = flow(name, "cubic", MS(20), &[]);
    TrafficPlan {
        kind: entry.name,
        options: complete_defaults(entry),
        answers: None,
        connections: Some(Box::new(ConnectionsPlan {
            cc: server.cc,
            module: None,
            ecn: false,
            back: vec![],
            tcp: server.tcp,
            limit: 20,
        })),
        ..cbr(name)
    }
}

/// Tests that each client has its own port, after the ports of flows and sources. Also tests that
/// the connections of a source use the hosts of flows with the same TCP settings.
#[test]
fn clients_have_ports_behind_all_others() {
    let mut plan = simple();
    plan.traffic = vec![cbr("c"), web("a"), web("b")];
    let connections = plan.traffic[2].connections.as_mut().unwrap();
    connections.ecn = true;
    connections.limit = 3;
    let job = map(&plan, 1, &kit()).unwrap_or_else(|no| panic!("{no:#?}"));
    assert_eq!(job.flows[0].port, 5001);
    let ports: Vec<u16> = job.sources.iter().map(|s| s.port).collect();
    assert_eq!(ports, [5002, 5003, 5004]);
    let of = |source: usize| job.sources[source].connections.as_ref();
    assert!(of(0).is_none());
    let (a, b) = (of(1).unwrap(), of(2).unwrap());
    assert_eq!((a.first_port, a.limit), (5005, 20));
    assert_eq!((b.first_port, b.limit), (5025, 3));
    assert_eq!((a.flow.port, b.flow.port), (5003, 5004));
    assert_eq!(
        (a.rate_bit, a.rtt_ns, a.most_bytes),
        (100_000_000, 20_000_000, 1_000_000)
    );
    assert_eq!(a.flow.kernel_cc, "cubic");
    // The simulator must assign the same owner numbers to packets.
    assert_eq!(job.owners(), plan.owners());
    assert_eq!(job.owners().len(), 4 + 20 + 3);
    assert_eq!(job.owners()[..5], [0, 1, 2, 3, 2]);
    // The kernel sets ECN per host, so connections with and without ECN use different hosts.
    assert_eq!(job.sources[1].sender, job.flows[0].sender);
    assert_ne!(job.sources[2].sender, job.flows[0].sender);
}

/// Clients that close with a FIN must leave no TIME_WAIT state, which would block their ports.
#[test]
fn only_hosts_that_share_connections_have_no_time_wait() {
    let sysctls = |reuse| {
        let mut plan = simple();
        let mut source = web("w");
        source.options.set("reuse", Value::Bool(reuse));
        source.options.set("idle", Value::Time(Time::ZERO));
        plan.traffic = vec![source];
        let job = map(&plan, 1, &kit()).unwrap_or_else(|no| panic!("{no:#?}"));
        let of = job.namespaces[job.sources[0].receiver].sysctls.clone();
        of.into_iter()
            .filter(|(path, _)| path.ends_with("max_tw_buckets"))
            .collect::<Vec<_>>()
    };
    assert_eq!(sysctls(false), []);
    assert_eq!(
        sysctls(true),
        [("net/ipv4/tcp_max_tw_buckets".to_owned(), "0".to_owned())]
    );
}

#[test]
fn connections_are_refused_as_flows_are() {
    let path = |change: fn(&mut ConnectionsPlan)| {
        refused(|plan| {
            let mut source = web("w");
            change(source.connections.as_mut().unwrap());
            plan.traffic.push(source);
        })
    };
    assert_eq!(path(|_| {}), [""; 0]);
    assert_eq!(path(|c| c.tcp.header = 40), ["traffic[0].tcp.header"]);
    assert_eq!(
        path(|c| c.tcp.growth = Growth::Acks),
        ["traffic[0].tcp.growth"]
    );
    assert_eq!(path(|c| c.limit = 5000), ["traffic[0].limit"]);
    assert_eq!(path(|c| c.back = vec![0, 0]), ["traffic[0].back"]);
    let reno_sce = |c: &mut ConnectionsPlan| {
        c.cc = flow("f", "reno-sce", MS(20), &[]).cc;
        c.ecn = true;
    };
    assert_eq!(path(reno_sce), ["traffic[0].cc"]);
    // Each client needs its own port, so 60 sources with 1000 clients each need more ports than
    // exist.
    let many = refused(|plan| plan.traffic = (0..60).map(|i| web(&format!("w{i}"))).collect());
    assert_eq!(many, [""; 0]);
    let many = refused(|plan| {
        plan.traffic = (0..60).map(|i| web(&format!("w{i}"))).collect();
        for source in &mut plan.traffic {
            source.connections.as_mut().unwrap().limit = 1000;
        }
    });
    assert_eq!(many, ["flows"]);
}

/// Returns the paths of the keys that are rejected after `change` has changed the plan `simple`.
fn refused(change: impl FnOnce(&mut Plan)) -> Vec<String> {
    let mut plan = simple();
    change(&mut plan);
    judge(&plan, &kit()).into_iter().map(|r| r.path).collect()
}

fn red(set: &[(&'static str, Value)]) -> LinkPlan {
    link(10_000_000, "red", set)
}

fn controlled(cc: &str, set: &[(&'static str, Value)]) -> FlowPlan {
    flow("f", cc, MS(20), set)
}

#[test]
fn refusals_name_their_place() {
    assert_eq!(refused(|_| {}), [""; 0]);
    // The kernel engine does not pause hosts.
    for kind in hosts::ENTRIES {
        let found = refused(|plan| plan.hosts = kind);
        assert_eq!(found == ["hosts"], kind.pauses.is_some(), "{}", kind.name);
    }
    type Change = Box<dyn FnOnce(&mut Plan)>;
    let kernel = |name: &str| Algorithm::Kernel {
        name: name.to_owned(),
        args: String::new(),
    };
    let (cakee, newest) = (kernel("cakee"), kernel("newest"));
    let cake = |args: &str| Algorithm::Kernel {
        name: "cake".to_owned(),
        args: args.to_owned(),
    };
    let packets = |n| Value::Packets(n);
    let cases: Vec<(&str, Change)> = vec![
        (
            "links[0].rate",
            Box::new(|p| p.links[0].rate = RatePlan::Trace([MS(1)].into())),
        ),
        (
            "links[0].rate",
            Box::new(|p| {
                let steps = vec![(Time::ZERO, Rate(8_000)), (MS(1), Rate(0))];
                p.links[0].rate = RatePlan::Steps(steps);
            }),
        ),
        ("links[0].overhead", Box::new(|p| p.links[0].overhead = -4)),
        (
            "links[0].count_in_service",
            Box::new(|p| p.links[0].count_in_service = true),
        ),
        (
            "links[0].jitter",
            Box::new(|p| p.links[0].jitter = Time::from_secs(5)),
        ),
        // The guest kernel of this test does not contain the required tailback modules.
        (
            "links[0].queue.module",
            Box::new(|p| p.links[0] = link(1_000_000, "wred", &[])),
        ),
        (
            "links[0].queue.module",
            Box::new(|p| p.links[0] = link(1_000_000, "step", &[])),
        ),
        (
            "links[0].queue.sce",
            Box::new(|p| p.links[0] = link(1_000_000, "cake", &[("sce", Value::Word("on"))])),
        ),
        (
            "links[0].queue.ce_threshold",
            Box::new(|p| {
                let threshold = [("ce_threshold", Value::Time(MS(1)))];
                p.links[0] = link(1_000_000, "fq", &threshold);
            }),
        ),
        (
            "links[0].queue.fresh",
            Box::new(|p| {
                let interval = [("fresh", Value::Word("interval"))];
                p.links[0] = link(1_000_000, "cake", &interval);
            }),
        ),
        ("links[0].queue", Box::new(|p| p.links[0].queue = cakee)),
        (
            "links[0].queue",
            Box::new(move |p| p.links[0].queue = cake("flowblind bandwidth 1mbit")),
        ),
        (
            "links[0].overhead",
            Box::new(move |p| (p.links[0].queue, p.links[0].overhead) = (cake(""), 243)),
        ),
        (
            "links[0].overhead",
            Box::new(move |p| (p.links[0].queue, p.links[0].overhead) = (cake("docsis"), 4)),
        ),
        (
            "links[0].queue.module",
            Box::new(|p| p.links[0].module = Some("mine".into())),
        ),
        (
            "links[1].queue.module",
            Box::new(|p| {
                p.links.push(LinkPlan {
                    module: Some("my-codel".into()),
                    ..second(p.links[0].clone(), "b")
                });
            }),
        ),
        (
            "links[0].queue.target",
            Box::new(|p| {
                p.links[0] = link(1_000_000, "codel", &[("target", Value::Time(Time(1_500)))]);
            }),
        ),
        (
            "links[0].queue.sce",
            Box::new(|p| {
                p.links[0] = link(1_000_000, "fq_codel", &[("sce", Value::Word("on"))]);
            }),
        ),
        (
            "links[0].queue.memory_limit",
            Box::new(|p| {
                let size = Value::Bytes(Bytes(1 << 32));
                p.links[0] = link(1_000_000, "fq_pie", &[("memory_limit", size)]);
            }),
        ),
        (
            "links[0].queue.version",
            Box::new(|p| {
                p.links[0] = link(1_000_000, "pie", &[("version", Value::Word("linux-3.14"))]);
            }),
        ),
        (
            "links[0].queue.alpha",
            Box::new(|p| p.links[0] = link(1_000_000, "pie", &[("alpha", Value::Int(0))])),
        ),
        (
            "links[0].queue.module",
            Box::new(|p| {
                let version = Value::Word("dualpi2-2019-wrr-counter");
                p.links[0] = link(1_000_000, "dualpi2", &[("version", version)]);
            }),
        ),
        (
            "links[0].queue.module",
            Box::new(|p| {
                let half = Value::Word("div127");
                p.links[0] = link(1_000_000, "dualpi2", &[("arithmetic", half)]);
            }),
        ),
        (
            "links[0].queue.module",
            Box::new(|p| p.links[0] = link(1_000_000, "dualpi2", &[("l_drop", Value::Int(100))])),
        ),
        (
            "links[0].queue.module",
            Box::new(|p| p.links[0] = link(1_000_000, "pi2", &[])),
        ),
        (
            "links[0].queue.gentle",
            Box::new(|p| p.links[0] = red(&[("gentle", Value::Bool(true))])),
        ),
        (
            "links[0].queue.uniformise",
            Box::new(|p| p.links[0] = red(&[("uniformise", Value::Word("wait"))])),
        ),
        (
            "links[0].queue.idle",
            Box::new(|p| p.links[0] = red(&[("idle", Value::Word("decay"))])),
        ),
        (
            "links[0].queue.include_arriving",
            Box::new(|p| p.links[0] = red(&[("include_arriving", Value::Bool(true))])),
        ),
        (
            "links[0].queue.limit",
            Box::new(move |p| {
                p.links[0] = red(&[
                    ("limit", packets(100)),
                    ("max", Value::Bytes(Bytes(90_000))),
                ]);
            }),
        ),
        (
            "links[0].queue.weight",
            Box::new(|p| p.links[0] = red(&[("weight", Value::Float(1.0))])),
        ),
        (
            "links[0].queue.weight",
            Box::new(|p| p.links[0] = red(&[("min", Value::Bytes(Bytes(900)))])),
        ),
        (
            "links[0].queue.probability",
            Box::new(|p| p.links[0] = red(&[("probability", Value::Float(0.0))])),
        ),
        (
            "links[0].queue.max",
            Box::new(|p| p.links[0] = red(&[("max", Value::Bytes(Bytes(1 << 23)))])),
        ),
        (
            "links[1].schedule",
            Box::new(|p| {
                p.links[0].schedule = Some(Schedule::default());
                p.links.push(second(p.links[0].clone(), "b"));
            }),
        ),
        (
            "links[0].schedule.drops",
            Box::new(|p| {
                p.links[0].schedule = Some(Schedule {
                    marks: vec![],
                    drops: (1..=4097).collect(),
                });
            }),
        ),
        (
            "flows[0].tcp.growth",
            Box::new(|p| p.flows[0].tcp.growth = Growth::Acks),
        ),
        (
            "flows[0].tcp.sce_receiver",
            Box::new(|p| p.flows[0].tcp.sce_receiver = SceReceiver::Split),
        ),
        (
            "flows[0].tcp.ecn_feedback",
            Box::new(|p| {
                p.flows[0].ecn = true;
                p.flows[0].tcp.ecn_feedback = EcnFeedback::Rfc3168;
            }),
        ),
        (
            "flows[0].cc",
            Box::new(|p| p.flows[0] = controlled("prague", &[])),
        ),
        (
            "flows[0].tcp.initial_ssthresh",
            Box::new(|p| p.flows[0].tcp.initial_ssthresh = 10),
        ),
        (
            "flows[0].tcp.rcvbuf",
            Box::new(|p| p.flows[0].tcp.rcvbuf = ReceiveBuffer::Auto),
        ),
        (
            "flows[0].tcp.pacing_ca_ratio",
            Box::new(|p| p.flows[0].tcp.pacing_ca_ratio = 40),
        ),
        (
            "flows[0].cc",
            Box::new(|p| p.flows[0] = controlled("dctcp-sce", &[])),
        ),
        (
            "flows[0].cc.receiver",
            Box::new(|p| {
                p.flows[0] = controlled("dctcp", &[("receiver", Value::Word("sticky"))]);
            }),
        ),
        (
            "flows[0].tcp.header",
            Box::new(|p| p.flows[0].tcp.header = 40),
        ),
        (
            "flows[0].tcp.header",
            Box::new(|p| p.flows[0].tcp.timestamps = false),
        ),
        (
            "flows[0].tcp.min_rto",
            Box::new(|p| p.flows[0].tcp.min_rto = Time::from_us(1_500)),
        ),
        (
            "flows[0].tcp.rwnd",
            Box::new(|p| p.flows[0].tcp.rwnd = Bytes(1 << 31)),
        ),
        (
            "flows[0].route",
            Box::new(|p| p.flows[0].route = vec![0, 0]),
        ),
        ("flows[0].back", Box::new(|p| p.flows[0].back = vec![7])),
        ("flows[0].cc", Box::new(|p| p.flows[0].cc = newest)),
        (
            "flows[0].cc.module",
            Box::new(|p| p.flows[0].module = Some("mine".into())),
        ),
        // This module exists, but it contains a queue discipline instead of a congestion control.
        (
            "flows[0].cc.module",
            Box::new(|p| p.flows[0].module = Some("my-codel".into())),
        ),
        (
            "flows[0].cc.beta",
            Box::new(|p| p.flows[0] = controlled("reno", &[("beta", Value::Float(0.7))])),
        ),
        // The guest kernel of this test does not contain the required tailback module.
        (
            "flows[0].cc.module",
            Box::new(|p| p.flows[0] = controlled("reno", &[("beta_ecn", Value::Float(0.8))])),
        ),
        (
            "flows[0].cc.module",
            Box::new(|p| p.flows[0] = controlled("cubic", &[("beta_ecn", Value::Float(0.85))])),
        ),
        (
            "flows[0].cc.abe",
            Box::new(|p| {
                p.flows[0] = controlled(
                    "reno",
                    &[
                        ("abe", Value::Word("rfc8511")),
                        ("beta_ecn", Value::Float(0.5)),
                    ],
                );
            }),
        ),
        (
            "flows[0].cc.friendly_alpha_one",
            Box::new(|p| {
                p.flows[0] = controlled("cubic", &[("friendly_alpha_one", Value::Bool(true))]);
            }),
        ),
        (
            "flows[0].cc.hystart_ack_delay",
            Box::new(|p| {
                p.flows[0] = controlled("cubic", &[("hystart_ack_delay", Value::Bool(false))]);
            }),
        ),
        (
            "flows[1].cc",
            Box::new(|p| {
                p.flows
                    .push(controlled("cubic", &[("hystart", Value::Bool(false))]));
            }),
        ),
        (
            "flows[0].cc.module",
            Box::new(|p| {
                p.flows[0] = controlled("dctcp", &[("version", Value::Word("paper-2014"))]);
            }),
        ),
        (
            "flows[0].cc.loss",
            Box::new(|p| p.flows[0] = controlled("dctcp", &[("loss", Value::Word("none"))])),
        ),
        (
            "record.events",
            Box::new(|p| (p.record.captures, p.record.events) = (false, true)),
        ),
        (
            "record.packets",
            Box::new(|p| (p.record.captures, p.record.packets) = (false, true)),
        ),
        (
            "record.statistics",
            Box::new(|p| (p.record.captures, p.record.statistics) = (false, Time::from_secs(1))),
        ),
        (
            "traffic[0].kind",
            Box::new(|p| {
                p.traffic.push(TrafficPlan {
                    kind: "telepathy",
                    ..cbr("t")
                });
            }),
        ),
    ];
    for (n, (path, change)) in cases.into_iter().enumerate() {
        assert_eq!(refused(change), [path], "case {n}");
    }
}

#[test]
fn refusals_say_what_is_possible() {
    let mut plan = simple();
    plan.links[0] = red(&[("weight", Value::Float(0.0015))]);
    plan.flows[0].cc = Algorithm::Kernel {
        name: "cubik".into(),
        args: String::new(),
    };
    let said: Vec<String> = judge(&plan, &kit())
        .into_iter()
        .map(|r| format!("{}; expected {}", r.message, r.expected.unwrap_or_default()))
        .collect();
    assert_eq!(
        said,
        [
            "tc supports only powers of two; expected weight = 0.0009765625 or 0.001953125",
            "this kernel has no congestion control cubik; expected one of cubic, bbr, dctcp, reno",
        ]
    );
}

#[test]
fn no_module_for_a_schedule() {
    let mut plan = simple();
    plan.links[0].schedule = Some(Schedule::default());
    let bare = Kit {
        extra: BTreeMap::new(),
        ..kit()
    };
    assert_eq!(judge(&plan, &bare)[0].path, "links[0].schedule");
}

/// Linux's BBR has no parameters, and BBRv3 is available only as a module that the user supplies.
#[test]
fn bbr_is_linux_own_and_bbr3_a_module_of_ones_own() {
    let mut plan = simple();
    plan.flows[0] = controlled("bbr", &[]);
    let job = map(&plan, 1, &kit()).unwrap();
    let module = job.modules.last().unwrap();
    assert_eq!(job.flows[0].kernel_cc, "bbr");
    assert_eq!(module.parameters, "");
    plan.flows[0] = controlled("bbr", &[("probe_gain", Value::Float(1.5))]);
    let refused = judge(&plan, &kit());
    assert_eq!(refused[0].path, "flows[0].cc.probe_gain");
    plan.flows[0] = controlled("bbr3", &[]);
    let refused = judge(&plan, &kit());
    assert_eq!(refused[0].path, "flows[0].cc");
    assert_eq!(
        refused[0].message,
        "this kernel has no congestion control bbr3"
    );
    let expected = refused[0].expected.as_deref().unwrap_or_default();
    assert!(
        expected.contains("tailback kernel build --module"),
        "{expected}"
    );
}

#[test]
fn options_of_dctcp_are_parameters() {
    let mut plan = simple();
    let set = [
        ("g", Value::Float(1.0 / 256.0)),
        ("alpha_init", Value::Float(0.0)),
    ];
    plan.flows[0] = controlled("dctcp", &set);
    let job = map(&plan, 1, &kit()).unwrap();
    assert_eq!(job.flows[0].kernel_cc, "dctcp");
    assert_eq!(
        job.modules.last().unwrap().parameters,
        "dctcp_shift_g=8 dctcp_alpha_on_init=0"
    );
}

/// Other versions of DCTCP, and window growth that counts ACKs instead of segments, need tailback
/// modules.
#[test]
fn linux_as_it_was_is_a_module_of_ours() {
    let mut kit = kit();
    kit.version = "7.3.4".to_owned();
    for name in ["tcp_dctcp_2014", "tcp_reno_acks"] {
        let path = format!("/extra/{name}/{name}.ko");
        kit.extra.insert(name.to_owned(), vec![path]);
    }
    let of = |cc: &str, set: &[(&'static str, Value)], growth, kit: &Kit| {
        let mut plan = simple();
        plan.flows[0] = controlled(cc, set);
        plan.flows[0].tcp.growth = growth;
        let job = map(&plan, 1, kit).map_err(|no| format!("{}: {}", no[0].path, no[0].message))?;
        let module = job.modules.last().unwrap();
        Ok::<_, String>((job.flows[0].kernel_cc.clone(), module.parameters.clone()))
    };
    let pair = |name: &str, parameters: &str| Ok((name.to_owned(), parameters.to_owned()));
    let paper = [("version", Value::Word("paper-2014"))];
    assert_eq!(
        of("dctcp", &paper, Growth::Acks, &kit),
        pair(
            "dctcp_2014",
            "shift_g=8 alpha_bits=20 alpha_init=0 shift_decay=1 per_ack=1 normalise=0 loss=1 \
             reduction=2 below=1 grow_in_cwr=1 sticky=0 growth_acks=1"
        )
    );
    let patch = [
        ("version", Value::Word("patch-2012")),
        ("receiver", Value::Word("sticky")),
    ];
    assert_eq!(
        of("dctcp", &patch, Growth::Segments, &kit),
        pair(
            "dctcp_2014",
            "shift_g=4 alpha_bits=10 alpha_init=0 shift_decay=1 per_ack=0 normalise=0 loss=1 \
             reduction=1 below=0 grow_in_cwr=0 sticky=1"
        )
    );
    assert_eq!(of("reno", &[], Growth::Acks, &kit), pair("reno_acks", ""));
    for (cc, set, kernel, said) in [
        (
            "cubic",
            &[][..],
            "7.3.4",
            "flows[0].tcp.growth: cubic counts acknowledged segments",
        ),
        (
            "dctcp",
            &[][..],
            "7.3.4",
            "flows[0].tcp.growth: dctcp counts acknowledged segments",
        ),
        (
            "reno",
            &[("beta_ecn", Value::Float(0.8))][..],
            "7.3.4",
            "flows[0].tcp.growth: reno_abe counts acknowledged segments",
        ),
        (
            "dctcp",
            &[
                ("version", Value::Word("patch-2012")),
                ("cut", Value::Word("round")),
            ][..],
            "7.3.4",
            "flows[0].cc.cut: tcp_dctcp_2014 has no cut = \"round\"",
        ),
        (
            "dctcp",
            &[("version", Value::Word("patch-2012"))][..],
            "6.1.176",
            "flows[0].cc: Linux 6.1.176 is too old for tcp_dctcp_2014, which needs 6.18",
        ),
    ] {
        kit.version = kernel.to_owned();
        assert_eq!(
            of(cc, set, Growth::Acks, &kit),
            Err(said.to_owned()),
            "{cc}"
        );
    }
}

/// tc does not support this kind of queue, so the agent passes the queue's options to the module as
/// text.
#[test]
fn weighted_red_is_a_module_of_ours() {
    let curve = |set: &[(&'static str, Value)]| {
        let entry = find(aqm::TABLE.entries(), "wred").unwrap();
        let mut table = complete_defaults(entry).table("ecn").clone();
        for (name, value) in set {
            table.set(name, value.clone());
        }
        Value::Table(table)
    };
    let mut plan = simple();
    let step = curve(&[
        ("min", Value::Bytes(Bytes(15_750))),
        ("max", Value::Bytes(Bytes(15_750))),
        ("probability", Value::Float(1.0)),
        ("weight", Value::Float(1.0)),
        ("uniformise", Value::Word("none")),
    ]);
    let set = [
        ("ecn", step),
        ("limit", Value::Packets(1000)),
        ("avpkt", Value::Bytes(Bytes(40))),
    ];
    plan.links[0] = link(10_000_000, "wred", &set);
    let mut kit = kit();
    let path = "/extra/sch_wred/sch_wred.ko".to_owned();
    kit.extra.insert("sch_wred".to_owned(), vec![path.clone()]);
    let job = map(&plan, 1, &kit).expect("the guest kernel has it");
    assert_eq!(job.modules[0].path, path);
    assert_eq!(modules(&plan), BTreeSet::from(["sch_wred"]));
    let [batch] = job
        .setup
        .iter()
        .filter(|b| b.tool == Tool::Qdisc)
        .collect::<Vec<_>>()[..]
    else {
        panic!("one line for the agent");
    };
    assert_eq!(
        batch.lines,
        [
            "qdisc add dev out parent 1:1 handle 10: wred limit 1000p ecn_min 15750b ecn_max 15750b \
          ecn_probability 4294967296 ecn_weight 4294967296 ecn_uniformise none ecn_gentle 0 \
          ecn_include_arriving 0 classic_min 83p classic_max 250p \
          classic_probability 85899346 classic_weight 8589935 classic_uniformise linux \
          classic_gentle 0 classic_include_arriving 0 average arrival idle decay \
          packet_ps 32000000 rate 10000000"
        ]
    );
    // The size is larger than the module's integer type can represent.
    let long = curve(&[("max", Value::Bytes(Bytes(1 << 33)))]);
    plan.links[0] = link(10_000_000, "wred", &[("ecn", long)]);
    assert_eq!(judge(&plan, &kit)[0].path, "links[0].queue.ecn");
}

/// Linux has no queue discipline with only the step threshold or only the PI2 controller of
/// DualPI2. tailback modules provide both. An option selects whether the module drops packets on
/// arrival or on departure.
#[test]
fn step_and_pi2_are_modules_of_ours() {
    let mut kit = kit();
    for module in ["sch_step", "sch_pi2"] {
        let path = format!("/extra/{module}/{module}.ko");
        kit.extra.insert(module.to_owned(), vec![path]);
    }
    let of = |name: &str, set: &[(&'static str, Value)]| {
        let mut plan = simple();
        plan.links[0] = link(10_000_000, name, set);
        let job = map(&plan, 1, &kit).expect("the guest kernel has it");
        let lines = job.setup.iter().filter(|batch| batch.tool == Tool::Qdisc);
        let lines: Vec<_> = lines.flat_map(|batch| batch.lines.clone()).collect();
        let words = lines[0].split_once("handle 10: ").expect("a leaf").1;
        (words.to_owned(), job.links[0].drops_at)
    };
    let late = crate::job::DropsAt::Dequeue;
    let dequeue = ("at", Value::Word("dequeue"));
    let words =
        "step limit 1000p threshold 1000000n at_dequeue 1 include_arriving 0 drop_not_ect 0";
    assert_eq!(of("step", &[dequeue]), (words.to_owned(), late));
    let length = [
        ("limit", Value::Bytes(Bytes(90_000))),
        ("threshold", Value::Packets(20)),
        ("at", Value::Word("enqueue")),
        ("include_arriving", Value::Bool(true)),
        ("not_ect", Value::Word("drop")),
    ];
    let words = "step limit 90000b threshold 20p at_dequeue 0 include_arriving 1 drop_not_ect 1";
    let early = crate::job::DropsAt::Enqueue;
    assert_eq!(of("step", &length), (words.to_owned(), early));
    let scalable = [("scalable", Value::Word("any")), ("ecn", Value::Bool(true))];
    let words =
        "pi2 limit 10000 target 15000000 tupdate 16000000 alpha 41 beta 819 k 2 ecn 1 scalable 2";
    assert_eq!(of("pi2", &scalable), (words.to_owned(), late));
    // The size is larger than the modules' integer types can represent.
    for name in ["step", "pi2"] {
        let mut plan = simple();
        plan.links[0] = link(10_000_000, name, &[("limit", Value::Packets(1 << 33))]);
        assert_eq!(judge(&plan, &kit)[0].path, "links[0].queue.limit");
    }
}

/// tc sets the options of Linux's dualpi2. Every other option needs a tailback module.
#[test]
fn dualpi2_of_2019_is_a_module_of_ours() {
    let entry = find(aqm::TABLE.entries(), "dualpi2").unwrap();
    let leaf = |set: &[(&'static str, Value)]| {
        let mut given = tailback_engine::registry::defaults(entry.options);
        for (name, value) in set {
            given.set(name, value.clone());
        }
        (entry.finish)(&mut given).unwrap();
        let mut plan = simple();
        plan.links[0].queue = Algorithm::Known {
            name: "dualpi2",
            options: given,
        };
        let mut kit = kit();
        let path = "/extra/sch_dualpi2_2019/sch_dualpi2_2019.ko".to_owned();
        kit.extra.insert("sch_dualpi2_2019".to_owned(), vec![path]);
        let needed = modules(&plan).into_iter().map(str::to_owned).collect();
        let job = map(&plan, 1, &kit).expect("the guest kernel has it");
        let lines = job.setup.iter().flat_map(|batch| {
            let lines = batch.lines.iter().map(move |line| (batch.tool, line));
            lines.filter(|(_, line)| line.contains("dualpi2"))
        });
        let lines: Vec<_> = lines.map(|(tool, line)| (tool, line.clone())).collect();
        let [(tool, line)] = &lines[..] else {
            panic!("one queue: {lines:?}");
        };
        let needed: Vec<String> = needed;
        (*tool, line.clone(), needed)
    };
    let own = vec!["sch_dualpi2_2019".to_owned()];
    let (tool, _, needed) = leaf(&[]);
    assert_eq!((tool, needed), (Tool::Tc, vec![]));
    let set = [
        ("version", Value::Word("dualpi2-2019-wrr-counter")),
        ("wrr_ratio", Value::Int(10)),
        ("l_drop", Value::Int(100)),
        ("any_ect", Value::Bool(true)),
    ];
    let (tool, line, needed) = leaf(&set);
    assert_eq!((tool, needed), (Tool::Qdisc, own.clone()));
    assert_eq!(
        line,
        "qdisc add dev out parent 1:1 handle 10: dualpi2_2019 version dualpi2-2019-wrr-counter \
         scheduler wrr-counter arithmetic ns jiffies 1 step_at_dequeue 1 l_drop 100 wrr_ratio 10 \
         tspeed 0 limit 10000 target 20000000 tupdate 32000000 alpha 80 beta 800 \
         coupling_factor 2 step_ns 1000000 min_qlen_step 1 any_ect 1 drop_enqueue 0 \
         classic_protection 10 split_gso 1"
    );
    // If Linux does not support one of the queue's options, the tailback module is required.
    let (tool, line, needed) = leaf(&[("reset_interval", Value::Time(Time::from_secs(1)))]);
    assert_eq!((tool, needed), (Tool::Qdisc, own));
    assert!(
        line.contains("version linux-6.17 ") && line.contains(" reset_interval 1000000000 "),
        "{line}"
    );
}

#[test]
fn a_factor_for_marks_is_a_module_of_ours() {
    let of = |cc: &str, set: &[(&'static str, Value)]| {
        let mut plan = simple();
        plan.flows[0] = controlled(cc, set);
        let mut kit = kit();
        for name in ["tcp_reno_abe", "tcp_cubic_abe"] {
            let path = format!("/extra/{name}/{name}.ko");
            kit.extra.insert(name.to_owned(), vec![path]);
        }
        let job = map(&plan, 1, &kit).expect("the guest kernel has it");
        let module = job
            .modules
            .last()
            .map(|m| (m.path.clone(), m.parameters.clone()));
        (job.flows[0].kernel_cc.clone(), module)
    };
    let (name, module) = of("reno", &[("beta_ecn", Value::Float(0.85))]);
    assert_eq!(name, "reno_abe");
    let (path, parameters) = module.expect("a module");
    assert_eq!(path, "/extra/tcp_reno_abe/tcp_reno_abe.ko");
    assert_eq!(parameters, "beta_ecn=850000");
    let set = [
        ("beta_ecn", Value::Float(0.85)),
        ("hystart", Value::Bool(false)),
    ];
    let (name, module) = of("cubic", &set);
    assert_eq!(name, "cubic_abe");
    assert_eq!(module.expect("a module").1, "beta_ecn=870 hystart=0");
    // With the standard backoff, Linux's own CUBIC is used, not a module.
    let (name, module) = of("cubic", &[("beta_ecn", Value::Float(0.7))]);
    assert_eq!(name, "cubic");
    assert_eq!(module.expect("a module").0, "/modules/tcp_cubic.ko");
}
