//! An exact, mergeable histogram of non-negative integers.
//!
//! Values below 2048 have a bucket each; above, every power of two is split
//! into 1024 buckets, so a bucket is at most 2^-10 of its lower bound wide.
//! Count, sum and maximum are exact. A power of two is a block of pages of 32 buckets; a page is
//! allocated with the first value that falls there, so that a hundred thousand flows whose RTTs
//! hardly move cost a few hundred bytes each.

use serde::{Deserialize, Serialize};

const SUB: usize = 1024;
const SUB_BITS: u32 = 10;
const BLOCKS: usize = 55;
/// Buckets of a page, a quarter of a kilobyte.
const PAGE: usize = 32;

type Block = [Option<Box<[u64; PAGE]>>; SUB / PAGE];

/// Histogram of `u64` values (ns or bytes), relative bucket width at most 2^-10.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Sparse", into = "Sparse")]
pub struct Histogram {
    blocks: [Option<Box<Block>>; BLOCKS],
    count: u64,
    sum: u128,
    max: u64,
}

/// A histogram on its way from one process to another: only what was counted.
#[derive(Serialize, Deserialize)]
struct Sparse {
    sum: u128,
    max: u64,
    /// Block, slot and number of values.
    buckets: Vec<(u8, u16, u64)>,
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Sparse {
        let buckets = histogram.filled();
        Sparse {
            sum: histogram.sum,
            max: histogram.max,
            buckets: buckets.map(|(b, s, n)| (b as u8, s as u16, n)).collect(),
        }
    }
}

/// Another process may be a guest of unknown programs: what no histogram is, is refused.
impl TryFrom<Sparse> for Histogram {
    type Error = &'static str;

    fn try_from(sparse: Sparse) -> Result<Histogram, &'static str> {
        let mut histogram = Histogram {
            sum: sparse.sum,
            max: sparse.max,
            ..Histogram::default()
        };
        for (block, slot, n) in sparse.buckets {
            let (block, slot) = (usize::from(block), usize::from(slot));
            if block >= BLOCKS || slot >= SUB {
                return Err("a bucket that no histogram has");
            }
            // The sum of all is checked first: no slot has more.
            let count = histogram.count.checked_add(n);
            histogram.count = count.ok_or("more values than can be counted")?;
            *histogram.bucket(block, slot) += n;
        }
        Ok(histogram)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            blocks: [const { None }; BLOCKS],
            count: 0,
            sum: 0,
            max: 0,
        }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("sum", &self.sum)
            .field("max", &self.max)
            .finish()
    }
}

/// Block and slot of a value. Block 0 holds 0..1024, block b > 0 holds
/// 1024 * 2^(b-1) .. 1024 * 2^b in steps of 2^(b-1).
#[inline]
fn slot(value: u64) -> (usize, usize) {
    if value < SUB as u64 {
        return (0, value as usize);
    }
    let shift = 63 - value.leading_zeros() - SUB_BITS;
    (shift as usize + 1, (value >> shift) as usize - SUB)
}

/// Lower bound and width of a bucket.
fn bounds(block: usize, slot: usize) -> (u64, u64) {
    if block == 0 {
        (slot as u64, 1)
    } else {
        let shift = block as u32 - 1;
        (((SUB + slot) as u64) << shift, 1 << shift)
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
        let (block, slot) = slot(value);
        if let Some(pages) = &mut self.blocks[block]
            && let Some(page) = &mut pages[slot / PAGE]
        {
            page[slot % PAGE] += 1;
        } else {
            *self.bucket(block, slot) += 1;
        }
    }

    /// A bucket, with a page of its own from then on.
    #[cold]
    fn bucket(&mut self, block: usize, slot: usize) -> &mut u64 {
        let pages = self.blocks[block].get_or_insert_with(Box::default);
        let page = pages[slot / PAGE].get_or_insert_with(Box::default);
        &mut page[slot % PAGE]
    }

    /// Block, slot and count of the buckets in use, ascending.
    fn filled(&self) -> impl Iterator<Item = (usize, usize, u64)> + '_ {
        let blocks = self.blocks.iter().enumerate();
        let blocks = blocks.filter_map(|(b, block)| Some((b, block.as_ref()?)));
        let pages = blocks.flat_map(|(b, block)| {
            let pages = block.iter().enumerate();
            pages.filter_map(move |(p, page)| Some((b, p * PAGE, page.as_ref()?)))
        });
        let all = pages.flat_map(|(b, first, page)| {
            let slots = page.iter().enumerate();
            slots.map(move |(s, n)| (b, first + s, *n))
        });
        all.filter(|(_, _, n)| *n > 0)
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Largest value, exact; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Mean, from the exact sum; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Nearest-rank percentile, `p` in 0..=100: the middle of the bucket that
    /// holds the value of rank ceil(p/100 * n), never above the maximum.
    /// `None` when empty.
    pub fn percentile(&self, p: f64) -> Option<f64> {
        let [value] = self.percentiles([p]);
        value
    }

    /// Several of them, ascending, in one pass.
    pub fn percentiles<const N: usize>(&self, ps: [f64; N]) -> [Option<f64>; N] {
        let mut buckets = self.buckets();
        let (mut seen, mut middle) = (0, 0.0);
        ps.map(|p| {
            let rank = (p / 100.0 * self.count as f64).ceil() as u64;
            while seen < rank.clamp(1, self.count.max(1)) {
                let (lower, width, n) = buckets.next()?;
                seen += n;
                middle = lower as f64 + (width - 1) as f64 / 2.0;
            }
            Some(f64::min(middle, self.max as f64))
        })
    }

    /// Buckets in use, ascending: lower bound, width, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.filled().map(|(block, slot, n)| {
            let (lower, width) = bounds(block, slot);
            (lower, width, n)
        })
    }

    /// Adds another histogram to this one: the result is as if every value had
    /// been recorded here.
    pub fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        for (block, slot, n) in other.filled() {
            *self.bucket(block, slot) += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_range_and_are_narrow() {
        let mut next = 0;
        for block in 0..BLOCKS {
            for s in 0..SUB {
                let (lower, width) = bounds(block, s);
                assert_eq!(lower, next);
                assert_eq!(slot(lower), (block, s));
                assert_eq!(slot(lower + (width - 1)), (block, s));
                assert!(width == 1 || width as f64 / lower as f64 <= 1.0 / 1024.0);
                next = lower.wrapping_add(width);
            }
        }
        assert_eq!(next, 0, "the last bucket ends at 2^64");
    }

    /// About every power of two: the bucket holds its value, and a larger value
    /// is in no earlier one.
    #[test]
    fn about_every_power_of_two() {
        let powers = (0..64).map(|k| 1_u64 << k);
        let around = powers.flat_map(|p| (0..=4).map(move |i| p.wrapping_sub(2).wrapping_add(i)));
        let mut values: Vec<u64> = around.chain([0, u64::MAX - 1, u64::MAX]).collect();
        values.sort_unstable();
        let mut last = (0, 0);
        for value in values {
            let at = slot(value);
            let (lower, width) = bounds(at.0, at.1);
            assert!(lower <= value && value - lower < width, "{value}");
            assert!(last <= at, "{value}");
            last = at;
            let mut histogram = Histogram::new();
            histogram.record(value);
            assert_eq!(histogram.buckets().next(), Some((lower, width, 1)));
            assert!(histogram.percentile(100.0) <= Some(value as f64));
        }
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut h = Histogram::new();
        (1..=100).for_each(|v| h.record(v));
        assert_eq!(h.percentile(50.0), Some(50.0));
        assert_eq!(h.percentile(99.0), Some(99.0));
        assert_eq!(h.percentile(0.0), Some(1.0));
        assert_eq!(h.mean(), Some(50.5));
        assert_eq!(Histogram::new().percentile(50.0), None);
    }

    #[test]
    fn merging_equals_recording_together() {
        let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for i in 0..10_000u64 {
            let v = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (i % 50);
            if i % 3 == 0 {
                a.record(v)
            } else {
                b.record(v)
            }
            both.record(v);
        }
        a.merge(&b);
        assert!(a.buckets().eq(both.buckets()));
        assert_eq!(
            (a.count(), a.sum(), a.max()),
            (both.count(), both.sum(), both.max())
        );
    }

    #[test]
    fn what_no_histogram_is_does_not_arrive() {
        for buckets in [
            "[55,0,1]",
            "[0,1024,1]",
            "[0,1,1],[0,2,18446744073709551615]",
        ] {
            let text = format!("{{\"sum\":1,\"max\":1,\"buckets\":[{buckets}]}}");
            assert!(
                serde_json::from_str::<Histogram>(&text).is_err(),
                "{buckets}"
            );
        }
    }

    #[test]
    fn survives_the_way_between_processes() {
        let mut histogram = Histogram::new();
        for value in [0, 5, 5, 1023, 1024, 4_000_000, u64::MAX] {
            histogram.record(value);
        }
        let text = serde_json::to_string(&histogram).expect("plain data");
        let back: Histogram = serde_json::from_str(&text).expect("what was written");
        assert_eq!(back.count(), 7);
        assert_eq!((back.sum(), back.max()), (histogram.sum(), histogram.max()));
        assert!(back.buckets().eq(histogram.buckets()));
    }
}
