//! Records the state of a sender after each ACK, while certain packets are dropped or marked. The
//! records are readable tables. If the sender's behaviour changes, a diff of a table shows this.
//!
//! The path always has a rate of 12 Mbit/s (1.01 ms per packet) and an RTT of 20 ms. The
//! bandwidth-delay product of this path is 20 packets. The queue never overflows. Packets are
//! numbered from 1 as they arrive at the link, including retransmissions.

mod common;

use std::fmt::Write;

use common::*;
use tailback_engine::plan::{FlowPlan, Schedule};
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Time};

/// Returns a table with a row for each change of the sender's state.
fn trace(flow: FlowPlan, drop: &[u64], mark: &[u64], until: Time) -> String {
    let mut link = link(12_000_000, "fifo", &[]);
    link.schedule = Some(Schedule {
        marks: mark.to_vec(),
        drops: drop.to_vec(),
    });
    let plan = plan(until, vec![link], vec![flow]);
    let mut network = network(&plan);
    let mut table =
        String::from("  time ms    una    nxt  state     cwnd  ssthresh  flight  again  rto\n");
    let mut last = String::new();
    while network.advance(1) {
        let sender = network.sender(0);
        let (flight, window) = (sender.flight(), &sender.window);
        let ssthresh = match window.ssthresh {
            s if s >= tailback_engine::cc::INFINITE_SSTHRESH => "-".to_owned(),
            s => s.to_string(),
        };
        let row = format!(
            "{:>6} {:>6}  {:<8} {:>5} {:>9} {:>7} {:>6} {:>4}",
            flight.una,
            flight.nxt,
            format!("{:?}", sender.conn.ca_state),
            window.cwnd,
            ssthresh,
            flight.in_flight(),
            sender.stats.retransmits,
            sender.stats.timeouts,
        );
        if row != last {
            writeln!(table, "{:>9.3} {row}", network.now().ns() as f64 / 1e6).expect("a string");
            last = row;
        }
    }
    table
}

fn a_flow(cc: &str, segments: u64) -> FlowPlan {
    let mut f = flow("f", cc, Time::from_ms(20), &[]);
    f.bytes = Some(Bytes(segments * 1448));
    f
}

#[test]
fn one_loss_in_slow_start() {
    insta::assert_snapshot!(trace(a_flow("reno", 150), &[30], &[], Time::from_secs(2)));
}

#[test]
fn three_losses_in_a_window() {
    insta::assert_snapshot!(trace(
        a_flow("reno", 150),
        &[40, 42, 44],
        &[],
        Time::from_secs(2)
    ));
}

#[test]
fn a_lost_retransmission() {
    // Packet 61 is the retransmission of packet 40 (see the table).
    insta::assert_snapshot!(trace(
        a_flow("reno", 150),
        &[40, 61],
        &[],
        Time::from_secs(2)
    ));
}

#[test]
fn tail_loss_is_probed() {
    insta::assert_snapshot!(trace(a_flow("reno", 25), &[25], &[], Time::from_secs(2)));
}

#[test]
fn a_whole_window_lost_times_out() {
    let drop: Vec<u64> = (31..=71).collect();
    insta::assert_snapshot!(trace(a_flow("reno", 71), &drop, &[], Time::from_secs(3)));
}

#[test]
fn a_mark_with_rfc_3168_echo() {
    let mut f = a_flow("reno", 150);
    f.ecn = true;
    insta::assert_snapshot!(trace(f, &[], &[30], Time::from_secs(2)));
}

#[test]
fn a_mark_then_a_loss_in_the_same_window() {
    let mut f = a_flow("reno", 150);
    f.ecn = true;
    insta::assert_snapshot!(trace(f, &[45], &[30], Time::from_secs(2)));
}

#[test]
fn cubic_loss_and_regrowth() {
    insta::assert_snapshot!(trace(a_flow("cubic", 250), &[60], &[], Time::from_secs(2)));
}

#[test]
fn dctcp_marks() {
    let marks: Vec<u64> = (30..=40).chain(90..=91).collect();
    insta::assert_snapshot!(trace(a_flow("dctcp", 200), &[], &marks, Time::from_secs(2)));
}

#[test]
fn dctcp_of_the_original_patch() {
    let mut f = flow(
        "f",
        "dctcp",
        Time::from_ms(20),
        &[("version", Value::Word("patch-2012"))],
    );
    f.bytes = Some(Bytes(200 * 1448));
    let marks: Vec<u64> = (30..=40).chain(90..=91).collect();
    insta::assert_snapshot!(trace(f, &[], &marks, Time::from_secs(2)));
}
