//! Posts JSON other than model calls, by the same rules.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::clients::HttpClients;
use crate::limit_headers::retry_after;
use crate::settings::{Proxy, Timeouts};

/// In bytes.
const LONGEST_ANSWER: usize = 64 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonReply {
    pub status: u16,
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

/// No URL, no header values.
#[derive(Debug, thiserror::Error)]
pub enum JsonPostError {
    #[error("{message}")]
    Client { message: String },
    #[error("header `{name}` cannot be sent")]
    Header { name: String },
    #[error("there was no answer within {seconds} s")]
    Timeout { seconds: f64 },
    #[error("it could not be reached: {reason}")]
    Transport { reason: String },
}

#[derive(Debug, Clone)]
pub struct JsonPoster {
    clients: HttpClients,
}

impl JsonPoster {
    pub fn new(proxy: &Proxy) -> Result<Self, JsonPostError> {
        let clients = HttpClients::new(proxy, &Timeouts::default()).map_err(|error| {
            JsonPostError::Client {
                message: error.message,
            }
        })?;
        Ok(Self { clients })
    }

    /// Header values are secrets.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<JsonReply, JsonPostError> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let broken = || JsonPostError::Header { name: name.clone() };
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| broken())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| broken())?;
            value.set_sensitive(true);
            map.append(key, value);
        }
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let failed = |error| broken(error, timeout);
        let request = self.clients.post(url).headers(map).timeout(timeout);
        let mut response = request.body(body).send().await.map_err(failed)?;
        let mut reply = JsonReply {
            status: response.status().as_u16(),
            retry_after: retry_after(response.headers()),
            body: Vec::new(),
        };
        while reply.body.len() < LONGEST_ANSWER
            && let Some(piece) = response.chunk().await.map_err(failed)?
        {
            reply.body.extend_from_slice(&piece);
        }
        Ok(reply)
    }
}

fn broken(error: reqwest::Error, timeout: Duration) -> JsonPostError {
    if error.is_timeout() {
        return JsonPostError::Timeout {
            seconds: timeout.as_secs_f64(),
        };
    }
    let plain = error.without_url();
    let mut words = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = Some(&plain);
    while let Some(error) = cause {
        words.push(error.to_string());
        cause = error.source();
    }
    JsonPostError::Transport {
        reason: words.join(": "),
    }
}
