//! Tests what is read of a workspace, and which pages count as deleted.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ktx_context_sources::notion::{self, NotionCrawl, NotionScope, PageId, Roots};
use ktx_context_sources::{PageCache, RestError, RestErrorKind};
use ktx_secrets::Secret;
use ktx_test_support::loopback::{Answer, Loopback};
use ktx_test_support::notion_fake::{NotionFake, TOKEN, Workspace, block, child_page, text};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const HOME: &str = "00000000000000000000000000000001";
const BELOW: &str = "00000000000000000000000000000002";
const TABLE: &str = "000000000000000000000000000000d1";
const SOURCE: &str = "000000000000000000000000000000e1";
const ROW: &str = "00000000000000000000000000000003";
const NEVER: &str = "00000000000000000000000000000009";
const OLD: &str = "2026-01-02T03:04:00.000Z";
const NOW: &str = "2026-03-01T00:00:00Z";

fn at(time: &str) -> Timestamp {
    time.parse().expect("a time")
}

fn id(text: &str) -> PageId {
    PageId::parse(text).expect("an id")
}

fn scope(pages: &[&str], max_pages: usize, earlier: &[&str]) -> NotionScope {
    let pages = pages.iter().map(|page| id(page)).collect();
    NotionScope {
        roots: Some(Roots {
            pages,
            ..Roots::default()
        }),
        max_pages,
        earlier: earlier.iter().map(|&file| file.to_owned()).collect(),
        now: at(NOW),
    }
}

fn crawl(api: &NotionFake, scope: &NotionScope, cache: &TempDir) -> Result<NotionCrawl, RestError> {
    let rest = notion::client(&api.address(), &Secret::new(TOKEN))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(notion::read(&rest, scope, &PageCache::new(cache.path())))
}

fn marked(words: &str, mark: &str) -> Value {
    json!({ "type": "text", "plain_text": words, "href": null, "annotations": { mark: true } })
}

fn with_children(id: &str, mut block: Value) -> Value {
    block["id"] = json!(id);
    block["has_children"] = json!(true);
    block
}

fn workspace() -> Workspace {
    let mut all = Workspace::default();
    let mut paragraph = block("paragraph", "");
    paragraph["paragraph"]["rich_text"] = json!([
        text("Net revenue is "),
        marked("gross ", "strikethrough"),
        marked("paid", "bold"),
        text(" orders; see "),
        { "type": "text", "plain_text": "the policy", "href": "https://acme.test/p", "annotations": {} },
        text("."),
    ]);
    let cells = |one: &str, two: &str| json!({ "object": "block", "id": "r", "type": "table_row", "has_children": false, "table_row": { "cells": [[text(one)], [text(two)]] } });
    let mut code = block("code", "select 1\nfrom orders");
    code["code"]["language"] = json!("sql");
    let file = json!({ "object": "block", "id": "i", "type": "image", "has_children": false, "image": { "type": "file", "file": { "url": "https://files.test/x?X-Amz-Signature=secret" }, "caption": [text("The funnel")] } });
    let synced = json!({ "object": "block", "id": "s2", "type": "synced_block", "has_children": true, "synced_block": { "synced_from": { "type": "block_id", "block_id": "5" } } });
    let todo = json!({ "object": "block", "id": "t", "type": "to_do", "has_children": false, "to_do": { "checked": true, "rich_text": [text("done")] } });
    let database = json!({ "object": "block", "id": TABLE, "type": "child_database", "has_children": false, "child_database": { "title": "Metrics" } });
    let list = |words: &str| block("bulleted_list_item", words);
    all.page(
        HOME,
        "Finance",
        OLD,
        vec![
            block("heading_1", "Rules"),
            paragraph,
            with_children("4", list("one")),
            list("two"),
            block("numbered_list_item", "first"),
            block("numbered_list_item", "second"),
            todo,
            with_children("6", block("callout", "Mind this")),
            with_children("7", json!({ "type": "table", "table": {} })),
            code,
            file,
            json!({ "object": "block", "id": "q", "type": "equation", "has_children": false, "equation": { "expression": "a/b" } }),
            synced,
            json!({ "object": "block", "id": "d", "type": "divider", "has_children": false, "divider": {} }),
            json!({ "object": "block", "id": "u", "type": "unsupported", "has_children": false, "unsupported": {} }),
            child_page(BELOW, "Refunds"),
            database,
        ],
    );
    all.blocks.insert("4".to_owned(), vec![list("inside one")]);
    all.blocks
        .insert("5".to_owned(), vec![block("paragraph", "Shown twice.")]);
    all.blocks
        .insert("6".to_owned(), vec![block("paragraph", "Really.")]);
    all.blocks.insert(
        "7".to_owned(),
        vec![cells("code", "meaning"), cells("p|1", "paid")],
    );
    all.page(BELOW, "Refunds", OLD, vec![block("quote", "Not revenue.")]);
    all.databases
        .insert(TABLE.to_owned(), vec![SOURCE.to_owned()]);
    all.data_sources.insert(
        SOURCE.to_owned(),
        ("Metrics".to_owned(), vec![ROW.to_owned()]),
    );
    all.page(ROW, "Churn", OLD, Vec::new());
    let properties = json!({
        "Name": { "type": "title", "title": [text("Churn")] },
        "Definition": { "type": "rich_text", "rich_text": [text("Lost over all.")] },
        "Owner": { "type": "people", "people": [{ "name": "Ada" }] },
        "State": { "type": "status", "status": { "name": "Live" } },
        "Tags": { "type": "multi_select", "multi_select": [{ "name": "a" }, { "name": "b" }] },
        "Since": { "type": "date", "date": { "start": "2025-01-01", "end": null } },
        "Target": { "type": "number", "number": 3.5 },
        "Empty": { "type": "select", "select": null },
    });
    if let Some(row) = all.pages.get_mut(ROW) {
        row["properties"] = properties;
    }
    all
}

#[test]
fn a_workspace_is_read_as_markdown() {
    let api = NotionFake::start(workspace()).expect("an API");
    let read = crawl(
        &api,
        &scope(&[HOME], 100, &[]),
        &tempdir().expect("a folder"),
    )
    .expect("a crawl");
    let files = read.snapshot.files.iter();
    let shown: Vec<String> = files
        .map(|(path, text)| format!("=== {path}\n{text}"))
        .collect();
    let shown = shown.concat();
    insta::assert_snapshot!(shown, @r"
    === pages/00000000000000000000000000000001.md
    # Finance
    Address: https://www.notion.so/00000000000000000000000000000001

    # Rules

    Net revenue is ~~gross~~ **paid** orders; see [the policy](https://acme.test/p).

    - one
      - inside one
    - two
    1. first
    2. second
    - [x] done

    > Mind this
    >
    > Really.

    | code | meaning |
    | --- | --- |
    | p\|1 | paid |

    ```sql
    select 1
    from orders
    ```

    [image: The funnel]

    $$a/b$$

    Shown twice.

    ---

    Page below: Refunds

    Database below: Metrics
    === pages/00000000000000000000000000000002.md
    # Refunds
    Below: Finance
    Address: https://www.notion.so/00000000000000000000000000000002

    > Not revenue.
    === pages/00000000000000000000000000000003.md
    # Churn
    Below: Finance / Metrics
    Address: https://www.notion.so/00000000000000000000000000000003

    - Definition: Lost over all.
    - Since: 2025-01-01
    - State: Live
    - Tags: a, b
    - Target: 3.5
    ");
    let units: Vec<(String, Option<String>)> = notion::units(&read.snapshot)
        .into_iter()
        .map(|unit| (unit.key, unit.label))
        .collect();
    let unit = |id: &str, label: &str| (format!("notion-page-{id}"), Some(label.to_owned()));
    assert_eq!(
        units,
        [
            unit(HOME, "Finance"),
            unit(BELOW, "Refunds"),
            unit(ROW, "Churn")
        ]
    );
    assert_eq!((read.warnings, read.snapshot.left_out), (vec![], vec![]));
}

/// Edit times have minute precision: what was read within two minutes of an edit may be outdated.
#[test]
fn a_page_that_was_just_edited_is_read_again() {
    let api = NotionFake::start(workspace()).expect("an API");
    let cache = tempdir().expect("a folder");
    let cached_after = |now: &str| {
        let scope = NotionScope {
            now: at(now),
            ..scope(&[HOME], 100, &[])
        };
        crawl(&api, &scope, &cache).expect("a crawl");
        let cached = std::fs::read_dir(cache.path());
        cached.map_or(0, Iterator::count)
    };
    assert_eq!(cached_after("2026-01-02T03:05:59Z"), 0);
    assert_eq!(cached_after("2026-01-02T03:06:00Z"), 3);
}

#[test]
fn only_what_changed_is_read_again() {
    let api = NotionFake::start(workspace()).expect("an API");
    let cache = tempdir().expect("a folder");
    let first = crawl(&api, &scope(&[HOME], 100, &[]), &cache).expect("a crawl");
    let asked = api.asked().len();
    let again = crawl(&api, &scope(&[HOME], 100, &[]), &cache).expect("a crawl");
    assert_eq!(first, again);
    let blocks = |from: usize| {
        let asked = api.asked();
        let asked = asked.iter().skip(from);
        asked.filter(|target| target.contains("/blocks/")).count()
    };
    assert_eq!(blocks(asked), 0);
    api.change(|all| {
        let page = all.pages.get_mut(BELOW).expect("the page");
        page["last_edited_time"] = json!("2026-02-02T00:00:00.000Z");
        all.blocks
            .insert(BELOW.to_owned(), vec![block("paragraph", "New words.")]);
    });
    let asked = api.asked().len();
    let third = crawl(&api, &scope(&[HOME], 100, &[]), &cache).expect("a crawl");
    assert_eq!(blocks(asked), 1);
    let below = format!("pages/{BELOW}.md");
    assert!(third.snapshot.files[&below].contains("New words."));
    let everything = NotionScope {
        roots: None,
        ..scope(&[], 100, &[])
    };
    let all = crawl(&api, &everything, &cache).expect("a crawl");
    let names = |crawl: &NotionCrawl| crawl.snapshot.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&all), names(&third));
}

#[test]
fn only_the_trash_is_gone() {
    let api = NotionFake::start(workspace()).expect("an API");
    let file = |id: &str| format!("pages/{id}.md");
    let earlier: Vec<String> = [HOME, BELOW, ROW, NEVER].map(file).to_vec();
    let earlier: Vec<&str> = earlier.iter().map(String::as_str).collect();
    let left = |read: &NotionCrawl| -> Vec<(String, String)> {
        let left = read.snapshot.left_out.iter();
        left.map(|left| (left.path.clone(), left.reason.clone()))
            .collect()
    };
    let cache = tempdir().expect("a folder");
    api.change(|all| {
        all.broken.insert(BELOW.to_owned());
        all.hidden.insert(TABLE.to_owned());
    });
    let read = crawl(&api, &scope(&[HOME], 100, &earlier), &cache).expect("a crawl");
    let host = api.address().replace("http://", "");
    let host = host.split(':').next().unwrap_or_default();
    assert_eq!(
        left(&read),
        [
            (
                file(BELOW),
                format!(
                    "Notion at {host} answered 500 for `/v1/pages/{BELOW}`: Unexpected error occurred."
                )
            ),
            (file(ROW), "it is not below the roots any more".to_owned()),
            (
                file(NEVER),
                "it is gone for good, or not shared with the integration any more".to_owned()
            ),
            (
                file(TABLE),
                format!(
                    "Notion at {host} answered 404 for `/v1/databases/{TABLE}`: Could not find page with ID: {TABLE}. Make sure the relevant pages and databases are shared with your integration."
                )
            ),
        ]
    );
    api.change(|all| {
        *all = workspace();
        all.pages.get_mut(BELOW).expect("the page")["in_trash"] = json!(true);
    });
    let read = crawl(&api, &scope(&[HOME], 100, &earlier), &cache).expect("a crawl");
    assert_eq!(left(&read).len(), 1, "{:?}", left(&read));
    assert!(!read.snapshot.files.contains_key(&file(BELOW)));
}

#[test]
fn no_part_of_a_page_that_fails_is_gone() {
    let api = NotionFake::start(workspace()).expect("an API");
    api.change(|all| {
        let words = "word ".repeat(300);
        let blocks = (0..60).map(|_| block("paragraph", &words)).collect();
        all.blocks.insert(BELOW.to_owned(), blocks);
    });
    let files = |read: &NotionCrawl| -> BTreeSet<String> {
        let files = read.snapshot.files.keys();
        files.filter(|file| file.contains(BELOW)).cloned().collect()
    };
    let read =
        crawl(&api, &scope(&[HOME], 9, &[]), &tempdir().expect("a folder")).expect("a crawl");
    let earlier = files(&read);
    let names: Vec<&str> = earlier.iter().map(String::as_str).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    api.change(|all| {
        all.broken.insert(BELOW.to_owned());
    });
    for most in [9, 1] {
        let scope = scope(&[HOME], most, &names);
        let read = crawl(&api, &scope, &tempdir().expect("a folder")).expect("a crawl");
        let left = read.snapshot.left_out.iter();
        let left: BTreeSet<String> = left.map(|left| left.path.clone()).collect();
        assert!(left.is_superset(&earlier), "{left:?}");
        api.change(|all| all.broken.clear());
    }
}

/// The next run reads the pages beyond the limit; cached pages do not count.
#[test]
fn a_bounded_crawl_continues() {
    let api = NotionFake::start(workspace()).expect("an API");
    let cache = tempdir().expect("a folder");
    let bounded = scope(&[HOME], 1, &[]);
    let read = |expected: usize| {
        let read = crawl(&api, &bounded, &cache).expect("a crawl");
        assert_eq!(read.snapshot.files.len(), expected);
        read
    };
    let first = read(1);
    assert_eq!(
        first.warnings,
        ["2 pages were found and not read: `max_pages_per_run` is 1; run the same command again"]
    );
    assert_eq!(first.snapshot.left_out.len(), 2);
    read(2);
    assert_eq!(read(3).warnings, Vec::<String>::new());
}

#[test]
fn what_everything_hangs_on_is_an_error() {
    let api = NotionFake::start(workspace()).expect("an API");
    let missing = crawl(
        &api,
        &scope(&[NEVER], 9, &[]),
        &tempdir().expect("a folder"),
    );
    assert_eq!(
        missing.map_err(|error| error.kind),
        Err(RestErrorKind::NotFound)
    );
    let rest = notion::client(&api.address(), &Secret::new("ntn_wrong")).expect("a client");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let name = runtime.block_on(notion::integration(&rest));
    let error = name.expect_err("a wrong token");
    assert_eq!(error.kind, RestErrorKind::Auth);
    assert!(
        error
            .message
            .ends_with("answered 401 for `/v1/users/me`: API token is invalid.")
    );
    for address in [
        "http://notion.test",
        "https://a:b@notion.test",
        "notion",
        "https://n.test/?a=b",
    ] {
        let error = notion::client(address, &Secret::new(TOKEN)).expect_err(address);
        assert_eq!(error.kind, RestErrorKind::Config);
        assert!(!error.message.contains(":b@"), "{error}");
    }
}

#[test]
fn a_list_without_an_end_is_an_error() {
    for cursor in [json!("again"), json!(null)] {
        let answer = json!({ "results": [], "has_more": true, "next_cursor": cursor });
        let api = Loopback::start(move |_, _| Answer::json(200, &answer)).expect("an API");
        let rest = notion::client(&api.address(), &Secret::new(TOKEN)).expect("a client");
        let everything = NotionScope {
            roots: None,
            ..scope(&[], 9, &[])
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let cache = tempdir().expect("a folder");
        let cache = PageCache::new(cache.path());
        let read = runtime.block_on(notion::read(&rest, &everything, &cache));
        let message = read.expect_err("no end").message;
        assert_eq!(
            message,
            "Notion at 127.0.0.1 answered a list without its end for `/v1/search`"
        );
    }
}

#[test]
fn ids_are_read_as_people_have_them() {
    let parsed = |text: &str| PageId::parse(text).map(String::from);
    let digits = "1a2b3c4d5e6f708192a3b4c5d6e7f809";
    for text in [
        digits,
        "1A2B3C4D-5E6F-7081-92A3-B4C5D6E7F809",
        "https://www.notion.so/acme/Revenue-2024-1a2b3c4d5e6f708192a3b4c5d6e7f809?pvs=4#x",
        " https://www.notion.so/1a2b3c4d5e6f708192a3b4c5d6e7f809/ ",
    ] {
        assert_eq!(parsed(text).as_deref(), Some(digits), "{text}");
    }
    for text in [
        "",
        "revenue",
        "1a2b",
        "ff1a2b3c4d5e6f708192a3b4c5d6e7f809",
        "ü1a2b3c4d5e6f708192a3b4c5d6e7f80",
    ] {
        assert_eq!(parsed(text), None, "{text}");
    }
}
