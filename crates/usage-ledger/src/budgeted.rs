//! A runtime under a budget, for backends that make the turns of an operation by themselves.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ktx_llm_runtime::{
    BackendInfo, LlmError, LlmRuntime, LoopOutcome, LoopRequest, Message, ObjectOutcome,
    ObjectRequest, PlannedTurn, ProbeReport, RunFinal, RunHandle, RunRequest, StopReason,
    TextOutcome, TextRequest, TokenUsage, TurnGate as _, TurnPermit, run_channel,
};
use ktx_vocabulary::{ModelRole, RunId};
use tokio_util::sync::CancellationToken;

use crate::Budget;

/// A runtime under a budget. Every operation asks the budget first and reserves its share; a loop is
/// stopped between two turns when the budget is used up.
#[derive(Clone)]
pub struct Budgeted {
    inner: Arc<dyn LlmRuntime>,
    budget: Budget,
}

impl std::fmt::Debug for Budgeted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budgeted")
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl Budgeted {
    /// Puts a runtime under a budget. Its meter is fed by whoever receives the usage facts.
    pub fn new(inner: Arc<dyn LlmRuntime>, budget: Budget) -> Self {
        Self { inner, budget }
    }

    async fn admitted(
        &self,
        role: ModelRole,
        texts: [&str; 2],
        cancel: &CancellationToken,
    ) -> Result<Box<dyn TurnPermit>, LlmError> {
        let turn = planned(role, texts.iter().map(|text| text.len()).sum());
        tokio::select! {
            () = cancel.cancelled() => Err(LlmError::cancelled()),
            admitted = self.budget.admit(turn) => admitted,
        }
    }
}

/// More bytes than a backend's probe asks with.
const PROBE: usize = 100;

const fn planned(role: ModelRole, bytes: usize) -> PlannedTurn {
    PlannedTurn {
        role,
        bytes,
        max_output: None,
    }
}

#[async_trait]
impl LlmRuntime for Budgeted {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        let texts = [request.system.as_str(), &request.prompt];
        let permit = self.admitted(request.role, texts, &request.cancel).await?;
        let outcome = self.inner.generate_text(request).await?;
        permit.settle(outcome.metrics.usage);
        Ok(outcome)
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        let texts = [request.system.as_str(), &request.prompt];
        let permit = self.admitted(request.role, texts, &request.cancel).await?;
        let outcome = self.inner.generate_object(request).await?;
        permit.settle(outcome.metrics.usage);
        Ok(outcome)
    }

    async fn run_agent_loop(&self, mut request: LoopRequest) -> LoopOutcome {
        let texts = [request.system.as_str(), &request.prompt];
        let permit = match self.admitted(request.role, texts, &request.cancel).await {
            Ok(permit) => permit,
            Err(error) => return LoopOutcome::failed(error),
        };
        let stopped: Arc<Mutex<Option<LlmError>>> = Arc::default();
        let stop = request.cancel.child_token();
        request.cancel = stop.clone();
        let (before, budget, why) = (
            request.on_step.take(),
            self.budget.clone(),
            Arc::clone(&stopped),
        );
        request.on_step = Some(Arc::new(move |step| {
            if let Err(error) = budget.check() {
                why.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
                stop.cancel();
            }
            before.as_ref().map_or(Ok(()), |before| before(step))
        }));
        let mut outcome = self.inner.run_agent_loop(request).await;
        permit.settle(outcome.metrics.usage);
        let why = stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // A loop that was done all the same is done.
        if let Some(error) = why.filter(|_| outcome.stop_reason == StopReason::Error) {
            outcome.error = Some(error);
        }
        outcome
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        let bytes: usize = request.messages.iter().map(size).sum();
        let turn = planned(request.role, request.system.len() + bytes);
        match self.budget.admit_now(turn) {
            Ok(permit) => self
                .inner
                .start_run(request)
                .observed(move |last| permit.settle(last.usage)),
            Err(error) => {
                let run_id = request.label.run_id;
                let (writer, handle) =
                    run_channel(run_id.clone(), request.ingress_request_id.clone());
                let last = RunFinal {
                    run_id,
                    request_id: request.ingress_request_id,
                    result: Err(error),
                    usage: TokenUsage::default(),
                };
                tokio::spawn(writer.finish(last));
                handle
            }
        }
    }

    async fn probe(&self, run: &RunId) -> Result<ProbeReport, LlmError> {
        // What it used is in the meter; its report says nothing that could be learnt.
        let _permit = self
            .budget
            .admit(planned(ModelRole::Default, PROBE))
            .await?;
        self.inner.probe(run).await
    }

    fn describe(&self) -> BackendInfo {
        self.inner.describe()
    }
}

/// The bytes of a message as JSON: an upper bound of what any protocol sends of it.
fn size(message: &Message) -> usize {
    serde_json::to_string(message).map_or(0, |text| text.len())
}
