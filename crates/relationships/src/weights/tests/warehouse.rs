//! Discovery over a database in memory, which answers the checks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Cell, Column, DimensionType, RowSink as _, Table, TableKind};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::links::decisions::Decisions;
use crate::links::declared::formal_links;
use crate::links::joins::Joins;
use crate::links::link::Link;
use crate::profile::sketch::{Containment, ratio};
use crate::profile::table::TableCollector;
use crate::profile::{Extent, TableProfile};
use crate::settings::RelationshipSettings;
use crate::types::{ColumnId, TypeFamily};
use crate::{
    Counts, Facts, Proposal, apply_decisions, judge, mark_implied, note_spelling, propose, rescore,
    resolve, score_pairs, settle_groups, single_links, tell_disproof, unchecked,
};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Setup {
    pub(super) sample: Option<usize>,
    /// Two columns and the number of runs.
    pub(super) queries: &'static [(&'static str, &'static str, u64)],
    pub(super) stated: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
pub(super) struct Warehouse {
    connection: Connection,
    tables: Vec<Table>,
    profiles: BTreeMap<TableRef, TableProfile>,
    joins: Joins,
    answers: RefCell<BTreeMap<String, Counts>>,
}

/// By id and status.
pub(super) type Verdict = BTreeMap<(String, &'static str), String>;

impl Warehouse {
    /// A dot in a table's name separates its schema.
    pub(super) fn of(script: &str, setup: Setup) -> Self {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(script).expect("a good script");
        let names: Vec<(String, String)> = connection
            .prepare("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect()
            })
            .expect("the tables");
        let tables: Vec<Table> = names
            .iter()
            .map(|(name, kind)| table(&connection, name, kind))
            .collect();
        let profiles = tables
            .iter()
            .map(|table| {
                (
                    table.table.clone(),
                    profile(&connection, table, setup.sample),
                )
            })
            .collect();
        let find = |place: &str| column(&tables, place).expect("a column");
        let mut joins = Joins::default();
        for (left, right, runs) in setup.queries {
            let (left, right) = (find(left), find(right));
            joins.add(vec![(left.min(right), left.max(right))], *runs);
        }
        for (child, parent) in setup.stated {
            joins.state(find(child), find(parent));
        }
        Self {
            connection,
            tables,
            profiles,
            joins,
            answers: RefCell::default(),
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        let told = |link: Link| {
            let reasons = link.reasons.join("; ");
            let text = format!("{:.4} {:.4} {reasons}", link.score, link.key_score);
            ((link.id(), link.status.name()), text)
        };
        self.discover().into_iter().map(told).collect()
    }

    pub(super) fn pairs(&self) -> Verdict {
        let settings = RelationshipSettings::default();
        let facts = Facts::gather(&self.tables, &self.profiles, &self.joins);
        let told = |pair: crate::ScoredPair| {
            let (from, to) = (facts.endpoint(pair.child), facts.endpoint(pair.parent));
            let odds = format!("{from} {to} {:.4} {:.4}", pair.odds, pair.strain);
            ((odds, ""), pair.reasons.join("; "))
        };
        score_pairs(&facts, &settings, &Decisions::default(), &[])
            .into_iter()
            .map(told)
            .collect()
    }

    pub(super) fn facts(&self) -> Verdict {
        let facts = Facts::gather(&self.tables, &self.profiles, &self.joins);
        let told = |(at, column): (ColumnId, &crate::ColumnFacts<'_>)| {
            let fact = format!(
                "{} own {:.4} key {:.4} {:?} {} {}",
                facts.endpoint(at),
                column.own,
                column.key,
                column.use_as_key,
                column.looks_identifying(),
                column.is_worded(),
            );
            ((fact, ""), String::new())
        };
        facts.columns().map(told).collect()
    }

    fn discover(&self) -> Vec<Link> {
        let settings = RelationshipSettings::default();
        let mut links = formal_links(&self.tables);
        let facts = Facts::gather(&self.tables, &self.profiles, &self.joins);
        let scored = score_pairs(&facts, &settings, &Decisions::default(), &links);
        let (open, mut scored) = unchecked(&facts, scored, &settings);
        for pair in open {
            match self.values(&facts, pair.child, pair.parent) {
                Some(contained) => scored.extend(rescore(&facts, &pair, contained)),
                None => scored.push(pair),
            }
        }
        for pair in &mut scored {
            if pair.evidence.loose_row_coverage.is_some()
                && pair.likelihood() >= settings.review_threshold
            {
                let (compared, found) =
                    self.groups(&facts, &Proposal::of_columns(pair.child, pair.parent));
                if compared > 0 {
                    note_spelling(pair, ratio(found, compared));
                }
            }
        }
        let mut inferred = resolve(&facts, scored, &links, &settings);
        let single = single_links(&facts, inferred.iter().chain(&links));
        let declared: BTreeSet<String> = links.iter().map(Link::id).collect();
        let mut found: Vec<Link> = propose(&facts, &single)
            .iter()
            .filter_map(|proposal| judge(&facts, proposal, Some(self.groups(&facts, proposal))))
            .filter(|link| !declared.contains(&link.id()))
            .collect();
        settle_groups(&facts, &mut found);
        inferred.extend(found);
        links.append(&mut inferred);
        mark_implied(&facts, &mut links);
        tell_disproof(&mut links);
        let warnings = apply_decisions(&self.tables, &Decisions::default(), &mut links);
        assert_eq!(warnings, Vec::new());
        links
    }

    fn values(&self, facts: &Facts<'_>, child: ColumnId, parent: ColumnId) -> Option<Containment> {
        let values = facts.column(child)?.profile?;
        let literals: Vec<String> = values
            .frequent
            .iter()
            .map(|(text, _)| text.as_str())
            .filter(|text| !["-1", "0", ""].contains(text))
            .map(|text| match text.parse::<i64>() {
                Ok(number) => number.to_string(),
                Err(_) => format!("'{}'", text.replace('\'', "''")),
            })
            .take(200)
            .collect();
        if literals.is_empty() {
            return None;
        }
        let (table, key) = (self.place(parent.table), self.name(parent));
        let list = literals.join(", ");
        let sql = format!("SELECT COUNT(DISTINCT {key}), 0 FROM {table} WHERE {key} IN ({list})");
        let (found, _) = self.counts(sql);
        let share = ratio(found, literals.len() as u64);
        Some(Containment {
            compared: literals.len(),
            found: usize::try_from(found).unwrap_or(usize::MAX),
            distinct: share,
            rows: share,
        })
    }

    fn groups(&self, _: &Facts<'_>, proposal: &Proposal) -> Counts {
        let names = |(table, columns): &(usize, Vec<usize>)| -> Vec<String> {
            let at = |column: &usize| ColumnId {
                table: *table,
                column: *column,
            };
            columns.iter().map(|column| self.name(at(column))).collect()
        };
        let (from, to) = (names(&proposal.child), names(&proposal.parent));
        let list = |columns: &[String], prefix: &str| {
            let named = columns.iter().enumerate();
            let named = named.map(|(at, column)| format!("{column} AS {prefix}{at}"));
            named.collect::<Vec<_>>().join(", ")
        };
        let filled: Vec<String> = from
            .iter()
            .map(|name| format!("{name} IS NOT NULL"))
            .collect();
        let on: Vec<String> = (0..from.len())
            .map(|at| format!("c.c{at} = p.p{at}"))
            .collect();
        self.counts(format!(
            "SELECT COUNT(*), COALESCE(SUM(p.p0 IS NOT NULL), 0) \
             FROM (SELECT DISTINCT {} FROM {} WHERE {} LIMIT 2000) AS c \
             LEFT JOIN (SELECT DISTINCT {} FROM {}) AS p ON {}",
            list(&from, "c"),
            self.place(proposal.child.0),
            filled.join(" AND "),
            list(&to, "p"),
            self.place(proposal.parent.0),
            on.join(" AND "),
        ))
    }

    fn counts(&self, sql: String) -> Counts {
        if let Some(known) = self.answers.borrow().get(&sql) {
            return *known;
        }
        let count = |row: &rusqlite::Row<'_>, at: usize| {
            let count: i64 = row.get(at)?;
            Ok::<u64, rusqlite::Error>(count.unsigned_abs())
        };
        let counts = self
            .connection
            .query_row(&sql, [], |row| Ok((count(row, 0)?, count(row, 1)?)))
            .expect("two counts");
        self.answers.borrow_mut().insert(sql, counts);
        counts
    }

    fn place(&self, table: usize) -> String {
        quoted(&written(&self.tables[table].table))
    }

    fn name(&self, at: ColumnId) -> String {
        quoted(&self.tables[at.table].columns[at.column].name)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn written(table: &TableRef) -> String {
    match &table.db {
        Some(db) => format!("{db}.{}", table.name),
        None => table.name.clone(),
    }
}

fn column(tables: &[Table], place: &str) -> Option<ColumnId> {
    let (named, column) = place.rsplit_once('.')?;
    let table = tables
        .iter()
        .position(|table| written(&table.table) == named)?;
    let columns = &tables.get(table)?.columns;
    let column = columns.iter().position(|known| known.name == column)?;
    Some(ColumnId { table, column })
}

fn table(connection: &Connection, name: &str, kind: &str) -> Table {
    let mut statement = connection
        .prepare("SELECT name, type, \"notnull\" FROM pragma_table_info(?1)")
        .expect("a statement");
    let columns = statement
        .query_map([name], |row| {
            let (name, native): (String, String) = (row.get(0)?, row.get(1)?);
            Ok(Column {
                name,
                dimension_type: dimension(&native),
                normalized_type: native.clone(),
                native_type: native,
                nullable: !row.get::<_, bool>(2)?,
                primary_key: false,
                comment: None,
            })
        })
        .and_then(Iterator::collect)
        .expect("the columns");
    Table {
        table: match name.split_once('.') {
            Some((db, name)) => TableRef::new(None, Some(db), name),
            None => TableRef::bare(name),
        },
        kind: if kind == "view" {
            TableKind::View
        } else {
            TableKind::Table
        },
        comment: None,
        estimated_rows: None,
        columns,
        primary_key: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

fn dimension(native: &str) -> DimensionType {
    match native {
        "INTEGER" | "REAL" | "DECIMAL" => DimensionType::Number,
        "DATE" | "TIMESTAMP" => DimensionType::Time,
        "BOOLEAN" => DimensionType::Boolean,
        _ => DimensionType::String,
    }
}

fn profile(connection: &Connection, table: &Table, sample: Option<usize>) -> TableProfile {
    let columns: Vec<(String, TypeFamily)> = table
        .columns
        .iter()
        .map(|column| (column.name.clone(), TypeFamily::of(column)))
        .collect();
    let names: Vec<String> = columns.iter().map(|(name, _)| quoted(name)).collect();
    let from = quoted(&written(&table.table));
    let sql = format!("SELECT {} FROM {from}", names.join(", "));
    let mut statement = connection.prepare(&sql).expect("a statement");
    let mut read: Vec<Vec<Cell>> = Vec::new();
    let mut rows = statement.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let cells = (0..columns.len()).map(|at| cell(row.get_ref(at).expect("a column")));
        read.push(cells.collect());
    }
    let all = read.len();
    let most = sample.unwrap_or(usize::MAX);
    let every = all.div_ceil(most).max(1);
    let mut collector = TableCollector::new(&columns);
    for cells in read.into_iter().step_by(every) {
        collector.row(cells);
    }
    let extent = if every > 1 {
        Extent::Sample
    } else {
        Extent::Whole
    };
    collector.finish(extent, Some(all as u64))
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        ValueRef::Real(value) => Cell::Float(value),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}
