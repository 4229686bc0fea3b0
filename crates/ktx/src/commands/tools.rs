//! `ktx tools`.

use std::sync::Arc;

use ktx_context_tools::{CustomTool, Parameter, custom_tools};
use ktx_diagnostics::{Code, Exit, Failure, counted, nearest};
use ktx_tool_descriptors::{CallContext, ToolSet};
use serde_json::{Map, Value, json};

use crate::cli::{ToolsArgs, ToolsCommand, ToolsRunArgs};
use crate::invocation::{Invocation, OpenProject};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::tables::aligned;
use crate::{compose, context, custom_tools as files};

pub(crate) fn run(args: &ToolsArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    match &args.command {
        None | Some(ToolsCommand::List) => list(&project, &printer),
        Some(ToolsCommand::Validate) => validate(invocation, &project, &printer),
        Some(ToolsCommand::Run(args)) => call(args, invocation, &project, &printer),
    }
}

fn list(project: &OpenProject, printer: &Printer) -> Outcome {
    let tools = files::read(project)?;
    if printer.mode == Mode::Json {
        let items: Vec<Value> = tools.iter().map(|tool| item(tool)).collect();
        printer.json(&json!({ "kind": "list", "data": { "items": items }, "meta": { "command": "tools list" } }))?;
        return Ok(Exit::Success);
    }
    if tools.is_empty() {
        printer.note("no tools: describe one in `tools/<name>.yaml`");
        return Ok(Exit::Success);
    }
    for tool in &tools {
        let parameters: Vec<String> = tool.parameters.iter().map(usage).collect();
        let fields = [
            tool.name.clone(),
            parameters.join(" "),
            tool.description.clone(),
        ];
        printer.line(&fields.join(if printer.mode == Mode::Plain {
            "\t"
        } else {
            "  "
        }))?;
    }
    Ok(Exit::Success)
}

fn usage(parameter: &Parameter) -> String {
    let written = format!("{}=<{}>", parameter.name, parameter.kind.as_str());
    match parameter.default {
        None => written,
        Some(_) => format!("[{written}]"),
    }
}

fn item(tool: &CustomTool) -> Value {
    let parameters = tool.parameters.iter().map(|one| {
        json!({
            "name": one.name, "type": one.kind.as_str(), "description": one.description,
            "required": one.default.is_none(),
        })
    });
    json!({
        "name": tool.name, "title": tool.title, "description": tool.description, "file": tool.file,
        "connectionId": tool.connection, "parameters": parameters.collect::<Vec<_>>(),
    })
}

fn validate(invocation: &Invocation, project: &OpenProject, printer: &Printer) -> Outcome {
    let tools = files::checked(invocation, project)?;
    if printer.mode == Mode::Json {
        let items: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        printer.json(&json!({ "kind": "tools", "data": { "valid": items }, "meta": { "command": "tools validate" } }))?;
    } else {
        printer.line(&format!("{} valid", counted(tools.len(), "tool")))?;
    }
    Ok(Exit::Success)
}

fn call(
    args: &ToolsRunArgs,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let tools = files::read(project)?;
    let known = || tools.iter().map(|tool| tool.name.as_str());
    let Some(tool) = tools.iter().find(|tool| tool.name == args.name) else {
        let failure = Failure::new(
            Code::UnknownTool,
            format!("the project has no tool `{}`", args.name),
        );
        return Err(match nearest(&args.name, known()).first() {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("list the tools with `ktx tools list`"),
        });
    };
    let arguments = arguments(args, tool)?;
    let context = context::open_for_agent(invocation, project)?;
    let set = ToolSet::new(custom_tools(&context, &[Arc::clone(tool)]))
        .map_err(|error| Failure::from_error(Code::Internal, &error))?;
    let called = compose::block_on(|cancel| async move {
        let call = CallContext {
            cancel,
            ..CallContext::detached("tools-run")
        };
        Ok(set.call(&args.name, arguments, call).await)
    })?;
    let output = called.map_err(|error| failure(&error.message))?;
    print(&output.structured.unwrap_or_default(), printer)?;
    Ok(Exit::Success)
}

fn failure(text: &str) -> Failure {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let known = first.split_once(": ");
    let known = known.and_then(|(code, message)| Some((Code::parse(code)?, message)));
    let (code, message) = known.unwrap_or((Code::InvalidArguments, first));
    let hints = lines.filter_map(|line| line.strip_prefix("hint: "));
    hints.fold(Failure::new(code, message), Failure::hint)
}

fn print(answer: &Value, printer: &Printer) -> Outcome<()> {
    if printer.mode == Mode::Json {
        return printer.json(answer);
    }
    let list = |key: &str| {
        answer
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let shown = |cell: &Value| match cell {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let headers: Vec<String> = list("headers").filter_map(shown).collect();
    let rows: Vec<Vec<Option<String>>> = list("rows")
        .filter_map(Value::as_array)
        .map(|row| row.iter().map(shown).collect())
        .collect();
    printer.page(&aligned(&headers, &rows))?;
    let more = answer.get("hasMore") == Some(&Value::Bool(true));
    for note in list("notes").filter_map(Value::as_str) {
        printer.note(&format!("note: {note}"));
    }
    if more {
        printer.note("note: there are more rows than these");
    }
    Ok(())
}

/// Text parameters are not parsed as JSON.
fn arguments(args: &ToolsRunArgs, tool: &CustomTool) -> Outcome<Value> {
    let mut arguments = Map::new();
    for argument in &args.arguments {
        let Some((name, value)) = argument.split_once('=') else {
            let message = format!("`{argument}` is not an argument");
            return Err(Failure::new(Code::Usage, message).hint("write `name=value`"));
        };
        let parameter = tool.parameters.iter().find(|one| one.name == name);
        let is_text = parameter.is_some_and(|one| matches!(one.kind.as_str(), "string" | "date"));
        let read = serde_json::from_str(value).ok().filter(|_| !is_text);
        arguments.insert(name.to_owned(), read.unwrap_or_else(|| json!(value)));
    }
    Ok(Value::Object(arguments))
}
