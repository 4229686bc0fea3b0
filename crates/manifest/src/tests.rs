//! Shards and names of tables.

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;

use crate::place_all;

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
fn a_written_place_is_read_back_as_it_is_spoken() {
    use crate::place::{spoken, written};
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
