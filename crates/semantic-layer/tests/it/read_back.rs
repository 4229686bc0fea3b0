//! The compiled SQL parses in its dialect with the intended meaning.

use ktx_semantic_layer::{Query, compile};
use ktx_sql::Dialect;
use ktx_sql::grammar::Grammar;
use sqlparser::ast::Statement;
use sqlparser::parser::Parser;

use crate::fixtures;

/// Forms that the public cases do not use.
const MORE: [&str; 9] = [
    r#"{"measures": ["median(visits.cost)", "visits.visit_count"], "dimensions": ["patients.vip"]}"#,
    r#"{"measures": ["percentile(visits.cost, 0.9)"]}"#,
    r#"{"measures": ["visits.visit_count"], "dimensions": [{"field": "visits.at", "granularity": "year"}]}"#,
    r#"{"measures": ["visits.visit_count"], "dimensions": [{"field": "visits.at", "granularity": "quarter"}]}"#,
    r#"{"measures": ["visits.visit_count"], "dimensions": [{"field": "visits.at", "granularity": "day"}]}"#,
    r#"{"measures": ["visits.visit_count"], "dimensions": [{"field": "visits.at", "granularity": "minute"}]}"#,
    r#"{"measures": [{"expr": "visits.cost_total / labs.lab_count", "name": "a \"b\" [d] 'e'"}]}"#,
    r#"{"measures": ["avg(visits.cost)", "max(visits.kind)", "labs.lab_total"], "filters": ["visits.kind in ('a', 'it''s')"]}"#,
    r#"{"measures": ["visits.visit_count"], "filters": ["patients.vip", "visits.visit_count between 1 and 9"], "limit": 0}"#,
];

fn unreadable(model: &str, query: &str, dialect: Dialect) -> Option<String> {
    let catalog = fixtures::model(model, dialect);
    let query = Query::from_json(query).ok()?;
    let compiled = compile(&catalog, &query, dialect).ok()?;
    if let Err(refusal) = ktx_read_only_sql::check(&compiled.sql, dialect) {
        return Some(format!(
            "{dialect}: the gate says {refusal}\n{}",
            compiled.sql
        ));
    }
    match Parser::parse_sql(&Grammar::new(dialect), &compiled.sql) {
        Ok(statements) if matches!(statements.as_slice(), [Statement::Query(_)]) => None,
        Ok(statements) => Some(format!("{dialect}: {} statements", statements.len())),
        Err(error) => Some(format!("{dialect}: {error}\n{}", compiled.sql)),
    }
}

#[test]
fn every_dialect_reads_back_what_is_written_for_it_and_the_gate_lets_it_pass() {
    let mut wrong: Vec<String> = Vec::new();
    for dialect in Dialect::ALL {
        for case in fixtures::cases() {
            let model = case["model"].as_str().expect("a model");
            wrong.extend(unreadable(model, &case["query"].to_string(), dialect));
        }
        for query in MORE {
            wrong.extend(unreadable("clinic", query, dialect));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_dialect_compiles_the_same_questions() {
    let mut wrong: Vec<String> = Vec::new();
    for dialect in Dialect::ALL {
        for query in MORE {
            let catalog = fixtures::model("clinic", dialect);
            let query = Query::from_json(query).expect("a query");
            if let Err(error) = compile(&catalog, &query, dialect) {
                wrong.push(format!("{dialect}: {error}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn forbidden(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::SqlServer => &[" LIMIT ", "DATE_TRUNC(", " TRUE", " FALSE"],
        Dialect::MySql | Dialect::MariaDb => &["FULL JOIN", "PERCENTILE_CONT", "||"],
        Dialect::BigQuery => &["WITHIN GROUP"],
        Dialect::Sqlite => &["DATE_TRUNC(", "PERCENTILE_CONT"],
        _ => &["SETTINGS"],
    }
}

#[test]
fn no_dialect_is_sent_what_it_does_not_have() {
    let mut wrong: Vec<String> = Vec::new();
    for dialect in Dialect::ALL {
        for query in MORE {
            let catalog = fixtures::model("clinic", dialect);
            let query = Query::from_json(query).expect("a query");
            let compiled = compile(&catalog, &query, dialect).expect("compiles");
            let sql = compiled.sql.to_uppercase().replace('\n', " ");
            let found = forbidden(dialect)
                .iter()
                .filter(|text| sql.contains(**text));
            wrong.extend(found.map(|text| format!("{dialect}: {text}")));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
