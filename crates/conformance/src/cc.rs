//! Tests requirements that a congestion control must meet after any sequence of events.

use proptest::prelude::*;
use tailback_engine::cc::{Build, MAX_CWND};
use tailback_engine::registry::{Entry, Kind, Options, Value, complete_defaults, defaults};
use tailback_engine::units::Time;

use crate::testing::Host;

/// An event at a sender. Times are in us.
#[derive(Clone, Copy, Debug)]
enum Op {
    Ack(u32),
    AckEce(u32),
    AckEsce(u32),
    Lose,
    Timeout,
    Undo,
    Idle(u32),
    Wait(u32),
    Rtt(u32),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (1..=100_u32).prop_map(Op::Ack),
        1 => (1_000..=2_000_000_u32).prop_map(Op::Ack),
        4 => (1..=100_u32).prop_map(Op::AckEce),
        4 => (1..=100_u32).prop_map(Op::AckEsce),
        // Duplicate ACKs: they acknowledge no new segment.
        1 => Just(Op::AckEce(0)),
        1 => Just(Op::AckEsce(0)),
        2 => Just(Op::Lose),
        1 => Just(Op::Timeout),
        1 => Just(Op::Undo),
        1 => (1..=2_000_000_000_u32).prop_map(Op::Idle),
        4 => (1..=2_000_000_u32).prop_map(Op::Wait),
        2 => (1..=5_000_000_u32).prop_map(Op::Rtt),
    ]
}

/// Returns the default options of a congestion control, and variants in which one option has
/// another value. The variants cover each word of a word option, both values of a Boolean, and both
/// ends of a number's range. Omits invalid variants.
fn variants(entry: &'static Entry<Build>) -> Vec<Options> {
    let mut variants = vec![complete_defaults(entry)];
    for opt in entry.options {
        let values: Vec<Value> = match opt.kind {
            Kind::Bool => vec![Value::Bool(false), Value::Bool(true)],
            Kind::Int { min, max } => vec![Value::Int(min), Value::Int(max)],
            Kind::Float { min, max } => vec![Value::Float(min), Value::Float(max)],
            Kind::Time { min } => vec![Value::Time(min)],
            Kind::Word(words) => words.iter().map(|w| Value::Word(w)).collect(),
            Kind::WordOrInt { words, min, max } => words
                .iter()
                .map(|w| Value::Word(w))
                .chain([Value::Int(min), Value::Int(max)])
                .collect(),
            Kind::BoolOrInt { min, max } => vec![
                Value::Bool(false),
                Value::Bool(true),
                Value::Int(min),
                Value::Int(max),
            ],
            Kind::Rate
            | Kind::Size { .. }
            | Kind::TimeOrSize
            | Kind::List(_)
            | Kind::Pairs(_)
            | Kind::Table(_) => Vec::new(),
        };
        for value in values {
            let mut options = defaults(entry.options);
            options.set(opt.name, value);
            if (entry.finish)(&mut options).is_ok() {
                variants.push(options);
            }
        }
    }
    // `abe` is valid only together with `beta_ecn`.
    if entry.options.iter().any(|opt| opt.name == "abe") {
        for (reading, further) in [("rfc8511", false), ("freebsd", false), ("freebsd", true)] {
            for beta in [0.001, 0.8, 0.999] {
                let mut options = defaults(entry.options);
                options.set("beta_ecn", Value::Float(beta));
                options.set("abe", Value::Word(reading));
                options.set("abe_frlossreduce", Value::Bool(further));
                assert_eq!((entry.finish)(&mut options), Ok(()));
                variants.push(options);
            }
        }
    }
    variants
}

/// Passes these events to a congestion control. Returns cwnd and ssthresh after each event.
fn play(
    entry: &'static Entry<Build>,
    options: &Options,
    cwnd: u32,
    ops: &[Op],
) -> Result<Vec<(u32, u32)>, TestCaseError> {
    let mut host = Host::new((entry.build)(options), cwnd, Time::from_ms(20));
    let mut seen = Vec::new();
    for op in ops {
        let before = host.window.cwnd;
        match *op {
            Op::Ack(n) => host.ack(n),
            Op::AckEce(n) => host.ack_ece(n),
            Op::AckEsce(n) => host.ack_esce(n),
            Op::Lose => host.lose(),
            Op::Timeout => host.timeout(),
            Op::Undo => host.undo(),
            Op::Idle(us) => host.idle(Time::from_us(us.into())),
            Op::Wait(us) => host.wait(Time::from_us(us.into())),
            Op::Rtt(us) => host.rtt = Time::from_us(us.into()),
        }
        let (name, window) = (entry.name, &host.window);
        prop_assert!(window.cwnd >= 1, "{name} {options:?}, {op:?}: {window:?}");
        prop_assert!(
            window.cwnd <= MAX_CWND,
            "{name} {options:?}, {op:?}: {window:?}"
        );
        prop_assert!(
            window.ssthresh >= 2,
            "{name} {options:?}, {op:?}: {window:?}"
        );
        if matches!(op, Op::Undo) {
            prop_assert!(window.cwnd >= before, "{name} {options:?}: {window:?}");
        }
        let gauges = host.gauges();
        prop_assert_eq!(gauges.len(), host.cc.gauge_names().len());
        prop_assert!(gauges.iter().all(|g| g.is_finite()), "{name}: {gauges:?}");
        seen.push((host.window.cwnd, host.window.ssthresh));
    }
    Ok(seen)
}

/// Checks that a congestion control meets every requirement of this module.
pub fn conforms(entry: &'static Entry<Build>) {
    survives_anything_and_repeats_it(entry);
    if let Some(reduced) = after_a_mark(entry) {
        assert!(reduced < 100, "{}: a mark costs nothing", entry.name);
    }
}

/// Runs random sequences of ACKs, marks, losses, timeouts and pauses with all variants of the
/// options. The window must stay within its limits, and a repeated sequence must give the same
/// windows.
pub fn survives_anything_and_repeats_it(entry: &'static Entry<Build>) {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let variants = variants(entry);
    proptest!(config, |(
        cwnd in prop_oneof![1..=50_u32, 1..=1_000_000_u32],
        ops in prop::collection::vec(op(), 1..200),
    )| {
        for options in &variants {
            let first = play(entry, options, cwnd, &ops)?;
            prop_assert_eq!(first, play(entry, options, cwnd, &ops)?);
        }
    });
}

/// Returns the window after a round trip in which one of 100 segments was marked. Without further
/// marks, the window must grow again. Returns `None` for a congestion control that models the path,
/// because such a congestion control does not respond to a single mark.
pub fn after_a_mark(entry: &'static Entry<Build>) -> Option<u32> {
    let cc = (entry.build)(&complete_defaults(entry));
    let mut host = Host::new(cc, 100, Time::from_ms(20));
    if host.needs.rate_samples {
        return None;
    }
    host.window.ssthresh = 100;
    host.marked_round(1);
    // The reduction ends with the first ACK of a segment that was sent after the mark.
    host.ack(1);
    let reduced = host.window.cwnd;
    for _ in 0..100 {
        host.round();
    }
    assert!(host.window.cwnd > reduced, "{} does not grow", entry.name);
    Some(reduced)
}
