//! Source names.

use serde::{Deserialize, Serialize};

use crate::{InvalidName, text_name};

/// The `name:` of a source, case-sensitive. Not empty, no control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceName(String);

impl SourceName {
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        if !text.trim().is_empty() && !text.chars().any(char::is_control) {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidName {
            kind: "source name",
            text: text.to_owned(),
            rule: "must not be blank or hold control characters",
        })
    }
}

text_name!(SourceName);
