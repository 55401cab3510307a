//! Stores the time series and events of a run in long form. Each row is (time, flow, link,
//! quantity, value).

pub(crate) mod packed;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Identifies a declared series. [`Series::id`] creates this identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId(u32);

impl SeriesId {
    /// Returns the id of the series that was declared `more` series after the series with this id.
    pub(crate) fn plus(self, more: u32) -> SeriesId {
        SeriesId(self.0 + more)
    }
}

/// Identifies a series by a flow or source, a link, and a quantity.
///
/// A large scenario has many series. To save memory, the series of a flow share the text of the
/// flow's name. All series of a quantity share the text of the quantity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesKey {
    /// The flow or traffic source to which the series belongs, if any.
    pub flow: Option<Arc<str>>,
    /// The link to which the series belongs, if any.
    pub link: Option<Arc<str>>,
    /// The quantity, with the unit (if any) as suffix, such as `cwnd` (segments), `srtt_ns`,
    /// `backlog_bytes`, `drop.overflow` (an event).
    pub quantity: Arc<str>,
}

/// Largest number of rows. Rows beyond this limit are not stored, but [`Series::lost`] counts them.
pub const MAX_ROWS: usize = 20_000_000;

/// One sample or event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Index into [`Series::keys`].
    pub key: u32,
    /// Nanoseconds from the start of the run.
    pub time_ns: u64,
    /// The value.
    pub value: f64,
}

/// Samples and events, in the order in which they were recorded.
///
/// A run may have millions of rows. A series stores rows in a packed form ([`packed`]), in which
/// most rows take three to five bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Columns", into = "Columns")]
pub struct Series {
    /// The key of each [`SeriesId`].
    pub keys: Vec<SeriesKey>,
    rows: packed::Rows,
    /// Number of rows beyond [`MAX_ROWS`], which are not stored.
    pub lost: u64,
}

/// The form in which a series is serialized: a column for each part of a row.
#[derive(Serialize, Deserialize)]
struct Columns {
    keys: Vec<SeriesKey>,
    key: Vec<u32>,
    time_ns: Vec<u64>,
    value: Vec<f64>,
    lost: u64,
}

impl TryFrom<Columns> for Series {
    type Error = &'static str;

    fn try_from(columns: Columns) -> Result<Series, &'static str> {
        let rows = columns.key.len();
        if columns.time_ns.len() != rows || columns.value.len() != rows {
            return Err("columns of a series with different lengths");
        }
        let mut rows = packed::Rows::default();
        let times = columns.time_ns.iter().zip(&columns.value);
        for (&key, (&time_ns, &value)) in columns.key.iter().zip(times) {
            rows.push(Row {
                key,
                time_ns,
                value,
            });
        }
        Ok(Series {
            keys: columns.keys,
            rows,
            lost: columns.lost,
        })
    }
}

impl From<Series> for Columns {
    fn from(series: Series) -> Columns {
        Columns {
            key: series.rows().map(|row| row.key).collect(),
            time_ns: series.rows().map(|row| row.time_ns).collect(),
            value: series.rows().map(|row| row.value).collect(),
            keys: series.keys,
            lost: series.lost,
        }
    }
}

impl Series {
    /// Declares a series. Each combination of flow, link and quantity is declared once, before the
    /// run.
    pub fn id(&mut self, flow: Option<&str>, link: Option<&str>, quantity: &str) -> SeriesId {
        let key = SeriesKey {
            flow: flow.map(|name| self.shared(name, |key| key.flow.as_ref())),
            link: link.map(|name| self.shared(name, |key| key.link.as_ref())),
            quantity: self.shared(quantity, |key| Some(&key.quantity)),
        };
        debug_assert!(!self.keys.contains(&key), "declared twice: {key:?}");
        self.keys.push(key);
        SeriesId((self.keys.len() - 1) as u32)
    }

    /// Returns a text that shares its memory with an equal text of one of the last keys, if
    /// possible. The last keys are the keys of the flow that is being declared, and of the flow
    /// declared before this flow.
    fn shared<'a>(
        &'a self,
        text: &str,
        of: impl Fn(&'a SeriesKey) -> Option<&'a Arc<str>>,
    ) -> Arc<str> {
        let last = self.keys.iter().rev().take(SHARING);
        let known = last.filter_map(of).find(|known| &***known == text);
        known.map_or_else(|| text.into(), Arc::clone)
    }

    /// Returns a series id with a number that the caller chooses. [`Series::name`] adds the key at
    /// the end of the run.
    pub(crate) fn numbered(number: u32) -> SeriesId {
        SeriesId(number)
    }

    /// Adds keys for the series whose ids [`Series::numbered`] created, in the order of these ids.
    /// Series without rows get no key.
    pub(crate) fn name(&mut self, key: impl Fn(u32) -> SeriesKey) {
        let numbers = self.rows().map(|row| row.key as usize + 1).max();
        let mut place = vec![None; numbers.unwrap_or(0)];
        self.rows()
            .for_each(|row| place[row.key as usize] = Some(0));
        for (number, place) in (0..).zip(&mut place) {
            if let Some(place) = place {
                *place = self.keys.len() as u32;
                self.keys.push(key(number));
            }
        }
        self.rows = self.with_keys(|number| place[number as usize].unwrap_or_default());
    }

    fn with_keys(&self, key: impl Fn(u32) -> u32) -> packed::Rows {
        let mut rows = packed::Rows::default();
        for row in self.rows() {
            rows.push(Row {
                key: key(row.key),
                ..row
            });
        }
        rows
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, id: SeriesId, time_ns: u64, value: f64) {
        self.push_row(Row {
            key: id.0,
            time_ns,
            value,
        });
    }

    fn push_row(&mut self, row: Row) {
        if self.rows.len() >= MAX_ROWS {
            self.lost += 1;
            return;
        }
        self.rows.push(row);
    }

    /// Returns the rows in the order in which they were recorded.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        self.rows.iter()
    }

    /// Replaces each row with the row that a function returns.
    pub fn change_rows(&mut self, change: impl Fn(Row) -> Row) {
        let mut rows = packed::Rows::default();
        self.rows().for_each(|row| rows.push(change(row)));
        self.rows = rows;
    }

    /// Appends the rows and keys of another series.
    pub fn append(&mut self, other: Series) {
        let offset = self.keys.len() as u32;
        self.lost += other.lost;
        for row in other.rows() {
            self.push_row(Row {
                key: row.key + offset,
                ..row
            });
        }
        self.keys.extend(other.keys);
    }

    /// Appends the rows of a series with the same keys. The caller must ensure that the two series
    /// together have at most [`MAX_ROWS`] rows.
    pub fn append_rows(&mut self, other: &Series) {
        other.rows().for_each(|row| self.rows.push(row));
    }

    /// Returns the number of rows that are stored.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether the series has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How many of the last keys are searched for an equal text. The last keys include all keys of the
/// previous flow, because a flow has at most about a dozen series (BBR).
const SHARING: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a series with the given number of rows.
    fn full(rows: usize) -> Series {
        let mut series = Series::default();
        for _ in 0..rows {
            series.rows.push(row(0, 0, 0.0));
        }
        series
    }

    fn row(key: u32, time_ns: u64, value: f64) -> Row {
        Row {
            key,
            time_ns,
            value,
        }
    }

    fn rows(series: &Series) -> Vec<Row> {
        series.rows().collect()
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
        assert_eq!(series.rows().last(), Some(row(0, 1, 2.0)));
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
        let last = series.rows().last();
        assert_eq!(last, Some(row(2, 0, 0.5)), "the other's second key");

        let mut series = Series::default();
        series.id(Some("a"), None, "cwnd");
        series.append(other);
        let expected = [0, 1, 2, 3].map(|at| row(2, at, 0.5 + at as f64));
        assert_eq!((rows(&series), series.lost), (expected.to_vec(), 3));
        assert_eq!(series.keys[2].flow.as_deref(), Some("b"));
    }

    /// A guest sends its series to another process, so the serialized form must not change.
    #[test]
    fn a_series_is_serialized_by_columns() {
        let mut series = Series::default();
        let id = series.id(Some("a"), None, "cwnd");
        series.push(id, 7, 0.5);
        series.push(id, 9, 3.0);
        series.lost = 1;
        let text = serde_json::to_string(&series).expect("JSON");
        let expected = r#"{"keys":[{"flow":"a","link":null,"quantity":"cwnd"}],"key":[0,0],"#;
        let rest = r#""time_ns":[7,9],"value":[0.5,3.0],"lost":1}"#;
        assert_eq!(text, format!("{expected}{rest}"));
        let read: Series = serde_json::from_str(&text).expect("a series");
        assert_eq!((rows(&read), read.lost), (rows(&series), 1));
        assert_eq!(read.keys, series.keys);
        let short = text.replace("[7,9]", "[7]");
        assert!(serde_json::from_str::<Series>(&short).is_err());
    }

    #[test]
    fn flows_share_the_text_of_quantities() {
        let mut series = Series::default();
        for flow in ["a", "b"] {
            for quantity in ["cwnd", "srtt_ns"] {
                series.id(Some(flow), None, quantity);
            }
        }
        let [a, b, c, d] = &series.keys[..] else {
            panic!("four keys")
        };
        assert!(Arc::ptr_eq(&a.quantity, &c.quantity));
        assert!(Arc::ptr_eq(&b.quantity, &d.quantity));
        let flows = [a, b, c, d].map(|key| key.flow.as_ref().expect("a flow"));
        assert!(Arc::ptr_eq(flows[0], flows[1]) && Arc::ptr_eq(flows[2], flows[3]));
        assert_eq!(flows.map(|flow| &**flow), ["a", "a", "b", "b"]);
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
            flow: Some(number.to_string().into()),
            link: None,
            quantity: "drop.aqm".into(),
        });
        let names: Vec<_> = numbered.keys.iter().map(|key| key.flow.clone()).collect();
        assert_eq!(names, ["2", "7"].map(|name| Some(name.into())));
        let keys = |series: &Series| series.rows().map(|row| row.key).collect::<Vec<_>>();
        assert_eq!(keys(&numbered), [1, 0, 1]);
        assert_eq!(kept.plus(1), Series::numbered(1));

        let mut more = numbered.clone();
        more.append_rows(&numbered);
        assert_eq!(keys(&more), [1, 0, 1, 1, 0, 1]);
        let times: Vec<_> = more.rows().map(|row| row.time_ns).collect();
        assert_eq!(times, [7, 2, 7, 7, 2, 7]);
    }
}
