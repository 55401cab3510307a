//! How much of Cake's memory limit a packet uses. Linux counts the size of the buffers that hold
//! packets, and not the bytes of the packets.
//!
//! The values in this file apply to a 64-bit kernel that sends segments singly. The size of a data
//! segment's buffer is the payload plus 832 bytes for headers and bookkeeping. A pure ACK counts as
//! only 2 bytes, because the kernel exempts ACKs from limits on queued memory. The size of a
//! datagram's buffer is a power of two plus 256 bytes.

use crate::packet::{Packet, flags};

/// Size of headers and bookkeeping in the buffer of a TCP segment, in bytes.
const SEGMENT: u32 = 832;
/// How much memory the kernel counts for a pure ACK, in bytes.
const PURE_ACK: u32 = 2;
/// Size of the bookkeeping at the start and at the end of a datagram's buffer, in bytes.
const BUFFER: u32 = 256;
const SHARED: u32 = 320;

/// Returns how much memory Linux charges for a packet, in bytes.
#[inline]
pub fn truesize(packet: &Packet) -> u32 {
    if packet.has(flags::DATAGRAM) {
        return (u32::from(packet.len) + SHARED).next_power_of_two() + BUFFER;
    }
    if packet.has(flags::ACK) && !packet.has(flags::SYN) && packet.payload == 0 {
        return PURE_ACK;
    }
    SEGMENT + u32::from(packet.payload)
}

/// Returns the memory limit, in bytes. If the scenario sets a limit, the result is this limit,
/// `given`. Without `given`, the limit is four times `rate` (byte/s) times `rtt_us`. In this case,
/// the limit is at least 4 MiB, and at most the memory of 10,240 full packets.
pub fn limit(given: Option<u64>, rate: u64, rtt_us: u64, mtu: u32) -> u64 {
    const PACKETS: u64 = 10_240;
    given.unwrap_or_else(|| {
        let wanted = (u128::from(rate) * u128::from(rtt_us) / 250_000) as u32;
        u64::from(wanted.max(4 << 20)).min(PACKETS * u64::from(mtu))
    })
}
