//! Builds clients: certificates, proxy, timeouts, redirects.

use std::time::Duration;

use ktx_secrets::is_loopback;
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, StatusCode};
use rustls::ClientConfig;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Proxy {
    #[default]
    System,
    Direct,
    Url(String),
}

impl Proxy {
    /// No proxy for this machine: a proxy would resolve `localhost` to itself.
    pub fn for_host(host: &str) -> Self {
        if is_loopback(host) {
            Self::Direct
        } else {
            Self::System
        }
    }
}

/// Never to another origin, because requests carry keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    None,
    /// At most five; same method and body.
    SameOrigin,
}

#[derive(Debug, Clone)]
pub struct ClientSettings {
    pub tls: ClientConfig,
    pub proxy: Proxy,
    pub redirects: Redirects,
    pub connect_timeout: Duration,
    /// To the last byte of the answer.
    pub total_timeout: Option<Duration>,
    pub user_agent: Option<&'static str>,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("`{url}` is not a proxy URL")]
    Proxy { url: String },
    #[error(transparent)]
    Library(reqwest::Error),
}

pub fn client(settings: ClientSettings) -> Result<Client, ClientError> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(settings.tls)
        .connect_timeout(settings.connect_timeout)
        .redirect(match settings.redirects {
            Redirects::None => Policy::none(),
            Redirects::SameOrigin => Policy::custom(follow_within_one_origin),
        });
    if let Some(timeout) = settings.total_timeout {
        builder = builder.timeout(timeout);
    }
    if let Some(name) = settings.user_agent {
        builder = builder.user_agent(name);
    }
    let builder = match settings.proxy {
        Proxy::System => builder,
        Proxy::Direct => builder.no_proxy(),
        Proxy::Url(url) => {
            let proxy = reqwest::Proxy::all(&url).map_err(|_| ClientError::Proxy {
                url: ktx_secrets::redact_url(&url),
            })?;
            builder.proxy(proxy)
        }
    };
    builder.build().map_err(ClientError::Library)
}

fn follow_within_one_origin(attempt: Attempt<'_>) -> Action {
    let keeps_the_body = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let same_origin = attempt
        .previous()
        .last()
        .is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps_the_body && same_origin && attempt.previous().len() < 5 {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
