//! The changes of a dry run.

use std::collections::BTreeMap;

use ktx_config::Connection;
use ktx_project_store::Content;
use ktx_scan::{ScanOutcome, StructuralChange, TableDifference};
use ktx_semantic_layer::{Catalog, SourceFile};
use ktx_semantic_tools::{Change, Difference, Subject, diff};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use super::files::ScanFiles;
use crate::compose;
use crate::report::Outcome;

const MOST_LINES: usize = 40;

/// Tables and columns of the warehouse; joins and measures of the sources.
#[derive(Debug)]
pub(crate) struct PlannedChanges {
    tables: Vec<TableDifference>,
    meaning: Vec<Difference>,
}

impl PlannedChanges {
    pub(super) fn of(
        connection: &Connection,
        files: &ScanFiles,
        outcome: &ScanOutcome,
    ) -> Outcome<Self> {
        let dialect = compose::dialect(connection.driver).unwrap_or(Dialect::Postgres);
        let folder = format!("semantic-layer/{}/", connection.id);
        let before = files.below(&folder)?;
        let mut after = before.clone();
        for change in &outcome.planned {
            let path = change.path.as_str();
            match &change.content {
                Content::Write(bytes) => after.insert(path.to_owned(), bytes.clone()),
                Content::Delete => after.remove(path),
            };
        }
        let load = |files: BTreeMap<String, Vec<u8>>| {
            let sources = files.into_iter().filter_map(|(path, bytes)| {
                let name = path.strip_prefix(&folder)?;
                // Excludes review decisions.
                (!name.starts_with("_review/")).then(|| SourceFile::new(name, bytes))
            });
            Catalog::load(sources.collect(), dialect)
        };
        Ok(Self {
            tables: outcome.differences.clone(),
            meaning: diff(&load(before), &load(after)),
        })
    }

    fn meant(&self) -> impl Iterator<Item = &Difference> {
        let is_turned = |found: &Difference, at: usize| {
            let before = self.meaning.iter().take(at);
            let mut joins = before.filter(|other| other.subject == Subject::Join);
            joins.any(|other| other.source == found.name && other.name == found.source)
        };
        let all = self.meaning.iter().enumerate();
        all.filter(move |(at, found)| match found.subject {
            Subject::Join => !is_turned(found, *at),
            Subject::Measure => true,
            Subject::Source | Subject::Column | Subject::Segment => false,
        })
        .map(|(_, found)| found)
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.tables.iter().map(table_line).collect();
        lines.extend(self.meant().map(|found| {
            let sign = sign_of(&found.change);
            match found.subject {
                Subject::Join => format!("{sign} join {} -> {}", found.source, found.name),
                _ => format!(
                    "{sign} measure {}.{}{}",
                    found.source,
                    found.name,
                    effect_note(found)
                ),
            }
        }));
        if lines.len() > MOST_LINES {
            let more = lines.len() - MOST_LINES;
            lines.truncate(MOST_LINES);
            lines.push(format!("and {more} more; `--json` has them all"));
        }
        lines
    }

    pub(crate) fn to_json(&self) -> Value {
        let tables = self.tables.iter().map(
            |found| json!({ "table": found.table.to_string(), "change": found.change.name() }),
        );
        let columns = self.tables.iter().flat_map(|found| {
            found.columns.iter().map(|(column, change)| {
                json!({
                    "table": found.table.to_string(),
                    "column": column,
                    "change": change.name(),
                })
            })
        });
        let of = |subject: Subject| {
            let found = self.meant().filter(move |found| found.subject == subject);
            found.map(move |found| {
                let change = match &found.change {
                    Change::Added => "added",
                    Change::Removed => "deleted",
                    Change::Changed(_) => "modified",
                };
                let name = found.name.as_str();
                match subject {
                    Subject::Join => {
                        json!({ "source": found.source, "to": name, "change": change })
                    }
                    _ => json!({
                        "source": found.source,
                        "measure": name,
                        "change": change,
                        "effect": found.effect.name(),
                        "computable": !found.loses_measure(),
                    }),
                }
            })
        };
        json!({
            "tables": tables.collect::<Vec<_>>(),
            "columns": columns.collect::<Vec<_>>(),
            "joins": of(Subject::Join).collect::<Vec<_>>(),
            "measures": of(Subject::Measure).collect::<Vec<_>>(),
        })
    }
}

fn table_line(found: &TableDifference) -> String {
    let sign = structural_sign(found.change);
    let columns: Vec<String> = found
        .columns
        .iter()
        .map(|(column, change)| format!("{} column {column}", structural_sign(*change)))
        .collect();
    if columns.is_empty() {
        return format!("{sign} table {}", found.table);
    }
    format!("{sign} table {}: {}", found.table, columns.join(", "))
}

const fn structural_sign(change: StructuralChange) -> char {
    match change {
        StructuralChange::Added => '+',
        StructuralChange::Modified => '~',
        StructuralChange::Deleted => '-',
    }
}

const fn sign_of(change: &Change) -> char {
    match change {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Changed(_) => '~',
    }
}

fn effect_note(found: &Difference) -> &'static str {
    if found.loses_measure() {
        " (can no longer be computed)"
    } else if found.can_change_numbers() {
        " (numbers can change)"
    } else {
        ""
    }
}
