//! Tests the manifest: writing YAML, placing tables, parsing and merging joins.

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use serde_yaml::Value;

use crate::manifest::joins::{Join, JoinSource, merged_joins, simple_pairs};
use crate::manifest::shard::place_all;
use crate::manifest::yaml::{text_scalar, to_yaml};

#[test]
fn quotes_what_a_yaml_1_1_reader_would_misread() {
    let quoted = [
        "no",
        "On",
        "y",
        "NULL",
        "~",
        "",
        "1_000",
        "12:30",
        "2024-01-31",
        "0x1F",
        "1e3",
        "-5",
        ".5",
        "+1",
        "=",
        "<<",
        "a: b",
        "a #b",
        "a:",
        " a",
        "a ",
        "- a",
        "?x",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a`",
        "[a",
        "{a",
        "'a",
        "\"a",
        "true",
        "a\u{a0}b",
    ];
    for text in quoted {
        let written = text_scalar(text);
        assert_eq!(written, format!("'{}'", text.replace('\'', "''")));
        assert_eq!(
            serde_yaml::from_str::<Value>(&written).expect("YAML"),
            Value::from(text)
        );
    }
    for plain in [
        "orders",
        "public.orders",
        "a.x = b.y AND a.z = b.w",
        "größe",
        "it's",
        "a:b",
        "one_to_many",
        "nobody",
    ] {
        assert_eq!(text_scalar(plain), plain);
        assert_eq!(
            serde_yaml::from_str::<Value>(plain).expect("YAML"),
            Value::from(plain)
        );
    }
    for special in [
        "a\nb",
        "tab\there",
        "nul\u{0}",
        "\u{feff}x",
        "line\u{2028}end",
    ] {
        let written = text_scalar(special);
        assert!(written.starts_with('"'), "{written}");
        assert_eq!(
            serde_yaml::from_str::<Value>(&written).expect("YAML"),
            Value::from(special)
        );
    }
}

#[test]
fn writes_block_style_with_two_blanks_a_level() {
    let text = "tables:
  orders:
    table: public.orders
    columns:
      - name: id
        type: number
        pk: true
      - name: 'no'
        type: string
    joins:
      - to: customers
        'on': orders.customer_id = customers.id
    tags: []
    usage: {}
    nested:
      -
        - 1
        - 2.5
      - null
";
    let value: Value = serde_yaml::from_str(text).expect("YAML");
    assert_eq!(to_yaml(&value), text);
}

fn placed(
    dialect: Dialect,
    tables: &[(Option<&str>, Option<&str>, &str)],
) -> Vec<(String, String, String)> {
    let tables: Vec<TableRef> = tables
        .iter()
        .map(|(catalog, db, name)| TableRef::new(*catalog, *db, name))
        .collect();
    let places = place_all(dialect, &tables.iter().collect::<Vec<_>>());
    tables
        .iter()
        .map(|table| {
            places
                .get(table)
                .map(|place| (place.file.clone(), place.key.clone(), place.source.clone()))
                .expect("a place")
        })
        .collect()
}

fn place(file: &str, key: &str, source: &str) -> (String, String, String) {
    (file.to_owned(), key.to_owned(), source.to_owned())
}

#[test]
fn shards_follow_the_schemas_of_each_dialect() {
    assert_eq!(
        placed(Dialect::Sqlite, &[(None, None, "t")]),
        [place("public.yaml", "t", "t")]
    );
    assert_eq!(
        placed(Dialect::Postgres, &[(Some("db"), Some("sales"), "t")]),
        [place("sales.yaml", "t", "t")]
    );
    assert_eq!(
        placed(Dialect::Snowflake, &[(Some("DB"), Some("S"), "T")]),
        [place("DB.S.yaml", "T", "T")]
    );
    assert_eq!(
        placed(Dialect::Snowflake, &[(None, None, "T")]),
        [place("default.public.yaml", "T", "T")]
    );
    assert_eq!(
        placed(Dialect::MySql, &[(None, Some("shop"), "t")]),
        [place("shop.yaml", "t", "t")]
    );
    assert_eq!(
        placed(Dialect::BigQuery, &[(Some("p"), None, "t")]),
        [place("p.yaml", "t", "t")]
    );
}

#[test]
fn tables_of_one_name_never_share_a_key_or_a_file() {
    assert_eq!(
        placed(
            Dialect::Postgres,
            &[(None, Some("a"), "t"), (None, Some("b"), "t")]
        ),
        [place("a.yaml", "t", "a.t"), place("b.yaml", "t", "b.t")]
    );
    assert_eq!(
        placed(
            Dialect::SqlServer,
            &[
                (Some("one"), Some("dbo"), "t"),
                (Some("two"), Some("dbo"), "t")
            ]
        ),
        [
            place("dbo.yaml", "one.dbo.t", "one.dbo.t"),
            place("dbo.yaml", "two.dbo.t", "two.dbo.t")
        ]
    );
    let files = placed(
        Dialect::Postgres,
        &[
            (None, Some("Sales"), "a"),
            (None, Some("sales"), "b"),
            (None, Some("a/b"), "c"),
            (None, Some("con"), "d"),
        ],
    );
    let files: Vec<&str> = files.iter().map(|(file, _, _)| file.as_str()).collect();
    assert_eq!(
        files,
        [
            "sales-8de4e0ea.yaml",
            "sales-e04eb290.yaml",
            "a-b-c14cddc0.yaml",
            "con-1143da2b.yaml"
        ]
    );
}

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

#[test]
fn a_written_place_is_read_back_as_it_is_spoken() {
    use crate::manifest::place::{spoken, written};
    let places = [
        (
            TableRef::new(None, Some("public"), "orders"),
            "public.orders",
        ),
        (TableRef::new(None, Some("public"), "x.y"), "public.\"x.y\""),
        (
            TableRef::new(Some("a.b"), Some("c"), "d\"e"),
            "\"a.b\".c.d\"e",
        ),
        (TableRef::bare("\"q\".r"), "\"\"\"q\"\".r\""),
        (TableRef::bare(" blank "), "\" blank \""),
    ];
    for (table, text) in places {
        assert_eq!(written(&table), text);
        assert_eq!(spoken(text), table.to_string());
    }
}
