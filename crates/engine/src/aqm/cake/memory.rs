//! Memory that packets take from the memory limit. Linux counts the buffers that hold packets, not
//! their bytes.
//!
//! These values hold for segments that the kernel sends one by one, on 64 bits. A data segment is
//! its payload and 832 bytes of headers and bookkeeping. A pure ACK counts 2 bytes (the kernel
//! keeps ACKs out of such limits). A datagram is in one buffer whose size is a power of two, plus
//! 256 bytes.

use crate::packet::{Packet, flags};

/// Buffer head and bookkeeping of a TCP segment, bytes.
const SEGMENT: u32 = 832;
/// The value that the kernel uses for a pure ACK.
const PURE_ACK: u32 = 2;
/// Bookkeeping of a buffer, and the data at its end.
const BUFFER: u32 = 256;
const SHARED: u32 = 320;

/// Bytes of the memory limit that a packet takes.
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

/// Returns the memory limit, bytes. Without a `given` limit it is four times what the rate (byte/s)
/// carries in `rtt` (us), at least 4 MiB and at most 10,240 full packets.
pub fn limit(given: Option<u64>, rate: u64, rtt_us: u64, mtu: u32) -> u64 {
    const PACKETS: u64 = 10_240;
    given.unwrap_or_else(|| {
        let wanted = (u128::from(rate) * u128::from(rtt_us) / 250_000) as u32;
        u64::from(wanted.max(4 << 20)).min(PACKETS * u64::from(mtu))
    })
}
