//! Why a server cannot be used.

use std::error::Error;

use ktx_diagnostics::excerpt;
use ktx_secrets::SecretError;

/// A failure and its next step. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the MCP server `{server}` {what}")]
pub struct McpFault {
    pub server: String,
    pub what: String,
    pub hint: String,
}

impl McpFault {
    pub(crate) fn new(server: &str, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            server: server.to_owned(),
            what: what.into(),
            hint: hint.into(),
        }
    }

    pub(crate) fn unresolved(server: &str, key: &str, name: &str, error: &SecretError) -> Self {
        let place = if name.is_empty() {
            key.to_owned()
        } else {
            format!("{key}.{name}")
        };
        let hint = match error {
            SecretError::MissingVariable { name } => {
                format!("set `{name}`, then run the command again")
            }
            SecretError::UnreadableFile { path, .. } | SecretError::EmptyFile { path } => {
                format!("write the secret into `{}`", path.display())
            }
        };
        Self::new(server, format!("has no value for `{place}`: {error}"), hint)
    }
}

/// The innermost cause names neither an address nor a library.
pub(crate) fn root_cause(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}

/// On one line, short.
pub(crate) fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    excerpt(&words.join(" ")).into_owned()
}
