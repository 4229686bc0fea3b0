//! Tests LookML projects: the files read, the units and the facts.

use ktx_context_sources::lookml::{facts, read, units};
use ktx_context_sources::{LeftOut, Snapshot};

use crate::metricflow::{grouped, shown};
use crate::{folder, put};

fn snapshot(files: &[(&str, &str)]) -> Snapshot {
    read(folder(files).path()).expect("a project")
}

#[test]
fn plain_columns_of_plain_tables_are_described() {
    let orders = r#"
# a comment with ;; and "quotes
view: orders {
  sql_table_name: shop."Orders" ;;
  dimension: id { primary_key: yes type: number sql: ${TABLE}.id ;; description: "The \"key\"." }
  dimension: state { sql: ${TABLE}.status ;; description: "Not this." }
  dimension: status { hidden: yes description: "The state." }
  dimension: label_only { label: "Label" }
  dimension: upper { sql: upper(${TABLE}.name) ;; description: "No column." }
  dimension: age_tier { type: tier tiers: [0, 10] sql: ${TABLE}.age ;; description: "Tiers." }
  dimension: size { case: { when: { sql: ${TABLE}.n > 1 ;; label: "big" } else: "small" } description: "A case." }
  dimension_group: created { type: time timeframes: [raw, date] sql: ${TABLE}.`created_at` ;; description: "When." }
  measure: total { type: sum sql: ${amount} ;; filters: [status: "paid", -x: "y"] description: "A measure." }
  set: detail { fields: [id, ALL_FIELDS*, orders.status] }
}
view: implicit { dimension: name { description: "Its name." } }
view: derived { derived_table: { sql: select 1 ;; } dimension: a { description: "A." } }
"#;
    let facts = facts(&snapshot(&[("views/orders.view.lkml", orders)]), None);
    assert_eq!(facts.warnings, Vec::<String>::new());
    assert!(facts.is_complete);
    assert_eq!(
        shown(&facts),
        [
            "implicit: - | name = Its name.",
            "shop.Orders: - | id = The \"key\". | status = The state. | created_at = When.",
        ]
    );
}

#[test]
fn extended_and_refined_views_are_read_as_one() {
    let facts = facts(
        &snapshot(&[
            ("manifest.lkml", "constant: schema { value: \"mart\" }"),
            (
                "a.view.lkml",
                "view: base { extension: required extends: [loop]\n dimension: id { description: \"Base id.\" } dimension: at { description: \"Base time.\" } }",
            ),
            (
                "b.view.lkml",
                "view: orders { extends: [base] sql_table_name: @{schema}.orders ;; dimension: at { description: \"Order time.\" } }",
            ),
            (
                "c.view.lkml",
                "view: +orders { dimension: id { label: \"Id\" description: \"Refined id.\" } }",
            ),
            (
                "d.view.lkml",
                "view: loop { extends: [base] sql_table_name: `p-1.d.loop` ;; }",
            ),
        ]),
        None,
    );
    assert_eq!(facts.warnings, Vec::<String>::new());
    assert_eq!(
        shown(&facts),
        [
            "p-1.d.loop: - | at = Base time. | id = Base id.",
            "mart.orders: - | at = Order time. | id = Refined id.",
        ]
    );
}

#[test]
fn unreadable_parts_are_reported_with_their_place() {
    let deep = format!("view: v {{ {}", "a: {".repeat(100_000));
    let facts = facts(
        &snapshot(&[
            ("a.lkml", "view: a {\n  label: \"open\n}"),
            ("b.lkml", "view: b {\n  dimension: x { sql: ${TABLE}.x }\n}"),
            ("c.lkml", "view: c {"),
            ("d.lkml", "view c {}"),
            ("e.lkml", "}"),
            ("f.lkml", &deep),
            ("g.lkml", "x: [a, b"),
            (
                "h.lkml",
                "view: h {\n  sql_table_name: {% parameter p %}.h ;; }",
            ),
            (
                "i.lkml",
                "view: i { dimension: x { description: \"@{gone}\" } dimension: y { description: \"postgres://u:hunter2@h/d\" } }",
            ),
        ]),
        None,
    );
    assert!(!facts.is_complete);
    assert_eq!(shown(&facts), Vec::<String>::new());
    assert_eq!(
        facts.warnings,
        [
            "a.lkml:2:10: the text in quotes does not end",
            "b.lkml:2:23: a `;;` is missing after `sql`",
            "c.lkml:1:9: the block does not end",
            "d.lkml:1:6: a `:` is missing after `view`",
            "e.lkml:1:1: no block ends here",
            "f.lkml:1:266: blocks are nested too deeply",
            "g.lkml:1:4: the list does not end",
            "h.lkml:2:3: `h` was left out: its `sql_table_name` is not a plain name",
            "i.lkml:1:11: the `description` of `i.x` was left out: only Looker can write it out",
            "i.lkml:1:51: the `description` of `i.y` looks like a password or key and was left out",
        ]
    );
}

#[test]
fn a_model_is_read_with_the_views_that_it_includes() {
    let files = [
        (
            "models/a.model.lkml",
            "connection: \"shop\"\ninclude: \"/views/*.view.lkml\"\ninclude: \"//other/x.view\"",
        ),
        (
            "models/b.model.lkml",
            "connection: \"shop\"\ninclude: \"/views/**/*.view\"\ninclude: \"near\"",
        ),
        (
            "models/c.model.lkml",
            "include: \"*.dashboard\"\ninclude: \"legacy*\"",
        ),
        ("models/near.lkml", "include: \"../views/deep/er/leaf\""),
        (
            "views/one.view.lkml",
            "include: \"two.view\"\nview: one { extends: [two] }",
        ),
        (
            "views/two.view.lkml",
            "include: \"one.view\"\nview: two { }",
        ),
        ("views/deep/three.view.lkml", "view: three {}"),
        ("views/deep/er/leaf.lkml", "view: +one {}"),
        ("legacy.view.lookml", "view: legacy {}"),
        ("alone.view.lkml", "view: alone { extends: [legacy] }"),
        (
            "dash/sales.dashboard.lookml",
            "- dashboard: sales\n  elements:\n  - name: a\n    model: a\n",
        ),
    ];
    assert_eq!(
        grouped(&units(&snapshot(&files), None)),
        [
            "lookml-a: models/a.model.lkml views/one.view.lkml views/two.view.lkml < views/deep/er/leaf.lkml",
            "lookml-b: models/b.model.lkml models/near.lkml views/deep/er/leaf.lkml views/deep/three.view.lkml < views/one.view.lkml views/two.view.lkml",
            "lookml-c: models/c.model.lkml legacy.view.lookml",
            "lookml-orphans: alone.view.lkml < legacy.view.lookml",
            "lookml-dashboard-sales: dash/sales.dashboard.lookml < models/a.model.lkml",
        ]
    );
}

#[test]
fn models_of_other_connections_write_pages_only() {
    let view =
        |name: &str| format!("view: {name} {{ dimension: id {{ description: \"Of {name}.\" }} }}");
    let (ours, both, theirs, orphan) = (view("ours"), view("both"), view("theirs"), view("orphan"));
    let snapshot = snapshot(&[
        (
            "a.model.lkml",
            "connection: \"@{name}\"\ninclude: \"theirs\"\ninclude: \"both\"",
        ),
        (
            "b.model.lkml",
            "connection: \"shop\"\ninclude: \"ours\"\ninclude: \"both\"",
        ),
        ("manifest.lkml", "constant: name { value: \"crm\" }"),
        ("ours.lkml", &ours),
        ("both.lkml", &both),
        ("theirs.lkml", &theirs),
        ("orphan.lkml", &orphan),
    ]);
    let found = facts(&snapshot, Some("shop"));
    assert_eq!(
        shown(&found),
        ["both: - | id = Of both.", "ours: - | id = Of ours."]
    );
    assert_eq!(
        found.warnings,
        [
            "a.model.lkml: the model is about the Looker connection `crm`, not `shop`: ktx imports none of it, and its units write pages only"
        ]
    );
    assert_eq!(
        grouped(&units(&snapshot, Some("shop"))),
        [
            "lookml-a: a.model.lkml theirs.lkml < both.lkml pages only",
            "lookml-b: b.model.lkml both.lkml ours.lkml",
            "lookml-orphans: manifest.lkml orphan.lkml pages only",
        ]
    );
    assert_eq!(shown(&facts(&snapshot, None)).len(), 4);
}

#[test]
fn ancestors_are_of_the_same_connection() {
    let base = |words: &str| {
        format!(
            "view: base {{ dimension: status {{ description: \"{words}\" sql: ${{TABLE}}.status ;; }} }}"
        )
    };
    let (theirs, ours) = (base("Of the CRM."), base("Of the shop."));
    let snapshot = snapshot(&[
        ("a.model.lkml", "connection: \"crm\"\ninclude: \"base_a\""),
        (
            "b.model.lkml",
            "connection: \"shop\"\ninclude: \"base_b\"\ninclude: \"orders\"",
        ),
        ("base_a.lkml", &theirs),
        ("base_b.lkml", &ours),
        (
            "orders.lkml",
            "view: orders { extends: [base] sql_table_name: orders ;; }",
        ),
    ]);
    let found = facts(&snapshot, Some("shop"));
    assert_eq!(
        shown(&found),
        [
            "base: - | status = Of the shop.",
            "orders: - | status = Of the shop."
        ]
    );
}

#[test]
fn long_models_are_read_in_parts() {
    let filler = format!("# {}\n", "x".repeat(40_000));
    let snapshot = snapshot(&[
        ("m.model.lkml", "include: \"*.view\""),
        ("a.view.lkml", &filler),
        ("b.view.lkml", &filler),
    ]);
    assert_eq!(
        grouped(&units(&snapshot, None)),
        [
            "lookml-m: m.model.lkml a.view.lkml",
            "lookml-m-2: b.view.lkml < m.model.lkml",
        ]
    );
}

#[test]
fn fields_in_lists_may_be_called_as_sql_is() {
    let view = r#"view: orders {
  dimension: sql_status { sql: ${TABLE}.sql_status ;; description: "The state." }
  measure: paid { type: count filters: [sql_status: "paid", html: "x"] }
  drill: { sorts: [sql_rank: desc, expression: asc] }
}
"#;
    let facts = facts(&snapshot(&[("orders.view.lkml", view)]), None);
    assert_eq!(facts.warnings, Vec::<String>::new());
    assert_eq!(shown(&facts), ["orders: - | sql_status = The state."]);
}

#[test]
fn odd_files_are_left_out() {
    let folder = folder(&[
        (
            "bom.lkml",
            "\u{feff}view: a { dimension: x { description: \"X.\" } }",
        ),
        (".git/hidden.lkml", "view: b {}"),
        ("readme.md", "# No"),
    ]);
    put(folder.path(), "long.lkml", &vec![b'#'; 1_000_001]);
    put(folder.path(), "latin.lkml", b"view: \xe9");
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("out.lkml")).expect("a link");
    let snapshot = read(folder.path()).expect("a project");
    let left = |path: &str, reason: &str| LeftOut {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    assert_eq!(
        snapshot.left_out,
        [
            left("latin.lkml", "byte 6 is not UTF-8"),
            left(
                "long.lkml",
                "it has 1000001 bytes, at most 1000000 are read"
            ),
            left(
                "out.lkml",
                "is a link that leads out of the project and is not read"
            ),
        ]
    );
    let facts = facts(&snapshot, None);
    assert!(!facts.is_complete);
    assert_eq!(shown(&facts), ["a: - | x = X."]);
    let empty = tempfile::tempdir().expect("a folder");
    let error = read(empty.path()).unwrap_err().to_string();
    assert!(
        error.starts_with("there is no LookML (`*.lkml`, `*.lookml`) in `"),
        "{error}"
    );
}

#[test]
fn circular_includes_are_reported_once() {
    let view = |name: &str, include: &str| {
        format!(
            "include: \"{include}\"\nview: {name} {{ dimension: a {{ description: \"{name}.\" }} }}\n"
        )
    };
    let facts = facts(
        &snapshot(&[
            (
                "shop.model.lkml",
                "include: \"a.view\"\ninclude: \"*.view\"\n",
            ),
            ("a.view.lkml", &view("a", "b.view")),
            ("b.view.lkml", &view("b", "c.view")),
            ("c.view.lkml", &view("c", "a.view")),
            ("d.view.lkml", &view("d", "a.view")),
            ("e.view.lkml", &view("e", "/e.view")),
        ]),
        None,
    );
    assert_eq!(
        facts.warnings,
        [
            "a.view.lkml: it includes itself through `b.view.lkml`; each file counts once",
            "e.view.lkml: it includes itself through `e.view.lkml`; each file counts once",
        ]
    );
    assert_eq!(facts.tables.len(), 5);
    assert!(facts.is_complete);
}
