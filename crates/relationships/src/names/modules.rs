//! Finds words in table names that mean a part of the database.

use std::collections::{BTreeMap, BTreeSet};

use ktx_warehouse::Table;

use crate::names::lexicon::{COPY_TAILS, LISTING_TAILS, TABLE_TAILS};
use crate::names::words::Words;
use crate::profile::sketch::ratio;
use crate::weights as w;

#[derive(Debug, Clone, Default)]
pub(crate) struct Modules {
    /// `crm` of `crm_orders`.
    pub(crate) first: BTreeSet<String>,
    /// `us` of `orders_us`.
    pub(crate) last: BTreeSet<String>,
}

type Remainders<'n> = BTreeMap<&'n str, BTreeMap<&'n [String], usize>>;

impl Modules {
    pub(crate) fn of(tables: &[Table]) -> Self {
        let names: Vec<Vec<String>> = tables
            .iter()
            .map(|table| Words::of(&table.table.name).0)
            .collect();
        let columns: Vec<BTreeSet<String>> = tables.iter().map(column_names).collect();
        let last = last_words(&names, &columns);
        // Without this, `order_us` and `order_eu` would make `order` a shared first word.
        let bare: Vec<&[String]> = names.iter().map(|name| without(name, &last)).collect();
        let first = first_words(&bare, &columns);
        Self { first, last }
    }
}

fn without<'n>(name: &'n [String], last: &BTreeSet<String>) -> &'n [String] {
    match name {
        [rest @ .., word] if !rest.is_empty() && last.contains(word) => rest,
        _ => name,
    }
}

fn last_words(names: &[Vec<String>], columns: &[BTreeSet<String>]) -> BTreeSet<String> {
    let mut sharing = Remainders::new();
    for (at, name) in names.iter().enumerate() {
        if let Some((word, rest)) = name.split_last().filter(|(_, rest)| !rest.is_empty()) {
            sharing.entry(word).or_default().insert(rest, at);
        }
    }
    let all: Vec<&[String]> = names.iter().map(Vec::as_slice).collect();
    let told = [COPY_TAILS, TABLE_TAILS, LISTING_TAILS];
    let mut across = Remainders::new();
    for (at, name) in names.iter().enumerate() {
        if let Some((word, rest)) = name.split_first().filter(|(_, rest)| !rest.is_empty()) {
            across.entry(word).or_default().insert(rest, at);
        }
    }
    let is_part = |word: &&str| {
        let tables = sharing.get(*word).map(BTreeMap::values);
        let behind = tables.into_iter().flatten().filter(|at| {
            let before = closest(&across, names, columns, **at, Word::First);
            closest(&sharing, names, columns, **at, Word::Last) > before
        });
        w::share(behind.count(), sharing.get(*word).map_or(0, BTreeMap::len)) > w::PART_SHARE.get()
    };
    shared(&sharing, &all)
        .into_iter()
        .filter(|word| !told.iter().any(|list| list.contains(&word.as_str())))
        .filter(|word| has_twins(&sharing, word, columns) && is_part(&word.as_str()))
        .collect()
}

#[derive(Clone, Copy)]
enum Word {
    First,
    Last,
}

/// Compares tables that differ in one word: `order_us` and `order_eu`, or `retail_order` and
/// `online_order`.
fn closest(
    sharing: &Remainders<'_>,
    names: &[Vec<String>],
    columns: &[BTreeSet<String>],
    at: usize,
    word: Word,
) -> f64 {
    let split = names.get(at).and_then(|name| match word {
        Word::First => name.split_first(),
        Word::Last => name.split_last(),
    });
    let (Some((own, rest)), Some(named)) = (split, columns.get(at)) else {
        return 0.0;
    };
    let twins = sharing
        .iter()
        .filter(|(other, _)| **other != own.as_str())
        .filter_map(|(_, tables)| columns.get(*tables.get(rest)?));
    twins
        .map(|twin| {
            let shared = named.intersection(twin).count() as u64;
            ratio(shared, (named.union(twin).count() as u64).max(1))
        })
        .fold(0.0, f64::max)
}

fn first_words(names: &[&[String]], columns: &[BTreeSet<String>]) -> BTreeSet<String> {
    let mut sharing = Remainders::new();
    for (at, name) in names.iter().enumerate() {
        if let Some((word, rest)) = name.split_first().filter(|(_, rest)| !rest.is_empty()) {
            sharing.entry(word).or_default().insert(rest, at);
        }
    }
    let begins = shared(&sharing, names);
    let begun =
        |name: &&[String]| name.len() > 1 && name.first().is_some_and(|word| begins.contains(word));
    let all_begin = names.len() >= w::MODULE_OF_ALL.size() && names.iter().all(begun);
    begins
        .iter()
        .filter(|word| {
            word.len() <= w::MODULE_LETTERS.size()
                || all_begin
                || has_twins(&sharing, word, columns)
        })
        .cloned()
        .collect()
}

fn shared(sharing: &Remainders<'_>, names: &[&[String]]) -> BTreeSet<String> {
    let is_likely = |only: &String, word: &str| {
        crate::names::words::word_likeness(only, word) > w::SAME_WORD.get()
    };
    let alone = |word: &str| {
        let mut names = names.iter();
        names.any(|name| matches!(name, [only] if is_likely(only, word)))
    };
    let many = sharing
        .iter()
        .filter(|(_, rests)| rests.len() >= w::MODULE_TABLES.size());
    many.map(|(word, _)| (*word).to_owned())
        .filter(|word| !alone(word))
        .collect()
}

fn column_names(table: &Table) -> BTreeSet<String> {
    let names = table.columns.iter();
    names.map(|column| column.name.to_lowercase()).collect()
}

/// Requires two tables, and half of all, to have nearly the same columns as another.
fn has_twins(sharing: &Remainders<'_>, word: &str, columns: &[BTreeSet<String>]) -> bool {
    let Some(own) = sharing.get(word) else {
        return false;
    };
    let alike = |left: usize, right: usize| {
        let (Some(left), Some(right)) = (columns.get(left), columns.get(right)) else {
            return false;
        };
        let shared = left.intersection(right).count();
        shared >= w::TWIN_COLUMNS.size()
            && w::share(shared, left.union(right).count()) >= w::TWIN_SHARE.get()
    };
    let is_twin = |(rest, at): &(&&[String], &usize)| {
        sharing.iter().any(|(other, tables)| {
            *other != word && tables.get(**rest).is_some_and(|twin| alike(**at, *twin))
        })
    };
    let twins = own.iter().filter(is_twin).count();
    // Tables of one module hold different things; tables of one entity hold the same.
    let kinds: BTreeSet<&BTreeSet<String>> =
        own.values().filter_map(|at| columns.get(*at)).collect();
    twins >= w::TWINS.size()
        && w::share(twins, own.len()) >= w::TWIN_TABLES.get()
        && kinds.len() >= w::TWIN_KINDS.size()
        && w::share(kinds.len(), own.len()) >= w::TWIN_KINDS_SHARE.get()
}
