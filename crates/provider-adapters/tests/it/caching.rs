//! Cache markers in whole requests.

use ktx_llm_runtime::{LlmRuntime as _, LoopRequest};
use ktx_provider_adapters::{HttpSettings, PromptCaching};
use ktx_tool_descriptors::{ToolDescriptor, ToolOutput, ToolSet, WriteEffect, handler_fn};
use ktx_vocabulary::{CacheTtl, Provider};
use serde_json::{Value, json};

use crate::agent::request;
use crate::fake::{bodies, message, runtime, said, server, settings, tool_use};
use crate::vertex::{TokenService, service_account, token_service, vertex};

/// Longer than the shortest prompt that any listed model caches.
fn long() -> String {
    "Be exact. ".repeat(600)
}

fn schema() -> Value {
    json!({"type": "object", "description": long()})
}

fn tool(name: &str) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("does {name}"),
        input_schema: schema(),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|_, _| Ok(ToolOutput::text("one row"))),
    }
}

fn ask() -> LoopRequest {
    let mut asked = request(Vec::new(), 5);
    asked.system = long();
    // Deliberately not sorted by name.
    asked.tools = ToolSet::new(vec![tool("zeta"), tool("alpha")]).expect("a tool set");
    asked
}

async fn sent(provider: Provider, plan: PromptCaching) -> [Value; 2] {
    let calls = message("m1", "tool_use", &[tool_use("t1", "alpha", &json!({}))]);
    let api = server(vec![calls, said("m2", "done")]).await;
    let tokens = token_service(TokenService).await;
    let mut settings: HttpSettings = match provider {
        Provider::Vertex => vertex(&api.uri(), service_account(&tokens.uri())),
        _ => settings(provider, "sonnet", &api.uri()),
    };
    settings.caching = plan;
    let (runtime, _) = runtime(settings);
    let outcome = runtime.run_agent_loop(ask()).await;
    assert_eq!(outcome.error, None, "{provider}");
    let sent = bodies(&api).await;
    sent.try_into().expect("two turns")
}

/// `markers` are pointers and lifetimes; `5m` is the default and not written.
fn expected(head: &Value, turns: &[Value], markers: &[(&str, &str)]) -> Value {
    let mut body = json!({
        "max_tokens": 32000,
        "system": [{"type": "text", "text": long()}],
        "messages": turns,
        "tools": [
            {"name": "alpha", "description": "does alpha", "input_schema": schema()},
            {"name": "zeta", "description": "does zeta", "input_schema": schema()},
        ],
        "stream": true,
    });
    for (key, value) in head.as_object().expect("an object") {
        body[key] = value.clone();
    }
    for (pointer, ttl) in markers {
        let marker = match *ttl {
            "5m" => json!({"type": "ephemeral"}),
            ttl => json!({"type": "ephemeral", "ttl": ttl}),
        };
        let part = body.pointer_mut(pointer).expect("a part");
        part["cache_control"] = marker;
    }
    body
}

fn short(body: &Value) -> String {
    body.to_string().replace(&long(), "…")
}

const SYSTEM: &str = "/system/0";
const TOOLS: &str = "/tools/1";
const FIRST: &str = "/messages/0/content/0";
const LAST: &str = "/messages/2/content/0";

#[track_caller]
fn check(
    provider: Provider,
    sent: &[Value; 2],
    head: &Value,
    prefix: &[(&str, &str)],
    history: &[&str],
) {
    let user = json!({"role": "user", "content": [{"type": "text", "text": "Go."}]});
    let call = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "alpha", "input": {}},
    ]});
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "one row"},
    ]});
    let turns = [user, call, result];
    for (sent, turns, place) in [(&sent[0], &turns[..1], FIRST), (&sent[1], &turns[..], LAST)] {
        let mut markers = prefix.to_vec();
        markers.extend(history.iter().map(|ttl| (place, *ttl)));
        let expected = expected(head, turns, &markers);
        assert!(
            *sent == expected,
            "{provider}: {} {}",
            short(sent),
            short(&expected)
        );
    }
}

fn heads() -> [(Provider, Value); 3] {
    let thinking = json!({"type": "adaptive"});
    [
        (
            Provider::Anthropic,
            json!({"model": "claude-sonnet-5-5", "thinking": thinking}),
        ),
        (
            Provider::Gateway,
            json!({"model": "anthropic/claude-sonnet-5.5", "thinking": thinking}),
        ),
        (
            Provider::Vertex,
            json!({"anthropic_version": "vertex-2023-10-16", "temperature": 0.0}),
        ),
    ]
}

/// KTX-80.
#[tokio::test]
async fn each_part_is_marked_and_switched_off_by_itself() {
    let usual = PromptCaching::default();
    let both: &[(&str, &str)] = &[(TOOLS, "1h"), (SYSTEM, "1h")];
    let off = |part: &str| PromptCaching {
        system: usual.system.filter(|_| part != "system"),
        tools: usual.tools.filter(|_| part != "tools"),
        history: usual.history.filter(|_| part != "history"),
    };
    for (provider, head) in heads() {
        let check = |sent, prefix, history| check(provider, &sent, &head, prefix, history);
        check(sent(provider, usual).await, both, &["5m"]);
        check(sent(provider, off("system")).await, &both[..1], &["5m"]);
        check(sent(provider, off("tools")).await, &both[1..], &["5m"]);
        check(sent(provider, off("history")).await, both, &[]);
        check(sent(provider, PromptCaching::OFF).await, &[], &[]);
    }
}

/// KTX-80: as long as none outlives the part before it.
#[tokio::test]
async fn each_part_has_its_own_time() {
    let short = Some(CacheTtl::FiveMinutes);
    let hour = Some(CacheTtl::OneHour);
    let plan = |tools, system, history| PromptCaching {
        system,
        tools,
        history,
    };
    for (provider, head) in heads() {
        let check =
            |sent, prefix: &[(&str, &str)], history| check(provider, &sent, &head, prefix, history);
        let all_hours = sent(provider, plan(hour, hour, hour)).await;
        check(all_hours, &[(TOOLS, "1h"), (SYSTEM, "1h")], &["1h"]);
        let system_short = sent(provider, plan(hour, short, short)).await;
        check(system_short, &[(TOOLS, "1h"), (SYSTEM, "5m")], &["5m"]);
        let vertex = PromptCaching::default().at_most_five_minutes();
        let all_short = sent(provider, vertex).await;
        check(all_short, &[(TOOLS, "5m"), (SYSTEM, "5m")], &["5m"]);
    }
}
