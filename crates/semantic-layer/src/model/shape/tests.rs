//! The table of keys matches the parser and the schema.

use serde_json::{Value, json};

use super::measure::{COMPARE, CUMULATIVE, RATIO, SEMI_ADDITIVE, WINDOW};
use super::{
    COLUMN, COLUMN_OVERRIDE, COMPUTED_COLUMN, JOIN, MEASURE, OVERLAY, OVERLAY_JOIN, Record,
    SEGMENT, STANDALONE, source_schema,
};
use crate::model::authored;

fn keys_of<T: serde::de::DeserializeOwned>() -> Vec<String> {
    let refused = serde_yaml::from_str::<T>("no_such_key: 1")
        .err()
        .map(|error| error.to_string());
    let refused = refused.unwrap();
    let mut keys: Vec<String> = refused
        .split('`')
        .skip(3)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    keys.sort();
    keys
}

fn check(record: &Record, read: &[String]) {
    let mut keys: Vec<&str> = record.keys.iter().map(|key| key.name).collect();
    keys.sort_unstable();
    assert_eq!(keys, read, "{}", record.name);
}

#[test]
fn the_table_holds_exactly_the_keys_that_are_read() {
    check(&STANDALONE, &keys_of::<authored::Standalone>());
    check(&OVERLAY, &keys_of::<authored::Overlay>());
    check(&COLUMN, &keys_of::<authored::Column>());
    check(&COMPUTED_COLUMN, &keys_of::<authored::Column>());
    check(&COLUMN_OVERRIDE, &keys_of::<authored::ColumnOverride>());
    check(&JOIN, &keys_of::<authored::Join>());
    check(&OVERLAY_JOIN, &keys_of::<authored::OverlayJoin>());
    check(&MEASURE, &keys_of::<authored::Measure>());
    check(&RATIO, &keys_of::<authored::Ratio>());
    check(&CUMULATIVE, &keys_of::<authored::Cumulative>());
    check(&WINDOW, &keys_of::<authored::WindowRecord>());
    check(&COMPARE, &keys_of::<authored::Compare>());
    check(&SEMI_ADDITIVE, &keys_of::<authored::SemiAdditive>());
    check(&SEGMENT, &keys_of::<authored::Segment>());
}

fn errors(file: &Value) -> Vec<String> {
    let validator = jsonschema::draft7::new(&source_schema()).unwrap();
    validator
        .iter_errors(file)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn the_schema_is_a_schema_and_accepts_sources() {
    assert!(jsonschema::draft7::meta::is_valid(&source_schema()));
    let standalone = json!({
        "name": "orders",
        "table": "sales.orders",
        "grain": ["id"],
        "descriptions": {"user": "orders", "db": null},
        "columns": [{"name": "id", "type": "number", "visibility": "hidden"}],
        "joins": [{"to": "people", "on": "who = people.id", "relationship": "many_to_one"}],
        "measures": [{"name": "n", "expr": "count(*)", "segments": ["paid"]}],
        "segments": [{"name": "paid", "expr": "is_paid"}],
        "tags": {"dbt": ["core"]},
    });
    let overlay = json!({
        "name": "orders",
        "joins": [{"to": "people", "exclude": true}, {"to": "shops", "alias": "seller"}],
        "columns": [{"name": "net", "type": "number", "expr": "cost - tax"}],
        "column_overrides": [{"name": "at", "role": "time"}],
        "disable_joins": ["who = people.id"],
    });
    assert_eq!(errors(&standalone), Vec::<String>::new());
    assert_eq!(errors(&overlay), Vec::<String>::new());
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let cases = [
        (
            json!({"name": "a", "nmae": 1}),
            r"[: Additional properties are not allowed ('nmae' was unexpected)]",
        ),
        (
            json!({"name": "a", "columns": [{"name": "b", "type": "number"}]}),
            r#"[/columns/0: "expr" is a required property]"#,
        ),
        (
            json!({"name": "a", "measures": [{"name": "b", "expr": "count(*)", "type": "sum"}]}),
            r"[/measures/0: Additional properties are not allowed ('type' was unexpected)]",
        ),
        (
            json!({"name": "a", "table": "a", "grain": ["id"], "columns": [{"name": "id", "type": "text"}]}),
            r#"[/columns/0/type: "text" is not one of "string", "number" or 3 other candidates]"#,
        ),
        (
            json!({"name": "a", "sql": "select 1", "columns": []}),
            r#"[: "grain" is a required property]"#,
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(format!("[{}]", errors(&file).join("; ")), expected);
    }
}

#[test]
fn every_key_and_record_is_described() {
    let schema = source_schema();
    let mut silent: Vec<String> = Vec::new();
    for (name, definition) in schema["definitions"].as_object().unwrap() {
        for (key, property) in definition["properties"].as_object().unwrap() {
            if property["description"]
                .as_str()
                .is_none_or(|text| text.len() < 10)
            {
                silent.push(format!("{name}.{key}"));
            }
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}
