//! The handle of a run: ordered events and exactly one final record (COG-03, COG-05, COG-25).

use ktx_vocabulary::RunId;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::{LlmError, LlmErrorKind, TokenUsage, UsageFact};

/// `AssistantFinal`, then `Done`, come last (COG-05).
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    TextDelta(String),
    ReasoningDelta(String),
    ToolCallStart {
        call_id: String,
        name: String,
        arguments: Value,
    },
    ToolCallResult {
        call_id: String,
        markdown: String,
        is_error: bool,
    },
    UsageReport(UsageFact),
    Status(String),
    /// Without the backend's detail (COG-19).
    Error(LlmError),
    AssistantFinal(String),
    Done,
}

/// `Debug` shows no text of the backend (COG-19).
#[derive(Clone, PartialEq)]
pub struct RunFinal {
    pub run_id: RunId,
    pub request_id: Option<String>,
    pub result: Result<String, LlmError>,
    pub usage: TokenUsage,
}

impl std::fmt::Debug for RunFinal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunFinal")
            .field("run_id", &self.run_id)
            .field("request_id", &self.request_id)
            .field("result", &self.result.as_ref().map_err(outward))
            .field("usage", &self.usage)
            .finish()
    }
}

fn outward(error: &LlmError) -> LlmError {
    let mut error = error.clone();
    error.detail = None;
    error
}

type Observer = Box<dyn FnOnce(&RunFinal) + Send>;

/// A running run. Dropping the events loses no billing.
pub struct RunHandle {
    events: mpsc::Receiver<RunEvent>,
    last: oneshot::Receiver<RunFinal>,
    run_id: RunId,
    request_id: Option<String>,
    observer: Option<Observer>,
}

impl std::fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunHandle")
            .field("run_id", &self.run_id)
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}

impl RunHandle {
    pub async fn next_event(&mut self) -> Option<RunEvent> {
        self.events.recv().await
    }

    /// Passes the final record to `observer`, after earlier observers.
    #[must_use]
    pub fn observed(mut self, observer: impl FnOnce(&RunFinal) + Send + 'static) -> Self {
        let before = self.observer.take();
        self.observer = Some(Box::new(move |last: &RunFinal| {
            if let Some(before) = before {
                before(last);
            }
            observer(last);
        }));
        self
    }

    /// Returns a synthetic internal error if the final record is missing (COG-25).
    pub async fn finish(mut self) -> RunFinal {
        self.events.close();
        let last = match self.last.await {
            Ok(last) => last,
            Err(_) => RunFinal {
                run_id: self.run_id,
                request_id: self.request_id,
                result: Err(LlmError::new(
                    LlmErrorKind::Internal,
                    "the run ended without a result",
                )),
                usage: TokenUsage::default(),
            },
        };
        if let Some(observer) = self.observer {
            observer(&last);
        }
        last
    }
}

/// The backend's side of a run. Finishing consumes it, so the final record is sent once.
#[derive(Debug)]
pub struct RunWriter {
    events: mpsc::Sender<RunEvent>,
    last: oneshot::Sender<RunFinal>,
}

impl RunWriter {
    /// A dropped receiver is not an error.
    pub async fn event(&self, event: RunEvent) {
        if self.events.send(event).await.is_err() {
            tracing::trace!("no listener follows the run");
        }
    }

    pub async fn finish(self, last: RunFinal) {
        match &last.result {
            Ok(text) => self.event(RunEvent::AssistantFinal(text.clone())).await,
            Err(error) => self.event(RunEvent::Error(outward(error))).await,
        }
        self.event(RunEvent::Done).await;
        if self.last.send(last).is_err() {
            tracing::trace!("no caller waits for the run's final record");
        }
    }
}

pub fn run_channel(run_id: RunId, request_id: Option<String>) -> (RunWriter, RunHandle) {
    let (events, receiver) = mpsc::channel(256);
    let (last, last_receiver) = oneshot::channel();
    (
        RunWriter { events, last },
        RunHandle {
            events: receiver,
            last: last_receiver,
            run_id,
            request_id,
            observer: None,
        },
    )
}
