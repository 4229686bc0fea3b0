//! Where requests go.

use ktx_llm_runtime::{LlmError, LlmErrorKind};

use super::client::is_here;
use crate::preset::Protocol;

/// Whether a request carries a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Sent,
    None,
}

/// The base address as a protocol needs it: no slash at the end, no double slashes, and the
/// version that the protocol's paths begin with. A key travels to another machine encrypted only; a
/// model server of one's own that asks for none may be reached without.
pub(crate) fn normalized(base: &str, protocol: Protocol, key: Key) -> Result<String, LlmError> {
    let refused = |what: &str, hint: &str| {
        // What follows the path may hold a key.
        let plain = base.split(['?', '#']).next().unwrap_or_default();
        let shown = ktx_secrets::redact_url(plain);
        LlmError::new(LlmErrorKind::InvalidRequest, format!("`{shown}` {what}")).hint(hint)
    };
    let wrong = || {
        refused(
            "is no address of an API",
            "`base_url` begins with `https://`, or with `http://` for this machine",
        )
    };
    let url = reqwest::Url::parse(base.trim()).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong());
    }
    let carries_a_secret = key == Key::Sent || !url.username().is_empty();
    if url.scheme() == "http" && !is_here(&url) && carries_a_secret {
        return Err(refused(
            "would send the key in plain text",
            "give `base_url` with `https://`; `http://` is for this machine, or for a server that needs no key",
        ));
    }
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
    Ok(out)
}

/// `v1`, `v4`, `v1beta`.
fn is_version(segment: &str) -> bool {
    let Some(rest) = segment.strip_prefix('v') else {
        return false;
    };
    let digits = rest.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The host of Vertex AI for a location.
pub(crate) fn vertex(location: &str) -> String {
    match location {
        "global" => "https://aiplatform.googleapis.com".to_owned(),
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        region => format!("https://{region}-aiplatform.googleapis.com"),
    }
}
