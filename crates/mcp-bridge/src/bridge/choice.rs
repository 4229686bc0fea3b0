//! Turns a refusal with several options into a question to the user.

use std::collections::BTreeMap;
use std::time::Duration;

use ktx_tool_descriptors::ToolError;
use rmcp::model::{
    ElicitRequestParams, ElicitationAction, ElicitationSchema, EnumSchema,
    PrimitiveSchemaDefinition,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::is_newer;

/// The time for an answer; after that, the model gets the refusal.
const PATIENCE: Duration = Duration::from_mins(5);

const FIELD: &str = "choice";

const AMBIGUOUS: [&str; 4] = [
    "ambiguous_join_path",
    "ambiguous_column",
    "ambiguous_measure",
    "ambiguous_time_dimension",
];

/// Returns `None` with fewer than two options, if the client cannot ask, or if the user does not
/// choose.
pub(super) async fn chosen(
    error: &ToolError,
    request: &RequestContext<RoleServer>,
) -> Option<Value> {
    let capabilities = request.client_capabilities()?;
    let form = capabilities.elicitation?;
    // A client that names no mode of asking supports forms only.
    if form.form.is_none() && form.url.is_some() {
        return None;
    }
    // The newer protocol lets no server ask during a call.
    if is_newer(request) {
        return None;
    }
    let options = options(error)?;
    let labels: Vec<String> = options.keys().cloned().collect();
    let list = EnumSchema::builder(labels).build();
    let properties = BTreeMap::from([(FIELD.to_owned(), PrimitiveSchemaDefinition::Enum(list))]);
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question(error),
        requested_schema: ElicitationSchema::new(properties).with_required(vec![FIELD.to_owned()]),
    };
    let asked = request
        .peer
        .create_elicitation_with_timeout(question, Some(PATIENCE));
    let answer = tokio::select! {
        answer = asked => answer,
        () = request.ct.cancelled() => return None,
    };
    let answer = match answer {
        Ok(answer) if answer.action == ElicitationAction::Accept => answer,
        Ok(_) => return None,
        Err(error) => {
            tracing::debug!(%error, "an MCP client does not put a question to its user");
            return None;
        }
    };
    let content = answer.content?;
    options.get(content.get(FIELD)?.as_str()?).cloned()
}

fn question(error: &ToolError) -> String {
    let message = error.structured.as_ref();
    let message = message.and_then(|data| data.pointer("/error/message")?.as_str());
    let message = message.unwrap_or(&error.message);
    format!("ktx: {message}")
}

/// Keyed by the texts that the options do not all share.
fn options(error: &ToolError) -> Option<BTreeMap<String, Value>> {
    let error = error.structured.as_ref()?.get("error")?;
    let code = error.get("code")?.as_str()?;
    if !AMBIGUOUS.contains(&code) {
        return None;
    }
    let mut offers: Vec<(Vec<String>, &Value)> = Vec::new();
    for offered in error.get("suggestions")?.as_array()? {
        let mut words = Vec::new();
        leaves(offered, &mut words);
        offers.push((words, offered));
    }
    let is_in_all = |word: &String| offers.iter().all(|(words, _)| words.contains(word));
    let mut options = BTreeMap::new();
    for (words, offered) in &offers {
        let own = words.iter().filter(|word| !is_in_all(word));
        let own: Vec<&str> = own.map(String::as_str).collect();
        if own.is_empty() {
            return None;
        }
        options.insert(own.join(", "), (*offered).clone());
    }
    (options.len() > 1).then_some(options)
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
