//! Golden argument lists, `initialize` requests and prompts.

use ktx_tool_descriptors::{
    ObjectSchema, ToolDescriptor, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use serde_json::{Value, json};

use super::{Query, QueryPurpose};

fn tools() -> ToolSet {
    let tool = |name: &str| ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|_, _| Ok(ToolOutput::text("done"))),
    };
    ToolSet::new(vec![tool("wiki_read"), tool("emit")]).unwrap()
}

fn schema() -> ObjectSchema {
    ObjectSchema::new(json!({ "type": "object", "required": ["name"] })).unwrap()
}

fn query(purpose: QueryPurpose) -> Query {
    Query::new(
        purpose,
        "sonnet",
        "You are terse.".to_owned(),
        "Read @/etc/passwd".to_owned(),
        "descriptions",
    )
}

fn arguments(purpose: QueryPurpose) -> String {
    query(purpose)
        .arguments()
        .join("\n")
        .replace(super::SETTINGS, "SETTINGS")
        .replace(super::DISALLOWED_TOOLS, "DISALLOWED")
}

const COMMON: &str = "\
--output-format=stream-json
--input-format=stream-json
--verbose
--include-partial-messages
--no-session-persistence
--setting-sources=
--strict-mcp-config
--tools=
--permission-mode=dontAsk
--permission-prompt-tool=stdio
--disallowedTools=DISALLOWED
";

/// KTX-20, KTX-22, KTX-23, KTX-24, KTX-26, KTX-33.
#[test]
fn text_and_probe_have_one_turn_and_no_tools() {
    let expected = format!("{COMMON}--settings=SETTINGS\n--max-turns=1\n--model=sonnet");
    assert_eq!(arguments(QueryPurpose::Text), expected);
    assert_eq!(
        arguments(QueryPurpose::Probe(ktx_llm_runtime::Patience::None)),
        expected
    );
}

/// KTX-33.
#[test]
fn an_object_has_five_turns() {
    assert_eq!(
        arguments(QueryPurpose::Object(schema())),
        format!("{COMMON}--settings=SETTINGS\n--max-turns=5\n--model=sonnet")
    );
}

/// KTX-27.
#[test]
fn a_loop_allows_its_tools_by_id() {
    let purpose = QueryPurpose::Loop {
        tools: tools(),
        budget: 12,
    };
    assert_eq!(
        arguments(purpose),
        format!(
            "{COMMON}--allowedTools=mcp__ktx__emit,mcp__ktx__wiki_read\n--settings=SETTINGS\n--max-turns=12\n--model=sonnet"
        )
    );
}

/// KTX-29, KTX-32.
#[test]
fn the_constants_are_whole() {
    assert_eq!(
        super::DISALLOWED_TOOLS,
        "Agent,Task,AskUserQuestion,Bash,Read,Edit,Write,Glob,Grep,WebFetch,WebSearch,TodoWrite"
    );
    let settings: Value = serde_json::from_str(super::SETTINGS).unwrap();
    assert_eq!(
        settings,
        json!({ "enabledPlugins": {
            "cc-plugin-agents-md@builtin": false,
            "cc-plugin-plugin-authoring@builtin": false,
            "cc-plugin-privacy@builtin": false,
            "cc-plugin-sec-default@builtin": false,
            "cc-plugin-telemetry@builtin": false,
        } })
    );
}

/// KTX-21, KTX-26, KTX-28: no plugins key exists; an empty list turns skills off.
#[test]
fn initialize_carries_everything_that_may_be_long() {
    assert_eq!(
        query(QueryPurpose::Text).initialize(),
        json!({
            "subtype": "initialize",
            "systemPrompt": "You are terse.",
            "skills": [],
            "title": "ktx descriptions",
            "hooks": {
                "PreToolUse": [{ "hookCallbackIds": ["gate"] }],
                "PostToolUseFailure": [{ "hookCallbackIds": ["failure"] }],
            },
        })
    );
    let object = query(QueryPurpose::Object(schema())).initialize();
    assert_eq!(
        (object.get("jsonSchema"), object.get("sdkMcpServers")),
        (
            Some(&json!({ "type": "object", "required": ["name"] })),
            None
        )
    );
    let purpose = QueryPurpose::Loop {
        tools: tools(),
        budget: 2,
    };
    let request = query(purpose).initialize();
    assert_eq!(
        (
            request.get("sdkMcpServers"),
            request.pointer("/hooks/PreToolUse/0/matcher")
        ),
        (
            Some(&json!(["ktx"])),
            Some(&json!("^(?!(?:mcp__ktx__emit|mcp__ktx__wiki_read)$)"))
        )
    );
}

#[test]
fn the_prompt_ends_with_a_constant_block() {
    assert_eq!(
        query(QueryPurpose::Text).prompt_line(),
        json!({
            "type": "user",
            "session_id": "",
            "parent_tool_use_id": null,
            "client_composed": true,
            "message": { "role": "user", "content": [
                { "type": "text", "text": "Read @/etc/passwd" },
                { "type": "text", "text": "Follow the instructions above." },
            ] },
        })
    );
}
