//! Retries that the child announces, and their upper bound.

use ktx_llm_runtime::{LlmError, LlmErrorKind};

use crate::outcome::status_kind;
use crate::protocol::Frame;

/// The program gives up after ten; its settings can allow more.
const MOST_IN_A_ROW: u32 = 30;

#[derive(Debug, Default)]
pub(super) struct Retries {
    in_a_row: u32,
}

impl Retries {
    pub(super) fn observe(&mut self, frame: &Frame) -> Option<LlmError> {
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
        let error =
            LlmError::new(kind, message).hint("run the command again later; finished work is kept");
        Some(match status {
            Some(status) => error.detail(status),
            None => error,
        })
    }
}
