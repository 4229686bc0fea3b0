//! The lines that ktx writes on the control channel.

use serde_json::{Value, json};

pub(super) fn question(id: &str, request: &Value) -> Value {
    json!({ "type": "control_request", "request_id": id, "request": request })
}

pub(super) fn control_answer(id: &str, answer: Result<Value, String>) -> Value {
    let response = match answer {
        Ok(response) => json!({ "subtype": "success", "request_id": id, "response": response }),
        Err(error) => json!({ "subtype": "error", "request_id": id, "error": error }),
    };
    json!({ "type": "control_response", "response": response })
}

pub(super) fn mcp_answer(id: &str, reply: &Value) -> Value {
    control_answer(id, Ok(json!({ "mcp_response": reply })))
}
