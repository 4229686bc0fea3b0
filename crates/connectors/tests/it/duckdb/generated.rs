//! Generated schemas: what was created is what is read.

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, DimensionType, ForeignKey, SchemaSnapshot, Scope, Table, TableKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio_util::sync::CancellationToken;

use super::Database;

const TYPES: [(&str, DimensionType); 14] = [
    ("INTEGER", DimensionType::Number),
    ("BIGINT", DimensionType::Number),
    ("HUGEINT", DimensionType::Number),
    ("DECIMAL(10,2)", DimensionType::Number),
    ("DOUBLE", DimensionType::Number),
    ("VARCHAR", DimensionType::String),
    ("UUID", DimensionType::String),
    ("INTEGER[]", DimensionType::String),
    ("STRUCT(a INTEGER, b VARCHAR)", DimensionType::String),
    ("MAP(VARCHAR, INTEGER)", DimensionType::String),
    ("BOOLEAN", DimensionType::Boolean),
    ("DATE", DimensionType::Time),
    ("TIMESTAMP", DimensionType::Time),
    ("TIMESTAMP WITH TIME ZONE", DimensionType::Time),
];

/// Types that a key may have.
const KEY_TYPES: usize = 3;

/// Characters that names and comments are made of.
const LETTERS: &str = "[a-zA-Z_ .'\"%;ä🦀-]{1,12}";

/// One table as it is drawn; names get a number, so that they differ.
#[derive(Debug, Clone)]
struct Draft {
    schema: usize,
    name: String,
    columns: Vec<(String, usize, bool, Option<String>)>,
    comment: Option<String>,
    key: usize,
    /// A parent among the tables before this one.
    parent: Option<prop::sample::Index>,
    rows: u64,
}

fn draft() -> impl Strategy<Value = Draft> {
    let column = (
        LETTERS,
        0..TYPES.len(),
        any::<bool>(),
        proptest::option::of(LETTERS),
    );
    (
        0..3_usize,
        LETTERS,
        vec(column, 1..6),
        proptest::option::of(LETTERS),
        0..3_usize,
        proptest::option::of(any::<prop::sample::Index>()),
        0..5_u64,
    )
        .prop_map(
            |(schema, name, columns, comment, key, parent, rows)| Draft {
                schema,
                name,
                columns,
                comment,
                key,
                parent,
                rows,
            },
        )
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    names.join(", ")
}

/// The statements that make the tables, and the snapshot that they should give.
fn build(drafts: &[Draft]) -> (String, SchemaSnapshot) {
    let schemas = ["main", "sales", "odd \"one\""];
    let mut sql = format!(
        "CREATE SCHEMA sales; CREATE SCHEMA {}; ",
        quoted(schemas[2])
    );
    let mut tables: Vec<Table> = Vec::new();
    for (number, draft) in drafts.iter().enumerate() {
        let schema = schemas[draft.schema];
        let table = table(draft, number, schema, &tables);
        sql.push_str(&statements(draft, &table));
        tables.push(table);
    }
    tables.sort_by(|left, right| left.table.cmp(&right.table));
    let mut schemas: Vec<String> = schemas.iter().map(|name| (*name).to_owned()).collect();
    schemas.sort();
    let snapshot = SchemaSnapshot {
        schemas,
        tables,
        warnings: Vec::new(),
    };
    (sql + "SELECT 1", snapshot)
}

fn table(draft: &Draft, number: usize, schema: &str, before: &[Table]) -> Table {
    let key_columns = draft.key.min(draft.columns.len());
    let mut columns: Vec<Column> = Vec::new();
    for (position, (name, kind, nullable, comment)) in draft.columns.iter().enumerate() {
        let is_key = position < key_columns;
        let kind = if is_key { kind % KEY_TYPES } else { *kind };
        columns.push(column(
            format!("{name}{position}"),
            TYPES[kind],
            (*nullable && !is_key, is_key),
            comment.as_ref(),
        ));
    }
    let parents: Vec<&Table> = before
        .iter()
        .filter(|table| table.table.db.as_deref() == Some(schema) && !table.primary_key.is_empty())
        .collect();
    let mut foreign_keys = Vec::new();
    if let Some(index) = draft.parent
        && !parents.is_empty()
    {
        let parent = parents[index.index(parents.len())];
        let mut from_columns = Vec::new();
        for name in &parent.primary_key {
            let of_parent = parent.columns.iter().find(|column| column.name == *name);
            let native = of_parent.unwrap().native_type.clone();
            let own = format!("ref {name}");
            let dimension = DimensionType::Number;
            columns.push(column(
                own.clone(),
                (&native, dimension),
                (true, false),
                None,
            ));
            from_columns.push(own);
        }
        foreign_keys.push(ForeignKey {
            constraint_name: None,
            from_columns,
            to_table: parent.table.clone(),
            to_columns: parent.primary_key.clone(),
        });
    }
    Table {
        table: TableRef::new(None, Some(schema), &format!("{}{number}", draft.name)),
        kind: TableKind::Table,
        comment: draft.comment.clone().filter(|text| !text.trim().is_empty()),
        estimated_rows: Some(inserted(draft, key_columns)),
        primary_key: columns
            .iter()
            .take(key_columns)
            .map(|column| column.name.clone())
            .collect(),
        columns,
        foreign_keys,
    }
}

/// Tables without NOT NULL and keys get rows of NULL.
fn inserted(draft: &Draft, key_columns: usize) -> u64 {
    let is_open = key_columns == 0 && draft.columns.iter().all(|(_, _, nullable, _)| *nullable);
    if is_open { draft.rows } else { 0 }
}

fn column(
    name: String,
    (native, dimension): (&str, DimensionType),
    (nullable, primary_key): (bool, bool),
    comment: Option<&String>,
) -> Column {
    Column {
        name,
        native_type: native.to_owned(),
        normalized_type: native.to_owned(),
        dimension_type: dimension,
        nullable,
        primary_key,
        comment: comment.cloned().filter(|text| !text.trim().is_empty()),
    }
}

fn statements(draft: &Draft, table: &Table) -> String {
    let place = format!(
        "{}.{}",
        quoted(table.table.db.as_deref().unwrap()),
        quoted(&table.table.name)
    );
    let mut parts: Vec<String> = table
        .columns
        .iter()
        .map(|column| {
            let required = if column.nullable { "" } else { " NOT NULL" };
            format!("{} {}{required}", quoted(&column.name), column.native_type)
        })
        .collect();
    if !table.primary_key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", list(&table.primary_key)));
    }
    for key in &table.foreign_keys {
        parts.push(format!(
            "FOREIGN KEY ({}) REFERENCES {}.{} ({})",
            list(&key.from_columns),
            quoted(key.to_table.db.as_deref().unwrap()),
            quoted(&key.to_table.name),
            list(&key.to_columns)
        ));
    }
    let mut statements = vec![format!("CREATE TABLE {place} ({})", parts.join(", "))];
    if let Some(comment) = &draft.comment {
        let comment = literal(comment);
        statements.push(format!("COMMENT ON TABLE {place} IS {comment}"));
    }
    for column in &table.columns {
        if let Some(comment) = &column.comment {
            let (name, comment) = (quoted(&column.name), literal(comment));
            statements.push(format!("COMMENT ON COLUMN {place}.{name} IS {comment}"));
        }
    }
    if let Some(first) = table.columns.first() {
        let row = format!(
            "INSERT INTO {place} ({}) VALUES (NULL)",
            quoted(&first.name)
        );
        let rows = table.estimated_rows.unwrap_or_default();
        statements.extend((0..rows).map(|_| row.clone()));
    }
    statements.join("; ") + "; "
}

/// The names that DuckDB makes up for constraints are its own affair.
fn without_names(mut snapshot: SchemaSnapshot) -> SchemaSnapshot {
    let keys = snapshot
        .tables
        .iter_mut()
        .flat_map(|table| &mut table.foreign_keys);
    for key in keys {
        key.constraint_name = None;
    }
    snapshot
}

#[test]
fn reads_generated_schemas_as_they_were_made() {
    if Database::new("SELECT 1").is_none() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = Config {
        cases: 40,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&vec(draft(), 1..8), |drafts| {
        let (sql, expected) = build(&drafts);
        let database = Database::new(&sql).unwrap();
        let read = runtime.block_on(async {
            let cancel = CancellationToken::new();
            let connector = database.connector();
            connector.introspect(&Scope::default(), &cancel).await
        });
        let read = without_names(read.unwrap());
        if read == expected {
            Ok(())
        } else {
            Err(TestCaseError::fail(format!(
                "{read:#?}\n{expected:#?}\n{sql}"
            )))
        }
    });
    outcome.unwrap();
}
