//! Tests what the writing tools accept and refuse, on drafts in memory.

use std::collections::{BTreeMap, BTreeSet};

use ktx_project_store::{Content, ProjectPath};
use ktx_sql::Dialect;
use ktx_tool_descriptors::{ToolError, ToolOutput};
use ktx_vocabulary::{ConnectionId, WikiKey};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{DraftState, Warehouse, sources, wiki};
use crate::draft::Draft;

const PAGE: &str = "---\r\n# who counts\r\nsummary: What revenue is.\r\nowner: ada\r\n---\r\n\r\nRevenue is paid orders.\r\nSee [[refunds]].\r\n";
const SHARD: &str = "tables:
  orders:
    table: orders
    columns:
      - name: id
        type: number
        pk: true
      - name: amount
        type: number
";

fn session() -> DraftState {
    let files = [
        ("wiki/global/revenue.md", PAGE),
        (
            "wiki/global/refunds.md",
            "---\nsummary: Refunds.\n---\n\nMoney back.\n",
        ),
        (
            "wiki/global/gone.md",
            "---\nsummary: Old orders.\nsl_refs: [archive.orders_2019]\n---\n\nText.\n",
        ),
        ("wiki/global/broken.md", "---\nsummary: [\n---\n\nText.\n"),
        ("semantic-layer/shop/_schema/public.yaml", SHARD),
    ];
    let base: BTreeMap<ProjectPath, Vec<u8>> = files
        .map(|(path, text)| (ProjectPath::parse(path).unwrap(), text.as_bytes().to_vec()))
        .into();
    DraftState {
        draft: Draft::new(base),
        linkable: BTreeSet::new(),
        warehouse: Some(Warehouse {
            id: ConnectionId::parse("shop").unwrap(),
            dialect: Dialect::Sqlite,
        }),
        others: vec![(
            ConnectionId::parse("lake").unwrap(),
            BTreeSet::from(["events".to_owned()]),
        )],
        uncommitted: BTreeSet::from([WikiKey::parse("held").unwrap()]),
        wiki: BTreeSet::new(),
        sl: BTreeMap::new(),
        quota: None,
        quota_reached: false,
    }
}

fn call<I: DeserializeOwned>(
    session: &mut DraftState,
    run: fn(&mut DraftState, &I) -> Result<ToolOutput, ToolError>,
    input: Value,
) -> Result<String, String> {
    let input: I = serde_json::from_value(input).unwrap();
    run(session, &input)
        .map(|output| output.markdown)
        .map_err(|error| error.message)
}

fn changes(session: &DraftState) -> Vec<(String, Option<String>)> {
    let text = |content| match content {
        Content::Write(bytes) => Some(String::from_utf8(bytes).unwrap()),
        Content::Delete => None,
    };
    let changes = session.draft.changes().into_iter();
    changes
        .map(|change| (change.path.to_string(), text(change.content)))
        .collect()
}

#[test]
fn an_edit_leaves_every_other_byte() {
    let mut session = session();
    let edit = json!({
        "key": "revenue",
        "replacements": [{ "oldText": "paid orders", "newText": "paid orders without refunds" }],
        "tags": ["finance"], "sl_refs": ["orders", "lake/events.count"],
    });
    let told = call(&mut session, wiki::write, edit).unwrap();
    assert!(told.starts_with("changed `revenue`."), "{told}");
    let after = PAGE
        .replace("paid orders", "paid orders without refunds")
        .replace(
            "owner: ada\r\n",
            "owner: ada\r\ntags:\r\n  - finance\r\nsl_refs:\r\n  - orders\r\n  - lake/events.count\r\n",
        );
    assert_eq!(
        changes(&session),
        [("wiki/global/revenue.md".to_owned(), Some(after))]
    );
    let back = json!({
        "key": "revenue", "tags": [], "sl_refs": [],
        "replacements": [{ "oldText": " without refunds", "newText": "" }],
    });
    call(&mut session, wiki::write, back).unwrap();
    assert_eq!(changes(&session), []);
}

/// KTX 0.12 allowed pages to write `connection.source`; an edit accepts references that the page
/// had before.
#[test]
fn older_references_to_sources_are_known() {
    let mut session = session();
    let older = json!({
        "key": "vat", "summary": "s", "content": "c",
        "sl_refs": ["shop.orders", "lake.events.count", "orders.amount"],
    });
    call(&mut session, wiki::write, older).unwrap();
    let other = json!({ "key": "vat", "sl_refs": ["shop.events"] });
    assert_eq!(
        call(&mut session, wiki::write, other).unwrap_err(),
        "`sl_refs`: there is no semantic source `shop`"
    );
    let gone =
        json!({ "key": "gone", "tags": ["old"], "sl_refs": ["archive.orders_2019", "orders"] });
    call(&mut session, wiki::write, gone).unwrap();
}

#[test]
fn a_refused_page_changes_nothing() {
    let cases = [
        (
            json!({ "key": "new page", "summary": "s", "content": "c" }),
            "unsafe wiki key `new page`: keys are flat, of letters, digits, `_` and `-`; use `new-page`",
        ),
        (
            json!({ "key": "vat", "content": "c" }),
            "there is no page `vat`: a new page needs `summary` and `content`",
        ),
        (
            json!({ "key": "Revenue", "summary": "s", "content": "c" }),
            "there is `revenue` already, and some file systems take both names for one: use it",
        ),
        (
            json!({ "key": "held", "summary": "s", "content": "c" }),
            "someone is writing `held` and has not committed it yet: leave it as it is, use another page",
        ),
        (
            json!({ "key": "vat", "summary": "s", "content": "See [[revenu]]." }),
            "there is no page `revenu` to link to; there is `revenue`; write that page first or leave the link out",
        ),
        (
            json!({ "key": "vat", "summary": "s", "content": "c", "sl_refs": ["shop/order.amount"] }),
            "`sl_refs`: there is no semantic source `order`; there is `orders`",
        ),
        (
            json!({ "key": "vat", "summary": "s", "content": "Use\npostgres://ada:hunter2@db/shop\n" }),
            "line 6 looks like a password, key or token: leave it out",
        ),
        (
            json!({ "key": "revenue", "replacements": [
                { "oldText": "Revenue", "newText": "Turnover" },
                { "oldText": "unpaid", "newText": "paid" },
            ] }),
            "nothing was changed: `oldText` of edit 2 is not there",
        ),
        (
            json!({ "key": "revenue", "replacements": [{ "oldText": "e", "newText": "E" }] }),
            "nothing was changed: `oldText` of edit 1 is there more than once: give more of the text around it",
        ),
        (
            json!({ "key": "revenue", "summary": "two\nlines" }),
            "`summary` must be one line of text",
        ),
        (
            json!({ "key": "revenue", "content": "x".repeat(20_001) }),
            "`content` has 20001 characters, at most 20000 are allowed: one topic a page",
        ),
        (
            json!({ "key": "vat", "summary": "s", "content": "a\u{0}b" }),
            "line 5 of the page has the character U+0000, which is invisible: leave it out",
        ),
        (
            json!({ "key": "vat", "summary": "s", "content": "paid \u{202e}dnuf" }),
            "line 5 of the page has the character U+202E, which is invisible: leave it out",
        ),
        (
            json!({ "key": "Com1", "summary": "s", "content": "c" }),
            "no file can be called `Com1` on Windows: use another name",
        ),
        (
            json!({ "key": "vat", "summary": "s", "content": "Sum of `orders.amonut`." }),
            "the text names `orders.amonut`, and `orders` has no such column, measure or segment; there is `orders.amount`",
        ),
    ];
    for (input, expected) in cases {
        let mut session = session();
        let told = call(&mut session, wiki::write, input.clone());
        assert_eq!(told, Err(expected.to_owned()), "{input}");
        assert_eq!(changes(&session), [], "{input}");
    }
    let mut session = session();
    let broken = json!({ "key": "broken", "content": "New." });
    let told = call(&mut session, wiki::write, broken).unwrap_err();
    assert!(
        told.starts_with("the page cannot be edited before a person mends it: "),
        "{told}"
    );
    assert_eq!(
        call(&mut session, wiki::remove, json!({ "key": "refunds" })),
        Err("`refunds` is linked from `revenue`: change those pages first".to_owned())
    );
    assert_eq!(changes(&session), []);
}

#[test]
fn pages_of_one_capture_see_each_other() {
    let mut session = session();
    let vat = json!({ "key": "vat", "summary": "VAT.", "content": "19 %.", "refs": ["revenue"] });
    call(&mut session, wiki::write, vat).unwrap();
    let link = json!({ "key": "revenue", "content": "Net of [[vat]]." });
    call(&mut session, wiki::write, link).unwrap();
    assert_eq!(
        call(&mut session, wiki::remove, json!({ "key": "refunds" })),
        Ok("removed `refunds`".to_owned())
    );
    let vat = "---\nsummary: VAT.\nrefs:\n  - revenue\n---\n\n19 %.\n";
    let head = PAGE.split("Revenue is").next().unwrap();
    assert_eq!(
        changes(&session),
        [
            ("wiki/global/refunds.md".to_owned(), None),
            (
                "wiki/global/revenue.md".to_owned(),
                Some(format!("{head}Net of [[vat]].\n"))
            ),
            ("wiki/global/vat.md".to_owned(), Some(vat.to_owned())),
        ]
    );
}

#[test]
fn a_source_that_is_wrong_is_not_written() {
    let mut session = session();
    let overlay = "name: orders\nmeasures:\n  - name: revenue\n    expr: sum(amount)\n";
    let write = json!({ "source_name": "orders", "yaml": overlay });
    assert_eq!(
        call(&mut session, sources::write, write),
        Ok("wrote `semantic-layer/shop/orders.yaml`".to_owned())
    );
    let before = changes(&session);
    let edit = json!({ "source_name": "orders", "yaml_edits": [
        { "oldText": "sum(amount)", "newText": "sum(amonut)" },
    ] });
    let told = call(&mut session, sources::edit, edit).unwrap_err();
    assert!(
        told.starts_with("nothing was written, the file is wrong:\n- orders.yaml:")
            && told.contains("amonut"),
        "{told}"
    );
    let other = json!({ "source_name": "orders", "yaml": "name: customers\ntable: orders\n" });
    let told = call(&mut session, sources::write, other);
    assert!(told.is_err(), "{told:?}");
    for (name, yaml, expected) in [
        (
            "orders",
            "name: customers\nmeasures: []\ntable: customers\ncolumns: [{name: id, type: number}]\ngrain: [id]\n",
            "the file does not define `orders`: `name:` must be the same as `source_name`",
        ),
        (
            "paid",
            "name: paid\nsql: SELECT pg_read_file('/etc/passwd') AS id\ncolumns: [{name: id, type: number}]\ngrain: [id]\n",
            "nothing was written: the `sql` of `paid` is refused: ",
        ),
        (
            "nul",
            "name: nul\nsql: SELECT 1 AS id\ncolumns: [{name: id, type: number}]\ngrain: [id]\n",
            "no file can be called `nul` on Windows: use another name",
        ),
        (
            "orders",
            "name: orders\ndescriptions: {user: \"See `orders.amonut`.\"}\n",
            "the text names `orders.amonut`, and `orders` has no such column, measure or segment; there is `orders.amount`",
        ),
    ] {
        let input = json!({ "source_name": name, "yaml": yaml });
        let told = call(&mut session, sources::write, input).unwrap_err();
        assert!(told.starts_with(expected), "{told}");
    }
    let none = json!({ "source_name": "nope", "yaml_edits": [] });
    assert_eq!(
        call(&mut session, sources::edit, none),
        Err("`nope` has no file of its own: write an overlay with `sl_write_source`".to_owned())
    );
    assert_eq!(changes(&session), before);
    let read = call(
        &mut session,
        sources::read,
        json!({ "source_name": "orders" }),
    )
    .unwrap();
    assert!(read.ends_with(overlay), "{read}");
    assert!(read.contains("- name: amount"), "{read}");
}

#[test]
fn a_note_without_a_connection_writes_pages_only() {
    let mut session = session();
    session.warehouse = None;
    let write = json!({ "source_name": "orders", "yaml": "name: orders\n" });
    assert_eq!(
        call(&mut session, sources::write, write),
        Err("the note was given without a connection: only wiki pages can be written".to_owned())
    );
}
