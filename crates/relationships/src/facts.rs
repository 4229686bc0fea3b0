//! Facts about tables and columns, gathered before any two are compared.

pub(crate) mod agents;
mod calendar;
pub(crate) mod fit;
mod keys;
mod learned;

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Table, TableKind};

use crate::facts::calendar::day_lists;
use crate::facts::keys::{key_strength, own_match};
use crate::facts::learned::learned_keys;
use crate::links::joins::Joins;
use crate::links::link::Endpoint;
use crate::names::entity::{ColumnName, KeyMark, TableName, is_doer_of};
use crate::names::lexicon::synonym;
use crate::names::modules::Modules;
use crate::names::prefix::shared_prefix;
use crate::profile::{ColumnProfile, Extent, TableProfile};
use crate::types::{ColumnId, TypeFamily};
use crate::weights as w;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UseAsKey {
    Usual,
    /// Unique texts beside a better key.
    Second,
    Days,
}

#[derive(Debug)]
pub struct ColumnFacts<'a> {
    pub column: &'a ktx_warehouse::Column,
    pub family: TypeFamily,
    pub profile: Option<&'a ColumnProfile>,
    pub(crate) name: ColumnName,
    /// Fit of the name as the table's own key, 0 to 1.
    pub own: f64,
    /// 0 (not a key) to 1 (declared).
    pub key: f64,
    pub use_as_key: UseAsKey,
    /// The name is a person's role, not another table's name.
    pub part: bool,
    /// Another column names the table: `owner_type` beside `owner_id`.
    pub many_parents: bool,
}

#[derive(Debug)]
pub struct TableFacts<'a> {
    pub table: &'a Table,
    pub profile: Option<&'a TableProfile>,
    pub(crate) name: TableName,
    pub columns: Vec<ColumnFacts<'a>>,
    /// The people who have roles in other rows.
    pub people: bool,
    pub primary: Option<usize>,
    /// False for views if most tables are stored.
    pub included: bool,
}

#[derive(Debug)]
pub struct Facts<'a> {
    pub tables: Vec<TableFacts<'a>>,
    people: BTreeMap<Option<&'static str>, usize>,
    of_layer: BTreeSet<(&'static str, Vec<String>)>,
    key_names: BTreeMap<(Option<&'static str>, Vec<String>), usize>,
    /// First words that many tables share.
    pub namespaces: BTreeSet<String>,
    pub joins: &'a Joins,
}

impl<'a> Facts<'a> {
    pub fn gather(
        tables: &'a [Table],
        profiles: &'a BTreeMap<TableRef, TableProfile>,
        joins: &'a Joins,
    ) -> Self {
        let modules = Modules::of(tables);
        let stored = tables
            .iter()
            .filter(|table| table.kind != TableKind::View)
            .count();
        let views_too = w::share(stored, tables.len()) < w::VIEWS.get();
        let read = |learned: &BTreeSet<String>| -> Vec<TableFacts<'a>> {
            let facts = |table: &'a Table| {
                let profile = profiles.get(&table.table);
                let schema = table.table.db.as_deref();
                let name = TableName::read(&table.table.name, schema, &modules);
                let included = views_too || table.kind != TableKind::View;
                table_facts(table, profile, (name, learned), included)
            };
            tables.iter().map(facts).collect()
        };
        let mut tables = read(&BTreeSet::new());
        let learned = learned_keys(&tables);
        if !learned.is_empty() {
            tables = read(&learned);
        }
        forget_lone_layers(&mut tables);
        let people = mark_people(&mut tables);
        mark_parts(&mut tables);
        let of_layer = tables
            .iter()
            .filter_map(|table| Some((table.name.layer?, table.name.whole.clone())))
            .collect();
        let mut key_names = BTreeMap::new();
        for table in &tables {
            if let Some(key) = table.primary.and_then(|at| table.columns.get(at)) {
                let named = (table.name.layer, key.name.words.clone());
                *key_names.entry(named).or_insert(0) += 1;
            }
        }
        Self {
            tables,
            people,
            of_layer,
            key_names,
            namespaces: modules.first,
            joins,
        }
    }

    pub fn table(&self, at: usize) -> Option<&TableFacts<'a>> {
        self.tables.get(at)
    }

    pub fn column(&self, at: ColumnId) -> Option<&ColumnFacts<'a>> {
        self.tables.get(at.table)?.columns.get(at.column)
    }

    pub fn endpoint(&self, at: ColumnId) -> Endpoint {
        let table = self.table(at.table).map(|table| table.table.table.clone());
        let column = self.column(at).map(|column| column.column.name.clone());
        Endpoint {
            table: table.unwrap_or_else(|| ktx_vocabulary::TableRef::bare("")),
            columns: column.into_iter().collect(),
        }
    }

    pub fn people(&self, layer: Option<&'static str>) -> usize {
        self.people.get(&layer).copied().unwrap_or(0)
    }

    pub fn keys_called(&self, words: &[String], layer: Option<&'static str>) -> usize {
        let named = (layer, words.to_vec());
        self.key_names.get(&named).copied().unwrap_or(0)
    }

    pub fn layer(&self, at: ColumnId) -> Option<&'static str> {
        self.tables.get(at.table)?.name.layer
    }

    pub fn has_nearer_copy(&self, child: ColumnId, parent: ColumnId) -> bool {
        let Some(other) = self.tables.get(parent.table) else {
            return false;
        };
        match (self.layer(child), other.name.layer) {
            (Some(own), Some(layer)) if own != layer => {
                self.of_layer.contains(&(own, other.name.whole.clone()))
            }
            _ => false,
        }
    }

    /// Same layer, schema and module.
    pub fn stand_together(&self, left: ColumnId, right: ColumnId) -> bool {
        let place = |at: ColumnId| {
            let table = self.tables.get(at.table)?;
            Some((
                table.name.layer,
                &table.table.table.db,
                &table.name.namespace,
            ))
        };
        place(left) == place(right)
    }

    pub fn columns(&self) -> impl Iterator<Item = (ColumnId, &ColumnFacts<'a>)> {
        self.all_columns().filter(|(at, _)| self.is_included(*at))
    }

    pub fn is_included(&self, at: ColumnId) -> bool {
        self.table(at.table).is_some_and(|table| table.included)
    }

    pub fn all_columns(&self) -> impl Iterator<Item = (ColumnId, &ColumnFacts<'a>)> {
        self.tables.iter().enumerate().flat_map(|(table, facts)| {
            let place = move |column| ColumnId { table, column };
            facts
                .columns
                .iter()
                .enumerate()
                .map(move |(column, facts)| (place(column), facts))
        })
    }

    pub fn keys(&self) -> impl Iterator<Item = (ColumnId, &ColumnFacts<'a>)> {
        self.columns().filter(|(_, column)| column.key > 0.0)
    }

    /// Tolerates a few rows without a value.
    pub fn is_filled(&self, side: &Endpoint) -> bool {
        let table = self
            .tables
            .iter()
            .find(|table| table.table.table == side.table);
        let columns = table.into_iter().flat_map(|table| &table.columns);
        columns
            .filter(|column| side.columns.contains(&column.column.name))
            .filter_map(|column| column.profile)
            .all(|profile| profile.null_rate() < w::FILLED.get())
    }

    pub fn all_keys(&self) -> impl Iterator<Item = (ColumnId, &ColumnFacts<'a>)> {
        self.columns()
            .filter(|(_, column)| column.key > 0.0 || column.is_second_key())
    }
}

impl TableFacts<'_> {
    /// Returns 0 if unknown.
    pub fn rows(&self) -> u64 {
        self.profile
            .and_then(|profile| profile.rows)
            .or(self.table.estimated_rows)
            .unwrap_or(0)
    }

    pub fn is_whole(&self) -> bool {
        self.profile
            .is_some_and(|profile| profile.extent == Extent::Whole)
    }
}

impl ColumnFacts<'_> {
    pub fn can_be_child(&self) -> bool {
        let Some(profile) = self.profile.filter(|profile| profile.values > 0) else {
            return self.family.can_be_key();
        };
        match self.family {
            TypeFamily::Integer | TypeFamily::Float => profile.range.is_some(),
            // A date in a text column is as weak as in a date column.
            TypeFamily::Text if profile.holds_dates() => self.name.mark == KeyMark::Strong,
            TypeFamily::Text => profile
                .lengths
                .is_none_or(|(_, long)| long <= w::KEY_LONGEST.count()),
            TypeFamily::Uuid => true,
            TypeFamily::Boolean | TypeFamily::Time | TypeFamily::Opaque => false,
        }
    }

    pub fn looks_identifying(&self) -> bool {
        let Some(profile) = self.profile else {
            return self.family == TypeFamily::Uuid;
        };
        let one_length = profile.lengths.is_some_and(|(short, long)| {
            short == long && (w::CODE_SHORTEST.count()..=w::CODE_LONGEST.count()).contains(&short)
        });
        self.family == TypeFamily::Uuid
            || (self.family == TypeFamily::Text
                && (((profile.shape.digits > w::CODE_DIGITS.get() || one_length)
                    && profile.shape.blanks < w::CODE_BLANKS.get())
                    || profile.shape.is_address()
                    || profile.shape.coded > w::CODED.get()))
    }

    pub fn is_worded(&self) -> bool {
        let shape = self.profile.map(|profile| profile.shape);
        self.family == TypeFamily::Text
            && shape.is_some_and(|shape| {
                shape.blanks >= w::WORDED.get() && shape.coded <= w::CODED.get()
            })
    }

    pub fn is_second_key(&self) -> bool {
        self.use_as_key == UseAsKey::Second
    }

    pub fn lists_days(&self) -> bool {
        self.use_as_key == UseAsKey::Days
    }

    pub fn holds_days(&self) -> bool {
        self.profile.is_some_and(|profile| profile.days.is_some())
    }
}

fn table_facts<'a>(
    table: &'a Table,
    profile: Option<&'a TableProfile>,
    (name, learned): (TableName, &BTreeSet<String>),
    included: bool,
) -> TableFacts<'a> {
    let prefix = shared_prefix(table.columns.iter().map(|column| column.name.as_str()));
    let mut columns: Vec<ColumnFacts<'a>> = table
        .columns
        .iter()
        .map(|column| {
            let read = ColumnName::read(&column.name, prefix.as_ref(), learned);
            let own = own_match(&read, &name);
            let family = TypeFamily::of(column);
            let profile = profile.and_then(|profile| profile.column(&column.name));
            ColumnFacts {
                column,
                family,
                profile,
                name: read,
                own,
                key: 0.0,
                use_as_key: UseAsKey::Usual,
                part: false,
                many_parents: false,
            }
        })
        .collect();
    let strengths: Vec<f64> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| key_strength(table, profile, &name, column, at))
        .collect();
    let best = strengths.iter().copied().fold(0.0, f64::max);
    for (column, strength) in columns.iter_mut().zip(&strengths) {
        // Attributes such as names are keys only if nothing is better.
        column.key =
            if *strength >= w::KEY_GOOD.get() || (best < w::KEY_GOOD.get() && *strength > 0.0) {
                *strength
            } else {
                0.0
            };
        if column.key <= 0.0 && *strength > 0.0 && column.family == TypeFamily::Text {
            column.use_as_key = UseAsKey::Second;
        }
    }
    for at in day_lists(&columns) {
        if let Some(column) = columns.get_mut(at) {
            column.use_as_key = UseAsKey::Days;
            column.key = column.key.max(w::DAY_KEY.get());
        }
    }
    for at in typed_references(&columns) {
        if let Some(column) = columns.get_mut(at) {
            column.many_parents = true;
        }
    }
    let primary = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.key > 0.0)
        .max_by(|left, right| {
            left.1
                .key
                .total_cmp(&right.1.key)
                .then(right.0.cmp(&left.0))
        })
        .map(|(at, _)| at);
    TableFacts {
        table,
        profile,
        name,
        columns,
        people: false,
        primary,
        included,
    }
}

/// A layer word without a copy in another layer means nothing.
fn forget_lone_layers(tables: &mut [TableFacts<'_>]) {
    let mut of_entity: BTreeMap<String, BTreeSet<Option<&'static str>>> = BTreeMap::new();
    for table in tables.iter() {
        let layers = of_entity.entry(singular(&table.name.words)).or_default();
        layers.insert(table.name.layer);
    }
    let copies: BTreeSet<&'static str> = of_entity
        .values()
        .filter(|layers| layers.len() > 1)
        .flatten()
        .filter_map(|layer| *layer)
        .collect();
    let lone = |table: &&mut TableFacts<'_>| {
        let layer = table.name.layer;
        layer.is_some_and(|layer| !copies.contains(layer))
    };
    for table in tables.iter_mut().filter(lone) {
        table.name.layer = None;
    }
}

fn singular(words: &[String]) -> String {
    let one = words.join(" ");
    match one.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => one.trim_end_matches('s').to_owned(),
    }
}

/// If there is a table `physicians`, a `doctor` is not a role of any employee.
fn mark_parts(tables: &mut [TableFacts<'_>]) {
    let entities: BTreeSet<String> = tables
        .iter()
        .filter(|table| !table.people)
        .filter_map(|table| table.name.words.last().cloned())
        .collect();
    let is_table = |word: &String| {
        entities.iter().any(|entity| {
            let alike = crate::names::words::word_likeness(word, entity) > w::SAME_WORD.get();
            (alike && !is_doer_of(word, entity)) || synonym(word, entity) > 0.0
        })
    };
    for column in tables.iter_mut().flat_map(|table| &mut table.columns) {
        column.part = column.name.person_roles().any(|word| !is_table(word));
    }
}

fn mark_people(tables: &mut [TableFacts<'_>]) -> BTreeMap<Option<&'static str>, usize> {
    let whole = |table: &TableFacts<'_>| table.name.holds_people();
    let general = tables.iter().any(whole);
    let mut people = BTreeMap::new();
    for table in tables {
        table.people = whole(table) || (!general && table.name.holds_a_trade());
        *people.entry(table.name.layer).or_insert(0) += usize::from(table.people);
    }
    people
}

/// A text column of the same name says which table they refer to.
fn typed_references(columns: &[ColumnFacts<'_>]) -> Vec<usize> {
    let says_kind = |column: &ColumnFacts<'_>, base: &[String]| match column.name.words.as_slice() {
        [head @ .., last] => {
            head == base
                && column.family == TypeFamily::Text
                && ["type", "class", "kind", "model", "table", "typ", "tipo"]
                    .contains(&last.as_str())
        }
        [] => false,
    };
    columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.name.mark == KeyMark::Strong && !column.name.base().is_empty())
        .filter(|(_, column)| {
            columns
                .iter()
                .any(|other| says_kind(other, column.name.base()))
        })
        .map(|(at, _)| at)
        .collect()
}
