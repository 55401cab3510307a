//! Finds the hooks that a plugin's congestion control does not forward, if it wraps one of
//! tailback's congestion controls.
//!
//! If a wrapper does not implement a hook, the trait's default implementation runs instead. Most
//! defaults do nothing. The wrapped congestion control then does not learn of ACKs or losses. The
//! results are wrong, but tailback could not warn about them. So tailback calls each hook once on a
//! dummy sender. The default implementations report that they were called.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::cc::hook::probe;
use crate::cc::{
    self, Ack, CaState, CongestionControl, Conn, CwndEvent, Flight, Hook, INFINITE_SSTHRESH,
    LostSegment, Window,
};
use crate::plan::Growth;
use crate::registry::{Entry, complete_defaults, find};
use crate::rng::Stream;
use crate::units::Time;

/// Returns which congestion controls `entry` wraps, and which hooks `entry` neither implements nor
/// forwards. Returns `None` if `entry` does not wrap any congestion control of tailback.
pub fn forgotten(entry: &'static Entry<cc::Build>) -> Option<(Vec<&'static str>, Vec<Hook>)> {
    let (mut control, notes) = probe(|| (entry.build)(&complete_defaults(entry)));
    let mut inside = notes.made;
    inside.dedup();
    let known = inside
        .iter()
        .filter_map(|name| find(cc::TABLE.shipped(), name));
    let mut needed: Vec<Hook> = Vec::new();
    for inner in known {
        let defaults = left_out(&mut *(inner.build)(&complete_defaults(inner)));
        needed.extend(Hook::ALL.iter().filter(|hook| !defaults.contains(hook)));
    }
    if needed.is_empty() {
        return None;
    }
    let mut missing = left_out(&mut *control);
    missing.retain(|hook| needed.contains(hook) && !is_harmless(*hook));
    Some((inside, missing))
}

/// Returns whether a missing hook only affects which values are recorded, and not the results.
fn is_harmless(hook: Hook) -> bool {
    matches!(hook, Hook::Gauges | Hook::GaugeNames)
}

/// Returns the hooks for which a congestion control uses the default implementation.
pub(crate) fn left_out(control: &mut dyn CongestionControl) -> Vec<Hook> {
    let mut defaults = Vec::new();
    for hook in Hook::ALL {
        let ((), notes) = probe(|| {
            // A hook that panics is not a default implementation, because no default panics.
            _ = catch_unwind(AssertUnwindSafe(|| call(control, *hook)));
        });
        defaults.extend(notes.defaults);
    }
    defaults.sort_unstable();
    defaults.dedup();
    defaults
}

/// Calls a hook with the state of a sender that has ten segments in flight.
fn call(control: &mut dyn CongestionControl, hook: Hook) {
    let conn = Conn {
        now: Time::from_ms(100),
        srtt: Time::from_ms(20),
        min_rtt: Time::from_ms(20),
        delivered: 10,
        max_packets_out: 10,
        cwnd_limited: true,
        ..Conn::default()
    };
    let flight = Flight {
        nxt: 10,
        ..Flight::default()
    };
    let view = conn.view(&flight);
    let mut window = Window::new(10, INFINITE_SSTHRESH, Growth::Segments);
    let ack = Ack {
        delivered: 1,
        acked: 1,
        prior_in_flight: 10,
        rtt: Some(Time::from_ms(20)),
        ..Ack::default()
    };
    let lost = LostSegment {
        tx_in_flight: 10,
        lost: 1,
        app_limited: false,
        seq: 0,
    };
    match hook {
        Hook::Needs => _ = control.needs(),
        Hook::Randomise => control.randomise(Stream::new(1, "probe", "cc")),
        Hook::EcnRefused => _ = control.ecn_refused(),
        Hook::Init => control.init(view, &mut window),
        // The trait has no defaults for these hooks, so every congestion control implements them.
        Hook::Ssthresh | Hook::CongAvoid => {}
        Hook::CongControl => control.cong_control(view, &mut window, &ack),
        Hook::OnLost => control.on_lost(view, &window, &lost),
        Hook::InAckEvent => control.in_ack_event(view, &mut window, &ack),
        Hook::PktsAcked => control.pkts_acked(view, &mut window, &ack),
        Hook::CwndEvent => control.cwnd_event(view, &mut window, CwndEvent::CompleteCwr),
        Hook::SetState => control.set_state(view, &mut window, CaState::Disorder),
        Hook::UndoCwnd => _ = control.undo_cwnd(view, &window, 10),
        Hook::CwrBegin => control.cwr_begin(&mut window),
        Hook::CwrAck => control.cwr_ack(view, &mut window, &ack, 1),
        Hook::LossInCwr => control.loss_in_cwr(&mut window),
        Hook::Gauges => control.gauges(view, &window, &mut Vec::new()),
        Hook::GaugeNames => _ = control.gauge_names(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::whole::Whole;
    use super::*;
    use crate::cc::{Build, Signal, View, cubic, dctcp, reno};
    use crate::registry::Options;

    struct ByHand(Box<dyn CongestionControl>);

    impl CongestionControl for ByHand {
        fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
            self.0.ssthresh(view, window, signal)
        }

        fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
            self.0.cong_avoid(view, window, acked);
        }

        fn in_ack_event(&mut self, _view: View<'_>, _window: &mut Window, _ack: &Ack) {}
    }

    /// A wrapper that forwards all hooks with the macro.
    struct ByLine {
        inner: Box<dyn CongestionControl>,
    }

    impl CongestionControl for ByLine {
        crate::forward_hooks!(inner);
    }

    /// A wrapper that forwards hooks with the macro, and implements two of them itself.
    struct Gentler {
        inner: Box<dyn CongestionControl>,
    }

    impl CongestionControl for Gentler {
        crate::forward_hooks!(inner, except ssthresh, undo_cwnd);

        fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
            window.cwnd - 1
        }

        fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, _prior_cwnd: u32) -> u32 {
            window.cwnd
        }
    }

    const fn entry(build: Build) -> Entry<Build> {
        Entry {
            name: "mine",
            options: &[],
            finish: crate::registry::no_finish,
            build,
            ..reno::ENTRY
        }
    }

    fn inner(of: &'static Entry<Build>) -> Box<dyn CongestionControl> {
        (of.build)(&complete_defaults(of))
    }

    fn found(build: Build) -> Option<(Vec<&'static str>, Vec<Hook>)> {
        forgotten(Box::leak(Box::new(entry(build))))
    }

    const CUBIC: &Entry<Build> = &cubic::ENTRY;
    const DCTCP: &Entry<Build> = &dctcp::ENTRY;

    #[test]
    fn what_a_wrapper_forgets_is_found() {
        let (inside, missing) = found(|_: &Options| Box::new(ByHand(inner(CUBIC)))).expect("cubic");
        assert_eq!(inside, ["cubic"]);
        assert_eq!(
            missing,
            [
                Hook::Needs,
                Hook::Init,
                Hook::PktsAcked,
                Hook::CwndEvent,
                Hook::SetState,
                Hook::CwrBegin,
                Hook::LossInCwr,
            ]
        );
        // DCTCP depends on `in_ack_event`. `ByHand` implements this hook itself, so the hook is not
        // missing.
        let (_, missing) = found(|_| Box::new(ByHand(inner(DCTCP)))).expect("dctcp");
        assert!(missing.contains(&Hook::Needs) && !missing.contains(&Hook::InAckEvent));
    }

    #[test]
    fn a_control_with_two_hooks_leaves_all_others_to_their_defaults() {
        struct Bare;
        impl CongestionControl for Bare {
            fn ssthresh(&mut self, _: View<'_>, window: &Window, _: Signal) -> u32 {
                window.cwnd
            }
            fn cong_avoid(&mut self, _: View<'_>, _: &mut Window, _: u32) {}
        }
        let own = [Hook::Ssthresh, Hook::CongAvoid];
        let others: Vec<Hook> = Hook::ALL
            .iter()
            .copied()
            .filter(|h| !own.contains(h))
            .collect();
        assert_eq!(left_out(&mut Bare), others);
    }

    #[test]
    fn the_line_forgets_none() {
        for of in cc::ENTRIES {
            let defaults = left_out(&mut *inner(of));
            let mut wrapped = ByLine { inner: inner(of) };
            assert_eq!(left_out(&mut wrapped), defaults, "{}", of.name);
        }
        let mut whole = ByLine {
            inner: Box::new(Whole),
        };
        assert_eq!(left_out(&mut whole), []);
        let gentler = found(|_| {
            Box::new(Gentler {
                inner: inner(CUBIC),
            })
        });
        assert_eq!(gentler, Some((vec!["cubic"], vec![])));
    }

    #[test]
    fn one_that_wraps_nothing_is_left_alone() {
        struct Plain;
        impl CongestionControl for Plain {
            fn ssthresh(&mut self, _: View<'_>, window: &Window, _: Signal) -> u32 {
                window.cwnd / 2
            }
            fn cong_avoid(&mut self, _: View<'_>, _: &mut Window, _: u32) {}
        }
        assert_eq!(found(|_| Box::new(Plain)), None);
    }
}
