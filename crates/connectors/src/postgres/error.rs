//! Maps PostgreSQL errors.

use std::error::Error as _;

use ktx_warehouse::{ErrorKind, WarehouseError};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, ErrorPosition, SqlState};

use crate::settings::LoginTarget;
use crate::tls::{self, HANDSHAKE_HINT, NO_TLS_HINT};

pub(super) fn map(error: &Error, target: &LoginTarget) -> WarehouseError {
    if let Some(failure) = error.as_db_error() {
        return from_server(failure, target);
    }
    if error.is_closed() {
        return dropped(target, "the server closed the connection");
    }
    if let Some(inner) = tls::cause(error) {
        return handshake(target, &inner.to_string());
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(inner) = inner.downcast_ref::<std::io::Error>() {
            return from_network(inner, error, target);
        }
        cause = inner.source();
    }
    let text = chain(error);
    if text.contains("TLS") {
        let hint = if text.contains("does not support TLS") {
            NO_TLS_HINT
        } else {
            HANDSHAKE_HINT
        };
        return WarehouseError::new(
            ErrorKind::Tls,
            format!("no encrypted channel to {}: {text}", target.address()),
        )
        .hint(hint);
    }
    if text.contains("password missing") {
        return WarehouseError::new(
            ErrorKind::Authentication,
            format!(
                "{} asks for a password and the connection has none",
                target.server.name
            ),
        )
        .hint("set `password: env:NAME`");
    }
    WarehouseError::new(ErrorKind::Other, target.redactor.redact(&text))
}

fn from_network(inner: &std::io::Error, whole: &Error, target: &LoginTarget) -> WarehouseError {
    if whole.to_string().contains("TLS") {
        return handshake(target, &inner.to_string());
    }
    if whole.to_string().contains("connecting") {
        return unreachable(target, &inner.to_string());
    }
    dropped(target, &inner.to_string())
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

fn handshake(target: &LoginTarget, why: &str) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Tls,
        format!("no encrypted channel to {}: {why}", target.address()),
    )
    .hint(HANDSHAKE_HINT)
}

fn dropped(target: &LoginTarget, why: &str) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Dropped,
        target.redactor.redact(&format!(
            "the connection to {} broke: {why}",
            target.address()
        )),
    )
    .hint("run the command again")
}

fn from_server(failure: &DbError, target: &LoginTarget) -> WarehouseError {
    let database = target.database.as_deref().unwrap_or_default();
    let user = &target.user;
    let code = failure.code();
    let make =
        |kind: ErrorKind, text: String| WarehouseError::new(kind, target.redactor.redact(&text));
    let plain = |kind: ErrorKind| make(kind, describe(failure));
    if *code == SqlState::INVALID_PASSWORD {
        return make(
            ErrorKind::Authentication,
            format!("the server refused the password of `{user}`"),
        )
        .hint("check `username` and `password`");
    }
    if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        let hint = if failure.message().contains("no encryption")
            || failure.message().contains("SSL off")
        {
            "the server requires an encrypted channel: set `ssl: true`"
        } else {
            "check `username`, and the server's `pg_hba.conf`"
        };
        return plain(ErrorKind::Authentication).hint(hint);
    }
    if *code == SqlState::INVALID_CATALOG_NAME {
        return make(
            ErrorKind::NotFound,
            format!("the database `{database}` does not exist"),
        )
        .hint("check `database`");
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return plain(ErrorKind::Permission).hint("sessions of ktx are read-only");
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        return plain(ErrorKind::Permission)
            .hint(format!("grant the right to `{user}`, or use another login"));
    }
    if [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE].contains(code) {
        return plain(ErrorKind::Timeout);
    }
    if *code == SqlState::CANNOT_CONNECT_NOW {
        return plain(ErrorKind::Unreachable).hint("the server is starting or stopping; try again");
    }
    if *code == SqlState::TOO_MANY_CONNECTIONS {
        return plain(ErrorKind::Unreachable).hint("lower `maxConnections`, or try again later");
    }
    match code.code().get(..2) {
        Some("57" | "08") => plain(ErrorKind::Dropped).hint("run the command again"),
        Some("53" | "54") => plain(ErrorKind::Limit),
        Some("55") => {
            let error = plain(ErrorKind::NotReady);
            match failure.hint() {
                Some(hint) => error.hint(hint),
                None => error,
            }
        }
        Some("0A" | "21" | "22" | "2F" | "39" | "3F" | "42" | "44" | "P0") => {
            let error = plain(ErrorKind::Sql);
            match failure.hint() {
                Some(hint) => error.hint(hint),
                None => error,
            }
        }
        _ => plain(ErrorKind::Other),
    }
}

fn describe(failure: &DbError) -> String {
    let detail = failure
        .detail()
        .map(|detail| format!(": {detail}"))
        .unwrap_or_default();
    let place = match failure.position() {
        Some(ErrorPosition::Original(position)) => format!(" (at character {position})"),
        _ => String::new(),
    };
    format!("{}{detail}{place}", failure.message())
}

fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
