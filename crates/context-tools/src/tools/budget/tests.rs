//! Parts of results.

use serde_json::{Value, json};

use super::{Ask, LONGEST_TWICE, Part, Shape};

const ROWS: Shape = Shape::Rows { count: "rowCount" };

fn rows(count: usize) -> Value {
    let rows: Vec<Value> = (0..count)
        .map(|row| json!([row, format!("customer {row}"), format!("{row}.50"), null]))
        .collect();
    json!({
        "headers": ["id", "name", "amount", "note"],
        "rows": rows,
        "rowCount": count,
        "truncated": false,
    })
}

fn part(whole: &Value, shape: Shape, arguments: Value) -> Result<Part, String> {
    Ask::of(arguments)
        .part("tool", whole.clone(), shape)
        .map_err(|failure| failure.message)
}

fn all_parts(whole: &Value, shape: Shape, arguments: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut cursor = Value::Null;
    while parts.is_empty() || !cursor.is_null() {
        let mut arguments = arguments.clone();
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let next = part(whole, shape, arguments).unwrap();
        cursor = next.value["cursor"].clone();
        assert_eq!(next.value["hasMore"] == json!(true), !cursor.is_null());
        parts.push(next);
    }
    parts
}

#[test]
fn every_part_is_within_its_budget_and_together_they_are_the_result() {
    let whole = rows(1000);
    for tokens in [200, 317, 1000, 4000, 10_000] {
        for format in ["text", "json"] {
            let arguments = json!({"maxTokens": tokens, "format": format});
            let parts = all_parts(&whole, ROWS, &arguments);
            let mut seen = Vec::new();
            for part in &parts {
                let length = if format == "json" {
                    part.value.to_string().len()
                } else {
                    part.text.len()
                };
                assert!(length <= tokens * 3, "{length} bytes of {tokens} tokens");
                let rows = part.value["rows"].as_array().unwrap();
                assert_eq!(part.value["rowCount"], json!(rows.len()));
                seen.extend(rows.iter().cloned());
            }
            assert_eq!(Value::Array(seen), whole["rows"]);
        }
    }
}

#[test]
fn a_long_result_is_a_table() {
    let whole = rows(1000);
    let part = part(&whole, ROWS, json!({"maxTokens": 400})).unwrap();
    assert!(part.value.to_string().len() > LONGEST_TWICE);
    let head: Vec<&str> = part.text.lines().take(8).collect();
    insta::assert_snapshot!(head.join("\n"), @"
    rowCount: 32
    truncated: true
    hasMore: true
    cursor: 32.b8af4ffc.b85b1e84
    id | name | amount | note
    0 | customer 0 | 0.50 | null
    1 | customer 1 | 1.50 | null
    2 | customer 2 | 2.50 | null
    ");
}

#[test]
fn a_cursor_is_followed_only_over_the_same_call_and_data() {
    let whole = rows(1000);
    let first = part(&whole, ROWS, json!({"sql": "a"})).unwrap();
    let cursor = first.value["cursor"].clone();
    let follow = |whole: &Value, sql: &str, cursor: &Value| {
        part(whole, ROWS, json!({"sql": sql, "cursor": cursor}))
            .map(|part| part.value["rows"][0].clone())
    };
    assert_eq!(
        follow(&whole, "a", &cursor),
        Ok(whole["rows"][first.value["rows"].as_array().unwrap().len()].clone())
    );
    let (_, proof) = cursor.as_str().unwrap().split_once('.').unwrap();
    let answers = [
        follow(&whole, "b", &cursor),
        follow(&rows(999), "a", &cursor),
        follow(&whole, "a", &json!("next")),
        follow(&whole, "a", &json!(format!("1000.{proof}"))),
    ];
    insta::assert_snapshot!(answers.map(Result::unwrap_err).join("\n"), @"
    `cursor` cannot be followed: it belongs to a call with other arguments
    `cursor` cannot be followed: the data have changed since the part before
    `cursor` cannot be followed: it is not a cursor of a result
    `cursor` cannot be followed: no part begins there
    ");
}

#[test]
fn one_row_that_is_too_long_is_cut_and_says_so() {
    let cells: Vec<Value> = (0..400)
        .map(|cell| json!(format!("{cell}: {}", "x".repeat(300))))
        .collect();
    let headers: Vec<String> = (0..400).map(|column| format!("column_{column}")).collect();
    let whole = json!({"headers": headers, "rows": [cells.clone(), cells], "rowCount": 2, "truncated": false});
    let parts = all_parts(&whole, ROWS, &json!({"maxTokens": 1000}));
    let shown: Vec<Value> = parts
        .iter()
        .map(|part| {
            let count = |list: &Value| list.as_array().map(Vec::len);
            json!([
                count(&part.value["headers"]),
                count(&part.value["rows"][0]),
                part.value["leftOut"],
                part.text.len() <= 3000
            ])
        })
        .collect();
    insta::assert_snapshot!(Value::from(shown), @r#"[[8,8,"texts cut to 40 letters: 8; entries of lists (columns, joins) left out behind the first 8: 784. Raise `maxTokens` or name fewer columns.",true],[8,8,"texts cut to 40 letters: 8; entries of lists (columns, joins) left out behind the first 8: 784. Raise `maxTokens` or name fewer columns.",true]]"#);
}

#[test]
fn a_page_is_divided_between_its_sections() {
    let section = |title: &str| {
        format!(
            "# {title}\n\n{}\n```\n# no title\n```\n",
            "Words of it. ".repeat(20)
        )
    };
    let content = ["Net", "Gross", "Taxes", "Refunds", "Fees", "Tips"]
        .map(section)
        .concat();
    let whole = json!({"key": "revenue", "content": content});
    let parts = all_parts(
        &whole,
        Shape::Markdown("content"),
        &json!({"maxTokens": 300}),
    );
    let starts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part.value["content"].as_str()?.lines().next())
        .collect();
    assert_eq!(starts, ["# Net", "# Taxes", "# Fees"]);
    let joined: String = parts
        .iter()
        .filter_map(|part| part.value["content"].as_str())
        .collect();
    assert_eq!(json!(joined), whole["content"]);
}

#[test]
fn wide_tables_are_divided_between_their_columns() {
    let table = |name: &str, count: usize| {
        let columns: Vec<Value> = (0..count)
            .map(|column| json!({"name": format!("c{column}"), "nativeType": "TEXT"}))
            .collect();
        json!({"ok": true, "display": name, "columns": columns})
    };
    let missing = json!({"ok": false, "table": "nope", "error": {"code": "table_not_found"}});
    let whole =
        json!({"results": [table("wide", 100), missing, table("empty", 0), table("narrow", 2)]});
    let shape = Shape::Columns {
        tables: "results",
        columns: "columns",
    };
    let parts = all_parts(&whole, shape, &json!({"maxTokens": 300, "format": "json"}));
    let shown: Vec<Value> = parts
        .iter()
        .map(|part| {
            let results = part.value["results"].as_array().unwrap();
            let of = |one: &Value| json!([one["display"], one["columns"].as_array().map(Vec::len)]);
            results.iter().map(of).collect()
        })
        .collect();
    insta::assert_snapshot!(Value::from(shown), @r#"[[["wide",21]],[["wide",20]],[["wide",20]],[["wide",20]],[["wide",19]],[[null,null],["empty",0],["narrow",2]]]"#);
}

#[test]
fn warnings_are_few_and_short() {
    let warnings: Vec<String> = (0..30)
        .map(|warning| format!("{warning} {}", "w".repeat(1000)))
        .collect();
    let part = part(
        &json!({"refs": [], "warnings": warnings}),
        Shape::List("refs"),
        json!({}),
    )
    .unwrap();
    let warnings = part.value["warnings"].as_array().unwrap();
    let lengths: Vec<usize> = warnings
        .iter()
        .filter_map(|one| Some(one.as_str()?.chars().count()))
        .collect();
    assert_eq!(lengths, [300, 300, 300, 300, 300, 20]);
    assert_eq!(warnings.last(), Some(&json!("25 more are left out")));
}
