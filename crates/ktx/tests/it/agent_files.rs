//! `ktx agent init`, `list` and `validate`, and the schema of agent files.

use std::path::Path;

use ktx_test_support::sandbox::Sandbox;
use serde_json::Value;

use crate::support::{json, project, run, unscanned, write};

fn with(sandbox: &Sandbox, names: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/agents");
    for name in names {
        let text = std::fs::read_to_string(folder.join(name)).expect("a fixture");
        write(sandbox, &format!("agents/{name}"), &text);
    }
}

#[test]
fn a_new_agent_is_valid_as_it_is() {
    let sandbox = project();
    check!(&sandbox, "agent list", @r"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    no agents yet; make one with `ktx agent init analyst`
    ");
    check!(&sandbox, "agent validate", @r"
    exit 0
    --- stderr
    Project: [SANDBOX]/work
    no agents yet; make one with `ktx agent init analyst`
    ");
    check!(&sandbox, "agent init analyst", @r"
    exit 0
    Created agents/analyst.yaml
    --- stderr
    Project: [SANDBOX]/work
    next: edit it, then run `ktx agent validate analyst`
    ");
    check!(&sandbox, "agent init checker --from reviewer", @r"
    exit 0
    Created agents/checker.yaml
    --- stderr
    Project: [SANDBOX]/work
    next: edit it, then run `ktx agent validate checker`
    ");
    check!(&sandbox, "agent new daily --from reporter --json", @r#"
    exit 0
    {
      "path": "agents/daily.yaml"
    }
    "#);
    check!(&sandbox, "agent validate", @r"
    exit 0
    agents/analyst.yaml: valid
    agents/checker.yaml: valid
    agents/daily.yaml: valid
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "agent list", @r"
    exit 0
    name	path	tools	state	description
    analyst	agents/analyst.yaml	6	valid	Answers questions about the numbers of the project.
    checker	agents/checker.yaml	5	valid	Checks whether wiki pages and semantic sources agree with each other.
    daily	agents/daily.yaml	4	valid	Reports every working day which numbers have changed.
    --- stderr
    Project: [SANDBOX]/work
    ");
    let text = std::fs::read_to_string(sandbox.work().join("agents/analyst.yaml")).expect("a file");
    assert!(
        text.contains("name: analyst\n") && !text.contains("AGENT_NAME"),
        "{text}"
    );
}

#[test]
fn an_agent_is_not_written_over_another() {
    let sandbox = project();
    write(&sandbox, "agents/analyst.yml", "name: mine\n");
    check!(&sandbox, "agent init analyst", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: `agents/analyst.yml` exists already

    hint: check it with `ktx agent validate analyst`
    hint: choose another name
    ");
    check!(&sandbox, "agent init ../analyst", @r"
    exit 2
    --- stderr
    Project: [SANDBOX]/work
    error: `../analyst` cannot be an agent's name: use letters, digits and `-`, beginning with a letter, at most 100
    ");
    check!(&sandbox, "agent init 'my agent' --json", @r#"
    exit 2
    {
      "error": {
        "code": "invalid_name",
        "message": "`my agent` cannot be an agent's name: use letters, digits and `-`, beginning with a letter, at most 100",
        "hint": null
      }
    }
    "#);
    check!(&sandbox, "agent init analyst --from analist", @r"
    exit 2
    --- stderr
    error: invalid value 'analist' for '--from <KIND>'
      [possible values: analyst, reviewer, reporter]

      tip: a similar value exists: 'analyst'

    For more information, try '--help'.
    ");
    let kept = std::fs::read_to_string(sandbox.work().join("agents/analyst.yml")).expect("a file");
    assert_eq!(kept, "name: mine\n");
}

/// HOLO-20, HOLO-21, HOLO-22, HOLO-23.
#[test]
fn every_fault_of_every_file_is_reported() {
    let sandbox = unscanned("CREATE TABLE orders (id INTEGER PRIMARY KEY);");
    with(
        &sandbox,
        &[
            "embeddings-missing.yaml",
            "filtering.yaml",
            "claude-ignored.yaml",
            "claude-collision.yaml",
            "files/desk/CLAUDE.md",
            "files/docs/handbook.md",
            "key-misspelled.yaml",
            "tool-unknown.yaml",
            "case-connection.yaml",
            "good.yaml",
        ],
    );
    check!(&sandbox, "agent validate", @r"
    exit 3
    agents/case-connection.yaml: 1 error
    agents/claude-collision.yaml: valid, 1 warning
    agents/claude-ignored.yaml: valid, 1 warning
    agents/embeddings-missing.yaml: 1 error
    agents/filtering.yaml: valid, 1 warning
    agents/good.yaml: valid
    agents/key-misspelled.yaml: 1 error
    agents/tool-unknown.yaml: 1 error
    --- stderr
    Project: [SANDBOX]/work
    error: agents/case-connection.yaml:5:47: test_cases.0.ground_truth.connection: there is no connection `warehose`
      hint: did you mean `warehouse`?
    warning: agents/claude-collision.yaml:4:10: files/desk/CLAUDE.md exists; ktx does not read it
    warning: agents/claude-ignored.yaml:4:1: claude is ignored for `openai`
    error: agents/embeddings-missing.yaml:6:5: the agent searches documents and nobody gives embeddings: set `embedding_provider`, or `ingest.embeddings` in ktx.yaml
    warning: agents/filtering.yaml:4:1: tool_filtering is ignored: ktx offers every tool of the agent
    error: agents/key-misspelled.yaml:5:3: model.temprature: there is no such key
      hint: did you mean `temperature`?
    error: agents/tool-unknown.yaml:3:19: tools.1: there is no tool `wiki_serach`
      hint: did you mean `wiki_search`?
    ");
    check!(&sandbox, "agent validate good", @r"
    exit 0
    agents/good.yaml: valid
    --- stderr
    Project: [SANDBOX]/work
    ");
    check!(&sandbox, "agent validate agents/good.yaml filtering", @r"
    exit 0
    agents/good.yaml: valid
    agents/filtering.yaml: valid, 1 warning
    --- stderr
    Project: [SANDBOX]/work
    warning: agents/filtering.yaml:4:1: tool_filtering is ignored: ktx offers every tool of the agent
    ");
    check!(&sandbox, "agent validate goood", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: there is no agent or file `goood`

    hint: did you mean `good`?
    ");
    check!(&sandbox, "agent validate nowhere/at/all.yaml", @r"
    exit 3
    --- stderr
    Project: [SANDBOX]/work
    error: there is no agent or file `nowhere/at/all.yaml`

    hint: list the agents with `ktx agent list`
    ");
    check!(&sandbox, "agent validate key-misspelled --json", @r#"
    exit 3
    {
      "kind": "list",
      "data": {
        "items": [
          {
            "path": "agents/key-misspelled.yaml",
            "line": 5,
            "column": 3,
            "severity": "error",
            "code": "misspelled_key",
            "message": "model.temprature: there is no such key",
            "hint": "did you mean `temperature`?"
          }
        ],
        "agents": []
      },
      "meta": {
        "command": "agent validate"
      }
    }
    "#);
    check!(&sandbox, "agent list", @r"
    exit 0
    name	path	tools	state	description
    case-connection	agents/case-connection.yaml	-	1 error	-
    claude-collision	agents/claude-collision.yaml	6	valid, 1 warning	-
    claude-ignored	agents/claude-ignored.yaml	6	valid, 1 warning	-
    embeddings-missing	agents/embeddings-missing.yaml	-	1 error	-
    filtering	agents/filtering.yaml	6	valid, 1 warning	-
    good	agents/good.yaml	6	valid	-
    key-misspelled	agents/key-misspelled.yaml	-	1 error	-
    tool-unknown	agents/tool-unknown.yaml	-	1 error	-
    --- stderr
    Project: [SANDBOX]/work
    ");
    let listed = json(&sandbox, "agent list --json");
    let items = listed["data"]["items"].as_array().expect("items");
    let shown = items
        .iter()
        .filter(|item| item["name"] == "key-misspelled" || item["name"] == "good");
    let shown: Vec<String> = shown.map(Value::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    {"name":"good","path":"agents/good.yaml","description":null,"valid":true,"errors":[],"warnings":[]}
    {"name":"key-misspelled","path":"agents/key-misspelled.yaml","description":null,"valid":false,"errors":[{"path":"agents/key-misspelled.yaml","line":5,"column":3,"severity":"error","code":"misspelled_key","message":"model.temprature: there is no such key","hint":"did you mean `temperature`?"}],"warnings":[]}
    "#);
}

/// HOLO-20.
#[test]
fn embeddings_of_the_project_are_enough() {
    let sandbox = project();
    with(
        &sandbox,
        &["embeddings-missing.yaml", "files/docs/handbook.md"],
    );
    write(
        &sandbox,
        "ktx.yaml",
        "ingest: {embeddings: {backend: openai, model: m, dimensions: 3}}\n",
    );
    check!(&sandbox, "agent validate", @r"
    exit 0
    agents/embeddings-missing.yaml: valid
    --- stderr
    Project: [SANDBOX]/work
    ");
}

/// C-02.
#[test]
fn ignored_capabilities_are_errors_unless_they_are_allowed() {
    let sandbox = project();
    with(
        &sandbox,
        &[
            "claude-bash.yaml",
            "claude-files.yaml",
            "claude-web.yaml",
            "claude-subagents.yaml",
        ],
    );
    check!(&sandbox, "agent validate", @r"
    exit 3
    agents/claude-bash.yaml: 1 error
    agents/claude-files.yaml: 1 error
    agents/claude-subagents.yaml: 1 error
    agents/claude-web.yaml: 1 error
    --- stderr
    Project: [SANDBOX]/work
    error: agents/claude-bash.yaml:4:19: claude.bash: ktx agents run no commands
      hint: serve the command as an MCP tool, or use `sql_execution`
    error: agents/claude-files.yaml:4:23: claude.file_system: ktx agents reach no files of the machine
      hint: name a folder of the project in `workspace.root`
    error: agents/claude-subagents.yaml:4:24: claude.subagents: ktx agents start no agents of Claude Code
      hint: name the agents that may be asked in `agents`
    error: agents/claude-web.yaml:3:22: claude.web_search: ktx agents search no web
      hint: serve a search as an MCP tool
    ");
    check!(&sandbox, "agent validate --allow-ignored-capabilities", @r"
    exit 0
    agents/claude-bash.yaml: valid, 1 warning
    agents/claude-files.yaml: valid, 1 warning
    agents/claude-subagents.yaml: valid, 1 warning
    agents/claude-web.yaml: valid, 1 warning
    --- stderr
    Project: [SANDBOX]/work
    warning: agents/claude-bash.yaml:4:19: claude.bash: ktx agents run no commands
      hint: serve the command as an MCP tool, or use `sql_execution`
    warning: agents/claude-files.yaml:4:23: claude.file_system: ktx agents reach no files of the machine
      hint: name a folder of the project in `workspace.root`
    warning: agents/claude-subagents.yaml:4:24: claude.subagents: ktx agents start no agents of Claude Code
      hint: name the agents that may be asked in `agents`
    warning: agents/claude-web.yaml:3:22: claude.web_search: ktx agents search no web
      hint: serve a search as an MCP tool
    ");
}

/// HOLO-34, HOLO-01.
#[test]
fn validate_names_the_backend_of_each_agent() {
    let sandbox = project();
    let models = [
        ("none", ""),
        ("key", "provider: anthropic"),
        ("explicit", "provider: anthropic, auth_provider: api_key"),
        ("login", "provider: anthropic, auth_provider: oauth_token"),
        ("vertex", "provider: anthropic, auth_provider: vertex"),
        ("foundry", "provider: anthropic, auth_provider: foundry"),
        ("openai", "provider: openai"),
        (
            "azure",
            "provider: azure_openai, endpoint: 'https://a.example'",
        ),
        ("ollama", "provider: ollama"),
        ("gemini", "provider: gemini"),
        ("local", "provider: claude-code"),
    ];
    for (name, model) in models {
        let text = format!("name: {name}\ninstructions: {{inline: Answer.}}\nmodel: {{{model}}}\n");
        write(&sandbox, &format!("agents/{name}.yaml"), &text);
    }
    let checked = run(&sandbox, "agent validate --json");
    let checked: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    let agents = checked["data"]["agents"].as_array().expect("agents");
    let lines: Vec<String> = agents
        .iter()
        .map(|agent| format!("{} {}", agent["path"], agent["backend"]))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    "agents/azure.yaml" "openai-compatible"
    "agents/explicit.yaml" "anthropic"
    "agents/gemini.yaml" "gemini"
    "agents/key.yaml" "anthropic"
    "agents/local.yaml" "claude-code"
    "agents/login.yaml" "claude-code"
    "agents/none.yaml" "none"
    "agents/ollama.yaml" "openai-compatible"
    "agents/openai.yaml" "openai"
    "agents/vertex.yaml" "vertex"
    "#);
}

#[test]
fn case_files_are_checked_as_cases() {
    let sandbox = unscanned("CREATE TABLE orders (id INTEGER PRIMARY KEY);");
    with(
        &sandbox,
        &[
            "files/cases.yaml",
            "files/cases-wrong.yaml",
            "files/prompt.md",
        ],
    );
    check!(&sandbox, "agent validate agents/files/cases.yaml agents/files/cases-wrong.yaml", @r"
    exit 3
    agents/files/cases.yaml: valid
    agents/files/cases-wrong.yaml: 3 errors
    --- stderr
    Project: [SANDBOX]/work
    error: agents/files/cases-wrong.yaml:1:31: 0.repeats: must be a whole number from 1 to 100, not text
    error: agents/files/cases-wrong.yaml:2:44: 1.ground_truth.rows.0: must be a list, not a number
    error: agents/files/cases-wrong.yaml:2:49: 1.file: there is no such key
      hint: did you mean `files`?
    ");
}

/// HOLO-10.
#[test]
fn the_schema_of_agent_files_is_printed() {
    let sandbox = project();
    let schema = json(&sandbox, "admin schema --agent");
    let head = format!("{} {}", schema["$id"], schema["required"]);
    insta::assert_snapshot!(head, @r#""https://ktx.dev/schemas/ktx-agent.json" ["name","instructions"]"#);
    let keys: Vec<&str> = schema["properties"]
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    insta::assert_snapshot!(keys.join(" "), @"name description author model instructions response_format embedding_provider tools permissions limits context todo agents max_parallel schedule workspace claude evaluations test_cases test_cases_file execution tool_filtering observability deployment openai");
    insta::assert_snapshot!(schema["properties"]["limits"]["anyOf"][0]["properties"]["max_turns"].to_string(), @r#"{"description":"Maximum steps of a turn: messages of the model with their tool calls.","anyOf":[{"type":"integer","minimum":1,"maximum":4294967295},{"type":"null"}],"default":20}"#);
    let written = run(&sandbox, "admin schema --agent --output agent.json");
    assert_eq!(written.code, Some(0), "{written}");
    check!(&sandbox, "admin schema --agent --sources", @r"
    exit 2
    --- stderr
    error: the argument '--agent' cannot be used with '--sources'

    Usage: ktx admin schema --agent

    For more information, try '--help'.
    ");
}
