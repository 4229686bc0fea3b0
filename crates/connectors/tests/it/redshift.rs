//! Redshift's catalog views, imitated in PostgreSQL.

use ktx_config::Driver;
use ktx_sql::Dialect;
use ktx_warehouse::{Cell, RoleCheck, Scope};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::postgres::Database;
use crate::render;
use crate::support::{open, query};

const CATALOG: &str = "
CREATE VIEW svv_tables AS SELECT table_catalog, table_schema, table_name, table_type,
  NULL::varchar AS remarks FROM information_schema.tables;
CREATE VIEW svv_columns AS SELECT table_catalog, table_schema, table_name, column_name,
  ordinal_position, data_type, is_nullable,
  CASE WHEN column_name = 'total' THEN 'with tax' ELSE '' END::varchar AS remarks
  FROM information_schema.columns;
CREATE SCHEMA shop; CREATE SCHEMA empty;
CREATE TABLE shop.customers (id int PRIMARY KEY, name text);
CREATE TABLE shop.orders (id int, line int, customer int REFERENCES shop.customers, total numeric,
  at timestamptz, paid boolean, PRIMARY KEY (line, id));
CREATE VIEW shop.big AS SELECT id FROM shop.orders;
INSERT INTO shop.customers VALUES (1, 'a'), (2, 'b'); ANALYZE shop.customers;";

#[tokio::test]
async fn reads_structure_and_rows_over_the_same_protocol() {
    let Some(database) = Database::new("ktx_redshift", CATALOG).await else {
        return;
    };
    let connector = open(Driver::Redshift, database.fields(json!({})));
    assert_eq!(connector.dialect(), Dialect::Redshift);
    let schemas = vec!["shop".to_owned(), "empty".to_owned()];
    let scope = Scope {
        schemas,
        tables: Vec::new(),
    };
    let cancel = CancellationToken::new();
    let snapshot = connector.introspect(&scope, &cancel).await.unwrap();
    assert_eq!(
        render::snapshot(&snapshot),
        "schemas: shop
view shop.big rows=?
  id: integer number
table shop.customers rows=2
  id: integer number required key
  name: text string
  primary key (id)
table shop.orders rows=?
  id: integer number required key
  line: integer number required key
  customer: integer number
  total: numeric number -- with tax
  at: timestamp with time zone time
  paid: boolean boolean
  primary key (line, id)
  foreign key orders_customer_fkey (customer) -> shop.customers (id)
warning schema_not_found -: the schema `empty` does not exist, is empty, or the login may not use it"
    );
    let result = query(&*connector, "SELECT count(*) FROM shop.customers").await;
    assert_eq!(result.rows, [[Cell::Int(2)]]);
    let check = connector.check(&cancel).await.unwrap();
    let reason = "ktx does not check the rights of Redshift logins".to_owned();
    assert_eq!(check.role, RoleCheck::Unknown { reason });
    assert_eq!(
        database.snapshot_schemas(&*connector).await,
        ["public", "shop"]
    );
}
