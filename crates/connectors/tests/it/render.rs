//! Formats snapshots, results and errors completely.

use ktx_warehouse::{ForeignKey, QueryResult, SchemaSnapshot, Table, WarehouseError};

pub(crate) fn snapshot(snapshot: &SchemaSnapshot) -> String {
    let mut lines = vec![format!("schemas: {}", snapshot.schemas.join(", "))];
    for table in &snapshot.tables {
        lines.push(head(table));
        for column in &table.columns {
            let mut words = vec![format!("  {}:", column.name), column.native_type.clone()];
            if column.normalized_type != column.native_type {
                words.push(format!("({})", column.normalized_type));
            }
            words.push(format!("{:?}", column.dimension_type).to_lowercase());
            words.extend((!column.nullable).then(|| "required".to_owned()));
            words.extend(column.primary_key.then(|| "key".to_owned()));
            words.extend(
                column
                    .comment
                    .as_ref()
                    .map(|comment| format!("-- {comment}")),
            );
            lines.push(words.join(" "));
        }
        if !table.primary_key.is_empty() {
            lines.push(format!("  primary key ({})", table.primary_key.join(", ")));
        }
        lines.extend(table.foreign_keys.iter().map(foreign_key));
    }
    for warning in &snapshot.warnings {
        let place = warning.table.as_deref().unwrap_or("-");
        assert_eq!((&warning.column, warning.recoverable), (&None, true));
        lines.push(format!(
            "warning {} {place}: {}",
            warning.code, warning.message
        ));
    }
    lines.join("\n")
}

fn head(table: &Table) -> String {
    let kind = format!("{:?}", table.kind).to_lowercase();
    let rows = table
        .estimated_rows
        .map_or_else(|| "?".to_owned(), |rows| rows.to_string());
    let comment = table
        .comment
        .as_ref()
        .map(|comment| format!(" -- {comment}"))
        .unwrap_or_default();
    format!("{kind} {} rows={rows}{comment}", table.table)
}

fn foreign_key(key: &ForeignKey) -> String {
    format!(
        "  foreign key {} ({}) -> {} ({})",
        key.constraint_name.as_deref().unwrap_or("-"),
        key.from_columns.join(", "),
        key.to_table,
        key.to_columns.join(", ")
    )
}

pub(crate) fn columns(result: &QueryResult) -> String {
    let mut lines = Vec::new();
    for (index, column) in result.columns.iter().enumerate() {
        let cells: Vec<String> = result
            .rows
            .iter()
            .map(|row| format!("{:?}", row.get(index).expect("a cell per column")))
            .collect();
        let native_type = column.native_type.as_deref().unwrap_or("-");
        lines.push(format!(
            "{} {native_type}: {}",
            column.name,
            cells.join(" | ")
        ));
    }
    lines.join("\n")
}

pub(crate) fn error(error: &WarehouseError) -> String {
    let hint = error.hint.as_deref().unwrap_or("-");
    format!("{}\n{}\n{hint}", error.kind.code(), error.message)
}
