//! Odd and broken files: what loads, and the messages.

use ktx_semantic_layer::{Catalog, ErrorKind, Query, SourceFile, compile, source_schema};
use ktx_sql::Dialect;

use crate::fixtures::{folder, model_files};

const ORDERS: &str = "name: orders\ntable: orders\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n- {name: amount, type: number}\nmeasures:\n- {name: total, expr: sum(amount)}\n";

fn check(text: impl Into<Vec<u8>>, expected: &[&str]) {
    let files = vec![
        SourceFile::new("orders.yaml", ORDERS),
        SourceFile::new("x.yaml", text),
    ];
    let catalog = Catalog::load(files, Dialect::Sqlite);
    let found: Vec<String> = catalog
        .diagnostics()
        .iter()
        .map(|one| format!("{} {one}", one.code))
        .collect();
    assert_eq!(found, expected);
    let query = Query::from_json(r#"{"measures": ["orders.total"]}"#).expect("a query");
    compile(&catalog, &query, Dialect::Sqlite).expect("the neighbour works");
}

#[test]
fn broken_files_say_where() {
    check(
        "name: x\n  table: [",
        &["parse_error x.yaml:2:8: mapping values are not allowed in this context"],
    );
    check(
        "name: x\ntable: x\ngrain: [id]\ncolumns:\n- {name: id, type: number}\nmesures: []\n",
        &[
            "invalid_source x.yaml:6:1: unknown field `mesures`, expected one of `name`, `descriptions`, `description`, `source_type`, `table`, `sql`, `inherits_columns_from`, `grain`, `columns`, `joins`, `measures`, `segments`, `default_time_dimension`, `tags`, `owners`, `freshness`, `exposures`, `usage`",
        ],
    );
    check(
        b"name: x\ntable: \xff".to_vec(),
        &["parse_error x.yaml:2:8: the file is not valid UTF-8"],
    );
    check(
        vec![b' '; 10 * 1024 * 1024 + 1],
        &["parse_error x.yaml: the file is larger than 10 MB"],
    );
}

#[test]
fn repeated_keys_are_refused() {
    check(
        "name: x\ntable: x\ntable: y\ngrain: [id]\ncolumns: []\n",
        &["invalid_source x.yaml:1:1: duplicate key `table`"],
    );
    check(
        "name: x\ntable: x\ngrain: [id]\ncolumns:\n- {name: id, type: number, type: string}\n",
        &["invalid_source x.yaml:5:3: columns[0]: duplicate field `type`"],
    );
}

#[test]
fn alias_bombs_are_refused() {
    let mut text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in [
        ("b", "a"),
        ("c", "b"),
        ("d", "c"),
        ("e", "d"),
        ("f", "e"),
        ("g", "f"),
        ("h", "g"),
        ("i", "h"),
    ] {
        let repeated = vec![format!("*{before}"); 10].join(", ");
        text = format!("{text}{name}: &{name} [{repeated}]\n");
    }
    let files = vec![SourceFile::new("x.yaml", text)];
    let catalog = Catalog::load(files, Dialect::Sqlite);
    assert_eq!(
        catalog.diagnostics().len(),
        1,
        "{:?}",
        catalog.diagnostics()
    );
    assert!(catalog.sources().is_empty());
}

#[test]
fn byte_order_marks_and_carriage_returns_are_read() {
    let text = format!(
        "\u{feff}{}",
        ORDERS.replace("orders", "other").replace('\n', "\r\n")
    );
    check(text, &[]);
}

#[test]
fn rules_of_one_source_are_kept() {
    let source = |rest: &str| format!("name: x\n{rest}");
    check(
        source("table: x\nsql: select 1\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n"),
        &["invalid_source x.yaml:2:1: exactly one of `table` and `sql` is allowed"],
    );
    check(
        source("table: x\ngrain: [id]\ncolumns: []\n"),
        &["invalid_source x.yaml:4:1: `columns` must not be empty"],
    );
    check(
        source("table: x\ngrain: []\ncolumns:\n- {name: id, type: number}\n"),
        &["invalid_source x.yaml:3:1: `grain` must not be empty"],
    );
    check(
        source("table: x\ngrain: [id]\ncolumns:\n- {name: id}\n"),
        &["invalid_source x.yaml:5:4: column `id` has no `type`"],
    );
    check(
        source(
            "table: x\ngrain: [id]\ncolumns:\n- {name: id, type: number}\njoins:\n- {to: order, on: id = order.id, relationship: many_to_one}\n",
        ),
        &[
            "orphan_join_target x.yaml:7:4: join to the unknown source `order`; did you mean `orders`",
        ],
    );
    for on in [
        "id > orders.id",
        "id = orders.id or id = 1",
        "id = 3",
        "lower(id) = orders.id",
        "id = nope.id",
    ] {
        let text = source(&format!(
            "table: x\ngrain: [id]\ncolumns:\n- {{name: id, type: number}}\njoins:\n- {{to: orders, on: '{on}', relationship: many_to_one}}\n"
        ));
        let catalog = folder(&[("orders.yaml", ORDERS), ("x.yaml", &text)]);
        let codes: Vec<&str> = catalog
            .diagnostics()
            .iter()
            .map(|one| one.code.as_str())
            .collect();
        assert_eq!(codes, ["invalid_join_condition"], "{on}");
    }
}

#[test]
fn two_files_of_one_name_are_refused_by_that_name() {
    let catalog = folder(&[("a.yaml", ORDERS), ("b.yml", ORDERS)]);
    let query = Query::from_json(r#"{"measures": ["orders.total"]}"#).expect("a query");
    let error = compile(&catalog, &query, Dialect::Sqlite).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::DuplicateSource);
}

#[test]
fn a_broken_source_is_listed_and_refused_by_name() {
    let catalog = folder(&[
        ("orders.yaml", ORDERS),
        ("bad.yaml", "name: bad\ntable: [\n"),
    ]);
    let listed: Vec<(String, usize, bool)> = catalog
        .list()
        .into_iter()
        .map(|one| (one.name, one.column_count, one.is_broken))
        .collect();
    assert_eq!(
        listed,
        [("bad".to_owned(), 0, true), ("orders".to_owned(), 2, false)]
    );
    let query = Query::from_json(r#"{"measures": ["sum(bad.x)"]}"#).expect("a query");
    let error = compile(&catalog, &query, Dialect::Sqlite).expect_err("refused");
    assert_eq!(error.kind, ErrorKind::ParseError);
}

const SHARD: &str = "tables:
  orders:
    table: sales.orders
    columns:
    - {name: id, type: INT64, pk: true}
    - {name: amount, type: 'NUMERIC(10,2)'}
    - {name: secret, type: STRING}
    - {name: customer_id, type: INT64}
    - {name: at, type: DATETIME}
    joins:
    - {to: customers, on: customer_id = customers.id, relationship: many_to_one, source: formal}
    - {to: gone, on: id = gone.id, relationship: many_to_one}
  customers:
    table: sales.customers
    columns:
    - {name: id, type: INT64, pk: true, nullable: false}
    - {name: name, type: STRING, descriptions: {db: the name}}
";

#[test]
fn overlays_extend_scanned_tables() {
    let overlay = "name: orders\ndescriptions: {user: What people bought}\nexclude_columns: [secret]\ncolumn_overrides:\n- {name: amount, visibility: internal}\ncolumns:\n- {name: is_big, type: boolean, expr: amount > 100}\nmeasures:\n- {name: total, expr: sum(amount)}\n- {name: big, expr: count(*), filter: is_big}\n";
    let catalog = folder(&[("_schema/sales.yaml", SHARD), ("orders.yaml", overlay)]);
    let codes: Vec<&str> = catalog
        .diagnostics()
        .iter()
        .map(|one| one.code.as_str())
        .collect();
    assert_eq!(codes, ["unmatched_manifest_join"]);
    let expected = "name: orders
descriptions:
  user: What people bought
table: sales.orders
grain:
- id
columns:
- name: id
  type: number
- name: amount
  type: number
  visibility: internal
- name: customer_id
  type: number
- name: at
  type: time
  role: time
- name: is_big
  type: boolean
  expr: amount > 100
joins:
- to: customers
  on: customer_id = customers.id
  relationship: many_to_one
- to: gone
  on: id = gone.id
  relationship: many_to_one
measures:
- name: total
  expr: sum(amount)
- name: big
  expr: count(*)
  filter: is_big
";
    assert_eq!(catalog.read("orders").expect("the source"), expected);
    let query = Query::from_json(
        r#"{"measures": ["orders.big"], "dimensions": ["customers.name"], "include_empty": false}"#,
    );
    let compiled = compile(&catalog, &query.expect("a query"), Dialect::Sqlite).expect("compiles");
    let expected = "WITH orders_part AS (
SELECT customers.name AS d1_name, COUNT(CASE WHEN (orders.amount > 100) THEN 1 END) AS a1_big
FROM sales.orders AS orders
LEFT JOIN sales.customers AS customers ON orders.customer_id = customers.id
GROUP BY customers.name
)
SELECT d1_name AS name, a1_big AS big
FROM orders_part
ORDER BY name
LIMIT 1000";
    assert_eq!(compiled.sql, expected);
}

#[test]
fn a_table_with_a_broken_overlay_is_refused_with_the_place_in_the_file() {
    let overlay =
        "name: orders\nexclude_columns: [secret\nmeasures:\n- {name: total, expr: sum(amount)}\n";
    let catalog = folder(&[("_schema/sales.yaml", SHARD), ("orders.yaml", overlay)]);
    let listed: Vec<(String, String, bool)> = catalog
        .list()
        .into_iter()
        .map(|one| (one.name, one.path, one.is_broken))
        .collect();
    assert_eq!(
        listed,
        [
            (
                "customers".to_owned(),
                "_schema/sales.yaml#customers".to_owned(),
                false
            ),
            ("orders".to_owned(), "orders.yaml".to_owned(), true),
        ]
    );
    for measure in ["orders.total", "sum(orders.amount)"] {
        let query = Query::from_value(&serde_json::json!({"measures": [measure]}));
        let error =
            compile(&catalog, &query.expect("a query"), Dialect::Sqlite).expect_err("refused");
        assert_eq!(error.kind, ErrorKind::ParseError);
        assert_eq!(
            error.to_string(),
            "source `orders` cannot be used: orders.yaml:3:9: did not find expected ',' or ']'"
        );
    }
}

#[test]
fn a_file_without_a_readable_name_breaks_the_table_that_it_is_called_after() {
    let overlay = "name: orders\nexclude_columns: [secret]\n";
    let utf16: Vec<u8> = overlay.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let damaged: [(&str, Vec<u8>); 5] = [
        (
            "a byte of Latin-1",
            [b"# caf\xe9\n", overlay.as_bytes()].concat(),
        ),
        ("UTF-16", [vec![0xff, 0xfe], utf16].concat()),
        ("nothing", Vec::new()),
        (
            "a mistyped key",
            overlay.replace("name", "nmae").into_bytes(),
        ),
        ("a list", overlay.replace("orders", "[orders]").into_bytes()),
    ];
    for (what, bytes) in damaged {
        let files = vec![
            SourceFile::new("_schema/sales.yaml", SHARD),
            SourceFile::new("orders.yaml", bytes),
        ];
        let catalog = Catalog::load(files, Dialect::Sqlite);
        let query = Query::from_value(&serde_json::json!({"measures": ["sum(orders.amount)"]}));
        let error =
            compile(&catalog, &query.expect("a query"), Dialect::Sqlite).expect_err("refused");
        assert!(error.to_string().contains("orders.yaml"), "{what}: {error}");
        let others = Query::from_value(&serde_json::json!({"measures": ["count(customers.id)"]}));
        let answered = compile(&catalog, &others.expect("a query"), Dialect::Sqlite);
        assert!(answered.is_ok(), "{what}: {answered:?}");
    }
}

#[test]
fn what_cannot_be_a_name_is_listed_by_its_file() {
    for (text, expected) in [
        ("name: [", "bad"),
        ("name: {a: 1\n", "bad"),
        ("name: |\n  x\ntable: [", "bad"),
        ("name: 'orders_two\ntable: x", "orders_two"),
        ("name: orders_two # mine\ntable: [", "orders_two"),
    ] {
        let catalog = folder(&[("bad.yaml", text)]);
        let names: Vec<String> = catalog.list().into_iter().map(|one| one.name).collect();
        assert_eq!(names, [expected], "{text}");
    }
}

fn check_overlay(rest: &str, expected: &str) {
    let overlay = format!("name: orders\n{rest}");
    let catalog = folder(&[("_schema/sales.yaml", SHARD), ("orders.yaml", &overlay)]);
    let errors: Vec<&str> = catalog
        .diagnostics()
        .iter()
        .filter(|one| one.severity == ktx_diagnostics::Severity::Error)
        .map(|one| one.code.as_str())
        .collect();
    assert_eq!(errors, [expected], "{rest}");
}

#[test]
fn overlays_that_break_a_rule_are_refused() {
    check_overlay(
        "column_overrides:\n- {name: nope, role: time}\n",
        "invalid_overlay",
    );
    check_overlay(
        "column_overrides:\n- {name: amount, type: string}\n",
        "invalid_overlay",
    );
    check_overlay(
        "column_overrides:\n- {name: secret, role: time}\nexclude_columns: [secret]\n",
        "invalid_overlay",
    );
    check_overlay(
        "columns:\n- {name: amount, type: number, expr: '1'}\n",
        "invalid_overlay",
    );
    check_overlay(
        "columns:\n- {name: other, type: number}\n",
        "invalid_overlay",
    );
    check_overlay("description: flat\n", "invalid_overlay");
    check_overlay("mesures: []\n", "invalid_source");
    check_overlay(
        "table: orders\ngrain: [id]\ncolumns:\n- {name: id, type: number}\n",
        "duplicate_source",
    );
}

#[test]
fn one_table_name_in_two_schemas_makes_two_sources() {
    let shard = |schema: &str| {
        format!(
            "tables:\n  orders:\n    table: {schema}.orders\n    columns:\n    - {{name: id, type: int, pk: true}}\n    joins:\n    - {{to: items, on: id = items.order_id, relationship: one_to_many}}\n  items:\n    table: {schema}.items\n    columns:\n    - {{name: order_id, type: int, pk: true}}\n"
        )
    };
    let catalog = folder(&[
        ("_schema/a.yaml", &shard("a")),
        ("_schema/b.yaml", &shard("b")),
    ]);
    let names: Vec<&str> = catalog
        .sources()
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["a.items", "a.orders", "b.items", "b.orders"]);
    let query = Query::from_json(
        r#"{"measures": ["count(b.items.order_id)"], "dimensions": ["b.orders.id"], "include_empty": false}"#,
    );
    let compiled = compile(&catalog, &query.expect("a query"), Dialect::Sqlite).expect("compiles");
    assert!(
        compiled
            .sql
            .contains("FROM b.items AS b_items\nLEFT JOIN b.orders AS b_orders ON"),
        "{}",
        compiled.sql
    );
}

#[test]
fn a_broken_shard_is_named_where_a_source_is_missing() {
    let query = Query::from_json(r#"{"measures": ["sum(customers.id)"]}"#).expect("a query");
    for (shard, expected) in [
        (
            "tables:\n  customers:\n    columns: [\n",
            (
                ErrorKind::ParseError,
                "unknown source `customers`; `_schema/x.yaml:4:1` cannot be read: did not find expected node content",
            ),
        ),
        (
            "tables:\n  customers: {tabel: customers}\n",
            (
                ErrorKind::InvalidSource,
                "unknown source `customers`; `_schema/x.yaml:2:15` cannot be read: tables.customers: unknown field `tabel`",
            ),
        ),
    ] {
        let catalog = folder(&[("orders.yaml", ORDERS), ("_schema/x.yaml", shard)]);
        let error = compile(&catalog, &query, Dialect::Sqlite).expect_err("refused");
        let message: String = error.to_string();
        let message = message.split(", expected").next().unwrap_or_default();
        assert_eq!((error.kind, message), expected);
    }
}

#[test]
fn one_table_name_in_two_shards_is_refused() {
    let shard = |table: &str| {
        format!(
            "tables:\n  a:\n    table: {table}\n    columns: [{{name: id, type: int, pk: true}}]\n"
        )
    };
    for tables in [["a", "a"], ["a", "a2"], ["a", "main.a"], ["x.a", "x.a"]] {
        let [one, other] = tables.map(shard);
        let catalog = folder(&[("_schema/one.yaml", &one), ("_schema/other.yaml", &other)]);
        let found: Vec<String> = catalog
            .diagnostics()
            .iter()
            .map(|one| format!("{} {one}", one.code))
            .collect();
        assert_eq!(
            found,
            ["duplicate_source _schema/other.yaml: table `a` is in two manifest shards"],
            "{tables:?}"
        );
    }
}

#[test]
fn the_schema_accepts_the_sources_of_every_model() {
    let validator = jsonschema::draft7::new(&source_schema()).expect("a schema");
    for file in ["clinic", "fleet", "ledger"]
        .into_iter()
        .flat_map(model_files)
    {
        let value: serde_json::Value = serde_yaml::from_slice(&file.bytes).expect("YAML");
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", file.path);
    }
}
