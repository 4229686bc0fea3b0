//! Tests scans with a model.

use std::sync::{Arc, Mutex};

use ktx_llm_runtime::{LlmError, LlmErrorKind, NoEvents, Reply, ScriptedRuntime};
use ktx_scan::{ScanError, ScanMode, ScanOutcome, scan};
use serde_json::{Value, json};

use crate::memory::{Listener, World};
use crate::scans::{SHARD, run, world};
use crate::sqlite::{Keys, Sqlite};

fn asked(prompt: &str) -> Vec<String> {
    prompt
        .lines()
        .skip_while(|line| *line != "columns:")
        .skip(1)
        .map_while(|line| line.strip_prefix("- "))
        .map(|line| line.split(" (").next().unwrap_or_default().to_owned())
        .collect()
}

fn described(prompt: &str) -> Value {
    let columns: Vec<Value> = asked(prompt)
        .iter()
        .map(|name| json!({"name": name, "description": format!("The {name}.")}))
        .collect();
    json!({"tableDescription": "One row each.", "columns": columns})
}

pub(crate) fn describing() -> Arc<ScriptedRuntime> {
    Arc::new(ScriptedRuntime::answering(
        |prompt| {
            if prompt.contains("Decide each of these pairs") {
                let pairs = prompt
                    .lines()
                    .filter(|line| line.starts_with("Pair "))
                    .count();
                let all: Vec<Value> = (1..=pairs)
                    .map(|pair| json!({"pair": pair, "verdict": "unsure", "reason": "?"}))
                    .collect();
                return Some(Reply::Object(json!({"decisions": all})));
            }
            Some(Reply::Object(described(prompt)))
        },
        Arc::new(NoEvents),
    ))
}

#[tokio::test]
async fn descriptions_land_in_the_shard_and_their_artifact() {
    let (mut world, _) = world(Keys::Shown);
    world.runtime = Some(describing());
    let outcome = run(&world, ScanMode::Enriched).await;
    assert_eq!(outcome.model_calls, 4);
    assert_eq!(outcome.report.warnings, Vec::new());
    let artifact = world.project.json("descriptions.json");
    assert_eq!(
        artifact["tables"][0]["columns"][0],
        json!({"name": "id", "description": "The id."})
    );
    let shard = world.project.text(SHARD);
    assert!(shard.starts_with(
        "tables:
  customers:
    table: customers
    descriptions:
      ai: One row each.
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
        descriptions:
          ai: The id.
"
    ));
    let report = world.project.json("scan-report.json");
    assert_eq!(
        report["enrichment"]["tableDescriptions"],
        json!("completed")
    );
    assert_eq!(
        report["enrichment"]["columnDescriptions"],
        json!("completed")
    );
    assert_eq!(report["mode"], json!("enriched"));
}

#[tokio::test]
async fn missing_columns_are_asked_for_again_and_unknown_ones_dropped() {
    let (mut world, _) = world(Keys::Shown);
    let prompts: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let seen = prompts.clone();
    let answer = move |prompt: &str| {
        let mut answer = described(prompt);
        if prompt.contains("table: orders") {
            let mut seen = seen.lock().expect("not poisoned");
            seen.push(asked(prompt));
            if seen.len() == 1 {
                answer["columns"] = json!([{"name": "id", "description": "The id."}, {"name": "ghost", "description": "Boo."}]);
            }
        }
        Some(Reply::Object(answer))
    };
    world.runtime = Some(Arc::new(ScriptedRuntime::answering(
        answer,
        Arc::new(NoEvents),
    )));
    let outcome = run(&world, ScanMode::Enriched).await;
    assert_eq!(outcome.model_calls, 5);
    assert_eq!(
        *prompts.lock().expect("not poisoned"),
        [
            vec!["id", "customer_id", "day", "total"],
            vec!["customer_id", "day", "total"]
        ]
    );
    let messages: Vec<&str> = outcome
        .report
        .warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    assert_eq!(
        messages,
        ["the model described columns that `orders` does not have: ghost"]
    );
    assert!(!world.project.text(SHARD).contains("Boo"));
}

#[tokio::test]
async fn a_wide_table_goes_on_where_the_model_stopped() {
    let (mut world, sqlite) = world(Keys::Shown);
    let columns: Vec<String> = (0..100).map(|at| format!("c{at:02} INTEGER")).collect();
    sqlite.execute(&format!("CREATE TABLE wide ({})", columns.join(", ")));
    let groups: Arc<Mutex<Vec<(String, usize)>>> = Arc::default();
    let runtime = |stop_at: Option<&'static str>| {
        let seen = groups.clone();
        let answer = move |prompt: &str| {
            if !prompt.contains("table: wide") {
                return Some(Reply::Object(described(prompt)));
            }
            let columns = asked(prompt);
            let first = columns.first().cloned().unwrap_or_default();
            seen.lock()
                .expect("not poisoned")
                .push((first.clone(), columns.len()));
            if stop_at == Some(&first) {
                let error = LlmError::new(LlmErrorKind::RateLimit, "the 5-hour window is used up");
                return Some(Reply::Error(error));
            }
            let mut answer = described(prompt);
            let left_out = |column: &Value| {
                ["c07", "c45"]
                    .contains(&column["name"].as_str()?)
                    .then_some(())
            };
            if let Some(columns) = answer["columns"].as_array_mut() {
                columns.retain(|column| left_out(column).is_none());
            }
            Some(Reply::Object(answer))
        };
        Arc::new(ScriptedRuntime::answering(answer, Arc::new(NoEvents)))
    };
    let mut scanned = async |stop_at| {
        world.runtime = Some(runtime(stop_at));
        run(&world, ScanMode::Enriched).await;
        std::mem::take(&mut *groups.lock().expect("not poisoned"))
    };
    let expected = |groups: &[(&str, usize)]| -> Vec<(String, usize)> {
        groups
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    };
    assert_eq!(
        scanned(Some("c45")).await,
        expected(&[("c00", 40), ("c07", 1), ("c40", 40), ("c45", 1)])
    );
    assert_eq!(
        scanned(Some("c80")).await,
        expected(&[("c45", 1), ("c45", 1), ("c80", 20)])
    );
    assert_eq!(scanned(None).await, expected(&[("c80", 20)]));
    assert_eq!(scanned(None).await, expected(&[]));
    let warnings = world.project.json("scan-report.json")["warnings"].clone();
    assert_eq!(
        warnings[0]["message"],
        json!("the model left out 2 columns of `wide`: c07, c45")
    );
}

#[tokio::test]
async fn columns_that_the_model_leaves_out_are_recorded() {
    let (mut world, sqlite) = world(Keys::Shown);
    let answer = |prompt: &str| {
        let mut answer = described(prompt);
        let columns = answer["columns"].as_array_mut().expect("a list");
        columns.retain(|column| !matches!(column["name"].as_str(), Some("day" | "total")));
        Some(Reply::Object(answer))
    };
    let runtime = Arc::new(ScriptedRuntime::answering(answer, Arc::new(NoEvents)));
    world.runtime = Some(runtime.clone());
    let first = run(&world, ScanMode::Enriched).await;
    assert_eq!(first.model_calls, 5);
    let artifact = world.project.json("descriptions.json");
    let tables = artifact["tables"].as_array().expect("a list");
    let left: Vec<&Value> = tables
        .iter()
        .map(|table| &table["leftOutByModel"])
        .filter(|left| !left.is_null())
        .collect();
    assert_eq!(
        left,
        [&json!({"columns": ["day", "total"], "model": "scripted", "promptVersion": "describe-2"})]
    );
    let second = run(&world, ScanMode::Enriched).await;
    assert_eq!((second.model_calls, second.changes), (0, Vec::new()));
    assert_eq!(second.report.warnings, first.report.warnings);
    sqlite.execute("ALTER TABLE orders ADD COLUMN channel TEXT");
    assert_eq!(run(&world, ScanMode::Enriched).await.model_calls, 2);
    let mut request = world.request(ScanMode::Enriched);
    request.model = "another".to_owned();
    assert_eq!(scan(request).await.expect("a scan").model_calls, 5);
}

#[tokio::test]
async fn tables_that_the_model_leaves_out_are_recorded() {
    let (mut world, _) = world(Keys::Shown);
    let answer = |prompt: &str| {
        let mut answer = described(prompt);
        if prompt.contains("table: orders") {
            answer["tableDescription"] = json!(" ");
            let columns = answer["columns"].as_array_mut().expect("a list");
            columns.retain(|column| column["name"] != "");
        }
        Some(Reply::Object(answer))
    };
    world.runtime = Some(Arc::new(ScriptedRuntime::answering(
        answer,
        Arc::new(NoEvents),
    )));
    let first = run(&world, ScanMode::Enriched).await;
    assert_eq!(first.model_calls, 5);
    let messages = |outcome: &ScanOutcome| -> Vec<String> {
        let warnings = outcome.report.warnings.iter();
        warnings.map(|warning| warning.message.clone()).collect()
    };
    assert_eq!(
        messages(&first),
        ["the model did not describe `orders` itself"]
    );
    let second = run(&world, ScanMode::Enriched).await;
    assert_eq!((second.model_calls, &second.changes), (0, &Vec::new()));
    assert_eq!(messages(&second), messages(&first));
}

#[tokio::test]
async fn one_failed_table_does_not_fail_the_scan() {
    let (mut world, _) = world(Keys::Shown);
    let answer = |prompt: &str| {
        if prompt.contains("table: orders") {
            return Some(Reply::Error(LlmError::new(
                LlmErrorKind::Refusal,
                "the model refused",
            )));
        }
        Some(Reply::Object(described(prompt)))
    };
    world.runtime = Some(Arc::new(ScriptedRuntime::answering(
        answer,
        Arc::new(NoEvents),
    )));
    let outcome = run(&world, ScanMode::Enriched).await;
    let messages: Vec<&str> = outcome
        .report
        .warnings
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    assert_eq!(messages, ["could not describe `orders`: the model refused"]);
    let healthy = describing();
    world.runtime = Some(healthy.clone());
    let outcome = run(&world, ScanMode::Enriched).await;
    assert_eq!(
        (outcome.model_calls, outcome.report.warnings),
        (1, Vec::new())
    );
}

/// Without a login, credit or process, no call can succeed.
#[tokio::test]
async fn a_dead_model_stops_the_scan_before_anything_changes() {
    for kind in [
        LlmErrorKind::Auth,
        LlmErrorKind::Billing,
        LlmErrorKind::Process,
    ] {
        let (mut world, _) = world(Keys::Shown);
        let answer = move |_: &str| Some(Reply::Error(LlmError::new(kind, "no")));
        let runtime = Arc::new(ScriptedRuntime::answering(answer, Arc::new(NoEvents)));
        world.runtime = Some(runtime.clone());
        let error = scan(world.request(ScanMode::Enriched))
            .await
            .expect_err("no scan");
        assert!(
            matches!(&error, ScanError::Model { source, .. } if source.kind == kind),
            "{error}"
        );
        assert_eq!(world.project.paths(), Vec::<String>::new());
        assert!(runtime.prompts().len() <= 4);
    }
}

/// Three calls in a row, not one per table.
#[tokio::test]
async fn a_service_that_is_away_is_soon_left_alone() {
    for kind in [
        LlmErrorKind::Transport,
        LlmErrorKind::Server,
        LlmErrorKind::Overloaded,
        LlmErrorKind::Timeout,
    ] {
        let (mut world, sqlite) = world(Keys::Shown);
        for at in 0..10 {
            sqlite.execute(&format!("CREATE TABLE more_{at} (id INTEGER)"));
        }
        let answer = move |_: &str| Some(Reply::Error(LlmError::new(kind, "no")));
        let runtime = Arc::new(ScriptedRuntime::answering(answer, Arc::new(NoEvents)));
        world.runtime = Some(runtime.clone());
        let mut request = world.request(ScanMode::Enriched);
        request.settings.description_concurrency = 1;
        let error = scan(request).await.expect_err("no scan");
        assert!(
            matches!(&error, ScanError::Model { source, .. } if source.kind == kind),
            "{error}"
        );
        assert_eq!(world.project.paths(), Vec::<String>::new());
        assert_eq!(runtime.prompts().len(), 3);
    }
}

/// A limit, a budget or a login ends during the scan.
#[tokio::test]
async fn a_model_that_stops_in_the_middle_pauses_the_scan() {
    for kind in [
        LlmErrorKind::RateLimit,
        LlmErrorKind::Budget,
        LlmErrorKind::Auth,
    ] {
        let (mut world, _) = world(Keys::Shown);
        let served = Mutex::new(0);
        let answer = move |prompt: &str| {
            let mut served = served.lock().expect("no test panics here");
            *served += 1;
            Some(if *served <= 2 {
                Reply::Object(described(prompt))
            } else {
                Reply::Error(LlmError::new(kind, "no more"))
            })
        };
        let runtime = Arc::new(ScriptedRuntime::answering(answer, Arc::new(NoEvents)));
        world.runtime = Some(runtime.clone());
        let outcome = run(&world, ScanMode::Enriched).await;
        let paused = outcome.paused.expect("it pauses");
        assert_eq!(
            (paused.error.kind, paused.left, paused.tables),
            (kind, 2, 4),
        );
        assert!(runtime.prompts().len() <= 4, "only calls that already ran");
        let codes: Vec<&str> = outcome
            .report
            .warnings
            .iter()
            .map(|warning| warning.code.as_str())
            .collect();
        assert_eq!(codes, ["enrichment_paused"]);
        let artifact = world.project.json("descriptions.json");
        assert_eq!(artifact["tables"].as_array().map(Vec::len), Some(2));

        world.runtime = Some(describing());
        let outcome = run(&world, ScanMode::Enriched).await;
        assert_eq!((outcome.model_calls, outcome.paused), (2, None));
        assert_eq!(outcome.report.warnings, Vec::new());
        let artifact = world.project.json("descriptions.json");
        assert_eq!(artifact["tables"].as_array().map(Vec::len), Some(4));
    }
}

#[tokio::test]
async fn without_a_model_nothing_is_invented() {
    let (world, _) = world(Keys::Hidden);
    let outcome = run(&world, ScanMode::Enriched).await;
    assert_eq!(
        outcome
            .report
            .warnings
            .iter()
            .map(|warning| warning.code.as_str())
            .collect::<Vec<_>>(),
        ["llm_unavailable"]
    );
    assert!(!world.project.text(SHARD).contains("descriptions"));
    assert_eq!(outcome.report.relationships.accepted, 3);
    assert!(
        world
            .project
            .paths()
            .iter()
            .all(|path| !path.contains("/enrichment/descriptions"))
    );
}

#[tokio::test]
async fn a_cancelled_scan_goes_on_where_it_stopped() {
    let (mut world, sqlite) = world(Keys::Shown);
    let runtime = describing();
    world.runtime = Some(runtime.clone());
    let mut request = world.request(ScanMode::Enriched);
    request.settings.description_concurrency = 1;
    request.events = Arc::new(Listener {
        cancel_after: Some((6, request.cancel.clone())),
        ..Listener::default()
    });
    assert!(matches!(scan(request).await, Err(ScanError::Cancelled)));
    assert_eq!((sqlite.count(), runtime.prompts().len()), (4, 2));
    assert_eq!(world.project.paths(), Vec::<String>::new());
    let outcome = run(&world, ScanMode::Enriched).await;
    assert_eq!((outcome.profile_statements, outcome.model_calls), (0, 2));
    assert_eq!(outcome.report.enrichment_state.resumed_stages, ["profile"]);
}

#[tokio::test]
async fn undecided_links_are_shown_to_the_model_once() {
    let script = "
CREATE TABLE shops (shop_key INTEGER, city TEXT);
CREATE TABLE visits (visit_key INTEGER, place INTEGER);
INSERT INTO shops SELECT value, 'c' || value FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 40) SELECT value FROM n);
INSERT INTO visits SELECT value, 1 + (value * 7) % 39 FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 90) SELECT value FROM n);
";
    let mut world = World::new(Arc::new(Sqlite::new(Keys::Hidden, script)));
    let answer = |prompt: &str| {
        assert!(
            prompt.contains("Pair 1: visits.place -> shops.shop_key"),
            "{prompt}"
        );
        Some(Reply::Object(
            json!({"decisions": [{"pair": 1, "verdict": "link", "reason": "a place is a shop"}]}),
        ))
    };
    let runtime = Arc::new(ScriptedRuntime::answering(answer, Arc::new(NoEvents)));
    world.runtime = Some(runtime.clone());
    let mut request = world.request(ScanMode::Relationships);
    request.settings.relationships.review_threshold = 0.05;
    let outcome = scan(request.clone()).await.expect("a scan");
    assert_eq!(
        (outcome.model_calls, outcome.report.relationships.accepted),
        (1, 1)
    );
    let again = scan(request).await.expect("a scan");
    assert_eq!(
        (
            again.model_calls,
            again.report.relationships.accepted,
            runtime.prompts().len()
        ),
        (0, 1, 1)
    );
}
