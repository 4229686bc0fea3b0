//! Time arithmetic in warehouses that would calculate with texts or digits.

use ktx_semantic_layer::{Catalog, Query, QueryError, SourceFile, compile};
use ktx_sql::Dialect;
use serde_json::{Value, json};

use crate::sqlite;

const ORDERS: &str = "name: orders
table: orders
grain: [id]
columns:
- {name: id, type: number}
- {name: status, type: string}
- {name: placed_at, type: time}
- {name: closed_at, type: time}
- {name: open_days, type: number, expr: closed_at - placed_at}
measures:
- {name: first, expr: min(placed_at)}
- {name: last, expr: max(closed_at)}
- {name: span, expr: max(closed_at) - min(placed_at)}
";

const REFUNDS: &str = "name: refunds
table: refunds
grain: [id]
columns:
- {name: id, type: number}
- {name: order_id, type: number}
- {name: refunded_at, type: time}
joins:
- {to: orders, on: order_id = orders.id, relationship: many_to_one}
";

fn catalog(dialect: Dialect) -> Catalog {
    let files = [("orders.yaml", ORDERS), ("refunds.yaml", REFUNDS)];
    let files = files.map(|(path, text)| SourceFile::new(path, text));
    Catalog::load(files.into(), dialect)
}

fn compiled(dialect: Dialect, query: &Value) -> Result<String, QueryError> {
    let query = Query::from_value(query).expect("a query");
    compile(&catalog(dialect), &query, dialect).map(|compiled| compiled.sql)
}

fn rows(query: &Value) -> Value {
    let data = json!({"tables": {
        "orders": {"columns": [["id", "int"], ["status", "text"], ["placed_at", "text"], ["closed_at", "text"]],
                   "rows": [[1, "a", "2023-12-31", "2024-01-02"], [2, "b", "2024-01-01 12:00:00", "2024-01-02"]]},
        "refunds": {"columns": [["id", "int"], ["order_id", "int"], ["refunded_at", "text"]],
                    "rows": [[1, 1, "2024-06-28"], [2, 2, "2024-01-03"], [3, 2, null]]},
    }});
    let sql = compiled(Dialect::Sqlite, query).expect("an answer");
    let (_, rows) = sqlite::run(&sqlite::database(&data), &sql);
    json!(rows)
}

/// SQLite would subtract the leading numbers: years.
#[test]
fn the_difference_of_two_times_is_in_days_on_sqlite() {
    let between = json!({"measures": ["avg(refunds.refunded_at - orders.placed_at)"]});
    assert_eq!(rows(&between), json!([[90.75]]));
    assert_eq!(
        rows(&json!({"measures": ["sum(orders.open_days)"]})),
        json!([[2.5]])
    );
    assert_eq!(rows(&json!({"measures": ["orders.span"]})), json!([[2.0]]));
    assert_eq!(
        rows(&json!({"measures": ["orders.last - orders.first"]})),
        json!([[2.0]])
    );
    let filtered = json!({"measures": ["count(orders.id)"], "filters": ["orders.closed_at - orders.placed_at > 1"]});
    assert_eq!(rows(&filtered), json!([[1]]));
    let literal = json!({"measures": ["max(orders.closed_at - '2024-01-01')"]});
    assert_eq!(rows(&literal), json!([[1.0]]));
    let now = json!({"measures": ["min(date('2024-01-09') - orders.closed_at)"]});
    assert_eq!(rows(&now), json!([[7.0]]));
}

/// MySQL reads digits as a number, and SQL Server returns another time.
#[test]
fn the_difference_of_two_times_is_in_days_where_the_operator_is_not() {
    let between = json!({"measures": ["avg(orders.closed_at - orders.placed_at)"]});
    for (dialect, expected) in [
        (
            Dialect::MySql,
            "(TIMESTAMPDIFF(MICROSECOND, orders.placed_at, orders.closed_at) / 8.64e10)",
        ),
        (
            Dialect::MariaDb,
            "(TIMESTAMPDIFF(MICROSECOND, orders.placed_at, orders.closed_at) / 8.64e10)",
        ),
        (
            Dialect::SqlServer,
            "(DATEDIFF_BIG(MILLISECOND, orders.placed_at, orders.closed_at) / 8.64e7)",
        ),
        (
            Dialect::Postgres,
            "avg(orders.closed_at - orders.placed_at)",
        ),
        (Dialect::DuckDb, "orders.closed_at - orders.placed_at"),
    ] {
        let sql = compiled(dialect, &between).expect("an answer");
        assert!(sql.contains(expected), "{dialect}: {sql}");
    }
}

#[test]
fn other_arithmetic_with_times_names_what_to_use() {
    for (dialect, what) in [
        (Dialect::Sqlite, "datetime(x, '+7 days')"),
        (Dialect::MySql, "x + INTERVAL 7 DAY"),
        (Dialect::MariaDb, "x + INTERVAL 7 DAY"),
    ] {
        for query in [
            json!({"measures": ["max(orders.placed_at + 7)"]}),
            json!({"measures": ["avg(orders.placed_at)"]}),
            json!({"measures": ["orders.first + orders.last"]}),
            json!({"measures": ["count(orders.id)"], "filters": ["orders.placed_at - 7 > '2024-01-01'"]}),
        ] {
            let error = compiled(dialect, &query).expect_err("a refusal");
            assert_eq!(error.kind.as_str(), "invalid_query", "{query}");
            assert!(error.message.contains(what), "{query}: {}", error.message);
            assert!(error.offending.is_some(), "{query}");
        }
    }
    let moved = json!({"measures": ["max(orders.placed_at + interval 7 day)"]});
    assert!(compiled(Dialect::MariaDb, &moved).is_ok());
    assert!(
        compiled(
            Dialect::Postgres,
            &json!({"measures": ["max(orders.placed_at + 7)"]})
        )
        .is_ok()
    );
}
