//! Compares answers.
#![expect(clippy::panic, reason = "a helper that fails fails its test")]

use std::cmp::Ordering;

use serde_json::Value;

use super::engines::Engine;

pub(super) enum Verdict {
    Exact,
    Accepted,
    Wrong(String),
}

/// Numbers include Booleans, dates include midnights.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Norm {
    Null,
    Number(f64, f64),
    Text(String),
}

impl Norm {
    pub(super) fn number(value: f64) -> Self {
        if value.is_nan() {
            return Self::Null;
        }
        Self::Number(value, 0.0)
    }

    /// Some engines round quotients.
    pub(super) fn decimal(text: &str) -> Self {
        let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let exactness = match digits {
            3 => 1e-3,
            4 => 1e-4,
            5 => 1e-5,
            _ => 0.0,
        };
        Self::Number(text.parse().expect("a decimal"), exactness)
    }

    pub(super) fn text(text: &str) -> Self {
        let is_time = text.len() >= 19 && text.as_bytes().get(4) == Some(&b'-');
        if !is_time {
            return Self::Text(text.to_owned());
        }
        // Some engines truncate dates to times with the session's offset.
        let text = text.strip_suffix("+00").unwrap_or(text);
        let text = text.replacen('T', " ", 1);
        let text = match text.split_once('.') {
            Some((whole, rest)) if rest.bytes().all(|digit| digit == b'0') => whole,
            _ => text.as_str(),
        };
        Self::Text(text.strip_suffix(" 00:00:00").unwrap_or(text).to_owned())
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::number(f64::from(u8::from(*truth))),
            Value::Number(number) => Self::number(number.as_f64().expect("a number")),
            Value::String(text) => Self::text(text),
            // The first of several valid values decides ordering.
            Value::Object(several) => Self::of(&several["any"][0]),
            other @ Value::Array(_) => panic!("no value of the cases: {other}"),
        }
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(left, _), Self::Number(right, _)) if is_near(*left, *right, 0.0) => {
                Some(Ordering::Equal)
            }
            (Self::Number(left, _), Self::Number(right, _)) => left.partial_cmp(right),
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }
}

fn is_near(wanted: f64, got: f64, exactness: f64) -> bool {
    (wanted - got).abs() <= (1e-6 * wanted.abs().max(1.0)).max(exactness)
}

fn fits(wanted: &Value, got: &Norm) -> bool {
    if let Some(any) = wanted.get("any").and_then(Value::as_array) {
        return any.iter().any(|one| fits(one, got));
    }
    match (Norm::of(wanted), got) {
        (Norm::Number(wanted, _), Norm::Number(got, exactness)) => {
            is_near(wanted, *got, *exactness)
        }
        (wanted, got) => wanted == *got,
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn count(value: &Value) -> Option<usize> {
    value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
}

pub(super) fn judge(case: &Value, answer: &Value, engine: &mut dyn Engine) -> Verdict {
    let expect = &case["expect"];
    let kinds = list(expect, "error");
    if answer["ok"] != true {
        let kind = &answer["error"]["kind"];
        return match (kinds.contains(kind), expect.get("rows")) {
            (true, None) => Verdict::Exact,
            (true, Some(_)) => Verdict::Accepted,
            (false, _) => Verdict::Wrong(format!("refused: {}", answer["error"])),
        };
    }
    if expect.get("rows").is_none() {
        return Verdict::Wrong(format!("compiled instead of {kinds:?}"));
    }
    let (names, rows) = match engine.run(answer["sql"].as_str().expect("SQL")) {
        Ok(rows) => rows,
        Err(reason) => return Verdict::Wrong(format!("{reason} in {}", answer["sql"])),
    };
    let places = match columns(expect, answer, &names) {
        Ok(places) => places,
        Err(reason) => return Verdict::Wrong(reason),
    };
    let picked: Vec<Vec<Norm>> = rows
        .iter()
        .map(|row| places.iter().map(|at| row[*at].clone()).collect())
        .collect();
    let reason = match compare(expect, list(expect, "rows"), &picked) {
        Ok(()) => return Verdict::Exact,
        Err(reason) => reason,
    };
    let is_accepted = list(expect, "also")
        .iter()
        .any(|other| compare(expect, list(other, "rows"), &picked).is_ok());
    if is_accepted {
        Verdict::Accepted
    } else {
        Verdict::Wrong(reason)
    }
}

/// Dimensions by position, measures by query.
fn columns(expect: &Value, answer: &Value, names: &[String]) -> Result<Vec<usize>, String> {
    let mut places: Vec<usize> = (0..count(&expect["dims"]).unwrap_or(0)).collect();
    for alternatives in list(expect, "measures") {
        let wanted: Vec<&str> = alternatives
            .as_array()
            .expect("alternatives")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let by_reference = list(answer, "columns").iter().find(|column| {
            column["ref"]
                .as_str()
                .is_some_and(|reference| wanted.contains(&reference))
        });
        let name = by_reference.and_then(|column| column["name"].as_str());
        let is_it = |known: &String| {
            name.map_or_else(
                || wanted.contains(&known.as_str()),
                |name| known.eq_ignore_ascii_case(name),
            )
        };
        let place = names.iter().position(is_it);
        places.push(place.ok_or_else(|| format!("no column for {wanted:?} in {names:?}"))?);
    }
    Ok(places)
}

fn compare(expect: &Value, wanted: &[Value], got: &[Vec<Norm>]) -> Result<(), String> {
    let limit = count(&expect["limit"]);
    let size = wanted.len().min(limit.unwrap_or(usize::MAX));
    if got.len() != size {
        return Err(format!("{} rows instead of {size}: {got:?}", got.len()));
    }
    let mut left: Vec<&Value> = wanted.iter().collect();
    for row in got {
        let is_it = |wanted: &&Value| {
            let wanted = wanted.as_array().expect("a row");
            wanted.len() == row.len() && wanted.iter().zip(row).all(|(a, b)| fits(a, b))
        };
        let at = left.iter().position(is_it);
        left.remove(at.ok_or_else(|| format!("unexpected row {row:?}"))?);
    }
    let keys: Vec<(usize, bool)> = list(expect, "order")
        .iter()
        .map(|key| (count(&key[0]).expect("a place"), key[1] == "desc"))
        .collect();
    if let Some(pair) = got.windows(2).find(|pair| {
        matches!(pair, [before, after] if ordered(&keys, before, after) == Ordering::Greater)
    }) {
        return Err(format!("not in order: {pair:?}"));
    }
    first_rows(&keys, wanted, got)
}

/// Ignores the engine's position of NULL.
fn ordered(keys: &[(usize, bool)], left: &[Norm], right: &[Norm]) -> Ordering {
    for (place, descends) in keys {
        match left[*place].order(&right[*place]) {
            None => return Ordering::Equal,
            Some(Ordering::Equal) => {}
            Some(order) if *descends => return order.reverse(),
            Some(order) => return order,
        }
    }
    Ordering::Equal
}

/// With a limit, these must be the first rows.
fn first_rows(keys: &[(usize, bool)], wanted: &[Value], got: &[Vec<Norm>]) -> Result<(), String> {
    if keys.is_empty() || got.len() == wanted.len() {
        return Ok(());
    }
    let mut rows: Vec<Vec<Norm>> = wanted
        .iter()
        .map(|row| {
            row.as_array()
                .expect("a row")
                .iter()
                .map(Norm::of)
                .collect()
        })
        .collect();
    if rows
        .iter()
        .any(|row| keys.iter().any(|(place, _)| row[*place] == Norm::Null))
    {
        return Ok(());
    }
    rows.sort_by(|left, right| ordered(keys, left, right));
    match rows
        .iter()
        .zip(got)
        .find(|(wanted, got)| ordered(keys, wanted, got) != Ordering::Equal)
    {
        Some((wanted, got)) => Err(format!("{got:?} instead of {wanted:?}")),
        None => Ok(()),
    }
}
