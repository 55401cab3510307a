//! Tests requirements that a queue discipline must meet with any options.

use std::collections::VecDeque;

use proptest::prelude::*;
use tailback_engine::aqm::{Backlog, Build, Dequeue, Queue, QueueContext, Setting, Sink};
use tailback_engine::packet::{Ecn, Packet};
use tailback_engine::registry::kernel::{Kernel, Order};
use tailback_engine::registry::{
    Entry, Kind, Opt, Options, Value, check_range, complete_defaults, defaults,
};
use tailback_engine::rng::Stream;
use tailback_engine::units::{Bytes, Rate, Time};
use tailback_record::Cause;

const FLOWS: u32 = 3;
const RATE: Rate = Rate(10_000_000);

/// One step of a random test sequence.
#[derive(Clone, Debug)]
enum Op {
    /// A packet arrives. The fields are its flow, its frame length in bytes and its ECN field.
    Arrive(u32, u16, Ecn),
    /// The link requests this many packets.
    Leave(u8),
    /// Time passes, and the timers that become due fire. The number is the length of this wait, in
    /// us.
    Wait(u32),
    /// The link's rate changes to this rate, bit/s.
    Rate(u64),
    /// Some of the options that may change during a run get new values. The number is the seed of
    /// these values.
    Change(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let ecn = prop_oneof![
        Just(Ecn::NotEct),
        Just(Ecn::Ect0),
        Just(Ecn::Ect1),
        Just(Ecn::Ce)
    ];
    let len = prop_oneof![Just(66u16), Just(1514u16), 40..9_000u16];
    let op = prop_oneof![
        6 => (0..FLOWS, len, ecn).prop_map(|(f, l, e)| Op::Arrive(f, l, e)),
        3 => (1..4u8).prop_map(Op::Leave),
        2 => (0..2_000u32).prop_map(Op::Wait),
        1 => (0..2_000_000u32).prop_map(Op::Wait),
        1 => (1..10_000_000_000u64).prop_map(Op::Rate),
        1 => any::<u64>().prop_map(Op::Change),
    ];
    proptest::collection::vec(op, 1..400)
}

/// Returns a random value that is valid for an option. Small values are drawn more often than large
/// ones, so that queues drop packets more often.
fn random_value(opt: &Opt, rng: &mut Stream) -> Value {
    match random_value_of(opt.kind, rng) {
        // Raise the periods of timers to at least 600 us, because shorter periods only make the
        // test slower.
        Value::Time(t) if matches!(opt.name, "tupdate" | "max_rtt" | "typical_rtt") => {
            Value::Time(t.max(Time::from_us(600)))
        }
        value => value,
    }
}

fn random_value_of(kind: Kind, rng: &mut Stream) -> Value {
    let spread = |rng: &mut Stream, max: f64| libm::pow(max, rng.uniform());
    let packets = |rng: &mut Stream| Value::Packets(spread(rng, 2_000.0) as u64);
    let bytes = |rng: &mut Stream| Value::Bytes(Bytes(spread(rng, 2e6) as u64));
    let time = |rng: &mut Stream, min: u64| Value::Time(Time(min + spread(rng, 2e9) as u64));
    match kind {
        Kind::Bool => Value::Bool(rng.chance(0.5)),
        Kind::Int { min, max } => {
            let span = max.abs_diff(min).saturating_add(1);
            Value::Int(min.saturating_add_unsigned(rng.below(span)).min(max))
        }
        Kind::Float { min, max } => match rng.below(4) {
            0 => Value::Float(min),
            1 => Value::Float(max),
            _ => Value::Float(min + (max - min) * rng.uniform()),
        },
        Kind::Time { min } => time(rng, min.0),
        Kind::Rate => Value::Rate(Rate(spread(rng, 1e11) as u64)),
        Kind::Size {
            packets: true,
            bytes: true,
        } => {
            if rng.chance(0.5) {
                packets(rng)
            } else {
                bytes(rng)
            }
        }
        Kind::Size { packets: true, .. } => packets(rng),
        Kind::Size { .. } => bytes(rng),
        Kind::TimeOrSize => match rng.below(3) {
            0 => packets(rng),
            1 => bytes(rng),
            _ => time(rng, 1),
        },
        Kind::Word(words) => Value::Word(words[rng.below(words.len() as u64) as usize]),
        Kind::WordOrInt { words, min, max } => match rng.below(2) {
            0 => random_value_of(Kind::Word(words), rng),
            _ => Value::Int(min + rng.below((max - min + 1) as u64) as i64),
        },
        Kind::BoolOrInt { min, max } => match rng.below(2) {
            0 => Value::Bool(rng.below(2) == 0),
            _ => Value::Int(min + rng.below((max - min + 1) as u64) as i64),
        },
        Kind::List(inner) => Value::List(vec![random_value_of(*inner, rng)]),
        Kind::Pairs(inner) => Value::Pairs(vec![(Time::ZERO, random_value_of(*inner, rng))]),
        Kind::Table(inner) => Value::Table(random_options(inner, rng)),
    }
}

/// Sets about a third of the options to random values, and the other options to their defaults.
fn random_options(opts: &'static [Opt], rng: &mut Stream) -> Options {
    let mut options = defaults(opts);
    for opt in opts {
        if rng.chance(0.35) {
            let value = random_value(opt, rng);
            assert_eq!(check_range(opt.kind, &value), Ok(()), "{}", opt.name);
            options.set(opt.name, value);
        }
    }
    options
}

/// Returns random options that are valid together. For every fourth seed, or if none are found,
/// returns the defaults.
fn some_options(entry: &Entry<Build>, seed: u64) -> Options {
    let mut rng = Stream::new(seed, entry.name, "options");
    if seed.is_multiple_of(4) {
        return complete_defaults(entry);
    }
    for _ in 0..100 {
        let mut options = random_options(entry.options, &mut rng);
        if (entry.finish)(&mut options).is_ok() {
            return options;
        }
    }
    complete_defaults(entry)
}

/// Draws new values for options that may change, in the units of the old values. Returns `None` if
/// no drawn values are valid together.
fn other_options(
    entry: &Entry<Build>,
    now: &Options,
    changeable: &[&str],
    seed: u64,
) -> Option<Options> {
    let mut rng = Stream::new(seed, entry.name, "change");
    let of = |name: &str| entry.options.iter().find(|opt| opt.name == name);
    for name in changeable {
        assert!(of(name).is_some(), "{}: no option {name}", entry.name);
    }
    (0..20).find_map(|_| {
        let mut options = now.clone();
        // Do not change `any_ect`. After such a change, packets of a flow enter another queue, and
        // may overtake the flow's earlier packets.
        let ordered = changeable.iter().filter(|name| **name != "any_ect");
        for opt in ordered.filter_map(|name| of(name)) {
            if rng.chance(0.5) {
                let value = random_value(opt, &mut rng);
                let same = now.get(opt.name).is_none_or(|now| now.same_unit(&value));
                if same {
                    options.set(opt.name, value);
                }
            }
        }
        (entry.finish)(&mut options).is_ok().then_some(options)
    })
}

/// Returns the order in which a queue with these options must release packets.
fn order(entry: &Entry<Build>, options: &Options) -> Order {
    let Kernel::Qdisc(face) = entry.kernel else {
        panic!("{} has no face of a queue", entry.name);
    };
    match face.order {
        Order::ArrivalIf(option, word) if options.word(option) == word => Order::Arrival,
        Order::ArrivalIf(..) => Order::Flows,
        Order::ClassesUnless(option) if options.bool(option) => Order::None,
        Order::ClassesUnless(_) => Order::Classes,
        order => order,
    }
}

/// A queue under test, and the packets that it should contain.
struct Bench {
    entry: &'static Entry<Build>,
    name: &'static str,
    options: Options,
    rate: Rate,
    /// The order of packets that the queue discipline guarantees with these options.
    order: Order,
    queue: Box<dyn Queue>,
    sink: Sink,
    now: Time,
    timer: Option<Time>,
    /// For each flow, the numbers of the packets in the queue, in the order of arrival. With
    /// [`Order::Classes`], there is one list for each flow and ECN field.
    inside: Vec<VecDeque<(u64, Ecn)>>,
    arrived: u64,
    left: u64,
    remarked: u64,
    log: Vec<(u64, u64, u8)>,
}

impl Bench {
    fn new(entry: &'static Entry<Build>, options: &Options, seed: u64) -> Bench {
        let context = QueueContext {
            rate: RATE,
            mtu: 1514,
            rng: Stream::new(seed, "link", "queue"),
        };
        let mut queue = (entry.build)(options, context);
        let mut sink = Sink::new(FLOWS as usize, Time::ZERO);
        queue.rate_changed(RATE, Time::ZERO);
        let timer = queue.timer(Time::ZERO, &mut sink);
        assert_eq!(queue.backlog(), Backlog::default());
        let mut bench = Bench {
            entry,
            name: entry.name,
            options: options.clone(),
            rate: RATE,
            order: order(entry, options),
            queue,
            sink,
            now: Time::ZERO,
            timer,
            inside: vec![VecDeque::new(); 4 * FLOWS as usize],
            arrived: 0,
            left: 0,
            remarked: 0,
            log: Vec::new(),
        };
        bench.check();
        bench
    }

    /// Checks that the queue and the sink's counters agree on the backlog.
    fn check(&mut self) {
        let backlog = self.queue.backlog().bytes;
        assert_eq!(backlog, self.sink.meter.backlog(), "{}", self.name);
        let drops = self.sink.meter.counts.drops();
        assert_eq!(
            self.arrived,
            self.left + drops + self.queue.backlog().packets,
            "{}: packets in, out, dropped, queued",
            self.name
        );
        if let Some(timer) = self.timer {
            assert!(timer > self.now, "{}: a timer in the past", self.name);
        }
        let mut gauges = Vec::new();
        self.queue.gauges(self.now, &mut gauges);
        assert_eq!(gauges.len(), self.queue.gauge_names().len());
        assert!(gauges.iter().all(|g| g.is_finite()), "{gauges:?}");
    }

    fn arrive(&mut self, flow: u32, len: u16, ecn: Ecn) {
        let mut packet = Packet::new(flow, len, ecn);
        packet.seq = self.arrived;
        packet.stamp = self.now;
        self.arrived += 1;
        let class = if self.order == Order::Classes {
            ecn as u32
        } else {
            0
        };
        self.inside[(flow + FLOWS * class) as usize].push_back((packet.seq, ecn));
        self.sink.arrive(&packet, self.now);
        self.queue.enqueue(&mut packet, self.now, &mut self.sink);
        self.check();
    }

    /// Requests a packet from the queue. Returns false if the queue returns no packet.
    fn leave(&mut self) -> bool {
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        loop {
            match self.queue.dequeue(self.now, &mut self.sink, &mut packet) {
                Dequeue::Packet | Dequeue::Until(_) => break,
                Dequeue::Empty => {
                    let queued = self.queue.backlog().packets;
                    assert_eq!(queued, 0, "{}: idle with a backlog", self.name);
                    self.check();
                    return false;
                }
                Dequeue::NotBefore(time) => {
                    assert!(time > self.now, "{}: wait for the past", self.name);
                    assert!(self.queue.backlog().packets > 0, "{}", self.name);
                    self.wait_until(time);
                }
            }
        }
        self.sink.forward(&packet, self.now);
        self.left += 1;
        let mut place = packet.flow as usize;
        if self.order == Order::Classes {
            let holds = |i: &usize| {
                let of = &self.inside[*i];
                of.binary_search_by_key(&packet.seq, |(seq, _)| *seq)
                    .is_ok()
            };
            let places = (0..4).map(|class| place + class * FLOWS as usize);
            place = places.clone().find(holds).unwrap_or(place);
        }
        let inside = &mut self.inside[place];
        if self.order == Order::None {
            // The queue may reorder packets, so earlier packets may still be queued. Move this
            // packet to the front, so that the earlier packets do not count as dropped.
            if let Ok(index) = inside.binary_search_by_key(&packet.seq, |(seq, _)| *seq) {
                inside.make_contiguous()[..=index].rotate_right(1);
            }
        }
        // All packets before this packet in the list were dropped.
        let before = loop {
            let (seq, ecn) = inside.pop_front().unwrap_or_else(|| {
                panic!("{}: packet {} out of order or twice", self.name, packet.seq)
            });
            if seq == packet.seq {
                break ecn;
            }
        };
        if self.order == Order::Arrival {
            for flow in &mut self.inside {
                while flow.front().is_some_and(|(seq, _)| *seq < packet.seq) {
                    flow.pop_front();
                }
            }
        }
        let now = packet.ecn;
        let counts = self.sink.meter.counts_of(packet.flow as usize);
        match (before, now) {
            (a, b) if a == b => {}
            (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => self.remarked += 1,
            (Ecn::Ect0, Ecn::Ect1) => assert!(counts.get(Cause::SceMark) > 0),
            _ => panic!("{}: {before:?} became {now:?}", self.name),
        }
        assert!(
            self.remarked <= self.sink.meter.counts.marks(),
            "{}",
            self.name
        );
        self.log.push((self.now.ns(), packet.seq, now as u8));
        self.check();
        true
    }

    fn wait_until(&mut self, time: Time) {
        while let Some(timer) = self.timer.filter(|t| *t <= time) {
            self.now = timer;
            self.timer = self.queue.timer(self.now, &mut self.sink);
            self.check();
        }
        self.now = time;
    }

    /// Changes options that may change.
    fn change(&mut self, seed: u64) {
        let changeable = self.queue.changeable();
        let Some(options) = other_options(self.entry, &self.options, changeable, seed) else {
            return;
        };
        let setting = Setting {
            rate: self.rate,
            mtu: 1514,
            now: self.now,
        };
        let gauges = self.queue.gauge_names();
        self.queue.change(&options, &setting, &mut self.sink);
        assert_eq!(gauges, self.queue.gauge_names(), "{}", self.name);
        self.options = options;
        self.check();
    }

    fn run(&mut self, ops: &[Op]) {
        for op in ops {
            match *op {
                Op::Arrive(flow, len, ecn) => self.arrive(flow, len, ecn),
                Op::Leave(n) => {
                    for _ in 0..n {
                        self.leave();
                    }
                }
                Op::Wait(us) => self.wait_until(self.now + Time::from_us(u64::from(us))),
                Op::Rate(rate) => {
                    self.rate = Rate(rate);
                    self.queue.rate_changed(self.rate, self.now);
                }
                Op::Change(seed) => self.change(seed),
            }
        }
        while self.leave() {}
        let (meter, counts) = (&self.sink.meter, self.sink.meter.counts);
        for cause in Cause::ALL {
            let of = |flow: u32| meter.counts_of(flow as usize).get(cause);
            let sum: u64 = (0..FLOWS).map(of).sum();
            assert_eq!(sum, counts.get(cause), "{}: {cause:?} by flow", self.name);
        }
        assert_eq!(self.arrived, self.left + counts.drops(), "{}", self.name);
        assert_eq!(self.queue.backlog(), Backlog::default(), "{}", self.name);
    }
}

/// Checks that a queue discipline meets every requirement of this module.
pub fn conforms(entry: &'static Entry<Build>) {
    is_documented(entry);
    conserves_packets_order_and_ecn(entry);
    serves_a_long_overload(entry);
}

/// Runs random sequences of arrivals, departures, waits, and changes of the rate and of options,
/// with random options at the start. Every packet must leave once or be dropped once. Packets must
/// leave in order, and their ECN field must be unchanged or marked. Two runs with the same seed
/// must give the same result.
pub fn conserves_packets_order_and_ecn(entry: &'static Entry<Build>) {
    let config = ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(ops in ops(), seed in 0..1_000_000u64)| {
        let options = some_options(entry, seed);
        let mut bench = Bench::new(entry, &options, seed);
        bench.run(&ops);
        let mut again = Bench::new(entry, &options, seed);
        again.run(&ops);
        prop_assert_eq!(&bench.log, &again.log);
        prop_assert_eq!(bench.sink.meter.counts, again.sink.meter.counts);
    });
}

/// Sends at 1.5 times the link's rate for 20 s. Every packet must leave or be dropped, and the link
/// must never be idle. This tests the algorithm's steady state, for which the random sequences are
/// too short.
pub fn serves_a_long_overload(entry: &'static Entry<Build>) {
    for seed in 0..8 {
        let mut bench = Bench::new(entry, &some_options(entry, seed), seed);
        let slot = RATE.time_for(1_514);
        for n in 0..16_000u32 {
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][n as usize % 3];
            bench.arrive(n % FLOWS, 1_514, ecn);
            if n % 2 == 0 {
                bench.arrive(n % FLOWS, 1_514, ecn);
            }
            bench.wait_until(bench.now + slot);
            bench.leave();
        }
        bench.run(&[]);
    }
}

/// Every option must have a unique name and documentation. Options that already contain all
/// defaults must not change if defaults are added again.
pub fn is_documented(entry: &'static Entry<Build>) {
    fn documented(entry: &str, opts: &[Opt]) {
        for (i, opt) in opts.iter().enumerate() {
            assert!(!opt.doc.is_empty(), "{entry}: {}", opt.name);
            assert!(
                opts[..i].iter().all(|o| o.name != opt.name),
                "{entry}: {}",
                opt.name
            );
            if let Kind::Table(inner) = opt.kind {
                documented(entry, inner);
            }
        }
    }
    assert!(!entry.doc.is_empty() && !entry.follows.is_empty());
    documented(entry.name, entry.options);
    let options = complete_defaults(entry);
    let mut again = options.clone();
    assert_eq!((entry.finish)(&mut again), Ok(()));
    assert_eq!(options, again, "{}", entry.name);
}
