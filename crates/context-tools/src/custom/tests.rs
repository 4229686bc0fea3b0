//! Tool files and parameter values.

use ktx_diagnostics::Diagnostic;
use ktx_sql::Dialect;
use serde_json::{Value, json};

use super::{Body, parse_tool};

fn problems(text: &str) -> String {
    match parse_tool("tools/a.yaml", text.as_bytes()) {
        Ok(tool) => format!("{tool:?}"),
        Err(found) => {
            let told = |one: &Diagnostic| {
                let hints = one.hints.iter();
                let hints: Vec<String> = hints
                    .map(|hint| format!("\n  hint: {}", hint.as_str()))
                    .collect();
                format!("{one}{}\n", hints.concat())
            };
            found.0.iter().map(told).collect()
        }
    }
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    insta::assert_snapshot!(problems("
name: Orders of
description: The orders.
parametres: []
parameters:
  - {name: customer, type: text, description: The customer.}
  - {name: day, type: date, description: The day., default: yesterday}
  - {name: cursor, type: string, description: Taken.}
  - {name: unused, type: integer, description: Not used.}
max_rows: 0
sql: select * from orders where customer = :custommer and day = :day and c = :cursor
"), @r#"
    tools/a.yaml:4:1: `parametres` is not a key of a tool
      hint: did you mean `parameters`?
    tools/a.yaml:2:7: `Orders of` is not a valid name of a tool
      hint: write lower-case letters, digits and `_`, 64 at most, a letter first
    tools/a.yaml:6:28: `text` is not a type of a parameter
      hint: use one of: string, integer, number, boolean, date
    tools/a.yaml:7:61: `"yesterday"` does not have the type `date`
    tools/a.yaml:8:5: `cursor` is not a valid name of a parameter
      hint: every tool has this argument: take another name
    tools/a.yaml:11:6: the tool has no parameter `custommer`
      hint: add `custommer` to `parameters`
    tools/a.yaml:8:5: the parameter `unused` is not used
      hint: write `:unused` where its value belongs
    tools/a.yaml:10:11: `max_rows` must be a whole number from 1 to 10000
    "#);
    insta::assert_snapshot!(problems("name: a\ndescription: b\n"), @"
    tools/a.yaml:1:1: the tool has neither `sql` nor `query`
      hint: add one of the two
    ");
    insta::assert_snapshot!(problems("name: a\ndescription: b\nsql: select 1\nquery: {measures: []}\n"), @"
    tools/a.yaml:4:8: the tool has both `sql` and `query`
      hint: keep one of the two
    ");
    insta::assert_snapshot!(problems("[1]"), @"
    tools/a.yaml:1:1: the file must hold an object
      hint: write `name`, `description` and `sql` or `query`
    ");
}

const TOOL: &str = "
name: orders_of
description: The orders of a customer.
parameters:
  - {name: customer, type: string, description: The customer.}
  - {name: least, type: number, description: The least amount., default: 0}
  - {name: state, type: string, description: The state., values: [paid, open], default: paid}
sql: select * from orders where customer = :customer and amount >= :least and state = :state
";

#[test]
fn values_are_literals_of_the_dialect() {
    let tool = parse_tool("tools/a.yaml", TOOL.as_bytes()).expect("a tool");
    let filled = |arguments: Value| match tool.filled(&arguments, Dialect::Postgres) {
        Ok(Body::Sql(sql)) => sql,
        Ok(Body::Query(query)) => format!("{query:?}"),
        Err(failure) => format!(
            "{}: {}",
            failure.message,
            failure
                .hints
                .iter()
                .map(ktx_diagnostics::Hint::as_str)
                .collect::<String>()
        ),
    };
    let texts = [
        filled(json!({"customer": "O'Hara' or 1=1 --", "least": -1.5})),
        filled(json!({"customer": 5})),
        filled(json!({})),
        filled(json!({"customer": "a", "state": "gone"})),
    ];
    insta::assert_snapshot!(texts.join("\n"), @r#"
    select * from orders where customer = 'O''Hara'' or 1=1 --' and amount >= (-1.5) and state = 'paid'
    `customer` has a wrong value: send a value of the type `string`
    `customer` is missing: send `customer`: The customer.
    `state` has a wrong value: send one of "paid", "open"
    "#);
}

#[test]
fn a_parameter_of_a_query_is_a_value_or_a_literal() {
    let text = "
name: revenue_of
description: Revenue.
parameters:
  - {name: region, type: string, description: The region.}
  - {name: rows, type: integer, description: The rows.}
query:
  measures: [orders.revenue]
  dimensions: ['orders.day:month']
  filters: ['customers.region = :region']
  limit: ':rows'
";
    let tool = parse_tool("tools/a.yaml", text.as_bytes()).expect("a tool");
    let filled = tool.filled(&json!({"region": "it's", "rows": 5}), Dialect::Sqlite);
    let Ok(Body::Query(query)) = filled else {
        panic!("{filled:?}");
    };
    insta::assert_snapshot!(Value::Object(query).to_string(), @r#"{"measures":["orders.revenue"],"dimensions":["orders.day:month"],"filters":["customers.region = 'it''s'"],"limit":5}"#);
}
