//! `ktx connection show`, `add`, `remove` and `rename`.

use std::os::unix::fs::PermissionsExt as _;

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::support::{commit, git, json, project, run, shop, write};

const COMMENTED: &str = "# Ours.
connections:
  # Read-only.
  warehouse:
    driver: sqlite # a file
    path: warehouse.db
setup:
  database_connection_ids: [warehouse]
";

fn config(sandbox: &Sandbox) -> String {
    sandbox.read("ktx.yaml").unwrap()
}

fn secret(sandbox: &Sandbox, name: &str) -> (String, u32) {
    let path = format!(".ktx/secrets/{name}");
    let found = std::fs::metadata(sandbox.work().join(&path)).unwrap();
    let mode = found.permissions().mode() & 0o777;
    (sandbox.read(&path).unwrap(), mode)
}

#[test]
fn an_added_connection_stands_beside_the_users_own_words() {
    let sandbox = shop();
    write(&sandbox, "ktx.yaml", COMMENTED);
    commit(&sandbox, "comments");
    check!(&sandbox, "connection add second --driver sqlite --path warehouse.db --field maxConnections=2 --test", @r"
exit 0
Added connection: second
Driver: sqlite
Connection test passed: second
Driver: sqlite
Status: ok
Server: SQLite [VERSION]
Latency: [DURATION]
Role: read-only
--- stderr
Project: [SANDBOX]/work
warning: driver `sqlite` does not know the field `maxConnections`
ktx.yaml has uncommitted changes
");
    assert_eq!(
        config(&sandbox),
        COMMENTED.replace(
            "    path: warehouse.db\n",
            "    path: warehouse.db\n  second:\n    driver: sqlite\n    path: warehouse.db\n    maxConnections: 2\n"
        )
    );
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), " M ktx.yaml\n");
    check!(&sandbox, "connection remove second --yes", @r"
exit 0
Removed connection: second
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
");
    assert_eq!(config(&sandbox), COMMENTED);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn a_secret_is_kept_in_a_file_of_the_user_and_never_in_the_configuration() {
    let sandbox = project();
    let added = json(
        &sandbox,
        "connection add pg --driver postgres --url postgres://ada:hunter2@127.0.0.1:1/shop --schema sales --json",
    );
    assert_eq!(
        added,
        json!({
            "kind": "connection",
            "data": {
                "id": "pg",
                "driver": "postgres",
                "kind": "warehouse",
                "fields": { "url": "file:.ktx/secrets/pg-url", "schemas": ["sales"] },
                "references": [{
                    "field": "url", "reference": "file:.ktx/secrets/pg-url",
                    "resolves": true, "problem": null,
                }],
                "scope": { "schemas": ["sales"], "tables": [] },
                "supported": true,
                "status": "added",
                "secretFiles": [".ktx/secrets/pg-url"],
                "committed": false,
            },
            "meta": { "command": "connection add" },
        })
    );
    assert_eq!(
        secret(&sandbox, "pg-url"),
        (
            "postgres://ada:hunter2@127.0.0.1:1/shop\n".to_owned(),
            0o600
        )
    );
    let words = [
        "connection",
        "add",
        "my",
        "--driver",
        "mysql",
        "--host",
        "127.0.0.1",
        "--port",
        "1",
        "--database",
        "shop",
        "--username",
        "ada",
        "--password-stdin",
    ];
    let printed = sandbox.run_with_input(&words, "hunter3\n").unwrap();
    compare!("connection add my", &printed, @r"
exit 0
Added connection: my
Driver: mysql
Secret: .ktx/secrets/my-password (ignored by git)
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
");
    assert_eq!(
        secret(&sandbox, "my-password"),
        ("hunter3\n".to_owned(), 0o600)
    );
    assert!(!config(&sandbox).contains("hunter"), "{}", config(&sandbox));
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), " M ktx.yaml\n");
    // The file still serves the renamed connection, so that name needs another file.
    check!(&sandbox, "connection rename my old", @r"
exit 0
Renamed connection: my -> old
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
");
    let printed = sandbox.run_with_input(&words, "hunter4").unwrap();
    assert_eq!(printed.code, Some(0), "{printed}");
    assert_eq!(secret(&sandbox, "my-password").0, "hunter3\n");
    assert_eq!(secret(&sandbox, "my-password-2").0, "hunter4\n");
    check!(&sandbox, "connection remove pg --yes --json", @r#"
exit 0
{
  "kind": "connection",
  "data": {
    "id": "pg",
    "status": "removed",
    "remainingFiles": [
      ".ktx/secrets/pg-url"
    ],
    "mentions": [],
    "hints": [
      "nothing in ktx.yaml names this secret any more; delete it with `rm [SANDBOX]/work/.ktx/secrets/pg-url`"
    ],
    "committed": false
  },
  "meta": {
    "command": "connection remove"
  }
}
"#);
    check!(&sandbox, "connection remove my --yes", @r"
exit 0
Removed connection: my
Remains: .ktx/secrets/my-password-2
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
hint: nothing in ktx.yaml names this secret any more; delete it with `rm [SANDBOX]/work/.ktx/secrets/my-password-2`
");
    // The file also has the model's key, so it must not be deleted.
    let text = config(&sandbox).replace(
        "backend: none",
        "backend: none\n    anthropic:\n      api_key: file:.ktx/secrets/my-password",
    );
    write(&sandbox, "ktx.yaml", &text);
    check!(&sandbox, "connection remove old --yes", @r"
exit 0
Removed connection: old
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
");
    assert_eq!(secret(&sandbox, "my-password").0, "hunter3\n");
}

#[test]
fn a_connection_is_shown_with_its_references_and_without_its_secrets() {
    let mut sandbox = project();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  pg:
    driver: postgres
    host: db.internal
    port: env:PG_PORT
    username: env:PG_USER
    password: hunter2
    ssl: {ca: file:ca.pem}
    enabled_tables: [sales.orders]
  lake: {driver: snowflake, url: 'snowflake://ada:hunter2@acc/db'}
",
    );
    sandbox.set("PG_USER", "ada");
    check!(&sandbox, "connection show pg", @r#"
exit 0
Connection: pg
Driver: postgres (warehouse)
Fields:
  host: db.internal
  port: env:PG_PORT  (no value: environment variable `PG_PORT` is not set)
  username: env:PG_USER  (has a value)
  password: ***
  ssl.ca: file:ca.pem  (no value: secret file `[SANDBOX]/work/ca.pem` cannot be read: No such file or directory (os error 2))
  enabled_tables: ["sales.orders"]
Schemas: all that the login can read
Tables: sales.orders
--- stderr
Project: [SANDBOX]/work
warning: ktx.yaml:7:15: `connections.pg.password` holds a secret as plain text, and the file is in git
warning: ktx.yaml:10:34: `connections.lake.url` holds a secret as plain text, and the file is in git
"#);
    let shown = json(&sandbox, "connection show lake --json");
    assert_eq!(
        shown["data"],
        json!({
            "id": "lake",
            "driver": "snowflake",
            "kind": "warehouse",
            "fields": { "url": "snowflake://ada:***@acc/db" },
            "references": [],
            "scope": { "schemas": [], "tables": [] },
            "supported": true,
        })
    );
    check!(&sandbox, "connection show gp", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
warning: ktx.yaml:7:15: `connections.pg.password` holds a secret as plain text, and the file is in git
warning: ktx.yaml:10:34: `connections.lake.url` holds a secret as plain text, and the file is in git
error: there is no connection `gp`

hint: use one of `pg`
");
}

#[test]
fn what_cannot_be_added_changes_nothing() {
    let sandbox = shop();
    let before = config(&sandbox);
    let refused = |line: &str, message: &str| {
        let printed = run(&sandbox, line);
        assert!(
            printed.stderr.contains(&format!("error: {message}\n")),
            "`{line}`: {printed}"
        );
        assert_ne!(printed.code, Some(0), "{line}");
        assert_eq!(config(&sandbox), before, "{line}");
        assert!(!sandbox.work().join(".ktx/secrets").exists(), "{line}");
    };
    refused(
        "connection add warehouse --driver sqlite --path a.db",
        "connection `warehouse` already exists",
    );
    refused(
        "connection add ../x --driver sqlite --path a.db",
        "unsafe connection id `../x`: use letters, digits, `_` and `-`, beginning with a letter or digit",
    );
    refused(
        "connection add a --driver postgras",
        "unknown driver `postgras`",
    );
    refused(
        "connection add a --driver sqlite",
        "connection `a` names no database file",
    );
    refused(
        "connection add a --driver postgres --username ada --password-env NOT_SET",
        "connection `a` names no server",
    );
    refused(
        "connection add a --driver metabase --field api_key=env:KEY",
        "`connections.a.api_url` is missing",
    );
    refused(
        "connection add a --driver postgres --host h --username u --field password=hunter2",
        "`password` holds a secret, which does not belong on a command line or in ktx.yaml",
    );
    refused(
        "connection add a --driver postgres --host h --username u --password-stdin",
        "stdin holds no password",
    );
    refused(
        "connection remove warehouse",
        "connection `warehouse` is removed only with your consent",
    );
}

#[test]
fn a_value_that_is_not_there_yet_is_a_warning() {
    let sandbox = project();
    check!(&sandbox, "connection add pg --driver postgres --url env:PG_URL", @r"
exit 0
Added connection: pg
Driver: postgres
--- stderr
Project: [SANDBOX]/work
warning: `url` has no value yet: environment variable `PG_URL` is not set
ktx.yaml has uncommitted changes
");
}

#[test]
fn a_test_that_fails_keeps_the_connection_and_says_so() {
    let sandbox = project();
    check!(&sandbox, "connection add gone --driver sqlite --path gone.db --test", @r"
exit 4
Added connection: gone
Driver: sqlite
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
error: the database file `[SANDBOX]/work/gone.db` does not exist

hint: correct `path`; a relative path starts at the project folder
hint: the connection stays in ktx.yaml; run `ktx connection test gone` again
");
    assert!(config(&sandbox).contains("gone.db"));
}

#[test]
fn removing_a_connection_says_what_remains() {
    let sandbox = shop();
    write(&sandbox, "ktx.yaml", COMMENTED);
    check!(&sandbox, "connection remove warehouse --yes", @r"
exit 0
Removed connection: warehouse
Remains: semantic-layer/warehouse
Remains: raw-sources/warehouse
--- stderr
Project: [SANDBOX]/work
warning: `setup.database_connection_ids` in ktx.yaml still names it
ktx.yaml has uncommitted changes
");
    assert!(
        sandbox
            .work()
            .join("semantic-layer/warehouse/orders.yaml")
            .is_file()
    );
}

#[test]
fn a_connection_is_renamed_once_its_files_are_moved() {
    let sandbox = shop();
    write(&sandbox, "ktx.yaml", COMMENTED);
    commit(&sandbox, "comments");
    check!(&sandbox, "connection rename warehouse shop", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: connection `warehouse` has files under its id: semantic-layer/warehouse, raw-sources/warehouse

hint: move them first: `git mv semantic-layer/warehouse semantic-layer/shop`
hint: move them first: `git mv raw-sources/warehouse raw-sources/shop`
hint: wiki pages that refer to `warehouse` in `sl_refs` need the new id, too
hint: then run this command again, and commit everything together
");
    assert_eq!(config(&sandbox), COMMENTED);
    for folder in ["semantic-layer", "raw-sources"] {
        let (old, new) = (format!("{folder}/warehouse"), format!("{folder}/shop"));
        git(&sandbox, &["mv", &old, &new]);
    }
    check!(&sandbox, "connection rename warehouse shop", @r"
exit 0
Renamed connection: warehouse -> shop
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
");
    let found = config(&sandbox);
    assert!(
        found.starts_with(
            "# Ours.\nconnections:\n  # Read-only.\n  shop:\n    driver: sqlite # a file\n"
        ),
        "{found}"
    );
    assert!(!found.contains("warehouse\n"), "{found}");
    commit(&sandbox, "renamed");
    let scanned = run(&sandbox, "scan shop");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    assert!(
        scanned
            .stdout
            .starts_with("shop: 0 added, 0 modified, 0 deleted, 3 unchanged tables\n"),
        "{scanned}"
    );
}

/// Google's tools store the login elsewhere, perhaps later.
#[test]
fn a_bigquery_connection_may_come_before_its_login() {
    let sandbox = project();
    check!(&sandbox, "connection add lake --driver bigquery --field project_id=acme --schema sales --test", @r"
exit 3
Added connection: lake
Driver: bigquery
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
error: connection `lake` cannot be used
  caused by: connection `lake` has no credentials: secret file `[SANDBOX]/home/.config/gcloud/application_default_credentials.json` cannot be read

hint: give the text of a service account's key in `credentials_json` (as `file:key.json` or `env:NAME`), or run `gcloud auth application-default login`
hint: the connection stays in ktx.yaml; run `ktx connection test lake` again
");
}

#[test]
fn an_edited_connection_keeps_what_is_not_named() {
    let sandbox = shop();
    write(&sandbox, "ktx.yaml", COMMENTED);
    std::fs::copy(
        sandbox.work().join("warehouse.db"),
        sandbox.work().join("moved.db"),
    )
    .unwrap();
    check!(&sandbox, "connection edit warehouse --path moved.db --field context.queryHistory.enabled=false --test", @r"
exit 0
Edited connection: warehouse
Driver: sqlite
Connection test passed: warehouse
Driver: sqlite
Status: ok
Server: SQLite [VERSION]
Latency: [DURATION]
Role: read-only
--- stderr
Project: [SANDBOX]/work
ktx.yaml has uncommitted changes
");
    assert_eq!(
        config(&sandbox),
        COMMENTED.replace(
            "    path: warehouse.db\n",
            "    path: moved.db\n    context:\n      queryHistory:\n        enabled: false\n"
        )
    );
    let before = config(&sandbox);
    for (line, told) in [
        ("connection edit warehouse", "error: no setting is named\n"),
        (
            "connection edit warehous --path x.db",
            "error: there is no connection `warehous`\n",
        ),
        (
            "connection edit warehouse --host db.example",
            "error: driver `sqlite` has no field `host`\n",
        ),
    ] {
        let printed = run(&sandbox, line);
        assert!(printed.stderr.contains(told), "{printed}");
        assert_ne!(printed.code, Some(0));
        assert_eq!(config(&sandbox), before);
    }
}
