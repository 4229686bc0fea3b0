//! Each backend's runtime, and commands without a usable `claude-code`.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{CONFIG, REGIONS, play};
use crate::support::{commit, run, tree, unscanned, write};

fn provider() -> Loopback {
    Loopback::start(|request: &Request, _| {
        let target = &request.target;
        let body = if target.ends_with("/token") {
            json!({ "access_token": "planted-token", "expires_in": 3600 })
        } else if target.contains("/messages") {
            json!({ "id": "m", "type": "message", "role": "assistant", "model": "m",
                "stop_reason": "end_turn", "content": [{ "type": "text", "text": "ok" }],
                "usage": { "input_tokens": 1, "output_tokens": 1 } })
        } else if target.contains("/chat/completions") {
            let message = json!({ "role": "assistant", "content": "ok" });
            json!({ "id": "m", "model": "m", "usage": { "prompt_tokens": 1, "completion_tokens": 1 },
                "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] })
        } else if target.contains("/responses") {
            json!({ "id": "m", "model": "m", "status": "completed",
                "output": [{ "type": "message", "id": "x", "role": "assistant",
                    "content": [{ "type": "output_text", "text": "ok" }] }],
                "usage": { "input_tokens": 1, "output_tokens": 1 } })
        } else if target.contains("enerateContent") {
            let content = json!({ "role": "model", "parts": [{ "text": "ok" }] });
            json!({ "responseId": "m", "modelVersion": "m",
                "candidates": [{ "finishReason": "STOP", "content": content }],
                "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1 } })
        } else {
            return Answer::json(404, &json!({ "error": { "message": "no such path" } }));
        };
        Answer::json(200, &body)
    })
    .expect("a provider")
}

fn project(llm: &str) -> Sandbox {
    let sandbox = unscanned(REGIONS);
    let config = CONFIG.split("llm:").next().unwrap();
    let limits = "ingest:\n  rateLimit:\n    retry:\n      maxAttempts: 1\n";
    write(
        &sandbox,
        "ktx.yaml",
        &format!("{config}llm:\n{llm}{limits}"),
    );
    commit(&sandbox, "a model");
    sandbox
}

fn probed(backend: &str, model: &str) -> (Vec<String>, String) {
    let provider = provider();
    let mut sandbox = project(&format!(
        "  provider:\n    backend: {backend}\n    {backend}:\n      api_key: env:PLANTED\n      base_url: {}\n  models:\n    default: {model}\n",
        provider.address()
    ));
    sandbox.set("PLANTED", "planted-key-0123456789");
    let printed = run(&sandbox, "llm probe");
    assert_eq!(printed.code, Some(0), "{backend}: {printed}");
    let targets = provider
        .requests()
        .iter()
        .map(|request| request.target.clone())
        .collect();
    let first = printed.stdout.lines().next().unwrap_or_default().to_owned();
    (targets, first)
}

/// KTX-02.
#[test]
fn every_http_backend_answers_for_itself() {
    let chat = "POST /v1/chat/completions";
    let gemini = "POST /v1beta/models/gemini-3-pro:generateContent";
    let cases = [
        (
            "anthropic",
            "sonnet",
            "POST /v1/messages",
            "the Anthropic API",
        ),
        (
            "gateway",
            "sonnet",
            "POST /v1/messages",
            "the Vercel AI Gateway",
        ),
        ("gateway", "openai/gpt-5.5", chat, "the Vercel AI Gateway"),
        ("openai", "gpt-5.5", "POST /v1/responses", "the OpenAI API"),
        ("gemini", "gemini-3-pro", gemini, "the Gemini API"),
        ("deepseek", "deepseek-flash", chat, "the DeepSeek API"),
        ("qwen", "qwen3.8-max", chat, "the Qwen API"),
        ("glm", "glm-5.3", chat, "the GLM API"),
        ("minimax", "MiniMax-M3", chat, "the MiniMax API"),
        ("kimi", "kimi-k3", chat, "the Kimi API"),
        ("groq", "openai/gpt-oss-120b", chat, "the Groq API"),
        ("cerebras", "zai-glm-4.7", chat, "the Cerebras API"),
        (
            "openai-compatible",
            "m",
            chat,
            "an OpenAI-compatible server",
        ),
    ];
    let found = cases.map(|(backend, model, ..)| probed(backend, model));
    let expected = cases.map(|(backend, _, target, place)| {
        let line = format!("{backend}: usable; paid by your account at {place}");
        (vec![target.to_owned()], line)
    });
    assert_eq!(found, expected);
}

/// KTX-02.
#[test]
fn vertex_asks_google_alone() {
    let provider = provider();
    let mut sandbox = project(
        "  provider:\n    backend: vertex\n    vertex: { project: p1, location: us-east5 }\n  models:\n    default: sonnet\n",
    );
    let login = json!({
        "type": "authorized_user", "client_id": "id", "client_secret": "planted-secret",
        "refresh_token": "planted-refresh", "token_uri": format!("{}/token", provider.address()),
    });
    let file = sandbox.home().join("google.json");
    std::fs::write(&file, login.to_string()).expect("a file");
    sandbox.set("GOOGLE_APPLICATION_CREDENTIALS", file.display().to_string());
    sandbox.set("HTTPS_PROXY", provider.address());
    let printed = run(&sandbox, "llm probe");
    assert_eq!(printed.code, Some(5), "{printed}");
    let targets: Vec<String> = provider
        .requests()
        .iter()
        .map(|request| request.target.clone())
        .collect();
    assert_eq!(
        targets,
        [
            "POST /token",
            "CONNECT us-east5-aiplatform.googleapis.com:443"
        ],
        "{printed}"
    );
}

/// KTX-02.
#[test]
fn backends_without_an_api_ask_none() {
    let provider = provider();
    for (backend, code) in [("claude-code", 0), ("none", 3)] {
        let mut sandbox = project(&format!("  provider:\n    backend: {backend}\n"));
        play(&mut sandbox, json!({ "steps": [{ "text": "ok" }] }));
        keys_of_others(&mut sandbox, &provider);
        let printed = run(&sandbox, "llm probe");
        assert_eq!(printed.code, Some(code), "{printed}");
    }
    let sandbox = project("  provider:\n    backend: none\n");
    check!(&sandbox, "llm probe", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: `llm.provider.backend` is `none`

hint: set it to `claude-code` to use your own local Claude Code session
");
    assert_eq!(provider.requests().len(), 0);
}

/// KTX-02.
#[test]
fn an_unknown_backend_lists_the_allowed_ones() {
    let sandbox = project("  provider:\n    backend: anthropics\n");
    for line in ["llm probe", "llm models"] {
        check!(&sandbox, line, @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: ktx.yaml:7:14: Unsupported llm.provider.backend: anthropics (allowed: none, anthropic, vertex, gateway, claude-code, openai, gemini, deepseek, qwen, glm, minimax, kimi, groq, cerebras, openai-compatible)

hint: did you mean `anthropic`?
");
    }
    let printed = run(&sandbox, "status");
    assert_eq!(printed.code, Some(3), "{printed}");
    assert!(
        printed.stdout.contains("anthropics (allowed: none,"),
        "{printed}"
    );
    let printed = run(&sandbox, "setup");
    assert_eq!(printed.code, Some(3), "{printed}");
    assert!(
        printed
            .stdout
            .contains("model     failed   ktx.yaml:7:14: Unsupported"),
        "{printed}"
    );
}

/// One warning; only commands that need a model fail.
#[test]
fn an_unusable_backend_keeps_nothing_else_closed() {
    for section in [
        "  provider:\n    backend: codex\n",
        "  provider:\n    backend: openai-compatible\n",
        "  models:\n    default: 5\n",
    ] {
        let sandbox = project(section);
        for line in [
            "scan",
            "sl",
            "sql 'SELECT 1 AS one'",
            "connection test",
            "wiki",
        ] {
            let printed = run(&sandbox, line);
            assert_eq!(printed.code, Some(0), "{line}: {printed}");
            assert_eq!(
                printed.stderr.matches("warning: ktx.yaml:").count(),
                1,
                "{line}: {printed}"
            );
        }
    }
}

/// ktx must never fall back to these.
fn keys_of_others(sandbox: &mut Sandbox, provider: &Loopback) {
    for name in ["ANTHROPIC_API_KEY", "AI_GATEWAY_API_KEY", "OPENAI_API_KEY"] {
        sandbox.set(name, "planted-key-0123456789");
    }
    for name in ["ANTHROPIC_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY"] {
        sandbox.set(name, provider.address());
    }
}

/// True for commands that report the failure in their output.
const ASKING: [(&str, bool); 10] = [
    ("setup", true),
    ("setup --llm-backend claude-code", true),
    ("status", true),
    ("status --verbose", true),
    ("doctor", true),
    ("ingest", false),
    ("ingest --all", false),
    ("ingest warehouse", false),
    ("llm probe", false),
    ("demo --dir demo --backend claude-code", false),
];

#[track_caller]
fn every_command_says(sandbox: &Sandbox, code: &str, message: &str, hint: &str) {
    let before = tree(sandbox);
    for (line, reports) in ASKING {
        let printed = run(sandbox, line);
        assert_eq!(printed.code, Some(5), "{line}: {printed}");
        let (told, advice) = if line.starts_with("setup") {
            let step = format!("model     failed   {message}\n");
            (step, format!("                   {hint}\n"))
        } else if reports {
            (
                format!("claude-code · {message}\n"),
                format!("             hint: {hint}\n"),
            )
        } else {
            (format!("error: {message}\n"), format!("\nhint: {hint}\n"))
        };
        let text = if reports {
            &printed.stdout
        } else {
            &printed.stderr
        };
        assert!(
            text.contains(&told) && text.contains(&advice),
            "{line}: {printed}"
        );
        let printed = run(sandbox, &format!("{line} --json"));
        assert_eq!(printed.code, Some(5), "{line}: {printed}");
        let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
        let failure = if line.starts_with("setup") {
            let model = &answer["steps"][1];
            json!({ "code": model["code"], "message": model["detail"], "hint": model["hints"][0] })
        } else if reports {
            let llm = &answer["llm"];
            json!({ "code": llm["code"], "message": llm["detail"], "hint": llm["fix"] })
        } else {
            answer["error"].clone()
        };
        let expected = json!({ "code": code, "message": message, "hint": hint });
        assert_eq!(failure, expected, "{line}: {printed}");
    }
    assert_eq!(tree(sandbox), before, "{message}");
}

fn local(scenario: Value, provider: &Loopback) -> Sandbox {
    let mut sandbox = unscanned(REGIONS);
    write(&sandbox, "ktx.yaml", CONFIG);
    commit(&sandbox, "claude-code");
    play(&mut sandbox, scenario);
    keys_of_others(&mut sandbox, provider);
    sandbox
}

const LOGIN: &str = "authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command";

/// KTX-44, KTX-84: also without a local login.
#[test]
fn a_key_is_no_login_for_any_command() {
    let provider = provider();
    let refused = json!({ "class": "authentication_failed", "status": 401, "text": "no" });
    for scenario in [
        json!({ "account": { "tokenSource": "none" } }),
        json!({ "steps": [{ "api_error": refused }] }),
    ] {
        let sandbox = local(scenario, &provider);
        let message = "Claude Code is not usable with your local session";
        every_command_says(&sandbox, "llm_auth", message, LOGIN);
    }
    assert_eq!(provider.requests().len(), 0);
}

/// KTX-67.
#[test]
fn a_foreign_surface_stops_every_command() {
    let provider = provider();
    let update = "update Claude Code; if the error stays, report it with the output of the command under `--debug`";
    let steps = json!([{ "text": "BAD" }]);
    let server = json!({ "name": "github", "status": "connected" });
    let cases = [
        (
            json!({ "init": { "tools": ["Bash"] }, "steps": steps }),
            "llm_isolation",
            "Claude Code did not start with the tools that ktx requested; ktx discarded the answer",
            update,
        ),
        (
            json!({ "init": { "mcp_servers": [server] }, "steps": steps }),
            "llm_isolation",
            "Claude Code did not start with the tool servers that ktx requested; ktx discarded the answer",
            update,
        ),
        (
            json!({ "account": { "tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY" } }),
            "llm_billing",
            "Claude Code would bill an API key instead of your local session",
            "remove the key from the Claude Code configuration, or use it with the backend `anthropic`",
        ),
    ];
    for (scenario, code, message, hint) in cases {
        let sandbox = local(scenario, &provider);
        every_command_says(&sandbox, code, message, hint);
    }
    assert_eq!(provider.requests().len(), 0);
}
