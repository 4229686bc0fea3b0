//! The address of a server and the client that reaches it.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use ktx_http::{ClientSettings, Proxy, Redirects};
use ktx_secrets::{Secret, is_loopback};
use reqwest::{Client, Url};
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::fault::{McpFault, root_cause};

const CONNECT: Duration = Duration::from_secs(10);

pub(crate) struct Address {
    pub(crate) url: Url,
    pub(crate) headers: HashMap<HeaderName, HeaderValue>,
    pub(crate) client: Client,
}

impl Address {
    /// Plain HTTP is allowed for this machine only, because requests carry secrets.
    pub(crate) fn new(
        server: &str,
        url: &Secret,
        headers: &BTreeMap<String, Secret>,
    ) -> Result<Self, McpFault> {
        let parsed = Url::parse(url.expose().trim()).ok();
        let Some((url, host)) = parsed.and_then(|url| host_of(&url).map(|host| (url, host))) else {
            return Err(McpFault::new(
                server,
                "has an address that is none",
                "write `url` as `https://HOST/PATH`",
            ));
        };
        let is_safe = match url.scheme() {
            "https" => true,
            "http" => is_loopback(&host),
            _ => false,
        };
        if !is_safe {
            return Err(McpFault::new(
                server,
                format!("is at `{host}` without encryption"),
                "write `url` with `https://`; `http://` is for this machine only",
            ));
        }
        let mut checked = HashMap::new();
        for (name, value) in headers {
            let pair = name
                .parse::<HeaderName>()
                .ok()
                .zip(value.expose().parse::<HeaderValue>().ok());
            let Some((known, mut value)) = pair else {
                return Err(McpFault::new(
                    server,
                    format!("has a header that HTTP does not allow: `{name}`"),
                    "correct its name or its value in `headers`",
                ));
            };
            value.set_sensitive(true);
            checked.insert(known, value);
        }
        Ok(Self {
            client: client(server, &host)?,
            url,
            headers: checked,
        })
    }
}

/// Omits addresses, which can hold secrets.
pub(crate) fn transport_cause(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => match error.status() {
            Some(status) => format!("HTTP {}", status.as_u16()),
            None => ktx_http::root_cause(error),
        },
        _ => root_cause(error),
    }
}

fn host_of(url: &Url) -> Option<String> {
    Some(url.host_str()?.trim_matches(['[', ']']).to_owned())
}

fn client(server: &str, host: &str) -> Result<Client, McpFault> {
    let unusable = |error: String| {
        McpFault::new(
            server,
            format!("cannot be reached: {error}"),
            "check the certificates and the proxy of this machine",
        )
    };
    let tls = ktx_http::tls::client_config().map_err(|error| unusable(error.to_string()))?;
    let settings = ClientSettings {
        tls,
        proxy: Proxy::for_host(host),
        redirects: Redirects::SameOrigin,
        connect_timeout: CONNECT,
        // Streams stay open; each request has its own limit.
        total_timeout: None,
        user_agent: Some("ktx"),
    };
    ktx_http::client(settings).map_err(|error| unusable(error.to_string()))
}
