//! What is indexed.

use std::collections::BTreeMap;

use ktx_vocabulary::ConnectionId;
use sha2::{Digest as _, Sha256};

/// The kinds of documents, in the order in which equal scores are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A wiki page.
    Wiki,
    /// A semantic source.
    SemanticSource,
    /// A measure of a semantic source.
    Measure,
    /// A dimension of a semantic source.
    Dimension,
    /// A table of the scanned schema.
    Table,
    /// A column of the scanned schema; its sampled values are the [`Field::SampleValue`].
    Column,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Wiki,
        Self::SemanticSource,
        Self::Measure,
        Self::Dimension,
        Self::Table,
        Self::Column,
    ];

    /// The spelling in the index file and in tool results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wiki => "wiki",
            Self::SemanticSource => "sl_source",
            Self::Measure => "sl_measure",
            Self::Dimension => "sl_dimension",
            Self::Table => "table",
            Self::Column => "column",
        }
    }

    /// Finds a kind by its spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The parts of a document that are searched, most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Its name: key, source name, column name.
    Name,
    /// A name for people: title, dotted path.
    Display,
    /// What it is, in words.
    Description,
    /// The comment in the warehouse's catalog.
    Comment,
    /// The expression behind it.
    Expr,
    /// Values that occur in it.
    SampleValue,
    /// The text of a page.
    Body,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 7] = [
        Self::Name,
        Self::Display,
        Self::Description,
        Self::Comment,
        Self::Expr,
        Self::SampleValue,
        Self::Body,
    ];

    /// The spelling in the index file and in tool results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Display => "display",
            Self::Description => "description",
            Self::Comment => "comment",
            Self::Expr => "expr",
            Self::SampleValue => "sample_value",
            Self::Body => "body",
        }
    }
}

/// One thing that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it is.
    pub kind: Kind,
    /// What names it; unique for its kind and owner.
    pub id: String,
    /// The connection that it belongs to; `None` belongs to all.
    pub connection: Option<ConnectionId>,
    /// The one user who may see it; `None` is everyone.
    pub owner: Option<String>,
    /// The searched texts; empty ones may be left out.
    pub fields: BTreeMap<Field, String>,
    /// What the finder gives back with a hit, opaque to the index.
    pub payload: String,
}

impl Document {
    /// A document for everyone without texts.
    pub fn new(kind: Kind, id: impl Into<String>) -> Self {
        Self {
            kind,
            id: id.into(),
            connection: None,
            owner: None,
            fields: BTreeMap::new(),
            payload: String::new(),
        }
    }

    /// Adds a searched text; blank text is left out.
    #[must_use]
    pub fn with(mut self, field: Field, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.trim().is_empty() {
            self.fields.insert(field, text);
        }
        self
    }

    /// Adds the connection.
    #[must_use]
    pub fn of(mut self, connection: &ConnectionId) -> Self {
        self.connection = Some(connection.clone());
        self
    }

    /// Adds what a hit gives back.
    #[must_use]
    pub fn carrying(mut self, payload: impl Into<String>) -> Self {
        self.payload = payload.into();
        self
    }

    /// The text of a field; empty when it has none.
    pub fn text(&self, field: Field) -> &str {
        self.fields
            .get(&field)
            .map(String::as_str)
            .unwrap_or_default()
    }

    /// A hash of everything in the document.
    pub(crate) fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        let mut part = |text: &str| {
            hasher.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part(self.kind.as_str());
        part(&self.id);
        part(
            self.connection
                .as_ref()
                .map(ConnectionId::as_str)
                .unwrap_or_default(),
        );
        part(self.owner.as_deref().unwrap_or_default());
        part(&self.payload);
        for (field, text) in &self.fields {
            part(field.as_str());
            part(text);
        }
        let digest = hasher.finalize();
        digest
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .concat()
    }
}
