//! Entries as files.

use super::*;

fn source() -> ConnectionId {
    ConnectionId::parse("shop-dbt").unwrap()
}

#[test]
fn an_entry_is_a_small_file_of_its_own() {
    let entry = Entry {
        unit: "dbt-models-orders".to_owned(),
        outcome: UnitOutcome::Written,
        input: "599d".to_owned(),
        content: "77aa".to_owned(),
        files: vec!["models/orders.yml".to_owned()],
        pages: vec!["revenue".to_owned()],
        sources: Vec::new(),
        triage: None,
        failures: 0,
    };
    let change = entry.change(&source()).unwrap();
    let Content::Write(bytes) = &change.content else {
        panic!("nothing is written");
    };
    insta::assert_snapshot!(format!("{}\n{}", change.path, String::from_utf8_lossy(bytes)), @r#"
    raw-sources/shop-dbt/ledger/dbt-models-orders.json
    {
      "unit": "dbt-models-orders",
      "outcome": "written",
      "input": "599d",
      "content": "77aa",
      "files": [
        "models/orders.yml"
      ],
      "pages": [
        "revenue"
      ]
    }
    "#);
    assert_eq!(Entry::parse(bytes).unwrap(), entry);
}

#[test]
fn keys_that_differ_have_files_that_differ() {
    let file = |unit: &str| path(&source(), unit).unwrap().to_string();
    insta::assert_snapshot!(
        [
            file("dbt-all"),
            file("wh:dbt-all"),
            file("wh-dbt-all"),
            file("../x"),
            file("Umsätze je Region"),
            file(""),
            file(&"long".repeat(100)),
        ]
        .join("\n"),
        @r"
    raw-sources/shop-dbt/ledger/dbt-all.json
    raw-sources/shop-dbt/ledger/wh-dbt-all.0fa15832.json
    raw-sources/shop-dbt/ledger/wh-dbt-all.json
    raw-sources/shop-dbt/ledger/---x.d6b96a97.json
    raw-sources/shop-dbt/ledger/-ms-tze-je--egion.b4f8b796.json
    raw-sources/shop-dbt/ledger/.e3b0c442.json
    raw-sources/shop-dbt/ledger/longlonglonglonglonglonglonglonglonglonglonglonglo.0184fa9c.json
    "
    );
}

#[test]
fn a_conflict_is_no_entry() {
    let text = "{\n  \"unit\": \"a\",\n<<<<<<< HEAD\n";
    insta::assert_snapshot!(Entry::parse(text.as_bytes()).unwrap_err(), @"key must be a string at line 3 column 1");
    insta::assert_snapshot!(Entry::parse(br#"{"unit": "a", "owner": 1}"#).unwrap_err(), @"unknown field `owner`, expected one of `unit`, `outcome`, `input`, `content`, `files`, `pages`, `sources`, `triage`, `failures` at line 1 column 21");
}
