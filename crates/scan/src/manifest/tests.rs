//! Tests the manifest.

use serde_yaml::Value;

use crate::manifest::joins::{Join, JoinSource, merged_joins, simple_pairs};

#[test]
fn reads_simple_conditions_and_leaves_others() {
    let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
    assert_eq!(simple_pairs("a.x = b.y"), Some(vec![pair("x", "y")]));
    assert_eq!(
        simple_pairs("s.a.x = s.b.y  and a.\"z w\" = b.`q`"),
        Some(vec![pair("x", "y"), pair("z w", "q")])
    );
    for other in [
        "a.x > b.y",
        "lower(a.x) = b.y",
        "a.x = b.y OR a.z = b.z",
        "x",
        "a.x = 'c' || b.y",
    ] {
        assert_eq!(simple_pairs(other), None, "{other}");
    }
}

#[test]
fn manual_joins_come_first_then_formal_then_inferred_ones() {
    let standing: Value = serde_yaml::from_str(
        "- {to: b, 'on': a.x = b.x, relationship: many_to_one, source: inferred}
- {to: c, 'on': a.c = c.id, relationship: many_to_one, source: manual, alias: main}
- {to: gone, 'on': a.g = gone.id, relationship: many_to_one, source: manual}
- {to: d, 'on': a.d = d.id, relationship: many_to_one, source: formal}
- {to: c, 'on': a.c  =  c.id, relationship: one_to_one, source: inferred}
",
    )
    .expect("YAML");
    let join = |to: &str, on: &str, formal: bool| Join {
        to: to.to_owned(),
        on: on.to_owned(),
        relationship: "many_to_one",
        formal,
        coverage: None,
        evidence: None,
        is_keyed: Some(false),
    };
    let new = [
        join("e", "a.e = e.id", true),
        join("b", "a.y = b.y", false),
        join("c", "a.c = c.id", false),
    ];
    let merged = merged_joins(Some(&standing), &new, |join| {
        join.to != "gone" && join.source != JoinSource::Formal
    });
    let expected: Value = serde_yaml::from_str(
        "- {to: c, 'on': a.c = c.id, relationship: many_to_one, source: manual, alias: main}
- {to: e, 'on': a.e = e.id, relationship: many_to_one, source: formal}
- {to: b, 'on': a.x = b.x, relationship: many_to_one, source: inferred}
- {to: b, 'on': a.y = b.y, relationship: many_to_one, source: inferred}
",
    )
    .expect("YAML");
    assert_eq!(Value::Sequence(merged), expected);
}
