//! Maps DuckDB errors.

use std::path::Path;

use adbc_core::error::{Error, Status};
use ktx_warehouse::{ErrorKind, WarehouseError};

use super::library::Library;
use crate::file;
use crate::stop::StopSignal;

pub(super) struct ErrorMapper<'a>(pub(super) &'a Path);

const SQLITE: &[u8] = b"SQLite format 3\0";

const MORE_MEMORY: &str =
    "set `memory_limit` of the connection to what statements need, such as `2GB`";
const MORE_STATEMENT_MEMORY: &str = "narrow the statement with filters, or set a larger \
     `memory_limit` for the connection in ktx.yaml, such as `8GB` (`2GB` when not set)";

pub(super) fn opening(error: &Error, path: &Path, library: &Library) -> WarehouseError {
    let shown = path.display();
    let full_text = error.message.as_str();
    let make = |kind: ErrorKind, text: String| WarehouseError::new(kind, text);
    if full_text.contains("Out of Memory")
        || full_text.contains("memory limit")
        || full_text.contains("memory_limit")
    {
        return make(
            ErrorKind::Limit,
            format!("`{shown}` cannot be opened: {}", first(split(full_text).1)),
        )
        .hint(MORE_MEMORY);
    }
    let is_old = error.status == Status::NotImplemented
        || full_text.contains("not recognized")
        || full_text.contains("Failed to set configuration option");
    if is_old {
        return make(
            ErrorKind::Config,
            format!(
                "the DuckDB library `{}` cannot keep a session read-only or end it in time: {}",
                library.file.display(),
                first(split(full_text).1)
            ),
        )
        .hint("install DuckDB 1.5 or newer");
    }
    if full_text.contains("Could not set lock on file") {
        let holder = between(full_text, "Conflicting lock is held in ", ". See also")
            .unwrap_or("another program");
        return make(
            ErrorKind::Other,
            format!("`{shown}` is locked by another program: {holder}"),
        )
        .hint(
            "DuckDB does not open a file that another program has open for writing: close that program, or \
             open the file read-only there",
        );
    }
    if full_text.contains("with version number") {
        let version = between(full_text, "with version number ", ",").unwrap_or("unknown");
        return make(
            ErrorKind::Config,
            format!(
                "`{shown}` has the storage version {version}, which the DuckDB library cannot read"
            ),
        )
        .hint("install the DuckDB library that wrote the file, or a newer one");
    }
    if full_text.contains("Corrupt") {
        return make(
            ErrorKind::Other,
            format!("`{shown}` is damaged: {}", first(full_text)),
        )
        .hint("restore the file from a copy");
    }
    if full_text.contains("not a valid DuckDB database file") || is_foreign(full_text) {
        let hint = match head(path) {
            Some(bytes) if bytes.starts_with(SQLITE) => {
                "it is a SQLite database: use `driver: sqlite`"
            }
            _ => "set `path` to a DuckDB file",
        };
        return make(
            ErrorKind::Config,
            format!("`{shown}` is not a DuckDB database"),
        )
        .hint(hint);
    }
    if full_text.contains("encrypt") {
        return make(ErrorKind::Config, format!("`{shown}` is encrypted"))
            .hint("encrypted databases are not supported");
    }
    if full_text.contains("Permission denied") || std::fs::File::open(path).is_err() {
        return file::unreadable(path);
    }
    make(
        ErrorKind::Other,
        format!("`{shown}` cannot be opened: {}", first(full_text)),
    )
}

/// DuckDB recognizes other databases by their first bytes and looks for an extension.
fn is_foreign(full_text: &str) -> bool {
    full_text.contains("external extensions is disabled") || full_text.contains("exists in the")
}

fn head(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(16).read_to_end(&mut bytes))
        .ok()?;
    Some(bytes)
}

pub(super) fn map(full_text: &str, place: &ErrorMapper<'_>, stop: &StopSignal) -> WarehouseError {
    let (class, text) = split(full_text);
    if class == "INTERRUPT" {
        return stop.reason();
    }
    let message = first(text);
    let make = |kind: ErrorKind| WarehouseError::new(kind, message);
    let is_refused = text.contains("attached in read-only mode")
        || text.contains("configuration has been locked")
        || text.contains("disabled by configuration")
        || text.contains("disabled through configuration");
    match class {
        _ if is_refused => make(ErrorKind::Permission).hint("sessions of ktx are read-only"),
        "Permission" => make(ErrorKind::Permission),
        "Out of Memory" => make(ErrorKind::Limit).hint(MORE_STATEMENT_MEMORY),
        "IO" | "FATAL" | "INTERNAL" => WarehouseError::new(
            ErrorKind::Dropped,
            format!("`{}` cannot be read: {message}", place.0.display()),
        ),
        _ if text.contains("Cannot get schema from input stream") => WarehouseError::new(
            ErrorKind::Sql,
            "the result has a column of a type that cannot be read, such as VARIANT",
        )
        .hint("cast such values to VARCHAR in the statement"),
        _ if text.contains("prepared statement parameters") => {
            make(ErrorKind::Sql).hint("write the values into the statement")
        }
        _ => match advice(text) {
            Some(advice) => make(ErrorKind::Sql).hint(advice),
            None => make(ErrorKind::Sql),
        },
    }
}

/// Splits `Binder Error: …` into class and message. The batch reader adds its own prefix.
fn split(full_text: &str) -> (&str, &str) {
    let full_text = full_text
        .strip_prefix("C Data interface error: ")
        .unwrap_or(full_text)
        .trim();
    match full_text.split_once(" Error: ") {
        Some((class, text)) if class.len() < 24 && !class.contains('\n') => (class, text),
        _ => ("", full_text),
    }
}

fn first(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default().trim();
    let line = line.trim_end_matches(['.', '!']);
    if line.is_empty() {
        "DuckDB gave no reason"
    } else {
        line
    }
}

fn advice(text: &str) -> Option<&str> {
    text.lines()
        .skip(1)
        .map(str::trim)
        .find(|line| line.starts_with("Did you mean") || line.starts_with("Candidate "))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(
        rest.split_once(after)
            .map_or(rest, |(inner, _)| inner)
            .trim(),
    )
}
