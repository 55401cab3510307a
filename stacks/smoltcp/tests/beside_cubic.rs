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
    // With Nagle's algorithm, which is smoltcp's default, short packets are rare. Without it, the
    // mean packet length is near 950 bytes.
    let measured = results.endpoints("tcp").measured;
    let packets = measured.packets - results.drops("tcp");
    let mean = measured.delivered_bytes as f64 / packets as f64;
    assert!((1400.0..=1500.0).contains(&mean), "{mean} bytes");
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

/// Returns the mean number of packets in flight on a link without a queue that loses every 1000th
/// packet.
fn window(options: &Options) -> f64 {
    let drops: Vec<u64> = (0..300).map(|i| 80 + i * 1000).collect();
    let text = format!(
        "duration = \"100s\"\nwarmup = \"20s\"\n[bottleneck]\nrate = \"10Gbit\"\n\
         schedule.drops = {drops:?}\n[path]\nrtt = \"50ms\"\n[[programs]]\nname = \"tcp\"\n"
    );
    let packets = run(&text, options, None).endpoints("tcp").measured.packets;
    packets as f64 * 0.05 / 80.0
}

#[test]
fn reno_follows_its_law_for_acknowledged_packets() {
    let reno = Options {
        control: CongestionControl::Reno,
        ..Options::default()
    };
    // In each round trip, the window grows by a segment. Each ACK acknowledges b = 2 segments. The
    // mean window is then sqrt(3 / (2 b p)) (Mathis et al. 1997).
    let delayed = window(&reno);
    assert!(
        (0.88..1.0).contains(&(delayed / 750f64.sqrt())),
        "{delayed}"
    );
    let each = window(&Options {
        delack: false,
        ..reno
    });
    assert!((0.9..1.0).contains(&(each / 1500f64.sqrt())), "{each}");
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
