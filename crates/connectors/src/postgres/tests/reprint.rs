//! Compares original and reprinted statements on PostgreSQL.

use ktx_sql::Dialect;
use ktx_warehouse::QueryResult;
use tokio_util::sync::CancellationToken;

use super::server;
use crate::tests::reprint::compare;

const TABLES: &str = include_str!("../../../../../fixtures/readonly-sql/tables/postgres.sql");

#[tokio::test]
async fn printed_texts_give_the_same_rows() {
    let Some((_admin, connector)) = server("ktx_unit_reprint", TABLES).await else {
        return;
    };
    compare(Dialect::Postgres, async |sql, caps| {
        let mut result = QueryResult::default();
        let cancel = CancellationToken::new();
        connector.run(sql, caps, &mut result, &cancel).await?;
        Ok(result)
    })
    .await
    .expect(60);
}
