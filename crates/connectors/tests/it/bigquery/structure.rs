//! The structure of BigQuery datasets.

use ktx_warehouse::Scope;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::connector;
use super::fake::{BigQuery, FakeStatement, table};
use crate::render;

fn catalog() -> Vec<FakeStatement> {
    let mut statements = tables_and_columns();
    statements.extend(comments_and_keys());
    statements
}

fn tables_and_columns() -> Vec<FakeStatement> {
    let columns = table(&[
        "big|n|YES|INT64|NO",
        "orders|id|NO|INT64|NO",
        "orders|shop|NO|STRING|NO",
        "orders|customer|YES|INT64|NO",
        "orders|who|YES|STRUCT<name STRING, town STRING>|NO",
        "orders|tags|NO|ARRAY<STRING>|NO",
        "orders|_PARTITIONTIME|YES|TIMESTAMP|YES",
    ]);
    vec![
        FakeStatement::new(
            "FROM `shop-1`.`shop`.INFORMATION_SCHEMA.TABLES ",
            &["a STRING", "b STRING"],
        )
        .page(table(&[
            "big|VIEW",
            "hidden|BASE TABLE",
            "lines|BASE TABLE",
            "orders|BASE TABLE",
            "raw|EXTERNAL",
        ])),
        FakeStatement::new(
            ".INFORMATION_SCHEMA.COLUMNS ",
            &["a STRING", "b STRING", "c STRING", "d STRING", "e STRING"],
        )
        .page(columns),
        FakeStatement::new("`shop`.__TABLES__", &["a STRING", "b INTEGER"]).page(table(&[
            "orders|12",
            "big|0",
            "lines|40",
        ])),
        FakeStatement::new(
            ".INFORMATION_SCHEMA.TABLE_OPTIONS ",
            &["a STRING", "b STRING", "c STRING"],
        )
        .page(table(&[
            "big|[]|labels",
            "orders|\"what was \\\"sold\\\"\"|description",
        ])),
    ]
}

fn comments_and_keys() -> Vec<FakeStatement> {
    vec![
        FakeStatement::new(
            ".INFORMATION_SCHEMA.COLUMN_FIELD_PATHS ",
            &["a STRING", "b STRING", "c STRING", "d STRING"],
        )
        .page(table(&[
            "orders|id|id|the number",
            "orders|who|who|who bought",
            "orders|who|who.town|where they live",
        ])),
        FakeStatement::new(
            ".INFORMATION_SCHEMA.KEY_COLUMN_USAGE ",
            &[
                "a STRING",
                "b STRING",
                "c STRING",
                "d STRING",
                "e INTEGER",
                "f STRING",
                "g STRING",
                "h STRING",
            ],
        )
        .page(json!([
            [
                "lines",
                "FOREIGN KEY",
                "lines.bought",
                "the_shop",
                "2",
                "shop-1",
                "shop",
                "orders"
            ],
            [
                "lines",
                "FOREIGN KEY",
                "lines.bought",
                "the_id",
                "1",
                "shop-1",
                "shop",
                "orders"
            ],
            [
                "orders",
                "FOREIGN KEY",
                "orders.by",
                "customer",
                "1",
                "shop-1",
                "crm",
                "people"
            ],
            [
                "orders",
                "PRIMARY KEY",
                "orders.pk$",
                "id",
                null,
                "shop-1",
                "shop",
                "orders"
            ],
            [
                "orders",
                "PRIMARY KEY",
                "orders.pk$",
                "shop",
                null,
                "shop-1",
                "shop",
                "orders"
            ],
        ])),
    ]
}

#[tokio::test]
async fn reads_the_whole_structure() {
    let server = BigQuery::start(catalog()).await;
    let scope = Scope {
        schemas: vec!["shop".to_owned()],
        tables: vec![
            "big".into(),
            "shop.orders".into(),
            "shop-1.shop.lines".into(),
            "raw".into(),
        ],
    };
    let snapshot = connector(&server, &json!({}))
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        render::snapshot(&snapshot),
        "schemas: shop
view shop-1.shop.big rows=?
  n: INT64 (BIGINT) number
table shop-1.shop.lines rows=40
  foreign key bought (the_shop, the_id) -> shop-1.shop.orders (shop, id)
table shop-1.shop.orders rows=12 -- what was \"sold\"
  id: INT64 (BIGINT) number required key -- the number
  shop: STRING (VARCHAR) string required key
  customer: INT64 (BIGINT) number
  who: STRUCT<name STRING, town STRING> (JSON) string -- who bought
who.town: where they live
  tags: ARRAY<STRING> string required
  primary key (id, shop)
external shop-1.shop.raw rows=?
warning foreign_key_unresolved shop-1.shop.orders: the columns that the foreign key `orders.by` points at are not reported"
    );
}

#[tokio::test]
async fn reads_what_it_may_and_names_the_rest() {
    let mut statements = catalog();
    for statement in &mut statements {
        if statement.holds("KEY_COLUMN_USAGE") {
            *statement = FakeStatement::new(".INFORMATION_SCHEMA.KEY_COLUMN_USAGE ", &[]).fails(
                403,
                "accessDenied",
                "Access Denied: no bigquery.tables.get",
            );
        } else if statement.holds("FIELD_PATHS") {
            *statement = FakeStatement::new(".INFORMATION_SCHEMA.COLUMN_FIELD_PATHS ", &[])
                .fails_later("invalidQuery", "no such view");
        }
    }
    let server = BigQuery::start(statements).await;
    let scope = Scope {
        schemas: vec!["gone".to_owned(), "shop".to_owned()],
        tables: vec!["big".into()],
    };
    let snapshot = connector(&server, &json!({}))
        .introspect(&scope, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        render::snapshot(&snapshot),
        "schemas: shop
view shop-1.shop.big rows=?
  n: INT64 (BIGINT) number
warning schema_not_found -: the dataset `shop-1.gone` cannot be read: Not found: Dataset shop-1:gone
warning connector_capability_missing -: the comments of columns of the dataset `shop-1.shop` cannot be read (the server does not have the view): no such view
warning constraint_discovery_unauthorized -: the primary and foreign keys of the dataset `shop-1.shop` cannot be read (grant `roles/bigquery.metadataViewer` on the dataset): Access Denied: no bigquery.tables.get"
    );
}
