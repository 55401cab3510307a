//! Tests the hosts of programs: their devices, their IPv4 and IPv6 routes, and the command lines
//! for tc.

use tailback_engine::cc;
use tailback_engine::plan::{FilePlan, ProgramPlan, Ready, SidePlan};

use super::*;
use crate::job;

fn side(words: &str, ready: Option<Ready>) -> Option<SidePlan> {
    let run = words.split(' ').map(str::to_owned).collect();
    Some(SidePlan {
        run,
        ready,
        ..SidePlan::default()
    })
}

/// Returns an entry whose packets pass link 0, or link 1 in the return direction.
fn entry(name: &str) -> ProgramPlan {
    ProgramPlan {
        name: name.to_owned(),
        cc: Algorithm::Known {
            name: "cubic",
            options: complete_defaults(&cc::cubic::ENTRY),
        },
        rtt: MS(30),
        route: vec![0],
        back: vec![1],
        count: 1,
        ..ProgramPlan::default()
    }
}

fn with(programs: Vec<ProgramPlan>) -> Plan {
    let links = vec![
        link(10_000_000, "codel", &[]),
        second(link(5_000_000, "fifo", &[]), "back"),
    ];
    let mut plan = plan(Time::from_secs(20), links, Vec::new());
    plan.programs = programs;
    plan
}

#[test]
fn servers_clients_and_a_prober_share_links_and_a_host() {
    let mut server = entry("quic");
    server.sender = side("srv {sender}:4433", Some(Ready::Udp(4433)));
    server.receiver = side("cli [{sender6}]:4433 {duration}", None);
    server.env = vec![["A".to_owned(), "{receiver}".to_owned()]];
    server.dscp = 10;
    let mut client = entry("more");
    client.receiver = side("cli {quic.sender}:4433", None);
    (client.partner, client.count) = (Some(0), 2);
    let mut probe = entry("ping");
    probe.sender = side("ping {quic.receiver}", None);
    (probe.partner, probe.stop) = (Some(0), Some(Time::from_secs(5)));
    let mut plan = with(vec![server, client, probe]);
    plan.flows = vec![FlowPlan {
        back: vec![1],
        ..flow("cubic", "cubic", MS(30), &[])
    }];
    insta::assert_snapshot!(script(&plan));

    let job = map(&plan, 1, &kit()).unwrap();
    assert_eq!(job.owners(), plan.owners());
    let [quic, more, _, ping] = job.programs.as_slice() else {
        panic!("four entries")
    };
    assert_eq!(
        (quic.access_delay_ns, quic.base_rtt_ns),
        (15_000_000, 30_000_000)
    );
    assert_eq!(
        (more.sender, more.sender_addresses),
        (quic.sender, quic.sender_addresses)
    );
    assert_eq!(ping.receiver, quic.receiver);
    assert_ne!(more.receiver_addresses, quic.receiver_addresses);
    assert_eq!(ping.stop_ns, Some(5_000_000_000));
    let allowed = &job.sysctls[job.sysctls.len() - 1];
    assert_eq!(allowed.0, "net/ipv4/tcp_allowed_congestion_control");
    assert_eq!(allowed.1, "reno cubic");
    let of = |name: &str| job.namespaces.iter().find(|one| one.name == name).unwrap();
    let sysctl = |name: &str, path: &str| {
        let found = of(name).sysctls.iter().find(|one| one.0 == path);
        found.map(|one| one.1.clone())
    };
    assert_eq!(sysctl("ps0", "net/ipv4/tcp_ecn").as_deref(), Some("2"));
    // IPv6 is enabled only in the namespaces of programs.
    let off = "net/ipv6/conf/all/disable_ipv6";
    assert_eq!(
        (sysctl("ps0", off), sysctl("s0", off)),
        (None, Some("1".to_owned()))
    );
}

#[test]
fn without_a_way_back_each_pair_has_a_wire_of_its_own() {
    let mut server = entry("a");
    server.sender = side("srv", Some(Ready::After(MS(500))));
    server.back.clear();
    let mut client = ProgramPlan {
        partner: Some(0),
        ..entry("b")
    };
    client.receiver = side("cli {a.sender}", None);
    client.back.clear();
    let mut prober = ProgramPlan {
        partner: Some(0),
        ..entry("c")
    };
    prober.sender = side("ping {a.receiver}", None);
    prober.back.clear();
    insta::assert_snapshot!(script(&with(vec![server, client, prober])));
}

#[test]
fn places_are_those_of_the_host() {
    let mut program = entry("x");
    program.sender = side("x", None);
    program.packages = vec!["curl".to_owned(), "nginx-light".to_owned()];
    program.files = vec![FilePlan {
        name: "x".to_owned(),
        path: "/home/me/x".to_owned(),
        hash: String::new(),
    }];
    let places: Places = serde_json::from_str(
        r#"{"roots": {"curl nginx-light": "/programs/root0"},
            "files": {"/home/me/x": "/programs/file0"}}"#,
    )
    .unwrap();
    let job = map_with(&with(vec![program]), 1, &kit(), &places).unwrap();
    let program = &job.programs[0];
    assert_eq!(program.root, "/programs/root0");
    let file = ("x".to_owned(), "/programs/file0".to_owned());
    assert_eq!(program.files, [file]);
    let said = serde_json::to_string(&job).unwrap();
    assert_eq!(serde_json::from_str::<job::Job>(&said).unwrap(), job);
    // The JSON of a job without programs does not mention programs.
    let none = map(&simple(), 1, &kit()).unwrap();
    assert!(!serde_json::to_string(&none).unwrap().contains("programs"));
}
