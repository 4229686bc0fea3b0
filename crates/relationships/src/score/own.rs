//! Recognizes columns that count, number or describe rows of their own table.

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

/// Most tables have such a column: `etl_batch_id` says how a row arrived. Authors and owners are
/// not technical.
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

pub(super) fn is_amount(pair: &Pair<'_>, name: f64) -> bool {
    pair.child.family == TypeFamily::Float && name < w::VAGUE.get()
}

/// `customers.stores` is a count.
pub(super) fn counts_rows(pair: &Pair<'_>, fit: Option<Fit>) -> bool {
    is_count(pair.child) && fit.is_some_and(|fit| fit.span < w::COUNT_SPAN.get())
}

/// Returns whether the name is a plural without a key word or role.
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

/// A date refers only to a list of days, unless past joins or the name support the link.
pub(super) fn may_be_day(pair: &Pair<'_>, own_primary: bool, name: f64) -> bool {
    let same_layer = pair.from.name.layer == pair.to.name.layer;
    let listed = pair.parent.lists_days() && !pair.child.lists_days() && same_layer;
    listed || pair.is_backed() || (name >= w::NAMED.get() && !own_primary)
}

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
        // Then the other table is rather the one that refers.
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
        // Each column numbers its own rows.
        return true;
    }
    let without_gaps =
        |column: &ColumnFacts<'_>| column.profile.is_some_and(ColumnProfile::is_dense);
    if own_primary && unique && !pair.child.name.telling && name < w::VAGUE.get() {
        // Numbers without gaps count their own rows.
        return without_gaps(pair.child) && without_gaps(pair.parent);
    }
    if !own_primary {
        // A second key does not have another table's name.
        return named && unique && name < w::VAGUE.get();
    }
    if shares_key(pair) {
        return false;
    }
    // A common key name is not evidence.
    let common = numbered && pair.parent.own < w::OWN_NAME.get();
    common || (named && (numbered || pair.child.own >= name || names_same_entity(pair)))
}

/// Unlike a copy, a log repeats no column but the key.
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

/// Each table can count its own rows.
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
        // An extending row cannot exist without the other.
        contained.distinct < w::OWN_COUNT.get()
            || surprise(pair, &contained).is_some_and(|nats| nats < w::UNLIKELY.get())
    })
}
