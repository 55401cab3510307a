//! A mergeable histogram of non-negative integers.
//!
//! Each value below 2048 has its own bucket. Above 2048, the range from each power of two to the
//! next is split into 1024 buckets. The width of a bucket is therefore at most 2^-10 of its lower
//! bound. Count, sum and maximum are exact.
//!
//! A run with a hundred thousand flows has at least a hundred thousand histograms, so each
//! histogram must use little memory. A bucket is a counter of one byte. A page consists of 64
//! buckets and fills a cache line. A page is allocated when its first value is recorded. When a
//! bucket reaches 256 values, the number 256 is added to a separate list, and the bucket restarts
//! at 0.
//!
//! With many flows, a histogram has usually left the processor's caches before its next value
//! arrives. The processor must then wait for each read whose address depends on the result of
//! another read. To avoid such reads, the histogram itself contains the page tables of two ranges
//! between powers of two (the near rows). For a value in a near row, only one read (of the bucket)
//! depends on the result of another read. Two ranges usually suffice, because they contain most
//! RTTs of a flow.

use serde::{Deserialize, Serialize};

const SUB: usize = 1024;
const SUB_BITS: u32 = 10;
const BLOCKS: usize = 55;
/// Number of buckets in a page.
const PAGE: usize = 64;
/// When a bucket reaches this number of values, the number is added to the list of carries, and the
/// bucket restarts at 0.
const CARRY: u64 = 1 << 8;
/// Marks a power of two without a row.
const NO_ROW: u8 = u8::MAX;
/// Marks a part of a row without a page.
const NO_PAGE: u16 = u16::MAX;
/// Marks a part of a near row without a page.
const NO_NEAR: u8 = u8::MAX;
/// Largest number of pages of a histogram with near rows, because a near row stores the index of a
/// page in one byte. `NO_NEAR` is never the index of such a page.
const MOST_NEAR: usize = NO_NEAR as usize;

/// Number of pages of one power of two.
const PARTS: usize = SUB / PAGE;
/// Number of near rows.
const NEAR: usize = 2;

/// The pages of one power of two, stored as indices into `pages`.
type Row = [u16; PARTS];

/// Histogram of `u64` values (ns or bytes), with a relative bucket width of at most 2^-10.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Sparse", into = "Sparse")]
pub struct Histogram {
    /// The powers of two of the near rows, or `NO_ROW`.
    blocks: [u8; NEAR],
    near: [[u8; PARTS]; NEAR],
    /// Counts, modulo [`CARRY`].
    pages: Vec<[u8; PAGE]>,
    far: Option<Box<Far>>,
    count: u64,
    sum: u128,
    max: u64,
}

/// The parts of a histogram that most flows do not need.
#[derive(Clone)]
struct Far {
    /// Index into `rows` for each power of two that has no near row.
    row: [u8; BLOCKS],
    rows: Vec<Row>,
    /// The list of carries: counts that were moved from the buckets to this list. Each count is a
    /// multiple of [`CARRY`]. The list is in ascending order of [`code`].
    carried: Vec<(u16, u64)>,
}

/// The form in which processes send a histogram to each other. This form lists only the non-empty
/// buckets.
#[derive(Serialize, Deserialize)]
struct Sparse {
    sum: u128,
    max: u64,
    /// Block, slot and count of each bucket.
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

/// The conversion checks the histogram, because an untrusted guest may have sent it.
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
            // Check that the total does not overflow. If the total fits, no bucket can overflow.
            let count = histogram.count.checked_add(n);
            histogram.count = count.ok_or("more values than can be counted")?;
            histogram.add(block, slot, n);
        }
        Ok(histogram)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            blocks: [NO_ROW; NEAR],
            near: [[NO_NEAR; PARTS]; NEAR],
            pages: Vec::new(),
            far: None,
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

/// Returns the block and the slot of a value. Block 0 contains the values 0..1024. Block b > 0
/// contains 1024 * 2^(b-1) .. 1024 * 2^b in steps of 2^(b-1).
#[inline]
fn slot(value: u64) -> (usize, usize) {
    if value < SUB as u64 {
        return (0, value as usize);
    }
    let shift = (value >> SUB_BITS).ilog2();
    (shift as usize + 1, (value >> shift) as usize - SUB)
}

/// Returns the index of a bucket over all blocks.
fn code(block: usize, slot: usize) -> u16 {
    (block * SUB + slot) as u16
}

/// Returns the lower bound and the width of a bucket.
fn bounds(block: usize, slot: usize) -> (u64, u64) {
    if block == 0 {
        (slot as u64, 1)
    } else {
        let shift = block as u32 - 1;
        (((SUB + slot) as u64) << shift, 1 << shift)
    }
}

/// Converts a page index of a near row (one byte) to a page index of a far row (two bytes).
fn widen(page: u8) -> u16 {
    match page {
        NO_NEAR => NO_PAGE,
        page => u16::from(page),
    }
}

impl Far {
    /// Returns the far row of a power of two, or `None` if the power has no far row.
    #[inline]
    fn of(&self, block: usize) -> Option<&Row> {
        self.rows.get(usize::from(self.row[block]))
    }

    fn of_or_new(&mut self, block: usize) -> &mut Row {
        let row = &mut self.row[block];
        if *row == NO_ROW {
            *row = self.rows.len() as u8;
            self.rows.reserve_exact(1);
            self.rows.push([NO_PAGE; PARTS]);
        }
        &mut self.rows[usize::from(*row)]
    }
}

impl Histogram {
    /// Creates an empty histogram.
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
        let part = slot / PAGE % PARTS;
        let page = if block == usize::from(self.blocks[0]) {
            usize::from(self.near[0][part])
        } else if block == usize::from(self.blocks[1]) {
            usize::from(self.near[1][part])
        } else {
            self.far_page(block, part)
        };
        if let Some(page) = self.pages.get_mut(page) {
            let low = &mut page[slot % PAGE];
            *low = low.wrapping_add(1);
            if *low == 0 {
                self.carry(block, slot, CARRY);
            }
        } else {
            self.add(block, slot, 1);
        }
    }

    /// Returns the index of the page for one part of a far row, or `NO_PAGE`.
    #[inline]
    fn far_page(&self, block: usize, part: usize) -> usize {
        let row = self.far.as_ref().and_then(|far| far.of(block));
        usize::from(row.map_or(NO_PAGE, |row| row[part]))
    }

    /// Adds `n` values to a bucket. Allocates the bucket's page if needed.
    #[cold]
    fn add(&mut self, block: usize, slot: usize, n: u64) {
        let page = self.page(block, slot / PAGE);
        let low = &mut self.pages[page][slot % PAGE];
        let sum = u64::from(*low) + n % CARRY;
        *low = sum as u8;
        let over = n - n % CARRY + (sum - sum % CARRY);
        if over > 0 {
            self.carry(block, slot, over);
        }
    }

    /// Returns the index of the page for one part of a row. Allocates the page if needed.
    fn page(&mut self, block: usize, part: usize) -> usize {
        let next = self.pages.len();
        if next == MOST_NEAR {
            (0..NEAR).for_each(|row| self.demote(row));
        }
        let page = match self.near_row(block) {
            Some(row) => {
                let page = &mut self.near[row][part];
                if *page == NO_NEAR {
                    *page = next as u8;
                }
                usize::from(*page)
            }
            None => {
                let page = &mut self.far().of_or_new(block)[part];
                if *page == NO_PAGE {
                    *page = next as u16;
                }
                usize::from(*page)
            }
        };
        if page == next {
            if next == self.pages.capacity() {
                self.pages.reserve_exact(next / 4 + 1);
            }
            self.pages.push([0; PAGE]);
        }
        page
    }

    /// Returns the index of a power of two's near row, or `None` if the power has a far row. A
    /// power of two without a row gets a near row, if a near row is free.
    fn near_row(&mut self, block: usize) -> Option<usize> {
        let of = |wanted: u8| move |known: &u8| *known == wanted;
        let own = self.blocks.iter().position(of(block as u8));
        own.or_else(|| {
            let is_far = self.far.as_ref().is_some_and(|far| far.of(block).is_some());
            let free = self.blocks.iter().position(of(NO_ROW));
            let free = free.filter(|_| !is_far && self.pages.len() < MOST_NEAR)?;
            self.blocks[free] = block as u8;
            Some(free)
        })
    }

    fn far(&mut self) -> &mut Far {
        self.far.get_or_insert_with(|| {
            Box::new(Far {
                row: [NO_ROW; BLOCKS],
                rows: Vec::new(),
                carried: Vec::new(),
            })
        })
    }

    /// Turns a near row, if it is in use, into a far row.
    fn demote(&mut self, row: usize) {
        let block = std::mem::replace(&mut self.blocks[row], NO_ROW);
        let pages = std::mem::replace(&mut self.near[row], [NO_NEAR; PARTS]);
        if block != NO_ROW {
            *self.far().of_or_new(usize::from(block)) = pages.map(widen);
        }
    }

    /// Gives a power of two with many values a near row. The older of the two near rows becomes a
    /// far row.
    fn promote(&mut self, block: usize) {
        if self.pages.len() >= MOST_NEAR {
            return;
        }
        let Some(row) = self.far.as_ref().and_then(|far| far.of(block)).copied() else {
            return;
        };
        self.demote(0);
        self.blocks = [self.blocks[1], block as u8];
        // Every index of a page is below `MOST_NEAR` or equal to `NO_PAGE`.
        self.near = [self.near[1], row.map(|page| page.min(NO_NEAR.into()) as u8)];
        *self.far().of_or_new(block) = [NO_PAGE; PARTS];
    }

    #[cold]
    fn carry(&mut self, block: usize, slot: usize, n: u64) {
        let code = code(block, slot);
        let carried = &mut self.far().carried;
        match carried.binary_search_by_key(&code, |known| known.0) {
            Ok(place) => carried[place].1 += n,
            Err(place) => carried.insert(place, (code, n)),
        }
        if !self.blocks.contains(&(block as u8)) {
            self.promote(block);
        }
    }

    /// Returns the block, the slot and the count of each bucket with values, in ascending order.
    fn filled(&self) -> impl Iterator<Item = (usize, usize, u64)> + '_ {
        let carried = self.far.as_ref().map_or(&[][..], |far| &far.carried);
        let mut carried = carried.iter().peekable();
        let rows = (0..BLOCKS).filter_map(|b| Some((b, self.row(b)?)));
        let pages = rows.flat_map(move |(b, row)| {
            let pages = row.into_iter().enumerate();
            pages.filter_map(move |(p, page)| {
                Some((b, p * PAGE, self.pages.get(usize::from(page))?))
            })
        });
        let all = pages.flat_map(|(b, first, page)| {
            let slots = page.iter().enumerate();
            slots.map(move |(s, low)| (b, first + s, u64::from(*low)))
        });
        let all = all.map(move |(b, s, low)| {
            let over = carried.next_if(|(code, _)| *code == self::code(b, s));
            (b, s, low + over.map_or(0, |over| over.1))
        });
        all.filter(|(_, _, n)| *n > 0)
    }

    /// Returns the row of a power of two, or `None` if the power has no row.
    fn row(&self, block: usize) -> Option<Row> {
        let near = self.blocks.iter().position(|b| usize::from(*b) == block);
        match near {
            Some(row) => Some(self.near[row].map(widen)),
            None => self.far.as_ref()?.of(block).copied(),
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact sum of the values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the exact maximum, or `None` if the histogram is empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the mean, computed from the exact sum, or `None` if the histogram is empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the nearest-rank percentile for `p` in 0..=100, or `None` if the histogram is empty.
    /// The percentile is the middle of the bucket that contains the value of rank ceil(p/100 * n).
    /// The percentile does not exceed the maximum of all values.
    pub fn percentile(&self, p: f64) -> Option<f64> {
        let [value] = self.percentiles([p]);
        value
    }

    /// Returns several percentiles at once. The values of `ps` must be in ascending order.
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

    /// Returns the lower bound, the width and the count of each bucket with values, in ascending
    /// order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.filled().map(|(block, slot, n)| {
            let (lower, width) = bounds(block, slot);
            (lower, width, n)
        })
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        for (block, slot, n) in other.filled() {
            self.add(block, slot, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_nothing_there_is_no_statistic() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.mean(), histogram.max()), (None, None));
        assert_eq!(histogram.percentile(50.0), None);
        assert_eq!((histogram.count(), histogram.sum()), (0, 0));
        histogram.record(0);
        assert_eq!((histogram.mean(), histogram.max()), (Some(0.0), Some(0)));
        assert_eq!(histogram.percentile(50.0), Some(0.0));
    }

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

    /// Tests values around every power of two. A value must be in its bucket, and a larger value
    /// must not be in an earlier bucket.
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

    /// Compares a histogram with a list of values. Some buckets of the histogram contain more
    /// values than one byte can count.
    #[test]
    fn nothing_is_lost_of_what_is_carried() {
        let mut histogram = Histogram::new();
        let counts = [
            (5, 255),
            (6, 256),
            (7, 257),
            (3_000_000, 70_000),
            (1 << 40, 512),
        ];
        for (value, n) in counts {
            (0..n).for_each(|_| histogram.record(value));
        }
        let found: Vec<u64> = histogram.buckets().map(|(_, _, n)| n).collect();
        assert_eq!(found, counts.map(|(_, n)| n));
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        let found: Vec<u64> = twice.buckets().map(|(_, _, n)| n).collect();
        assert_eq!(found, counts.map(|(_, n)| 2 * n));
    }

    /// Tests the memory of a histogram of a flow whose RTT doubles. The buckets need a kilobyte,
    /// and the other parts of the histogram need little additional memory.
    #[test]
    fn a_histogram_is_small() {
        assert!(size_of::<Histogram>() <= 112);
        let mut histogram = Histogram::new();
        (20_000_000..40_000_000)
            .step_by(100_000)
            .for_each(|ns| histogram.record(ns));
        assert!(
            histogram.pages.capacity() <= 22,
            "{}",
            histogram.pages.capacity()
        );
        assert!(histogram.far.is_none(), "two powers of two have near rows");
    }

    /// Compares a histogram with a map of buckets. The values lie in so many powers of two that
    /// rows change between near and far. The values also need so many pages that near rows cannot
    /// store the indices of the pages.
    #[test]
    fn rows_change_between_near_and_far() {
        let (mut histogram, mut model) = (Histogram::new(), std::collections::BTreeMap::new());
        let mut promoted = [false; BLOCKS];
        let mut random = 1_u64;
        for step in 0..200_000_u64 {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            // Half of the values are equal, so they share one bucket. After every 5,000 steps, this
            // common value doubles.
            let value = match random >> 63 {
                0 => 3 << (10 + step / 5_000),
                _ => (random << 1) >> (step / 20_000 * 6),
            };
            histogram.record(value);
            let (block, slot) = slot(value);
            *model.entry((block, slot)).or_insert(0_u64) += 1;
            for block in histogram.blocks.into_iter().filter(|b| *b != NO_ROW) {
                promoted[usize::from(block)] = true;
            }
        }
        let promoted = promoted.iter().filter(|near| **near).count();
        assert!(promoted > 5, "{promoted}");
        assert!(histogram.pages.len() > 300, "{}", histogram.pages.len());
        let found = histogram
            .filled()
            .map(|(block, slot, n)| ((block, slot), n));
        assert!(found.eq(model));
        assert_eq!(histogram.count(), 200_000);
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
