//! `ktx sl` on the command line: usage errors, and the schema of source files.

use serde_json::json;

use crate::support::{compare_text, run, sandbox, shop};

#[test]
fn usage_errors_name_the_program() {
    let sandbox = sandbox();
    check!(&sandbox, "sl --wrong", @r"
exit 2
--- stderr
error: unexpected argument '--wrong' found

  tip: to pass '--wrong' as a value, use '-- --wrong'

Usage: ktx sl [OPTIONS] [QUERY]... [COMMAND]

For more information, try '--help'.
");
    check!(&sandbox, "sl read", @r"
exit 2
--- stderr
error: the following required arguments were not provided:
  <NAME>

Usage: ktx sl read <NAME>

For more information, try '--help'.
");
}

#[test]
fn the_schema_of_source_files_accepts_what_people_write() {
    let sandbox = shop();
    check!(&sandbox, "admin schema --sources --output sources.schema.json", @"exit 0\n");
    let text = sandbox.read("sources.schema.json").unwrap();
    compare_text(
        "stdout",
        &run(&sandbox, "admin schema --sources").stdout,
        &text,
    );
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["title"], "ktx semantic source");
    let overlay = json!({
        "name": "orders",
        "column_overrides": [{ "name": "ordered_at", "visibility": "internal" }],
        "measures": [{ "name": "revenue", "expr": "sum(amount)" }],
    });
    assert!(jsonschema::is_valid(&schema, &overlay));
    assert!(!jsonschema::is_valid(&schema, &json!({ "name": 1 })));
}
