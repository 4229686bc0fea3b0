//! Compares original and reprinted statements on ClickHouse.

use ktx_sql::Dialect;

use super::{run_with, server};
use crate::tests::reprint::compare;

const TABLES: &str = include_str!("../../../../../../fixtures/readonly-sql/tables/clickhouse.sql");

#[tokio::test]
async fn printed_texts_give_the_same_rows() {
    let statements: Vec<&str> = TABLES.lines().collect();
    let Some((_admin, connector)) = server("ktx_unit_reprint", &statements) else {
        return;
    };
    compare(Dialect::ClickHouse, async |sql, caps| {
        run_with(&connector, sql, caps).await
    })
    .await
    .expect(60);
}
