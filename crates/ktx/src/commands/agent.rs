//! `ktx agent`: questions to an agent with the project's own tools.

use std::sync::Arc;

use ktx_agent_session::{AskError, ExecutionResult, Question, RESEARCH, invoke_once};
use ktx_config::Research;
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_llm_runtime::{Deltas, LlmRuntime, RunEvent, chosen_tools};
use ktx_tool_descriptors::ToolSet;
use ktx_usage_ledger::Limits;
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::{Value, json};
use tokio_util::future::FutureExt as _;

use crate::cli::{AgentArgs, AgentCommand, AgentRunArgs};
use crate::compose::{self, LedgerSink, Spending};
use crate::context;
use crate::input::read_message;
use crate::invocation::{Invocation, OpenProject};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::totals::print_totals;

/// The stage for accounting the calls of a question.
const STAGE: &str = "research";

/// Maximum number of characters shown of a tool call's arguments.
const SHOWN: usize = 100;

pub(crate) fn run(args: &AgentArgs, invocation: &Invocation) -> Outcome {
    match &args.command {
        AgentCommand::Run(args) => ask(args, invocation)
            .map_err(|failure| told(failure.of_run(&invocation.run_id), args, invocation)),
    }
}

/// Prints a failure as an event, too, if events were requested.
fn told(failure: Failure, args: &AgentRunArgs, invocation: &Invocation) -> Failure {
    let Ok(printer) = invocation.printer(&args.output) else {
        return failure;
    };
    if args.events {
        let mut line = json!({ "type": "error" });
        let error = failure.to_json()["error"].clone();
        if let (Some(line), Value::Object(error)) = (line.as_object_mut(), error) {
            line.extend(error);
        }
        if let Err(unheard) = printer.json_line(&line) {
            tracing::debug!(?unheard, "nobody reads the events of the run");
        }
    }
    failure
}

/// How a run is reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Telling {
    /// The answer as it is written, for display.
    Live,
    /// The complete answer.
    Whole,
    Result,
    /// Every event as a line of JSON.
    Events,
}

fn ask(args: &AgentRunArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let limits = compose::limits_of(&args.spending)?;
    let invocation = &invocation.ending_after(limits.time);
    let message = read_message(&args.message)?;
    let project = open_project(invocation, &printer)?;
    let telling = match printer.mode {
        _ if args.events => Telling::Events,
        Mode::Pretty => Telling::Live,
        Mode::Plain => Telling::Whole,
        Mode::Json => Telling::Result,
    };
    let research = &project.config.research;
    if !research.enabled {
        return Err(Failure::new(
            Code::AgentDisabled,
            "the research agent may not run here: `agent.run_research.enabled` is false",
        )
        .hint("set `agent: {run_research: {enabled: true}}` in ktx.yaml"));
    }
    if research.max_iterations == 0 {
        return Err(Failure::new(
            Code::NoTurns,
            "the research agent has no turns: `agent.run_research.max_iterations` is 0",
        )
        .hint("set it to 1 or more in ktx.yaml"));
    }
    let tools = tools(research, invocation, &project)?;
    let sink = Arc::new(LedgerSink::new(invocation, &project, printer.clone()));
    let work = Work {
        invocation,
        project: &project,
        printer: &printer,
        limits,
        telling,
    };
    let result = work.asked(message, tools, &sink);
    sink.finish();
    let result = result?;
    work.print(&result)?;
    if result.is_error {
        Ok(Exit::Partial)
    } else {
        Ok(Exit::Success)
    }
}

fn tools(research: &Research, invocation: &Invocation, project: &OpenProject) -> Outcome<ToolSet> {
    let context = context::open_for_agent(invocation, project)?;
    let all = ktx_context_tools::context_tools(&context)
        .map_err(|error| Failure::from_error(Code::Internal, &error))?;
    chosen_tools(&all, &research.toolset).map_err(|error| {
        let failure = Failure::new(
            Code::UnknownTool,
            format!("`agent.run_research.default_toolset`: {}", error.message),
        );
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

struct Work<'a> {
    invocation: &'a Invocation,
    project: &'a OpenProject,
    printer: &'a Printer,
    limits: Limits,
    telling: Telling,
}

impl Work<'_> {
    fn asked(
        &self,
        message: String,
        tools: ToolSet,
        sink: &Arc<LedgerSink>,
    ) -> Outcome<ExecutionResult> {
        let (invocation, project) = (self.invocation, self.project);
        let spending = Spending {
            limits: self.limits,
            roles: &[ModelRole::Default],
        };
        let Some(runtime) = compose::llm(invocation, project, sink, spending)? else {
            return Err(compose::no_model("an agent needs a model"));
        };
        let turns = project.config.research.max_iterations;
        let max_turns = u32::try_from(turns).unwrap_or(u32::MAX);
        compose::block_on(|cancel| async move {
            let question = Question {
                system: RESEARCH.to_owned(),
                history: Vec::new(),
                message,
                tools,
                max_turns,
                deltas: match self.telling {
                    Telling::Live | Telling::Events => Deltas::AsTheyCome,
                    Telling::Whole | Telling::Result => Deltas::ByTurn,
                },
                stage: STAGE.to_owned(),
                run_id: invocation.run_id.clone(),
                cancel: cancel.clone(),
            };
            let result = self.heard(runtime.as_ref(), question).await;
            // After Ctrl-C, do not wait any more.
            runtime.settle().with_cancellation_token(&cancel).await;
            result
        })
    }

    /// Asks and reports events. A printing error does not end a run that is being billed; it is
    /// reported afterwards.
    async fn heard(
        &self,
        runtime: &dyn LlmRuntime,
        question: Question,
    ) -> Outcome<ExecutionResult> {
        let mut teller = Teller::new(self.printer, self.telling, &self.invocation.run_id);
        let mut printed = Ok(());
        let result = invoke_once(runtime, question, |event| {
            if printed.is_ok() {
                printed = teller.tell(event);
            }
        })
        .await;
        let result = result.map_err(failure)?;
        printed.map(|()| result)
    }

    fn print(&self, result: &ExecutionResult) -> Outcome<()> {
        match self.telling {
            Telling::Result => return self.printer.json(result),
            Telling::Events => {
                let mut line = json!({ "type": "result" });
                if let (Some(line), Ok(Value::Object(result))) =
                    (line.as_object_mut(), serde_json::to_value(result))
                {
                    line.extend(result);
                }
                return self.printer.json_line(&line);
            }
            Telling::Whole if result.response.is_empty() => {}
            Telling::Whole => self
                .printer
                .page(&format!("{}\n", result.response.trim_end()))?,
            Telling::Live => self.printer.out("\n")?,
        }
        print_totals(self.invocation, self.project, self.printer);
        if let Some(reason) = &result.error_reason {
            let turns = self.project.config.research.max_iterations;
            self.printer.note(&format!(
                "warning: the answer is incomplete: {reason}; `agent.run_research.max_iterations` is {turns}"
            ));
        }
        Ok(())
    }
}

/// Reports events during a run.
struct Teller<'a> {
    printer: &'a Printer,
    telling: Telling,
    run_id: &'a RunId,
    /// Whether the current line of the answer is unfinished.
    is_within_line: bool,
}

impl<'a> Teller<'a> {
    const fn new(printer: &'a Printer, telling: Telling, run_id: &'a RunId) -> Self {
        Self {
            printer,
            telling,
            run_id,
            is_within_line: false,
        }
    }

    fn tell(&mut self, event: &RunEvent) -> Outcome<()> {
        match (self.telling, event) {
            (Telling::Events, event) => match line_of(event) {
                Some(mut line) => {
                    line["run_id"] = json!(self.run_id);
                    self.printer.json_line(&line)
                }
                None => Ok(()),
            },
            (Telling::Live, RunEvent::TextDelta(text)) => {
                self.is_within_line = !text.ends_with('\n');
                self.printer.out(text)
            }
            (
                Telling::Live | Telling::Whole,
                RunEvent::ToolCallStart {
                    name, arguments, ..
                },
            ) => {
                let arguments = arguments.to_string();
                let shown: String = arguments.chars().take(SHOWN).collect();
                let more = if shown.len() < arguments.len() {
                    " …"
                } else {
                    ""
                };
                self.note(&format!("{name} {shown}{more}"))
            }
            (Telling::Live | Telling::Whole, RunEvent::Status(words)) => self.note(words),
            _ => Ok(()),
        }
    }

    /// Prints a line on stderr, below the answer so far if both share a terminal.
    fn note(&mut self, words: &str) -> Outcome<()> {
        if std::mem::take(&mut self.is_within_line) {
            self.printer.out("\n")?;
        }
        self.printer.note(words);
        Ok(())
    }
}

fn failure(error: AskError) -> Failure {
    match error {
        AskError::Model(error) => Failure::from(error),
        AskError::Empty | AskError::TooLong { .. } => Failure::from_error(Code::Message, &error),
    }
}

/// Formats an event as a line of JSON. The result contains the whole answer, and the failure the
/// error.
fn line_of(event: &RunEvent) -> Option<Value> {
    Some(match event {
        RunEvent::TextDelta(text) => json!({ "type": "text", "text": text }),
        RunEvent::ToolCallStart {
            call_id,
            name,
            arguments,
        } => {
            json!({ "type": "tool_call", "call_id": call_id, "name": name, "arguments": arguments })
        }
        RunEvent::ToolCallResult {
            call_id,
            markdown,
            is_error,
        } => {
            json!({ "type": "tool_result", "call_id": call_id, "result": markdown, "is_error": is_error })
        }
        RunEvent::UsageReport(fact) => json!({
            "type": "usage",
            "trace_id": fact.trace_id(),
            "message_id": fact.message_id,
            "model": fact.model,
            "prompt_tokens": fact.usage.input_total(),
            "completion_tokens": fact.usage.output,
        }),
        RunEvent::Status(words) => json!({ "type": "status", "text": words }),
        RunEvent::Error(_) | RunEvent::AssistantFinal(_) | RunEvent::Done => return None,
    })
}
