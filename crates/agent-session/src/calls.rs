//! Calls of tools, each with its states in the log (KODE-53, KODE-60).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::event::{Call, CallState, Effect};
use crate::session::{Session, SessionError};

/// The most calls that run at once.
pub const MOST_AT_ONCE: usize = 3;

/// The longest that a call may take.
pub const LONGEST_CALL: Duration = Duration::from_mins(1);

const NOT_RECORDED: &str = "the call was not begun: the log of the session cannot be written";

/// The same tools with a record of every call: none begins before the log says so.
#[must_use]
pub fn recorded(session: &Arc<Session>, tools: &ToolSet) -> ToolSet {
    let room = Arc::new(Semaphore::new(MOST_AT_ONCE));
    tools.with_handlers(|tool: &ToolDescriptor| {
        Arc::new(Recorded {
            session: Arc::clone(session),
            name: tool.name.clone(),
            effect: match tool.effect {
                WriteEffect::ReadOnly | WriteEffect::Idempotent => Effect::Reads,
                WriteEffect::Writes => Effect::Writes,
            },
            handler: Arc::clone(&tool.handler),
            room: Arc::clone(&room),
        })
    })
}

struct Recorded {
    session: Arc<Session>,
    name: String,
    effect: Effect,
    handler: Arc<dyn ToolHandler>,
    room: Arc<Semaphore>,
}

#[async_trait]
impl ToolHandler for Recorded {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        let begun = self
            .session
            .begin_call(&self.name, self.effect, arguments.clone());
        let call = begun.map_err(not_recorded)?;
        let mut open = OpenCall {
            session: &self.session,
            call: Some(call),
        };
        let Ok(_permit) = self.room.acquire().await else {
            return Err(ToolError::broke_down());
        };
        open.move_to(CallState::Executing).map_err(not_recorded)?;
        let stop = context.cancel.clone();
        let work = self.handler.call(arguments, context);
        let result = tokio::time::timeout(LONGEST_CALL, work).await;
        let result = result.unwrap_or_else(|_| {
            stop.cancel();
            Err(ToolError::too_late(LONGEST_CALL))
        });
        match &result {
            Ok(output) => open.close(CallState::Completed, &output.markdown),
            Err(error) => open.close(CallState::Failed, &error.message),
        }
        result
    }
}

fn not_recorded(error: SessionError) -> ToolError {
    // The cause belongs to the person at the terminal; the turn's end fails with it, too.
    drop(error);
    ToolError::new(NOT_RECORDED)
}

/// A call without a result. Dropping it cancels the call (KODE-57).
struct OpenCall<'a> {
    session: &'a Session,
    call: Option<Call>,
}

impl OpenCall<'_> {
    fn move_to(&mut self, state: CallState) -> Result<(), SessionError> {
        match &mut self.call {
            Some(call) => {
                call.state = state;
                self.session.record_call(call)
            }
            None => Ok(()),
        }
    }

    /// Records the result. If the log cannot take it, it waits in memory with the rest.
    fn close(&mut self, state: CallState, result: &str) {
        if let Some(mut call) = self.call.take() {
            call.state = state;
            call.result = Some(result.to_owned());
            drop(self.session.record_call(&call));
        }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.close(CallState::Failed, "the call was cancelled");
    }
}
