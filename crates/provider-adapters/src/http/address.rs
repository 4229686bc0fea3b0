//! Addresses of requests.

use ktx_llm_runtime::{LlmError, LlmErrorKind};

use crate::clients::is_local;
use crate::preset::Protocol;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiKeyUse {
    Sent,
    None,
}

#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct BaseAddress {
    /// No query or trailing slash.
    pub(crate) url: String,
    query: Option<String>,
}

/// The query can contain a key.
impl std::fmt::Debug for BaseAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Base").field(&self.url).finish()
    }
}

impl BaseAddress {
    /// `path` can have its own query.
    pub(crate) fn with(&self, path: &str) -> String {
        let Self { url, query } = self;
        match query {
            None => format!("{url}{path}"),
            Some(query) if path.contains('?') => format!("{url}{path}&{query}"),
            Some(query) => format!("{url}{path}?{query}"),
        }
    }
}

/// Adds the protocol's version and removes extra slashes. A key may leave the machine only
/// encrypted.
pub(crate) fn normalized(
    base: &str,
    protocol: Protocol,
    key: ApiKeyUse,
) -> Result<BaseAddress, LlmError> {
    let refused = |what: &str, hint: &str| {
        // The query and the fragment can contain a key.
        let plain = base.split(['?', '#']).next().unwrap_or_default();
        let shown = ktx_secrets::redact_url(plain);
        LlmError::new(LlmErrorKind::InvalidRequest, format!("`{shown}` {what}")).hint(hint)
    };
    let wrong = || {
        refused(
            "is not an API URL",
            "`base_url` begins with `https://`, or with `http://` for this machine",
        )
    };
    let url = reqwest::Url::parse(base.trim()).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong());
    }
    if !url.username().is_empty() || url.password().is_some() {
        // User name and password can be a key.
        let place = url.origin().ascii_serialization();
        return Err(LlmError::new(
            LlmErrorKind::InvalidRequest,
            format!("`{place}` has a user name or a password, which no request would send"),
        )
        .hint("write what follows `://` up to `@` as `api_key`, and `base_url` without it"));
    }
    if url.fragment().is_some() {
        return Err(refused(
            "has a part after `#`, which no request would send",
            "write `base_url` without it",
        ));
    }
    if url.scheme() == "http" && !is_local(&url) && key == ApiKeyUse::Sent {
        return Err(refused(
            "would send the key in plain text",
            "give `base_url` with `https://`; `http://` is for this machine, or for a server that needs no key",
        ));
    }
    Ok(BaseAddress {
        url: with_version(&url, protocol),
        query: url
            .query()
            .filter(|query| !query.is_empty())
            .map(str::to_owned),
    })
}

fn with_version(url: &reqwest::Url, protocol: Protocol) -> String {
    let mut segments: Vec<&str> = url
        .path()
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let versioned = segments.last().is_some_and(|last| is_version(last));
    match protocol {
        Protocol::Anthropic if versioned => {
            segments.pop();
        }
        Protocol::Anthropic => {}
        Protocol::OpenAiChat | Protocol::OpenAiResponses if !versioned => segments.push("v1"),
        Protocol::Gemini if !versioned => segments.push("v1beta"),
        Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Gemini => {}
    }
    let mut out = url.origin().ascii_serialization();
    for segment in segments {
        out.push('/');
        out.push_str(segment);
    }
    out
}

/// `v1`, `v4`, `v1beta`
fn is_version(segment: &str) -> bool {
    let Some(rest) = segment.strip_prefix('v') else {
        return false;
    };
    let digits = rest.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn vertex(location: &str) -> BaseAddress {
    let url = match location {
        "global" => "https://aiplatform.googleapis.com".to_owned(),
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        region => format!("https://{region}-aiplatform.googleapis.com"),
    };
    BaseAddress { url, query: None }
}
