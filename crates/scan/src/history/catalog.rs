//! Finds the tables and columns that a query names.

use std::collections::BTreeMap;

use ktx_relationships::types::ColumnId;
use ktx_sql::Dialect;
use ktx_warehouse::Table;

/// If several schemas have a table, a bare name means one of these.
const USUAL_SCHEMAS: &[&str] = &["public", "dbo", "main", "default"];

#[derive(Debug)]
pub(crate) struct Catalog<'a> {
    tables: &'a [Table],
    by_name: BTreeMap<String, Vec<usize>>,
    columns: BTreeMap<(usize, String), usize>,
}

impl<'a> Catalog<'a> {
    pub(crate) fn of(tables: &'a [Table]) -> Self {
        let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut columns = BTreeMap::new();
        for (at, table) in tables.iter().enumerate() {
            by_name
                .entry(table.table.name.to_lowercase())
                .or_default()
                .push(at);
            for (column, named) in table.columns.iter().enumerate() {
                columns
                    .entry((at, named.name.to_lowercase()))
                    .or_insert(column);
            }
        }
        Self {
            tables,
            by_name,
            columns,
        }
    }

    /// `None` if unknown or ambiguous.
    pub(crate) fn table(&self, parts: &[String]) -> Option<usize> {
        let (name, places) = parts.split_last()?;
        let all = self.by_name.get(&name.to_lowercase())?;
        let fits = |at: &&usize| {
            let Some(place) = self.tables.get(**at).map(|table| &table.table) else {
                return false;
            };
            let own = [place.db.as_deref(), place.catalog.as_deref()];
            places
                .iter()
                .rev()
                .zip(own)
                .all(|(part, own)| own.is_none_or(|own| own.eq_ignore_ascii_case(part)))
        };
        let fitting: Vec<usize> = all.iter().filter(fits).copied().collect();
        match fitting.as_slice() {
            [only] => Some(*only),
            several => {
                let usual = several.iter().filter(|at| {
                    let schema = self
                        .tables
                        .get(**at)
                        .and_then(|table| table.table.db.as_deref());
                    schema.is_some_and(|schema| {
                        USUAL_SCHEMAS.contains(&schema.to_lowercase().as_str())
                    })
                });
                let usual: Vec<usize> = usual.copied().collect();
                match usual.as_slice() {
                    [only] => Some(*only),
                    _ => None,
                }
            }
        }
    }

    pub(crate) fn named(&self, word: &str) -> impl Iterator<Item = usize> {
        let last = word.rsplit('.').next().unwrap_or(word).to_lowercase();
        self.by_name.get(&last).into_iter().flatten().copied()
    }

    /// If the record spans databases, requires every part. Otherwise a bare name is in one of the
    /// usual schemas.
    pub(crate) fn exact(&self, parts: &[String], dialect: Dialect) -> Option<usize> {
        let (name, places) = parts.split_last()?;
        let spans = matches!(
            dialect,
            Dialect::Snowflake | Dialect::BigQuery | Dialect::ClickHouse
        );
        let mut said = places.iter().rev();
        let (schema, catalog) = (said.next(), said.next());
        if said.next().is_some() {
            return None;
        }
        let is_at = |at: &&usize| {
            let Some(place) = self.tables.get(**at).map(|table| &table.table) else {
                return false;
            };
            let schema_fits = match (schema, place.db.as_deref()) {
                (Some(said), Some(own)) => own.eq_ignore_ascii_case(said),
                (None, None) => true,
                (Some(said), None) => said.eq_ignore_ascii_case("main"),
                (None, Some(own)) => !spans && USUAL_SCHEMAS.contains(&own.to_lowercase().as_str()),
            };
            let catalog_fits = match (catalog, place.catalog.as_deref()) {
                (Some(said), Some(own)) => own.eq_ignore_ascii_case(said),
                (Some(_), None) => false,
                (None, own) => own.is_none() || !spans,
            };
            schema_fits && catalog_fits
        };
        let mut fitting = self.by_name.get(&name.to_lowercase())?.iter().filter(is_at);
        fitting.next().copied().filter(|_| fitting.next().is_none())
    }

    pub(crate) fn column(&self, table: usize, name: &str) -> Option<ColumnId> {
        let column = *self.columns.get(&(table, name.to_lowercase()))?;
        Some(ColumnId { table, column })
    }

    pub(crate) fn columns(&self, table: usize) -> BTreeMap<String, ColumnId> {
        let Some(found) = self.tables.get(table) else {
            return BTreeMap::new();
        };
        let named = found.columns.iter().enumerate();
        named
            .map(|(column, named)| (named.name.to_lowercase(), ColumnId { table, column }))
            .collect()
    }
}
