//! Stores the time series and events of a run in long form. Each row is (time, flow, link,
//! quantity, value).

use serde::{Deserialize, Serialize};

/// Identifies a declared series. [`Series::id`] creates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId(u32);

impl SeriesId {
    /// Returns the id of the series declared `more` series later.
    pub(crate) fn plus(self, more: u32) -> SeriesId {
        SeriesId(self.0 + more)
    }
}

/// Identifies a series by a flow or source, a link, and a quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesKey {
    /// The flow or traffic source to which the series belongs, if any.
    pub flow: Option<String>,
    /// The link to which the series belongs, if any.
    pub link: Option<String>,
    /// The quantity, with its unit as suffix if it has one, e.g. `cwnd` (segments), `srtt_ns`,
    /// `backlog_bytes`, `drop.overflow` (an event).
    pub quantity: String,
}

/// Largest number of rows. Rows beyond this limit are only counted, in [`Series::lost`].
pub const MAX_ROWS: usize = 20_000_000;

/// Samples and events, in the order in which they were recorded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// The key of each [`SeriesId`].
    pub keys: Vec<SeriesKey>,
    /// Index into `keys` for each row.
    pub key: Vec<u32>,
    /// Nanoseconds from the start of the run, for each row.
    pub time_ns: Vec<u64>,
    /// The value of each row.
    pub value: Vec<f64>,
    /// Number of rows beyond [`MAX_ROWS`], which are not stored.
    pub lost: u64,
}

impl Series {
    /// Declares a series. Each combination of flow, link and quantity is declared once, before the
    /// run.
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

    /// Returns a series id with a number that the caller chooses. [`Series::name`] adds the key at
    /// the end of the run.
    pub(crate) fn numbered(number: u32) -> SeriesId {
        SeriesId(number)
    }

    /// Adds keys to series that were recorded by number, in the order of the numbers. Series
    /// without rows get no key.
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

    /// Appends the rows and keys of another series.
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

    /// Appends the rows of a series with the same keys. The caller must ensure that the rows of
    /// both series do not exceed [`MAX_ROWS`].
    pub fn append_rows(&mut self, other: Series) {
        self.key.extend(other.key);
        self.time_ns.extend(other.time_ns);
        self.value.extend(other.value);
    }

    /// Returns the number of rows that are stored.
    pub fn len(&self) -> usize {
        self.key.len()
    }

    /// Returns whether the series has no rows.
    pub fn is_empty(&self) -> bool {
        self.key.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a series with this many rows. Its memory of 80 MB is reserved but never written, so
    /// it does not use 80 MB of RAM.
    fn full(rows: usize) -> Series {
        Series {
            key: vec![0; rows],
            ..Series::default()
        }
    }

    #[test]
    fn rows_beyond_the_limit_are_counted() {
        let mut series = full(MAX_ROWS - 1);
        let id = series.id(Some("a"), None, "cwnd");
        series.push(id, 1, 2.0);
        assert_eq!((series.len(), series.lost), (MAX_ROWS, 0));
        series.push(id, 3, 4.0);
        series.push(id, 5, 6.0);
        assert_eq!((series.len(), series.lost), (MAX_ROWS, 2));
        assert_eq!((series.time_ns, series.value), (vec![1], vec![2.0]));
    }

    #[test]
    fn what_is_appended_beyond_the_limit_is_counted_too() {
        let mut other = Series::default();
        other.id(None, Some("l"), "backlog_bytes");
        let second = other.id(Some("b"), None, "cwnd");
        for at in 0..4 {
            other.push(second, at, 0.5 + at as f64);
        }
        other.lost = 3;
        let mut series = full(MAX_ROWS - 1);
        series.id(Some("a"), None, "cwnd");
        series.lost = 10;
        series.append(other.clone());
        assert_eq!((series.len(), series.lost), (MAX_ROWS, 16));
        assert_eq!(series.key[MAX_ROWS - 1], 2, "the other's second key");
        assert_eq!((series.time_ns, series.value), (vec![0], vec![0.5]));

        let mut series = Series::default();
        series.id(Some("a"), None, "cwnd");
        series.append(other);
        assert_eq!((series.key, series.lost), (vec![2; 4], 3));
        assert_eq!(series.keys[2].flow.as_deref(), Some("b"));
        assert_eq!(series.time_ns, [0, 1, 2, 3]);
    }

    #[test]
    fn numbers_with_rows_get_keys_in_their_order() {
        let mut series = Series::default();
        let kept = series.id(None, Some("l"), "backlog_bytes");
        assert!(series.is_empty());
        let mut numbered = Series::default();
        for number in [7, 2, 7] {
            numbered.push(Series::numbered(number), u64::from(number), 1.0);
        }
        assert!(!numbered.is_empty());
        numbered.name(|number| SeriesKey {
            flow: Some(number.to_string()),
            link: None,
            quantity: "drop.aqm".to_owned(),
        });
        let names: Vec<_> = numbered.keys.iter().map(|key| key.flow.clone()).collect();
        assert_eq!(names, ["2", "7"].map(|name| Some(name.to_owned())));
        assert_eq!(numbered.key, [1, 0, 1]);
        assert_eq!(kept.plus(1), Series::numbered(1));

        let mut more = numbered.clone();
        more.append_rows(numbered);
        assert_eq!(more.key, [1, 0, 1, 1, 0, 1]);
        assert_eq!(more.time_ns, [7, 2, 7, 7, 2, 7]);
        assert_eq!(more.value.len(), 6);
    }
}
