//! `ktx connection test` with schemas that are missing or not granted.

use super::odd_names::duckdb;
use super::server::{ClickHouse, MariaDb, Postgres, Server as _};
use super::warehouse;
use crate::support::{run, write};

#[test]
fn schemas_of_postgres_that_cannot_be_read_are_told() {
    let Some(server) = Postgres::new("ktx_it_schemas") else {
        return;
    };
    server.execute(
        "DROP ROLE IF EXISTS ktx_schema_reader; CREATE ROLE ktx_schema_reader LOGIN PASSWORD 'reader-secret';
         CREATE SCHEMA sales; CREATE SCHEMA hr; GRANT USAGE ON SCHEMA sales TO ktx_schema_reader;",
    );
    let fields = "    database: ktx_it_schemas\n    schemas: [sales]\n";
    let mut sandbox = warehouse(&server, server.port(), fields);
    let config = sandbox.read("ktx.yaml").unwrap();
    let config = config.replace(&server.login().user, "ktx_schema_reader");
    sandbox.set("KTX_IT_PASSWORD", "reader-secret");
    let with = |schemas: &str| {
        let config = config.replace("[sales]", schemas);
        write(&sandbox, "ktx.yaml", &config);
    };
    let line = "connection test warehouse";
    with("[sales]");
    let passed = run(&sandbox, line);
    assert_eq!(passed.code, Some(0), "{passed}");
    assert!(
        passed.stdout.contains("\nSchemas: sales (0 tables)\n"),
        "{passed}"
    );
    with("[sales, slaes]");
    compare!(line, &run(&sandbox, line), @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the schema `slaes` of connection `warehouse` does not exist

hint: did you mean `sales` instead of `slaes`?
");
    with("[hr]");
    compare!(line, &run(&sandbox, line), @r#"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the schema `hr` of connection `warehouse` could not be checked: the login may not use it

hint: run `GRANT USAGE ON SCHEMA "hr" TO "ktx_schema_reader"`
"#);
    with("[sales, warehousing, hr]");
    compare!(line, &run(&sandbox, line), @r#"
exit 4
--- stderr
Project: [SANDBOX]/work
error: connection `warehouse` has schemas that cannot be read: `warehousing` does not exist; `hr` could not be checked, the login may not use it

hint: correct `schemas` in ktx.yaml; there are `hr`, `public`, `sales`
hint: run `GRANT USAGE ON SCHEMA "hr" TO "ktx_schema_reader"`
"#);
    let printed = run(&sandbox, "connection test warehouse --json");
    assert_eq!(printed.code, Some(4), "{printed}");
    let answer: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(
        answer["data"]["items"][0]["schemas"],
        serde_json::json!([
            { "name": "sales", "status": "found" },
            { "name": "warehousing", "status": "not_found", "near": [], "fix": [] },
            { "name": "hr", "status": "not_granted", "near": [],
              "fix": ["GRANT USAGE ON SCHEMA \"hr\" TO \"ktx_schema_reader\""] },
        ])
    );
}

/// Three readable schemas, one partly, and two unreadable ones.
const FIVE_SCHEMAS: &str = "
    DROP ROLE IF EXISTS ktx_every_reader; CREATE ROLE ktx_every_reader LOGIN PASSWORD 'reader-secret';
    CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1);
    CREATE SCHEMA sales; CREATE TABLE sales.invoices (id int PRIMARY KEY); INSERT INTO sales.invoices VALUES (1);
    CREATE TABLE sales.salaries (id int PRIMARY KEY);
    CREATE SCHEMA stock; CREATE TABLE stock.items (id int PRIMARY KEY); INSERT INTO stock.items VALUES (1);
    CREATE SCHEMA hr; CREATE TABLE hr.people (id int PRIMARY KEY);
    CREATE SCHEMA audit; CREATE TABLE audit.log (id int PRIMARY KEY); CREATE TABLE audit.old (id int PRIMARY KEY);
    GRANT USAGE ON SCHEMA sales, stock, audit TO ktx_every_reader;
    GRANT SELECT ON orders, sales.invoices, stock.items TO ktx_every_reader;";

/// Roles belong to the whole server, so each test has its own.
fn every_schema(name: &'static str) -> Option<(Postgres, ktx_test_support::sandbox::Sandbox)> {
    let server = Postgres::new(name)?;
    server.execute(&FIVE_SCHEMAS.replace("ktx_every_reader", &format!("{name}_reader")));
    let fields = format!("    database: {name}\n");
    let mut sandbox = warehouse(&server, server.port(), &fields);
    let config = sandbox.read("ktx.yaml").unwrap();
    let config = config.replace(&server.login().user, &format!("{name}_reader"));
    write(&sandbox, "ktx.yaml", &config);
    sandbox.set("KTX_IT_PASSWORD", "reader-secret");
    Some((server, sandbox))
}

#[test]
fn every_schema_of_postgres_that_the_login_reads_is_scanned_and_the_others_are_named() {
    let Some((_server, sandbox)) = every_schema("ktx_every") else {
        return;
    };
    compare!("scan", &run(&sandbox, "scan"), @r#"
exit 0
warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
  schemas: public (1 table), sales (1 table), stock (1 table)
  left out: audit (2 tables, not granted to the login), hr (1 table, not granted to the login), of sales 1 not granted to the login
  joins: 0 accepted, 0 to review
  warning: the login may not read `sales.salaries`; run `GRANT SELECT ON "sales"."salaries" TO "ktx_every_reader"`
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 3 tables, 3 columns
warehouse · profile (3)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
"#);
    let tested = run(&sandbox, "connection test warehouse");
    assert_eq!(tested.code, Some(0), "{tested}");
    let told = [
        "Schemas: public (1 table), sales (1 table), stock (1 table)",
        "Left out: audit (2 tables, not granted to the login), hr (1 table, not granted to the login), \
         of sales 1 not granted to the login",
    ];
    for line in told {
        assert!(tested.stdout.lines().any(|known| known == line), "{tested}");
    }
    let hint = "hint: run `GRANT USAGE ON SCHEMA \"hr\" TO \"ktx_every_reader\"` to have it read";
    assert!(tested.stderr.contains(hint), "{tested}");
    let printed = run(&sandbox, "connection test warehouse --json");
    let answer: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(
        answer["data"]["items"][0]["scope"],
        serde_json::json!({
            "schemas": [
                { "name": "public", "tables": 1, "notGranted": 0, "notListed": 0 },
                { "name": "sales", "tables": 1, "notGranted": 1, "notListed": 0 },
                { "name": "stock", "tables": 1, "notGranted": 0, "notListed": 0 },
            ],
            "leftOut": [
                { "name": "audit", "tables": 2, "reason": "not_granted",
                  "fix": ["GRANT SELECT ON ALL TABLES IN SCHEMA \"audit\" TO \"ktx_every_reader\""] },
                { "name": "hr", "tables": 1, "reason": "not_granted",
                  "fix": ["GRANT USAGE ON SCHEMA \"hr\" TO \"ktx_every_reader\""] },
            ],
        })
    );
}

#[test]
fn schemas_that_setup_is_given_narrow_what_is_scanned() {
    let Some((server, mut sandbox)) = every_schema("ktx_narrow") else {
        return;
    };
    write(&sandbox, "ktx.yaml", "connections: {}\n");
    let url = format!(
        "postgres://ktx_narrow_reader:reader-secret@127.0.0.1:{}/ktx_narrow",
        server.port()
    );
    sandbox.set("DATABASE_URL", &url);
    let setup =
        "setup --skip-llm --skip-agents --database postgres --database-url env:DATABASE_URL";
    let printed = run(&sandbox, &format!("{setup} --database-schema sales"));
    let told = [
        "schemas: sales (1 table)",
        "left out: audit (2 tables, not named by the connection), hr (1 table, not named by the connection), \
         public (1 table, not named by the connection), of sales 1 not granted to the login, \
         stock (1 table, not named by the connection)",
    ];
    for line in told {
        let is_it = |known: &str| known.trim() == line;
        assert!(printed.stdout.lines().any(is_it), "{printed}");
    }
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    let added = "postgres-warehouse: 1 added, 0 modified, 0 deleted, 0 unchanged tables\n";
    assert!(scanned.stdout.starts_with(added), "{scanned}");
}

#[test]
fn a_source_that_loses_its_short_name_to_another_schema_is_told() {
    let Some((server, sandbox)) = every_schema("ktx_short_names") else {
        return;
    };
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    server.execute(
        "CREATE TABLE stock.orders (id int PRIMARY KEY); GRANT SELECT ON stock.orders TO ktx_short_names_reader",
    );
    let scanned = run(&sandbox, "scan");
    let told = "  warning: the source `orders` is called `public.orders` now, because another schema has a table \
                of that name; use the new name in overlays, joins and queries, or name the schemas to read under \
                `schemas` in ktx.yaml";
    assert!(scanned.stdout.lines().any(|line| line == told), "{scanned}");
    let again = run(&sandbox, "scan");
    assert!(!again.stdout.contains("is called"), "{again}");
    assert!(again.stdout.contains("nothing changed"), "{again}");
}

#[test]
fn a_table_of_a_schema_that_is_not_granted_any_more_stays() {
    let Some((server, sandbox)) = every_schema("ktx_revoked") else {
        return;
    };
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    server.execute("REVOKE USAGE ON SCHEMA stock FROM ktx_revoked_reader");
    let scanned = run(&sandbox, "scan");
    let said = "warehouse: 0 added, 0 modified, 0 deleted, 3 unchanged tables\n";
    assert!(scanned.stdout.starts_with(said), "{scanned}");
}

#[test]
fn a_schema_of_mariadb_that_is_not_shown_is_told() {
    let Some(server) = MariaDb::new("ktx_it_schemas") else {
        return;
    };
    let fields = "    schemas: [ktx_it_schemas, ktx_it_shcemas]\n";
    let sandbox = warehouse(&server, server.port(), fields);
    let user = server.login().user;
    let line = "connection test warehouse";
    let told = run(&sandbox, line);
    assert_eq!(told.code, Some(4), "{told}");
    assert_eq!(
        told.stderr,
        format!(
            "Project: [SANDBOX]/work\n\
             error: the schema `ktx_it_shcemas` of connection `warehouse` does not exist, or the login has \
             no right in it\n\n\
             hint: did you mean `ktx_it_schemas` instead of `ktx_it_shcemas`?\n\
             hint: for the right, run `GRANT SELECT, SHOW VIEW ON `ktx_it_shcemas`.* TO '{user}'`\n"
        )
    );
}

#[test]
fn a_schema_of_duckdb_that_is_missing_is_told() {
    let Some(sandbox) = duckdb("CREATE SCHEMA sales; CREATE TABLE sales.t (id int)") else {
        return;
    };
    let config = sandbox.read("ktx.yaml").unwrap();
    let with = |schemas: &str| {
        let config = config.replace(" }", &format!(", schemas: {schemas} }}"));
        write(&sandbox, "ktx.yaml", &config);
        run(&sandbox, "connection test warehouse")
    };
    let passed = with("[main, sales]");
    assert_eq!(passed.code, Some(0), "{passed}");
    assert!(
        passed.stdout.contains("\nSchemas: main, sales\n"),
        "{passed}"
    );
    compare!("connection test", &with("[Sales]"), @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the schema `Sales` of connection `warehouse` does not exist

hint: did you mean `sales` instead of `Sales`?
");
}

#[test]
fn a_database_of_clickhouse_that_is_not_shown_is_told() {
    let Some(server) = ClickHouse::new("ktx_it_schemas") else {
        return;
    };
    let sandbox = server.project();
    let config = sandbox.read("ktx.yaml").unwrap();
    let config = config.replace("[ktx_it_schemas]", "[ktx_it_schemas, ktx_it_schema]");
    write(&sandbox, "ktx.yaml", &config);
    compare!("connection test", &run(&sandbox, "connection test"), @r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the database `ktx_it_schema` of connection `warehouse` does not exist, or the login has no right in it

hint: did you mean `ktx_it_schemas` instead of `ktx_it_schema`?
hint: for the right, run `GRANT SELECT, SHOW ON `ktx_it_schema`.* TO your_login`
");
}
