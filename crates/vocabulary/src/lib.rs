//! Validated names and references.
//!
//! This crate must not know IO, async or YAML.

mod agent_provider;
mod cache_ttl;
mod connection_id;
mod model_role;
mod provider;
mod run_id;
mod source_name;
mod table_ref;
mod wiki_key;

pub use agent_provider::{AgentProvider, AuthProvider};
pub use cache_ttl::CacheTtl;
pub use connection_id::ConnectionId;
pub use model_role::ModelRole;
pub use provider::{Backend, Provider};
pub use run_id::RunId;
pub use source_name::SourceName;
pub use table_ref::{ColumnRef, TableRef};
pub use wiki_key::WikiKey;

/// Why a text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    /// What kind of name was expected, such as `connection id`.
    pub kind: &'static str,
    pub text: String,
    /// The broken rule, in words.
    pub rule: &'static str,
}

impl std::fmt::Display for InvalidName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unsafe {} `{}`: {}", self.kind, self.text, self.rule)
    }
}

impl std::error::Error for InvalidName {}

/// Whether `text` matches `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`, the rule of connection ids and wiki keys.
fn is_plain_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Implements a validated newtype over `String` that reads and prints as its text.
macro_rules! text_name {
    ($name:ident) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::InvalidName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::InvalidName;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}
pub(crate) use text_name;

#[cfg(test)]
mod tests;
