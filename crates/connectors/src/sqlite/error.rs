//! Maps SQLite errors.

use std::path::Path;

use ktx_warehouse::{ErrorKind, WarehouseError};
use rusqlite::{Error, ErrorCode};

use crate::file;
use crate::stop::StopSignal;

pub(super) fn map(error: &Error, path: &Path, stop: &StopSignal) -> WarehouseError {
    let shown = path.display();
    match error {
        Error::SqliteFailure(failure, message) => {
            let text = message.clone().unwrap_or_else(|| failure.to_string());
            by_code(failure.code, &text, path, stop)
        }
        // Omits the statement, which the caller knows and can be long.
        Error::SqlInputError { error, msg, .. } => by_code(error.code, msg, path, stop),
        Error::MultipleStatement => {
            WarehouseError::new(ErrorKind::Sql, "exactly one statement is allowed")
        }
        other => WarehouseError::new(ErrorKind::Other, format!("`{shown}`: {other}")),
    }
}

fn by_code(code: ErrorCode, text: &str, path: &Path, stop: &StopSignal) -> WarehouseError {
    let shown = path.display();
    match code {
        ErrorCode::OperationInterrupted => stop.reason(),
        ErrorCode::NotADatabase => WarehouseError::new(
            ErrorKind::Config,
            format!("`{shown}` is not a SQLite database"),
        )
        .hint("set `path` to a SQLite file; encrypted databases are not supported"),
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => cannot_open(path),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => WarehouseError::new(
            ErrorKind::Other,
            format!("`{shown}` is locked by another program"),
        )
        .hint("try again when the program that writes to it has finished"),
        ErrorCode::DatabaseCorrupt => {
            WarehouseError::new(ErrorKind::Other, format!("`{shown}` is damaged: {text}"))
                .hint("check the file with `PRAGMA integrity_check` in the sqlite3 shell")
        }
        ErrorCode::AuthorizationForStatementDenied => WarehouseError::new(
            ErrorKind::Permission,
            format!("not allowed in a read-only session: {text}"),
        ),
        ErrorCode::ReadOnly => WarehouseError::new(
            ErrorKind::Permission,
            format!("the session is read-only: {text}"),
        ),
        ErrorCode::TooBig | ErrorCode::OutOfMemory => WarehouseError::new(
            ErrorKind::Limit,
            format!("a value is too large to read: {text}"),
        ),
        ErrorCode::SystemIoFailure | ErrorCode::DiskFull => WarehouseError::new(
            ErrorKind::Dropped,
            format!("`{shown}` cannot be read: {text}"),
        ),
        _ => WarehouseError::new(ErrorKind::Sql, text.to_owned()),
    }
}

/// The file exists, so read access or write-ahead log files are missing.
fn cannot_open(path: &Path) -> WarehouseError {
    if std::fs::File::open(path).is_err() {
        return file::unreadable(path);
    }
    WarehouseError::new(
        ErrorKind::Permission,
        format!("the database file `{}` cannot be opened", path.display()),
    )
    .hint(
        "a database in WAL mode needs a folder in which its `-shm` file can be made: allow that, or \
         switch the file to `PRAGMA journal_mode = DELETE`",
    )
}
