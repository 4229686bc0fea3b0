//! The tool server `ktx`, spoken over the control channel as JSON-RPC.
//!
//! A model sees markdown only (KTX-54, KTX-57): there is never a `structuredContent`.

use std::collections::BTreeMap;

use ktx_tool_descriptors::{ToolDescriptor, ToolError, ToolOutput, ToolSet, WriteEffect};
use serde_json::{Map, Value, json};

/// The name of the one server.
pub(crate) const SERVER: &str = "ktx";

/// The prefix of the ids that the child gives to our tools.
const PREFIX: &str = "mcp__ktx__";

/// The longest result that the child hands to a model whole, in UTF-16 units as it counts them.
pub(crate) const MAX_RESULT: usize = 500_000;

/// Room for the note about a cut result.
const NOTE_ROOM: usize = 500;

/// The argument that asks for the next part of a cut result.
const CURSOR: &str = "_cursor";

/// The full id of a tool.
pub(crate) fn tool_id(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// Our name of a tool id, when it is one of ours.
pub(crate) fn tool_name(id: &str) -> Option<&str> {
    id.strip_prefix(PREFIX)
}

/// What to do about one message of the tool client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// Send this JSON-RPC message back.
    Reply(Value),
    /// Run this call, then answer with [`result_message`].
    Call {
        /// The id of the JSON-RPC request.
        rpc: Value,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: Value,
        /// The model's id of the call, when the client tells it.
        call_id: Option<String>,
    },
    /// Stop the call with this JSON-RPC id; send the message back.
    Cancel {
        /// The id of the JSON-RPC request that is void.
        rpc: Value,
        /// The answer to the notification.
        reply: Value,
    },
}

/// The server over one set of tools. Keeps the unread rest of results that were cut.
#[derive(Debug)]
pub(crate) struct ToolServer {
    tools: ToolSet,
    version: String,
    rest: BTreeMap<String, String>,
    cuts: u32,
}

impl ToolServer {
    /// A server over these tools.
    pub(crate) fn new(tools: ToolSet, version: &str) -> Self {
        Self {
            tools,
            version: version.to_owned(),
            rest: BTreeMap::new(),
            cuts: 0,
        }
    }

    /// The tools.
    pub(crate) fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// Takes these tools, listed as the ones before, for the calls to come.
    pub(crate) fn serve(&mut self, tools: ToolSet) {
        self.tools = tools;
    }

    /// Decides about one message of the client.
    pub(crate) fn answer(&mut self, message: &Value) -> Answer {
        let method = message.get("method").and_then(Value::as_str).unwrap_or("");
        let params = message.get("params").unwrap_or(&Value::Null);
        let Some(rpc) = message.get("id").filter(|id| !id.is_null()).cloned() else {
            let reply = json!({ "jsonrpc": "2.0", "result": {}, "id": 0 });
            return match (method, params.get("requestId")) {
                ("notifications/cancelled", Some(rpc)) => Answer::Cancel {
                    rpc: rpc.clone(),
                    reply,
                },
                _ => Answer::Reply(reply),
            };
        };
        match method {
            "initialize" => Answer::Reply(result(&rpc, &self.initialized(params))),
            "tools/list" => Answer::Reply(result(&rpc, &listed(&self.tools))),
            "ping" => Answer::Reply(result(&rpc, &json!({}))),
            "tools/call" => self.call(rpc, params),
            _ => Answer::Reply(json!({
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

    fn call(&mut self, rpc: Value, params: &Value) -> Answer {
        let name = params.get("name").and_then(Value::as_str).unwrap_or("");
        let arguments = params.get("arguments").cloned().unwrap_or(Value::Null);
        let call_id = params
            .pointer("/_meta/claudecode~1toolUseId")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if let Some(part) = arguments.get(CURSOR).and_then(Value::as_str) {
            let answer = match self.rest.remove(part) {
                Some(rest) => text_result(&self.cut(rest), Failed::No),
                None => text_result("this part does not exist or was read already", Failed::Yes),
            };
            return Answer::Reply(result(&rpc, &answer));
        }
        Answer::Call {
            rpc,
            name: name.to_owned(),
            arguments,
            call_id,
        }
    }

    /// The JSON-RPC answer to a call that has ended.
    pub(crate) fn result_message(
        &mut self,
        rpc: &Value,
        outcome: &Result<ToolOutput, ToolError>,
    ) -> Value {
        let answer = match outcome {
            Ok(output) => text_result(&self.cut(output.markdown.clone()), Failed::No),
            Err(error) => text_result(&self.cut(error.message.clone()), Failed::Yes),
        };
        result(rpc, &answer)
    }

    /// Cuts a text that the child would not hand over whole, and keeps the rest under a cursor.
    fn cut(&mut self, text: String) -> String {
        let whole = utf16_length(&text);
        if whole <= MAX_RESULT {
            return text;
        }
        let at = utf16_boundary(&text, MAX_RESULT - NOTE_ROOM);
        let (head, tail) = text.split_at(at);
        self.cuts += 1;
        let cursor = format!("part-{}", self.cuts);
        let note = format!(
            "\n\n[cut: {} characters are left. Call the same tool with only {{\"{CURSOR}\": \"{cursor}\"}} to read on.]",
            utf16_length(tail)
        );
        let shown = format!("{head}{note}");
        self.rest.insert(cursor, tail.to_owned());
        shown
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failed {
    Yes,
    No,
}

/// The tools as the client sees them.
pub(crate) fn listed(tools: &ToolSet) -> Value {
    let tools: Vec<Value> = tools.iter().map(listed_tool).collect();
    json!({ "tools": tools })
}

fn listed_tool(tool: &ToolDescriptor) -> Value {
    let mut listed = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    });
    if let Some(map) = listed.as_object_mut() {
        if tool.effect != WriteEffect::Writes {
            map.insert("annotations".to_owned(), json!({ "readOnlyHint": true }));
        }
        map.insert(
            "_meta".to_owned(),
            json!({
                "anthropic/maxResultSizeChars": MAX_RESULT,
                "anthropic/alwaysLoad": true,
            }),
        );
    }
    listed
}

fn result(rpc: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": rpc, "result": result })
}

fn text_result(text: &str, failed: Failed) -> Value {
    let mut answer = Map::new();
    answer.insert(
        "content".to_owned(),
        json!([{ "type": "text", "text": text }]),
    );
    if failed == Failed::Yes {
        answer.insert("isError".to_owned(), Value::Bool(true));
    }
    Value::Object(answer)
}

fn utf16_length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The byte index behind the last whole character of the first `units` UTF-16 units.
fn utf16_boundary(text: &str, units: usize) -> usize {
    let mut seen = 0;
    for (index, letter) in text.char_indices() {
        seen += letter.len_utf16();
        if seen > units {
            return index;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
