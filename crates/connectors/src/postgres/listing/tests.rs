//! Tests of the listing.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use ktx_warehouse::{SchemaReading, Scope};

use super::{ListedRelation, VisibleSchema, list};

fn relation(name: &str, parent: Option<(&str, &str)>, is_granted: bool) -> ListedRelation {
    ListedRelation {
        name: name.to_owned(),
        parent: parent.map(|(schema, name)| TableRef::new(None, Some(schema), name)),
        is_granted,
    }
}

fn shown() -> BTreeMap<String, VisibleSchema> {
    let schema = |is_granted, relations| VisibleSchema {
        is_granted,
        relations,
    };
    let events = ("public", "events");
    BTreeMap::from([
        (
            "archive".to_owned(),
            schema(true, vec![relation("events_1", Some(events), true)]),
        ),
        (
            "closed".to_owned(),
            schema(false, vec![relation("a", None, true)]),
        ),
        ("empty".to_owned(), schema(true, Vec::new())),
        (
            "locked".to_owned(),
            schema(true, vec![relation("b", None, false)]),
        ),
        (
            "public".to_owned(),
            schema(
                true,
                vec![
                    relation("events", None, true),
                    relation("hidden", None, false),
                    relation("orders", None, true),
                ],
            ),
        ),
    ])
}

fn lines(scope: &Scope) -> Vec<String> {
    let listed = list(shown(), scope, "\"reader\"");
    let line = |schema: &ktx_warehouse::ListedSchema| {
        let reading = match &schema.reading {
            SchemaReading::Read => "read".to_owned(),
            SchemaReading::NotNamed => "not named".to_owned(),
            SchemaReading::NotGranted { fix } => fix.join("; "),
        };
        let counts = (schema.tables, schema.not_granted, schema.not_listed);
        format!("{} {counts:?} {reading}", schema.name)
    };
    listed.iter().map(line).collect()
}

#[test]
fn a_scope_without_schemas_reads_all_that_the_login_can_read() {
    assert_eq!(
        lines(&Scope::default()),
        [
            "closed (1, 0, 0) GRANT USAGE ON SCHEMA \"closed\" TO \"reader\"",
            "locked (0, 1, 0) GRANT SELECT ON ALL TABLES IN SCHEMA \"locked\" TO \"reader\"",
            "public (2, 1, 0) read",
        ]
    );
}

#[test]
fn a_scope_with_schemas_counts_what_it_omits() {
    let scope = Scope {
        schemas: vec!["empty".to_owned(), "public".to_owned()],
        tables: vec!["public.orders".to_owned()],
    };
    assert_eq!(
        lines(&scope),
        [
            "archive (0, 0, 1) not named",
            "closed (0, 0, 1) not named",
            "empty (0, 0, 0) read",
            "locked (0, 0, 1) not named",
            "public (1, 0, 2) read",
        ]
    );
}
