//! Scores how names support a link.

use crate::facts::{ColumnFacts, Facts, TableFacts};
use crate::names::entity::{Copy, KeyMark, entity_match, is_doer_of, led_match};
use crate::names::lexicon::{ATTRIBUTES, LISTING_TAILS, MEASURES, SELF_ROLES};
use crate::profile::ColumnProfile;
use crate::score::Pair;
use crate::score::shared_key::shares_key;
use crate::types::ColumnId;
use crate::weights as w;

/// Any table can give its key such a name.
const PLAIN_KEYS: &[&str] = &[
    "id", "key", "pk", "uuid", "guid", "code", "no", "nr", "number", "num",
];

pub(super) struct NameEvidence {
    pub(super) score: f64,
    pub(super) odds: f64,
    pub(super) reason: String,
}

pub(super) fn name_evidence(pair: &Pair<'_>, own_primary: bool) -> NameEvidence {
    let child = &pair.child.name;
    let elsewhere = share_meant(pair);
    let table = by_table(pair) * elsewhere;
    let equal = by_column(pair) * elsewhere;
    let qualified = by_table_and_column(pair) * elsewhere;
    let extension = if own_primary && child.is_bare_key() {
        by_extension(pair)
    } else {
        0.0
    };
    let person = by_part(pair);
    let own_role = by_own_role(pair);
    let context = by_context(pair);
    let score = [
        table, equal, qualified, extension, person, own_role, context,
    ]
    .into_iter()
    .fold(0.0, f64::max);
    let both = table.min(equal.max(qualified));
    let mut odds = if score >= w::VAGUE.get() {
        (score - w::VAGUE.get()) * w::NAME_SLOPE.get() + w::NAME_TWICE.get() * both
    } else {
        unnamed(pair)
    };
    odds += match child.mark {
        KeyMark::Strong => w::MARK_STRONG.get(),
        KeyMark::Weak => w::MARK_WEAK.get(),
        KeyMark::None => 0.0,
    };
    if child.measure {
        odds += if score >= w::CLEARLY_NAMED.get() {
            w::MEASURE_NAMED.get()
        } else {
            w::MEASURE.get()
        };
    }
    let reason = if score >= w::VAGUE.get() {
        let kind = if context >= score {
            "the column and its own table name the other table"
        } else if table >= score {
            "the column names the table"
        } else if equal >= score {
            "the column is called like the key"
        } else if qualified >= score {
            "the column is called like the table and its key"
        } else if extension >= score {
            "the table extends the other"
        } else if person >= score {
            "the column names a person's part and the table holds people"
        } else {
            "the column names a row of its own table"
        };
        format!("{kind} ({score:.2})")
    } else {
        "the names have nothing in common".to_owned()
    };
    NameEvidence {
        score,
        odds,
        reason,
    }
}

/// Lower for another module or another key.
fn share_meant(pair: &Pair<'_>) -> f64 {
    let mut keys = pair.to.columns.iter();
    let told = keys.any(|key| names_second_key(pair, key));
    if told && !names_second_key(pair, pair.parent) {
        w::SECOND_KEY_MEANT.get()
    } else if names_other_namespace(pair) {
        w::MODULE_MEANT.get()
    } else {
        1.0
    }
}

/// Higher if no other table holds people.
fn by_part(pair: &Pair<'_>) -> f64 {
    let meant = pair.child.part && pair.to.people && pair.is_primary;
    match pair.facts.people(pair.to.name.layer) {
        1 if meant => w::PERSON.get(),
        _ if meant => w::PERSONS.get(),
        _ => 0.0,
    }
}

pub(super) fn calls_other(facts: &Facts<'_>, child: ColumnId) -> bool {
    let Some(column) = facts
        .column(child)
        .filter(|child| child.name.has_self_role())
    else {
        return false;
    };
    // The name of a table follows its namespace.
    let behind = column.name.bases.iter().filter_map(|base| {
        let (first, rest) = base.split_first()?;
        (!rest.is_empty() && facts.namespaces.contains(first)).then(|| rest.to_vec())
    });
    let bases: Vec<Vec<String>> = column.name.bases.iter().cloned().chain(behind).collect();
    facts.tables.iter().enumerate().any(|(at, table)| {
        let words = &table.name.words;
        let same = |base: &Vec<String>| {
            base == words
                || (!is_short_role(base)
                    && base.len() == words.len()
                    && entity_match(base, words) >= w::SAME_ENTITY.get())
        };
        at != child.table && table.primary.is_some() && bases.iter().any(same)
    })
}

/// If the table holds people, such a word is a person's role.
fn by_own_role(pair: &Pair<'_>) -> f64 {
    let child = &pair.child.name;
    let (own, other) = (&pair.from.name.words, &pair.to.name.words);
    let lists = pair.from.primary.is_none() && own.len() > other.len() && own.starts_with(other);
    let about = pair.is_self || lists;
    if !(child.has_self_role() && about && pair.is_primary) || child.measure {
        return 0.0;
    }
    if pair.calls_other {
        return 0.0;
    }
    let people = pair.from.people || pair.from.name.holds_a_trade();
    if child.has_person_role() && !people {
        w::OTHER_ROLE.get()
    } else {
        w::OWN_ROLE.get()
    }
}

/// Such as `order.status` and `order_status`.
fn by_context(pair: &Pair<'_>) -> f64 {
    let base = pair.child.name.base();
    let other = &pair.to.name.words;
    if base.is_empty() || !pair.is_primary || pair.is_self || other.len() <= base.len() {
        return 0.0;
    }
    let whole = [pair.from.name.words.as_slice(), base].concat();
    let likeness = if whole.len() == other.len() {
        entity_match(&whole, other)
    } else {
        0.0
    };
    if likeness >= w::IN_CONTEXT.get() {
        likeness
    } else {
        0.0
    }
}

fn unnamed(pair: &Pair<'_>) -> f64 {
    let child = &pair.child.name;
    if !child.telling || (!pair.to.name.telling && !pair.parent.name.telling) {
        return 0.0;
    }
    match child.mark {
        KeyMark::Strong => w::UNNAMED_STRONG.get(),
        KeyMark::Weak => w::UNNAMED_WEAK.get(),
        KeyMark::None if pair.child.looks_identifying() => w::UNNAMED_CODE.get(),
        KeyMark::None => w::UNNAMED.get(),
    }
}

fn match_in(pair: &Pair<'_>, base: &[String], words: &[String]) -> f64 {
    let plain = entity_match(base, words);
    if pair.child.name.led || follows_its_entity(pair, base, words) {
        plain.max(led_match(base, words))
    } else {
        plain
    }
}

/// Returns whether a role may follow the entity in a name without a key word: the table's key has its key word first,
/// as `id_sucursal`, so that `sucursal_recogida` is a branch, and no table is called by the role.
fn follows_its_entity(pair: &Pair<'_>, base: &[String], words: &[String]) -> bool {
    let role = base.get(words.len()..).unwrap_or_default();
    let named =
        |table: &TableFacts<'_>| entity_match(role, &table.name.words) >= w::SAME_ENTITY.get();
    pair.child.name.mark == KeyMark::None
        && pair.parent.name.begins_with_its_mark()
        && !role.is_empty()
        && !pair.facts.tables.iter().any(named)
}

/// Returns the words after the namespace of the referenced table: `crm_contact` is the `contact` of
/// `crm`.
fn own_words<'b>(pair: &Pair<'_>, base: &'b [String]) -> &'b [String] {
    match (place_of_namespace(pair, base), &pair.to.name.namespace) {
        (Some(at), Some(namespace)) if base.get(at) == Some(namespace) => {
            base.get(at + 1..).unwrap_or(base)
        }
        _ => base,
    }
}

fn place_of_namespace(pair: &Pair<'_>, base: &[String]) -> Option<usize> {
    let (_, before) = base.split_last()?;
    before
        .iter()
        .rposition(|word| pair.facts.namespaces.contains(word))
}

fn names_other_namespace(pair: &Pair<'_>) -> bool {
    let Some(namespace) = &pair.to.name.namespace else {
        return false;
    };
    let bases = &pair.child.name.bases;
    // `sales_order_id` names a table `sales_order` in any module.
    if bases.contains(&pair.to.name.words) {
        return false;
    }
    let mut named = bases
        .iter()
        .filter_map(|base| base.get(place_of_namespace(pair, base)?))
        .peekable();
    named.peek().is_some() && named.all(|word| word != namespace)
}

fn by_table(pair: &Pair<'_>) -> f64 {
    let words = &pair.to.name.words;
    let named = pair
        .child
        .name
        .bases
        .iter()
        .filter(|base| !is_other_role(pair, base) && !does(base, words))
        .map(|base| {
            let matched = |base: &[String]| match_in(pair, base, words);
            matched(base).max(matched(own_words(pair, base)))
        })
        .fold(names_copy(pair), f64::max);
    if names_second_key(pair, pair.parent) {
        return named.max(w::CALLED_SECOND.get());
    }
    if pair.is_primary {
        return named;
    }
    // A table's name means its second key only if that is a number or code of the entity.
    let code = pair.parent.name.mark != KeyMark::None && pair.parent.own >= w::OWN_NAME.get();
    named
        * if code {
            w::CODE_OF_NAME.get()
        } else {
            w::SECOND_OF_NAME.get()
        }
}

/// `legacy_account_id` means the `legacy_id` of an `account`.
fn names_second_key(pair: &Pair<'_>, key: &ColumnFacts<'_>) -> bool {
    let own = key.name.base();
    let named = |base: &Vec<String>| {
        let rest: Vec<String> = base
            .iter()
            .filter(|word| !own.contains(word))
            .cloned()
            .collect();
        base.len() == own.len() + rest.len()
            && entity_match(&rest, &pair.to.name.words) >= w::SECOND_NAME.get()
    };
    !own.is_empty()
        && key.own < w::OWN_NAME.get()
        && key.key > 0.0
        && key.name.mark != KeyMark::None
        && pair.child.name.bases.iter().any(named)
}

fn does(base: &[String], table: &[String]) -> bool {
    match (base.last(), table.last()) {
        (Some(word), Some(deed)) => is_doer_of(word, deed),
        _ => false,
    }
}

/// `cod_pai` is a row's parent, not a row of `pais`.
fn is_other_role(pair: &Pair<'_>, base: &[String]) -> bool {
    is_short_role(base) && pair.to.name.words != base
}

fn is_short_role(base: &[String]) -> bool {
    matches!(base, [word] if word.len() < w::SHORT_ROLE.size() && SELF_ROLES.contains(&word.as_str()))
}

/// `order_audit_id` means `order_audit`, which looks like a copy of `order`.
pub(super) fn names_copy(pair: &Pair<'_>) -> f64 {
    let name = &pair.to.name;
    if name.copy == Copy::Original || name.whole.len() <= name.words.len() {
        return 0.0;
    }
    let bases = pair.child.name.bases.iter();
    let named = |base: &Vec<String>| {
        let behind =
            base.len() == name.whole.len() || base.len() + name.words.len() == name.whole.len();
        if behind {
            entity_match(base, &name.whole)
        } else {
            0.0
        }
    };
    bases.map(named).fold(0.0, f64::max)
}

fn by_column(pair: &Pair<'_>) -> f64 {
    let (child, parent) = (&pair.child.name, &pair.parent.name);
    if shares_key(pair) {
        return 1.0;
    }
    if is_sole_namesake(pair) {
        return w::SOLE_NAMESAKE.get();
    }
    if parent.is_bare_key() && parent.bases.len() == 1 || !parent.telling {
        return 0.0;
    }
    let marked = child.mark != KeyMark::None && parent.mark != KeyMark::None;
    let glued = pair.child.column.name.len() >= w::GLUED_NAME.size()
        && child.words == parent.words
        && pair.is_primary;
    let mut best = 0.0_f64;
    let meant = |base: &&Vec<String>| !base.is_empty() && !is_other_role(pair, base);
    for left in child.bases.iter().filter(meant) {
        for right in parent.bases.iter().filter(|base| !base.is_empty()) {
            let likeness = if left == right {
                1.0
            } else {
                match_in(pair, left, right)
            };
            // Truncated differently, as `prod` and `prodgrp`.
            let weight = match left.len().checked_sub(right.len()) {
                None => 0.0,
                Some(from)
                    if same_words(left.get(from..), right)
                        || same_words(left.get(..right.len()), right) =>
                {
                    1.0
                }
                Some(_) => w::TRUNCATED.get(),
            };
            best = best.max(likeness * weight);
        }
    }
    let trust = if pair.parent.own >= w::OWN_NAME.get() {
        1.0
    } else if marked || glued {
        w::SAME_MARKED.get()
    } else if pair.is_primary && best >= w::SAME_ENTITY.get() && is_whole_key(pair) {
        // Numbers without gaps need other evidence as well.
        let dense = pair
            .parent
            .profile
            .is_some_and(ColumnProfile::is_dense_from_one);
        if dense {
            w::SAME_DENSE.get()
        } else {
            w::SAME_WHOLE.get()
        }
    } else if pair.child.looks_identifying() {
        w::SAME_CODE.get()
    } else {
        w::SAME_PLAIN.get()
    };
    best * trust
}

/// Such as `pid` of `paper`, but never `id`.
fn is_sole_namesake(pair: &Pair<'_>) -> bool {
    let (child, parent) = (&pair.child.name, &pair.parent.name);
    let is_plain = |word: &String| PLAIN_KEYS.contains(&word.as_str());
    let attribute = |word: &String| ATTRIBUTES.contains(&word.as_str());
    pair.is_primary
        && !pair.is_self
        && child.words == parent.words
        && !(child.words.iter().all(is_plain) || child.words.last().is_some_and(attribute))
        && !child.measure
        && pair
            .from
            .primary
            .and_then(|at| pair.from.columns.get(at))
            .is_none_or(|own| own.name.words != child.words)
        && pair.facts.keys_called(&child.words, pair.to.name.layer) == 1
}

/// Except attributes and measures.
fn is_whole_key(pair: &Pair<'_>) -> bool {
    let (child, parent) = (pair.child.name.base(), pair.parent.name.base());
    let plain = |word: &String| {
        ![ATTRIBUTES, MEASURES, LISTING_TAILS]
            .iter()
            .any(|list| list.contains(&word.as_str()))
    };
    let repeats = pair
        .child
        .profile
        .is_some_and(|profile| profile.uniqueness() < w::KEY_REPEATS.get());
    let plain = child.iter().any(plain) && !pair.child.name.measure;
    child.len() == parent.len() && plain && repeats
}

fn same_words(left: Option<&[String]>, right: &[String]) -> bool {
    left.is_some_and(|left| {
        left.iter().zip(right).all(|(left, right)| {
            crate::names::words::word_likeness(left, right) > w::SAME_WORD.get()
        })
    })
}

/// Such as `country_code` and `countries.code`.
fn by_table_and_column(pair: &Pair<'_>) -> f64 {
    let words = &pair.child.name.words;
    let key = &pair.parent.name.words;
    if key.is_empty() || words.len() <= key.len() || pair.parent.name.mark == KeyMark::None {
        return 0.0;
    }
    let (rest, end) = words.split_at(words.len() - key.len());
    if end != key.as_slice() {
        return 0.0;
    }
    entity_match(rest, &pair.to.name.words)
}

/// Such as `user_settings` and `users`.
fn by_extension(pair: &Pair<'_>) -> f64 {
    let (own, other) = (&pair.from.name.words, &pair.to.name.words);
    let extends = own.len() > other.len()
        && own.iter().zip(other).all(|(left, right)| {
            crate::names::words::word_likeness(left, right) > w::SAME_WORD.get()
        });
    let smaller = pair.from.rows() <= pair.to.rows();
    let telling = pair
        .parent
        .profile
        .is_some_and(|profile| !profile.is_dense_from_one());
    if extends && smaller && telling {
        w::EXTENDS.get()
    } else {
        0.0
    }
}
