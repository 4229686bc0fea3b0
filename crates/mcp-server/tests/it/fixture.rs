//! The tools, resources and prompts of the conformance suite, on ktx's bridge and HTTP server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_mcp_bridge::{
    ContentError, LazyTools, Need, News, Offer, PromptArgument, PromptEntry, PromptPart,
    ResourceEntry, ResourceForm, ResourceList, ResourceText, ServerContent, Typed,
};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
    handler_fn,
};
use serde_json::{Value, json};
use tokio::sync::broadcast;

const STATIC: &str = "test://static-text";

pub(crate) fn offer() -> Offer {
    Offer {
        tools: Arc::new(LazyTools::new(|| ToolSet::new(tools()))),
        content: Some(Arc::new(Content)),
        observer: None,
    }
}

fn tools() -> Vec<ToolDescriptor> {
    let plain = json!({ "type": "object", "properties": {} });
    let answer = handler_fn(|_, _| {
        let text = "This is a simple text response for testing.";
        Ok(ToolOutput::new(text.to_owned(), json!({ "text": text })))
    });
    let refuse = handler_fn(|_, _| {
        Err(ToolError::new(
            "This tool intentionally returns an error for testing",
        ))
    });
    let deep = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": {
            "street": { "type": "string" }, "city": { "type": "string" },
        } } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    let mut tools = Vec::new();
    for (name, schema, handler) in [
        ("test_simple_text", &plain, Arc::clone(&answer)),
        ("json_schema_2020_12_tool", &deep, answer),
        ("test_error_handling", &plain, refuse),
        (
            "test_reconnection",
            &plain,
            Arc::new(Pause) as Arc<dyn ToolHandler>,
        ),
        (
            "test_tool_with_progress",
            &plain,
            Arc::new(Steps) as Arc<dyn ToolHandler>,
        ),
    ] {
        tools.push(ToolDescriptor {
            name: name.to_owned(),
            title: name.to_owned(),
            description: format!("The tool {name} of the suite."),
            input_schema: schema.clone(),
            output_schema: None,
            effect: WriteEffect::ReadOnly,
            handler,
        });
    }
    tools
}

/// Outlasts the first connection of the suite, and not a second one.
struct Pause;

#[async_trait]
impl ToolHandler for Pause {
    async fn call(&self, _: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        Ok(ToolOutput::new("done".to_owned(), json!({ "done": true })))
    }
}

struct Steps;

#[async_trait]
impl ToolHandler for Steps {
    async fn call(&self, _: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        for fraction in [0.0, 0.5, 1.0] {
            context.progress.report(fraction, "a step");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(ToolOutput::new("done".to_owned(), json!({ "done": true })))
    }
}

const WORDS: [PromptArgument; 2] = [
    PromptArgument {
        name: "arg1",
        description: "the first word",
        need: Need::Required,
    },
    PromptArgument {
        name: "arg2",
        description: "the second word",
        need: Need::Required,
    },
];
const PLACE: [PromptArgument; 1] = [PromptArgument {
    name: "resourceUri",
    description: "a resource",
    need: Need::Required,
}];

struct Content;

fn text(uri: &str, text: &str) -> ResourceText {
    ResourceText {
        uri: uri.to_owned(),
        media_type: "text/plain",
        text: text.to_owned(),
    }
}

#[async_trait]
impl ServerContent for Content {
    async fn resources(&self, _: Option<&str>) -> Result<ResourceList, ContentError> {
        let entry = |uri: &str| ResourceEntry {
            uri: uri.to_owned(),
            name: uri.to_owned(),
            title: uri.to_owned(),
            description: "a resource of the suite".to_owned(),
            media_type: "text/plain",
        };
        Ok(ResourceList {
            entries: vec![entry(STATIC), entry("test://watched-resource")],
            next: None,
        })
    }

    fn forms(&self) -> Vec<ResourceForm> {
        vec![ResourceForm {
            uri_template: "test://template/{id}/data",
            name: "template",
            title: "Template",
            description: "a template of the suite",
            media_type: "application/json",
        }]
    }

    async fn read(&self, uri: &str) -> Result<Vec<ResourceText>, ContentError> {
        let id = uri.strip_prefix("test://template/");
        if let Some(id) = id.and_then(|rest| rest.strip_suffix("/data")) {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            return Ok(vec![text(uri, &data.to_string())]);
        }
        match uri {
            STATIC => Ok(vec![text(
                uri,
                "This is the content of the static text resource.",
            )]),
            "test://watched-resource" => Ok(vec![text(uri, "watched")]),
            _ => Err(ContentError::NotFound(format!(
                "there is no resource `{uri}`"
            ))),
        }
    }

    fn prompts(&self) -> Vec<PromptEntry> {
        let entry = |name, arguments| PromptEntry {
            name,
            title: name,
            description: "a prompt of the suite",
            arguments,
        };
        vec![
            entry("test_simple_prompt", &[]),
            entry("test_prompt_with_arguments", &WORDS),
            entry("test_prompt_with_embedded_resource", &PLACE),
        ]
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptPart>, ContentError> {
        let given = |name: &str| arguments.get(name).cloned().unwrap_or_default();
        match name {
            "test_simple_prompt" => Ok(vec![PromptPart::Text(
                "This is a simple prompt for testing.".to_owned(),
            )]),
            "test_prompt_with_arguments" => Ok(vec![PromptPart::Text(format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                given("arg1"),
                given("arg2")
            ))]),
            "test_prompt_with_embedded_resource" => Ok(vec![
                PromptPart::Resource(text(&given("resourceUri"), "Embedded resource content")),
                PromptPart::Text("Please process the embedded resource above.".to_owned()),
            ]),
            _ => Err(ContentError::Invalid(format!(
                "there is no prompt `{name}`"
            ))),
        }
    }

    async fn completions(&self, _: &Typed) -> Result<Vec<String>, ContentError> {
        Ok(["paris", "park", "party"].map(str::to_owned).to_vec())
    }

    async fn news(&self) -> broadcast::Receiver<News> {
        broadcast::channel(1).1
    }
}
