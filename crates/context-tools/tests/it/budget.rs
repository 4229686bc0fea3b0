//! Long results through the tools.

use serde_json::{Value, json};

use crate::project::TestProject;

const NUMBERS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
                       SELECT i, 'customer ' || i AS name FROM n ORDER BY i";

async fn parts(project: &TestProject, tool: &str, mut arguments: Value) -> Vec<Value> {
    let mut parts = Vec::new();
    loop {
        let part = project.data(tool, arguments.clone()).await;
        let cursor = part["cursor"].clone();
        parts.push(part);
        if cursor.is_null() {
            return parts;
        }
        arguments["cursor"] = cursor;
    }
}

#[tokio::test]
async fn rows_come_in_parts_that_end_where_the_row_limit_ends() {
    let project = TestProject::new();
    let sql = json!({"sql": NUMBERS, "maxRows": 1200});
    let parts = parts(&project, "sql_execution", sql).await;
    let rows: Vec<&Value> = parts
        .iter()
        .filter_map(|part| part["rows"].as_array())
        .flatten()
        .collect();
    assert_eq!(rows.len(), 1200);
    assert_eq!(rows.last(), Some(&&json!([1200, "customer 1200"])));
    let ends: Vec<Value> = parts
        .iter()
        .map(|part| json!([part["rowCount"], part["truncated"], part["hasMore"]]))
        .collect();
    // The warehouse has more rows than the limit.
    assert_eq!(
        Value::from(ends),
        json!([[630, true, true], [570, true, true]])
    );
}

#[tokio::test]
async fn a_cursor_over_changed_data_is_refused() {
    let project = TestProject::new();
    let page = |words: usize| {
        let text = "Some words of a rule.\n".repeat(words);
        format!("---\nsummary: A long page\n---\n\n# One\n\n{text}\n# Two\n\n{text}")
    };
    project.write("wiki/global/long.md", &page(300));
    let arguments = json!({"key": "long", "maxTokens": 1000});
    let first = project.data("wiki_read", arguments.clone()).await;
    project.write("wiki/global/long.md", &page(301));
    let mut next = arguments;
    next["cursor"] = first["cursor"].clone();
    assert_eq!(
        project.failure("wiki_read", next).await,
        "invalid_arguments: `cursor` cannot be followed: the data have changed since the part before\n\
         hint: send the arguments of the first call with its `cursor`, or begin again without one; give SQL an ORDER BY"
    );
}

#[tokio::test]
async fn a_budget_outside_of_its_bounds_is_refused() {
    let project = TestProject::new();
    assert_eq!(
        project
            .failure("wiki_read", json!({"key": "returns", "maxTokens": 1}))
            .await,
        "MCP error -32602: Input validation error: Invalid arguments for tool wiki_read: /maxTokens: 1 is less than the minimum of 200\n\
         hint: correct `maxTokens`: most tokens of the result (4000)\n\
         send instead: {\"key\":\"returns\",\"maxTokens\":200}"
    );
}
