//! Calls of tools: permitted, recorded, limited (KODE-53, KODE-60, KODE-61).

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::asking::{Desk, Refusal};
use crate::event::{Breakpoint, Call, CallState, Effect};
use crate::session::{Session, SessionError, denied};

/// The most calls that run at once.
pub const MOST_AT_ONCE: usize = 3;

/// The longest that a call may take.
pub const LONGEST_CALL: Duration = Duration::from_mins(1);

const NOT_RECORDED: &str = "the call was not begun: the log of the session cannot be written";

const CANCELLED: &str = "the call was cancelled";

/// Begins the calls of a session.
#[derive(Clone)]
pub(crate) struct Calls {
    session: Arc<Session>,
    desk: Arc<Desk>,
    room: Arc<Semaphore>,
}

impl Calls {
    pub(crate) fn new(session: &Arc<Session>, desk: Arc<Desk>) -> Self {
        Self {
            session: Arc::clone(session),
            desk,
            room: Arc::new(Semaphore::new(MOST_AT_ONCE)),
        }
    }

    /// The same tools with a record of every call: none begins before the log says so.
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

    /// Begins a call that was allowed in an earlier process, with the recorded arguments (KODE-62).
    pub(crate) async fn go_on(&self, call: Call, tools: &ToolSet, cancel: &CancellationToken) {
        let mut context = CallContext::detached(call.tool_use.clone());
        context.cancel = cancel.child_token();
        let tool = tools.get(&call.name).cloned();
        let mut open = OpenCall::new(&self.session, call);
        let Some(tool) = tool else {
            return open.close(CallState::Failed, "the agent has no such tool any more");
        };
        // The result is in the log, where the model's next message takes it from.
        drop(self.run(&mut open, tool.handler.as_ref(), context).await);
    }

    /// Asks about a call that has waited since an earlier process.
    pub(crate) async fn ask_again(&self, call: Call, cancel: &CancellationToken) {
        let mut open = OpenCall::new(&self.session, call);
        drop(self.desk.ask(&self.session, &mut open, cancel).await);
        open.leave();
    }

    async fn permitted(
        &self,
        open: &mut OpenCall<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), ToolError> {
        match self.desk.permit(&self.session, open, cancel).await {
            Ok(()) => Ok(()),
            Err(Refusal::Denied(reason)) => {
                let told = denied(reason.as_deref());
                open.close(CallState::Denied, &told);
                Err(ToolError::new(told))
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
        let input = call.input.clone();
        let stop = context.cancel.clone();
        let begun = Instant::now();
        let work = handler.call(input, context).with_cancellation_token(&stop);
        let result = match tokio::time::timeout(LONGEST_CALL, work).await {
            Ok(Some(result)) => result,
            Ok(None) => Err(ToolError::new(CANCELLED)),
            Err(_) => {
                stop.cancel();
                Err(ToolError::too_late(LONGEST_CALL))
            }
        };
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Some(call) = open.call.as_mut() {
            call.duration_ms = Some(took);
        }
        match &result {
            Ok(output) => open.close(CallState::Completed, &output.markdown),
            Err(error) => open.close(CallState::Failed, &error.message),
        }
        result
    }
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
        self.calls
            .run(&mut open, self.handler.as_ref(), context)
            .await
    }
}

/// What is known of a tool's effect.
pub(crate) const fn effect_of(effect: WriteEffect) -> Effect {
    match effect {
        WriteEffect::ReadOnly | WriteEffect::Idempotent => Effect::Reads,
        WriteEffect::Writes => Effect::Writes,
    }
}

fn not_recorded(error: SessionError) -> ToolError {
    // The cause belongs to the person at the terminal; the turn's end fails with it, too.
    drop(error);
    ToolError::new(NOT_RECORDED)
}

/// A call without a result. Dropping it cancels the call (KODE-57), unless it was left for a later process.
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

    /// Leaves the call as the log has it.
    pub(crate) fn leave(&mut self) {
        self.call = None;
    }

    /// Records the result. If the log cannot take it, it waits in memory with the rest.
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
