//! The handlers of each address.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::Bytes;
use ktx_agent_session::{
    Accepted, Activity, Continued, Decision, DecisionRecord, ForkPoint, Joined, Pool, PoolError,
};
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_server::{HttpAnswer, Routes};
use ktx_session_log::SessionId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::answer::{empty, failed, json_answer, refused};
use crate::events::{Wish, stream_of};
use crate::path::{NoRoute, Route};

const LONGEST_KEY: usize = 200;

/// Reports about the project.
pub trait Catalog: Send + Sync {
    fn agents(&self) -> Result<Value, Failure>;

    fn sessions(&self) -> Result<Value, Failure>;

    fn session(&self, id: &SessionId) -> Result<Value, Failure>;

    fn approvals(&self) -> Result<Value, Failure>;

    /// Explains a refusal with the next step.
    fn failure(&self, error: PoolError) -> Failure;
}

pub struct AgentRoutes {
    pool: Pool,
    catalog: Arc<dyn Catalog>,
    ending: CancellationToken,
}

impl AgentRoutes {
    /// Serves a pool. `ending` ends the event streams.
    pub fn new(pool: Pool, catalog: Arc<dyn Catalog>, ending: CancellationToken) -> Self {
        Self {
            pool,
            catalog,
            ending,
        }
    }
}

impl std::fmt::Debug for AgentRoutes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRoutes")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSession {
    agent: Option<String>,
    id: Option<SessionId>,
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMessage {
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewCopy {
    /// A cursor, or the name of a point.
    at: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ruling {
    decision: Decision,
    note: Option<String>,
}

#[async_trait]
impl Routes for AgentRoutes {
    fn has(&self, path: &str) -> bool {
        path.starts_with("/v1/")
    }

    fn absent(&self) -> &'static str {
        "there is only /v1/… and /health\n"
    }

    fn refusal(&self, status: StatusCode, reason: &str) -> HttpAnswer {
        let code = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Code::NotAdmitted,
            _ => Code::Usage,
        };
        refused(status, &Failure::new(code, reason))
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> HttpAnswer {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(Collected::to_bytes);
        let body = body.unwrap_or_default();
        let place = match Route::parse(head.uri.path()) {
            Ok(place) => place,
            Err(NoRoute::Unknown) => {
                let text = format!("there is nothing at `{}`", head.uri.path());
                return refused(StatusCode::NOT_FOUND, &Failure::new(Code::Usage, text));
            }
            Err(NoRoute::Id(text)) => return failed(&Failure::new(Code::InvalidSession, text)),
        };
        if !place.methods().contains(&head.method) {
            return not_allowed(&place, &head.method);
        }
        let asked = ReceivedRequest {
            method: head.method,
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            body,
        };
        self.done(place, &asked)
            .await
            .unwrap_or_else(|failure| failed(&failure))
    }
}

struct ReceivedRequest {
    method: Method,
    query: String,
    headers: HeaderMap,
    body: Bytes,
}

impl ReceivedRequest {
    /// An absent body has no fields.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let body: &[u8] = if self.body.is_empty() {
            b"{}"
        } else {
            &self.body
        };
        serde_json::from_slice(body).map_err(|error| {
            Failure::new(
                Code::Usage,
                format!("the body of the request cannot be read: {error}"),
            )
        })
    }

    fn key(&self) -> Result<Option<&str>, Failure> {
        let Some(key) = self.headers.get("idempotency-key") else {
            return Ok(None);
        };
        let key = key.to_str().ok();
        let fits = |key: &&str| !key.is_empty() && key.len() <= LONGEST_KEY;
        match key.filter(fits) {
            Some(key) => Ok(Some(key)),
            None => Err(Failure::new(
                Code::Usage,
                format!(
                    "`Idempotency-Key` is empty, longer than {LONGEST_KEY} characters, or not ASCII"
                ),
            )),
        }
    }
}

impl AgentRoutes {
    async fn done(&self, place: Route, asked: &ReceivedRequest) -> Result<HttpAnswer, Failure> {
        let is_post = asked.method == Method::POST;
        match place {
            Route::Sessions if is_post => self.join(asked).await,
            Route::Sessions => Ok(json_answer(StatusCode::OK, &self.catalog.sessions()?)),
            Route::Session(id) if asked.method == Method::DELETE => {
                self.told(self.pool.delete(&id).await)?;
                Ok(empty(StatusCode::NO_CONTENT))
            }
            Route::Session(id) => {
                let mut session = self.catalog.session(&id)?;
                self.add_activity(&id, &mut session);
                Ok(json_answer(StatusCode::OK, &session))
            }
            Route::Messages(id) => {
                let message: NewMessage = asked.read()?;
                let key = asked.key()?;
                let accepted = self.told(self.pool.send(&id, &message.text, key).await)?;
                Ok(json_answer(StatusCode::ACCEPTED, &answer_of(&accepted)))
            }
            Route::Events(id) => {
                let wish = Wish::read(&asked.query, &asked.headers)?;
                let ending = self.ending.clone();
                self.told(stream_of(self.pool.sessions(), &id, wish, ending))
            }
            Route::Interrupt(id) => {
                let name = self.letter()?;
                self.told(self.pool.interrupt(&id, &name).await)?;
                Ok(json_answer(StatusCode::ACCEPTED, &json!({ "session": id })))
            }
            Route::Fork(id) => self.fork(&id, asked).await,
            Route::Decision(id, call) => self.decide(&id, call, asked).await,
            Route::Approvals => Ok(json_answer(StatusCode::OK, &self.catalog.approvals()?)),
            Route::Agents => Ok(json_answer(StatusCode::OK, &self.catalog.agents()?)),
        }
    }

    fn told<T>(&self, result: Result<T, PoolError>) -> Result<T, Failure> {
        result.map_err(|error| self.catalog.failure(error))
    }

    /// Returns a new name for a letter.
    fn letter(&self) -> Result<String, Failure> {
        Ok(self.pool.host().new_id("")?.to_string())
    }

    fn add_activity(&self, id: &SessionId, session: &mut Value) {
        let state = match self.pool.activity(id) {
            Some(Activity::Running) => "running",
            Some(Activity::Waiting) => "waiting",
            Some(Activity::Idle) | None => return,
        };
        if let Some(session) = session.as_object_mut() {
            session.insert("state".to_owned(), json!(state));
        }
    }

    async fn join(&self, asked: &ReceivedRequest) -> Result<HttpAnswer, Failure> {
        let new: NewSession = asked.read()?;
        let topic = new.message.as_deref().unwrap_or_default();
        let key = asked.key()?;
        let id = match (new.id, key) {
            (None, Some(key)) => Some(id_of(key)?),
            (id, _) => id,
        };
        let joined = self.pool.join(new.agent.as_deref(), id, topic).await;
        let (id, joined) = self.told(joined)?;
        let mut answer = json!({ "session": id });
        if let Some(text) = &new.message {
            let sent = self.pool.send(&id, text, key).await;
            let accepted = self.told(sent)?;
            answer = answer_of(&accepted);
            answer["session"] = json!(id);
        }
        let session = self.catalog.session(&id)?;
        answer["state"] = session.get("state").cloned().unwrap_or_default();
        self.add_activity(&id, &mut answer);
        let status = match joined {
            Joined::Created => StatusCode::CREATED,
            Joined::Resumed => StatusCode::OK,
        };
        Ok(json_answer(status, &answer))
    }

    async fn fork(&self, id: &SessionId, asked: &ReceivedRequest) -> Result<HttpAnswer, Failure> {
        let copy: NewCopy = asked.read()?;
        let point = match copy.at {
            None => ForkPoint::Last,
            Some(Value::String(label)) => ForkPoint::Label(label),
            Some(at) => {
                let Some(seq) = at.as_u64() else {
                    let text = format!("`at` is {at}; write a cursor or the name of a point");
                    return Err(Failure::new(Code::Usage, text));
                };
                ForkPoint::At(seq)
            }
        };
        let copied = self.told(self.pool.fork(id, &point).await)?;
        let answer = json!({ "session": copied, "parent": id });
        Ok(json_answer(StatusCode::CREATED, &answer))
    }

    async fn decide(
        &self,
        id: &SessionId,
        call: String,
        asked: &ReceivedRequest,
    ) -> Result<HttpAnswer, Failure> {
        let ruling: Ruling = asked.read()?;
        let mut answer = json!({ "session": id, "call": call, "decision": ruling.decision });
        let record = DecisionRecord {
            call_id: call,
            decision: ruling.decision,
            decided_by: "a client of the server".to_owned(),
            note: ruling.note,
            session: None,
        };
        let name = self.letter()?;
        let continued = self.told(self.pool.decide(id, record, &name).await)?;
        // A full server keeps the decision; a client must continue the turn.
        answer["continued"] = json!(continued != Continued::Not);
        Ok(json_answer(StatusCode::OK, &answer))
    }
}

/// Derives the session id from the request's key, so that a retry gets the same session.
fn id_of(key: &str) -> Result<SessionId, Failure> {
    let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    let marks: Vec<String> = digest
        .iter()
        .take(10)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    SessionId::parse(&format!("key-{}", marks.concat()))
        .map_err(|error| Failure::new(Code::InvalidSession, error.to_string()))
}

fn answer_of(accepted: &Accepted) -> Value {
    json!({
        "turn": accepted.turn,
        "bookmark": {
            "seq": accepted.seq,
            "timestamp": accepted.at.as_millisecond(),
        },
    })
}

fn not_allowed(place: &Route, method: &Method) -> HttpAnswer {
    let methods: Vec<&str> = place.methods().iter().map(Method::as_str).collect();
    let text = format!(
        "`{method}` is not possible here; use {}",
        methods.join(" or ")
    );
    let mut answer = refused(
        StatusCode::METHOD_NOT_ALLOWED,
        &Failure::new(Code::Usage, text),
    );
    if let Ok(allowed) = HeaderValue::from_str(&methods.join(", ")) {
        answer.headers_mut().insert(ALLOW, allowed);
    }
    answer
}
