//! Divides a result into rows, references, columns and sections.

use serde_json::{Map, Value};

/// In bytes; longer lines are divided.
pub(super) const LINE: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Rows {
        count: &'static str,
    },
    List(&'static str),
    Columns {
        tables: &'static str,
        columns: &'static str,
    },
    /// Sections begin with `#`.
    Markdown(&'static str),
    /// Entries begin in the first column.
    Yaml(&'static str),
}

pub(super) struct Parts {
    whole: Value,
    shape: Shape,
    units: Vec<Unit>,
}

/// An indivisible part.
enum Unit {
    Entry(Value),
    Column { table: usize, column: Option<Value> },
    Piece { text: String, opens: Opens },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opens {
    Section,
    Nothing,
}

impl Shape {
    fn field(self) -> &'static str {
        match self {
            Self::Rows { .. } => "rows",
            Self::List(field) | Self::Markdown(field) | Self::Yaml(field) => field,
            Self::Columns { tables, .. } => tables,
        }
    }
}

impl Parts {
    pub(super) fn new(mut whole: Value, shape: Shape) -> Self {
        let found = whole.get_mut(shape.field()).map(Value::take);
        let units = match (shape, found) {
            (Shape::Columns { columns, .. }, Some(Value::Array(tables))) => {
                let (frames, units) = columns_of(tables, columns);
                if let Some(place) = whole.get_mut(shape.field()) {
                    *place = Value::Array(frames);
                }
                units
            }
            (_, Some(Value::Array(entries))) => entries.into_iter().map(Unit::Entry).collect(),
            (Shape::Markdown(_), Some(Value::String(text))) => pieces(&text, is_heading),
            (_, Some(Value::String(text))) => pieces(&text, is_entry),
            _ => Vec::new(),
        };
        Self {
            whole,
            shape,
            units,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    /// Prefers to end with a whole section.
    pub(super) fn whole(&self, start: usize, units: usize) -> usize {
        let opens = |at: usize| {
            matches!(
                self.units.get(at),
                Some(Unit::Piece {
                    opens: Opens::Section,
                    ..
                })
            )
        };
        let is_text = matches!(self.shape, Shape::Markdown(_) | Shape::Yaml(_));
        if !is_text {
            return units;
        }
        let ends = (1..=units).rev().find(|count| opens(start + count));
        ends.unwrap_or(units)
    }

    pub(super) fn build(&self, start: usize, units: usize) -> Value {
        let window: Vec<&Unit> = self.units.iter().skip(start).take(units).collect();
        let mut value = self.whole.clone();
        let Some(map) = value.as_object_mut() else {
            return value;
        };
        let field = self.shape.field();
        let grown = match self.shape {
            Shape::Markdown(_) | Shape::Yaml(_) => Value::String(text_of(&window)),
            Shape::Columns { columns, .. } => {
                let frames = map.get(field).and_then(Value::as_array);
                Value::Array(tables_of(frames, &window, columns))
            }
            Shape::Rows { .. } | Shape::List(_) => entries_of(&window),
        };
        if let Some(place) = map.get_mut(field) {
            *place = grown;
        }
        if let Shape::Rows { count } = self.shape
            && let Some(place) = map.get_mut(count)
        {
            *place = Value::from(window.len());
        }
        value
    }

    pub(super) fn goes_on(value: &mut Value, cursor: &str) {
        if let Some(map) = value.as_object_mut() {
            if let Some(truncated) = map.get_mut("truncated") {
                *truncated = Value::Bool(true);
            }
            map.insert("hasMore".to_owned(), Value::Bool(true));
            map.insert("cursor".to_owned(), Value::from(cursor));
        }
    }

    /// More can exist if the result itself was cut.
    pub(super) fn ends(&self, value: &mut Value) {
        let truncated = self.whole.get("truncated").and_then(Value::as_bool);
        if let Some(map) = value.as_object_mut() {
            let beyond = self.whole.get("hasMore").and_then(Value::as_bool);
            let more = truncated.or(beyond).unwrap_or(false);
            map.insert("hasMore".to_owned(), Value::Bool(more));
        }
    }
}

fn entries_of(window: &[&Unit]) -> Value {
    let entries = window.iter().filter_map(|unit| match unit {
        Unit::Entry(value) => Some(value.clone()),
        _ => None,
    });
    entries.collect()
}

fn text_of(window: &[&Unit]) -> String {
    let pieces = window.iter().filter_map(|unit| match unit {
        Unit::Piece { text, .. } => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

fn columns_of(tables: Vec<Value>, field: &str) -> (Vec<Value>, Vec<Unit>) {
    let mut frames = Vec::with_capacity(tables.len());
    let mut units = Vec::new();
    for (table, mut frame) in tables.into_iter().enumerate() {
        let columns = match frame.get_mut(field).map(Value::take) {
            Some(Value::Array(columns)) if !columns.is_empty() => columns,
            Some(_) => {
                if let Some(place) = frame.get_mut(field) {
                    *place = Value::Array(Vec::new());
                }
                Vec::new()
            }
            None => Vec::new(),
        };
        if columns.is_empty() {
            units.push(Unit::Column {
                table,
                column: None,
            });
        }
        units.extend(columns.into_iter().map(|column| Unit::Column {
            table,
            column: Some(column),
        }));
        frames.push(frame);
    }
    (frames, units)
}

fn tables_of(frames: Option<&Vec<Value>>, window: &[&Unit], field: &str) -> Vec<Value> {
    let mut tables: Vec<(usize, Value)> = Vec::new();
    for unit in window {
        let Unit::Column { table, column } = unit else {
            continue;
        };
        if tables.last().is_none_or(|(last, _)| last != table) {
            let mut frame = frames
                .and_then(|frames| frames.get(*table))
                .cloned()
                .unwrap_or_else(|| Value::Object(Map::new()));
            if let Some(place) = frame.get_mut(field) {
                *place = Value::Array(Vec::new());
            }
            tables.push((*table, frame));
        }
        let columns = tables
            .last_mut()
            .and_then(|(_, frame)| frame.get_mut(field)?.as_array_mut());
        if let (Some(columns), Some(column)) = (columns, column) {
            columns.push(column.clone());
        }
    }
    tables.into_iter().map(|(_, table)| table).collect()
}

fn pieces(text: &str, opens: fn(&str) -> bool) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        let mut first = if !fenced && opens(line) {
            Opens::Section
        } else {
            Opens::Nothing
        };
        fenced ^= is_fence;
        let mut rest = line;
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(rest.floor_char_boundary(LINE));
            units.push(Unit::Piece {
                text: piece.to_owned(),
                opens: first,
            });
            first = Opens::Nothing;
            rest = tail;
        }
    }
    units
}

fn is_heading(line: &str) -> bool {
    line.starts_with('#')
}

fn is_entry(line: &str) -> bool {
    !line.starts_with([' ', '\n'])
}
