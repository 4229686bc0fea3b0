//! Compares original and reprinted statements on MariaDB.

use ktx_sql::Dialect;
use ktx_warehouse::QueryResult;
use tokio_util::sync::CancellationToken;

use super::server;
use crate::tests::reprint::{ReprintReport, compare};

const TABLES: &str = include_str!("../../../../../fixtures/readonly-sql/tables/mariadb.sql");

async fn reprinted(dialect: Dialect, schema: &str) -> Option<ReprintReport> {
    let (_admin, connector) = server(schema, TABLES).await?;
    let report = compare(dialect, async |sql, caps| {
        let mut result = QueryResult::default();
        let cancel = CancellationToken::new();
        connector.run(sql, caps, &mut result, &cancel).await?;
        Ok(result)
    });
    Some(report.await)
}

#[tokio::test]
async fn printed_texts_give_the_same_rows() {
    if let Some(report) = reprinted(Dialect::MariaDb, "ktx_unit_reprint").await {
        report.expect(70);
    }
}

/// MariaDB parses only part of MySQL's syntax.
#[tokio::test]
async fn printed_texts_of_mysql_give_the_same_rows() {
    if let Some(report) = reprinted(Dialect::MySql, "ktx_unit_reprint_mysql").await {
        report.expect(50);
    }
}
