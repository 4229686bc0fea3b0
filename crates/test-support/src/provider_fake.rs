//! A loopback model API for the real `claude`: a proxy with its own certificates that refuses other
//! hosts.
//!
//! [`ProviderFake::environment`] has the variables for `claude`.

mod answer;
mod http;
mod login;
mod tls;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

pub use answer::ModelAnswer;
pub use login::log_in;

#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    pub host: String,
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl ReceivedRequest {
    pub fn is_model_request(&self) -> bool {
        self.target == "POST /v1/messages"
    }
}

#[derive(Debug, Default)]
struct ProviderState {
    answers: VecDeque<ModelAnswer>,
    seen: Vec<ReceivedRequest>,
    refused: Vec<String>,
    messages: u32,
}

/// Ends on drop.
#[derive(Debug)]
pub struct ProviderFake {
    port: u16,
    authority: PathBuf,
    state: Arc<Mutex<ProviderState>>,
    server: JoinHandle<()>,
}

impl ProviderFake {
    /// Gives these answers in order, then an error. Writes its certificate to `folder`.
    pub async fn start(folder: &Path, answers: Vec<ModelAnswer>) -> anyhow::Result<Self> {
        let authority = folder.join("authority.pem");
        let acceptor = tls::acceptor(&authority)?;
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .context("no port on loopback")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(Mutex::new(ProviderState {
            answers: answers.into(),
            ..ProviderState::default()
        }));
        let shared = Arc::clone(&state);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, state) = (acceptor.clone(), Arc::clone(&shared));
                tokio::spawn(async move { serve(stream, &acceptor, &state).await.ok() });
            }
        });
        Ok(Self {
            port,
            authority,
            state,
            server,
        })
    }

    pub fn environment(&self) -> BTreeMap<String, String> {
        let authority = self.authority.to_string_lossy().into_owned();
        BTreeMap::from([
            (
                "HTTPS_PROXY".to_owned(),
                format!("http://127.0.0.1:{}", self.port),
            ),
            ("NODE_EXTRA_CA_CERTS".to_owned(), authority.clone()),
            ("SSL_CERT_FILE".to_owned(), authority),
        ])
    }

    pub fn seen(&self) -> Vec<ReceivedRequest> {
        self.state().seen.clone()
    }

    pub fn model_requests(&self) -> Vec<Value> {
        let seen = self.seen().into_iter();
        seen.filter(ReceivedRequest::is_model_request)
            .map(|request| request.body)
            .collect()
    }

    /// Other hosts that clients tried to reach.
    pub fn refused(&self) -> Vec<String> {
        self.state().refused.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ProviderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ProviderFake {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    acceptor: &TlsAcceptor,
    state: &Mutex<ProviderState>,
) -> anyhow::Result<()> {
    let head = http::read(&mut stream).await?;
    let host = head.path.split(':').next().unwrap_or_default().to_owned();
    if head.method != "CONNECT" || !tls::is_ours(&host) {
        state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .refused
            .push(head.path);
        return http::write(&mut stream, 403, &[], b"refused").await;
    }
    http::established(&mut stream).await?;
    let mut stream = acceptor.accept(stream).await?;
    let request = http::read(&mut stream).await?;
    let path = request.path.split('?').next().unwrap_or_default();
    let seen = ReceivedRequest {
        host,
        target: format!("{} {path}", request.method),
        headers: request.headers,
        body: serde_json::from_slice(&request.body).unwrap_or(Value::Null),
    };
    let answer = reply(seen, state);
    tokio::time::sleep(answer.delay).await;
    if answer.hangs {
        http::write_part(&mut stream, answer.status, &answer.headers, &answer.body).await?;
        return std::future::pending().await;
    }
    http::write(&mut stream, answer.status, &answer.headers, &answer.body).await
}

fn reply(seen: ReceivedRequest, state: &Mutex<ProviderState>) -> answer::Reply {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let reply = if seen.is_model_request() {
        state.messages += 1;
        let (number, answer) = (state.messages, state.answers.pop_front());
        answer::to_model_request(answer, number, &seen.body)
    } else {
        answer::to_other_request(&seen.target)
    };
    state.seen.push(seen);
    reply
}
