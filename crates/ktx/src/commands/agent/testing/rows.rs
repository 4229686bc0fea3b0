//! Converts query results to comparable tables.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ktx_agent_eval::{Cell, Extent, Table};
use ktx_context_tools::{ResultWatcher, WatchedCall};
use serde_json::Value;

pub(super) fn table(columns: Vec<String>, rows: &[Vec<Value>], extent: Extent) -> Table {
    let rows = rows.iter();
    Table {
        columns,
        rows: rows.map(|row| row.iter().map(cell).collect()).collect(),
        extent,
    }
}

/// Decimals are JSON strings but count as numbers.
pub(super) fn cell(value: &Value) -> Cell {
    match value {
        Value::String(text) if is_decimal(text) => match (text.parse(), text.parse()) {
            (Ok(whole), _) => Cell::whole(whole),
            (_, Ok(number)) => Cell::Number(number),
            _ => Cell::text(text),
        },
        other => Cell::json(other),
    }
}

/// `007` is text.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    all_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(all_digits)
}

/// The rows of each session's last successful query. Calls are named `<session>/<call>`.
#[derive(Default)]
pub(super) struct QueryResults {
    by_session: Mutex<BTreeMap<String, Table>>,
}

impl QueryResults {
    pub(super) fn take(&self, session: &str) -> Option<Table> {
        let mut by_session = self
            .by_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        by_session.remove(session)
    }
}

impl ResultWatcher for QueryResults {
    fn result(&self, call: WatchedCall<'_>, whole: &Value) {
        if !matches!(call.tool, "sl_query" | "sql_execution") {
            return;
        }
        if let Some((session, _)) = call.call_id.split_once('/')
            && let Some(table) = answer(call, whole)
        {
            let mut by_session = self
                .by_session
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            by_session.insert(session.to_owned(), table);
        }
    }
}

/// An answer of `sl_query` with `limit` rows is complete.
fn answer(call: WatchedCall<'_>, whole: &Value) -> Option<Table> {
    let columns: Vec<String> = serde_json::from_value(whole.get("headers")?.clone()).ok()?;
    let rows: Vec<Vec<Value>> = serde_json::from_value(whole.get("rows")?.clone()).ok()?;
    let is_cut = whole.get("truncated")?.as_bool()?;
    let limit = call.arguments.get("limit").and_then(Value::as_u64);
    let as_asked = call.tool == "sl_query" && limit.map(usize::try_from) == Some(Ok(rows.len()));
    let extent = if is_cut && !as_asked {
        Extent::Truncated
    } else {
        Extent::Whole
    };
    Some(table(columns, &rows, extent))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Cell, cell};

    #[test]
    fn decimals_are_numbers_and_codes_are_texts() {
        let cells: Vec<Cell> = [
            "12.50",
            "-0.5",
            "9007199254740993",
            "007",
            "1e3",
            "12.",
            "2026-01-02",
        ]
        .into_iter()
        .map(|text| cell(&json!(text)))
        .collect();
        assert_eq!(
            cells,
            [
                Cell::Number(12.5),
                Cell::Number(-0.5),
                Cell::whole(9_007_199_254_740_993),
                Cell::text("007"),
                Cell::text("1e3"),
                Cell::text("12."),
                Cell::text("2026-01-02"),
            ]
        );
    }
}
