//! Performs scenario acts.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use ktx_tool_descriptors::ObjectSchema;
use serde_json::{Map, Value, json};

use super::channel::{say, write};
use super::scenario::{ApiError, Group, ScenarioStep, ToolUse};
use super::session::Session;
use super::{ScenarioHalt, account, fault, frames, mcp};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolEnding {
    Succeeded,
    Failed,
}

impl Session {
    pub(crate) fn act(&mut self, act: ScenarioStep) -> Result<(), ScenarioHalt> {
        match act {
            ScenarioStep::Text(text) => self.text_message(&text),
            ScenarioStep::Tools(uses) => self.tool_message(&uses),
            ScenarioStep::Object(object) => self.object_message(&object),
            ScenarioStep::ApiError(error) => self.api_error(&error),
            ScenarioStep::End(changes) => {
                self.ending = changes;
                self.ending
                    .entry("subtype")
                    .or_insert_with(|| json!("success"));
                Ok(())
            }
            ScenarioStep::Raw(line) => say(&line),
            ScenarioStep::Junk(text) => write(text.as_bytes()),
            ScenarioStep::Split(text) => self.split_message(&text),
            ScenarioStep::BigLine(bytes) => big_line(bytes),
            ScenarioStep::BrokenStream(text) => self.broken_stream(&text),
            ScenarioStep::AskPermission(tool) => self.ask_permission(&tool),
            ScenarioStep::Retry(retry) => system("api_retry", &retry),
            ScenarioStep::RateLimit(info) => {
                say(&json!({ "type": "rate_limit_event", "rate_limit_info": info }))
            }
            ScenarioStep::FloodStderr(bytes) => flood(bytes),
            ScenarioStep::Complain(text) => {
                super::channel::complain(&text);
                Ok(())
            }
            ScenarioStep::Mark(name) => Ok(mark(&name)?),
            ScenarioStep::Sleep(milliseconds) => {
                sleep(milliseconds);
                Ok(())
            }
            ScenarioStep::Hang => loop {
                match self.channel.receive() {
                    Ok(_) => {}
                    Err(ScenarioHalt::InputClosed) => sleep(600_000),
                    Err(other) => return Err(other),
                }
            },
            ScenarioStep::IgnoreTermination => ignore_termination(),
            ScenarioStep::CloseStdout => close_stdout(),
            ScenarioStep::Daemon(group) => self.daemon(group),
            ScenarioStep::Exit(code) => Err(ScenarioHalt::Exit(code)),
            ScenarioStep::Die => die(),
        }
    }

    /// Returns the message's id, unless the turns are used up.
    fn begin(&mut self) -> Result<Option<String>, ScenarioHalt> {
        if self.messages >= u64::from(self.options.max_turns) {
            let turns = self.options.max_turns;
            let ending = json!({
                "subtype": "error_max_turns", "is_error": true, "terminal_reason": "max_turns",
                "stop_reason": "tool_use", "result": null,
                "errors": [format!("Reached maximum number of turns ({turns})")],
            });
            self.ending = ending.as_object().cloned().unwrap_or_default();
            return Ok(None);
        }
        self.messages += 1;
        let id = format!("msg_{}_{:04}", self.stem, self.messages);
        say(&frames::message_start(&id, &self.model_name()))?;
        Ok(Some(id))
    }

    fn text_message(&mut self, text: &str) -> Result<(), ScenarioHalt> {
        let Some(id) = self.begin()? else {
            return Ok(());
        };
        let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
        say(&frames::text_delta(head))?;
        say(&frames::text_delta(tail))?;
        let block = json!({ "type": "text", "text": text });
        say(&frames::block(&id, &self.model_name(), &block))?;
        text.clone_into(&mut self.text);
        self.end_message(&id, "end_turn")
    }

    fn split_message(&mut self, text: &str) -> Result<(), ScenarioHalt> {
        let Some(id) = self.begin()? else {
            return Ok(());
        };
        let block = json!({ "type": "text", "text": text });
        let line = format!("{}\n", frames::block(&id, &self.model_name(), &block));
        let inside = (1..line.len()).find(|at| !line.is_char_boundary(*at));
        let Some(at) = inside else {
            return fault("the text has no long character");
        };
        let (head, tail) = line.as_bytes().split_at(at);
        write(head)?;
        sleep(50);
        write(tail)?;
        text.clone_into(&mut self.text);
        self.end_message(&id, "end_turn")
    }

    fn broken_stream(&mut self, text: &str) -> Result<(), ScenarioHalt> {
        let Some(id) = self.begin()? else {
            return Ok(());
        };
        say(&frames::text_delta(text))?;
        self.cut += 1;
        account::bill(self, &id, &frames::usage(frames::output_so_far(text)));
        let block = json!({ "type": "text", "text": text });
        say(&frames::block(&id, &self.model_name(), &block))
    }

    fn end_message(&self, id: &str, stop_reason: &str) -> Result<(), ScenarioHalt> {
        account::bill(self, id, &frames::usage(frames::OUTPUT));
        for line in frames::message_end(stop_reason) {
            say(&line)?;
        }
        Ok(())
    }

    fn tool_message(&mut self, uses: &[ToolUse]) -> Result<(), ScenarioHalt> {
        let Some(id) = self.begin()? else {
            return Ok(());
        };
        let mut mine = Vec::new();
        for tool in uses {
            self.calls += 1;
            let call = format!("toolu_{:04}", self.calls);
            let name = self.full_name(&tool.name);
            let block =
                json!({ "type": "tool_use", "id": call, "name": name, "input": tool.input });
            say(&frames::block(&id, &self.model_name(), &block))?;
            mine.push((call, name, tool));
        }
        self.end_message(&id, "tool_use")?;
        let mut pending = BTreeMap::new();
        for (call, name, tool) in mine {
            if !self.options.allowed.contains(&name) {
                self.refused_call(&call, &name)?;
                continue;
            }
            let Some(client) = &mut self.client else {
                return fault("there is no tool server to call");
            };
            let started = client.start(&mut self.channel, &tool.name, &tool.input, &call)?;
            pending.insert(started.0, started.1);
        }
        while !pending.is_empty() {
            let (call, text, failed) = mcp::answer(&mut self.channel, &mut pending)?;
            if failed {
                let hook = json!({
                    "subtype": "hook_callback", "callback_id": "failure",
                    "input": { "hook_event_name": "PostToolUseFailure", "tool_use_id": call, "error": text },
                });
                self.channel.asked(&hook)?;
            }
            let ending = if failed {
                ToolEnding::Failed
            } else {
                ToolEnding::Succeeded
            };
            self.report(&call, &text, ending)?;
        }
        Ok(())
    }

    fn full_name(&self, name: &str) -> String {
        let ours = format!("mcp__ktx__{name}");
        if self.options.allowed.contains(&ours) {
            ours
        } else {
            name.to_owned()
        }
    }

    fn refused_call(&mut self, call: &str, name: &str) -> Result<(), ScenarioHalt> {
        let answer = self.channel.asked(&json!({
            "subtype": "hook_callback", "callback_id": "gate", "tool_use_id": call,
            "input": { "hook_event_name": "PreToolUse", "tool_name": name, "tool_input": {}, "tool_use_id": call },
        }))?;
        let decision = &answer["hookSpecificOutput"];
        if decision["hookEventName"] != "PreToolUse" || decision["permissionDecision"] != "deny" {
            return fault(format!("the gate let `{name}` through: {answer}"));
        }
        let reason = decision["permissionDecisionReason"]
            .as_str()
            .unwrap_or_default();
        self.report(call, reason, ToolEnding::Failed)
    }

    fn report(&mut self, call: &str, text: &str, ending: ToolEnding) -> Result<(), ScenarioHalt> {
        self.results.push(json!({ "call": call, "text": text }));
        let is_error = (ending == ToolEnding::Failed).then_some(true);
        say(&frames::tool_result(call, text, is_error))
    }

    fn ask_permission(&mut self, tool: &ToolUse) -> Result<(), ScenarioHalt> {
        let name = self.full_name(&tool.name);
        let answer = self.channel.asked(&json!({
            "subtype": "can_use_tool", "tool_name": name, "input": tool.input, "tool_use_id": "toolu_asked",
        }))?;
        let allow =
            json!({ "behavior": "allow", "updatedInput": tool.input, "toolUseID": "toolu_asked" });
        let right = if self.options.allowed.contains(&name) {
            answer == allow
        } else {
            answer["behavior"] == "deny"
                && answer["toolUseID"] == "toolu_asked"
                && answer["message"]
                    .as_str()
                    .is_some_and(|message| !message.is_empty())
        };
        if !right {
            return fault(format!(
                "the permission for `{name}` was answered with {answer}"
            ));
        }
        self.seen
            .push(json!({ "permission": name, "behavior": answer["behavior"] }));
        Ok(())
    }

    fn object_message(&mut self, object: &Value) -> Result<(), ScenarioHalt> {
        let Some(schema) = self.schema.clone() else {
            return fault("there is no schema to answer with an object");
        };
        let Some(id) = self.begin()? else {
            return Ok(());
        };
        self.calls += 1;
        let call = format!("toolu_{:04}", self.calls);
        let block =
            json!({ "type": "tool_use", "id": call, "name": "StructuredOutput", "input": object });
        say(&frames::block(&id, &self.model_name(), &block))?;
        self.end_message(&id, "tool_use")?;
        let violations = match ObjectSchema::new(schema) {
            Ok(schema) => schema.violations(object),
            Err(error) => return fault(format!("the schema is not one: {error}")),
        };
        if violations.is_empty() {
            self.text = object.to_string();
            self.object = Some(object.clone());
            return say(&frames::tool_result(&call, "accepted", None));
        }
        let text = format!(
            "Output does not match required schema: {}",
            violations.join("; ")
        );
        say(&frames::tool_result(&call, &text, Some(true)))
    }

    pub(crate) fn api_error(&mut self, error: &ApiError) -> Result<(), ScenarioHalt> {
        say(&frames::synthetic(&error.class, &error.text))?;
        let ending = json!({
            "subtype": "success", "is_error": true, "terminal_reason": "api_error",
            "stop_reason": "stop_sequence", "result": error.text, "api_error_status": error.status,
        });
        let ending: Map<String, Value> = ending.as_object().cloned().unwrap_or_default();
        self.ending = ending
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect();
        Ok(())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the fake leaves a process behind on purpose"
    )]
    fn daemon(&mut self, group: Group) -> Result<(), ScenarioHalt> {
        use std::os::unix::process::CommandExt as _;
        let mut command = std::process::Command::new("sleep");
        command.arg("600");
        match group {
            Group::Same => {}
            Group::Own => {
                command.process_group(0);
            }
            Group::Session => {
                let script = "echo $$ > daemon.new && mv daemon.new daemon.pid && exec sleep 600";
                command = std::process::Command::new("setsid");
                command.args(["sh", "-c", script]).env_clear();
            }
        }
        let child = command.spawn()?;
        self.seen.push(json!({ "daemon": child.id() }));
        Ok(())
    }
}

/// Renames a temporary file, so that readers see complete content.
#[expect(
    clippy::disallowed_methods,
    reason = "the fake is a program of its own"
)]
fn mark(name: &str) -> std::io::Result<()> {
    let beside = format!("{name}.new");
    std::fs::write(&beside, std::process::id().to_string())?;
    std::fs::rename(beside, name)
}

#[expect(clippy::disallowed_methods, reason = "the fake is slow on purpose")]
fn sleep(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

fn flood(bytes: usize) -> Result<(), ScenarioHalt> {
    let line = format!("{}\n", "noise ".repeat(100));
    let mut err = std::io::stderr().lock();
    for _ in 0..bytes.div_ceil(line.len()) {
        err.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn ignore_termination() -> Result<(), ScenarioHalt> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let guard = runtime.enter();
    // A handler stays installed after its stream is dropped.
    drop(signal(SignalKind::terminate())?);
    drop(guard);
    runtime.shutdown_background();
    Ok(())
}

fn close_stdout() -> Result<(), ScenarioHalt> {
    let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing).map_err(std::io::Error::from)?;
    Ok(())
}

fn die() -> Result<(), ScenarioHalt> {
    use rustix::process::{Signal, getpid, kill_process};
    kill_process(getpid(), Signal::KILL).map_err(std::io::Error::from)?;
    sleep(60_000);
    Ok(())
}

fn system(subtype: &str, more: &Value) -> Result<(), ScenarioHalt> {
    let frame = json!({ "type": "system", "subtype": subtype });
    let more = more.as_object().cloned().unwrap_or_default();
    say(&frames::changed(frame, &more))
}

fn big_line(bytes: usize) -> Result<(), ScenarioHalt> {
    let piece = vec![b'x'; 1024 * 1024];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(piece.len());
        write(piece.get(..now).unwrap_or_default())?;
        left -= now;
    }
    write(b"\n")
}
