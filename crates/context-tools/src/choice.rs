//! The warehouse of a request that names none: the only one, or the only one that has what the request asks for.

use ktx_config::Connection;
use ktx_diagnostics::{Code, Failure, excerpt};

use crate::context::{ProjectContext, warehouse_of, warehouses_of};
use crate::reader::Reader;

/// The warehouses that a request may be for.
pub(crate) enum Candidates {
    /// The one that is named, or the only one.
    One(Connection),
    /// Several, and none is named.
    Several(Vec<Connection>),
}

/// What a warehouse has of what a request asks for.
pub(crate) enum Match {
    /// All of it.
    Complete,
    /// Not all of it, and what is missing.
    Missing(String),
    /// It could not be found out, and why.
    Unreadable(String),
    /// The request fails there for another reason.
    Refused(Failure),
}

/// The warehouse of this id, or those that there are.
pub(crate) async fn candidates(
    context: &dyn ProjectContext,
    id: Option<&str>,
) -> Result<Candidates, Failure> {
    if id.is_none() {
        let warehouses = warehouses_of(context, None).await?;
        if warehouses.len() > 1 {
            return Ok(Candidates::Several(warehouses));
        }
    }
    warehouse_of(context, id).await.map(Candidates::One)
}

/// The only warehouse that has everything; a warehouse that could not be looked into may have it as well.
pub(crate) fn choose(
    matches: Vec<(Connection, Match)>,
    reader: Reader,
) -> Result<Connection, Failure> {
    let argument = reader.connection_argument();
    let ids: Vec<String> = matches.iter().map(|(one, _)| one.id.to_string()).collect();
    let mut complete = Vec::new();
    let mut refused = Vec::new();
    let mut reasons = Vec::new();
    let mut unreadable = false;
    for (connection, found) in matches {
        match found {
            Match::Complete => complete.push(connection),
            Match::Refused(failure) => refused.push((connection, failure)),
            Match::Missing(reason) => reasons.push(reason_line(&connection, &reason)),
            Match::Unreadable(reason) => {
                unreadable = true;
                reasons.push(reason_line(&connection, &reason));
            }
        }
    }
    let count = ids.len();
    let required = |message| Failure::new(Code::ConnectionRequired, message);
    if unreadable {
        let message = format!(
            "the project has {count} warehouses and not all could be looked into ({}): say which with {argument}",
            reasons.join("; ")
        );
        return Err(required(message).try_one_of(ids.iter().map(String::as_str)));
    }
    if complete.len() > 1 {
        let message = format!(
            "{} warehouses match the request: name one with {argument}",
            complete.len()
        );
        return Err(required(message).try_one_of(complete.iter().map(|one| one.id.as_str())));
    }
    if let Some(only) = complete.pop() {
        return Ok(only);
    }
    match (refused.pop(), refused.is_empty()) {
        // Only this one has the names; what else is wrong is reported from there.
        (Some((connection, _)), true) => Ok(connection),
        (Some((_, failure)), false) => Err(failure),
        (None, _) => {
            let message = format!(
                "none of {count} warehouses matches the request: {}",
                reasons.join("; ")
            );
            Err(required(message).hint(format!(
                "correct the names, or say which warehouse with {argument}"
            )))
        }
    }
}

fn reason_line(connection: &Connection, reason: &str) -> String {
    format!("`{}`: {}", connection.id, excerpt(reason))
}
