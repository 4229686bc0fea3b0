//! Resumable loops: stores each turn as soon as it is paid for, so that the next run can continue
//! an interrupted loop.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ktx_llm_runtime::{
    BackendInfo, ContentBlock, LlmErrorKind, LoopOutcome, LoopRequest, Message, MessageRole,
    Transcript,
};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, ToolSetError,
    WriteEffect,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{Changeset, DraftWorkspace, one_line};

/// Increment when transcripts of an older ktx can no longer be continued.
const FORMAT: u32 = 1;

const MOST_STUCK: usize = 3;

/// Stores the transcript of one work item until the item is done. The initial request is stored as
/// a hash only.
pub trait TranscriptStore: Send + Sync {
    fn lines(&self) -> Vec<String>;

    /// A line that cannot be stored is lost, and its turn is paid for again.
    fn append(&self, line: &str);

    fn clear(&self);

    fn continued(&self, turns: usize);
}

#[derive(Clone)]
pub struct KeptLoop {
    pub store: Arc<dyn TranscriptStore>,
    /// The backend and its model: no other model continues the loop.
    pub model: String,
    pub backend: BackendInfo,
}

impl std::fmt::Debug for KeptLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptLoop")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum TranscriptLine {
    Input(String),
    Message(Message),
    Stuck,
}

struct LoopTranscript {
    store: Arc<dyn TranscriptStore>,
    input: String,
    earlier: Vec<Message>,
    is_begun: Mutex<bool>,
    has_grown: AtomicBool,
}

impl LoopTranscript {
    fn open(store: Arc<dyn TranscriptStore>, input: String) -> Self {
        let lines = store.lines();
        let mut lines = lines
            .iter()
            .map_while(|line| serde_json::from_str(line).ok());
        let is_same = matches!(lines.next(), Some(TranscriptLine::Input(kept)) if kept == input);
        let mut earlier = Vec::new();
        let mut stuck = 0;
        for line in lines.filter(|_| is_same) {
            match line {
                TranscriptLine::Message(message) => {
                    stuck = 0;
                    earlier.push(message);
                }
                TranscriptLine::Stuck => stuck += 1,
                TranscriptLine::Input(_) => break,
            }
        }
        if stuck >= MOST_STUCK {
            earlier.clear();
        }
        let kept = Self {
            store,
            input,
            is_begun: Mutex::new(!earlier.is_empty()),
            earlier,
            has_grown: AtomicBool::new(false),
        };
        if kept.earlier.is_empty() {
            kept.store.clear();
        }
        kept
    }

    fn append(&self, line: &TranscriptLine) {
        let mut is_begun = self.is_begun.lock().unwrap_or_else(PoisonError::into_inner);
        let put = |line: &TranscriptLine| {
            if let Ok(text) = serde_json::to_string(line) {
                self.store.append(&text);
            }
        };
        if !*is_begun {
            put(&TranscriptLine::Input(self.input.clone()));
            *is_begun = true;
        }
        put(line);
    }

    fn turns(&self) -> usize {
        let is_turn = |message: &&Message| message.role == MessageRole::Assistant;
        self.earlier.iter().filter(is_turn).count()
    }

    fn failed(&self, kind: LlmErrorKind) {
        if is_spoiled(kind) {
            self.store.clear();
        } else if !self.earlier.is_empty() && !self.has_grown.load(Ordering::Relaxed) {
            self.append(&TranscriptLine::Stuck);
        }
    }
}

impl Transcript for LoopTranscript {
    fn earlier(&self) -> Vec<Message> {
        self.earlier.clone()
    }

    fn record(&self, message: &Message) {
        self.has_grown.store(true, Ordering::Relaxed);
        self.append(&TranscriptLine::Message(message.clone()));
    }
}

const fn is_spoiled(kind: LlmErrorKind) -> bool {
    use LlmErrorKind as Kind;
    matches!(
        kind,
        Kind::Refusal
            | Kind::ContextTooLong
            | Kind::MaxOutput
            | Kind::StructuredOutput
            | Kind::MaxTurns
            | Kind::UnknownTool
            | Kind::InvalidRequest
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopStart {
    Fresh,
    Resumed,
    /// In a new conversation, with the draft of an earlier run.
    Restarted,
}

pub struct BegunLoop {
    kept: Option<Arc<LoopTranscript>>,
    start: LoopStart,
}

impl std::fmt::Debug for BegunLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BegunLoop").finish_non_exhaustive()
    }
}

impl BegunLoop {
    pub const fn start(&self) -> LoopStart {
        self.start
    }

    /// A failed loop keeps its transcript, unless the same conversation would fail again. The
    /// caller commits the changes of a successful loop and then clears the store.
    pub fn end(self, outcome: &LoopOutcome) {
        if let (Some(kept), Some(error)) = (self.kept, &outcome.error) {
            kept.failed(error.kind);
        }
    }
}

/// Prepares a loop on a workspace with a clean draft. An interrupted loop with the same input is
/// continued: its writes are replayed on the draft, and a backend that supports it resumes after
/// the last turn. Other backends restart the conversation with a prompt that lists the content of
/// the draft.
pub async fn begin_loop(
    workspace: &DraftWorkspace,
    mut request: LoopRequest,
    kept: Option<KeptLoop>,
) -> Result<(LoopRequest, BegunLoop), ToolSetError> {
    let Some(KeptLoop {
        store,
        model,
        backend,
    }) = kept
    else {
        let begun = BegunLoop {
            kept: None,
            start: LoopStart::Fresh,
        };
        return Ok((request, begun));
    };
    let input = input_of(&request, workspace, &model);
    let mut kept = LoopTranscript::open(store, input);
    if !kept.earlier.is_empty() && !workspace.repeat(&request.tools, &kept.earlier).await {
        kept.store.clear();
        kept = LoopTranscript::open(kept.store, kept.input);
    }
    if !kept.earlier.is_empty() {
        kept.store.continued(kept.turns());
    }
    let start = match (kept.earlier.is_empty(), backend.continues_loops) {
        (true, _) => LoopStart::Fresh,
        (false, true) => LoopStart::Resumed,
        (false, false) => LoopStart::Restarted,
    };
    let kept = Arc::new(kept);
    if backend.continues_loops {
        let transcript: Arc<dyn Transcript> = Arc::clone(&kept) as _;
        request.transcript = Some(transcript);
    } else {
        if start == LoopStart::Restarted {
            request.prompt.push_str(&already_made(&workspace.made()));
        }
        request.tools = recorded(&request.tools, &kept)?;
    }
    let kept = Some(kept);
    Ok((request, BegunLoop { kept, start }))
}

fn input_of(request: &LoopRequest, workspace: &DraftWorkspace, model: &str) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        hash.update(length.to_le_bytes());
        hash.update(bytes);
    };
    part(&FORMAT.to_le_bytes());
    for text in [model, &request.system, &request.prompt] {
        part(text.as_bytes());
    }
    for tool in request.tools.iter() {
        part(tool.name.as_bytes());
        part(tool.description.as_bytes());
        part(tool.input_schema.to_string().as_bytes());
    }
    workspace.committed(|path, bytes| {
        part(path.as_str().as_bytes());
        part(bytes);
    });
    hash.finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn already_made(made: &Changeset) -> String {
    let names = |names: &[String]| {
        if names.is_empty() {
            return "none".to_owned();
        }
        let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
        names.join(", ")
    };
    format!(
        "\nAn earlier run of this task was cut off. What it wrote is in the files already: pages {}; sources {}. \
         Read them before you change them, do not write them again, and do what is missing.\n",
        names(&made.wiki),
        names(&made.sl)
    )
}

fn recorded(tools: &ToolSet, kept: &Arc<LoopTranscript>) -> Result<ToolSet, ToolSetError> {
    let tools = tools.iter().map(|tool| {
        let mut tool: ToolDescriptor = tool.clone();
        if tool.effect == WriteEffect::Writes {
            tool.handler = Arc::new(Recorder {
                name: tool.name.clone(),
                inner: Arc::clone(&tool.handler),
                kept: Arc::clone(kept),
            });
        }
        tool
    });
    ToolSet::new(tools.collect())
}

struct Recorder {
    name: String,
    inner: Arc<dyn ToolHandler>,
    kept: Arc<LoopTranscript>,
}

#[async_trait]
impl ToolHandler for Recorder {
    async fn call(&self, arguments: Value, context: CallContext) -> Result<ToolOutput, ToolError> {
        let id = context.call_id.clone();
        let result = self.inner.call(arguments.clone(), context).await;
        let call = ContentBlock::ToolUse {
            id: id.clone(),
            name: self.name.clone(),
            input: arguments,
            meta: serde_json::Map::new(),
        };
        let content = match &result {
            Ok(output) => output.markdown.clone(),
            Err(error) => error.message.clone(),
        };
        let answer = ContentBlock::ToolResult {
            tool_use_id: id,
            content,
            is_error: result.is_err(),
        };
        for (role, block) in [(MessageRole::Assistant, call), (MessageRole::User, answer)] {
            self.kept.record(&Message::new(role, vec![block]));
        }
        result
    }
}

#[cfg(test)]
mod tests;
