//! Reads captured packets from a ring, a memory area that the kernel and the agent share. The ring
//! uses TPACKET_V2, because with this version the agent can read each packet as soon as it is
//! captured.
#![allow(unsafe_code)]

use std::io;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::sys::Socket;

/// Number of bytes to store of each packet: the Ethernet, IPv4 and longest TCP headers.
pub const SNAPLEN: u32 = 96;

/// Number of bytes to store of each packet if the job has programs. The number suffices for
/// Ethernet and IPv6 headers and the longest TCP header. Instead of the TCP header, a UDP header
/// with enough payload to distinguish packets fits. Despite this length, slots need not be larger
/// than with [`SNAPLEN`].
pub const PROGRAM_SNAPLEN: u32 = 120;

/// Length of a slot, in bytes: the kernel's header and alignment (66), and [`PROGRAM_SNAPLEN`].
const SLOT: usize = 192;
const BLOCK: usize = 1 << 16;
const SLOTS_IN_BLOCK: usize = BLOCK / SLOT;

const PACKET_RX_RING: i32 = 5;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VERSION: i32 = 10;
const PACKET_VNET_HDR: i32 = 15;
const PACKET_IGNORE_OUTGOING: i32 = 23;
const TPACKET_V2: i32 = 1;
const STATUS_USER: u32 = 1;

/// Length of the header in front of each frame (struct virtio_net_hdr), in bytes. This header
/// describes the offloads of the frame. With this header, a slot has 116 bytes for the packet.
/// These bytes suffice for all headers that the documentation of [`PROGRAM_SNAPLEN`] lists.
const OFFLOAD_HEADER: usize = 10;

/// Offset of the field `gso_size` in `struct virtio_net_hdr`. This field is the payload of each
/// segment of a GSO packet.
const SEGMENT_AT: usize = 4;

#[repr(C)]
#[derive(Clone, Copy)]
struct Request {
    block_size: u32,
    blocks: u32,
    slot_size: u32,
    slots: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// Time of the capture on the realtime clock, in ns.
    pub time_ns: u64,
    /// Interface index of the device.
    pub device: i32,
    /// Whether the device sent the packet.
    pub outgoing: bool,
    /// Frame length, in bytes. The headers of a GSO packet are counted once.
    pub len: u32,
    /// For a GSO packet, the payload of each segment except the last, in bytes. Otherwise 0.
    pub segment: u16,
    /// The stored first bytes of the packet.
    pub bytes: &'a [u8],
}

impl Captured<'_> {
    /// Returns the bytes of a packet's frames on the wire. Each segment of a GSO packet becomes a
    /// frame with its own headers. Queue disciplines and shapers use this length (Linux
    /// `qdisc_pkt_len_segs_init`).
    pub fn wire_len(&self, payload: u32) -> u32 {
        let segments = match self.segment {
            0 => 1,
            segment => payload.div_ceil(u32::from(segment)).max(1),
        };
        self.len + (segments - 1) * self.len.saturating_sub(payload)
    }
}

/// A ring that captures the packets of a namespace.
pub struct Ring {
    socket: Socket,
    memory: *mut u8,
    size: usize,
    slots: usize,
    next: usize,
    offloads: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Both,
    Incoming,
}

impl Ring {
    /// Opens a ring for `packets` packets in the current namespace. The ring stores the first
    /// `snaplen` bytes of each packet. `offloads` states whether packets may be GSO packets.
    pub fn new(which: Which, packets: usize, snaplen: u32, offloads: bool) -> io::Result<Ring> {
        let socket = Socket::new(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        socket.set(libc::SOL_PACKET, PACKET_VERSION, &TPACKET_V2)?;
        if offloads {
            socket.set(libc::SOL_PACKET, PACKET_VNET_HDR, &1_i32)?;
        }
        let filter = [libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: snaplen,
        }];
        let program = libc::sock_fprog {
            len: 1,
            filter: filter.as_ptr().cast_mut(),
        };
        socket.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        if which == Which::Incoming {
            socket.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32)?;
        }
        let blocks = packets.div_ceil(SLOTS_IN_BLOCK).max(1);
        let slots = blocks * SLOTS_IN_BLOCK;
        let request = Request {
            block_size: BLOCK as u32,
            blocks: blocks as u32,
            slot_size: SLOT as u32,
            slots: slots as u32,
        };
        socket.set(libc::SOL_PACKET, PACKET_RX_RING, &request)?;
        let size = blocks * BLOCK;
        // SAFETY: the call makes a new mapping of the ring, with the ring's size.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ring = Ring {
            socket,
            memory: memory.cast(),
            size,
            slots,
            next: 0,
            offloads,
        };
        // Bind the socket last. A socket that is bound earlier might capture packets of other
        // namespaces that are being set up.
        ring.socket.bind_packets()?;
        Ok(ring)
    }

    pub fn fd(&self) -> i32 {
        self.socket.fd()
    }

    /// Passes all packets captured so far to `take`, in the order of capture.
    pub fn drain(&mut self, mut take: impl FnMut(Captured<'_>)) {
        loop {
            let offset = self.next / SLOTS_IN_BLOCK * BLOCK + self.next % SLOTS_IN_BLOCK * SLOT;
            // SAFETY: `offset` + SLOT lies within the mapping. The first word of a slot is its
            // status. The status shows whether the kernel or the agent may use the slot. The status
            // word is aligned, because slots and blocks are aligned to 64 bytes.
            unsafe {
                let slot = self.memory.add(offset);
                let status = AtomicU32::from_ptr(slot.cast());
                if status.load(Ordering::Acquire) & STATUS_USER == 0 {
                    return;
                }
                let word = |at: usize| slot.add(at).cast::<u32>().read();
                let half = |at: usize| slot.add(at).cast::<u16>().read();
                // The fields of struct tpacket2_hdr are status, len, snaplen, mac, net, sec, nsec
                // and others.
                let (len, kept) = (word(4), word(8));
                let start = usize::from(half(12));
                let time_ns = u64::from(word(16)) * 1_000_000_000 + u64::from(word(20));
                // struct sockaddr_ll follows tpacket2_hdr. The fields of sockaddr_ll are family,
                // protocol, ifindex, hatype and pkttype.
                let device = word(32 + 4) as i32;
                let kind = slot.add(32 + 10).read();
                let kept = (kept as usize).min(SLOT.saturating_sub(start));
                let segment = match self.offloads {
                    true => half(start - OFFLOAD_HEADER + SEGMENT_AT),
                    false => 0,
                };
                take(Captured {
                    time_ns,
                    device,
                    outgoing: kind == libc::PACKET_OUTGOING,
                    len,
                    segment,
                    bytes: std::slice::from_raw_parts(slot.add(start), kept),
                });
                fence(Ordering::Release);
                status.store(0, Ordering::Release);
            }
            self.next = (self.next + 1) % self.slots;
        }
    }

    pub fn lost(&self) -> u64 {
        let mut statistics = [0_u8; 8];
        match self
            .socket
            .get(libc::SOL_PACKET, PACKET_STATISTICS, &mut statistics)
        {
            Ok(8) => u64::from(u32::from_ne_bytes([
                statistics[4],
                statistics[5],
                statistics[6],
                statistics[7],
            ])),
            _ => 0,
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes on the wire are the sum of the segments' frames, even if the last segment is not
    /// full.
    #[test]
    fn each_segment_has_headers_of_its_own() {
        let wire_len = |payload: u32, segment: u16| {
            let captured = Captured {
                time_ns: 0,
                device: 0,
                outgoing: false,
                len: 66 + payload,
                segment,
                bytes: &[],
            };
            captured.wire_len(payload)
        };
        assert_eq!(wire_len(1448, 0), 1514);
        assert_eq!(wire_len(0, 0), 66);
        assert_eq!(wire_len(3 * 1448, 1448), 3 * 1514);
        assert_eq!(wire_len(2 * 1448 + 1, 1448), 2 * 1514 + 67);
    }
}
