//! Where the code of a plugin is at work, for another thread to read: code that never returns cannot
//! say so itself.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cc::{self, Hook};

/// Bits of the number that say which hook; the others count entries, from 1 on.
const HOOK_BITS: u32 = 8;

/// The hook, and its congestion control of a plugin, that a thread has called and not returned
/// from.
#[derive(Clone, Debug, Default)]
pub struct Whereabouts(Arc<AtomicU32>);

thread_local! {
    static OF_THREAD: RefCell<Whereabouts> = RefCell::default();
}

impl Whereabouts {
    /// The whereabouts of this thread from now on: plugins that are built on this thread write
    /// here.
    pub fn begin() -> Whereabouts {
        let new = Whereabouts::default();
        OF_THREAD.set(new.clone());
        new
    }

    /// The whereabouts of this thread.
    pub(super) fn here() -> Whereabouts {
        OF_THREAD.with_borrow(Clone::clone)
    }

    /// A congestion control is called; `place` is its place in the table.
    #[inline]
    pub(super) fn enter(&self, place: u32, hook: Hook) {
        let number = (place + 1) << HOOK_BITS | hook as u32;
        self.0.store(number, Ordering::Relaxed);
    }

    /// It has returned.
    #[inline]
    pub(super) fn leave(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The congestion control that is at work, and its hook.
    pub fn hook(&self) -> Option<(&'static str, &'static str)> {
        let number = self.0.load(Ordering::Relaxed);
        let place = (number >> HOOK_BITS).checked_sub(1)?;
        let entry = cc::TABLE.entries().get(place as usize)?;
        let hook = Hook::ALL.get((number & ((1 << HOOK_BITS) - 1)) as usize)?;
        Some((entry.name, hook.name()))
    }
}
