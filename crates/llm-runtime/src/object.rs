//! Typed objects from `generate_object`.

use ktx_tool_descriptors::ObjectSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{CallMetrics, LlmError, LlmErrorKind, LlmRuntime, ObjectRequest};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", violations.join("; "))]
pub struct ObjectValueError {
    /// Each `path: message`.
    pub violations: Vec<String>,
}

/// Checks a value against the caller's original schema (KTX-51).
pub fn validated_object(value: Value, schema: &ObjectSchema) -> Result<Value, ObjectValueError> {
    let violations = schema.violations(&value);
    if violations.is_empty() {
        Ok(value)
    } else {
        Err(ObjectValueError { violations })
    }
}

pub async fn generate_typed<T: DeserializeOwned>(
    runtime: &dyn LlmRuntime,
    request: ObjectRequest,
) -> Result<(T, CallMetrics), LlmError> {
    let outcome = runtime.generate_object(request).await?;
    let value = serde_json::from_value(outcome.value).map_err(|error| {
        LlmError::new(
            LlmErrorKind::StructuredOutput,
            "the model's object does not fit its type",
        )
        .detail(error.to_string())
    })?;
    Ok((value, outcome.metrics))
}
