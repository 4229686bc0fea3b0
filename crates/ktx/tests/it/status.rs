//! `ktx status` and `ktx usage`.

use crate::support::{json, project, run, sandbox, shop, write};

#[test]
fn outside_a_project_there_is_a_next_step() {
    let sandbox = sandbox();
    check!(&sandbox, "status", @r"
exit 0
No project here yet.
--- stderr
hint: run `ktx admin init` to create one here, or `ktx demo` for a sample
hint: name another folder with `--project-dir`
");
    check!(&sandbox, "status --json", @r#"
exit 3
{
  "error": {
    "code": "missing_project",
    "message": "no ktx project in `[SANDBOX]/work`",
    "hint": "run `ktx admin init` to create one here, or `ktx demo` for a sample",
    "hints": [
      "run `ktx admin init` to create one here, or `ktx demo` for a sample",
      "name another folder with `--project-dir`"
    ]
  }
}
"#);
    check!(&sandbox, "status --validate", @r"
exit 3
--- stderr
error: no ktx project in `[SANDBOX]/work`

hint: run `ktx admin init` to create one here, or `ktx demo` for a sample
hint: name another folder with `--project-dir`
");
}

#[test]
fn a_project_without_a_warehouse_is_blocked() {
    let sandbox = project();
    check!(&sandbox, "status", @r"
exit 0
Project      [SANDBOX]/work
Verdict      blocked (no warehouse connection)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Can          query no · scan no · search yes · serve yes · ingest no
Next         add a warehouse under `connections:` in ktx.yaml, then run `ktx connection test`
");
}

#[test]
fn files_that_cannot_be_counted_are_not_zero() {
    let sandbox = project();
    let pages = sandbox.work().join("wiki/global");
    if pages.is_dir() {
        std::fs::remove_dir_all(&pages).unwrap();
    }
    write(&sandbox, "wiki/global", "not a folder");
    check!(&sandbox, "status --fast", @r"
exit 0
Project      [SANDBOX]/work
Verdict      blocked (no warehouse connection)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Can          query no · scan no · search yes · serve yes · ingest no
Not seen     git (`ktx status`) · local state (`ktx status`) · semantic sources (`ktx status`)
Warning      the files of `wiki/global` cannot be counted: Not a directory (os error 20)
             hint: make `wiki/global` a folder that can be read
Next         add a warehouse under `connections:` in ktx.yaml, then run `ktx connection test`
");
    assert_eq!(
        json(&sandbox, "status --fast --json")["localStats"]["wikiPages"],
        serde_json::json!([{ "scope": "GLOBAL", "count": null }])
    );
}

#[test]
fn a_scanned_project_is_ready() {
    let sandbox = shop();
    check!(&sandbox, "status", @r"
exit 0
Project      [SANDBOX]/work
Verdict      ready (everything works that needs no model)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Connections  ✓ warehouse (sqlite) · configured
Can          query yes · scan yes · search yes · serve yes · ingest no
Local data   warehouse: 1 source file, 1 manifest shard
Next         attach an agent with `ktx mcp stdio`, or set `llm.provider.backend` for descriptions
");
    check!(&sandbox, "status --fast --verbose", @r#"
exit 0
Project      [SANDBOX]/work
Verdict      ready (everything works that needs no model)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Connections  ✓ warehouse (sqlite) · configured
Can          query yes · scan yes · search yes · serve yes · ingest no
Local data   warehouse: 1 source file, 1 manifest shard
Not seen     git (`ktx status`) · local state (`ktx status`) · semantic sources (`ktx status`)
Embeddings   search is full-text; `ingest.embeddings` adds search by meaning
Work units   {"stepBudget":40,"maxConcurrency":1,"failureMode":"continue"}
Joins        {"acceptThreshold":0.85,"reviewThreshold":0.55,"maxLlmTablesPerBatch":40,"validationConcurrency":4}
Pipeline     {"adapters":[],"enrichmentMode":"none","relationshipsEnabled":true,"relationshipsLlmProposals":true,"relationshipsValidationRequired":true,"agentEnabled":true,"agentTools":["sl_query","wiki_search","wiki_read","sl_read_source"],"agentMaxIterations":20}
Next         attach an agent with `ktx mcp stdio`, or set `llm.provider.backend` for descriptions
"#);
}

#[test]
fn a_scanned_project_is_ready_in_json_too() {
    let sandbox = shop();
    check!(&sandbox, "status --json", @r#"
exit 0
{
  "projectName": "work",
  "projectDir": "[SANDBOX]/work",
  "config": {
    "status": "ok",
    "detail": "valid",
    "issues": []
  },
  "llm": {
    "backend": "none",
    "model": null,
    "status": "off",
    "detail": "no model is configured; scanning, searching, querying and serving need none"
  },
  "embeddings": {
    "backend": "none",
    "model": null,
    "dimensions": 8,
    "status": "off",
    "detail": "search is full-text; `ingest.embeddings` adds search by meaning"
  },
  "storage": {
    "state": "sqlite",
    "search": "sqlite-fts5",
    "gitAuthor": "git config"
  },
  "connections": [
    {
      "name": "warehouse",
      "driver": "sqlite",
      "status": "ok",
      "detail": "configured",
      "fix": null
    }
  ],
  "queryHistory": [],
  "capabilities": {
    "query": {
      "able": "yes",
      "reason": "a warehouse is configured"
    },
    "scan": {
      "able": "yes",
      "reason": "a warehouse is configured"
    },
    "search": {
      "able": "yes",
      "reason": "needs nothing"
    },
    "serve": {
      "able": "yes",
      "reason": "needs nothing"
    },
    "ingest": {
      "able": "no",
      "reason": "no model is configured"
    }
  },
  "pipeline": {
    "adapters": [],
    "enrichmentMode": "none",
    "relationshipsEnabled": true,
    "relationshipsLlmProposals": true,
    "relationshipsValidationRequired": true,
    "agentEnabled": true,
    "agentTools": [
      "sl_query",
      "wiki_search",
      "wiki_read",
      "sl_read_source"
    ],
    "agentMaxIterations": 20
  },
  "warnings": [],
  "localStats": {
    "wikiPages": [
      {
        "scope": "GLOBAL",
        "count": 2
      }
    ],
    "semanticLayer": [
      {
        "connectionId": "warehouse",
        "sourceCount": 1,
        "shardCount": 1
      }
    ]
  },
  "workUnits": {
    "stepBudget": 40,
    "maxConcurrency": 1,
    "failureMode": "continue"
  },
  "relationshipsDetail": {
    "acceptThreshold": 0.85,
    "reviewThreshold": 0.55,
    "maxLlmTablesPerBatch": 40,
    "validationConcurrency": 4
  },
  "git": {
    "status": "ok",
    "detail": "usable"
  },
  "localState": {
    "status": "ok",
    "detail": "usable"
  },
  "sources": {
    "status": "ok",
    "detail": "readable",
    "issues": []
  },
  "proposals": [],
  "notLookedAt": [],
  "verdict": "ready",
  "verdictReason": "everything works that needs no model",
  "nextActions": [
    "attach an agent with `ktx mcp stdio`, or set `llm.provider.backend` for descriptions"
  ]
}
"#);
}

#[test]
fn validate_reads_only_the_configuration() {
    let sandbox = project();
    check!(&sandbox, "status --validate", @r"
exit 0
ktx.yaml is valid
");
    check!(&sandbox, "status --validate --json", @r#"
exit 0
{
  "ok": true,
  "projectDir": "[SANDBOX]/work"
}
"#);
    write(
        &sandbox,
        "ktx.yaml",
        "conections: {}\nllm:\n  provider:\n    backend: none\n",
    );
    check!(&sandbox, "status --validate", @r"
exit 0
ktx.yaml is valid
--- stderr
warning: ktx.yaml:1:1: Unsupported conections: unknown field (ignored)
");
    check!(&sandbox, "status --validate --json", @r#"
exit 0
{
  "ok": true,
  "projectDir": "[SANDBOX]/work",
  "warnings": [
    {
      "path": "ktx.yaml:1:1",
      "message": "Unsupported conections: unknown field (ignored)",
      "severity": "warning",
      "fix": "did you mean `connections`?"
    }
  ]
}
"#);
    check!(&sandbox, "status", @r"
exit 0
Project      [SANDBOX]/work
Verdict      blocked (no warehouse connection)
Config       ! 1 warning
             ktx.yaml:1:1: Unsupported conections: unknown field (ignored)
Model        · none · no model is configured; scanning, searching, querying and serving need none
Can          query no · scan no · search yes · serve yes · ingest no
Next         add a warehouse under `connections:` in ktx.yaml, then run `ktx connection test`
");
}

#[test]
fn an_incomplete_connection_is_named() {
    let sandbox = project();
    write(
        &sandbox,
        "ktx.yaml",
        "connections:
  one: { driver: postgres, url: env:KTX_TEST_NOT_SET }
  two: { driver: sqlite }
",
    );
    check!(&sandbox, "status", @r"
exit 0
Project      [SANDBOX]/work
Verdict      blocked (no warehouse connection can be used)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Connections  ! one (postgres) · url: environment variable `KTX_TEST_NOT_SET` is not set
             hint: set it in the shell that runs ktx, or use a `file:` reference
             ! two (sqlite) · `path` or `url` is missing
             hint: add it under connections.two
Can          query no · scan no · search yes · serve yes · ingest no
Local data   one: 0 source files, 0 manifest shards
Local data   two: 0 source files, 0 manifest shards
Not seen     warehouse servers (`ktx connection test`)
Next         complete the connection that is marked, then run `ktx connection test`
");
}

/// KTX-81: except defaults.
#[test]
fn ignored_caching_settings_are_named() {
    let sandbox = shop();
    write(
        &sandbox,
        "ktx.yaml",
        "llm:
  provider:
    backend: claude-code
  promptCaching:
    enabled: false
    systemTtl: 1h
    toolsTtl: 1h
connections:
  warehouse: { driver: sqlite, path: warehouse.db }
",
    );
    check!(&sandbox, "status --fast", @r"
exit 0
Project      [SANDBOX]/work
Verdict      ready (the configuration is complete)
Config       ✓ valid
Model        · claude-code · not asked (--fast)
Connections  ✓ warehouse (sqlite) · configured
Can          query yes · scan yes · search yes · serve yes · ingest unknown
Local data   warehouse: 1 source file, 1 manifest shard
Not seen     model (`ktx status`) · git (`ktx status`) · local state (`ktx status`) · semantic sources (`ktx status`)
Warning      the local Claude Code session decides on caching itself; ignored: llm.promptCaching.enabled
             hint: remove the fields, or use an HTTP backend
Next         run `ktx status` without `--fast` to ask the model
");
}

#[test]
fn settings_without_effect_are_named() {
    let mut sandbox = shop();
    sandbox.set("KTX_PROFILE_INGEST", "1");
    sandbox.set("KTX_INGEST_TRACE_LEVEL", "debug");
    write(
        &sandbox,
        "ktx.yaml",
        "ingest: {profile: json}\nllm: {models: {repair: haiku}}\nconnections:\n  warehouse: { driver: sqlite, path: warehouse.db }\n",
    );
    let status = json(&sandbox, "status --fast --json");
    let warnings = status["warnings"].as_array().unwrap();
    let messages: Vec<&str> = warnings
        .iter()
        .filter_map(|warning| warning["message"].as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "`ingest.profile` in ktx.yaml has no effect: ignored",
            "`llm.models.repair` in ktx.yaml has no effect: ignored",
            "`KTX_PROFILE_INGEST` has no effect: ignored",
            "`KTX_INGEST_TRACE_LEVEL` has no effect: ignored",
        ]
    );
}

#[test]
fn a_project_that_used_no_model_has_no_costs() {
    let sandbox = shop();
    check!(&sandbox, "usage", @r"
exit 0
	messages	input	cache written	cache read	output	cost
total	0	0	0	0	0	$0.0000
--- stderr
Project: [SANDBOX]/work
no usage is recorded yet
");
    check!(&sandbox, "usage --by model --output pretty", @r"
exit 0
       messages  input  cache written  cache read  output  cost
total  0         0      0              0           0       $0.0000
--- stderr
Project: [SANDBOX]/work
no usage is recorded yet
");
    check!(&sandbox, "usage --json --since 7d", @r#"
exit 0
{
  "kind": "list",
  "data": {
    "items": [],
    "total": {
      "key": "",
      "messages": 0,
      "inputTokens": 0,
      "cacheWrite5mTokens": 0,
      "cacheWrite1hTokens": 0,
      "cacheReadTokens": 0,
      "outputTokens": 0,
      "reasoningTokens": 0,
      "unattributedTokens": 0,
      "costUsd": 0.0,
      "unpricedMessages": 0,
      "estimatedMessages": 0,
      "incompleteMessages": 0,
      "uncountedMessages": 0,
      "estimatedTokens": 0,
      "reportedCostUsd": null,
      "reportedDifferenceUsd": null
    }
  },
  "meta": {
    "command": "usage"
  }
}
"#);
    check!(&sandbox, "usage --since yesterday", @r"
exit 2
--- stderr
Project: [SANDBOX]/work
error: `yesterday` is not a date

hint: use `2026-01-31`, `2026-01-31T09:30+02:00`, or a number of days such as `7d`
");
    assert!(
        !sandbox.work().join(".ktx/state/usage.sqlite").exists(),
        "looking makes no ledger"
    );
}

#[test]
fn what_is_broken_is_not_ready() {
    let mut sandbox = shop();
    let shard = "semantic-layer/warehouse/_schema/public.yaml";
    let whole = sandbox.read(shard).unwrap();
    write(&sandbox, shard, &format!("{whole}: ["));
    check!(&sandbox, "status", @"
    exit 0
    Project      [SANDBOX]/work
    Verdict      partial (1 error in the files of `semantic-layer/`)
    Config       ✓ valid
    Model        · none · no model is configured; scanning, searching, querying and serving need none
    Connections  ✓ warehouse (sqlite) · configured
    Sources      ✗ semantic-layer/warehouse/_schema/public.yaml:67:1: did not find expected key
    Can          query yes · scan yes · search yes · serve yes · ingest no
    Local data   warehouse: 1 source file, 1 manifest shard
    Next         correct the files that are named; `ktx sl validate` checks them
    ");
    write(&sandbox, shard, &whole);
    std::fs::remove_file(sandbox.work().join("warehouse.db")).unwrap();
    for line in ["status", "status --fast"] {
        let printed = run(&sandbox, line).stdout;
        assert!(
            printed.contains("Verdict      blocked (no warehouse connection can be used)\n"),
            "{printed}"
        );
        assert!(
            printed.contains(
                "Connections  ✗ warehouse (sqlite) · the database file `[SANDBOX]/work/warehouse.db` does not exist\n             hint: correct `path`; a relative path starts at the project folder\n"
            ),
            "{printed}"
        );
    }
    crate::support::database(&sandbox, "warehouse.db", crate::support::SHOP);
    sandbox.set("PATH", "/nonexistent");
    check!(&sandbox, "status", @r"
exit 0
Project      [SANDBOX]/work
Verdict      partial (`git` is not installed)
Config       ✓ valid
Model        · none · no model is configured; scanning, searching, querying and serving need none
Connections  ✓ warehouse (sqlite) · configured
Git          ✗ `git` is not installed
Can          query yes · scan no · search yes · serve yes · ingest no
Local data   warehouse: 1 source file, 1 manifest shard
Next         install git and put it on `PATH`
");
    let answer = crate::support::json(&sandbox, "status --json");
    assert_eq!(
        serde_json::json!([
            answer["git"],
            answer["sources"],
            answer["capabilities"]["scan"],
            answer["capabilities"]["query"]["able"],
            answer["notLookedAt"],
        ]),
        serde_json::json!([
            { "status": "fail", "detail": "`git` is not installed", "fix": "install git and put it on `PATH`" },
            { "status": "ok", "detail": "readable", "issues": [] },
            { "able": "no", "reason": "`git` is not installed" },
            "yes",
            [],
        ])
    );
}

#[test]
fn what_was_not_seen_is_told() {
    let sandbox = shop();
    let answer = crate::support::json(&sandbox, "status --fast --json");
    assert_eq!(
        answer["notLookedAt"],
        serde_json::json!([
            { "what": "git", "command": "ktx status" },
            { "what": "local state", "command": "ktx status" },
            { "what": "semantic sources", "command": "ktx status" },
        ])
    );
    let config = format!(
        "{}  far:\n    driver: postgres\n    host: 127.0.0.1\n    database: d\n",
        crate::support::CONFIG
    );
    write(&sandbox, "ktx.yaml", &config);
    let printed = run(&sandbox, "status").stdout;
    assert!(
        printed.contains("Not seen     warehouse servers (`ktx connection test`)\n"),
        "{printed}"
    );
}
