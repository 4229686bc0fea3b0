//! The HTTP clients: certificates, proxy, and no redirect to another host.

use std::sync::Arc;

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use ktx_secrets::is_loopback;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, RequestBuilder, StatusCode};

use crate::settings::{Proxy, Timeouts};

/// The clients for remote and for local addresses.
#[derive(Debug, Clone)]
pub(crate) struct Clients {
    outside: Client,
    /// Bypasses the system proxy, which would resolve local addresses on its own machine.
    here: Client,
}

impl Clients {
    /// Builds both clients.
    pub(crate) fn new(proxy: &Proxy, timeouts: &Timeouts) -> Result<Self, LlmError> {
        let tls = tls()?;
        let outside = client(&tls, proxy, timeouts)?;
        let here = match proxy {
            Proxy::System => client(&tls, &Proxy::Direct, timeouts)?,
            // An explicitly configured proxy applies to every address.
            Proxy::Direct | Proxy::Url(_) => outside.clone(),
        };
        Ok(Self { outside, here })
    }

    pub(crate) fn get(&self, url: &str) -> RequestBuilder {
        self.to(url).get(url)
    }

    pub(crate) fn post(&self, url: &str) -> RequestBuilder {
        self.to(url).post(url)
    }

    fn to(&self, url: &str) -> &Client {
        if reqwest::Url::parse(url).is_ok_and(|url| is_here(&url)) {
            &self.here
        } else {
            &self.outside
        }
    }
}

/// Returns whether an address is on this machine.
pub(super) fn is_here(url: &reqwest::Url) -> bool {
    url.host_str()
        .is_some_and(|host| is_loopback(host.trim_matches(['[', ']'])))
}

fn client(
    tls: &rustls::ClientConfig,
    proxy: &Proxy,
    timeouts: &Timeouts,
) -> Result<Client, LlmError> {
    let broken = |error: reqwest::Error| {
        LlmError::new(LlmErrorKind::Internal, "the HTTP client could not be built")
            .detail(error.to_string())
    };
    let builder = Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .user_agent(concat!("ktx/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        .redirect(Policy::custom(follow_within_one_origin));
    let builder = match proxy {
        Proxy::System => builder,
        Proxy::Direct => builder.no_proxy(),
        Proxy::Url(url) => builder.proxy(reqwest::Proxy::all(url).map_err(|_| {
            LlmError::new(
                LlmErrorKind::InvalidRequest,
                format!("`{}` is not a proxy URL", ktx_secrets::redact_url(url)),
            )
        })?),
    };
    builder.build().map_err(broken)
}

/// Trusts the machine's own certificates and the well-known ones.
fn tls() -> Result<rustls::ClientConfig, LlmError> {
    let mut roots = rustls::RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    let (added, ignored) = roots.add_parsable_certificates(native.certs);
    tracing::debug!(added, ignored, "certificates of the machine");
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| {
            LlmError::new(LlmErrorKind::Internal, "TLS could not be set up")
                .detail(error.to_string())
        })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Follows redirects within one origin only: keys and prompts never go to a host that the user did
/// not name.
fn follow_within_one_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
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
