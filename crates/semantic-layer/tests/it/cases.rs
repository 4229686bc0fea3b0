//! The public cases of the result contract, on SQLite.

use std::collections::BTreeMap;

use ktx_semantic_layer::{Compiled, Query, QueryError, compile};
use ktx_sql::Dialect;
use serde_json::Value;

use crate::{fixtures, sqlite};

/// Numbers and booleans are one kind, midnights are dates.
#[derive(Debug, Clone, PartialEq)]
enum Norm {
    Null,
    Number(f64),
    Text(String),
}

fn norm(value: &Value) -> Norm {
    match value {
        Value::Null => Norm::Null,
        Value::Bool(truth) => Norm::Number(f64::from(u8::from(*truth))),
        Value::Number(number) => Norm::Number(number.as_f64().expect("a number")),
        Value::String(text) => {
            let text = text.replace('T', " ");
            Norm::Text(text.strip_suffix(" 00:00:00").unwrap_or(&text).to_owned())
        }
        other => panic!("no scalar: {other}"),
    }
}

fn is_same(expected: &Value, got: &Value) -> bool {
    if let Some(any) = expected.get("any").and_then(Value::as_array) {
        return any.iter().any(|one| is_same(one, got));
    }
    match (norm(expected), norm(got)) {
        (Norm::Number(left), Norm::Number(right)) => {
            (left - right).abs() <= 1e-6 * left.abs().max(1.0)
        }
        (left, right) => left == right,
    }
}

/// Dimensions match by position, measures by request.
fn columns(expect: &Value, compiled: &Compiled, names: &[String]) -> Vec<usize> {
    let dimensions = number(expect, "dims");
    let mut places: Vec<usize> = (0..dimensions).collect();
    for alternatives in list(expect, "measures") {
        let wanted: Vec<&str> = alternatives
            .as_array()
            .expect("alternatives")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let by_reference = compiled
            .columns
            .iter()
            .find(|column| wanted.contains(&column.reference.as_str()));
        let name = by_reference.map(|column| column.name.as_str());
        let place = names.iter().position(|known| {
            name.map_or_else(|| wanted.contains(&known.as_str()), |name| name == known)
        });
        places.push(place.unwrap_or_else(|| panic!("no column for {wanted:?} in {names:?}")));
    }
    places
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn number(value: &Value, key: &str) -> usize {
    value
        .get(key)
        .and_then(Value::as_u64)
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or(0)
}

fn differences(expect: &Value, got: &[Vec<Value>]) -> Vec<String> {
    let mut left: Vec<&Value> = list(expect, "rows").iter().collect();
    let mut wrong = Vec::new();
    for row in got {
        let fits = |wanted: &&Value| {
            wanted
                .as_array()
                .is_some_and(|wanted| wanted.iter().zip(row).all(|(a, b)| is_same(a, b)))
        };
        match left.iter().position(fits) {
            Some(at) => {
                left.remove(at);
            }
            None => wrong.push(format!("unexpected {row:?}")),
        }
    }
    let limit = expect
        .get("limit")
        .map_or(usize::MAX, |_| number(expect, "limit"));
    let wanted = list(expect, "rows").len().min(limit);
    if got.len() != wanted {
        wrong.push(format!("{} rows instead of {wanted}", got.len()));
    }
    wrong
}

fn is_ordered(expect: &Value, got: &[Vec<Value>]) -> bool {
    let keys = list(expect, "order");
    got.windows(2).all(|pair| {
        let [before, after] = pair else { return true };
        for key in keys {
            let place = key
                .get(0)
                .and_then(Value::as_u64)
                .and_then(|at| usize::try_from(at).ok());
            let place = place.expect("a place");
            let descends = key.get(1).and_then(Value::as_str) == Some("desc");
            let (left, right) = (norm(&before[place]), norm(&after[place]));
            let order = match (&left, &right) {
                (Norm::Number(left), Norm::Number(right)) => left.partial_cmp(right),
                (Norm::Text(left), Norm::Text(right)) => Some(left.cmp(right)),
                _ => return true,
            };
            match order.expect("comparable values") {
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Less => return !descends,
                std::cmp::Ordering::Greater => return descends,
            }
        }
        true
    })
}

fn judge(
    case: &Value,
    outcome: Result<Compiled, QueryError>,
    connection: &rusqlite::Connection,
) -> Vec<String> {
    let expect = case
        .get("by_dialect")
        .and_then(|by| by.get("sqlite"))
        .unwrap_or(&case["expect"]);
    let kinds: Vec<&str> = list(expect, "error")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match outcome {
        Err(error) if kinds.contains(&error.kind.as_str()) => Vec::new(),
        Err(error) => vec![format!("refused with {}: {error}", error.kind)],
        Ok(_) if expect.get("rows").is_none() => vec![format!("compiled instead of {kinds:?}")],
        Ok(compiled) => {
            let (names, rows) = sqlite::run(connection, &compiled.sql);
            let places = columns(expect, &compiled, &names);
            let picked: Vec<Vec<Value>> = rows
                .iter()
                .map(|row| places.iter().map(|at| row[*at].clone()).collect())
                .collect();
            let mut wrong = differences(expect, &picked);
            if !is_ordered(expect, &picked) {
                wrong.push(format!("order of {picked:?}"));
            }
            wrong
        }
    }
}

/// Numbers 1 to 12 of the contract, on every public case.
#[test]
fn public_cases_are_exact_on_sqlite() {
    let mut databases: BTreeMap<String, rusqlite::Connection> = BTreeMap::new();
    let mut wrong: Vec<String> = Vec::new();
    let cases = fixtures::cases();
    for case in &cases {
        let model = case["model"].as_str().expect("a model");
        let connection = databases
            .entry(model.to_owned())
            .or_insert_with(|| sqlite::database(&fixtures::model_data(model)));
        let catalog = fixtures::model(model, Dialect::Sqlite);
        let outcome = Query::from_value(&case["query"])
            .and_then(|query| compile(&catalog, &query, Dialect::Sqlite));
        for reason in judge(case, outcome, connection) {
            wrong.push(format!("{}: {reason}", case["id"]));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(cases.len(), 62);
}
