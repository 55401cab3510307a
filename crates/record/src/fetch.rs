//! Memory asked for before it is needed.
//!
//! Where many flows take turns, what a packet needs of its flow has left the caches by the time
//! that it comes, and each line of it is waited for. Pipes and queues know which packets come
//! next: what those will need is asked for meanwhile. It changes no value, and where the machine
//! has no such instruction nothing is done.

#![allow(unsafe_code, reason = "the one instruction of it has no safe function")]

use std::ptr;

/// Bytes of a line of the cache.
const LINE: usize = 64;

#[inline(always)]
fn ask(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch neither reads nor faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for the line where a value begins.
#[inline(always)]
pub fn line<T: ?Sized>(value: &T) {
    ask(ptr::from_ref(value).cast());
}

/// Asks for all lines of a value.
#[inline(always)]
pub fn all<T: ?Sized>(value: &T) {
    let first = ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of_val(value)).step_by(LINE) {
        ask(first.wrapping_add(offset));
    }
}
