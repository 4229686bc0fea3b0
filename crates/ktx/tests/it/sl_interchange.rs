//! `ktx sl export|import` and losses.

use crate::support::{ORDERS, json, project, run, shop, tree, write};

#[test]
fn an_export_says_what_it_cannot_say() {
    let sandbox = shop();
    check!(&sandbox, "sl export --file shop.osi.yaml", @r"
exit 0
3 sources of warehouse are in shop.osi.yaml
--- stderr
Project: [SANDBOX]/work
extension: orders.paid: segment: the format has no segments
rewritten: orders.revenue: measure_filter: the filter is written as CASE inside the aggregates
extension: warehouse: dialect: expressions are those of sqlite and are called ANSI_SQL: the format does not know this dialect
");
    let text = sandbox.read("shop.osi.yaml").unwrap();
    let printed = run(&sandbox, "sl export --format osi");
    assert_eq!((printed.code, printed.stdout), (Some(0), text.clone()));
    let answer = json(&sandbox, "sl export --json");
    assert_eq!(answer["document"], text);
    assert_eq!(answer["losses"][0]["fate"], "extension");
}

#[test]
fn what_was_exported_can_be_imported_and_answers_the_same() {
    let sandbox = shop();
    assert_eq!(
        run(&sandbox, "sl export --file shop.osi.yaml").code,
        Some(0)
    );
    let question =
        "sl query --measure orders.revenue --dimension regions.name --execute --format csv";
    let before = run(&sandbox, question).stdout;
    std::fs::remove_dir_all(sandbox.work().join("semantic-layer/warehouse")).unwrap();
    check!(&sandbox, "sl import shop.osi.yaml", @r"
exit 0
wrote semantic-layer/warehouse/customers.yaml
wrote semantic-layer/warehouse/orders.yaml
wrote semantic-layer/warehouse/regions.yaml
--- stderr
Project: [SANDBOX]/work
nothing is lost
");
    assert_eq!(run(&sandbox, question).stdout, before);
    assert_eq!(before, "name,revenue\nIslands,\nNorth,15.5\nSouth,10\n");
    let text = sandbox.read("shop.osi.yaml").unwrap();
    assert_eq!(run(&sandbox, "sl export").stdout, text);
}

#[test]
fn what_is_there_is_left_alone() {
    let sandbox = shop();
    assert_eq!(
        run(&sandbox, "sl export --file shop.osi.yaml").code,
        Some(0)
    );
    let before = tree(&sandbox);
    check!(&sandbox, "sl import shop.osi.yaml", @r"
exit 7
--- stderr
Project: [SANDBOX]/work
left alone: orders already exists; `--replace` replaces it
nothing is lost
");
    assert_eq!(
        run(&sandbox, "sl import shop.osi.yaml --dry-run --replace").code,
        Some(0)
    );
    assert!(tree(&sandbox) == before, "nothing is written");
}

#[test]
fn a_file_with_unknown_keys_is_taken_over_as_far_as_it_goes() {
    let sandbox = project();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:\n  warehouse: {driver: sqlite, path: warehouse.db}\n",
    );
    write(
        &sandbox,
        "other.yaml",
        "version: '0.2.0'\nsemantic_model:\n  - name: shop\n    mood: good\n    datasets:\n      - name: orders\n        source: main.orders\n        primary_key: [id]\n        fields:\n          - {name: id, expression: {dialects: [{dialect: ANSI_SQL, expression: id}]}}\n    metrics:\n      - {name: orders_placed, expression: {dialects: [{dialect: ANSI_SQL, expression: COUNT(orders.id)}]}}\n      - {name: odd, expression: {dialects: [{dialect: ANSI_SQL, expression: COUNT(id)}]}}\n",
    );
    check!(&sandbox, "sl import other.yaml --dry-run --json", @r#"
exit 0
{
  "connectionId": "warehouse",
  "format": "osi",
  "written": false,
  "sources": [
    {
      "name": "orders",
      "path": "semantic-layer/warehouse/orders.yaml",
      "text": "name: orders\ntable: main.orders\n\ngrain:\n  - id\n\ncolumns:\n  - name: id\n    type: string\n\nmeasures:\n  - name: orders_placed\n    expr: COUNT(orders.id)\n"
    }
  ],
  "leftAlone": [],
  "losses": [
    {
      "place": "$.semantic_model[0].datasets[0].fields[0]",
      "construct": "type",
      "fate": "rewritten",
      "message": "the field does not say its type: taken as `string`"
    },
    {
      "place": "$.semantic_model[0].metrics[1]",
      "construct": "metric",
      "fate": "dropped",
      "message": "`id` does not say its dataset"
    },
    {
      "place": "$.semantic_model[0].mood",
      "construct": "unknown_key",
      "fate": "dropped",
      "message": "`mood` is not known here"
    }
  ],
  "problems": []
}
"#);
    check!(&sandbox, "sl import nowhere.yaml", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: the file `nowhere.yaml` cannot be read
  caused by: No such file or directory (os error 2)
");
    write(&sandbox, "other.yaml", "a: b\n");
    check!(&sandbox, "sl import other.yaml --json", @r#"
exit 3
{
  "error": {
    "code": "invalid_interchange",
    "message": "the file has no list `semantic_model`",
    "hint": null
  }
}
"#);
}

/// One source without a table.
const REFUNDS: &str = "version: '0.2.0'
semantic_model:
  - name: shop
    datasets:
      - name: refunds
        source: main.orders
        primary_key: [id]
        fields:
          - {name: id, datatype: number, expression: {dialects: [{dialect: ANSI_SQL, expression: id}]}}
";

const CHARGEBACKS: &str = "name: chargebacks
sql: select id from orders
grain: [id]
columns:
  - {name: id, type: number}
";

/// The name in a file identifies a source.
#[test]
fn the_file_of_another_source_is_left_alone() {
    for (theirs, line) in [
        (CHARGEBACKS, "sl import refunds.osi.yaml"),
        (CHARGEBACKS, "sl import refunds.osi.yaml --replace"),
        ("measures: [", "sl import refunds.osi.yaml --replace"),
        ("name: gone\nmeasures: []\n", "sl import refunds.osi.yaml"),
    ] {
        let sandbox = shop();
        write(&sandbox, "refunds.osi.yaml", REFUNDS);
        write(&sandbox, "semantic-layer/warehouse/refunds.yaml", theirs);
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(0), "{line}: {printed}");
        assert_eq!(
            printed.stdout,
            "wrote semantic-layer/warehouse/refunds-2.yaml\n"
        );
        assert_eq!(
            sandbox
                .read("semantic-layer/warehouse/refunds.yaml")
                .unwrap(),
            theirs
        );
        let again = run(&sandbox, "sl import refunds.osi.yaml");
        assert_eq!(again.code, Some(7), "{again}");
        let replaced = run(&sandbox, "sl import refunds.osi.yaml --replace");
        assert_eq!(
            replaced.stdout,
            "wrote semantic-layer/warehouse/refunds-2.yaml\n"
        );
    }
}

#[test]
fn what_is_not_valid_is_not_written_unless_asked_for() {
    let sandbox = shop();
    let invalid = REFUNDS.replace("name: refunds", r#"name: "refunds\u0007""#);
    write(&sandbox, "refunds.osi.yaml", &invalid);
    let before = tree(&sandbox);
    let printed = run(&sandbox, "sl import refunds.osi.yaml");
    assert_eq!(printed.code, Some(3), "{printed}");
    assert_eq!(printed.stdout, "");
    assert!(
        printed.stderr.ends_with(
            "nothing was written; correct the file, or write it as it is with `--allow-invalid`\n"
        ),
        "{printed}"
    );
    assert!(tree(&sandbox) == before, "nothing is written");
    let printed = run(&sandbox, "sl import refunds.osi.yaml --allow-invalid");
    assert_eq!(printed.code, Some(3), "{printed}");
    let wrote = printed.stdout.strip_prefix("wrote ").unwrap();
    assert!(sandbox.read(wrote.trim_end()).is_ok(), "{printed}");
}

/// Another command could be writing.
#[test]
fn a_project_in_use_is_left_alone() {
    let sandbox = shop();
    write(&sandbox, "refunds.osi.yaml", REFUNDS);
    write(
        &sandbox,
        "semantic-layer/warehouse/chargebacks.yaml",
        &format!("\n\n{CHARGEBACKS}"),
    );
    let lock = std::fs::File::create(sandbox.work().join(".ktx/state/lock")).unwrap();
    lock.lock().unwrap();
    let before = tree(&sandbox);
    for line in ["sl import refunds.osi.yaml", "sl fmt"] {
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(1), "{line}: {printed}");
        assert!(
            printed.stderr.contains("the project is in use"),
            "{printed}"
        );
    }
    for (line, code) in [
        ("sl import refunds.osi.yaml --dry-run", 0),
        ("sl fmt --check", 3),
    ] {
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(code), "{line}: {printed}");
    }
    assert!(tree(&sandbox) == before, "nothing is written");
}

/// Removed elements and comments are reported.
#[test]
fn a_replaced_file_keeps_its_comments_and_loses_nothing_unsaid() {
    let sandbox = shop();
    let path = "semantic-layer/warehouse/orders.yaml";
    let commented = format!("# Owned by finance.\n\n{ORDERS}")
        .replace("measures:\n", "# Agreed in May.\nmeasures:\n")
        .replace(
            "  - name: order_count\n",
            "  # Tests count too.\n  - name: order_count\n",
        );
    write(&sandbox, path, &commented);
    run(&sandbox, "sl export --file shop.osi.yaml");
    let printed = run(&sandbox, "sl import shop.osi.yaml --replace");
    assert_eq!(
        (printed.code, printed.stderr.contains("nothing is lost")),
        (Some(0), true),
        "{printed}"
    );
    assert_eq!(sandbox.read(path).unwrap(), commented, "it says the same");

    write(
        &sandbox,
        "orders.osi.yaml",
        "version: '0.2.0'\nsemantic_model:\n  - name: shop\n    datasets:\n      - name: orders\n        source: main.orders\n        primary_key: [id]\n        fields:\n          - {name: id, datatype: text, expression: {dialects: [{dialect: ANSI_SQL, expression: id}]}}\n    metrics:\n      - {name: revenue, expression: {dialects: [{dialect: ANSI_SQL, expression: SUM(orders.id)}]}}\n",
    );
    let printed = run(
        &sandbox,
        "sl import orders.osi.yaml --replace --allow-invalid",
    );
    let now = sandbox.read(path).unwrap();
    assert_eq!(
        now,
        "# Owned by finance.\n\nname: orders\n\n# Agreed in May.\nmeasures:\n  - name: revenue\n    expr: SUM(orders.id)\n"
    );
    let lost: Vec<&str> = printed
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("dropped: semantic-layer/warehouse/orders.yaml: "))
        .collect();
    assert_eq!(
        lost,
        [
            "key: `descriptions` is not in the imported file",
            "key: `column_overrides` is not in the imported file",
            "key: `measures.revenue.filter` is not in the imported file",
            "key: `measures.revenue.description` is not in the imported file",
            "key: `measures.order_count` is not in the imported file",
            "key: `segments` is not in the imported file",
            "comment: `# Tests count too.` is on something that the imported file does not have",
        ]
    );
}
