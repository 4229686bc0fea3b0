//! The HTTPS client for warehouses with a JSON API, with its errors and retries.

use std::error::Error as _;
use std::time::Duration;

use ktx_secrets::{Redactor, is_loopback};
use ktx_warehouse::{ErrorKind, WarehouseError};
use reqwest::{Client, RequestBuilder, Response};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::settings::Settings;
use crate::tls::{self, Trust};

const CONNECT_TIME: Duration = Duration::from_secs(10);

const ANSWER_BYTES: usize = 256 << 20;

/// Maximum attempts when the server answers "busy".
const TRIES: u32 = 4;

/// The first retry delay; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest retry delay that an answer may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Without a trailing slash.
    url: String,
    host: String,
}

impl Endpoint {
    /// Parses an address. Plain HTTP is allowed for this machine only, because requests carry
    /// secrets.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let url = reqwest::Url::parse(text.trim()).ok()?;
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let is_safe = match url.scheme() {
            "https" => true,
            "http" => is_loopback(&host),
            _ => false,
        };
        let is_bare = url.username().is_empty() && url.password().is_none();
        (is_safe && is_bare && url.query().is_none()).then(|| Self {
            url: text.trim().trim_end_matches('/').to_owned(),
            host,
        })
    }

    /// Reads the key `endpoint`; `usual` if it is absent.
    pub(crate) fn read(settings: &Settings<'_>, usual: &str) -> Result<Self, WarehouseError> {
        let text = settings.text(&["endpoint"])?;
        Self::parse(text.as_deref().unwrap_or(usual)).ok_or_else(|| {
            settings
                .wrong("has an `endpoint` that is not an HTTPS URL")
                .hint("write it as `https://host`; `http://` is for this machine only")
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn is_this_machine(&self) -> bool {
        is_loopback(&self.host)
    }
}

/// Builds the HTTP client for a host. It uses no proxy for this machine, because a proxy would
/// resolve `localhost` to itself.
pub(crate) fn client(trust: &Trust, host: &str) -> Result<Client, WarehouseError> {
    let builder = Client::builder()
        .tls_backend_preconfigured(tls::client_config(trust)?)
        .connect_timeout(CONNECT_TIME)
        .redirect(reqwest::redirect::Policy::none());
    let builder = if is_loopback(host) {
        builder.no_proxy()
    } else {
        builder
    };
    builder
        .build()
        .map_err(|error| WarehouseError::new(ErrorKind::Other, error.to_string()))
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// `Null` if the body is not JSON.
    pub(crate) body: Value,
}

#[derive(Debug)]
pub(crate) struct Rest {
    name: &'static str,
    endpoint: Endpoint,
    client: OnceCell<Client>,
    redactor: Redactor,
}

impl Rest {
    pub(crate) fn new(name: &'static str, endpoint: Endpoint, redactor: Redactor) -> Self {
        Self {
            name,
            endpoint,
            client: OnceCell::new(),
            redactor,
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Makes an error of the warehouse with the secrets of the connection redacted.
    pub(crate) fn error(&self, kind: ErrorKind, text: &str) -> WarehouseError {
        WarehouseError::new(kind, self.redactor.redact(text))
    }

    pub(crate) async fn client(&self) -> Result<&Client, WarehouseError> {
        self.client
            .get_or_try_init(|| async { client(&Trust::System, &self.endpoint.host) })
            .await
    }

    /// Sends an idempotent request. Retries while the server answers "busy", and once if a
    /// connection breaks before the answer.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Answer, WarehouseError> {
        let mut wait = FIRST_WAIT;
        let mut tries = 1;
        loop {
            let Some(copy) = request.try_clone() else {
                return self.send_once(request).await;
            };
            let response = match copy.send().await {
                Ok(response) => response,
                // The server may have closed a pooled connection at that moment.
                Err(error) if tries == 1 && !error.is_connect() && !error.is_timeout() => {
                    tries += 1;
                    continue;
                }
                Err(error) => return Err(self.broken(&error)),
            };
            let is_busy = matches!(response.status().as_u16(), 429 | 502..=504);
            if !is_busy || tries == TRIES {
                return self.read(response).await;
            }
            let asked = response
                .headers()
                .get("retry-after")
                .and_then(|value| value.to_str().ok()?.trim().parse().ok())
                .map(Duration::from_secs);
            tokio::time::sleep(asked.unwrap_or(wait).min(LONGEST_WAIT)).await;
            wait *= 2;
            tries += 1;
        }
    }

    pub(crate) async fn send_once(
        &self,
        request: RequestBuilder,
    ) -> Result<Answer, WarehouseError> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        self.read(response).await
    }

    async fn read(&self, mut response: Response) -> Result<Answer, WarehouseError> {
        let status = response.status().as_u16();
        let mut bytes: Vec<u8> = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.broken(&error))?
        {
            if bytes.len().saturating_add(chunk.len()) > ANSWER_BYTES {
                return Err(WarehouseError::new(
                    ErrorKind::Limit,
                    format!("one answer has more than {ANSWER_BYTES} bytes"),
                )
                .hint("select fewer columns, or only a part of the long ones"));
            }
            bytes.extend_from_slice(&chunk);
        }
        // A proxy's page is not JSON; the caller notices the missing fields.
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Answer { status, body })
    }

    fn broken(&self, error: &reqwest::Error) -> WarehouseError {
        let mut last = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            last = inner.to_string();
            cause = inner.source();
        }
        let place = error
            .url()
            .and_then(|url| url.host_str())
            .unwrap_or(&self.endpoint.host)
            .to_owned();
        if let Some(inner) = tls::cause(error) {
            return self
                .error(
                    ErrorKind::Tls,
                    &format!("no encrypted channel to {place}: {inner}"),
                )
                .hint(
                    "a proxy in between may show a certificate of its own: add its authority to the \
                     certificates of the operating system",
                );
        }
        if error.is_connect() || error.is_timeout() {
            return self
                .error(
                    ErrorKind::Unreachable,
                    &format!("no {} at {place}: {last}", self.name),
                )
                .hint("check the network, and the proxy if there has to be one");
        }
        self.error(
            ErrorKind::Dropped,
            &format!("the connection to {place} broke: {last}"),
        )
        .hint("run the command again")
    }
}

/// Returns 32 random hexadecimal digits. The client chooses request ids, so that it can repeat or
/// cancel a request even if its answer was lost.
pub(crate) fn random_digits() -> Result<String, WarehouseError> {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| WarehouseError::new(ErrorKind::Other, "the system gives no random numbers"))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Returns the whole number at a JSON pointer, whether it is a number or text there.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    match value.pointer(pointer)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(), // Not a number: treated as absent.
        _ => None,
    }
}

#[cfg(test)]
mod tests;
