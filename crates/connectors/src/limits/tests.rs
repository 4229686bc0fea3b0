//! Tests of the caps.

use std::time::Duration;

use ktx_warehouse::{Caps, Cell, ColumnHeader, ErrorKind, Flow, RowSink};
use serde_json::json;

use super::{Meter, RowDemand, clip};

#[derive(Default)]
struct CollectingSink {
    rows: Vec<Vec<Cell>>,
    stop_after: Option<usize>,
}

impl RowSink for CollectingSink {
    fn header(&mut self, _: &[ColumnHeader]) {}

    fn row(&mut self, cells: Vec<Cell>) -> Flow {
        self.rows.push(cells);
        if self.stop_after == Some(self.rows.len()) {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

fn caps(rows: usize, bytes: usize) -> Caps {
    Caps {
        rows,
        bytes,
        cell_bytes: 100,
        timeout: Duration::from_secs(1),
    }
}

#[track_caller]
fn check(caps: Caps, stop_after: Option<usize>, brought: usize, expected: (usize, bool)) {
    let mut basket = CollectingSink {
        rows: Vec::new(),
        stop_after,
    };
    let mut meter = Meter::new(&caps, &mut basket);
    for number in 0..brought {
        if meter.row(vec![Cell::Bool(number % 2 == 0)]).unwrap() == RowDemand::Enough {
            break;
        }
    }
    let end = meter.end();
    assert_eq!((end.rows, end.truncated), expected);
    assert_eq!(basket.rows.len(), expected.0);
}

#[test]
fn says_exactly_whether_there_were_more_rows() {
    check(caps(3, 1000), None, 2, (2, false));
    check(caps(3, 1000), None, 3, (3, false));
    check(caps(3, 1000), None, 4, (3, true));
    check(caps(0, 1000), None, 0, (0, false));
    check(caps(0, 1000), None, 1, (0, true));
}

#[test]
fn stops_before_the_byte_cap_is_passed() {
    check(caps(10, 16), None, 2, (2, false));
    check(caps(10, 16), None, 3, (2, true));
    check(caps(10, 15), None, 3, (1, true));
}

#[test]
fn looks_one_row_past_a_sink_that_has_enough() {
    check(caps(10, 1000), Some(2), 2, (2, false));
    check(caps(10, 1000), Some(2), 3, (2, true));
}

#[test]
fn refuses_a_first_row_that_is_larger_than_everything() {
    let caps = caps(10, 7);
    let mut basket = CollectingSink::default();
    let error = Meter::new(&caps, &mut basket)
        .row(vec![Cell::Int(1)])
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    assert_eq!(
        error.message,
        "one row has 8 bytes, more than the limit of 7 bytes for a whole result"
    );
}

#[test]
fn cuts_long_cells_between_characters() {
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(clip(text("abcd"), 4), text("abcd"));
    assert_eq!(clip(text("abcde"), 4), text("abcd…"));
    assert_eq!(clip(text("a🦀b"), 4), text("a…"));
    assert_eq!(clip(text("a"), 0), text("…"));
    assert_eq!(clip(Cell::Bytes(vec![1, 2]), 2), Cell::Bytes(vec![1, 2]));
    assert_eq!(clip(Cell::Bytes(vec![1, 2, 3]), 2), text("\\x0102…"));
    assert_eq!(
        clip(Cell::Json(json!({"a": 1})), 7),
        Cell::Json(json!({"a": 1}))
    );
    assert_eq!(clip(Cell::Json(json!({"a": 1})), 3), text("{\"a…"));
    assert_eq!(
        clip(Cell::Decimal("12345".into()), 2),
        Cell::Decimal("12345".into())
    );
}
