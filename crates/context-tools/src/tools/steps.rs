//! Adds at least one next step to every refusal.

use std::sync::Arc;

use ktx_diagnostics::{Code, Failure, nearest};
use ktx_tool_descriptors::CallContext;
use serde_json::{Map, Value};

use crate::context::ProjectContext;
use crate::uses::{self, Execution, QueryRequest, warehouse_of_sql};
use crate::wire::{SlQueryInput, SqlInput, WikiSearchInput};

use super::Spec;
use super::budget::{Ask, MOST as MOST_TOKENS};
use super::envelope::noted;
use super::specs::read;

const MOST: usize = 3;

const BESIDE_THE_QUERY: [&str; 4] = ["connectionId", "include", "maxTokens", "format"];

/// Adds arguments that are known to work, and a next step.
pub(super) async fn taught(
    context: &Arc<dyn ProjectContext>,
    spec: &Spec,
    arguments: &Value,
    failure: Failure,
) -> Failure {
    let mut failure = failure;
    let requests = failure.detail.requests.iter();
    failure.detail.requests = requests
        .filter_map(|request| whole(request, arguments))
        .collect();
    if failure.detail.requests.is_empty() {
        for candidate in candidates(context, spec, arguments, &failure).await {
            if rehearsed(context, spec, &candidate).await.is_ok() {
                failure.detail.requests.push(candidate.to_string());
            }
        }
    }
    if failure.hints.is_empty() && failure.detail.requests.is_empty() {
        let next = usual(spec.name, failure.code);
        failure = failure.hint(next);
    }
    failure
}

fn whole(request: &str, arguments: &Value) -> Option<String> {
    let mut request: Map<String, Value> = serde_json::from_str(request).ok()?;
    for name in BESIDE_THE_QUERY {
        if let Some(value) = arguments.get(name) {
            request.insert(name.to_owned(), value.clone());
        }
    }
    Some(Value::Object(request).to_string())
}

async fn candidates(
    context: &Arc<dyn ProjectContext>,
    spec: &Spec,
    arguments: &Value,
    failure: &Failure,
) -> Vec<Value> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let names = match failure.code {
        Code::UnknownConnection | Code::NotAWarehouse | Code::ConnectionRequired => {
            let wanted = text("connectionId").unwrap_or_default();
            let known = uses::list_connections(&**context).await;
            let known = known.map(|known| known.connections).unwrap_or_default();
            let ids = known.iter().map(|one| one.id.as_str());
            let ids: Vec<&str> = ids.filter(|id| *id != wanted).collect();
            let near = nearest(wanted, ids.iter().copied());
            let near = if near.is_empty() { ids } else { near };
            named("connectionId", near.into_iter().map(str::to_owned))
        }
        Code::PageNotFound | Code::InvalidWikiKey => {
            let wanted = text("key").unwrap_or_default();
            named("key", pages(context, wanted).await.into_iter())
        }
        Code::UnknownSource if spec.name == "sl_read_source" => {
            let wanted = text("sourceName").unwrap_or_default();
            let known = uses::list_sources(&**context, text("connectionId")).await;
            let known = known.map(|known| known.items).unwrap_or_default();
            let known: Vec<&str> = known.iter().map(|item| item.name.as_str()).collect();
            let parts = wanted.split('.').map(str::trim);
            let same = parts.filter_map(|part| {
                let mut all = known.iter().copied();
                all.find(|name| name.eq_ignore_ascii_case(part))
            });
            let mut near: Vec<&str> = same.collect();
            near.extend(nearest(wanted, known.iter().copied()));
            named("sourceName", near.into_iter().map(str::to_owned))
        }
        _ => Vec::new(),
    };
    let mut found: Vec<Value> = Vec::new();
    let names = names
        .into_iter()
        .map(|(name, value)| (name, Value::from(value)));
    let more_room = (failure.code == Code::InvalidArguments
        && arguments.get("maxTokens").is_some())
    .then(|| ("maxTokens", Value::from(MOST_TOKENS)));
    for (name, value) in names.chain(more_room) {
        let mut candidate = arguments.clone();
        if let Some(map) = candidate.as_object_mut() {
            map.insert(name.to_owned(), value);
        }
        if candidate != *arguments && !found.contains(&candidate) && found.len() < MOST {
            found.push(candidate);
        }
    }
    found
}

fn named(name: &'static str, values: impl Iterator<Item = String>) -> Vec<(&'static str, String)> {
    values.map(|value| (name, value)).collect()
}

async fn pages(context: &Arc<dyn ProjectContext>, wanted: &str) -> Vec<String> {
    let name = wanted.rsplit('/').next().unwrap_or(wanted);
    let name = name.strip_suffix(".md").unwrap_or(name);
    let known = uses::list_wiki(&**context).await.unwrap_or_default();
    let near = nearest(name, known.iter().map(|page| page.key.as_str()));
    let words: Vec<&str> = name
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut keys = vec![words.join("-").to_lowercase()];
    keys.extend(near.into_iter().map(str::to_owned));
    if !words.is_empty() {
        let input = WikiSearchInput {
            query: words.join(" "),
            limit: Some(MOST),
        };
        let found = uses::search_wiki(&**context, &input, uses::Lanes::Hidden).await;
        let found = found.map(|found| found.results).unwrap_or_default();
        keys.extend(found.into_iter().map(|hit| hit.item.key));
    }
    keys.retain(|key| known.iter().any(|page| page.key == *key));
    keys
}

pub(super) async fn workable(
    context: &Arc<dyn ProjectContext>,
    spec: &Spec,
    mut arguments: Value,
) -> Vec<Value> {
    if !Ask::of(arguments.clone()).can_go_on(spec.name)
        && let Some(given) = arguments.as_object_mut()
    {
        given.shift_remove("cursor");
    }
    match rehearsed(context, spec, &arguments).await {
        Ok(()) => vec![arguments],
        Err(failure) => {
            let failure = taught(context, spec, &arguments, failure).await;
            let requests = failure.detail.requests.iter();
            requests
                .filter_map(|request| serde_json::from_str(request).ok())
                .collect()
        }
    }
}

/// Runs no statement.
async fn rehearsed(
    context: &Arc<dyn ProjectContext>,
    spec: &Spec,
    arguments: &Value,
) -> Result<(), Failure> {
    let call = CallContext::detached("next-step");
    let ask = Ask::of(arguments.clone());
    match spec.name {
        "sl_query" => {
            let input: SlQueryInput = read(ask.arguments)?;
            let request = QueryRequest {
                query: uses::query_of(&input)?,
                connection: input.connection_id,
                execution: Execution::CompileOnly,
            };
            uses::query(&**context, &request, &call).await?;
        }
        "sql_execution" => {
            let input: SqlInput = read(ask.arguments)?;
            let id = input.connection_id.as_deref();
            let (connection, _) = warehouse_of_sql(&**context, id, &input.sql).await?;
            if !uses::has_tables(&**context, &connection, &input.sql).await {
                let message = "the warehouse has not all tables of the statement";
                return Err(Failure::new(Code::QueryFailed, message));
            }
        }
        _ => {
            let whole = (spec.run)(Arc::clone(context), ask.arguments.clone(), call).await?;
            let results = whole.get("results").and_then(Value::as_array);
            let is_missing = |result: &Value| result.get("ok") == Some(&Value::Bool(false));
            if results.is_some_and(|results| results.iter().any(is_missing)) {
                let message = "the warehouse has not all that is asked for";
                return Err(Failure::new(Code::InvalidArguments, message));
            }
            ask.part(spec.name, noted(spec.contents, whole), spec.shape)?;
        }
    }
    Ok(())
}

fn usual(tool: &str, code: Code) -> &'static str {
    match (tool, code) {
        (_, Code::TextTooLong) => "send less in one call",
        (_, Code::Internal) => {
            "tell the user; this is a fault of ktx, and the same call fails again"
        }
        (_, Code::Cancelled) => "call again if the answer is still needed",
        (_, Code::UnknownConnection | Code::NotAWarehouse | Code::NoWarehouse) => {
            "take a warehouse that `connection_list` names"
        }
        ("sl_read_source", _) => "find sources with `discover_data`",
        ("sl_query", _) => {
            "read the sources of the query with `sl_read_source`, and ask with their columns, joins and measures"
        }
        ("sql_execution", Code::QueryFailed) => {
            "look at the tables with `entity_details`, or ask with `sl_query`, which writes the SQL"
        }
        ("sql_execution", _) => {
            "if the same call fails again, tell the user: `ktx connection test` says what is wrong"
        }
        _ => "correct what the message names; `discover_data` finds names",
    }
}
