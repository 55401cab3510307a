//! How much memory a run takes, whatever else the process does: allocations
//! counted by thread. A program that measures installs [`Heap`] as its allocator.

#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts.
pub struct Heap;

thread_local! {
    /// Bytes of this thread now, and the most since [`reset`]. What one thread
    /// allocates and another frees makes one of them negative.
    static NOW: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

fn add(bytes: i64) {
    // A thread that is ending has neither any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(now.get())));
    });
}

// SAFETY: every call is the system allocator's; counting allocates nothing.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: as this function's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: as this function's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: as this function's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as i64 - layout.size() as i64);
        // SAFETY: as this function's.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Begins to count anew; gives what the thread holds now, bytes.
pub fn reset() -> i64 {
    let now = NOW.get();
    MOST.set(now);
    now
}

/// The most that this thread held since [`reset`], bytes.
pub fn most() -> i64 {
    MOST.get()
}
