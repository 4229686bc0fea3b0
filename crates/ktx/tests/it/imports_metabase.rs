//! Metabase definitions that would give another number, and unlisted columns.

use serde_json::{Value, json};

use crate::imports::wrong_answers;
use crate::imports_bi::{card, metabase, metadata, older};
use crate::support::{commit, run, transcript, write};

fn metric(id: u64, name: &str, query: &Value) -> Value {
    let mut query = query.clone();
    query["source-table"] = json!(1);
    card(id, "metric", name, older(&query))
}

/// Negated partial text matches keep empty values.
#[test]
fn opposite_filters_of_metabase_keep_empty_values() {
    let status = json!(["field", 13, null]);
    let count = |id: u64, name: &str, filter: Value| {
        metric(
            id,
            name,
            &json!({"aggregation": [["count"]], "filter": filter}),
        )
    };
    let contains = json!(["contains", status, "AI", {"case-sensitive": false}]);
    let (_server, sandbox) = metabase(vec![
        count(1, "Without ai", json!(["does-not-contain", status, "ai"])),
        count(2, "Not with ai", json!(["not", contains])),
        count(
            3,
            "Not from p",
            json!(["not", ["starts-with", status, "p"]]),
        ),
        count(4, "Not to n", json!(["not", ["ends-with", status, "n"]])),
        count(
            5,
            "Neither",
            json!(["does-not-contain", {"case-sensitive": true}, status, "ai", "pe"]),
        ),
        count(
            6,
            "Either",
            json!(["contains", {"case-sensitive": true}, status, "ai", "pe"]),
        ),
        count(
            7,
            "Not both",
            json!([
                "not",
                [
                    "and",
                    ["contains", status, "ai"],
                    [">", ["field", 14, null], 0]
                ]
            ]),
        ),
        count(
            8,
            "Twice",
            json!(["not", ["does-not-contain", status, "ai"]]),
        ),
        count(9, "Not equal", json!(["!=", status, "paid", "closed"])),
        count(10, "Not the same", json!(["not", ["=", status, "paid"]])),
        count(
            11,
            "Lower",
            json!(["does-not-contain", ["coalesce", status, "x"], "x"]),
        ),
    ]);
    let printed = run(&sandbox, "ingest bi --facts");
    let left = printed
        .stderr
        .lines()
        .filter(|line| line.contains("imported"));
    insta::assert_snapshot!(left.collect::<Vec<_>>().join("\n"), @r"bi: databases/1/cards/11.md: measure `Lower` was not imported: only Metabase knows which empty values its filter keeps");
    let questions = r#"
- {ask: {measures: [orders.without_ai]}, sql: "SELECT count(*) FROM orders WHERE NOT (status LIKE '%ai%') OR status IS NULL"}
- {ask: {measures: [orders.not_with_ai]}, sql: "SELECT count(*) FROM orders WHERE NOT (lower(status) LIKE '%ai%') OR status IS NULL"}
- {ask: {measures: [orders.not_from_p]}, sql: "SELECT count(*) FROM orders WHERE NOT (status LIKE 'p%') OR status IS NULL"}
- {ask: {measures: [orders.not_to_n]}, sql: "SELECT count(*) FROM orders WHERE NOT (status LIKE '%n') OR status IS NULL"}
- {ask: {measures: [orders.neither]}, sql: "SELECT count(*) FROM orders WHERE status IS NULL"}
- {ask: {measures: [orders.either]}, sql: "SELECT count(*) FROM orders WHERE status IN ('paid', 'open')"}
- {ask: {measures: [orders.not_both]}, sql: "SELECT count(*) FROM orders WHERE NOT (status LIKE '%ai%') OR status IS NULL OR NOT (amount > 0)"}
- {ask: {measures: [orders.twice]}, sql: "SELECT count(*) FROM orders WHERE status LIKE '%ai%'"}
- {ask: {measures: [orders.not_equal]}, sql: "SELECT count(*) FROM orders WHERE status = 'open' OR status IS NULL"}
- {ask: {measures: [orders.not_the_same]}, sql: "SELECT count(*) FROM orders WHERE NOT (status = 'paid')"}
"#;
    assert_eq!(wrong_answers(&sandbox, questions), "");
}

#[test]
fn what_would_be_another_number_is_left() {
    let month = json!(["field", 15, {"temporal-unit": "month"}]);
    let status = json!(["field", 13, null]);
    let sum = json!(["sum", ["field", 14, null]]);
    let (_server, sandbox) = metabase(vec![
        metric(
            1,
            "By month",
            &json!({"aggregation": [sum], "breakout": [month]}),
        ),
        metric(
            2,
            "By status",
            &json!({"aggregation": [sum], "breakout": [status]}),
        ),
        card(
            3,
            "model",
            "Groups",
            older(
                &json!({"source-table": 1, "filter": ["not-null", status], "breakout": [status]}),
            ),
        ),
        card(
            4,
            "metric",
            "Of groups",
            older(&json!({"source-table": "card__3", "aggregation": [["count"]]})),
        ),
        metric(
            5,
            "First paid",
            &json!({"aggregation": [["min", ["field", 16, null]]]}),
        ),
        metric(6, "Revenue", &json!({"aggregation": [sum]})),
        metric(7, "Revenue!", &json!({"aggregation": [["count"]]})),
        metric(
            8,
            "Same revenue",
            &json!({"aggregation": [["*", ["metric", 6], 2]]}),
        ),
        metric(
            9,
            "Other revenue",
            &json!({"aggregation": [["*", ["metric", 7], 2]]}),
        ),
        metric(10, "Mine", &json!({"aggregation": [sum]})),
        metric(
            11,
            "Of mine",
            &json!({"aggregation": [["*", ["metric", 10], 2]]}),
        ),
        metric(
            12,
            "Of that",
            &json!({"aggregation": [["*", ["metric", 11], 2]]}),
        ),
    ]);
    let own = "name: orders\nmeasures:\n  - {name: mine, expr: count(*)}\n";
    write(&sandbox, "semantic-layer/warehouse/orders.yaml", own);
    commit(&sandbox, "a measure of a person");
    insta::assert_snapshot!(transcript(&run(&sandbox, "ingest bi --facts")), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	[COMMIT]
    bi	12 definitions	3 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Metabase
    warning: bi: the SQL of card 4 (`Of groups`): Metabase at 127.0.0.1 answered 500 for `/api/dataset/native`: Unknown table
    bi: databases/1/cards/1.md: measure `by_month` was imported in part: it is shown by periods, which a query has to name
    bi: databases/1/cards/2.md: measure `By status` was not imported: it groups its rows
    bi: databases/1/cards/5.md: measure `First paid` was not imported: Metabase reads the column `paid_at` as another type
    bi: databases/1/cards/4.md: measure `Of groups` was not imported: it is built on another card that groups its rows
    bi: databases/1/cards/9.md: measure `Other revenue` was not imported: it is built on a metric that was left out
    bi: databases/1/cards/7.md: measure `Revenue!` was not imported: `databases/1/cards/6.md` defines another one of this name
    bi: databases/1/cards/10.md: measure `mine` was not imported: `orders.yaml` defines a measure of this name, which counts
    bi: databases/1/cards/11.md: measure `of_mine` was not imported: it is built on `mine`, whose name another definition has
    bi: databases/1/cards/12.md: measure `of_that` was not imported: unknown measure `of_mine`
    bi: databases/1/cards/3.md: segment `Groups` was not imported: it groups its rows
    ");
    let questions = r#"
- {ask: {measures: [orders.revenue, orders.by_month, orders.same_revenue]}, sql: "SELECT sum(amount), sum(amount), 2 * sum(amount) FROM orders"}
"#;
    assert_eq!(wrong_answers(&sandbox, questions), "");
}

/// Without columns, ktx cannot tell which cards are gone.
#[test]
fn imports_stay_while_metabase_does_not_list_the_columns() {
    let sum = |id: u64, name: &str| {
        metric(
            id,
            name,
            &json!({"aggregation": [["sum", ["field", 14, null]]]}),
        )
    };
    let (server, sandbox) = metabase(vec![sum(1, "Revenue"), sum(2, "Turnover")]);
    let printed = run(&sandbox, "ingest bi --facts");
    assert_eq!(printed.code, Some(0), "{printed}");
    let file = "semantic-layer/warehouse/_imports/bi/orders.yaml";
    let before = sandbox.read(file).expect("an import");
    server.change(|all| all.metadata.clear());
    let unreadable = transcript(&run(&sandbox, "ingest bi --facts"));
    assert_eq!(
        sandbox.read(file).ok().as_ref(),
        Some(&before),
        "{unreadable}"
    );
    server.change(|all| {
        let mut bare = metadata();
        bare["tables"][0]["fields"] = json!([]);
        all.metadata.insert(1, bare);
    });
    let empty = transcript(&run(&sandbox, "ingest bi --facts"));
    assert_eq!(sandbox.read(file).ok().as_ref(), Some(&before), "{empty}");
    server.change(|all| {
        all.metadata.insert(1, json!({ "id": 1, "tables": [] }));
    });
    let hidden = transcript(&run(&sandbox, "ingest bi --facts"));
    assert_eq!(sandbox.read(file).ok().as_ref(), Some(&before), "{hidden}");
    insta::assert_snapshot!(format!("{unreadable}\n{empty}\n{hidden}"), @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	2 definitions	0 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Metabase
    warning: bi: the columns of the database 1 were not read, what an earlier run imported stays: Metabase at 127.0.0.1 answered 404 for `/api/database/1/metadata`: Not found.
    bi: databases/1/cards/1.md: measure `Revenue` was not imported: the server does not list the columns of its table
    bi: databases/1/cards/2.md: measure `Turnover` was not imported: the server does not list the columns of its table

    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	2 definitions	0 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Metabase
    warning: bi: the server lists no columns of the table 1 of the database 1, or not for this key: what an earlier run imported stays
    bi: databases/1/cards/1.md: measure `Revenue` was not imported: the server does not list the columns of its table
    bi: databases/1/cards/2.md: measure `Turnover` was not imported: the server does not list the columns of its table

    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    bi	facts of 0 tables	done	-	-	nothing changed
    bi	2 definitions	0 imported	-	-	-
    --- stderr
    Project: [SANDBOX]/work
    bi: reading Metabase
    warning: bi: the server lists no columns of the table 1 of the database 1, or not for this key: what an earlier run imported stays
    bi: databases/1/cards/1.md: measure `Revenue` was not imported: the server does not list the columns of its table
    bi: databases/1/cards/2.md: measure `Turnover` was not imported: the server does not list the columns of its table
    ");
    server.change(|all| {
        all.metadata.insert(1, metadata());
        all.cards[1]["archived"] = json!(true);
    });
    let printed = run(&sandbox, "ingest bi --facts");
    assert_eq!(printed.code, Some(0), "{printed}");
    let after = sandbox.read(file).expect("an import");
    assert_eq!(
        (
            after.contains("name: revenue"),
            after.contains("name: turnover")
        ),
        (true, false),
        "{after}"
    );
}
