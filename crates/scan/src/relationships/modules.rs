//! Words that stand for a part of the database and not for an entity: applications before the names of
//! tables, layers and parts behind them. They are read out of the names that tables share.

use std::collections::{BTreeMap, BTreeSet};

use ktx_warehouse::Table;

use crate::names::Words;
use crate::relationships::lexicon::{COPY_TAILS, LISTING_TAILS, TABLE_TAILS};

/// Letters of a word up to which it is taken for the short name of an application.
const SHORT: usize = 6;

/// The words that begin and end the names of tables without being an entity.
#[derive(Debug, Clone, Default)]
pub(crate) struct Modules {
    /// First words: `crm` of `crm_orders`.
    pub(crate) first: BTreeSet<String>,
    /// Last words: `us` of `orders_us`.
    pub(crate) last: BTreeSet<String>,
}

/// The rests of table names by a word at one end, with the tables.
type Sharing<'n> = BTreeMap<&'n str, BTreeMap<&'n [String], usize>>;

impl Modules {
    /// Reads them out of all tables.
    pub(crate) fn of(tables: &[Table]) -> Self {
        let names: Vec<Vec<String>> = tables
            .iter()
            .map(|table| Words::of(&table.table.name).0)
            .collect();
        let columns: Vec<BTreeSet<String>> = tables.iter().map(column_names).collect();
        let (mut first, mut last) = (Sharing::new(), Sharing::new());
        for (at, name) in names.iter().enumerate().filter(|(_, name)| name.len() > 1) {
            if let Some((word, rest)) = name.split_first() {
                first.entry(word).or_default().insert(rest, at);
            }
            if let Some((word, rest)) = name.split_last() {
                last.entry(word).or_default().insert(rest, at);
            }
        }
        let alone = |word: &str| {
            names.iter().any(
                |name| matches!(name.as_slice(), [only] if crate::names::word_likeness(only, word) > 0.9),
            )
        };
        let candidates = |sharing: &Sharing<'_>| -> BTreeSet<String> {
            let many = sharing.iter().filter(|(_, names)| names.len() >= 3);
            let words = many.map(|(word, _)| (*word).to_owned());
            words.filter(|word| !alone(word)).collect()
        };
        let begins = candidates(&first);
        let all_begin = names.len() >= 6
            && names.iter().all(|name| {
                name.len() > 1 && name.first().is_some_and(|word| begins.contains(word))
            });
        let is_module =
            |word: &String| word.len() <= SHORT || all_begin || has_twins(&first, word, &columns);
        let not_told = |word: &String| {
            let lists = [COPY_TAILS, TABLE_TAILS, LISTING_TAILS];
            !lists.iter().any(|list| list.contains(&word.as_str()))
        };
        let ends = candidates(&last).into_iter();
        Self {
            last: ends
                .filter(|word| not_told(word) && has_twins(&last, word, &columns))
                .collect(),
            first: begins
                .iter()
                .filter(|word| is_module(word))
                .cloned()
                .collect(),
        }
    }
}

fn column_names(table: &Table) -> BTreeSet<String> {
    let names = table.columns.iter();
    names.map(|column| column.name.to_lowercase()).collect()
}

/// Whether at least two tables of this word, and half of all of them, stand beside another table that is
/// called alike but for the word and has nearly the same columns.
fn has_twins(sharing: &Sharing<'_>, word: &str, columns: &[BTreeSet<String>]) -> bool {
    let Some(own) = sharing.get(word) else {
        return false;
    };
    let alike = |left: usize, right: usize| {
        let (Some(left), Some(right)) = (columns.get(left), columns.get(right)) else {
            return false;
        };
        let shared = left.intersection(right).count();
        shared >= 2 && shared * 10 >= left.union(right).count() * 7
    };
    let is_twin = |(rest, at): &(&&[String], &usize)| {
        sharing.iter().any(|(other, tables)| {
            *other != word && tables.get(**rest).is_some_and(|twin| alike(**at, *twin))
        })
    };
    let twins = own.iter().filter(is_twin).count();
    twins >= 2 && twins * 2 >= own.len()
}
