//! Run ids.

use serde::{Deserialize, Serialize};

use crate::{InvalidName, is_plain_key, text_name};

/// The id of a run in journals, reports and the usage ledger.
///
/// Matches `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`. `ktx` uses UUID v7.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// The id in trace format; `None` if it has another shape.
    pub fn trace_id(&self) -> Option<String> {
        let digits = self.0.replace('-', "").to_ascii_lowercase();
        let is_trace = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_trace.then_some(digits)
    }

    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        if is_plain_key(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidName {
            kind: "run id",
            text: text.to_owned(),
            rule: "use letters, digits, `_` and `-`, beginning with a letter or digit",
        })
    }
}

text_name!(RunId);
