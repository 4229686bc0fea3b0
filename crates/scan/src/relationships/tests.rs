//! Tests of names, decisions and probes on values.

use std::collections::{BTreeMap, BTreeSet};

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Cell, Column, DimensionType, ForeignKey, RowSink as _, Table, TableKind};

use crate::profile::Extent;
use crate::profile::table::TableCollector;
use crate::relationships::composite::Proposal;
use crate::relationships::decisions::{DecidedSide, Decision, Decisions, Verdict};
use crate::relationships::discover::formal_links;
use crate::relationships::entity::{ColumnName, KeyMark, TableName, entity_match};
use crate::relationships::modules::Modules;
use crate::relationships::prefix::{Prefix, shared_prefix};

use crate::relationships::facts::Facts;
use crate::relationships::link::{Cardinality, Status};
use crate::relationships::probe::{groups_sql, values_sql};
use crate::types::{ColumnId, TypeFamily};

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn reads_the_entity_out_of_a_table_name() {
    let check = |name: &str, entity: &str, layer: Option<&str>, namespace: Option<&str>| {
        let modules = Modules {
            first: BTreeSet::from(["crm".to_owned()]),
            last: BTreeSet::from(["us".to_owned()]),
        };
        let read = TableName::read(name, None, &modules);
        assert_eq!(
            (read.words.join(" "), read.layer, read.namespace.as_deref()),
            (entity.to_owned(), layer, namespace),
            "{name}"
        );
    };
    check("orders", "orders", None, None);
    check("stg_orders", "orders", Some("staging"), None);
    check("DimCustomer", "customer", Some("mart"), None);
    check("tblCustomer", "customer", None, None);
    check("crm_customers_backup", "customers", None, Some("crm"));
    check("crm2_customers", "customers", None, Some("crm2"));
    check("order_items_us", "order items", None, Some("us"));
    check("SalesOrderHeader", "sales order", None, None);
    check("dim", "dim", None, None);
    check("bronze_t2048", "t 2048", Some("raw"), None);
    check("crm_t2048", "t 2048", None, Some("crm"));
}

#[test]
fn reads_the_base_out_of_a_column_name() {
    let none = BTreeSet::new();
    let check = |name: &str, base: &str, mark: KeyMark| {
        let read = ColumnName::read(name, None, &none);
        assert_eq!(
            (read.base().join(" "), read.mark),
            (base.to_owned(), mark),
            "{name}"
        );
    };
    check("customer_id", "customer", KeyMark::Strong);
    check("idCliente", "cliente", KeyMark::Strong);
    check("fk_cust", "cust", KeyMark::Strong);
    check("custNo", "cust", KeyMark::Weak);
    check("id", "", KeyMark::Strong);
    check("quantity", "quantity", KeyMark::None);
    assert!(ColumnName::read("quantity", None, &none).measure);
    assert!(ColumnName::read("num_items", None, &none).measure);
    assert!(!ColumnName::read("price_list_id", None, &none).measure);
    assert!(!ColumnName::read("c12", None, &none).telling);
    assert_eq!(
        ColumnName::read("l_orderkey", Some(&Prefix::Word("l".to_owned())), &none).bases,
        [words("orderkey"), words("order"), words("l orderkey")]
    );
    assert_eq!(
        shared_prefix(["l_orderkey", "l_partkey", "l_tax"].into_iter()),
        Some(Prefix::Word("l".to_owned()))
    );
    let glued = Prefix::Letters("oh".to_owned());
    assert_eq!(
        ColumnName::read("OHCUST", Some(&glued), &none).bases,
        [words("cust"), words("ohcust")]
    );
    assert_eq!(
        shared_prefix(["OHORD", "OHCUST", "OHDATE"].into_iter()),
        Some(glued)
    );
    assert_eq!(shared_prefix(["id", "name", "l_tax"].into_iter()), None);
}

#[test]
fn entities_are_matched_from_the_end_of_the_name() {
    let check = |base: &str, table: &str, low: f64, high: f64| {
        let found = entity_match(&words(base), &words(table));
        assert!((low..=high).contains(&found), "{base} {table} {found}");
    };
    check("customer", "customers", 0.95, 1.0);
    check("billing address", "addresses", 0.88, 0.95);
    check("address billing", "addresses", 0.55, 0.65);
    check("orderitem", "order items", 0.9, 1.0);
    check("customer", "crm customers", 0.82, 0.9);
    check("order", "order items", 0.3, 0.45);
    check("so", "sales order", 0.7, 0.75);
    check("cust", "customers", 0.8, 0.9);
    check("kundenadresse", "adresse", 0.75, 0.85);
    check("quantity", "customers", 0.0, 0.0);
}

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

#[test]
fn every_dialect_lets_its_probes_through_the_gate() {
    let tables = [
        table("child", &[], Vec::new()),
        table("parent", &["a", "b"], Vec::new()),
    ];
    let mut collector = TableCollector::new(&[
        ("a".to_owned(), TypeFamily::Integer),
        ("b".to_owned(), TypeFamily::Integer),
    ]);
    for row in 0..3 {
        collector.row(vec![Cell::Int(row), Cell::Int(row * 5)]);
    }
    let profiles = BTreeMap::from([(
        TableRef::new(None, Some("s"), "child"),
        collector.finish(Extent::Sample, None),
    )]);
    let joins = crate::history::Joins::default();
    let facts = Facts::gather(&tables, &profiles, &joins);
    let proposal = Proposal {
        child: (0, vec![0, 1]),
        parent: (1, vec![0, 1]),
        name: 1.0,
        density: 0.1,
        chance: None,
        queries: 0,
    };
    for dialect in Dialect::ALL {
        let groups = groups_sql(dialect, &facts, &proposal).expect("a statement");
        let (values, count) = values_sql(
            dialect,
            &facts,
            ColumnId {
                table: 0,
                column: 1,
            },
            ColumnId {
                table: 1,
                column: 0,
            },
        )
        .expect("a statement");
        for sql in [&groups, &values] {
            assert!(
                ktx_read_only_sql::check(sql, dialect).is_ok(),
                "{dialect}: {sql}: {:?}",
                ktx_read_only_sql::check(sql, dialect)
            );
        }
        assert_eq!(count, 2, "0 stands for no value");
    }
    let (sql, _) = values_sql(
        Dialect::Postgres,
        &facts,
        ColumnId {
            table: 0,
            column: 1,
        },
        ColumnId {
            table: 1,
            column: 0,
        },
    )
    .expect("a statement");
    assert_eq!(
        sql,
        "SELECT COUNT(DISTINCT \"a\"), COUNT(*) FROM \"s\".\"parent\" WHERE \"a\" IN (10, 5)"
    );
}
