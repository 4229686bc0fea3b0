//! Scores how well columns identify the rows of their tables.

use ktx_warehouse::Table;

use crate::profile::TableProfile;
use crate::relationships::entity::{ColumnName, KeyMark, TableName, entity_match};
use crate::relationships::facts::{ColumnFacts, LONGEST};
use crate::relationships::lexicon::ATTRIBUTES;
use crate::types::TypeFamily;

/// Returns how well a column's name fits the key of its own table.
pub(super) fn own_match(column: &ColumnName, table: &TableName) -> f64 {
    if column.is_bare_key() {
        return if column.mark == KeyMark::Strong {
            1.0
        } else {
            0.85
        };
    }
    let named = column
        .bases
        .iter()
        .map(|base| entity_match(base, &table.words).max(entity_match(base, &table.whole)))
        .fold(0.0, f64::max);
    if named >= 0.7 { named } else { 0.0 }
}

/// Returns how well a column identifies rows; 0 if its values do not.
pub(super) fn key_strength(
    table: &Table,
    profile: Option<&TableProfile>,
    name: &TableName,
    column: &ColumnFacts<'_>,
    at: usize,
) -> f64 {
    if table.primary_key.as_slice() == [column.column.name.clone()] {
        return 1.0;
    }
    if !column.family.can_be_key() {
        return 0.0;
    }
    let empty = column.profile.is_none_or(|profile| profile.values == 0);
    if !empty && !has_key_values(table, profile, column) {
        return 0.0;
    }
    let mark = column.name.mark;
    if empty && (mark == KeyMark::None || column.own < 0.7) {
        return 0.0;
    }
    let mut strength: f64 = match (column.own >= 0.7, mark, column.name.telling && name.telling) {
        (true, KeyMark::Strong, _) => 0.75 + 0.2 * column.own,
        (true, KeyMark::Weak, _) => 0.55 + 0.2 * column.own,
        (true, KeyMark::None, true) => 0.55,
        (_, KeyMark::Strong, _) => 0.6,
        (_, KeyMark::Weak, _) => 0.5,
        (_, KeyMark::None, true) => 0.35,
        (_, KeyMark::None, false) => 0.6,
    };
    if at == 0 {
        strength += 0.12;
    }
    if column.family != TypeFamily::Text {
        strength += 0.04;
    } else if column.looks_identifying() {
        strength += 0.03;
    }
    if column.name.measure {
        strength -= 0.4;
    }
    if let Some(most) = most_of(column) {
        strength = strength.min(most);
    }
    if column
        .profile
        .is_some_and(|profile| profile.uniqueness() < 0.9995)
    {
        strength -= 0.1;
    }
    strength.clamp(0.05, 0.99)
}

/// Returns the upper limit of the key score for texts that are rather read than referenced.
fn most_of(column: &ColumnFacts<'_>) -> Option<f64> {
    let attribute = column
        .name
        .words
        .last()
        .is_some_and(|word| ATTRIBUTES.contains(&word.as_str()));
    let address = column
        .profile
        .is_some_and(|profile| profile.shape.is_address());
    let unmarked = column.name.mark == KeyMark::None && column.own < 0.7;
    match (column.name.mark, attribute) {
        (KeyMark::None | KeyMark::Weak, true) => Some(if address { 0.28 } else { 0.2 }),
        (KeyMark::None, false) if unmarked && address => Some(0.28),
        (KeyMark::None, false) if unmarked && column.is_worded() => Some(0.15),
        _ => None,
    }
}

/// Returns whether the values are unique; tolerates a few duplicates and nulls as dirty data.
fn has_key_values(table: &Table, profile: Option<&TableProfile>, column: &ColumnFacts<'_>) -> bool {
    let Some(values) = column.profile else {
        return false;
    };
    if values.uniqueness() < 0.98 || values.null_rate() > 0.05 {
        return false;
    }
    if profile.is_some_and(|profile| profile.rows_read < 2)
        && table.columns.len() > 1
        && column.own < 0.7
    {
        return false;
    }
    match column.family {
        TypeFamily::Integer => values.range.is_some(),
        TypeFamily::Text => {
            let short = |(short, long): (u64, u64)| short > 0 && long <= LONGEST;
            values.lengths.is_some_and(short)
        }
        _ => true,
    }
}
