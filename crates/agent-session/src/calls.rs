//! Tool calls: permission, records and limits (KODE-53, KODE-60, KODE-61).

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ktx_tool_descriptors::{
    CallContext, ProgressSink, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet,
    WriteEffect,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::approvals::{Approvals, Halt, Refusal, others_settled};
use crate::delegation::{ASK_AGENT, Delegated, Others};
use crate::event::{Breakpoint, Call, CallState, Effect, Event};
use crate::history::History;
use crate::reminders::{Reminders, escaped};
use crate::session::{Session, SessionError, denied};

/// Maximum calls that run at once.
pub const MOST_AT_ONCE: usize = 3;

/// Maximum bytes of a result in a conversation.
const LONGEST_RESULT: usize = 2 * 1024 * 1024;

/// Default time limit of a call.
pub const LONGEST_CALL: Duration = Duration::from_mins(1);

const NOT_RECORDED: &str = "the call was not begun: the log of the session cannot be written";

const CHANGED: &str =
    "the call was not begun: the files have changed since it was allowed; call it again";

const CANCELLED: &str = "the call was cancelled";

#[derive(Clone)]
pub(crate) struct Calls {
    session: Arc<Session>,
    agent: Arc<Agent>,
    approvals: Arc<Approvals>,
    room: Arc<Semaphore>,
    /// Appended to results, for a backend that takes no message between steps.
    reminders: Option<Arc<Reminders>>,
    others: Option<Arc<Others>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    Over,
    Waits,
}

impl Settled {
    pub(crate) const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Over, Self::Over) => Self::Over,
            _ => Self::Waits,
        }
    }
}

impl Calls {
    pub(crate) fn new(
        session: &Arc<Session>,
        agent: Arc<Agent>,
        approvals: Arc<Approvals>,
        reminders: Option<Arc<Reminders>>,
        others: Option<Arc<Others>>,
    ) -> Self {
        Self {
            session: Arc::clone(session),
            agent,
            approvals,
            reminders,
            others,
            room: Arc::new(Semaphore::new(MOST_AT_ONCE)),
        }
    }

    /// Wraps tools so that the log has each call before it begins.
    pub(crate) fn wrap(&self, tools: &ToolSet) -> ToolSet {
        tools.with_handlers(|tool: &ToolDescriptor| {
            Arc::new(Recorded {
                calls: self.clone(),
                name: tool.name.clone(),
                effect: effect_of(tool.effect),
                handler: Arc::clone(&tool.handler),
            })
        })
    }

    /// Begins a call that an earlier process allowed, with the recorded arguments (KODE-62).
    pub(crate) async fn go_on(
        &self,
        call: Call,
        tools: &ToolSet,
        cancel: &CancellationToken,
    ) -> Settled {
        let mut context = CallContext::detached(call.tool_use.clone());
        context.cancel = cancel.child_token();
        let tool = tools.get(&call.name).cloned();
        let asks = self.agents_for(&call.name);
        let mut open = OpenCall::new(&self.session, call);
        let Some(tool) = tool else {
            open.close(CallState::Failed, "the agent has no such tool any more");
            return Settled::Over;
        };
        // The log has the result; the model's next message takes it from there.
        if let Some(others) = asks {
            if matches!(
                self.delegate(&mut open, &others).await,
                Ok(Delegated::Waits)
            ) {
                drop(self.park(&mut open));
                return Settled::Waits;
            }
        } else {
            drop(self.run(&mut open, tool.handler.as_ref(), context).await);
        }
        Settled::Over
    }

    fn agents_for(&self, tool: &str) -> Option<Arc<Others>> {
        self.others.clone().filter(|_| tool == ASK_AGENT)
    }

    /// Asks about a call left by an earlier process.
    pub(crate) async fn ask_again(&self, call: Call, cancel: &CancellationToken) {
        let mut open = OpenCall::new(&self.session, call);
        drop(self.approvals.ask(&self.session, &mut open, cancel).await);
        open.leave();
    }

    async fn permitted(
        &self,
        open: &mut OpenCall<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), ToolError> {
        match self.approvals.permit(&self.session, open, cancel).await {
            Ok(()) => Ok(()),
            Err(Refusal::Denied(reason)) => {
                let told = denied(reason.as_deref());
                open.close(CallState::Denied, &told);
                Err(ToolError::new(told))
            }
            Err(Refusal::Invalid(reason)) => {
                open.close(CallState::Failed, &reason);
                Err(ToolError::new(reason))
            }
            Err(Refusal::Decided(reason)) => Err(ToolError::new(denied(reason.as_deref()))),
            Err(Refusal::Stopped) => Err(ToolError::new(CANCELLED)),
            Err(Refusal::NotRecorded) => Err(ToolError::new(NOT_RECORDED)),
        }
    }

    async fn run(
        &self,
        open: &mut OpenCall<'_>,
        handler: &dyn ToolHandler,
        context: CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let Ok(_permit) = self.room.acquire().await else {
            return Err(ToolError::broke_down());
        };
        if let Some(call) = &open.call
            && !self.approvals.is_as_shown(call).await
        {
            open.close(CallState::Failed, CHANGED);
            return Err(ToolError::new(CHANGED));
        }
        let call = self.mark_begun(open)?;
        let input = call.input.clone();
        let context = CallContext {
            progress: Arc::new(Telling {
                session: Arc::clone(&self.session),
                call_id: call.id.clone(),
                heard: Arc::clone(&context.progress),
            }),
            ..context
        };
        let stop = context.cancel.clone();
        let limit = self.agent.call_limit(&call.name);
        let begun = Instant::now();
        let work = handler.call(input, context).with_cancellation_token(&stop);
        let result = match tokio::time::timeout(limit, work).await {
            Ok(Some(result)) => result,
            Ok(None) => Err(ToolError::new(CANCELLED)),
            Err(_) => {
                stop.cancel();
                Err(ToolError::too_late(limit))
            }
        };
        let result = harmless(result);
        open.finish(begun, &result);
        result
    }

    fn mark_begun(&self, open: &mut OpenCall<'_>) -> Result<Call, ToolError> {
        let Some(call) = open.call.as_mut() else {
            return Err(ToolError::broke_down());
        };
        self.session
            .reach(Breakpoint::PreTool)
            .map_err(not_recorded)?;
        call.state = CallState::Executing;
        self.session.record_call(call).map_err(not_recorded)?;
        self.session
            .reach(Breakpoint::ToolExecuting)
            .map_err(not_recorded)?;
        Ok(call.clone())
    }

    /// Asks another agent, which has its own limits. A waiting call stays open.
    async fn delegate(
        &self,
        open: &mut OpenCall<'_>,
        others: &Arc<Others>,
    ) -> Result<Delegated, ToolError> {
        let call = self.mark_begun(open)?;
        let begun = Instant::now();
        Ok(match others.ask(&call).await {
            Delegated::Over(result) => {
                let result = harmless(result);
                open.finish(begun, &result);
                Delegated::Over(result)
            }
            Delegated::Waits => {
                self.session.wait_elsewhere(&call.id);
                Delegated::Waits
            }
        })
    }

    /// Leaves a call to a later process, which begins it again: the sub-agent's session has the
    /// progress.
    fn park(&self, open: &mut OpenCall<'_>) -> Result<(), SessionError> {
        let Some(mut call) = open.call.take() else {
            return Ok(());
        };
        call.state = CallState::Approved;
        self.session.record_call(&call)?;
        self.session.reach(Breakpoint::AwaitingApproval)
    }

    async fn delegate_or_park(
        &self,
        open: &mut OpenCall<'_>,
        others: &Arc<Others>,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        if let Delegated::Over(result) = self.delegate(open, others).await? {
            return result;
        }
        let settled = others_settled(&self.session).with_cancellation_token(cancel);
        if settled.await.is_some() {
            self.park(open).map_err(not_recorded)?;
            self.approvals.halt(Halt::Parked);
        }
        Err(ToolError::new(CANCELLED))
    }
}

/// Records a call's progress.
struct Telling {
    session: Arc<Session>,
    call_id: String,
    heard: Arc<dyn ProgressSink>,
}

impl ProgressSink for Telling {
    fn report(&self, fraction: f64, message: &str) {
        let told = self.session.record(&Event::ToolCustomEvent {
            call_id: self.call_id.clone(),
            event: "progress".to_owned(),
            data: json!({ "fraction": fraction, "message": message }),
        });
        if let Err(error) = told {
            tracing::debug!(%error, "the progress of a call is not kept");
        }
        self.heard.report(fraction, message);
    }
}

/// Returns the number of rows of a table.
fn rows_of(output: &ToolOutput) -> Option<u64> {
    let rows = output.structured.as_ref()?.get("rows")?.as_array()?;
    u64::try_from(rows.len()).ok()
}

/// Bounds a result and escapes anything like a note of ktx.
fn harmless(result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
    match result {
        Ok(mut output) => {
            output.markdown = escaped(&bounded(output.markdown));
            Ok(output)
        }
        Err(mut error) => {
            error.message = escaped(&bounded(error.message));
            Err(error)
        }
    }
}

/// Truncates a text, whatever limits the tool has.
fn bounded(text: String) -> String {
    if text.len() <= LONGEST_RESULT {
        return text;
    }
    let end = text.floor_char_boundary(LONGEST_RESULT);
    let left_out = text.len() - end;
    let beginning = text.get(..end).unwrap_or_default();
    format!(
        "{beginning}\n\n[{left_out} of {} bytes are left out: ask for less]",
        text.len()
    )
}

struct Recorded {
    calls: Calls,
    name: String,
    effect: Effect,
    handler: Arc<dyn ToolHandler>,
}

#[async_trait]
impl ToolHandler for Recorded {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        let session = &self.calls.session;
        let begun = session.begin_call(&self.name, self.effect, arguments, &context.call_id);
        let mut open = OpenCall::new(session, begun.map_err(not_recorded)?);
        let cancel = context.cancel.clone();
        self.calls.permitted(&mut open, &cancel).await?;
        let calls = &self.calls;
        let mut output = match calls.agents_for(&self.name) {
            Some(others) => calls.delegate_or_park(&mut open, &others, &cancel).await?,
            None => calls.run(&mut open, self.handler.as_ref(), context).await?,
        };
        if let Some(reminders) = &self.calls.reminders {
            let steps = session.look(History::step);
            let due = reminders.due(session, steps).map_err(not_recorded)?;
            output
                .markdown
                .extend(due.map(|note| format!("\n\n{note}")));
        }
        Ok(output)
    }
}

pub(crate) const fn effect_of(effect: WriteEffect) -> Effect {
    match effect {
        WriteEffect::ReadOnly | WriteEffect::Idempotent => Effect::Reads,
        WriteEffect::Writes => Effect::Writes,
    }
}

fn not_recorded(error: SessionError) -> ToolError {
    // The turn's end reports the cause.
    drop(error);
    ToolError::new(NOT_RECORDED)
}

/// A call without a result. Dropping it cancels the call (KODE-57), unless a later process
/// continues it.
pub(crate) struct OpenCall<'a> {
    session: &'a Session,
    pub(crate) call: Option<Call>,
}

impl<'a> OpenCall<'a> {
    fn new(session: &'a Session, call: Call) -> Self {
        Self {
            session,
            call: Some(call),
        }
    }

    fn finish(&mut self, begun: Instant, result: &Result<ToolOutput, ToolError>) {
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Some(call) = self.call.as_mut() {
            call.duration_ms = Some(took);
            call.rows = result.as_ref().ok().and_then(rows_of);
        }
        match result {
            Ok(output) => self.close(CallState::Completed, &output.markdown),
            Err(error) => self.close(CallState::Failed, &error.message),
        }
    }

    pub(crate) fn leave(&mut self) {
        self.call = None;
    }

    /// Records the result, in memory if the log cannot be written.
    fn close(&mut self, state: CallState, result: &str) {
        if let Some(mut call) = self.call.take() {
            call.state = state;
            call.result = Some(result.to_owned());
            drop(self.session.end_call(&call));
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.close(CallState::Failed, CANCELLED);
    }
}
