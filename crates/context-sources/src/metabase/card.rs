//! A card as the API returns it, and as the file that a model reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::sql::ExpandedSql;
use crate::definitions::ColumnKind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) description: Option<String>,
    pub(super) database: u64,
    pub(super) collection: Option<u64>,
    pub(super) is_archived: bool,
    pub(super) query: Value,
    columns: Vec<(String, String)>,
    kinds: BTreeMap<String, String>,
}

pub(super) type Parameter = (String, String);

impl Card {
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let number = |field: &str| value.get(field).and_then(Value::as_u64);
        let query = value.get("dataset_query")?.clone();
        let database = number("database_id").or_else(|| query.get("database")?.as_u64())?;
        let said = |field: &str| text(field).map(str::trim).filter(|said| !said.is_empty());
        let columns = value.get("result_metadata").and_then(Value::as_array);
        Some(Self {
            id: number("id")?,
            name: one_line(text("name")?),
            kind: text("type")
                .or_else(|| {
                    let is_model = value.get("dataset").and_then(Value::as_bool);
                    is_model.filter(|is_model| *is_model).map(|_| "model")
                })
                .unwrap_or("question")
                .to_owned(),
            description: said("description").map(str::to_owned),
            database,
            collection: number("collection_id"),
            is_archived: value.get("archived").and_then(Value::as_bool) == Some(true),
            query,
            kinds: columns.into_iter().flatten().filter_map(kind).collect(),
            columns: columns.into_iter().flatten().filter_map(column).collect(),
        })
    }

    pub(super) fn kind_of(&self, name: &str) -> Option<ColumnKind> {
        let kind = self.kinds.get(name)?.trim_start_matches("type/");
        Some(match kind {
            "Boolean" => ColumnKind::Boolean,
            "Integer" | "BigInteger" | "Float" | "Decimal" | "Number" => ColumnKind::Number,
            kind if kind.contains("Date") || kind.contains("Time") => ColumnKind::Time,
            _ => ColumnKind::Text,
        })
    }

    pub(super) fn only_stage(&self) -> Result<&Value, String> {
        if self.written_sql().is_some() {
            return Err("it is SQL, which a model reads".to_owned());
        }
        let several = || "it is a query over the answer of a query".to_owned();
        let stage = match self.query.get("stages").and_then(Value::as_array) {
            Some(stages) => match stages.as_slice() {
                [only] => only,
                _ => return Err(several()),
            },
            None => self.query.get("query").ok_or("its query is not known")?,
        };
        match stage.get("source-query") {
            None | Some(Value::Null) => Ok(stage),
            Some(_) => Err(several()),
        }
    }

    /// Returns `None` for a query from the query builder.
    pub(super) fn written_sql(&self) -> Option<&str> {
        self.query
            .pointer("/native/query")
            .or_else(|| self.last_stage()?.get("native"))
            .and_then(Value::as_str)
    }

    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let tags = self
            .query
            .pointer("/native/template-tags")
            .or_else(|| self.last_stage()?.get("template-tags"));
        let tags = tags.and_then(Value::as_object).into_iter().flatten();
        let shown = |(name, tag): (&String, &Value)| {
            let text = |field: &str| tag.get(field).and_then(Value::as_str);
            let kind = text("widget-type").or(text("type")).unwrap_or("text");
            if matches!(text("type"), Some("card" | "snippet")) {
                return None;
            }
            let mut said = kind.to_owned();
            match tag.get("default") {
                Some(Value::String(default)) => {
                    let _ = write!(said, ", default {}", one_line(default));
                }
                Some(Value::Null) | None => {}
                Some(default) => {
                    let _ = write!(said, ", default {default}");
                }
            }
            Some((name.clone(), said))
        };
        let mut parameters: Vec<Parameter> = tags.filter_map(shown).collect();
        parameters.sort();
        parameters
    }

    pub(super) fn sources(&self) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        sources(&self.query, &mut found);
        found
    }

    /// The newer format has stages.
    fn last_stage(&self) -> Option<&Value> {
        self.query.get("stages")?.as_array()?.last()
    }

    pub(super) fn path(&self) -> String {
        path(self.database, self.id)
    }

    pub(super) fn file(&self, place: &str, resolved: &ExpandedSql) -> String {
        let mut text = format!(
            "# {}\n\nCard {}, a {} in {place}\n",
            self.name, self.id, self.kind
        );
        if let Some(description) = &self.description {
            let _ = writeln!(text, "\n{description}");
        }
        let parameters = self.parameters();
        if !parameters.is_empty() {
            text.push_str("\nParameters, as `{{name}}` in the SQL:\n");
            for (name, said) in parameters {
                let _ = writeln!(text, "- {name}: {said}");
            }
        }
        // A server's error message differs each time, so the file must not contain it.
        match (&resolved.sql, &resolved.problem) {
            (Some(_), None) => {}
            (Some(_), Some(problem)) => {
                let _ = writeln!(text, "\nNot written out, because {problem}:");
            }
            (None, _) => text.push_str("\nIts SQL is not known.\n"),
        }
        if let Some(sql) = &resolved.sql {
            let _ = writeln!(text, "\n```sql\n{}\n```", sql.trim());
        }
        if !self.columns.is_empty() {
            text.push_str("\nColumns of its result:\n");
            for (name, said) in &self.columns {
                let _ = writeln!(text, "- {name}{said}");
            }
        }
        text
    }
}

/// Finds `"source-table": "card__12"`, or `"source-card": 12` in the newer format.
fn sources(query: &Value, found: &mut BTreeSet<u64>) {
    match query {
        Value::Array(items) => items.iter().for_each(|item| sources(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let table = value.as_str().and_then(|text| text.strip_prefix("card__"));
                match name.as_str() {
                    "source-card" => found.extend(value.as_u64()),
                    "source-table" => found.extend(table.and_then(|id| id.parse::<u64>().ok())),
                    _ => sources(value, found),
                }
            }
        }
        _ => {}
    }
}

pub(super) fn path(database: u64, card: u64) -> String {
    format!("databases/{database}/cards/{card}.md")
}

pub(super) fn card_of(file: &str) -> Option<(u64, u64)> {
    let rest = file.strip_prefix("databases/")?.strip_suffix(".md")?;
    let (database, card) = rest.split_once("/cards/")?;
    Some((database.parse().ok()?, card.parse().ok()?))
}

fn kind(value: &Value) -> Option<(String, String)> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    Some((text("name")?.to_owned(), text("base_type")?.to_owned()))
}

fn column(value: &Value) -> Option<(String, String)> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    let name = text("name")?;
    let mut said = String::new();
    if let Some(label) = text("display_name").filter(|label| *label != name) {
        let _ = write!(said, " ({})", one_line(label));
    }
    if let Some(kind) = text("base_type") {
        let _ = write!(said, ", {}", kind.trim_start_matches("type/"));
    }
    if let Some(description) = text("description").filter(|text| !text.trim().is_empty()) {
        let _ = write!(said, ": {}", one_line(description));
    }
    Some((one_line(name), said))
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
