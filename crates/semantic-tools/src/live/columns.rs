//! Compares declared columns with those of the warehouse.

use ktx_semantic_layer::{Catalog, ColumnType, Part, Relation, Source, column_type, place_of};
use ktx_sql::Dialect;
use ktx_warehouse::{DimensionType, SchemaSnapshot};

use super::{LiveFinding, Severity};

#[derive(Debug, Clone)]
pub(super) struct RelationColumn {
    pub(super) name: String,
    pub(super) native_type: Option<String>,
    pub(super) kind: Option<ColumnType>,
}

/// `None` if the table is missing or ambiguous, or if the source is a query.
pub(super) fn scanned(source: &Source, snapshot: &SchemaSnapshot) -> Option<Vec<RelationColumn>> {
    let Relation::Table(written) = &source.relation else {
        return None;
    };
    let wanted = bare(written);
    let mut fitting = snapshot.tables.iter().filter(|table| {
        let place = table.table.to_string().to_lowercase();
        is_end_of(&wanted, &place) || is_end_of(&place, &wanted)
    });
    let (Some(table), None) = (fitting.next(), fitting.next()) else {
        return None;
    };
    Some(
        table
            .columns
            .iter()
            .map(|column| RelationColumn {
                name: column.name.clone(),
                native_type: Some(column.native_type.clone()),
                kind: Some(match column.dimension_type {
                    DimensionType::Time => ColumnType::Time,
                    DimensionType::String => ColumnType::String,
                    DimensionType::Number => ColumnType::Number,
                    DimensionType::Boolean => ColumnType::Boolean,
                }),
            })
            .collect(),
    )
}

fn bare(table: &str) -> String {
    table
        .to_lowercase()
        .replace(['"', '`', '[', ']'], "")
        .trim()
        .to_owned()
}

fn is_end_of(end: &str, whole: &str) -> bool {
    whole == end
        || whole
            .strip_suffix(end)
            .is_some_and(|rest| rest.ends_with('.'))
}

pub(super) fn compare(
    catalog: &Catalog,
    source: &Source,
    known: &[RelationColumn],
) -> Vec<LiveFinding> {
    // A warehouse that only compiles reports no columns.
    if known.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for column in source.columns.iter().filter(|column| column.expr.is_none()) {
        let found = known
            .iter()
            .find(|known| known.name.eq_ignore_ascii_case(&column.name));
        let (severity, kind, message) = match found {
            None => {
                let names = known.iter().map(|known| known.name.as_str());
                let near = ktx_diagnostics::nearest(&column.name, names);
                let hint = near
                    .first()
                    .map_or(String::new(), |name| format!("; did you mean `{name}`"));
                let message = format!("is not in {}{hint}", relation(source));
                (Severity::Error, "unknown_column", message)
            }
            Some(found) => {
                let native = found.native_type.as_deref();
                let kind = found.kind.or_else(|| native.map(column_type));
                let Some(severity) =
                    kind.and_then(|kind| mismatch(column.kind, kind, catalog.dialect()))
                else {
                    continue;
                };
                let message = format!(
                    "is declared as {}, the warehouse has `{}`",
                    column.kind.name(),
                    native.unwrap_or_default()
                );
                (severity, "type_mismatch", message)
            }
        };
        findings.push(LiveFinding {
            severity,
            kind,
            source: source.name.clone(),
            location: place_of(catalog, source, &Part::Column(column.name.clone())),
            message: format!("column `{}` {message}", column.name),
        });
    }
    findings
}

fn relation(source: &Source) -> String {
    match &source.relation {
        Relation::Table(table) => format!("table `{table}`"),
        Relation::Sql(_) => "the result of the query".to_owned(),
    }
}

fn mismatch(declared: ColumnType, actual: ColumnType, dialect: Dialect) -> Option<Severity> {
    use ColumnType::{Boolean, Number, String, Time};
    if declared == actual {
        return None;
    }
    match (declared, actual, dialect) {
        // These types do not exist there: numbers and strings replace them.
        (Time | Boolean, Number | String, Dialect::Sqlite)
        | (Boolean, Number, Dialect::MySql | Dialect::MariaDb) => None,
        // Types of SQLite columns are hints.
        (_, _, Dialect::Sqlite) | (String, _, _) => Some(Severity::Warning),
        (Boolean, Number, _) | (Number, Boolean, _) => Some(Severity::Warning),
        _ => Some(Severity::Error),
    }
}
