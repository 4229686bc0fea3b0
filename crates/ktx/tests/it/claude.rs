//! Ingest with a fake local Claude Code session that checks its input.

use ktx_test_support::fake_claude::{SCENARIO_VARIABLE, executable};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::support::{commit, compare_text, database, git, json, run, tree, unscanned, write};

pub(crate) const REGIONS: &str = "
CREATE TABLE regions (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO regions VALUES (1, 'North'), (2, 'South');
";

pub(crate) const CONFIG: &str = "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
llm:
  provider:
    backend: claude-code
";

pub(crate) fn play(sandbox: &mut Sandbox, mut scenario: Value) {
    let folder = sandbox.home();
    scenario["record"] = json!(folder.join("record.jsonl"));
    let file = folder.join("scenario.json");
    std::fs::write(&file, scenario.to_string()).expect("the scenario can be written");
    sandbox.set(SCENARIO_VARIABLE, file.display().to_string());
    let program = executable().expect("the fake is built");
    sandbox.set("KTX_CLAUDE_PATH", program.display().to_string());
}

pub(crate) fn processes(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.home().join("record.jsonl"))
        .unwrap_or_default()
        .lines()
        .count()
}

fn project(scenario: Value) -> Sandbox {
    let mut sandbox = unscanned(REGIONS);
    write(&sandbox, "ktx.yaml", CONFIG);
    commit(&sandbox, "claude-code");
    play(&mut sandbox, scenario);
    sandbox
}

pub(crate) fn describes() -> Value {
    json!({
        "steps": [{ "text": "ok" }],
        "when": [{ "prompt_contains": "table: regions", "steps": [{ "object": {
            "tableDescription": "A sales region.",
            "columns": [
                { "name": "id", "description": "The key." },
                { "name": "name", "description": "What the region is called." },
            ],
        } }] }],
    })
}

#[test]
fn ingest_names_the_shard_that_a_person_has_changed() {
    let sandbox = project(describes());
    assert_eq!(run(&sandbox, "ingest").code, Some(0));
    let path = "semantic-layer/warehouse/_schema/public.yaml";
    let mine = format!("{}# mine\n", sandbox.read(path).unwrap());
    write(&sandbox, path, &mine);
    let add = |name: &str| {
        let column = format!("ALTER TABLE regions ADD COLUMN {name} TEXT");
        database(&sandbox, "warehouse.db", &column);
    };
    add("extra");
    let told = run(&sandbox, "ingest").stderr;
    let step = "commit or revert your change, then run `ktx ingest` again";
    let warning = format!("warning: `{path}` was left as it is: you have changed it; {step}\n");
    assert!(told.contains(&warning), "{told}");
    assert_eq!(sandbox.read(path).unwrap(), mine);
    add("another");
    assert_eq!(
        json(&sandbox, "ingest --json")["results"][0]["skipped"],
        json!([{ "path": path, "reason": "you have changed it", "hint": step }])
    );
}

#[test]
fn ingest_describes_tables_in_one_commit() {
    let sandbox = project(describes());
    check!(&sandbox, "ingest", @r"
exit 0
Source	Database schema	Descriptions
warehouse	done	done
warehouse: commit [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 1 table, 2 columns
warehouse · profile (1)
warehouse · descriptions (1)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
warning: the model `fake-sonnet` has no list price; what it costs is unknown
2 model messages, 274 tokens in, 40 out, list price unknown
");
    let shard = sandbox
        .read("semantic-layer/warehouse/_schema/public.yaml")
        .unwrap();
    compare_text(
        "the shard",
        &shard,
        r"
tables:
  regions:
    table: regions
    descriptions:
      ai: A sales region.
    columns:
      - name: id
        type: number
        pk: true
        nullable: false
        descriptions:
          ai: The key.
      - name: name
        type: string
        nullable: false
        descriptions:
          ai: What the region is called.
",
    );
    assert_eq!(
        git(&sandbox, &["log", "-2", "--format=%an: %s"]),
        "Ada Test: ktx ingest: warehouse\nAda Test: claude-code\n"
    );
}

fn ingested() -> Sandbox {
    let sandbox = project(describes());
    assert_eq!(run(&sandbox, "ingest").code, Some(0));
    sandbox
}

#[test]
fn the_usage_of_an_ingest_is_told() {
    let sandbox = ingested();
    check!(&sandbox, "usage --json", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [
      {
        "key": "",
        "messages": 2,
        "inputTokens": 200,
        "cacheWrite5mTokens": 20,
        "cacheWrite1hTokens": 40,
        "cacheReadTokens": 14,
        "outputTokens": 40,
        "reasoningTokens": 0,
        "unattributedTokens": 0,
        "costUsd": null,
        "unpricedMessages": 2,
        "estimatedMessages": 0,
        "incompleteMessages": 0,
        "uncountedMessages": 0,
        "estimatedTokens": 0,
        "reportedCostUsd": 0.0015192,
        "reportedDifferenceUsd": null
      }
    ],
    "total": {
      "key": "",
      "messages": 2,
      "inputTokens": 200,
      "cacheWrite5mTokens": 20,
      "cacheWrite1hTokens": 40,
      "cacheReadTokens": 14,
      "outputTokens": 40,
      "reasoningTokens": 0,
      "unattributedTokens": 0,
      "costUsd": null,
      "unpricedMessages": 2,
      "estimatedMessages": 0,
      "incompleteMessages": 0,
      "uncountedMessages": 0,
      "estimatedTokens": 0,
      "reportedCostUsd": 0.0015192,
      "reportedDifferenceUsd": null
    }
  },
  "meta": {
    "command": "usage"
  }
}
"#);
    check!(&sandbox, "usage --by role", @r"
exit 0
	messages	input	cache written	cache read	output	cost
candidateExtraction	1	100	30	7	20	unknown
default	1	100	30	7	20	unknown
total	2	200	60	14	40	unknown
--- stderr
Project: [SANDBOX]/work
2 messages have no known price; the cost covers the others
");
}

#[test]
fn nothing_is_left_to_do_after_an_ingest() {
    let sandbox = ingested();
    let before = (tree(&sandbox), processes(&sandbox));
    check!(&sandbox, "ingest", @r"
    exit 0
    Source	Database schema	Descriptions
    warehouse	done	done
    warehouse: nothing changed
    --- stderr
    Project: [SANDBOX]/work
    warehouse · structure
    warehouse · 1 table, 2 columns
    1 model messages, 137 tokens in, 20 out, list price unknown
    ");
    let after = (tree(&sandbox), processes(&sandbox));
    assert_eq!(after.0, before.0);
    assert_eq!(
        (before.1, after.1),
        (2, 3),
        "the second run only asks whether the model is there"
    );
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    check!(&sandbox, "status", @r"
exit 0
Project      [SANDBOX]/work
Verdict      ready (everything works)
Config       ✓ valid
Model        ✓ claude-code · usable
             executable: [BIN]/fake-claude
             version: 2.1.330
             model: sonnet (fake-sonnet)
             paid by: your Claude Max subscription through the local Claude Code session
Connections  ✓ warehouse (sqlite) · configured
Can          query yes · scan yes · search yes · serve yes · ingest yes
Local data   warehouse: 0 source files, 1 manifest shard
Next         run `ktx ingest`, or attach an agent with `ktx mcp stdio`
");
}

#[test]
fn the_report_of_an_ingest_is_json() {
    let sandbox = project(describes());
    check!(&sandbox, "ingest --json", @r#"
exit 0
{
  "plan": {
    "projectDir": "[SANDBOX]/work",
    "targets": [
      {
        "connectionId": "warehouse",
        "driver": "sqlite",
        "operation": "database-ingest",
        "debugCommand": "ktx ingest warehouse --debug",
        "steps": [
          "database-schema"
        ],
        "detectRelationships": true
      }
    ],
    "warnings": []
  },
  "results": [
    {
      "connectionId": "warehouse",
      "driver": "sqlite",
      "steps": [
        {
          "operation": "database-schema",
          "status": "done"
        }
      ],
      "commit": "[COMMIT]",
      "modelCalls": 1,
      "report": {
        "connectionId": "warehouse",
        "driver": "sqlite",
        "syncId": "[SYNC]",
        "runId": "[UUID]",
        "trigger": "cli",
        "mode": "enriched",
        "dryRun": false,
        "artifactPaths": {
          "rawSourcesDir": "raw-sources/warehouse/live-database",
          "reportPath": ".ktx/state/scans/warehouse/scan-report.json",
          "manifestShards": [
            "semantic-layer/warehouse/_schema/public.yaml"
          ],
          "enrichmentArtifacts": [
            "raw-sources/warehouse/live-database/enrichment/descriptions",
            "raw-sources/warehouse/live-database/enrichment/profiles"
          ]
        },
        "diffSummary": {
          "tablesAdded": 1,
          "tablesModified": 0,
          "tablesDeleted": 0,
          "tablesUnchanged": 0,
          "columnsAdded": 2,
          "columnsModified": 0,
          "columnsDeleted": 0
        },
        "manifestShardsWritten": 1,
        "structuralSyncStats": {
          "tablesCreated": 1,
          "tablesUpdated": 0,
          "tablesDeleted": 0,
          "columnsCreated": 2,
          "columnsUpdated": 0,
          "columnsDeleted": 0
        },
        "enrichment": {
          "dataDictionary": "completed",
          "tableDescriptions": "completed",
          "columnDescriptions": "completed",
          "embeddings": "skipped",
          "deterministicRelationships": "completed",
          "llmRelationshipValidation": "skipped",
          "statisticalValidation": "completed"
        },
        "capabilityGaps": [],
        "warnings": [],
        "relationships": {
          "accepted": 0,
          "review": 0,
          "rejected": 0,
          "skipped": 0
        },
        "enrichmentState": {
          "resumedStages": [],
          "completedStages": [
            "profile",
            "descriptions",
            "relationships"
          ],
          "failedStages": []
        },
        "createdAt": "[TIME]"
      }
    }
  ]
}
--- stderr
warning: the model `fake-sonnet` has no list price; what it costs is unknown
"#);
}

/// User text stays; ktx asks only for missing descriptions.
#[test]
fn a_changed_table_is_described_again_and_others_are_not() {
    let mut scenario = describes();
    scenario["when"].as_array_mut().unwrap().insert(
        0,
        json!({
            "prompt_contains": "table: cities", "steps": [{ "object": {
                "tableDescription": "A city.",
                "columns": [{ "name": "id", "description": "The key of a city." }],
            } }],
        }),
    );
    let sandbox = project(scenario);
    assert_eq!(run(&sandbox, "ingest").code, Some(0));
    crate::support::database(
        &sandbox,
        "warehouse.db",
        "CREATE TABLE cities (id INTEGER PRIMARY KEY)",
    );
    let answer = json(&sandbox, "ingest --json");
    assert_eq!(answer.pointer("/results/0/modelCalls"), Some(&json!(1)));
    let read = |shard: &str| {
        let path = format!("semantic-layer/warehouse/_schema/{shard}.yaml");
        sandbox.read(&path).unwrap()
    };
    let shard = read("public") + &read("public+cities");
    for text in [
        "A city.",
        "The key of a city.",
        "A sales region.",
        "What the region is called.",
    ] {
        assert!(shard.contains(text), "{text}: {shard}");
    }
}

/// KTX-84: the message explains login.
#[test]
fn a_missing_login_changes_nothing() {
    let sandbox = project(json!({ "account": { "tokenSource": "none" } }));
    let before = tree(&sandbox);
    check!(&sandbox, "ingest", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: Claude Code is not usable with your local session

hint: authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command
");
    check!(&sandbox, "ingest --json", @r#"
exit 5
{
  "error": {
    "code": "llm_auth",
    "message": "Claude Code is not usable with your local session",
    "hint": "authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command"
  }
}
"#);
    check!(&sandbox, "demo --dir demo --backend claude-code", @r"
exit 5
--- stderr
error: Claude Code is not usable with your local session

hint: authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command
");
    check!(&sandbox, "status", @r"
exit 5
Project      [SANDBOX]/work
Verdict      partial (the configured model cannot be used; everything else works)
Config       ✓ valid
Model        ✗ claude-code · Claude Code is not usable with your local session
             hint: authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command
Connections  ✓ warehouse (sqlite) · configured
Can          query yes · scan yes · search yes · serve yes · ingest no
Local data   warehouse: 0 source files, 0 manifest shards
Next         see the model's line for what to do
");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_missing_program_changes_nothing() {
    let mut sandbox = project(describes());
    let before = tree(&sandbox);
    sandbox.set("KTX_CLAUDE_PATH", "/nowhere/claude");
    check!(&sandbox, "ingest", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: Claude Code is not installed: `/nowhere/claude` does not exist

hint: let `KTX_CLAUDE_PATH` name the `claude` executable, or unset it to use the `claude` on the PATH
");
    sandbox.unset("KTX_CLAUDE_PATH");
    let git = which("git");
    std::os::unix::fs::symlink(git, sandbox.home().join("git")).unwrap();
    let home = sandbox.home().display().to_string();
    sandbox.set("PATH", home);
    check!(&sandbox, "ingest", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: Claude Code is not installed: there is no `claude` on the PATH

hint: install the Claude Code CLI, log in with it, then run the command again
");
    assert_eq!(tree(&sandbox), before);
}

fn which(program: &str) -> std::path::PathBuf {
    let path = std::env::var_os("PATH").expect("a PATH");
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .expect("the program is installed")
}

#[test]
fn a_program_that_cannot_be_used_changes_nothing() {
    let sandbox = project(json!({
        "version": "2.0.10", "unknown_options": ["--strict-mcp-config"],
    }));
    let before = tree(&sandbox);
    check!(&sandbox, "ingest", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: Claude Code 2.0.10 is too old: ktx needs 2.1.76 or newer

hint: update it (run `claude update`), then run the command again
");
    let sandbox_exit =
        project(json!({ "before": [{ "complain": "no space left\n" }, { "exit": 3 }] }));
    check!(&sandbox_exit, "ingest", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: Claude Code ended with exit code 3 before it began to work

hint: check that `KTX_CLAUDE_PATH` names the `claude` executable; `--debug` shows what it said
");
    check!(&sandbox_exit, "ingest --debug", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
[debug] projectDir=[SANDBOX]/work
error: Claude Code ended with exit code 3 before it began to work

hint: check that `KTX_CLAUDE_PATH` names the `claude` executable; `--debug` shows what it said
[debug] stderr: no space left
");
    check!(&sandbox_exit, "ingest --debug --json", @r#"
exit 5
{
  "error": {
    "code": "llm_process",
    "message": "Claude Code ended with exit code 3 before it began to work",
    "hint": "check that `KTX_CLAUDE_PATH` names the `claude` executable; `--debug` shows what it said"
  }
}
--- stderr
[debug] projectDir=[SANDBOX]/work
[debug] stderr: no space left
"#);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn a_program_that_ends_in_the_middle_changes_nothing() {
    let mut sandbox = project(json!({
        "steps": [{ "text": "ok" }],
        "when": [{ "prompt_contains": "table: regions", "steps": [{ "exit": 3 }] }],
    }));
    let before = tree(&sandbox);
    check!(&sandbox, "ingest", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 1 table, 2 columns
warehouse · profile (1)
warehouse · descriptions (1)
retrying (2): the program crashed (llm_crashed)
error: Claude Code ended with exit code 3 before it gave a result

hint: run the command again; `--debug` shows what Claude Code said
");
    assert_eq!(tree(&sandbox), before);
    play(&mut sandbox, describes());
    check!(&sandbox, "ingest", @r"
exit 0
Source	Database schema	Descriptions
warehouse	done	done
warehouse: commit [COMMIT]
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 1 table, 2 columns
warehouse · profile (1)
warehouse · descriptions (1)
warehouse · relationships
warehouse · 0 joins, 0 to review
warehouse · artifacts
warning: the model `fake-sonnet` has no list price; what it costs is unknown
2 model messages, 274 tokens in, 40 out, list price unknown
");
}

#[test]
fn a_backend_that_is_not_known_is_refused() {
    let sandbox = project(describes());
    write(
        &sandbox,
        "ktx.yaml",
        &CONFIG.replace("claude-code", "cloud-code"),
    );
    check!(&sandbox, "ingest", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: ktx.yaml:7:14: Unsupported llm.provider.backend: cloud-code (allowed: none, anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible)

hint: did you mean `claude-code`?
");
    check!(&sandbox, "demo --dir demo --backend cloud-code", @r"
exit 2
--- stderr
error: unknown backend `cloud-code`

hint: use one of anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible
");
    check!(&sandbox, "demo --dir demo --backend none --json", @r#"
exit 2
{
  "error": {
    "code": "unknown_backend",
    "message": "unknown backend `none`",
    "hint": "use one of anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible"
  }
}
"#);
    assert!(!sandbox.work().join("demo").exists());
}
