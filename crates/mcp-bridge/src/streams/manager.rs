//! The sessions of an HTTP server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::Stream;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions as _, GetMeta as _, ProtocolVersion,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId, session_id};
use rmcp::transport::streamable_http_server::session::SessionManager;

use super::log::{EventPlace, Patience};
use super::routes::{LISTENING, SessionTransport, StreamRequest, StreamRoutes};
use crate::caller::Caller;
use crate::sessions::IDLE;

/// The delay before a client connects again.
const RETRY: Duration = Duration::from_secs(1);

/// A client that reads on by itself tries at least twice.
const ABSENCE: Duration = Duration::from_secs(10);

/// Towards a client of an earlier protocol, which takes an event without a message for a broken one.
const IMPATIENT: Patience = Patience {
    retry: None,
    longest: None,
    absence: Duration::from_secs(1),
};

/// The open sessions.
#[derive(Debug)]
pub(crate) struct SessionTable {
    open: Mutex<HashMap<SessionId, Arc<StreamRoutes>>>,
    longest: Duration,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("there is no session `{0}`")]
    NoSession(SessionId),
    #[error("the session has ended")]
    Ended,
    #[error("there is no event `{0}` to read on from, or no longer")]
    NoEvent(String),
}

impl SessionTable {
    /// `longest` is how long a connection carries an answer, for clients that read on by
    /// themselves.
    pub(crate) fn new(longest: Duration) -> Self {
        Self {
            open: Mutex::default(),
            longest,
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<StreamRoutes>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ids(&self) -> Vec<SessionId> {
        self.open().keys().cloned().collect()
    }

    pub(crate) fn close(&self, id: &SessionId) {
        let closed = self.open().remove(id);
        if let Some(routes) = closed {
            routes.close();
        }
    }

    fn session(&self, id: &SessionId) -> Result<Arc<StreamRoutes>, StreamError> {
        let session = self.open().get(id).cloned();
        session.ok_or_else(|| StreamError::NoSession(id.clone()))
    }

    fn patience(&self, version: &ProtocolVersion) -> Patience {
        if version.as_str() >= ProtocolVersion::V_2025_11_25.as_str() {
            Patience {
                retry: Some(RETRY),
                longest: Some(self.longest),
                absence: ABSENCE,
            }
        } else {
            IMPATIENT
        }
    }
}

/// Whether a request that names this event reads on an answer.
pub(crate) fn reads_on(event: &str) -> bool {
    EventPlace::parse(event).is_some_and(|place| place.stream != LISTENING)
}

impl SessionManager for SessionTable {
    type Error = StreamError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), StreamError> {
        let (routes, incoming) = StreamRoutes::new(IMPATIENT);
        let id = session_id();
        self.open().insert(id.clone(), Arc::clone(&routes));
        let transport = SessionTransport {
            routes,
            incoming,
            idle: IDLE,
        };
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, StreamError> {
        let session = self.session(id)?;
        let ClientJsonRpcMessage::Request(request) = &message else {
            return Err(StreamError::Ended);
        };
        let answer = session.first(request.id.clone());
        if !session.pass(message).await {
            return Err(StreamError::Ended);
        }
        let answer = answer.await.map_err(|_| StreamError::Ended)?;
        if let ServerJsonRpcMessage::Response(begun) = &answer
            && let ServerResult::InitializeResult(begun) = &begun.result
        {
            session.set_patience(self.patience(&begun.protocol_version));
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, StreamError> {
        Ok(self.open().contains_key(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), StreamError> {
        self.close(id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, StreamError> {
        let session = self.session(id)?;
        let ClientJsonRpcMessage::Request(asked) = &message else {
            return Err(StreamError::Ended);
        };
        let reader = session.ask(StreamRequest {
            request: asked.id.clone(),
            token: asked.request.get_meta().get_progress_token(),
            gone: Caller::of(asked.request.extensions()).token(),
        });
        if session.pass(message).await {
            Ok(reader)
        } else {
            Err(StreamError::Ended)
        }
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), StreamError> {
        let session = self.session(id)?;
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(canceled) = &notification.notification
            && let Some(request) = &canceled.params.request_id
        {
            session.give_up(request);
        }
        if session.pass(message).await {
            Ok(())
        } else {
            Err(StreamError::Ended)
        }
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, StreamError> {
        Ok(self.session(id)?.listen())
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, StreamError> {
        let session = self.session(id)?;
        let place = EventPlace::parse(&last_event_id);
        let reader = place.and_then(|place| session.read_after(place));
        reader.ok_or(StreamError::NoEvent(last_event_id))
    }
}
