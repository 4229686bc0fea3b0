//! Ordinary questions on schemas with the traps of real ones, asked straight after a scan: no overlay, no model. Each
//! has SQL that a person wrote. An answer is right, or right after running a query that the refusal offers.

use std::collections::BTreeMap;
use std::path::Path;

use ktx_semantic_layer::{Catalog, Query, QueryError, SourceFile, compile};
use ktx_sql::Dialect;
use ktx_test_support::sandbox::Sandbox;
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;

use crate::support::{run, unscanned};

/// How a question came out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Right,
    RightAfterRemedy,
    Refused,
    Wrong,
}

struct Scanned {
    catalog: Catalog,
    database: Connection,
    questions: Vec<Value>,
}

/// Scans the schema and reads what the scan wrote.
fn scanned(name: &str) -> (Sandbox, Scanned) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/questions");
    let text = |ending: &str| {
        let file = folder.join(format!("{name}.{ending}"));
        std::fs::read_to_string(file).expect("a fixture")
    };
    let sandbox = unscanned(&text("sql"));
    let printed = run(&sandbox, "scan");
    assert_eq!(printed.code, Some(0), "{printed}");
    let root = sandbox.work().join("semantic-layer/warehouse");
    let shards = std::fs::read_dir(root.join("_schema")).expect("shards");
    let files = shards.map(|entry| {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        SourceFile::new(
            format!("_schema/{name}"),
            std::fs::read(&path).expect("text"),
        )
    });
    let questions = ktx_config::yaml::load_text(&text("yaml"), name).expect("YAML");
    let scanned = Scanned {
        catalog: Catalog::load(files.collect(), Dialect::Sqlite),
        database: Connection::open(sandbox.work().join("warehouse.db")).expect("a database"),
        questions: questions.value.as_array().expect("a list").clone(),
    };
    (sandbox, scanned)
}

impl Scanned {
    /// Returns the rows that have a number, in the order of their texts. A member without facts may be left out or
    /// have no number.
    fn rows(&self, sql: &str, dimensions: usize) -> Vec<String> {
        let mut statement = self.database.prepare(sql).expect("SQL");
        let count = statement.column_count();
        let rows = statement.query_map((), |row| (0..count).map(|at| row.get(at)).collect());
        let rows = rows.expect("rows").map(|row| row.expect("a row"));
        let is_empty = |cell: &Cell| matches!(cell, Cell::Null | Cell::Integer(0));
        let mut shown: Vec<String> = rows
            .filter(|row: &Vec<Cell>| !row.iter().skip(dimensions).all(is_empty))
            .map(|row| row.iter().map(shown).collect::<Vec<_>>().join(" | "))
            .collect();
        shown.sort();
        shown
    }

    fn answer(&self, query: &Query) -> Result<Vec<String>, QueryError> {
        let compiled = compile(&self.catalog, query, Dialect::Sqlite)?;
        Ok(self.rows(&compiled.sql, query.dimensions.len()))
    }

    fn ask(&self, question: &Value) -> Outcome {
        let query = Query::from_value(&question["ask"]).expect("a query");
        let expected = self.rows(
            question["sql"].as_str().expect("SQL"),
            query.dimensions.len(),
        );
        match self.answer(&query) {
            Ok(rows) if rows == expected => Outcome::Right,
            Ok(_) => Outcome::Wrong,
            Err(error) => {
                let mut offered = error.remedy.queries.iter();
                let helps = offered.any(|offered| {
                    let offered = Query::from_value(offered).expect("a query");
                    self.answer(&offered).is_ok_and(|rows| rows == expected)
                });
                if helps {
                    Outcome::RightAfterRemedy
                } else {
                    Outcome::Refused
                }
            }
        }
    }
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(number) => format!("{number}.0000"),
        Cell::Real(number) => format!("{number:.4}"),
        Cell::Text(text) => text.clone(),
        Cell::Blob(_) => unreachable!("no question asks for bytes"),
    }
}

/// The outcomes by kind of question, and each question that is not answered.
fn report(name: &str) -> String {
    let (_sandbox, scanned) = scanned(name);
    let mut kinds: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut open: Vec<String> = Vec::new();
    for question in &scanned.questions {
        let outcome = scanned.ask(question);
        let counts = kinds
            .entry(question["kind"].as_str().expect("a kind"))
            .or_default();
        counts[outcome as usize] += 1;
        if outcome > Outcome::RightAfterRemedy {
            let word = if outcome == Outcome::Wrong {
                "wrong"
            } else {
                "refused"
            };
            open.push(format!("{word}: {}\n", question["ask"]));
        }
    }
    let line = |(kind, [right, remedy, refused, wrong]): (&&str, &[usize; 4])| {
        format!(
            "{kind}: {right} right, {remedy} after a remedy, {refused} refused, {wrong} wrong\n"
        )
    };
    kinds.iter().map(line).chain(open).collect()
}

#[test]
fn on_a_store_with_declared_keys() {
    insta::assert_snapshot!(report("store"), @r"
    bridge: 1 right, 5 after a remedy, 0 refused, 0 wrong
    filter: 2 right, 1 after a remedy, 0 refused, 0 wrong
    plain: 8 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 2 right, 0 after a remedy, 0 refused, 0 wrong
    self: 2 right, 0 after a remedy, 0 refused, 0 wrong
    time: 2 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 0 right, 1 after a remedy, 0 refused, 0 wrong
    two roles: 4 right, 5 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_league_without_declared_keys() {
    insta::assert_snapshot!(report("league"), @r"
    filter: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 6 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 2 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 0 right, 1 after a remedy, 0 refused, 0 wrong
    two roles: 3 right, 4 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_clinic_with_german_names_a_copy_and_a_view() {
    insta::assert_snapshot!(report("klinik"), @r"
    bridge: 2 right, 1 after a remedy, 0 refused, 0 wrong
    filter: 2 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 5 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_sales_without_a_key_whose_names_run_together() {
    insta::assert_snapshot!(report("sales"), @r"
    bridge: 0 right, 2 after a remedy, 0 refused, 0 wrong
    filter: 1 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 5 right, 1 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two measures: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 2 right, 4 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_music_shop_that_declares_some_keys() {
    insta::assert_snapshot!(report("music"), @r"
    bridge: 1 right, 2 after a remedy, 0 refused, 0 wrong
    filter: 2 right, 0 after a remedy, 0 refused, 0 wrong
    plain: 6 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 2 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    top: 1 right, 0 after a remedy, 0 refused, 0 wrong
    trap: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ");
}

#[test]
fn on_a_company_with_spanish_names() {
    insta::assert_snapshot!(report("empresa"), @r"
    bridge: 1 right, 1 after a remedy, 0 refused, 0 wrong
    filter: 0 right, 1 after a remedy, 0 refused, 0 wrong
    plain: 3 right, 0 after a remedy, 0 refused, 0 wrong
    ratio: 1 right, 0 after a remedy, 0 refused, 0 wrong
    self: 1 right, 0 after a remedy, 0 refused, 0 wrong
    time: 1 right, 0 after a remedy, 0 refused, 0 wrong
    two roles: 1 right, 3 after a remedy, 0 refused, 0 wrong
    ");
}
