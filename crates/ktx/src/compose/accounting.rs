//! Records usage, counts it for budgets and reports waits.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ktx_diagnostics::Code;
use ktx_llm_runtime::{EventSink, LlmErrorKind, RuntimeEvent};
use ktx_usage_ledger::{AgentShare, LimitBook, Notify, UsageRecorder, clock};

use super::ledger_path;
use super::limits::book;
use super::prices::price_source;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::Printer;
use crate::report::seen_from;

/// Events that record usage for budgets.
pub(crate) trait RecordingSink: EventSink {
    fn recorder(&self) -> &Arc<UsageRecorder>;

    /// Limits of agents besides those of the command.
    fn shares(&self) -> Vec<AgentShare> {
        Vec::new()
    }
}

pub(crate) struct LedgerSink {
    notify: Notify,
    recorder: Arc<UsageRecorder>,
    limits: LimitBook,
}

impl std::fmt::Debug for LedgerSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerSink").finish_non_exhaustive()
    }
}

impl LedgerSink {
    /// Opens the ledger at the first fact.
    pub(crate) fn new(invocation: &Invocation, project: &OpenProject, printer: Printer) -> Self {
        let dir = project.dir.clone();
        let notify: Notify = Arc::new(move |text| printer.note(&seen_from(&dir, text)));
        Self {
            recorder: Arc::new(UsageRecorder::new(
                Arc::clone(&notify),
                Arc::new(jiff::Timestamp::now),
                &ledger_path(project),
                price_source(project),
            )),
            notify,
            limits: book(invocation, project),
        }
    }

    pub(crate) fn finish(&self) {
        self.recorder.finish();
    }
}

impl RecordingSink for LedgerSink {
    fn recorder(&self) -> &Arc<UsageRecorder> {
        &self.recorder
    }
}

impl EventSink for LedgerSink {
    fn event(&self, event: RuntimeEvent) {
        let now = jiff::Timestamp::now();
        if let Err(reason) = self.limits.note(&event, now) {
            tracing::warn!(
                reason,
                "the limits that the provider reports are not stored"
            );
        }
        match event {
            RuntimeEvent::UsageBegun(fact) => self.recorder.begin(fact),
            RuntimeEvent::Usage(fact) => self.recorder.record(fact),
            RuntimeEvent::UsageDropped(fact) => self.recorder.forget(fact),
            RuntimeEvent::CostReported(cost) => self.recorder.reported(cost),
            RuntimeEvent::WaitStarted { reason, duration } => {
                (self.notify)(&waiting(&reason, duration, now));
            }
            RuntimeEvent::ConcurrencyAdjusted { from, to, reason } => {
                (self.notify)(&format!("parallel calls: {from} → {to}, {reason}"));
            }
            RuntimeEvent::Warning(text) => (self.notify)(&format!("warning: {text}")),
            RuntimeEvent::Retry { attempt, code } => {
                (self.notify)(&format!("retrying ({attempt}): {}", cause(code)));
            }
            RuntimeEvent::RateLimitObserved { .. }
            | RuntimeEvent::RateLimitRefused { .. }
            | RuntimeEvent::WaitTick { .. }
            | RuntimeEvent::WaitFinished
            | RuntimeEvent::IsolationVerified { .. } => {}
        }
    }
}

/// Records usage, but prints nothing: the probe reports all messages.
#[derive(Debug)]
pub(crate) struct ProbeSink(LedgerSink);

impl ProbeSink {
    pub(crate) fn new(invocation: &Invocation, project: &OpenProject, printer: &Printer) -> Self {
        Self(LedgerSink::new(invocation, project, printer.clone()))
    }

    pub(crate) fn finish(&self) {
        self.0.finish();
    }
}

impl RecordingSink for ProbeSink {
    fn recorder(&self) -> &Arc<UsageRecorder> {
        self.0.recorder()
    }
}

impl EventSink for ProbeSink {
    fn event(&self, event: RuntimeEvent) {
        match event {
            RuntimeEvent::Usage(_)
            | RuntimeEvent::UsageBegun(_)
            | RuntimeEvent::UsageDropped(_)
            | RuntimeEvent::CostReported(_)
            | RuntimeEvent::RateLimitObserved { .. }
            | RuntimeEvent::RateLimitRefused { .. } => self.0.event(event),
            RuntimeEvent::ConcurrencyAdjusted { .. }
            | RuntimeEvent::WaitStarted { .. }
            | RuntimeEvent::WaitTick { .. }
            | RuntimeEvent::WaitFinished
            | RuntimeEvent::Retry { .. }
            | RuntimeEvent::IsolationVerified { .. }
            | RuntimeEvent::Warning(_) => {}
        }
    }
}

/// Holds events until a project has a ledger.
#[derive(Debug, Default)]
pub(crate) struct EventBuffer(Mutex<Vec<RuntimeEvent>>);

impl EventBuffer {
    pub(crate) fn pass_on(&self, to: &dyn EventSink) {
        let events = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for event in events {
            to.event(event);
        }
    }
}

impl EventSink for EventBuffer {
    fn event(&self, event: RuntimeEvent) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.push(event);
    }
}

fn cause(code: Code) -> String {
    let kind = LlmErrorKind::ALL
        .into_iter()
        .find(|kind| kind.code() == code);
    let words = match kind {
        Some(LlmErrorKind::RateLimit) => "a limit of the account was reached",
        Some(LlmErrorKind::Overloaded) => "the service is overloaded",
        Some(LlmErrorKind::Server) => "the service failed",
        Some(LlmErrorKind::Transport) => "the connection failed",
        Some(LlmErrorKind::Timeout) => "no answer came in time",
        Some(LlmErrorKind::Crashed) => "the program crashed",
        _ => return code.to_string(),
    };
    format!("{words} ({code})")
}

/// Seconds for short waits, else the end time.
fn waiting(reason: &str, duration: Duration, now: jiff::Timestamp) -> String {
    let until = jiff::SignedDuration::try_from(duration)
        .ok() // longer than time itself
        .and_then(|wait| now.checked_add(wait).ok());
    match until {
        Some(until) if duration >= Duration::from_mins(1) => {
            format!("waiting until {}, {reason}", clock(until, now))
        }
        _ => format!("waiting {} s, {reason}", duration.as_secs_f64().ceil()),
    }
}

#[cfg(test)]
mod tests;
