//! A SQLite database from a model's data.

use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde_json::Value;

pub(crate) type Rows = (Vec<String>, Vec<Vec<Value>>);

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn sql_type(kind: &str) -> &'static str {
    match kind {
        "int" | "bool" => "INTEGER",
        "float" => "REAL",
        _ => "TEXT",
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(truth) => Cell::Integer(i64::from(*truth)),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Cell::Integer(whole),
            None => Cell::Real(number.as_f64().expect("a number")),
        },
        Value::String(text) => Cell::Text(text.clone()),
        other => panic!("no cell: {other}"),
    }
}

/// `{"tables": {name: {columns, rows}}}`; dotted names become tables of attached databases.
pub(crate) fn database(data: &Value) -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    let tables = data
        .get("tables")
        .and_then(Value::as_object)
        .expect("tables");
    let mut schemas: Vec<&str> = tables
        .keys()
        .filter_map(|name| name.split_once('.'))
        .map(|(schema, _)| schema)
        .collect();
    schemas.sort_unstable();
    schemas.dedup();
    for schema in schemas {
        let sql = format!("ATTACH ':memory:' AS {}", quoted(schema));
        connection.execute(&sql, []).expect("an attached database");
    }
    for (name, table) in tables {
        let name = name.split('.').map(quoted).collect::<Vec<_>>().join(".");
        let columns = table
            .get("columns")
            .and_then(Value::as_array)
            .expect("columns");
        let declared: Vec<String> = columns
            .iter()
            .map(|column| {
                let part = |at: usize| column.get(at).and_then(Value::as_str).expect("a column");
                format!("{} {}", quoted(part(0)), sql_type(part(1)))
            })
            .collect();
        connection
            .execute(
                &format!("CREATE TABLE {name} ({})", declared.join(", ")),
                [],
            )
            .expect("a table");
        let marks = vec!["?"; columns.len()].join(", ");
        let mut insert = connection
            .prepare(&format!("INSERT INTO {name} VALUES ({marks})"))
            .expect("an insert");
        for row in table.get("rows").and_then(Value::as_array).expect("rows") {
            let cells = row.as_array().expect("a row").iter().map(cell);
            insert
                .execute(params_from_iter(cells))
                .expect("a row goes in");
        }
    }
    connection
}

pub(crate) fn run(connection: &Connection, sql: &str) -> Rows {
    let mut statement = connection
        .prepare(sql)
        .unwrap_or_else(|error| panic!("SQLite refused: {error}\n{sql}"));
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let width = names.len();
    let mut found = statement.query([]).expect("a result");
    let mut rows = Vec::new();
    while let Some(row) = found.next().expect("a row") {
        let value = |at: usize| match row.get_ref(at).expect("a cell") {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(whole) => Value::from(whole),
            ValueRef::Real(real) => Value::from(real),
            ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(_) => panic!("a blob"),
        };
        rows.push((0..width).map(value).collect());
    }
    (names, rows)
}
