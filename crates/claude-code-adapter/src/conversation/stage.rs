//! The way to the prompt, and from one turn to the next.

/// When the prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptAt {
    /// As soon as the account is checked.
    Once,
    /// When the account is checked and [`super::Conversation::release`] was called.
    Release,
}

/// How far the way to the prompt is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// `initialize` is not answered.
    Opening,
    /// The account is the user's own, and this is who pays; the prompt waits.
    Ready(crate::surface::Account),
    /// The prompt is written.
    Prompted,
}

impl super::Conversation {
    /// How the turns came to their end, once there is a result.
    pub(crate) fn stop_reason(&self) -> Option<ktx_llm_runtime::StopReason> {
        self.result.as_ref().map(crate::outcome::stop_reason_of)
    }

    /// Says that the model is asked again when it has handed in what the program will refuse.
    pub(super) fn on_whole_message(&self, actions: &mut Vec<super::Action>) {
        let refused = self.query.schema().is_some_and(|schema| {
            let mut objects = self.objects.values();
            objects.any(|object| !schema.violations(object).is_empty())
        });
        if refused {
            actions.push(super::Action::Note(super::Note::FurtherTurn));
        }
    }
}
