//! Connection ids.

use serde::{Deserialize, Serialize};

use crate::{InvalidName, is_plain_key, text_name};

/// A key under `connections:`.
///
/// Matches `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`, so it is a safe folder name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConnectionId(String);

impl ConnectionId {
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        if is_plain_key(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidName {
            kind: "connection id",
            text: text.to_owned(),
            rule: "use letters, digits, `_` and `-`, beginning with a letter or digit",
        })
    }
}

text_name!(ConnectionId);
