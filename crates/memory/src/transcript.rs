//! Loops that outlive their run: what a model said and wrote on a bench is kept while it is paid for, and the
//! next run continues a loop that was cut off.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ktx_llm_runtime::{
    BackendInfo, ContentBlock, LlmErrorKind, LoopOutcome, LoopRequest, Message, MessageRole,
    Transcript, Transport,
};
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, ToolSetError,
    WriteEffect,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{Bench, Made, one_line};

/// Counts up when transcripts of an older ktx cannot be continued.
const FORMAT: u32 = 1;

/// Runs that got no further in a loop, one after another, before its transcript is dropped.
const MOST_STUCK: usize = 3;

/// Where the transcript of one piece of work is kept until the work is done. It holds what was received from a
/// model and what tools answered; what the model was asked first is in it as a hash.
pub trait TranscriptStore: Send + Sync {
    /// The lines that are kept, oldest first.
    fn lines(&self) -> Vec<String>;

    /// Keeps one more line. A line that cannot be kept is lost, and its turn is paid for again.
    fn append(&self, line: &str);

    /// Removes all lines.
    fn clear(&self);

    /// Hears that an earlier loop of this many turns is continued.
    fn continued(&self, turns: usize);
}

/// Where a loop is kept, and by which model it was held.
#[derive(Clone)]
pub struct KeptLoop {
    /// The store of the piece of work.
    pub store: Arc<dyn TranscriptStore>,
    /// The backend and its model: no other one continues the loop.
    pub model: String,
    /// What the backend can.
    pub backend: BackendInfo,
}

impl std::fmt::Debug for KeptLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptLoop")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// A line of a transcript.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    /// The hash of all that the loop began with.
    Input(String),
    /// What was said.
    Message(Message),
    /// A run ended without another message.
    Stuck,
}

/// The transcript of one loop.
struct Kept {
    store: Arc<dyn TranscriptStore>,
    input: String,
    earlier: Vec<Message>,
    /// Whether the store holds lines of this loop.
    is_begun: Mutex<bool>,
    has_grown: AtomicBool,
}

impl Kept {
    /// What is kept of a loop that began with this input. Lines of another one are removed.
    fn open(store: Arc<dyn TranscriptStore>, input: String) -> Self {
        let lines = store.lines();
        let mut lines = lines
            .iter()
            .map_while(|line| serde_json::from_str(line).ok());
        let is_same = matches!(lines.next(), Some(Line::Input(kept)) if kept == input);
        let mut earlier = Vec::new();
        let mut stuck = 0;
        for line in lines.filter(|_| is_same) {
            match line {
                Line::Message(message) => {
                    stuck = 0;
                    earlier.push(message);
                }
                Line::Stuck => stuck += 1,
                Line::Input(_) => break,
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

    fn append(&self, line: &Line) {
        let mut is_begun = self.is_begun.lock().unwrap_or_else(PoisonError::into_inner);
        let put = |line: &Line| {
            if let Ok(text) = serde_json::to_string(line) {
                self.store.append(&text);
            }
        };
        if !*is_begun {
            put(&Line::Input(self.input.clone()));
            *is_begun = true;
        }
        put(line);
    }

    /// The assistant turns of the earlier loop.
    fn turns(&self) -> usize {
        let is_turn = |message: &&Message| message.role == MessageRole::Assistant;
        self.earlier.iter().filter(is_turn).count()
    }

    /// Keeps or drops what was said in a loop that failed.
    fn failed(&self, kind: LlmErrorKind) {
        if is_spoiled(kind) {
            self.store.clear();
        } else if !self.earlier.is_empty() && !self.has_grown.load(Ordering::Relaxed) {
            self.append(&Line::Stuck);
        }
    }
}

impl Transcript for Kept {
    fn earlier(&self) -> Vec<Message> {
        self.earlier.clone()
    }

    fn record(&self, message: &Message) {
        self.has_grown.store(true, Ordering::Relaxed);
        self.append(&Line::Message(message.clone()));
    }
}

/// Whether the same conversation would fail again.
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

/// A loop that is about to run, and what becomes of its transcript.
pub struct BegunLoop {
    kept: Option<Arc<Kept>>,
}

impl std::fmt::Debug for BegunLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BegunLoop").finish_non_exhaustive()
    }
}

impl BegunLoop {
    /// The loop has ended. After a failure its transcript stays, unless the same conversation would fail again. What
    /// was made is committed by the caller, who clears the store then.
    pub fn end(self, outcome: &LoopOutcome) {
        if let (Some(kept), Some(error)) = (self.kept, &outcome.error) {
            kept.failed(error.kind);
        }
    }
}

/// Prepares a loop on a bench whose draft is as committed. With a [`KeptLoop`], each turn is kept as soon as it is
/// paid for, and a loop with the same input that was cut off is continued: its writes are made again on the draft,
/// and a backend that can begins after its last turn. A backend that cannot begins the conversation again, and its
/// prompt says what the draft holds already.
///
/// # Errors
/// A fault of the program: the tools cannot be built.
pub async fn begin_loop(
    bench: &Bench,
    mut request: LoopRequest,
    kept: Option<KeptLoop>,
) -> Result<(LoopRequest, BegunLoop), ToolSetError> {
    let Some(KeptLoop {
        store,
        model,
        backend,
    }) = kept
    else {
        return Ok((request, BegunLoop { kept: None }));
    };
    let input = input_of(&request, bench, &model);
    let mut kept = Kept::open(store, input);
    if !kept.earlier.is_empty() && !bench.repeat(&request.tools, &kept.earlier).await {
        kept.store.clear();
        kept = Kept::open(kept.store, kept.input);
    }
    if !kept.earlier.is_empty() {
        kept.store.continued(kept.turns());
    }
    let kept = Arc::new(kept);
    if backend.continues_loops {
        let transcript: Arc<dyn Transcript> = Arc::clone(&kept) as _;
        request.transcript = Some(transcript);
    } else {
        if !kept.earlier.is_empty() {
            request.prompt.push_str(&already_made(&bench.made()));
        }
        request.tools = recorded(&request.tools, &kept)?;
    }
    Ok((request, BegunLoop { kept: Some(kept) }))
}

/// A hash of everything that a loop begins with.
fn input_of(request: &LoopRequest, bench: &Bench, model: &str) -> String {
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
    bench.committed(|path, bytes| {
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

/// What the draft holds of a loop that was cut off, for a model that does not know its conversation any more.
fn already_made(made: &Made) -> String {
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

/// The same tools; every call that may write is kept with its result.
fn recorded(tools: &ToolSet, kept: &Arc<Kept>) -> Result<ToolSet, ToolSetError> {
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
    kept: Arc<Kept>,
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
            self.kept.record(&Message {
                role,
                content: vec![block],
                transport: Transport::default(),
            });
        }
        result
    }
}

#[cfg(test)]
mod tests;
