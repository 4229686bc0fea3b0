//! Tests that a scan keeps what people wrote in a shard.

use std::sync::Arc;

use ktx_project_store::{Change, ProjectPath};
use ktx_scan::ScanMode;

use crate::memory::World;
use crate::scans::{SHARD, run};
use crate::sqlite::{Keys, Sqlite};

const TWO: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id));
";

const MINE: &str = "# The shop.

tables:
  # Whoever buys.
  customers: # not leads
    owner: sales
    columns:
      # Given by the till.
      - name: id
        type: number # whole
        pk: true
        nullable: false
      - type: 'string'
        name: name
    table: \"customers\"
    joins:
      # Any number.
      - to: orders
        'on': customers.id = orders.customer_id
        relationship: one_to_many
        source: formal

  # What was bought.
  orders:
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
      # Whose it is.
      - name: customer_id
        type: number
    joins:
      - to: customers
        'on': orders.customer_id = customers.id
        relationship: many_to_one
        source: formal
    table: orders
    descriptions: {user: Paid orders.}
# The end.
";

fn shop() -> (World, Arc<Sqlite>) {
    let sqlite = Arc::new(Sqlite::new(Keys::Shown, TWO));
    (World::new(sqlite.clone()), sqlite)
}

async fn scanned(world: &World, before: &str) -> String {
    world.project.put(SHARD, before);
    run(world, ScanMode::Structural).await;
    world.project.text(SHARD)
}

#[tokio::test]
async fn a_table_that_is_missing_is_put_between_the_others() {
    let (world, sqlite) = shop();
    assert_eq!(scanned(&world, MINE).await, MINE);
    sqlite.execute("CREATE TABLE lines (id INTEGER, order_id INTEGER REFERENCES orders (id))");
    // A person deletes the new table's shard here.
    assert_eq!(scanned(&world, MINE).await, MINE);
    world
        .project
        .take("semantic-layer/shop/_schema/public+lines.yaml");
    let lines = "  lines:
    table: lines
    columns:
      - name: id
        type: number
      - name: order_id
        type: number
    joins:
      - to: orders
        'on': lines.order_id = orders.id
        relationship: many_to_one
        source: formal

  # What was bought.
";
    let join = "        source: formal
      - to: lines
        'on': orders.id = lines.order_id
        relationship: one_to_many
        source: formal
    table: orders
";
    let expected = MINE
        .replace("\n  # What was bought.\n", lines)
        .replace("        source: formal\n    table: orders\n", join);
    assert_eq!(scanned(&world, MINE).await, expected);
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(scanned(&world, &windows(MINE)).await, windows(&expected));
    sqlite.execute("DROP TABLE lines");
    assert_eq!(scanned(&world, &expected).await, MINE);
}

#[tokio::test]
async fn what_goes_takes_the_comments_that_belong_to_it() {
    let (world, sqlite) = shop();
    sqlite.execute(
        "DROP TABLE orders; CREATE TABLE orders (id INTEGER PRIMARY KEY, at TEXT NOT NULL)",
    );
    let (begin, rest) = MINE
        .split_once("    joins:\n      # Any")
        .expect("the joins");
    let (_, orders) = rest.split_once("formal\n").expect("the end of the joins");
    let (columns, rest) = orders
        .split_once("      # Whose it is.\n")
        .expect("the column");
    let (_, end) = rest
        .split_once("    table: orders\n")
        .expect("the end of the joins");
    let at = "      - name: at
        type: string
        nullable: false
    table: orders
";
    let expected = format!("{begin}{columns}{at}{end}");
    assert_eq!(scanned(&world, MINE).await, expected);
    sqlite.execute("DROP TABLE customers");
    let expected = format!(
        "# The shop.\n\ntables:\n  # What was bought.\n{}",
        expected.split_once("bought.\n").expect("orders").1
    );
    assert_eq!(scanned(&world, &expected).await, expected);
}

/// The warning names the shard and the next step.
#[tokio::test]
async fn a_shard_that_cannot_be_changed_in_place_is_left_alone() {
    let (world, sqlite) = shop();
    run(&world, ScanMode::Structural).await;
    let mine = "{tables: {customers: {table: customers, # who buys\n  columns: []}}}\n";
    world.project.put(SHARD, mine);
    sqlite.execute("CREATE TABLE extra (id INTEGER)");
    let outcome = run(&world, ScanMode::Structural).await;
    assert_eq!(world.project.text(SHARD), mine);
    let warnings: Vec<&str> = outcome
        .report
        .warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    assert_eq!(
        warnings,
        [
            "`semantic-layer/shop/_schema/public.yaml` was left as it is, though the warehouse has changed: \
          line 1 holds an unusual layout, which cannot be changed in place; write that part in block \
          style without anchors and tags, then scan again"
        ]
    );
}

#[tokio::test]
async fn a_shard_without_tables_stays_for_its_comments() {
    let (world, _) = shop();
    let gone = "semantic-layer/shop/_schema/gone.yaml";
    let table = "tables: # all of them\n  # first\n  a:\n    table: gone.a\n";
    world.project.put(gone, &format!("# ours\n\n{table}"));
    run(&world, ScanMode::Structural).await;
    assert_eq!(
        world.project.text(gone),
        "# ours\n\ntables: {} # all of them\n"
    );
    world
        .project
        .put(gone, "tables:\n  # first\n  a:\n    table: gone.a\n");
    let outcome = run(&world, ScanMode::Structural).await;
    let path = ProjectPath::parse(gone).expect("a path");
    assert!(outcome.changes.contains(&Change::delete(path)));
}

/// No YAML parser finds the colon after 1024 characters.
#[tokio::test]
async fn a_long_name_is_written_so_that_it_can_be_read() {
    let (world, sqlite) = shop();
    let long = "n".repeat(1025);
    sqlite.execute(&format!("CREATE TABLE {long} (id INTEGER)"));
    let outcome = run(&world, ScanMode::Structural).await;
    assert_eq!(outcome.report.warnings, Vec::new());
    let text = world.project.text(SHARD);
    let entry = format!(
        "  ? {long}
  :
    table: {long}
    columns:
      - name: id
        type: number
  orders:
"
    );
    assert!(text.contains(&entry), "{text}");
    sqlite.execute(&format!("ALTER TABLE {long} ADD COLUMN x TEXT"));
    let outcome = run(&world, ScanMode::Structural).await;
    assert_eq!(outcome.report.warnings, Vec::new());
    let column = "        type: number\n      - name: x\n        type: string\n  orders:\n";
    let changed = entry.replace("        type: number\n  orders:\n", column);
    assert_eq!(world.project.text(SHARD), text.replace(&entry, &changed));
}
