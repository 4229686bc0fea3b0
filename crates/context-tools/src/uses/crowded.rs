//! Notes that members without facts displace rows of a cut answer.

use ktx_semantic_layer::{EmptyMembers, Query};
use ktx_warehouse::{Cell, QueryResult};

use crate::reader::Reader;

/// Returns `None` for a query with its own limit, or one that asks for such rows.
pub(super) fn crowded_note(query: &Query, result: &QueryResult, reader: Reader) -> Option<String> {
    let measures = query.measures.len();
    let is_asked = query.limit.is_some() || query.empty_members != EmptyMembers::UnlessRanked;
    if is_asked || !result.truncated || measures == 0 {
        return None;
    }
    let is_empty = |row: &&Vec<Cell>| row.iter().rev().take(measures).all(is_nothing);
    let empty = result.rows.iter().filter(is_empty).count();
    let way = match reader {
        Reader::Person => "`--include-empty false`",
        Reader::Agent => "`include_empty: false`",
    };
    (empty > 0).then(|| {
        format!(
            "{empty} of these {} rows are members without facts, and rows with facts are missing; {way} leaves the \
             members out",
            result.rows.len()
        )
    })
}

fn is_nothing(cell: &Cell) -> bool {
    matches!(cell, Cell::Null | Cell::Int(0) | Cell::UInt(0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn note(query: &serde_json::Value, result: &QueryResult) -> Option<String> {
        let query = Query::from_value(query).expect("a query");
        crowded_note(&query, result, Reader::Person)
    }

    #[test]
    fn only_an_answer_that_the_usual_limit_cuts_is_crowded() {
        let row = |name: &str, value: Cell| vec![Cell::Text(name.to_owned()), value];
        let cut = QueryResult {
            columns: Vec::new(),
            rows: vec![
                row("a", Cell::Null),
                row("b", Cell::Int(0)),
                row("c", Cell::Int(4)),
            ],
            truncated: true,
        };
        let query = json!({ "measures": ["count(orders.*)"], "dimensions": ["customers.name"] });
        assert_eq!(
            note(&query, &cut).as_deref(),
            Some(
                "2 of these 3 rows are members without facts, and rows with facts are missing; \
                 `--include-empty false` leaves the members out"
            )
        );
        for (key, value) in [("include_empty", json!(true)), ("limit", json!(3))] {
            let mut asked = query.clone();
            asked[key] = value;
            assert_eq!(note(&asked, &cut), None, "{key}");
        }
        let whole = QueryResult {
            truncated: false,
            ..cut
        };
        assert_eq!(note(&query, &whole), None);
    }
}
