//! The error type of the index.

use std::path::PathBuf;

use ktx_diagnostics::{Code, Failure, chain};
use rusqlite::{Error, ErrorCode};

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("could not open the search index `{path}`")]
    Open {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("could not use the search index")]
    Database {
        #[from]
        source: rusqlite::Error,
    },
    #[error("could not use the vectors of passages")]
    Vectors {
        #[source]
        source: rusqlite::Error,
    },
    #[error("could not use the vectors of passages: {reason}")]
    NoVectors { reason: String },
}

impl SearchError {
    pub(crate) const fn vectors(source: rusqlite::Error) -> Self {
        Self::Vectors { source }
    }

    const fn source_in_sqlite(&self) -> Option<&rusqlite::Error> {
        match self {
            Self::Open { source, .. } | Self::Database { source } | Self::Vectors { source } => {
                Some(source)
            }
            Self::NoVectors { .. } => None,
        }
    }

    /// Returns true if text search still works.
    pub const fn is_of_vectors(&self) -> bool {
        matches!(self, Self::Vectors { .. } | Self::NoVectors { .. })
    }

    pub fn is_damaged(&self) -> bool {
        let Some(source) = self.source_in_sqlite() else {
            return false;
        };
        match source.sqlite_error_code() {
            Some(code) => matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase),
            // A row does not contain what ktx wrote.
            None => matches!(
                source,
                Error::FromSqlConversionFailure(..)
                    | Error::InvalidColumnType(..)
                    | Error::IntegralValueOutOfRange(..)
                    | Error::Utf8Error(..)
            ),
        }
    }

    pub fn is_busy(&self) -> bool {
        let code = self
            .source_in_sqlite()
            .and_then(rusqlite::Error::sqlite_error_code);
        matches!(
            code,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        let failure = Self::new(Code::SearchFailed, chain(&error).join(": "));
        if error.is_busy() {
            failure.hint("another process is writing the search index: try again")
        } else {
            failure
        }
    }
}
