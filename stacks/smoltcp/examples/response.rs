//! Prints how smoltcp's congestion controls respond to lost packets, and how tailback's Linux TCP
//! responds to the same losses: `cargo run --release --example response`.
//!
//! The link is so fast that no queue builds up. It loses the packets with certain numbers, so the
//! losses are the same for all senders. A window is the number of packets that arrive in a
//! round-trip time.

use std::fmt::Write as _;

use smoltcp::socket::tcp::CongestionControl;
use tailback_sim::{Error, Results, Simulation};
use tailback_smoltcp::{Options, receiver, sender};

/// Payload of a full segment of tailback's TCP, bytes.
const MSS: f64 = 1448.0;

struct Case {
    control: CongestionControl,
    /// The name that scenarios use for this congestion control.
    cc: &'static str,
    rtt_ms: u64,
    seconds: u64,
    warmup: u64,
    /// The number of the first lost packet, which ends slow start.
    first: u64,
    /// The number of packets from one lost packet to the next.
    every: u64,
    /// Mean number of packets in flight according to the published formula.
    law: f64,
}

fn cases() -> [Case; 4] {
    let reno = |seconds, warmup, first, every| Case {
        control: CongestionControl::Reno,
        cc: "reno",
        rtt_ms: 50,
        seconds,
        warmup,
        first,
        every,
        // The formula of Mathis et al. (1997).
        law: (1.5 * every as f64).sqrt(),
    };
    let cubic = |seconds, warmup, first, every| Case {
        control: CongestionControl::Cubic,
        cc: "cubic",
        rtt_ms: 100,
        seconds,
        warmup,
        first,
        every,
        // The formula of RFC 9438, section 5.2.
        law: 1.054 * (0.1 * every as f64).powf(0.75),
    };
    [
        reno(300, 60, 80, 1_000),
        reno(1_500, 300, 250, 10_000),
        cubic(400, 100, 80, 1_000),
        cubic(1_000, 400, 400, 10_000),
    ]
}

impl Case {
    fn scenario(&self, drops: &[u64], entry: &str) -> String {
        format!(
            "duration = \"{}s\"\nwarmup = \"{}s\"\nstart_jitter = \"0s\"\n[bottleneck]\n\
             rate = \"10Gbit\"\nqueue = {{ aqm = \"fifo\", limit = \"100000p\" }}\n\
             schedule.drops = {drops:?}\n[path]\nrtt = \"{} ms\"\n[tcp]\nrwnd = \"1gb\"\n\
             [record]\ninterval = \"{} ms\"\n{entry}",
            self.seconds, self.warmup, self.rtt_ms, self.rtt_ms
        )
    }

    /// Runs tailback's TCP.
    fn ours(&self, drops: &[u64]) -> Result<Results, Error> {
        let flow = format!("[[flows]]\nname = \"it\"\ncc = \"{}\"\n", self.cc);
        Simulation::from_toml(&self.scenario(drops, &flow))?.run()
    }

    /// Runs smoltcp.
    fn smoltcp(&self, drops: &[u64], nagle: bool, delack: bool) -> Result<Results, Error> {
        let options = Options {
            control: self.control,
            nagle,
            delack,
            buffer: 1 << 22,
            ..Options::default()
        };
        Simulation::from_toml(&self.scenario(drops, "[[programs]]\nname = \"it\"\n"))?
            .attach("it", sender(&options, None), receiver(&options))?
            .run()
    }

    /// Returns how many of a run's `packets` are sent per round-trip time after the warm-up.
    fn window(&self, packets: f64) -> f64 {
        packets * self.rtt_ms as f64 / 1e3 / (self.seconds - self.warmup) as f64
    }
}

/// Returns the number of packets and their mean length in IP bytes.
fn packets(results: &Results) -> (f64, f64) {
    let measured = results.endpoints("it").measured;
    let packets = measured.packets as f64;
    (packets, measured.delivered_bytes as f64 / packets)
}

/// Returns the window before the second loss, and the window in the fourth round trip after this
/// loss.
fn around_the_second_loss(rounds: &[f64]) -> (f64, f64) {
    // The first loss ends slow start. Then the window grows until the second loss.
    let falls = |at: &usize| rounds[at + 4] < 0.85 * rounds[*at];
    let first = (20..rounds.len() - 5).find(falls).expect("a second loss");
    let falling = (first..).take_while(falls);
    let highest = falling.max_by(|a, b| rounds[*a].total_cmp(&rounds[*b]));
    let at = highest.unwrap_or(first);
    (rounds[at], rounds[at + 4])
}

/// Returns the bytes that arrive in each round trip.
fn arrivals(results: &Results) -> Vec<f64> {
    let series = results.series("it", "delivered_bytes");
    let pairs = series.windows(2);
    pairs.map(|pair| pair[1].1 - pair[0].1).collect()
}

fn main() -> Result<(), Error> {
    let mut steps = String::from("| control | tailback | smoltcp |\n|---|--:|--:|\n");
    for mut case in cases().into_iter().step_by(2) {
        (case.seconds, case.warmup) = (60, 0);
        let drops = [case.first, case.first + 8_000];
        let step = |rounds: &[f64]| {
            let (before, after) = around_the_second_loss(rounds);
            after / before
        };
        let windows = case.ours(&drops)?.series("it", "cwnd");
        let windows: Vec<f64> = windows.iter().map(|(_, window)| *window).collect();
        let ours = step(&windows);
        let theirs = step(&arrivals(&case.smoltcp(&drops, true, true)?));
        let _ = writeln!(steps, "| {} | {ours:.2} | {theirs:.2} |", case.cc);
    }
    println!("{steps}");
    let mut text = String::from(
        "| signal | formula | tailback | smoltcp | smoltcp, every segment acknowledged | smoltcp \
         without Nagle | its mean packet, bytes |\n|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for case in cases() {
        let drops: Vec<u64> = (0..400).map(|i| case.first + i * case.every).collect();
        let ours = case.ours(&drops)?.throughput_mbit("it") * 1e6 / 8.0 / MSS;
        let ours = ours * case.rtt_ms as f64 / 1e3;
        let (full, _) = packets(&case.smoltcp(&drops, true, true)?);
        let (each, _) = packets(&case.smoltcp(&drops, true, false)?);
        let (short, bytes) = packets(&case.smoltcp(&drops, false, true)?);
        let _ = writeln!(
            text,
            "| {}, every {}th lost, {} ms | {:.1} | {ours:.1} | {:.1} | {:.1} | {:.1} | {bytes:.0} |",
            case.cc,
            case.every,
            case.rtt_ms,
            case.law,
            case.window(full),
            case.window(each),
            case.window(short),
        );
    }
    println!("{text}");
    Ok(())
}
