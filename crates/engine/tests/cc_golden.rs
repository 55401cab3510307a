//! Gives the same marks to every congestion control, and prints the resulting windows as tables. If
//! a congestion control's behaviour changes, a diff of the tables shows this.
//!
//! The sender always has data, every segment is acknowledged separately, and all RTTs are 20 ms.
//! PRR reduces the window as in Linux (see `src/cc/testing.rs`).

#[path = "../src/cc/testing.rs"]
mod testing;

use std::fmt::Write as _;
use tailback_engine::cc::{CaState, ENTRIES, Window};
use tailback_engine::plan::Growth;
use tailback_engine::registry::{Value, find};
use tailback_engine::units::Time;
use testing::{Host, options};

/// A column of the table: its heading, the congestion control with its options, and the unit in
/// which the window grows.
type Column = (
    &'static str,
    &'static str,
    &'static [(&'static str, Value)],
    Growth,
);

/// Returns one sender per column, in congestion avoidance with a window of 20 segments.
fn hosts(columns: &[Column]) -> Vec<Host> {
    let host = |(_, name, set, growth): &Column| {
        let entry = find(ENTRIES, name).expect("a registered congestion control");
        let mut host = Host::new((entry.build)(&options(entry, set)), 20, Time::from_ms(20));
        let ssthresh = match growth {
            Growth::Segments => 20,
            Growth::Acks => 19,
        };
        host.window = Window::new(20, ssthresh, *growth);
        host
    };
    columns.iter().map(host).collect()
}

fn heading(first: &str, columns: &[Column]) -> String {
    let mut line = first.to_owned();
    for (heading, ..) in columns {
        write!(line, "{heading:>12}").expect("a string");
    }
    line + "\n"
}

/// Shows the windows after each ACK that follows a single mark. The expected values were computed
/// by hand:
///
/// - PRR sends ceil(s n/20) segments by the n-th ACK of the reduction, where s is ssthresh, until
///   at most s segments are in flight. Reno has s = 10, so it sends one segment for every second
///   ACK.
/// - CUBIC keeps 717/1024 of 20 segments, which is 14. The first ACK reduces DCTCP's alpha by 1/16,
///   from 1 to 960/1024, so DCTCP keeps 20 - (20 * 960 >> 11) = 11.
/// - The reduction ends with the first ACK of a segment that was sent after the reduction began.
///   The mark came with the third ACK, when 22 segments had been sent, so the reduction ends with
///   ACK 23.
/// - In the original patch alpha is 0, so the window stays the same for the round. But Linux 3.2 is
///   then in slow start and gains a segment.
#[test]
fn one_mark() {
    let columns: [Column; 4] = [
        ("reno", "reno", &[], Growth::Segments),
        ("cubic", "cubic", &[], Growth::Segments),
        ("dctcp", "dctcp", &[], Growth::Segments),
        (
            "patch-2012",
            "dctcp",
            &[("version", Value::Word("patch-2012"))],
            Growth::Acks,
        ),
    ];
    let mut hosts = hosts(&columns);
    let mut table = heading("ack mark", &columns);
    for n in 1..=50 {
        write!(table, "{n:>3} {:>4}", if n == 3 { "*" } else { "" }).expect("a string");
        for host in &mut hosts {
            host.wait(Time::from_ms(1));
            if n == 3 {
                host.ack_ece(1);
            } else {
                host.ack(1);
            }
            let state = match host.conn.ca_state {
                CaState::Cwr => "cwr",
                _ => "",
            };
            write!(table, "{state:>8}{:>4}", host.window.cwnd).expect("a string");
        }
        table.push('\n');
    }
    insta::assert_snapshot!("one_mark_ack_by_ack", table);
}

/// Simulates forty rounds. First, all packets of one round are marked. Later, some packets of every
/// eighth round are marked, each time more than before.
#[test]
fn rounds() {
    let columns: [Column; 7] = [
        ("reno", "reno", &[], Growth::Segments),
        (
            "reno-abe",
            "reno",
            &[("beta_ecn", Value::Float(0.8))],
            Growth::Segments,
        ),
        ("cubic", "cubic", &[], Growth::Segments),
        ("dctcp", "dctcp", &[], Growth::Segments),
        (
            "linux-3.19",
            "dctcp",
            &[("version", Value::Word("linux-3.19"))],
            Growth::Segments,
        ),
        (
            "patch-2012",
            "dctcp",
            &[("version", Value::Word("patch-2012"))],
            Growth::Acks,
        ),
        (
            "paper-2014",
            "dctcp",
            &[("version", Value::Word("paper-2014"))],
            Growth::Acks,
        ),
    ];
    let mut hosts = hosts(&columns);
    let mut table = heading("round marks", &columns);
    for round in 1..=40 {
        let marks = match round {
            2 => 100,
            n if n % 8 == 2 => n,
            _ => 0,
        };
        write!(table, "{round:>5} {marks:>5}").expect("a string");
        for host in &mut hosts {
            host.marked_round(marks);
            write!(table, "{:>12}", host.window.cwnd).expect("a string");
        }
        table.push('\n');
    }
    insta::assert_snapshot!("window_after_each_round", table);
}

/// Shows Prague's window ACK by ACK, with an RTT of 20 ms. Alpha is 1 at the first mark, so the
/// window must fall to half. Each ACK reduces the window by one segment. ACKs of unmarked segments
/// still increase the window. The next mark starts another CWR with the current alpha.
#[test]
fn prague_by_acks() {
    let set: &[(&str, Value)] = &[];
    let mut hosts = hosts(&[("prague", "prague", set, Growth::Segments)]);
    let host = &mut hosts[0];
    let mut table = String::from("ack mark state cwnd ssthresh  alpha  window\n");
    for n in 1..=60 {
        host.wait(Time::from_ms(1));
        let mark = matches!(n, 3 | 4 | 40);
        if mark {
            host.ack_ece(1);
        } else {
            host.ack(1);
        }
        let gauges = host.gauges();
        writeln!(
            table,
            "{n:>3} {:>4} {:>5} {:>4} {:>8} {:.4} {:>7.4}",
            if mark { "*" } else { "" },
            if host.conn.ca_state == CaState::Cwr {
                "cwr"
            } else {
                ""
            },
            host.window.cwnd,
            host.window.ssthresh,
            gauges[0],
            gauges[1],
        )
        .expect("a string");
    }
    insta::assert_snapshot!("prague_ack_by_ack", table);
}
