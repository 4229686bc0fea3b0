//! `ktx scan` and `ktx ingest` without a model.

use serde_json::{Value, json};

use crate::support::{SHOP, compare_text, database, git, json, project, tree, unscanned, write};

#[test]
fn the_first_scan_is_one_commit_and_the_second_is_none() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "scan", @r"
exit 0
warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
  joins: 2 accepted, 0 to review
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 3 tables, 11 columns
warehouse · profile (3)
warehouse · relationships
warehouse · 2 joins, 0 to review
warehouse · artifacts
");
    let shard = sandbox
        .read("semantic-layer/warehouse/_schema/public.yaml")
        .unwrap();
    compare_text(
        "the shard",
        &shard,
        r"
tables:
  customers:
    table: customers
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
      - name: region_id
        type: number
        nullable: false
      - name: name
        type: string
        nullable: false
      - name: test
        type: number
        nullable: false
    joins:
      - to: regions
        'on': customers.region_id = regions.id
        relationship: many_to_one
        source: formal
        coverage: 1.0
      - to: orders
        'on': customers.id = orders.customer_id
        relationship: one_to_many
        source: inferred
  orders:
    table: orders
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
      - name: customer_id
        type: number
        nullable: false
      - name: status
        type: string
        nullable: false
      - name: amount
        type: number
        nullable: false
      - name: ordered_at
        type: time
        nullable: false
    joins:
      - to: customers
        'on': orders.customer_id = customers.id
        relationship: many_to_one
        source: inferred
  regions:
    table: regions
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
      - name: name
        type: string
        nullable: false
    joins:
      - to: customers
        'on': regions.id = customers.region_id
        relationship: one_to_many
        source: formal
",
    );
    let before = tree(&sandbox);
    check!(&sandbox, "scan", @r"
    exit 0
    warehouse: 0 added, 0 modified, 0 deleted, 3 unchanged tables
      3 tables keep the values of an earlier scan; `ktx scan --full` reads all tables
      joins: 2 accepted, 0 to review
      nothing changed
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 3 tables, 11 columns
    ");
    assert_eq!(tree(&sandbox), before);
    compare_text(
        "the log",
        &git(&sandbox, &["log", "--format=%an <%ae>%n%B"]),
        r"
Ada Test <ada@example.com>
ktx scan: warehouse

3 tables added, 0 modified, 0 deleted, 0 unchanged

Ada Test <ada@example.com>
the shop

Ada Test <ada@example.com>
Initialize ktx project: work

",
    );
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn the_report_is_json() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "scan --json", @r#"
    exit 0
    {
      "kind": "list",
      "data": {
        "items": [
          {
            "connectionId": "warehouse",
            "driver": "sqlite",
            "status": "done",
            "syncId": "[SYNC]",
            "commit": "[COMMIT]",
            "changedFiles": 10,
            "skippedFiles": 0,
            "keptTables": 0,
            "profileStatements": 3,
            "validationStatements": 0,
            "modelCalls": 0,
            "report": {
              "connectionId": "warehouse",
              "driver": "sqlite",
              "syncId": "[SYNC]",
              "runId": "[UUID]",
              "trigger": "cli",
              "mode": "relationships",
              "dryRun": false,
              "artifactPaths": {
                "rawSourcesDir": "raw-sources/warehouse/live-database",
                "reportPath": ".ktx/state/scans/warehouse/scan-report.json",
                "manifestShards": [
                  "semantic-layer/warehouse/_schema/public.yaml"
                ],
                "enrichmentArtifacts": [
                  "raw-sources/warehouse/live-database/enrichment/profiles",
                  "raw-sources/warehouse/live-database/enrichment/relationships"
                ]
              },
              "diffSummary": {
                "tablesAdded": 3,
                "tablesModified": 0,
                "tablesDeleted": 0,
                "tablesUnchanged": 0,
                "columnsAdded": 11,
                "columnsModified": 0,
                "columnsDeleted": 0
              },
              "manifestShardsWritten": 1,
              "structuralSyncStats": {
                "tablesCreated": 3,
                "tablesUpdated": 0,
                "tablesDeleted": 0,
                "columnsCreated": 11,
                "columnsUpdated": 0,
                "columnsDeleted": 0
              },
              "enrichment": {
                "dataDictionary": "completed",
                "tableDescriptions": "skipped",
                "columnDescriptions": "skipped",
                "embeddings": "skipped",
                "deterministicRelationships": "completed",
                "llmRelationshipValidation": "skipped",
                "statisticalValidation": "completed"
              },
              "capabilityGaps": [],
              "warnings": [],
              "relationships": {
                "accepted": 2,
                "review": 0,
                "rejected": 0,
                "skipped": 0
              },
              "enrichmentState": {
                "resumedStages": [],
                "completedStages": [
                  "profile",
                  "relationships"
                ],
                "failedStages": []
              },
              "createdAt": "[TIME]"
            }
          }
        ]
      },
      "meta": {
        "command": "scan"
      }
    }
    "#);
}

fn cost(answer: &Value) -> Value {
    let item = answer.pointer("/data/items/0").unwrap();
    json!([
        item["changedFiles"],
        item["profileStatements"],
        item["modelCalls"],
        item["report"]["diffSummary"]["tablesAdded"],
        item["report"]["diffSummary"]["tablesModified"],
        item["report"]["diffSummary"]["tablesUnchanged"],
    ])
}

#[test]
fn a_changed_table_costs_only_itself() {
    let sandbox = unscanned(SHOP);
    let first = cost(&json(&sandbox, "scan --json"));
    let second = cost(&json(&sandbox, "scan --json"));
    database(
        &sandbox,
        "warehouse.db",
        "ALTER TABLE regions ADD COLUMN code TEXT",
    );
    let third = cost(&json(&sandbox, "scan --json"));
    database(
        &sandbox,
        "warehouse.db",
        "CREATE TABLE refunds (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id))",
    );
    let fourth = cost(&json(&sandbox, "scan --json"));
    assert_eq!(
        json!([first, second, third, fourth]),
        json!([
            [10, 3, 0, 3, 0, 0],
            [0, 0, 0, 0, 0, 3],
            [3, 1, 0, 0, 1, 2],
            [4, 1, 0, 1, 0, 3],
        ])
    );
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn a_dry_run_and_a_structural_scan_do_less() {
    let sandbox = unscanned(SHOP);
    let before = tree(&sandbox);
    check!(&sandbox, "scan --dry-run", @r"
exit 0
warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
  joins: 2 accepted, 0 to review
  + table customers
  + table orders
  + table regions
  dry run: nothing was written
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 3 tables, 11 columns
warehouse · profile (3)
warehouse · relationships
warehouse · 2 joins, 0 to review
warehouse · artifacts
");
    assert_eq!(tree(&sandbox), before);
    check!(&sandbox, "scan --structural warehouse", @r"
exit 0
warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
  joins: 1 accepted, 0 to review
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 3 tables, 11 columns
warehouse · artifacts
");
}

#[test]
fn a_file_that_a_person_changed_is_left_alone() {
    let sandbox = unscanned(SHOP);
    assert_eq!(crate::support::run(&sandbox, "scan").code, Some(0));
    let path = "semantic-layer/warehouse/_schema/public.yaml";
    let mine = format!("{}# mine\n", sandbox.read(path).unwrap());
    write(&sandbox, path, &mine);
    database(
        &sandbox,
        "warehouse.db",
        "ALTER TABLE regions ADD COLUMN extra TEXT",
    );
    check!(&sandbox, "scan", @r"
    exit 0
    warehouse: 0 added, 1 modified, 0 deleted, 2 unchanged tables
      2 tables keep the values of an earlier scan; `ktx scan --full` reads all tables
      joins: 2 accepted, 0 to review
      commit: [COMMIT]
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 3 tables, 12 columns
    warehouse · profile (3)
    warehouse · relationships
    warehouse · 2 joins, 0 to review
    warehouse · artifacts
    warning: `semantic-layer/warehouse/_schema/public.yaml` was left as it is: you have changed it; commit or revert your change, then run `ktx scan` again
    ");
    assert_eq!(sandbox.read(path).unwrap(), mine);
    git(&sandbox, &["add", path]);
    database(
        &sandbox,
        "warehouse.db",
        "ALTER TABLE regions ADD COLUMN another TEXT",
    );
    assert_eq!(
        json(&sandbox, "scan --json")["data"]["items"][0]["skipped"],
        json!([{
            "path": path,
            "reason": "you have staged a change to it",
            "hint": "commit or revert your change, then run `ktx scan` again",
        }])
    );
}

/// Committed text of the user is merged.
#[test]
fn a_text_that_a_person_has_not_committed_is_not_in_the_commit() {
    let sandbox = unscanned(SHOP);
    assert_eq!(crate::support::run(&sandbox, "scan").code, Some(0));
    let path = "semantic-layer/warehouse/_schema/public.yaml";
    let with = |text: &str| {
        let shard = sandbox.read(path).unwrap();
        let described = format!("table: orders\n    descriptions:\n      user: {text}\n");
        shard.replacen("table: orders\n", &described, 1)
    };
    write(&sandbox, path, &with("known"));
    git(&sandbox, &["commit", "-qam", "mine"]);
    let committed = sandbox.read(path).unwrap();
    let private = committed.replace("user: known", "user: private");
    write(&sandbox, path, &private);
    write(
        &sandbox,
        "semantic-layer/warehouse/_schema/mine.yaml",
        "tables: {}\nnote: private\n",
    );
    database(
        &sandbox,
        "warehouse.db",
        "ALTER TABLE regions ADD COLUMN extra TEXT",
    );
    assert_eq!(crate::support::run(&sandbox, "scan").code, Some(0));
    let joins = "    joins:\n      - to: customers\n        'on': regions.id";
    let extra = format!("      - name: extra\n        type: string\n{joins}");
    assert_eq!(
        git(&sandbox, &["show", &format!("HEAD:{path}")]),
        committed.replace(joins, &extra)
    );
    assert_eq!(sandbox.read(path).unwrap(), private);
    assert_eq!(
        git(&sandbox, &["status", "--porcelain"]),
        " M semantic-layer/warehouse/_schema/public.yaml\n?? semantic-layer/warehouse/_schema/mine.yaml\n"
    );
}

#[test]
fn a_connection_that_fails_makes_the_scan_partial() {
    let sandbox = unscanned(SHOP);
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  gone: { driver: sqlite, path: gone.db }
  warehouse: { driver: sqlite, path: warehouse.db }
",
    );
    check!(&sandbox, "scan", @r"
exit 7
gone: failed
warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
  joins: 2 accepted, 0 to review
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
gone · structure
warehouse · structure
warehouse · 3 tables, 11 columns
warehouse · profile (3)
warehouse · relationships
warehouse · 2 joins, 0 to review
warehouse · artifacts
error: could not read the structure of `gone`
  caused by: the database file `[SANDBOX]/work/gone.db` does not exist

hint: correct `path`; a relative path starts at the project folder
");
    check!(&sandbox, "scan gone", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
gone · structure
error: could not read the structure of `gone`
  caused by: the database file `[SANDBOX]/work/gone.db` does not exist

hint: correct `path`; a relative path starts at the project folder
");
    check!(&sandbox, "scan gone --json", @r#"
exit 4
{
  "error": {
    "code": "connection_not_found",
    "message": "could not read the structure of `gone`",
    "hint": "correct `path`; a relative path starts at the project folder",
    "causes": [
      "the database file `[SANDBOX]/work/gone.db` does not exist"
    ]
  }
}
"#);
    let partial = crate::support::run(&sandbox, "scan --json");
    let answer: Value = serde_json::from_str(&partial.stdout).unwrap();
    let states = json!([
        answer["data"]["items"][0]["status"],
        answer["data"]["items"][0]["error"]["code"],
        answer["data"]["items"][1]["status"],
    ]);
    assert_eq!(
        (partial.code, states),
        (Some(7), json!(["failed", "connection_not_found", "done"]))
    );
}

#[test]
fn a_scan_needs_a_warehouse() {
    check!(&project(), "scan", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: the project has no warehouse connection

hint: add a connection to `ktx.yaml`, for example with `ktx setup`
");
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "scan wharehouse --json", @r#"
exit 3
{
  "error": {
    "code": "unknown_connection",
    "message": "there is no connection `wharehouse`",
    "hint": "use one of `warehouse`"
  }
}
"#);
}

#[test]
fn ingest_without_a_model_says_what_to_do() {
    let sandbox = unscanned(SHOP);
    let before = tree(&sandbox);
    check!(&sandbox, "ingest", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: ingest needs a model and `llm.provider.backend` is `none`

hint: set `llm.provider.backend: claude-code` to use your own local Claude Code session
hint: run `ktx scan` to read structure and joins without a model
");
    check!(&sandbox, "ingest --json", @r#"
exit 3
{
  "error": {
    "code": "model_required",
    "message": "ingest needs a model and `llm.provider.backend` is `none`",
    "hint": "set `llm.provider.backend: claude-code` to use your own local Claude Code session",
    "hints": [
      "set `llm.provider.backend: claude-code` to use your own local Claude Code session",
      "run `ktx scan` to read structure and joins without a model"
    ]
  }
}
"#);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn an_estimate_reads_no_value_and_writes_nothing() {
    let sandbox = unscanned(SHOP);
    let before = tree(&sandbox);
    let answer = json(&sandbox, "scan --estimate --json");
    let item = answer.pointer("/data/items/0").unwrap();
    assert_eq!(
        json!([
            item["connectionId"],
            item["status"],
            item["tables"],
            item["columns"],
            item["tablesReused"]
        ]),
        json!(["warehouse", "estimated", 3, 11, 0])
    );
    assert_eq!(tree(&sandbox), before);
}

/// Exits with 7; the next scan reads only the rest.
#[test]
fn a_scan_that_stops_goes_on_where_it_stopped() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "scan --max-queries 2", @r"
exit 7
warehouse: 3 added, 0 modified, 0 deleted, 0 unchanged tables
  joins: 1 accepted, 0 to review
  stopped: 2 statements were allowed; 1 of 3 tables have no samples, 0 joins are not checked; `ktx scan` continues there
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 3 tables, 11 columns
warehouse · profile (3)
warehouse · artifacts
");
    let second = json(&sandbox, "scan --json");
    let item = second.pointer("/data/items/0").unwrap();
    assert_eq!(
        json!([
            item["status"],
            item["profileStatements"],
            item["report"]["relationships"]["accepted"]
        ]),
        json!(["done", 1, 2])
    );
}

#[test]
fn a_file_of_queries_must_be_there() {
    let sandbox = unscanned(SHOP);
    let config = sandbox.read("ktx.yaml").unwrap();
    let with = config.replace(
        "driver: sqlite",
        "driver: sqlite\n    context: {queryHistory: {file: queries.sql}}",
    );
    write(&sandbox, "ktx.yaml", &with);
    let missing = crate::support::run(&sandbox, "scan");
    assert_eq!(missing.code, Some(3), "{missing}");
    write(
        &sandbox,
        "queries.sql",
        "SELECT 1 FROM orders o JOIN customers c ON o.customer_id = c.id;",
    );
    assert_eq!(crate::support::run(&sandbox, "scan").code, Some(0));
}

#[test]
fn a_dry_run_names_what_would_change() {
    let sandbox = crate::support::shop();
    database(
        &sandbox,
        "warehouse.db",
        "ALTER TABLE orders DROP COLUMN amount; ALTER TABLE orders ADD COLUMN channel TEXT;
         CREATE TABLE returns (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id));",
    );
    let before = tree(&sandbox);
    check!(&sandbox, "scan --dry-run", @r"
    exit 0
    warehouse: 1 added, 1 modified, 0 deleted, 2 unchanged tables
      2 tables keep the values of an earlier scan; `ktx scan --full` reads all tables
      joins: 3 accepted, 0 to review
      ~ table orders: - column amount, + column channel
      + table returns
      + join orders -> returns
      ~ measure orders.revenue (can no longer be computed)
      dry run: nothing was written
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 4 tables, 13 columns
    warehouse · profile (4)
    warehouse · relationships
    warehouse · 3 joins, 0 to review
    warehouse · artifacts
    ");
    assert_eq!(tree(&sandbox), before);
    assert_eq!(
        json(&sandbox, "scan --dry-run --json")["data"]["items"][0]["planned"],
        json!({
            "tables": [
                { "table": "orders", "change": "modified" },
                { "table": "returns", "change": "added" },
            ],
            "columns": [
                { "table": "orders", "column": "amount", "change": "deleted" },
                { "table": "orders", "column": "channel", "change": "added" },
            ],
            "joins": [{ "source": "orders", "to": "returns", "change": "added" }],
            "measures": [{
                "source": "orders", "measure": "revenue", "change": "modified",
                "effect": "numbers", "computable": false,
            }],
        })
    );
}
