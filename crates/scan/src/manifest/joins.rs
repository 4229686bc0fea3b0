//! The joins of manifest entries, merged with existing ones.

use std::collections::{BTreeMap, BTreeSet};

use ktx_manifest::Placement;
use ktx_relationships::links::link::{Cardinality, Endpoint, Link, Origin, Status};
use ktx_relationships::profile::{Extent, TableProfile};
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::Table;
use serde_yaml::{Mapping, Value};

/// Some dialect rejects these as unquoted names.
const RESERVED: &[&str] = &[
    "all",
    "and",
    "as",
    "by",
    "case",
    "check",
    "column",
    "constraint",
    "create",
    "cross",
    "default",
    "delete",
    "desc",
    "distinct",
    "else",
    "end",
    "exists",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "index",
    "insert",
    "into",
    "join",
    "key",
    "limit",
    "not",
    "null",
    "on",
    "or",
    "order",
    "primary",
    "select",
    "table",
    "union",
    "update",
    "user",
    "where",
];

const COVERAGE: &str = "coverage";

const EVIDENCE: &str = "evidence";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Join {
    pub(crate) to: String,
    pub(crate) on: String,
    pub(crate) relationship: &'static str,
    pub(crate) formal: bool,
    /// The percentage of rows with a match, if it was measured. A whole one is written only for a declared key or
    /// beside other evidence.
    pub(crate) coverage: Option<u8>,
    /// What an inferred join rests on, if not on counted values.
    pub(crate) evidence: Option<&'static str>,
    /// True if all rows were read and none lacks the key; `None` keeps the known value.
    pub(crate) is_keyed: Option<bool>,
}

const KEYED: &str = "keyed";

#[derive(Clone, Copy)]
pub(crate) struct ReadTables<'a> {
    pub(crate) tables: &'a BTreeMap<&'a TableRef, &'a Table>,
    /// `None` if the scan reads no values.
    pub(crate) profiles: Option<&'a BTreeMap<TableRef, TableProfile>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Forth,
    Back,
}

#[derive(Debug, Clone)]
pub(crate) struct FoundJoin {
    pub(crate) join: Join,
    pub(crate) far: TableRef,
    pub(crate) way: Way,
    /// The condition as written in the other table's entry.
    pub(crate) mirror: String,
}

pub(crate) fn joins_of(
    dialect: Dialect,
    links: &[Link],
    places: &BTreeMap<TableRef, Placement>,
    read: ReadTables<'_>,
) -> BTreeMap<TableRef, Vec<FoundJoin>> {
    let mut joins: BTreeMap<TableRef, Vec<FoundJoin>> = BTreeMap::new();
    for link in links.iter().filter(|link| link.status.is_written()) {
        let (Some(from), Some(to)) = (places.get(&link.from.table), places.get(&link.to.table))
        else {
            continue;
        };
        let formal = link.origin == Origin::Formal;
        let forth = Join {
            to: to.source.clone(),
            on: condition(dialect, (&from.source, &link.from), (&to.source, &link.to)),
            relationship: link.cardinality.name(),
            formal,
            coverage: coverage(link),
            evidence: evidence(link),
            is_keyed: read
                .profiles
                .map(|profiles| is_keyed(link, read.tables, profiles)),
        };
        let back = Join {
            to: from.source.clone(),
            on: condition(dialect, (&to.source, &link.to), (&from.source, &link.from)),
            relationship: link.cardinality.inverse_name(),
            formal,
            coverage: None,
            evidence: evidence(link),
            is_keyed: read.profiles.map(|_| false),
        };
        let (there, here) = (back.on.clone(), forth.on.clone());
        let mut add = |table: &TableRef, join, far: &TableRef, way, mirror| {
            joins.entry(table.clone()).or_default().push(FoundJoin {
                join,
                far: far.clone(),
                way,
                mirror,
            });
        };
        add(&link.from.table, forth, &link.to.table, Way::Forth, there);
        if link.from.table != link.to.table {
            add(&link.to.table, back, &link.from.table, Way::Back, here);
        }
    }
    for list in joins.values_mut() {
        list.sort_by(|left, right| {
            let (left, right) = (&left.join, &right.join);
            (!left.formal, &left.to, &left.on).cmp(&(!right.formal, &right.to, &right.on))
        });
    }
    joins
}

/// Returns the covered share of the referring rows in percent, because finer figures would change
/// with every scan; 100 only if no row lacks a match. `None` if it is 100 and counted values alone
/// are the evidence.
fn coverage(link: &Link) -> Option<u8> {
    let share = link.evidence.row_coverage.or(link.evidence.coverage)?;
    let reaches = |hundredths: &u8| f64::from(*hundredths) - 0.5 <= share * 100.0;
    let most: u8 = if share < 1.0 { 99 } else { 100 };
    (0..=most)
        .rev()
        .find(reaches)
        .filter(|found| *found < 100 || evidence(link).is_some() || link.origin == Origin::Formal)
}

/// Returns false if the declared columns already show it.
fn is_keyed(
    link: &Link,
    tables: &BTreeMap<&TableRef, &Table>,
    profiles: &BTreeMap<TableRef, TableProfile>,
) -> bool {
    let from = &link.from;
    let profile = profiles.get(&from.table);
    let Some(profile) = profile.filter(|profile| profile.extent == Extent::Whole) else {
        return false;
    };
    let is_filled = |name: &String| {
        let column = profile.column(name);
        column.is_some_and(|column| column.values > 0 && column.nulls == 0)
    };
    let may_lack = || {
        let table = tables.get(&from.table);
        let columns = table.map_or(&[][..], |table| &table.columns);
        let mut nullable = columns.iter().filter(|column| column.nullable);
        nullable.any(|column| from.columns.contains(&column.name))
    };
    from.columns.iter().all(is_filled) && (link.cardinality == Cardinality::OneToOne || may_lack())
}

/// `None` for declared keys and for counted values.
fn evidence(link: &Link) -> Option<&'static str> {
    let is_counted = link.evidence.coverage.is_some() || link.evidence.row_coverage.is_some();
    match link.origin {
        Origin::Formal => None,
        Origin::Decided => Some("decision"),
        Origin::Stated => Some("statement"),
        Origin::Queries => Some("queries"),
        Origin::Names | Origin::Values | Origin::Model => (!is_counted).then_some("names"),
    }
}

/// Returns the `on` texts that must not be in any entry, with the entry's table.
pub(crate) fn forbidden(
    dialect: Dialect,
    links: &[Link],
    places: &BTreeMap<TableRef, Placement>,
) -> BTreeSet<(TableRef, String)> {
    let mut texts = BTreeSet::new();
    for link in links.iter().filter(|link| link.status == Status::Rejected) {
        let (Some(from), Some(to)) = (places.get(&link.from.table), places.get(&link.to.table))
        else {
            continue;
        };
        texts.insert((
            link.from.table.clone(),
            condition(dialect, (&from.source, &link.from), (&to.source, &link.to)),
        ));
        texts.insert((
            link.to.table.clone(),
            condition(dialect, (&to.source, &link.to), (&from.source, &link.from)),
        ));
    }
    texts
}

fn condition(
    dialect: Dialect,
    (left, from): (&str, &Endpoint),
    (right, to): (&str, &Endpoint),
) -> String {
    let pairs = from.columns.iter().zip(&to.columns).map(|(own, other)| {
        format!(
            "{}.{} = {}.{}",
            source(dialect, left, &from.table),
            name(dialect, own),
            source(dialect, right, &to.table),
            name(dialect, other)
        )
    });
    pairs.collect::<Vec<_>>().join(" AND ")
}

/// Quotes a qualified name part by part unless a part contains a dot.
fn source(dialect: Dialect, source: &str, table: &TableRef) -> String {
    if is_simple(source) {
        return source.to_owned();
    }
    let parts: Vec<&str> = source.split('.').collect();
    let dotted = table.parts().any(|part| part.contains('.'));
    if !dotted && parts.len() > 1 && parts.iter().all(|part| is_simple(part)) {
        return source.to_owned();
    }
    dialect.quote(source)
}

fn name(dialect: Dialect, name: &str) -> String {
    if is_simple(name) {
        name.to_owned()
    } else {
        dialect.quote(name)
    }
}

fn is_simple(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !RESERVED.contains(&name.to_ascii_lowercase().as_str())
}

pub(crate) fn stands(entry: Option<&Mapping>, to: &str, on: &str) -> bool {
    let joins = entry.and_then(|entry| entry.get("joins")?.as_sequence());
    let maps = joins.into_iter().flatten().filter_map(Value::as_mapping);
    let mut maps = maps.filter(|map| text(map, "to") == to);
    maps.any(|map| collapsed(&text(map, "on")) == collapsed(on))
}

#[derive(Debug)]
pub(crate) struct PreviousJoin<'a> {
    pub(crate) to: &'a str,
    pub(crate) on: &'a str,
    pub(crate) relationship: &'a str,
    pub(crate) source: JoinSource,
}

/// Manual joins first, then formal, then inferred.
pub(crate) fn merged_joins(
    existing: Option<&Value>,
    new: &[Join],
    mut is_kept: impl FnMut(&PreviousJoin<'_>) -> bool,
) -> Vec<Value> {
    let mut is_kept = |map: &Mapping, source: JoinSource| {
        let (to, on) = (text(map, "to"), text(map, "on"));
        let relationship = text(map, "relationship");
        is_kept(&PreviousJoin {
            to: &to,
            on: &on,
            relationship: &relationship,
            source,
        })
    };
    let standing: Vec<&Mapping> = existing
        .and_then(Value::as_sequence)
        .into_iter()
        .flatten()
        .filter_map(Value::as_mapping)
        .collect();
    let mut merged: Vec<Value> = Vec::new();
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    let mut generated: Vec<((bool, String, String), Value)> = Vec::new();
    for map in &standing {
        let (to, on) = (text(map, "to"), text(map, "on"));
        if source_of(map) == JoinSource::Manual
            && is_kept(map, JoinSource::Manual)
            && seen.insert((to, collapsed(&on)))
        {
            merged.push(Value::Mapping((*map).clone()));
        }
    }
    for join in new {
        if seen.insert((join.to.clone(), collapsed(&join.on))) {
            let known = standing.iter().find(|map| {
                text(map, "to") == join.to && collapsed(&text(map, "on")) == collapsed(&join.on)
            });
            let map = join_map(join, known.copied());
            generated.push((
                (!join.formal, join.to.clone(), join.on.clone()),
                Value::Mapping(map),
            ));
        }
    }
    for map in &standing {
        let (to, on) = (text(map, "to"), text(map, "on"));
        let inferred = source_of(map) == JoinSource::Inferred;
        if inferred
            && !seen.contains(&(to.clone(), collapsed(&on)))
            && is_kept(map, JoinSource::Inferred)
            && seen.insert((to.clone(), collapsed(&on)))
        {
            generated.push(((true, to, on), Value::Mapping((*map).clone())));
        }
    }
    generated.sort_by(|left, right| left.0.cmp(&right.0));
    merged.extend(generated.into_iter().map(|(_, value)| value));
    merged
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinSource {
    Manual,
    Inferred,
    Formal,
}

fn source_of(map: &Mapping) -> JoinSource {
    match text(map, "source").as_str() {
        "manual" => JoinSource::Manual,
        "formal" => JoinSource::Formal,
        _ => JoinSource::Inferred,
    }
}

/// A YAML 1.1 writer can leave `on` unquoted, which parses as `true`.
fn text(map: &Mapping, key: &str) -> String {
    let found = map.get(key).or_else(|| {
        if key == "on" {
            map.get(Value::Bool(true))
        } else {
            None
        }
    });
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn join_map(join: &Join, known: Option<&Mapping>) -> Mapping {
    let mut map = Mapping::new();
    map.insert("to".into(), join.to.clone().into());
    map.insert("on".into(), join.on.clone().into());
    map.insert("relationship".into(), join.relationship.into());
    map.insert(
        "source".into(),
        if join.formal { "formal" } else { "inferred" }.into(),
    );
    if let Some(hundredths) = join.coverage {
        map.insert(COVERAGE.into(), (f64::from(hundredths) / 100.0).into());
    }
    if let Some(evidence) = join.evidence {
        map.insert(EVIDENCE.into(), evidence.into());
    }
    if join.is_keyed == Some(true) {
        map.insert(KEYED.into(), true.into());
    }
    for (key, value) in known.into_iter().flatten() {
        let is_read = join.is_keyed.is_some() && key == KEYED;
        // A scan that reads no values leaves what another has counted of a declared key.
        let is_counted = key == COVERAGE && (join.is_keyed.is_some() || !join.formal);
        let is_found = is_read || is_counted || key == EVIDENCE;
        if !map.contains_key(key) && *key != Value::Bool(true) && !is_found {
            map.insert(key.clone(), value.clone());
        }
    }
    map
}

pub(crate) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the column pairs of `a.x = b.y AND …`; `None` for anything else.
pub(crate) fn simple_pairs(on: &str) -> Option<Vec<(String, String)>> {
    let collapsed = collapsed(on);
    let lowered = collapsed.to_ascii_lowercase();
    if lowered.contains(['(', ')', '<', '>', '!']) || lowered.contains(" or ") {
        return None;
    }
    let mut pairs = Vec::new();
    let mut rest = collapsed.as_str();
    loop {
        let at = rest.to_ascii_lowercase().find(" and ");
        let (part, next) = match at {
            Some(at) => (rest.get(..at)?, rest.get(at + 5..)),
            None => (rest, None),
        };
        let (left, right) = part.split_once('=')?;
        pairs.push((last_name(left)?, last_name(right)?));
        match next {
            Some(next) => rest = next,
            None => return Some(pairs),
        }
    }
}

fn last_name(side: &str) -> Option<String> {
    let side = side.trim();
    let mut names = 1_usize;
    let mut last = String::new();
    let mut closing: Option<char> = None;
    let mut letters = side.chars().peekable();
    while let Some(letter) = letters.next() {
        match (closing, letter) {
            (Some(close), letter) if letter == close => {
                if letters.next_if_eq(&close).is_some() {
                    last.push(close);
                } else {
                    closing = None;
                }
            }
            (Some(_), letter) => last.push(letter),
            (None, '"' | '`') if last.is_empty() => closing = Some(letter),
            (None, '[') if last.is_empty() => closing = Some(']'),
            (None, '.') => {
                names += 1;
                last.clear();
            }
            (None, letter) if letter.is_alphanumeric() || letter == '_' => last.push(letter),
            (None, _) => return None,
        }
    }
    (closing.is_none() && names > 1 && !last.is_empty()).then_some(last)
}
