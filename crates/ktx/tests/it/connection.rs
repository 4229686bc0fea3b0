//! `ktx connection`.

use crate::support::{project, shop, write};

#[test]
fn connections_are_listed_by_id() {
    let sandbox = project();
    check!(&sandbox, "connection", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no connections; add one under `connections:` in ktx.yaml
");
    check!(&sandbox, "connection list --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": []
  },
  "meta": {
    "command": "connection list"
  }
}
--- stderr
no connections; add one under `connections:` in ktx.yaml
"#);
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  zoo: { driver: sqlite, path: zoo.db }
  ant: { driver: postgres, url: env:ANT_URL }
  docs: { driver: notion, auth_token: env:NOTION_TOKEN, root_page_ids: [home] }
",
    );
    check!(&sandbox, "connection", @r"
exit 0
ant	postgres
docs	notion
zoo	sqlite
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "connection list", @r"
exit 0
ant	postgres
docs	notion
zoo	sqlite
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "connection --output pretty", @r"
exit 0
ID    DRIVER
ant   postgres
docs  notion
zoo   sqlite
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "connection --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "id": "ant",
        "driver": "postgres",
        "kind": "warehouse"
      },
      {
        "id": "docs",
        "driver": "notion",
        "kind": "context-source"
      },
      {
        "id": "zoo",
        "driver": "sqlite",
        "kind": "warehouse"
      }
    ]
  },
  "meta": {
    "command": "connection list"
  }
}
"#);
}

#[test]
fn a_reachable_connection_passes_and_says_what_its_login_may_do() {
    let sandbox = shop();
    check!(&sandbox, "connection test warehouse", @r"
exit 0
Connection test passed: warehouse
Driver: sqlite
Status: ok
Server: SQLite [VERSION]
Latency: [DURATION]
Role: read-only
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "connection test --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "id": "warehouse",
        "driver": "sqlite",
        "status": "ok",
        "server": "SQLite [VERSION]",
        "latencyMs": "[DURATION]",
        "role": {
          "status": "read_only"
        }
      }
    ]
  },
  "meta": {
    "command": "connection test"
  }
}
"#);
}

#[test]
fn several_connections_are_tested_together() {
    let sandbox = shop();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  warehouse: { driver: sqlite, path: warehouse.db }
  gone: { driver: sqlite, path: gone.db }
  docs: { driver: looker, base_url: 'https://bi.example', client_id: ktx, client_secret: env:LOOKER }
",
    );
    check!(&sandbox, "connection test", @r"
exit 4
✗ docs  looker  environment variable `LOOKER` is not set
✗ gone  sqlite  the database file `[SANDBOX]/work/gone.db` does not exist
✓ warehouse  sqlite  SQLite [VERSION]
3 tested · 1 passed · 2 failed
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "connection test --all --json", @r#"
exit 4
{
  "kind": "list",
  "data": {
    "items": [
      {
        "id": "docs",
        "driver": "looker",
        "status": "failed",
        "error": {
          "code": "source_auth",
          "message": "`connections.docs.client_secret` has no value",
          "hint": "set it in the shell that runs ktx, or use a `file:` reference",
          "causes": [
            "environment variable `LOOKER` is not set"
          ]
        }
      },
      {
        "id": "gone",
        "driver": "sqlite",
        "status": "failed",
        "error": {
          "code": "connection_not_found",
          "message": "the database file `[SANDBOX]/work/gone.db` does not exist",
          "hint": "correct `path`; a relative path starts at the project folder"
        }
      },
      {
        "id": "warehouse",
        "driver": "sqlite",
        "status": "ok",
        "server": "SQLite [VERSION]",
        "latencyMs": "[DURATION]",
        "role": {
          "status": "read_only"
        }
      }
    ]
  },
  "meta": {
    "command": "connection test"
  }
}
"#);
    check!(&sandbox, "connection test docs", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: `connections.docs.client_secret` has no value
  caused by: environment variable `LOOKER` is not set

hint: set it in the shell that runs ktx, or use a `file:` reference
");
    check!(&sandbox, "connection test gone", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the database file `[SANDBOX]/work/gone.db` does not exist

hint: correct `path`; a relative path starts at the project folder
");
    check!(&sandbox, "connection test gone --json", @r#"
exit 4
{
  "kind": "list",
  "data": {
    "items": [
      {
        "id": "gone",
        "driver": "sqlite",
        "status": "failed",
        "error": {
          "code": "connection_not_found",
          "message": "the database file `[SANDBOX]/work/gone.db` does not exist",
          "hint": "correct `path`; a relative path starts at the project folder"
        }
      }
    ]
  },
  "meta": {
    "command": "connection test"
  }
}
"#);
}

#[test]
fn a_connection_that_is_not_there_is_named() {
    let sandbox = shop();
    check!(&sandbox, "connection test wharehouse", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: there is no connection `wharehouse`

hint: use one of `warehouse`
");
    check!(&sandbox, "connection test other --json", @r#"
exit 3
{
  "error": {
    "code": "unknown_connection",
    "message": "there is no connection `other`",
    "hint": "use one of `warehouse`"
  }
}
"#);
    check!(&sandbox, "connection test ../warehouse", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: unsafe connection id `../warehouse`: use letters, digits, `_` and `-`, beginning with a letter or digit
");
}
