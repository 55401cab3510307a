//! Tests how the options of each registry entry are converted to Linux settings. Each option must
//! be converted, rejected, or declared as available only in the simulator. New entries are tested
//! automatically.

use std::collections::BTreeSet;

use tailback_engine::registry::kernel::{Kernel, Qdisc, show};
use tailback_engine::registry::{
    Entry, Kind, Opt, Options, Value, check_range, complete_defaults, defaults,
};
use tailback_engine::units::{Bytes, Rate, Time};
use tailback_engine::{aqm, cc};

const RATE: Rate = Rate(100_000_000);

/// Returns the values with which to test an option: every word, true and false, or both ends of a
/// range and some values between.
fn values(opt: &Opt) -> Vec<Value> {
    let times = [1_000, 1_000_000, 7_000_000, 4_000_000_000].map(|ns| Value::Time(Time(ns)));
    let packets = [1, 77, 1 << 33].map(Value::Packets);
    let bytes = [1, 90_000, 1 << 33].map(|n| Value::Bytes(Bytes(n)));
    let all = match opt.kind {
        Kind::Bool => vec![Value::Bool(false), Value::Bool(true)],
        Kind::Int { min, max } => vec![Value::Int(min), Value::Int(min + 1), Value::Int(max)],
        Kind::Float { min, max } => vec![
            Value::Float(min),
            Value::Float((min + max) / 2.0),
            Value::Float(max),
        ],
        Kind::Time { min } => [vec![Value::Time(min)], times.to_vec()].concat(),
        Kind::Rate => vec![Value::Rate(Rate(5_000_000))],
        Kind::Size { packets: false, .. } => bytes.to_vec(),
        Kind::Size { bytes: false, .. } => packets.to_vec(),
        Kind::Size { .. } => [packets, bytes].concat(),
        Kind::TimeOrSize => [times.to_vec(), packets.to_vec()].concat(),
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
        Kind::List(_) | Kind::Pairs(_) | Kind::Table(_) => Vec::new(),
    };
    let fits = |value: &Value| check_range(opt.kind, value).is_ok();
    all.into_iter().filter(fits).collect()
}

/// Returns the sets of options with which to test an entry. In each set, one option differs from
/// its default, and the set has this option's name. Each option has each of its test values once,
/// except values that the entry rejects.
fn variants<B>(entry: &Entry<B>) -> Vec<(&'static str, Options)> {
    let mut variants = Vec::new();
    for opt in entry.options {
        for value in values(opt) {
            let mut options = defaults(entry.options);
            options.set(opt.name, value);
            if (entry.finish)(&mut options).is_ok() {
                variants.push((opt.name, options));
            }
        }
    }
    variants
}

fn qdiscs() -> impl Iterator<Item = (&'static Entry<aqm::Build>, &'static Qdisc)> {
    aqm::ENTRIES.iter().map(|entry| match entry.kernel {
        Kernel::Qdisc(face) => (*entry, face),
        _ => panic!("{} has no face of a queue", entry.name),
    })
}

#[test]
fn every_option_of_a_queue_has_one_row() {
    let mut kinds = BTreeSet::new();
    for (entry, face) in qdiscs() {
        let options: BTreeSet<_> = entry.options.iter().map(|opt| opt.name).collect();
        let rows: BTreeSet<_> = face.words.iter().map(|row| row.0).collect();
        assert_eq!(rows.len(), face.words.len(), "{}: a row twice", entry.name);
        if face.kinds.is_empty() {
            assert!(rows.is_empty() && face.since.is_none(), "{}", entry.name);
            continue;
        }
        assert_eq!(rows, options, "{}", entry.name);
        let shown: BTreeSet<_> = face.shown.iter().copied().collect();
        assert!(shown.is_subset(&rows), "{}", entry.name);
        for kind in face.kinds {
            assert!(kinds.insert(kind), "{kind} twice");
        }
    }
    for (entry, face) in qdiscs() {
        for kind in face.needs {
            assert!(kinds.contains(kind), "{} needs {kind}", entry.name);
        }
    }
}

#[test]
fn options_of_a_queue_are_spelled_or_refused() {
    for (entry, face) in qdiscs().filter(|(_, face)| !face.kinds.is_empty()) {
        let defaults = complete_defaults(entry);
        let plain = face.spell(&defaults, RATE);
        assert_eq!(plain.refused, [], "{}", entry.name);
        for (option, options) in variants(entry) {
            let spelled = face.spell(&options, RATE);
            assert!(face.kinds.contains(&spelled.kind), "{}", entry.name);
            let words: Vec<&str> = spelled.words.split(' ').collect();
            let sound = |word: &&str| !word.is_empty() && !word.contains(char::is_control);
            assert!(
                words.iter().all(sound) || !spelled.refused.is_empty(),
                "{}: {}",
                entry.name,
                spelled.words
            );
            let known = |at: &str| entry.options.iter().any(|opt| opt.name == at);
            assert!(spelled.refused.iter().all(|refused| known(refused.at)));
            let other = (plain.kind, &plain.words) != (spelled.kind, &spelled.words);
            assert!(
                other || !spelled.refused.is_empty() || options == defaults,
                "{}: {option} = {:?} is lost",
                entry.name,
                options.get(option)
            );
        }
    }
}

#[test]
fn options_of_a_queue_are_shown() {
    for (entry, face) in qdiscs() {
        let line = |options: &Options| show(entry.name, face, entry.options, options);
        let name = face.kinds.first().unwrap_or(&entry.name);
        let none = line(&Options::default());
        assert_eq!(none, format!("qdisc {name}"));
        for (option, options) in variants(entry) {
            let line = line(&options);
            assert!(line.starts_with("qdisc "), "{line}");
            assert!(line.len() > none.len(), "{}: {option}: {line}", entry.name);
        }
    }
    let line = |name| {
        let (entry, face) = qdiscs().find(|(entry, _)| entry.name == name).unwrap();
        show(name, face, entry.options, &complete_defaults(entry))
    };
    assert_eq!(
        line("cake"),
        "qdisc cake diffserv3 triple-isolate rtt 100ms no-ack-filter noatm nowash split-gso [sce off, fresh linux]"
    );
    assert_eq!(
        line("red"),
        "qdisc red limit 400000b min 33333b max 100000b ewma 9 probability 0.02 [gentle off, uniformise linux, idle hold, include_arriving off, avpkt 1000b]"
    );
    assert_eq!(
        line("step"),
        "qdisc step limit 1000p threshold 1ms at dequeue not_ect pass"
    );
}

#[test]
fn options_of_a_congestion_control_are_parameters_or_refused() {
    for entry in cc::ENTRIES {
        let Kernel::Module(face) = entry.kernel else {
            continue;
        };
        let named = |name: &str| entry.options.iter().any(|opt| opt.name == name);
        assert!(face.parameters.iter().all(|p| named(p.option)));
        assert!(face.version.is_none() || named("version"));
        let defaults = complete_defaults(entry);
        assert_eq!(
            face.parameters(&defaults, &defaults),
            (String::new(), vec![])
        );
        assert!(face.stand_in(&defaults, false).is_none());
        for (option, options) in variants(entry) {
            let (parameters, refused) = face.parameters(&options, &defaults);
            let as_linux = face
                .stand_in
                .as_ref()
                .is_some_and(|module| module.option == option && !(module.needed)(&options));
            assert!(
                !parameters.is_empty() || !refused.is_empty() || options == defaults || as_linux,
                "{}: {option} = {:?} is lost",
                entry.name,
                options.get(option)
            );
            let stands_in = face.stand_in(&options, false).is_some();
            let by_it = |module| face.stand_in.as_ref().is_some_and(|m| m.option == module);
            assert!(!stands_in || by_it(option), "{}: {option}", entry.name);
        }
    }
}

/// The defaults of other options depend on the version. If the kernel does not have the version,
/// only this error is reported.
#[test]
fn an_unsupported_version_of_a_congestion_control_is_one_error() {
    let refused_versions = |entry: &'static Entry<cc::Build>| {
        let Kernel::Module(face) = entry.kernel else {
            return Vec::new();
        };
        let defaults = complete_defaults(entry);
        let variants = variants(entry).into_iter();
        let versions = variants.filter(|(option, _)| *option == "version");
        let refused = versions.map(|(_, options)| face.parameters(&options, &defaults).1);
        refused.filter(|refused| !refused.is_empty()).collect()
    };
    for entry in cc::ENTRIES {
        for refused in refused_versions(entry) {
            let at: Vec<&str> = refused.iter().map(|refused| refused.at).collect();
            assert_eq!(at, ["version"], "{}", entry.name);
        }
    }
    let bbr2 = cc::ENTRIES.iter().find(|entry| entry.name == "bbr2");
    let refused = refused_versions(bbr2.expect("bbr2 is registered"));
    let [of_l4s] = &refused[..] else {
        panic!("{refused:?}");
    };
    assert_eq!(of_l4s[0].message, "the kernel's bbr2 is not that of l4s");
    assert_eq!(of_l4s[0].expected, "version = \"v2alpha\"");
}

#[test]
fn what_the_kernel_tells_is_where_a_struct_can_have_it() {
    for (entry, face) in qdiscs() {
        let gauges = face.xstats.gauges.iter().map(|gauge| gauge.at);
        let marks = face.xstats.marks.unwrap_or(&[]).iter().copied();
        assert!(gauges.chain(marks).all(|at| at % 4 == 0), "{}", entry.name);
    }
    for entry in cc::ENTRIES {
        if let Kernel::Module(face) = entry.kernel {
            // The 20 bytes of `union tcp_cc_info` must contain every sampled internal value
            // (gauge).
            assert!(
                face.gauges
                    .iter()
                    .all(|gauge| gauge.at % 4 == 0 && gauge.at < 20)
            );
        }
    }
}
