//! The tool server `ktx` on the control channel. The model sees only Markdown (KTX-54, KTX-57).

use ktx_tool_descriptors::{
    LONGEST_RESULT, ResultParts, ToolDescriptor, ToolError, ToolOutput, ToolSet, WriteEffect,
};
use serde_json::{Map, Value, json};

pub(crate) const SERVER: &str = "ktx";

const PREFIX: &str = "mcp__ktx__";

pub(crate) fn tool_id(name: &str) -> String {
    format!("{PREFIX}{name}")
}

pub(crate) fn tool_name(id: &str) -> Option<&str> {
    id.strip_prefix(PREFIX)
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum McpAnswer {
    Reply(Value),
    /// Answer with [`result_message`].
    Call {
        rpc: Value,
        name: String,
        arguments: Value,
        /// Not sent by every client.
        call_id: Option<String>,
    },
    Cancel {
        rpc: Value,
        reply: Value,
    },
}

#[derive(Debug)]
pub(crate) struct ToolServer {
    tools: ToolSet,
    version: String,
    parts: ResultParts,
}

impl ToolServer {
    pub(crate) fn new(tools: ToolSet, version: &str) -> Self {
        Self {
            tools,
            version: version.to_owned(),
            parts: ResultParts::default(),
        }
    }

    pub(crate) fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// The listed tools must be the same.
    pub(crate) fn serve(&mut self, tools: ToolSet) {
        self.tools = tools;
    }

    pub(crate) fn answer(&mut self, message: &Value) -> McpAnswer {
        let method = message.get("method").and_then(Value::as_str).unwrap_or("");
        let params = message.get("params").unwrap_or(&Value::Null);
        let Some(rpc) = message.get("id").filter(|id| !id.is_null()).cloned() else {
            let reply = json!({ "jsonrpc": "2.0", "result": {}, "id": 0 });
            return match (method, params.get("requestId")) {
                ("notifications/cancelled", Some(rpc)) => McpAnswer::Cancel {
                    rpc: rpc.clone(),
                    reply,
                },
                _ => McpAnswer::Reply(reply),
            };
        };
        match method {
            "initialize" => McpAnswer::Reply(result(&rpc, &self.initialized(params))),
            "tools/list" => McpAnswer::Reply(result(&rpc, &listed(&self.tools))),
            "ping" => McpAnswer::Reply(result(&rpc, &json!({}))),
            "tools/call" => self.call(rpc, params),
            _ => McpAnswer::Reply(json!({
                "jsonrpc": "2.0",
                "id": rpc,
                "error": { "code": -32601, "message": "Method not found" },
            })),
        }
    }

    fn initialized(&self, params: &Value) -> Value {
        let version = params
            .get("protocolVersion")
            .and_then(Value::as_str)
            .unwrap_or("2025-11-25");
        json!({
            "protocolVersion": version,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": SERVER, "version": self.version },
        })
    }

    fn call(&mut self, rpc: Value, params: &Value) -> McpAnswer {
        let name = params.get("name").and_then(Value::as_str).unwrap_or("");
        let arguments = params.get("arguments").cloned().unwrap_or(Value::Null);
        let call_id = params
            .pointer("/_meta/claudecode~1toolUseId")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if let Some(part) = self.parts.asked_for(&arguments) {
            return McpAnswer::Reply(result(&rpc, &text_result(&part)));
        }
        McpAnswer::Call {
            rpc,
            name: name.to_owned(),
            arguments,
            call_id,
        }
    }

    pub(crate) fn result_message(
        &mut self,
        rpc: &Value,
        outcome: &Result<ToolOutput, ToolError>,
    ) -> Value {
        result(rpc, &text_result(&self.parts.shown(outcome)))
    }
}

pub(crate) fn listed(tools: &ToolSet) -> Value {
    let tools: Vec<Value> = tools.iter().map(listed_tool).collect();
    json!({ "tools": tools })
}

fn listed_tool(tool: &ToolDescriptor) -> Value {
    let mut listed = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": ktx_tool_descriptors::plain_schema(&tool.input_schema),
    });
    if let Some(map) = listed.as_object_mut() {
        if tool.effect != WriteEffect::Writes {
            map.insert("annotations".to_owned(), json!({ "readOnlyHint": true }));
        }
        map.insert(
            "_meta".to_owned(),
            json!({
                "anthropic/maxResultSizeChars": LONGEST_RESULT,
                "anthropic/alwaysLoad": true,
            }),
        );
    }
    listed
}

pub(crate) fn visible_text(message: &Value) -> &str {
    let text = message.pointer("/result/content/0/text");
    text.and_then(Value::as_str).unwrap_or_default()
}

fn result(rpc: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": rpc, "result": result })
}

fn text_result(shown: &Result<String, String>) -> Value {
    let (Ok(text) | Err(text)) = shown;
    let mut answer = Map::new();
    answer.insert(
        "content".to_owned(),
        json!([{ "type": "text", "text": text }]),
    );
    if shown.is_err() {
        answer.insert("isError".to_owned(), Value::Bool(true));
    }
    Value::Object(answer)
}

#[cfg(test)]
mod tests;
