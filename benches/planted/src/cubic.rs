//! A wrapper around CUBIC that adds an optional bug.

use tailback_engine::cc::{Build, CaState, CongestionControl, Signal, View, Window, cubic};
use tailback_engine::crates::Registry;
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, complete_defaults, no_finish};

/// The bug that a copy of CUBIC has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    Clean,
    /// A timeout reduces neither the window nor ssthresh.
    Timeout,
    /// The window grows even if the sender is application-limited.
    Validation,
    /// Each acknowledged segment is counted three times.
    Growth,
    /// A CE mark does not reduce the window.
    Marks,
    /// ssthresh is never below 100 segments.
    Floor,
}

macro_rules! entry {
    ($constant:ident, $name:literal, $bug:expr) => {
        static $constant: Entry<Build> = Entry {
            name: $name,
            doc: "CUBIC, maybe with a bug.",
            follows: "nothing",
            options: &[],
            kernel: Kernel::None,
            rules: Rules::NONE,
            finish: no_finish,
            build: |_| Box::new(Planted::new($bug)),
        };
    };
}

entry!(CLEAN, "cubic-clean", Bug::Clean);
entry!(TIMEOUT, "cubic-timeout", Bug::Timeout);
entry!(VALIDATION, "cubic-validation", Bug::Validation);
entry!(GROWTH, "cubic-growth", Bug::Growth);
entry!(MARKS, "cubic-marks", Bug::Marks);
entry!(FLOOR, "cubic-floor", Bug::Floor);

pub(super) fn register(registry: &mut Registry) {
    for entry in [&CLEAN, &TIMEOUT, &VALIDATION, &GROWTH, &MARKS, &FLOOR] {
        registry.cc(entry);
    }
}

struct Planted {
    inner: Box<dyn CongestionControl>,
    bug: Bug,
    /// The window and ssthresh just before the last reduction.
    before: (u32, u32),
}

impl Planted {
    fn new(bug: Bug) -> Planted {
        Planted {
            inner: (cubic::ENTRY.build)(&complete_defaults(&cubic::ENTRY)),
            bug,
            before: (0, 0),
        }
    }
}

impl CongestionControl for Planted {
    tailback_engine::forward_hooks!(inner, except ssthresh, cong_avoid, set_state);

    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
        self.before = (window.cwnd, window.ssthresh);
        let reduced = self.inner.ssthresh(view, window, signal);
        match self.bug {
            Bug::Marks if signal == Signal::Ecn => window.cwnd,
            Bug::Floor => reduced.max(100),
            _ => reduced,
        }
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        match self.bug {
            Bug::Validation => {
                let mut used = (*view).clone();
                used.cwnd_limited = true;
                self.inner.cong_avoid(used.view(view.flight), window, acked);
            }
            Bug::Growth => self.inner.cong_avoid(view, window, 3 * acked),
            _ => self.inner.cong_avoid(view, window, acked),
        }
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        if self.bug == Bug::Timeout && new == CaState::Loss {
            // Undo the reduction that the stack has just made.
            (window.cwnd, window.ssthresh) = self.before;
            return;
        }
        self.inner.set_state(view, window, new);
    }
}
