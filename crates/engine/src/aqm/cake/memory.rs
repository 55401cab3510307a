//! How much of Cake's memory limit a packet uses. Linux counts the buffers that hold packets, not
//! the packets' bytes.
//!
//! These values hold for a 64-bit kernel that sends segments one by one. A data segment uses the
//! bytes of its payload plus 832 bytes for headers and bookkeeping. A pure ACK uses only 2 bytes,
//! because the kernel exempts ACKs from limits on queued memory. A datagram uses a buffer whose
//! size is a power of two, plus 256 bytes.

use crate::packet::{Packet, flags};

/// Headers and bookkeeping of a TCP segment's buffer, bytes.
const SEGMENT: u32 = 832;
/// Memory that the kernel counts for a pure ACK, bytes.
const PURE_ACK: u32 = 2;
/// Bookkeeping at the start and at the end of a datagram's buffer, bytes.
const BUFFER: u32 = 256;
const SHARED: u32 = 320;

/// Returns the memory that Linux charges for a packet, bytes.
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

/// Returns the memory limit, bytes. If the scenario sets a limit, this is `given`. Otherwise, it is
/// four times the product of `rate` (byte/s) and `rtt_us`, but at least 4 MiB and at most the
/// memory of 10,240 full packets.
pub fn limit(given: Option<u64>, rate: u64, rtt_us: u64, mtu: u32) -> u64 {
    const PACKETS: u64 = 10_240;
    given.unwrap_or_else(|| {
        let wanted = (u128::from(rate) * u128::from(rtt_us) / 250_000) as u32;
        u64::from(wanted.max(4 << 20)).min(PACKETS * u64::from(mtu))
    })
}
