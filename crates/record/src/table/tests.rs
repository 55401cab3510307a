use parquet::file::metadata::{
    ColumnChunkMetaDataBuilder, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
    RowGroupMetaData,
};

use super::*;

const ROWS: u64 = 1000;

fn written() -> Vec<u8> {
    let mut series = Series::default();
    let id = series.id(Some("a"), None, "cwnd");
    (0..ROWS).for_each(|at| series.push(id, at, at as f64));
    let mut bytes = Vec::new();
    let rows = write(&mut bytes, SERIES, |to| write_series(to, &series));
    assert_eq!(rows.expect("memory"), ROWS);
    bytes
}

fn footer_of(bytes: &[u8]) -> usize {
    let length = bytes.len();
    let footer = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().expect("four"));
    length - 8 - footer as usize
}

/// Returns the table after changing the entry of each column in the footer.
fn forged(change: impl Fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder) -> Bytes {
    let bytes = Bytes::from(written());
    let footer = ParquetMetaDataReader::new().parse_and_finish(&bytes);
    let footer = footer.expect("a footer");
    let groups = footer.row_groups().iter().map(|group| {
        let columns = group.columns().iter().cloned();
        let columns = columns.map(|column| change(column.into_builder()).build());
        let columns: Result<Vec<_>, _> = columns.collect();
        let group: RowGroupMetaData = group.clone();
        let group = group.into_builder();
        let group = group.set_column_metadata(columns.expect("columns"));
        group.build().expect("a row group")
    });
    let forged = ParquetMetaData::new(footer.file_metadata().clone(), groups.collect());
    let mut out = bytes[..footer_of(&bytes)].to_vec();
    let writer = ParquetMetaDataWriter::new(&mut out, &forged);
    writer.finish().expect("memory");
    out.into()
}

#[test]
fn a_footer_that_only_says_the_same_is_accepted() {
    assert_eq!(check(written().into(), SERIES, ROWS), Ok(()));
    assert_eq!(check(forged(|c| c), SERIES, ROWS), Ok(()));
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    // Find the field that contains the number of rows in the file, by searching the footer for the
    // first occurrence of its bytes. The bytes are a field header and the number as a zigzag
    // varint.
    let mut bytes = written();
    let field = [0x16, 0xD0, 0x0F];
    let footer = footer_of(&bytes);
    let at = bytes[footer..].windows(3).position(|found| found == field);
    bytes[footer + at.expect("the number of rows") + 1] += 2;
    let what = check(bytes.into(), SERIES, ROWS).expect_err("other rows");
    assert!(what.contains("rows that were written"), "{what}");
    type Change = fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder;
    let changes: [(&str, Change); 4] = [
        ("another file", |c| c.set_file_path("other".to_owned())),
        ("values", |c| c.set_num_values(ROWS as i64 + 1)),
        ("expands", |c| c.set_total_uncompressed_size(1 << 40)),
        ("a negative size", |c| c.set_total_uncompressed_size(-1)),
    ];
    for (name, change) in changes {
        let file = forged(change);
        let what = check(file, SERIES, ROWS).expect_err(name);
        assert_eq!(what, "a column that tailback does not write", "{name}");
    }
}

#[test]
fn a_column_expands_by_what_snappy_can_do_at_most() {
    let most = |size: u64| {
        let file = forged(|c| c.set_total_uncompressed_size(size as i64));
        let limit = EXPANSION * file.len() as u64;
        (file, limit)
    };
    // The footer contains the limit, so the footer's length depends on the limit. For similar
    // limits, the footer has the same length.
    let (_, limit) = most(1_000_000);
    let (file, same) = most(limit);
    assert_eq!(limit, same);
    assert_eq!(check(file, SERIES, ROWS), Ok(()));
    let (file, same) = most(limit + 1);
    assert_eq!(limit, same);
    assert!(check(file, SERIES, ROWS).is_err());
}

/// The writer writes a file with many row groups from packed parts. The writer writes a file with
/// few row groups from all rows. In both cases, the rows must be sorted by series.
#[test]
fn rows_are_sorted_by_series_in_every_row_group() {
    let mut series = Series::default();
    let ids = ["a", "b", "c"].map(|flow| series.id(Some(flow), None, "cwnd"));
    for at in 0..100_u64 {
        // The second series has twice as many rows as the first series, and the last series begins
        // late.
        series.push(ids[1], at, at as f64);
        series.push(ids[0], at, -(at as f64));
        series.push(ids[1], at, 0.5);
        if at >= 50 {
            series.push(ids[2], at, 1e300);
        }
    }
    let mut sorted: Vec<Row> = series.rows().collect();
    sorted.sort_by_key(|row| row.key);
    let begins = begins(&series);
    for group_rows in [7, 64, 100, 350, 1000] {
        let parts = parts(&series, &begins, group_rows);
        let groups = sorted.len().div_ceil(group_rows);
        assert_eq!(parts.len(), if groups > READINGS { groups } else { 0 });
        let (mut found, mut group) = (Vec::new(), Vec::new());
        for (number, first) in (0..sorted.len()).step_by(group_rows).enumerate() {
            collect_group(
                &series,
                &begins,
                parts.get(number),
                first..sorted.len().min(first + group_rows),
                &mut group,
            );
            found.append(&mut group);
        }
        assert_eq!(found, sorted, "row groups of {group_rows}");
    }
}
