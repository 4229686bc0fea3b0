//! Tries that the child announces, and when there are too many of them.

use ktx_llm_runtime::{LlmError, LlmErrorKind};

use crate::outcome::status_kind;
use crate::protocol::Frame;

/// So many in a row are waited for. The program itself gives up behind ten; with more by its settings it
/// still comes to an end.
const MOST_IN_A_ROW: u32 = 30;

/// The tries since the model has said something.
#[derive(Debug, Default)]
pub(super) struct Retries {
    in_a_row: u32,
}

impl Retries {
    /// Takes what the child says. An error when the call comes to no end.
    pub(super) fn hear(&mut self, frame: &Frame) -> Option<LlmError> {
        let Frame::Retry { status, .. } = frame else {
            if frame.is_answer() {
                self.in_a_row = 0;
            }
            return None;
        };
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.in_a_row <= MOST_IN_A_ROW {
            return None;
        }
        let kind = status.map_or(LlmErrorKind::Transport, status_kind);
        let message = format!(
            "Claude Code tried its request {} times in a row without an answer",
            self.in_a_row
        );
        let status = status.map(|status| format!("the last try failed with HTTP status {status}"));
        let error = LlmError::new(kind, message)
            .hint("run the command again later; what is finished is kept");
        Some(match status {
            Some(status) => error.detail(status),
            None => error,
        })
    }
}
