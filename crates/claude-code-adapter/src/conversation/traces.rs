//! The tool calls of one conversation.

use std::collections::BTreeMap;

use ktx_llm_runtime::ToolTrace;
use ktx_tool_descriptors::{ToolError, ToolOutput};
use serde_json::Value;

use super::ConversationNote;
use crate::protocol::ToolResult;

const UNANSWERED: &str = "the call did not come to an end";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Requested,
    Answered,
    Reported,
}

/// In call order; each has one begin and one end.
#[derive(Debug, Default)]
pub(super) struct Traces {
    calls: Vec<(ToolTrace, Progress)>,
    places: BTreeMap<String, usize>,
}

impl Traces {
    pub(super) fn begin(
        &mut self,
        id: &str,
        name: &str,
        arguments: &Value,
    ) -> Option<ConversationNote> {
        if self.places.contains_key(id) {
            return None;
        }
        self.places.insert(id.to_owned(), self.calls.len());
        let trace = ToolTrace {
            call_id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.clone(),
            markdown: String::new(),
            structured: None,
            is_error: false,
        };
        self.calls.push((trace, Progress::Requested));
        Some(ConversationNote::ToolStart {
            call_id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.clone(),
        })
    }

    pub(super) fn record_outcome(
        &mut self,
        id: &str,
        outcome: &Result<ToolOutput, ToolError>,
        shown: &str,
    ) {
        let Some((trace, progress)) = self.call(id) else {
            return;
        };
        if *progress == Progress::Requested {
            *progress = Progress::Answered;
        }
        shown.clone_into(&mut trace.markdown);
        match outcome {
            Ok(output) => trace.structured.clone_from(&output.structured),
            Err(_) => trace.is_error = true,
        }
    }

    pub(super) fn end_with_result(&mut self, result: &ToolResult) -> Option<ConversationNote> {
        let (trace, progress) = self.call(&result.call_id)?;
        trace.is_error |= result.is_error;
        if trace.markdown.is_empty() {
            trace.markdown.clone_from(&result.text);
        }
        let before = std::mem::replace(progress, Progress::Reported);
        (before != Progress::Reported).then(|| end_of(trace))
    }

    /// Those without a result for the model.
    pub(super) fn close(&mut self) -> Vec<ConversationNote> {
        let mut ends = Vec::new();
        for (trace, progress) in &mut self.calls {
            let before = std::mem::replace(progress, Progress::Reported);
            if before == Progress::Requested {
                trace.is_error = true;
                UNANSWERED.clone_into(&mut trace.markdown);
            }
            if before != Progress::Reported {
                ends.push(end_of(trace));
            }
        }
        ends
    }

    pub(super) fn into_calls(self) -> Vec<ToolTrace> {
        self.calls.into_iter().map(|(trace, _)| trace).collect()
    }

    fn call(&mut self, id: &str) -> Option<&mut (ToolTrace, Progress)> {
        let place = self.places.get(id)?;
        self.calls.get_mut(*place)
    }
}

fn end_of(trace: &ToolTrace) -> ConversationNote {
    ConversationNote::ToolEnd {
        call_id: trace.call_id.clone(),
        markdown: trace.markdown.clone(),
        is_error: trace.is_error,
    }
}
