//! Runs paused by account limits or logout keep their work, and the next run continues.

use std::time::Duration;

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::play;
use crate::support::{commit, compare, git, json as answer, run, tree, unscanned, write};

const CONFIG: &str = "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
llm:
  provider:
    backend: claude-code
";

/// Longer than a test, shorter than a window.
const FAR: (&str, u64) = ("resets_in", 4 * 60 * 60);

pub(crate) fn shop_of_twelve() -> Sandbox {
    shop_of(12)
}

pub(crate) fn shop_of(tables: usize) -> Sandbox {
    let tables = (1..=tables).map(|number| {
        let table = table(number);
        format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n")
    });
    let sandbox = unscanned(&tables.collect::<String>());
    write(&sandbox, "ktx.yaml", CONFIG);
    commit(&sandbox, "claude-code");
    sandbox
}

pub(crate) fn table(number: usize) -> String {
    format!("shelf_{number:02}")
}

pub(crate) fn described(number: usize) -> Value {
    json!({
        "tableDescription": format!("Shelf number {number}."),
        "columns": [
            { "name": "id", "description": "The key." },
            { "name": "name", "description": "What it is called." },
        ],
    })
}

fn describes() -> Value {
    let when = (1..=12).map(|number| {
        json!({
            "prompt_contains": format!("table: {}\n", table(number)),
            "steps": [{ "sleep": 20 }, { "object": described(number) }],
        })
    });
    json!({ "steps": [{ "text": "ok" }], "when": when.collect::<Vec<_>>() })
}

/// Serves a probe and five tables, with a warning from the second prompt, then plays `then`.
fn stops(sandbox: &mut Sandbox, then: &Value) {
    let mut scenario = describes();
    scenario["shared_account"] = json!({
        "file": sandbox.home().join("account.json"), "serves": 6, "warns_after": 1, "then": then,
    });
    play(sandbox, scenario);
}

fn limit(window: &str, resets: (&str, u64)) -> Value {
    json!({ "limit": { "window": window, resets.0: resets.1 } })
}

fn account(sandbox: &Sandbox) -> (u64, u64) {
    let text = std::fs::read_to_string(sandbox.home().join("account.json")).unwrap();
    let state: Value = serde_json::from_str(&text).unwrap();
    (
        state["served"].as_u64().unwrap(),
        state["refused"].as_u64().unwrap(),
    )
}

fn reset(sandbox: &Sandbox) -> String {
    let text = std::fs::read_to_string(sandbox.home().join("account.json")).unwrap();
    let state: Value = serde_json::from_str(&text).unwrap();
    let end = state["limited_until"].as_i64().unwrap();
    let end = jiff::Timestamp::from_second(end).unwrap();
    end.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// `[RESET]` is the end of the limit.
fn check_reset(sandbox: &Sandbox, line: &str, expected: &str) {
    let mut printed = run(sandbox, line);
    printed.stderr = printed.stderr.replace(&reset(sandbox), "[RESET]");
    compare(line, &printed, expected);
}

pub(crate) fn published(sandbox: &Sandbox) -> usize {
    let shard = "HEAD:semantic-layer/warehouse/_schema/public.yaml";
    git(sandbox, &["show", shard])
        .matches("ai: Shelf number")
        .count()
}

fn asked(sandbox: &Sandbox) -> usize {
    let text = std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap_or_default();
    text.lines()
        .filter(|line| line.contains("table: shelf_"))
        .count()
}

/// KTX-67: one request is refused, and the next run sends nothing.
#[test]
fn a_window_that_resets_too_late_pauses_the_run() {
    let mut sandbox = shop_of_twelve();
    stops(&mut sandbox, &limit("five_hour", FAR));
    check_reset(
        &sandbox,
        "ingest --max-minutes 1",
        r"
exit 7
Source	Database schema	Descriptions
warehouse	done	paused
warehouse: commit [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 12 tables, 24 columns
warehouse · profile (12)
warehouse · descriptions (12)
parallel calls: 8 → 1, 5-hour window: near the limit
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
warning: the model `fake-sonnet` has no list price; what it costs is unknown
warning: the model stopped: 7 of 12 tables are not described yet
6 model messages, 822 tokens in, 120 out, list price unknown
paused: the 5-hour usage limit of your Claude plan is reached until [RESET]

hint: run the command again after that; finished work is kept
hint: 5 of 12 tables are described and kept; `ktx ingest` continues with the missing 7
",
    );
    assert_eq!(account(&sandbox), (6, 1));
    assert_eq!(published(&sandbox), 5);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");

    let before = tree(&sandbox);
    check_reset(
        &sandbox,
        "ingest --max-minutes 1",
        r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: the 5-hour usage limit of your Claude plan is reached until [RESET]

hint: run the command again after that; finished work is kept
hint: run `ktx llm probe` to ask at once, if the account or its plan has changed
",
    );
    let status = run(&sandbox, "status");
    assert_eq!(status.code, Some(5));
    assert!(
        status.stdout.contains(&format!(
            "Model        ✗ claude-code · the 5-hour usage limit of your Claude plan is reached until {}",
            reset(&sandbox)
        )),
        "{status}"
    );
    assert_eq!((tree(&sandbox), account(&sandbox)), (before, (6, 1)));

    play(&mut sandbox, describes());
    assert_eq!(run(&sandbox, "ingest --max-minutes 1").code, Some(5));
    assert_eq!(run(&sandbox, "llm probe").code, Some(0));
    let already = asked(&sandbox);
    let answer = answer(&sandbox, "ingest --json");
    assert_eq!(answer.pointer("/results/0/modelCalls"), Some(&json!(7)));
    assert_eq!((published(&sandbox), asked(&sandbox) - already), (12, 7));
    assert_eq!(
        answer.pointer("/results/0/report/warnings"),
        Some(&json!([]))
    );
}

/// ktx never waits for a week.
#[test]
fn a_weekly_window_ends_the_run_at_once() {
    let mut sandbox = shop_of_twelve();
    stops(&mut sandbox, &limit("seven_day", ("resets_in", 60)));
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert!(
        printed
            .stderr
            .contains("\npaused: the 7-day usage limit of your Claude plan is reached until 2"),
        "{printed}"
    );
    assert!(!printed.stderr.contains("waiting"), "{printed}");
    assert_eq!((account(&sandbox), published(&sandbox)), ((6, 1), 5));
    assert_eq!(run(&sandbox, "ingest").code, Some(5));
    assert_eq!(account(&sandbox), (6, 1));
}

#[test]
fn a_pause_is_json() {
    let mut sandbox = shop_of_twelve();
    stops(&mut sandbox, &limit("seven_day", FAR));
    let printed = run(&sandbox, "ingest --json");
    assert_eq!(printed.code, Some(7), "{printed}");
    let answer: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(
        answer.pointer("/results/0/paused"),
        Some(&json!({
            "code": "llm_rate_limit",
            "message": format!("the 7-day usage limit of your Claude plan is reached until {}", reset(&sandbox)),
            "hint": "run the command again after that; finished work is kept",
            "tablesLeft": 7,
            "tables": 12,
        }))
    );
    assert_eq!(
        answer.pointer("/results/0/report/enrichment/tableDescriptions"),
        Some(&json!("skipped"))
    );
    assert_eq!(
        answer.pointer("/results/0/report/enrichmentState"),
        Some(&json!({
            "resumedStages": [], "completedStages": ["profile", "relationships"], "failedStages": [],
        }))
    );
}

#[test]
fn a_window_that_resets_in_time_is_waited_for() {
    let mut sandbox = shop_of_twelve();
    stops(&mut sandbox, &limit("five_hour", ("resets_in", 3)));
    let printed = run(&sandbox, "ingest --max-minutes 10");
    assert_eq!(printed.code, Some(0), "{printed}");
    let waits = printed
        .stderr
        .lines()
        .filter(|line| line.starts_with("waiting") && line.contains("5-hour window"))
        .count();
    assert_eq!(waits, 1, "{printed}");
    // A probe and twelve tables; one request met the limit.
    assert_eq!((account(&sandbox), published(&sandbox)), ((13, 1), 12));
}

/// By a service manager or a closed terminal, too.
#[test]
fn a_wait_can_be_interrupted() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        interrupted(signal);
    }
}

fn interrupted(signal: &str) {
    let mut sandbox = shop_of_twelve();
    stops(&mut sandbox, &limit("five_hour", ("resets_in", 3600)));
    let child = sandbox
        .command(["ingest"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let limits = sandbox.work().join(".ktx/state/claude-code/limits.json");
    let refused = || limits.exists();
    for _ in 0..600 {
        if refused() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(refused(), "never refused");
    let process = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args([signal, &process])
        .status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{signal}: {stderr}");
    assert_eq!(account(&sandbox), (6, 1));

    std::fs::remove_file(limits).unwrap();
    play(&mut sandbox, describes());
    let answer = answer(&sandbox, "ingest --json");
    assert_eq!(answer.pointer("/results/0/modelCalls"), Some(&json!(7)));
    assert_eq!(published(&sandbox), 12);
}

/// KTX-84: no table counts as failed.
#[test]
fn a_login_that_ends_pauses_the_run() {
    let mut sandbox = shop_of_twelve();
    stops(&mut sandbox, &json!("logout"));
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(5), "{printed}");
    let (described, refused) = (published(&sandbox), account(&sandbox).1);
    assert_eq!(described, 5);
    assert!(
        (1..=4).contains(&refused),
        "only calls that already ran: {refused}"
    );
    assert!(
        printed.stderr.ends_with(
            "paused: Claude Code is not usable with your local session\n\n\
             hint: authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command\n\
             hint: 5 of 12 tables are described and kept; `ktx ingest` continues with the missing 7\n"
        ),
        "{printed}"
    );
    let report = sandbox
        .read(".ktx/state/scans/warehouse/scan-report.json")
        .unwrap();
    assert!(report.contains("enrichment_paused") && !report.contains("enrichment_failed"));

    let before = tree(&sandbox);
    assert_eq!(run(&sandbox, "ingest").code, Some(5));
    assert_eq!(tree(&sandbox), before);

    play(&mut sandbox, describes());
    let answer = answer(&sandbox, "ingest --json");
    assert_eq!(answer.pointer("/results/0/modelCalls"), Some(&json!(7)));
    assert_eq!(published(&sandbox), 12);
}

#[test]
fn a_used_up_budget_pauses_the_run() {
    let mut sandbox = shop_of_twelve();
    play(&mut sandbox, describes());
    let printed = run(&sandbox, "ingest --max-tokens 1500");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert!(
        printed
            .stderr
            .contains("\npaused: the next model call would exceed the budget: "),
        "{printed}"
    );
    let described = published(&sandbox);
    assert!((1..12).contains(&described), "{described}");
    assert_eq!(run(&sandbox, "ingest").code, Some(0));
    assert_eq!(published(&sandbox), 12);
}

#[test]
fn the_time_of_a_run_ends_a_call_in_flight() {
    let mut sandbox = shop_of(2);
    let mut scenario = describes();
    scenario["when"][1]["steps"] = json!(["hang"]);
    play(&mut sandbox, scenario);
    let printed = run(&sandbox, "ingest --max-minutes 1");
    assert_eq!(printed.code, Some(7), "{printed}");
    let told = "\npaused: the model call was ended: 1 minute is over\n";
    assert!(printed.stderr.contains(told), "{printed}");
    assert_eq!(published(&sandbox), 1);
    play(&mut sandbox, describes());
    assert_eq!(run(&sandbox, "ingest").code, Some(0));
    assert_eq!(published(&sandbox), 2);
}

fn crashes_at(numbers: std::ops::RangeInclusive<usize>) -> Value {
    let mut scenario = describes();
    if let Some(when) = scenario["when"].as_array_mut() {
        for number in numbers {
            when.insert(
                0,
                json!({
                    "prompt_contains": format!("table: {}\n", table(number)),
                    "steps": [{ "sleep": 1000 }, { "exit": 3 }],
                }),
            );
        }
    }
    scenario
}

/// The next run asks for this table alone.
#[test]
fn a_table_that_breaks_the_program_stops_no_other() {
    let mut sandbox = shop_of_twelve();
    play(&mut sandbox, crashes_at(3..=3));
    let printed = run(&sandbox, "ingest");
    assert_eq!(
        (printed.code, published(&sandbox)),
        (Some(7), 11),
        "{printed}"
    );
    assert!(printed.stderr.contains("shelf_03"), "{printed}");
    play(&mut sandbox, describes());
    let answer = answer(&sandbox, "ingest --json");
    assert_eq!(answer.pointer("/results/0/modelCalls"), Some(&json!(1)));
    assert_eq!(published(&sandbox), 12);
}

/// After three crashes in a row, ktx stops and publishes finished work.
#[test]
fn a_program_that_breaks_down_at_every_table_is_not_asked_for_all() {
    let mut sandbox = shop_of_twelve();
    play(&mut sandbox, crashes_at(5..=12));
    let printed = run(&sandbox, "ingest");
    assert_eq!(
        (printed.code, published(&sandbox)),
        (Some(7), 4),
        "{printed}"
    );
    // Two processes for each of three tables, and for three concurrent ones.
    let asked = asked(&sandbox);
    assert!((4 + 6..=4 + 12).contains(&asked), "{asked}: {printed}");
}
