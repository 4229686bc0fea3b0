//! What is to be ingested: which connections, from where, for which warehouse.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use ktx_config::{Connection, Driver, DriverKind};
use ktx_context_sources::{Facts, Snapshot, Unit, dbt};
use ktx_diagnostics::Hints;
use ktx_project_store::{CheckoutError, Remote};
use ktx_secrets::SecretRef;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::Dialect;

use crate::commands::ingest::{Around, notes};
use crate::exit::Exit;
use crate::printer::Mode;
use crate::report::{Failure, Outcome};
use crate::session::{Opened, ProjectSecrets};

/// The connections of a command.
pub(in crate::commands::ingest) struct Wanted<'a> {
    pub(in crate::commands::ingest) warehouses: Vec<&'a Connection>,
    pub(in crate::commands::ingest) sources: Vec<&'a Connection>,
    /// Context sources of kinds that cannot be read.
    pub(in crate::commands::ingest) unread: Vec<&'a Connection>,
}

/// A context source that was read.
pub(in crate::commands::ingest) struct Source {
    pub(in crate::commands::ingest) id: ConnectionId,
    pub(in crate::commands::ingest) warehouse: Option<(ConnectionId, Dialect)>,
    pub(in crate::commands::ingest) snapshot: Arc<Snapshot>,
    pub(in crate::commands::ingest) units: Vec<Unit>,
    pub(in crate::commands::ingest) facts: Facts,
}

/// The connection with this id, or all of them: warehouses first, each kind by id.
pub(in crate::commands::ingest) fn wanted<'a>(
    id: Option<&str>,
    opened: &'a Opened,
) -> Outcome<Wanted<'a>> {
    let named = id.and_then(|id| opened.config.connection(id));
    if let Some(source) = named.filter(|found| found.driver.kind() == DriverKind::ContextSource) {
        return if is_readable(source) {
            Ok(Wanted {
                warehouses: Vec::new(),
                sources: vec![source],
                unread: Vec::new(),
            })
        } else {
            Err(unreadable(source))
        };
    }
    if id.is_some() {
        return Ok(Wanted {
            warehouses: super::super::targets(opened, id)?,
            sources: Vec::new(),
            unread: Vec::new(),
        });
    }
    let mut all: Vec<&Connection> = opened.config.context_sources().collect();
    all.sort_by(|left, right| left.id.cmp(&right.id));
    let (sources, unread): (Vec<_>, Vec<_>) = all.into_iter().partition(|found| is_readable(found));
    let has_warehouse = opened.config.warehouses().next().is_some();
    let warehouses = if has_warehouse || sources.is_empty() {
        super::super::targets(opened, None)?
    } else {
        Vec::new()
    };
    Ok(Wanted {
        warehouses,
        sources,
        unread,
    })
}

fn is_readable(connection: &Connection) -> bool {
    connection.driver == Driver::Dbt
}

fn unreadable(connection: &Connection) -> Failure {
    Failure::new(
        Exit::Config,
        "source_not_readable",
        format!(
            "`{}` is a {} connection, and context sources of that kind cannot be read yet",
            connection.id, connection.driver
        ),
    )
    .hint("of context sources dbt projects are read; hand in other documents with `ktx ingest --file`")
}

/// Reads a source. Nothing is asked of a model.
pub(in crate::commands::ingest) fn planned(
    connection: &Connection,
    target: Option<&str>,
    around: Around<'_>,
) -> Outcome<Source> {
    let (_, opened, _) = around;
    let root = root(connection, around)?;
    let snapshot = dbt::read(&root).map_err(|error| {
        let failure = Failure::from_error(Exit::Config, "source_unreadable", &error).context(
            format!("the dbt project of `{}` cannot be read", connection.id),
        );
        hinted(failure, &error)
    })?;
    let facts = dbt::facts(&snapshot);
    Ok(Source {
        id: connection.id.clone(),
        warehouse: warehouse(connection, target, opened)?,
        units: dbt::units(&snapshot),
        snapshot: Arc::new(snapshot),
        facts,
    })
}

/// The folder of the project: the one that is named, or a copy of the newest commit of its repository.
fn root(connection: &Connection, around: Around<'_>) -> Outcome<PathBuf> {
    let (_, opened, _) = around;
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
            copy(connection, url, around)?
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
    (session, opened, printer): Around<'_>,
) -> Outcome<PathBuf> {
    let secrets = ProjectSecrets::new(&session.environment, &opened.dir);
    let token = connection.text(&["auth_token_ref"]).map(|reference| {
        SecretRef::parse(&reference)
            .resolve(&secrets)
            .map_err(|error| {
                Failure::from_error(Exit::Connection, "source_auth", &error)
                    .context(format!(
                        "`connections.{}.auth_token_ref` has no value",
                        connection.id
                    ))
                    .hint("set it in the shell that runs ktx, or use a `file:` reference")
            })
    });
    let remote = Remote {
        url,
        branch: connection.text(&["branch"]),
        token: token.transpose()?,
    };
    if printer.mode != Mode::Json {
        printer.note(&format!("{}: fetching the repository", connection.id));
    }
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

fn hinted(failure: Failure, error: &dyn Hints) -> Failure {
    let hints = error.hints();
    hints
        .iter()
        .map(ToString::to_string)
        .fold(failure, Failure::hint)
}

/// The warehouse whose sources may be written: the one that is named, else the one that setup knows, else
/// the only one.
fn warehouse(
    connection: &Connection,
    target: Option<&str>,
    opened: &Opened,
) -> Outcome<Option<(ConnectionId, Dialect)>> {
    if target.is_some() {
        return notes::connection(target, opened);
    }
    let mut warehouses: Vec<&str> = opened
        .config
        .warehouses()
        .map(|found| found.id.as_str())
        .collect();
    if let Some(known) = &opened.config.setup_databases
        && warehouses
            .iter()
            .any(|id| known.iter().any(|known| known == id))
    {
        warehouses.retain(|id| known.iter().any(|known| known == id));
    }
    match warehouses.as_slice() {
        [] => Ok(None),
        [only] => notes::connection(Some(only), opened),
        several => Err(Failure::new(
            Exit::Usage,
            "connection_required",
            format!(
                "`{}` can be about several warehouses: {}",
                connection.id,
                several.join(", ")
            ),
        )
        .hint(format!(
            "name one: `ktx ingest {} --connection-id {}`",
            connection.id,
            several.first().unwrap_or(&"<id>")
        ))),
    }
}
