//! A client for JSON APIs over HTTPS, with its errors and retries.

mod login;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ktx_diagnostics::{Hint, Hints};
use ktx_http::{BaseUrl, BodyError, ClientSettings, Proxy, Redirects, RetryPolicy, read_body};
use ktx_secrets::{Redactor, Secret};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;

use login::Login;

const CONNECT_TIME: Duration = Duration::from_secs(10);

const ANSWER_TIME: Duration = Duration::from_mins(1);

const ANSWER_BYTES: usize = 64 << 20;

const RETRIES: RetryPolicy = RetryPolicy {
    attempts: 4,
    last_broken_attempt: 3,
    busy: &[429, 500, 502, 503, 504, 529],
    first_delay: Duration::from_millis(500),
    longest_delay: Duration::from_mins(1),
};

const WORDS: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestErrorKind {
    Config,
    Auth,
    Forbidden,
    /// The item does not exist or is hidden from this key.
    NotFound,
    Refused,
    /// The server is still busy or broken after all attempts.
    Busy,
    Unreachable,
    /// The answer does not match the API's documentation.
    Strange,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RestError {
    pub kind: RestErrorKind,
    pub message: String,
}

impl RestError {
    /// Returns whether the error concerns only one item, so that the next request may succeed.
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
            RestErrorKind::Unreachable => "check the network, and the proxy if you need one",
        };
        vec![Hint::new(hint)]
    }
}

#[derive(Debug)]
pub struct Rest {
    name: &'static str,
    base: BaseUrl,
    client: Client,
    headers: HeaderMap,
    login: Option<Login>,
    redactor: Mutex<Redactor>,
}

impl Rest {
    /// Creates a client. Requests carry secrets, so plain HTTP is allowed for this machine only.
    pub fn new(name: &'static str, base: &str) -> Result<Self, RestError> {
        let wrong = || RestError {
            kind: RestErrorKind::Config,
            message: format!(
                "`{}` is not a {name} URL",
                ktx_secrets::redact_url(base.trim())
            ),
        };
        let base = BaseUrl::parse(base).ok_or_else(wrong)?;
        Ok(Self {
            name,
            client: client(base.host())?,
            base,
            headers: HeaderMap::new(),
            login: None,
            redactor: Mutex::new(Redactor::new()),
        })
    }

    /// Sends a secret header with every request.
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

    /// Sends a token with every request. Posts the form to the path for a new token when needed.
    #[must_use]
    pub fn with_login(mut self, path: &'static str, form: &[(&str, &Secret)]) -> Self {
        for (_, secret) in form {
            self.learn(secret);
        }
        self.login = Some(Login::new(path, form));
        self
    }

    #[must_use]
    pub fn with_header(mut self, header: &'static str, value: &'static str) -> Self {
        let name = HeaderName::from_static(header);
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// The path begins with `/`.
    pub async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, RestError> {
        let request = self.client.get(format!("{}{path}", self.base.as_str()));
        self.send(request.query(query), path).await
    }

    /// Posts a request that changes no data and can be retried.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, RestError> {
        let request = self.client.post(format!("{}{path}", self.base.as_str()));
        self.send(request.json(body), path).await
    }

    pub fn strange(&self, what: &str) -> RestError {
        self.error(
            RestErrorKind::Strange,
            format!("{} at {} answered {what}", self.name, self.base.host()),
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

    async fn exchange(&self, request: RequestBuilder, path: &str) -> Result<Value, RestError> {
        let response = ktx_http::send(request, &RETRIES).await;
        let response = response.map_err(|error| self.broken(&error))?;
        self.read(response, path).await
    }

    async fn read(&self, response: Response, path: &str) -> Result<Value, RestError> {
        let status = response.status().as_u16();
        let bytes = read_body(response, ANSWER_BYTES).await;
        let bytes = bytes.map_err(|error| match error {
            BodyError::Broken(error) => self.broken(&error),
            BodyError::TooLong => {
                self.strange(&format!("more than {ANSWER_BYTES} bytes for `{path}`"))
            }
        })?;
        let body: Option<Value> = serde_json::from_slice(&bytes).ok();
        let kind = match (status, body) {
            (200..=299, Some(body)) => return Ok(body),
            (200..=399, _) => {
                return Err(self.strange(&format!("something other than JSON for `{path}`")));
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
                self.name,
                self.base.host()
            ),
        ))
    }

    fn broken(&self, error: &reqwest::Error) -> RestError {
        let message = if error.is_timeout() {
            format!(
                "{} at {} does not answer in time",
                self.name,
                self.base.host()
            )
        } else {
            format!(
                "no answer of {} at {}: {}",
                self.name,
                self.base.host(),
                ktx_http::root_cause(error)
            )
        };
        self.error(RestErrorKind::Unreachable, message)
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn words(bytes: &[u8]) -> String {
    let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let said = ["/message", "/error", "/error/message"];
    let said = said
        .iter()
        .find_map(|place| body.pointer(place)?.as_str())
        .or_else(|| body.as_str());
    // Ignores a proxy's HTML page.
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

fn client(host: &str) -> Result<Client, RestError> {
    let broken = |message: String| RestError {
        kind: RestErrorKind::Unreachable,
        message: format!("the HTTP client cannot be built: {message}"),
    };
    ktx_http::client(ClientSettings {
        tls: ktx_http::tls::client_config().map_err(|error| broken(error.to_string()))?,
        proxy: Proxy::for_host(host),
        redirects: Redirects::None,
        connect_timeout: CONNECT_TIME,
        total_timeout: Some(ANSWER_TIME),
        user_agent: Some(concat!("ktx/", env!("CARGO_PKG_VERSION"))),
    })
    .map_err(|error| broken(error.to_string()))
}
