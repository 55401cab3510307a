//! Cake's shaper. The shaper has a virtual clock that does not allow bursts. This module also
//! computes which size Cake charges for a packet.
//!
//! Each packet advances the virtual clock by its transmission time at Cake's rate. A packet may
//! leave when the virtual clock is not ahead of the current time. If a packet leaves late, the rate
//! does not fall, because the virtual clock continues from its old value. When a packet enters an
//! empty queue, a clock in the past is set to the current time. The shaper has a second clock, the
//! failsafe. Each packet that is sent advances the failsafe by 1.5 transmission times. Drops do not
//! advance the failsafe. With `ingress`, drops also advance the virtual clock. The virtual clock
//! may then be far ahead of the current time. Even while the virtual clock is ahead, the failsafe
//! lets packets leave at two thirds of the rate.

use crate::packet::Packet;

/// Length of the Ethernet header, in bytes. Cake does not charge this header if `overhead` is set.
const ETHERNET: i32 = 14;

/// The lowest rate to which Cake shapes, in byte/s.
const MIN_RATE: u64 = 64;

/// A rate, stored as the transmission time of a byte. This time is `ns` divided by 2^`shift`, in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerByte {
    /// Time per byte in units of 2^-shift ns.
    ns: u64,
    /// Number of binary digits in the fraction.
    shift: u32,
}

impl PerByte {
    /// Converts a rate in byte/s. The fraction has at most 34 binary digits.
    pub fn of(rate: u64) -> PerByte {
        let mut ns = (1_000_000_000u64 << 34) / rate.max(MIN_RATE);
        let mut shift = 34;
        while ns >> 34 != 0 {
            ns >>= 1;
            shift -= 1;
        }
        PerByte { ns, shift }
    }

    #[inline]
    pub fn time(self, bytes: u32) -> i64 {
        ((u64::from(bytes) * self.ns) >> self.shift) as i64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No framing: Cake charges the bytes of the frame itself.
    Plain,
    /// ATM: Cake charges cells of 53 bytes, each with 48 bytes of payload.
    Atm,
    /// PTM: Cake charges one extra byte for every 64 bytes of the frame, and one for a remainder of
    /// less than 64 bytes.
    Ptm,
    /// Cake charges each segment of a packet as [`Sizes::each`] says. A packet may combine several
    /// segments (GSO).
    Joined,
}

/// The parameters that decide how many bytes Cake charges for a frame.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// How many bytes are added to the IP packet. With `None`, Cake charges the whole frame.
    pub overhead: Option<i32>,
    /// How many bytes the link adds to each frame.
    pub link: i32,
    /// Smallest number of bytes that Cake charges for a frame.
    pub mpu: i32,
    pub framing: Framing,
    /// The framing of each segment, if `framing` is [`Framing::Joined`].
    pub each: Framing,
}

impl Sizes {
    /// Declares that packets may combine several segments (GSO).
    pub fn expect_joined(&mut self) {
        if self.framing != Framing::Joined {
            self.each = std::mem::replace(&mut self.framing, Framing::Joined);
        }
    }

    pub fn expects_joined(&self) -> bool {
        self.framing == Framing::Joined
    }

    #[inline]
    pub fn charged(&self, packet: &Packet) -> u32 {
        let own = self.overhead.map_or(0, |bytes| bytes - ETHERNET);
        let len = (i32::from(packet.len) + own + self.link)
            .max(self.mpu)
            .max(0) as u32;
        match self.framing {
            Framing::Plain => len,
            Framing::Atm => len.div_ceil(48) * 53,
            Framing::Ptm => len + len.div_ceil(64),
            Framing::Joined => self.charged_joined(packet),
        }
    }

    /// Adds up the bytes that Cake charges for each segment (Linux `cake_overhead`).
    #[cold]
    fn charged_joined(&self, packet: &Packet) -> u32 {
        let each = Sizes {
            framing: self.each,
            ..*self
        };
        match packet.segments() {
            1 => each.charged(packet),
            _ => packet.split().map(|segment| each.charged(&segment)).sum(),
        }
    }
}

/// The virtual clock and the failsafe clock, both in ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shaper {
    per_byte: PerByte,
    next: i64,
    failsafe: i64,
}

impl Shaper {
    /// Sets the rate for packets that are charged from now on.
    pub fn set_rate(&mut self, per_byte: PerByte) {
        self.per_byte = per_byte;
    }

    /// When a packet enters an empty queue, sets a clock in the past to the current time. If the
    /// clock stayed in the past, the idle time before the packet would allow a burst.
    #[inline]
    pub fn wake(&mut self, now: i64) {
        if self.next < now {
            self.next = now;
            self.failsafe = now;
        }
    }

    /// Returns when the next packet may leave. If the packet may leave at once, the result is not
    /// later than the current time.
    #[inline]
    pub fn opens(&self) -> i64 {
        self.next.min(self.failsafe)
    }

    /// Advances the clocks for a packet that was sent or dropped.
    #[inline]
    pub fn charge(&mut self, bytes: u32, dropped: bool) {
        let duration = self.per_byte.time(bytes);
        self.next += duration;
        if !dropped {
            self.failsafe += duration + (duration >> 1);
        }
    }

    /// Ends an outage of the link. Packets must not leave in a burst after the outage.
    pub fn resume(&mut self, now: i64) {
        self.next = self.next.max(now);
        self.failsafe = self.failsafe.max(now);
    }
}
