//! Days do not depend on the login's or machine's time zone.

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use super::server::{MariaDb, Postgres, Server as _};
use super::warehouse;
use crate::support::{json as json_of, run, write};

fn in_zones(sandbox: &Sandbox, sql: &str) -> [String; 2] {
    let config = sandbox.read("ktx.yaml").unwrap();
    let usual = run(sandbox, &format!("sql '{sql}'"));
    assert_eq!(usual.code, Some(0), "{usual}");
    write(
        sandbox,
        "ktx.yaml",
        &format!("{config}    timezone: \"+09:00\"\n"),
    );
    let other = run(sandbox, &format!("sql '{sql}'"));
    assert_eq!(other.code, Some(0), "{other}");
    write(sandbox, "ktx.yaml", &config);
    [usual.stdout, other.stdout]
}

#[test]
fn a_login_of_postgres_does_not_decide_about_days() {
    let Some(server) = Postgres::new("ktx_it_zones") else {
        return;
    };
    server.execute(
        "DROP ROLE IF EXISTS ktx_it_far; CREATE ROLE ktx_it_far LOGIN PASSWORD 'far-secret';
         ALTER ROLE ktx_it_far SET timezone = 'Pacific/Auckland';
         CREATE TABLE moments (at timestamptz NOT NULL);
         INSERT INTO moments VALUES ('2024-01-31 14:30+00'), ('2024-01-31 15:30+00'), ('2024-02-01 00:30+00');
         GRANT SELECT ON moments TO ktx_it_far",
    );
    let mut sandbox = warehouse(&server, server.port(), "    database: ktx_it_zones\n");
    let config = sandbox.read("ktx.yaml").unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        &config.replace(&server.login().user, "ktx_it_far"),
    );
    sandbox.set("KTX_IT_PASSWORD", "far-secret");
    let days =
        "select extract(day from at)::int as day, count(*) as n from moments group by 1 order by 2";
    // PostgreSQL alone would read this as west of Greenwich.
    let [usual, other] = in_zones(&sandbox, days);
    assert_eq!(usual, "day\tn\n1\t1\n31\t2\n");
    assert_eq!(other, "day\tn\n31\t1\n1\t2\n");
}

#[test]
fn the_plan_of_a_query_names_the_time_zone() {
    let Some(server) = Postgres::new("ktx_it_zone_plan") else {
        return;
    };
    server.execute("CREATE TABLE moments (id int PRIMARY KEY); INSERT INTO moments VALUES (1)");
    let sandbox = warehouse(&server, server.port(), "    database: ktx_it_zone_plan\n");
    let source = "name: moments\ntable: public.moments\ngrain: [id]\ncolumns:\n  - name: id\n    type: number\n\
                  measures:\n  - name: n\n    expr: count(*)\n";
    write(&sandbox, "semantic-layer/warehouse/moments.yaml", source);
    let zone = |sandbox: &Sandbox| {
        let answer = json_of(sandbox, "sl query --measure moments.n --execute --json");
        answer["plan"]["execution"]["timeZone"].clone()
    };
    assert_eq!(zone(&sandbox), json!("UTC"));
    let config = sandbox.read("ktx.yaml").unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        &format!("{config}    timezone: Asia/Tokyo\n"),
    );
    assert_eq!(zone(&sandbox), json!("Asia/Tokyo"));
    write(
        &sandbox,
        "ktx.yaml",
        &format!("{config}    timezone: \"a b\"\n"),
    );
    let wrong = run(&sandbox, "sql 'select 1'");
    assert_eq!(wrong.code, Some(3), "{wrong}");
    assert!(wrong.stderr.contains("has the `timezone` `a b`"), "{wrong}");
}

#[test]
fn a_server_of_mariadb_does_not_decide_about_days() {
    let Some(server) = MariaDb::new("ktx_it_zones") else {
        return;
    };
    server.execute(
        "CREATE TABLE moments (at timestamp NOT NULL); SET time_zone = '+00:00';
         INSERT INTO moments VALUES ('2024-01-31 14:30:00'), ('2024-01-31 15:30:00'), ('2024-02-01 00:30:00')",
    );
    let sandbox = warehouse(&server, server.port(), "    database: ktx_it_zones\n");
    let days = "select day(at) as day, count(*) as n from moments group by 1 order by 2";
    let [usual, other] = in_zones(&sandbox, days);
    assert_eq!(usual, "day\tn\n1\t1\n31\t2\n");
    assert_eq!(other, "day\tn\n31\t1\n1\t2\n");
}
