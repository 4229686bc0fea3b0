//! `ktx setup` tests each step before writing, and names missing steps.

use serde_json::{Value, json};

use crate::claude::play;
use crate::support::{database, json as json_of, project, run, sandbox, tree, write};

const FULL: &str = "setup --yes --llm-backend claude-code --database sqlite \
                    --database-url shop.db --agents --target claude-code";

/// KTX-83: with one isolated turn; a second run changes nothing.
#[test]
fn one_line_sets_a_project_up() {
    let mut sandbox = sandbox();
    database(
        &sandbox,
        "shop.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY);",
    );
    play(&mut sandbox, json!({ "steps": [{ "text": "ok" }] }));
    let first = json_of(&sandbox, &format!("{FULL} --json"));
    assert_eq!(first["ready"], json!(true));
    assert_eq!(
        steps(&first),
        [
            ("project", "done"),
            ("model", "done"),
            ("database", "done"),
            ("agents", "done")
        ]
    );
    let before = tree(&sandbox);
    let again = json_of(&sandbox, "setup --agents --target claude-code --json");
    assert_eq!(
        steps(&again),
        [
            ("project", "ready"),
            ("model", "ready"),
            ("database", "ready"),
            ("agents", "ready")
        ]
    );
    assert_eq!(tree(&sandbox), before);
    let settings: Value =
        serde_json::from_str(&sandbox.read(".mcp.json").unwrap()).expect("settings are JSON");
    assert_eq!(
        settings["mcpServers"]["ktx"]["args"],
        json!(["--project-dir", sandbox.work(), "mcp", "stdio"])
    );
}

fn steps(answer: &Value) -> Vec<(&str, &str)> {
    let steps = answer["steps"].as_array().expect("steps");
    let text = |step: &Value, key: &str| step[key].as_str().unwrap_or_default().len();
    assert!(
        steps.iter().all(|step| text(step, "detail") > 0),
        "{answer:#}"
    );
    steps
        .iter()
        .map(|step| {
            (
                step["step"].as_str().unwrap(),
                step["status"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn without_a_project_and_agreement_nothing_is_made() {
    let sandbox = sandbox();
    check!(&sandbox, "setup", @r"
exit 3
--- stderr
error: no ktx project in `[SANDBOX]/work`

hint: add `--yes` to create one in this folder
hint: name another folder with `--project-dir`
");
    assert_eq!(std::fs::read_dir(sandbox.work()).unwrap().count(), 0);
}

#[test]
fn what_is_missing_is_named_with_its_flags() {
    let sandbox = project();
    check!(&sandbox, "setup", @r"
exit 7
project   ready    [SANDBOX]/work
model     missing  descriptions and memory need one
                   `--llm-backend claude-code` uses your own local Claude Code session
                   `--llm-backend anthropic --anthropic-api-key-env ANTHROPIC_API_KEY` uses a key
                   `--skip-llm` skips this step
database  missing  there is no warehouse connection
                   `--database postgres --database-url env:DATABASE_URL` adds one
                   `--database sqlite --database-url data.sqlite` reads a file
                   `--skip-databases` skips this step
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
");
}

#[test]
fn what_is_not_wanted_is_not_missing() {
    let sandbox = project();
    check!(&sandbox, "setup --skip-llm --skip-databases --skip-agents", @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
agents    skipped  none was named
next: run `ktx status` to see what works
");
}

/// KTX-44.
#[test]
fn a_backend_that_cannot_be_used_is_not_written() {
    let mut sandbox = project();
    play(
        &mut sandbox,
        json!({ "account": { "tokenSource": "none" } }),
    );
    sandbox.set("ANTHROPIC_API_KEY", "sk-ant-canary");
    let before = sandbox.read("ktx.yaml").unwrap();
    check!(&sandbox, "setup --llm-backend claude-code --skip-databases", @r"
exit 5
project   ready    [SANDBOX]/work
model     failed   Claude Code is not usable with your local session
                   authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command
database  skipped  nothing can be asked yet
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
--- stderr
error: setup is not finished: model failed

hint: fix that and run the command again
");
    assert_eq!(sandbox.read("ktx.yaml").unwrap(), before);
}

#[test]
fn a_warehouse_that_cannot_be_reached_is_a_connection_error() {
    let sandbox = project();
    check!(&sandbox, "setup --skip-llm --database sqlite --database-url nowhere.db", @r"
exit 4
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  failed   the database file `[SANDBOX]/work/nowhere.db` does not exist
                   correct `path`; a relative path starts at the project folder
                   the connection stays in ktx.yaml until you run setup again with another address
                   run `ktx connection test sqlite-local` to try the same address again
agents    skipped  none was named
                   `--agents --target claude-code` attaches one
next: run `ktx status` to see what works
--- stderr
error: setup is not finished: database failed

hint: fix that and run the command again
");
}

#[test]
fn flags_that_do_not_fit_are_usage_errors() {
    let sandbox = project();
    check!(&sandbox, "setup --llm-backend claude-code --vertex-project p", @r"
exit 2
--- stderr
error: `--vertex-…` belongs to `--llm-backend vertex`

hint: leave the flag out, or choose that backend
");
    check!(&sandbox, "setup --skip-llm --database postgres", @r"
exit 2
--- stderr
error: `--database postgres` needs `--database-url`

hint: use `ktx connection add` to give host, user and password one by one
");
    check!(&sandbox, "setup --llm-backend codecs", @r"
exit 2
project   ready    [SANDBOX]/work
--- stderr
error: unknown backend `codecs`

hint: use one of anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible
");
}

/// Other settings stay; invalid JSON is left alone.
#[test]
fn agent_settings_are_merged() {
    let sandbox = project();
    let skip = "setup --skip-llm --skip-databases --agents --target";
    write(
        &sandbox,
        ".cursor/mcp.json",
        r#"{"theme": 1, "mcpServers": {"other": {"url": "http://localhost:1/mcp"}}}"#,
    );
    let printed = run(&sandbox, &format!("{skip} cursor"));
    assert_eq!(printed.code, Some(0), "{printed}");
    let mut settings: Value =
        serde_json::from_str(&sandbox.read(".cursor/mcp.json").unwrap()).unwrap();
    let server = settings["mcpServers"]["ktx"].take();
    assert_eq!(server["args"][2], json!("mcp"));
    assert_eq!(
        settings,
        json!({ "theme": 1, "mcpServers": { "other": { "url": "http://localhost:1/mcp" }, "ktx": null } })
    );
    write(&sandbox, ".mcp.json", "// mine\n");
    check!(&sandbox, &format!("{skip} claude-code"), @r"
exit 3
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
agents    failed   `[SANDBOX]/work/.mcp.json` is not a JSON object: expected value at line 1 column 1
                   correct the file or move it away, then run the command again
next: run `ktx status` to see what works
--- stderr
error: setup is not finished: agents failed

hint: fix that and run the command again
");
    assert_eq!(sandbox.read(".mcp.json").unwrap(), "// mine\n");
}

/// Private settings hold the token; settings in a repository name a variable.
#[test]
fn agents_that_ask_over_http_get_the_token() {
    use std::os::unix::fs::MetadataExt as _;
    let sandbox = project();
    let skip = "setup --skip-llm --skip-databases --agents --http --target";
    let printed = run(&sandbox, &format!("{skip} cursor --global"));
    assert_eq!(printed.code, Some(0), "{printed}");
    let token = sandbox.read(".ktx/state/mcp.token").unwrap();
    let file = sandbox.home().join(".cursor/mcp.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let url = "http://127.0.0.1:7878/mcp";
    assert_eq!(
        settings["mcpServers"]["ktx"],
        json!({ "url": url, "headers": { "Authorization": format!("Bearer {token}") } })
    );
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    check!(&sandbox, &format!("{skip} claude-code"), @r"
exit 0
project   ready    [SANDBOX]/work
model     skipped  scan, search and query need none
database  skipped  nothing can be asked yet
agents    done     [SANDBOX]/work/.mcp.json
                   restart the agent to see it
                   start the agent with the token: export KTX_MCP_TOKEN=$(cat [SANDBOX]/work/.ktx/state/mcp.token)
                   `ktx mcp start` starts the server
next: run `ktx status` to see what works
");
    let text = sandbox.read(".mcp.json").unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        settings["mcpServers"]["ktx"],
        json!({
            "type": "http", "url": url,
            "headers": { "Authorization": "Bearer ${KTX_MCP_TOKEN}" },
        })
    );
    for target in ["codex", "opencode", "universal", "claude-code --global"] {
        let printed = run(&sandbox, &format!("{skip} {target}"));
        assert_eq!(printed.code, Some(0), "{printed}");
        assert!(printed.stdout.contains(url), "{target}: {printed}");
        assert!(!printed.to_string().contains(&token), "{target}: {printed}");
    }
    let desktop = run(&sandbox, &format!("{skip} claude-desktop"));
    assert_eq!(desktop.code, Some(2), "{desktop}");
}

#[test]
fn agents_without_a_settings_file_of_their_own_are_told_what_to_add() {
    let sandbox = project();
    for target in ["codex", "opencode", "universal", "claude-code --global"] {
        let printed = run(
            &sandbox,
            &format!("setup --skip-llm --skip-databases --agents --target {target}"),
        );
        assert_eq!(printed.code, Some(0), "{printed}");
        assert!(printed.stdout.contains("mcp"), "{target}: {printed}");
        assert!(printed.stdout.contains("stdio"), "{target}: {printed}");
    }
    assert!(!sandbox.work().join(".mcp.json").exists());
}

/// Recognized by address, in any form.
#[test]
fn the_same_database_is_added_once() {
    let sandbox = project();
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY);";
    database(&sandbox, "shop.db", sql);
    database(&sandbox, "other.db", sql);
    let line = "setup --skip-llm --skip-agents --database sqlite --database-url";
    let states = |address: &str| {
        let answer = json_of(&sandbox, &format!("{line} {address} --json"));
        steps(&answer)[2].1.to_owned()
    };
    assert_eq!(states("shop.db"), "done");
    let before = tree(&sandbox);
    let whole = sandbox.work().join("shop.db");
    for address in [
        "shop.db",
        "./shop.db",
        &format!("sqlite:{}", whole.display()),
    ] {
        assert_eq!(states(address), "ready", "{address}");
    }
    assert_eq!(tree(&sandbox), before);
    assert_eq!(states("other.db"), "done");
    let list = json_of(&sandbox, "connection list --json");
    let ids: Vec<&Value> = list["data"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["id"])
        .collect();
    assert_eq!(ids, ["sqlite-local", "sqlite-local-2"]);
    let named = json_of(
        &sandbox,
        &format!("{line} shop.db --database-connection-id second --json"),
    );
    assert_eq!(steps(&named)[2], ("database", "done"));
}

/// The address is in a secrets file.
#[test]
fn a_secret_address_is_added_once() {
    let sandbox = project();
    // No server listens; only connections in the file count.
    let line = "setup --skip-llm --skip-agents --database postgres \
                --database-url postgres://ada:canary-secret@127.0.0.1:9/shop";
    for _ in 0..2 {
        assert_eq!(run(&sandbox, line).code, Some(4));
    }
    let config = sandbox.read("ktx.yaml").unwrap();
    assert_eq!(config.matches("url: file:").count(), 1, "{config}");
    assert!(!config.contains("canary-secret"));
    let secrets = std::fs::read_dir(sandbox.work().join(".ktx/secrets")).unwrap();
    assert_eq!(secrets.count(), 2);
}

/// The corrected address replaces the unusable one.
#[test]
fn a_mistyped_address_is_replaced_and_the_later_steps_run() {
    let sandbox = project();
    let line = |port: u16| {
        format!(
            "setup --skip-llm --database postgres --database-url postgres://ada@127.0.0.1:{port}/shop \
             --agents --target claude-code --json"
        )
    };
    for port in [1, 2] {
        let printed = run(&sandbox, &line(port));
        assert_eq!(printed.code, Some(4), "{printed}");
        let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
        assert_eq!(answer["ready"], json!(false));
        assert_eq!(
            steps(&answer)[1..],
            [
                ("model", "skipped"),
                ("database", "failed"),
                ("agents", if port == 1 { "done" } else { "ready" })
            ]
        );
        assert_eq!(answer["steps"][2]["code"], json!("connection_unreachable"));
        let config = sandbox.read("ktx.yaml").unwrap();
        assert_eq!(
            config.matches("\n    driver: postgres\n").count(),
            1,
            "{config}"
        );
        assert!(
            config.contains(&format!("127.0.0.1:{port}/shop")),
            "{config}"
        );
    }
    let printed = run(&sandbox, &line(3).replace(" --json", ""));
    assert!(
        printed
            .stderr
            .contains("error: setup is not finished: database failed"),
        "{printed}"
    );
}
