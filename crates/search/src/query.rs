//! Queries and their results.

use ktx_vocabulary::ConnectionId;

use crate::document::{Field, Kind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Two or more words in double quotes are a phrase.
    pub text: String,
    /// Empty means all.
    pub kinds: Vec<Kind>,
    /// Includes documents without a connection.
    pub connection: Option<ConnectionId>,
    /// The user whose private documents are searched, too.
    pub user: Option<String>,
    pub limit: usize,
}

impl Query {
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            kinds: Vec::new(),
            connection: None,
            user: None,
            limit,
        }
    }

    #[must_use]
    pub fn of_kinds(mut self, kinds: &[Kind]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }

    #[must_use]
    pub fn in_connection(mut self, connection: Option<&ConnectionId>) -> Self {
        self.connection = connection.cloned();
        self
    }

    #[must_use]
    pub fn for_user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Words of names, descriptions and texts, by stem.
    Lexical,
    Dictionary,
    /// Misspelled words, and parts of words in short queries.
    Token,
    /// Meaning, by vectors of whole passages; needs embeddings.
    Semantic,
}

impl Lane {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Dictionary => "dictionary",
            Self::Token => "token",
            Self::Semantic => "semantic",
        }
    }

    /// Maximum weight of a match in this lane; the word itself has 1.
    pub const fn weight(self) -> f64 {
        match self {
            Self::Lexical | Self::Dictionary | Self::Semantic => 1.0,
            Self::Token => 0.8,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneStatus {
    Available,
    Skipped { reason: &'static str },
}

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
    Fits,
    Weak,
}

impl Confidence {
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
    pub owner: Option<String>,
    /// 1 for the best hit of the search; three decimals.
    pub score: f64,
    pub confidence: Confidence,
    /// The covered share of the query, from 0 to 1: rare words weigh more.
    pub covered: f64,
    pub summary: Option<String>,
    /// The matching text, with `<mark>` around the match.
    pub snippet: Option<String>,
    pub matched_on: Field,
    pub section: Option<String>,
    pub lanes: Vec<Lane>,
    pub payload: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchOutcome {
    /// Best first.
    pub hits: Vec<Hit>,
    pub lanes: Vec<LaneReport>,
    /// Why hits may be missing or outdated; set by the caller that synchronizes the index.
    pub warnings: Vec<String>,
}
