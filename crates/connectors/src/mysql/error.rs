//! Maps MySQL and MariaDB errors.

use ktx_warehouse::{ErrorKind, WarehouseError};
use mysql_async::{DriverError, Error, IoError, ServerError};

use crate::settings::LoginTarget;
use crate::tls::{self, HANDSHAKE_HINT, NO_TLS_HINT};

const AUTHORITY_HINT: &str = "the certificate calls itself an authority, which the driver refuses: make one with \
     `basicConstraints=CA:FALSE`, or set `rejectUnauthorized: false` to encrypt without checking it";

/// A network error means something else before login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    Login,
    Running,
}

pub(super) fn map(error: &Error, target: &LoginTarget, phase: ConnectionPhase) -> WarehouseError {
    let make =
        |kind: ErrorKind, text: String| WarehouseError::new(kind, target.redactor.redact(&text));
    match error {
        Error::Server(failure) => from_server(failure, target),
        Error::Io(IoError::Tls(inner)) => make(
            ErrorKind::Tls,
            format!("no encrypted channel to {}: {inner}", target.address()),
        )
        .hint(handshake_hint(&inner.to_string())),
        Error::Io(IoError::Io(inner)) => match (tls::cause(inner), phase) {
            (Some(inner), _) => make(
                ErrorKind::Tls,
                format!("no encrypted channel to {}: {inner}", target.address()),
            )
            .hint(handshake_hint(&inner.to_string())),
            (None, ConnectionPhase::Login) => unreachable(target, &inner.to_string()),
            // From the decoder, after a partial packet; system errors have other kinds.
            (None, ConnectionPhase::Running) if inner.kind() == std::io::ErrorKind::Other => {
                dropped(target, "the server closed the connection")
            }
            (None, ConnectionPhase::Running) => dropped(target, &inner.to_string()),
        },
        Error::Driver(DriverError::NoClientSslFlagFromServer) => make(
            ErrorKind::Tls,
            format!("the server at {} offers no TLS", target.address()),
        )
        .hint(NO_TLS_HINT),
        Error::Driver(DriverError::ConnectionClosed) => {
            dropped(target, "the server closed the connection")
        }
        Error::Driver(DriverError::PacketTooLarge) => make(
            ErrorKind::Limit,
            "a row is larger than the protocol allows".to_owned(),
        ),
        other => make(ErrorKind::Other, other.to_string()),
    }
}

fn handshake_hint(why: &str) -> &'static str {
    if why.contains("CaUsedAsEndEntity") {
        AUTHORITY_HINT
    } else {
        HANDSHAKE_HINT
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

pub(super) fn silent(target: &LoginTarget) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Unreachable,
        target.redactor.redact(&format!(
            "what listens at {} sends no greeting, so it is not a {} server",
            target.address(),
            target.server.name
        )),
    )
    .hint("check `driver` and `port`: another kind of server may listen there")
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

fn from_server(failure: &ServerError, target: &LoginTarget) -> WarehouseError {
    let user = &target.user;
    let make =
        |kind: ErrorKind, text: &str| WarehouseError::new(kind, target.redactor.redact(text));
    let plain = |kind: ErrorKind| make(kind, &failure.message);
    match failure.code {
        1045 | 1698 => make(
            ErrorKind::Authentication,
            &format!("the server refused the password of `{user}`"),
        )
        .hint("check `username` and `password`"),
        1130 | 1524 | 1862 | 3118 | 3955 | 4151 => plain(ErrorKind::Authentication)
            .hint(format!("check the account `{user}` on the server")),
        1049 => {
            let database = target.database.as_deref().unwrap_or_default();
            make(
                ErrorKind::NotFound,
                &format!("the database `{database}` does not exist"),
            )
            .hint("check `database`")
        }
        1290 | 1792 | 1836 => plain(ErrorKind::Permission).hint("sessions of ktx are read-only"),
        1044 | 1142 | 1143 | 1227 | 1345 | 1356 | 1370 | 1410 => plain(ErrorKind::Permission)
            .hint(format!("grant the right to `{user}`, or use another login")),
        3159 => {
            plain(ErrorKind::Tls).hint("the server requires an encrypted channel: set `ssl: true`")
        }
        // Time caps of MySQL and MariaDB, kills, lock timeouts.
        3024 | 1969 | 1317 | 1205 => plain(ErrorKind::Timeout),
        1040 | 1203 | 1226 => {
            plain(ErrorKind::Unreachable).hint("lower `maxConnections`, or try again later")
        }
        1129 => plain(ErrorKind::Unreachable).hint("run `FLUSH HOSTS` on the server"),
        1053 | 1152..=1161 | 1927 | 1077..=1079 => {
            plain(ErrorKind::Dropped).hint("run the command again")
        }
        1037 | 1038 | 1041 | 1114 | 1301 => plain(ErrorKind::Limit),
        _ => plain(ErrorKind::Sql),
    }
}
