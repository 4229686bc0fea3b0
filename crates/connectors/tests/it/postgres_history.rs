//! PostgreSQL's query history.

use serde_json::json;

use crate::postgres::Database;
use crate::support::query;

/// Both databases have the extension and queries; the statistics are too recent to be complete.
#[tokio::test]
async fn the_history_is_that_of_the_connections_database() {
    let sql =
        |table: &str| format!("CREATE EXTENSION pg_stat_statements; CREATE TABLE {table} (id int)");
    let Some(own) = Database::new("ktx_history_own", &sql("ours")).await else {
        return;
    };
    let Some(other) = Database::new("ktx_history_other", &sql("theirs")).await else {
        return;
    };
    for (database, table) in [(&own, "ours"), (&other, "theirs")] {
        for id in 0..3 {
            let text = format!("SELECT id FROM {table} WHERE id = {id}");
            database.admin.batch_execute(&text).await.unwrap();
        }
    }
    let connector = own.connector(json!({}));
    let list = connector.query_history(90).expect("a statement");
    let answer = query(&*connector, &list).await;
    let rows = answer.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| cell.to_text().unwrap_or_default());
        cells.collect::<Vec<_>>().join(" | ")
    });
    let mut asked: Vec<String> = rows
        .filter(|row| row.starts_with("SELECT id FROM"))
        .collect();
    asked.sort();
    assert_eq!(
        asked,
        ["SELECT id FROM ours WHERE id = $1 | 3 | ktx_admin | false"]
    );
}
