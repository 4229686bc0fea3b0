//! Where the database file is, and what stands there instead of one.

use std::path::{Path, PathBuf};

use ktx_secrets::SecretRef;
use ktx_warehouse::{ErrorKind, WarehouseError};

use crate::settings::Settings;
use crate::url;

/// Reads `path` or `url`. Both may be `env:NAME`; both may have the prefix `sqlite:` or `file:` of a
/// database URL, so that `file:` never means a text file here. `~/` is the home folder, a relative
/// path starts at the project.
pub(super) fn locate(settings: &Settings<'_>) -> Result<PathBuf, WarehouseError> {
    let Some(written) = settings.written(&["path", "url"]) else {
        return Err(settings
            .wrong("names no database file")
            .hint("add `path: data/warehouse.db`"));
    };
    let text = if written.starts_with("env:") {
        settings
            .resolve(&SecretRef::parse(&written), "path")?
            .expose()
            .to_owned()
    } else {
        written
    };
    let plain = plain_path(text.trim());
    if plain.is_empty() || plain == ":memory:" {
        return Err(settings
            .wrong("names no database file")
            .hint("a database in memory holds nothing to read; give the path of a file"));
    }
    let path = Path::new(&plain);
    Ok(match (path.strip_prefix("~"), settings.secrets().home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => settings.secrets().base().join(path),
    })
}

/// Takes the forms of a database URL off: `sqlite:///a/b.db` and `file:/a/b.db` are `/a/b.db`,
/// `sqlite:a.db` is `a.db`. Parameters are dropped: the file is opened read-only whatever they say.
pub(super) fn plain_path(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let Some(prefix) = ["sqlite3:", "sqlite:", "file:"]
        .iter()
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
    // Four slashes are another usual spelling of an absolute path.
    match decoded.strip_prefix("//") {
        Some(absolute) => format!("/{absolute}"),
        None => decoded,
    }
}

/// Says what is wrong with a path before SQLite does: its own words for all of these are "unable to
/// open database file".
pub(super) fn inspect(path: &Path) -> Result<(), WarehouseError> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(WarehouseError::new(
            ErrorKind::Config,
            format!("`{shown}` is a folder, not a SQLite database"),
        )
        .hint("set `path` to the database file inside it")),
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

/// The error of a file that exists and may not be read.
pub(super) fn unreadable(path: &Path) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Permission,
        format!("the database file `{}` may not be read", path.display()),
    )
    .hint("give your user the right to read the file and its folder")
}
