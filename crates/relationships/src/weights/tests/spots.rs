//! Small examples for single weights.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Table, TableKind};

use super::warehouse::{Setup, Verdict};
use crate::links::joins::Joins;
use crate::names::entity::entity_match;
use crate::names::words::word_likeness;
use crate::{Facts, Proposal, judge};

#[derive(Debug)]
pub(super) struct Spot {
    pub(super) name: &'static str,
    pub(super) script: &'static str,
    pub(super) setup: Setup,
}

const PLAIN: Setup = Setup {
    sample: None,
    queries: &[],
    stated: &[],
};

pub(super) const SPOTS: &[Spot] = &[
    Spot {
        name: "a join that people run",
        script: "
CREATE TABLE area (k INTEGER, label TEXT);
INSERT INTO area WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, 'l' || i FROM n;
CREATE TABLE visit (id INTEGER, seen INTEGER);
INSERT INTO visit WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90) SELECT i, 1 + i * 7 % 120 FROM n;",
        setup: Setup {
            sample: None,
            queries: &[("visit.seen", "area.k", 2)],
            stated: &[],
        },
    },
    Spot {
        name: "a join that people run every day",
        script: "
CREATE TABLE area (k INTEGER, label TEXT);
INSERT INTO area WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, 'l' || i FROM n;
CREATE TABLE visit (id INTEGER, seen INTEGER);
INSERT INTO visit WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90) SELECT i, 1 + i * 7 % 120 FROM n;",
        setup: Setup {
            sample: None,
            queries: &[("visit.seen", "area.k", 2_000_000)],
            stated: &[],
        },
    },
    Spot {
        name: "a reference that a test checks",
        script: "
CREATE TABLE area (k INTEGER, label TEXT);
INSERT INTO area WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, 'l' || i FROM n;
CREATE TABLE visit (id INTEGER, seen INTEGER);
INSERT INTO visit WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90) SELECT i, 1 + i * 7 % 120 FROM n;",
        setup: Setup {
            sample: None,
            queries: &[],
            stated: &[("visit.seen", "area.k")],
        },
    },
    Spot {
        name: "two schemas",
        script: "
CREATE TABLE \"sales.customer\" (id INTEGER, name TEXT);
INSERT INTO \"sales.customer\" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80) SELECT i, 'c' || i FROM n;
CREATE TABLE \"help.customer\" (id INTEGER, name TEXT);
INSERT INTO \"help.customer\" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80) SELECT i, 'c' || i FROM n;
CREATE TABLE \"help.ticket\" (id INTEGER, customer_id INTEGER);
INSERT INTO \"help.ticket\" WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i, 1 + i * 7 % 80 FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "views over one table",
        script: "
CREATE TABLE raw (customer_id INTEGER, order_id INTEGER, day INTEGER);
INSERT INTO raw WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT 1 + i * 7 % 80, 1000 + i, i % 30 FROM n;
CREATE VIEW customer AS SELECT DISTINCT customer_id AS id, 'c' || customer_id AS name FROM raw;
CREATE VIEW purchase AS SELECT order_id AS id, customer_id FROM raw;
CREATE VIEW delivery AS SELECT order_id + 7 AS id, order_id AS purchase_id, day FROM raw;",
        setup: PLAIN,
    },
    Spot {
        name: "loads and flags",
        script: "
CREATE TABLE batch (id INTEGER, name TEXT);
INSERT INTO batch WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i, 'b' || i FROM n;
CREATE TABLE store (id INTEGER, etl_batch_id INTEGER, open INTEGER);
INSERT INTO store WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT i, i % 41, i % 2 FROM n;
CREATE TABLE clerk (id INTEGER, etl_batch_id INTEGER, store INTEGER);
INSERT INTO clerk WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 90) SELECT i, i % 41, i % 2 FROM n;
CREATE TABLE sale (id INTEGER, etl_batch_id INTEGER, store_id INTEGER, clerk_batch INTEGER);
INSERT INTO sale WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i % 41, i % 61, i % 3 FROM n;
CREATE TABLE stock (id INTEGER, etl_batch_id INTEGER, store_id INTEGER);
INSERT INTO stock WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, i % 41, i % 61 FROM n;
CREATE TABLE etl (id INTEGER, etl_batch_id INTEGER, seconds INTEGER);
INSERT INTO etl WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT i, i % 41, i * 3 FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "second keys of an account",
        script: "
CREATE TABLE account (account_id INTEGER, legacy_id INTEGER, account_no INTEGER, iban TEXT);
INSERT INTO account WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120) SELECT i, 5000 + i * 3, 70000 + i * 11, 'DE' || (4711000 + i * 97) FROM n;
CREATE TABLE booking (id INTEGER, legacy_account_id INTEGER, account INTEGER, pai INTEGER);
INSERT INTO booking WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, 5000 + (1 + i * 7 % 120) * 3, 70000 + (1 + i * 13 % 120) * 11, 1 + i * 7 % 40 FROM n;
CREATE TABLE pais (cod INTEGER, nome TEXT);
INSERT INTO pais WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i, 'p' || i FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "a month of days",
        script: "
CREATE TABLE days (day DATE, number INTEGER);
INSERT INTO days WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 28) SELECT printf('2023-02-%02d', i), i FROM n;
CREATE TABLE year (day DATE, week INTEGER, note INTEGER);
INSERT INTO year WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 364) SELECT date('2023-01-01', i || ' days'), 1 + i / 7, i % 53 FROM n;
CREATE TABLE sale (id INTEGER, sold DATE);
INSERT INTO sale WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90) SELECT i, printf('2023-02-%02d', 1 + i * 5 % 28) FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "empty tables",
        script: "
CREATE TABLE customer (id INTEGER, name TEXT);
CREATE TABLE invoice (id INTEGER, customer_id INTEGER, cust_id INTEGER);
CREATE TABLE no_of (no INTEGER, code TEXT, nr INTEGER);
INSERT INTO no_of VALUES (7, 'a', 3), (9, 'b', 5), (12, 'c', 1);",
        setup: PLAIN,
    },
    Spot {
        name: "agents whose numbers end with the keys",
        script: "
CREATE TABLE staff (id INTEGER, first_name TEXT, salary INTEGER);
INSERT INTO staff WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 237) SELECT i, 'n' || i, 1000 + i * 7 % 900 FROM n;
CREATE TABLE parcel (id INTEGER, packer INTEGER, loader INTEGER, bringer_id INTEGER, taker_no INTEGER);
INSERT INTO parcel WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1900) SELECT i, 1 + i * 101 % 237, 1 + i * 53 % 237, 1 + i * 19 % 237, 1 + i * 29 % 237 FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "rows that extend others",
        script: "
CREATE TABLE users (id INTEGER, name TEXT);
INSERT INTO users WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80) SELECT 1000 + i * 3, 'u' || i FROM n;
CREATE TABLE user_settings (id INTEGER, theme TEXT);
INSERT INTO user_settings WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT 1000 + i * 6, 't' || (i % 3) FROM n;
CREATE TABLE user_badges (id INTEGER, badge TEXT);
INSERT INTO user_badges WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT 1003 + i * 3 + (i = 30) * 1, 'b' || (i % 3) FROM n;
CREATE TABLE user_notes (id INTEGER, note TEXT);
INSERT INTO user_notes WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT 1003 + i * 3, 'x' FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "a role whose numbers end with another key",
        script: "
CREATE TABLE employee (id INTEGER, first_name TEXT);
INSERT INTO employee WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, 'n' || i FROM n;
CREATE TABLE depot (id INTEGER, label TEXT);
INSERT INTO depot WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT i, 'd' || i FROM n;
CREATE TABLE round (id INTEGER, inspector INTEGER, guard_id INTEGER);
INSERT INTO round WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, 1 + i * 7 % 60, 1 + i * 11 % 60 FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "a key that others borrow",
        script: "
CREATE TABLE purchase (id INTEGER, total INTEGER);
INSERT INTO purchase WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT 5000 + i * 2, i % 50 FROM n;
CREATE TABLE invoice (purchase_id INTEGER, invoice_day INTEGER);
INSERT INTO invoice WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 290) SELECT 5000 + i * 2, i % 30 FROM n;
CREATE TABLE payment (id INTEGER, purchase_id INTEGER);
INSERT INTO payment WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT i, 5000 + (1 + i * 7 % 290) * 2 FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "whole names of keys",
        script: "
CREATE TABLE mark (shelf_row INTEGER, label TEXT);
INSERT INTO mark WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i, 'l' || i FROM n;
CREATE TABLE book (id INTEGER, shelf_row INTEGER);
INSERT INTO book WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, 1 + i * 7 % 40 FROM n;
CREATE TABLE tone (hue_shade TEXT, rank INTEGER);
INSERT INTO tone WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45) SELECT 'shade ' || (i * 37 % 911), i % 7 FROM n;
CREATE TABLE paint (id INTEGER, hue_shade TEXT);
INSERT INTO paint WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, 'shade ' || ((1 + i * 7 % 45) * 37 % 911) FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "identifiers without names",
        script: "
CREATE TABLE thing (uid TEXT, size INTEGER);
INSERT INTO thing WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT '00000000-0000-4000-8000-' || printf('%012d', i * 7919), i % 9 FROM n;
CREATE TABLE log (id INTEGER, what TEXT, grp TEXT);
INSERT INTO log WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i, '00000000-0000-4000-8000-' || printf('%012d', (1 + i % 50) * 7919), char(65 + i % 6) FROM n;
CREATE TABLE kind (letter TEXT, note TEXT);
INSERT INTO kind WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6) SELECT char(64 + i), 'n' || i FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "one long module",
        script: "
CREATE TABLE magazine_author (author_id INTEGER, editor_id INTEGER, x0 INTEGER);
INSERT INTO magazine_author WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i, 1 + i * 7 % 30, i % 2 FROM n;
CREATE TABLE magazine_issue (issue_id INTEGER, author_id INTEGER, x1 INTEGER);
INSERT INTO magazine_issue WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 31) SELECT i, 1 + i * 7 % 30, i % 3 FROM n;
CREATE TABLE magazine_page (page_id INTEGER, author_id INTEGER, x2 INTEGER);
INSERT INTO magazine_page WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 32) SELECT i, 1 + i * 7 % 30, i % 4 FROM n;
CREATE TABLE magazine_print (print_id INTEGER, author_id INTEGER, x3 INTEGER);
INSERT INTO magazine_print WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 33) SELECT i, 1 + i * 7 % 30, i % 5 FROM n;
CREATE TABLE magazine_photo (photo_id INTEGER, author_id INTEGER, x4 INTEGER);
INSERT INTO magazine_photo WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 34) SELECT i, 1 + i * 7 % 30, i % 6 FROM n;
CREATE TABLE magazine_letter (letter_id INTEGER, author_id INTEGER, x5 INTEGER);
INSERT INTO magazine_letter WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 35) SELECT i, 1 + i * 7 % 30, i % 7 FROM n;",
        setup: PLAIN,
    },
    Spot {
        name: "fields of a form",
        script: "
CREATE TABLE form (tenant_id INTEGER, place TEXT, remark INTEGER);
INSERT INTO form WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) SELECT 1 + i % 20, 'p' || (i / 20), i % 3 FROM n;
CREATE TABLE entry (id INTEGER, tenant_id INTEGER, place TEXT);
INSERT INTO entry WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, 1 + i % 20, 'p' || (i * 7 % 30) FROM n;
CREATE TABLE tenant (id INTEGER, name TEXT);
INSERT INTO tenant WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT i, 't' || i FROM n;",
        setup: PLAIN,
    },
];

pub(super) fn words() -> Verdict {
    let mut found = Verdict::new();
    for (left, right) in [
        ("custmr", "customer"),
        ("prd", "prod"),
        ("prdct", "product"),
        ("aeui", "aberufi"),
        ("adrs", "address"),
        ("beue", "bedue"),
        ("quty", "quantity"),
    ] {
        let likeness = word_likeness(left, right);
        found.insert((format!("{left} {right} {likeness:.4}"), ""), String::new());
    }
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    for (base, table) in [
        ("so", "sales order"),
        ("s", "sales"),
        ("s", "sales order"),
        ("c", "x y"),
        ("x", "x y"),
        ("soi", "sales order item"),
    ] {
        let likeness = entity_match(&words(base), &words(table));
        found.insert((format!("{base} {table} {likeness:.4}"), ""), String::new());
    }
    found
}

pub(super) fn groups() -> Verdict {
    let table = |name: &str| Table {
        table: TableRef::bare(name),
        kind: TableKind::Table,
        comment: None,
        estimated_rows: None,
        columns: Vec::new(),
        primary_key: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let tables = [table("line"), table("order")];
    let (profiles, joins) = (BTreeMap::new(), Joins::default());
    let facts = Facts::gather(&tables, &profiles, &joins);
    let mut found = Verdict::new();
    for (name, density, chance) in [
        (1.0, 0.1, None),
        (0.82, 0.1, None),
        (0.7, 0.1, None),
        (0.7, 0.45, None),
        (0.95, 0.8, None),
        (0.0, 0.1, Some(0.2)),
        (0.0, 0.1, Some(0.5)),
    ] {
        for answer in [
            None,
            Some((2, 2)),
            Some((9, 9)),
            Some((10, 10)),
            Some((100, 98)),
            Some((1000, 996)),
            Some((100, 90)),
            Some((100, 40)),
        ] {
            let proposal = Proposal {
                child: (0, Vec::new()),
                parent: (1, Vec::new()),
                name,
                density,
                chance,
                queries: 0,
            };
            let link = judge(&facts, &proposal, answer).expect("a link");
            let text = format!(
                "{name} {density} {chance:?} {answer:?} {:.4} {:.4} {:?}",
                link.score, link.key_score, link.status
            );
            found.insert((text, ""), String::new());
        }
    }
    found
}
