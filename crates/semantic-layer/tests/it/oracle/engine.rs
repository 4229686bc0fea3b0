//! The engines that run the compiled SQL, and the spelling for comparison.

use std::cmp::Ordering;

use ktx_sql::Dialect;
use serde_json::Value;

use super::model;
use super::question::{Dimension, Question};
use super::world::{self, Cell, NumberKind, Table, TimeKind, World};
use crate::sqlite;

/// Texts of the engine.
pub(super) type Rows = Vec<Vec<Option<String>>>;

pub(super) trait Engine {
    fn dialect(&self) -> Dialect;
    /// Replaces all tables.
    fn load(&mut self, world: &World);
    fn run(&mut self, sql: &str) -> Result<Rows, String>;
}

#[derive(Default)]
pub(super) struct Sqlite(Option<rusqlite::Connection>);

impl Engine for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn load(&mut self, world: &World) {
        self.0 = Some(sqlite::database(&world.data()));
    }

    fn run(&mut self, sql: &str) -> Result<Rows, String> {
        let (_, rows) = sqlite::run(self.0.as_ref().expect("a loaded world"), sql);
        Ok(rows.iter().map(|row| texts(row)).collect())
    }
}

pub(super) fn texts(row: &[Value]) -> Vec<Option<String>> {
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    row.iter().map(text).collect()
}

/// Six digits, midnights as dates, flags as booleans.
pub(super) fn spelled(question: &Question, row: &[Option<String>]) -> Vec<String> {
    let cell = |(at, text): (usize, &Option<String>)| {
        let Some(text) = text else {
            return "null".to_owned();
        };
        match question.dimensions.get(at) {
            Some(Dimension::Text(_) | Dimension::Key { is_text: true, .. }) => format!("'{text}'"),
            Some(Dimension::Time(..)) => moment(text).to_owned(),
            Some(Dimension::Flag(_) | Dimension::IsLarge(_)) => match text.as_str() {
                "1" | "t" | "true" => "true".to_owned(),
                "0" | "f" | "false" => "false".to_owned(),
                other => format!("'{other}'"),
            },
            Some(Dimension::Number(_) | Dimension::Key { .. }) | None => {
                match text.parse::<f64>() {
                    Ok(number) => format!("{:.6}", number + 0.0),
                    Err(_) => format!("'{text}'"),
                }
            }
        }
    };
    row.iter().enumerate().map(cell).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// Measures: after all values in both directions.
    Last,
    /// Dimensions: anywhere.
    Anywhere,
}

impl Nulls {
    pub(super) fn of(question: &Question, (column, ..): (usize, bool, usize)) -> Self {
        if column < question.dimensions.len() {
            Self::Anywhere
        } else {
            Self::Last
        }
    }
}

/// True if `rows` are the first of `all`, in order. Equal rows can be in any order.
pub(super) fn is_top(
    all: &[Vec<String>],
    rows: &[Vec<String>],
    (column, downwards, count): (usize, bool, usize),
    nulls: Nulls,
) -> Result<(), String> {
    let mut left = all.to_vec();
    for row in rows {
        match left.iter().position(|known| known == row) {
            Some(at) => {
                left.remove(at);
            }
            None => return Err(format!("{row:?} is no row of the answer")),
        }
    }
    if rows.len() != count.min(all.len()) {
        return Err(format!("{} rows instead of {count}", rows.len()));
    }
    let is_before = |one: &Vec<String>, other: &Vec<String>| {
        let (Some(one), Some(other)) = (one.get(column), other.get(column)) else {
            return false;
        };
        if one == "null" || other == "null" {
            return nulls == Nulls::Last && one != "null";
        }
        let order = match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(one), Ok(other)) => one.total_cmp(&other),
            _ => one.cmp(other),
        };
        let before = if downwards {
            Ordering::Greater
        } else {
            Ordering::Less
        };
        order == before
    };
    for pair in rows.windows(2) {
        if let [one, other] = pair
            && is_before(other, one)
        {
            return Err(format!("{other:?} stands behind {one:?}"));
        }
    }
    let better = rows
        .iter()
        .find_map(|row| left.iter().find(|other| is_before(other, row)));
    match better {
        Some(row) => Err(format!("{row:?} is left out")),
        None => Ok(()),
    }
}

#[test]
fn rows_at_the_top_are_told_from_others() {
    let row = |text: &str| vec![text.to_owned()];
    let all = [row("3.0"), row("1.0"), row("null"), row("2.0"), row("2.0")];
    let stands = |rows: &[&str], downwards, count, nulls| {
        let rows: Vec<Vec<String>> = rows.iter().map(|text| row(text)).collect();
        is_top(&all, &rows, (0, downwards, count), nulls).is_ok()
    };
    let top = |rows: &[&str], downwards, count| stands(rows, downwards, count, Nulls::Anywhere);
    assert!(stands(&["3.0", "2.0"], true, 2, Nulls::Last));
    assert!(stands(
        &["1.0", "2.0", "2.0", "3.0", "null"],
        false,
        5,
        Nulls::Last
    ));
    assert!(!stands(&["null", "3.0"], true, 2, Nulls::Last));
    assert!(!stands(&["null", "1.0"], false, 2, Nulls::Last));
    assert!(top(&["3.0", "2.0"], true, 2));
    assert!(top(&["null", "3.0"], true, 2));
    assert!(top(&["1.0", "2.0", "2.0"], false, 3));
    for wrong in [
        ["2.0", "3.0"],
        ["2.0", "2.0"],
        ["3.0", "1.0"],
        ["3.0", "4.0"],
    ] {
        assert!(!top(&wrong, true, 2), "{wrong:?}");
    }
    assert!(!top(&["3.0"], true, 2));
}

/// Removes the session's offset, zero fractions, and midnight.
fn moment(text: &str) -> &str {
    let text = match text.split_at_checked(19) {
        Some((whole, "")) => whole,
        Some((whole, rest)) if rest.starts_with(['+', '-']) => whole,
        Some((whole, rest)) if rest.trim_end_matches('0') == "." => whole,
        _ => text,
    };
    text.strip_suffix(" 00:00:00").unwrap_or(text)
}

pub(super) struct Types {
    pub(super) integer: &'static str,
    pub(super) decimal: &'static str,
    pub(super) real: &'static str,
    pub(super) text: &'static str,
    pub(super) flag: &'static str,
    pub(super) date: &'static str,
    pub(super) timestamp: &'static str,
    pub(super) zoned: &'static str,
}

pub(super) fn statements(world: &World, dialect: Dialect, types: &Types) -> Vec<String> {
    let mut statements = Vec::new();
    for (at, table) in world.tables.iter().enumerate() {
        statements.push(created(at, table, dialect, types));
        if !table.rows.is_empty() {
            let rows: Vec<String> = table.rows.iter().map(cells).collect();
            statements.push(format!("INSERT INTO t{at} VALUES {}", rows.join(", ")));
        }
    }
    statements
}

fn created(at: usize, table: &Table, dialect: Dialect, types: &Types) -> String {
    let number = match table.number {
        NumberKind::Integer => types.integer,
        NumberKind::Decimal => types.decimal,
        NumberKind::Real => types.real,
    };
    let time = match table.time {
        TimeKind::Date => types.date,
        TimeKind::Timestamp => types.timestamp,
        TimeKind::Zoned => types.zoned,
    };
    let columns = [
        ("num", number),
        ("txt", types.text),
        ("at", time),
        ("flag", types.flag),
    ];
    let keys = table.columns.iter().map(|column| {
        let kind = if column.is_text {
            types.text
        } else {
            types.integer
        };
        (column.name.as_str(), kind)
    });
    let columns = columns.into_iter().chain(keys);
    // MariaDB's TIMESTAMP is NOT NULL and updates itself by default.
    let columns = columns.map(|(name, kind)| format!("{} {kind} NULL", dialect.quote(name)));
    format!(
        "CREATE TABLE t{at} ({})",
        columns.collect::<Vec<_>>().join(", ")
    )
}

fn cells(row: &world::Row) -> String {
    let mut cells = vec![
        row.number.map(|number| number.to_string()),
        row.text.map(|text| format!("'{text}'")),
        row.at.map(|at| format!("'{}'", model::time(at))),
        row.flag.map(|flag| flag.to_string()),
    ];
    cells.extend(row.cells.iter().map(|cell| {
        cell.map(|cell| match cell {
            Cell::Integer(number) => number.to_string(),
            Cell::Text(text) => format!("'{text}'"),
        })
    }));
    let cells: Vec<String> = cells
        .into_iter()
        .map(|cell| cell.unwrap_or_else(|| "NULL".to_owned()))
        .collect();
    format!("({})", cells.join(", "))
}

#[test]
fn moments_have_one_spelling() {
    for (text, expected) in [
        ("2024-02-29", "2024-02-29"),
        ("2024-02-29 00:00:00", "2024-02-29"),
        ("2024-02-29 00:00:00-05", "2024-02-29"),
        ("2024-02-29 00:00:00.5", "2024-02-29 00:00:00.5"),
        ("2024-02-29 06:00:00.000000", "2024-02-29 06:00:00"),
    ] {
        assert_eq!(moment(text), expected);
    }
}
