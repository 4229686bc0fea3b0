//! Maps ClickHouse errors.

use std::error::Error as _;

use ktx_warehouse::{ErrorKind, WarehouseError};
use reqwest::StatusCode;

use crate::settings::LoginTarget;
use crate::tls;

pub(super) fn from_client(error: &reqwest::Error, target: &LoginTarget) -> WarehouseError {
    let mut last = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        last = inner.to_string();
        cause = inner.source();
    }
    let place = target.address();
    let make =
        |kind: ErrorKind, text: String| WarehouseError::new(kind, target.redactor.redact(&text));
    if let Some(inner) = tls::cause(error) {
        return make(
            ErrorKind::Tls,
            format!("no encrypted channel to {place}: {inner}"),
        )
        .hint(tls::HANDSHAKE_HINT);
    }
    if error.is_connect() || error.is_timeout() {
        return make(
            ErrorKind::Unreachable,
            format!("no ClickHouse at {place}: {last}"),
        )
        .hint("check `host` and `port`, and that the server runs and this machine may reach it");
    }
    make(
        ErrorKind::Dropped,
        format!("the connection to {place} broke: {last}"),
    )
    .hint("run the command again")
}

/// Parses a message such as `Code: 60. DB::Exception: … (UNKNOWN_TABLE) (version …)`.
pub(super) fn from_text(text: &str, status: StatusCode, target: &LoginTarget) -> WarehouseError {
    let make =
        |kind: ErrorKind, text: &str| WarehouseError::new(kind, target.redactor.redact(text));
    let Some((code, sentence)) = parse(text) else {
        return make(
            ErrorKind::Other,
            &format!(
                "{} does not answer like ClickHouse (HTTP {})",
                target.address(),
                status.as_u16()
            ),
        )
        .hint("check `port`: the HTTP interface is usually 8123, with TLS 8443");
    };
    let user = &target.user;
    match code {
        192..=194 | 516 => make(
            ErrorKind::Authentication,
            &format!("the server refused the password of `{user}`"),
        )
        .hint("check `username` and `password`"),
        81 => make(ErrorKind::NotFound, sentence).hint("check `database`"),
        164 => make(ErrorKind::Permission, sentence).hint("sessions of ktx are read-only"),
        291 | 497 => make(ErrorKind::Permission, sentence)
            .hint(format!("grant the right to `{user}`, or use another login")),
        159 | 160 | 394 => make(ErrorKind::Timeout, sentence),
        158 | 201 | 202 | 241 | 307 | 396 => make(ErrorKind::Limit, sentence),
        32 | 209 | 210 | 999 => make(ErrorKind::Dropped, sentence).hint("run the command again"),
        _ => make(ErrorKind::Sql, sentence),
    }
}

fn parse(text: &str) -> Option<(u32, &str)> {
    let (_, rest) = text.split_once("Code: ")?;
    let (code, rest) = rest.split_once('.')?;
    let sentence = rest
        .split_once("Exception: ")
        .map_or(rest, |(_, sentence)| sentence);
    let sentence = sentence
        .rsplit_once(" (version ")
        .map_or(sentence, |(sentence, _)| sentence);
    Some((
        code.trim().parse().ok()?,
        sentence.trim().trim_end_matches('.'),
    ))
}
