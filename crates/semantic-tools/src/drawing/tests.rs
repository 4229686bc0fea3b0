//! Tests of the drawn graph.

use ktx_sql::Dialect;
use serde_json::json;

use super::{draw_mermaid, draw_svg, graph_json};
use ktx_semantic_layer::Catalog;
use ktx_semantic_layer::SourceFile;

fn source(name: &str, joins: &str, measures: &str) -> SourceFile {
    let text = format!(
        "name: {name:?}\ntable: t\ngrain: [id]\ncolumns:\n  - {{name: id, type: number}}\n  - {{name: who, type: number}}\n  - {{name: at, type: time}}\njoins: [{joins}]\nmeasures: [{measures}]\n"
    );
    SourceFile::new(format!("{}.yaml", name.len()), text)
}

fn shop() -> Catalog {
    let joined = |to: &str| format!("{{to: {to}, on: who = {to}.id, relationship: many_to_one}}");
    let count = "{name: rows, expr: count(*)}";
    let files = vec![
        source("customers", &joined("towns"), ""),
        source("towns", "", ""),
        source("tickets", &joined("customers"), count),
        source("orders", &joined("customers"), count),
        source("order lines", &joined("orders"), count),
        source("islands <&>", "", ""),
    ];
    let mut files: Vec<SourceFile> = files;
    for (at, file) in files.iter_mut().enumerate() {
        file.path = format!("{at}.yaml");
    }
    Catalog::load(files, Dialect::Sqlite)
}

#[test]
fn facts_that_meet_and_rows_that_repeat_are_warned_of() {
    let graph = graph_json(&shop());
    assert_eq!(
        graph["warnings"],
        json!([
            {
                "kind": "chasm",
                "at": "customers",
                "facts": ["order lines", "orders", "tickets"],
                "joins": ["orders.who = customers.id", "tickets.who = customers.id"],
            },
            {
                "kind": "fan_out",
                "at": "orders",
                "facts": ["orders", "order lines"],
                "joins": ["order lines.who = orders.id"],
            },
        ])
    );
    assert_eq!(
        graph["edges"][0],
        json!({"from": "customers", "to": "towns", "from_rows": "many", "to_rows": "one", "on": "customers.who = towns.id"})
    );
    assert_eq!(
        graph["nodes"][2],
        json!({"name": "order lines", "source": "order lines", "kind": "fact", "grain": ["id"], "columns": 3, "measures": 1, "problem": null})
    );
}

#[test]
fn mermaid_gets_words_it_can_read() {
    assert_eq!(
        draw_mermaid(&shop()),
        r#"erDiagram
    customers {
        number id PK
        number who FK
    }
    node_2["islands <&>"] {
        number id PK
    }
    node_3["order lines"] {
        number id PK
        number who FK
        measure rows "count(*)"
    }
    orders {
        number id PK
        number who FK
        measure rows "count(*)"
    }
    tickets {
        number id PK
        number who FK
        measure rows "count(*)"
    }
    towns {
        number id PK
    }
    customers }o--o| towns : "who = id"
    node_3 }o--o| orders : "who = id"
    orders }o--o| customers : "who = id"
    tickets }o--o| customers : "who = id"
    %% chasm point customers: order lines, orders, tickets meet here
"#
    );
}

#[test]
fn the_picture_is_escaped_marked_and_always_the_same() {
    let picture = draw_svg(&shop());
    assert_eq!(picture, draw_svg(&shop()));
    let count = |text: &str| picture.matches(text).count();
    assert_eq!(count(">islands &lt;&amp;&gt;</text>"), 1);
    assert_eq!(
        count("chasm point: order lines, orders, tickets meet here"),
        1
    );
    // Two joins into the chasm, the fan-out, and its line in the legend.
    assert_eq!(count("stroke-dasharray=\"6 4\""), 4);
    assert_eq!(count("<title>"), 1 + 6 + 4);
}

#[test]
fn joins_run_from_left_to_right_and_boxes_do_not_overlap() {
    let catalog = shop();
    let model = super::model::Model::of(&catalog);
    let layout = super::layout::layout(&model);
    for way in &layout.ways {
        assert!(way.points.is_sorted_by_key(|(x, _)| *x), "{way:?}");
    }
    for (at, one) in layout.areas.iter().enumerate() {
        for other in layout.areas.iter().skip(at + 1) {
            let apart = one.x != other.x || (one.y - other.y).abs() > super::layout::BOX_HEIGHT;
            assert!(apart, "{one:?} {other:?}");
        }
    }
}

#[test]
fn cycles_roles_and_empty_catalogs_can_be_drawn() {
    let file = |path: &str, text: &str| SourceFile::new(path, text);
    let catalog = Catalog::load(
        vec![
            file(
                "a.yaml",
                "name: a\ntable: a\ngrain: [id]\ncolumns: [{name: id, type: number}, {name: b, type: number}, {name: boss, type: number}]\njoins:\n  - {to: b, on: b = b.id, relationship: many_to_one}\n  - {to: a, alias: bosses, on: boss = bosses.id, relationship: many_to_one}\n",
            ),
            file(
                "b.yaml",
                "name: b\ntable: b\ngrain: [id]\ncolumns: [{name: id, type: number}, {name: a, type: number}]\njoins:\n  - {to: a, on: a = a.id, relationship: many_to_one}\n",
            ),
        ],
        Dialect::Sqlite,
    );
    let edges: Vec<String> = graph_json(&catalog)["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| format!("{} {}", edge["on"], edge["to_rows"]))
        .collect();
    assert_eq!(
        edges,
        [
            r#""a.b = b.id" "one""#,
            r#""a.boss = bosses.id" "one""#,
            r#""b.a = a.id" "one""#
        ]
    );
    assert_eq!(draw_svg(&catalog).matches("<rect x=").count(), 3);
    assert_eq!(
        draw_svg(&Catalog::load(Vec::new(), Dialect::Sqlite))
            .matches("<rect x=")
            .count(),
        0
    );
}
