//! Why a warehouse did not answer.

use ktx_diagnostics::{Code, Failure, shortened};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Config,
    Unreachable,
    Authentication,
    NotFound,
    Tls,
    Permission,
    /// Refused by ktx without asking the warehouse.
    Policy,
    Timeout,
    Cancelled,
    Sql,
    /// Such as a materialized view that was never filled.
    NotReady,
    Limit,
    Dropped,
    Other,
}

impl ErrorKind {
    pub const fn code(self) -> Code {
        match self {
            Self::Config => Code::ConnectionConfig,
            Self::Unreachable => Code::ConnectionUnreachable,
            Self::Authentication => Code::ConnectionAuthentication,
            Self::NotFound => Code::ConnectionNotFound,
            Self::Tls => Code::ConnectionTls,
            Self::Permission => Code::ConnectionPermission,
            Self::Policy => Code::PolicyRefused,
            Self::Timeout => Code::QueryTimeout,
            Self::Cancelled => Code::Cancelled,
            Self::Sql => Code::QueryFailed,
            Self::NotReady => Code::QueryNotReady,
            Self::Limit => Code::QueryLimit,
            Self::Dropped => Code::ConnectionDropped,
            Self::Other => Code::ConnectionFailed,
        }
    }
}

/// Messages contain no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WarehouseError {
    pub kind: ErrorKind,
    /// Lower case, no full stop.
    pub message: String,
    pub hint: Option<String>,
}

impl WarehouseError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled")
    }
}

impl From<WarehouseError> for Failure {
    fn from(error: WarehouseError) -> Self {
        let failure = Self::new(error.kind.code(), shortened(&error.message));
        let failure = match error.kind {
            ErrorKind::Config | ErrorKind::Cancelled | ErrorKind::Policy => failure,
            _ => failure.by_warehouse(),
        };
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
