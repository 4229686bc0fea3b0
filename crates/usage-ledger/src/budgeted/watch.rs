//! Checks the budget while a backend runs turns itself.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ktx_llm_runtime::{LlmError, LlmErrorKind, StepCallback};
use ktx_tool_descriptors::{CallContext, ToolError, ToolHandler, ToolOutput, ToolSet};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::Budget;

pub(super) struct BudgetWatch {
    budget: Budget,
    stop: CancellationToken,
    why: Mutex<Option<LlmError>>,
}

impl BudgetWatch {
    pub(super) fn new(budget: &Budget, cancel: &CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            budget: budget.clone(),
            stop: cancel.child_token(),
            why: Mutex::default(),
        })
    }

    pub(super) fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    fn check_budget(&self) {
        if let Err(error) = self.budget.check() {
            self.stop(error);
        }
    }

    fn stop(&self, error: LlmError) {
        let mut why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        why.get_or_insert(error);
        self.stop.cancel();
    }

    pub(super) async fn in_time<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        let Some((end, error)) = self.budget.end() else {
            return work.await;
        };
        tokio::select! {
            outcome = &mut work => outcome,
            () = tokio::time::sleep_until(end.into()) => {
                self.stop(error);
                work.await
            }
        }
    }

    pub(super) fn explain(&self, error: LlmError) -> LlmError {
        match error.kind {
            LlmErrorKind::Cancelled => self.stopped().unwrap_or(error),
            _ => error,
        }
    }

    pub(super) fn stopped(&self) -> Option<LlmError> {
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        why.clone()
    }

    pub(super) fn steps(self: &Arc<Self>, before: Option<StepCallback>) -> StepCallback {
        let watch = Arc::clone(self);
        Arc::new(move |step| {
            watch.check_budget();
            before.as_ref().map_or(Ok(()), |before| before(step))
        })
    }

    /// Checks the budget after every tool call: the cost of a turn is known before its end.
    pub(super) fn tools(self: &Arc<Self>, tools: &ToolSet) -> ToolSet {
        tools.with_handlers(|tool| {
            Arc::new(WatchedTool {
                inner: Arc::clone(&tool.handler),
                watch: Arc::clone(self),
            })
        })
    }
}

struct WatchedTool {
    inner: Arc<dyn ToolHandler>,
    watch: Arc<BudgetWatch>,
}

#[async_trait]
impl ToolHandler for WatchedTool {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        let output = self.inner.call(arguments, context).await;
        self.watch.check_budget();
        output
    }
}
