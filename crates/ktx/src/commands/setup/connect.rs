//! Adds a connection and tests it.

use ktx_config::Connection;

use super::{SetupStep, StepState};
use crate::cli::ConnectionAddArgs;
use crate::connections::check::check_all;
use crate::connections::config_file::folders;
use crate::connections::entry::{IdUse, add_entry, configured};
use crate::connections::find;
use crate::invocation::{Invocation, OpenProject, load};
use crate::report::Outcome;
use crate::schemas;

pub(super) struct ConnectionTests {
    pub detail: String,
    pub notes: Vec<String>,
}

impl ConnectionTests {
    pub(super) fn step(self, name: &'static str, state: StepState) -> SetupStep {
        let step = SetupStep::new(name, state, self.detail);
        self.notes.into_iter().fold(step, SetupStep::hint)
    }
}

pub(super) fn reach(
    connections: &[&Connection],
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<ConnectionTests> {
    let mut reached = Vec::new();
    let mut notes = Vec::new();
    let several = connections.len() > 1;
    for tested in check_all(connections, invocation, project)? {
        tested.result?;
        let id = tested.connection.id.to_string();
        let lines = schemas::lines(&tested.listing);
        notes.extend(lines.into_iter().map(|line| {
            if several {
                format!("{id}: {line}")
            } else {
                line
            }
        }));
        reached.push(id);
    }
    Ok(ConnectionTests {
        detail: format!("{}: reached", reached.join(", ")),
        notes,
    })
}

/// Tests an existing connection without changing `ktx.yaml`. An explicit other id means another
/// connection.
pub(super) fn existing_step<'a>(
    name: &'static str,
    entry: &ConnectionAddArgs,
    requested_id: Option<&str>,
    invocation: &Invocation,
    project: &'a OpenProject,
) -> Outcome<Option<(&'a Connection, SetupStep)>> {
    let known = configured(entry, invocation, project)?;
    let Some(known) = known.filter(|known| requested_id.is_none_or(|id| id == known.id.as_str()))
    else {
        return Ok(None);
    };
    let reached = reach(&[known], invocation, project)?;
    Ok(Some((known, reached.step(name, StepState::Ready))))
}

/// Unread and unreachable: most likely a mistyped address.
pub(super) fn never_worked(
    id: &str,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<bool> {
    let Some(connection) = project.config.connection(id) else {
        return Ok(false);
    };
    if !folders(project, id).is_empty() {
        return Ok(false);
    }
    let tested = check_all(&[connection], invocation, project)?;
    Ok(tested.iter().any(|tested| tested.result.is_err()))
}

/// Stays in `ktx.yaml` if its test fails; replaces one that never worked.
pub(super) fn added_step(
    name: &'static str,
    entry: &ConnectionAddArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<SetupStep> {
    let id_use = match project.config.connection(&entry.id) {
        Some(known)
            if known.driver.as_str() == entry.driver
                && never_worked(&entry.id, invocation, project)? =>
        {
            IdUse::Replaced
        }
        Some(_) | None => IdUse::New,
    };
    let entered = add_entry(entry, id_use, invocation, project)?;
    let id = entered.connection.id.to_string();
    let project = load(&project.dir, &invocation.environment)?;
    let reached = reach(&[find(&project.config, &id)?], invocation, &project);
    let reached =
        reached.map_err(|failure| {
            failure
            .hint("the connection stays in ktx.yaml until you run setup again with another address")
            .hint(format!("run `ktx connection test {id}` to try the same address again"))
        })?;
    let mut step = reached.step(name, StepState::Done);
    if id_use == IdUse::Replaced {
        step = step.hint(format!("it replaces `{id}`, which could not be reached"));
    }
    let step = entered.notes.into_iter().fold(step, SetupStep::hint);
    Ok(step.hint("ktx.yaml has uncommitted changes"))
}
