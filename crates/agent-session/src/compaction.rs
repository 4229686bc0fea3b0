//! Shortens a long conversation to fit its model's window (KODE-71). The log keeps everything.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ktx_llm_runtime::{
    CallLabel, ContentBlock, LlmError, LlmErrorKind, LlmRuntime, Message, TextRequest,
};
use ktx_vocabulary::{ModelRole, RunId};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::event::{CompressionPhase, Event, Phase, Severity};
use crate::history::History;
use crate::reminders;
use crate::session::{Session, SessionError};

const INSTRUCTIONS: &str = include_str!("prompts/compaction.system.md");

const STAGE: &str = "compaction";

/// Assumed window in tokens, if none is known.
const USUAL_WINDOW: u64 = 200_000;

/// Estimated for conversations.
const BYTES_PER_TOKEN: u64 = 3;

/// In tokens, per piece.
const LONGEST_SUMMARY: u64 = 2_000;

const PATIENCE: Duration = Duration::from_mins(2);

/// Maximum size of a summary, as a share of what it replaces.
const WORTHWHILE: f64 = 0.7;

/// A compaction that leaves more has failed.
const POOR: f64 = 0.9;

/// Share of the target for the kept turns; the summary gets the rest.
const KEPT_TURNS: f64 = 0.6;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextSettings {
    /// Share of the window that starts a compaction.
    pub compress_at: f64,
    /// Share of the window afterwards.
    pub target: f64,
    pub role: ModelRole,
    /// Window in tokens; by default the catalog's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            compress_at: 0.8,
            target: 0.5,
            role: ModelRole::Default,
            window: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactionMethod {
    Summary,
    /// Results of calls are left out, and turns that do not fit without them.
    Omission,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    pub from: u64,
    pub to: u64,
    pub method: CompactionMethod,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The last record of the turns that are left out whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// Size after divided by size before.
    pub ratio: f64,
}

pub(crate) fn tokens_of<'a>(messages: impl Iterator<Item = &'a Message>) -> u64 {
    let bytes = messages.map(|message| {
        let written = serde_json::to_string(&message.content);
        written.map_or(0, |text| text.len())
    });
    u64::try_from(bytes.sum::<usize>()).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

/// Compacts the conversation of a turn, at most once.
pub(crate) struct Compressor<'a> {
    pub(crate) session: &'a Session,
    pub(crate) runtime: &'a dyn LlmRuntime,
    pub(crate) settings: ContextSettings,
    pub(crate) run_id: RunId,
    pub(crate) stop: CancellationToken,
    pub(crate) done: AtomicBool,
}

impl Compressor<'_> {
    /// Compacts a conversation that is too long; returns whether it changed. Fails if it stays too
    /// long.
    pub(crate) async fn compress(&self) -> Result<bool, LlmError> {
        let history = self.session.history();
        let known = self.settings.window;
        let known = known.or_else(|| self.runtime.abilities(ModelRole::Default).window);
        let window = known.unwrap_or(USUAL_WINDOW);
        let size = history.size();
        if size < share(window, self.settings.compress_at) || self.done.load(Ordering::SeqCst) {
            return Ok(false);
        }
        let kept = share(window, self.settings.target * KEPT_TURNS);
        let Some(place) = Cut::of(&history, kept) else {
            return Ok(false);
        };
        self.done.store(true, Ordering::SeqCst);
        if known.is_none() {
            let words = "the window of the model is not known; 200000 tokens are assumed; set `context.window`";
            let told = self.session.complain(Severity::Warn, Phase::Model, words);
            told.map_err(|error| not_kept(&error))?;
        }
        self.tell(CompressionPhase::Start, None)?;
        let target = share(window, self.settings.target);
        let mut compaction = match &place {
            Cut::Turns { to } => self.shortened(&history, *to, window, target).await?,
            Cut::Results { to } => omission(&history, *to, None),
        };
        let after = after(&history, &compaction, size);
        compaction.ratio = ratio(after, size);
        let is_poor = poor(compaction.ratio);
        let was_poor = history.was_poorly_compressed();
        let kept = self.session.record(&Event::Compaction(compaction.clone()));
        kept.map_err(|error| not_kept(&error))?;
        self.tell(CompressionPhase::End, Some(compaction.ratio))?;
        if is_poor && was_poor {
            return Err(LlmError::new(
                LlmErrorKind::ContextTooLong,
                "the conversation does not fit the model's context window, and shortening it has not helped twice",
            )
            .hint("ask in a new session, or set `context.window` to the window of a larger model"));
        }
        Ok(true)
    }

    /// Summarizes whole turns. Without a summary, leaves out results, and turns that do not fit
    /// without them.
    async fn shortened(
        &self,
        history: &History,
        to: u64,
        window: u64,
        target: u64,
    ) -> Result<Compaction, LlmError> {
        if let Some(summary) = self.summary(history, to, window).await? {
            return Ok(Compaction {
                from: history.first_record(),
                to,
                method: CompactionMethod::Summary,
                summary: Some(summary),
                dropped: None,
                ratio: 1.0,
            });
        }
        let short = omission(history, to, None);
        let is_enough = after(history, &short, history.size()) <= target;
        Ok(if is_enough {
            short
        } else {
            omission(history, to, Some(to))
        })
    }

    /// Summarizes everything up to a record, in pieces; `None` if that saves too little or fails
    /// twice.
    async fn summary(
        &self,
        history: &History,
        to: u64,
        window: u64,
    ) -> Result<Option<String>, LlmError> {
        let text = transcript(history.until(to));
        let longest = usize::try_from(window / 2 * BYTES_PER_TOKEN).unwrap_or(usize::MAX);
        let mut parts = Vec::new();
        for piece in pieces(&text, longest) {
            let part = match self.summarized(piece).await? {
                Some(part) => Some(part),
                None => self.summarized(piece).await?,
            };
            match part {
                Some(part) => parts.push(part),
                None => return Ok(None),
            }
        }
        let summary = parts.join("\n\n");
        let is_short = ratio(tokens(summary.len()), tokens(text.len())) <= WORTHWHILE;
        Ok(is_short.then_some(summary))
    }

    async fn summarized(&self, piece: &str) -> Result<Option<String>, LlmError> {
        let asked = self.runtime.generate_text(TextRequest {
            role: self.settings.role,
            system: INSTRUCTIONS.to_owned(),
            prompt: piece.to_owned(),
            cancel: self.stop.clone(),
            label: CallLabel {
                run_id: self.run_id.clone(),
                stage: STAGE.to_owned(),
                unit: None,
                connection: None,
            },
        });
        let answer = tokio::time::timeout(PATIENCE, asked).await;
        if self.stop.is_cancelled() {
            return Err(LlmError::cancelled());
        }
        let summary = match answer {
            Ok(Ok(outcome)) => outcome.text.trim().to_owned(),
            // A retry cannot help a used-up budget.
            Ok(Err(error)) if error.kind == LlmErrorKind::Budget => return Err(error),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a summary failed");
                return Ok(None);
            }
            Err(_) => return Ok(None),
        };
        let fits = !summary.is_empty() && tokens(summary.len()) <= LONGEST_SUMMARY;
        Ok(fits.then_some(summary))
    }

    fn tell(&self, phase: CompressionPhase, ratio: Option<f64>) -> Result<(), LlmError> {
        let told = self
            .session
            .record(&Event::ContextCompression { phase, ratio });
        told.map_err(|error| not_kept(&error))
    }
}

/// Where to shorten. The last of several turns stays whole.
enum Cut {
    Turns { to: u64 },
    Results { to: u64 },
}

impl Cut {
    fn of(history: &History, keep: u64) -> Option<Self> {
        if let Some(to) = history.turn_cut(keep) {
            return Some(Self::Turns { to });
        }
        history.result_cut().map(|to| Self::Results { to })
    }
}

fn omission(history: &History, to: u64, dropped: Option<u64>) -> Compaction {
    Compaction {
        from: history.first_record(),
        to,
        method: CompactionMethod::Omission,
        summary: None,
        dropped,
        ratio: 1.0,
    }
}

/// True if almost everything is left.
pub(crate) fn poor(ratio: f64) -> bool {
    ratio > POOR
}

fn after(history: &History, compaction: &Compaction, size: u64) -> u64 {
    let before = tokens_of(history.messages().iter());
    let mut shorter = history.clone();
    shorter.compact(compaction);
    let rest = tokens_of(shorter.messages().iter());
    size.saturating_sub(before).saturating_add(rest)
}

pub(crate) fn left_out(call: &str) -> String {
    format!("[result of call {call} left out; call the tool again]")
}

pub(crate) fn summary_note(summary: &str) -> String {
    let content = format!("Summary of the conversation so far:\n{summary}");
    reminders::note(reminders::GENERAL, &reminders::escaped(&content))
}

fn transcript<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let mut text = String::new();
    for message in messages {
        let role = match message.role {
            ktx_llm_runtime::MessageRole::User => "user",
            ktx_llm_runtime::MessageRole::Assistant => "agent",
            ktx_llm_runtime::MessageRole::System => "system",
        };
        for block in &message.content {
            let line = match block {
                ContentBlock::Text { text } => format!("{role}: {text}\n"),
                ContentBlock::ToolUse {
                    id, name, input, ..
                } => format!("call {id}: {name} {input}\n"),
                ContentBlock::ToolResult {
                    tool_use_id,
                    content,
                    ..
                } => format!("result of call {tool_use_id}: {content}\n"),
                _ => continue,
            };
            text.push_str(&line);
        }
    }
    text
}

/// Cuts a text into pieces of at most `longest` bytes, at line ends where possible.
fn pieces(text: &str, longest: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > longest {
        let mut end = longest;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (head, _) = rest.split_at(end);
        let end = head.rfind('\n').map_or(end, |line| line + 1);
        let end = if end == 0 { rest.len() } else { end };
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "windows are far below 2^52 tokens, shares are between 0 and 1"
)]
fn share(window: u64, share: f64) -> u64 {
    (window as f64 * share) as u64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "windows are far below 2^52 tokens"
)]
fn ratio(after: u64, before: u64) -> f64 {
    (after as f64 / (before.max(1)) as f64 * 100.0).round() / 100.0
}

fn not_kept(error: &SessionError) -> LlmError {
    LlmError::new(
        LlmErrorKind::Internal,
        format!("the session cannot keep the conversation: {error}"),
    )
}
