//! Objects in the best possible form.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{MutexGuard, PoisonError};

use ktx_llm_runtime::{
    ContentBlock, LlmError, LlmErrorKind, Message, MessageRole, ObjectOutcome, ObjectRequest,
    RuntimeEvent, validated_object,
};
use ktx_tool_descriptors::ObjectSchema;
use serde_json::Value;

use super::{RuntimeOperation, usable};
use crate::catalogue::Capability;
use crate::preset::{Protocol, StructuredForm};
use crate::schema;
use crate::wire::failure::ASK_ANOTHER;
use crate::wire::request::{
    CanonicalRequest, OutputForm, RequestTarget, Strictness, ToolChoice, ToolSpec,
};
use crate::wire::response::Response;

const OBJECT_PROMPT: &str = include_str!("../prompts/object.md");
const TOOL_DESCRIPTION: &str = include_str!("../prompts/object_tool.md");
const REPAIR_PROMPT: &str = include_str!("../prompts/repair.md");
const TOOL: &str = "json";
/// Turns in which a model may correct its object.
const REPAIRS: u32 = 2;

/// Providers accept or refuse a form per model and schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FormKey {
    model: String,
    schema: String,
}

#[derive(Debug, Default)]
pub(super) struct RefusedForms {
    /// The number of forms to skip, by model and schema, because a later one was answered.
    skipped: BTreeMap<FormKey, usize>,
    reported: BTreeSet<String>,
}

/// Starts with the first possible form that was not refused.
pub(super) async fn generate(
    mut operation: RuntimeOperation<'_>,
    request: &ObjectRequest,
) -> Result<ObjectOutcome, LlmError> {
    let target = operation.role_model.target();
    let key = FormKey {
        model: operation.role_model.facts.id.clone(),
        schema: request.schema.as_value().to_string(),
    };
    let skipped = forms(&operation).skipped.get(&key).copied().unwrap_or(0);
    let possible: Vec<(usize, StructuredForm, CanonicalRequest)> = target
        .row
        .structured
        .iter()
        .enumerate()
        .skip(skipped)
        .filter_map(|(index, form)| {
            let asked = operation.request(&request.system, &request.prompt);
            let asked = prepared(*form, asked, &request.schema, &target)?;
            Some((index, *form, asked))
        })
        .collect();
    let last = possible.len();
    let mut refused: Vec<StructuredForm> = Vec::new();
    for (number, (index, form, asked)) in (1..).zip(possible) {
        let steps_before = operation.metrics.steps;
        let outcome = request_object(&mut operation, asked, &request.schema).await;
        let was_answered = operation.metrics.steps > steps_before;
        // Only an answer in a later form proves that the refusals were about earlier forms.
        if was_answered && !refused.is_empty() {
            remember(&operation, &key, index, &refused, form);
        }
        match outcome {
            Ok(value) => {
                return Ok(ObjectOutcome {
                    value,
                    metrics: operation.metrics(),
                });
            }
            // Providers refuse unknown forms before any answer.
            Err(error)
                if error.kind == LlmErrorKind::InvalidRequest && !was_answered && number < last =>
            {
                tracing::debug!(
                    detail = error.detail,
                    "a form of structured output was refused"
                );
                refused.push(form);
            }
            Err(error) => {
                if error.kind == LlmErrorKind::InvalidRequest && !was_answered {
                    // The last form was refused as well, so the refusals were not about the form.
                    forms(&operation).skipped.remove(&key);
                }
                return Err(error);
            }
        }
    }
    Err(LlmError::new(
        LlmErrorKind::Internal,
        "no form of structured output is left",
    ))
}

fn forms<'a>(operation: &'a RuntimeOperation<'_>) -> MutexGuard<'a, RefusedForms> {
    operation
        .inner
        .refused_forms
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Starts with the answered form from now on, and reports that once.
fn remember(
    operation: &RuntimeOperation<'_>,
    key: &FormKey,
    skipped: usize,
    refused: &[StructuredForm],
    taken: StructuredForm,
) {
    let words: Vec<&str> = refused.iter().map(|form| words_of(*form)).collect();
    let warning = format!(
        "the provider refuses to enforce a schema for `{}` by {}; ktx uses {} instead and still checks every object",
        key.model,
        words.join(" and by "),
        words_of(taken)
    );
    let mut known = forms(operation);
    known.skipped.insert(key.clone(), skipped);
    let is_news = known.reported.insert(warning.clone());
    drop(known);
    if is_news {
        operation.inner.events.event(RuntimeEvent::Warning(warning));
    }
}

const fn words_of(form: StructuredForm) -> &'static str {
    match form {
        StructuredForm::Native => "its structured output",
        StructuredForm::Tool => "a forced tool",
        StructuredForm::JsonObject => "its JSON mode",
        StructuredForm::Prompt => "the prompt",
    }
}

/// `None` if provider, model or schema do not allow the form.
fn prepared(
    form: StructuredForm,
    mut asked: CanonicalRequest,
    schema: &ObjectSchema,
    target: &RequestTarget<'_>,
) -> Option<CanonicalRequest> {
    match form {
        StructuredForm::Native => {
            if !target.facts.can(Capability::JsonSchema) {
                return None;
            }
            asked.output = native(schema.as_value(), target)?;
        }
        StructuredForm::Tool => {
            if !target.can_force_tools() {
                return None;
            }
            asked.tools = vec![ToolSpec {
                name: TOOL.to_owned(),
                description: TOOL_DESCRIPTION.trim().to_owned(),
                schema: schema.as_value().clone(),
            }];
            asked.tool_choice = ToolChoice::Named(TOOL.to_owned());
        }
        StructuredForm::JsonObject | StructuredForm::Prompt => {
            if form == StructuredForm::JsonObject {
                asked.output = OutputForm::Json;
            }
            let instruction = format!("{OBJECT_PROMPT}{}", schema.as_value());
            asked.system = if asked.system.is_empty() {
                instruction
            } else {
                format!("{}\n\n{instruction}", asked.system)
            };
        }
    }
    Some(asked)
}

/// Converts the schema to the provider's dialect; one that breaks its strict rules is sent without
/// them if possible.
fn native(schema: &Value, target: &RequestTarget<'_>) -> Option<OutputForm> {
    let (fitted, otherwise) = match target.protocol {
        Protocol::Anthropic => (schema::for_anthropic(schema), None),
        Protocol::OpenAiChat | Protocol::OpenAiResponses => {
            (schema::for_openai(schema), Some(schema.clone()))
        }
        Protocol::Gemini => (Ok(schema::for_gemini(schema)), None),
    };
    match fitted {
        Ok(schema) => Some(OutputForm::Schema {
            schema,
            strictness: Strictness::Strict,
        }),
        Err(reason) => {
            tracing::debug!(
                ?reason,
                "the schema does not fit the provider's strict rules"
            );
            otherwise.map(|schema| OutputForm::Schema {
                schema,
                strictness: Strictness::Loose,
            })
        }
    }
}

async fn request_object(
    operation: &mut RuntimeOperation<'_>,
    mut asked: CanonicalRequest,
    schema: &ObjectSchema,
) -> Result<Value, LlmError> {
    let mut repairs = 0;
    loop {
        let response = usable(operation.turn(&asked).await?)?;
        let strict = matches!(
            asked.output,
            OutputForm::Schema {
                strictness: Strictness::Strict,
                ..
            }
        );
        let violations = match candidate(&response) {
            Some(value) => {
                let value = if strict {
                    schema::without_added_nulls(value, schema.as_value())
                } else {
                    value
                };
                match validated_object(value, schema) {
                    Ok(value) => return Ok(value),
                    Err(error) => error.to_string(),
                }
            }
            None => "(root): the answer holds no JSON object".to_owned(),
        };
        if repairs == REPAIRS {
            return Err(LlmError::new(
                LlmErrorKind::StructuredOutput,
                "the model's object does not match its schema",
            )
            .hint(ASK_ANOTHER)
            .detail(violations));
        }
        repairs += 1;
        asked.messages.extend(correction(response, &violations));
    }
}

/// The arguments of the tool, else the JSON in the text.
fn candidate(response: &Response) -> Option<Value> {
    let broken = |id: &str| response.broken.iter().any(|call| call.id == id);
    let by_tool = response
        .calls()
        .into_iter()
        .find(|(id, name, _)| name == TOOL && !broken(id))
        .map(|(_, _, arguments)| arguments);
    by_tool.or_else(|| json_object_in(&response.text()))
}

pub(super) fn json_object_in(text: &str) -> Option<Value> {
    let read = |text: &str| -> Option<Value> {
        let value: Option<Value> = serde_json::from_str(text).ok(); // not JSON: not an answer
        value.filter(Value::is_object)
    };
    read(text.trim()).or_else(|| {
        let from = text.find('{')?;
        let to = text.rfind('}')?;
        read(text.get(from..=to)?)
    })
}

fn correction(response: Response, violations: &str) -> [Message; 2] {
    let words = format!("{REPAIR_PROMPT}{violations}");
    let answers: Vec<ContentBlock> = response
        .calls()
        .into_iter()
        .map(|(id, _, _)| ContentBlock::ToolResult {
            tool_use_id: id,
            content: words.clone(),
            is_error: true,
        })
        .collect();
    let content = if answers.is_empty() {
        vec![ContentBlock::Text { text: words }]
    } else {
        answers
    };
    [
        Message::new(MessageRole::Assistant, response.content),
        Message::new(MessageRole::User, content),
    ]
}
