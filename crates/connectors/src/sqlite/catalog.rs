//! Reads a SQLite file: four queries, plus a size estimate per table.

use std::collections::BTreeMap;

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, ForeignKey, ScanWarning, SchemaSnapshot, Scope, Table, TableKind};
use rusqlite::{Connection, Error};

use super::types;

const COUNTED_ROWS: u64 = 10_000;

/// Minimum bytes of a row: pointer, header and key.
const SMALLEST_ROW: u64 = 6;

struct CatalogRelation {
    name: String,
    kind: TableKind,
    has_rowid: bool,
}

/// Key positions count from 1; 0: not in the key.
struct RawColumn {
    column: Column,
    key: u32,
}

/// Tables have no schema: a file is one namespace.
pub(super) fn read(session: &Connection, scope: &Scope) -> Result<SchemaSnapshot, Error> {
    let relations: Vec<CatalogRelation> = relations(session)?
        .into_iter()
        .filter(|relation| scope.admits(&TableRef::bare(&relation.name)))
        .collect();
    let mut warnings = Vec::new();
    let mut columns = columns(session, &relations, &mut warnings)?;
    let statistics = statistics(session)?;
    let bytes = file_bytes(session)?;
    let mut tables = Vec::new();
    for relation in relations {
        let Some(raw) = columns.remove(&relation.name) else {
            continue;
        };
        let estimated_rows = match statistics.get(&relation.name) {
            Some(rows) => Some(*rows),
            None if relation.kind == TableKind::Table && relation.has_rowid => {
                estimate(session, &relation.name, &raw, bytes)?
            }
            None => None,
        };
        tables.push(table(&relation, raw, estimated_rows));
    }
    foreign_keys(session, &mut tables, &mut warnings)?;
    tables.sort_by(|left, right| left.table.cmp(&right.table));
    warnings.sort_by(|left: &ScanWarning, right| {
        (&left.table, &left.code).cmp(&(&right.table, &right.code))
    });
    Ok(SchemaSnapshot {
        schemas: Vec::new(),
        listing: Vec::new(),
        tables,
        warnings,
    })
}

fn table(relation: &CatalogRelation, raw: Vec<RawColumn>, estimated_rows: Option<u64>) -> Table {
    let mut key: Vec<(u32, String)> = raw
        .iter()
        .filter(|raw| raw.key > 0)
        .map(|raw| (raw.key, raw.column.name.clone()))
        .collect();
    key.sort();
    Table {
        table: TableRef::bare(&relation.name),
        kind: relation.kind,
        comment: None,
        estimated_rows,
        columns: raw.into_iter().map(|raw| raw.column).collect(),
        primary_key: key.into_iter().map(|(_, name)| name).collect(),
        foreign_keys: Vec::new(),
    }
}

fn relations(session: &Connection) -> Result<Vec<CatalogRelation>, Error> {
    let mut statement = session.prepare(
        "SELECT name, type, wr FROM pragma_table_list
         WHERE schema = 'main' AND type IN ('table', 'view', 'virtual')
           AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name",
    )?;
    let rows = statement.query_map([], |row| {
        let kind: String = row.get(1)?;
        let without_rowid: bool = row.get(2)?;
        Ok(CatalogRelation {
            name: row.get(0)?,
            kind: if kind == "view" {
                TableKind::View
            } else {
                TableKind::Table
            },
            has_rowid: kind == "table" && !without_rowid,
        })
    })?;
    rows.collect()
}

const COLUMNS: &str = "SELECT m.name, x.name, x.type, x.\"notnull\", x.pk
    FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) x
    WHERE m.type IN ('table', 'view') AND x.hidden <> 1";

/// A broken view or unknown module fails the query for all columns; then each relation is queried
/// alone, and broken ones become warnings.
fn columns(
    session: &Connection,
    relations: &[CatalogRelation],
    warnings: &mut Vec<ScanWarning>,
) -> Result<BTreeMap<String, Vec<RawColumn>>, Error> {
    let mut found = BTreeMap::new();
    let whole = format!("{COLUMNS} ORDER BY m.name, x.cid");
    if collect_columns(session, &whole, [], &mut found).is_ok() {
        return Ok(found);
    }
    found.clear();
    let single = format!("{COLUMNS} AND m.name = ?1 ORDER BY x.cid");
    for relation in relations {
        match collect_columns(session, &single, [&relation.name], &mut found) {
            Ok(()) => {}
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) =>
            {
                return Err(error);
            }
            Err(error) => warnings.push(ScanWarning {
                code: "table_unreadable".to_owned(),
                message: format!(
                    "the columns of `{}` cannot be read: {}",
                    relation.name,
                    message_of(&error)
                ),
                table: Some(relation.name.clone()),
                column: None,
                recoverable: true,
            }),
        }
    }
    Ok(found)
}

fn message_of(error: &Error) -> String {
    match error {
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

fn collect_columns<P: rusqlite::Params>(
    session: &Connection,
    sql: &str,
    parameters: P,
    found: &mut BTreeMap<String, Vec<RawColumn>>,
) -> Result<(), Error> {
    let mut statement = session.prepare(sql)?;
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        let relation: String = row.get(0)?;
        let native_type = row.get::<_, Option<String>>(2)?.unwrap_or_default();
        let key: u32 = row.get(4)?;
        let not_null: bool = row.get(3)?;
        let column = Column {
            name: row.get(1)?,
            normalized_type: if native_type.is_empty() {
                "unknown".to_owned()
            } else {
                native_type.clone()
            },
            dimension_type: types::dimension(&native_type),
            nullable: !not_null,
            primary_key: key > 0,
            native_type,
            comment: None,
        };
        found
            .entry(relation)
            .or_default()
            .push(RawColumn { column, key });
    }
    for raw in found.values_mut() {
        mark_rowid_alias(raw);
    }
    Ok(())
}

/// A single INTEGER key column is the row number and never NULL, which the catalog does not say.
fn mark_rowid_alias(columns: &mut [RawColumn]) {
    let mut keys = columns.iter_mut().filter(|raw| raw.key > 0);
    if let (Some(only), None) = (keys.next(), keys.next())
        && only.column.native_type.eq_ignore_ascii_case("integer")
    {
        only.column.nullable = false;
    }
}

fn statistics(session: &Connection) -> Result<BTreeMap<String, u64>, Error> {
    let exists: bool = session.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'",
        [],
        |row| row.get(0),
    )?;
    if !exists {
        return Ok(BTreeMap::new());
    }
    // `stat` starts with the row count; partial indexes count fewer rows.
    let mut statement = session.prepare(
        "SELECT tbl, max(CAST(stat AS INTEGER)) FROM sqlite_stat1 WHERE stat IS NOT NULL GROUP BY tbl",
    )?;
    let rows = statement.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0),
        ))
    })?;
    rows.collect()
}

fn file_bytes(session: &Connection) -> Result<u64, Error> {
    let pages: i64 = session.query_row("SELECT page_count FROM pragma_page_count", [], |row| {
        row.get(0)
    })?;
    let size: i64 = session.query_row("SELECT page_size FROM pragma_page_size", [], |row| {
        row.get(0)
    })?;
    Ok(u64::try_from(pages.saturating_mul(size)).unwrap_or(0))
}

/// Counts up to [`COUNTED_ROWS`] rows. Estimates larger tables by the span of row numbers, too high
/// after deletions, but at most what fits in the file.
fn estimate(
    session: &Connection,
    name: &str,
    columns: &[RawColumn],
    file_bytes: u64,
) -> Result<Option<u64>, Error> {
    let hidden = |alias: &str| {
        columns
            .iter()
            .any(|raw| raw.column.name.eq_ignore_ascii_case(alias))
    };
    let Some(rowid) = ["rowid", "_rowid_", "oid"]
        .into_iter()
        .find(|alias| !hidden(alias))
    else {
        return Ok(None);
    };
    let quoted = Dialect::Sqlite.quote(name);
    let counted: i64 = session.query_row(
        &format!(
            "SELECT count(*) FROM (SELECT 1 FROM {quoted} LIMIT {})",
            COUNTED_ROWS + 1
        ),
        [],
        |row| row.get(0),
    )?;
    let counted = u64::try_from(counted).unwrap_or(0);
    if counted <= COUNTED_ROWS {
        return Ok(Some(counted));
    }
    let end = |function: &str| {
        session.query_row(
            &format!("SELECT {function}({rowid}) FROM {quoted}"),
            [],
            |row| row.get::<_, Option<i64>>(0),
        )
    };
    let (Some(first), Some(last)) = (end("min")?, end("max")?) else {
        return Ok(Some(counted));
    };
    let span = last.abs_diff(first).saturating_add(1);
    Ok(Some(span.min(file_bytes / SMALLEST_ROW).max(counted)))
}

struct KeyLink {
    from: String,
    to: Option<String>,
}

/// Names are case-insensitive; a key without columns means the parent's primary key. SQLite stores
/// no constraint names.
fn foreign_keys(
    session: &Connection,
    tables: &mut [Table],
    warnings: &mut Vec<ScanWarning>,
) -> Result<(), Error> {
    let parents: BTreeMap<String, (TableRef, Vec<String>, Vec<String>)> = tables
        .iter()
        .map(|table| {
            let names = table
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect();
            (
                table.table.name.to_ascii_lowercase(),
                (table.table.clone(), names, table.primary_key.clone()),
            )
        })
        .collect();
    let mut grouped = links(session)?;
    for table in tables.iter_mut() {
        let Some(keys) = grouped.remove(&table.table.name) else {
            continue;
        };
        for (parent, links) in keys.into_values().rev() {
            let known = parents.get(&parent.to_ascii_lowercase());
            let names: &[String] = known
                .map(|(_, names, _)| names.as_slice())
                .unwrap_or_default();
            let implied = known.map(|(_, _, key)| key.as_slice()).unwrap_or_default();
            let to_columns: Option<Vec<String>> = links
                .iter()
                .enumerate()
                .map(|(position, link)| match &link.to {
                    Some(name) => Some(same_name(names, name)),
                    None => implied.get(position).cloned(),
                })
                .collect();
            let Some(to_columns) = to_columns else {
                warnings.push(unresolved(table, &parent));
                continue;
            };
            let own: Vec<String> = table
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect();
            table.foreign_keys.push(ForeignKey {
                constraint_name: None,
                from_columns: links
                    .iter()
                    .map(|link| same_name(&own, &link.from))
                    .collect(),
                to_table: known
                    .map_or_else(|| TableRef::bare(&parent), |(place, _, _)| place.clone()),
                to_columns,
            });
        }
    }
    Ok(())
}

fn unresolved(table: &Table, parent: &str) -> ScanWarning {
    ScanWarning {
        code: "foreign_key_unresolved".to_owned(),
        message: format!(
            "a foreign key of `{}` refers to the primary key of `{parent}`, which has none here",
            table.table
        ),
        table: Some(table.table.to_string()),
        column: None,
        recoverable: true,
    }
}

fn same_name(names: &[String], name: &str) -> String {
    names
        .iter()
        .find(|known| known.eq_ignore_ascii_case(name))
        .map_or_else(|| name.to_owned(), Clone::clone)
}

type LinksByTable = BTreeMap<String, BTreeMap<i64, (String, Vec<KeyLink>)>>;

fn links(session: &Connection) -> Result<LinksByTable, Error> {
    let mut statement = session.prepare(
        "SELECT m.name, f.id, f.\"table\", f.\"from\", f.\"to\"
         FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f
         WHERE m.type = 'table' ORDER BY m.name, f.id, f.seq",
    )?;
    let mut rows = statement.query([])?;
    let mut grouped = LinksByTable::new();
    while let Some(row) = rows.next()? {
        let (id, parent): (i64, String) = (row.get(1)?, row.get(2)?);
        let link = KeyLink {
            from: row.get(3)?,
            to: row.get(4)?,
        };
        let keys = grouped.entry(row.get(0)?).or_default();
        keys.entry(id)
            .or_insert_with(|| (parent, Vec::new()))
            .1
            .push(link);
    }
    Ok(grouped)
}
