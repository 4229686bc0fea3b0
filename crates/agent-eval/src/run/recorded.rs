//! Replays the answers of earlier runs.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::case::{AgentRunner, AskEffect, AskError, AttemptRequest, Conversation};
use super::journal::RecordedRun;
use crate::Usage;

#[derive(Debug, Clone, Default)]
pub struct RecordedAnswers {
    by_place: BTreeMap<(String, String, u32), Conversation>,
}

impl RecordedAnswers {
    /// Replaces earlier answers.
    pub fn add(&mut self, run: RecordedRun) {
        for entry in run.entries {
            if let Some(conversation) = entry.conversation {
                let attempt = entry.attempt;
                let place = (attempt.case, attempt.arm, attempt.repeat);
                self.by_place.insert(place, conversation);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }
}

#[async_trait]
impl AgentRunner for RecordedAnswers {
    async fn ask(&self, attempt: AttemptRequest<'_>) -> Result<Conversation, AskError> {
        let place = (
            attempt.case.name.clone(),
            attempt.arm.to_owned(),
            attempt.repeat,
        );
        let found = self.by_place.get(&place).cloned();
        found.ok_or_else(|| AskError {
            message: "no answer is recorded".to_owned(),
            effect: AskEffect::Lasting,
            usage: Usage::NOTHING,
        })
    }
}
