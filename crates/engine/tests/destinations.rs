//! Tests hosts that remember a destination from one connection to the next.

mod common;

use common::*;
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Time};
use tailback_record::account::SlowStart;

/// Returns how the slow starts of two transfers ended. The first transfer loses packets at the end
/// of its slow start. The second follows 20 s later between the same hosts.
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

/// Path and buffer hold 33 + 40 packets. The first slow start ends with losses when about twice as
/// many packets are in flight, and sets ssthresh to half of this number. The second connection
/// begins with this ssthresh.
#[test]
fn the_second_connection_begins_with_the_ssthresh_of_the_first() {
    let [first, second] = ends(true, true, false);
    assert_ne!(first.why, SlowStart::THRESHOLD);
    assert_eq!(second.why, SlowStart::THRESHOLD);
    assert_eq!(second.lost, 0);
    assert!((25..=80).contains(&second.cwnd), "{second:?}");
}

/// A host does not use a remembered ssthresh if it remembers nothing or only the RTT. Another host
/// knows nothing about the first connection.
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
