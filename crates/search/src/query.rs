//! What is asked of the index and what it answers.

use ktx_vocabulary::ConnectionId;

use crate::document::{Field, Kind};

/// One search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What a person or model typed. Two or more words in double quotes are a phrase.
    pub text: String,
    /// The kinds that are wanted; empty means all.
    pub kinds: Vec<Kind>,
    /// Only documents of this connection, and those that belong to none.
    pub connection: Option<ConnectionId>,
    /// The user whose own documents are searched too.
    pub user: Option<String>,
    /// At most so many hits.
    pub limit: usize,
}

impl Query {
    /// A search over everything.
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            kinds: Vec::new(),
            connection: None,
            user: None,
            limit,
        }
    }

    /// Restricts the kinds.
    #[must_use]
    pub fn of_kinds(mut self, kinds: &[Kind]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }

    /// Restricts the connection.
    #[must_use]
    pub fn in_connection(mut self, connection: Option<&ConnectionId>) -> Self {
        self.connection = connection.cloned();
        self
    }

    /// Includes one user's own documents.
    #[must_use]
    pub fn for_user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }
}

/// The ways in which a document can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Words of names, descriptions and bodies, stemmed.
    Lexical,
    /// Words of sampled values.
    Dictionary,
    /// Parts of names; near spellings when nothing else was found.
    Token,
    /// Meaning; needs embeddings, which are not there yet.
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

    /// How much the lane counts in the fusion.
    pub const fn weight(self) -> f64 {
        match self {
            Self::Lexical => 1.5,
            Self::Dictionary => 2.0,
            Self::Token => 0.75,
            Self::Semantic => 2.0,
        }
    }
}

/// Whether a lane took part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneStatus {
    /// It was asked.
    Available,
    /// It was not asked.
    Skipped {
        /// A stable code.
        reason: &'static str,
    },
}

/// What one lane did, for people who look into a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneReport {
    /// The lane.
    pub lane: Lane,
    /// Whether it took part.
    pub status: LaneStatus,
    /// How many candidates it was asked for.
    pub pool: usize,
    /// How many it gave.
    pub returned: usize,
}

/// One found document.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// What it is.
    pub kind: Kind,
    /// What names it.
    pub id: String,
    /// The connection that it belongs to.
    pub connection: Option<String>,
    /// The user whose own it is.
    pub owner: Option<String>,
    /// 1 for the best hit of the search, less for others; three decimals.
    pub score: f64,
    /// One line about it.
    pub summary: Option<String>,
    /// The matching part of its texts, with `<mark>` around what matched.
    pub snippet: Option<String>,
    /// The field that matched, the most telling one when several did.
    pub matched_on: Field,
    /// The lanes that found it, in their order.
    pub lanes: Vec<Lane>,
    /// What the document carries.
    pub payload: String,
}

/// The answer to a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchOutcome {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// What each lane did.
    pub lanes: Vec<LaneReport>,
    /// Why hits may be missing or old, each reason as one line; whoever keeps the index up to date
    /// says so.
    pub warnings: Vec<String>,
}
