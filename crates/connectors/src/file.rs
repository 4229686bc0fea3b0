//! Locates database files and explains why they cannot be opened.

use std::path::{Path, PathBuf};

use ktx_secrets::SecretRef;
use ktx_warehouse::{ErrorKind, WarehouseError};

use crate::settings::ConnectionSettings;
use crate::url;

#[derive(Debug)]
pub(crate) struct FileKind {
    pub(crate) name: &'static str,
    /// Lowercase URL prefixes, longest first.
    pub(crate) schemes: &'static [&'static str],
    pub(crate) example: &'static str,
}

/// Reads `path` or `url`. Both accept `env:NAME`, an engine prefix or `file:`, which never means a
/// text file here. Relative paths start at the project.
pub(crate) fn locate(
    settings: &ConnectionSettings<'_>,
    kind: &FileKind,
) -> Result<PathBuf, WarehouseError> {
    let Some(written) = settings.written(&["path", "url"]) else {
        return Err(settings
            .wrong("names no database file")
            .hint(format!("add `path: {}`", kind.example)));
    };
    let text = if written.starts_with("env:") {
        settings
            .resolve(&SecretRef::parse(&written), "path")?
            .expose()
            .to_owned()
    } else {
        written
    };
    let plain = plain_path(text.trim(), kind);
    if plain.is_empty() || plain == ":memory:" {
        return Err(settings
            .wrong("names no database file")
            .hint("an in-memory database contains nothing to read; give the path of a file"));
    }
    Ok(absolute(settings, &plain))
}

pub(crate) fn absolute(settings: &ConnectionSettings<'_>, text: &str) -> PathBuf {
    let path = Path::new(text);
    match (path.strip_prefix("~"), settings.secrets().home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => settings.secrets().base().join(path),
    }
}

/// Converts `sqlite:///a/b.db` and `file:/a/b.db` to `/a/b.db`, and `sqlite:a.db` to `a.db`. Drops
/// parameters.
pub(crate) fn plain_path(text: &str, kind: &FileKind) -> String {
    let lower = text.to_ascii_lowercase();
    let Some(prefix) = kind
        .schemes
        .iter()
        .chain(&["file:"])
        .find(|prefix| lower.starts_with(*prefix))
    else {
        return text.to_owned();
    };
    let rest = text.get(prefix.len()..).unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let rest = rest
        .strip_prefix("localhost/")
        .map_or_else(|| rest.to_owned(), |rest| format!("/{rest}"));
    let decoded = url::decode(&rest);
    match decoded.strip_prefix("//") {
        Some(absolute) => format!("/{absolute}"),
        None => decoded,
    }
}

/// SQLite would only say "unable to open database file".
pub(crate) fn inspect(path: &Path, kind: &FileKind) -> Result<(), WarehouseError> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(WarehouseError::new(
            ErrorKind::Config,
            format!("`{shown}` is a folder, not a {} database", kind.name),
        )
        .hint("set `path` to the database file inside it")),
        // Opening a pipe would block forever.
        Ok(found) if !found.is_file() => Err(WarehouseError::new(
            ErrorKind::Config,
            format!(
                "`{shown}` is not a regular file, so it is not a {} database",
                kind.name
            ),
        )
        .hint("set `path` to the database file")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(WarehouseError::new(
            ErrorKind::NotFound,
            format!("the database file `{shown}` does not exist"),
        )
        .hint("correct `path`; a relative path starts at the project folder")),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(unreadable(path)),
        Err(error) => Err(WarehouseError::new(
            ErrorKind::Unreachable,
            format!("the database file `{shown}` cannot be reached: {error}"),
        )),
    }
}

pub(crate) fn unreadable(path: &Path) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Permission,
        format!("the database file `{}` may not be read", path.display()),
    )
    .hint("give your user the right to read the file and its folder")
}
