//! Tests past queries as evidence of links.

use std::fmt::Write as _;
use std::sync::Arc;

use ktx_project_store::Change;
use ktx_scan::{History, PastQuery, People, ScanMode, ScanOutcome, Switch, scan};
use serde_json::{Value, json};

use crate::faulty::{Faults, Faulty};
use crate::memory::World;
use crate::sqlite::{Keys, Sqlite};

/// Neither values nor names decide the links.
fn script() -> String {
    let mut script = String::from(
        "CREATE TABLE a (id INTEGER, v INTEGER); CREATE TABLE b (id INTEGER, w INTEGER); CREATE TABLE c (id INTEGER, z INTEGER);",
    );
    for row in 1..=40 {
        let value = row % 13 + 1;
        let other = 900 + row % 5;
        write!(
            script,
            "INSERT INTO a VALUES ({row}, {value}); INSERT INTO b VALUES ({row}, {value}); INSERT INTO c VALUES ({row}, {other});"
        )
        .expect("a string");
    }
    script
}

fn world(history: Option<&str>) -> (World, Arc<Sqlite>) {
    let sqlite = Arc::new(Sqlite::new(Keys::Hidden, &script()));
    let faults = Faults {
        history: history.map(str::to_owned),
        ..Faults::default()
    };
    (
        World::new(Arc::new(Faulty::new(sqlite.clone(), faults))),
        sqlite,
    )
}

fn accepted(world: &World) -> Vec<Value> {
    let artifact = world.project.json("relationships.json");
    let edges = artifact["accepted"].as_array().expect("a list").clone();
    let short = |edge: Value| {
        json!([
            edge["id"],
            edge["source"],
            edge["evidence"]["joinedInQueries"]
        ])
    };
    edges.into_iter().map(short).collect()
}

async fn scanned(world: &World, queries: &[(&str, u64)]) -> ScanOutcome {
    let mut request = world.request(ScanMode::Relationships);
    request.settings.history.queries = queries
        .iter()
        .map(|(text, runs)| PastQuery {
            text: (*text).to_owned(),
            runs: *runs,
        })
        .collect();
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    outcome
}

#[tokio::test]
async fn joins_that_people_ran_are_believed_where_values_allow_them() {
    let (world, _) = world(None);
    scanned(&world, &[]).await;
    assert_eq!(accepted(&world), Vec::<Value>::new());
    let queries = [
        ("SELECT 1 FROM a JOIN b ON a.v = b.id", 30),
        // Values override queries.
        ("SELECT 1 FROM c JOIN b ON c.z = b.id", 500),
    ];
    scanned(&world, &queries).await;
    assert_eq!(
        accepted(&world),
        [json!(["a:(v)->b:(id)", "query_history", 30])]
    );
}

#[tokio::test]
async fn the_record_of_the_warehouse_is_read_when_it_is_switched_on() {
    let (world, sqlite) = world(Some("SELECT text, runs FROM record ORDER BY runs DESC"));
    sqlite.execute(
        "CREATE TABLE record (text TEXT, runs INTEGER);
         INSERT INTO record VALUES ('SELECT 1 FROM a JOIN b ON a.v = b.id', 9), ('SELECT 1 FROM b JOIN c ON b.w = c.id', 2);",
    );
    scanned(&world, &[]).await;
    assert_eq!(accepted(&world), Vec::<Value>::new());
    let mut request = world.request(ScanMode::Relationships);
    request.settings.history.warehouse = Switch::On;
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    assert_eq!(outcome.report.warnings, Vec::new());
    assert_eq!(
        accepted(&world),
        [json!(["a:(v)->b:(id)", "query_history", 9])]
    );
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_a_warning() {
    for (history, message) in [
        (
            None,
            "this connection keeps no record of queries that ktx can read",
        ),
        (
            Some("SELECT text, runs FROM nowhere"),
            "could not read the record of past queries: no such table: nowhere",
        ),
    ] {
        let (world, _) = world(history);
        let mut request = world.request(ScanMode::Relationships);
        request.settings.history.warehouse = Switch::On;
        let outcome = scan(request).await.expect("a scan");
        let told: Vec<(&str, &str)> = outcome
            .report
            .warnings
            .iter()
            .map(|warning| (warning.code.as_str(), warning.message.as_str()))
            .collect();
        assert!(
            told.first()
                .is_some_and(|(code, text)| *code == "query_history_unavailable"
                    && text.starts_with(message)),
            "{told:?}"
        );
    }
}

const RECORD: &str = "SELECT text, runs, person, 1 AS is_whole FROM record ORDER BY runs DESC";

pub(crate) fn usages(world: &World) -> Value {
    let path = world.project.paths().into_iter();
    let path = path
        .filter(|path| path.contains("/_schema/"))
        .collect::<Vec<_>>();
    let [path] = path.as_slice() else {
        panic!("one shard: {path:?}");
    };
    let shard: Value = serde_yaml::from_str(&world.project.text(path)).expect("yaml");
    let tables = shard["tables"].as_object().expect("tables");
    let usage = |(name, entry): (&String, &Value)| (name.clone(), entry["usage"].clone());
    Value::Object(tables.iter().map(usage).collect())
}

async fn with_history(world: &World, history: History) -> ScanOutcome {
    let mut request = world.request(ScanMode::Relationships);
    request.settings.history = history;
    let outcome = scan(request).await.expect("a scan");
    world.project.publish(&outcome);
    outcome
}

fn switched_on() -> History {
    History {
        warehouse: Switch::On,
        ..History::default()
    }
}

fn recorded(rows: &str) -> (World, Arc<Sqlite>) {
    let (world, sqlite) = world(Some(RECORD));
    sqlite.execute(
        "CREATE TABLE record (text TEXT, runs INTEGER, person TEXT); CREATE TABLE d (id INTEGER, b TEXT);",
    );
    sqlite.execute(&format!("INSERT INTO record VALUES {rows}"));
    (world, sqlite)
}

const ROWS: &str = "
    ('SELECT v, count(*) FROM a JOIN b ON a.v = b.id WHERE a.id > 7 AND b.w = ''secret'' GROUP BY v', 60, 'ann'),
    ('SELECT * FROM other.c WHERE z = 1', 90, 'ann'),
    ('SELECT w FROM b WHERE w IS NULL', 50, 'etl_1'),
    ('SELECT z FROM c', 4, 'ann')";

#[tokio::test]
async fn usage_is_written_and_never_holds_a_value() {
    let (world, sqlite) = recorded(ROWS);
    with_history(&world, switched_on()).await;
    let first = usages(&world);
    // `c` is named, but not exactly: evidence neither of use nor of disuse.
    assert_eq!(
        first,
        json!({
            "a": {"frequencyTier": "high", "commonFilters": ["id"], "commonGroupBys": ["v"], "commonJoins": [{"table": "b", "on": ["v = id"]}]},
            "b": {"frequencyTier": "high", "commonFilters": ["w"], "commonGroupBys": [], "commonJoins": [{"table": "a", "on": ["id = v"]}]},
            "c": null,
            "d": {"frequencyTier": "unused"},
            "record": {"frequencyTier": "unused"},
        })
    );
    sqlite.execute("UPDATE record SET runs = runs * 11 / 10");
    let again = with_history(&world, switched_on()).await;
    let shards = |change: &Change| format!("{change:?}").contains("/_schema/");
    assert_eq!(
        again.changes.iter().filter(|change| shards(change)).count(),
        0
    );
}

#[tokio::test]
async fn usage_keeps_what_others_wrote_and_the_first_stale_day() {
    let (world, sqlite) = recorded(ROWS);
    with_history(&world, switched_on()).await;
    let path = world.project.paths().into_iter();
    let path = path
        .filter(|path| path.contains("/_schema/"))
        .collect::<String>();
    let text = world.project.text(&path).replacen(
        "frequencyTier: high",
        "narrative: asked daily\n      frequencyTier: high",
        1,
    );
    world.project.put(&path, &text);
    sqlite.execute("DELETE FROM record WHERE text LIKE '%JOIN%'");
    for day in ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"] {
        let mut request = world.request(ScanMode::Relationships);
        request.settings.history = switched_on();
        request.now = day.parse().expect("a time");
        let outcome = scan(request).await.expect("a scan");
        world.project.publish(&outcome);
        assert_eq!(
            usages(&world)["a"],
            json!({"narrative": "asked daily", "frequencyTier": "unused", "staleSince": "2026-02-01"})
        );
    }
    // Unread does not mean unused.
    let before = usages(&world);
    sqlite.execute(
        "DELETE FROM record; INSERT INTO record VALUES ('<insufficient privilege>', 9, NULL)",
    );
    let hidden = with_history(&world, switched_on()).await;
    assert_eq!(usages(&world), before);
    let told: Vec<&str> = (hidden.report.warnings.iter())
        .map(|warning| warning.message.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "the texts of other users' queries are hidden from this login, so `usage` stays as it was; run `GRANT pg_read_all_stats TO` its role"
        ]
    );
    sqlite.execute("DROP TABLE record; CREATE TABLE record (id INTEGER)");
    with_history(&world, switched_on()).await;
    assert_eq!(usages(&world)["a"], before["a"]);
}

/// Excluded queries do not affect the shares.
#[tokio::test]
async fn filters_say_whose_queries_of_which_tables_count() {
    let patterns = regex::RegexSet::new(["^etl_"]).expect("patterns");
    let cases = [
        (
            History {
                people: People::Without(patterns.clone()),
                ..switched_on()
            },
            json!([["id"], "high", ["w"], null]),
        ),
        (
            History {
                people: People::Only(patterns),
                ..switched_on()
            },
            json!([null, "high", ["w"], null]),
        ),
        (
            History {
                tables: vec!["B".to_owned()],
                ..switched_on()
            },
            json!([null, "high", ["w"], null]),
        ),
        (
            History {
                least_runs: 55,
                ..switched_on()
            },
            json!([["id"], "high", ["w"], "unused"]),
        ),
        (
            History {
                schemas: vec!["sales".to_owned()],
                ..switched_on()
            },
            json!([null, null, null, null]),
        ),
        (
            History {
                schemas: vec!["*".to_owned()],
                ..switched_on()
            },
            json!([["id"], "high", ["w"], "unused"]),
        ),
    ];
    for (history, expected) in cases {
        let (world, _) = recorded(ROWS);
        with_history(&world, history.clone()).await;
        let usage = usages(&world);
        let found = json!([
            usage["a"]["commonFilters"],
            usage["b"]["frequencyTier"],
            usage["b"]["commonFilters"],
            usage["d"]["frequencyTier"],
        ]);
        assert_eq!(found, expected, "{history:?}");
    }
}

/// A file proves use, not disuse.
#[tokio::test]
async fn a_file_of_queries_tells_uses_where_there_is_no_record() {
    let (world, _) = world(None);
    let text = "SELECT z FROM c WHERE z = 905; SELECT 1 FROM c JOIN b USING (id);";
    let history = History {
        queries: vec![PastQuery {
            text: text.to_owned(),
            runs: 1,
        }],
        ..switched_on()
    };
    let warnings = with_history(&world, history).await.report.warnings;
    let told: Vec<&str> = warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    assert_eq!(
        told,
        ["this connection keeps no record of queries that ktx can read"]
    );
    assert_eq!(
        usages(&world),
        json!({
            "a": null,
            "b": {"frequencyTier": "high", "commonFilters": [], "commonGroupBys": [], "commonJoins": [{"table": "c", "on": ["id = id"]}]},
            "c": {"frequencyTier": "high", "commonFilters": ["z"], "commonGroupBys": [], "commonJoins": [{"table": "b", "on": ["id = id"]}]},
        })
    );
}
