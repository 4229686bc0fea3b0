//! Recognizes columns that count, number or describe rows of their own table and so refer to no other.

use crate::facts::fit::Fit;
use crate::facts::{ColumnFacts, TableFacts};
use crate::names::entity::{Copy, KeyMark, entity_match};
use crate::profile::ColumnProfile;
use crate::profile::sketch::{Containment, ratio};
use crate::score::Pair;
use crate::score::chance::surprise;
use crate::score::shared_key::shares_key;
use crate::types::TypeFamily;
use crate::weights as w;

/// Returns whether nearly every table has the column, including the parent's: `etl_batch_id` says
/// how a row arrived, even if there is a table of other batches. Columns for a row's author or
/// owner are just as common.
pub(super) fn is_technical(pair: &Pair<'_>) -> bool {
    let name = &pair.child.name;
    let own_role = name.has_self_role() || pair.child.part;
    let same = |table: &TableFacts<'_>| {
        let mut columns = table.columns.iter();
        columns.any(|column| column.name.words == name.words && column.own < 1.0)
    };
    let longer = name.base().len() > pair.parent.name.base().len().max(pair.to.name.words.len());
    if own_role || !longer || !same(pair.to) {
        return false;
    }
    let tables = &pair.facts.tables;
    let having = tables.iter().filter(|table| same(table)).count();
    having >= w::TECHNICAL_TABLES.size()
        && w::share(having, tables.len()) >= w::TECHNICAL_SHARE.get()
}

/// Returns whether a column of fractional numbers has no name that tells a reference: such numbers measure.
pub(super) fn is_amount(pair: &Pair<'_>, name: f64) -> bool {
    pair.child.family == TypeFamily::Float && name < w::VAGUE.get()
}

/// Returns whether an integer column has a plural name, no key word and does not span the keys:
/// `customers.stores` is a count.
pub(super) fn counts_rows(pair: &Pair<'_>, fit: Option<Fit>) -> bool {
    is_count(pair.child) && fit.is_some_and(|fit| fit.span < w::COUNT_SPAN.get())
}

/// Returns whether a column has a plural name without a key word, and names no role.
pub(crate) fn is_count(column: &ColumnFacts<'_>) -> bool {
    let plural = |word: &String| {
        let singular = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
        word.len() >= w::COUNT_LETTERS.size() && word.ends_with('s') && !singular
    };
    let name = &column.name;
    name.mark == KeyMark::None
        && !(name.has_self_role() || column.part)
        && name.words.last().is_some_and(plural)
}

/// Returns whether a date column may be a reference: to a list of days, or because its name and
/// place say so.
pub(super) fn may_be_day(pair: &Pair<'_>, own_primary: bool, name: f64) -> bool {
    let same_layer = pair.from.name.layer == pair.to.name.layer;
    let listed = pair.parent.lists_days() && !pair.child.lists_days() && same_layer;
    listed || pair.is_backed() || (name >= w::NAMED.get() && !own_primary)
}

/// Returns whether the child numbers the rows of its own table and so refers to nothing.
pub(super) fn is_own_number(pair: &Pair<'_>, own_primary: bool, name: f64) -> bool {
    let named = pair.child.own >= w::OWN_NAME.get();
    if (pair.from.name.satellite && !pair.to.name.satellite) || is_log_of(pair) {
        return false;
    }
    if pair.is_backed() {
        return own_primary && named && (pair.child.own >= name || names_same_entity(pair));
    }
    let unique = pair
        .child
        .profile
        .is_some_and(|child| child.values > 2 && child.uniqueness() >= w::ONE_EACH.get());
    let distinct = |column: &ColumnFacts<'_>| column.profile.map_or(0, |profile| profile.distinct);
    let (own, other) = (distinct(pair.child), distinct(pair.parent));
    if own_primary && unique && own > other {
        // If the other table lacks some of its keys, that table is rather the one that refers.
        return true;
    }
    if pair.is_self && unique && (other == 0 || ratio(own, other) >= w::SECOND_NUMBER.get()) {
        // A second number of the same rows.
        return true;
    }
    let layers = (pair.from.name.layer, pair.to.name.layer);
    let same_column = pair.child.name.words == pair.parent.name.words;
    let attribute = !pair.is_primary && same_column && names_same_entity(pair);
    if layers.0 != layers.1
        && (attribute || (named && unique && pair.parent.own >= w::OWN_NAME.get()))
    {
        // The same rows, carried from layer to layer.
        return true;
    }
    let dense =
        |column: &ColumnFacts<'_>| column.profile.is_some_and(ColumnProfile::is_dense_from_one);
    let numbered = dense(pair.child) && dense(pair.parent);
    if numbered && unique && !pair.is_primary && pair.parent.own < w::OWN_NAME.get() {
        // Each column numbers its own rows, next to their keys.
        return true;
    }
    let without_gaps =
        |column: &ColumnFacts<'_>| column.profile.is_some_and(ColumnProfile::is_dense);
    if own_primary && unique && !pair.child.name.telling && name < w::VAGUE.get() {
        // Numbers without gaps that begin anywhere count their own rows.
        return without_gaps(pair.child) && without_gaps(pair.parent);
    }
    if !own_primary {
        // A second key of the own entity, next to a surrogate, does not have another table's name.
        return named && unique && name < w::VAGUE.get();
    }
    if shares_key(pair) {
        return false;
    }
    // If each table counts its own rows, a name that many tables give their keys is not evidence.
    let common = numbered && pair.parent.own < w::OWN_NAME.get();
    common || (named && (numbered || pair.child.own >= name || names_same_entity(pair)))
}

/// Returns whether the child's table logs rows of the parent's: its name says history or similar,
/// and it repeats none of their columns except the key. Then it is not a copy.
fn is_log_of(pair: &Pair<'_>) -> bool {
    let (own, other) = (&pair.from.name, &pair.to.name);
    let named = !pair.child.name.is_bare_key() && pair.is_primary && names_same_entity(pair);
    let has = |name: &str| {
        let mut columns = pair.to.columns.iter();
        columns.any(|column| column.column.name.eq_ignore_ascii_case(name))
    };
    let shares = pair.from.columns.iter().any(|column| {
        column.column.name != pair.child.column.name
            && !column.name.is_bare_key()
            && has(&column.column.name)
    });
    own.copy == Copy::Copy && other.copy == Copy::Original && named && !shares
}

fn names_same_entity(pair: &Pair<'_>) -> bool {
    entity_match(&pair.from.name.words, &pair.to.name.words) >= w::SAME_ENTITY.get()
}

/// Returns whether the key of a table that extends another's name may match by coincidence, because
/// each table counts its own rows.
pub(super) fn may_be_own_count(
    pair: &Pair<'_>,
    probed: Option<Containment>,
    ignored: &[u64],
) -> bool {
    let (Some(child), Some(parent)) = (pair.child.profile, pair.parent.profile) else {
        return false;
    };
    let contained = probed.or_else(|| child.sketch.containment_in(&parent.sketch, ignored));
    contained.is_some_and(|contained| {
        // A row that extends another cannot exist without it.
        contained.distinct < w::OWN_COUNT.get()
            || surprise(pair, &contained).is_some_and(|nats| nats < w::UNLIKELY.get())
    })
}
