//! Memory asked for before it is needed.
//!
//! Where many flows take turns, what a packet needs of its flow has left the caches by the time
//! that it comes, and each line of it is waited for. Pipes and queues know which packets come
//! next: what those will need is asked for meanwhile. It changes no value, and where the machine
//! has no such instruction nothing is done.

#![allow(
    unsafe_code,
    reason = "a hint that takes an address; every address is that of a reference"
)]

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Asks for the line where a value begins.
#[inline(always)]
pub fn line<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the address is that of a reference, and a prefetch reads nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Asks for all lines of a value.
#[inline(always)]
pub fn all<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of_val(value)).step_by(LINE) {
        // SAFETY: the address lies within a value that is referred to, and a prefetch reads nothing.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast::<i8>().add(offset));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
