//! Where a part begins.

use ktx_diagnostics::{Code, Failure};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Proves that a cursor belongs to the call and its data.
pub(super) struct Cursor {
    call: String,
    data: String,
}

impl Cursor {
    pub(super) fn new(tool: &str, arguments: &Value, whole: &Value) -> Self {
        Self {
            call: digest(&[tool, &arguments.to_string()]),
            data: digest(&[&whole.to_string()]),
        }
    }

    pub(super) fn text(&self, start: usize) -> String {
        format!("{start}.{}.{}", self.call, self.data)
    }

    /// Whether a call of the tool with these arguments can have given it.
    pub(super) fn belongs(text: &str, tool: &str, arguments: &Value) -> bool {
        let own = Self::new(tool, arguments, &Value::Null).call;
        text.split('.').nth(1) == Some(own.as_str())
    }

    pub(super) fn start(&self, text: &str) -> Result<usize, Failure> {
        let mut fields = text.split('.');
        let (Some(start), Some(call), Some(data), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(wrong("it is not a cursor of a result"));
        };
        let Ok(start) = start.parse() else {
            return Err(wrong("it is not a cursor of a result"));
        };
        if call != self.call {
            return Err(wrong("it belongs to a call with other arguments"));
        }
        if data != self.data {
            return Err(wrong("the data have changed since the part before"));
        }
        Ok(start)
    }
}

pub(super) fn wrong(why: &str) -> Failure {
    Failure::new(
        Code::InvalidArguments,
        format!("`cursor` cannot be followed: {why}"),
    )
    .hint(
        "send the arguments of the first call with its `cursor`, or begin again without one; give SQL an ORDER BY",
    )
}

fn digest(texts: &[&str]) -> String {
    let mut sha = Sha256::new();
    for text in texts {
        sha.update(text.len().to_le_bytes());
        sha.update(text);
    }
    let word = sha
        .finalize()
        .iter()
        .take(4)
        .fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
    format!("{word:08x}")
}
