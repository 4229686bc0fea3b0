//! Columns that number rows within another column, such as orders per tenant.

use crate::composite::ORDINALS;
use crate::facts::Facts;
use crate::links::link::Endpoint;
use crate::names::entity::KeyMark;
use crate::types::ColumnId;
use crate::weights as w;

/// Then a shared name such as `id` is not evidence.
pub(super) fn numbers_own_rows(facts: &Facts<'_>, child: ColumnId, key: ColumnId) -> bool {
    let (Some(left), Some(right)) = (facts.column(child), facts.column(key)) else {
        return false;
    };
    if child.table == key.table {
        return child == key && right.own >= w::OWN_NAME.get();
    }
    let names = |at: ColumnId| {
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

/// Such as `manager_id` beside `tenant_id`.
pub(super) fn role_likeness(facts: &Facts<'_>, child: ColumnId, key: ColumnId) -> f64 {
    let (Some(left), Some(right), Some(to)) = (
        facts.column(child),
        facts.column(key),
        facts.table(key.table),
    ) else {
        return 0.0;
    };
    let same = child.table == key.table && left.name.has_self_role();
    let person = to.people && left.part;
    if right.own >= w::OWN_NAME.get() && child != key && (same || person) {
        w::GROUP_ROLE.get()
    } else {
        0.0
    }
}

pub(super) fn has_inner_number(facts: &Facts<'_>, (table, columns): &(usize, Vec<usize>)) -> bool {
    let inner = |column: &usize| {
        let at = ColumnId {
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
                .is_some_and(|profile| profile.distinct >= w::GROUP_INNER.count());
            many && !counted && column.name.mark != KeyMark::Strong
        })
    };
    columns.iter().any(inner)
}

/// Others mean this table by such a column.
pub(super) fn has_own_column(facts: &Facts<'_>, (table, columns): &(usize, Vec<usize>)) -> bool {
    let own = |column: &usize| {
        let at = ColumnId {
            table: *table,
            column: *column,
        };
        facts
            .column(at)
            .is_some_and(|column| column.own >= w::OWN_NAME.get())
    };
    columns.iter().any(own)
}

/// Then the rows are not parts of others.
pub(crate) fn names_own_rows(facts: &Facts<'_>, side: &Endpoint, group: &str) -> bool {
    let table = facts
        .tables
        .iter()
        .find(|table| table.table.table == side.table);
    let mut columns = table.into_iter().flat_map(|table| &table.columns);
    columns.any(|column| {
        let mut words = column.name.words.iter();
        side.columns.contains(&column.column.name)
            && column.column.name != group
            && column.own >= w::OWN_NAME.get()
            && !words.any(|word| ORDINALS.contains(&word.as_str()))
    })
}
