//! `ktx connection test` where schemas that the connection names are missing or not granted.

use super::odd_names::duckdb;
use super::server::{ClickHouse, MariaDb, Postgres, Server as _};
use super::warehouse;
use crate::support::{compare, run, write};

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
    assert!(passed.stdout.contains("\nSchemas: sales\n"), "{passed}");
    with("[sales, slaes]");
    compare(
        line,
        &run(&sandbox, line),
        r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the schema `slaes` of connection `warehouse` does not exist

hint: did you mean `sales` instead of `slaes`?
",
    );
    with("[hr]");
    compare(
        line,
        &run(&sandbox, line),
        r#"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the schema `hr` of connection `warehouse` could not be looked at: the login may not use it

hint: run `GRANT USAGE ON SCHEMA "hr" TO "ktx_schema_reader"`
"#,
    );
    with("[sales, warehousing, hr]");
    compare(
        line,
        &run(&sandbox, line),
        r#"
exit 4
--- stderr
Project: [SANDBOX]/work
error: connection `warehouse` has schemas that cannot be read: `warehousing` does not exist; `hr` could not be looked at, the login may not use it

hint: correct `schemas` in ktx.yaml; there are `hr`, `public`, `sales`
hint: run `GRANT USAGE ON SCHEMA "hr" TO "ktx_schema_reader"`
"#,
    );
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
    compare(
        "connection test",
        &with("[Sales]"),
        r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the schema `Sales` of connection `warehouse` does not exist

hint: did you mean `sales` instead of `Sales`?
",
    );
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
    compare(
        "connection test",
        &run(&sandbox, "connection test"),
        r"
exit 4
--- stderr
Project: [SANDBOX]/work
error: the database `ktx_it_schema` of connection `warehouse` does not exist, or the login has no right in it

hint: did you mean `ktx_it_schemas` instead of `ktx_it_schema`?
hint: for the right, run `GRANT SELECT, SHOW ON `ktx_it_schema`.* TO your_login`
",
    );
}
