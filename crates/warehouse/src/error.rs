//! Why a warehouse did not answer.

/// The kinds of failure that the user treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The connection's settings are incomplete or contradictory.
    Config,
    /// No server answered.
    Unreachable,
    /// The server refused the login.
    Authentication,
    /// The database, schema or file does not exist.
    NotFound,
    /// The encrypted channel could not be made.
    Tls,
    /// The login lacks a right.
    Permission,
    /// The statement ran longer than its cap.
    Timeout,
    /// The caller cancelled.
    Cancelled,
    /// The statement itself is wrong.
    Sql,
    /// What is asked about cannot be read yet, such as a materialized view that was never filled.
    NotReady,
    /// A cap on bytes or money was reached.
    Limit,
    /// The connection broke while rows were read.
    Dropped,
    /// Anything else the server or driver said.
    Other,
}

impl ErrorKind {
    /// The stable code shown to users and in JSON.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Config => "connection_config",
            Self::Unreachable => "connection_unreachable",
            Self::Authentication => "connection_authentication",
            Self::NotFound => "connection_not_found",
            Self::Tls => "connection_tls",
            Self::Permission => "connection_permission",
            Self::Timeout => "query_timeout",
            Self::Cancelled => "cancelled",
            Self::Sql => "query_failed",
            Self::NotReady => "query_not_ready",
            Self::Limit => "query_limit",
            Self::Dropped => "connection_dropped",
            Self::Other => "connection_failed",
        }
    }
}

/// One failure with its next step. Messages hold no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WarehouseError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What failed, lower case, no full stop.
    pub message: String,
    /// What to do next, when something is known to help.
    pub hint: Option<String>,
}

impl WarehouseError {
    /// Makes an error without a hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error of a cancelled operation.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled")
    }
}
