//! Requests of other processes to an open session.

use std::convert::Infallible;
use std::time::Duration;

use ktx_session_log::{Inbox, Letter, LogError, SessionId};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::event::{DecisionRecord, Event};
use crate::session::{Session, SessionError};
use crate::sessions::Sessions;

const LOOKS: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Request {
    Decide(DecisionRecord),
    Interrupt,
    /// Joins the running turn.
    Message {
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// The log has it.
    Done,
    /// The process with the open session takes it.
    Posted,
}

impl Sessions {
    /// Decides a call, whichever process has the session open. `name` is unique in the session, and
    /// later letters have later names.
    pub fn decide(
        &self,
        id: &SessionId,
        record: DecisionRecord,
        name: &str,
    ) -> Result<Delivered, SessionError> {
        match self.touch(id.clone()) {
            Ok(session) => session.decide(record).map(|()| Delivered::Done),
            Err(SessionError::Log(LogError::Busy { .. })) => {
                self.read(id)?.history.check_decision(id, &record)?;
                self.post(id, &Request::Decide(record), name)
            }
            Err(error) => Err(error),
        }
    }

    /// Ends the turn in the process that has the session open. Returns `Done` if none has.
    pub fn interrupt(&self, id: &SessionId, name: &str) -> Result<Delivered, SessionError> {
        match self.touch(id.clone()) {
            Ok(_) => Ok(Delivered::Done),
            Err(SessionError::Log(LogError::Busy { .. })) => {
                self.post(id, &Request::Interrupt, name)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends a message to the process that has the session open; returns `None` if none has.
    pub fn send(
        &self,
        id: &SessionId,
        text: &str,
        name: &str,
    ) -> Result<Option<Delivered>, SessionError> {
        if !self.store().is_open(id) {
            return Ok(None);
        }
        let request = Request::Message {
            text: text.to_owned(),
        };
        self.post(id, &request, name).map(Some)
    }

    fn post(
        &self,
        id: &SessionId,
        request: &Request,
        name: &str,
    ) -> Result<Delivered, SessionError> {
        let body = serde_json::to_value(request).map_err(|source| SessionError::Event {
            session: id.clone(),
            seq: 0,
            source,
        })?;
        let posted = self.store().inbox(id).post(name, &body);
        posted.map_err(LogError::from)?;
        Ok(Delivered::Posted)
    }
}

pub(crate) async fn take_letters(
    session: &Session,
    inbox: &Inbox,
    stop: &CancellationToken,
) -> Infallible {
    loop {
        // Unreadable letters are retried.
        for letter in inbox.letters().unwrap_or_default() {
            if let Err(error) = take_letter(session, inbox, letter, stop) {
                tracing::warn!(%error, session = %session.id(), "a letter could not be taken");
            }
        }
        tokio::time::sleep(LOOKS).await;
    }
}

fn take_letter(
    session: &Session,
    inbox: &Inbox,
    letter: Letter,
    stop: &CancellationToken,
) -> Result<(), SessionError> {
    if session.look(|history| history.has_taken(&letter.name)) {
        // The process died before it removed the letter.
        return Ok(inbox.remove(&letter.name).map_err(LogError::from)?);
    }
    let request = letter.body.map(serde_json::from_value::<Request>);
    match request {
        Some(Ok(Request::Decide(record))) => match session.decide(record) {
            Ok(()) => {}
            // Another decision came first.
            Err(SessionError::AlreadyDecided(_) | SessionError::NoWaitingCall { .. }) => {}
            Err(error) => return Err(error),
        },
        Some(Ok(Request::Interrupt)) => stop.cancel(),
        Some(Ok(Request::Message { text })) => session.queue(&text)?,
        Some(Err(_)) | None => tracing::warn!(name = letter.name, "a letter has no meaning"),
    }
    session.record(&Event::InboxTaken {
        uuid: letter.name.clone(),
    })?;
    Ok(inbox.remove(&letter.name).map_err(LogError::from)?)
}
