//! A client for an embeddings server that speaks OpenAI's protocol.

use std::time::Duration;

use async_trait::async_trait;
use ktx_http::{
    BaseUrl, BodyError, ClientSettings, Proxy, Redirects, RetryPolicy, read_body, root_cause,
};
use ktx_search::{Vectors, VectorsError};
use ktx_secrets::{Redactor, Secret};
use reqwest::Client;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde::Deserialize;
use serde_json::json;

const CONNECT_TIME: Duration = Duration::from_secs(10);
const ANSWER_TIME: Duration = Duration::from_mins(1);

const ANSWER_BYTES: usize = 64 << 20;

/// Default texts per request.
const BATCH: usize = 64;

/// Maximum characters of the server's own message.
const WORDS: usize = 200;

/// Statuses for a rejected text: too long, empty, not allowed.
const OF_TEXTS: [u16; 3] = [400, 413, 422];

const RETRIES: RetryPolicy = RetryPolicy {
    attempts: 4,
    last_broken_attempt: 1,
    busy: &[429, 500, 502, 503, 504],
    first_delay: Duration::from_millis(500),
    longest_delay: Duration::from_secs(20),
};

#[derive(Debug)]
pub struct ServerSettings {
    /// The URL that `/embeddings` is appended to.
    pub base: String,
    pub key: Option<Secret>,
    pub model: String,
    pub dimensions: Option<u64>,
    pub batch: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(
        "`{0}` is not the address of an embeddings server: it must begin with `https://`, or name this machine"
    )]
    Address(String),
    #[error("the key of the embeddings server holds characters that no key has")]
    Key,
    #[error("the HTTP client cannot be built: {0}")]
    Client(String),
}

#[derive(Debug)]
pub struct EmbeddingServer {
    client: Client,
    base: BaseUrl,
    login: Option<HeaderValue>,
    redactor: Redactor,
    asked: String,
    dimensions: Option<u64>,
    batch: usize,
    /// The model and all settings that affect its vectors.
    model: String,
}

impl EmbeddingServer {
    pub fn new(settings: ServerSettings) -> Result<Self, ServerError> {
        let base = BaseUrl::parse(&settings.base)
            .ok_or_else(|| ServerError::Address(ktx_secrets::redact_url(&settings.base)))?;
        let mut redactor = Redactor::new();
        let login = settings.key.map(|key| {
            redactor.learn(&key);
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        let login = match login {
            Some(value) => Some(value.ok_or(ServerError::Key)?),
            None => None,
        };
        let failed = |message: String| ServerError::Client(message);
        let client = ktx_http::client(ClientSettings {
            tls: ktx_http::tls::client_config().map_err(|error| failed(error.to_string()))?,
            proxy: Proxy::for_host(base.host()),
            redirects: Redirects::None,
            connect_timeout: CONNECT_TIME,
            total_timeout: Some(ANSWER_TIME),
            user_agent: Some(concat!("ktx/", env!("CARGO_PKG_VERSION"))),
        });
        let dimensions = settings.dimensions.map(|count| format!("/{count}"));
        let name = format!("{}{}", settings.model, dimensions.unwrap_or_default());
        Ok(Self {
            client: client.map_err(|error| failed(error.to_string()))?,
            model: format!("{} at {}", name, base.host()),
            base,
            login,
            redactor,
            asked: settings.model,
            dimensions: settings.dimensions,
            batch: settings
                .batch
                .and_then(|batch| usize::try_from(batch).ok())
                .filter(|batch| *batch > 0)
                .unwrap_or(BATCH),
        })
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, VectorsError> {
        let mut body = json!({ "model": self.asked, "input": texts, "encoding_format": "float" });
        if let (Some(dimensions), Some(body)) = (self.dimensions, body.as_object_mut()) {
            body.insert("dimensions".to_owned(), json!(dimensions));
        }
        let mut request = self
            .client
            .post(format!("{}/embeddings", self.base.as_str()))
            .json(&body);
        if let Some(login) = &self.login {
            request = request.header(AUTHORIZATION, login.clone());
        }
        let response = ktx_http::send(request, &RETRIES).await;
        let response = response.map_err(|error| {
            self.failed(&if error.is_timeout() {
                "does not answer in time".to_owned()
            } else {
                format!("cannot be reached: {}", root_cause(&error))
            })
        })?;
        let status = response.status().as_u16();
        let bytes = read_body(response, ANSWER_BYTES).await;
        let bytes = bytes.map_err(|error| {
            self.failed(&match error {
                BodyError::TooLong => format!("answered more than {ANSWER_BYTES} bytes"),
                BodyError::Broken(error) => format!("broke off: {}", root_cause(&error)),
            })
        })?;
        if !(200..300).contains(&status) {
            let error = self.failed(&format!("answered {status}{}", words(&bytes)));
            return Err(if OF_TEXTS.contains(&status) {
                VectorsError::refusing_texts(error.to_string())
            } else {
                error
            });
        }
        let answer: Answer = serde_json::from_slice(&bytes)
            .map_err(|_| self.failed("answered something other than vectors"))?;
        self.ordered(answer, texts.len())
    }

    fn ordered(&self, mut answer: Answer, texts: usize) -> Result<Vec<Vec<f32>>, VectorsError> {
        answer.data.sort_by_key(|entry| entry.index);
        let is_whole = answer.data.len() == texts
            && answer
                .data
                .iter()
                .zip(0..)
                .all(|(entry, place)| entry.index == place);
        if !is_whole {
            let count = answer.data.len();
            return Err(self.failed(&if count == texts {
                "answered two vectors for one text".to_owned()
            } else {
                format!("answered {count} vectors for {texts} texts")
            }));
        }
        let length = answer.data.first().map_or(0, |entry| entry.embedding.len());
        let wanted = self
            .dimensions
            .and_then(|count| usize::try_from(count).ok());
        let fits = |entry: &Entry| {
            entry.embedding.len() == length
                && length > 0
                && wanted.is_none_or(|wanted| wanted == length)
                && entry.embedding.iter().all(|value| value.is_finite())
        };
        if !answer.data.iter().all(fits) {
            return Err(self.failed(&match wanted {
                Some(wanted) if wanted != length => {
                    format!("answered vectors of {length} numbers instead of {wanted}")
                }
                _ => "answered vectors that cannot be used".to_owned(),
            }));
        }
        Ok(answer
            .data
            .into_iter()
            .map(|entry| entry.embedding)
            .collect())
    }

    fn failed(&self, what: &str) -> VectorsError {
        let message = format!("the embeddings server at {} {what}", self.base.host());
        VectorsError::new(self.redactor.redact(&message))
    }
}

#[async_trait]
impl Vectors for EmbeddingServer {
    fn model(&self) -> &str {
        &self.model
    }

    fn batch(&self) -> usize {
        self.batch
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, VectorsError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.batch) {
            vectors.extend(self.ask(batch).await?);
        }
        Ok(vectors)
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    index: usize,
    embedding: Vec<f32>,
}

fn words(bytes: &[u8]) -> String {
    let body: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
    let places = ["/error/message", "/message", "/error"];
    let message = places
        .iter()
        .find_map(|place| body.pointer(place)?.as_str());
    let Some(message) = message else {
        return String::new();
    };
    let message: String = message.split_whitespace().collect::<Vec<_>>().join(" ");
    format!(": {}", message.chars().take(WORDS).collect::<String>())
}

#[cfg(test)]
mod tests;
