//! Past queries of PostgreSQL in setup, test and scan.

use crate::support::{compare_text, json as json_of, run, write};

use super::server::{Postgres, Server as _};
use super::warehouse;

/// Only a query joins these tables.
const TABLES: &str = "CREATE TABLE people (id int PRIMARY KEY, name text);
    INSERT INTO people SELECT 100 + n, 'p' || n FROM generate_series(1, 20) n;
    CREATE TABLE visits (visit int PRIMARY KEY, slot int);
    INSERT INTO visits SELECT n, 101 + n % 4 FROM generate_series(1, 60) n;";
const JOIN: &str = "SELECT count(*) FROM visits JOIN people ON visits.slot = people.id";

const SHARD: &str = "semantic-layer/warehouse/_schema/public.yaml";

/// Statement counts differ by server.
fn without_counts(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let is_count = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        if is_count { "[N]" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn past_queries_of_postgres_are_turned_on_tried_and_read() {
    let Some(server) = Postgres::new("ktx_it_history") else {
        return;
    };
    server.execute(TABLES);
    let fields = "    database: ktx_it_history\n";
    let sandbox = warehouse(&server, server.port(), fields);
    let plain = sandbox.read("ktx.yaml").expect("the file");
    // Without the extension, setup explains what to do, and a scan continues.
    let line = "setup --skip-llm --skip-agents --enable-query-history --query-history-min-executions 2 --query-history-window-days 30";
    let mut printed = run(&sandbox, line);
    printed.stdout = without_counts(&printed.stdout);
    compare!(line, &printed, @r#"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  ready    warehouse: reached
                   schemas: public (2 tables)
history   done     warehouse: past queries cannot be read yet: relation "pg_stat_statements" does not exist (at character 189)
                   load `pg_stat_statements` with `shared_preload_libraries`, then run `CREATE EXTENSION pg_stat_statements` in this database
                   ktx.yaml has uncommitted changes
agents    skipped  none was named
next: run `ktx status` to see what works
"#);
    let mut config = sandbox.read("ktx.yaml").expect("the file");
    compare_text(
        "what setup has written",
        config.strip_prefix(&plain).unwrap_or(&config),
        r"
    context:
      queryHistory:
        enabled: true
        windowDays: 30
        minExecutions: 2
",
    );
    compare!("scan", &run(&sandbox, "scan"), @r#"
exit 0
warehouse: 2 added, 0 modified, 0 deleted, 0 unchanged tables
  schemas: public (2 tables)
  joins: 0 accepted, 1 to review
  warning: could not read the record of past queries: relation "pg_stat_statements" does not exist (at character 189)
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 2 tables, 4 columns
warehouse · profile (2)
warehouse · relationships
warehouse · 0 joins, 1 to review
warehouse · artifacts
"#);
    let asked = run(&sandbox, "scan --query-history");
    assert_eq!(asked.code, Some(7), "{asked}");
    server.execute("CREATE EXTENSION pg_stat_statements");
    for _ in 0..6 {
        server.execute(JOIN);
    }
    let tested = json_of(&sandbox, "connection test warehouse --json");
    let history = &tested["data"]["items"][0]["queryHistory"];
    assert_eq!(history["status"], "ok", "{tested}");
    let joins = |line: &str| {
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(0), "{printed}");
        let shard = sandbox.read(SHARD).expect("a shard");
        shard.matches("visits.slot = people.id").count()
    };
    assert_eq!(joins("scan --no-query-history"), 0);
    let enabled = std::mem::replace(&mut config, plain);
    write(&sandbox, "ktx.yaml", &config);
    assert_eq!(joins("scan"), 0);
    assert_eq!(joins("scan --query-history"), 1);
    let shard = sandbox.read(SHARD).expect("a shard");
    let usage = shard
        .split("usage:")
        .nth(1)
        .and_then(|rest| rest.split("columns:").next());
    compare_text(
        "how `people` is used",
        &format!("{}\n", usage.unwrap_or(&shard).trim()),
        r"
frequencyTier: high
      commonFilters: []
      commonGroupBys: []
      commonJoins:
        - table: public.visits
          'on':
            - id = slot
",
    );
    write(&sandbox, "ktx.yaml", &enabled);
    let line = "setup --skip-llm --skip-agents --disable-query-history";
    compare!(line, &run(&sandbox, line), @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  ready    warehouse: reached
                   schemas: public (2 tables)
history   done     warehouse: past queries are not read
                   ktx.yaml has uncommitted changes
agents    skipped  none was named
next: run `ktx status` to see what works
");
}
