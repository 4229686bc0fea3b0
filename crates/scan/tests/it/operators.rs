//! Tests how the gate, the semantic layer and the history read operators.

mod agreement;

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_read_only_sql::{ReadOnlySql, check};
use ktx_scan::{PastQuery, ScanMode, Switch, scan};
use ktx_semantic_layer::{Catalog, Query, SourceFile, compile};
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Caps, Column, ConnectionCheck, Connector, DimensionType, ErrorKind, QueryEnd, RowSink,
    SchemaSnapshot, Scope, Table, TableKind, WarehouseError,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::histories::usages;
use crate::memory::World;

#[derive(Debug)]
struct EmptyWarehouse {
    dialect: Dialect,
}

fn table(name: &str, columns: &[&str]) -> Table {
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        native_type: "integer".to_owned(),
        normalized_type: "integer".to_owned(),
        dimension_type: DimensionType::Number,
        nullable: true,
        primary_key: false,
        comment: None,
    };
    Table {
        table: TableRef::bare(name),
        kind: TableKind::Table,
        comment: None,
        estimated_rows: Some(0),
        columns: columns.iter().map(column).collect(),
        primary_key: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

#[async_trait]
impl Connector for EmptyWarehouse {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    async fn check(&self, _: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        Err(WarehouseError::new(ErrorKind::Other, "no server answers"))
    }

    async fn introspect(
        &self,
        _: &Scope,
        _: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        Ok(SchemaSnapshot {
            tables: vec![table("t", &["a", "b", "s", "l"]), table("u", &["id"])],
            ..SchemaSnapshot::default()
        })
    }

    async fn query(
        &self,
        _: &ReadOnlySql,
        _: &Caps,
        _: &mut dyn RowSink,
        _: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        Ok(QueryEnd {
            rows: 0,
            truncated: false,
        })
    }
}

fn gate_text(dialect: Dialect, expression: &str) -> String {
    match check(&format!("SELECT {expression} FROM t"), dialect) {
        Ok(statement) => {
            let text = statement.as_str();
            let text = text.strip_prefix("SELECT ").unwrap_or(text);
            text.strip_suffix(" FROM t").unwrap_or(text).to_owned()
        }
        Err(refusal) => format!("refused: {}", refusal.reason),
    }
}

fn compiled_text(dialect: Dialect, expression: &str) -> String {
    let source = format!(
        "name: t\ntable: t\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\n\
         - {{name: a, type: number}}\n- {{name: b, type: number}}\n- {{name: s, type: string}}\n\
         - {{name: l, type: string}}\n- {{name: x, type: number, expr: {}}}\n\
         measures:\n- {{name: n, expr: count(*)}}\n",
        json!(expression)
    );
    let catalog = Catalog::load(vec![SourceFile::new("t.yaml", source)], dialect);
    let query = json!({"measures": ["t.n"], "dimensions": ["t.x"]});
    let query = Query::from_value(&query).expect("a query");
    match compile(&catalog, &query, dialect) {
        Ok(compiled) => {
            let line = compiled.sql.lines().nth(1).unwrap_or_default();
            let line = line.strip_prefix("SELECT ").unwrap_or(line);
            line.split(" AS d1_x").next().unwrap_or(line).to_owned()
        }
        Err(error) => format!("refused: {}", error.message),
    }
}

async fn history_verdict(dialect: Dialect, expression: &str) -> &'static str {
    let world = World::new(Arc::new(EmptyWarehouse { dialect }));
    let mut request = world.request(ScanMode::Relationships);
    request.settings.history.warehouse = Switch::On;
    request.settings.history.queries = vec![PastQuery {
        text: format!("SELECT {expression} FROM t JOIN u ON t.a = u.id"),
        runs: 1,
    }];
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    let joins = &usages(&world)["t"]["commonJoins"];
    if *joins == json!([{"table": "u", "on": ["a = id"]}]) {
        "read"
    } else {
        "not read"
    }
}

async fn readings(dialect: Dialect, expressions: &[&str]) -> String {
    let mut lines = String::new();
    for expression in expressions {
        writeln!(
            lines,
            "{expression}\n  gate:     {}\n  compiler: {}\n  history:  {}",
            gate_text(dialect, expression),
            compiled_text(dialect, expression),
            history_verdict(dialect, expression).await,
        )
        .expect("a string");
    }
    lines
}

#[tokio::test]
async fn the_readings_of_sqlite_operators() {
    let expressions = [
        "s GLOB 'a*'",
        "s NOT GLOB 'a*'",
        "a IS 5",
        "a IS NOT b + 1",
        "a IS NULL",
        "a ISNULL",
        "a NOTNULL",
        "a NOT NULL",
        "a << 1",
        "0x1F",
        "a DIV 2",
    ];
    insta::assert_snapshot!(readings(Dialect::Sqlite, &expressions).await);
}

#[tokio::test]
async fn the_readings_of_duckdb_operators() {
    let expressions = [
        "s GLOB 'a*'",
        "s NOT GLOB 'a*'",
        "a IN [5, 7]",
        "a NOT IN l",
        "a IN (5, 7)",
        "a ** 2",
        "2 * a ^ 2",
        "a // 2",
        "s ^@ 'a'",
        "l && l",
        "a ISNULL",
        "a NOTNULL",
        "a = 1 ? b : 2",
    ];
    insta::assert_snapshot!(readings(Dialect::DuckDb, &expressions).await);
}

#[tokio::test]
async fn the_readings_of_clickhouse_operators() {
    let expressions = [
        "a DIV 2",
        "a MOD 2",
        "a > 1 ? b : 0",
        "a = 1 ? b : (b = 3 ? 1 : 2)",
        "a IN (5, 7)",
        "a GLOBAL IN (5, 7)",
        "a GLOBAL NOT IN (5, 7)",
        "s GLOB 'a*'",
    ];
    insta::assert_snapshot!(readings(Dialect::ClickHouse, &expressions).await);
}

#[tokio::test]
async fn the_readings_of_mysql_operators() {
    let expressions = [
        "a DIV 2",
        "a MOD 2",
        "a > 1 && b > 1",
        "a = 1 && b = 2 OR a = 3",
        "a > 1 XOR b > 1",
        "a <=> b",
        "s SOUNDS LIKE 'a'",
        "s RLIKE 'a.*'",
        "a ISNULL",
    ];
    insta::assert_snapshot!(readings(Dialect::MySql, &expressions).await);
}

#[tokio::test]
async fn the_readings_of_databricks_operators() {
    let expressions = ["a DIV 2", "s:x.y[0]", "a <=> b", "a ** 2"];
    insta::assert_snapshot!(readings(Dialect::Databricks, &expressions).await);
}

#[tokio::test]
async fn the_readings_of_postgres_and_redshift_operators() {
    let expressions = [
        "a ISNULL",
        "a NOTNULL",
        "a BETWEEN SYMMETRIC 5 AND 1",
        "a ^ 2",
        "@ a",
        "|/ a",
        "l && l",
        "a DIV 2",
    ];
    insta::assert_snapshot!("postgres", readings(Dialect::Postgres, &expressions).await);
    insta::assert_snapshot!("redshift", readings(Dialect::Redshift, &expressions).await);
}
