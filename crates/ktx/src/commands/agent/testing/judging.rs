//! A model that judges answers without knowing the arm.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_eval::{Judge, JudgeError, JudgeQuestion, JudgedObject, Usage};
use ktx_llm_runtime::{CallLabel, LlmRuntime, ObjectRequest};
use ktx_tool_descriptors::ObjectSchema;
use ktx_vocabulary::ModelRole;
use tokio_util::sync::CancellationToken;

use super::gold::told;
use super::usage::TestSink;
use crate::invocation::Invocation;

const STAGE: &str = "judge";

pub(super) struct ModelJudge<'a> {
    pub(super) invocation: &'a Invocation,
    pub(super) runtime: Arc<dyn LlmRuntime>,
    pub(super) others: BTreeMap<String, Arc<dyn LlmRuntime>>,
    pub(super) usage: Arc<TestSink>,
    pub(super) cancel: CancellationToken,
}

#[async_trait]
impl Judge for ModelJudge<'_> {
    async fn object(&self, question: &JudgeQuestion) -> Result<JudgedObject, JudgeError> {
        let failed = |message: String| JudgeError {
            message,
            usage: Usage::NOTHING,
        };
        let run = self.invocation.next_run();
        let run = run.map_err(|failure| failed(told(&failure)))?.run_id;
        let schema = ObjectSchema::new(question.schema.clone());
        let request = ObjectRequest {
            role: ModelRole::Default,
            system: question.instructions.clone(),
            prompt: question.prompt.clone(),
            schema: schema.map_err(|error| failed(error.to_string()))?,
            cancel: self.cancel.child_token(),
            label: CallLabel {
                run_id: run.clone(),
                stage: STAGE.to_owned(),
                unit: None,
                connection: None,
            },
        };
        let named = question.model.as_ref();
        let runtime = named.and_then(|name| self.others.get(name));
        let runtime = runtime.unwrap_or(&self.runtime);
        let judged = runtime.generate_object(request).await;
        let usage = self.usage.spent(&run);
        match judged {
            Ok(outcome) => Ok(JudgedObject {
                value: outcome.value,
                usage,
            }),
            Err(error) => Err(JudgeError {
                message: error.message,
                usage,
            }),
        }
    }
}
