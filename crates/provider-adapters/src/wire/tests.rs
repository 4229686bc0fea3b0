//! Tests of the wire protocols.

#[path = "../../tests/it/checkers.rs"]
mod checkers;
mod golden;
mod histories;
mod reasoning;
mod streams;

use std::collections::BTreeMap;

use ktx_llm_runtime::{ContentBlock, Message, MessageRole};
use ktx_secrets::Secret;
use ktx_vocabulary::{ModelRole, Provider};
use serde_json::{Map, Value, json};

use super::request::{CanonicalRequest, EncodedRequest, ToolSpec};
use crate::credentials::GoogleCredentials;
use crate::reasoning::ReasoningOverrides;
use crate::runtime::role_model;
use crate::settings::{HttpSettings, VertexSettings};

fn settings(provider: Provider, model: &str) -> HttpSettings {
    let mut settings = HttpSettings::new(provider, Some(Secret::new("k")), model);
    settings.base_url = Some("http://localhost:1".to_owned());
    if provider == Provider::Vertex {
        settings.vertex = Some(VertexSettings {
            project: Some("p1".to_owned()),
            location: "us-east5".to_owned(),
            credentials: GoogleCredentials::Token(Secret::new("t")),
        });
    }
    settings
}

fn encoded(settings: &HttpSettings, request: &CanonicalRequest) -> EncodedRequest {
    let role_models: BTreeMap<ModelRole, role_model::RoleModel> =
        role_model::all(settings).unwrap();
    super::encode(request, &role_models[&ModelRole::Default].target())
}

fn overrides(written: Value) -> ReasoningOverrides {
    ReasoningOverrides::parse(Provider::OpenAi, &map(written)).unwrap()
}

fn user(text: &str) -> Message {
    Message::text(MessageRole::User, text)
}

fn message(role: MessageRole, content: Vec<ContentBlock>) -> Message {
    Message::new(role, content)
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text {
        text: text.to_owned(),
    }
}

fn reasoning(words: &str, meta: Value) -> ContentBlock {
    ContentBlock::Reasoning {
        reasoning: words.to_owned(),
        meta: map(meta),
    }
}

fn call(id: &str, name: &str, input: Value) -> ContentBlock {
    ContentBlock::ToolUse {
        id: id.to_owned(),
        name: name.to_owned(),
        input,
        meta: Map::new(),
    }
}

fn result(id: &str, content: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: content.to_owned(),
        is_error: false,
    }
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, schema| ToolSpec {
        name: name.to_owned(),
        description: format!("does {name}"),
        schema,
    };
    vec![
        tool(
            "sql",
            json!({
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
                "additionalProperties": false,
            }),
        ),
        tool("tables", json!({"type": "object"})),
    ]
}
