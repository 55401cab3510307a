//! Tests the measurements for datagrams: delays over a route, echoes of pings, and frames of audio
//! and video.

mod common;

use common::*;
use tailback_engine::plan::*;
use tailback_engine::registry::{Value, defaults, find};
use tailback_engine::traffic;
use tailback_engine::units::{Bytes, Rate, Time};
use tailback_record::{Cause, Confidence, TrafficOutcome};

fn source(kind: &str, rtt: Time, set: &[(&'static str, Value)]) -> TrafficPlan {
    let entry = find(traffic::ENTRIES, kind).expect("registered");
    let mut options = defaults(entry.options);
    set.iter().for_each(|(n, v)| options.set(n, v.clone()));
    (entry.finish)(&mut options).expect("sensible");
    TrafficPlan {
        name: kind.into(),
        kind: entry.name,
        options,
        rtt,
        answers: traffic::answers(kind).then(Vec::new),
        ..cbr(kind, 1, &[])
    }
}

fn wire(rate: u64) -> LinkPlan {
    LinkPlan {
        mode: LinkMode::Wire,
        ..link(rate, "fifo", &[])
    }
}

fn measured(plan: &Plan) -> TrafficOutcome {
    run(network(plan)).traffic.swap_remove(0)
}

/// The one-way delay is half of the RTT, plus 1,211,200 ns for 1514 bytes at 10 Mbit/s.
#[test]
fn on_an_empty_wire_the_delay_is_propagation_and_serialisation() {
    let rtt = Time::from_ms(20);
    let mut p = plan(Time::from_secs(1), vec![wire(10_000_000)], vec![]);
    p.traffic = vec![TrafficPlan {
        rtt,
        ..cbr("cbr", 1_000_000, &[])
    }];
    let of = measured(&p);
    assert_eq!(of.one_way.count(), of.received_packets);
    assert_eq!(of.one_way.max(), Some(10_000_000 + 1_211_200));
    assert_eq!(
        of.one_way.sum(),
        u128::from(of.received_packets) * 11_211_200
    );
    assert!(of.echoes.is_none() && of.frames.is_none());
    // A shaper releases a packet at the start of its slot, so the delay does not include
    // serialisation.
    p.links[0].mode = LinkMode::Shaper;
    assert_eq!(measured(&p).one_way.max(), Some(10_000_000));
}

/// 98 bytes take 784 us in the forward direction at 1 Mbit/s, and 78.4 us in the return direction
/// at 10 Mbit/s.
#[test]
fn a_ping_measures_both_ways_and_their_sum() {
    let back = LinkPlan {
        name: "back".into(),
        ..wire(10_000_000)
    };
    let mut p = plan(Time::from_secs(2), vec![wire(1_000_000), back], vec![]);
    let requests = [("requests", Value::Int(7))];
    p.traffic = vec![TrafficPlan {
        answers: Some(vec![1]),
        ..source("ping", Time::from_ms(20), &requests)
    }];
    let of = measured(&p);
    let echoes = of.echoes.expect("a ping has echoes");
    assert_eq!((echoes.sent, echoes.answered, echoes.lost), (7, 7, 0));
    assert_eq!(of.one_way.sum(), 7 * 10_784_000);
    assert_eq!(echoes.back.sum(), 7 * 10_078_400);
    assert_eq!(echoes.rtt.sum(), 7 * (10_784_000 + 10_078_400));
}

#[test]
fn over_two_links_the_delay_is_the_sum() {
    let second = LinkPlan {
        name: "second".into(),
        delay: Time::from_ms(7),
        ..wire(2_000_000)
    };
    let first = LinkPlan {
        delay: Time::from_ms(3),
        ..wire(10_000_000)
    };
    let mut p = plan(Time::from_secs(1), vec![first, second], vec![]);
    p.traffic = vec![TrafficPlan {
        rtt: Time::from_ms(20),
        route: vec![0, 1],
        ..cbr("cbr", 1_000_000, &[])
    }];
    let each = 10_000_000 + 1_211_200 + 3_000_000 + 6_056_000 + 7_000_000;
    let of = measured(&p);
    assert_eq!(of.one_way.sum(), u128::from(of.received_packets) * each);
    // The second link has a standing queue, which the measured delay must include.
    p.traffic.push(TrafficPlan {
        route: vec![1],
        ..cbr("load", 3_000_000, &[])
    });
    let loaded = run(network(&p));
    let waits = loaded.links[1].delay.percentile(50.0).expect("packets");
    let delay = loaded.traffic[0].one_way.percentile(50.0).expect("packets");
    assert!(waits > 50e6, "{waits}");
    assert!(
        (delay / (waits + each as f64) - 1.0).abs() < 0.1,
        "{delay} of {waits}"
    );
}

/// Each frame is one datagram, so each loss of the link is a lost frame.
#[test]
fn audio_loses_what_the_link_loses() {
    let mut lossy = wire(1_000_000);
    lossy.loss = 0.03;
    let mut p = plan(Time::from_secs(1_000), vec![lossy], vec![]);
    p.traffic = vec![TrafficPlan {
        stop: Some(Time::from_secs(990)),
        ..source("audio", Time::from_ms(40), &[])
    }];
    let of = measured(&p);
    let frames = of.frames.expect("audio has frames");
    assert_eq!(frames.sent, 49_500);
    assert_eq!(frames.lost, of.counts.get(Cause::Loss));
    assert_eq!(
        (frames.complete + frames.lost, frames.judged),
        (49_500, 49_500)
    );
    assert_eq!(frames.late, frames.lost);
    // The standard error of the share of lost frames is 2.6 %.
    let share = frames.lost as f64 / 49_500.0;
    assert!((share / 0.03 - 1.0).abs() < 0.08, "{share}");
    // 134 bytes take 1.072 ms at 1 Mbit/s.
    assert_eq!(frames.delay.max(), Some(20_000_000 + 1_072_000));
    assert_eq!(frames.stalls, 0);
}

/// A frame is complete when its last datagram arrives. At 1 Mbit/s and 10 frames a second, a frame
/// has 12,500 bytes.
#[test]
fn video_has_its_rate_and_the_delay_of_its_last_datagram() {
    let mut p = plan(Time::from_secs(600), vec![wire(10_000_000)], vec![]);
    p.traffic = vec![source("video", Time::from_ms(20), &[])];
    let of = measured(&p);
    let frames = of.frames.expect("video has frames");
    let rate = frames.media_bytes as f64 * 8.0 / 600.0;
    assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate}");
    assert!((17_900..18_100).contains(&frames.sent), "{}", frames.sent);
    assert_eq!((frames.lost, frames.stalls, frames.late), (0, 0, 0));

    let alike = [
        ("variation", Value::Float(0.0)),
        ("key_interval", Value::Int(0)),
        ("frame_rate", Value::Int(10)),
    ];
    p.duration = Time::from_secs(10);
    p.traffic = vec![source("video", Time::from_ms(20), &alike)];
    let frames = measured(&p).frames.expect("video has frames");
    // A frame has 10 datagrams of 1200 bytes and one of 500 bytes, each with 54 bytes of headers.
    let bits = (12_500 + 11 * 54) * 8;
    assert_eq!(frames.delay.max(), Some(10_000_000 + bits * 100));
}

/// A video may send 100 kbit/s to 3 Mbit/s over a link of 500 kbit/s. The video must find a bitrate
/// below the link's rate, and keep the queue short. A video that does not adapt fills the queue.
#[test]
fn a_video_adapts_to_the_link() {
    let limited = link(500_000, "fifo", &[("limit", Value::Packets(200))]);
    let mut p = plan(Time::from_secs(60), vec![limited], vec![]);
    p.warmup = Time::from_secs(20);
    let rate = |bits| Value::Rate(Rate(bits));
    let played = |set: &[(&'static str, Value)], p: &mut Plan| {
        p.traffic = vec![source("video", Time::from_ms(20), set)];
        measured(p).frames.expect("video has frames")
    };
    let both = [("bitrate", rate(3_000_000)), ("min_bitrate", rate(100_000))];
    let adapts = played(&both, &mut p);
    let bitrate = adapts.media_bytes as f64 * 8.0 / 40.0;
    assert!((200_000.0..480_000.0).contains(&bitrate), "{bitrate}");
    let late = |of: &tailback_record::FrameOutcome| of.late as f64 / of.judged as f64;
    assert!(late(&adapts) < 0.5, "{}", late(&adapts));
    let fixed = played(&both[..1], &mut p);
    assert!(late(&fixed) > 0.99, "{}", late(&fixed));
    assert!(fixed.stalled_ns > adapts.stalled_ns);
}

/// Counters start at the end of the warm-up. If a link duplicates a datagram, the datagram is
/// counted once.
#[test]
fn copies_and_the_warm_up_do_not_count() {
    let mut twice = wire(10_000_000);
    twice.impairments = vec![impairment("duplicate", &[("probability", "1")])];
    let mut p = plan(Time::from_secs(10), vec![twice], vec![]);
    p.warmup = Time::from_secs(5);
    p.traffic = vec![source("ping", Time::from_ms(20), &[])];
    let echoes = measured(&p).echoes.expect("a ping has echoes");
    assert_eq!((echoes.sent, echoes.answered, echoes.lost), (25, 25, 0));
    assert_eq!((echoes.rtt.count(), echoes.back.count()), (25, 25));
    p.traffic = vec![source("audio", Time::from_ms(20), &[])];
    let frames = measured(&p).frames.expect("audio has frames");
    assert_eq!((frames.sent, frames.complete), (250, 250));
    assert_eq!(frames.lost, 0);
}

fn connecting(kind: &str, set: &[(&'static str, Value)]) -> TrafficPlan {
    let server = flow("server", "cubic", Time::from_ms(20), &[]);
    let of = source(kind, Time::from_ms(20), set);
    let limit = of.options.int("limit") as u32;
    TrafficPlan {
        connections: Some(Box::new(ConnectionsPlan {
            cc: server.cc,
            module: None,
            ecn: false,
            back: vec![],
            tcp: server.tcp,
            limit,
        })),
        ..of
    }
}

fn pages(set: &[(&'static str, Value)]) -> TrafficPlan {
    connecting("page", set)
}

/// All connections of a page open at once, so the load time of a page is the duration of its
/// slowest connection.
#[test]
fn a_page_takes_as_long_as_its_slowest_connection() {
    let mut p = plan(Time::from_secs(60), vec![wire(20_000_000)], vec![]);
    p.traffic = vec![TrafficPlan {
        stop: Some(Time::from_secs(50)),
        ..pages(&[])
    }];
    let of = measured(&p);
    let done = of.completions.expect("connections").done;
    assert!(of.loads.count() > 20, "{}", of.loads.count());
    assert_eq!(done.len() as u64, 6 * of.loads.count());
    let slowest: u64 = done
        .chunks(6)
        .map(|page| page.iter().map(|one| one.took_ns).max().unwrap_or(0))
        .sum();
    assert_eq!(of.loads.sum(), u128::from(slowest));
    // On average, a page takes the think time of 1 s plus its load time.
    let mean = 50.0 / of.loads.count() as f64;
    assert!((0.9..2.5).contains(&mean), "{mean}");

    // If a page has one connection, the number of completed connections equals the number of
    // completed pages.
    p.traffic = vec![pages(&[("connections", Value::Int(1))])];
    let of = measured(&p);
    let done = of.completions.expect("connections").done;
    assert_eq!(of.loads.count(), done.len() as u64);
}

/// Without a queue, a round trip takes 20 ms, which is 3000 RPM. If the receive window limits the
/// bulk connection, the answer to a self probe also waits for the next ACK. This wait lasts up to a
/// round trip.
#[test]
fn responsiveness_without_a_queue_is_that_of_the_path() {
    let fast = link(10_000_000_000, "fifo", &[]);
    let mut p = plan(Time::from_secs(40), vec![fast], vec![]);
    let set = [
        ("interval", Value::Time(Time::from_secs(1))),
        ("most_connections", Value::Int(4)),
    ];
    let mut of = connecting("responsiveness", &set);
    if let Some(connections) = &mut of.connections {
        connections.tcp.rwnd = Bytes(100_000);
    }
    p.traffic = vec![of];
    let of = measured(&p).responsiveness.expect("it measures it");
    let foreign = of.foreign_rpm.expect("probes");
    assert!((foreign / 3_000.0 - 1.0).abs() < 0.02, "{foreign}");
    let loaded = of.loaded_rpm.expect("probes");
    assert!((1_450.0..3_030.0).contains(&loaded), "{loaded}");
    assert_eq!(of.rpm, Some((foreign + loaded) / 2.0));
    assert_eq!((of.confidence, of.connections), (Confidence::High, 4));
    assert!(of.intervals < 40, "{}", of.intervals);
    assert!(of.foreign.count() > 300 && of.loaded.count() > 100);
    // A window of 100 kB per 20 ms gives each connection 40 Mbit/s.
    let window = of.goodput_bit / 4.0;
    assert!((window / 40e6 - 1.0).abs() < 0.05, "{window}");
}

/// A new connection must wait in a FIFO with a delay of 40 ms, but not in a fair queue.
#[test]
fn responsiveness_depends_on_the_queue() {
    let rpm = |queue: &str, limit: u64| {
        let limit = [("limit", Value::Packets(limit))];
        let shared = link(20_000_000, queue, &limit);
        let mut p = plan(Time::from_secs(30), vec![shared], vec![]);
        let set = [
            ("interval", Value::Time(Time::from_secs(1))),
            ("most_connections", Value::Int(4)),
        ];
        p.traffic = vec![connecting("responsiveness", &set)];
        let of = measured(&p).responsiveness.expect("it measures it");
        assert_ne!(of.confidence, Confidence::Low);
        assert!(of.loaded.count() > 0);
        of.foreign_rpm.expect("probes")
    };
    // With a full FIFO, a round trip takes 60 ms, which is 1000 RPM. Probes that lose a packet take
    // longer.
    let (fifo, fair) = (rpm("fifo", 66), rpm("fq_codel", 10_240));
    assert!((600.0..1_500.0).contains(&fifo), "{fifo}");
    assert!(fair > 1.5 * fifo && fair <= 3_000.0, "{fair}");
}
