//! Adds and edits connections. Secrets go to separate files.

mod draft;
mod verify;

use ktx_config::{Connection, Driver, edit};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_secrets::{Secret, SecretRef};
use ktx_vocabulary::ConnectionId;

use super::config_file::{
    LockedConfig, current, edit_failure, file_failure, meaning, project_path, write,
};
use super::{find, mask};
use crate::cli::{ConnectionAddArgs, ConnectionEditArgs, ConnectionSettings};
use crate::invocation::{Invocation, OpenProject};
use crate::locking::lock;
use crate::report::Outcome;

use draft::EntryDraft;

pub(crate) struct StoredSecret {
    pub name: String,
    pub secret: Secret,
}

pub(crate) struct ConfiguredConnection {
    pub connection: Connection,
    pub notes: Vec<String>,
    pub secrets: Vec<StoredSecret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdUse {
    New,
    Replaced,
}

/// All or nothing.
pub(crate) fn add_entry(
    args: &ConnectionAddArgs,
    id_use: IdUse,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<ConfiguredConnection> {
    let id = ConnectionId::parse(&args.id)?;
    let driver = driver(&args.driver)?;
    // Before the lock: the user can type slowly.
    let password = draft::password_from_stdin(&args.settings)?;
    let held = lock(project, "ktx connection add")?;
    let current = current(project)?;
    if id_use == IdUse::New && current.project.connection(id.as_str()).is_some() {
        return Err(Failure::new(
            Code::ConnectionExists,
            format!("connection `{id}` already exists"),
        )
        .hint(format!("look at it with `ktx connection show {id}`"))
        .hint(format!(
            "change it with `ktx connection edit {id}`, or choose another id"
        )));
    }
    let draft = EntryDraft::of(&args.settings, driver, password, |suffix| {
        free_name(&current, &id, suffix)
    })?;
    let connection = Connection {
        id,
        driver,
        fields: draft.fields.clone(),
    };
    let text =
        edit::set_connection(&current.text, &connection).map_err(|error| edit_failure(&error))?;
    meaning(&text).map_err(|failure| Failure {
        exit: Exit::Usage,
        ..failure
    })?;
    verify::settings(&connection, &draft.secrets, invocation, project)?;
    let entered = keep(connection, draft, &text, project)?;
    drop(held);
    Ok(entered)
}

/// Writes secrets first, because `ktx.yaml` refers to them.
fn keep(
    connection: Connection,
    draft: EntryDraft,
    text: &str,
    project: &OpenProject,
) -> Outcome<ConfiguredConnection> {
    for kept in &draft.secrets {
        project
            .store
            .write_secret(&project_path(&kept.name)?, &kept.secret)
            .map_err(|error| file_failure(&error))?;
    }
    write(project, text)?;
    Ok(ConfiguredConnection {
        connection,
        notes: draft.notes,
        secrets: draft.secrets,
    })
}

/// Finds a connection with the same address, whatever fields contain it.
pub(crate) fn configured<'a>(
    args: &ConnectionAddArgs,
    invocation: &Invocation,
    project: &'a OpenProject,
) -> Outcome<Option<&'a Connection>> {
    let driver = driver(&args.driver)?;
    let without_schemas = ConnectionSettings {
        schema: Vec::new(),
        ..args.settings.clone()
    };
    let draft = EntryDraft::of(&without_schemas, driver, None, str::to_owned)?;
    let secrets = invocation.secrets(&project.dir);
    let wanted = Connection {
        id: ConnectionId::parse(&args.id)?,
        driver,
        fields: draft.fields.clone(),
    };
    let kept = |text: &str| {
        let name = text.strip_prefix("file:.ktx/secrets/")?;
        let kept = draft.secrets.iter().find(|kept| kept.name == name)?;
        Some(kept.secret.expose().trim().to_owned())
    };
    let file = |connection: &Connection| {
        let path = crate::compose::look_at_file(connection, &secrets).ok()??;
        path.canonicalize().ok()
    };
    let value = |connection: &Connection, key: &str| {
        let value = connection.fields.get(key)?;
        let Some(text) = value.as_str() else {
            return Some(value.to_string());
        };
        if !mask::is_reference(driver, key, text) {
            return Some(text.to_owned());
        }
        let looked_up = SecretRef::parse(text).resolve(&secrets);
        Some(looked_up.map_or_else(|_| text.to_owned(), |found| found.expose().to_owned()))
    };
    let same_fields = |known: &Connection| {
        wanted.fields.iter().all(|(key, given)| {
            let given = given.as_str().and_then(kept);
            value(known, key) == given.or_else(|| value(&wanted, key))
        })
    };
    let same_file = |known: &Connection| file(known).is_some() && file(known) == file(&wanted);
    Ok(project
        .config
        .connections
        .values()
        .filter(|known| known.driver == driver)
        .find(|known| same_fields(known) || same_file(known)))
}

/// All or nothing. Other settings and comments stay.
pub(crate) fn edit_entry(
    args: &ConnectionEditArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<ConfiguredConnection> {
    let settings = &args.settings;
    let password = draft::password_from_stdin(settings)?;
    let held = lock(project, "ktx connection edit")?;
    let current = current(project)?;
    let known = find(&current.project, &args.id)?.clone();
    let draft = EntryDraft::of(settings, known.driver, password, |suffix| {
        free_name(&current, &known.id, suffix)
    })?;
    let edited = draft.over(&known.fields)?;
    let mut text = current.text;
    for key in known.fields.keys().filter(|key| !edited.contains_key(*key)) {
        let path = ["connections", known.id.as_str(), key];
        text = edit::remove(&text, &path).map_err(|error| edit_failure(&error))?;
    }
    for (key, value) in &edited {
        if known.fields.get(key) != Some(value) {
            let path = ["connections", known.id.as_str(), key];
            text = edit::set(&text, &path, value).map_err(|error| edit_failure(&error))?;
        }
    }
    meaning(&text).map_err(|failure| Failure {
        exit: Exit::Usage,
        ..failure
    })?;
    let connection = Connection {
        fields: edited,
        ..known
    };
    verify::settings(&connection, &draft.secrets, invocation, project)?;
    let entered = keep(connection, draft, &text, project)?;
    drop(held);
    Ok(entered)
}

fn driver(text: &str) -> Outcome<Driver> {
    Driver::parse(text).ok_or_else(|| {
        let names = Driver::ALL.map(Driver::as_str);
        let failure = Failure::new(Code::UnknownDriver, format!("unknown driver `{text}`"));
        match ktx_diagnostics::nearest(text, names).first() {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(format!("use one of {}", names.join(", "))),
        }
    })
}

/// Reuses files without references.
fn free_name(current: &LockedConfig, id: &ConnectionId, suffix: &str) -> String {
    let used: Vec<String> = current
        .project
        .connections
        .values()
        .flat_map(mask::references)
        .map(|reference| reference.written)
        .collect();
    let is_free = |name: &String| !used.contains(&format!("file:.ktx/secrets/{name}"));
    let first = format!("{id}-{suffix}");
    if is_free(&first) {
        return first;
    }
    // One of these names is free.
    (2..used.len() + 3)
        .map(|number| format!("{first}-{number}"))
        .find(is_free)
        .unwrap_or(first)
}
