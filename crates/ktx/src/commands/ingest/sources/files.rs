//! Context sources that are folders of files: here, or in a git repository.

use std::path::{Component, Path, PathBuf};

use ktx_config::Connection;
use ktx_context_sources::{Snapshot, dbt};
use ktx_project_store::{CheckoutError, Remote};

use super::kinds::{Material, hinted, secret};
use crate::commands::ingest::Around;
use crate::exit::Exit;
use crate::printer::Mode;
use crate::report::{Failure, Outcome};
use crate::session::{Opened, Session};

/// Reads a dbt project.
pub(super) fn dbt(
    connection: &Connection,
    (session, opened, printer): Around<'_>,
) -> Outcome<Material> {
    let is_here = connection.text(&["source_dir"]).is_some();
    if !is_here && connection.text(&["repo_url", "repoUrl"]).is_some() && printer.mode != Mode::Json
    {
        printer.note(&format!("{}: fetching the repository", connection.id));
    }
    let snapshot = snapshot(connection, session, opened)?;
    Ok(Material {
        units: dbt::units(&snapshot),
        facts: dbt::facts(&snapshot),
        documents: None,
        snapshot,
    })
}

/// How much a dbt project is.
pub(super) fn test_dbt(
    connection: &Connection,
    session: &Session,
    opened: &Opened,
) -> Outcome<String> {
    let snapshot = snapshot(connection, session, opened)?;
    let counted = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    Ok(format!(
        "dbt project of {} in {}",
        counted(snapshot.files.len(), "file"),
        counted(dbt::units(&snapshot).len(), "unit")
    ))
}

fn snapshot(connection: &Connection, session: &Session, opened: &Opened) -> Outcome<Snapshot> {
    let root = root(connection, session, opened)?;
    dbt::read(&root).map_err(|error| {
        let failure = Failure::from_error(Exit::Config, "source_unreadable", &error).context(
            format!("the dbt project of `{}` cannot be read", connection.id),
        );
        hinted(failure, &error)
    })
}

/// The folder of the project: the one that is named, or a copy of the newest commit of its repository.
fn root(connection: &Connection, session: &Session, opened: &Opened) -> Outcome<PathBuf> {
    let id = &connection.id;
    let inside = connection.text(&["path"]);
    let top = match (
        connection.text(&["source_dir"]),
        connection.text(&["repo_url", "repoUrl"]),
    ) {
        (Some(folder), _) => opened.dir.join(folder),
        (None, Some(url)) => {
            if inside.as_ref().is_some_and(|path| leaves(path)) {
                return Err(Failure::new(
                    Exit::Config,
                    "invalid_path",
                    format!("`connections.{id}.path` leads out of the repository"),
                ));
            }
            copy(connection, url, session, opened)?
        }
        (None, None) => {
            return Err(Failure::new(
                Exit::Config,
                "no_source",
                format!("`connections.{id}` names neither `source_dir` nor `repo_url`"),
            )
            .hint(
                "set `source_dir` to the folder of a dbt project, or `repo_url` to its repository",
            ));
        }
    };
    let root = match inside {
        Some(inside) => top.join(inside),
        None => top,
    };
    Ok(root.components().collect())
}

fn leaves(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn copy(
    connection: &Connection,
    url: String,
    session: &Session,
    opened: &Opened,
) -> Outcome<PathBuf> {
    let token = secret(connection, &["auth_token_ref"], session, opened)?;
    let remote = Remote {
        url,
        branch: connection.text(&["branch"]),
        token,
    };
    opened
        .store
        .checkout(&connection.id, &remote)
        .map_err(|error| {
            let exit = match &error {
                CheckoutError::Invalid { .. } => Exit::Config,
                CheckoutError::Fetch { .. } => Exit::Connection,
                CheckoutError::File(_) | CheckoutError::Git(_) => Exit::Failure,
            };
            hinted(
                Failure::from_error(exit, "source_not_fetched", &error),
                &error,
            )
        })
}
