//! Tests of the time limit of a budget.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_llm_runtime::{
    BackendInfo, CallLabel, LlmError, LlmErrorKind, LlmRuntime, LoopOutcome, LoopRequest,
    ObjectOutcome, ObjectRequest, ProbeReport, ProbeRequest, RunFinal, RunHandle, RunRequest,
    TextOutcome, TextRequest, TokenUsage, run_channel,
};
use ktx_tool_descriptors::{ObjectSchema, ToolSet};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Budget, BudgetedRuntime, Limits};

/// Stays silent until canceled.
struct SilentBackend;

async fn ended(cancel: CancellationToken) -> LlmError {
    cancel.cancelled().await;
    LlmError::cancelled()
}

#[async_trait]
impl LlmRuntime for SilentBackend {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        Err(ended(request.cancel).await)
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        Err(ended(request.cancel).await)
    }

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome {
        LoopOutcome::failed(ended(request.cancel).await)
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        let (writer, handle) = run_channel(request.label.run_id.clone(), None);
        tokio::spawn(async move {
            let last = RunFinal {
                run_id: request.label.run_id,
                request_id: None,
                result: Err(ended(request.cancel).await),
                usage: TokenUsage::default(),
            };
            writer.finish(last).await;
        });
        handle
    }

    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        Err(ended(request.cancel).await)
    }

    fn describe(&self) -> BackendInfo {
        BackendInfo::default()
    }
}

async fn every_operation(time: Duration, cancel: &CancellationToken) -> Vec<LlmError> {
    let limits = Limits {
        time: Some(time),
        ..Limits::default()
    };
    // One budget per call, because its time begins with the call.
    let runtime = || {
        let budget = Budget::new(limits, Arc::default(), |_, _| None);
        BudgetedRuntime::new(Arc::new(SilentBackend), budget)
    };
    let label = CallLabel {
        run_id: RunId::parse("run-1").unwrap(),
        stage: "test".to_owned(),
        unit: None,
        connection: None,
    };
    let (role, prompt) = (ModelRole::Default, "go".to_owned());
    let tools = || ToolSet::new(Vec::new()).unwrap();
    let first = runtime();
    let text = first.generate_text(TextRequest {
        role,
        system: String::new(),
        prompt: prompt.clone(),
        cancel: cancel.clone(),
        label: label.clone(),
    });
    let text = text.await.unwrap_err();
    let second = runtime();
    let object = second.generate_object(ObjectRequest {
        role,
        system: String::new(),
        prompt: prompt.clone(),
        schema: ObjectSchema::new(json!({ "type": "object" })).unwrap(),
        cancel: cancel.clone(),
        label: label.clone(),
    });
    let object = object.await.unwrap_err();
    let third = runtime();
    let looped = third.run_agent_loop(LoopRequest {
        role,
        system: String::new(),
        prompt,
        tools: tools(),
        step_budget: 9,
        transcript: None,
        on_step: None,
        cancel: cancel.clone(),
        label: label.clone(),
    });
    let looped = looped.await.error.unwrap();
    let fourth = runtime();
    let run = fourth.start_run(RunRequest {
        role,
        system: String::new(),
        messages: Vec::new(),
        tools: tools(),
        step_budget: 9,
        deltas: ktx_llm_runtime::Deltas::AsTheyCome,
        hook: None,
        settings: ktx_llm_runtime::CallSettings::default(),
        cancel: cancel.clone(),
        label: label.clone(),
        trace_id: None,
        ingress_request_id: None,
    });
    let run = run.finish().await.result.unwrap_err();
    let request = ProbeRequest::of(&label.run_id).cancelled_by(cancel.clone());
    let fifth = runtime();
    let probe = fifth.probe(request).await.unwrap_err();
    vec![text, object, looped, run, probe]
}

#[tokio::test]
async fn a_call_in_flight_ends_with_the_time_of_the_budget() {
    for error in every_operation(Duration::from_millis(400), &CancellationToken::new()).await {
        assert_eq!(
            (error.kind, error.message.as_str()),
            (
                LlmErrorKind::Budget,
                "the model call was ended: 0 minutes are over"
            )
        );
    }
}

#[tokio::test]
async fn a_cancelled_call_is_not_blamed_on_the_budget() {
    let cancel = CancellationToken::new();
    let hour = Duration::from_hours(1);
    let work = every_operation(hour, &cancel);
    let (errors, ()) = tokio::join!(work, async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    });
    for error in errors {
        assert_eq!(error.kind, LlmErrorKind::Cancelled, "{error:?}");
    }
}
