//! The fake's MCP client.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::channel::StdioChannel;
use super::check::Options;
use super::{ScenarioHalt, fault};

pub(crate) struct Client {
    next: u64,
}

pub(crate) struct PendingCall {
    pub(crate) call: String,
    rpc: u64,
}

impl Client {
    pub(crate) fn connect(
        channel: &mut StdioChannel,
        options: &Options,
    ) -> Result<Self, ScenarioHalt> {
        let hello = channel.asked(&message(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "claude-code", "version": "fake" } },
        })))?;
        let hello = &hello["mcp_response"]["result"];
        if hello["protocolVersion"] != "2025-11-25" || hello["serverInfo"]["name"] != "ktx" {
            return fault(format!("the tool server says {hello}"));
        }
        channel.asked(&message(
            &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ))?;
        let listed = channel.asked(&message(
            &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
        ))?;
        let tools = listed["mcp_response"]["result"]["tools"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let ids = tools.iter().map(checked_tool).collect::<Result<_, _>>()?;
        if options.allowed != ids {
            return fault(format!(
                "served are {ids:?}, allowed are {:?}",
                options.allowed
            ));
        }
        let unknown = channel.asked(&message(
            &json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/list" }),
        ))?;
        if unknown["mcp_response"]["error"]["code"] != -32601 {
            return fault("an unknown method was not refused");
        }
        Ok(Self { next: 3 })
    }

    pub(crate) fn start(
        &mut self,
        channel: &mut StdioChannel,
        name: &str,
        input: &Value,
        call: &str,
    ) -> Result<(String, PendingCall), ScenarioHalt> {
        let rpc = self.next;
        self.next += 1;
        let question = channel.ask(&message(&json!({
            "jsonrpc": "2.0", "id": rpc, "method": "tools/call",
            "params": { "name": name, "arguments": input, "_meta": { "claudecode/toolUseId": call, "progressToken": rpc } },
        })))?;
        let pending = PendingCall {
            call: call.to_owned(),
            rpc,
        };
        Ok((question, pending))
    }
}

/// Waits for a call; returns its id, text and failure flag.
pub(crate) fn answer(
    channel: &mut StdioChannel,
    pending: &mut BTreeMap<String, PendingCall>,
) -> Result<(String, String, bool), ScenarioHalt> {
    let ids: Vec<String> = pending.keys().cloned().collect();
    let (id, response) = channel.answer_to(&ids)?;
    let Some(call) = pending.remove(&id) else {
        return fault(format!("no call has the id {id}"));
    };
    let message = &response["mcp_response"];
    let result = &message["result"];
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    let text = blocks.first().and_then(|block| block["text"].as_str());
    let keys = result.as_object().map_or(0, serde_json::Map::len);
    let marked = result.get("isError").is_some();
    let (Some(text), 1) = (text, blocks.len()) else {
        return fault(format!("the answer is not one text: {message}"));
    };
    if message["id"] != call.rpc || keys != 1 + usize::from(marked) {
        return fault(format!("the answer holds more than text: {message}"));
    }
    if text.encode_utf16().count() > 500_000 {
        return fault("the answer is longer than a model would see");
    }
    Ok((call.call, text.to_owned(), result["isError"] == true))
}

fn message(message: &Value) -> Value {
    json!({ "subtype": "mcp_message", "server_name": "ktx", "message": message })
}

fn checked_tool(tool: &Value) -> Result<String, ScenarioHalt> {
    let known = ["name", "description", "inputSchema", "annotations", "_meta"];
    let keys = tool.as_object().into_iter().flat_map(|map| map.keys());
    let shaped = tool["inputSchema"]["type"] == "object"
        && tool["description"].is_string()
        && tool["_meta"]["anthropic/maxResultSizeChars"] == 500_000;
    let foreign = keys.into_iter().find(|key| !known.contains(&key.as_str()));
    if let (true, None, Some(name)) = (shaped, foreign, tool["name"].as_str()) {
        Ok(format!("mcp__ktx__{name}"))
    } else {
        fault(format!("a tool does not have its shape: {tool}"))
    }
}
