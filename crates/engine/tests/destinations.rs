//! Tests hosts that store metrics of a destination (RTT and ssthresh) for later connections.

mod common;

use common::*;
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Time};
use tailback_record::account::SlowStart;

/// Runs two transfers, the second 20 s after the first. Both transfers use the same hosts unless
/// `apart` is true. Returns how the slow starts of both transfers ended. The first slow start ends
/// with losses.
fn ends(metrics: bool, ssthresh: bool, apart: bool) -> [SlowStart; 2] {
    let rtt = Time::from_ms(40);
    let l = link(10_000_000, "fifo", &[("limit", Value::Packets(40))]);
    let flows = [0, 20].map(|start| {
        let mut f = flow(&format!("f{start}"), "reno", rtt, &[]);
        f.start = Time::from_secs(start);
        f.bytes = Some(Bytes(4_000_000));
        f.tcp.metrics_save = metrics;
        f.tcp.ssthresh_metrics_save = ssthresh;
        let server = if apart {
            format!("s{start}")
        } else {
            "s".to_owned()
        };
        f.hosts = Some([server, "c".to_owned()]);
        f
    });
    let outcome = run(network(&plan(Time::from_secs(40), vec![l], flows.to_vec())));
    [0, 1].map(|flow| {
        let end = outcome.flows[flow].account.slow_start.clone();
        *end.expect("slow start ended")
    })
}

/// The path holds 33 packets and the buffer 40, which makes 73 packets. The first slow start ends
/// with losses when about twice as many packets are in flight, and sets ssthresh to half of this
/// number. The second connection begins with this ssthresh.
#[test]
fn the_second_connection_begins_with_the_ssthresh_of_the_first() {
    let [first, second] = ends(true, true, false);
    assert_ne!(first.why, SlowStart::THRESHOLD);
    assert_eq!(second.why, SlowStart::THRESHOLD);
    assert_eq!(second.lost, 0);
    assert!((25..=80).contains(&second.cwnd), "{second:?}");
}

/// A host does not use a stored ssthresh if it stores nothing or only the RTT. The metrics of one
/// host do not affect other hosts.
#[test]
fn nothing_else_remembers_it() {
    for (metrics, ssthresh, apart) in [
        (false, false, false),
        (true, false, false),
        (true, true, true),
    ] {
        let [first, second] = ends(metrics, ssthresh, apart);
        assert_eq!(first.why, second.why);
        assert!(second.lost > 0, "{second:?}");
    }
}
