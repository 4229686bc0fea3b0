//! One call as a pure state machine.

mod action;
mod counts;
mod lines;
mod stage;
mod traces;

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{ContentBlock, StopReason};
use ktx_tool_descriptors::{ToolError, ToolOutput, ToolSet};
use serde_json::{Map, Value, json};

use crate::invocation::{FAILURE_HOOK, GATE_HOOK, OBJECT_TOOL, Query};
use crate::mcp::{McpAnswer, SERVER, ToolServer, tool_name, visible_text};
use crate::outcome::{FailureSigns, limit_in_text, stop_reason_of};
use crate::protocol::{
    AssistantBlock, AssistantFrame, ControlAnswer, ControlRequest, Frame, InitFrame, ResultFrame,
    StreamFrame, ToolResult,
};
use crate::surface::{checked_account, checked_surface, no_session, substituted, too_early};
use crate::turns::{TurnCounter, UsageMeter};
use crate::versions::is_version;

pub(crate) use action::{Action, ConversationNote, ConversationRecord};
pub(crate) use stage::PromptTiming;

use lines::{control_answer, mcp_answer, question};
use stage::ConversationStage;
use traces::Traces;

const INITIALIZE: &str = "ktx-initialize";

const INTERRUPT: &str = "ktx-interrupt";

const MOST_UNKNOWN: usize = 64;

#[derive(Debug)]
struct OpenCall {
    rpc: Value,
    call_id: String,
    name: String,
    arguments: Value,
}

#[derive(Debug)]
pub(crate) struct Conversation {
    query: Query,
    server: ToolServer,
    prompt_at: PromptTiming,
    stage: ConversationStage,
    init: Option<InitFrame>,
    calls: BTreeMap<String, OpenCall>,
    traces: Traces,
    objects: BTreeMap<String, Value>,
    accepted: Option<Value>,
    turns: TurnCounter,
    meter: UsageMeter,
    signs: FailureSigns,
    hooks: BTreeSet<String>,
    unknown: BTreeMap<String, u32>,
    result: Option<ResultFrame>,
}

impl Conversation {
    pub(crate) fn new(query: Query, version: &str, prompt_at: PromptTiming) -> Self {
        Self {
            server: ToolServer::new(query.tools(), version),
            query,
            prompt_at,
            stage: ConversationStage::Opening,
            init: None,
            calls: BTreeMap::new(),
            traces: Traces::default(),
            objects: BTreeMap::new(),
            accepted: None,
            turns: TurnCounter::default(),
            meter: UsageMeter::default(),
            signs: FailureSigns::default(),
            hooks: BTreeSet::new(),
            unknown: BTreeMap::new(),
            result: None,
        }
    }

    pub(crate) fn begin(&self) -> Value {
        question(INITIALIZE, &self.query.initialize())
    }

    pub(crate) fn interrupt() -> Value {
        question(INTERRUPT, &json!({ "subtype": "interrupt" }))
    }

    pub(crate) fn model(&self) -> &str {
        self.query.model()
    }

    pub(crate) fn is_verified(&self) -> bool {
        self.init.is_some()
    }

    pub(crate) fn waits_for_us(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(crate) fn tools(&self) -> &ToolSet {
        self.server.tools()
    }

    pub(crate) fn on_frame(&mut self, mut frame: Frame) -> Vec<Action> {
        let mut actions = Vec::new();
        let wrong = counts::leave_out(&mut frame);
        actions.extend(wrong.map(ConversationNote::Warning).map(Action::Note));
        match frame {
            Frame::ControlRequest { id, ask } => self.on_control_request(id, ask, &mut actions),
            Frame::Answer(answer) => self.on_answer(&answer, &mut actions),
            Frame::Withdrawn { id } => {
                if self.calls.remove(&id).is_some() {
                    actions.push(Action::Abort { request: id });
                }
            }
            Frame::Init(init) => self.on_init(init, &mut actions),
            Frame::Assistant(frame) => self.on_assistant(&frame, &mut actions),
            Frame::ToolResults { results, nested } => {
                if !nested {
                    self.on_tool_results(&results, &mut actions);
                }
            }
            Frame::Stream { piece, parent } => {
                self.on_stream(piece, parent.as_deref(), &mut actions);
            }
            Frame::RateLimit(limit) => {
                // Extra usage serves the request.
                if limit.status == "rejected" && !limit.is_extra {
                    self.signs.rejected = Some(limit.clone());
                }
                actions.push(Action::Note(ConversationNote::RateLimit(limit)));
            }
            Frame::Retry {
                attempt,
                delay_ms,
                status,
            } => actions.push(Action::Note(ConversationNote::Retry {
                attempt,
                delay_ms,
                status,
            })),
            Frame::Compaction => actions.push(Action::Note(ConversationNote::Compaction)),
            Frame::Substituted { asked, by } => {
                actions.push(match substituted(&self.query, &asked, &by) {
                    Ok(warning) => Action::Note(ConversationNote::Warning(warning)),
                    Err(error) => Action::Fail(error),
                });
            }
            Frame::Hook(event) => self.on_hook(event, &mut actions),
            Frame::Result(result) => self.on_result(*result, &mut actions),
            Frame::Progress | Frame::Known => {}
            Frame::Unknown(kind) => self.count_unknown(kind),
        }
        actions
    }

    fn on_answer(&mut self, answer: &ControlAnswer, actions: &mut Vec<Action>) {
        if answer.id != INITIALIZE || self.stage != ConversationStage::Opening {
            return;
        }
        let account = match &answer.outcome {
            Ok(response) => response.get("account").unwrap_or(&Value::Null),
            Err(reason) => {
                actions.push(Action::Fail(no_session(reason)));
                return;
            }
        };
        match checked_account(account) {
            Ok(account) => match self.prompt_at {
                PromptTiming::Once => self.prompt(account, actions),
                PromptTiming::Release => self.stage = ConversationStage::Ready(account),
            },
            Err(error) => actions.push(Action::Fail(error)),
        }
    }

    fn on_init(&mut self, init: InitFrame, actions: &mut Vec<Action>) {
        match checked_surface(&init, &self.query) {
            Ok(warnings) if self.init.is_none() => {
                let mut init = init;
                // Shown to the user, so foreign text must not get through.
                if !is_version(&init.version) {
                    init.version.clear();
                }
                actions.push(Action::Note(ConversationNote::Verified(
                    init.version.clone(),
                )));
                actions.extend(
                    warnings
                        .into_iter()
                        .map(ConversationNote::Warning)
                        .map(Action::Note),
                );
                self.meter.session_model(&init.model);
                self.init = Some(init);
            }
            Ok(_) => {}
            Err(error) => actions.push(Action::Fail(error)),
        }
    }

    fn output_allowed(&self, actions: &mut Vec<Action>) -> bool {
        let allowed = self.init.is_some() && self.is_prompted();
        if !allowed {
            actions.push(Action::Fail(too_early()));
        }
        allowed
    }

    fn on_assistant(&mut self, frame: &AssistantFrame, actions: &mut Vec<Action>) {
        if let Some(class) = &frame.error {
            self.signs.class = Some(class.clone());
        }
        if frame.is_synthetic() {
            return;
        }
        if !self.output_allowed(actions) {
            return;
        }
        let counted = self.meter.assistant(frame);
        actions.extend(counted.map(ConversationNote::from).map(Action::Note));
        if frame.nested {
            return;
        }
        if self.turns.assistant(frame) {
            actions.push(Action::Note(ConversationNote::Step));
        }
        if self.turns.is_endless(self.query.max_turns()) {
            actions.push(Action::Fail(self.query.out_of_turns()));
            return;
        }
        for block in &frame.blocks {
            match block {
                AssistantBlock::Text(text) => {
                    let block = ContentBlock::Text { text: text.clone() };
                    actions.push(Action::Note(ConversationNote::Block(block)));
                }
                AssistantBlock::ToolUse { id, name, input } => {
                    self.on_tool_use(id, name, input, actions);
                }
                AssistantBlock::Other => {}
            }
        }
        if frame.stop_reason.is_some() {
            self.on_whole_message(actions);
        }
    }

    fn on_tool_use(&mut self, id: &str, name: &str, input: &Value, actions: &mut Vec<Action>) {
        if name == OBJECT_TOOL && self.query.schema().is_some() {
            self.objects.insert(id.to_owned(), input.clone());
            return;
        }
        let name = tool_name(name).unwrap_or(name);
        let Some(start) = self.traces.begin(id, name, input) else {
            return;
        };
        actions.push(Action::Note(ConversationNote::Block(
            ContentBlock::ToolUse {
                id: id.to_owned(),
                name: name.to_owned(),
                input: input.clone(),
                meta: Map::new(),
            },
        )));
        actions.push(Action::Note(start));
    }

    fn on_tool_results(&mut self, results: &[ToolResult], actions: &mut Vec<Action>) {
        self.turns.tool_results(results);
        for result in results {
            if let Some(object) = self.objects.remove(&result.call_id) {
                if result.is_error {
                    actions.push(Action::Note(ConversationNote::FurtherTurn));
                } else {
                    self.accepted = Some(object);
                }
                continue;
            }
            actions.extend(self.traces.end_with_result(result).map(Action::Note));
        }
    }

    fn on_stream(&mut self, piece: StreamFrame, parent: Option<&str>, actions: &mut Vec<Action>) {
        if !self.output_allowed(actions) {
            return;
        }
        let counted = self.meter.stream(&piece, parent);
        actions.extend(counted.map(ConversationNote::from).map(Action::Note));
        match piece {
            StreamFrame::Text(text) if parent.is_none() => {
                actions.push(Action::Note(ConversationNote::Text(text)));
            }
            StreamFrame::Start { .. } if self.meter.is_later_turn() => {
                actions.push(Action::Note(ConversationNote::FurtherTurn));
            }
            StreamFrame::Stop => self.on_whole_message(actions),
            _ => {}
        }
    }

    fn on_result(&mut self, mut result: ResultFrame, actions: &mut Vec<Action>) {
        if self.result.is_some() {
            self.count_unknown("second result".to_owned());
            return;
        }
        if let Some(limit) = result.text.as_deref().and_then(limit_in_text) {
            result.is_error = true;
            self.signs.rejected.get_or_insert(limit);
        }
        let stop = stop_reason_of(&result);
        // A result that ran out of turns can still carry an object.
        if stop != StopReason::Error && !self.output_allowed(actions) {
            return;
        }
        actions.extend(self.unfinished_messages());
        if self.turns.result(stop) {
            actions.push(Action::Note(ConversationNote::Step));
        }
        self.result = Some(result);
        let open: Vec<String> = self.calls.keys().cloned().collect();
        for request in open {
            let cancelled = Err(ToolError::new("the call was cancelled"));
            actions.extend(self.tool_done(&request, &cancelled));
            actions.push(Action::Abort { request });
        }
        actions.extend(self.traces.close().into_iter().map(Action::Note));
        actions.push(Action::Finish);
    }

    /// A child must not fill memory with kinds.
    fn count_unknown(&mut self, kind: String) {
        if self.unknown.len() < MOST_UNKNOWN || self.unknown.contains_key(&kind) {
            *self.unknown.entry(kind).or_default() += 1;
        }
    }

    fn unfinished_messages(&mut self) -> impl Iterator<Item = Action> {
        let open = self.meter.flush().into_iter();
        open.map(ConversationNote::Usage).map(Action::Note)
    }

    pub(crate) fn flush(&mut self) -> Vec<Action> {
        let mut actions: Vec<Action> = self.unfinished_messages().collect();
        actions.extend(self.traces.close().into_iter().map(Action::Note));
        actions
    }

    fn on_control_request(&mut self, id: String, ask: ControlRequest, actions: &mut Vec<Action>) {
        let answer = match ask {
            ControlRequest::Mcp { server, message } if self.serves(&server) => {
                return self.on_mcp(id, &message, actions);
            }
            ControlRequest::Mcp { server, .. } => Err(format!("no server named {server}")),
            ControlRequest::CanUseTool {
                tool,
                input,
                call_id,
            } => Ok(if self.allows(&tool) {
                json!({ "behavior": "allow", "updatedInput": input, "toolUseID": call_id })
            } else {
                json!({ "behavior": "deny", "message": self.refusal(&tool), "toolUseID": call_id })
            }),
            ControlRequest::Hook { callback, tool } => self.hook_answer(&callback, &tool),
            ControlRequest::Other(subtype) => Err(format!("ktx does not answer {subtype}")),
        };
        actions.push(Action::Send(control_answer(&id, answer)));
    }

    fn serves(&self, server: &str) -> bool {
        server == SERVER && !self.server.tools().is_empty()
    }

    fn allows(&self, tool: &str) -> bool {
        self.query
            .expected_tools()
            .iter()
            .any(|expected| expected == tool)
    }

    /// The same on every backend.
    fn refusal(&self, tool: &str) -> String {
        let name = tool_name(tool).unwrap_or(tool);
        self.server.tools().unknown(name).message
    }

    /// Denies foreign tools (KTX-28).
    fn hook_answer(&self, callback: &str, tool: &str) -> Result<Value, String> {
        match callback {
            GATE_HOOK if self.allows(tool) => Ok(json!({})),
            GATE_HOOK => Ok(json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": self.refusal(tool),
            } })),
            FAILURE_HOOK => Ok(json!({})),
            other => Err(format!("no hook named {other}")),
        }
    }

    fn on_mcp(&mut self, id: String, message: &Value, actions: &mut Vec<Action>) {
        match self.server.answer(message) {
            McpAnswer::Reply(reply) => actions.push(Action::Send(mcp_answer(&id, &reply))),
            McpAnswer::Cancel { rpc, reply } => {
                actions.push(Action::Send(mcp_answer(&id, &reply)));
                let open = self.calls.iter().find(|(_, call)| call.rpc == rpc);
                if let Some(request) = open.map(|(request, _)| request.clone()) {
                    self.calls.remove(&request);
                    actions.push(Action::Abort { request });
                }
            }
            McpAnswer::Call {
                rpc,
                name,
                arguments,
                call_id,
            } => {
                let call_id = call_id.unwrap_or_else(|| format!("call-{rpc}"));
                if self.init.is_none() {
                    let refused = Err(ToolError::new("the session is not verified yet"));
                    let reply = self.server.result_message(&rpc, &refused);
                    actions.push(Action::Send(mcp_answer(&id, &reply)));
                    return;
                }
                let begun = self.traces.begin(&call_id, &name, &arguments);
                actions.extend(begun.map(Action::Note));
                let call = OpenCall {
                    rpc,
                    call_id: call_id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                };
                self.calls.insert(id.clone(), call);
                actions.push(Action::Call {
                    request: id,
                    name,
                    arguments,
                    call_id,
                });
            }
        }
    }

    pub(crate) fn tool_done(
        &mut self,
        request: &str,
        outcome: &Result<ToolOutput, ToolError>,
    ) -> Vec<Action> {
        let Some(call) = self.calls.remove(request) else {
            return Vec::new();
        };
        let reply = self.server.result_message(&call.rpc, outcome);
        let mut actions = Vec::new();
        let begun = (self.traces).begin(&call.call_id, &call.name, &call.arguments);
        actions.extend(begun.map(Action::Note));
        self.traces
            .record_outcome(&call.call_id, outcome, visible_text(&reply));
        actions.push(Action::Send(mcp_answer(request, &reply)));
        actions
    }

    pub(crate) fn into_record(self) -> ConversationRecord {
        let tools = self.traces.into_calls();
        let tool_failures = tools.iter().filter(|trace| trace.is_error).count();
        let (counted, used) = self.meter.into_counted();
        ConversationRecord {
            model: self
                .init
                .map(|init| init.model)
                .filter(|model| !model.is_empty()),
            tool_failures: u32::try_from(tool_failures).unwrap_or(u32::MAX),
            counted,
            used,
            tools,
            accepted: self.accepted,
            signs: self.signs,
            unknown: self.unknown,
            result: self.result,
        }
    }
}

#[cfg(test)]
mod tests;
