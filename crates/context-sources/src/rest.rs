//! Context sources that are reached over HTTPS with JSON: one client, its errors, and trying again.

mod login;

use std::error::Error as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ktx_diagnostics::{Hint, Hints};
use ktx_secrets::{Redactor, Secret, is_loopback};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url};
use serde_json::Value;

use login::Login;

/// Time for network and TLS.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Time for one answer.
const ANSWER_TIME: Duration = Duration::from_mins(1);

/// Bytes of one answer at most.
const ANSWER_BYTES: usize = 64 << 20;

/// How often a request is sent at most, when the answer says "busy".
const TRIES: u32 = 4;

/// The first wait between two tries; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest wait that an answer may ask for.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Characters of a server's own words that are shown.
const WORDS: usize = 300;

/// What went wrong, as far as the next step depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestErrorKind {
    /// The address or the key cannot be used as written.
    Config,
    /// The server does not accept the key.
    Auth,
    /// The server accepts the key, and does not let it do this.
    Forbidden,
    /// The server says that the thing is not there, or not for this key.
    NotFound,
    /// The server refuses the request for another reason.
    Refused,
    /// The server is busy or broken, also after several tries.
    Busy,
    /// No answer came.
    Unreachable,
    /// The answer is not what the API's documentation says.
    Strange,
}

/// Why something could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RestError {
    /// What went wrong.
    pub kind: RestErrorKind,
    /// In words, without secrets.
    pub message: String,
}

impl RestError {
    /// Whether the next thing may fare better. One that this key may not see is one thing.
    pub(crate) const fn is_about_one(&self) -> bool {
        matches!(
            self.kind,
            RestErrorKind::Forbidden
                | RestErrorKind::NotFound
                | RestErrorKind::Refused
                | RestErrorKind::Strange
                | RestErrorKind::Busy
        )
    }
}

impl Hints for RestError {
    fn hints(&self) -> Vec<Hint> {
        let hint = match self.kind {
            RestErrorKind::Config => {
                "write the address as `https://host`; `http://` is for this machine only"
            }
            RestErrorKind::Auth | RestErrorKind::Forbidden => {
                "look at whether the key is still valid, and what it may read"
            }
            RestErrorKind::NotFound => {
                "look at whether it is there, and shared with the owner of the key"
            }
            RestErrorKind::Refused | RestErrorKind::Strange => {
                "look at whether the address is that of the API"
            }
            RestErrorKind::Busy => "run the command again later",
            RestErrorKind::Unreachable => "check the network, and the proxy if there has to be one",
        };
        vec![Hint::new(hint)]
    }
}

/// A client for one server.
#[derive(Debug)]
pub struct Rest {
    /// The server's name for people.
    name: &'static str,
    /// Without a slash at its end.
    base: String,
    host: String,
    client: Client,
    headers: HeaderMap,
    login: Option<Login>,
    redactor: Mutex<Redactor>,
}

impl Rest {
    /// A client for the server at `base`. Plain HTTP is for this machine only: what is sent holds secrets.
    ///
    /// # Errors
    /// [`RestErrorKind::Config`].
    pub fn new(name: &'static str, base: &str) -> Result<Self, RestError> {
        let wrong = || RestError {
            kind: RestErrorKind::Config,
            message: format!(
                "`{}` is not a {name} URL",
                ktx_secrets::redact_url(base.trim())
            ),
        };
        let url = Url::parse(base.trim()).map_err(|_| wrong())?;
        let host = url.host_str().ok_or_else(wrong)?.trim_matches(['[', ']']);
        let is_safe = match url.scheme() {
            "https" => true,
            "http" => is_loopback(host),
            _ => false,
        };
        let is_bare = url.username().is_empty() && url.password().is_none();
        if !is_safe || !is_bare || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong());
        }
        Ok(Self {
            name,
            base: base.trim().trim_end_matches('/').to_owned(),
            host: host.to_owned(),
            client: client(host)?,
            headers: HeaderMap::new(),
            login: None,
            redactor: Mutex::new(Redactor::new()),
        })
    }

    /// Sends a header with every request. Its value is shown nowhere.
    ///
    /// # Errors
    /// [`RestErrorKind::Config`] when the value cannot be sent as a header.
    pub fn with_secret(
        mut self,
        header: &'static str,
        prefix: &str,
        secret: &Secret,
    ) -> Result<Self, RestError> {
        let value = sensitive(&format!("{prefix}{}", secret.expose().trim()));
        let value = value.ok_or_else(|| RestError {
            kind: RestErrorKind::Config,
            message: format!("the key for {} has characters that no key has", self.name),
        })?;
        self.headers.insert(HeaderName::from_static(header), value);
        self.learn(secret);
        Ok(self)
    }

    /// Sends a token with every request, which the server gives for this form at this path. It is asked for when
    /// it is needed, and once more when the server does not accept it any more. Form and token are shown nowhere.
    #[must_use]
    pub fn with_login(mut self, path: &'static str, form: &[(&str, &Secret)]) -> Self {
        for (_, secret) in form {
            self.learn(secret);
        }
        self.login = Some(Login::new(path, form));
        self
    }

    /// Sends a header with every request.
    #[must_use]
    pub fn with_header(mut self, header: &'static str, value: &'static str) -> Self {
        let name = HeaderName::from_static(header);
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// What stands at a path that begins with `/`.
    ///
    /// # Errors
    /// [`RestError`].
    pub async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, RestError> {
        let request = self.client.get(format!("{}{path}", self.base));
        self.send(request.query(query), path).await
    }

    /// The answer to a question that changes nothing: it may be asked twice.
    ///
    /// # Errors
    /// [`RestError`].
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, RestError> {
        let request = self.client.post(format!("{}{path}", self.base));
        self.send(request.json(body), path).await
    }

    /// An error about an answer that lacks what its documentation says.
    pub fn strange(&self, what: &str) -> RestError {
        self.error(
            RestErrorKind::Strange,
            format!("{} at {} answered {what}", self.name, self.host),
        )
    }

    fn error(&self, kind: RestErrorKind, message: impl AsRef<str>) -> RestError {
        let redactor = self.redactor.lock();
        let redactor = redactor.unwrap_or_else(PoisonError::into_inner);
        RestError {
            kind,
            message: redactor.redact(message.as_ref()),
        }
    }

    fn learn(&self, secret: &Secret) {
        let redactor = self.redactor.lock();
        let mut redactor = redactor.unwrap_or_else(PoisonError::into_inner);
        redactor.learn(secret);
    }

    async fn send(&self, request: RequestBuilder, path: &str) -> Result<Value, RestError> {
        let request = request.headers(self.headers.clone());
        match &self.login {
            Some(login) => login.send(self, request, path).await,
            None => self.exchange(request, path).await,
        }
    }

    /// One question and its answer, asked again while the server is busy.
    async fn exchange(&self, request: RequestBuilder, path: &str) -> Result<Value, RestError> {
        let mut wait = FIRST_WAIT;
        let mut tries = 1;
        loop {
            let Some(copy) = request.try_clone() else {
                return Err(self.strange("nothing: the request cannot be sent"));
            };
            let is_last = tries == TRIES;
            tries += 1;
            let response = match copy.send().await {
                Ok(response) => response,
                // The server may have closed a kept connection at the same moment.
                Err(error) if !is_last && !error.is_connect() && !error.is_timeout() => continue,
                Err(error) => return Err(self.broken(&error)),
            };
            let is_busy = matches!(response.status().as_u16(), 429 | 500 | 502..=504 | 529);
            if !is_busy || is_last {
                return self.read(response, path).await;
            }
            let asked = response.headers().get(RETRY_AFTER);
            let asked = asked
                .and_then(|value| value.to_str().ok()?.trim().parse().ok())
                .map(Duration::from_secs);
            tokio::time::sleep(asked.unwrap_or(wait).min(LONGEST_WAIT)).await;
            wait *= 2;
        }
    }

    async fn read(&self, mut response: Response, path: &str) -> Result<Value, RestError> {
        let status = response.status().as_u16();
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let chunk = response
                .chunk()
                .await
                .map_err(|error| self.broken(&error))?;
            let Some(chunk) = chunk else { break };
            if bytes.len().saturating_add(chunk.len()) > ANSWER_BYTES {
                return Err(self.strange(&format!("more than {ANSWER_BYTES} bytes for `{path}`")));
            }
            bytes.extend_from_slice(&chunk);
        }
        let body: Option<Value> = serde_json::from_slice(&bytes).ok();
        let kind = match (status, body) {
            (200..=299, Some(body)) => return Ok(body),
            (200..=399, _) => {
                return Err(self.strange(&format!("something else than JSON for `{path}`")));
            }
            (401, _) => RestErrorKind::Auth,
            (403, _) => RestErrorKind::Forbidden,
            (404 | 410, _) => RestErrorKind::NotFound,
            (429 | 500..=599, _) => RestErrorKind::Busy,
            _ => RestErrorKind::Refused,
        };
        let words = words(&bytes);
        Err(self.error(
            kind,
            format!(
                "{} at {} answered {status} for `{path}`{words}",
                self.name, self.host
            ),
        ))
    }

    /// Maps an error of the HTTP client.
    fn broken(&self, error: &reqwest::Error) -> RestError {
        let mut last = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            last = inner.to_string();
            cause = inner.source();
        }
        let message = if error.is_timeout() {
            format!("{} at {} does not answer in time", self.name, self.host)
        } else {
            format!("no answer of {} at {}: {last}", self.name, self.host)
        };
        self.error(RestErrorKind::Unreachable, message)
    }
}

/// A header's value that is shown nowhere; none when it cannot be sent.
fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The server's own words about a failure, when they are few.
fn words(bytes: &[u8]) -> String {
    let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let said = ["/message", "/error", "/error/message"];
    let said = said
        .iter()
        .find_map(|place| body.pointer(place)?.as_str())
        .or_else(|| body.as_str());
    // A proxy's page is no word of the server.
    let Some(said) = said.filter(|said| !said.trim().is_empty()) else {
        return String::new();
    };
    let mut shown: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    if shown.chars().count() > WORDS {
        shown = shown.chars().take(WORDS).collect();
        shown.push('…');
    }
    format!(": {shown}")
}

/// The HTTP client for a host. A proxy would look for this machine at its own place; keys never go to a host
/// that the user did not name.
fn client(host: &str) -> Result<Client, RestError> {
    let broken = |message: String| RestError {
        kind: RestErrorKind::Unreachable,
        message: format!("the HTTP client cannot be built: {message}"),
    };
    let config = ktx_tls::client_config().map_err(|error| broken(error.to_string()))?;
    let builder = Client::builder()
        .tls_backend_preconfigured(config)
        .user_agent(concat!("ktx/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIME)
        .timeout(ANSWER_TIME)
        .redirect(reqwest::redirect::Policy::none());
    let builder = if is_loopback(host) {
        builder.no_proxy()
    } else {
        builder
    };
    builder.build().map_err(|error| broken(error.to_string()))
}
