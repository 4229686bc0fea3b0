//! The structure of a SQL Server database.

use ktx_warehouse::Scope;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::connector;
use super::fake::{FakeStatement, SqlServer, TlsOffer};
use crate::render;

fn catalog() -> Vec<FakeStatement> {
    let columns = json!([
        ["dbo", "big", "n", "int", "int", 4, 10, 0, true, null],
        [
            "dbo",
            "orders",
            "id",
            "int",
            "int",
            4,
            10,
            0,
            false,
            "the number"
        ],
        [
            "dbo", "orders", "shop", "ShopCode", "nvarchar", 20, 0, 0, false, null
        ],
        [
            "dbo", "orders", "total", "decimal", "decimal", 9, 18, 2, true, null
        ],
        [
            "dbo",
            "orders",
            "at",
            "datetime2",
            "datetime2",
            8,
            27,
            7,
            true,
            null
        ],
        [
            "dbo", "orders", "note", "varchar", "varchar", -1, 0, 0, true, null
        ],
        [
            "dbo",
            "orders",
            "place",
            "geography",
            "geography",
            -1,
            0,
            0,
            true,
            null
        ],
        ["dbo", "orders", "ok", "bit", "bit", 1, 1, 0, false, null],
    ]);
    vec![
        FakeStatement::new("FROM sys.schemas WHERE", &["s"], &json!([["crm"], ["dbo"]])),
        FakeStatement::new("SELECT DB_NAME()", &["d"], &json!([["shop"]])),
        FakeStatement::new(
            "sys.dm_db_partition_stats",
            &["s", "o", "r#"],
            &json!([["dbo", "orders", 12]]),
        ),
        FakeStatement::new(
            "RTRIM(o.type)",
            &["s", "o", "t", "p"],
            &json!([
                ["dbo", "big", "V", null],
                ["dbo", "orders", "U", "what was sold"],
                ["dbo", "other", "U", null],
            ]),
        ),
        FakeStatement::new(
            "FROM sys.columns",
            &["s", "o", "c", "t", "b", "l#", "p#", "x#", "n?", "d"],
            &columns,
        ),
        FakeStatement::new(
            "FROM sys.key_constraints",
            &["s", "o", "c"],
            &json!([["dbo", "orders", "id"], ["dbo", "orders", "shop"]]),
        ),
        FakeStatement::new(
            "FROM sys.foreign_keys",
            &["s", "o", "f", "c", "ts", "t", "tc"],
            &json!([
                ["dbo", "big", "fk_order", "n", "dbo", "orders", "id"],
                ["dbo", "big", "fk_order", "m", "dbo", "orders", "shop"],
                ["dbo", "orders", "fk_who", "id", "crm", "people", "id"],
            ]),
        ),
    ]
}

const STRUCTURE: &str = "schemas: dbo
view shop.dbo.big rows=?
  n: int number
  foreign key fk_order (n, m) -> shop.dbo.orders (id, shop)
table shop.dbo.orders rows=12 -- what was sold
  id: int number required key -- the number
  shop: ShopCode (nvarchar(10)) (nvarchar(10)) string required key
  total: decimal(18,2) number
  at: datetime2(7) time
  note: varchar(max) string
  place: geography string
  ok: bit boolean required
  primary key (id, shop)
  foreign key fk_who (id) -> shop.crm.people (id)
warning schema_not_found -: the schema `gone` does not exist or the login has no right in it";

fn scope() -> Scope {
    Scope {
        schemas: vec!["DBO".to_owned(), "gone".to_owned()],
        tables: vec!["big".to_owned(), "dbo.orders".to_owned()],
    }
}

#[tokio::test]
async fn reads_the_whole_structure() {
    let server = SqlServer::start(TlsOffer::Tls, catalog());
    let snapshot = connector(&server, &json!({}))
        .introspect(&scope(), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(render::snapshot(&snapshot), STRUCTURE);
}

#[tokio::test]
async fn counts_rows_without_the_right_to_see_statistics() {
    let mut statements = catalog();
    if let Some(counts) = statements.get_mut(2) {
        *counts = FakeStatement::new("sys.dm_db_partition_stats", &[], &json!([])).fails(
            262,
            "VIEW DATABASE STATE permission was denied in database 'shop'.",
        );
    }
    statements.push(FakeStatement::new(
        "sys.partitions",
        &["s", "o", "r#"],
        &json!([["dbo", "orders", 12]]),
    ));
    let server = SqlServer::start(TlsOffer::Tls, statements);
    let snapshot = connector(&server, &json!({}))
        .introspect(&scope(), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(render::snapshot(&snapshot), STRUCTURE);
}
