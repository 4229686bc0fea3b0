//! Chooses the warehouse of a request that names none.

use ktx_config::Connection;
use ktx_diagnostics::{Code, Failure, excerpt};

use crate::context::{ProjectContext, warehouse_of, warehouses_of};
use crate::reader::Reader;

pub(crate) enum Candidates {
    One(Connection),
    Several(Vec<Connection>),
}

pub(crate) enum Match {
    Complete,
    Missing(String),
    Unreadable(String),
    Refused(Failure),
}

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

/// An unreadable warehouse may have everything as well.
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
        // Only this warehouse has the names, so its failure is the one to report.
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
