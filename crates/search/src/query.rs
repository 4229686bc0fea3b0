//! Queries and their results.

use ktx_vocabulary::ConnectionId;

use crate::document::{Field, Kind};

/// One search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The text of a user or model. Two or more words in double quotes are a phrase.
    pub text: String,
    /// The kinds to search; empty means all.
    pub kinds: Vec<Kind>,
    /// Restricts the search to documents of this connection and of none.
    pub connection: Option<ConnectionId>,
    /// The user whose private documents are searched, too.
    pub user: Option<String>,
    /// The maximum number of hits.
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
    /// Words of names, descriptions and bodies, without their endings.
    Lexical,
    /// Words of sampled values.
    Dictionary,
    /// Misspelled words, and parts of words in short queries.
    Token,
    /// Meaning; needs embeddings, which ktx does not have yet.
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

    /// The most that a match of the lane counts, compared with the word itself.
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
    /// The lane was searched.
    Available,
    /// The lane was not searched.
    Skipped {
        /// A stable reason code.
        reason: &'static str,
    },
}

/// What one lane did, to debug a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneReport {
    pub lane: Lane,
    /// Whether the lane was searched.
    pub status: LaneStatus,
    /// The number of candidates requested.
    pub pool: usize,
    /// The number of candidates returned.
    pub returned: usize,
}

/// How well a hit fits, whatever the other hits are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// It has what the query asks for.
    Fits,
    /// It has a small part of the query, or words near those of the query.
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

/// One found document.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The kind of the document.
    pub kind: Kind,
    /// The name of the document.
    pub id: String,
    /// The connection of the document.
    pub connection: Option<String>,
    /// The only user who may see it.
    pub owner: Option<String>,
    /// 1 for the best hit of the search, less for others; three decimals.
    pub score: f64,
    /// How well it fits.
    pub confidence: Confidence,
    /// The share of the query that it has, from 0 to 1: rare words weigh more.
    pub covered: f64,
    /// One descriptive line.
    pub summary: Option<String>,
    /// The matching text, with `<mark>` around the match.
    pub snippet: Option<String>,
    /// The most significant field that matched.
    pub matched_on: Field,
    /// The headings above the section that answers best, when the document has sections.
    pub section: Option<String>,
    /// The lanes that found it, in their order.
    pub lanes: Vec<Lane>,
    /// The payload of the document.
    pub payload: String,
}

/// The result of a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchOutcome {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// A report per lane.
    pub lanes: Vec<LaneReport>,
    /// Why hits may be missing or outdated, one line per reason; set by the caller that
    /// synchronizes the index.
    pub warnings: Vec<String>,
}
