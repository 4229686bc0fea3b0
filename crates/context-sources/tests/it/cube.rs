//! Tests what cubes define, and why the rest is left out.

use std::fmt::Write as _;
use std::path::Path;

use ktx_context_sources::cube::{definitions, facts, read, units};
use ktx_context_sources::{Definitions, Snapshot};

use crate::folder;

fn fixture() -> Snapshot {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imports/cube/models");
    read(&models).expect("a project")
}

fn shown(definitions: &Definitions) -> String {
    let mut text = String::new();
    for model in &definitions.models {
        let _ = writeln!(text, "{} over {}", model.name, model.table.name);
        for column in &model.columns {
            let _ = writeln!(text, "  column {} at {}", column.name, column.spot);
        }
        for join in &model.joins {
            let _ = writeln!(
                text,
                "  join {} {:?} {:?}",
                join.to, join.cardinality, join.pairs
            );
        }
        for measure in &model.measures {
            let (name, lost) = (&measure.name, &measure.lost);
            let _ = writeln!(text, "  measure {name} at {} lost {lost:?}", measure.spot);
        }
        for segment in &model.segments {
            let _ = writeln!(text, "  segment {} at {}", segment.name, segment.spot);
        }
    }
    for left in &definitions.left {
        let (kind, name) = (left.kind.name(), &left.name);
        let _ = writeln!(text, "left {kind} {name} ({:?}): {}", left.why, left.reason);
    }
    text
}

#[test]
fn each_member_is_translated_or_has_a_reason() {
    insta::assert_snapshot!(shown(&definitions(&fixture())), @r#"
    base_orders over orders
      measure count at orders.yml:9 lost []
    customers over customers
      measure customers at orders.yml:14 lost []
    orders over orders
      column net at orders.yml:17
      join customers ManyToOne [ColumnPair { own: "customer_id", other: "id" }]
      measure count at orders.yml:9 lost []
      measure revenue at orders.yml:20 lost []
      measure net_revenue at orders.yml:21 lost []
      measure paid_revenue at orders.yml:22 lost []
      measure real_revenue at orders.yml:23 lost []
      measure paid_share at orders.yml:24 lost []
      measure buyers at orders.yml:25 lost []
      measure about_buyers at orders.yml:26 lost ["it counts exactly, where Cube estimates"]
      measure running__base at orders.yml:27 lost []
      measure running at orders.yml:27 lost ["a coarser period shows its last value"]
      measure week__base at orders.yml:28 lost []
      measure week at orders.yml:28 lost ["a coarser period shows its last value"]
      segment paid at orders.yml:32
    left measure latest.people (NotATable): its cube is a query of its own
    left measure orders.ahead (NotTranslated): a rolling window that looks ahead has no counterpart
    left measure orders.templated (NotTranslated): only Cube can write its SQL out
    left measure ring_a.turns (NotTranslated): it extends a cube that is unknown, or itself
    left column orders.size (NotTranslated): a dimension with `case` has no counterpart
    left join orders.nowhere (NotTranslated): the table of the cube `nowhere` is not known
    "#);
    assert_eq!(facts(&fixture()).warnings, Vec::<String>::new());
}

#[test]
fn half_a_file_is_named() {
    let folder = folder(&[
        (
            "a.yml",
            "cubes:\n  - {name: a, sql_table: a, measures: [{name: n, type: count}]}\n",
        ),
        ("b.yml", "cubes:\n  - {name: b, sql_table: [\n"),
        ("node_modules/c.yml", "cubes: []"),
        ("other.yml", "models: []"),
    ]);
    let snapshot = read(folder.path()).expect("a project");
    let units = units(&snapshot);
    assert_eq!(units.len(), 1);
    assert_eq!((units[0].key.as_str(), units[0].files.len()), ("cube-a", 2));
    let facts = facts(&snapshot);
    assert!(!facts.is_complete);
    insta::assert_snapshot!(facts.warnings.join("\n"), @"b.yml:3:1: did not find expected node content");
    insta::assert_snapshot!(shown(&definitions(&snapshot)), @"
    a over a
      measure n at a.yml:2 lost []
    ");
    let none = crate::folder(&[("other.yml", "models: []")]);
    let error = read(none.path()).expect_err("no cubes").to_string();
    assert!(
        error.starts_with("there is no YAML of `cubes` or `views` in"),
        "{error}"
    );
}
