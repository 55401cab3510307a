//! Runs the conformance tests on every congestion control of tailback.

#[path = "../src/cc/testing.rs"]
mod testing;

use tailback_conformance::cc::{after_a_mark, survives_anything_and_repeats_it};
use tailback_engine::cc::{Build, CongestionControl, ENTRIES};
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Opt, Options, Value, complete_defaults, find};
use tailback_engine::units::Time;
use testing::Host;

#[test]
fn survives_anything_and_repeats() {
    ENTRIES
        .iter()
        .for_each(|entry| survives_anything_and_repeats_it(entry));
}

fn draft_of_bbr3(options: &Options) -> Box<dyn CongestionControl> {
    let mut options = options.clone();
    options.set("draft", Value::Word("06"));
    (find(ENTRIES, "bbr3").expect("an entry").build)(&options)
}

/// Tests every option of bbr3 at both ends of its range, with the algorithm of the IETF draft
/// instead of the algorithm of the Linux branch.
#[test]
fn the_draft_of_bbr_survives_anything_and_repeats() {
    let bbr3 = *find(ENTRIES, "bbr3").expect("an entry");
    // A registry entry must have the lifetime `'static`, so leak the entry's memory.
    let entry: &'static Entry<Build> = Box::leak(Box::new(Entry {
        name: bbr3.name,
        doc: bbr3.doc,
        follows: bbr3.follows,
        options: bbr3.options,
        kernel: Kernel::None,
        rules: Rules::NONE,
        finish: bbr3.finish,
        build: draft_of_bbr3 as Build,
    }));
    survives_anything_and_repeats_it(entry);
}

fn copied(option: &Opt) -> Opt {
    Opt {
        name: option.name,
        doc: option.doc,
        kind: option.kind,
        default: option.default,
        tc: option.tc,
    }
}

/// Tests every option of prague at both ends of its range. The prague under test is version 0.7.
#[test]
fn version_0_7_of_prague_survives_anything_and_repeats() {
    let prague = *find(ENTRIES, "prague").expect("an entry");
    let mut options: Vec<Opt> = prague.options.iter().map(copied).collect();
    let version = options.iter_mut().find(|option| option.name == "version");
    version.expect("an option").default = Some("0.7");
    let entry: &'static Entry<Build> = Box::leak(Box::new(Entry {
        name: prague.name,
        doc: prague.doc,
        follows: prague.follows,
        options: Box::leak(options.into_boxed_slice()),
        kernel: Kernel::None,
        rules: Rules::NONE,
        finish: prague.finish,
        build: prague.build,
    }));
    survives_anything_and_repeats_it(entry);
}

#[test]
fn names_are_unique_and_sorted() {
    let names: Vec<_> = ENTRIES.iter().map(|e| e.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
}

/// If two fifths of a window have SCE marks, SCE-aware congestion controls reduce the window, but
/// by less than after a CE mark. Other congestion controls ignore SCE marks.
#[test]
fn sce_marks_cost_less_than_a_mark() {
    for entry in ENTRIES {
        let rounds = |marks: fn(&mut Host)| {
            let mut host = Host::new(
                (entry.build)(&complete_defaults(entry)),
                100,
                Time::from_ms(20),
            );
            host.window.ssthresh = 100;
            // Start a new measurement epoch, for congestion controls that have epochs.
            host.round();
            marks(&mut host);
            host.ack(1);
            host.window.cwnd
        };
        let (none, sce) = (rounds(|h| h.round()), rounds(|h| h.sce_round(40)));
        let ce = rounds(|h| h.marked_round(1));
        if entry.name.ends_with("-sce") {
            assert!(
                ce < sce && sce < none,
                "{}: {ce}, {sce}, {none}",
                entry.name
            );
        } else {
            assert_eq!(sce, none, "{}", entry.name);
        }
    }
}

/// A single CE mark reduces the window by at most half within a round.
#[test]
fn a_mark_costs_at_most_half_a_window() {
    for entry in ENTRIES {
        if let Some(reduced) = after_a_mark(entry) {
            assert!((50..100).contains(&reduced), "{}: {reduced}", entry.name);
        }
    }
}

/// A congestion control that models the path does not treat a single mark as congestion. The window
/// and rate of such a congestion control are the same as in a run without the mark.
#[test]
fn a_model_of_the_path_ignores_a_single_mark() {
    let mut models = Vec::new();
    for entry in ENTRIES {
        let after = |marks| {
            let mut host = Host::new(
                (entry.build)(&complete_defaults(entry)),
                100,
                Time::from_ms(20),
            );
            for round in 0..5 {
                host.marked_round(if round == 2 { marks } else { 0 });
            }
            (
                host.needs.rate_samples,
                host.window.cwnd,
                host.window.pacing_rate,
            )
        };
        let unmarked = after(0);
        if unmarked.0 {
            models.push(entry.name);
            assert_eq!(after(1), unmarked, "{}", entry.name);
            assert!(
                entry.name.starts_with("bbr") && unmarked.1 > 100,
                "{unmarked:?}"
            );
        }
    }
    assert_eq!(models, ["bbr", "bbr2", "bbr3"]);
}
