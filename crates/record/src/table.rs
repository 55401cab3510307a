//! Writes the tables of a run folder (series and histograms) as Parquet, and checks Parquet files
//! before they are read.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::PageReader;
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::series::{self, Row, packed};
use crate::{Histogram, Outcome, Series};

/// Schema of `series.parquet`.
pub const SERIES: &str = "message series {
    required int64 time_ns;
    optional binary flow (string);
    optional binary link (string);
    required binary quantity (string);
    required double value;
}";

/// Schema of `histograms.parquet`.
pub const HISTOGRAMS: &str = "message histograms {
    optional binary flow (string);
    optional binary link (string);
    required binary quantity (string);
    required int64 lower;
    required int64 width;
    required int64 count;
}";

/// Number of rows in a row group. A small row group needs little memory to write and to read.
const GROUP_ROWS: usize = 1 << 20;

/// Largest number of row groups for which each group is written by reading all rows. Rows can be
/// read only in the order of recording, because they are packed.
const READINGS: usize = 4;

/// Largest factor by which compressed data can expand. Snappy's longest copy encodes 64 bytes in 3
/// bytes.
const EXPANSION: u64 = 24;

/// Writes a table with the given schema. Returns the number of rows of the table.
pub fn write<W: Write + Send>(
    to: W,
    schema: &str,
    rows: impl FnOnce(&mut SerializedFileWriter<W>) -> Result<u64, ParquetError>,
) -> io::Result<u64> {
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::SNAPPY)
        // Omit statistics and the offset index, which are not useful in files of this size. In a
        // short run, they would take up most of the file.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by("tailback".to_owned())
        .build();
    parse_message_type(schema)
        .and_then(|schema| {
            let mut writer = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
            let rows = rows(&mut writer)?;
            writer.close()?;
            Ok(rows)
        })
        .map_err(|e| match e {
            // Return the I/O error, such as a full disk, so that the user sees the cause.
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(io) => *io,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        })
}

/// Checks that a file has the form that [`write`] produces. The file must contain a table with the
/// given schema and `rows` rows. Reading a checked table needs memory only for its rows, and for
/// [`EXPANSION`] times the size of the file. The check itself does not decompress any data. The
/// error describes what is wrong.
pub fn check(file: Bytes, schema: &str, rows: u64) -> Result<(), String> {
    if rows > series::MAX_ROWS as u64 {
        return Err(format!("more than {} rows", series::MAX_ROWS));
    }
    let size = file.len() as u64;
    // The Parquet reader may panic on invalid files.
    let checked = std::panic::catch_unwind(|| -> Result<(), String> {
        let wrong = |e: ParquetError| format!("not a Parquet file of a run: {e}");
        let reader = SerializedFileReader::new(file).map_err(wrong)?;
        let metadata = reader.metadata();
        let expected = parse_message_type(schema).map_err(wrong)?;
        if *metadata.file_metadata().schema() != expected {
            return Err("other columns than those of a run".to_owned());
        }
        let groups = metadata.row_groups();
        let found: Option<u64> = groups.iter().try_fold(0_u64, |sum, group| {
            let n = u64::try_from(group.num_rows()).ok()?;
            (n <= GROUP_ROWS as u64).then(|| sum.saturating_add(n))
        });
        if found != Some(rows) || metadata.file_metadata().num_rows() != rows as i64 {
            return Err(format!(
                "it does not have the {rows} rows that were written"
            ));
        }
        for (i, group) in groups.iter().enumerate() {
            check_group(group, size)?;
            let pages = reader.get_row_group(i).map_err(wrong)?;
            for column in 0..group.num_columns() {
                let mut pages = pages.get_column_page_reader(column).map_err(wrong)?;
                let values = values_of(pages.as_mut()).map_err(wrong)?;
                if values != group.num_rows() as u64 {
                    return Err("pages that do not add up to its rows".to_owned());
                }
            }
        }
        Ok(())
    });
    checked.unwrap_or_else(|_| Err("not a Parquet file of a run".to_owned()))
}

fn check_group(group: &RowGroupMetaData, size: u64) -> Result<(), String> {
    for column in group.columns() {
        let expanded = u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX);
        if column.compression() != Compression::SNAPPY
            || column.file_path().is_some()
            || column.num_values() != group.num_rows()
            || expanded > size.saturating_mul(EXPANSION)
        {
            return Err("a column that tailback does not write".to_owned());
        }
    }
    Ok(())
}

/// Returns the number of values in a column, according to the headers of the column's pages.
fn values_of(pages: &mut dyn PageReader) -> Result<u64, ParquetError> {
    let mut values = 0_u64;
    while let Some(page) = pages.peek_next_page()? {
        if !page.is_dict {
            values = values.saturating_add(page.num_levels.or(page.num_rows).unwrap_or(0) as u64);
        }
        pages.skip_next_page()?;
    }
    Ok(values)
}

/// Writes one series after the other, and returns the number of rows. Rows with equal keys are
/// therefore adjacent, so the keys compress well. A reader also finds all rows of a series in one
/// place.
pub fn write_series<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    series: &Series,
) -> Result<u64, ParquetError> {
    let begins = begins(series);
    let all = series.len();
    let parts = parts(series, &begins, GROUP_ROWS);
    let mut group_rows = Vec::new();
    for (number, first) in (0..all).step_by(GROUP_ROWS).enumerate() {
        let range = first..all.min(first + GROUP_ROWS);
        collect_group(series, &begins, parts.get(number), range, &mut group_rows);
        let rows = group_rows.as_slice();
        let key = |row: &Row| &series.keys[row.key as usize];
        let mut group = writer.next_row_group()?;
        column::<Int64Type, _, _>(&mut group, rows, |r| r.time_ns as i64)?;
        optional(&mut group, rows, |r| key(r).flow.as_deref())?;
        optional(&mut group, rows, |r| key(r).link.as_deref())?;
        text(&mut group, rows, |r| &key(r).quantity)?;
        column::<DoubleType, _, _>(&mut group, rows, |r| r.value)?;
        group.close()?;
    }
    Ok(all as u64)
}

/// Returns the index of the first row of each series among the rows sorted by series.
fn begins(series: &Series) -> Vec<u32> {
    let mut begins = vec![0_u32; series.keys.len() + 1];
    for row in series.rows() {
        begins[row.key as usize + 1] += 1;
    }
    for i in 1..begins.len() {
        begins[i] += begins[i - 1];
    }
    begins
}

/// Divides the rows into parts, one for each row group of the file. A part is packed and in the
/// order of recording. Returns no parts if the file has at most [`READINGS`] row groups. If there
/// are only a few groups, it takes less memory to read all rows for each group.
fn parts(series: &Series, begins: &[u32], group_rows: usize) -> Vec<packed::Rows> {
    let groups = series.len().div_ceil(group_rows);
    if groups <= READINGS {
        return Vec::new();
    }
    let mut parts = vec![packed::Rows::default(); groups];
    let mut next = begins.to_vec();
    for row in series.rows() {
        let place = &mut next[row.key as usize];
        parts[*place as usize / group_rows].push(row);
        *place += 1;
    }
    parts
}

/// Collects the rows of a row group from its part, or from all rows if there is no part.
fn collect_group(
    series: &Series,
    begins: &[u32],
    part: Option<&packed::Rows>,
    range: Range<usize>,
    into: &mut Vec<Row>,
) {
    match part {
        Some(part) => {
            // The part does not contain the rows of a series that belong to earlier row groups.
            let first = range.start as u32;
            let next = begins.iter().map(|&begin| begin.max(first)).collect();
            collect(part.iter(), next, range, into);
        }
        None => collect(series.rows(), begins.to_vec(), range, into),
    }
}

/// Collects the rows of a row group, that is, the rows whose positions among all rows sorted by
/// series are in `range`. Within a series, rows are in the order of recording. `rows` returns the
/// rows in the order of recording. For each series, `next` contains the position of the first row
/// of this series in `rows`.
fn collect(
    rows: impl Iterator<Item = Row>,
    mut next: Vec<u32>,
    range: Range<usize>,
    into: &mut Vec<Row>,
) {
    let nothing = Row {
        key: 0,
        time_ns: 0,
        value: 0.0,
    };
    into.clear();
    into.resize(range.len(), nothing);
    for row in rows {
        let place = &mut next[row.key as usize];
        let at = *place as usize;
        *place += 1;
        if range.contains(&at) {
            into[at - range.start] = row;
        }
    }
}

/// The flow or link that a histogram describes.
struct Owner<'a> {
    flow: Option<&'a str>,
    link: Option<&'a str>,
    quantity: &'a str,
}

/// A non-empty bucket. Up to a million buckets are in memory at the same time.
struct Bucket {
    lower: u64,
    count: u64,
    /// Index of the flow or link that the histogram describes.
    owner: u32,
    /// log2 of the bucket's width.
    width_log2: u32,
}

/// Writes the buckets that have values. Returns the number of rows.
pub fn write_histograms<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    outcome: &Outcome,
) -> Result<u64, ParquetError> {
    let of_link = |link, quantity| Owner {
        flow: None,
        link,
        quantity,
    };
    let of_flow = |name, quantity| Owner {
        flow: Some(name),
        link: None,
        quantity,
    };
    let links = (outcome.links.iter())
        .map(|link| (of_link(Some(link.name.as_str()), "delay_ns"), &link.delay));
    let quantities: Vec<String> = (outcome.classes.iter())
        .map(|class| format!("delay_ns.{}", class.class.name))
        .collect();
    let classes = (outcome.classes.iter().zip(&quantities)).map(|(class, quantity)| {
        let link = outcome.links.get(class.link as usize);
        let owner = of_link(link.map(|link| link.name.as_str()), quantity.as_str());
        (owner, &class.delay)
    });
    let flows = (outcome.flows.iter()).map(|flow| (of_flow(&flow.name, "rtt_ns"), &flow.rtt));
    let programs = outcome.programs.iter().flat_map(|program| {
        let measures = &program.measures;
        [
            (of_flow(&program.name, "rtt_ns"), &measures.rtt),
            (of_flow(&program.name, "delay_ns"), &measures.delay),
        ]
    });
    let sources = outcome.traffic.iter().flat_map(|source| {
        let of = |quantity| of_flow(&source.name, quantity);
        let mut all = vec![
            (of("one_way_delay_ns"), &source.one_way),
            (of("page_load_ns"), &source.loads),
        ];
        if let Some(echoes) = &source.echoes {
            all.extend([
                (of("rtt_ns"), &echoes.rtt),
                (of("echo_delay_ns"), &echoes.back),
            ]);
        }
        let frames = source.frames.as_ref();
        all.extend(frames.map(|frames| (of("frame_delay_ns"), &frames.delay)));
        if let Some(probes) = &source.responsiveness {
            all.push((of("foreign_ns"), &probes.foreign));
            all.push((of("loaded_ns"), &probes.loaded));
        }
        all
    });
    let flows = flows.chain(programs).chain(sources);
    let owned: Vec<(Owner<'_>, &Histogram)> = links.chain(classes).chain(flows).collect();
    let mut buckets = (0..).zip(&owned).flat_map(|(owner, (_, histogram))| {
        histogram
            .buckets()
            .map(move |(lower, width, count)| Bucket {
                lower,
                count,
                owner,
                width_log2: width.ilog2(),
            })
    });
    let (mut rows, mut written) = (Vec::new(), 0);
    loop {
        // Write one row group at a time, because the flows may have many millions of buckets in
        // total.
        rows.clear();
        rows.extend(buckets.by_ref().take(GROUP_ROWS));
        if rows.is_empty() {
            return Ok(written);
        }
        written += rows.len() as u64;
        let rows = &rows[..];
        let mut group = writer.next_row_group()?;
        let owner = |bucket: &Bucket| &owned[bucket.owner as usize].0;
        optional(&mut group, rows, |b| owner(b).flow)?;
        optional(&mut group, rows, |b| owner(b).link)?;
        text(&mut group, rows, |b| owner(b).quantity)?;
        column::<Int64Type, _, _>(&mut group, rows, |b| b.lower as i64)?;
        column::<Int64Type, _, _>(&mut group, rows, |b| 1_i64 << b.width_log2)?;
        column::<Int64Type, _, _>(&mut group, rows, |b| b.count as i64)?;
        group.close()?;
    }
}

/// Number of rows to pass to the column writer at a time.
const BATCH: usize = 8192;

/// Writes the next column, with a value in every row.
fn column<T: DataType, R, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[R],
    mut value: impl FnMut(&R) -> T::T,
) -> Result<(), ParquetError> {
    next_column::<T, _>(group, |writer| {
        let mut values = Vec::with_capacity(BATCH.min(rows.len()));
        for batch in rows.chunks(BATCH) {
            values.clear();
            values.extend(batch.iter().map(&mut value));
            writer.write_batch(&values, None, None)?;
        }
        Ok(())
    })
}

/// Writes the next column, with text in every row.
fn text<'a, R, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[R],
    value: impl Fn(&R) -> &'a str,
) -> Result<(), ParquetError> {
    let mut last = Last::default();
    column::<ByteArrayType, _, _>(group, rows, |row| last.bytes(value(row)))
}

/// Writes the next column, with text or null.
fn optional<'a, R, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[R],
    value: impl Fn(&R) -> Option<&'a str>,
) -> Result<(), ParquetError> {
    next_column::<ByteArrayType, _>(group, |writer| {
        let mut last = Last::default();
        let mut values = Vec::with_capacity(BATCH.min(rows.len()));
        let mut present = Vec::with_capacity(BATCH.min(rows.len()));
        for batch in rows.chunks(BATCH) {
            values.clear();
            values.extend(batch.iter().filter_map(&value).map(|text| last.bytes(text)));
            present.clear();
            present.extend(batch.iter().map(|row| i16::from(value(row).is_some())));
            writer.write_batch(&values, Some(&present), None)?;
        }
        Ok(())
    })
}

/// The text of the previous row in the form that the Parquet writer needs. The writer stores this
/// text because most rows repeat the text of the previous row.
#[derive(Default)]
struct Last<'a>(Option<(&'a str, ByteArray)>);

impl<'a> Last<'a> {
    fn bytes(&mut self, text: &'a str) -> ByteArray {
        match &self.0 {
            Some((last, bytes)) if *last == text => bytes.clone(),
            _ => {
                let bytes = ByteArray::from(text);
                self.0 = Some((text, bytes.clone()));
                bytes
            }
        }
    }
}

fn next_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
    write(column.typed::<T>())?;
    column.close()
}

#[cfg(test)]
mod tests;
