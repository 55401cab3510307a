//! Time series and events of a run, in the long form: one row is (time, flow,
//! link, quantity, value).

use serde::{Deserialize, Serialize};

/// Which series a row belongs to; made by [`Series::id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId(u32);

impl SeriesId {
    /// That of the series that was declared so many after this one.
    pub(crate) fn plus(self, more: u32) -> SeriesId {
        SeriesId(self.0 + more)
    }
}

/// What a series is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesKey {
    /// The flow or traffic source, if the series is about one.
    pub flow: Option<String>,
    /// The link, if the series is about one.
    pub link: Option<String>,
    /// The quantity with its unit as suffix where it has one, e.g. `cwnd`
    /// (segments), `srtt_ns`, `backlog_bytes`, `drop.overflow` (an event).
    pub quantity: String,
}

/// Rows are kept up to this many; what came later is counted in
/// [`Series::lost`] and reported, never dropped silently.
pub const MAX_ROWS: usize = 20_000_000;

/// Samples and events in the order they were recorded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// One for each [`SeriesId`].
    pub keys: Vec<SeriesKey>,
    /// Index into `keys`, row by row.
    pub key: Vec<u32>,
    /// Nanoseconds from the start of the run, row by row.
    pub time_ns: Vec<u64>,
    /// The value, row by row.
    pub value: Vec<f64>,
    /// Rows beyond [`MAX_ROWS`].
    pub lost: u64,
}

impl Series {
    /// Declares a series; every flow, link and quantity is declared once,
    /// before the run.
    pub fn id(&mut self, flow: Option<&str>, link: Option<&str>, quantity: &str) -> SeriesId {
        let key = SeriesKey {
            flow: flow.map(str::to_owned),
            link: link.map(str::to_owned),
            quantity: quantity.to_owned(),
        };
        debug_assert!(!self.keys.contains(&key), "declared twice: {key:?}");
        self.keys.push(key);
        SeriesId((self.keys.len() - 1) as u32)
    }

    /// An id by a number of the caller's, of a series that gets its key in the end
    /// ([`Series::name`]).
    pub(crate) fn numbered(number: u32) -> SeriesId {
        SeriesId(number)
    }

    /// Gives keys to series that have numbers only: those with rows, in the order of the numbers.
    pub(crate) fn name(&mut self, key: impl Fn(u32) -> SeriesKey) {
        let numbers = self.key.iter().max().map_or(0, |last| *last as usize + 1);
        let mut place = vec![None; numbers];
        self.key.iter().for_each(|n| place[*n as usize] = Some(0));
        for (number, place) in (0..).zip(&mut place) {
            if let Some(place) = place {
                *place = self.keys.len() as u32;
                self.keys.push(key(number));
            }
        }
        for number in &mut self.key {
            *number = place[*number as usize].unwrap_or_default();
        }
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, id: SeriesId, time_ns: u64, value: f64) {
        if self.key.len() >= MAX_ROWS {
            self.lost += 1;
            return;
        }
        self.key.push(id.0);
        self.time_ns.push(time_ns);
        self.value.push(value);
    }

    /// Appends the rows of another series and its keys.
    pub fn append(&mut self, other: Series) {
        let offset = self.keys.len() as u32;
        let room = MAX_ROWS.saturating_sub(self.len());
        self.lost += other.lost + other.len().saturating_sub(room) as u64;
        self.keys.extend(other.keys);
        self.key
            .extend(other.key.iter().take(room).map(|k| k + offset));
        self.time_ns.extend(other.time_ns.iter().take(room));
        self.value.extend(other.value.iter().take(room));
    }

    /// Appends the rows of a series of the same keys, of which this one has room for all.
    pub fn append_rows(&mut self, other: Series) {
        self.key.extend(other.key);
        self.time_ns.extend(other.time_ns);
        self.value.extend(other.value);
    }

    /// Number of rows kept.
    pub fn len(&self) -> usize {
        self.key.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.key.is_empty()
    }
}
