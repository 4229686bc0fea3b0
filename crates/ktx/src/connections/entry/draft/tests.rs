//! Tests of drafts.

use clap::{Args as _, FromArgMatches as _};
use serde_json::json;

use super::*;

fn drafted(driver: Driver, words: &[&str]) -> Result<EntryDraft, String> {
    let command = crate::cli::ConnectionAddArgs::augment_args(clap::Command::new("add"));
    let words = ["add", "one", "--driver", driver.as_str()]
        .into_iter()
        .chain(words.iter().copied());
    let matches = command.try_get_matches_from(words).expect("arguments");
    let args = crate::cli::ConnectionAddArgs::from_arg_matches(&matches)
        .expect("arguments")
        .settings;
    let password = args.password_stdin.then(|| Secret::new("piped"));
    EntryDraft::of(&args, driver, password, |suffix| format!("one-{suffix}"))
        .map_err(|failure| failure.message)
}

#[track_caller]
fn check(driver: Driver, words: &[&str], fields: &Value) {
    let draft = drafted(driver, words).expect("a draft");
    assert_eq!(Value::Object(draft.fields), *fields);
}

#[track_caller]
fn refuse(driver: Driver, words: &[&str], message: &str) {
    assert_eq!(drafted(driver, words).err().as_deref(), Some(message));
}

#[test]
fn options_become_the_fields_of_the_driver() {
    check(
        Driver::Postgres,
        &[
            "--host",
            "db",
            "--port",
            "5433",
            "--database",
            "7",
            "--username",
            "ada",
            "--password-env",
            "PGPASSWORD",
            "--schema",
            "a",
            "--schema",
            "b",
            "--field",
            "ssl.ca=file:ca.pem",
            "--field",
            "maxConnections=3",
            "--field",
            "sslmode=true",
        ],
        &json!({
            "host": "db", "port": 5433, "database": "7", "username": "ada",
            "password": "env:PGPASSWORD", "schemas": ["a", "b"],
            "ssl": {"ca": "file:ca.pem"}, "maxConnections": 3, "sslmode": "true",
        }),
    );
    check(
        Driver::ClickHouse,
        &["--url", "env:URL", "--schema", "logs"],
        &json!({"url": "env:URL", "databases": ["logs"]}),
    );
    check(
        Driver::Sqlite,
        &["--path", "a.db", "--field", r#"enabled_tables=["x"]"#],
        &json!({"path": "a.db", "enabled_tables": ["x"]}),
    );
}

#[test]
fn secrets_are_kept_apart() {
    let draft = drafted(
        Driver::MySql,
        &["--url", "mysql://ada@db/shop", "--password-stdin"],
    )
    .expect("a draft");
    assert_eq!(
        Value::Object(draft.fields),
        json!({"url": "mysql://ada@db/shop", "password": "file:.ktx/secrets/one-password"})
    );
    let kept: Vec<_> = draft
        .secrets
        .iter()
        .map(|kept| (kept.name.as_str(), kept.secret.expose()))
        .collect();
    assert_eq!(kept, [("one-password", "piped")]);
    let draft = drafted(Driver::MySql, &["--url", "mysql://ada:pw@db/shop"]).expect("a draft");
    assert_eq!(
        Value::Object(draft.fields),
        json!({"url": "file:.ktx/secrets/one-url"})
    );
    let kept: Vec<_> = draft
        .secrets
        .iter()
        .map(|kept| (kept.name.as_str(), kept.secret.expose()))
        .collect();
    assert_eq!(kept, [("one-url", "mysql://ada:pw@db/shop")]);
}

#[test]
fn what_does_not_fit_is_refused_without_repeating_secrets() {
    let held = "holds a secret, which does not belong on a command line or in ktx.yaml";
    refuse(
        Driver::Sqlite,
        &["--host", "db"],
        "driver `sqlite` has no field `host`",
    );
    refuse(
        Driver::Sqlite,
        &["--schema", "a"],
        "driver `sqlite` has no schemas to choose from",
    );
    refuse(
        Driver::Postgres,
        &["--password-env", "hunter 2"],
        "`--password-env` takes the name of an environment variable",
    );
    refuse(
        Driver::Postgres,
        &["--field", "password=hunter2"],
        &format!("`password` {held}"),
    );
    refuse(
        Driver::Postgres,
        &["--field", "url=postgres://a:b@c/d"],
        &format!("`url` {held}"),
    );
    refuse(
        Driver::Notion,
        &["--field", "auth_token=abc"],
        &format!("`auth_token` {held}"),
    );
    refuse(
        Driver::Postgres,
        &["--host", "a", "--field", "host=b"],
        "`host` is given twice",
    );
    refuse(
        Driver::Postgres,
        &["--host", "a", "--field", "host.name=b"],
        "`host` already has a value",
    );
    refuse(
        Driver::Postgres,
        &["--field", "hunter2"],
        "a `--field` has no `=`",
    );
    refuse(
        Driver::Postgres,
        &["--field", "a..b=1"],
        "`a..b` is not the name of a field",
    );
}

#[test]
fn fields_that_the_driver_does_not_know_are_kept_with_a_warning() {
    let draft = drafted(Driver::Postgres, &["--field", "hots=db"]).expect("a draft");
    assert_eq!(Value::Object(draft.fields), json!({"hots": "db"}));
    assert_eq!(
        draft.notes,
        ["warning: driver `postgres` does not know the field `hots`; did you mean `host`?"]
    );
}
