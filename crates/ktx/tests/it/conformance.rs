//! The public cases of `ktx sl conformance` on every available engine, compared as their README
//! defines.

mod data;
mod engines;
mod judge;

use std::path::Path;

use ktx_config::Driver;
use ktx_test_support::services::{Service, ServiceName, service};
use serde_json::{Value, json};

use crate::support::sandbox;
use data::{Model, cases, sources_of};
use engines::{DuckDb, Engine, MariaDb, Postgres, Sqlite};
use judge::{Verdict, judge};

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
    compare!("sl conformance", &printed, @r#"
    exit 0
    {"ok":true,"sql":"WITH visits_part AS (\nSELECT sum(visits.cost) AS a1_cost_total\nFROM visits AS visits\n)\nSELECT a1_cost_total AS cost_total\nFROM visits_part\nLIMIT 1000","columns":[{"name":"cost_total","ref":"visits.cost_total"}],"notes":[]}
    {"ok":false,"error":{"kind":"fanout","message":"`drugs` has many rows per row of `visits`: grouping by `drugs.family` would count them more than once","offending":"drugs.family","suggestions":["doctors","patients","wards"]}}
    {"ok":true,"errors":[],"warnings":[{"path":"visits.yaml:36:3","source":"visits","kind":"duplicate_measure_expr","message":"measures `cost_total` and `urgent_cost` differ in their filter only; a segment says it once"},{"path":"visits.yaml:43:3","source":"visits","kind":"duplicate_measure_expr","message":"measures `visit_count` and `vip_visits` differ in their filter only; a segment says it once"}]}
    {"ok":false,"error":{"kind":"unknown_dialect","message":"unknown dialect `klingon`","offending":"klingon","suggestions":["postgres","snowflake","bigquery","clickhouse","mysql","mariadb","tsql","sqlite","duckdb","redshift","databricks","trino"]}}
    {"ok":false,"error":{"kind":"invalid_source","message":"nowhere: No such file or directory (os error 2)","offending":null,"suggestions":[]}}
    {"ok":false,"error":{"kind":"invalid_query","message":"unknown operation `dance`","offending":"dance","suggestions":[]}}
    {"ok":false,"error":{"kind":"invalid_query","message":"the request is not JSON: expected ident at line 1 column 2","offending":null,"suggestions":[]}}
    "#);
}

fn compiled(dialect: &str, cases: &[Value]) -> Vec<Value> {
    let sandbox = sandbox();
    let requests: Vec<String> = cases
        .iter()
        .map(|case| {
            let model = case["model"].as_str().unwrap();
            let sources = sources_of(model).display().to_string();
            json!({ "op": "compile", "dialect": dialect, "sources_dir": sources, "query": case["query"] })
                .to_string()
        })
        .collect();
    let printed = sandbox
        .run_with_input(&["sl", "conformance"], &requests.join("\n"))
        .unwrap();
    assert_eq!(printed.code, Some(0), "{printed}");
    let answers: Vec<Value> = printed
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), cases.len());
    answers
}

fn check(dialect: &str, engine: &mut dyn Engine) {
    let cases = cases();
    let answers = compiled(dialect, &cases);
    let (mut exact, mut accepted, mut wrong) = (0, 0, Vec::new());
    let mut loaded = String::new();
    for (case, answer) in cases.iter().zip(&answers) {
        let model = case["model"].as_str().unwrap();
        if loaded != model {
            engine.load(&Model::read(model));
            model.clone_into(&mut loaded);
        }
        match judge(case, answer, engine) {
            Verdict::Exact => exact += 1,
            Verdict::Accepted => accepted += 1,
            Verdict::Wrong(reason) => wrong.push(format!("{}: {reason}", case["id"])),
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "on {dialect}");
    assert_eq!((exact, accepted), (62, 0), "on {dialect}");
}

#[test]
fn every_public_case_is_right_on_sqlite() {
    check("sqlite", &mut Sqlite::new());
}

#[test]
fn every_public_case_is_right_on_duckdb() {
    let Service::Available(python) = service(ServiceName::Python) else {
        return;
    };
    check("duckdb", &mut DuckDb::new(&python));
}

#[test]
fn every_public_case_is_right_on_postgres() {
    let Service::Available(url) = service(ServiceName::Postgres) else {
        return;
    };
    check(Driver::Postgres.as_str(), &mut Postgres::new(&url));
}

#[test]
fn every_public_case_is_right_on_mariadb() {
    let Service::Available(url) = service(ServiceName::MariaDb) else {
        return;
    };
    check("mariadb", &mut MariaDb::new(&url));
}
