//! [`tailback_sim::Bottleneck`] for C. The header is `crates/c/tailback.h`, made by `make header`.
//!
//! A panic of the simulator ends the process: it cannot pass through C.

// The functions take pointers from C.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use tailback_sim::{Bottleneck as Inner, Ecn, Outcome, Side, Time};

/// A path with queues, ECN and competing traffic, to which the caller gives datagrams.
pub struct Bottleneck(Inner);

/// The ECN field of a datagram, as in the IP header: not capable of ECN.
pub const NOT_ECT: u8 = 0;
/// ECT(1).
pub const ECT1: u8 = 1;
/// ECT(0).
pub const ECT0: u8 = 2;
/// Congestion experienced.
pub const CE: u8 = 3;

/// The fate of a datagram.
#[repr(C)]
pub struct Delivery {
    /// The handle that it was pushed with.
    pub handle: u64,
    /// When it was pushed, ns.
    pub sent: u64,
    /// When it arrived or was dropped, ns.
    pub at: u64,
    /// Whether it arrived; if not, a link dropped it.
    pub arrived: bool,
    /// Whether it went to the sender's side, by the way back.
    pub back: bool,
    /// The ECN field that it arrived with.
    pub ecn: u8,
}

/// Makes a bottleneck from a scenario: a text in tailback's format with one entry of [[programs]].
/// Returns NULL if it has errors; then `message` has them as UTF-8, cut to `capacity` bytes.
///
/// # Safety
/// `scenario` is a string that ends with a zero byte. `message` is NULL or has `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_bottleneck_new(
    scenario: *const c_char,
    message: *mut c_char,
    capacity: usize,
) -> *mut Bottleneck {
    // SAFETY: the caller promises a string that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(scenario) };
    let made = match text.to_str() {
        Ok(text) => Inner::from_toml(text).map_err(|error| error.to_string()),
        Err(_) => Err("the scenario is not UTF-8".to_owned()),
    };
    match made {
        Ok(inner) => Box::into_raw(Box::new(Bottleneck(inner))),
        Err(text) => {
            if !message.is_null() && capacity > 0 {
                let most = text.len().min(capacity - 1);
                // Cut between two characters.
                let len = (0..=most)
                    .rfind(|at| text.is_char_boundary(*at))
                    .unwrap_or(0);
                // SAFETY: the caller promises `capacity` bytes.
                unsafe {
                    std::ptr::copy_nonoverlapping(text.as_ptr().cast(), message, len);
                    *message.add(len) = 0;
                }
            }
            std::ptr::null_mut()
        }
    }
}

/// Frees a bottleneck; NULL is allowed.
///
/// # Safety
/// `bottleneck` comes from tailback_bottleneck_new and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_bottleneck_free(bottleneck: *mut Bottleneck) {
    if !bottleneck.is_null() {
        // SAFETY: the pointer comes from `Box::into_raw` in tailback_bottleneck_new.
        drop(unsafe { Box::from_raw(bottleneck) });
    }
}

/// Sends a datagram with this many bytes of payload to the receiver's side, through the links.
/// `now` is in ns. Returns false, and sends nothing, if the time goes back or the datagram is too
/// long.
///
/// # Safety
/// `bottleneck` comes from tailback_bottleneck_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_push(
    bottleneck: *mut Bottleneck,
    now: u64,
    bytes: usize,
    ecn: u8,
    handle: u64,
) -> bool {
    // SAFETY: the caller promises a bottleneck.
    send(
        unsafe { &mut *bottleneck },
        now,
        Side::Sender,
        bytes,
        ecn,
        handle,
    )
}

/// Sends a datagram to the sender's side, by the way back; otherwise as tailback_push.
///
/// # Safety
/// `bottleneck` comes from tailback_bottleneck_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_push_back(
    bottleneck: *mut Bottleneck,
    now: u64,
    bytes: usize,
    ecn: u8,
    handle: u64,
) -> bool {
    // SAFETY: the caller promises a bottleneck.
    send(
        unsafe { &mut *bottleneck },
        now,
        Side::Receiver,
        bytes,
        ecn,
        handle,
    )
}

/// Writes the fate of the next datagram until now, in the order of time. Returns false if there is
/// none, or if the time goes back.
///
/// # Safety
/// `bottleneck` comes from tailback_bottleneck_new, and `delivery` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_poll(
    bottleneck: *mut Bottleneck,
    now: u64,
    delivery: *mut Delivery,
) -> bool {
    // SAFETY: the caller promises a bottleneck.
    let Bottleneck(inner) = unsafe { &mut *bottleneck };
    if Time(now) < inner.now() {
        return false;
    }
    let Some(event) = inner.poll(Time(now)) else {
        return false;
    };
    let (arrived, ecn) = match event.outcome {
        Outcome::Arrived { ecn } => (true, ecn),
        Outcome::Dropped { .. } => (false, Ecn::NotEct),
    };
    let made = Delivery {
        handle: event.handle,
        sent: event.sent.ns(),
        at: event.at.ns(),
        arrived,
        back: event.to == Side::Sender,
        ecn: match ecn {
            Ecn::NotEct => NOT_ECT,
            Ecn::Ect1 => ECT1,
            Ecn::Ect0 => ECT0,
            Ecn::Ce => CE,
        },
    };
    // SAFETY: the caller promises that `delivery` can be written.
    unsafe { delivery.write(made) };
    true
}

/// When to poll next, ns; UINT64_MAX if no datagram is inside.
///
/// # Safety
/// `bottleneck` comes from tailback_bottleneck_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_next(bottleneck: *const Bottleneck) -> u64 {
    // SAFETY: the caller promises a bottleneck.
    let Bottleneck(inner) = unsafe { &*bottleneck };
    inner.next().map_or(u64::MAX, Time::ns)
}

fn send(
    Bottleneck(inner): &mut Bottleneck,
    now: u64,
    from: Side,
    bytes: usize,
    ecn: u8,
    handle: u64,
) -> bool {
    let fits = Time(now) >= inner.now() && bytes <= Inner::MAX_BYTES;
    if fits {
        inner.send(Time(now), from, bytes, field(ecn), handle);
    }
    fits
}

/// Only the two bits of the IP header count.
fn field(ecn: u8) -> Ecn {
    match ecn & 3 {
        ECT1 => Ecn::Ect1,
        ECT0 => Ecn::Ect0,
        CE => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_between_characters() {
        let scenario = c"\"\u{e4}\u{e4}\u{e4}\" = 1\n";
        for capacity in 1..80 {
            let mut message = vec![1; capacity];
            // SAFETY: the scenario is a C string, and the buffer has as many bytes as stated.
            let made = unsafe {
                tailback_bottleneck_new(scenario.as_ptr(), message.as_mut_ptr(), capacity)
            };
            assert!(made.is_null());
            // SAFETY: the message ends with a zero byte.
            let text = unsafe { CStr::from_ptr(message.as_ptr()) };
            let text = text.to_str().expect("UTF-8");
            assert!((capacity.saturating_sub(2)..capacity).contains(&text.len()));
        }
    }
}
