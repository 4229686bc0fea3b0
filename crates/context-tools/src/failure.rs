//! Why a use of the project's context did not work.

use ktx_config::Driver;
use ktx_diagnostics::{Code, Diagnostic, Hint, Hints, excerpt, nearest, shortened};
use ktx_search::SearchError;
use ktx_semantic_layer::QueryError;
use ktx_vocabulary::{ConnectionId, InvalidName};
use ktx_warehouse::{ErrorKind, Refusal, WarehouseError};

/// Most candidates that a failure or result lists.
pub const MAX_CANDIDATES: usize = 10;

/// Bytes of a hint that repeats a part of a query; a longer one cannot be cut and still be followed.
const LONGEST_HINT: usize = 2_000;

/// Whose words a failure's message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Ours, with names from the request and the project.
    Own,
    /// Those of a warehouse, which may repeat what stands in its data.
    Warehouse,
}

/// One failure as a person or model sees it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure it is.
    pub code: Code,
    /// What failed: lower case, no full stop, the object in backticks.
    pub message: String,
    /// What to do next, most useful first.
    pub hints: Vec<Hint>,
    /// Whose words the message holds.
    pub words: Words,
}

impl Failure {
    /// Makes a failure without hints.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hints: Vec::new(),
            words: Words::Own,
        }
    }

    /// Adds a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(Hint::new(hint));
        self
    }

    /// Adds `use …` for each name, up to the bound.
    #[must_use]
    pub fn try_one_of<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<String> = names
            .into_iter()
            .take(MAX_CANDIDATES)
            .map(|name| format!("`{name}`"))
            .collect();
        if names.is_empty() {
            self
        } else {
            self.hint(format!("use one of {}", names.join(", ")))
        }
    }

    /// A connection that is not in `ktx.yaml`.
    pub fn unknown_connection<'a>(
        text: &str,
        known: impl IntoIterator<Item = &'a ConnectionId>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().map(ConnectionId::as_str).collect();
        let near = nearest(text, known.iter().copied());
        let names = if near.is_empty() { known } else { near };
        Self::new(
            Code::UnknownConnection,
            format!("there is no connection `{}`", excerpt(text)),
        )
        .try_one_of(names)
    }

    /// A context source where a warehouse is needed.
    pub fn not_a_warehouse(id: &ConnectionId, driver: Driver) -> Self {
        Self::new(
            Code::NotAWarehouse,
            format!("`{id}` is a context source (`{driver}`), not a warehouse"),
        )
    }

    /// A fault of the program, not of its user.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// The failure on one line per fact: `code: message`, then `hint: …` lines.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}: {}", self.code, self.message);
        for hint in &self.hints {
            text.push_str("\nhint: ");
            text.push_str(hint.as_str());
        }
        text
    }
}

impl Hints for Failure {
    fn hints(&self) -> Vec<Hint> {
        self.hints.clone()
    }
}

impl From<WarehouseError> for Failure {
    fn from(error: WarehouseError) -> Self {
        let hints = error.hint.into_iter().map(Hint::new).collect();
        let words = match error.kind {
            ErrorKind::Config | ErrorKind::Cancelled => Words::Own,
            _ => Words::Warehouse,
        };
        Self {
            code: error.kind.code(),
            message: shortened(&error.message).into_owned(),
            hints,
            words,
        }
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let usable = |hint: &Hint| hint.as_str().len() <= LONGEST_HINT;
        let hints = error.hints().into_iter().filter(usable);
        let hints = hints.take(MAX_CANDIDATES).collect();
        Self {
            code: error.kind.code(),
            message: shortened(&error.message).into_owned(),
            hints,
            words: Words::Own,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let permission = refusal.permission();
        let failure = Self::new(refusal.code, refusal.reason);
        if let Some(permission) = permission {
            return failure.hint(permission);
        }
        match refusal.code {
            Code::FunctionNotFound => {
                failure.hint("correct the name, or write its schema before it")
            }
            Code::NotAQuery | Code::StatementCount => {
                failure.hint("send one query that only reads")
            }
            _ => failure,
        }
    }
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        let chain = ktx_diagnostics::chain(&error);
        let failure = Self::new(Code::SearchFailed, chain.join(": "));
        if error.is_busy() {
            failure.hint("another process is writing the search index: try again")
        } else {
            failure
        }
    }
}

impl From<InvalidName> for Failure {
    fn from(error: InvalidName) -> Self {
        Self::new(Code::InvalidName, shortened(&error.to_string()))
    }
}

impl From<&Diagnostic> for Failure {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self {
            code: diagnostic.code,
            message: diagnostic.to_string(),
            hints: diagnostic.hints.clone(),
            words: Words::Own,
        }
    }
}
