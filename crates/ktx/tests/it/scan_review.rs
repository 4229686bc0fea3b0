//! `ktx scan relationships` and `ktx scan review`.

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::support::{SHOP, git, json, run, unscanned, write};

const ORDERS_TO_CUSTOMERS: &str = "orders:(customer_id)->customers:(id)";
const DECISIONS: &str = "semantic-layer/warehouse/_review/relationships.yaml";

fn scanned() -> Sandbox {
    let sandbox = unscanned(SHOP);
    git(&sandbox, &["config", "user.name", "Ada Test"]);
    git(&sandbox, &["config", "user.email", "ada@example.com"]);
    scan(&sandbox);
    sandbox
}

fn scan(sandbox: &Sandbox) {
    let printed = run(sandbox, "scan warehouse");
    assert_eq!(printed.code, Some(0), "{printed}");
}

fn statuses(sandbox: &Sandbox) -> Vec<(String, String)> {
    let answer = json(sandbox, "scan relationships --json");
    let items = answer["data"]["items"].as_array().cloned().expect("items");
    let text = |item: &Value, key: &str| item[key].as_str().expect("a text").to_owned();
    items
        .iter()
        .map(|item| (text(item, "id"), text(item, "status")))
        .collect()
}

fn shard(sandbox: &Sandbox) -> String {
    sandbox
        .read("semantic-layer/warehouse/_schema/public.yaml")
        .unwrap()
}

#[test]
fn joins_are_shown_with_what_speaks_for_them() {
    let sandbox = scanned();
    check!(&sandbox, "scan relationships --output pretty", @r"
exit 0
7e0bb5f1  customers.region_id -> regions.id  many_to_one
  warehouse: accepted, confidence 1.00, formal_metadata
  100% of 2 values exist in the parent, 67% of the parent's keys are used, the parent is 100% unique, 0% of the rows have no value
  - declared by the warehouse
5c485286  orders.customer_id -> customers.id  many_to_one
  warehouse: accepted, confidence 0.99, name_match
  100% of 4 values exist in the parent, 100% of the parent's keys are used, the parent is 100% unique, 0% of the rows have no value, the names fit 98%
  - the column names the table (0.98)
  - 4 of 4 distinct values are keys of the other table (100.0 % of all 6 rows with a value)
  - the keys are numbered without gaps and the column spans 100 % of them
  - values of `orders.(customer_id)` that `customers.(id)` lacks would disprove it
--- stderr
Project: [SANDBOX]/work
warehouse: 2 accepted, 0 review, 0 rejected (scan [SYNC])
");
    let plain = run(&sandbox, "scan warehouse relationships");
    let first = plain.stdout.lines().next();
    assert_eq!(
        first,
        Some(
            "warehouse\taccepted\t7e0bb5f1\tcustomers.region_id -> regions.id\tmany_to_one\t1.00\tformal_metadata\t100% of 2 values exist in the parent, 67% of the parent's keys are used, the parent is 100% unique, 0% of the rows have no value\tdeclared by the warehouse"
        )
    );
    check!(&sandbox, "scan review --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": []
  },
  "meta": {
    "command": "scan review"
  }
}
"#);
}

#[test]
fn a_rejected_join_never_returns_and_an_accepted_one_survives() {
    let sandbox = scanned();
    assert!(shard(&sandbox).contains("orders.customer_id = customers.id"));
    check!(&sandbox, "scan review reject 5c485286 --note 'another numbering'", @r"
exit 0
rejected: orders.customer_id -> customers.id
commit: [COMMIT]
--- stderr
Project: [SANDBOX]/work
the next `ktx scan warehouse` applies it
");
    let decisions = sandbox.read(DECISIONS).unwrap();
    assert_eq!(
        sandbox.filter(decisions.as_bytes()),
        "accepted: []
rejected:
- from:
    table: orders
    columns:
    - customer_id
  to:
    table: customers
    columns:
    - id
  relationship: many_to_one
  by: Ada Test
  at: [TIME]
  note: another numbering
"
    );
    assert_eq!(
        git(&sandbox, &["log", "-1", "--name-only", "--format=%an: %s"]),
        format!(
            "Ada Test: ktx scan review: reject orders.customer_id -> customers.id\n\n{DECISIONS}\n"
        )
    );
    let one = |status: &str| (ORDERS_TO_CUSTOMERS.to_owned(), status.to_owned());
    let declared = (
        "customers:(region_id)->regions:(id)".to_owned(),
        "accepted".to_owned(),
    );
    for _ in 0..2 {
        scan(&sandbox);
        assert_eq!(statuses(&sandbox), [declared.clone(), one("rejected")]);
        assert!(
            !shard(&sandbox).contains("customers.id ="),
            "{}",
            shard(&sandbox)
        );
    }
    check!(&sandbox, &format!("scan review reject '{ORDERS_TO_CUSTOMERS}'"), @r"
exit 0
orders.customer_id -> customers.id is already rejected
--- stderr
Project: [SANDBOX]/work
");
    let accepted = json(
        &sandbox,
        &format!("scan review warehouse accept '{ORDERS_TO_CUSTOMERS}' --json"),
    );
    assert_eq!(accepted["data"]["verdict"], json!("accepted"));
    assert_eq!(accepted["meta"]["command"], json!("scan review accept"));
    // Even if values no longer support it.
    let database = rusqlite::Connection::open(sandbox.work().join("warehouse.db")).unwrap();
    database
        .execute_batch("UPDATE orders SET customer_id = customer_id + 1000000")
        .unwrap();
    for _ in 0..2 {
        scan(&sandbox);
        assert_eq!(
            statuses(&sandbox),
            [one("accepted"), declared.clone()]
                .into_iter()
                .rev()
                .collect::<Vec<_>>()
        );
        assert!(shard(&sandbox).contains("orders.customer_id = customers.id"));
    }
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn a_join_to_decide_is_listed_until_it_is_decided() {
    let sandbox = unscanned(SHOP);
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  warehouse: { driver: sqlite, path: warehouse.db }
scan:
  relationships: { acceptThreshold: 0.999, reviewThreshold: 0.5 }
",
    );
    scan(&sandbox);
    let listed = json(&sandbox, "scan review --json");
    assert_eq!(listed["data"]["items"][0]["id"], json!(ORDERS_TO_CUSTOMERS));
    assert_eq!(listed["data"]["items"][0]["status"], json!("review"));
    let accepted = run(&sandbox, "scan review accept 5c485286");
    assert_eq!(accepted.code, Some(0), "{accepted}");
    check!(&sandbox, "scan review", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
nothing to decide
");
    let shown = run(&sandbox, "scan relationships");
    assert!(
        shown
            .stdout
            .contains("\treview (accepted from the next scan on)\t5c485286\t"),
        "{shown}"
    );
    scan(&sandbox);
    assert!(shard(&sandbox).contains("orders.customer_id = customers.id"));
}

#[test]
fn decisions_that_the_user_is_writing_are_left_alone() {
    let sandbox = scanned();
    write(&sandbox, DECISIONS, "accepted: [] # mine\n");
    check!(&sandbox, "scan review reject 5c485286", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: `semantic-layer/warehouse/_review/relationships.yaml` has changes that are not committed

hint: commit or revert them, then run the command again
");
    assert_eq!(sandbox.read(DECISIONS).unwrap(), "accepted: [] # mine\n");
}

#[test]
fn what_is_not_there_is_said() {
    let sandbox = unscanned(SHOP);
    check!(&sandbox, "scan review", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: connection `warehouse` was never scanned

hint: run `ktx scan warehouse`
");
    let structural = run(&sandbox, "scan --structural");
    assert_eq!(structural.code, Some(0), "{structural}");
    scan(&sandbox);
    check!(&sandbox, "scan review accept 5c485287", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: no join `5c485287` in the last scan

hint: did you mean `5c485286`?
hint: run `ktx scan relationships` to see the joins and their keys
");
    check!(&sandbox, "scan --dry-run relationships", @r"
    exit 2
    --- stderr
    error: `--structural`, `--full`, `--dry-run`, `--estimate`, `--max-…`, `--query-history…` and `--wait` before a subcommand are options of the scan itself
    ");
}
