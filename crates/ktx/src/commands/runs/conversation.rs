//! Prompts, tool calls and answers of a run.

use ktx_diagnostics::{counted, excerpt};
use ktx_memory::one_line;
use ktx_project_store::{KEPT_RUNS, Run, RunStatus};
use serde_json::{Value, json};

use crate::invocation::OpenProject;
use crate::printer::Printer;
use crate::report::Outcome;
use crate::run_records::transcript;

pub(super) enum Conversation {
    Kept(Vec<ModelCall>),
    Absent(String),
}

pub(super) struct ModelCall {
    number: u64,
    asked: Value,
    lines: Vec<Value>,
}

impl Conversation {
    /// `facts` counts usage facts of the run.
    pub(super) fn of(run: &Run, facts: u64, project: &OpenProject) -> Outcome<Self> {
        let Some(lines) = transcript(&run.id, project)? else {
            return Ok(Self::Absent(reason(run, facts)));
        };
        let mut calls: Vec<ModelCall> = Vec::new();
        for line in lines {
            let number = line.get("call").and_then(Value::as_u64);
            let number = number.unwrap_or_default();
            let found = calls.iter_mut().find(|call| call.number == number);
            match found {
                Some(call) => call.lines.push(line),
                None => calls.push(ModelCall {
                    number,
                    asked: line,
                    lines: Vec::new(),
                }),
            }
        }
        Ok(Self::Kept(calls))
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Kept(calls) => json!({
                "status": "kept",
                "calls": calls.iter().map(ModelCall::to_json).collect::<Vec<_>>(),
            }),
            Self::Absent(reason) => json!({ "status": "none", "reason": reason }),
        }
    }

    pub(super) fn print_overview(&self, printer: &Printer) -> Outcome<()> {
        if let Self::Kept(calls) = self {
            for call in calls.iter().filter(|call| call.number > 0) {
                call.print_overview(printer)?;
            }
        }
        Ok(())
    }

    pub(super) fn print(&self, printer: &Printer) -> Outcome<()> {
        if let Self::Kept(calls) = self {
            for call in calls {
                call.print(printer)?;
            }
        }
        Ok(())
    }
}

fn reason(run: &Run, facts: u64) -> String {
    if facts == 0 {
        return "the run asked no model".to_owned();
    }
    if run.status == RunStatus::Running {
        return "no conversation has begun yet".to_owned();
    }
    format!(
        "this machine has no conversation of the run: ktx keeps those of the last {KEPT_RUNS} runs, and an older ktx \
         kept none"
    )
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl ModelCall {
    fn title(&self) -> String {
        let parts = ["stage", "connection", "unit"];
        let parts = parts.iter().map(|key| text(&self.asked, key));
        let parts: Vec<String> = parts
            .filter(|part| !part.is_empty())
            .map(one_line)
            .collect();
        format!("call {}: {}", self.number, parts.join(", "))
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        let lines = self.lines.iter();
        lines.filter(move |line| text(line, "kind") == kind)
    }

    fn print_overview(&self, printer: &Printer) -> Outcome<()> {
        let mut parts = vec![self.title()];
        let turns = self.of_kind("ended").next();
        let turns = turns.and_then(|line| line.get("turns")?.as_u64());
        parts.extend(turns.map(|turns| counted(turns, "turn")));
        let tools = self.of_kind("tool").count();
        if tools > 0 {
            parts.push(counted(tools, "tool call"));
        }
        let ends = ["answered", "failed", "ended"];
        let mut lines = self.lines.iter();
        if !lines.any(|line| ends.contains(&text(line, "kind"))) {
            parts.push("cut off".to_owned());
        }
        printer.line(&parts.join(", "))?;
        for line in self.of_kind("tool").filter(|line| is_refused(line)) {
            let answer = text(line, "answer").lines().next();
            printer.line(&format!(
                "  refused {}: {}",
                text(line, "name"),
                excerpt(answer.unwrap_or_default())
            ))?;
        }
        for line in self.of_kind("failed") {
            printer.line(&format!("  failed: {}", excerpt(text(line, "message"))))?;
        }
        Ok(())
    }

    fn print(&self, printer: &Printer) -> Outcome<()> {
        if text(&self.asked, "kind") == "full" {
            return printer.line("the record of this run ends here: it is as long as one may be");
        }
        printer.line(&format!(
            "--- {} ({})",
            self.title(),
            text(&self.asked, "role")
        ))?;
        for key in ["system", "prompt"] {
            block(key, text(&self.asked, key), printer)?;
        }
        for line in &self.lines {
            match text(line, "kind") {
                "tool" => {
                    let name = text(line, "name");
                    block(&format!("tool {name}"), text(line, "arguments"), printer)?;
                    let label = if is_refused(line) {
                        "refused"
                    } else {
                        "result"
                    };
                    block(label, text(line, "answer"), printer)?;
                }
                "failed" => block("failed", text(line, "message"), printer)?,
                "ended" => {}
                kind => block(kind, text(line, "text"), printer)?,
            }
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let mut call = self.asked.clone();
        if let Some(call) = call.as_object_mut() {
            call.remove("kind");
            let lines = self.lines.iter().map(|line| {
                let mut line = line.clone();
                if let Some(line) = line.as_object_mut() {
                    line.remove("call");
                }
                line
            });
            call.insert("events".to_owned(), Value::Array(lines.collect()));
        }
        call
    }
}

fn is_refused(line: &Value) -> bool {
    line.get("isRefused") == Some(&Value::Bool(true))
}

fn block(label: &str, text: &str, printer: &Printer) -> Outcome<()> {
    if text.is_empty() {
        return Ok(());
    }
    printer.line(&format!("[{label}]"))?;
    for line in text.lines() {
        printer.line(line)?;
    }
    Ok(())
}
