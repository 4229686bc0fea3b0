//! What other processes ask of a session that is open.

use std::convert::Infallible;
use std::time::Duration;

use ktx_session_log::{Inbox, Letter, LogError, SessionId};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::event::{DecisionRecord, Event};
use crate::session::{Session, SessionError};
use crate::sessions::Sessions;

/// How often the holder of a session looks into its inbox.
const LOOKS: Duration = Duration::from_millis(100);

/// A request to the holder of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Request {
    /// Decides about a call.
    Decide(DecisionRecord),
    /// Ends the turn.
    Interrupt,
    /// Says something, within the turn that runs.
    Message { text: String },
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// It is in the log.
    Done,
    /// The process that has the session open takes it.
    Posted,
}

impl Sessions {
    /// Decides about a call of a session, whichever process has it open. `name` is unique among the letters to the
    /// session, and later letters have later names.
    ///
    /// # Errors
    /// As [`Session::decide`].
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

    /// Asks the process that has a session open to end its turn; none has it if this returns `Done`.
    ///
    /// # Errors
    /// [`SessionError::Log`].
    pub fn interrupt(&self, id: &SessionId, name: &str) -> Result<Delivered, SessionError> {
        match self.touch(id.clone()) {
            Ok(_) => Ok(Delivered::Done),
            Err(SessionError::Log(LogError::Busy { .. })) => {
                self.post(id, &Request::Interrupt, name)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends a message to the process that has a session open; none has it if this returns `None`.
    ///
    /// # Errors
    /// [`SessionError::Log`].
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

/// Takes letters as long as it is polled.
pub(crate) async fn take_letters(
    session: &Session,
    inbox: &Inbox,
    stop: &CancellationToken,
) -> Infallible {
    loop {
        // A letter that cannot be read now is read the next time.
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
        // Its process died before it had removed the letter.
        return Ok(inbox.remove(&letter.name).map_err(LogError::from)?);
    }
    let request = letter.body.map(serde_json::from_value::<Request>);
    match request {
        Some(Ok(Request::Decide(record))) => match session.decide(record) {
            Ok(()) => {}
            // Whoever decided first has told the other.
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
