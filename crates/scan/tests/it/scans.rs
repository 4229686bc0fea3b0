//! Tests whole scans.

use std::sync::Arc;

use ktx_project_store::Change;
use ktx_scan::{
    DecidedSide, Decision, Decisions, DiffSummary, Reuse, ScanError, ScanEvent, ScanMode,
    ScanOutcome, ScanStage, Verdict, Writing, decisions_path, scan,
};
use ktx_vocabulary::ConnectionId;
use serde_json::json;

use crate::describing::describing;
use crate::memory::{Listener, World};
use crate::sqlite::{Keys, Sqlite};

pub(crate) const SHOP: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, status TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), day DATE, total REAL);
CREATE TABLE lines (order_id INTEGER REFERENCES orders (id), line_no INTEGER, quantity INTEGER, PRIMARY KEY (order_id, line_no));
CREATE TABLE returns (id INTEGER PRIMARY KEY, order_id INTEGER, line_no INTEGER,
  FOREIGN KEY (order_id, line_no) REFERENCES lines (order_id, line_no));
INSERT INTO customers VALUES (1,'Ada','gold'),(2,'Ben','silver'),(3,'Cleo','gold'),(4,'Dan','basic');
INSERT INTO orders VALUES (1,1,'2024-01-01',10.5),(2,2,'2024-01-02',20),(3,1,'2024-01-03',5),(4,4,'2024-02-01',7),(5,3,NULL,1);
INSERT INTO lines VALUES (1,1,2),(1,2,1),(2,1,5),(3,1,1),(4,1,3),(4,2,2),(5,1,1);
INSERT INTO returns VALUES (1,1,2),(2,4,1),(3,2,1);
";

const FOLDER: &str = "raw-sources/shop/live-database";
pub(crate) const SHARD: &str = "semantic-layer/shop/_schema/public.yaml";

pub(crate) fn world(keys: Keys) -> (World, Arc<Sqlite>) {
    let sqlite = Arc::new(Sqlite::new(keys, SHOP));
    (World::new(sqlite.clone()), sqlite)
}

pub(crate) async fn run(world: &World, mode: ScanMode) -> ScanOutcome {
    let outcome = scan(world.request(mode)).await.expect("a scan");
    world.project.publish(&outcome);
    outcome
}

fn paths(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

#[tokio::test]
async fn a_structural_scan_writes_one_file_a_table_and_the_shard() {
    let (world, sqlite) = world(Keys::Shown);
    let outcome = run(&world, ScanMode::Structural).await;
    assert_eq!(sqlite.count(), 0);
    let names = [
        "connection.json",
        "tables/_._.Y3VzdG9tZXJz.json",
        "tables/_._.b3JkZXJz.json",
        "tables/_._.bGluZXM.json",
        "tables/_._.cmV0dXJucw.json",
    ];
    let mut expected: Vec<String> = names
        .iter()
        .map(|name| format!("{FOLDER}/{name}"))
        .collect();
    expected.push(SHARD.to_owned());
    assert_eq!(world.project.paths(), expected);
    assert_eq!(
        world.project.json("connection.json"),
        json!({"connectionId": "shop", "driver": "sqlite", "scope": {"schemas": []},
               "metadata": {"dialect": "sqlite"}})
    );
    assert_eq!(
        serde_json::to_value(&outcome.report).expect("JSON"),
        world.project.json("scan-report.json"),
    );
    assert_eq!(
        outcome.report.diff_summary,
        DiffSummary {
            tables_added: 4,
            columns_added: 13,
            ..DiffSummary::default()
        }
    );
    assert_eq!(world.project.text(SHARD), STRUCTURAL_SHARD);
}

const STRUCTURAL_SHARD: &str = "tables:
  customers:
    table: customers
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
      - name: name
        type: string
        nullable: false
      - name: status
        type: string
    joins:
      - to: orders
        'on': customers.id = orders.customer_id
        relationship: one_to_many
        source: formal
  lines:
    table: lines
    columns:
      - name: order_id
        type: number
        pk: true
        nullable: false
      - name: line_no
        type: number
        pk: true
        nullable: false
      - name: quantity
        type: number
    joins:
      - to: orders
        'on': lines.order_id = orders.id
        relationship: many_to_one
        source: formal
      - to: returns
        'on': lines.order_id = returns.order_id AND lines.line_no = returns.line_no
        relationship: one_to_many
        source: formal
  orders:
    table: orders
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
      - name: customer_id
        type: number
      - name: day
        type: time
      - name: total
        type: number
    joins:
      - to: customers
        'on': orders.customer_id = customers.id
        relationship: many_to_one
        source: formal
      - to: lines
        'on': orders.id = lines.order_id
        relationship: one_to_many
        source: formal
  returns:
    table: returns
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
      - name: order_id
        type: number
      - name: line_no
        type: number
    joins:
      - to: lines
        'on': returns.order_id = lines.order_id AND returns.line_no = lines.line_no
        relationship: many_to_one
        source: formal
";

#[tokio::test]
async fn a_second_scan_of_the_same_warehouse_changes_nothing() {
    for keys in [Keys::Shown, Keys::Hidden] {
        let (mut world, sqlite) = world(keys);
        let runtime = describing();
        world.runtime = Some(runtime.clone());
        run(&world, ScanMode::Enriched).await;
        let (asked, called) = (sqlite.count(), runtime.prompts().len());
        assert!(asked >= 4 && called >= 4);
        for mode in [
            ScanMode::Enriched,
            ScanMode::Relationships,
            ScanMode::Structural,
        ] {
            let mut request = world.request(mode);
            request.now = "2026-02-03T10:00:00Z".parse().expect("a time");
            let outcome = scan(request).await.expect("a scan");
            assert_eq!(outcome.changes, Vec::new(), "{mode:?}");
            assert_eq!(
                (sqlite.count(), runtime.prompts().len()),
                (asked, called),
                "{mode:?}"
            );
            assert_eq!(
                (
                    outcome.profile_statements,
                    outcome.validation_statements,
                    outcome.model_calls
                ),
                (0, 0, 0)
            );
        }
        let mut request = world.request(ScanMode::Relationships);
        request.reuse = Reuse::Nothing;
        assert_eq!(scan(request).await.expect("a scan").changes, Vec::new());
        assert!(sqlite.count() > asked);
    }
}

#[tokio::test]
async fn a_changed_table_alone_is_read_again() {
    let (mut world, sqlite) = world(Keys::Shown);
    let runtime = describing();
    world.runtime = Some(runtime.clone());
    run(&world, ScanMode::Enriched).await;
    let (asked, called) = (sqlite.count(), runtime.prompts().len());
    sqlite.execute("ALTER TABLE orders ADD COLUMN channel TEXT; CREATE TABLE extra (id INTEGER); DROP TABLE returns;");
    let mut request = world.request(ScanMode::Enriched);
    request.now = "2026-02-03T10:00:00Z".parse().expect("a time");
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    assert_eq!(
        outcome.report.diff_summary,
        DiffSummary {
            tables_added: 1,
            tables_modified: 1,
            tables_deleted: 1,
            tables_unchanged: 2,
            columns_added: 2,
            columns_modified: 0,
            columns_deleted: 3
        }
    );
    assert_eq!(
        (sqlite.count() - asked, runtime.prompts().len() - called),
        (2, 2)
    );
    let gone = world.project.paths();
    let gone = gone.iter().find(|path| path.contains("cmV0dXJucw"));
    assert_eq!(gone, None);
    assert!(!world.project.text(SHARD).contains("returns"));
}

#[tokio::test]
async fn what_others_wrote_into_a_shard_stays() {
    let (world, sqlite) = world(Keys::Shown);
    let standing = "# reviewed
tables:
  customers:
    table: customers
    owner: sales team
    descriptions: {db: old comment, ai: old text, user: Who buys., dbt: Customers.}
    usage: {narrative: Often joined., frequencyTier: high}
    columns:
      - {name: id, type: string, pk: true}
      - {name: status, type: string, enum_values: {dbt: [gold]}, constraints: {dbt: {unique: true}}, descriptions: {user: Tier.}}
      - {name: gone, type: string}
    joins:
      - {to: orders, 'on': customers.id = orders.id, relationship: one_to_one, source: manual}
      - {to: orders, 'on': customers.name = orders.gone, relationship: one_to_one, source: manual}
      - {to: lines, 'on': customers.id = lines.quantity, relationship: one_to_many, source: inferred}
      - {to: nowhere, 'on': customers.id = nowhere.id, relationship: one_to_many, source: inferred}
  gone:
    table: gone
    columns: []
version: 3
";
    world.project.put(SHARD, standing);
    run(&world, ScanMode::Structural).await;
    let text = world.project.text(SHARD);
    let customers = text.split("  lines:\n    table").next().expect("a part");
    assert_eq!(
        customers,
        "# reviewed
tables:
  customers:
    table: customers
    owner: sales team
    descriptions:
      ai: old text
      user: Who buys.
      dbt: Customers.
    usage: {narrative: Often joined., frequencyTier: high}
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
      - name: name
        type: string
        nullable: false
      - {name: status, type: string, enum_values: {dbt: [gold]}, constraints: {dbt: {unique: true}}, descriptions: {user: Tier.}}
    joins:
      - {to: orders, 'on': customers.id = orders.id, relationship: one_to_one, source: manual}
      - to: orders
        'on': customers.id = orders.customer_id
        relationship: one_to_many
        source: formal
      - {to: lines, 'on': customers.id = lines.quantity, relationship: one_to_many, source: inferred}
"
    );
    assert!(text.ends_with("version: 3\n") && !text.contains("gone"));
    // Another order, and comments.
    let same = format!("# mine\n{}", text.replace("version: 3\n", "")) + "version: 3\n";
    world.project.put(SHARD, &same);
    assert_eq!(
        scan(world.request(ScanMode::Structural))
            .await
            .expect("a scan")
            .changes,
        Vec::new()
    );
    world.project.put(SHARD, "tables: [");
    sqlite.execute("CREATE TABLE extra (id INTEGER)");
    let outcome = scan(world.request(ScanMode::Structural))
        .await
        .expect("a scan");
    assert!(!paths(&outcome.changes).contains(&SHARD));
    assert_eq!(
        outcome
            .report
            .warnings
            .iter()
            .map(|warning| warning.code.as_str())
            .collect::<Vec<_>>(),
        ["manifest_unreadable"]
    );
}

#[tokio::test]
async fn hidden_keys_are_found_and_the_dictionary_is_written() {
    let (world, _) = world(Keys::Hidden);
    let outcome = run(&world, ScanMode::Relationships).await;
    let artifact = world.project.json("relationships.json");
    let ids: Vec<&str> = artifact["accepted"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|edge| edge["id"].as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "lines:(order_id)->orders:(id)",
            "orders:(customer_id)->customers:(id)",
            "returns:(order_id,line_no)->lines:(order_id,line_no)",
        ]
    );
    let profile = world.project.json("relationship-profile.json");
    assert_eq!(
        profile["columns"]["customers.status"]["sampleValues"],
        json!(["gold", "basic", "silver"])
    );
    assert_eq!(
        profile["columnsByReference"]["customers.status"]["sampleValuesComplete"],
        json!(true)
    );
    assert_eq!(
        profile["columns"]["customers.name"]["sampleValues"],
        json!([])
    );
    assert_eq!(outcome.profile_statements, 4);
    let shard = world.project.text(SHARD);
    assert!(
        shard.contains(
            "'on': returns.order_id = lines.order_id AND returns.line_no = lines.line_no"
        ),
        "{shard}"
    );
    assert_eq!(
        world.project.json("relationship-diagnostics.json")["summary"]["accepted"],
        json!(3)
    );
}

fn decision(from: (&str, &str), to: (&str, &str)) -> Decision {
    let side = |(table, column): (&str, &str)| DecidedSide {
        table: table.to_owned(),
        columns: vec![column.to_owned()],
    };
    Decision {
        from: side(from),
        to: side(to),
        relationship: None,
        by: Some("ada".to_owned()),
        at: None,
        note: None,
    }
}

#[tokio::test]
async fn people_have_the_last_word_on_links() {
    let (world, _) = world(Keys::Hidden);
    run(&world, ScanMode::Relationships).await;
    let mut decisions = Decisions::default();
    decisions.decide(
        Verdict::Reject,
        decision(("customers", "id"), ("orders", "customer_id")),
    );
    decisions.decide(
        Verdict::Accept,
        decision(("lines", "quantity"), ("customers", "id")),
    );
    decisions.decide(
        Verdict::Accept,
        decision(("lines", "gone"), ("customers", "id")),
    );
    let path = decisions_path(&ConnectionId::parse("shop").expect("an id"));
    world
        .project
        .put(&path, &decisions.to_yaml().expect("YAML"));
    let outcome = run(&world, ScanMode::Relationships).await;
    let shard = world.project.text(SHARD);
    assert!(!shard.contains("customer_id ="), "{shard}");
    assert!(
        shard.contains("'on': lines.quantity = customers.id"),
        "{shard}"
    );
    assert_eq!(
        outcome
            .report
            .warnings
            .iter()
            .map(|warning| warning.code.as_str())
            .collect::<Vec<_>>(),
        ["relationship_decision_unknown_column"]
    );
    assert_eq!(
        run(&world, ScanMode::Relationships).await.changes,
        Vec::new()
    );
    world.project.put(&path, "accepted: 3");
    let error = scan(world.request(ScanMode::Structural))
        .await
        .expect_err("no scan");
    assert!(matches!(error, ScanError::Decisions { .. }), "{error}");
}

#[tokio::test]
async fn a_table_that_cannot_be_read_is_a_warning() {
    let mut sqlite = Sqlite::new(Keys::Hidden, SHOP);
    sqlite.broken = Some("orders".to_owned());
    let world = World::new(Arc::new(sqlite));
    let outcome = run(&world, ScanMode::Relationships).await;
    let found: Vec<(&str, &str)> = outcome
        .report
        .warnings
        .iter()
        .map(|warning| (warning.code.as_str(), warning.message.as_str()))
        .collect();
    assert!(
        found.contains(&(
            "statistics_failed",
            "could not read a sample of `orders`: permission denied"
        )),
        "{found:?}"
    );
    let profile = world.project.json("relationship-profile.json");
    assert_eq!(profile["tables"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn a_table_that_the_catalog_warns_about_is_kept() {
    let (world, sqlite) = world(Keys::Shown);
    run(&world, ScanMode::Structural).await;
    let before = world.project.text(SHARD);
    let entry = before
        .split("  returns:")
        .nth(1)
        .expect("an entry")
        .to_owned();
    *sqlite.unseen.lock().expect("not poisoned") = Some("returns".to_owned());
    assert_eq!(
        run(&world, ScanMode::Structural)
            .await
            .report
            .diff_summary
            .tables_unchanged,
        4
    );
    sqlite.execute("CREATE TABLE extra (id INTEGER)");
    let mut request = world.request(ScanMode::Structural);
    request.now = "2026-02-03T10:00:00Z".parse().expect("a time");
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    assert_eq!(outcome.report.diff_summary.tables_deleted, 0);
    assert!(world.project.text(SHARD).ends_with(&entry));
    let kept = world.project.json("tables/_._.cmV0dXJucw.json");
    assert_eq!(kept["name"], json!("returns"));
}

#[tokio::test]
async fn a_dry_run_hands_out_no_changes() {
    let (world, _) = world(Keys::Shown);
    let mut request = world.request(ScanMode::Relationships);
    request.writing = Writing::DryRun;
    let outcome = scan(request).await.expect("a scan");
    assert_eq!(
        (
            outcome.changes.len(),
            outcome.report.dry_run,
            outcome.report.diff_summary.tables_added
        ),
        (0, true, 4)
    );
}

#[tokio::test]
async fn progress_is_told_stage_by_stage() {
    let (world, _) = world(Keys::Shown);
    let listener = Arc::new(Listener::default());
    let mut request = world.request(ScanMode::Relationships);
    request.events = listener.clone();
    scan(request).await.expect("a scan");
    let events = listener.events.lock().expect("not poisoned");
    let stages: Vec<ScanStage> = events
        .iter()
        .filter_map(|event| match event {
            ScanEvent::StageStarted { stage, .. } => Some(*stage),
            _ => None,
        })
        .collect();
    assert_eq!(
        stages,
        [
            ScanStage::Structure,
            ScanStage::Profile,
            ScanStage::Relationships,
            ScanStage::Artifacts
        ]
    );
    assert_eq!(events.last(), Some(&ScanEvent::Finished { changes: 13 }));
}
