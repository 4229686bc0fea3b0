//! `ktx sl diff`: changes in meaning.

use crate::support::{ORDERS, commit, git, run, shop, write};

const PATH: &str = "semantic-layer/warehouse/orders.yaml";

#[test]
fn nothing_differs_when_only_the_text_differs() {
    let sandbox = shop();
    write(&sandbox, PATH, &format!("# Written by Ada.\n{ORDERS}"));
    check!(&sandbox, "sl diff", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no difference in meaning between HEAD and the files
");
}

#[test]
fn differences_say_which_numbers_can_change() {
    let sandbox = shop();
    let changed = ORDERS
        .replace(" and customers.test = 0", "")
        .replace("One row per order;", "One row for each order;")
        .replace("  - name: order_count\n    expr: count(id)\n", "");
    write(&sandbox, PATH, &changed);
    check!(&sandbox, "sl diff", @r"
exit 0
warehouse: HEAD -> the files
orders
  ~ source (words)
      descriptions: `user: One row per order; cancelled orders are not kept.` -> `user: One row for each order; cancelled orders are not kept.`
  - measure order_count (numbers)
  ~ measure revenue (numbers)
      filter: `status = 'paid' and customers.test = 0` -> `status = 'paid'`
3 differences; numbers can change by measure orders.order_count (removed), measure orders.revenue
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl diff orders --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "source": "orders",
        "subject": "source",
        "name": "orders",
        "change": "changed",
        "fields": [
          {
            "field": "descriptions",
            "old": "user: One row per order; cancelled orders are not kept.",
            "new": "user: One row for each order; cancelled orders are not kept."
          }
        ],
        "effect": "words",
        "connectionId": "warehouse"
      },
      {
        "source": "orders",
        "subject": "measure",
        "name": "order_count",
        "change": "removed",
        "fields": [],
        "effect": "numbers",
        "connectionId": "warehouse"
      },
      {
        "source": "orders",
        "subject": "measure",
        "name": "revenue",
        "change": "changed",
        "fields": [
          {
            "field": "filter",
            "old": "status = 'paid' and customers.test = 0",
            "new": "status = 'paid'"
          }
        ],
        "effect": "numbers",
        "connectionId": "warehouse"
      }
    ],
    "notCompared": []
  },
  "meta": {
    "command": "sl diff",
    "from": "HEAD",
    "to": "the files"
  }
}
"#);
    check!(&sandbox, "sl diff regions --exit-code", @r"
exit 0
--- stderr
Project: [SANDBOX]/work
no difference in meaning between HEAD and the files
");
    check!(&sandbox, "sl diff ordes", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: no semantic source `ordes` in either state

hint: did you mean `orders`?
");
    assert_eq!(run(&sandbox, "sl diff").code, Some(0));
    assert_eq!(run(&sandbox, "sl diff --exit-code").code, Some(1));
    assert_eq!(run(&sandbox, "sl diff --exit-code=numbers").code, Some(1));
    write(&sandbox, PATH, &ORDERS.replace("Money received", "Money"));
    assert_eq!(run(&sandbox, "sl diff --exit-code=any").code, Some(1));
    assert_eq!(run(&sandbox, "sl diff --exit-code=numbers").code, Some(0));
}

#[test]
fn two_commits_are_compared_without_the_files() {
    let sandbox = shop();
    write(
        &sandbox,
        PATH,
        &ORDERS.replace("expr: count(id)", "expr: count(customer_id)"),
    );
    commit(&sandbox, "count customers");
    write(&sandbox, PATH, "name: [");
    check!(&sandbox, "sl diff --from HEAD~1 --to HEAD", @r"
exit 0
warehouse: HEAD~1 -> HEAD
orders
  ~ measure order_count (numbers)
      expr: `count(id)` -> `count(customer_id)`
1 difference; numbers can change by measure orders.order_count
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl diff --from HEAD~2 --to HEAD~1", @r"
exit 0
warehouse: HEAD~2 -> HEAD~1
orders
  ~ source (words)
      descriptions: none -> `user: One row per order; cancelled orders are not kept.`
  ~ column ordered_at (words)
      description: none -> `The day of the order.`
  + measure order_count (queries)
  + measure revenue (queries)
  + segment paid (queries)
5 differences; no number can change
--- stderr
Project: [SANDBOX]/work
");
}

#[test]
fn a_source_that_got_another_name_is_renamed() {
    let sandbox = shop();
    let text = "name: big\nsql: select id, amount from orders\ngrain: [id]\ncolumns:\n  - {name: id, type: number}\n  - {name: amount, type: number}\nmeasures:\n  - {name: money, expr: sum(big.amount)}\n";
    write(&sandbox, "semantic-layer/warehouse/big.yaml", text);
    commit(&sandbox, "big");
    std::fs::remove_file(sandbox.work().join("semantic-layer/warehouse/big.yaml")).unwrap();
    write(
        &sandbox,
        "semantic-layer/warehouse/huge.yaml",
        &text.replace("big", "huge"),
    );
    check!(&sandbox, "sl diff", @r"
exit 0
warehouse: HEAD -> the files
huge
  ~ source (queries)
      name: `big` -> `huge`
1 difference; no number can change
--- stderr
Project: [SANDBOX]/work
");
    check!(&sandbox, "sl diff big --connection-id warehouse", @r"
exit 0
warehouse: HEAD -> the files
huge
  ~ source (queries)
      name: `big` -> `huge`
1 difference; no number can change
--- stderr
Project: [SANDBOX]/work
");
}

#[test]
fn a_source_that_cannot_be_read_is_not_compared() {
    let sandbox = shop();
    write(&sandbox, PATH, "name: orders\nmeasures: [\n");
    check!(&sandbox, "sl diff --exit-code", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
warning: not compared: the files: semantic-layer/warehouse/orders.yaml:3:1: did not find expected node content
no difference in meaning between HEAD and the files in what could be read
");
}

/// A source can be named unlike its file, and a shard holds many.
#[test]
fn what_a_file_said_that_cannot_be_read_is_not_gone() {
    let sandbox = shop();
    let shard = "semantic-layer/warehouse/_schema/main.yaml";
    write(
        &sandbox,
        shard,
        "tables:\n  visits:\n    table: visits\n    columns: [{name: id, type: number}]\n  stays:\n    table: stays\n    columns: [{name: id, type: number}]\n",
    );
    write(
        &sandbox,
        "semantic-layer/warehouse/stays.yaml",
        "name: stays\nmeasures: [{name: count, expr: count(*)}]\n",
    );
    let other = "semantic-layer/warehouse/other.yaml";
    write(
        &sandbox,
        other,
        "name: logins\ntable: logins\ngrain: [id]\ncolumns: [{name: id, type: number}]\n",
    );
    commit(&sandbox, "more");
    write(&sandbox, shard, "tables: [\n");
    write(&sandbox, other, "name: [\n");
    write(
        &sandbox,
        PATH,
        &ORDERS.replace("  - name: order_count\n    expr: count(id)\n", ""),
    );
    check!(&sandbox, "sl diff", @r"
exit 0
warehouse: HEAD -> the files
orders
  - measure order_count (numbers)
1 difference; numbers can change by measure orders.order_count (removed), and by files that could not be read
--- stderr
Project: [SANDBOX]/work
warning: not compared: the files: semantic-layer/warehouse/_schema/main.yaml:2:1: did not find expected node content
warning: not compared: the files: semantic-layer/warehouse/other.yaml:2:1: did not find expected node content
");
}

#[test]
fn without_a_commit_to_compare_with_there_is_one_error() {
    let sandbox = shop();
    check!(&sandbox, "sl diff --from nowhere", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `nowhere` is not a commit of this repository

hint: name a commit, a branch or a tag; `git log --oneline` lists commits
");
    check!(&sandbox, "sl diff --from --output", @r"
exit 2
--- stderr
error: a value is required for '--from <REVISION>' but none was supplied

For more information, try '--help'.
");
    check!(&sandbox, "sl diff --connection-id other", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: there is no connection `other`

hint: use one of `warehouse`
");
    let outside = crate::support::sandbox();
    write(&outside, "ktx.yaml", "connections: {}\n");
    check!(&outside, "sl diff --json", @r#"
exit 3
{
  "error": {
    "code": "not_in_git",
    "message": "`[SANDBOX]/work` is not in a git work tree",
    "hint": "run `git init` and commit the project to have something to compare with"
  }
}
"#);
    assert!(!outside.work().join(".git").exists());
    git(&outside, &["init", "--quiet"]);
    check!(&outside, "sl diff", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `HEAD` is not a commit of this repository

hint: the repository has no commit yet: make a first commit
");
}

/// Its column was removed.
#[test]
fn a_measure_that_is_lost_counts_as_numbers() {
    let sandbox = shop();
    crate::support::database(
        &sandbox,
        "warehouse.db",
        "ALTER TABLE orders DROP COLUMN amount",
    );
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    check!(&sandbox, "sl diff --from HEAD~1 --exit-code=numbers", @r"
exit 1
warehouse: HEAD~1 -> the files
orders
  - column amount (queries)
  ~ measure revenue (numbers)
      sql: `WITH orders_part AS ( SELECT sum(CASE WHEN (orders.status = 'paid' AND customers…` -> none
2 differences; numbers can change by measure orders.revenue (can no longer be computed)
--- stderr
Project: [SANDBOX]/work
");
    write(&sandbox, PATH, "name: orders\n");
    let lost = run(&sandbox, "sl diff orders --exit-code=numbers");
    assert_eq!(lost.code, Some(1), "{lost}");
    assert!(
        lost.stdout.contains("measure orders.order_count (removed)"),
        "{lost}"
    );
}
