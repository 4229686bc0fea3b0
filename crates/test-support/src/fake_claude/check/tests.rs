//! The fake refuses wrong input.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::ScenarioHalt;
use super::{CANARIES, Options, environment, initialize, options, prompt};

const GOOD: &[&str] = &[
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--include-partial-messages",
    "--no-session-persistence",
    "--setting-sources=",
    "--strict-mcp-config",
    "--tools=",
    "--permission-mode=dontAsk",
    "--permission-prompt-tool=stdio",
    "--disallowedTools=Agent,Task,AskUserQuestion,Bash,Read,Edit,Write,Glob,Grep,WebFetch,WebSearch,TodoWrite",
    "--allowedTools=mcp__ktx__emit",
    "--settings={\"enabledPlugins\":{\"a@builtin\":false}}",
    "--max-turns=3",
    "--model=sonnet",
];

fn reason<T>(outcome: Result<T, ScenarioHalt>) -> Option<String> {
    match outcome {
        Ok(_) => None,
        Err(ScenarioHalt::Fault(reason)) => Some(reason),
        Err(other) => Some(format!("{other:?}")),
    }
}

fn with(change: impl FnOnce(&mut Vec<String>)) -> Option<String> {
    let mut arguments: Vec<String> = GOOD.iter().map(|argument| (*argument).to_owned()).collect();
    change(&mut arguments);
    reason(options(&arguments))
}

#[test]
fn every_option_of_the_tuple_is_needed() {
    assert_eq!(with(|_| {}), None);
    for argument in GOOD {
        if argument.starts_with("--allowedTools") {
            continue;
        }
        let missing = with(|arguments| arguments.retain(|other| other != argument));
        assert!(missing.is_some(), "{argument}");
    }
}

#[test]
fn wrong_options_are_named() {
    let replaced = |from: &str, to: &str| {
        with(|arguments| {
            for argument in arguments {
                *argument = argument.replace(from, to);
            }
        })
    };
    assert_eq!(
        replaced("dontAsk", "default").as_deref(),
        Some("`--permission-mode` must be Some(\"dontAsk\"), is Some(Some(\"default\"))")
    );
    assert_eq!(
        replaced("Bash,", "").as_deref(),
        Some("`Bash` is not switched off")
    );
    assert_eq!(
        replaced("mcp__ktx__emit", "mcp__ktx__*").as_deref(),
        Some("`mcp__ktx__*` is not the exact id of a tool of ktx")
    );
    assert_eq!(
        replaced("\"a@builtin\":false", "\"a@builtin\":true").as_deref(),
        Some("`--settings` must switch off built-in plugins and nothing else")
    );
    assert_eq!(
        with(|arguments| arguments.push("hello".to_owned())).as_deref(),
        Some("`hello` is not an option")
    );
    assert_eq!(
        with(|arguments| arguments.push("--json-schema={}".to_owned())).as_deref(),
        Some("`--json-schema` is not expected")
    );
    assert_eq!(
        with(|arguments| arguments.push("--model=opus".to_owned())).as_deref(),
        Some("`--model` is given twice")
    );
}

#[test]
fn every_canary_is_found() {
    let good = BTreeMap::from([
        ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "1"),
        ("CLAUDE_AGENT_SDK_CLIENT_APP", "ktx/1"),
        ("DISABLE_AUTO_COMPACT", "1"),
    ]);
    let good: BTreeMap<String, String> = good
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let single = Options {
        max_turns: 1,
        ..Options::default()
    };
    assert_eq!(reason(environment(&good, &single)), None);
    for name in good.keys() {
        let mut without = good.clone();
        without.remove(name);
        assert!(reason(environment(&without, &single)).is_some(), "{name}");
    }
    for name in CANARIES {
        let mut more = good.clone();
        more.insert((*name).to_owned(), String::new());
        let expected = format!("the variable `{name}` came through");
        assert_eq!(reason(environment(&more, &single)), Some(expected));
    }
}

fn request(change: impl FnOnce(&mut Value)) -> Option<String> {
    let mut request = json!({
        "subtype": "initialize", "systemPrompt": "", "skills": [], "title": "ktx",
        "sdkMcpServers": ["ktx"],
        "hooks": {
            "PreToolUse": [{ "matcher": "^(?!(?:mcp__ktx__emit)$)", "hookCallbackIds": ["gate"] }],
            "PostToolUseFailure": [{ "hookCallbackIds": ["failure"] }],
        },
    });
    change(&mut request);
    let options = Options {
        allowed: ["mcp__ktx__emit".to_owned()].into(),
        max_turns: 3,
        model: "sonnet".to_owned(),
    };
    reason(initialize(&request, &options))
}

#[test]
fn initialize_is_checked_key_by_key() {
    assert_eq!(request(|_| {}), None);
    for key in ["systemPrompt", "skills", "title", "sdkMcpServers", "hooks"] {
        let missing = request(|request| {
            request.as_object_mut().unwrap().shift_remove(key);
        });
        assert!(missing.is_some(), "{key}");
    }
    let wrong = [
        ("agents", json!([])),
        ("skills", json!(["a"])),
        ("systemPrompt", json!(["text"])),
        ("sdkMcpServers", json!(["ktx", "other"])),
        ("jsonSchema", json!({ "type": "array" })),
        ("title", json!("")),
    ];
    for (key, value) in wrong {
        let found = request(|request| request[key] = value.clone());
        assert!(found.is_some(), "{key} {value}");
    }
    let open = request(|request| {
        request["hooks"]["PreToolUse"][0]["matcher"] = json!("^(?!mcp__ktx__)");
    });
    assert!(open.unwrap().starts_with("the gate is open"));
}

#[test]
fn the_prompt_has_one_shape() {
    let good = json!({
        "type": "user", "session_id": "", "parent_tool_use_id": null, "client_composed": true,
        "message": { "role": "user", "content": [
            { "type": "text", "text": "Say hello." },
            { "type": "text", "text": "Follow the instructions above." },
        ] },
    });
    assert_eq!(prompt(&good).ok().as_deref(), Some("Say hello."));
    for (pointer, value) in [
        ("/client_composed", json!(false)),
        (
            "/message/content",
            json!([{ "type": "text", "text": "Say hello." }]),
        ),
        ("/message/content/1/text", json!("@/etc/passwd")),
        ("/message/content/0/text", json!("")),
        ("/message/content/0/type", json!("image")),
        ("/session_id", json!("x")),
    ] {
        let mut wrong = good.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(reason(prompt(&wrong)).is_some(), "{pointer}");
    }
}
