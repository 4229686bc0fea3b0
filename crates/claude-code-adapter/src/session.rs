//! The shell around one conversation.

mod begun;
mod notes;
mod retries;
mod stop;
mod tools;

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::Duration;

use ktx_llm_runtime::{CallMetrics, LlmError, LlmErrorKind, StopReason};
use ktx_tool_descriptors::{ToolError, ToolOutput};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::RuntimeCall;
use crate::conversation::{Action, Conversation, ConversationNote};
use crate::host::WarmUp;
use crate::invocation::Query;
use crate::link::ChildLink;
use crate::process::{ChildExit, ProcessEnding, RunningChild, STAYED};
use crate::protocol::{DecodedLine, Frame, LineDecoder};
use crate::report::{
    CallReport, DeadProcess, RUN_BY_HAND, broken_message, dead_process_error, endless_line,
    log_unknown, wait_too_long, with_complaints,
};
use crate::settings::{Isolation, Timeouts};
use crate::surface::hook_error;
use crate::unattributed::sum;

use begun::OpenMessages;
use retries::Retries;
use stop::{ProcessState, StopCause};

const LONGEST_WAIT: Duration = Duration::from_hours(1);

pub(crate) struct ChildSession<'a> {
    call: RuntimeCall<'a>,
    observe: &'a mut (dyn FnMut(&ConversationNote) + Send),
    warm_up: WarmUp<'a>,
    conversation: Conversation,
    begun: OpenMessages<'a>,
    retries: Retries,
    decoder: LineDecoder,
    tools: JoinSet<(String, Result<ToolOutput, ToolError>)>,
    tokens: BTreeMap<String, CancellationToken>,
    boundaries: Vec<Duration>,
    stray: Vec<String>,
    process_state: ProcessState,
    deadline: Instant,
    /// End of the call if only keep-alives arrive.
    idle_until: Instant,
    /// End of the last wait that the child announced.
    announced_until: Instant,
    interrupted: bool,
    /// Why a waiting child must not get its prompt.
    held_back: Option<StopCause>,
    model: String,
    /// Released when the child has ended.
    place: Option<OwnedSemaphorePermit>,
}

impl<'a> ChildSession<'a> {
    pub(crate) fn new(
        call: RuntimeCall<'a>,
        observe: &'a mut (dyn FnMut(&ConversationNote) + Send),
        warm_up: WarmUp<'a>,
        link: ChildLink,
    ) -> (Self, RunningChild) {
        let session = Self {
            call,
            observe,
            warm_up,
            model: link.conversation.model().to_owned(),
            conversation: link.conversation,
            begun: OpenMessages::new(call),
            retries: Retries::default(),
            decoder: link.decoder,
            tools: JoinSet::new(),
            tokens: BTreeMap::new(),
            boundaries: Vec::new(),
            stray: Vec::new(),
            process_state: ProcessState::Running,
            deadline: Instant::now() + call.host.settings.timeouts.initialize,
            idle_until: Instant::now() + call.host.settings.timeouts.idle,
            announced_until: Instant::now(),
            interrupted: false,
            held_back: None,
            place: Some(link.place),
        };
        (session, link.running)
    }

    pub(crate) fn release(&mut self, query: Query, running: &RunningChild) {
        let actions = self.conversation.release(query);
        if !actions.is_empty() {
            let closed = self.call.host.limits.closed(&self.model);
            let hook = actions.iter().find_map(|action| self.refused_hook(action));
            self.held_back = hook.or(closed.map(StopCause::HeldBack));
        }
        if self.held_back.is_some() {
            return;
        }
        for action in actions {
            match action {
                Action::Note(note) => self.note(&note),
                other => self.act(other, running),
            }
        }
        if self.conversation.is_prompted() {
            self.deadline = Instant::now() + self.limits().surface;
            self.has_worked(Duration::ZERO);
        }
    }

    fn refused_hook(&self, action: &Action) -> Option<StopCause> {
        match (action, self.call.host.settings.isolation) {
            (Action::Note(ConversationNote::Hook(event)), Isolation::Strict) => {
                Some(StopCause::Fail(hook_error(event)))
            }
            _ => None,
        }
    }

    fn limits(&self) -> &'a Timeouts {
        &self.call.host.settings.timeouts
    }

    pub(crate) async fn drive(mut self, mut running: RunningChild) -> CallReport {
        let stop = match self.held_back.take() {
            Some(stop) => stop,
            None => self.read(&mut running).await,
        };
        self.tools.abort_all();
        for token in self.tokens.values() {
            token.cancel();
        }
        if self.can_exit_in_background(&stop) {
            let spares = &self.call.host.spares;
            spares.exit_in_background(running, self.place.take(), self.call.demand);
            return self.report(stop, None, "");
        }
        let ending = match &stop {
            StopCause::Result | StopCause::Ended(_) => ProcessEnding::Wait,
            StopCause::Watchdog(_) | StopCause::Cancelled | StopCause::HeldBack(_) => {
                ProcessEnding::Stop
            }
            StopCause::Fail(_) => ProcessEnding::Kill,
        };
        let ChildExit {
            status,
            ended_by_itself,
            complaints,
        } = running.end(ending, self.limits()).await;
        drop(self.place.take());
        if matches!(stop, StopCause::Result) && !ended_by_itself {
            self.note(&ConversationNote::Warning(STAYED.to_owned()));
        }
        for action in self.conversation.flush() {
            if let Action::Note(note) = action {
                self.note(&note);
            }
        }
        // The status of a child that ktx has ended says nothing.
        self.report(stop, status.filter(|_| ended_by_itself), &complaints)
    }

    /// True if the process may still be exiting when the call returns: only after a complete,
    /// natural answer, and never for the probe.
    fn can_exit_in_background(&self, stop: &StopCause) -> bool {
        let natural = self.conversation.stop_reason() == Some(StopReason::Natural);
        matches!(stop, StopCause::Result)
            && natural
            && self.call.demand.is_some()
            && !self.interrupted
    }

    /// Has no effect once an end has begun.
    fn wait_at_most(&mut self, limit: Duration) {
        if !self.interrupted && self.process_state == ProcessState::Running {
            self.deadline = Instant::now() + limit;
        }
    }

    fn exceeds_run_end(&self) -> bool {
        let end = self.call.host.settings.ends_at;
        end.is_some_and(|end| self.announced_until.into_std() > end)
    }

    fn has_worked(&mut self, wait: Duration) {
        self.idle_until = Instant::now() + self.limits().idle.saturating_add(wait);
    }

    async fn read(&mut self, running: &mut RunningChild) -> StopCause {
        let mut buffer = vec![0; 64 * 1024];
        let cancel = self.call.caller.cancel.clone();
        loop {
            let deadline = self.deadline.min(self.idle_until);
            let watched = self.process_state != ProcessState::Running
                || self.interrupted
                || !self.conversation.waits_for_us();
            let (stdout, child) = running.parts();
            let mut lines = Vec::new();
            tokio::select! {
                () = cancel.cancelled(), if !self.interrupted => {
                    if let Some(stop) = self.interrupt(running) {
                        return stop;
                    }
                }
                read = stdout.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => {
                        let last = self.decoder.finish();
                        if let Some(stop) = last.and_then(|line| self.take(line, running)) {
                            return stop;
                        }
                        return self.stop_at_end(self.process_state.status());
                    }
                    Ok(count) => match self.decoder.push(buffer.get(..count).unwrap_or_default()) {
                        Ok(complete) => lines = complete,
                        Err(error) => return StopCause::Fail(endless_line(&error)),
                    },
                },
                Some(done) = self.tools.join_next() => self.tool_done(done, running),
                status = RunningChild::exited(child), if self.process_state == ProcessState::Running => {
                    self.process_state = ProcessState::Gone(status);
                    self.deadline = Instant::now() + self.limits().drain;
                }
                () = tokio::time::sleep_until(deadline), if watched => {
                    return self.too_late();
                }
            }
            for line in lines {
                if let Some(stop) = self.take(line, running) {
                    return stop;
                }
            }
        }
    }

    fn interrupt(&mut self, running: &RunningChild) -> Option<StopCause> {
        self.interrupted = true;
        for token in self.tokens.values() {
            token.cancel();
        }
        if !self.conversation.is_prompted() {
            return Some(StopCause::Cancelled);
        }
        running.input.send(&Conversation::interrupt());
        self.deadline = Instant::now() + self.limits().interrupt;
        None
    }

    fn stop_at_end(&self, status: Option<ExitStatus>) -> StopCause {
        if self.interrupted {
            StopCause::Cancelled
        } else {
            StopCause::Ended(status)
        }
    }

    fn too_late(&self) -> StopCause {
        if let ProcessState::Gone(status) = self.process_state {
            return self.stop_at_end(status);
        }
        if self.interrupted {
            return StopCause::Cancelled;
        }
        let limits = self.limits();
        let is_idle = self.idle_until < self.deadline;
        let (what, limit) = if is_idle {
            ("Claude Code was running but did not work", limits.idle)
        } else if !self.conversation.is_prompted() {
            ("Claude Code did not start its session", limits.initialize)
        } else if !self.conversation.is_verified() {
            (
                "Claude Code did not report what the model can reach",
                limits.surface,
            )
        } else {
            ("Claude Code was silent", limits.silence)
        };
        let seconds = limit.as_secs_f64();
        let for_how_long = if is_idle || self.conversation.is_verified() {
            "for"
        } else {
            "within"
        };
        StopCause::Watchdog(
            LlmError::new(
                LlmErrorKind::Timeout,
                format!("{what} {for_how_long} {seconds} s"),
            )
            .hint(RUN_BY_HAND),
        )
    }

    /// A sign of life is not always progress.
    fn take(&mut self, line: DecodedLine, running: &RunningChild) -> Option<StopCause> {
        let value = match line {
            DecodedLine::Json(value) => value,
            DecodedLine::Broken(broken) => return Some(StopCause::Fail(broken_message(&broken))),
            DecodedLine::Stray(text) => {
                tracing::debug!(text, "Claude Code wrote a line that is not a message");
                if self.stray.len() < 20 {
                    self.stray.push(text);
                }
                return None;
            }
        };
        let mut stop = None;
        let frame = Frame::read(&value);
        let works = frame.is_work();
        if let Some(error) = self.retries.observe(&frame) {
            return Some(StopCause::Watchdog(error));
        }
        for action in self.conversation.on_frame(frame) {
            if let Some(refused) = self.refused_hook(&action) {
                return Some(refused);
            }
            match action {
                Action::Note(note) => {
                    // The prompt is the next action after the payer.
                    if matches!(note, ConversationNote::Payer(_))
                        && let Some(limit) = self.call.host.limits.closed(&self.model)
                    {
                        return Some(StopCause::HeldBack(limit));
                    }
                    if note == ConversationNote::FurtherTurn
                        && let Err(refused) = self.call.host.settings.gate.look()
                    {
                        return Some(StopCause::Fail(refused));
                    }
                    if let ConversationNote::Retry { delay_ms, .. } = &note {
                        let wait = Duration::from_millis(*delay_ms).min(LONGEST_WAIT);
                        self.announced_until = Instant::now() + wait;
                        if self.exceeds_run_end() {
                            stop = Some(StopCause::Watchdog(wait_too_long(wait)));
                        }
                    }
                    self.note(&note);
                }
                Action::Fail(error) => {
                    stop = Some(StopCause::Fail(error));
                    break;
                }
                Action::Finish => stop = Some(StopCause::Result),
                other => self.act(other, running),
            }
        }
        // Other lines do not end the announced wait.
        let extra = self
            .announced_until
            .saturating_duration_since(Instant::now());
        if works {
            self.has_worked(extra);
        }
        if self.conversation.is_verified() {
            self.wait_at_most(self.limits().silence.saturating_add(extra));
        } else if self.conversation.is_prompted()
            && matches!(value.get("type"), Some(kind) if kind == "control_response")
        {
            self.wait_at_most(self.limits().surface);
        }
        stop
    }

    fn act(&mut self, action: Action, running: &RunningChild) {
        match action {
            Action::Send(line) => running.input.send(&line),
            Action::Call {
                request,
                name,
                arguments,
                call_id,
            } => {
                self.call(request, name, arguments, call_id);
            }
            Action::Abort { request } => {
                if let Some(token) = self.tokens.remove(&request) {
                    token.cancel();
                }
            }
            Action::Note(_) | Action::Fail(_) | Action::Finish => {}
        }
    }

    fn call(&mut self, request: String, name: String, arguments: Value, call_id: String) {
        let cancel = self.call.caller.cancel.child_token();
        self.tokens.insert(request.clone(), cancel.clone());
        let tools = self.conversation.tools().clone();
        let call = tools::RunningCall {
            name,
            arguments,
            id: call_id,
            cancel,
            limit: self.limits().tool,
        };
        self.tools
            .spawn(async move { (request, tools::run(tools, call).await) });
    }

    fn tool_done(
        &mut self,
        done: Result<(String, Result<ToolOutput, ToolError>), tokio::task::JoinError>,
        running: &RunningChild,
    ) {
        let Ok((request, outcome)) = done else { return };
        self.tokens.remove(&request);
        for action in self.conversation.tool_done(&request, &outcome) {
            match action {
                Action::Note(note) => self.note(&note),
                other => self.act(other, running),
            }
        }
        self.has_worked(Duration::ZERO);
        self.wait_at_most(self.limits().silence);
    }

    fn report(self, stop: StopCause, status: Option<ExitStatus>, complaints: &str) -> CallReport {
        let elapsed = self.call.started.elapsed();
        let verified = self.conversation.is_verified();
        let prompted = self.conversation.is_prompted();
        let record = self.conversation.into_record();
        let metrics = CallMetrics {
            total: elapsed,
            usage: sum(&record.used),
            steps: u32::try_from(self.boundaries.len()).unwrap_or(u32::MAX),
            step_boundaries: self.boundaries,
            tool_failures: record.tool_failures,
            model: record.model.clone(),
            reported_cost_usd: record.result.as_ref().and_then(|result| result.cost_usd),
        };
        log_unknown(&record, &self.stray);
        self.call.report_sums(&record);
        let never_began = !self.interrupted
            && match &stop {
                StopCause::Ended(_) => !verified && record.result.is_none(),
                StopCause::Watchdog(_) => !prompted,
                StopCause::Result
                | StopCause::Fail(_)
                | StopCause::Cancelled
                | StopCause::HeldBack(_) => false,
            };
        let held_back = !self.interrupted && matches!(stop, StopCause::HeldBack(_));
        let ending = match (stop, record.result) {
            (StopCause::HeldBack(error), _) => Err(error),
            (StopCause::Fail(error) | StopCause::Watchdog(error), _) => {
                Err(with_complaints(error, complaints))
            }
            (StopCause::Cancelled, _) => Err(LlmError::cancelled()),
            (_, _) if self.interrupted => Err(LlmError::cancelled()),
            (_, Some(result)) => Ok(result),
            (StopCause::Ended(seen), None) => {
                let error = dead_process_error(&DeadProcess {
                    surface_verified: verified,
                    program_configured: self.call.host.settings.program.is_some(),
                    status: seen.or(status),
                    complaints,
                });
                Err(with_complaints(error, complaints))
            }
            (StopCause::Result, None) => {
                Err(LlmError::new(LlmErrorKind::Internal, "the result is lost"))
            }
        };
        CallReport {
            ending: ending.map_err(|error| self.call.host.redacted(error)),
            signs: record.signs,
            accepted: record.accepted,
            tools: record.tools,
            metrics,
            never_began,
            held_back,
        }
    }
}
