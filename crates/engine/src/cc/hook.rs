//! Names the hooks of a congestion control, and finds the hooks that a congestion control does not
//! implement.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};

macro_rules! hooks {
    ($($name:ident = $word:literal;)*) => {
        /// A hook of [`super::CongestionControl`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Hook {
            $(#[doc = concat!("`", $word, "`.")] $name,)*
        }

        impl Hook {
            /// All hooks, in the order of the trait.
            pub const ALL: &[Hook] = &[$(Hook::$name,)*];

            /// Returns the hook's name in Rust.
            pub const fn name(self) -> &'static str {
                match self { $(Hook::$name => $word,)* }
            }
        }
    };
}

hooks! {
    Needs = "needs";
    Randomise = "randomise";
    EcnRefused = "ecn_refused";
    Init = "init";
    Ssthresh = "ssthresh";
    CongAvoid = "cong_avoid";
    CongControl = "cong_control";
    OnLost = "on_lost";
    InAckEvent = "in_ack_event";
    PktsAcked = "pkts_acked";
    CwndEvent = "cwnd_event";
    SetState = "set_state";
    UndoCwnd = "undo_cwnd";
    CwrBegin = "cwr_begin";
    CwrAck = "cwr_ack";
    LossInCwr = "loss_in_cwr";
    Gauges = "gauges";
    GaugeNames = "gauge_names";
}

/// Number of calls of [`probe`] that are in progress. The number is 0 during a simulation.
static PROBES: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static NOTES: RefCell<Notes> = RefCell::default();
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// Hooks whose default implementations were called.
    pub defaults: Vec<Hook>,
    /// Built-in congestion controls (not those of plugins) that were constructed.
    pub made: Vec<&'static str>,
}

#[inline]
pub(super) fn default_of(hook: Hook) {
    if PROBES.load(Ordering::Relaxed) > 0 {
        NOTES.with_borrow_mut(|notes| notes.defaults.push(hook));
    }
}

#[inline]
pub(super) fn made(name: &'static str) {
    if PROBES.load(Ordering::Relaxed) > 0 {
        NOTES.with_borrow_mut(|notes| notes.made.push(name));
    }
}

/// Runs `work`. Returns the result of `work`, and the notes that this thread took while `work` ran.
pub(crate) fn probe<R>(work: impl FnOnce() -> R) -> (R, Notes) {
    NOTES.take();
    PROBES.fetch_add(1, Ordering::Relaxed);
    let result = work();
    PROBES.fetch_sub(1, Ordering::Relaxed);
    (result, NOTES.take())
}
