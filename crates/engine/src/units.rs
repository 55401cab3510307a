//! Time (ns), Bytes and Rate (bit/s) as newtypes, and parsers for the notation that tc uses for
//! them.
//!
//! As in tc(8), `kbit` is 1000 bit/s, `kibit` is 1024 bit/s and `kb` is 1024 bytes. In addition, a
//! number followed by `p` is a number of packets.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in time or a length of time, as an integer number of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The time at which every run starts.
    pub const ZERO: Time = Time(0);
    /// A time later than all events.
    pub const NEVER: Time = Time(u64::MAX);

    /// Converts whole microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000)
    }

    /// Converts whole milliseconds.
    pub const fn from_ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// Converts whole seconds.
    pub const fn from_secs(s: u64) -> Time {
        Time(s * 1_000_000_000)
    }

    /// Returns the time in nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Returns the time in whole microseconds, the unit of most TCP times in Linux.
    pub const fn whole_us(self) -> u64 {
        self.ns() / 1_000
    }

    /// Returns the time in seconds, for display and for formulas.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time since `earlier`, or 0 if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;
    /// Returns the sum. If the sum overflows, returns [`Time::NEVER`].
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            n if n.is_multiple_of(1_000_000_000) => ("s", 1e9),
            n if n.is_multiple_of(1_000_000) => ("ms", 1e6),
            n if n.is_multiple_of(1_000) => ("us", 1e3),
            _ => ("ns", 1.0),
        };
        write!(f, "{}{unit}", self.0 as f64 / scale)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in whole bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

impl Rate {
    /// Returns how long it takes to send this many bytes. Rounds up to a nanosecond, so that a link
    /// never exceeds its rate.
    #[inline]
    pub const fn time_for(self, bytes: u64) -> Time {
        match bytes.checked_mul(8_000_000_000) {
            Some(bit_ns) => Time(bit_ns.div_ceil(self.0)),
            None => Time((bytes as u128 * 8_000_000_000).div_ceil(self.0 as u128) as u64),
        }
    }

    /// Returns how many whole bytes a link of this rate sends in this time.
    pub const fn bytes_in(self, time: Time) -> u64 {
        (self.0 as u128 * time.0 as u128 / 8_000_000_000) as u64
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            n if n >= 1_000_000_000 => ("Gbit", 1e9),
            n if n >= 1_000_000 => ("Mbit", 1e6),
            n if n >= 1_000 => ("kbit", 1e3),
            _ => ("bit", 1.0),
        };
        write!(f, "{}{unit}", self.0 as f64 / scale)
    }
}

/// A size as written in a scenario: packets, bytes or a multiple of the bandwidth-delay product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// A number of packets, such as `1000p`.
    Packets(u64),
    /// Bytes, such as `64kb` or `15000`.
    Bytes(u64),
    /// A multiple of bottleneck rate x path RTT, such as `0.125bdp`.
    Bdp(f64),
}

/// The error of a parser. The error states what the parser expected.
pub type ParseError = &'static str;

/// Splits "1.5ms" into 1.5 and "ms". The number is finite and not negative.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

fn scaled(number: f64, scale: f64) -> Option<u64> {
    let value = libm::round(number * scale);
    (value >= 0.0 && value < u64::MAX as f64 / 2.0).then_some(value as u64)
}

/// Reads a time: `20ms`, `1.5s`, `100us`, `500ns`.
pub fn parse_time(text: &str) -> Result<Time, ParseError> {
    const EXPECTED: ParseError = "a time such as \"20ms\" (units ns, us, ms, s)";
    let (number, unit) = split(text).ok_or(EXPECTED)?;
    let scale = match unit {
        "ns" | "nsec" | "nsecs" => 1.0,
        "us" | "usec" | "usecs" => 1e3,
        "ms" | "msec" | "msecs" => 1e6,
        "s" | "sec" | "secs" => 1e9,
        _ => return Err(EXPECTED),
    };
    scaled(number, scale)
        .map(Time)
        .ok_or("a time below 146 years")
}

/// Reads a rate: `100Mbit`, `1.5Gbit`, `512kbit`, `125kbps` (bytes), `1000bit`.
pub fn parse_rate(text: &str) -> Result<Rate, ParseError> {
    const EXPECTED: ParseError = "a rate such as \"100Mbit\" (units bit, kbit, Mbit, Gbit, Tbit)";
    let (number, unit) = split(text).ok_or(EXPECTED)?;
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix("/s").unwrap_or(&unit);
    let (prefix, bits) = match unit.strip_suffix("bit") {
        Some(prefix) => (prefix, 1.0),
        None => (unit.strip_suffix("bps").ok_or(EXPECTED)?, 8.0),
    };
    let scale = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1024.0 * 1024.0,
        "gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(EXPECTED),
    };
    match scaled(number, scale * bits) {
        Some(rate) if rate <= 100_000_000_000_000 => Ok(Rate(rate)),
        _ => Err("a rate of at most 100 Tbit"),
    }
}

/// Reads a size: `1000p` (packets), `15000b`, `64kb`, `1mb`, `512kbit`, a bare number (bytes),
/// `0.125bdp`.
pub fn parse_size(text: &str) -> Result<Size, ParseError> {
    const EXPECTED: ParseError =
        "a size such as \"1000p\" (packets), \"64kb\" (units b, kb, mb, gb) or \"0.125bdp\"";
    let (number, unit) = split(text).ok_or(EXPECTED)?;
    let unit = unit.to_ascii_lowercase();
    let scale = match unit.as_str() {
        "bdp" => return Ok(Size::Bdp(number)),
        "p" | "packets" => {
            return if number.fract() == 0.0 && number < 1e15 {
                Ok(Size::Packets(number as u64))
            } else {
                Err("a whole number of packets")
            };
        }
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0 * 1024.0,
        "g" | "gb" => 1024.0 * 1024.0 * 1024.0,
        "kbit" => 1000.0 / 8.0,
        "mbit" => 1e6 / 8.0,
        "gbit" => 1e9 / 8.0,
        _ => return Err(EXPECTED),
    };
    scaled(number, scale)
        .map(Size::Bytes)
        .ok_or("a size below 2^63 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tc_grammar() {
        assert_eq!(parse_time("20ms"), Ok(Time::from_ms(20)));
        assert_eq!(parse_time("0.5s"), Ok(Time::from_ms(500)));
        assert_eq!(parse_rate("100Mbit"), Ok(Rate(100_000_000)));
        assert_eq!(parse_rate("1kbps"), Ok(Rate(8_000)));
        assert_eq!(parse_rate("1kibit"), Ok(Rate(1_024)));
        assert_eq!(parse_size("64kb"), Ok(Size::Bytes(65_536)));
        assert_eq!(parse_size("1000p"), Ok(Size::Packets(1_000)));
        assert_eq!(parse_size("0.125bdp"), Ok(Size::Bdp(0.125)));
        assert_eq!(parse_size("1500"), Ok(Size::Bytes(1_500)));
        for wrong in ["", "ms", "-1ms", "20", "20m", "1e3ms", "nan s", "1.2.3s"] {
            assert!(parse_time(wrong).is_err(), "{wrong:?}");
        }
        for wrong in ["10", "10Mb", "10 parsec", "-1bit", "999999Tbit"] {
            assert!(parse_rate(wrong).is_err(), "{wrong:?}");
        }
        for wrong in ["1.5p", "x", "10furlong", "-3b"] {
            assert!(parse_size(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn serialisation_time_rounds_up() {
        assert_eq!(Rate(100_000_000).time_for(1514), Time(121_120));
        assert_eq!(Rate(3).time_for(1), Time(2_666_666_667));
        assert_eq!(
            Rate(1).time_for(u64::MAX / 8_000_000_000).0,
            u64::MAX / 8_000_000_000 * 8_000_000_000
        );
    }
}
