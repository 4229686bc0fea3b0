//! The start and the end of a turn.

use ktx_llm_runtime::{Message, MessageRole};

use super::{Session, SessionError};
use crate::event::{AgentState, Breakpoint, Cause, Event, Origin, TurnEnd};
use crate::reminders;
use crate::room::RoomOrigin;
use crate::turn::Question;

impl Session {
    /// Begins a turn. The question is on disk when this returns.
    pub fn begin_turn<'q>(&self, question: impl Into<Question<'q>>) -> Result<(), SessionError> {
        self.begin_turn_in(question.into(), None)
    }

    pub(crate) fn begin_turn_in(
        &self,
        question: Question<'_>,
        room: Option<RoomOrigin>,
    ) -> Result<(), SessionError> {
        let mut message = Message::text(MessageRole::User, reminders::escaped(question.text));
        message.content.extend_from_slice(question.attachments);
        self.record(&Event::Message {
            message,
            origin: Origin::User,
            room,
            interrupted: false,
        })?;
        self.enter(AgentState::Working)
    }

    pub fn end_turn(&self, reason: TurnEnd, cause: Option<Cause>) -> Result<(), SessionError> {
        let done = self.record(&Event::Done { reason, cause });
        if cause == Some(Cause::Parked) {
            return done.and(self.enter(AgentState::Paused));
        }
        // On a full disk, all records wait for space (KODE-46).
        let ready = self.reach(Breakpoint::Ready);
        let entered = self.enter(AgentState::Ready);
        done.and(ready).and(entered)?;
        Ok(self.log.flush()?)
    }

    pub(crate) fn enter(&self, state: AgentState) -> Result<(), SessionError> {
        self.record(&Event::StateChanged { state })
    }
}
