//! Tests of server settings.

use std::path::PathBuf;

use ktx_config::Driver;
use serde_json::{Value, json};

use super::{LoginTarget, ServerKind};
use crate::settings::{Clock, ConnectionSettings};
use crate::tests::{Secrets, connection, lines};
use crate::tls::{Tls, TlsTrust};

const SERVER: ServerKind = ServerKind {
    name: "PostgreSQL",
    schemes: &["postgres", "postgresql"],
    port: 5432,
    tls_port: 5432,
    user: None,
};

fn secrets() -> Secrets {
    Secrets {
        variables: [
            ("PASSWORD".to_owned(), "from-env".to_owned()),
            (
                "URL".to_owned(),
                "postgres://u:url-secret@h:6000/d".to_owned(),
            ),
            ("BAD_URL".to_owned(), "oracle://u:url-secret@h/d".to_owned()),
        ]
        .into(),
        files: [
            (PathBuf::from("/project/secret"), " from-file\n".to_owned()),
            (PathBuf::from("/srv/home/ca.pem"), "PEM".to_owned()),
        ]
        .into(),
        base: PathBuf::from("/project"),
    }
}

fn read(fields: Value) -> Result<LoginTarget, String> {
    let connection = connection(Driver::Postgres, fields);
    let secrets = secrets();
    LoginTarget::read(
        &ConnectionSettings::new(&connection, &secrets, Clock::new(0)),
        SERVER,
    )
    .map_err(|error| lines(&error))
}

#[track_caller]
fn check(fields: Value, expected: &str) {
    let target = read(fields).unwrap();
    let password = target
        .password
        .as_ref()
        .map_or("-", |password| password.expose());
    let database = target.database.as_deref().unwrap_or("-");
    let shown = format!(
        "{} {database} {} {password} {}",
        target.address(),
        target.user,
        target.sessions
    );
    assert_eq!(shown, expected);
}

#[track_caller]
fn check_error(fields: Value, expected: &str) {
    assert_eq!(read(fields).unwrap_err(), expected);
}

#[test]
fn reads_urls_and_fields_and_references() {
    check(json!({"url": "postgres://u:p@h/d"}), "h:5432 d u p 10");
    check(json!({"url": "env:URL"}), "h:6000 d u url-secret 10");
    check(
        json!({"url": "postgres://h/d", "username": "v", "password": "env:PASSWORD"}),
        "h:5432 d v from-env 10",
    );
    check(
        json!({"host": "h", "port": 5433, "user": "u", "password": "file:secret", "maxConnections": 2}),
        "h:5433 - u from-file 2",
    );
    check(
        json!({"host": "::1", "port": "5433", "user": "u"}),
        "[::1]:5433 - u - 10",
    );
    check(json!({"host": "/run/pg", "user": "u"}), "/run/pg - u - 10");
}

#[test]
fn names_missing_and_invalid_settings() {
    check_error(
        json!({}),
        "connection_config\nconnection `warehouse` names no server\nadd `url`, or `host`, \
         `database`, `username` and `password`",
    );
    check_error(
        json!({"host": "h"}),
        "connection_config\nconnection `warehouse` names no login\nadd `username`, or put the \
         login into `url`",
    );
    check_error(
        json!({"host": "h", "user": "u", "port": 0}),
        "connection_config\nconnection `warehouse` has the port `0`; ports are 1 to 65535\n-",
    );
    check_error(
        json!({"host": "h", "user": "u", "maxConnections": -1}),
        "connection_config\nconnection `warehouse` has `maxConnections: -1`; it must be a \
         positive whole number\n-",
    );
    check_error(
        json!({"host": "h", "user": "u", "sslmode": "maybe"}),
        "connection_config\nconnection `warehouse` has the unknown `sslmode` `maybe`\nuse \
         `disable`, `prefer`, `require`, `verify-full` or `no-verify`",
    );
}

#[test]
fn names_references_without_a_value_and_never_a_secret() {
    check_error(
        json!({"host": "h", "user": "u", "password": "env:NOWHERE"}),
        "connection_config\nconnection `warehouse` has no value for `password`: environment \
         variable `NOWHERE` is not set\nset the environment variable `NOWHERE` and run the \
         command again",
    );
    check_error(
        json!({"host": "h", "user": "u", "password": "file:nowhere"}),
        "connection_config\nconnection `warehouse` has no value for `password`: secret file \
         `/project/nowhere` cannot be read\ncheck that the file exists and that you may read it",
    );
    check_error(
        json!({"url": "env:BAD_URL"}),
        "connection_config\nconnection `warehouse` has a `url` for `oracle`, not for \
         PostgreSQL\nwrite it as `postgres://user@host:5432/database`",
    );
    check_error(
        json!({"url": "u:secret@h/d"}),
        "connection_config\nconnection `warehouse` has a `url` without `://`\nwrite it as \
         `postgres://user@host:5432/database`",
    );
    assert!(!format!("{:?}", read(json!({"url": "env:URL"}))).contains("url-secret"));
}

#[track_caller]
fn check_tls(host: &str, extra: &Value, expected: &Tls) {
    let mut fields = json!({"host": host, "user": "u"});
    fields
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    assert_eq!(read(fields).unwrap().tls, *expected, "{extra}");
}

#[test]
fn checks_certificates_by_default() {
    let checked = || Tls::Required(TlsTrust::System);
    for extra in [
        json!({}),
        json!({"sslmode": "prefer"}),
        json!({"sslmode": "require"}),
        json!({"sslMode": "verify-full"}),
        json!({"ssl": true}),
        json!({"ssl": {"rejectUnauthorized": true}}),
        json!({"rejectUnauthorized": true}),
    ] {
        check_tls("db.example.com", &extra, &checked());
    }
    for extra in [
        json!({"rejectUnauthorized": false}),
        json!({"ssl": {"rejectUnauthorized": false}}),
        json!({"sslmode": "no-verify"}),
        json!({"sslmode": "require", "rejectUnauthorized": false}),
    ] {
        check_tls("db.example.com", &extra, &Tls::Required(TlsTrust::Anything));
    }
    for extra in [json!({"sslmode": "disable"}), json!({"ssl": false})] {
        check_tls("db.example.com", &extra, &Tls::Off);
    }
    check_tls(
        "db.example.com",
        &json!({"sslrootcert": "~/ca.pem"}),
        &Tls::Required(TlsTrust::Authorities("PEM".into())),
    );
}

#[test]
fn is_easy_on_this_machine() {
    check_tls("localhost", &json!({}), &Tls::WhereOffered);
    check_tls(
        "127.0.0.1",
        &json!({"sslmode": "prefer"}),
        &Tls::WhereOffered,
    );
    check_tls(
        "::1",
        &json!({"sslmode": "require"}),
        &Tls::Required(TlsTrust::System),
    );
    check_tls("/run/pg", &json!({"sslmode": "require"}), &Tls::Off);
}

#[test]
fn prefers_the_url_to_fields() {
    let target = read(json!({"url": "postgres://u@h/d?sslmode=disable", "sslmode": "require"}));
    assert_eq!(target.unwrap().tls, Tls::Off);
}
