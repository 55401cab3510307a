//! Tests a toy transport that competes with CUBIC, and faulty endpoints.

mod toy;

use tailback_sim::{Ecn, Endpoint, Error, Results, Side, Simulation, Time, Transmit};
use toy::{Receiver, Sender};

const BESIDE_CUBIC: &str = r#"
duration = "30s"
warmup = "5s"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "fq_codel", ecn = true }
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
ecn = true
[[programs]]
name = "mine"
"#;

fn beside_cubic() -> Simulation {
    Simulation::from_toml(BESIDE_CUBIC).expect("a scenario")
}

fn run(simulation: Simulation) -> Results {
    let sender = Sender::new(Ecn::Ect0, None);
    let attached = simulation.attach("mine", sender, Receiver::default());
    attached.and_then(Simulation::run).expect("a run")
}

#[test]
fn a_toy_shares_a_fair_queue_with_cubic() {
    let results = run(beside_cubic());
    assert!((results.share("mine") - 0.5).abs() < 0.05, "{results:?}");
    let queue = results.bottleneck();
    assert!(queue.utilisation.expect("a rate") > 0.98, "{queue:?}");
    // The receiver also counts the marks during the warm-up, which the results do not include.
    let marks = results.marks("mine");
    let marked = results.receiver::<Receiver>("mine").marked;
    assert!(marks > 10 && marked >= marks, "{marks} {marked}");
    assert_eq!(results.drops("mine"), 0);
    assert_eq!(results.sender::<Sender>("mine").losses, 0);
    let endpoints = results.endpoints("mine");
    assert_eq!(endpoints.measured.ecn_sent.ect0, endpoints.measured.packets);
    let delay = endpoints.measured.delay_ms;
    assert!(delay.n > 20_000 && delay.p99.expect("packets") < 15.0);
    // The path has an RTT of 20 ms, and the return direction has no queue.
    let rtt = endpoints.measured.rtt_ms;
    let expected = 20.0 + delay.mean.expect("packets");
    assert!(rtt.n > 20_000 && (rtt.mean.expect("datagrams") - expected).abs() < 0.05);
    assert_eq!(endpoints.measured.rtt_of, Some("base and sojourn"));
    // Each datagram of 1200 bytes gets an acknowledgement of 9 bytes.
    let there = endpoints.measured.delivered_bytes as f64 / 1200.0;
    let back = endpoints.measured.back_bytes as f64 / 9.0;
    assert!((there - back).abs() < 100.0, "{there} {back}");
}

#[test]
fn series_of_endpoints_are_recorded() {
    let results = run(beside_cubic());
    let cwnd = results.series("mine", "cwnd");
    assert_eq!(cwnd.len(), 299);
    assert!(cwnd.iter().all(|(_, window)| *window >= 2.0));
    let delivered = results.series("mine", "delivered_bytes");
    assert!(delivered.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
    assert!(!results.series("bottleneck", "backlog_bytes").is_empty());
}

#[test]
fn the_same_text_seed_and_endpoints_give_the_same_bytes() {
    let [one, again, other] = [1, 1, 2].map(|seed| run(beside_cubic().seed(seed)).to_json());
    assert_eq!(one, again);
    assert_ne!(one, other);
}

#[test]
fn a_transfer_is_over_when_both_sides_are_done() {
    let text = BESIDE_CUBIC.replace("[[flows]]\ncc = \"cubic\"\necn = true\n", "");
    let simulation = Simulation::from_toml(&text.replace("\"5s\"", "\"0s\"")).expect("a scenario");
    let count = 10_000;
    let sender = Sender::new(Ecn::Ect0, Some(count));
    let attached = simulation.attach("mine", sender, Receiver::wanting(count));
    let results = attached.and_then(Simulation::run).expect("a run");
    // Each datagram is a frame of 1242 bytes, which the link sends at 20 Mbit/s.
    let least = count as f64 * 1242.0 * 8.0 / 20e6;
    let took = results.completion_s("mine").expect("it is over");
    assert!((least..1.1 * least).contains(&took), "{took}, not {least}");
    let payload = count as f64 * 1200.0 * 8.0 / 1e6 / took;
    assert!((results.throughput_mbit("mine") / payload - 1.0).abs() < 0.01);
}

/// A receiver that ends a second after its work is done. Like a QUIC client, it waits in case its
/// last packet is lost.
struct Lingers {
    inner: Receiver,
    until: Option<Time>,
    ended: bool,
}

impl Endpoint for Lingers {
    fn wake(&mut self, now: Time) {
        self.ended = self.until.is_some_and(|until| now >= until);
    }

    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        self.inner.receive(now, datagram, ecn);
        if self.inner.is_done() {
            self.until.get_or_insert(now + Time::from_secs(1));
        }
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        self.inner.transmit(now, datagram)
    }

    fn next(&mut self) -> Option<Time> {
        self.until.filter(|_| !self.ended)
    }

    fn is_done(&self) -> bool {
        self.ended
    }
}

#[test]
fn the_measured_time_of_a_transfer_ends_with_its_last_data() {
    let sender = Sender::new(Ecn::Ect0, Some(2_000));
    let receiver = Lingers {
        inner: Receiver::wanting(2_000),
        until: None,
        ended: false,
    };
    let text = BESIDE_CUBIC.replace("\"5s\"", "\"0s\"");
    let simulation = Simulation::from_toml(&text).expect("a scenario");
    let attached = simulation.attach("mine", sender, receiver);
    let results = attached.and_then(Simulation::run).expect("a run");
    let program = results.endpoints("mine");
    let measured = &program.measured;
    let ended = program.exit_s.receiver.expect("it is over");
    let completion = measured.completion_s.expect("it is over");
    // The measured time ends when the last acknowledgement reaches the sender. The last
    // acknowledgement arrives half a round trip (10 ms) after the last datagram has reached the
    // receiver.
    assert!(
        (ended - measured.to_s - 0.99).abs() < 0.001,
        "{ended} {}",
        measured.to_s
    );
    let span = measured.to_s - measured.from_s;
    assert!((span - completion).abs() < 1e-9, "{span} s, {completion} s");
    let mbit = 2_000.0 * 1200.0 * 8e-6 / completion;
    assert!((measured.throughput_mbit.expect("a time") / mbit - 1.0).abs() < 1e-9);
}

#[test]
fn payloads_survive_loss_duplication_and_reordering() {
    let text = BESIDE_CUBIC.replace(
        "[path]",
        "loss = 0.01\nduplicate = 0.05\nreorder = { probability = 0.05, delay = \"5ms\" }\n[path]",
    );
    let results = run(Simulation::from_toml(&text).expect("a scenario"));
    let receiver = results.receiver::<Receiver>("mine");
    let sent = results.endpoints("mine").measured.packets;
    assert!(receiver.received > sent, "{} of {sent}", receiver.received);
    assert!(results.drops("mine") > 20);
}

#[test]
fn nothing_is_sent_after_the_stop() {
    let text = BESIDE_CUBIC.replace("name = \"mine\"", "name = \"mine\"\nstop = \"10s\"");
    let results = run(Simulation::from_toml(&text).expect("a scenario"));
    let delivered = results.series("mine", "delivered_bytes");
    let at = |s: u64| {
        delivered
            .iter()
            .find(|row| row.0 == Time::from_secs(s))
            .expect("a row")
            .1
    };
    assert!(at(9) < at(10));
    assert_eq!(at(10), at(29));
    assert!((results.throughput_mbit("mine") - 9.6).abs() < 0.5);
}

#[test]
fn several_of_a_kind_and_the_way_back() {
    let text = "duration = \"10s\"\n[bottleneck]\nrate = \"20Mbit\"\nqueue = \"fq_codel\"\n\
                both_directions = true\n[[programs]]\nname = \"mine\"\ncount = 2\n\
                [[programs]]\nname = \"other\"\nreverse = true\n";
    let mut simulation = Simulation::from_toml(text).expect("a scenario");
    assert_eq!(simulation.entries(), ["mine/1", "mine/2", "other"]);
    for name in simulation.entries() {
        let sender = Sender::new(Ecn::NotEct, None);
        simulation = simulation
            .attach(&name, sender, Receiver::default())
            .expect("an entry");
    }
    let results = simulation.run().expect("a run");
    for name in ["mine/1", "mine/2"] {
        assert!(
            (results.throughput_mbit(name) - 9.6).abs() < 0.5,
            "{results:?}"
        );
    }
    assert!(results.throughput_mbit("other") > 18.0);
    assert!(results.link("bottleneck.back").packets > 15_000);
}

/// The rule that a faulty endpoint violates.
#[derive(Clone, Copy)]
enum Breaks {
    Spins,
    Creeps,
    Panics,
    Floods,
    FloodsEmpty,
}

struct Broken(Breaks, Time);

impl Endpoint for Broken {
    fn wake(&mut self, now: Time) {
        self.1 = now;
        assert!(!matches!(self.0, Breaks::Panics), "I am broken");
    }

    fn receive(&mut self, _: Time, _: &[u8], _: Ecn) {}

    fn transmit(&mut self, _: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        match self.0 {
            Breaks::Floods => datagram.resize(1200, 0),
            Breaks::FloodsEmpty => {}
            _ => return None,
        }
        Some(Transmit::one(Ecn::NotEct))
    }

    fn next(&mut self) -> Option<Time> {
        match self.0 {
            Breaks::Spins => Some(Time::ZERO),
            Breaks::Creeps => Some(self.1 + Time(1)),
            _ => None,
        }
    }
}

fn error_of(breaks: Breaks) -> Error {
    let attached = beside_cubic().attach("mine", Broken(breaks, Time::ZERO), Receiver::default());
    attached
        .and_then(Simulation::run)
        .expect_err("it is broken")
}

#[test]
fn a_mistake_costs_its_run_only_and_is_named() {
    for (breaks, expected) in [
        (
            Breaks::Spins,
            "asked to be woken 50001 times within a millisecond",
        ),
        (
            Breaks::Creeps,
            "asked to be woken 50001 times within a millisecond",
        ),
        (Breaks::Floods, "sent 200001 datagrams within a millisecond"),
        (
            Breaks::FloodsEmpty,
            "sent 200001 datagrams within a millisecond",
        ),
    ] {
        let error = error_of(breaks);
        let text = error.to_string();
        assert!(
            matches!(
                error,
                Error::Fault {
                    side: Side::Sender,
                    ..
                }
            ),
            "{text}"
        );
        assert!(text.starts_with("the sender of \"mine\""), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let error = error_of(Breaks::Panics).to_string();
    assert_eq!(error, "the run panicked: I am broken");
    assert!(
        run(beside_cubic()).share("mine") > 0.4,
        "another run goes on"
    );
}

/// Sends one burst of datagrams, as a sender with GSO does. The last datagram of the burst is
/// shorter than the other datagrams.
struct Burst {
    length: usize,
    segment: Option<usize>,
}

impl Endpoint for Burst {
    fn wake(&mut self, _: Time) {}

    fn receive(&mut self, _: Time, _: &[u8], _: Ecn) {}

    fn transmit(&mut self, _: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if self.length == 0 {
            return None;
        }
        datagram.resize(std::mem::take(&mut self.length), 7);
        Some(Transmit {
            ecn: Ecn::Ect1,
            segment_size: self.segment,
        })
    }

    fn next(&mut self) -> Option<Time> {
        None
    }
}

/// Records the lengths of the datagrams that arrive.
#[derive(Default)]
struct Lengths(Vec<usize>);

impl Endpoint for Lengths {
    fn wake(&mut self, _: Time) {}

    fn receive(&mut self, _: Time, datagram: &[u8], ecn: Ecn) {
        assert_eq!(ecn, Ecn::Ect1);
        self.0.push(datagram.len());
    }

    fn transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        None
    }

    fn next(&mut self) -> Option<Time> {
        None
    }
}

#[test]
fn a_burst_is_cut_and_what_is_too_long_is_dropped() {
    let lengths = |length, segment| {
        let burst = Burst { length, segment };
        let attached = beside_cubic().attach("mine", burst, Lengths::default());
        let results = attached.and_then(Simulation::run).expect("a run");
        let too_long = results.endpoints("mine").results[0].1;
        (results.receiver::<Lengths>("mine").0.clone(), too_long)
    };
    assert_eq!(
        lengths(2500, Some(1000)),
        (vec![1000, 1000, 500], Some(0.0))
    );
    assert_eq!(lengths(1472, Some(1472)), (vec![1472], Some(0.0)));
    assert_eq!(lengths(1473, None), (vec![], Some(1.0)));
    assert_eq!(lengths(3000, Some(1473)), (vec![54], Some(2.0)));
}

#[test]
fn errors_say_where_and_what_to_do() {
    let error = |text: &str| {
        Simulation::from_toml(text)
            .err()
            .expect("an error")
            .to_string()
    };
    let wrong = error(
        &BESIDE_CUBIC
            .replace("fq_codel", "fq_kodel")
            .replace("20ms", "20"),
    );
    assert!(wrong.contains("error: scenario:6:"), "{wrong}");
    assert!(wrong.contains("\"fq_codel\""), "{wrong}");
    assert!(
        wrong.contains("error: scenario:8:7: wrong value \"20\" for \"rtt\""),
        "{wrong}"
    );
    let program = error(&BESIDE_CUBIC.replace("\"mine\"", "\"mine\"\necn = true"));
    assert!(program.contains("\"ecn\" describes programs"), "{program}");
    assert!(program.contains("help: remove \"ecn\""), "{program}");
    let sweep = error(&format!("{BESIDE_CUBIC}[sweep]\nseeds = 3\n"));
    assert!(sweep.contains("a sweep of 3 runs"), "{sweep}");
    let attach = |name| beside_cubic().attach(name, Lengths::default(), Lengths::default());
    let unknown = attach("yours").err().expect("an error").to_string();
    assert_eq!(
        unknown,
        "there is no entry of [[programs]] named \"yours\"; use one of mine"
    );
    let unattached = beside_cubic().run().expect_err("an error").to_string();
    assert_eq!(
        unattached,
        "no endpoints are attached to mine; call `Simulation::attach`"
    );
    let set = Simulation::from_toml_with(BESIDE_CUBIC, &[("flows.cubic.cc", "reno")]);
    let results = run(set.expect("a scenario"));
    assert_eq!(
        results.summary().flows.iter().next().expect("a flow").cc,
        "reno"
    );
}
