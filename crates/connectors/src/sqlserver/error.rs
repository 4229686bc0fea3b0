//! Maps SQL Server errors.

use ktx_warehouse::{ErrorKind, WarehouseError};

use tiberius::error::{Error, TokenError};

use crate::settings::LoginTarget;

/// A network error means something else before login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    Login,
    Running,
}

pub(super) fn map(error: &Error, target: &LoginTarget, phase: ConnectionPhase) -> WarehouseError {
    let make =
        |kind: ErrorKind, text: &str| WarehouseError::new(kind, target.redactor.redact(text));
    match (error, phase) {
        (Error::Server(failure), _) => from_server(failure, target),
        (Error::Io { message, .. }, ConnectionPhase::Login) => unreachable(target, message),
        (Error::Io { message, .. }, ConnectionPhase::Running) => make(
            ErrorKind::Dropped,
            &format!("the connection to {} broke: {message}", target.address()),
        )
        .hint("run the command again"),
        (Error::Tls(why), _) => make(ErrorKind::Tls, why),
        (other, _) => make(ErrorKind::Other, &other.to_string()),
    }
}

pub(super) fn unreachable(target: &LoginTarget, why: &str) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Unreachable,
        target.redactor.redact(&format!(
            "no {} at {}: {why}",
            target.server.name,
            target.address()
        )),
    )
    .hint("check `host` and `port`, and that the server runs and this machine may reach it")
}

fn from_server(failure: &TokenError, target: &LoginTarget) -> WarehouseError {
    from_number(failure.code(), failure.message(), target)
}

pub(super) fn from_number(number: u32, message: &str, target: &LoginTarget) -> WarehouseError {
    let user = &target.user;
    let make =
        |kind: ErrorKind, text: &str| WarehouseError::new(kind, target.redactor.redact(text));
    let plain = |kind: ErrorKind| make(kind, message.trim().trim_end_matches('.'));
    match number {
        18452 | 18456 => make(
            ErrorKind::Authentication,
            &format!("the server refused the login of `{user}`"),
        )
        .hint(
            "check `username` and `password`, and that the server accepts its own logins (mixed mode)",
        ),
        18450 | 18461 | 18470 | 18486..=18488 => plain(ErrorKind::Authentication)
            .hint(format!("check the account `{user}` on the server")),
        40532 | 40615 => plain(ErrorKind::Authentication)
            .hint("allow this machine's address in the firewall of the server"),
        911 | 4060 => {
            let database = target.database.as_deref().unwrap_or_default();
            make(
                ErrorKind::NotFound,
                &format!("the database `{database}` does not exist, or `{user}` may not open it"),
            )
            .hint("check `database`, and that the login has a user in it")
        }
        229 | 230 | 262 | 297 | 300 | 371 | 916 | 3110 | 15247 => plain(ErrorKind::Permission)
            .hint(format!(
                "`GRANT SELECT ON SCHEMA::dbo TO [{user}]`, or `ALTER ROLE db_datareader ADD MEMBER \
                 [{user}]`"
            )),
        3906 => plain(ErrorKind::Permission).hint("the database is read-only"),
        1222 => plain(ErrorKind::Timeout)
            .hint("another session holds a lock on the data; try again later"),
        1205 => plain(ErrorKind::Other).hint("run the statement again"),
        701 | 802 | 1105 | 8623 | 8645 | 8651 | 10928 | 10929 | 40501 | 40544 | 49918..=49920 => {
            plain(ErrorKind::Limit).hint("the server is at its limits; try again later")
        }
        17809 | 40197 | 40613 | 64 | 233 => {
            plain(ErrorKind::Unreachable).hint("run the command again in a minute")
        }
        6005 | 596 | 10054 | 10060 => plain(ErrorKind::Dropped).hint("run the command again"),
        _ => plain(ErrorKind::Sql),
    }
}
