//! Counts the heap memory that each thread allocates. A program that uses this module must install
//! [`Heap`] as its global allocator.

#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which also counts the bytes that each thread allocates.
pub struct Heap;

thread_local! {
    /// Number of bytes that this thread currently has allocated. The number becomes negative if the
    /// thread frees memory that another thread allocated.
    static NOW: Cell<i64> = const { Cell::new(0) };
    /// The maximum of `NOW` since the last call of [`reset`].
    static MOST: Cell<i64> = const { Cell::new(0) };
}

fn add(bytes: i64) {
    // Ignore the error, because the counters of a thread that is ending no longer exist.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(now.get())));
    });
}

// SAFETY: this allocator passes every call to the system allocator, and counting does not allocate
// memory.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: the caller obeys this function's contract, which is the contract of the system
        // allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: the caller obeys this function's contract, which is the contract of the system
        // allocator.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: the caller obeys this function's contract, which is the contract of the system
        // allocator.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as i64 - layout.size() as i64);
        // SAFETY: the caller obeys this function's contract, which is the contract of the system
        // allocator.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Restarts the measurement of the maximum. Returns the number of bytes that the thread currently
/// has allocated.
pub fn reset() -> i64 {
    let now = NOW.get();
    MOST.set(now);
    now
}

/// Returns the largest number of bytes that this thread had allocated at any time since [`reset`].
pub fn most() -> i64 {
    MOST.get()
}
