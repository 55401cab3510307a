//! Stores the rows of a series in few bytes.
//!
//! A row begins with a byte that states how its parts (key, time and value) are stored. Usually,
//! the key is 1 more than the previous row's key, and the time equals the previous row's time. The
//! reason for this regularity is that a sample has a row for each quantity of each flow. Most
//! values are whole numbers.

use super::Row;

/// Bit of a row's first byte. If the bit is set, the row's key is not the previous row's key plus
/// 1, and the row stores the difference.
const KEY: u8 = 1;
/// Bit of a row's first byte. If the bit is set, the row's time is not the previous row's time, and
/// the row stores the difference.
const TIME: u8 = 2;
/// The first byte, shifted right by this many bits, is the length of the value in bytes.
const SIZE: u32 = 2;
/// Length in bytes of a value that is not a whole number below [`WHOLE`].
const FLOAT: usize = 8;
/// Whole numbers below this limit are stored in up to seven bytes. A float represents each of these
/// numbers exactly.
const WHOLE: f64 = (1_u64 << 53) as f64;
/// Maximum length of the part of a row before the value, in bytes: the first byte, and two
/// differences of at most ten bytes.
const MOST: usize = 1 + 10 + 10;

/// Rows in the order in which they were appended.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    bytes: Vec<u8>,
    len: usize,
    next_key: u32,
    time_ns: u64,
}

impl Rows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a row.
    pub fn push(&mut self, row: Row) {
        let whole = row.value as u64;
        // Compare bits instead of values, because -0.0 is equal to 0.
        let exact = row.value < WHOLE && (whole as f64).to_bits() == row.value.to_bits();
        let (bits, size) = if exact {
            (whole, (64 - whole.leading_zeros()).div_ceil(8) as usize)
        } else {
            (row.value.to_bits(), FLOAT)
        };
        let head = (size as u8) << SIZE;
        // Append eight bytes, and then remove the zeros at the end. This method is faster than a
        // call that copies a variable number of bytes.
        let bytes = bits.to_le_bytes();
        if row.key == self.next_key && row.time_ns == self.time_ns {
            let [a, b, c, d, e, f, g, h] = bytes;
            self.bytes
                .extend_from_slice(&[head, a, b, c, d, e, f, g, h]);
        } else {
            self.push_differences(head, &row);
            self.bytes.extend_from_slice(&bytes);
        }
        self.bytes.truncate(self.bytes.len() + size - FLOAT);
        self.len += 1;
        self.next_key = row.key.wrapping_add(1);
        self.time_ns = row.time_ns;
    }

    /// Appends the first byte of a row, followed by the differences between this row and the
    /// previous row in key and time.
    #[inline(never)]
    fn push_differences(&mut self, mut head: u8, row: &Row) {
        let mut buffer = [0; MOST];
        let mut to = Writer {
            bytes: &mut buffer,
            at: 1,
        };
        if row.key != self.next_key {
            head |= KEY;
            to.difference(u64::from(row.key).wrapping_sub(u64::from(self.next_key)));
        }
        if row.time_ns != self.time_ns {
            head |= TIME;
            to.difference(row.time_ns.wrapping_sub(self.time_ns));
        }
        let end = to.at;
        buffer[0] = head;
        self.bytes.extend_from_slice(&buffer[..end]);
    }

    /// Returns the rows.
    pub fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        let mut rest = self.bytes.as_slice();
        let (mut next_key, mut time_ns) = (0_u32, 0_u64);
        std::iter::from_fn(move || {
            let (&head, mut after) = rest.split_first()?;
            let mut key = next_key;
            if head & KEY != 0 {
                key = key.wrapping_add(difference(&mut after) as u32);
            }
            if head & TIME != 0 {
                time_ns = time_ns.wrapping_add(difference(&mut after));
            }
            let size = usize::from(head >> SIZE);
            let (value, after) = after.split_at(size);
            let mut bytes = [0; FLOAT];
            bytes[..size].copy_from_slice(value);
            let bits = u64::from_le_bytes(bytes);
            let value = if size == FLOAT {
                f64::from_bits(bits)
            } else {
                bits as f64
            };
            rest = after;
            next_key = key.wrapping_add(1);
            Some(Row {
                key,
                time_ns,
                value,
            })
        })
    }
}

struct Writer<'a> {
    bytes: &'a mut [u8; MOST],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, byte: u8) {
        self.bytes[self.at] = byte;
        self.at += 1;
    }

    /// Writes the difference of two numbers, with seven bits in each byte. A negative difference
    /// that is close to 0 also takes few bytes.
    fn difference(&mut self, of: u64) {
        let signed = of as i64;
        let mut left = ((signed << 1) ^ (signed >> 63)) as u64;
        while left >= 0x80 {
            self.put(left as u8 | 0x80);
            left >>= 7;
        }
        self.put(left as u8);
    }
}

/// Reads a difference that [`Writer::difference`] has written.
fn difference(from: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0_u64, 0);
    while let Some((&byte, rest)) = from.split_first() {
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_back_exactly() {
        let values = [
            [0.0, -0.0, 1.0, -1.0, 255.0, 256.0].as_slice(),
            &[0.5, 1e300, 1e18, f64::MIN_POSITIVE, f64::EPSILON],
            &[f64::INFINITY, f64::NEG_INFINITY, f64::MAX],
            &[WHOLE, WHOLE - 1.0, WHOLE + 2.0, u64::MAX as f64],
        ]
        .concat();
        let keys = [0, 1, 2, 2, 1, u32::MAX, 0, 300, 70_000];
        let times = [0, 5, 5, 4, u64::MAX, 0, 1 << 63, (1 << 63) - 1];
        let mut rows = Rows::default();
        let mut expected = Vec::new();
        for (i, &value) in values.iter().enumerate() {
            for (j, &key) in keys.iter().enumerate() {
                let time_ns = times[(i + j) % times.len()];
                let row = Row {
                    key,
                    time_ns,
                    value,
                };
                rows.push(row);
                expected.push(row);
            }
        }
        rows.push(Row {
            key: 0,
            time_ns: 0,
            value: f64::NAN,
        });
        assert_eq!(rows.len(), expected.len() + 1);
        let bits = |row: Row| (row.key, row.time_ns, row.value.to_bits());
        let found: Vec<_> = rows.iter().map(bits).collect();
        let (last, found) = found.split_last().expect("rows");
        assert_eq!(found, expected.into_iter().map(bits).collect::<Vec<_>>());
        assert_eq!(last.2, f64::NAN.to_bits());
    }

    #[test]
    fn samples_of_flows_take_few_bytes() {
        let mut rows = Rows::default();
        for time_ns in [100_000_000, 200_000_000] {
            for key in 0..1000 {
                let value = f64::from(key % 100);
                rows.push(Row {
                    key,
                    time_ns,
                    value,
                });
            }
        }
        // Most rows take two bytes, and rows with the value 0 take less. The first row of each
        // sample also stores a time.
        assert!(rows.bytes.len() < 4020, "{} bytes", rows.bytes.len());
    }
}
