//! Captures notes as an ingest does, with the agent's model and budget.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_llm_runtime::LlmRuntime;
use ktx_memory::NoteStatus;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, WriteEffect,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{CONNECTION, Layer};
use crate::ingesting::notes::{capture_with, note_status, of_text};
use crate::invocation::{CommandContext, load};
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

/// The MCP name of the tool.
pub(in crate::commands::agent) const NAME: &str = "memory_ingest";

/// In seconds: a model reads the note and existing pages.
pub(in crate::commands::agent) const LONGEST: u64 = 600;

pub(super) fn tool(layer: &Layer) -> ToolDescriptor {
    let content = json!({
        "type": "string",
        "minLength": 1,
        "description": "What was learned: definitions, rules, caveats, measures, in words.",
    });
    let connection = json!({
        "type": "string",
        "description": "The warehouse that it is about; without one only wiki pages are written.",
    });
    ToolDescriptor {
        name: NAME.to_owned(),
        title: "Memory Ingest".to_owned(),
        description: "Keep what was learned for good: a model writes it into the project's wiki and, with \
                      `connectionId`, its semantic layer, as one commit. Takes minutes. Hand in facts that the user \
                      has stated or confirmed, no results of queries."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": { "content": content, CONNECTION: connection },
            "required": ["content"],
            "additionalProperties": false,
        }),
        output_schema: None,
        effect: WriteEffect::Writes,
        handler: Arc::new(NoteWrite(layer.clone())),
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    content: String,
    connection_id: Option<String>,
}

struct NoteWrite(Layer);

#[async_trait]
impl ToolHandler for NoteWrite {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        let input = Input::deserialize(&arguments);
        let input = input.map_err(|error| ToolError::new(error.to_string()))?;
        let Some(runtime) = self.0.model() else {
            return Err(ToolError::new("a note can only be captured with a model"));
        };
        let (layer, cancel, handle) = (self.0.clone(), context.cancel, Handle::current());
        // A capture holds the project's lock and state, which stay in one thread.
        let work =
            tokio::task::spawn_blocking(move || captured(&layer, &input, runtime, cancel, &handle));
        match work.await {
            Ok(Ok(status)) => Ok(answer_of(&status)),
            Ok(Err(failure)) => Err(ToolError::new(failure.message)),
            Err(_) => Err(ToolError::broke_down()),
        }
    }
}

fn captured(
    layer: &Layer,
    input: &Input,
    runtime: Arc<dyn LlmRuntime>,
    cancel: CancellationToken,
    handle: &Handle,
) -> Outcome<NoteStatus> {
    let place = &layer.0;
    let project = load(&place.dir, &place.invocation.environment)?;
    let invocation = place.invocation.next_run()?;
    // Suppresses output: the answer reports what was written.
    let printer = Printer {
        mode: Mode::Json,
        interactive: false,
    };
    let context = CommandContext {
        invocation: &invocation,
        project: &project,
        printer: &printer,
    };
    let connection = input.connection_id.as_deref();
    let committed = capture_with(&input.content, connection, context, runtime, |work| {
        handle.block_on(work(cancel))
    })?;
    let status = NoteStatus::queued(&invocation.run_id);
    Ok(note_status(status, &of_text(&input.content), &committed))
}

fn answer_of(status: &NoteStatus) -> ToolOutput {
    let mut lines = match &status.commit_hash {
        Some(commit) => {
            let short = commit.get(..12).unwrap_or(commit);
            vec![format!("captured; committed as {short}")]
        }
        None => vec!["nothing has changed: the layer says this already".to_owned()],
    };
    for (what, names) in [
        ("pages", &status.captured.wiki),
        ("sources", &status.captured.sl),
    ] {
        if !names.is_empty() {
            lines.push(format!("{what}: {}", names.join(", ")));
        }
    }
    lines.extend(status.warnings.iter().map(|it| format!("warning: {it}")));
    lines.push(format!("cost: `ktx usage --run {}`", status.run_id));
    ToolOutput {
        structured: Some(json!({
            "runId": status.run_id,
            "commit": status.commit_hash,
            "wiki": status.captured.wiki,
            "sl": status.captured.sl,
        })),
        ..ToolOutput::text(lines.join("\n"))
    }
}
