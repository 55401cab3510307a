//! Shows to another thread which hook of a plugin is running. A hook that never returns cannot
//! report its own name, so another thread must report it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cc::{self, Hook};

/// How many of the low bits hold the hook. The higher bits hold the index of the congestion control
/// in its table, plus 1.
const HOOK_BITS: u32 = 8;

/// The hook of a plugin's congestion control that a thread is running now, if any.
#[derive(Clone, Debug, Default)]
pub struct Whereabouts(Arc<AtomicU32>);

thread_local! {
    static OF_THREAD: RefCell<Whereabouts> = RefCell::default();
}

impl Whereabouts {
    /// Starts a new record of running hooks for this thread. Congestion controls that the thread
    /// creates from now on write their hooks to this record.
    pub fn begin() -> Whereabouts {
        let new = Whereabouts::default();
        OF_THREAD.set(new.clone());
        new
    }

    pub(super) fn here() -> Whereabouts {
        OF_THREAD.with_borrow(Clone::clone)
    }

    /// Records that a hook is being called. `place` is the index of the congestion control in its
    /// table.
    #[inline]
    pub(super) fn enter(&self, place: u32, hook: Hook) {
        let number = (place + 1) << HOOK_BITS | hook as u32;
        self.0.store(number, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn leave(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Returns the name of the congestion control whose hook is running, and the name of the hook.
    pub fn hook(&self) -> Option<(&'static str, &'static str)> {
        let number = self.0.load(Ordering::Relaxed);
        let place = (number >> HOOK_BITS).checked_sub(1)?;
        let entry = cc::TABLE.entries().get(place as usize)?;
        let hook = Hook::ALL.get((number & ((1 << HOOK_BITS) - 1)) as usize)?;
        Some((entry.name, hook.name()))
    }
}
