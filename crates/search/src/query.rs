//! Queries and their results.

use ktx_vocabulary::ConnectionId;

use crate::document::{Field, Kind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The user's or model's text. Two or more words in double quotes are a phrase.
    pub text: String,
    /// The kinds to search; empty means all.
    pub kinds: Vec<Kind>,
    /// Restricts the search to documents of this connection and of none.
    pub connection: Option<ConnectionId>,
    /// The user whose private documents are searched, too.
    pub user: Option<String>,
    pub limit: usize,
}

impl Query {
    /// Creates a search over everything.
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            kinds: Vec::new(),
            connection: None,
            user: None,
            limit,
        }
    }

    /// Restricts the search to these kinds.
    #[must_use]
    pub fn of_kinds(mut self, kinds: &[Kind]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }

    /// Restricts the search to one connection.
    #[must_use]
    pub fn in_connection(mut self, connection: Option<&ConnectionId>) -> Self {
        self.connection = connection.cloned();
        self
    }

    /// Includes the private documents of one user.
    #[must_use]
    pub fn for_user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }
}

/// The ways to find a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Words of names, descriptions and texts, without their endings.
    Lexical,
    Dictionary,
    /// Misspelled words, and parts of words in short queries.
    Token,
    /// Meaning, by vectors of whole passages; needs embeddings.
    Semantic,
}

impl Lane {
    /// The spelling in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Dictionary => "dictionary",
            Self::Token => "token",
            Self::Semantic => "semantic",
        }
    }

    /// Maximum weight of a match in this lane, compared with the word itself.
    pub const fn weight(self) -> f64 {
        match self {
            Self::Lexical | Self::Dictionary | Self::Semantic => 1.0,
            Self::Token => 0.8,
        }
    }
}

/// Whether a lane was searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneStatus {
    Available,
    Skipped {
        /// A stable reason code.
        reason: &'static str,
    },
}

/// What one lane returned, to debug a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneReport {
    pub lane: Lane,
    pub status: LaneStatus,
    pub pool: usize,
    pub returned: usize,
}

/// How well a hit matches, independently of the other hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// It covers the query.
    Fits,
    /// It covers a small part of the query, or only similar words.
    Weak,
}

impl Confidence {
    /// The spelling in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Weak => "weak",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub kind: Kind,
    pub id: String,
    pub connection: Option<String>,
    /// The only user who may see it.
    pub owner: Option<String>,
    /// 1 for the best hit of the search, less for others; three decimals.
    pub score: f64,
    pub confidence: Confidence,
    /// The covered share of the query, from 0 to 1: rare words weigh more.
    pub covered: f64,
    /// One descriptive line.
    pub summary: Option<String>,
    /// The matching text, with `<mark>` around the match.
    pub snippet: Option<String>,
    /// The most significant field that matched.
    pub matched_on: Field,
    /// The headings above the best section, if the document has sections.
    pub section: Option<String>,
    /// The lanes that found it, in their order.
    pub lanes: Vec<Lane>,
    pub payload: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchOutcome {
    /// Best first.
    pub hits: Vec<Hit>,
    pub lanes: Vec<LaneReport>,
    /// Why hits may be missing or outdated, one line per reason; set by the caller that
    /// synchronizes the index.
    pub warnings: Vec<String>,
}
