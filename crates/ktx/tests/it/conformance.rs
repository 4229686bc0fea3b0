//! `ktx sl conformance`: the line protocol over the public models.

use std::path::Path;

use serde_json::json;

use crate::support::{compare, sandbox};

#[test]
fn each_request_line_is_answered_with_one_line() {
    let sandbox = sandbox();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/semantic-layer-cases/models/clinic/sources")
        .canonicalize()
        .unwrap();
    let sources = sources.display().to_string();
    let requests = [
        json!({ "dialect": "sqlite", "sources_dir": sources, "query": { "measures": ["visits.cost_total"] } }).to_string(),
        json!({ "op": "compile", "dialect": "duckdb", "sources_dir": sources, "query": { "measures": ["visits.cost_total"], "dimensions": ["drugs.family"] } }).to_string(),
        json!({ "op": "validate", "dialect": "sqlite", "sources_dir": sources }).to_string(),
        json!({ "dialect": "klingon", "sources_dir": sources, "query": {} }).to_string(),
        json!({ "dialect": "sqlite", "sources_dir": "nowhere", "query": {} }).to_string(),
        json!({ "op": "dance", "dialect": "sqlite", "sources_dir": sources }).to_string(),
        "not json".to_owned(),
    ];
    let printed = sandbox
        .run_with_input(&["sl", "conformance"], &requests.join("\n"))
        .unwrap();
    compare(
        "sl conformance",
        &printed,
        r#"
exit 0
{"ok":true,"sql":"WITH visits_part AS (\nSELECT sum(visits.cost) AS a1_cost_total\nFROM visits AS visits\n)\nSELECT a1_cost_total AS cost_total\nFROM visits_part\nLIMIT 1000","columns":[{"name":"cost_total","ref":"visits.cost_total"}],"notes":[]}
{"ok":false,"error":{"kind":"fanout","message":"`drugs` has many rows per row of `visits`: grouping by `drugs.family` would count them more than once","offending":"drugs.family","suggestions":["doctors","patients","visits","wards"]}}
{"ok":true,"errors":[],"warnings":[{"path":"visits.yaml","source":"visits","kind":"duplicate_measure_expr","message":"measures `cost_total` and `urgent_cost` differ in their filter only; a segment says it once"},{"path":"visits.yaml","source":"visits","kind":"duplicate_measure_expr","message":"measures `visit_count` and `vip_visits` differ in their filter only; a segment says it once"}]}
{"ok":false,"error":{"kind":"unknown_dialect","message":"unknown dialect `klingon`","offending":"klingon","suggestions":["postgres","snowflake","bigquery","clickhouse","mysql","mariadb","tsql","sqlite","duckdb","redshift","databricks","trino"]}}
{"ok":false,"error":{"kind":"invalid_source","message":"nowhere: No such file or directory (os error 2)","offending":null,"suggestions":[]}}
{"ok":false,"error":{"kind":"invalid_query","message":"unknown operation `dance`","offending":"dance","suggestions":[]}}
{"ok":false,"error":{"kind":"invalid_query","message":"the request is not JSON: expected ident at line 1 column 2","offending":null,"suggestions":[]}}
"#,
    );
}
