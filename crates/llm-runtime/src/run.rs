//! The run handle: ordered events and exactly one final record (COG-03, COG-05, COG-25).

use ktx_vocabulary::RunId;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::{LlmError, LlmErrorKind, TokenUsage, UsageFact};

/// One event of a run (COG-05). `AssistantFinal`, then `Done`, come last.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// More text of the answer.
    TextDelta(String),
    /// More of the model's reasoning, where the backend shows it.
    ReasoningDelta(String),
    /// A tool call begins.
    ToolCallStart {
        /// The call's id.
        call_id: String,
        /// The tool.
        name: String,
        arguments: Value,
    },
    /// A tool call ended.
    ToolCallResult {
        /// The call's id.
        call_id: String,
        /// The text that the model sees.
        markdown: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// One message was billed.
    UsageReport(UsageFact),
    /// A status change, for display.
    Status(String),
    /// The run fails; with the code and ktx's text, without the backend's detail (COG-19).
    Error(LlmError),
    /// The whole answer.
    AssistantFinal(String),
    /// The last event.
    Done,
}

/// The end of a run. Its debug form holds no text of the backend (COG-19).
#[derive(Clone, PartialEq)]
pub struct RunFinal {
    pub run_id: RunId,
    /// The caller's request id.
    pub request_id: Option<String>,
    /// The answer, or why there is none.
    pub result: Result<String, LlmError>,
    /// Tokens of all messages.
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

/// A running run. Both halves can be used alone; dropping the events loses no billing.
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
    /// Returns the next event; `None` after the last.
    pub async fn next_event(&mut self) -> Option<RunEvent> {
        self.events.recv().await
    }

    /// Passes the final record to `observer` when it is taken, after earlier observers.
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

    /// Returns the final record. A run that ended without one gets a synthetic internal error
    /// (COG-25).
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
    /// Sends one event; a dropped receiver is not an error.
    pub async fn event(&self, event: RunEvent) {
        if self.events.send(event).await.is_err() {
            tracing::trace!("nobody listens to the run any more");
        }
    }

    /// Sends the closing events and the final record.
    pub async fn finish(self, last: RunFinal) {
        match &last.result {
            Ok(text) => self.event(RunEvent::AssistantFinal(text.clone())).await,
            Err(error) => self.event(RunEvent::Error(outward(error))).await,
        }
        self.event(RunEvent::Done).await;
        if self.last.send(last).is_err() {
            tracing::trace!("nobody waits for the run's final record");
        }
    }
}

/// Creates both ends of a run.
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
