//! The documents of the index.

use std::collections::BTreeMap;

use ktx_vocabulary::ConnectionId;
use sha2::{Digest as _, Sha256};

/// Kinds of documents. Hits with equal scores are listed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Wiki,
    SemanticSource,
    Measure,
    Dimension,
    Table,
    Column,
}

impl Kind {
    pub const ALL: [Self; 6] = [
        Self::Wiki,
        Self::SemanticSource,
        Self::Measure,
        Self::Dimension,
        Self::Table,
        Self::Column,
    ];

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

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The searched parts of a document, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    Name,
    /// A display name, such as a title or a dotted path.
    Display,
    Description,
    /// The comment in the warehouse's catalog.
    Comment,
    Expr,
    SampleValue,
    Body,
}

impl Field {
    pub const ALL: [Self; 7] = [
        Self::Name,
        Self::Display,
        Self::Description,
        Self::Comment,
        Self::Expr,
        Self::SampleValue,
        Self::Body,
    ];

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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// Outermost first.
    pub heading: String,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub kind: Kind,
    /// Unique per kind and owner.
    pub id: String,
    /// `None` belongs to all connections.
    pub connection: Option<ConnectionId>,
    /// The only user who may see it; `None` means everyone.
    pub owner: Option<String>,
    pub fields: BTreeMap<Field, String>,
    /// The best section counts; the hit is the whole document.
    pub sections: Vec<Section>,
    /// Returned with a hit; opaque to the index.
    pub payload: String,
}

impl Document {
    pub fn new(kind: Kind, id: impl Into<String>) -> Self {
        Self {
            kind,
            id: id.into(),
            connection: None,
            owner: None,
            fields: BTreeMap::new(),
            sections: Vec::new(),
            payload: String::new(),
        }
    }

    #[must_use]
    pub fn with(mut self, field: Field, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.trim().is_empty() {
            self.fields.insert(field, text);
        }
        self
    }

    #[must_use]
    pub fn in_sections(mut self, sections: impl IntoIterator<Item = Section>) -> Self {
        self.sections.extend(sections);
        self
    }

    #[must_use]
    pub fn of(mut self, connection: &ConnectionId) -> Self {
        self.connection = Some(connection.clone());
        self
    }

    #[must_use]
    pub fn carrying(mut self, payload: impl Into<String>) -> Self {
        self.payload = payload.into();
        self
    }

    pub fn text(&self, field: Field) -> &str {
        self.fields
            .get(&field)
            .map(String::as_str)
            .unwrap_or_default()
    }

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
        for section in &self.sections {
            part(&section.heading);
            part(&section.body);
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
