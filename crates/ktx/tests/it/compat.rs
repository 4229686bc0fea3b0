//! Every command works with a project of KTX 0.12.

use std::path::Path;

use ktx_test_support::sandbox::Sandbox;

use crate::support::{check, database, git, run, sandbox, tree};

fn older() -> Sandbox {
    let sandbox = sandbox();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/projects/ktx-0.12");
    sandbox.copy(&fixture, ".").unwrap();
    let sql = sandbox.read("warehouse.sql").unwrap();
    database(&sandbox, "warehouse.db", &sql);
    sandbox
}

#[test]
fn an_older_project_is_read_as_it_is() {
    let sandbox = older();
    let before = tree(&sandbox);
    check!(&sandbox, "sl", @r"
exit 0
warehouse	customers	columns=4	measures=0	joins=1
warehouse	monthly_revenue	columns=2	measures=1	joins=0
warehouse	orders	columns=6	measures=2	joins=1
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki --user-id ada", @r"
exit 0
GLOBAL	refunded-orders	Refunded orders are left out of revenue
USER	revenue	Ada looks at revenue by month
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "wiki refunded", @"
    exit 0
    score=1	GLOBAL	refunded-orders	Refunded orders are left out of revenue
    score=0.707	GLOBAL	revenue	What counts as revenue
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "sl validate", @r"
exit 0
warehouse: 3 sources are valid
--- stderr
Project: [SANDBOX]/work
warning: semantic-layer/warehouse/: disconnected_components: the sources form 2 groups without a join between them, such as those of `customers`, `monthly_revenue`
");
    check!(&sandbox, "status --fast", @r"
exit 0
Project      [SANDBOX]/work
Verdict      ready (everything works that needs no model)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Connections  ✓ warehouse (sqlite) · configured
Can          query yes · scan yes · search yes · serve yes · ingest no
Local data   warehouse: 2 source files, 1 manifest shard
Not seen     git (`ktx status`) · local state (`ktx status`) · semantic sources (`ktx status`)
Next         attach an agent with `ktx mcp stdio`, or set `llm.provider.backend` for descriptions
");
    check!(&sandbox, "sl query --measure orders.net_revenue --dimension customers.segment --format table --execute", @r"
exit 0
segment   net_revenue
NULL      NULL
business  420.5
private   75
--- stderr
Project: [SANDBOX]/work
note: rows of `orders` whose `customer_id` has no match in `customers` count under NULL
");
    check!(&sandbox, "sl query --measure monthly_revenue.revenue_total --dimension monthly_revenue.month --format csv --execute", @r"
exit 0
month,revenue_total
2025-04,120.5
2025-05,75
2025-06,300
--- stderr
Project: [SANDBOX]/work
");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn an_older_project_is_scanned_into_its_own_history() {
    let sandbox = older();
    git(&sandbox, &["init", "--quiet", "--initial-branch", "main"]);
    std::fs::write(sandbox.work().join(".git/info/exclude"), "*.db\n").unwrap();
    crate::support::commit(&sandbox, "as it was");
    check!(&sandbox, "scan", @r"
exit 0
warehouse: 0 added, 2 modified, 0 deleted, 0 unchanged tables
  joins: 1 accepted, 0 to review
  commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 2 tables, 9 columns
warehouse · profile (2)
warehouse · relationships
warehouse · 1 join, 0 to review
warehouse · artifacts
");
    check!(&sandbox, "scan", @r"
    exit 0
    warehouse: 0 added, 0 modified, 0 deleted, 2 unchanged tables
      2 tables keep the values of an earlier scan; `ktx scan --full` reads all tables
      joins: 1 accepted, 0 to review
      nothing changed
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 2 tables, 9 columns
    ");
    // Manifests of KTX 0.12 are equivalent; new is only what was counted for the declared key.
    insta::assert_snapshot!(
        git(&sandbox, &["diff", "--unified=1", "HEAD~1", "--", "semantic-layer"]),
        @"
    diff --git a/semantic-layer/warehouse/_schema/public.yaml b/semantic-layer/warehouse/_schema/public.yaml
    index a77fbe1..27174e7 100644
    --- a/semantic-layer/warehouse/_schema/public.yaml
    +++ b/semantic-layer/warehouse/_schema/public.yaml
    @@ -51 +51,2 @@ tables:
             source: formal
    +        coverage: 1.0
    "
    );
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn commands_of_the_older_version_are_answered() {
    let sandbox = older();
    sandbox.write(".ktx/mcp.json", "{}").unwrap();
    let stopped = r"
exit 0
stopped: no server runs; `ktx mcp start` starts one, and each agent can start its own `ktx mcp stdio`
--- stderr
note: `.ktx/mcp.json` belongs to a server of KTX 0.12; if it still runs, stop it with that version
";
    check(&sandbox, "mcp status", stopped);
    check(&sandbox, "mcp", stopped);
    check!(&sandbox, "admin runtime install --feature core --yes", @r"
exit 0
ktx is one program: there is no separate runtime to install, start or stop
");
    assert_eq!(
        crate::support::json(&sandbox, "admin runtime status --json")["kind"],
        serde_json::json!("ready")
    );
}

/// Every command keeps unknown fields and rewrites nothing.
#[test]
fn a_project_with_every_key_is_opened_by_every_command() {
    let sandbox = sandbox();
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/projects/ktx-0.12-full");
    sandbox.copy(&fixture, ".").unwrap();
    let sql = sandbox.read("warehouse.sql").unwrap();
    database(&sandbox, "warehouse.db", &sql);
    git(&sandbox, &["init", "--quiet", "--initial-branch", "main"]);
    crate::support::commit(&sandbox, "as it was");
    let before = tree(&sandbox);
    let unknown = [
        "warning: ktx.yaml:101:3: Unsupported ingest.tomorrow: unknown field (ignored)",
        "warning: ktx.yaml:120:1: Unsupported memory: unknown field (ignored)",
    ];
    let table = [
        ("status --validate", 0),
        ("status --fast", 0),
        ("status", 0),
        ("connection", 0),
        ("connection show warehouse", 0),
        ("connection show metabase", 0),
        ("connection test warehouse", 0),
        ("connection test notion", 4),
        ("sl", 0),
        ("sl revenue", 0),
        ("sl read orders", 0),
        ("sl read customers", 0),
        ("sl read by_month", 0),
        ("sl validate", 0),
        ("sl graph --connection-id warehouse", 0),
        ("sl diff", 0),
        ("sl fmt --check --connection-id warehouse", 3),
        ("sl test --connection-id warehouse", 0),
        ("sl export --connection-id warehouse", 0),
        (
            "sl query --connection-id warehouse --measure orders.revenue --dimension customers.segment --execute",
            0,
        ),
        ("sql -c warehouse 'select count(*) from orders'", 0),
        ("wiki", 0),
        ("wiki --user-id ada", 0),
        ("wiki revenue", 0),
        ("wiki read revenue", 0),
        ("usage", 0),
        ("llm models", 0),
        ("scan warehouse --dry-run", 0),
        ("scan relationships warehouse", 1),
        ("ingest warehouse", 3),
    ];
    let mut found = Vec::new();
    for (line, _) in table {
        let printed = run(&sandbox, line);
        let silent = unknown
            .iter()
            .filter(|text| !printed.stderr.contains(*text));
        let silent: Vec<_> = silent.collect();
        // Status words configuration errors differently.
        if !line.starts_with("status") || line.contains("--validate") {
            assert!(
                silent.is_empty(),
                "`{line}` does not say {silent:?}: {printed}"
            );
        }
        found.push((line, printed.code));
    }
    assert_eq!(found, table.map(|(line, exit)| (line, Some(exit))));
    assert_eq!(tree(&sandbox), before);
    check!(&sandbox, "sl graph", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
warning: ktx.yaml:101:3: Unsupported ingest.tomorrow: unknown field (ignored)
warning: ktx.yaml:120:1: Unsupported memory: unknown field (ignored)
error: the project has 7 warehouses: say which with `--connection-id`

hint: use one of `warehouse`, `pg`, `my`, `ms`, `ch`, `sf`, `bq`
");
    assert_eq!(
        run(&sandbox, "connection remove notion --yes").code,
        Some(0)
    );
    let edited = git(&sandbox, &["diff", "--numstat"]);
    assert_eq!(edited, "0\t1\tktx.yaml\n");
}

#[test]
fn the_scripted_setup_of_the_older_version_is_taken() {
    let sandbox = older();
    let before = tree(&sandbox);
    check!(&sandbox, "setup --no-input --yes --skip-llm --skip-embeddings --skip-databases --disable-query-history --skip-sources --skip-agents", @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
agents    skipped  none was named
next: run `ktx status` to see what works
");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn the_index_is_brought_up_to_date() {
    let sandbox = older();
    let before = tree(&sandbox);
    let scopes = |line: &str| {
        let answer = crate::support::json(&sandbox, line);
        let data = &answer["data"];
        assert_eq!(answer["kind"], "reindex");
        assert_eq!(data["dbPath"], "[SANDBOX]/work/.ktx/state/search.sqlite");
        assert!(sandbox.work().join(".ktx/state/search.sqlite").is_file());
        let scopes = data["scopes"].as_array().unwrap().iter().map(|scope| {
            let number = |key: &str| scope[key].as_u64().unwrap();
            (
                scope["label"].as_str().unwrap().to_owned(),
                number("scanned"),
                number("updated"),
                number("deleted"),
            )
        });
        scopes.collect::<Vec<_>>()
    };
    let wiki = |pages, updated, deleted| ("wiki global".to_owned(), pages, updated, deleted);
    let ada = |updated| ("wiki user ada".to_owned(), 1, updated, 0);
    let first = scopes("admin reindex --json");
    assert_eq!(first[..2], [wiki(2, 2, 0), ada(1)]);
    let (label, sources, entries, deleted) = first[2].clone();
    assert_eq!((label.as_str(), sources, deleted), ("sl warehouse", 3, 0));
    assert!(entries > sources, "{first:?}");
    let same = scopes("admin reindex --json");
    assert_eq!(same[..2], [wiki(2, 0, 0), ada(0)]);
    assert_eq!(same[2].2, 0);
    std::fs::remove_file(sandbox.work().join("wiki/global/refunded-orders.md")).unwrap();
    sandbox
        .write("wiki/global/new.md", "---\nsummary: New\n---\nNew.\n")
        .unwrap();
    assert_eq!(scopes("admin reindex --json")[0], wiki(2, 1, 1));
    assert_eq!(
        scopes("admin reindex --force --json"),
        [
            wiki(2, 2, 0),
            ada(1),
            ("sl warehouse".to_owned(), 3, entries, 0)
        ]
    );
    assert!(
        run(&sandbox, "wiki new")
            .stdout
            .contains("GLOBAL\tnew\tNew")
    );
    check!(&sandbox, "admin reindex", @r"
exit 0
wiki global	scanned=2	updated=0	deleted=0
wiki user ada	scanned=1	updated=0	deleted=0
sl warehouse	scanned=3	updated=0	deleted=0
--- stderr
Project: [SANDBOX]/work
");
    let mut after = tree(&sandbox);
    after.remove("wiki/global/new.md");
    let mut before = before;
    before.remove("wiki/global/refunded-orders.md");
    assert_eq!(after, before);
}
