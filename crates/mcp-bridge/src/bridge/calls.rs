//! Runs one call of a tool and asks the user about ambiguities.
#![expect(
    deprecated,
    reason = "the log is on its way out of the protocol, and clients use it"
)]

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ktx_tool_descriptors::{CallContext, NoProgress, ProgressSink, ToolError, ToolOutput, ToolSet};
use rmcp::model::{CallToolRequestParams, CallToolResult, LoggingLevel};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::choice::chosen;
use super::shapes::{failure, success, unavailable};
use super::{Bridge, requested_level};
use crate::caller::Caller;
use crate::observer::{CallEnd, CallRecord};
use crate::progress::{Reports, channel};
use crate::session::Line;

/// Slower calls become warnings.
const SLOW: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
struct CalledTool<'a> {
    tools: &'a Arc<ToolSet>,
    name: &'a str,
}

impl Bridge {
    pub(super) async fn run(
        &self,
        call: CallToolRequestParams,
        request: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let tools = match self.tools.get() {
            Ok(tools) => tools,
            Err(error) => return failure(&ToolError::new(unavailable(&error))),
        };
        let name = tools.get(&call.name).map(|tool| tool.name.clone());
        let mut record = CallRecord::begin(self.observer.clone(), name);
        let arguments = call.arguments.map_or(Value::Null, Value::Object);
        let caller = Caller::of(&request.extensions);
        let called = CalledTool {
            tools: &tools,
            name: &call.name,
        };
        let mut outcome = self.run_once(called, arguments, &request).await;
        if let Err(error) = &outcome
            && let Some(chosen) = chosen(error, &request).await
        {
            outcome = self.run_once(called, chosen, &request).await;
        }
        record.end = if request.ct.is_cancelled() || caller.is_gone() {
            CallEnd::Cancelled
        } else if outcome.is_err() {
            CallEnd::Refused
        } else {
            CallEnd::Answered
        };
        self.note(&call.name, &record, &request).await;
        match outcome {
            Ok(output) => success(output),
            Err(error) => failure(&error),
        }
    }

    async fn run_once(
        &self,
        called: CalledTool<'_>,
        arguments: Value,
        request: &RequestContext<RoleServer>,
    ) -> Result<ToolOutput, ToolError> {
        let token = request.meta.get_progress_token();
        let (progress, mut reports): (Arc<dyn ProgressSink>, Reports) = match &token {
            Some(_) => {
                let (sink, reports) = channel();
                (Arc::new(sink), reports)
            }
            None => (Arc::new(NoProgress), Reports::none()),
        };
        let caller = Caller::of(&request.extensions);
        caller.calls();
        let cancel = request.ct.child_token();
        let context = CallContext {
            call_id: request.id.to_string(),
            cancel: cancel.clone(),
            progress,
        };
        let (tools, name) = (Arc::clone(called.tools), called.name.to_owned());
        // A panic of the tool becomes an answer instead of ending the server.
        let running = Arc::clone(&self.running);
        let mut work = AbortOnDropHandle::new(tokio::spawn(async move {
            // The semaphore is never closed.
            let _turn = running.acquire_owned().await;
            tools.call(&name, arguments, context).await
        }));
        let mut nobody_waits = pin!(async {
            tokio::select! {
                () = self.left.cancelled() => {}
                () = caller.gone() => {}
            }
        });
        let outcome = loop {
            tokio::select! {
                biased;
                () = &mut nobody_waits, if !cancel.is_cancelled() => cancel.cancel(),
                Some(report) = reports.next() => report.send(&request.peer, token.as_ref()).await,
                outcome = &mut work => break outcome,
            }
        };
        while let Some(report) = reports.try_next() {
            report.send(&request.peer, token.as_ref()).await;
        }
        outcome.unwrap_or_else(|_| {
            Err(ToolError::new(
                "the tool stopped unexpectedly; this is a fault of ktx",
            ))
        })
    }

    async fn note(&self, tool: &str, record: &CallRecord, request: &RequestContext<RoleServer>) {
        let took = record.took();
        let level = if took >= SLOW {
            LoggingLevel::Warning
        } else if record.end != CallEnd::Answered {
            LoggingLevel::Info
        } else {
            LoggingLevel::Debug
        };
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let line = Line {
            level,
            data: json!({ "tool": tool, "end": record.end.as_str(), "milliseconds": milliseconds }),
            requested: requested_level(request),
        };
        self.session.log(&request.peer, line).await;
    }
}
