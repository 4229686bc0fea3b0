//! Server addresses.

use ktx_secrets::is_loopback;
use reqwest::Url;

/// The address to which the paths of an API are appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    url: String,
    host: String,
}

impl BaseUrl {
    /// No credentials, query or fragment. Plain HTTP only for this machine, because requests carry
    /// secrets.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let url = Url::parse(text).ok()?;
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let is_safe = match url.scheme() {
            "https" => true,
            "http" => is_loopback(&host),
            _ => false,
        };
        let is_bare = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        (is_safe && is_bare).then(|| Self {
            url: text.trim_end_matches('/').to_owned(),
            host,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// An IPv6 address has no brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn is_this_machine(&self) -> bool {
        is_loopback(&self.host)
    }
}
