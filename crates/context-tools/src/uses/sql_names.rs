//! Suggests names for a statement that the warehouse refused.

use std::collections::BTreeSet;

use ktx_config::Connection;
use ktx_diagnostics::{Code, Failure, nearest};
use ktx_read_only_sql::ReadOnlySql;
use ktx_semantic_layer::{Catalog, Visibility};

use crate::context::ProjectContext;
use crate::reader::Reader;
use crate::scans::{ScanSnapshot, Shown};

const MOST_NAMES: usize = 3;

const MOST_COLUMNS: usize = 20;

pub(super) async fn with_names(
    context: &dyn ProjectContext,
    connection: &Connection,
    statement: &ReadOnlySql,
    failure: Failure,
) -> Failure {
    if failure.code != Code::QueryFailed || context.reader() == Reader::Person {
        return failure;
    }
    let (Ok(catalog), Ok(Some(snapshot))) = (
        context.catalog(&connection.id).await,
        context.snapshot(&connection.id).await,
    ) else {
        return failure;
    };
    let hints = hints(&failure.message, statement, &catalog, &snapshot);
    hints.into_iter().fold(failure, Failure::hint)
}

fn hints(
    message: &str,
    statement: &ReadOnlySql,
    catalog: &Catalog,
    snapshot: &ScanSnapshot,
) -> Vec<String> {
    let shown = Shown::of(catalog, snapshot);
    let places = snapshot.places();
    let mut hints = Vec::new();
    let mut read = Vec::new();
    for name in statement.tables() {
        match places.named(name) {
            [] => {
                let tables = snapshot.tables.iter();
                let near = nearest(name, tables.map(|table| table.table.name.as_str()));
                hints.push(match near.first() {
                    Some(near) => format!("there is no table `{name}`; the nearest is `{near}`"),
                    None => format!("there is no table `{name}`; find tables with `discover_data`"),
                });
            }
            found => read.extend(found.iter().copied()),
        }
    }
    let mut columns: BTreeSet<&str> = BTreeSet::new();
    for table in &read {
        columns.extend(shown.columns(table).map(|column| column.name.as_str()));
        // Only the semantic layer knows a computed column.
        if let Some(source) = shown.source(&table.table) {
            let public = source.columns.iter();
            let public = public.filter(|column| column.visibility == Visibility::Public);
            columns.extend(
                public
                    .filter(|column| column.expr.is_none())
                    .map(|one| one.name.as_str()),
            );
        }
    }
    for name in wrong_columns(message, statement, &columns) {
        let near = nearest(&name, columns.iter().copied());
        let known: Vec<String> = if near.is_empty() {
            columns
                .iter()
                .take(MOST_COLUMNS)
                .map(|one| format!("`{one}`"))
                .collect()
        } else {
            near.iter().map(|one| format!("`{one}`")).collect()
        };
        hints.push(format!(
            "in the place of `{name}`, take one of {}",
            known.join(", ")
        ));
    }
    hints
}

fn wrong_columns(message: &str, statement: &ReadOnlySql, columns: &BTreeSet<&str>) -> Vec<String> {
    let lowered = message.to_lowercase();
    if columns.is_empty() || !lowered.contains("column") && !lowered.contains("identifier") {
        return Vec::new();
    }
    let words = |text: &str| -> Vec<String> {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let words = text.split(|letter| !is_part(letter));
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let written: BTreeSet<String> = words(statement.as_str()).into_iter().collect();
    let is_known = |word: &str| {
        columns
            .iter()
            .any(|column| column.eq_ignore_ascii_case(word))
            || statement
                .tables()
                .iter()
                .any(|table| words(table).iter().any(|part| part == word))
    };
    let mut wrong: Vec<String> = Vec::new();
    for word in words(message) {
        let is_name = word.len() > 1 && !["column", "table", "such", "no"].contains(&word.as_str());
        if is_name && written.contains(&word) && !is_known(&word) && !wrong.contains(&word) {
            wrong.push(word);
        }
    }
    wrong.truncate(MOST_NAMES);
    wrong
}
