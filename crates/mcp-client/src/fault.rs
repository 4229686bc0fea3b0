//! Why a server cannot be used: one message with its next step.

use std::error::Error;

use ktx_diagnostics::excerpt;
use ktx_secrets::SecretError;

/// Why a server cannot be used. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the MCP server `{server}` {what}")]
pub struct McpFault {
    /// Its name in the agent file.
    pub server: String,
    /// What it did or did not do.
    pub what: String,
    /// What to do about it.
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

/// The innermost cause of an error, which names neither an address nor a library.
pub(crate) fn root_cause(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}

/// A text of a server as a message quotes it: on one line, short.
pub(crate) fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    excerpt(&words.join(" ")).into_owned()
}
