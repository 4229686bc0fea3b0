//! The HTTP clients.

use ktx_http::{ClientError, ClientSettings, Redirects};
use ktx_llm_runtime::{LlmError, LlmErrorKind};
use ktx_secrets::is_loopback;
use reqwest::{Client, RequestBuilder};

use crate::settings::{Proxy, Timeouts};

#[derive(Debug, Clone)]
pub(crate) struct HttpClients {
    outside: Client,
    /// A proxy would resolve local addresses on its own machine.
    here: Client,
}

impl HttpClients {
    pub(crate) fn new(proxy: &Proxy, timeouts: &Timeouts) -> Result<Self, LlmError> {
        let tls = tls()?;
        let outside = client(&tls, proxy, timeouts)?;
        let here = match proxy {
            Proxy::System => client(&tls, &Proxy::Direct, timeouts)?,
            // An explicit proxy applies to every address.
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
        if reqwest::Url::parse(url).is_ok_and(|url| is_local(&url)) {
            &self.here
        } else {
            &self.outside
        }
    }
}

pub(crate) fn is_local(url: &reqwest::Url) -> bool {
    url.host_str()
        .is_some_and(|host| is_loopback(host.trim_matches(['[', ']'])))
}

fn client(
    tls: &rustls::ClientConfig,
    proxy: &Proxy,
    timeouts: &Timeouts,
) -> Result<Client, LlmError> {
    let settings = ClientSettings {
        tls: tls.clone(),
        proxy: proxy.clone(),
        redirects: Redirects::SameOrigin,
        connect_timeout: timeouts.connect,
        total_timeout: None,
        user_agent: Some(concat!("ktx/", env!("CARGO_PKG_VERSION"))),
    };
    ktx_http::client(settings).map_err(|error| match error {
        ClientError::Proxy { .. } => LlmError::new(LlmErrorKind::InvalidRequest, error.to_string()),
        ClientError::Library(error) => {
            LlmError::new(LlmErrorKind::Internal, "the HTTP client could not be built")
                .detail(error.to_string())
        }
    })
}

fn tls() -> Result<rustls::ClientConfig, LlmError> {
    let builder = ktx_http::tls::client_builder().map_err(|error| {
        LlmError::new(LlmErrorKind::Internal, "TLS could not be set up").detail(error.to_string())
    })?;
    let mut config = builder
        .with_root_certificates(ktx_http::tls::all_roots())
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
