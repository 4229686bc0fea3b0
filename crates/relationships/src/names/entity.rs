//! Reads the names of tables and columns.

mod likeness;

pub(crate) use likeness::{entity_match, led_match};

use std::collections::BTreeSet;

use crate::names::lexicon::{
    COPY_HEADS, COPY_TAILS, GLUED_BEGINNINGS, GLUED_ENDINGS, MEASURES, PERSON_ROLES, PERSON_TABLES,
    PLACEHOLDERS, SELF_ROLES, STRONG_KEYS, TABLE_NOISE, TABLE_TAILS, TRADES, WEAK_KEYS, layer_of,
};
use crate::names::modules::Modules;
use crate::names::prefix::Prefix;
use crate::names::words::{Words, word_likeness};
use crate::weights as w;

/// Prefix of an ending that is joined to its word.
pub(crate) const GLUED: &str = "~";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copy {
    Original,
    /// A backup, history, archive or similar.
    Copy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableName {
    /// Without layer, noise and copy marks.
    pub words: Vec<String>,
    /// Includes a tail such as `history`.
    pub whole: Vec<String>,
    pub layer: Option<&'static str>,
    /// Shared by other tables, such as an application's short name.
    pub namespace: Option<String>,
    pub copy: Copy,
    /// Only describes the rows of another table, like a data vault satellite.
    pub satellite: bool,
    pub telling: bool,
}

impl TableName {
    pub(crate) fn read(name: &str, schema: Option<&str>, modules: &Modules) -> Self {
        let all = Words::of(name).0;
        let telling = is_telling(&all);
        let mut words = all.as_slice();
        let mut layer =
            schema.and_then(|schema| Words::of(schema).0.iter().find_map(|word| layer_of(word)));
        let mut namespace = None;
        if !telling {
            return Self::of_number(&all, layer, namespace);
        }
        let mut satellite = false;
        while let [first, rest @ ..] = words {
            // `crm_audit` holds the audits of `crm`.
            let module = modules.first.contains(first) && namespace.is_none();
            if rest.is_empty()
                || (rest.iter().all(|word| is_number(word) || is_tail(word))
                    && !(module && rest.iter().any(|word| COPY_TAILS.contains(&word.as_str()))))
            {
                break;
            }
            if let Some(found) = layer_of(first) {
                layer = Some(found);
            } else if namespace.is_none() && modules.first.contains(first) {
                let number = rest
                    .first()
                    .filter(|word| rest.len() > 1 && is_number(word));
                namespace = Some(first.clone() + number.map(String::as_str).unwrap_or_default());
                if number.is_some() {
                    words = rest;
                }
            } else if !TABLE_NOISE.contains(&first.as_str()) {
                break;
            }
            satellite |= first == "sat";
            words = words.get(1..).unwrap_or_default();
        }
        if !is_telling(words) {
            // Such as `bronze_t17`.
            return Self::of_number(words, layer, namespace);
        }
        if let [rest @ .., last] = words
            && !rest.is_empty()
            && modules.last.contains(last)
        {
            namespace = Some(namespace.unwrap_or_default() + last);
            words = rest;
        }
        let mut copy = Copy::Original;
        if let [first, rest @ ..] = words
            && COPY_HEADS.contains(&first.as_str())
            && !rest.is_empty()
        {
            copy = Copy::Copy;
            words = rest;
            if let [of, entity @ ..] = rest
                && of == "of"
                && !entity.is_empty()
            {
                words = entity;
            }
        }
        let whole = words.to_vec();
        while let [rest @ .., last] = words {
            let marks = COPY_TAILS.contains(&last.as_str())
                || (is_number(last) && last.len() >= w::COPY_NUMBER.size());
            if rest.is_empty() || !(marks || TABLE_TAILS.contains(&last.as_str())) {
                break;
            }
            if marks {
                copy = Copy::Copy;
            }
            words = rest;
        }
        Self {
            words: words.to_vec(),
            whole,
            layer,
            namespace,
            copy,
            satellite,
            telling,
        }
    }

    /// Such as `t17`.
    fn of_number(words: &[String], layer: Option<&'static str>, namespace: Option<String>) -> Self {
        Self {
            words: words.to_vec(),
            whole: words.to_vec(),
            layer,
            namespace,
            copy: Copy::Original,
            satellite: false,
            telling: false,
        }
    }

    /// Returns whether the rows are the people who do the work.
    pub(crate) fn holds_people(&self) -> bool {
        self.words
            .last()
            .is_some_and(|word| PERSON_TABLES.contains(&word.as_str()))
    }

    /// These people do the work if no other table holds people.
    pub(crate) fn holds_a_trade(&self) -> bool {
        let is = |word: &String, trade: &&str| word_likeness(word, trade) > w::SAME_WORD.get();
        self.words
            .last()
            .is_some_and(|word| TRADES.iter().any(|trade| is(word, trade)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyMark {
    None,
    Weak,
    Strong,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnName {
    /// Without a shared prefix.
    pub words: Vec<String>,
    /// Without key words; the plain reading first.
    pub bases: Vec<Vec<String>>,
    pub mark: KeyMark,
    pub measure: bool,
    pub telling: bool,
    /// The key word comes first, as in `id_ville_naissance`.
    pub led: bool,
}

impl ColumnName {
    /// `learned` are the key words of this database.
    pub(crate) fn read(name: &str, prefix: Option<&Prefix>, learned: &BTreeSet<String>) -> Self {
        let all = Words::of(name).0;
        let telling = is_telling(&all);
        let bare = prefix
            .filter(|_| telling)
            .and_then(|prefix| prefix.without(&all));
        let words = bare.unwrap_or_else(|| all.clone());
        let (base, mut mark) = without_keys(&words, learned);
        let mut bases = vec![base.clone()];
        if mark == KeyMark::None || base.len() == 1 {
            for reading in unglued(&base) {
                bases.push(reading);
            }
        }
        if words != all {
            let (whole, _) = without_keys(&all, learned);
            bases.push(whole);
        }
        // Such as `home_player_2`.
        if let [head @ .., last] = base.as_slice()
            && !head.is_empty()
            && is_number(last)
        {
            let (numbered, found) = without_keys(head, learned);
            mark = mark.max(found);
            bases.push(numbered);
        }
        bases.dedup();
        if mark == KeyMark::None && words.iter().any(|word| word == "by") {
            mark = KeyMark::Weak;
        }
        if let ([word], KeyMark::None) = (words.as_slice(), mark)
            && is_glued(word, learned)
        {
            mark = KeyMark::Strong;
        }
        let measure = mark != KeyMark::Strong && is_measure(&words, &base);
        let marks = |word: Option<&String>| {
            word.is_some_and(|word| mark_of(word, learned) != KeyMark::None)
        };
        let led = words.len() > 2 && marks(words.first()) && !marks(words.last());
        Self {
            words,
            bases,
            mark,
            measure,
            telling,
            led,
        }
    }

    pub(crate) fn base(&self) -> &[String] {
        self.bases.first().map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn is_bare_key(&self) -> bool {
        self.mark != KeyMark::None && self.base().is_empty()
    }

    /// Returns whether the only key word comes before the entity: `id_sucursal`.
    pub(crate) fn begins_with_its_mark(&self) -> bool {
        let ([first, ..], [base, ..]) = (self.words.as_slice(), self.base()) else {
            return false;
        };
        self.mark == KeyMark::Strong && first != base && self.words.last() == self.base().last()
    }

    pub(crate) fn has_self_role(&self) -> bool {
        self.all_words()
            .any(|word| begins_with_role(word, SELF_ROLES))
    }

    pub(crate) fn has_person_role(&self) -> bool {
        self.person_roles().next().is_some()
    }

    pub(crate) fn person_roles(&self) -> impl Iterator<Item = &String> {
        self.all_words()
            .filter(|word| begins_with_role(word, PERSON_ROLES))
    }

    /// Includes readings, such as `mgr` in `mgrid`.
    fn all_words(&self) -> impl Iterator<Item = &String> {
        self.words.iter().chain(self.bases.iter().flatten())
    }
}

/// Such as `gutachterid`.
fn is_glued(word: &str, learned: &BTreeSet<String>) -> bool {
    learned
        .iter()
        .filter_map(|ending| ending.strip_prefix(GLUED))
        .filter_map(|ending| word.strip_suffix(ending))
        .any(|stem| stem.len() >= w::GLUED_STEM.size())
}

/// A `reviewer` is not one of the `reviews`.
pub(crate) fn is_doer_of(word: &str, deed: &str) -> bool {
    ["er", "or", "ee"].iter().any(|ending| {
        word.strip_suffix(ending).is_some_and(|stem| {
            stem.len() >= w::DOER_STEM.size() && deed.starts_with(stem) && !deed.starts_with(word)
        })
    })
}

/// Also `managerid`.
fn begins_with_role(word: &str, roles: &[&str]) -> bool {
    roles.contains(&word)
        || roles
            .iter()
            .any(|role| role.len() >= w::ROLE_LETTERS.size() && word.starts_with(role))
}

fn is_telling(words: &[String]) -> bool {
    words.iter().any(|word| {
        let placeholder = PLACEHOLDERS.contains(&word.as_str());
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        let short = word.len() < w::TELLING_LETTERS.size();
        !(placeholder || digits || short)
    }) || words.iter().all(|word| {
        word.len() > w::TELLING_LETTERS.size() && !word.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn is_tail(word: &str) -> bool {
    COPY_TAILS.contains(&word) || TABLE_TAILS.contains(&word)
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_measure(words: &[String], base: &[String]) -> bool {
    let measures = |word: &String| MEASURES.contains(&word.as_str());
    let counted = words.first().is_some_and(|word| {
        ["num", "nb", "n", "no", "number", "is", "has"].contains(&word.as_str())
    });
    base.last().is_some_and(measures)
        || (base.first().is_some_and(measures) && base.len() > 1)
        || (counted && words.len() > 1)
}

fn mark_of(word: &str, learned: &BTreeSet<String>) -> KeyMark {
    if STRONG_KEYS.contains(&word) || learned.contains(word) {
        KeyMark::Strong
    } else if WEAK_KEYS.contains(&word) {
        KeyMark::Weak
    } else {
        KeyMark::None
    }
}

fn without_keys(words: &[String], learned: &BTreeSet<String>) -> (Vec<String>, KeyMark) {
    let mut rest = words;
    let mut mark = KeyMark::None;
    // The name of most keys in this database.
    for whole in learned.iter().filter(|name| name.contains(' ')) {
        let own: Vec<&str> = whole.split(' ').collect();
        let from = rest.len().saturating_sub(own.len());
        if rest.get(from..).is_some_and(|end| end == own.as_slice()) {
            rest = rest.get(..from).unwrap_or_default();
            mark = KeyMark::Strong;
        }
    }
    while let [head @ .., last] = rest {
        let found = mark_of(last, learned);
        if found == KeyMark::None {
            break;
        }
        mark = mark.max(found);
        rest = head;
    }
    while let [first, tail @ ..] = rest {
        let found = mark_of(first, learned);
        if found == KeyMark::None || tail.is_empty() {
            break;
        }
        mark = mark.max(found);
        rest = tail;
    }
    (rest.to_vec(), mark)
}

fn unglued(base: &[String]) -> Vec<Vec<String>> {
    let mut readings = Vec::new();
    if let [head @ .., last] = base {
        let stem = GLUED_ENDINGS
            .iter()
            .find_map(|ending| last.strip_suffix(ending))
            .filter(|stem| stem.len() >= w::UNGLUED_STEM.size());
        if let Some(stem) = stem {
            readings.push(head.iter().cloned().chain([stem.to_owned()]).collect());
        }
    }
    if let [first, tail @ ..] = base {
        let stem = GLUED_BEGINNINGS
            .iter()
            .find_map(|begin| first.strip_prefix(begin))
            .filter(|stem| stem.len() >= w::UNGLUED_STEM.size());
        if let Some(stem) = stem {
            readings.push(
                [stem.to_owned()]
                    .into_iter()
                    .chain(tail.iter().cloned())
                    .collect(),
            );
        }
    }
    readings
}
