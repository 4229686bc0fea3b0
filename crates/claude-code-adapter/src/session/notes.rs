//! Reports of a session to its listeners.

use ktx_llm_runtime::{LlmErrorKind, RuntimeEvent};

use super::ChildSession;
use crate::conversation::ConversationNote;
use crate::limits::unix_now;
use crate::outcome::{plausible_reset, status_kind};
use crate::spares::CallStage;
use crate::surface::hook_warning;

impl ChildSession<'_> {
    pub(super) fn note(&mut self, note: &ConversationNote) {
        let host = self.call.host;
        match note {
            ConversationNote::Payer(payer) => host.learn_payer(payer.clone()),
            ConversationNote::Verified(version) => {
                self.warm_up.done();
                host.learn_version(version);
                if let Some(demand) = self.call.demand {
                    host.spares.prepare(demand, CallStage::Working);
                }
                host.emit(RuntimeEvent::IsolationVerified {
                    version: version.clone(),
                });
            }
            ConversationNote::Warning(warning) => host.warn_once(warning.clone()),
            ConversationNote::Hook(event) => host.warn_once(hook_warning(event)),
            ConversationNote::Step => self.boundaries.push(self.call.started.elapsed()),
            ConversationNote::Begun(message) => self.begun.begin(message),
            ConversationNote::Usage(message) => self.begun.end(message),
            ConversationNote::RateLimit(limit) if limit.window.is_empty() => {}
            ConversationNote::RateLimit(limit) => {
                host.emit(RuntimeEvent::RateLimitObserved {
                    window: limit.window.clone(),
                    utilization: limit.utilization,
                    resets_at: plausible_reset(limit.resets_at, unix_now()),
                });
                if limit.is_extra {
                    host.warn_once(format!(
                        "{} your Claude plan is used up; calls are served by extra usage, which costs money beyond the plan",
                        match limit.window.as_str() {
                            // The window of the extra usage says nothing about the plan's.
                            "overage" => "what is included in".to_owned(),
                            window => format!("the {} of", ktx_llm_runtime::window_words(window)),
                        }
                    ));
                }
                if let Some(event) = host.limits.observed(limit) {
                    host.emit(event);
                }
            }
            ConversationNote::Retry {
                attempt,
                delay_ms,
                status,
            } => {
                tracing::info!(attempt, delay_ms, "Claude Code tries its request again");
                host.emit(RuntimeEvent::Retry {
                    attempt: attempt.saturating_add(1),
                    code: status.map_or(LlmErrorKind::Transport, status_kind).code(),
                });
            }
            ConversationNote::Compaction => {
                tracing::info!("Claude Code summarizes the conversation");
            }
            ConversationNote::FurtherTurn
            | ConversationNote::Text(_)
            | ConversationNote::Block(_)
            | ConversationNote::ToolStart { .. }
            | ConversationNote::ToolEnd { .. } => {}
        }
        (self.observe)(note);
    }
}
