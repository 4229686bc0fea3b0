//! HTTP implementations of the runtime port.
//!
//! Protocols are pure functions, providers and models are data. This crate must never know
//! `ktx.yaml`, ingest, files or the environment.

mod caching;
mod catalogue;
mod clients;
mod clock;
mod credentials;
mod google_tokens;
mod http;
mod json_poster;
mod limit_headers;
mod preset;
mod reasoning;
mod replay;
mod runtime;
mod schema;
mod settings;
mod wire;

pub use caching::{CacheOverrides, PromptCaching};
pub use catalogue::{FactsOrigin, ModelFacts, aliases, model_facts};
pub use clock::UnixClock;
pub use credentials::{AuthorizedUser, GoogleCredentials, ServiceAccount};
pub use json_poster::{JsonPostError, JsonPoster, JsonReply};
pub use preset::Protocol;
pub use reasoning::{AnswerStorage, ReasoningOverrides};
pub use replay::{ReplayedAnswer, replay};
pub use runtime::HttpRuntime;
pub use settings::{HttpSettings, Proxy, RateLimit, Timeouts, VertexSettings};
