//! Tests of lists in bytes.

use super::{Column, ListWriter, Place, read_list};
use crate::document::Kind;
use crate::schema::{DocumentRow, Segment};

#[test]
fn a_list_is_read_as_it_was_written() {
    let row = DocumentRow(DocumentRow::floor(Kind::Table).0 + 5000);
    let segment = Segment::of(row);
    let written = [
        (row.passage(0), 3, vec![Place::of(Column::Name, 0)]),
        (
            row.passage(7),
            300,
            vec![Place::of(Column::Body, 1), Place::of(Column::Body, 200_000)],
        ),
        (DocumentRow(row.0 + 1).passage(4000), 70_000, Vec::new()),
    ];
    let mut writer = ListWriter::new(segment);
    for (passage, words, places) in &written {
        writer.push(*passage, *words, places);
    }
    let mut copy = ListWriter::new(segment);
    let mut read = Vec::new();
    read_list(segment, writer.bytes(), &mut |entry| {
        copy.copy(&entry);
        read.push((
            entry.passage,
            entry.words,
            entry.places().collect::<Vec<_>>(),
        ));
    })
    .unwrap();
    assert_eq!(read, written);
    assert_eq!(copy.bytes(), writer.bytes());
}

#[test]
fn bytes_that_are_no_list_are_refused() {
    let segment = Segment::of(DocumentRow(1));
    for bytes in [&[1_u8][..], &[1, 1, 9, 0], &[0xff; 30]] {
        assert!(read_list(segment, bytes, &mut |_| {}).is_err(), "{bytes:?}");
    }
}
