//! Tests smoltcp over a bottleneck, alone and beside CUBIC.

use smoltcp::socket::tcp::CongestionControl;
use tailback_sim::{Results, Simulation};
use tailback_smoltcp::{Options, Smoltcp, receiver, sender};

const ALONE: &str = r#"
duration = "12s"
[bottleneck]
rate = "20Mbit"
queue = "codel"
[path]
rtt = "20ms"
[[programs]]
name = "tcp"
"#;

fn run(text: &str, options: &Options, bytes: Option<u64>) -> Results {
    let attach = |simulation: Simulation| {
        simulation.attach("tcp", sender(options, bytes), receiver(options))
    };
    Simulation::from_toml(text)
        .and_then(attach)
        .and_then(Simulation::run)
        .expect("a run")
}

#[test]
fn a_transfer_is_limited_by_the_link() {
    let results = run(ALONE, &Options::default(), Some(20_000_000));
    let took = results.completion_s("tcp").expect("it is over");
    assert!((8.4..8.9).contains(&took), "{took} s");
    assert_eq!(
        results.receiver::<Smoltcp>("tcp").received_bytes(),
        20_000_000
    );
    assert!(results.drops("tcp") > 0);
    let reno = Options {
        control: CongestionControl::Reno,
        ..Options::default()
    };
    let took = run(ALONE, &reno, Some(20_000_000)).completion_s("tcp");
    assert!(
        (8.9..9.8).contains(&took.expect("it is over")),
        "{took:?} s"
    );
}

#[test]
fn beside_cubic_it_gets_its_half() {
    let text = format!("{}[[flows]]\ncc = \"cubic\"\n", ALONE.replace("12s", "60s"));
    let results = run(&text, &Options::default(), None);
    assert!(
        (0.4..0.6).contains(&results.share("tcp")),
        "{}",
        results.share("tcp")
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let json = || run(ALONE, &Options::default(), Some(5_000_000)).to_json();
    assert_eq!(json(), json());
}
