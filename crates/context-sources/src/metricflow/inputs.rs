//! The inputs of metrics, as written: measures, windows, expressions.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::semantic_model::AggregateBasis;
use crate::definitions::{Fragment, Sql, Unit, Window};
use crate::yaml::{text, texts};

pub(super) struct MetricInput<'a> {
    pub(super) name: String,
    pub(super) alias: Option<String>,
    pub(super) filters: Vec<String>,
    pub(super) map: Option<&'a Mapping>,
}

pub(super) fn input(value: Option<&Value>) -> Option<MetricInput<'_>> {
    match value? {
        Value::String(name) => Some(MetricInput {
            name: name.clone(),
            alias: None,
            filters: Vec::new(),
            map: None,
        }),
        Value::Mapping(map) => Some(MetricInput {
            name: text(map, "name")?,
            alias: text(map, "alias"),
            filters: texts(map, "filter").unwrap_or_default(),
            map: Some(map),
        }),
        _ => None,
    }
}

/// Returns what the translation loses about periods without rows. A count is 0 there.
pub(super) fn lost(map: Option<&Mapping>, counts: AggregateBasis) -> Vec<String> {
    let Some(map) = map else {
        return Vec::new();
    };
    let mut lost = Vec::new();
    if let Some(value) = text(map, "fill_nulls_with")
        && (counts, value.as_str()) != (AggregateBasis::Rows, "0")
    {
        lost.push(format!("periods without rows are not filled with {value}"));
    }
    if text(map, "join_to_timespine").is_some_and(|word| word == "true") {
        lost.push("periods without rows appear only with `fill`".to_owned());
    }
    lost
}

/// Parses `7 days`, or a mapping of `count` and `granularity`.
pub(super) fn last_units(value: &Value) -> Result<Window, String> {
    let (count, unit) = match value {
        Value::Mapping(map) => (
            text(map, "count").unwrap_or_default(),
            text(map, "granularity").unwrap_or_default(),
        ),
        value => {
            let words = value.as_str().unwrap_or_default();
            let (count, unit) = words.trim().split_once(' ').unwrap_or((words, ""));
            (count.to_owned(), unit.trim().to_owned())
        }
    };
    let parsed = count.parse().ok().zip(Unit::parse(&unit));
    let (count, unit) =
        parsed.ok_or_else(|| format!("`{count} {unit}` is not a number of units"))?;
    Ok(Window::Last { count, unit })
}

pub(super) fn substituted(expr: &str, named: &BTreeMap<&str, Sql>) -> Sql {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut fragments: Vec<Fragment> = Vec::new();
    let mut plain = String::new();
    let mut rest = expr;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
        } else if first == '\'' {
            let behind = rest.get(1..).unwrap_or_default();
            behind.find('\'').map_or(rest.len(), |at| at + 2)
        } else {
            first.len_utf8()
        };
        let (word, behind) = rest.split_at(end);
        match named.get(word) {
            Some(sql) => {
                if !plain.is_empty() {
                    fragments.push(Fragment::Text(std::mem::take(&mut plain)));
                }
                fragments.extend(sql.0.iter().cloned());
            }
            None => plain.push_str(word),
        }
        rest = behind;
    }
    if !plain.is_empty() {
        fragments.push(Fragment::Text(plain));
    }
    Sql(fragments)
}
