//! HTTPS client for JSON APIs, with errors and retries.

use std::time::Duration;

use ktx_http::{BaseUrl, BodyError, ClientSettings, Proxy, Redirects, RetryPolicy, read_body};
use ktx_secrets::Redactor;
use ktx_warehouse::{ErrorKind, WarehouseError};
use reqwest::{Client, RequestBuilder, Response};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::settings::ConnectionSettings;
use crate::tls::{self, TlsTrust};

const CONNECT_TIME: Duration = Duration::from_secs(10);

const ANSWER_BYTES: usize = 256 << 20;

const RETRIES: RetryPolicy = RetryPolicy {
    attempts: 4,
    last_broken_attempt: 1,
    busy: &[429, 502, 503, 504],
    first_delay: Duration::from_millis(500),
    longest_delay: Duration::from_secs(20),
};

pub(crate) fn endpoint(
    settings: &ConnectionSettings<'_>,
    usual: &str,
) -> Result<BaseUrl, WarehouseError> {
    let text = settings.text(&["endpoint"])?;
    BaseUrl::parse(text.as_deref().unwrap_or(usual)).ok_or_else(|| {
        settings
            .wrong("has an `endpoint` that is not an HTTPS URL")
            .hint("write it as `https://host`; `http://` is for this machine only")
    })
}

pub(crate) fn client(trust: &TlsTrust, host: &str) -> Result<Client, WarehouseError> {
    ktx_http::client(ClientSettings {
        tls: tls::client_config(trust)?,
        proxy: Proxy::for_host(host),
        redirects: Redirects::None,
        connect_timeout: CONNECT_TIME,
        total_timeout: None,
        user_agent: None,
    })
    .map_err(|error| WarehouseError::new(ErrorKind::Other, error.to_string()))
}

#[derive(Debug)]
pub(crate) struct JsonResponse {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

#[derive(Debug)]
pub(crate) struct RestClient {
    name: &'static str,
    endpoint: BaseUrl,
    client: OnceCell<Client>,
    redactor: Redactor,
}

impl RestClient {
    pub(crate) fn new(name: &'static str, endpoint: BaseUrl, redactor: Redactor) -> Self {
        Self {
            name,
            endpoint,
            client: OnceCell::new(),
            redactor,
        }
    }

    pub(crate) fn endpoint(&self) -> &BaseUrl {
        &self.endpoint
    }

    /// Redacts the connection's secrets.
    pub(crate) fn error(&self, kind: ErrorKind, text: &str) -> WarehouseError {
        WarehouseError::new(kind, self.redactor.redact(text))
    }

    pub(crate) async fn client(&self) -> Result<&Client, WarehouseError> {
        self.client
            .get_or_try_init(|| async { client(&TlsTrust::System, self.endpoint.host()) })
            .await
    }

    /// Sends an idempotent request. Retries on "busy", and once after a broken connection.
    pub(crate) async fn send(
        &self,
        request: RequestBuilder,
    ) -> Result<JsonResponse, WarehouseError> {
        let response = ktx_http::send(request, &RETRIES).await;
        self.read(response.map_err(|error| self.broken(&error))?)
            .await
    }

    async fn read(&self, response: Response) -> Result<JsonResponse, WarehouseError> {
        let status = response.status().as_u16();
        let bytes = read_body(response, ANSWER_BYTES).await;
        let bytes = bytes.map_err(|error| match error {
            BodyError::Broken(error) => self.broken(&error),
            BodyError::TooLong => WarehouseError::new(
                ErrorKind::Limit,
                format!("one answer has more than {ANSWER_BYTES} bytes"),
            )
            .hint("select fewer columns, or only a part of the long ones"),
        })?;
        // A proxy's page is not JSON; the caller finds missing fields.
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(JsonResponse { status, body })
    }

    fn broken(&self, error: &reqwest::Error) -> WarehouseError {
        let cause = ktx_http::root_cause(error);
        let place = error
            .url()
            .and_then(|url| url.host_str())
            .unwrap_or(self.endpoint.host())
            .to_owned();
        if let Some(inner) = tls::cause(error) {
            return self
                .error(
                    ErrorKind::Tls,
                    &format!("no encrypted channel to {place}: {inner}"),
                )
                .hint(
                    "a proxy in between may present its own certificate: add its authority to the \
                     certificates of the operating system",
                );
        }
        if error.is_connect() || error.is_timeout() {
            return self
                .error(
                    ErrorKind::Unreachable,
                    &format!("no {} at {place}: {cause}", self.name),
                )
                .hint("check the network, and the proxy if you need one");
        }
        self.error(
            ErrorKind::Dropped,
            &format!("the connection to {place} broke: {cause}"),
        )
        .hint("run the command again")
    }
}

/// 32 hexadecimal digits. The client chooses request ids, so it can repeat or cancel a request
/// whose answer was lost.
pub(crate) fn random_digits() -> Result<String, WarehouseError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        WarehouseError::new(ErrorKind::Other, "the system provides no random numbers")
    })?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    match value.pointer(pointer)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(), // Not a number: treated as absent.
        _ => None,
    }
}

#[cfg(test)]
mod tests;
