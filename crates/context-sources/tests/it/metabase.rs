//! Tests the SQL of cards, their files and units, and which cards count as deleted.

use std::collections::BTreeSet;

use ktx_context_sources::metabase::{self, MetabaseCrawl, MetabaseScope, Mode};
use ktx_context_sources::{PageCache, RestError, RestErrorKind};
use ktx_secrets::Secret;
use ktx_test_support::metabase_fake::{Analytics, KEY, MetabaseFake, written};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

fn scope(databases: &[u64]) -> MetabaseScope {
    MetabaseScope {
        databases: databases.iter().copied().collect(),
        ..MetabaseScope::default()
    }
}

fn crawl(server: &MetabaseFake, scope: &MetabaseScope) -> Result<MetabaseCrawl, RestError> {
    remembering(server, scope, &tempdir().expect("a folder"))
}

fn remembering(
    server: &MetabaseFake,
    scope: &MetabaseScope,
    cache: &TempDir,
) -> Result<MetabaseCrawl, RestError> {
    let rest = metabase::client(&format!("{}/api/", server.address()), &Secret::new(KEY))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(metabase::read(&rest, scope, &PageCache::new(cache.path())))
}

fn server() -> Analytics {
    Analytics {
        databases: vec![(1, "shop", "postgres"), (2, "crm", "mysql")],
        collections: json!([
            { "id": "root", "name": "Our analytics" },
            { "id": 10, "name": "Finance", "children": [{ "id": 11, "name": "Revenue", "children": [] }] },
            { "id": 12, "name": "Ada's Personal Collection", "personal_owner_id": 3, "children": [] },
        ]),
        ..Analytics::default()
    }
}

fn mouse(id: u64, query: &Value) -> Value {
    let mut card = written(id, "By mouse", (1, Some(11)), "");
    card["dataset_query"] = json!({ "type": "query", "database": 1, "query": query });
    card
}

fn cards() -> Analytics {
    let mut server = server();
    let mut revenue = written(
        1,
        "Revenue  by\nmonth",
        (1, Some(11)),
        "SELECT month, sum(amount) FROM {{#2-paid-orders}} o\nWHERE {{ since }} [[AND region = {{region}}]] AND x = ARRAY[[1]] {{snippet: not test}};",
    );
    revenue["description"] = json!("What was paid.\nWithout refunds.");
    revenue["type"] = json!("model");
    revenue["dataset_query"]["native"]["template-tags"] = json!({
        "since": { "type": "dimension", "widget-type": "date/all-options", "default": "past30days" },
        "region": { "type": "text" },
        "#2-paid-orders": { "type": "card", "card-id": 2 },
        "snippet: not test": { "type": "snippet" },
    });
    revenue["result_metadata"] = json!([
        { "name": "month", "display_name": "Month", "base_type": "type/DateTime" },
        { "name": "sum", "display_name": "sum", "base_type": "type/Float", "description": "In euros." },
    ]);
    let mut archived = written(17, "Archived", (1, None), "select 1 -- old");
    archived["archived"] = json!(true);
    let mut newer = written(3, "Newer", (1, None), "");
    newer["dataset_query"] = json!({ "lib/type": "mbql/query", "database": 1, "stages": [
        { "lib/type": "mbql.stage/native", "native": "select {{x}}", "template-tags": { "x": { "type": "number", "default": 3 } } },
    ]});
    server.cards = vec![
        revenue,
        written(
            2,
            "Paid orders",
            (1, Some(10)),
            "select * from orders where paid;",
        ),
        newer,
        mouse(4, &json!({ "source-table": 7 })),
        mouse(5, &json!({ "joins": [] })),
        written(6, "Loop", (1, None), "select * from {{#7}}"),
        written(7, "Loop too", (1, None), "select * from {{#6}}"),
        written(8, "Of Ada", (1, Some(12)), "select 1"),
        written(9, "Elsewhere", (2, None), "select 1"),
        mouse(
            13,
            &json!({ "source-table": 8, "joins": [{ "source-table": "card__2" }] }),
        ),
        written(
            14,
            "Comments",
            (1, None),
            "select * from {{#2}} x -- not {{#4}}\nwhere {{snippet: gone}}",
        ),
        written(15, "Hidden", (1, Some(77)), "select 1"),
        written(
            16,
            "Uses what is archived",
            (1, None),
            "select * from {{#17}} where {{snippet: test}}",
        ),
        archived,
        json!({ "id": 18, "archived": false }),
    ];
    server.snippets = vec![
        ("not test", "AND NOT {{snippet: test}}"),
        ("test", "is_test"),
    ];
    server
}

const FILES: &str = r"
=== databases/1/cards/1.md
# Revenue by month

Card 1, a model in Finance / Revenue

What was paid.
Without refunds.

Parameters, as `{{name}}` in the SQL:
- region: text
- since: date/all-options, default past30days

```sql
SELECT month, sum(amount) FROM (
select * from orders where paid
) o
WHERE {{since}}  AND x = ARRAY[[1]] AND NOT is_test;
```

Columns of its result:
- month (Month), DateTime
- sum, Float: In euros.
=== databases/1/cards/13.md
# By mouse

Card 13, a question in Finance / Revenue

```sql
SELECT count(*) FROM table_8
```
=== databases/1/cards/14.md
# Comments

Card 14, a question in Our analytics

Not written out, because the snippet `gone` is not there:

```sql
select * from {{#2}} x -- not {{#4}}
where {{snippet: gone}}
```
=== databases/1/cards/16.md
# Uses what is archived

Card 16, a question in Our analytics

```sql
select * from (
select 1 -- old
) where is_test
```
=== databases/1/cards/2.md
# Paid orders

Card 2, a question in Finance

```sql
select * from orders where paid;
```
=== databases/1/cards/3.md
# Newer

Card 3, a question in Our analytics

Parameters, as `{{name}}` in the SQL:
- x: number, default 3

```sql
select {{x}}
```
=== databases/1/cards/4.md
# By mouse

Card 4, a question in Finance / Revenue

```sql
SELECT count(*) FROM table_7
```
=== databases/1/cards/5.md
# By mouse

Card 5, a question in Finance / Revenue

Its SQL is not known.
=== databases/1/cards/6.md
# Loop

Card 6, a question in Our analytics

Not written out, because card 6 includes itself:

```sql
select * from {{#7}}
```
=== databases/1/cards/7.md
# Loop too

Card 7, a question in Our analytics

Not written out, because card 7 includes itself:

```sql
select * from {{#6}}
```
";

#[test]
fn cards_become_files() {
    let server = MetabaseFake::start(cards()).expect("a server");
    let read = crawl(&server, &scope(&[1])).expect("a crawl");
    let files = read.snapshot.files.iter();
    let shown: Vec<String> = files
        .map(|(path, text)| format!("=== {path}\n{text}"))
        .collect();
    assert_eq!(shown.concat(), FILES.trim_start());
    insta::assert_snapshot!(read.warnings.join("\n"), @r"
    1 cards are not questions, models or metrics that this version knows: they were not read
    1 cards are in collections that the key does not see: they were not read
    the SQL of card 5 (`By mouse`): Metabase at 127.0.0.1 answered 500 for `/api/dataset/native`: Unknown table
    the SQL of card 6 (`Loop`): card 6 includes itself
    the SQL of card 7 (`Loop too`): card 7 includes itself
    the SQL of card 14 (`Comments`): the snippet `gone` is not there
    ");
    let units: Vec<(String, Option<String>, usize, Vec<String>)> = metabase::units(&read, 1)
        .into_iter()
        .map(|unit| (unit.key, unit.label, unit.files.len(), unit.dependencies))
        .collect();
    insta::assert_debug_snapshot!(units, @r#"
    [
        (
            "metabase-db-1-col-root",
            Some(
                "Our analytics",
            ),
            5,
            [
                "databases/1/cards/2.md",
                "databases/1/cards/4.md",
            ],
        ),
        (
            "metabase-db-1-col-10",
            Some(
                "Finance",
            ),
            1,
            [],
        ),
        (
            "metabase-db-1-col-11",
            Some(
                "Finance / Revenue",
            ),
            4,
            [
                "databases/1/cards/2.md",
            ],
        ),
    ]
    "#);
    let asked = server.asked();
    let ran = asked
        .iter()
        .any(|target| target.starts_with("POST /api/card") || target == "POST /api/dataset");
    assert!(!ran, "{asked:?}");
}

#[test]
fn looking_at_a_card_changes_nothing() {
    let mut server = server();
    server.cards = vec![written(1, "One", (1, None), "select 1")];
    let server = MetabaseFake::start(server).expect("a server");
    let first = crawl(&server, &scope(&[1])).expect("a crawl");
    server.change(|all| {
        all.cards[0]["view_count"] = json!(9999);
        all.cards[0]["last_used_at"] = json!("2027-01-01T00:00:00Z");
    });
    assert_eq!(crawl(&server, &scope(&[1])).expect("a crawl"), first);
}

#[test]
fn a_failure_for_a_moment_changes_nothing() {
    let mut server = server();
    server.cards = vec![mouse(4, &json!({ "source-table": 7 }))];
    let server = MetabaseFake::start(server).expect("a server");
    let cache = tempdir().expect("a folder");
    let read = || remembering(&server, &scope(&[1]), &cache);
    let first = read().expect("a crawl");
    server.change(|all| all.is_busy = true);
    assert_eq!(read().expect("a crawl"), first);
    server.change(|all| all.is_closed = true);
    assert_eq!(read().map_err(|error| error.kind), Err(RestErrorKind::Auth));
}

#[test]
fn a_selection_includes_everything_below_it() {
    let mut server = server();
    server.cards = vec![
        written(1, "Top", (1, None), "select 1"),
        written(2, "Finance", (1, Some(10)), "select 1"),
        written(3, "Revenue", (1, Some(11)), "select 1"),
        written(4, "Ada", (1, Some(12)), "select 1"),
    ];
    let server = MetabaseFake::start(server).expect("a server");
    let cards = |mode: Mode, collections: &[u64], cards: &[u64]| -> Vec<String> {
        let scope = MetabaseScope {
            mode,
            collections: collections.iter().copied().collect(),
            cards: cards.iter().copied().collect(),
            ..scope(&[1])
        };
        let read = crawl(&server, &scope).expect("a crawl");
        let files = read.snapshot.files.into_keys();
        files
            .map(|path| path.replace("databases/1/cards/", "").replace(".md", ""))
            .collect()
    };
    assert_eq!(cards(Mode::All, &[], &[]), ["1", "2", "3"]);
    assert_eq!(cards(Mode::Only, &[10], &[4]), ["2", "3", "4"]);
    assert_eq!(cards(Mode::Except, &[10], &[]), ["1"]);
}

#[test]
fn only_archived_and_deleted_cards_are_gone() {
    let mut server = server();
    server.cards = (1..=4)
        .map(|id| written(id, "Card", (1, None), "select 1"))
        .collect();
    server.cards[1]["archived"] = json!(true);
    server.broken = [3].into();
    server.deleted = [5].into();
    let server = MetabaseFake::start(server).expect("a server");
    let file = |database: u64, id: u64| format!("databases/{database}/cards/{id}.md");
    let earlier: BTreeSet<String> = (1..=5).map(|id| file(1, id)).chain([file(2, 9)]).collect();
    let scope = MetabaseScope {
        mode: Mode::Except,
        cards: [4].into(),
        earlier,
        ..scope(&[1])
    };
    let read = crawl(&server, &scope).expect("a crawl");
    let left: Vec<(String, String)> = read
        .snapshot
        .left_out
        .into_iter()
        .map(|left| (left.path, left.reason))
        .collect();
    assert_eq!(
        left,
        [
            (
                file(1, 3),
                "Metabase at 127.0.0.1 answered 500 for `/api/card/3`: Something went wrong"
                    .to_owned()
            ),
            (file(1, 4), "it is not selected any more".to_owned()),
            (file(2, 9), "the database 2 is not read any more".to_owned()),
        ]
    );
}

#[test]
fn a_long_collection_is_read_in_stable_parts() {
    let mut server = server();
    server.cards = (1..=45)
        .map(|id| written(id, "Card", (1, Some(10)), "select 1"))
        .collect();
    let server = MetabaseFake::start(server).expect("a server");
    let units = || metabase::units(&crawl(&server, &scope(&[1])).expect("a crawl"), 1);
    let before = units();
    let shown: Vec<(&str, usize)> = before
        .iter()
        .map(|unit| (unit.key.as_str(), unit.files.len()))
        .collect();
    assert_eq!(
        shown,
        [
            ("metabase-db-1-col-10", 20),
            ("metabase-db-1-col-10-part-2", 20),
            ("metabase-db-1-col-10-part-3", 5),
        ]
    );
    server.change(|all| {
        all.cards
            .push(written(99, "New", (1, Some(10)), "select 1"));
    });
    let after = units();
    assert_eq!(before[..2], after[..2]);
    assert_eq!(after[2].files.len(), 6);
}

#[test]
fn a_wrong_key_is_an_error_without_it() {
    let server = MetabaseFake::start(server()).expect("a server");
    let rest = metabase::client(&server.address(), &Secret::new("mb_wrong_key")).expect("a client");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let error = runtime
        .block_on(metabase::databases(&rest))
        .expect_err("a wrong key");
    assert_eq!(error.kind, RestErrorKind::Auth);
    assert_eq!(
        error.message,
        "Metabase at 127.0.0.1 answered 401 for `/api/database`"
    );
}
