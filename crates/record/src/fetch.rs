//! Prefetching of memory.
//!
//! In runs with many flows, a flow's state has left the processor's caches when the flow's next
//! packet arrives. Without prefetching, the processor would then wait for each cache line. Pipes
//! and queues know which packets come next and prefetch the state of their flows. Prefetching does
//! not change any results. On processors without a prefetch instruction, the functions of this
//! module do nothing.

#![allow(unsafe_code, reason = "the one instruction of it has no safe function")]

use std::ptr;

const LINE: usize = 64;

#[inline(always)]
fn ask(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not change memory, and does not fault at any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches the first cache line of a value.
#[inline(always)]
pub fn line<T: ?Sized>(value: &T) {
    ask(ptr::from_ref(value).cast());
}

/// Prefetches all cache lines of a value.
#[inline(always)]
pub fn all<T: ?Sized>(value: &T) {
    let first = ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of_val(value)).step_by(LINE) {
        ask(first.wrapping_add(offset));
    }
}
