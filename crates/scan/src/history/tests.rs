//! Tests which joins are found in query texts.

use ktx_relationships::types::ColumnId;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, DimensionType, Table, TableKind};

use super::read::said;
use crate::settings::PastQuery;
use ktx_relationships::links::joins::{Group, Joins};

fn table(schema: &str, name: &str, columns: &[&str]) -> Table {
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
        table: TableRef::new(None, Some(schema), name),
        kind: TableKind::Table,
        comment: None,
        estimated_rows: None,
        columns: columns.iter().map(column).collect(),
        primary_key: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

fn tables() -> Vec<Table> {
    vec![
        table("public", "customers", &["id", "parent", "name"]),
        table("public", "orders", &["id", "buyer", "Payer"]),
        table("public", "lines", &["order_no", "line_no", "item"]),
        table("public", "returns", &["id", "order_no", "line_no"]),
        table("archive", "orders", &["id", "buyer"]),
    ]
}

fn told(joins: &Joins) -> Vec<String> {
    let tables = tables();
    let name = |at: ColumnId| {
        let table = tables.get(at.table).expect("a table");
        let column = table.columns.get(at.column).expect("a column");
        format!("{}.{}", table.table, column.name)
    };
    let pair = |(left, right): &(ColumnId, ColumnId)| format!("{} = {}", name(*left), name(*right));
    let group = |(group, runs): (&Group, u64)| {
        let pairs: Vec<String> = group.iter().map(pair).collect();
        format!("{} ({runs})", pairs.join(" and "))
    };
    joins.all().map(group).collect()
}

fn heard(queries: &[PastQuery], dialect: Dialect) -> (Joins, usize) {
    let tables = tables();
    let all = (0..tables.len()).collect();
    let said = said((queries, &[]), dialect, &tables, &all).expect("a reading");
    (said.joins, said.unread)
}

#[track_caller]
fn check(sql: &str, expected: &[&str]) {
    check_in(Dialect::Postgres, sql, expected);
}

#[track_caller]
fn check_in(dialect: Dialect, sql: &str, expected: &[&str]) {
    let queries = [PastQuery {
        text: sql.to_owned(),
        runs: 7,
    }];
    let (found, unread) = heard(&queries, dialect);
    assert_eq!(unread, 0, "{sql}");
    assert_eq!(told(&found), expected, "{sql}");
}

const BUYER: &str = "public.customers.id = public.orders.buyer (7)";
const LINES: &str = "public.lines.order_no = public.returns.order_no and public.lines.line_no = public.returns.line_no (7)";

#[test]
fn joins_are_read_through_aliases() {
    check(
        "SELECT c.name FROM orders o LEFT JOIN customers AS c ON o.buyer = c.id AND c.name = 'x'",
        &[BUYER],
    );
    check(
        "select * from public.orders, customers c where (c.id = orders.buyer)",
        &[BUYER],
    );
    check(
        "SELECT 1 FROM orders JOIN customers ON customers.id = buyer::bigint",
        &[BUYER],
    );
    check(
        "SELECT 1 FROM orders o JOIN customers b ON b.id = o.buyer JOIN customers p ON p.id = o.\"Payer\"",
        &[BUYER, "public.customers.id = public.orders.Payer (7)"],
    );
}

#[test]
fn joins_are_read_through_subqueries() {
    check(
        "WITH o AS (SELECT buyer AS who FROM orders) SELECT 1 FROM o JOIN customers c ON c.id = o.who",
        &[BUYER],
    );
    check(
        "SELECT 1 FROM (SELECT * FROM orders) x JOIN (SELECT id AS k FROM customers) y ON x.buyer = y.k",
        &[BUYER],
    );
    check(
        "SELECT 1 FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.buyer = c.id)",
        &[BUYER],
    );
    check(
        "SELECT 1 FROM customers WHERE id IN (SELECT buyer FROM orders WHERE id > 3)",
        &[BUYER],
    );
    check(
        "SELECT (SELECT name FROM customers c WHERE c.id = o.buyer) FROM orders o UNION ALL SELECT '' FROM lines",
        &[BUYER],
    );
    check(
        "CREATE TABLE t AS SELECT 1 FROM orders o JOIN customers c ON c.id = o.buyer",
        &[BUYER],
    );
}

#[test]
fn several_columns_set_equal_together_stay_together() {
    check(
        "SELECT 1 FROM returns r JOIN lines l ON l.order_no = r.order_no AND r.line_no = l.line_no",
        &[LINES],
    );
    check(
        "SELECT 1 FROM returns r JOIN lines l USING (order_no, line_no)",
        &[LINES],
    );
}

#[test]
fn what_is_no_equality_of_two_columns_is_left_out() {
    for sql in [
        "SELECT 1 FROM orders o JOIN customers c ON o.buyer > c.id",
        "SELECT 1 FROM orders o JOIN customers c ON o.buyer = c.id OR o.id = 3",
        "SELECT 1 FROM orders o JOIN customers c ON o.buyer = c.id + 1",
        "SELECT 1 FROM orders o JOIN customers c ON lower(o.buyer) = c.id",
        "SELECT 1 FROM orders o JOIN nowhere n ON o.buyer = n.id",
        "SELECT 1 FROM (SELECT max(buyer) AS b FROM orders) o JOIN customers c ON o.b = c.id",
        "SELECT 1 FROM orders o, generate_series(1, 3) g WHERE buyer = parent",
        "SELECT 1 FROM orders o JOIN customers c ON not (o.buyer = c.id)",
        "SELECT 1",
    ] {
        check(sql, &[]);
    }
}

#[test]
fn names_are_found_in_their_schema() {
    check(
        "SELECT 1 FROM archive.orders o JOIN public.customers c ON c.id = o.buyer",
        &["public.customers.id = archive.orders.buyer (7)"],
    );
    check_in(
        Dialect::BigQuery,
        "SELECT 1 FROM `archive.orders` o JOIN `p.public.customers` c ON c.id = o.buyer",
        &["public.customers.id = archive.orders.buyer (7)"],
    );
    check_in(
        Dialect::SqlServer,
        "SELECT TOP 3 1 FROM [orders] o JOIN [customers] c ON c.[ID] = o.[Buyer]",
        &[BUYER],
    );
}

#[test]
fn a_table_beside_itself_is_a_join_too() {
    check(
        "SELECT 1 FROM customers c JOIN customers p ON p.id = c.parent",
        &["public.customers.id = public.customers.parent (7)"],
    );
    check(
        "SELECT 1 FROM customers c JOIN customers p ON p.id = c.id",
        &[],
    );
}

#[test]
fn statements_that_cannot_be_read_are_counted() {
    let texts = [
        "SELEC nonsense; SELECT 1 FROM orders o JOIN customers c ON c.id = o.buyer; ;",
        "SELECT 'unclosed",
        "-- only a remark\n",
    ];
    let queries: Vec<PastQuery> = texts
        .iter()
        .zip([2, 3, 4])
        .map(|(text, runs)| PastQuery {
            text: (*text).to_owned(),
            runs,
        })
        .collect();
    let (found, unread) = heard(&queries, Dialect::Postgres);
    assert_eq!(unread, 2);
    assert_eq!(
        told(&found),
        ["public.customers.id = public.orders.buyer (2)"]
    );
}

#[test]
fn a_condition_of_ten_thousand_parts_is_read() {
    let parts = vec!["o.buyer = c.id"; 10_000].join(" AND ");
    check(
        &format!("SELECT 1 FROM orders o JOIN customers c ON {parts}"),
        &[BUYER],
    );
}
