//! A runtime under a budget, for backends that run turns themselves.

mod watch;

use std::sync::Arc;

use async_trait::async_trait;
use ktx_llm_runtime::{
    Abilities, BackendInfo, EventSink, ListenerRegistration, LlmError, LlmRuntime, LoopOutcome,
    LoopRequest, Message, ObjectOutcome, ObjectRequest, PlannedTurn, ProbeReport, ProbeRequest,
    RunEvent, RunFinal, RunHandle, RunRequest, RunWriter, StopReason, TextOutcome, TextRequest,
    TokenUsage, TurnPermit, run_channel,
};
use ktx_vocabulary::ModelRole;
use tokio_util::sync::CancellationToken;

use crate::Budget;
use crate::budget::ReservationSpan;
use watch::BudgetWatch;

/// Stops loops and runs before the turn that would exceed the budget, and every operation when the
/// time is over.
#[derive(Clone)]
pub struct BudgetedRuntime {
    inner: Arc<dyn LlmRuntime>,
    budget: Budget,
}

impl std::fmt::Debug for BudgetedRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budgeted")
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl BudgetedRuntime {
    pub fn new(inner: Arc<dyn LlmRuntime>, budget: Budget) -> Self {
        Self { inner, budget }
    }

    #[cfg(test)]
    pub(crate) const fn budget(&self) -> &Budget {
        &self.budget
    }

    async fn admitted(
        &self,
        role: ModelRole,
        texts: [&str; 2],
        cancel: &CancellationToken,
    ) -> Result<Box<dyn TurnPermit>, LlmError> {
        let turn = planned(role, texts.iter().map(|text| text.len()).sum());
        self.admitted_turn(turn, ReservationSpan::Turn, cancel)
            .await
    }

    async fn admitted_turn(
        &self,
        turn: PlannedTurn,
        span: ReservationSpan,
        cancel: &CancellationToken,
    ) -> Result<Box<dyn TurnPermit>, LlmError> {
        tokio::select! {
            () = cancel.cancelled() => Err(LlmError::cancelled()),
            admitted = self.budget.admit_for(turn, span) => admitted,
        }
    }
}

/// Bytes of a backend's probe, at most.
const PROBE: usize = 100;

const fn planned(role: ModelRole, bytes: usize) -> PlannedTurn {
    PlannedTurn {
        role,
        bytes,
        max_output: None,
        output_bound: None,
    }
}

#[async_trait]
impl LlmRuntime for BudgetedRuntime {
    async fn generate_text(&self, mut request: TextRequest) -> Result<TextOutcome, LlmError> {
        let texts = [request.system.as_str(), &request.prompt];
        let permit = self.admitted(request.role, texts, &request.cancel).await?;
        let watch = BudgetWatch::new(&self.budget, &request.cancel);
        request.cancel = watch.token();
        let outcome = watch.in_time(self.inner.generate_text(request)).await;
        let outcome = outcome.map_err(|error| watch.explain(error))?;
        permit.settle(outcome.metrics.usage);
        Ok(outcome)
    }

    async fn generate_object(&self, mut request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        let texts = [request.system.as_str(), &request.prompt];
        let permit = self.admitted(request.role, texts, &request.cancel).await?;
        let watch = BudgetWatch::new(&self.budget, &request.cancel);
        request.cancel = watch.token();
        let outcome = watch.in_time(self.inner.generate_object(request)).await;
        let outcome = outcome.map_err(|error| watch.explain(error))?;
        permit.settle(outcome.metrics.usage);
        Ok(outcome)
    }

    async fn run_agent_loop(&self, mut request: LoopRequest) -> LoopOutcome {
        let texts = [request.system.as_str(), &request.prompt];
        let turn = planned(request.role, texts.iter().map(|text| text.len()).sum());
        let admitted = self.admitted_turn(turn, ReservationSpan::Loop, &request.cancel);
        let permit = match admitted.await {
            Ok(permit) => permit,
            Err(error) => return LoopOutcome::failed(error),
        };
        let watch = BudgetWatch::new(&self.budget, &request.cancel);
        request.cancel = watch.token();
        request.tools = watch.tools(&request.tools);
        request.on_step = Some(watch.steps(request.on_step.take()));
        let mut outcome = watch.in_time(self.inner.run_agent_loop(request)).await;
        permit.settle(outcome.metrics.usage);
        if outcome.stop_reason == StopReason::Error
            && let Some(error) = watch.stopped()
        {
            outcome.error = Some(error);
        }
        outcome
    }

    fn start_run(&self, mut request: RunRequest) -> RunHandle {
        let bytes: usize = request.messages.iter().map(size).sum();
        let turn = planned(request.role, request.system.len() + bytes);
        let run_id = request.label.run_id.clone();
        let (writer, handle) = run_channel(run_id.clone(), request.ingress_request_id.clone());
        let this = self.clone();
        tokio::spawn(async move {
            let admitted = this.admitted_turn(turn, ReservationSpan::Loop, &request.cancel);
            match admitted.await {
                Ok(permit) => {
                    let watch = BudgetWatch::new(&this.budget, &request.cancel);
                    request.cancel = watch.token();
                    request.tools = watch.tools(&request.tools);
                    let run = this.inner.start_run(request);
                    relayed(run, permit, watch, writer).await;
                }
                Err(error) => {
                    let last = RunFinal {
                        run_id,
                        request_id: request.ingress_request_id,
                        result: Err(error),
                        usage: TokenUsage::default(),
                    };
                    writer.finish(last).await;
                }
            }
        });
        handle
    }

    async fn probe(&self, mut request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        // The meter already has its usage.
        let turn = planned(ModelRole::Default, PROBE);
        let _permit = self
            .admitted_turn(turn, ReservationSpan::Turn, &request.cancel)
            .await?;
        let watch = BudgetWatch::new(&self.budget, &request.cancel);
        request.cancel = watch.token();
        let report = watch.in_time(self.inner.probe(request)).await;
        report.map_err(|error| watch.explain(error))
    }

    async fn settle(&self) {
        self.inner.settle().await;
    }

    fn describe(&self) -> BackendInfo {
        self.inner.describe()
    }

    fn abilities(&self, role: ModelRole) -> Abilities {
        self.inner.abilities(role)
    }

    fn beside_runs(&self) -> Option<Arc<dyn LlmRuntime>> {
        Some(Arc::new(Self {
            inner: Arc::clone(&self.inner),
            budget: self.budget.beside(),
        }))
    }

    fn listen(&self, listener: Arc<dyn EventSink>) -> Option<ListenerRegistration> {
        self.inner.listen(listener)
    }
}

async fn relayed(
    mut run: RunHandle,
    permit: Box<dyn TurnPermit>,
    watch: Arc<BudgetWatch>,
    writer: RunWriter,
) {
    let relay = async {
        while let Some(event) = run.next_event().await {
            match event {
                // The writer sends these itself.
                RunEvent::AssistantFinal(_) | RunEvent::Error(_) | RunEvent::Done => {}
                event => writer.event(event).await,
            }
        }
        run.finish().await
    };
    let mut last = watch.in_time(relay).await;
    permit.settle(last.usage);
    if last.result.is_err()
        && let Some(error) = watch.stopped()
    {
        last.result = Err(error);
    }
    writer.finish(last).await;
}

/// JSON is an upper bound for any protocol.
fn size(message: &Message) -> usize {
    serde_json::to_string(message).map_or(0, |text| text.len())
}
