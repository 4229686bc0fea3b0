//! Tests of the checks before the first token, by value.

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use ktx_tool_descriptors::{
    ObjectSchema, ToolDescriptor, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use serde_json::{Value, json};

use super::{checked_account, checked_surface};
use crate::invocation::{Query, QueryPurpose};
use crate::protocol::{Frame, InitFrame};

fn outcome<T: std::fmt::Debug>(result: Result<T, LlmError>) -> Result<T, (LlmErrorKind, String)> {
    result.map_err(|error| (error.kind, error.detail.unwrap_or_default()))
}

#[track_caller]
fn check_account(account: &Value, expected: Result<&str, (LlmErrorKind, &str)>) {
    let found = outcome(checked_account(account).map(|account| account.payer));
    let expected = expected
        .map(str::to_owned)
        .map_err(|(kind, detail)| (kind, detail.to_owned()));
    assert_eq!(found, expected);
}

/// KTX-03, KTX-44.
#[test]
fn the_account_says_who_pays() {
    check_account(
        &json!({ "email": "dev@example.com", "subscriptionType": "Claude Max", "apiProvider": "firstParty" }),
        Ok("your Claude Max subscription through the local Claude Code session"),
    );
    check_account(
        &json!({ "email": "dev@example.com" }),
        Ok("your Claude subscription through the local Claude Code session"),
    );
    check_account(
        &json!({ "tokenSource": "CLAUDE_CODE_OAUTH_TOKEN", "apiProvider": "firstParty" }),
        Ok(
            "the Claude subscription of `CLAUDE_CODE_OAUTH_TOKEN` through the local Claude Code session",
        ),
    );
    check_account(
        &json!({ "tokenSource": "none", "apiKeySource": "/login managed key", "apiProvider": "firstParty" }),
        Ok("your Anthropic Console account, at API prices, through the local Claude Code session"),
    );
    check_account(
        &json!({ "tokenSource": "none", "apiProvider": "firstParty" }),
        Err((LlmErrorKind::Auth, "tokenSource is none")),
    );
    check_account(
        &json!({ "tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY" }),
        Err((LlmErrorKind::Billing, "apiKeySource is ANTHROPIC_API_KEY")),
    );
    check_account(
        &json!({ "tokenSource": "apiKeyHelper", "apiKeySource": "apiKeyHelper", "apiProvider": "firstParty" }),
        Err((LlmErrorKind::Billing, "apiKeySource is apiKeyHelper")),
    );
    check_account(
        &json!({ "email": "dev@example.com", "apiProvider": "bedrock" }),
        Err((LlmErrorKind::Billing, "apiProvider is bedrock")),
    );
}

fn query(purpose: QueryPurpose) -> Query {
    Query::new(purpose, "sonnet", String::new(), "p".to_owned(), "s")
}

fn tools() -> QueryPurpose {
    let tool = |name: &str| ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: String::new(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: WriteEffect::Writes,
        handler: handler_fn(|_, _| Ok(ToolOutput::text(""))),
    };
    QueryPurpose::Loop {
        tools: ToolSet::new(vec![tool("emit"), tool("read")]).unwrap(),
        budget: 1,
    }
}

fn init(changes: &Value) -> InitFrame {
    let mut line = json!({
        "type": "system", "subtype": "init", "tools": [], "mcp_servers": [], "plugins": [],
        "permissionMode": "dontAsk", "apiKeySource": "none", "model": "claude-sonnet-5-5",
        "claude_code_version": "2.1.330",
        "slash_commands": ["clear", "compact"], "skills": ["debug"], "agents": ["Explore"],
    });
    let map = line.as_object_mut().unwrap();
    for (key, value) in changes.as_object().unwrap() {
        if value.is_null() {
            map.shift_remove(key);
        } else {
            map.insert(key.clone(), value.clone());
        }
    }
    match Frame::read(&line) {
        Frame::Init(init) => init,
        other => panic!("not an init frame: {other:?}"),
    }
}

#[track_caller]
fn check(purpose: QueryPurpose, changes: &Value, expected: Result<&[&str], (LlmErrorKind, &str)>) {
    let found = outcome(checked_surface(&init(changes), &query(purpose)));
    let expected = expected
        .map(|warnings| warnings.iter().map(|text| (*text).to_owned()).collect())
        .map_err(|(kind, detail)| (kind, detail.to_owned()));
    assert_eq!(found, expected);
}

/// KTX-31.
#[test]
fn host_metadata_is_accepted() {
    check(QueryPurpose::Text, &json!({}), Ok(&[]));
    check(
        QueryPurpose::Probe(ktx_llm_runtime::Patience::None),
        &json!({}),
        Ok(&[]),
    );
    let schema = ObjectSchema::new(json!({ "type": "object" })).unwrap();
    check(
        QueryPurpose::Object(schema),
        &json!({ "tools": ["StructuredOutput"] }),
        Ok(&[]),
    );
    check(
        tools(),
        &json!({
            "tools": ["mcp__ktx__read", "mcp__ktx__emit"],
            "mcp_servers": [{ "name": "ktx", "status": "connected", "source": "sdk" }],
        }),
        Ok(&[]),
    );
}

/// KTX-30.
#[test]
fn a_foreign_surface_is_refused() {
    use LlmErrorKind::{Billing, Isolation};
    let refused = |purpose, changes: Value, detail| {
        check(purpose, &changes, Err((Isolation, detail)));
    };
    refused(
        QueryPurpose::Text,
        json!({ "tools": ["Bash"] }),
        r#"expected [], found ["Bash"]"#,
    );
    refused(
        QueryPurpose::Text,
        json!({ "tools": null }),
        r#"expected ["a list"], found ["none"]"#,
    );
    for list in ["mcp_servers", "plugins"] {
        refused(
            QueryPurpose::Text,
            json!({ list: null }),
            r#"expected ["a list"], found ["none"]"#,
        );
    }
    refused(
        QueryPurpose::Text,
        json!({ "plugins": [{ "name": "evil", "path": "builtin", "source": "evil@market" }] }),
        r#"expected [], found ["evil"]"#,
    );
    refused(
        tools(),
        json!({
            "tools": ["mcp__ktx__emit", "mcp__ktx__read"],
            "mcp_servers": [{ "name": "ktx", "status": "connected", "source": "project" }],
        }),
        r#"expected ["sdk"], found ["project"]"#,
    );
    refused(
        QueryPurpose::Text,
        json!({ "mcp_servers": [{ "name": "usermcp", "status": "pending" }] }),
        r#"expected [], found ["usermcp"]"#,
    );
    refused(
        QueryPurpose::Text,
        json!({ "plugins": [{ "name": "evil", "path": "/home/dev/evil" }] }),
        r#"expected [], found ["evil"]"#,
    );
    refused(
        QueryPurpose::Text,
        json!({ "permissionMode": "default" }),
        r#"expected ["dontAsk"], found ["default"]"#,
    );
    refused(
        tools(),
        json!({ "tools": ["mcp__ktx__emit", "mcp__ktx__read"] }),
        r#"expected ["ktx"], found []"#,
    );
    refused(
        tools(),
        json!({ "mcp_servers": [{ "name": "ktx", "status": "failed" }] }),
        r#"expected ["connected"], found ["failed"]"#,
    );
    refused(
        tools(),
        json!({
            "tools": ["mcp__ktx__emit"],
            "mcp_servers": [{ "name": "ktx", "status": "connected" }],
        }),
        r#"expected ["mcp__ktx__emit", "mcp__ktx__read"], found ["mcp__ktx__emit"]"#,
    );
    check(
        QueryPurpose::Text,
        &json!({ "apiKeySource": "ANTHROPIC_API_KEY" }),
        Err((Billing, "apiKeySource is ANTHROPIC_API_KEY")),
    );
}

/// KTX-32.
#[test]
fn a_new_built_in_plugin_is_a_warning() {
    check(
        QueryPurpose::Text,
        &json!({ "plugins": [{ "name": "cc-plugin-new", "path": "builtin" }] }),
        Ok(&["Claude Code keeps its built-in plugin `cc-plugin-new` on"]),
    );
    check(
        QueryPurpose::Text,
        &json!({ "plugins": [{ "name": "SECRET\u{1b}[2J", "path": "builtin", "source": "x@builtin" }] }),
        Ok(&["Claude Code keeps a built-in plugin on"]),
    );
}
