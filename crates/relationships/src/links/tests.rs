//! Tests declared links, and decisions and their file.

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, DimensionType, ForeignKey, Table, TableKind};

use crate::links::decisions::{DecidedSide, Decision, Decisions, Verdict};
use crate::links::declared::formal_links;
use crate::links::link::{Cardinality, Status};

fn side(table: &str, column: &str) -> DecidedSide {
    DecidedSide {
        table: table.to_owned(),
        columns: vec![column.to_owned()],
    }
}

#[test]
fn decisions_survive_their_file_and_replace_each_other() {
    let decision = Decision {
        from: side("public.orders", "customer"),
        to: side("public.customers", "id"),
        relationship: None,
        by: Some("ada".to_owned()),
        at: Some("2026-01-31T09:00:00Z".to_owned()),
        note: None,
    };
    let mut decisions = Decisions::default();
    decisions.decide(Verdict::Accept, decision.clone());
    decisions.decide(Verdict::Reject, decision.clone());
    assert_eq!(
        decisions,
        Decisions {
            accepted: Vec::new(),
            rejected: vec![decision]
        }
    );
    let text = decisions.to_yaml().expect("YAML");
    assert_eq!(Decisions::parse(&text), Ok(decisions));
    assert_eq!(Decisions::parse("\n"), Ok(Decisions::default()));
}

#[test]
fn a_decision_leaves_what_people_wrote_beside_it() {
    let before = "# ours
rejected:
  # They only look alike.
  - from: {table: a, columns: [x]} # old
    to: {table: b, columns: [y]}
    note: null
accepted: []  # none yet
";
    let mut decisions = Decisions::parse(before).expect("decisions");
    assert_eq!(
        decisions.edited(before).as_deref(),
        Ok(&*before.replace("    note: null\n", ""))
    );
    let decision = |from: &str, note: &str| Decision {
        from: side(from, "x"),
        to: side("b", "y"),
        relationship: None,
        by: None,
        at: None,
        note: Some(note.to_owned()),
    };
    decisions.decide(Verdict::Reject, decision("a", "sure"));
    decisions.decide(Verdict::Accept, decision("c", "new"));
    let after = before.replace("note: null", "note: sure").replace(
        "accepted: []  # none yet\n",
        "accepted:  # none yet
  - from:
      table: c
      columns:
        - x
    to:
      table: b
      columns:
        - 'y'
    note: new
",
    );
    assert_eq!(decisions.edited(before).as_deref(), Ok(after.as_str()));
    assert_eq!(Decisions::parse(&after), Ok(decisions));
    assert_eq!(
        Decisions::default().edited(
            "rejected:\n- &a\n  from: {table: a, columns: [x]}\n  to: {table: b, columns: [y]}\n"
        ),
        Ok("accepted: []\nrejected: []\n".to_owned())
    );
    assert_eq!(
        Decisions::default()
            .edited("{accepted: []} # ours\n")
            .map_err(|_| ()),
        Err(())
    );
}

#[test]
fn decisions_that_cannot_be_read_are_refused() {
    let uneven = "rejected:\n  - from: {table: a, columns: [x]}\n    to: {table: b, columns: []}\n";
    assert_eq!(
        Decisions::parse(uneven),
        Err("`a` and `b` must name the same number of columns, at least one".to_owned())
    );
    assert!(Decisions::parse("acepted: []").is_err());
}

fn table(name: &str, primary_key: &[&str], foreign_keys: Vec<ForeignKey>) -> Table {
    let column = |name: &str| Column {
        name: name.to_owned(),
        native_type: "INTEGER".to_owned(),
        normalized_type: "INTEGER".to_owned(),
        dimension_type: DimensionType::Number,
        nullable: true,
        primary_key: primary_key.contains(&name),
        comment: None,
    };
    Table {
        table: TableRef::new(None, Some("s"), name),
        kind: TableKind::Table,
        comment: None,
        estimated_rows: None,
        columns: ["a", "b"].map(column).into(),
        primary_key: primary_key.iter().map(|name| (*name).to_owned()).collect(),
        foreign_keys,
    }
}

#[test]
fn declared_keys_are_links_as_they_are() {
    let key = |to: &str, columns: &[&str]| {
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        ForeignKey {
            constraint_name: None,
            from_columns: columns.clone(),
            to_table: TableRef::new(None, Some("s"), to),
            to_columns: columns,
        }
    };
    let child = table(
        "child",
        &["a"],
        vec![
            key("parent", &["a", "b"]),
            key("parent", &["a"]),
            key("gone", &["a"]),
            key("parent", &["a"]),
            key("parent", &["b"]),
        ],
    );
    let found: Vec<(String, Status, Cardinality)> =
        formal_links(&[child, table("parent", &["a", "b"], Vec::new())])
            .into_iter()
            .map(|link| (link.id(), link.status, link.cardinality))
            .collect();
    let expected = [
        (
            "s.child:(a,b)->s.parent:(a,b)",
            Status::Accepted,
            Cardinality::OneToOne,
        ),
        (
            "s.child:(a)->s.parent:(a)",
            Status::Accepted,
            Cardinality::OneToOne,
        ),
        (
            "s.child:(a)->s.gone:(a)",
            Status::Skipped,
            Cardinality::OneToOne,
        ),
        (
            "s.child:(a)->s.parent:(a)",
            Status::Skipped,
            Cardinality::OneToOne,
        ),
        (
            "s.child:(b)->s.parent:(b)",
            Status::Accepted,
            Cardinality::ManyToOne,
        ),
    ];
    assert_eq!(
        found,
        expected.map(|(id, status, cardinality)| (id.to_owned(), status, cardinality))
    );
}
