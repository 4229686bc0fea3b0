//! Wiki keys.

use serde::{Deserialize, Serialize};

use crate::{InvalidName, is_plain_key, text_name};

/// The file name of a wiki page without `.md`.
///
/// Matches `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`; keys have no folders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WikiKey(String);

impl WikiKey {
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        if is_plain_key(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidName {
            kind: "wiki key",
            text: text.to_owned(),
            rule: "keys are flat: use letters, digits, `_` and `-`, beginning with a letter or digit",
        })
    }
}

text_name!(WikiKey);
