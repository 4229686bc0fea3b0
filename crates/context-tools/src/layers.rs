//! Withholds parts of the context layer, to compare agents with and without them.

use std::collections::BTreeSet;

use ktx_semantic_layer::Catalog;
use serde_yaml::{Mapping, Value};
use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use crate::scans::{ScanSnapshot, Shown};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerPart {
    Wiki,
    Semantic,
    /// Also comments.
    Descriptions,
    /// In sources and scans. Keys that the warehouse declares stay.
    Joins,
    Dictionary,
}

impl LayerPart {
    pub const ALL: [Self; 5] = [
        Self::Wiki,
        Self::Semantic,
        Self::Descriptions,
        Self::Joins,
        Self::Dictionary,
    ];

    /// The name in case files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wiki => "wiki",
            Self::Semantic => "semantic",
            Self::Descriptions => "descriptions",
            Self::Joins => "joins",
            Self::Dictionary => "dictionary",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.as_str() == name)
    }

    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Wiki | Self::Semantic => &[],
            Self::Descriptions => &["description", "descriptions", "usage"],
            Self::Joins => &["joins"],
            Self::Dictionary => &["enum_values", "tests", "constraints"],
        }
    }
}

/// Comments in this SQL are descriptions.
const SQL_KEYS: [&str; 4] = ["sql", "expr", "filter", "on"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WithheldParts(BTreeSet<LayerPart>);

impl FromIterator<LayerPart> for WithheldParts {
    fn from_iter<I: IntoIterator<Item = LayerPart>>(parts: I) -> Self {
        Self(parts.into_iter().collect())
    }
}

impl WithheldParts {
    pub fn contains(&self, part: LayerPart) -> bool {
        self.0.contains(&part)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the tool can still find something.
    pub fn leave(&self, tool: &str) -> bool {
        let of_part = match tool {
            "wiki_search" | "wiki_read" => LayerPart::Wiki,
            "sl_query" | "sl_read_source" => LayerPart::Semantic,
            "dictionary_search" => LayerPart::Dictionary,
            _ => return true,
        };
        !self.contains(of_part)
    }

    pub(crate) fn source_file(&self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        if self.contains(LayerPart::Semantic) {
            return None;
        }
        let keys: Vec<&str> = self
            .0
            .iter()
            .flat_map(|part| part.keys())
            .copied()
            .collect();
        if keys.is_empty() {
            return Some(bytes);
        }
        // Unreadable files are withheld.
        let mut value: Value = serde_yaml::from_slice(&bytes).ok()?;
        let strip = Strip {
            keys: &keys,
            comments: self.contains(LayerPart::Descriptions),
        };
        strip.file(&mut value)?;
        serde_yaml::to_string(&value).ok().map(String::into_bytes)
    }

    /// Columns hidden in `whole` stay hidden when the sources are withheld.
    pub(crate) fn snapshot(
        &self,
        mut snapshot: ScanSnapshot,
        whole: impl FnOnce() -> Option<Catalog>,
    ) -> ScanSnapshot {
        if self.contains(LayerPart::Semantic) {
            snapshot = match whole() {
                Some(catalog) => shown_alone(&catalog, &snapshot),
                None => ScanSnapshot::default(),
            };
        }
        if self.contains(LayerPart::Dictionary) {
            snapshot.profile = None;
            snapshot.unread_profile = false;
        }
        if self.contains(LayerPart::Descriptions) {
            for table in &mut snapshot.tables {
                table.comment = None;
                for column in &mut table.columns {
                    column.comment = None;
                }
            }
        }
        snapshot
    }
}

fn shown_alone(catalog: &Catalog, snapshot: &ScanSnapshot) -> ScanSnapshot {
    let shown = Shown::of(catalog, snapshot);
    let mut alone = snapshot.clone();
    for table in &mut alone.tables {
        let place = table.table.clone();
        table
            .columns
            .retain(|column| shown.column(&place, &column.name));
    }
    if let Some(profile) = &mut alone.profile {
        profile
            .columns
            .retain(|one| !shown.withholds(&one.table) && shown.column(&one.table, &one.column));
    }
    alone
}

struct Strip<'a> {
    keys: &'a [&'a str],
    comments: bool,
}

impl Strip<'_> {
    /// A shard's keys are table names, which can look like other keys.
    fn file(&self, value: &mut Value) -> Option<()> {
        if let Value::Mapping(file) = value
            && let Some(Value::Mapping(tables)) = file.get_mut("tables")
        {
            return tables
                .iter_mut()
                .try_for_each(|(_, table)| self.record(table));
        }
        self.record(value)
    }

    fn record(&self, value: &mut Value) -> Option<()> {
        match value {
            Value::Mapping(fields) => {
                self.fields(fields);
                fields.iter_mut().try_for_each(|(key, value)| {
                    let is_sql = key.as_str().is_some_and(|key| SQL_KEYS.contains(&key));
                    match value {
                        Value::String(text) if is_sql && self.comments => {
                            *text = without_comments(text)?;
                            Some(())
                        }
                        value => self.record(value),
                    }
                })
            }
            Value::Sequence(items) => items.iter_mut().try_for_each(|item| self.record(item)),
            _ => Some(()),
        }
    }

    fn fields(&self, fields: &mut Mapping) {
        fields.retain(|key, _| key.as_str().is_none_or(|key| !self.keys.contains(&key)));
    }
}

fn without_comments(sql: &str) -> Option<String> {
    if !sql.contains("--") && !sql.contains("/*") && !sql.contains('#') {
        return Some(sql.to_owned());
    }
    let tokens = Tokenizer::new(&GenericDialect {}, sql)
        .with_unescape(false)
        .tokenize()
        .ok()?;
    let shown = tokens.iter().map(|token| match token {
        Token::Whitespace(Whitespace::SingleLineComment { .. }) => "\n".to_owned(),
        Token::Whitespace(Whitespace::MultiLineComment(_)) => " ".to_owned(),
        other => other.to_string(),
    });
    Some(shown.collect())
}

#[cfg(test)]
mod tests;
