//! Scores how well columns identify the rows of their tables.

use ktx_warehouse::Table;

use crate::facts::ColumnFacts;
use crate::names::entity::{ColumnName, KeyMark, TableName, entity_match};
use crate::names::lexicon::ATTRIBUTES;
use crate::profile::TableProfile;
use crate::types::TypeFamily;
use crate::weights as w;

pub(super) fn own_match(column: &ColumnName, table: &TableName) -> f64 {
    if column.is_bare_key() {
        return if column.mark == KeyMark::Strong {
            1.0
        } else {
            w::OWN_WEAK.get()
        };
    }
    let named = column
        .bases
        .iter()
        .map(|base| entity_match(base, &table.words).max(entity_match(base, &table.whole)))
        .fold(0.0, f64::max);
    if named >= w::OWN_NAME.get() {
        named
    } else {
        0.0
    }
}

/// Returns 0 if the values do not identify rows.
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
    if empty && (mark == KeyMark::None || column.own < w::OWN_NAME.get()) {
        return 0.0;
    }
    let mut strength: f64 = match (
        column.own >= w::OWN_NAME.get(),
        mark,
        column.name.telling && name.telling,
    ) {
        (true, KeyMark::Strong, _) => w::KEY_OF_NAME.get() + w::KEY_OF_LIKENESS.get() * column.own,
        (true, KeyMark::Weak, _) => {
            w::KEY_OF_WEAK_NAME.get() + w::KEY_OF_LIKENESS.get() * column.own
        }
        (true, KeyMark::None, true) => w::KEY_OF_ENTITY.get(),
        (_, KeyMark::Strong, _) => w::KEY_MARKED.get(),
        (_, KeyMark::Weak, _) => w::KEY_WEAK.get(),
        (_, KeyMark::None, true) => w::KEY_UNMARKED.get(),
        (_, KeyMark::None, false) => w::KEY_NAMELESS.get(),
    };
    if at == 0 {
        strength += w::KEY_FIRST.get();
    }
    if column.family != TypeFamily::Text {
        strength += w::KEY_NUMBER.get();
    } else if column.looks_identifying() {
        strength += w::KEY_CODE.get();
    }
    if column.name.measure {
        strength += w::KEY_MEASURE.get();
    }
    if let Some(most) = most_of(column) {
        strength = strength.min(most);
    }
    if column
        .profile
        .is_some_and(|profile| profile.uniqueness() < w::KEY_UNIQUE.get())
    {
        strength += w::KEY_DOUBLED.get();
    }
    strength.clamp(w::KEY_LEAST.get(), w::KEY_MOST.get())
}

/// Limits texts that are rather read than referenced.
fn most_of(column: &ColumnFacts<'_>) -> Option<f64> {
    let attribute = column
        .name
        .words
        .last()
        .is_some_and(|word| ATTRIBUTES.contains(&word.as_str()));
    let address = column
        .profile
        .is_some_and(|profile| profile.shape.is_address());
    let unmarked = column.name.mark == KeyMark::None && column.own < w::OWN_NAME.get();
    match (column.name.mark, attribute) {
        (KeyMark::None | KeyMark::Weak, true) => Some(if address {
            w::KEY_ADDRESS.get()
        } else {
            w::KEY_ATTRIBUTE.get()
        }),
        (KeyMark::None, false) if unmarked && address => Some(w::KEY_ADDRESS.get()),
        (KeyMark::None, false) if unmarked && column.is_worded() => Some(w::KEY_WORDS.get()),
        _ => None,
    }
}

/// Tolerates a few duplicates and nulls.
fn has_key_values(table: &Table, profile: Option<&TableProfile>, column: &ColumnFacts<'_>) -> bool {
    let Some(values) = column.profile else {
        return false;
    };
    if values.uniqueness() < w::KEY_REPEATS.get() || values.null_rate() > w::KEY_NULLS.get() {
        return false;
    }
    if profile.is_some_and(|profile| profile.rows_read < w::KEY_ROWS.count())
        && table.columns.len() > 1
        && column.own < w::OWN_NAME.get()
    {
        return false;
    }
    match column.family {
        TypeFamily::Integer => values.range.is_some(),
        TypeFamily::Text => {
            let short = |(short, long): (u64, u64)| short > 0 && long <= w::KEY_LONGEST.count();
            values.lengths.is_some_and(short)
        }
        _ => true,
    }
}
