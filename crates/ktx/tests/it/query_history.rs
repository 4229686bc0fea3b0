//! Warehouses without a query history.

use serde_json::{Value, json};

use crate::claude::{CONFIG, REGIONS, describes, play};
use crate::support::{commit, json as json_of, run, unscanned, write};

const ENABLED: &str = "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
    context: {queryHistory: {enabled: true}}
";

/// Reported only on request.
#[test]
fn a_record_that_is_not_there_is_a_step_that_was_skipped() {
    let mut sandbox = unscanned(REGIONS);
    write(&sandbox, "ktx.yaml", CONFIG);
    commit(&sandbox, "claude-code");
    play(&mut sandbox, describes());
    let printed = run(&sandbox, "ingest --query-history --json");
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!(
        (
            printed.code,
            &answer["plan"]["targets"][0]["steps"],
            &answer["results"][0]["steps"]
        ),
        (
            Some(7),
            &json!(["database-schema", "query-history"]),
            &json!([
                { "operation": "database-schema", "status": "done" },
                {
                    "operation": "query-history",
                    "status": "skipped",
                    "detail": "this connection keeps no record of queries that ktx can read",
                },
            ])
        )
    );
    let plain = json_of(&sandbox, "scan --no-query-history --json");
    assert!(!plain.to_string().contains("query_history"), "{plain}");
    write(
        &sandbox,
        "ktx.yaml",
        &CONFIG.replace(CONFIG.split("llm:").next().unwrap(), ENABLED),
    );
    check!(&sandbox, "ingest", @r"
exit 0
Source	Database schema	Query history	Descriptions
warehouse	done	skipped	done
warehouse: nothing changed
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 1 table, 2 columns
warehouse · profile (1)
warehouse · descriptions (1)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
warning: this connection keeps no record of queries that ktx can read
1 model messages, 137 tokens in, 20 out, list price unknown
");
    check!(&sandbox, "ingest --query-history --no-query-history", @r"
exit 2
--- stderr
error: the argument '--query-history' cannot be used with '--no-query-history'

Usage: ktx ingest --query-history [CONNECTION_ID]

For more information, try '--help'.
");
    check!(&sandbox, "scan --query-history relationships", @r"
    exit 2
    --- stderr
    error: `--structural`, `--full`, `--dry-run`, `--estimate`, `--max-…`, `--query-history…` and `--wait` before a subcommand are options of the scan itself
    ");
}

#[test]
fn only_warehouses_with_a_record_can_be_asked_for_it() {
    let sandbox = unscanned(REGIONS);
    check!(&sandbox, "setup --skip-llm --skip-agents --enable-query-history", @r"
exit 2
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  ready    warehouse: reached
--- stderr
error: `warehouse` is sqlite, which keeps no record of queries that ktx can read

hint: leave `--enable-query-history` out; `context.queryHistory.file` names queries of your own
");
    check!(&sandbox, "setup --skip-llm --skip-agents --enable-query-history --disable-query-history", @r"
exit 2
--- stderr
error: the argument '--enable-query-history' cannot be used with '--disable-query-history'

Usage: ktx setup --skip-llm --skip-agents --enable-query-history

For more information, try '--help'.
");
    check!(&sandbox, "setup --skip-llm --skip-agents --query-history-window-days 3", @r"
exit 2
--- stderr
error: the following required arguments were not provided:
  --enable-query-history

Usage: ktx setup --enable-query-history --skip-llm --skip-agents --query-history-window-days <N>

For more information, try '--help'.
");
    check!(&sandbox, "setup --skip-llm --skip-agents --disable-query-history", @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  ready    warehouse: reached
agents    skipped  none was named
next: run `ktx status` to see what works
");
    write(&sandbox, "ktx.yaml", ENABLED);
    check!(&sandbox, "connection test warehouse", @r"
exit 0
Connection test passed: warehouse
Driver: sqlite
Status: ok
Server: SQLite [VERSION]
Latency: [DURATION]
Role: read-only
Query history: this connection keeps no record of queries that ktx can read
--- stderr
Project: [SANDBOX]/work
hint: name a file of queries with `context.queryHistory.file`
");
    check!(&sandbox, "status --fast", @r"
exit 0
Project      [SANDBOX]/work
Verdict      ready (everything works that needs no model)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Connections  ✓ warehouse (sqlite) · configured
History      ✗ warehouse · sqlite keeps no record of queries that ktx can read
             hint: set `connections.warehouse.context.queryHistory.enabled` to false, or name a file of queries with `connections.warehouse.context.queryHistory.file`
Can          query yes · scan yes · search yes · serve yes · ingest no
Local data   warehouse: 0 source files, 0 manifest shards
Not seen     git (`ktx status`) · local state (`ktx status`) · semantic sources (`ktx status`)
Next         run `ktx scan`, or set `llm.provider.backend` for descriptions
");
    let status = json_of(&sandbox, "status --fast --json");
    assert_eq!(
        status["queryHistory"],
        json!([{
            "connection": "warehouse", "driver": "sqlite", "dialect": "sqlite", "status": "fail",
            "detail": "sqlite keeps no record of queries that ktx can read",
            "fix": "set `connections.warehouse.context.queryHistory.enabled` to false, or name a file of queries with `connections.warehouse.context.queryHistory.file`",
        }])
    );
}
