//! Cake's shaper: a virtual clock that does not allow bursts, and the sizes that it charges for
//! packets.
//!
//! Each packet advances the virtual clock by the packet's transmission time at the rate. A packet
//! may leave when the virtual clock is not ahead of the current time. A packet that leaves late
//! does not reduce the rate, because the virtual clock continues from its old value. The clock is
//! set to the current time only when a packet enters an empty queue. A second clock, the failsafe,
//! advances by 1.5 transmission times for each sent packet, but not for drops. With `ingress`,
//! drops advance the virtual clock too, possibly far ahead of the current time. Even then, the
//! failsafe lets packets leave at two thirds of the rate.

/// Bytes of the Ethernet header, which Cake does not charge if `overhead` is set.
const ETHERNET: i32 = 14;

/// Slowest rate that Cake shapes to, byte/s.
const MIN_RATE: u64 = 64;

/// A rate as time per byte. The time is `ns` divided by 2^`shift`, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerByte {
    /// Time per byte in units of 2^-shift ns.
    ns: u64,
    /// Number of binary digits of the fraction.
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
    /// No framing: Cake charges a frame's own bytes.
    Plain,
    /// ATM: cells of 53 bytes with 48 bytes of payload each.
    Atm,
    /// PTM: one extra byte for every started block of 64 bytes.
    Ptm,
}

/// The parameters that decide how many bytes Cake charges for a frame.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Bytes added to the IP packet. With `None`, Cake charges the whole frame.
    pub overhead: Option<i32>,
    /// Bytes the link adds to each frame.
    pub link: i32,
    /// Smallest charge for a frame, bytes.
    pub mpu: i32,
    pub framing: Framing,
}

impl Sizes {
    #[inline]
    pub fn charged(&self, frame: u16) -> u32 {
        let own = self.overhead.map_or(0, |bytes| bytes - ETHERNET);
        let len = (i32::from(frame) + own + self.link).max(self.mpu).max(0) as u32;
        match self.framing {
            Framing::Plain => len,
            Framing::Atm => len.div_ceil(48) * 53,
            Framing::Ptm => len + len.div_ceil(64),
        }
    }
}

/// The virtual clock and the failsafe, ns.
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

    /// Moves the clock to the present when a packet enters an empty queue. Otherwise, the idle time
    /// before would allow a burst.
    #[inline]
    pub fn wake(&mut self, now: i64) {
        if self.next < now {
            self.next = now;
            self.failsafe = now;
        }
    }

    /// Returns when the next packet may leave. If the packet may leave at once, this time is not
    /// later than now.
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

    /// Ends an outage of the link. No burst may follow the outage.
    pub fn resume(&mut self, now: i64) {
        self.next = self.next.max(now);
        self.failsafe = self.failsafe.max(now);
    }
}
