//! Columns of groups that number the rows of their own table inside each value of another column, as where
//! each tenant counts its own orders.

use crate::relationships::composite::ORDINALS;
use crate::relationships::entity::KeyMark;
use crate::relationships::facts::{At, Facts};

/// Different numbers from which they are neither months nor lines.
const INNER: u64 = 60;
/// How alike a column and a key are where the column names the part a row of that table plays.
const ROLE: f64 = 0.85;
/// The likeness of a name from which a column is called like its table.
pub(super) const OWN: f64 = 0.7;

/// Whether both columns only number the rows of their own tables: that they are called alike, `id` and `id`,
/// says nothing.
pub(super) fn numbers_own_rows(facts: &Facts<'_>, child: At, key: At) -> bool {
    let (Some(left), Some(right)) = (facts.column(child), facts.column(key)) else {
        return false;
    };
    if child.table == key.table {
        return child == key && right.own >= OWN;
    }
    let names = |at: At| {
        facts
            .table(at.table)
            .map(|table| table.name.words.as_slice())
    };
    let extends = match (names(child), names(key)) {
        (Some(own), Some(other)) => own.len() > other.len() && own.starts_with(other),
        _ => false,
    };
    left.name.is_bare_key() && right.name.is_bare_key() && !extends
}

/// How well a column names the part that a row of the key's table plays: `manager_id` beside `tenant_id`.
pub(super) fn role_likeness(facts: &Facts<'_>, child: At, key: At) -> f64 {
    let (Some(left), Some(right), Some(to)) = (
        facts.column(child),
        facts.column(key),
        facts.table(key.table),
    ) else {
        return 0.0;
    };
    let same = child.table == key.table && left.name.has_self_role();
    let person = to.people && left.part;
    if right.own >= OWN && child != key && (same || person) {
        ROLE
    } else {
        0.0
    }
}

/// Whether a group holds many numbers of its own: no key of another table, no part of the calendar, no line.
pub(super) fn has_inner_number(facts: &Facts<'_>, (table, columns): &(usize, Vec<usize>)) -> bool {
    let inner = |column: &usize| {
        let at = At {
            table: *table,
            column: *column,
        };
        facts.column(at).is_some_and(|column| {
            let counted = column.name.measure
                || column
                    .name
                    .words
                    .iter()
                    .any(|word| ORDINALS.contains(&word.as_str()));
            let many = column
                .profile
                .is_some_and(|profile| profile.distinct >= INNER);
            many && !counted && column.name.mark != KeyMark::Strong
        })
    };
    columns.iter().any(inner)
}

/// Whether a group holds a column by which its table numbers its own rows, so that others mean this table by
/// it, however many of the possible groups exist.
pub(super) fn has_own_column(facts: &Facts<'_>, (table, columns): &(usize, Vec<usize>)) -> bool {
    let own = |column: &usize| {
        let at = At {
            table: *table,
            column: *column,
        };
        facts.column(at).is_some_and(|column| column.own >= OWN)
    };
    columns.iter().any(own)
}
