//! Converts requests into queries, and reports into results.

use ktx_llm_runtime::{LlmError, LlmErrorKind, StopReason};
use ktx_vocabulary::ModelRole;

use crate::host::Host;
use crate::invocation::{Query, QueryPurpose};
use crate::limits::unix_now;
use crate::outcome::{failure, stop_reason_of};
use crate::protocol::ResultFrame;
use crate::report::CallReport;

pub(crate) fn model_of(host: &Host, role: ModelRole) -> Result<String, LlmError> {
    let model = host.settings.model(role).map(str::to_owned);
    model.ok_or_else(|| LlmError::new(LlmErrorKind::Internal, "the default model is missing"))
}

pub(crate) fn query_for(
    host: &Host,
    role: ModelRole,
    purpose: QueryPurpose,
    system: String,
    prompt: String,
    stage: &str,
) -> Result<Query, LlmError> {
    if prompt.trim().is_empty() {
        return Err(LlmError::new(
            LlmErrorKind::InvalidRequest,
            "the prompt is empty",
        ));
    }
    let model = model_of(host, role)?;
    Ok(Query::new(purpose, &model, system, prompt, stage))
}

pub(crate) fn failure_of(
    host: &Host,
    role: ModelRole,
    result: &ResultFrame,
    report: &CallReport,
) -> LlmError {
    let model = host.settings.model(role).unwrap_or_default();
    host.redacted(failure(result, &report.signs, model, unix_now()))
}

/// A used-up budget is an error here.
pub(crate) fn natural(
    host: &Host,
    role: ModelRole,
    report: &CallReport,
) -> Result<ResultFrame, LlmError> {
    let result = report.ending.clone()?;
    match stop_reason_of(&result) {
        StopReason::Natural => Ok(result),
        StopReason::Budget | StopReason::Error => Err(failure_of(host, role, &result, report)),
    }
}
