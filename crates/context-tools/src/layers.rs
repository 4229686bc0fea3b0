//! Parts of the context layer that are withheld, so that an agent can be compared with one that has them.

use std::collections::BTreeSet;

use ktx_semantic_layer::Catalog;
use serde_yaml::{Mapping, Value};
use sqlparser::dialect::GenericDialect;
use sqlparser::tokenizer::{Token, Tokenizer, Whitespace};

use crate::scans::{ScanSnapshot, Shown};

/// One part of the context layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerPart {
    /// The wiki pages.
    Wiki,
    /// The semantic sources.
    Semantic,
    /// Descriptions and comments of tables, columns, measures and segments.
    Descriptions,
    /// The joins of semantic sources, and those that a scan has found. Keys that the warehouse declares stay.
    Joins,
    /// The values of columns that a scan has read.
    Dictionary,
}

impl LayerPart {
    /// All parts.
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

    /// The part of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.as_str() == name)
    }

    /// Keys of source files that belong to the part.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Wiki | Self::Semantic => &[],
            Self::Descriptions => &["description", "descriptions", "usage"],
            Self::Joins => &["joins"],
            Self::Dictionary => &["enum_values", "tests", "constraints"],
        }
    }
}

/// Keys of source files that hold SQL, in which comments describe.
const SQL_KEYS: [&str; 4] = ["sql", "expr", "filter", "on"];

/// The parts of the layer that a context does not show. They are taken away where files are read, so that no tool,
/// search or message can contain them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WithheldParts(BTreeSet<LayerPart>);

impl FromIterator<LayerPart> for WithheldParts {
    fn from_iter<I: IntoIterator<Item = LayerPart>>(parts: I) -> Self {
        Self(parts.into_iter().collect())
    }
}

impl WithheldParts {
    /// Whether the part is withheld.
    pub fn contains(&self, part: LayerPart) -> bool {
        self.0.contains(&part)
    }

    /// Whether everything is shown.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the tool of this name can still find something.
    pub fn leave(&self, tool: &str) -> bool {
        let of_part = match tool {
            "wiki_search" | "wiki_read" => LayerPart::Wiki,
            "sl_query" | "sl_read_source" => LayerPart::Semantic,
            "dictionary_search" => LayerPart::Dictionary,
            _ => return true,
        };
        !self.contains(of_part)
    }

    /// The text of a source file without what is withheld; `None` when no part of it may be shown.
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
        // What cannot be read cannot be taken apart either.
        let mut value: Value = serde_yaml::from_slice(&bytes).ok()?;
        let strip = Strip {
            keys: &keys,
            comments: self.contains(LayerPart::Descriptions),
        };
        strip.file(&mut value)?;
        serde_yaml::to_string(&value).ok().map(String::into_bytes)
    }

    /// The scan without what is withheld. `whole` is the catalog with everything: a column that a person hides stays
    /// hidden when the sources are withheld.
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

/// The tables and values of a scan that the sources let through.
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

/// Takes keys out of a source file.
struct Strip<'a> {
    keys: &'a [&'a str],
    /// Whether comments inside SQL go as well.
    comments: bool,
}

impl Strip<'_> {
    /// A shard has its tables by name, which may be the word of a key.
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

/// The statement without its comments; `None` when it cannot be read.
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
