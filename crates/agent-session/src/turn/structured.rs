//! The structured answer of a turn (HOLO-31).

use ktx_llm_runtime::{
    CallLabel, CallMetrics, LlmError, LlmErrorKind, ObjectOutcome, ObjectRequest,
};
use ktx_tool_descriptors::ObjectSchema;
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::Value;

use super::work::TurnRun;
use crate::event::{Event, MessageTokens};
use crate::execution::ExecutionResult;
use crate::session::{Session, SessionError};

const INSTRUCTIONS: &str = include_str!("../prompts/structured.system.md");

const STAGE: &str = "structured";

pub(super) async fn object_of(
    work: &TurnRun<'_>,
    schema: &Value,
    answer: &str,
) -> Result<ObjectOutcome, LlmError> {
    let form = ObjectSchema::new(schema.clone()).map_err(|error| {
        let message = format!("`response_format` cannot be used: {error}");
        LlmError::new(LlmErrorKind::InvalidRequest, message)
    })?;
    let history = work.session.history();
    let question = history.last_question().unwrap_or_default();
    let asked = ObjectRequest {
        role: ModelRole::Default,
        system: INSTRUCTIONS.to_owned(),
        prompt: format!("Question:\n{question}\n\nAnswer:\n{answer}\n"),
        schema: form,
        cancel: work.stop.clone(),
        label: CallLabel {
            run_id: work.turn.run_id.clone(),
            stage: STAGE.to_owned(),
            unit: None,
            connection: None,
        },
    };
    let outcome = work.runtime.generate_object(asked).await;
    outcome.map_err(|mut error| {
        if error.kind == LlmErrorKind::StructuredOutput {
            "the answer does not fit `response_format`".clone_into(&mut error.message);
        }
        error
    })
}

pub(super) fn keep(
    work: &TurnRun<'_>,
    outcome: ObjectOutcome,
    mut result: ExecutionResult,
) -> Result<ExecutionResult, SessionError> {
    let ObjectOutcome { value, metrics } = outcome;
    let session = work.session;
    session.record(&Event::TokenUsage(tokens(
        &metrics,
        session,
        &work.turn.run_id,
    )))?;
    session.record(&Event::StructuredOutput {
        value: value.clone(),
    })?;
    result.response = value.to_string();
    result.structured_output = Some(value);
    result.token_usage += metrics.usage.into();
    Ok(result)
}

fn tokens(metrics: &CallMetrics, session: &Session, run: &RunId) -> MessageTokens {
    let usage = metrics.usage;
    MessageTokens {
        run_id: run.clone(),
        message_id: format!("{STAGE}-{}", session.history().turn()),
        model: metrics.model.clone().unwrap_or_default(),
        input_tokens: usage.input,
        cache_creation_input_tokens: usage.cache_write_5m.saturating_add(usage.cache_write_1h),
        cache_read_input_tokens: usage.cache_read,
        output_tokens: usage.output,
    }
}
