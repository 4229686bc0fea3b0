//! Evaluates the rows of a self-test.

use ktx_warehouse::Cell;

use super::{Expectation, SelfTest, SelfTestKind};

/// Maximum relative difference of two real sums.
const ROUNDING: f64 = 1e-9;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Warned(String),
    Failed(String),
    /// The rows do not answer the test.
    Unclear(String),
}

pub fn judge(test: &SelfTest, rows: &[Vec<Cell>]) -> Verdict {
    let [row] = rows else {
        return Verdict::Unclear(format!("{} rows instead of one", rows.len()));
    };
    match (test.expectation, row.as_slice()) {
        (Expectation::Zero | Expectation::ZeroOrWarning, [cell]) => zero(test, cell),
        (Expectation::SameTotals, [groups, total]) => same(groups, total),
        (_, cells) => Verdict::Unclear(format!("a row of {} cells", cells.len())),
    }
}

fn number(cell: &Cell) -> Option<(String, f64)> {
    let text = match cell {
        Cell::Null => "0".to_owned(),
        Cell::Int(_) | Cell::UInt(_) | Cell::Float(_) | Cell::Decimal(_) | Cell::Text(_) => {
            cell.to_text()?
        }
        _ => return None,
    };
    let value = text.trim().parse::<f64>().ok()?;
    Some((text, value))
}

fn unreadable(cell: &Cell) -> Verdict {
    let text = cell.to_text().unwrap_or_else(|| "NULL".to_owned());
    Verdict::Unclear(format!("`{text}` is not a number"))
}

fn zero(test: &SelfTest, cell: &Cell) -> Verdict {
    let Some((text, count)) = number(cell) else {
        return unreadable(cell);
    };
    if count.abs() < 0.5 {
        return Verdict::Passed;
    }
    let message = match test.kind {
        SelfTestKind::JoinKeysPresent => format!("{text} rows have no key"),
        _ => format!("{text} keys have more than one row"),
    };
    match test.expectation {
        Expectation::ZeroOrWarning => Verdict::Warned(message),
        _ => Verdict::Failed(message),
    }
}

fn same(groups: &Cell, total: &Cell) -> Verdict {
    let Some((group_text, group_sum)) = number(groups) else {
        return unreadable(groups);
    };
    let Some((total_text, whole)) = number(total) else {
        return unreadable(total);
    };
    let apart = (group_sum - whole).abs();
    if group_text == total_text || apart <= ROUNDING * group_sum.abs().max(whole.abs()) {
        Verdict::Passed
    } else {
        Verdict::Failed(format!(
            "the groups add up to {group_text}, the total is {total_text}"
        ))
    }
}
