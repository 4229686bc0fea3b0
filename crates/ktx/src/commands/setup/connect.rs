//! The connection of a step: added once, and reached every time.

use ktx_config::Connection;

use super::super::connection::{add, find, probe};
use super::{State, Step};
use crate::cli::ConnectionAddArgs;
use crate::report::Outcome;
use crate::session::{Opened, Session, load};

/// Reaches these connections, and tells their ids.
pub(super) fn reach(
    connections: &[&Connection],
    session: &Session,
    opened: &Opened,
) -> Outcome<String> {
    let mut reached = Vec::new();
    for tested in probe(connections, session, opened)? {
        tested.result?;
        reached.push(tested.connection.id.to_string());
    }
    Ok(format!("{}: reached", reached.join(", ")))
}

/// The step for what is configured already: it is reached, and `ktx.yaml` stays. Another id that was asked for by
/// name is another connection.
pub(super) fn known<'a>(
    name: &'static str,
    entry: &ConnectionAddArgs,
    asked: Option<&str>,
    (session, opened): (&Session, &'a Opened),
) -> Outcome<Option<(&'a Connection, Step)>> {
    let standing = add::standing(entry, session, opened)?;
    let Some(standing) =
        standing.filter(|standing| asked.is_none_or(|id| id == standing.id.as_str()))
    else {
        return Ok(None);
    };
    let detail = reach(&[standing], session, opened)?;
    Ok(Some((standing, Step::new(name, State::Ready, detail))))
}

/// Writes a connection into `ktx.yaml` and reaches it. It stays there when it cannot be reached.
pub(super) fn added(
    name: &'static str,
    entry: &ConnectionAddArgs,
    (session, opened): (&Session, &Opened),
) -> Outcome<Step> {
    let entered = add::enter(entry, session, opened)?;
    let id = entered.connection.id.to_string();
    let opened = load(&opened.dir, &session.environment)?;
    let reached = reach(&[find(&opened, &id)?], session, &opened);
    let detail = reached.map_err(|failure| {
        failure
            .hint("the connection stays in ktx.yaml")
            .hint(format!("run `ktx connection test {id}` again"))
    })?;
    let step = Step::new(name, State::Done, detail);
    let step = entered.notes.into_iter().fold(step, Step::hint);
    Ok(step.hint("ktx.yaml is changed and not committed"))
}
